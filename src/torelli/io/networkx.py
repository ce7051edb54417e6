"""networkx graphs of any class, OSMnx's among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torelli.io.edges import build_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torelli.graph import MetricGraph


def from_networkx(graph: Any, length: str) -> MetricGraph:  # noqa: ANN401  (duck-typed: any networkx class)
    """Convert a networkx graph; unit, name, coordinates and reference system come with it."""
    nodes = list(graph)
    number = dict(zip(nodes, range(len(nodes)), strict=True))
    directed = graph.is_directed()
    edges = _edges(graph, number, directed=directed)
    tail, head, attributes = zip(*edges, strict=True) if edges else ((), (), ())
    return build_graph(
        tail,
        head,
        [data.get(length) for data in attributes],
        nodes,
        length=length,
        other_attributes=lambda: (key for data in attributes for key in data),
        how_to_set=f"set it (all to 1: networkx.set_edge_attributes(graph, 1.0, {length!r}))",
        directed=directed,
        ways=lambda: known([data.get("osmid") for data in attributes]),
        **described(graph.graph),
        **_places(graph.nodes, nodes, graph.graph),
    )


def _edges(graph: Any, number: Mapping[Any, int], *, directed: bool) -> list[tuple[int, int, Any]]:  # noqa: ANN401
    """List edges as (tail, head, data) from the adjacency, in networkx's order but four times as fast.

    An undirected edge stands at both of its ends: it is taken at the first.
    """
    places = enumerate(neighbours for _, neighbours in graph.adjacency())
    if graph.is_multigraph():
        return [
            (i, j, data)
            for i, neighbours in places
            for v, parallel in neighbours.items()
            if (j := number[v]) >= i or directed
            for data in parallel.values()
        ]
    return [
        (i, j, data)
        for i, neighbours in places
        for v, data in neighbours.items()
        if (j := number[v]) >= i or directed
    ]


def described(attributes: Mapping[Any, Any]) -> dict[str, str | None]:
    """Return name and unit from the attributes of a graph; OSMnx measures in metres."""
    name, unit = attributes.get("name"), attributes.get("unit")
    if unit is None and str(attributes.get("created_with", "")).startswith("OSMnx"):
        unit = "m"
    return {"name": str(name) if name else None, "unit": str(unit) if unit else None}


def known(values: list[Any]) -> list[Any] | None:
    """Return the values if any of them is there."""
    return values if any(value is not None for value in values) else None


def _places(data: Any, nodes: Sequence[Any], attributes: Mapping[Any, Any]) -> dict[str, Any]:  # noqa: ANN401
    """Return coordinates and reference system, where every node has ``x`` and ``y``; ``z`` likewise."""
    if not nodes or "x" not in data[nodes[0]]:
        return {}
    crs = attributes.get("crs")
    about = {"crs": str(crs) if crs is not None else None}
    for axes in ("xyz", "xy"):
        try:
            return {"coordinates": [[float(data[node][axis]) for axis in axes] for node in nodes], **about}
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
    return {}
