"""Objects in memory to metric graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import Fault, InvalidGraphError
from torelli._validate import LENGTH_REMEDY, bad_lengths, describe_edge, parse_lengths
from torelli.graph import MetricGraph
from torelli.io.directed import merge_directions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LIST_REMEDY = "give a list of graphs, such as [graph]"


def as_metric_graph(graph: Any, length: str = "length") -> MetricGraph:  # noqa: ANN401
    """Convert a graph to a `MetricGraph`.

    Parameters
    ----------
    graph
        A `MetricGraph`, which is returned as it is, or a networkx graph of any class: `Graph`,
        `MultiGraph`, `DiGraph` or `MultiDiGraph`, with any hashable node ids. In directed graphs
        the two directions of one street are one edge (`torelli.io.directed` states the rule);
        true parallels stay.
    length
        Name of the edge attribute with the length; numeric strings are converted.

    Raises
    ------
    InvalidGraphError
        With every edge whose length is missing, no number, zero, negative or not finite.
    """
    if isinstance(graph, MetricGraph):
        return graph
    if hasattr(graph, "edges") and hasattr(graph, "is_multigraph"):
        return _from_networkx(graph, length)
    problem = f"an object of type {type(graph).__name__} cannot be read as a metric graph"
    raise InvalidGraphError([Fault(problem, "give a torelli.MetricGraph or a networkx graph")])


def as_metric_graphs(graphs: Iterable[Any], length: str = "length") -> list[MetricGraph]:
    """Convert a list of graphs; row i of every later result belongs to ``graphs[i]``.

    Raises
    ------
    InvalidGraphError
        One error with the faults of all graphs, each with the position of its graph.
    """
    if isinstance(graphs, MetricGraph) or hasattr(graphs, "is_multigraph"):
        raise InvalidGraphError([Fault("got a single graph where a list of graphs is meant", _LIST_REMEDY)])
    if isinstance(graphs, (str, bytes)) or not hasattr(graphs, "__iter__"):
        problem = f"got {type(graphs).__name__} where a list of graphs is meant"
        raise InvalidGraphError([Fault(problem, _LIST_REMEDY)])
    converted: list[MetricGraph] = []
    faults: list[Fault] = []
    for position, graph in enumerate(graphs):
        try:
            converted.append(as_metric_graph(graph, length))
        except InvalidGraphError as error:
            faults.extend(error.at(position))
    if faults:
        raise InvalidGraphError(faults)
    if not converted:
        raise InvalidGraphError([Fault("the list of graphs is empty", "give at least one graph")])
    return converted


def _from_networkx(graph: Any, length: str) -> MetricGraph:  # noqa: ANN401  (duck-typed: any networkx class)
    nodes = list(graph)
    number = dict(zip(nodes, range(len(nodes)), strict=True))
    edges = list(graph.edges(data=length))
    tail = np.array([number[edge[0]] for edge in edges], dtype=np.int64)
    head = np.array([number[edge[1]] for edge in edges], dtype=np.int64)
    raw = [edge[2] for edge in edges]
    try:
        lengths = np.array(raw, dtype=np.float64)
        clean = not lengths.size or (bool(lengths.min() > 0) and bool(np.isfinite(lengths).all()))
    except (TypeError, ValueError):
        clean = False
    if not clean or any(isinstance(value, bool) for value in raw):
        lengths = _diagnose(raw, [(tail[i], head[i]) for i in range(len(edges))], nodes, graph, length)
    if graph.is_directed():
        kept = merge_directions(tail, head, lengths, _osm_ids(graph))
        tail, head, lengths = tail[kept], head[kept], lengths[kept]
    name = graph.graph.get("name")
    return MetricGraph(
        tail,
        head,
        lengths,
        len(nodes),
        name=str(name) if name else None,
        node_ids=nodes,
        **_places(graph, nodes),
    )


def _diagnose(
    raw: Sequence[object],
    ends: Sequence[tuple[int, int]],
    nodes: Sequence[Any],
    graph: Any,  # noqa: ANN401
    length: str,
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Convert lengths with care: return them if all are good, else raise with every fault."""
    lengths, not_numbers = parse_lengths(raw)
    missing = [i for i, value in enumerate(raw) if value is None]
    unread = {*missing, *not_numbers}

    def describe(edge: int) -> str:
        return describe_edge(edge, ends[edge], nodes)

    faults = []
    if missing:
        others = sorted({str(key) for *_, data in graph.edges(data=True) for key in data if key != length})
        have = f"; the edges have {', '.join(map(repr, others[:10]))}" if others else ""
        remedy = f"set it, or name another attribute with length=...{have}"
        faults.append(Fault(f"attribute {length!r} is missing", remedy, tuple(map(describe, missing))))
    if not_numbers:
        edges = tuple(f"{describe(i)}: {raw[i]!r}" for i in not_numbers)
        faults.append(Fault(f"attribute {length!r} is not a number", LENGTH_REMEDY, edges))
    readable = np.array([i for i in range(len(raw)) if i not in unread], dtype=np.int64)
    faults += bad_lengths(lengths[readable], lambda k: describe(int(readable[k])))
    if faults:
        name = graph.graph.get("name") or None
        raise InvalidGraphError([Fault(f.problem, f.remedy, f.edges, name=name) for f in faults])
    return lengths


def _osm_ids(graph: Any) -> list[Any] | None:  # noqa: ANN401
    ids = [value for *_, value in graph.edges(data="osmid")]
    return ids if any(value is not None for value in ids) else None


def _places(graph: Any, nodes: Sequence[Any]) -> dict[str, Any]:  # noqa: ANN401
    """Return coordinates and reference system, where every node has ``x`` and ``y``."""
    try:
        points = [[float(graph.nodes[node][axis]) for axis in "xy"] for node in nodes]
    except (KeyError, TypeError, ValueError):
        return {}
    crs = graph.graph.get("crs")
    return {"coordinates": points, "crs": str(crs) if crs is not None else None} if points else {}
