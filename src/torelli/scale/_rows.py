"""From graphs to rows: features, which are the result, or representations, which kernel tiles use.

Rows are finished in parts of up to `ROWS` graphs, whose bounds are multiples of `ROWS`. A part is one task,
in this process or in a worker.
"""

from __future__ import annotations

import io
import json
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from torelli._errors import FormatError, InvalidGraphError, StoreError, quoted, shortened
from torelli._numerics import threads
from torelli.features import MeasureFeatures
from torelli.scale import _zarr
from torelli.scale._store import INSIDE, Part, Store, write_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.distances import Metric
    from torelli.graph import MetricGraph
    from torelli.io.readers import Record
    from torelli.scale._inputs import Piece, Reading

ROWS = 256
"""Most rows in a part, and rows in a chunk of features."""

_BATCH_EDGES = 50_000  # edges of graphs that are transformed together
_BATCH_NUMBERS = 2**22  # numbers of matrices in one file, unless one matrix has more
_NOTES = 20
_ALONG_A_STREET = 2  # edges at a point that is no junction

_reading = Lock()  # warnings are caught for the whole process


class RowFeatures(MeasureFeatures):
    """`MeasureFeatures` one graph at a time: no bit of a row depends on the graphs beside it.

    In larger products, the last bits of a row may depend on how many rows are multiplied together.
    """

    def _ranges(self, offsets: Ints) -> list[tuple[int, int]]:
        return [(graph, graph + 1) for graph in range(len(offsets) - 1)]


@dataclass(frozen=True)
class Recipe:
    """How pieces become rows; it is sent to workers.

    Attributes
    ----------
    root
        The store.
    reading
        How pieces are read.
    kind
        ``"features"``: rows of the result. ``"vectors"``, ``"matrices"``: representations for kernels.
    transformer
        A fitted transformer from graphs to rows or matrices.
    metric
        The metric whose vectors are computed from the matrices, if any.
    dtype
        Type of the features.
    one_by_one
        Whether to transform one graph at a time, to take less memory.
    """

    root: str
    reading: Reading
    kind: Literal["features", "vectors", "matrices"]
    transformer: Any
    metric: Metric | None = None
    dtype: str = "float64"
    one_by_one: bool = False

    def frugal(self) -> Recipe:
        """Return a recipe that takes less memory, with the same result."""
        return replace(self, one_by_one=True)


class RowsTask(NamedTuple):
    """A part of the rows: its first row and its pieces."""

    start: int
    pieces: tuple[Piece, ...]

    @property
    def is_light(self) -> bool:
        """Whether so little is sent that all tasks can be sent at once."""
        return False

    @property
    def is_alone(self) -> bool:
        """Whether the task needs a chunk that another one has written."""
        return self.start % ROWS > 0


@dataclass
class RowsResult:
    """What a task reports.

    Attributes
    ----------
    parts
        Files that it wrote.
    units
        For each unit of lengths, the first graph that has it.
    notes
        Warnings.
    """

    parts: list[Part] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def rows_path(start: int) -> str:
    """Return the file with names, labels and digests of the part that begins at a row."""
    return f"{INSIDE}/rows/{start:010d}.json"


def data_path(start: int, file_index: int) -> str:
    """Return a file with representations of that part."""
    return f"{INSIDE}/data/{start:010d}-{file_index}.npy"


def make_rows(recipe: Recipe, task: RowsTask) -> RowsResult:
    """Read the pieces of a part and write its rows."""
    result = RowsResult()
    root = Path(recipe.root)
    about: dict[str, list[Any]] = {"id": [], "label": [], "digest": [], "size": [], "files": [], "units": []}
    rows: list[NDArray[Any]] = []
    for pieces in _batches(recipe, task.pieces, result, about):
        with _collect_warnings(result.notes):
            batch_rows = _transformed(recipe, pieces)
        about["size"] += [len(row) for row in batch_rows]
        if recipe.kind == "features":
            rows += batch_rows
            continue
        flat = np.concatenate([np.empty(0), *(np.ravel(row) for row in batch_rows)])
        about["files"].append(len(batch_rows))
        path = data_path(task.start, len(about["files"]) - 1)
        result.parts.append(write_part(root, path, as_npy(flat)))
    if recipe.kind == "features":
        result.parts.append(_chunk(recipe, task.start, np.array(rows)))
        about["files"] = []
    about["units"] = [list(item) for item in result.units.items()]
    # the part's names last: a part counts as finished if they are there
    text = json.dumps(about, separators=(",", ":"))
    result.parts.append(write_part(root, rows_path(task.start), text.encode()))
    return result


def _chunk(recipe: Recipe, start: int, rows: NDArray[Any]) -> Part:
    """Write the chunk of some rows; finished rows that it has before and after them are kept."""
    root = Path(recipe.root)
    path, before = f"features/c/{start // ROWS}/0", start % ROWS
    first = start - before
    block = np.full((ROWS, rows.shape[1]), np.nan, dtype=recipe.dtype)
    if before or (root / path).exists():
        store = Store(root)
        if before or path in store:
            present = _zarr.decode(store.read(path), block.shape, recipe.dtype)
            block[:before] = present[:before]
            for row in {segment.start for segment in store.journal.segments}:
                if start < row < first + ROWS and rows_path(row) in store:
                    end = row - first + len(store.read_json(rows_path(row))["id"])
                    block[row - first : end] = present[row - first : end]
    block[before : before + len(rows)] = cast(rows, recipe.dtype)
    return write_part(root, path, _zarr.encode(block))


def _batches(
    recipe: Recipe, pieces: Sequence[Piece], result: RowsResult, about: dict[str, list[Any]]
) -> Iterator[list[MetricGraph]]:
    """Read pieces, and yield batches of graphs that fit into memory; batches depend on the graphs alone."""
    batch: list[MetricGraph] = []
    edges = n_entries = 0
    for piece in pieces:
        with _collect_warnings(result.notes):
            record = read_piece(recipe.reading, piece)
        graph = record.graph
        name, label = graph.name or piece.name, recipe.reading.label_of(record)
        _check_text(name, "id", piece.where)
        _check_text(label or "", "label", piece.where)
        about["id"].append(name)
        about["label"].append(label)
        about["digest"].append(piece.digest)
        if graph.n_edges:
            result.units.setdefault(graph.unit or "", name)
        size = _most_rows(graph) ** 2 if recipe.kind == "matrices" else 0
        full = edges + graph.n_edges > _BATCH_EDGES or n_entries + size > _BATCH_NUMBERS
        if batch and (full or recipe.one_by_one):
            yield batch
            batch, edges, n_entries = [], 0, 0
        batch.append(graph)
        edges, n_entries = edges + graph.n_edges, n_entries + size
    if batch:
        yield batch


def _check_text(text: str, what: str, where: str) -> None:
    """Raise if a name or label has characters that arrays and tables of text lose or refuse."""
    problem = "a NUL character" if "\0" in text else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        problem = "half of a surrogate pair, which is no character"
    if problem:
        # the place may have the same characters
        place = where.replace("\0", "\\0").encode(errors="backslashreplace").decode()
        raise FormatError(f"{shortened(place)}: the {what} {quoted(text)} has {problem}; change the {what}")


def read_piece(reading: Reading, piece: Piece) -> Record:
    """Return the graph of a piece; errors name it."""
    try:
        return reading.record(piece)
    except FormatError as error:
        raise (
            error if piece.where.partition(",")[0] in str(error) else FormatError(f"{piece.where}: {error}")
        ) from error
    except InvalidGraphError as error:
        faults = [fault if fault.name else replace(fault, name=piece.where) for fault in error.faults]
        raise InvalidGraphError(faults) from error


def _most_rows(graph: MetricGraph) -> int:
    """Return an upper bound of the size of a graph's matrix, with doubled bridges too."""
    degree = np.bincount(graph.tail, minlength=graph.n_nodes) + np.bincount(
        graph.head, minlength=graph.n_nodes
    )
    return graph.genus + int(np.count_nonzero(degree != _ALONG_A_STREET))


def _transformed(recipe: Recipe, graphs: list[MetricGraph]) -> list[NDArray[Any]]:
    if {graph.unit for graph in graphs} > {None}:
        # told once for all graphs, and not for each batch
        known = {graph.unit for graph in graphs} - {None}
        graphs = [graph.replace(unit=None) for graph in graphs] if len(known) == 1 else graphs
    with threads.one_blas_thread():
        rows = recipe.transformer.transform(graphs)
        if recipe.metric is not None and recipe.metric.vectors is not None:
            rows = recipe.metric.vectors(rows, None)
    return list(rows)


@contextmanager
def _collect_warnings(notes: list[str]) -> Iterator[None]:
    """Collect warnings, each text once."""
    with _reading, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in (str(warning.message) for warning in caught):
        if text not in notes and len(notes) < _NOTES:
            notes.append(text)


def as_npy(values: NDArray[Any]) -> bytes:
    """Return an array as the content of an .npy file."""
    file = io.BytesIO()
    np.save(file, values, allow_pickle=False)
    return file.getvalue()


def from_npy(content: bytes) -> Floats:
    """Return the array of an .npy file."""
    values: Floats = np.load(io.BytesIO(content), allow_pickle=False)
    return values


def cast(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return numbers in the precision of a result, or raise an error if they are too large for it."""
    with np.errstate(over="ignore"):
        narrow = values.astype(dtype)
    if np.isinf(narrow).any() and not np.isinf(values).any():
        raise StoreError(
            f"a number is too large for {dtype}; use --dtype float64, or lengths in a larger unit"
        )
    return narrow


def padded_rows(vectors: Sequence[Floats], width: int) -> Floats:
    """Return vectors as rows of one array, the shorter ones padded with zeros."""
    rows = np.zeros((len(vectors), width))
    for row, vector in zip(rows, vectors, strict=True):
        row[: len(vector)] = vector
    return rows


class Index:
    """Where the representation of each row is.

    Parameters
    ----------
    size
        Length of each vector, or number of rows of each matrix.
    files
        For each file, its first row and the two numbers in its name (`data_path`).
    """

    def __init__(self, size: Ints, files: Ints) -> None:
        self.size, self.files = size, files

    @classmethod
    def of_parts(cls, parts: Iterable[tuple[int, dict[str, Any]]]) -> Index:
        """Return the index of finished parts: for each its first row and what its file says."""
        files, sizes = [], [np.empty(0, np.int64)]
        for start, about in parts:
            row = start
            sizes.append(np.array(about["size"], dtype=np.int64))
            for file_index, n_rows in enumerate(about["files"]):
                files.append((row, start, file_index))
                row += n_rows
        return cls(np.concatenate(sizes), np.array(files, dtype=np.int64).reshape(-1, 3))

    def save(self, store: Store) -> None:
        """Write the index to a store, from which workers read it."""
        store.put(f"{INSIDE}/index-size.npy", as_npy(self.size))
        store.put(f"{INSIDE}/index-files.npy", as_npy(self.files))

    @classmethod
    def load(cls, store: Store) -> Index:
        """Return the index of a store."""
        size, files = (from_npy(store.read(f"{INSIDE}/index-{name}.npy")) for name in ("size", "files"))
        return cls(size.astype(np.int64), files.astype(np.int64))

    def rows(self, start: int, stop: int, *, square: bool, read: Callable[[str], Floats]) -> list[Floats]:
        """Return the representations of rows; `read` returns the numbers of a file."""
        representations: list[Floats] = []
        first = self.files[:, 0]
        file = int(np.searchsorted(first, start, side="right")) - 1
        row = start
        while row < stop:
            base = int(first[file])
            end = int(first[file + 1]) if file + 1 < len(first) else len(self.size)
            size = self.size[base:end]
            bounds = np.concatenate([[0], np.cumsum(size**2 if square else size)])
            path = data_path(int(self.files[file, 1]), int(self.files[file, 2]))
            values = read(path)
            if len(values) != bounds[-1]:
                raise FormatError(
                    f"{path} has {len(values):,} numbers instead of {bounds[-1]:,}; start over with --fresh"
                )
            for graph in range(row, min(stop, end)):
                part = values[bounds[graph - base] : bounds[graph - base + 1]]
                n = int(self.size[graph])
                representations.append(part.reshape(n, n) if square else part)
            row = min(stop, end)
            file += 1
        return representations
