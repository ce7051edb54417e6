"""Finished stores: reading features and kernel matrices."""

from __future__ import annotations

import json
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from torelli import _memory
from torelli._errors import FormatError, InvalidOptionError, StoreError, shortened
from torelli.io.files import require
from torelli.scale import _zarr
from torelli.scale._rows import ROWS, RowFeatures, rows_path
from torelli.scale._store import INSIDE, Store

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray

_KEPT = 8  # chunks that were read last
_READ_BY = {
    ".npy": "numpy.load(path, mmap_mode='r')",
    ".csv": "pandas.read_csv(path)",
    ".parquet": "pandas.read_parquet(path)",
}
FIT = f"{INSIDE}/fit.json"
"""File of a store with what features learned from the first graphs."""


class _TiledStore:
    """Numbers in chunks that are read on demand; each chunk is compared with its checksum.

    The store has what was finished when it was opened; `refresh` adds what a writer has finished since.
    """

    _array: str
    _kind: str

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        ending = self.path.suffix.lower()
        if ending in _READ_BY:
            raise InvalidOptionError(f"{self.path.name} is a plain file: read it with {_READ_BY[ending]}")
        self._store = Store(self.path)
        if self._store.manifest.get("kind") != self._kind:
            kind = self._store.manifest.get("kind")
            raise StoreError(f"{shortened(str(path), 400)} is a store of {kind}: use torelli.open_{kind}")
        self._recent: OrderedDict[tuple[int, int], tuple[int, NDArray[Any]]] = OrderedDict()
        self.refresh()

    def __reduce__(self) -> tuple[type[Self], tuple[Path]]:
        return type(self), (self.path,)

    def refresh(self) -> None:
        """Read what a writer has added since the store was opened."""
        self._store.journal.refresh()
        self._recent.clear()
        segments = self._store.journal.segments
        if not segments and (self.path / self._array).exists():
            raise FormatError(
                f"{shortened(str(self.path), 400)}: its journal is lost; run the command that made the store "
                "again, with --fresh"
            )
        bounds = sorted({segment.start for segment in segments})
        metadata = f"{self._array}/zarr.json"
        n_rows = int(self._store.read_json(metadata)["shape"][0]) if metadata in self._store else None
        self.is_complete = bool(segments) and segments[-1].stop == n_rows is not None
        self._ids: list[str] = []
        self._labels: list[str | None] = []
        row = 0
        while rows_path(row) in self._store and self._has_numbers(row):
            about = self._store.read_json(rows_path(row))
            self._ids += about["id"]
            self._labels += about["label"]
            end = row + len(about["id"])
            if end % ROWS and end not in bounds:
                break
            row = end
        stop = max((segment.stop or 0 for segment in segments), default=0)
        if len(self._ids) < stop:
            raise self._store.not_finished(f"row {len(self._ids):,}, which was there before,")
        self.shape, self.chunks = self._shapes()

    def _has_numbers(self, row: int) -> bool:
        del row
        return True

    def _shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the shape of the array and of its chunks."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return np.dtype(str(self._store.manifest["dtype"]))

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    @property
    def options(self) -> dict[str, Any]:
        """The options that the store was made with."""
        return dict(self._store.manifest["options"])

    @property
    def ids(self) -> NDArray[np.str_]:
        """The name of the graph of each row."""
        return np.array(self._ids, dtype=np.str_)

    @property
    def labels(self) -> NDArray[np.str_] | None:
        """The label of each row, None if no row has one; a row without label has the empty text."""
        if all(label is None for label in self._labels):
            return None
        return np.array([label or "" for label in self._labels], dtype=np.str_)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        state = "" if self.is_complete else ", still growing"
        return f"{type(self).__name__}({str(self.path)!r}, shape={self.shape}, dtype={self.dtype}{state})"

    def _chunk(self, i: int, j: int, stop: int) -> NDArray[Any]:
        """Return the numbers of a chunk that rows and columns before `stop` are needed of."""
        path = f"{self._array}/c/{i}/{j}"
        if (i, j) not in self._recent or self._recent[i, j][0] < stop:
            self._store.journal.refresh()
            filled = self._filled(i, j)  # before the numbers are read, which a writer may add to
            content = self._store.read(path)
            self._recent[i, j] = filled, _zarr.decode(content, self.chunks, str(self.dtype))
            while len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
        self._recent.move_to_end((i, j))
        filled, numbers = self._recent[i, j]
        if filled < stop:
            raise self._store.not_finished(f"{path} from row or column {filled:,} on")
        return numbers

    def _filled(self, i: int, j: int) -> int:
        """Return the row and column up to which a chunk is filled."""
        del i, j
        return max(self.shape)

    def block(self, rows: slice, columns: slice = slice(None)) -> NDArray[Any]:
        """Return the numbers in a range of rows and columns."""
        (a, b, _), (c, d, _) = rows.indices(self.shape[0]), columns.indices(self.shape[1])
        out = np.empty((max(b - a, 0), max(d - c, 0)), dtype=self.dtype)
        if not out.size:
            return out
        (h, w), (i0, j0) = self.chunks, (a // self.chunks[0], c // self.chunks[1])
        for i in range(i0, (b - 1) // h + 1):
            for j in range(j0, (d - 1) // w + 1):
                top, left = max(a, i * h), max(c, j * w)
                bottom, right = min(b, (i + 1) * h), min(d, (j + 1) * w)
                out[top - a : bottom - a, left - c : right - c] = self._chunk(i, j, max(bottom, right))[
                    top - i * h : bottom - i * h, left - j * w : right - j * w
                ]
        return out

    def __getitem__(self, key: Any) -> NDArray[Any]:
        """Return rows, or rows and columns, as numpy does; only the chunks in their range are read.

        Rows and columns may be numbers, ranges, lists or masks, but not lists for both.
        """
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(self.shape) or any(one is None or one is Ellipsis for one in keys):
            raise IndexError("give rows, or rows and columns")
        rows, columns = (*keys, slice(None))[: len(self.shape)]
        if np.ndim(rows) and np.ndim(columns):
            raise IndexError("two lists would pair rows with columns: take store[rows][:, columns]")
        ranges, inner = [], []
        for axis_key, size in zip((rows, columns), self.shape, strict=True):
            axis_range, within = _range_of(axis_key, size)
            ranges.append(axis_range)
            inner.append(within)
        block = self.block(*ranges)
        taken: NDArray[Any] = block[inner[0]]
        return taken[..., inner[1]]

    def __array__(self, dtype: DTypeLike | None = None, *, copy: bool | None = None) -> NDArray[Any]:
        """Return all numbers."""
        del copy
        size = self.dtype.itemsize * self.shape[0] * self.shape[1]
        _memory.require(size, f"an array of shape {self.shape}", "read parts of it, such as store[:1000]")
        return self.block(slice(None)).astype(dtype or self.dtype, copy=False)

    def blocks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        """Yield the first row and the numbers of one range of rows after the other."""
        for start in range(0, len(self), self.chunks[0]):
            yield start, self.block(slice(start, start + self.chunks[0]))

    def to_dask(self) -> Any:
        """Return a dask array whose chunks are those of the store."""
        dask = require("dask.array", "scale", "a dask array")
        return dask.from_array(self, chunks=self.chunks, asarray=True, fancy=False)

    def verify(self) -> None:
        """Read every file, and raise a `FormatError` if one is missing or has changed."""
        lost = self._store.misdescribed() + self._store.damaged(thorough=True)
        if self.is_complete:  # a run that found damage and did not repair it has dropped the file
            heights, widths = (range(-(-n // side)) for n, side in zip(self.shape, self.chunks, strict=True))
            chunks = (f"{self._array}/c/{i}/{j}" for i in heights for j in widths)
            lost += [path for path in chunks if path not in self._store]
        if lost:
            raise FormatError(
                f"{shortened(str(self.path), 400)}: {len(lost):,} files are damaged, such as {lost[0]}; run "
                "the command that made the store again, with --verify"
            )


def _range_of(key: Any, size: int) -> tuple[slice, Any]:
    """Return the range that an index of numpy lies in, and the index within it."""
    if isinstance(key, slice):
        start, stop, step = key.indices(size)
        if step == 1:
            return slice(start, max(start, stop)), slice(None)
        return slice(0, size), key
    if isinstance(key, (int, np.integer)):
        if not -size <= key < size:
            raise IndexError(f"index {key} is out of range for {size:,} rows or columns")
        place = int(key) % size
        return slice(place, place + 1), 0
    places = np.asarray(key)
    if places.dtype == bool:
        if places.shape != (size,):
            raise IndexError(f"a mask has shape {places.shape}: give one of shape ({size},)")
        places = np.flatnonzero(places)
    if not places.size:
        return slice(0, 0), places.astype(np.int64)
    places = np.where(places < 0, places + size, places)
    if places.min() < 0 or places.max() >= size:
        raise IndexError(f"an index is out of range for {size:,} rows or columns")
    low = int(places.min())
    return slice(low, int(places.max()) + 1), places - low


class FeatureStore(_TiledStore):
    """Features on disk, one row for each graph: what `write_features` returns and `open_features` opens.

    Index it like an array (``store[100:200]``), take it whole (``np.asarray(store)``), or as a dask array
    (``store.to_dask()``). Each chunk is compared with its checksum before it is used.

    Attributes
    ----------
    ids, labels
        Name and label of each row.
    columns
        Name of each column.
    shape, dtype, chunks
        Shape, type and chunks of the array.
    is_complete
        Whether all rows are written. If not, the store has the first rows, up to those that were finished
        when it was opened or `refresh` was called.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> with TemporaryDirectory() as folder:
    ...     store = tt.write_features(rings, Path(folder, "rings.zarr"))
    ...     store.shape, store.columns[:2], store.ids.tolist()
    ((3, 640), ['points_0', 'points_1'], ['0', '1', '2'])
    """

    _array, _kind = "features", "features"

    def _has_numbers(self, row: int) -> bool:
        return self.options["features"] == "tts" or f"features/c/{row // ROWS}/0" in self._store

    def _shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        if self.options["features"] != "tts":
            width = len(self._measure_columns())
            return (len(self._ids), width), (ROWS, width)
        if "features/zarr.json" not in self._store:  # spectra are padded once all are there
            self._ids, self._labels = [], []
            return (0, 0), (ROWS, 1)
        about = json.loads(self._store.read("features/zarr.json"))
        shape, chunks = about["shape"], about["chunk_grid"]["configuration"]["chunk_shape"]
        self._ids, self._labels = self._ids[: shape[0]], self._labels[: shape[0]]
        return (shape[0], shape[1]), (chunks[0], chunks[1])

    def _measure_columns(self) -> list[str]:
        return list(RowFeatures(**self._measure_options()).get_feature_names_out())

    def _measure_options(self) -> dict[str, Any]:
        given = self.options["transformer"]
        return {**given, "dtype": str(self.dtype)}

    @property
    def columns(self) -> list[str]:
        """Name of each column."""
        if self.options["features"] == "tts":
            return [f"root_{column}" for column in range(self.shape[1])]
        return self._measure_columns()

    def transformer(self) -> Any:
        """Return the fitted `MeasureFeatures`, which gives other graphs the features they would have here."""
        if self.options["features"] == "tts":
            raise InvalidOptionError(
                "spectra are not learned: take tt.torelli_matrices and their eigenvalues"
            )
        learned = self._store.read_json(FIT)
        transformer = RowFeatures(**self._measure_options())
        transformer.location_ = np.array(learned["location"])
        transformer.spread_ = np.array(learned["spread"])
        units = dict(self._store.read_json(rows_path(0))["units"]) if rows_path(0) in self._store else {}
        transformer.unit_ = next((unit for unit in units if unit), None)
        return transformer

    def to_pandas(self) -> Any:
        """Return a data frame: a row for each graph, its name as index, and the column ``label``, if any."""
        pandas = require("pandas", "geo", "a data frame")
        frame = pandas.DataFrame(
            np.asarray(self), index=pandas.Index(self.ids, name="id"), columns=self.columns
        )
        if self.labels is not None:
            frame.insert(0, "label", self.labels)
        return frame


def tile_mark(i: int, j: int, side: int, n_rows: int) -> str:
    """Return the note of a finished tile of so many graphs: one that is not full is made again with more."""
    height, width = (min(side, n_rows - block * side) for block in (min(i, j), max(i, j)))
    return f"{min(i, j)}/{max(i, j)}:{height}x{width}"


class KernelStore(_TiledStore):
    """A kernel matrix on disk: what `write_kernel` returns and `open_kernel` opens.

    Index it like an array (``store[100:200]``), take it whole (``np.asarray(store)``), or as a dask array.

    Attributes
    ----------
    ids, labels
        Name and label of each graph.
    gamma
        Gamma of the kernel; None if the store has distances.
    shape, dtype, chunks
        Shape, type and chunks of the array.
    is_complete
        Whether the whole matrix is computed. If not, finished parts can be read, and other parts raise an
        error.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> with TemporaryDirectory() as folder:
    ...     store = tt.write_kernel(rings, Path(folder, "rings.zarr"), "tts", gamma=1.0)
    ...     store.shape, store.gamma, float(store[0, 0])
    ((3, 3), 1.0, 1.0)
    """

    _array, _kind = "kernel", "kernel"

    def _shapes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        if "side" not in self._store.journal.facts:  # rows come first
            self._ids, self._labels = [], []
            return (0, 0), (1, 1)
        side = int(self._store.journal.facts["side"])
        return (len(self._ids), len(self._ids)), (side, side)

    def _filled(self, i: int, j: int) -> int:
        """Return up to where a tile is filled: one that was not full is so until it is made again."""
        journal, n_rows = self._store.journal, len(self)
        stops = {n_rows, *(segment.stop for segment in journal.segments if segment.stop is not None)}
        marked = (stop for stop in stops if tile_mark(i, j, self.chunks[0], stop) in journal.marks)
        return max(marked, default=0)

    @property
    def gamma(self) -> float | None:
        """Gamma of the kernel, None if the store has distances."""
        self._store.journal.refresh()
        facts = self._store.journal.facts
        if "gamma" not in facts:
            raise self._store.not_finished("gamma")
        gamma: float | None = facts["gamma"]
        return gamma


def open_features(path: str | os.PathLike[str]) -> FeatureStore:
    """Return the features of a store that `write_features` or ``torelli features`` made.

    Parameters
    ----------
    path
        The folder, which ends in ``.zarr``.

    Returns
    -------
    store
        The store, with ``ids``, ``labels``, ``columns`` and the numbers, which are only read when needed.

    Raises
    ------
    StoreError
        If there is no such store.
    FormatError
        If numbers are read whose file is missing, truncated or changed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> with TemporaryDirectory() as folder:
    ...     _ = tt.write_features(rings, Path(folder, "rings.zarr"), features="tts")
    ...     tt.open_features(Path(folder, "rings.zarr"))[:2].tolist()
    [[1.0], [2.0]]
    """
    return FeatureStore(path)


def open_kernel(path: str | os.PathLike[str]) -> KernelStore:
    """Return the kernel matrix of a store that `write_kernel` or ``torelli kernel`` made.

    Parameters
    ----------
    path
        The folder, which ends in ``.zarr``.

    Raises
    ------
    StoreError, FormatError
        As for `open_features`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> with TemporaryDirectory() as folder:
    ...     _ = tt.write_kernel(rings, Path(folder, "rings.zarr"), "tts", gamma=None)  # distances
    ...     tt.open_kernel(Path(folder, "rings.zarr"))[:1].tolist()
    [[0.0, 1.0, 2.0]]
    """
    return KernelStore(path)
