"""The graphs of an index with their names and other facts, in memory or in a folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import FormatError, InvalidOptionError
from torelli._files import parse_object
from torelli.graph import MetricGraph
from torelli.search._matrix_collection import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Floats
    from torelli.search._storage import StoredFolder

FILE = "records.jsonl"
NO_GRAPHS = "an index of vectors has no graphs: make it from graphs, by fit"
_GRAPH_ARRAYS = ("n_nodes", "n_edges", "dimensions", "tail", "head", "length", "coordinates")
_TEXTS = ("name", "source", "unit", "crs")
_DIMENSIONS = (0, 2, 3)  # 0: no coordinates


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
        return arrays, {FILE: lambda path: path.write_bytes(b"".join(lines))}

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
        self._path = folder.file(FILE)
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
                own = record.get("graph")
                crs = own.get("crs") if isinstance(own, dict) else None
                yield Entry(record["id"], record["metadata"], crs if isinstance(crs, str) else None)
                start = end

    def _record(self, position: int) -> dict[str, Any]:
        start = int(self._ends[position - 1]) if position else 0
        with self._path.open("rb") as file:
            file.seek(start)
            return self._parsed(file.read(int(self._ends[position]) - start), position)

    @staticmethod
    def _parsed(text: bytes, position: int) -> dict[str, Any]:
        where = f"{FILE}, record {position}"
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
        own = self._record(position).get("graph")
        where = f"{FILE}, record {position}"
        texts = {key: own.get(key) for key in _TEXTS} if isinstance(own, dict) else {}
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
