"""Bad input gets one error that lists every fault with graph, edge and remedy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import torelli as tt


def test_faults_in_a_list_carry_the_position_of_their_graph():
    """All graphs of a list are checked before the error is raised."""
    good = tt.MetricGraph([0], [1], [1.0])
    first, second = nx.Graph(name="first"), nx.MultiGraph()
    first.add_edge("a", "b", length=-1.0)
    first.add_edge("b", "c", weight=2.0)
    second.add_edge(0, 1, length="wide")
    second.add_edge(0, 1, length=float("nan"))
    with pytest.raises(tt.InvalidGraphError) as caught:
        tt.torelli_matrices([good, first, good, second])
    text = str(caught.value)
    assert "graph 1 ('first'), edge 0 ('a', 'b'): length is negative" in text
    assert "edge 1 ('b', 'c'): attribute 'length' is missing" in text
    assert "the edges have 'weight'" in text
    assert "graph 3, edge 0 (0, 1): 'wide': attribute 'length' is not a number" in text
    assert "graph 3, edge 1 (0, 1): length is NaN" in text
    assert "graph 0" not in text


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "empty"),
        (tt.MetricGraph([0], [1], [1.0]), "single graph"),
        (nx.path_graph(3), "single graph"),
        ("graphs.txt", "got str"),
        (7, "got int"),
        ([7], "graph 0: an object of type int"),
    ],
)
def test_what_is_no_list_of_graphs(graphs, message):
    """An empty list, a single graph and other things are told apart."""
    for call in (tt.torelli_matrices, tt.TTWKernel().fit, tt.TorelliMap().fit):
        with pytest.raises(tt.InvalidGraphError, match=message):
            call(graphs)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.distance([[1.0]], [[1.0]], metric="euclid"),
        lambda: tt.pairwise_distances([[[1.0]]], metric=None),
        lambda: tt.GraphRBF("euclid")([tt.MetricGraph([0], [1], [1.0])]),
    ],
)
def test_an_unknown_metric_is_answered_with_the_known_ones(call):
    """The message lists what there is."""
    with pytest.raises(tt.InvalidOptionError, match="'ttw', 'tte', 'tts'"):
        call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "exact"}, "'canonical', 'literal'"),
        ({"truncation": "best", "max_genus": 3}, "'random', 'leading', 'greedy'"),
        ({"max_genus": -1}, "max_genus is -1"),
        ({"max_genus": 2.5}, "max_genus is 2.5"),
        ({"seed": None}, "seed is None"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_unknown_options_of_the_map(options, message):
    """So do the other options."""
    with pytest.raises(tt.InvalidOptionError, match=message):
        tt.torelli_matrix(tt.MetricGraph([0], [0], [1.0]), **options)


@pytest.mark.parametrize(
    ("matrices", "message"),
    [
        ([], "empty"),
        (np.eye(2), "single matrix"),
        (3, "got int"),
        ([np.eye(2), [[1.0, 2.0]]], r"matrix 1 has shape \(1, 2\)"),
        ([[[np.nan]]], "matrix 0 has entries that are NaN"),
        ([[[1.0, 2.0], [0.0, 1.0]]], "matrix 0 is not symmetric"),
        ([[[-1.0]]], "negative entries on its diagonal"),
        ([["a"]], "cannot be read"),
        ([[[1 + 5j]]], "real numbers"),
        ([tt.MetricGraph([0], [0], [1.0]), np.eye(2)], "some of the list are graphs and some matrices"),
        ([np.ones((1, 2))] * 30, "and 10 more"),
    ],
)
def test_what_is_no_list_of_matrices(matrices, message):
    """Distances check their matrices as well."""
    with pytest.raises(tt.InvalidMatrixError, match=message):
        tt.pairwise_distances(matrices)


@pytest.mark.parametrize("metric", ["ttw", "tts"])
@pytest.mark.parametrize("size", [2, 20])
def test_indefinite_matrices_are_refused(metric, size):
    """A negative eigenvalue is an error where a square root is taken, not a NaN."""
    Q = np.eye(size)
    Q[0, 1] = Q[1, 0] = 2.0
    with pytest.raises(tt.InvalidMatrixError, match="not positive semi-definite"):
        tt.pairwise_distances([np.eye(size), Q], metric=metric)


def test_inputs_are_never_changed():
    """Graphs and matrices of the caller stay as they were."""
    G = nx.MultiGraph()
    G.add_edge("a", "b", length="1.5")
    G.add_edge("a", "b", length=2.5)
    before = {
        key: dict(data)
        for *key, data in ((u, v, k, d) for u, v, k, d in G.edges(keys=True, data=True))
        for key in [tuple(key)]
    }
    Qs = [np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0]])]
    copies = [Q.copy() for Q in Qs]
    tt.TTWKernel().fit_transform([G, G])
    for metric in tt.METRICS:
        tt.pairwise_distances(Qs, metric=metric)
    after = {(u, v, k): d for u, v, k, d in G.edges(keys=True, data=True)}
    assert before == after
    assert all(np.array_equal(a, b) for a, b in zip(Qs, copies, strict=True))
