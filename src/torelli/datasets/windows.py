"""Windows of a street network: nodes near a landmark, and the largest component of what they induce."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np

from torelli._errors import DataWarning, Fault, InvalidGraphError, listed, shortened, warn
from torelli._geo import LONLAT, east_north, is_geographic, out_of_range
from torelli._units import metres
from torelli.io.files import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import scipy.sparse as sp

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph


Cut = Literal["bbox", "disc", "network"]

_AT_ONCE = 64  # landmarks of a shortest-path search held in memory
_REMEDY = "give a graph whose nodes have longitude and latitude in degrees"


def in_lonlat(graphs: Iterable[MetricGraph]) -> list[MetricGraph]:
    """Return graphs with their coordinates in longitude and latitude, and with the system that has them.

    Coordinates of a graph that states no reference system are taken to be degrees (EPSG:4326). Those of a
    projected system are converted by pyproj, with one warning for all graphs, and lengths in a known unit
    are then in metres.

    Raises
    ------
    InvalidGraphError
        If pyproj cannot convert the reference system of a graph.
    MissingExtraError
        If a graph is projected and pyproj is not installed.
    """
    placed, systems, converted = [], [], []
    for graph in graphs:
        crs = graph.crs or LONLAT
        if graph.coordinates is None or is_geographic(crs):
            placed.append(graph.replace(crs=crs))
            continue
        in_metres = graph.to_unit("m") if graph.unit is not None and metres(graph.unit) is not None else graph
        placed.append(in_metres.replace(coordinates=_unprojected(in_metres), crs=LONLAT))
        systems.append(shortened(crs))
        converted.append(graph.name or "a graph without name")
    if converted:
        warn(
            f"coordinates in {', '.join(dict.fromkeys(systems))} were converted to longitude and latitude "
            f"({listed(converted)}); windows and maps are measured in metres",
            DataWarning,
        )
    return placed


def _unprojected(graph: MetricGraph) -> Floats:
    """Return the coordinates of a graph with longitude and latitude instead of x and y."""
    name, crs = graph.name, str(graph.crs)
    pyproj = require("pyproj", "geo", f"converting {shortened(crs)} to longitude and latitude")
    try:
        system = pyproj.CRS.from_user_input(re.sub(r"^\+init=", "", crs, flags=re.IGNORECASE))
        convert = pyproj.Transformer.from_crs(system, LONLAT, always_xy=True)
    except pyproj.exceptions.ProjError as error:
        problem = f"coordinates are in {shortened(crs)}, which pyproj cannot convert"
        raise InvalidGraphError([Fault(problem, _REMEDY, name=name)]) from error
    points = np.array(graph.coordinates)
    points[:, 0], points[:, 1] = convert.transform(points[:, 0], points[:, 1])
    _check_range(points, name)
    return points


def metres_from(graph: MetricGraph, centre: tuple[float, float]) -> Floats:
    """Return the position of each node in metres east and north of a centre given as (lat, lon)."""
    return east_north(_lon_lat(graph), centre)


def middle_of(graph: MetricGraph) -> tuple[float, float]:
    """Return the middle of the bounding box of the nodes as (lat, lon)."""
    low, high = _lon_lat(graph).min(axis=0), _lon_lat(graph).max(axis=0)
    return float(low[1] + high[1]) / 2, float(low[0] + high[0]) / 2


def _lon_lat(graph: MetricGraph) -> Floats:
    points = graph.coordinates
    if points is None or not graph.n_nodes:
        raise InvalidGraphError([Fault("nodes have no coordinates", _REMEDY, name=graph.name)])
    if graph.crs is not None and not is_geographic(graph.crs):
        problem = f"coordinates are in {shortened(graph.crs)}"
        raise InvalidGraphError([Fault(problem, _REMEDY, name=graph.name)])
    _check_range(points, graph.name)
    return points[:, :2]


def _check_range(points: Floats, name: str | None) -> None:
    outside = np.count_nonzero(out_of_range(points))
    if outside:
        problem = f"{outside:,} nodes have coordinates that are missing or out of range"
        remedy = (
            f"{_REMEDY}, or that states its reference system, as a shapefile does with its .prj file (in "
            "Python: the option crs of MetricGraph.replace)"
        )
        raise InvalidGraphError([Fault(problem, remedy, name=name)])


def landmarks_within(graph: MetricGraph, points: Floats, radius: float, cut: Cut) -> Ints:
    """Return the nodes that may be landmarks: the largest component of the network within a radius.

    The radius is half the side of a square for ``"bbox"``, and a straight line for the others.
    """
    inside = np.flatnonzero(np.linalg.norm(points, ord=np.inf if cut == "bbox" else 2, axis=1) <= radius)
    nodes, _ = largest_component(graph, inside)
    return nodes


def cut_windows(
    graph: MetricGraph, points: Floats, landmarks: Ints, radius: float, cut: Cut
) -> Iterator[MetricGraph]:
    """Yield the window around each landmark, with the graph's own node ids and coordinates."""
    if cut == "network":
        yield from _induced(graph, _nodes_along(graph, landmarks, radius))
    else:
        yield from windows_at(graph, points, points[landmarks], radius, cut)


def windows_at(
    graph: MetricGraph, points: Floats, places: Floats, radius: float, cut: Literal["bbox", "disc"] = "bbox"
) -> Iterator[MetricGraph]:
    """Yield the window around each place, given like the points of the nodes; no node need be there."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points)
    p = np.inf if cut == "bbox" else 2.0
    near = tree.query_ball_point(places, radius, p=p, return_sorted=True)
    yield from _induced(graph, (np.array(nodes, dtype=np.int64) for nodes in near))


def _induced(graph: MetricGraph, insides: Iterable[Ints]) -> Iterator[MetricGraph]:
    """Yield the largest component of what each set of nodes induces."""
    for position, inside in enumerate(insides):
        nodes, edges = largest_component(graph, inside)
        window = graph.edge_subgraph(edges, nodes=nodes)
        yield window.replace(name=f"{graph.name or 'window'}[{position}]")


def _nodes_along(graph: MetricGraph, landmarks: Ints, radius: float) -> Iterator[Ints]:
    """Yield the nodes within the radius of each landmark along the streets, ascending."""
    from scipy.sparse.csgraph import dijkstra

    known = graph.unit is not None and metres(graph.unit) is not None
    streets = _shortest_streets(graph.to_unit("m") if known else graph)
    for start in range(0, len(landmarks), _AT_ONCE):
        some = landmarks[start : start + _AT_ONCE]
        for distance in dijkstra(streets, directed=False, indices=some, limit=radius):
            yield np.flatnonzero(distance <= radius)


def _shortest_streets(graph: MetricGraph) -> sp.csr_array:
    """Return the adjacency matrix with the shortest of parallel edges, which a sparse matrix would add."""
    import scipy.sparse as sp

    low, high = np.minimum(graph.tail, graph.head), np.maximum(graph.tail, graph.head)
    order = np.lexsort((graph.length, high, low))
    low, high, length = low[order], high[order], graph.length[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    first &= low != high
    ends = low[first].astype(np.int32), high[first].astype(np.int32)  # scipy 1.13 takes no wider indices
    return sp.csr_array((length[first], ends), shape=(graph.n_nodes, graph.n_nodes))


def largest_component(graph: MetricGraph, nodes: Ints) -> tuple[Ints, Ints]:
    """Return the nodes and edges of the largest component of the subgraph that `nodes` induce.

    Largest by nodes; of equal ones that with the smallest node number.
    """
    new = np.full(graph.n_nodes, -1, dtype=np.int64)
    new[nodes] = np.arange(len(nodes))
    edges = np.flatnonzero((new[graph.tail] >= 0) & (new[graph.head] >= 0))
    tail, head = new[graph.tail[edges]], new[graph.head[edges]]
    size = len(nodes)
    if not size:
        return nodes, edges
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(
        sp.coo_array((np.ones(len(edges), dtype=np.int8), (tail, head)), shape=(size, size)), directed=False
    )
    # components are not numbered by their first node, so argmax over sizes alone would not settle ties
    counts = np.bincount(component)[component]
    largest = component[int(np.argmax(counts))]
    return nodes[component == largest], edges[component[tail] == largest]


def cover(graph: MetricGraph, points: Floats, step: float) -> Ints:
    """Return landmarks that cover a network: of each square of a lattice the node nearest to its middle.

    Squares without nodes have no landmark. Landmarks are in the largest component, row by row from the south.
    """
    nodes, _ = largest_component(graph, np.arange(graph.n_nodes))
    places = points[nodes] / step
    cell = np.floor(places).astype(np.int64)
    off = np.linalg.norm(places - cell - 0.5, axis=1)
    order = np.lexsort((off, cell[:, 0], cell[:, 1]))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = np.any(cell[order][1:] != cell[order][:-1], axis=1)
    return nodes[order[first]]
