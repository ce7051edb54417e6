"""The metric graph itself."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import metric_graphs


def test_counts_of_a_small_multigraph():
    """Loops, parallel edges, an isolated node and a second component are all counted."""
    G = tt.MetricGraph([0, 0, 0, 2, 3], [1, 1, 0, 3, 2], [1.0, 2.0, 4.0, 4.0, 4.0], 5, unit="m", name="toy")
    s = G.summary()
    assert (s.n_nodes, s.n_edges, s.n_components, s.n_loops, s.n_parallel) == (5, 5, 3, 1, 2)
    assert (s.genus, s.n_bridges, s.total_length, s.unit, s.is_generic) == (3, 0, 15.0, "m", True)
    assert "genus" in str(s)
    assert "15 m" in str(s)
    assert str(s).startswith("toy")


@given(metric_graphs())
def test_genus_is_the_dimension_of_the_cycle_space(graph):
    """Genus and components agree with networkx."""
    G = reference.as_networkx(graph)
    assert graph.n_components == nx.number_connected_components(G)
    assert graph.genus == graph.n_edges - graph.n_nodes + nx.number_connected_components(G)
    assert len(graph.summary().__str__().splitlines()) == 10


@given(metric_graphs(), st.integers(0, 30), st.integers(0, 100))
def test_subdividing_gives_the_same_space_with_more_points(graph, n_points, seed):
    """A refinement keeps genus, components and total length, and adds exactly the points asked for."""
    if not graph.n_edges:
        return
    fine = graph.subdivide(n_points, seed=seed)
    assert fine.n_nodes == graph.n_nodes + n_points
    assert fine.n_edges == graph.n_edges + n_points
    assert (fine.genus, fine.n_components) == (graph.genus, graph.n_components)
    assert fine.total_length == pytest.approx(graph.total_length, rel=1e-12)
    assert fine == graph.subdivide(n_points, seed=seed)


def test_subdividing_puts_new_points_on_their_edges():
    """Coordinates of new points lie on the segment between the end points, in proportion to length."""
    G = tt.MetricGraph([0], [1], [10.0], coordinates=[[0.0, 0.0], [10.0, 20.0]])
    fine = G.subdivide(4, seed=1)
    walk = nx.shortest_path(fine.to_networkx(), 0, 1)
    assert len(walk) == 6
    steps = np.linalg.norm(np.diff(fine.coordinates[walk], axis=0), axis=1)
    assert np.allclose(
        steps / steps.sum(), fine.length[np.argsort([walk.index(u) for u in fine.tail])] / 10.0
    )


def test_a_graph_without_edges_cannot_be_subdivided():
    """Nothing can be put on no edge."""
    with pytest.raises(tt.InvalidOptionError, match="without edges"):
        tt.MetricGraph([], [], [], 3).subdivide(1)
    for n_points in (-1, 2.5):
        with pytest.raises(tt.InvalidOptionError, match="n_points is"):
            tt.MetricGraph([0], [1], [1.0]).subdivide(n_points)


def test_graphs_are_frozen():
    """Neither attributes nor arrays can be changed, and the caller's arrays are copied."""
    length = np.array([1.0, 2.0])
    G = tt.MetricGraph([0, 0], [1, 1], length)
    length[0] = 9.0
    assert G.length[0] == 1.0
    with pytest.raises(AttributeError, match="frozen"):
        G.name = "other"
    with pytest.raises(AttributeError, match="frozen"):
        del G.length
    for array in (G.tail, G.head, G.length):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_equality_is_by_content_and_survives_pickling():
    """A pickled copy equals the original, is frozen too, and keeps where it came from."""
    G = tt.MetricGraph(
        [0], [1], [1.0], name="a", source="file", unit="m", coordinates=[[0, 0], [1, 1]], crs="EPSG:4326"
    )
    H = pickle.loads(pickle.dumps(G))  # noqa: S301  (our own bytes)
    assert G == H
    assert hash(G) == hash(H)
    assert (H.name, H.source, H.unit, H.crs) == ("a", "file", "m", "EPSG:4326")
    with pytest.raises(ValueError, match="read-only"):
        H.length[0] = 2.0
    assert tt.MetricGraph([0], [1], [2.0]) != G
    assert G != "a graph"


def test_a_pickle_is_checked_like_input():
    """Arrays that the constructor refuses are refused when a copy is restored as well."""
    state = tt.MetricGraph([0], [1], [1.0]).__getstate__()
    for change in ({"head": np.array([2**40])}, {"length": np.array([np.nan])}, {"n_nodes": 1}):
        restored = tt.MetricGraph.__new__(tt.MetricGraph)
        with pytest.raises(tt.InvalidGraphError, match=r"out of range|NaN"):
            restored.__setstate__({**state, **change})


def test_jitter_makes_a_graph_generic():
    """The remedy that the warning names works, and moves lengths by no more than it says."""
    G = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 1.0, 1.0])
    assert not G.is_generic
    H = G.jitter(1e-6, seed=0)
    assert H.is_generic
    assert np.all((H.length >= 1) & (H.length <= 1 + 1e-6))
    for relative in (0.0, -1.0, np.inf, np.nan, 1e-13):
        with pytest.raises(tt.InvalidOptionError, match="relative is"):
            G.jitter(relative)


@pytest.mark.parametrize("seed", range(5))
def test_jitter_makes_large_graphs_generic(seed):
    """Three thousand edges of one length, each a class of its own, are told apart."""
    n = 80
    tail, head = np.triu_indices(n, 1)
    assert tt.MetricGraph(tail, head, np.ones(len(tail))).jitter(1e-6, seed=seed).is_generic


def test_to_networkx_and_back():
    """A round trip through networkx keeps the graph, its ids and its coordinates."""
    G = tt.MetricGraph(
        [0, 0, 1], [1, 1, 1], [1.0, 2.0, 3.0], node_ids=["a", "b"], coordinates=[[0, 1], [2, 3]]
    )
    H = tt.as_metric_graph(G.to_networkx())
    assert G == H
    assert H.node_ids == ("a", "b")
    assert np.array_equal(G.coordinates, H.coordinates)


def test_repr_names_the_graph_and_its_figures():
    """The short form says what a person asks first."""
    text = repr(tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0], name="ring", unit="km"))
    assert text == "MetricGraph('ring': 2 nodes, 2 edges, genus 1, total length 3 km)"
