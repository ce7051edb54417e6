"""Windows of street networks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from torelli import MetricGraph
from torelli.datasets import build_urn, windows
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


def test_places_are_metres_east_and_north_of_a_centre():
    """On a grid of 100 m around a centre, nodes lie at whole hundreds of metres; the middle is the centre."""
    city = grid_city(5)
    lat, lon = windows.middle_of(city)
    assert (lat, lon) == pytest.approx((50.0, 10.0))
    points = windows.metres_from(city, (lat, lon))
    np.testing.assert_allclose(points, (np.array(city.node_ids) - 2) * STEP, atol=0.5)


@pytest.mark.parametrize("step", [250.0, 1000.0])
def test_landmarks_that_cover_a_city_have_one_in_each_square(step):
    """Every square of the lattice with a node has one landmark, the node nearest to its middle."""
    city = grid_city(11)
    points = windows.metres_from(city, windows.middle_of(city)) + 3.0
    landmarks = windows.cover(city, points, step)
    cells = np.floor(points / step).astype(int)
    chosen = cells[landmarks]
    assert {tuple(cell) for cell in chosen.tolist()} == {tuple(cell) for cell in cells.tolist()}
    assert len(np.unique(chosen, axis=0)) == len(landmarks)
    assert chosen.tolist() == sorted(chosen.tolist(), key=lambda cell: cell[::-1])
    off = np.linalg.norm(points / step - cells - 0.5, axis=1)
    for landmark, cell in zip(landmarks, chosen, strict=True):
        assert off[landmark] == off[(cells == cell).all(axis=1)].min()


def test_landmarks_are_in_the_largest_component():
    """A node off the network, or in a smaller part of it, is no landmark, by either way of choosing."""
    city = MetricGraph([0, 1, 3], [1, 2, 4], [1.0] * 3, 6, coordinates=[[x * 1e-4, 0] for x in range(6)])
    points = windows.metres_from(city, windows.middle_of(city))
    assert windows.landmarks_within(city, points, np.inf, "disc").tolist() == [0, 1, 2]
    assert sorted(windows.cover(city, points, 1.0)) == [0, 1, 2]
    assert windows.landmarks_within(city, points + 1e6, 10.0, "bbox").tolist() == []


@pytest.mark.parametrize("unit", ["m", "km"])
def test_a_radius_along_streets_is_in_metres(unit):
    """Lengths in kilometres are converted before they are compared with the radius."""
    city = grid_city(7).to_unit(unit)
    points = windows.metres_from(city, windows.middle_of(city))
    (window,) = windows.cut_windows(city, points, np.array([24]), 210.0, "network")
    assert window.n_nodes == 13
    assert window.unit == unit
    assert window.name == "Grid[0]"
