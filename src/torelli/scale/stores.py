"""Finished stores: reading features and kernel matrices, and exporting them to plain files.

A plain file (.npy, .csv or .parquet) is written whole or not at all.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from torelli import _memory
from torelli._errors import FormatError, InvalidOptionError, StoreError, quoted, shortened
from torelli.io.files import require
from torelli.scale import _zarr
from torelli.scale._rows import ROWS, RowFeatures, rows_path
from torelli.scale._store import INSIDE, Store, checksum, place

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import DTypeLike, NDArray

_KEPT = 8  # chunks that were read last
_READ_BY = {
    ".npy": "numpy.load(path, mmap_mode='r')",
    ".csv": "pandas.read_csv(path)",
    ".parquet": "pandas.read_parquet(path)",
}
FIT = f"{INSIDE}/fit.json"
"""File of a store with what features learned from the first graphs."""
CHOSEN = f"{INSIDE}/chosen.json"
"""File of a store of a kernel with gamma and the side of its tiles."""
_WRITTEN = f"{INSIDE}/written.json"
_CLAIMED = f"{INSIDE}/claimed.json"  # says that files which are there may be replaced
_CSV_BYTES = 25  # of a number as text and as an object


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
        """Return rows, or rows and columns, as numpy does; only the chunks in their range are read."""
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
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
        lost = self._store.damaged(thorough=True)
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
        side = int(self._store.read_json(CHOSEN)["side"]) if CHOSEN in self._store else 1
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
        gamma: float | None = self._store.read_json(CHOSEN)["gamma"]
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


def check_ending(target: Path, endings: tuple[str, ...]) -> None:
    """Raise unless a name ends in one of the formats."""
    if target.suffix not in endings:
        raise InvalidOptionError(
            f"{quoted(target.name)}: give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}"
        )


def work_folder(target: Path) -> Path:
    """Return the folder of the store: the target itself, or a hidden folder beside a plain file."""
    return target if target.suffix == ".zarr" else target.with_name(f".{target.name}.torelli")


def rows_file(target: Path) -> Path:
    """Return the table of names and labels beside an .npy file."""
    return target.with_suffix(".rows.csv")


def check_target(target: Path, inputs: Iterable[Path], *, fresh: bool) -> None:
    """Raise if the result would replace a file that torelli did not write, or an input.

    Parameters
    ----------
    target
        The result.
    inputs
        Files that graphs are read from.
    fresh
        Whether the caller wants a file that is there to be replaced; an input is never replaced.
    """
    if target.suffix == ".zarr":
        return
    outputs = [path for path in _files_of(target) if path.exists()]
    for path in outputs:
        if path.is_dir():
            raise StoreError(f"{quoted(str(path), 400)} is a folder; choose another name, or remove it")
        if any(path.samefile(file) for file in inputs if file.exists()):
            raise InvalidOptionError(
                f"{quoted(str(path), 400)} is an input, which the result would replace; choose another name"
            )
    root = work_folder(target)
    if not fresh and not (root / _WRITTEN).exists() and not (root / _CLAIMED).exists():
        _refuse_to_replace(outputs)


def _refuse_to_replace(paths: Iterable[Path]) -> None:
    for path in paths:
        raise StoreError(
            f"{quoted(str(path), 400)} exists, and is no result that torelli knows; choose another name, or "
            "replace it with --fresh (in Python: fresh=True)"
        )


def _files_of(target: Path) -> list[Path]:
    """Return the files of a plain result, the last of them last."""
    return [rows_file(target), target] if target.suffix == ".npy" else [target]


def is_finished(store: Store, target: Path, *, fresh: bool = False, verify: bool = False) -> bool:
    """Return whether a plain file was written before; raise if it has changed since.

    Parameters
    ----------
    fresh
        Files that are there may be replaced, also by a later run that continues this one.
    verify
        Compare the content with its checksum, not only the size.
    """
    if target.suffix == ".zarr":
        return False
    if fresh:
        store.put_json(_CLAIMED, {})
    if _WRITTEN not in store:
        return False
    for name, written in store.read_json(_WRITTEN)["files"].items():
        path = target.with_name(name)
        sound = path.is_file() and path.stat().st_size == written["size"]
        if not sound or (verify and _checksum(path) != written["checksum"]):
            raise StoreError(
                f"{name} was finished before, and is missing or has changed since; start over with --fresh "
                "(in Python: fresh=True)"
            )
    _remove_chunks(store)  # a kill may have come before
    return True


def write_rows(store: Store, source: FeatureStore | KernelStore, target: Path, memory: int) -> None:
    """Write all numbers to a plain file, then remove the chunks they came from."""
    writers: dict[str, Callable[[Any, Path, int], None]] = {
        ".npy": _write_npy,
        ".csv": _write_csv,
        ".parquet": _write_parquet,
    }
    written = _files_of(target)
    if _CLAIMED not in store:
        _refuse_to_replace(path for path in written if path.exists())
        store.put_json(_CLAIMED, {})  # a kill may leave a file that the next run replaces
    if target.suffix == ".npy":
        place(store.root, written[0], lambda part: _write_names(source, part))
    place(store.root, target, lambda part: writers[target.suffix](source, part, memory))
    about = {path.name: {"size": path.stat().st_size, "checksum": _checksum(path)} for path in written}
    store.put_json(_WRITTEN, {"shape": list(source.shape), "files": about})
    _remove_chunks(store)


def _remove_chunks(store: Store) -> None:
    """Remove the numbers that the plain file has."""
    for folder in ("features", "kernel", f"{INSIDE}/data"):
        store.forget([path for path in store.journal.files if path.startswith(f"{folder}/")])
        shutil.rmtree(store.root / folder, ignore_errors=True)


def _checksum(path: Path) -> str:
    """Return a checksum of a file of any size."""
    sums = []
    with path.open("rb") as file:
        while block := file.read(2**24):
            sums.append(checksum(block))
    return checksum("".join(sums).encode())


def _stripes(
    source: FeatureStore | KernelStore, memory: int, each: int
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the first row and the numbers of a few rows at a time."""
    n_rows, width = source.shape
    height = max(1, min(n_rows, memory // max(each * width, 1)))
    if height >= source.chunks[0]:
        height -= height % source.chunks[0]
    for start in range(0, n_rows, height):
        yield start, source.block(slice(start, min(start + height, n_rows)))


def _write_npy(source: FeatureStore | KernelStore, path: Path, memory: int) -> None:
    with path.open("wb") as file:
        header = {"descr": source.dtype.str, "fortran_order": False, "shape": source.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for _, rows in _stripes(source, memory, source.dtype.itemsize):
            file.write(np.ascontiguousarray(rows).data)  # not a copy


def _write_names(source: FeatureStore | KernelStore, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        labels = source.labels
        writer.writerow(["id"] if labels is None else ["id", "label"])
        ids = source.ids.tolist()
        writer.writerows(zip(ids, strict=True) if labels is None else zip(ids, labels.tolist(), strict=True))


def _write_csv(source: FeatureStore | KernelStore, path: Path, memory: int) -> None:
    columns = source.ids.tolist() if not hasattr(source, "columns") else source.columns
    labels = source.labels
    ids = source.ids.tolist()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *([] if labels is None else ["label"]), *columns])
        for start, rows in _stripes(source, memory, _CSV_BYTES + source.dtype.itemsize):
            for row, values in enumerate(rows, start):
                # the shortest text that reads back as the same number of this type
                texts = (
                    [repr(value) for value in values.tolist()]
                    if rows.dtype == np.float64
                    else map(str, values)
                )
                writer.writerow([ids[row], *([] if labels is None else [labels[row]]), *texts])


def _write_parquet(source: FeatureStore, path: Path, memory: int) -> None:
    arrow = require("pyarrow", "scale", "a .parquet file")
    parquet = require("pyarrow.parquet", "scale", "a .parquet file")
    kind = arrow.from_numpy_dtype(source.dtype)
    labels = source.labels
    fields = [("id", arrow.string()), *([] if labels is None else [("label", arrow.string())])]
    schema = arrow.schema([*fields, *((name, kind) for name in source.columns)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start, rows in _stripes(source, memory, source.dtype.itemsize):
            stop = start + len(rows)
            text_columns = [arrow.array(source.ids[start:stop].tolist(), arrow.string())]
            if labels is not None:
                text_columns.append(arrow.array(labels[start:stop].tolist(), arrow.string()))
            columns = [arrow.array(column, kind) for column in np.ascontiguousarray(rows.T)]
            writer.write_table(arrow.Table.from_arrays([*text_columns, *columns], schema=schema))
