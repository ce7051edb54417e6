"""Data sets in the TU format: text files in a folder or a zip, which hold many graphs and their labels.

Nodes are those of ``graph_indicator``, so that isolated ones stay. Each row of ``A`` is an entry of an
adjacency matrix: rows (u, v) and (v, u), however often they occur, are one edge, and a row (u, u) is a
loop. Edges are ordered by graph, then by smaller and larger node. Nothing of a zip is written to disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, shortened
from torelli._validate import are_lengths
from torelli.graph import MetricGraph
from torelli.io.edges import contract_zeros, contracts_zeros, warn
from torelli.io.files import MAX_INFLATED, read_member, zip_sizes
from torelli.io.readers import Reader, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile
    from torelli.io.values import EdgeValues


_PARSED = 12  # bytes for each byte of text while its numbers are read, at most
_ADJACENCY = "_A.txt"
_GRAPH, _NODE, _ROW = 2000, 40, 160  # bytes of each, at most, until the graphs are there
_LINES_SHOWN = 5
_CONTRADICTS = "the row contradicts another row of the same edge"
_LARGEST_INTEGER = 2**53  # to which a float holds every integer
# rows that repeat an earlier one, in sets that are known to: no reason to warn each time
_KNOWN_REPEATS = {"IMDB-BINARY": 193_062, "IMDB-MULTI": 197_806}


class Archive:
    """The text files of a TU data set, in a folder or a zip.

    Attributes
    ----------
    path
        The folder or zip.
    name
        Name of the data set: what precedes ``_A.txt``.
    """

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        self.path = path
        self._budget = budget
        if path.is_dir():
            sizes = {entry.name: entry.stat().st_size for entry in path.iterdir() if entry.is_file()}
            inner = path / path.name
            if inner.is_dir() and not any(name.endswith(_ADJACENCY) for name in sizes):
                self.path = path = inner
                sizes = {entry.name: entry.stat().st_size for entry in path.iterdir() if entry.is_file()}
            self._read: Callable[[str], bytes] = lambda name: (path / name).read_bytes()
        elif path.is_file():
            sizes = zip_sizes(path)
            self._read = lambda name: read_member(path, name)
        else:
            raise DataNotFoundError(f"there is no TU data set at {path}: give a folder or a zip")
        self._sizes = sizes
        matrices = [name for name in sizes if name.endswith(_ADJACENCY)]
        if len(matrices) != 1:
            problem = f"has {len(matrices)} files named ..._A.txt" if matrices else "has no file NAME_A.txt"
            raise FormatError(
                f"{path} {problem}, so it is not one data set in the TU format; unpack other archives"
            )
        self._prefix = matrices[0].removesuffix(_ADJACENCY)
        self.name = PurePosixPath(self._prefix).name

    def __contains__(self, part: str) -> bool:
        return self._member(part) in self._sizes

    def text(self, part: str) -> bytes:
        """Return the content of one part, such as ``"A"`` or ``"graph_labels"``."""
        member = self._member(part)
        if member not in self._sizes:
            raise FormatError(
                f"{self.path} has no file {shortened(PurePosixPath(member).name)}, which the TU format needs"
            )
        if self._sizes[member] > MAX_INFLATED:
            raise FormatError(
                f"{self.path}: {shortened(member)} has over {MAX_INFLATED:,} bytes: that is not a data set"
            )
        if self._budget is not None:
            self._budget.check(_PARSED * self._sizes[member])
        return self._read(member)

    def label(self, part: str) -> str:
        """Return how to name a part in messages."""
        return f"{self.path}: {shortened(PurePosixPath(self._member(part)).name)}"

    def description(self) -> str | None:
        """Return the text of the set's README, if it has one."""
        folder = PurePosixPath(self._prefix).parent
        for name in self._sizes:
            file = PurePosixPath(name)
            if file.parent == folder and file.name.lower() == "readme.txt":
                return self._read(name).decode("utf-8", "replace")
        return None

    def _member(self, part: str) -> str:
        return f"{self._prefix}_{part}.txt"


def check_zip(path: Path) -> None:
    """Raise `FormatError` unless a file is a sound zip of a TU data set, by the checksums in it."""
    archive = Archive(path)
    for part in ("A", "graph_indicator", "graph_labels"):
        archive.text(part)


@dataclass(frozen=True)
class TUSet:
    """A whole TU data set as arrays; nodes are numbered within their graph.

    Attributes
    ----------
    archive
        Where the set was read from.
    labels
        Label of each graph.
    n_nodes, n_edges
        Number of nodes and of edges of each graph.
    tail, head
        End points of the edges, graph by graph.
    row_edge
        Edge of each row of the file.
    n_repeated
        Number of rows that repeat an earlier one in the same direction.
    """

    archive: Archive
    labels: Ints
    n_nodes: Ints
    n_edges: Ints
    tail: Ints
    head: Ints
    row_edge: Ints
    n_repeated: int

    def names(self) -> list[str]:
        """Return the name of each graph."""
        return [f"{self.archive.name}[{i}]" for i in range(len(self.labels))]

    def parts(self) -> Iterator[tuple[int, slice]]:
        """Yield the number of nodes of each graph, and which edges are its own."""
        stop = np.cumsum(self.n_edges)
        for n, start, end in zip(self.n_nodes.tolist(), stop - self.n_edges, stop, strict=True):
            yield n, slice(int(start), int(end))

    def has_lengths(self) -> bool:
        """Whether the set has edge attributes, which may be lengths."""
        return "edge_attributes" in self.archive

    def own_lengths(self) -> Floats:
        """Return the set's own lengths; raise unless the two directions of each edge agree."""
        from torelli._numerics.number_parser import float_table

        label = self.archive.label("edge_attributes")
        table = float_table(self.archive.text("edge_attributes"), label)
        if table.shape != (len(self.row_edge), 1):
            raise FormatError(
                f"{label} has {table.shape[0]:,} rows of {table.shape[1]} numbers; one number is needed, the "
                f"length, for each of the {len(self.row_edge):,} rows of A"
            )
        value = table[:, 0]
        if contracts_zeros():
            _forbid(~((value >= 0) & np.isfinite(value)), label, "a length must be finite and not negative")
        else:
            _forbid(~((value > 0) & np.isfinite(value)), label, "a length must be finite and greater than 0")
        length = np.empty(len(self.tail))
        length[self.row_edge] = value
        _forbid(length[self.row_edge] != value, label, _CONTRADICTS)
        return length

    def edge_columns(
        self, values: EdgeValues, budget: Budget, *, are_lengths: bool, why_not: str = ""
    ) -> dict[str, NDArray[Any]]:
        """Return the labels and attributes of edges that are kept as values, by name.

        Attributes that are the lengths are no further values. What is not numbers, or differs between the
        two directions of an edge, is left out with a warning, unless `why_not`, the warning that attributes
        are not lengths, says the same.
        """
        columns: dict[str, NDArray[Any]] = {}
        for part, name in (("edge_labels", "label"), ("edge_attributes", "attribute")):
            if part not in self.archive or (are_lengths and part == "edge_attributes"):
                continue
            try:
                table = self._edge_table(part)
            except FormatError as error:
                if part == "edge_labels" or _CONTRADICTS not in why_not:
                    warn(f"{error}: they are left out as values on edges")
                continue
            for i, column in enumerate(table.T, 1):
                full_name = name if table.shape[1] == 1 else f"{name}_{i}"
                if values.keeps(full_name):
                    budget.take(column.nbytes)
                    columns[full_name] = column
        return columns

    def _edge_table(self, part: str) -> NDArray[Any]:
        """Return the numbers of a part, a row for each edge; integers if all are."""
        from torelli._numerics.number_parser import float_table

        label = self.archive.label(part)
        rows = float_table(self.archive.text(part), label)
        if len(rows) != len(self.row_edge):
            raise FormatError(f"{label} has {len(rows):,} rows for the {len(self.row_edge):,} of A")
        table = np.empty((len(self.tail), rows.shape[1]))
        table[self.row_edge] = rows
        if not np.array_equal(table[self.row_edge], rows, equal_nan=True):
            raise FormatError(f"{label} differs between the two directions of an edge")
        are_integers = bool((np.abs(table) < _LARGEST_INTEGER).all() and (table == table.round()).all())
        return table.astype(np.int64) if are_integers else table

    def graphs(self, length: Floats, columns: Mapping[str, NDArray[Any]] | None = None) -> list[MetricGraph]:
        """Return the graphs, with the given length of each edge, and values on edges by name."""
        source = str(self.archive.path)
        make = MetricGraph.from_checked if are_lengths(length) else MetricGraph
        graphs = []
        for name, (n, part) in zip(self.names(), self.parts(), strict=True):
            tail, head, lengths = self.tail[part].copy(), self.head[part].copy(), length[part].copy()
            size, ids = n, None
            own = {key: column[part].copy() for key, column in (columns or {}).items()}
            if contracts_zeros() and not lengths.all():
                own = {key: column[lengths > 0] for key, column in own.items()}
                tail, head, lengths, kept = contract_zeros(tail, head, lengths, n, name)
                size, ids = len(kept), tuple(kept.tolist())
            graph = make(tail, head, lengths, size, name=name, source=source, node_ids=ids, edge_values=own)
            graphs.append(graph)
        return graphs


def read_tu_set(path: Path, budget: Budget) -> TUSet:
    """Read a data set from its folder or zip; warn if rows are listed more than once."""
    from torelli._numerics.number_parser import integer_table

    archive = Archive(path, budget)
    labels = integer_table(archive.text("graph_labels"), 1, archive.label("graph_labels"))[:, 0]
    if not len(labels):
        raise FormatError(f"{archive.label('graph_labels')} is empty: the set has no graphs")
    budget.take(_GRAPH * len(labels))
    data = _read_edges(archive, labels.copy(), budget)
    if data.n_repeated != _KNOWN_REPEATS.get(archive.name, 0):
        warn(
            f"{archive.label('A')}: {data.n_repeated:,} rows repeat an earlier one in the same direction; "
            "each entry was taken once"
        )
    return data


def _read_edges(archive: Archive, labels: Ints, budget: Budget) -> TUSet:
    from torelli._numerics.number_parser import integer_table

    n_graphs = len(labels)
    graph = integer_table(archive.text("graph_indicator"), 1, archive.label("graph_indicator"))[:, 0] - 1
    budget.take(_NODE * len(graph))
    _forbid(
        (graph < 0) | (graph >= n_graphs),
        archive.label("graph_indicator"),
        f"the graph is not one of the {n_graphs:,} with a label",
    )
    n_nodes = np.bincount(graph, minlength=n_graphs)
    # nodes are nearly always listed graph by graph; if not, renumber them so
    rank = np.empty(len(graph), dtype=np.int64)
    rank[np.argsort(graph, kind="stable")] = np.arange(len(graph))

    ends = integer_table(archive.text("A"), 2, archive.label("A")) - 1
    budget.take(_ROW * len(ends))
    label = archive.label("A")
    outside = (ends.min(axis=1) < 0) | (ends.max(axis=1) >= len(graph))
    _forbid(outside, label, f"an end point is not one of the {len(graph):,} nodes of graph_indicator")
    _forbid(graph[ends[:, 0]] != graph[ends[:, 1]], label, "the edge joins two graphs")

    ends = rank[ends]
    low, high = ends.min(axis=1), ends.max(axis=1)
    backward = ends[:, 0] > ends[:, 1]
    # node numbers stay far below 2^31: a file with more lines is refused for its size
    key = (low << np.int64(32)) | (high << np.int64(1)) | backward
    order = np.argsort(key, kind="stable")
    key = key[order]
    n_repeated = int(np.count_nonzero(key[1:] == key[:-1]))
    new = np.concatenate([[True], key[1:] >> 1 != key[:-1] >> 1])[: len(key)]
    first = order[new]
    row_edge = np.empty(len(key), dtype=np.int64)
    row_edge[order] = np.cumsum(new) - 1
    tail, head = low[first], high[first]
    # in sorted order nodes go graph by graph, and so do edges by their smaller end
    first_node = np.cumsum(n_nodes) - n_nodes
    owner = np.repeat(np.arange(n_graphs), n_nodes)[tail]
    n_edges = np.bincount(owner, minlength=n_graphs)
    tail, head = tail - first_node[owner], head - first_node[owner]
    return TUSet(archive, labels, n_nodes, n_edges, tail, head, row_edge, n_repeated)


def _forbid(bad: NDArray[np.bool_], label: str, problem: str) -> None:
    lines = np.flatnonzero(bad)
    if len(lines):
        shown = ", ".join(str(line + 1) for line in lines[:_LINES_SHOWN].tolist())
        more = f" and {len(lines) - _LINES_SHOWN:,} more" if len(lines) > _LINES_SHOWN else ""
        raise FormatError(f"{label}, line{'s' if len(lines) > 1 else ''} {shown}{more}: {problem}")


def read_tu_records(file: SourceFile) -> list[Record]:
    """Return the graphs of a set, with the lengths that it states or else unit lengths, and their labels."""
    data = read_tu_set(file.path, file.budget)
    length, problem = np.ones(len(data.tail)), "the set has no edge attributes"
    if data.has_lengths():
        try:
            length, problem = data.own_lengths(), ""
        except FormatError as error:
            problem = f"the edge attributes are not lengths ({error})"
    if problem:
        remedy = "choose lengths with torelli.datasets.load_tu(path, lengths=...)"
        warn(f"{problem}: every edge has length 1; {remedy}", name=file.name)
    columns = data.edge_columns(file.edge_values(), file.budget, are_lengths=not problem, why_not=problem)
    return [
        Record(graph, {"label": label})
        for graph, label in zip(data.graphs(length, columns), data.labels.tolist(), strict=True)
    ]


def is_tu_folder(folder: Path) -> bool:
    """Whether a folder is a TU data set."""
    return any(folder.glob(f"*{_ADJACENCY}"))


def is_tu_zip(file: SourceFile) -> bool:
    """Whether a zip has the adjacency matrix of a TU data set."""
    return any(name.endswith(_ADJACENCY) for name in zip_sizes(file.path))


TU = Reader(
    "tu",
    (".zip",),
    read_tu_records,
    several=True,
    is_compressible=False,
    content="a data set in the TU format (NAME_A.txt)",
    recognises=is_tu_zip,
    is_folder=is_tu_folder,
)
