"""An index on disk: a folder of arrays and records with a manifest of checksums.

Loading runs nothing that is stored there, and arrays are memory-mapped.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import (
    DataNotFoundError,
    FormatError,
    InvalidOptionError,
    StoreError,
    listed,
    quoted,
    shortened,
)
from torelli._files import parse_object, settle, whole_folder
from torelli._registry import get_kernel
from torelli._version import __version__
from torelli.distances import MATRIX_ROUNDING, VECTOR_ROUNDING, Metric
from torelli.graph import MetricGraph
from torelli.kernels import GraphKernel, options_of
from torelli.search._collections import MatrixCollection, VectorCollection, require
from torelli.search._hnsw import NeighbourGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints

MANIFEST = "index.json"
_FORMAT, _VERSION = "torelli index", 1
_MOST_BYTES = 2**24  # of a manifest
_BLOCK = 2**22
_REMEDY = "copy it again, or make it again with `torelli index`"
RECORDS_FILE = "records.jsonl"
NO_GRAPHS = "an index of vectors has no graphs: make it from graphs, by fit"
_GRAPH_ARRAYS = ("n_nodes", "n_edges", "dimensions", "tail", "head", "length", "coordinates")
_TEXTS = ("name", "source", "unit", "crs")
_DIMENSIONS = (0, 2, 3)  # 0: no coordinates
_NEIGHBOURS = "neighbours.hnsw"


def write_folder(
    folder: Path,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    files: Mapping[str, Callable[[Path], object]],
) -> None:
    """Write arrays, files and facts to a folder; all of them appear at once, or none.

    Parameters
    ----------
    folder
        The folder.
    about
        Plain values.
    arrays
        Arrays by name.
    files
        Functions that write a file, by the name of the file.
    """
    check_folder(folder)
    with _named_disk_errors(folder), whole_folder(folder) as part:
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        for name, write in files.items():
            write(part / name)
        sums = {
            file.name: {"bytes": file.stat().st_size, "sha256": _sha256(file)}
            for file in sorted(part.iterdir())
        }
        manifest = {"format": _FORMAT, "version": _VERSION, **about, "files": sums}
        manifest["checksum"] = _checksum(manifest)
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    for old in folder.glob("*.npy"):
        if old.name not in sums:
            old.unlink()


def is_index(folder: Path) -> bool:
    """Whether a folder has the manifest of an index."""
    return (folder / MANIFEST).is_file() and bool(_files_of(folder))


def check_folder(folder: Path) -> None:
    """Raise if a folder has files that are no part of an index: an index would replace or remove them."""
    name = shortened(str(folder), 400)
    if folder.exists() and not folder.is_dir():
        raise InvalidOptionError(f"{name} is a file: an index is a folder, choose another name")
    if not folder.is_dir():
        return
    settle(folder)
    known = _files_of(folder) if (folder / MANIFEST).is_file() else set()
    others = sorted(file.name for file in folder.iterdir() if file.name not in known and file.name[0] != ".")
    if others:
        raise InvalidOptionError(
            f"{name} has {listed(others, 3)}, no part of an index, which an index could replace; choose a "
            "new or empty folder, or one that has an index alone"
        )


def _files_of(folder: Path) -> set[str]:
    """Return the files that the manifest of an index lists; none if it is the manifest of something else."""
    try:
        about = parse_object((folder / MANIFEST).read_bytes(), MANIFEST)
    except FormatError:
        return set()
    files = about.get("files")
    return {MANIFEST, *files} if about.get("format") == _FORMAT and isinstance(files, dict) else set()


@contextmanager
def _named_disk_errors(folder: Path) -> Iterator[None]:
    """Name the folder where a disk is full or cannot be written: numpy says only how many bytes were."""
    try:
        yield
    except OSError as error:
        name, reason = shortened(str(folder), 400), error.strerror or f"the disk may be full: {error}"
        raise StoreError(
            f"{name}: the index could not be written ({reason}); make room, or choose another place"
        ) from error


class StoredFolder:
    """A folder that `write_folder` wrote; its manifest is checked, its files are checked when asked for.

    Parameters
    ----------
    folder
        The folder.
    verify
        Whether to compare the content of files with their checksums, which reads them whole.
    """

    def __init__(self, folder: Path, *, verify: bool) -> None:
        self.folder, self.verify = folder, verify
        if not (folder / MANIFEST).is_file() and not folder.is_dir():
            raise DataNotFoundError(f"there is no index {shortened(str(folder), 400)}; check the path")
        settle(folder)
        source = folder / MANIFEST
        if not source.is_file():
            raise DataNotFoundError(
                f"{shortened(str(folder), 400)} is not an index: it has no {MANIFEST}; "
                "make one with `torelli index`"
            )
        if source.stat().st_size > _MOST_BYTES:
            raise FormatError(f"{MANIFEST}: larger than the manifest of any index; {_REMEDY}")
        self.about = parse_object(source.read_bytes(), MANIFEST)
        if self.about.get("format") != _FORMAT:
            raise FormatError(f"{MANIFEST}: not the manifest of an index; {_REMEDY}")
        if self.about.get("version") != _VERSION:
            raise FormatError(
                f"{MANIFEST}: version {shortened(str(self.about.get('version')))} of the format, and this "
                f"version of torelli reads version {_VERSION}; make the index again"
            )
        if self.about.get("checksum") != _checksum(self.about):
            raise FormatError(f"{MANIFEST}: its checksum is wrong; {_REMEDY}")
        if not isinstance(self.about.get("files"), dict):
            raise FormatError(f"{MANIFEST}: it lists no files; {_REMEDY}")

    def __contains__(self, name: str) -> bool:
        return name in self.about["files"]

    def file(self, name: str) -> Path:
        """Return the path of a file of the manifest, once its size and checksum are right."""
        path, facts = self.folder / name, self.about["files"].get(name)
        if not isinstance(facts, dict):
            raise FormatError(f"{MANIFEST}: it lists no {name}; {_REMEDY}")
        if not path.is_file():
            raise FormatError(f"{name}: missing from the index; {_REMEDY}")
        n_bytes = path.stat().st_size
        if n_bytes != facts.get("bytes"):
            listed = quoted(facts.get("bytes"))
            raise FormatError(f"{name}: it has {n_bytes} bytes, and the manifest lists {listed}; {_REMEDY}")
        if self.verify and _sha256(path) != facts.get("sha256"):
            raise FormatError(f"{name}: its checksum is wrong; {_REMEDY}")
        return path

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, memory-mapped and read-only."""
        path = self.file(f"{name}.npy")
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # noqa: BLE001  (numpy evaluates the header, which may be anything)
            # an array without entries cannot be mapped
            array = _read_empty(path, error)
        if not array.flags.c_contiguous or array.dtype.kind not in "fi" or not array.dtype.isnative:
            raise FormatError(f"{path.name}: not an array of numbers that torelli wrote; {_REMEDY}")
        # indexing a numpy.memmap makes a new one each time, which is slow
        return np.asarray(array)


def _read_empty(path: Path, error: Exception) -> NDArray[Any]:
    """Return an array without entries; raise what stopped the mapping for any other."""
    try:
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    except Exception:  # noqa: BLE001
        shape, dtype = (1,), np.dtype(float)
    if 0 not in shape or dtype.hasobject:
        raise FormatError(f"{path.name}: {shortened(str(error))}; {_REMEDY}") from error
    return np.empty(shape, dtype)


def _sha256(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def _checksum(manifest: Mapping[str, Any]) -> str:
    facts = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


class Entry(NamedTuple):
    """What is known of a graph besides itself: its name, plain values, and its reference system."""

    name: str
    facts: dict[str, Any]
    crs: str | None


class Records:
    """Names, facts and graphs by position.

    Parameters
    ----------
    ids
        The name of each graph.
    metadata
        Plain values of each graph, by name; None if there are none.
    graphs
        The graphs; None for an index of vectors.
    """

    def __init__(
        self,
        ids: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None,
        graphs: Sequence[MetricGraph] | None,
    ) -> None:
        self._ids, self._metadata, self._graphs = ids, metadata, graphs

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def has_graphs(self) -> bool:
        """Whether the graphs themselves are there."""
        return self._graphs is not None

    def name(self, position: int) -> str:
        """Return the name of a graph."""
        return self._ids[position]

    def __iter__(self) -> Iterator[Entry]:
        """Yield what is known of each graph besides itself."""
        for position in range(len(self)):
            crs = self.graph(position).crs if self.has_graphs else None
            yield Entry(self.name(position), self.facts(position), crs)

    def names(self) -> list[str]:
        """Return the name of each graph."""
        return [entry.name for entry in self]

    def middles(self) -> Floats:
        """Return the middle of the box around the nodes of each graph; NaN without coordinates."""
        return np.array([_middle(self._coordinates(position)) for position in range(len(self))])

    def _coordinates(self, position: int) -> NDArray[Any] | None:
        return self.graph(position).coordinates

    def facts(self, position: int) -> dict[str, Any]:
        """Return the plain values of a graph."""
        return dict(self._metadata[position]) if self._metadata is not None else {}

    def graph(self, position: int) -> MetricGraph:
        """Return a graph."""
        if self._graphs is None:
            raise InvalidOptionError(NO_GRAPHS)
        return self._graphs[position]

    def stored(self) -> tuple[dict[str, NDArray[Any]], dict[str, Callable[[Path], object]]]:
        """Return the arrays and the files to store."""
        lines = [self._line(position) for position in range(len(self))]
        ends = np.cumsum([len(line) for line in lines], dtype=np.int64)
        arrays: dict[str, NDArray[Any]] = {"record_ends": ends}
        if self.has_graphs:
            graphs = [self.graph(position) for position in range(len(self))]
            arrays |= {
                "n_nodes": np.array([graph.n_nodes for graph in graphs], dtype=np.int64),
                "n_edges": np.array([graph.n_edges for graph in graphs], dtype=np.int64),
                "dimensions": np.array(
                    [0 if graph.coordinates is None else graph.coordinates.shape[1] for graph in graphs],
                    dtype=np.int64,
                ),
                "tail": _joined([graph.tail for graph in graphs], np.int64),
                "head": _joined([graph.head for graph in graphs], np.int64),
                "length": _joined([graph.length for graph in graphs], np.float64),
                "coordinates": _joined(
                    [graph.coordinates.ravel() for graph in graphs if graph.coordinates is not None],
                    np.float64,
                ),
            }
        return arrays, {RECORDS_FILE: lambda path: path.write_bytes(b"".join(lines))}

    def _line(self, position: int) -> bytes:
        record: dict[str, Any] = {"id": self.name(position), "metadata": self.facts(position)}
        if self.has_graphs:
            graph = self.graph(position)
            record["graph"] = {key: getattr(graph, key) for key in _TEXTS}
        try:
            return json.dumps(record).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise InvalidOptionError(
                f"metadata of graph {position} ({self.name(position)!r}) cannot be stored as JSON ({error}): "
                "use text, numbers, lists and dictionaries"
            ) from error


class StoredRecords(Records):
    """The records of a folder, read one by one when asked for.

    Parameters
    ----------
    folder
        The folder.
    """

    def __init__(self, folder: StoredFolder) -> None:
        self._path = folder.file(RECORDS_FILE)
        ends = folder.array("record_ends")
        require(ends.ndim == 1 and ends.dtype == np.int64, "record_ends", "a list of integers")
        ordered = bool((np.diff(ends, prepend=0) > 0).all())
        n_bytes = self._path.stat().st_size
        require(ordered and (int(ends[-1]) if len(ends) else 0) == n_bytes, "record_ends", "ends of records")
        self._ends = ends
        self._arrays: dict[str, NDArray[Any]] = {}
        if "n_nodes.npy" in folder:
            self._arrays = {name: folder.array(name) for name in _GRAPH_ARRAYS}
            self._check_graphs()

    def _check_graphs(self) -> None:
        arrays = self._arrays
        for name in ("n_nodes", "n_edges", "dimensions"):
            right = arrays[name].shape == self._ends.shape and arrays[name].dtype == np.int64
            require(right and bool((arrays[name] >= 0).all()), name, "one count for each graph")
        for name, dtype in (("tail", np.int64), ("head", np.int64), ("length", np.float64)):
            right = arrays[name].ndim == 1 and arrays[name].dtype == dtype
            require(right and len(arrays[name]) == len(arrays["tail"]), name, "one number for each edge")
        in_range = bool((arrays["n_edges"] <= len(arrays["tail"])).all())
        total = int(arrays["n_edges"].sum()) if in_range else -1
        require(total == len(arrays["tail"]), "n_edges", "the numbers of edges that are stored")
        coordinates = arrays["coordinates"]
        require(coordinates.ndim == 1 and coordinates.dtype == np.float64, "coordinates", "a list of floats")
        known = bool(np.isin(arrays["dimensions"], _DIMENSIONS).all())
        require(known, "dimensions", f"one of {_DIMENSIONS} for each graph")
        placed = arrays["dimensions"] > 0
        in_range = bool((arrays["n_nodes"][placed] <= len(coordinates)).all())
        self._edge_ends = np.cumsum(arrays["n_edges"])
        self._point_ends = np.cumsum(np.where(placed, arrays["n_nodes"], 0) * arrays["dimensions"])
        n_points = int(self._point_ends[-1]) if in_range and len(self._point_ends) else -1
        require(n_points == len(coordinates), "coordinates", "those of the nodes")

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def has_graphs(self) -> bool:
        """Whether the graphs themselves are there."""
        return bool(self._arrays)

    def __iter__(self) -> Iterator[Entry]:
        """Yield what is known of each graph besides itself, in one pass through the file."""
        start = 0
        with self._path.open("rb") as file:
            for position, end in enumerate(self._ends.tolist()):
                record = self._parsed(file.read(end - start), position)
                about_graph = record.get("graph")
                crs = about_graph.get("crs") if isinstance(about_graph, dict) else None
                yield Entry(record["id"], record["metadata"], crs if isinstance(crs, str) else None)
                start = end

    def _record(self, position: int) -> dict[str, Any]:
        start = int(self._ends[position - 1]) if position else 0
        with self._path.open("rb") as file:
            file.seek(start)
            return self._parsed(file.read(int(self._ends[position]) - start), position)

    @staticmethod
    def _parsed(text: bytes, position: int) -> dict[str, Any]:
        where = f"{RECORDS_FILE}, record {position}"
        record = parse_object(text, where)
        if not isinstance(record.get("id"), str) or not isinstance(record.get("metadata"), dict):
            raise FormatError(f"{where}: it has no id or no metadata; make the index again")
        return record

    def name(self, position: int) -> str:
        """Return the name of a graph."""
        name: str = self._record(position)["id"]
        return name

    def facts(self, position: int) -> dict[str, Any]:
        """Return the plain values of a graph."""
        facts: dict[str, Any] = self._record(position)["metadata"]
        return facts

    def graph(self, position: int) -> MetricGraph:
        """Return a graph, checked like any other input."""
        if not self._arrays:
            raise InvalidOptionError(NO_GRAPHS)
        about_graph = self._record(position).get("graph")
        where = f"{RECORDS_FILE}, record {position}"
        texts = {key: about_graph.get(key) for key in _TEXTS} if isinstance(about_graph, dict) else {}
        if not texts or any(not isinstance(text, (str, type(None))) for text in texts.values()):
            raise FormatError(f"{where}: it does not describe a graph; make the index again")
        end = int(self._edge_ends[position])
        edges = slice(end - int(self._arrays["n_edges"][position]), end)
        return MetricGraph(
            self._arrays["tail"][edges],
            self._arrays["head"][edges],
            self._arrays["length"][edges],
            int(self._arrays["n_nodes"][position]),
            coordinates=self._coordinates(position),
            **texts,
        )

    def _coordinates(self, position: int) -> NDArray[Any] | None:
        """Return the coordinates of the nodes of a graph."""
        dimension = int(self._arrays["dimensions"][position])
        if dimension == 0:
            return None
        end = int(self._point_ends[position])
        start = end - dimension * int(self._arrays["n_nodes"][position])
        return self._arrays["coordinates"][start:end].reshape(-1, dimension)


def _middle(points: NDArray[Any] | None) -> tuple[float, float]:
    known = np.empty((0, 2)) if points is None else points[np.isfinite(points[:, :2]).all(axis=1), :2]
    if not len(known):
        return np.nan, np.nan
    x, y = (known.min(axis=0) + known.max(axis=0)) / 2
    return float(x), float(y)


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *arrays]).astype(dtype, copy=False)


class IndexParts(NamedTuple):
    """Everything that an index consists of.

    Attributes
    ----------
    kernel, method, ef, seed
        Its parameters.
    unit
        Unit of the lengths.
    transformer
        Transformer from graphs to matrices or vectors; None for an index of vectors alone.
    collection
        The distinct matrices or vectors.
    group
        Position in `collection` of each graph's matrix or vector.
    records
        Names and graphs.
    neighbours, recall
        The neighbour graph of an approximate search, and its recall.
    """

    kernel: GraphKernel
    method: Any
    ef: Any
    seed: Any
    unit: str | None
    transformer: Any
    collection: MatrixCollection | VectorCollection
    group: Ints
    records: Records
    neighbours: NeighbourGraph | None
    recall: float | None


def write_index(folder: Path, parts: IndexParts) -> Path:
    """Write an index to a folder, and return it."""
    entry = parts.kernel.entry
    arrays, files = parts.records.stored()
    arrays |= parts.collection.arrays() | {"group": parts.group}
    fitted = {} if parts.transformer is None else _fitted(parts.transformer)
    arrays |= {f"fitted_{name}": np.atleast_1d(value) for name, value in fitted.items()}
    if parts.neighbours is not None:
        files[_NEIGHBOURS] = parts.neighbours.save
    options = options_of(parts.kernel)
    if parts.transformer is not None:
        options = {name: getattr(parts.transformer, name) for name in entry.defaults}
    about = {
        "torelli": __version__,
        "kernel": entry.name,
        "options": {
            name: one.item() if isinstance(one, np.generic) else one for name, one in options.items()
        },
        "length": parts.kernel.length,
        "method": parts.method,
        "ef": parts.ef,
        "seed": parts.seed,
        "unit": parts.unit,
        "takes_graphs": parts.transformer is not None,
        "fitted": sorted(fitted),
        "recall": parts.recall,
    }
    write_folder(folder, about, arrays, files)
    return folder


def read_index(folder: Path, *, verify: bool) -> IndexParts:
    """Return the parts of a stored index; raise if they do not belong together."""
    stored = StoredFolder(folder, verify=verify)
    about = stored.about
    kernel, transformer = _read_kernel(stored)
    unit, recall, method = (about.get(key) for key in ("unit", "recall", "method"))
    if not isinstance(unit, (str, type(None))) or not isinstance(recall, (float, type(None))):
        raise FormatError("the manifest of the index has no valid unit or recall; make the index again")
    collection = _read_collection(stored, kernel)
    group = stored.array("group")
    require(group.ndim == 1 and group.dtype == np.int64 and len(group) > 0, "group", "a list of integers")
    n_items = len(collection)
    in_range = bool(((group >= 0) & (group < n_items)).all())
    require(in_range and len(np.unique(group)) == n_items, "group", "the items of graphs")
    records = StoredRecords(stored)
    require(len(records) == len(group), "record_ends", "one record for each graph")
    neighbours = None
    if method == "hnsw":
        neighbours = NeighbourGraph.load(stored.file(_NEIGHBOURS), *collection.tables[0].rows.shape)
    return IndexParts(
        kernel, method, about.get("ef"), about.get("seed"), unit, transformer, collection, group, records,
        neighbours, recall,
    )  # fmt: skip


def _read_collection(stored: StoredFolder, kernel: GraphKernel) -> MatrixCollection | VectorCollection:
    distance = kernel.entry.distance
    if isinstance(distance, Metric) and distance.vectors is None:
        names = ["size", "entries", "norms", "unit", *(f"sketches{i}" for i in range(len(distance.sketches)))]
        return MatrixCollection.from_arrays(distance, {name: stored.array(name) for name in names})
    names = ["vectors", "unit"]
    if "axes.npy" in stored:
        names += ["centre", "axes", "sketches0"]
    tolerance = MATRIX_ROUNDING if isinstance(distance, Metric) else VECTOR_ROUNDING
    return VectorCollection.from_arrays({name: stored.array(name) for name in names}, tolerance)


def _read_kernel(stored: StoredFolder) -> tuple[GraphKernel, Any]:
    """Return the kernel of a manifest, and the fitted transformer of graphs, None if there is none."""
    about = stored.about
    name, options, length, fitted = (about.get(key) for key in ("kernel", "options", "length", "fitted"))
    if not isinstance(name, str) or not isinstance(options, dict) or not isinstance(length, str):
        raise FormatError("the manifest of the index names no kernel; make the index again")
    if not isinstance(fitted, list) or not all(isinstance(one, str) and one.isidentifier() for one in fitted):
        raise FormatError("the manifest of the index lists no fitted arrays; make the index again")
    try:
        kernel_class = get_kernel(name)
        known = kernel_class.entry.options(options)
        accepted = {key: known[key] for key in kernel_class().get_params(deep=False) if key in options}
        kernel = kernel_class(length=length, **accepted)
        kernel._check_parameters()  # noqa: SLF001  (as when a model is loaded)
    except (InvalidOptionError, TypeError) as error:
        raise FormatError(f"this is not a valid index: {error}") from error
    if about.get("takes_graphs") is not True:
        return kernel, None
    representation: Any = kernel.entry.representation
    state = dict(representation(**known).__getstate__())
    state |= {one: np.array(stored.array(f"fitted_{one}")) for one in fitted}
    transformer = representation.__new__(representation)
    try:
        transformer.__setstate__(state)  # checks what it is given
    except InvalidOptionError as error:
        raise FormatError(f"this is not a valid index: {error}") from error
    return kernel, transformer


def set_jobs(transformer: Any, n_jobs: int | None) -> None:
    """Set the number of threads of a transformer that has one."""
    if "n_jobs" in transformer.get_params(deep=False):
        transformer.set_params(n_jobs=n_jobs)


def _fitted(transformer: object) -> Mapping[str, NDArray[Any]]:
    """Return the arrays that a transformer has learned."""
    own = {name: value for name, value in vars(transformer).items() if name.endswith("_")}
    learned = {name: value for name, value in own.items() if name != "unit_"}  # the index has its own
    for name, value in learned.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi":
            kind = type(transformer).__name__
            raise InvalidOptionError(f"{name} of {kind} is no array of numbers, and cannot be stored")
    return learned
