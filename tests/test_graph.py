"""The metric graph itself."""

from __future__ import annotations

import copy
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


EQUAL = {"tail": [0, 1], "head": [1, 0], "length": [1.0, 2.0]}
PICKLED = [
    {},
    {"n_nodes": 3, "name": "a", "source": "b", "unit": "km", "crs": "EPSG:4326"},
    {"coordinates": [[0.0, -0.0], [np.nan, 1.0]]},
    {"coordinates": [[0, 0, 1], [1, 1, 0]]},
    *({"node_ids": ids} for ids in ((1, 0), (1.0, 0.0), (True, False), ("1", "0"), (1, "0"), ((1,), (0,)))),
    {"edge_values": {"width": [1, 2]}},
]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])  # noqa: S301
def test_a_copy_has_everything_bit_for_bit(way):
    """Graphs that are equal but for names, places, ids or values are copied each with its own."""
    for _ in range(2):  # the second time, a process has met the graphs before
        for options in PICKLED:
            graph = tt.MetricGraph(**EQUAL, **options)
            again = way(graph)
            state, other = graph.__getstate__(), again.__getstate__()
            assert {key: (type(one), repr(one)) for key, one in state.items()} == {
                key: (type(one), repr(one)) for key, one in other.items()
            }
    empty = tt.MetricGraph([], [], [], coordinates=np.empty((0, 2)))
    assert way(empty).coordinates.shape == (0, 2)


def test_a_process_restores_a_small_graph_once():
    """A worker that is sent the same graph with every task has it as one object, facts included."""
    text = pickle.dumps([tt.MetricGraph(**EQUAL, name="again and again")])
    assert pickle.loads(text)[0] is pickle.loads(text)[0]  # noqa: S301  (our own bytes)
    large = pickle.dumps(tt.datasets.grid(100, 100))
    assert pickle.loads(large) is not pickle.loads(large)  # noqa: S301  (our own bytes)


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


def street():
    """Return a graph with everything that a graph can carry."""
    return tt.MetricGraph(
        [0, 1, 2, 2],
        [1, 2, 0, 3],
        [1.0, 2.0, 3.0, 4.0],
        5,
        name="town",
        source="town.inp",
        unit="m",
        crs="EPSG:4326",
        coordinates=[[0, 0], [1, 0], [1, 1], [2, 2], [9, 9]],
        node_ids="abcde",
        edge_values={"diameter": [0.1, 0.2, 0.3, 0.4], "kind": ["pipe", "pump", "pipe", "pipe"]},
    )


def test_an_edge_subgraph_keeps_all_that_belongs_to_its_edges_and_nodes():
    """Names, unit, reference system, coordinates, ids and values stay with the edges, in their order."""
    part = street().edge_subgraph([3, 1])
    assert (part.name, part.source, part.unit, part.crs) == ("town", "town.inp", "m", "EPSG:4326")
    assert part.node_ids == ("b", "c", "d")
    assert (part.tail.tolist(), part.head.tolist(), part.length.tolist()) == ([1, 0], [2, 1], [4.0, 2.0])
    assert part.coordinates.tolist() == [[1, 0], [1, 1], [2, 2]]
    assert part.edge_values["diameter"].tolist() == [0.4, 0.2]
    assert part.edge_values["kind"].tolist() == ["pipe", "pump"]
    assert part == tt.MetricGraph(**part.__getstate__())
    with pytest.raises(ValueError, match="read-only"):
        part.length[0] = 2.0


def test_an_edge_subgraph_is_chosen_by_a_mask_too_and_may_keep_other_nodes():
    """A mask chooses the edges where it is true; nodes without edges stay if they are asked for."""
    G = street()
    assert G.edge_subgraph(G.length > 2.5) == G.edge_subgraph([2, 3])
    assert G.edge_subgraph([], nodes=[4]).node_ids == ("e",)
    assert G.replace(node_ids=None).edge_subgraph([3]).node_ids == (2, 3)


@pytest.mark.parametrize("edges", [[4], [-1], [1, 1], [0.5], [[0]], [True], "a"])
def test_an_edge_subgraph_of_edges_that_are_not_there_is_refused(edges):
    """Positions out of range, repeated or not whole are errors and not other edges."""
    with pytest.raises(tt.InvalidOptionError, match="edges: "):
        street().edge_subgraph(edges)


def test_values_on_edges_are_frozen_and_carried_along():
    """Values are read-only, pieces of a subdivided edge inherit them, and pickles and copies keep them."""
    G = street()
    with pytest.raises(ValueError, match="read-only"):
        G.edge_values["diameter"][0] = 9.0
    with pytest.raises(TypeError):
        G.edge_values["other"] = np.ones(4)
    fine = G.subdivide(20, seed=3)
    for diameter, length in zip(*(G.edge_values["diameter"], G.length), strict=True):
        assert fine.length[fine.edge_values["diameter"] == diameter].sum() == pytest.approx(length)
    assert G.to_unit("km").edge_values["kind"].tolist() == ["pipe", "pump", "pipe", "pipe"]
    back = pickle.loads(pickle.dumps(G))  # noqa: S301  (our own bytes)
    assert back == G
    assert back.edge_values["kind"].tolist() == ["pipe", "pump", "pipe", "pipe"]
    assert G.replace(edge_values=None).edge_values == {}
    assert G.to_networkx().edges["a", "b", 0] == {"length": 1.0, "diameter": 0.1, "kind": "pipe"}


def test_values_on_edges_count_for_equality_and_leave_the_digest_of_other_graphs_alone():
    """Graphs with other values differ; a graph without values has the digest that stored caches know."""
    G = street()
    assert G.replace(edge_values=None) != G
    assert G.replace(edge_values={**G.edge_values, "diameter": [0.1, 0.2, 0.3, 0.5]}) != G
    assert G.replace(edge_values=dict(reversed(G.edge_values.items()))) == G
    plain = tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])
    assert plain.digest.hex() == "e8d97cd365f8c763eb7ebec55c95a628"
    assert "edge_values" not in plain.__getstate__()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": [1.0]}, r"edge_values\['a'\] has shape \(1,\); give one value for each of the 2 edges"),
        ({"a": [[1], [2]]}, r"shape \(2, 1\)"),
        ({"a": [[1], [2, 3]]}, "one value for each"),
        ({"a": [1, "b"]}, "numbers, truth values or strings"),
        ({"a": [None, 1.0]}, "numbers, truth values or strings"),
        ({"length": [1, 2]}, "the name 'length'"),
        ({3: [1, 2]}, "the name 3"),
    ],
)
def test_values_that_do_not_fit_the_edges_are_refused(values, message):
    """The error names the values and what is wrong with them."""
    with pytest.raises(tt.InvalidGraphError, match=message):
        tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0], edge_values=values)
