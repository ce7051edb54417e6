"""GraKeL's kernels on graphs without labels."""

import numpy as np
import pytest

import torelli as tt
from torelli.experiments.baselines import SEES_LENGTHS, for_grakel, kernel_matrix

pytest.importorskip("grakel")


@pytest.mark.parametrize("name", ["EH", "GS", "OS", "SP", "WL", "kCD"])
def test_lengths_matter_to_those_that_see_them(name):
    """Whether a kernel depends on the lengths is as `SEES_LENGTHS` says."""
    uniform = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(5)]
    unit = [tt.MetricGraph(g.tail, g.head, np.ones(g.n_edges)) for g in uniform]
    K, fit, transform = kernel_matrix(uniform, name)
    L, _, _ = kernel_matrix(unit, name)
    assert K.shape == (5, 5)
    assert np.array_equal(K, K.T)
    assert min(fit, transform) >= 0
    assert np.allclose(K, L) == (name not in SEES_LENGTHS)


def test_new_graphs_against_fitted_ones():
    """Rows are the new graphs, columns the fitted ones."""
    graphs = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(5)]
    K, _, _ = kernel_matrix(graphs, "WL")
    rows, _, _ = kernel_matrix(graphs, "WL", others=graphs[:2])
    assert np.allclose(rows, K[:2])


def test_a_graph_without_edges_keeps_its_row():
    """The edge histogram of none is empty: its kernel is 0, and the other rows stay where they are."""
    graphs = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(3)]
    lone = tt.MetricGraph([0], [0], [1.0], n_nodes=2)
    K, _, _ = kernel_matrix([graphs[0], lone, *graphs[1:]], "EH")
    L, _, _ = kernel_matrix(graphs, "EH")
    assert not K[1].any()
    assert not K[:, 1].any()
    assert np.array_equal(K[np.ix_([0, 2, 3], [0, 2, 3])], L)
    rows, _, _ = kernel_matrix(graphs, "EH", others=[lone, graphs[2]])
    assert np.array_equal(rows, [[0.0] * 3, L[2]])


def test_what_grakel_cannot_hold_is_as_stated():
    """Of parallel edges it gets the shortest, loops it does not get, single nodes it keeps."""
    graph = for_grakel(tt.MetricGraph([0, 0, 1], [1, 1, 1], [3.0, 2.0, 5.0], n_nodes=3))
    assert np.array_equal(graph.get_adjacency_matrix(), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])
