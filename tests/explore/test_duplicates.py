"""Networks that are one thing to a reader of the explorer."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.explore.duplicates import of_one_place, same_for_kernel, same_point
from towns import grid_city


def windows(n):
    """Return windows of one city, some of which overlap."""
    return tt.datasets.build_urn({"A": grid_city(21, name="A")}, R=500, r=210, n=n, seed=2).graphs


def shared(one, two):
    """Return the share of streets that two networks have in common, by sets of pairs of points."""
    sets = []
    for graph in (one, two):
        points = list(map(tuple, graph.coordinates.tolist()))
        ends = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
        sets.append(
            {frozenset((points[u], points[v])): x for (u, v), x in zip(ends, graph.length, strict=True)}
        )
    common = sum(sets[0][key] for key in sets[0].keys() & sets[1].keys())
    return common / (sum(sets[0].values()) + sum(sets[1].values()) - common)


def test_windows_with_most_of_their_streets_in_common_are_of_one_place():
    """More than half of the length of both together is the limit, counted by hand."""
    graphs = windows(25)
    found = of_one_place(graphs)
    expected = np.array([[shared(one, two) > 0.5 for two in graphs] for one in graphs])
    assert np.array_equal(found, expected)
    assert len(graphs) < found.sum() < len(graphs) ** 2


def test_the_drawing_of_a_network_does_not_matter_to_its_place():
    """Reversed, reordered edges and other numbers of nodes are the same streets."""
    first, *_ = windows(1)
    order = np.random.default_rng(0).permutation(first.n_edges)
    nodes = np.random.default_rng(1).permutation(first.n_nodes)
    turned = tt.MetricGraph(
        nodes[first.head[order]],
        nodes[first.tail[order]],
        first.length[order],
        coordinates=first.coordinates[np.argsort(nodes)],
        crs=first.crs,
    )
    assert of_one_place([first, turned]).all()


@pytest.mark.parametrize(
    "change", [{"crs": None}, {"coordinates": None}], ids=["no system", "no coordinates"]
)
def test_networks_without_a_place_have_none_in_common(change):
    """Equal graphs that say nothing of their place are not of one place; each is with itself."""
    graphs = [windows(1)[0].replace(**change)] * 3
    assert np.array_equal(of_one_place(graphs), np.eye(3, dtype=bool))


def test_parallel_streets_count_once():
    """A network with a street twice shares no more than it has."""
    single = tt.MetricGraph([0], [1], [2.0], coordinates=[[0, 0], [1, 0]], crs="EPSG:4326")
    double = tt.MetricGraph([0, 0], [1, 1], [2.0, 2.0], coordinates=[[0, 0], [1, 0]], crs="EPSG:4326")
    other = tt.MetricGraph([0, 0], [1, 1], [2.0, 9.0], coordinates=[[0, 0], [1, 0]], crs="EPSG:4326")
    assert of_one_place([single, double, other]).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_a_kernel_takes_networks_at_distance_zero_for_the_same():
    """Rounding does not separate them, and small true distances do; the first of them is named."""
    at = np.array([0.0, 5.0, 1e-8, 5.0, 5.001])
    squared = (at[:, None] - at) ** 2
    assert same_for_kernel(squared).tolist() == [0, 1, 0, 1, 4]
    assert same_for_kernel(np.zeros((3, 3))).tolist() == [0, 0, 0]
    assert same_for_kernel(np.zeros((1, 1))).tolist() == [0]


def test_windows_that_differ_in_bridges_are_the_same_for_a_kernel_of_cycles():
    """TTW sees no bridges: a network with a cul-de-sac more is at its point."""
    ring = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 2.5])
    tail = tt.MetricGraph([0, 1, 2, 0], [1, 2, 0, 3], [1.0, 2.0, 2.5, 7.0])
    larger = ring.replace(length=2 * ring.length)
    squared = tt.pairwise_distances([ring, larger, tail], squared=True)
    assert same_for_kernel(squared).tolist() == [0, 1, 0]


def test_networks_at_one_point_of_the_map():
    """Equal points are one; networks without a point are each alone."""
    places = np.array([[0.5, 0.5], [np.nan, np.nan], [0.5, 0.5 + 1e-12], [0.25, 0.5], [np.nan, np.nan]])
    assert same_point(places).tolist() == [0, 1, 0, 3, 4]
