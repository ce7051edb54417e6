"""Windows of street networks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from torelli import InvalidGraphError, MetricGraph
from torelli.datasets import build_urn
from towns import STEP, grid_city


def places(graph: MetricGraph, landmark: tuple[int, int]) -> np.ndarray:
    """Return the place of each node of a window of the grid city, in steps from its landmark."""
    return np.array(graph.node_ids) - np.array(landmark)


@pytest.mark.parametrize(
    ("cut", "order", "n_nodes"), [("bbox", np.inf, 49), ("disc", 2, 29), ("network", 1, 25)]
)
def test_a_window_has_exactly_the_nodes_within_its_radius(cut, order, n_nodes) -> None:
    """On a grid of 100 m, r = 310 m takes a square, a disc or a diamond of the grid."""
    data = build_urn([grid_city()], R=1000, r=310, n=40, cut=cut)
    for window, landmark in zip(data.graphs, data.landmarks, strict=True):
        steps = places(window, landmark)
        assert window.n_nodes == n_nodes
        assert np.linalg.norm(steps, ord=order, axis=1).max() <= 3.1
        ids = set(window.node_ids)
        expected = nx.grid_2d_graph(31, 31).subgraph(ids)
        assert window.n_edges == expected.number_of_edges()
        assert set(window.length) == {STEP}


def test_the_radius_along_streets_takes_the_shortest_of_parallel_edges() -> None:
    """Parallel streets do not add up: the shorter one counts."""
    city = MetricGraph(
        [0, 0, 1], [1, 1, 2], [500.0, 100.0, 100.0], coordinates=[[0, 0], [0.001, 0], [0.002, 0]], name="C"
    )
    (window,) = build_urn([city], R=300, r=210, n=1, cut="network", blocks=1, centres=[(0.0, 0.0)]).graphs
    assert window.n_nodes == 3
    assert window.n_edges == 3


def test_only_the_largest_component_of_a_window_is_kept() -> None:
    """A window of two parts keeps the one with more nodes."""
    city = MetricGraph(
        [0, 1, 3], [1, 2, 4], [50.0, 50.0, 50.0], coordinates=[[x * 1e-4, 0] for x in range(5)], name="C"
    )
    data = build_urn([city], R=100, r=100, n=3, blocks=1)
    assert {graph.node_ids for graph in data.graphs} == {(0, 1, 2)}
    assert all(graph.n_components == 1 for graph in data.graphs)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"coordinates": None}, "nodes have no coordinates"),
        ({"crs": "EPSG:32633"}, "coordinates are in EPSG:32633"),
        ({"coordinates": np.full((961, 2), 1e6), "crs": None}, "961 nodes have coordinates that are missing"),
        ({"coordinates": np.full((961, 2), np.nan)}, "961 nodes have coordinates that are missing"),
    ],
)
def test_places_must_be_longitude_and_latitude(changes, problem) -> None:
    """A graph that cannot be cut is named with what is wrong with its coordinates."""
    with pytest.raises(InvalidGraphError, match=f"'Grid': {problem}"):
        build_urn([grid_city().replace(**changes)], R=1000, r=150, n=10)


def test_a_city_across_the_date_line_is_one_city() -> None:
    """Longitudes 179.99 and -179.99 are neighbours, if the centre is given."""
    city = grid_city(lon=180.0)
    points = np.array(city.coordinates)
    points[:, 0] = (points[:, 0] + 180) % 360 - 180
    data = build_urn([city.replace(coordinates=points)], R=1000, r=310, n=20, centres=[(50.0, 180.0)])
    assert {graph.n_nodes for graph in data.graphs} == {49}
