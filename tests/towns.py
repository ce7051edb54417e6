"""Grid cities, and OSMnx's answers made of them."""

from __future__ import annotations

import networkx as nx
import numpy as np

from torelli import MetricGraph

DEGREE = np.pi / 180 * 6_371_009  # metres
STEP = 100.0


def grid_city(
    size: int = 31, *, lat: float = 50.0, lon: float = 10.0, name: str = "Grid", step: float = STEP
) -> MetricGraph:
    """Return a grid of streets around a centre; node ids are (column, row)."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(size, size), label_attribute="column, row")
    grid = np.array([graph.nodes[node]["column, row"] for node in graph])
    metres = (grid - (size - 1) / 2) * step
    points = np.stack(
        [lon + metres[:, 0] / DEGREE / np.cos(np.radians(lat)), lat + metres[:, 1] / DEGREE], axis=1
    )
    ends = np.array(graph.edges)
    return MetricGraph(
        ends[:, 0],
        ends[:, 1],
        np.full(len(ends), step),
        len(grid),
        name=name,
        unit="m",
        coordinates=points,
        crs="EPSG:4326",
        node_ids=[tuple(pair) for pair in grid.tolist()],
    )


def osmnx_graph(city: MetricGraph) -> nx.MultiDiGraph:
    """Return a city as OSMnx has it: both directions of every street."""
    streets = nx.MultiDiGraph(crs="epsg:4326", simplified=True)
    points = np.asarray(city.coordinates).tolist()
    streets.add_nodes_from((node, {"x": x, "y": y}) for node, (x, y) in enumerate(points))
    ends = zip(city.tail.tolist(), city.head.tolist(), city.length.tolist(), strict=True)
    for way, (u, v, length) in enumerate(ends):
        for one, two in ((u, v), (v, u)):
            streets.add_edge(one, two, length=length, osmid=way, oneway=False)
    return streets


def grid_extract(path):
    """Write an OpenStreetMap extract with a grid of 12 by 12 junctions, 100 m apart, and a river."""
    import osmium
    from osmium.osm.mutable import Node, Way

    with osmium.SimpleWriter(str(path)) as writer:
        for row in range(12):
            for column in range(12):
                place = (8.0 + 0.0014 * column, 50.0 + 0.0009 * row)
                writer.add_node(Node(id=1 + 12 * row + column, location=place))
        for row in range(12):
            nodes = range(1 + 12 * row, 13 + 12 * row)
            writer.add_way(Way(id=1 + row, nodes=nodes, tags={"highway": "primary"}))
        for column in range(12):
            nodes = range(1 + column, 145, 12)
            writer.add_way(Way(id=20 + column, nodes=nodes, tags={"highway": "residential"}))
        writer.add_way(Way(id=99, nodes=[1, 144], tags={"waterway": "river"}))
    return path
