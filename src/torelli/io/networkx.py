"""networkx graphs of any class, OSMnx's among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torelli._errors import Fault, InvalidGraphError, quoted
from torelli.io.edges import build_graph

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torelli.graph import MetricGraph
    from torelli.io.directed import Directions


def from_networkx(graph: Any, length: str, directions: Directions) -> MetricGraph:  # noqa: ANN401  (any networkx class)
    """Convert a networkx graph; unit, name, coordinates and reference system come with it."""
    nodes = list(graph)
    directed = graph.is_directed()
    tail, head, attributes = _edges(graph, nodes, directed=directed)
    return build_graph(
        tail,
        head,
        [data.get(length) for data in attributes],
        nodes,
        length=length,
        other_attributes=lambda: (key for data in attributes for key in data),
        how_to_set=f"set it (all to 1: networkx.set_edge_attributes(graph, 1.0, {quoted(length)}))",
        directions=directions if directed else None,
        ways=lambda: known([data.get("osmid") for data in attributes]),
        **described(graph.graph),
        **_places(graph.nodes, nodes, graph.graph),
    )


def _edges(
    graph: Any,  # noqa: ANN401
    nodes: Sequence[Any],
    *,
    directed: bool,
) -> tuple[list[int], list[int], list[Any]]:
    """Return tails, heads and attributes from the adjacency: networkx's order, several times as fast.

    An undirected edge stands at both of its ends: it is taken at the first.
    """
    adjacency = [neighbours for _, neighbours in graph.adjacency()]
    numbered = nodes == [*range(len(nodes))]
    if not numbered:
        number = dict(zip(nodes, range(len(nodes)), strict=True))
        adjacency = [{number[v]: data for v, data in neighbours.items()} for neighbours in adjacency]
    tail: list[int] = []
    head: list[int] = []
    attributes: list[Any] = []
    several = graph.is_multigraph()
    for i, neighbours in enumerate(adjacency):
        for j, data in neighbours.items():
            if j < i and not directed:
                continue
            if several:
                tail += [i] * len(data)
                head += [j] * len(data)
                attributes += data.values()
            else:
                tail.append(i)
                head.append(j)
                attributes.append(data)
    if numbered and head and not 0 <= min(head) <= max(head) < len(nodes):
        problem = f"edges lead to nodes {min(head)} to {max(head)} in a graph of {len(nodes):,} nodes"
        raise InvalidGraphError([Fault(problem, "add nodes and edges by networkx's own methods")])
    return tail, head, attributes


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
