"""Methods of other libraries that see lengths."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli import MetricGraph
from torelli.datasets import line_plus_random
from torelli.experiments import rivals
from torelli.experiments.methods import squared_distances
from torelli.experiments.rivals import RIVALS, SEES_LENGTHS, for_grakel, grakel_kernel_matrix

pytest.importorskip("grakel")


@pytest.mark.parametrize("name", ["EH", "GS", "OS", "SP", "WL", "kCD"])
def test_lengths_matter_to_those_that_see_them(name):
    """Whether a kernel depends on the lengths is as `SEES_LENGTHS` says."""
    uniform = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(5)]
    unit = [tt.MetricGraph(g.tail, g.head, np.ones(g.n_edges)) for g in uniform]
    K, fit, transform = grakel_kernel_matrix(uniform, name)
    L, _, _ = grakel_kernel_matrix(unit, name)
    assert K.shape == (5, 5)
    assert np.array_equal(K, K.T)
    assert min(fit, transform) >= 0
    assert np.allclose(K, L) == (name not in SEES_LENGTHS)


def test_new_graphs_against_fitted_ones():
    """Rows are the new graphs, columns the fitted ones."""
    graphs = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(5)]
    K, _, _ = grakel_kernel_matrix(graphs, "WL")
    rows, _, _ = grakel_kernel_matrix(graphs, "WL", others=graphs[:2])
    assert np.allclose(rows, K[:2])


def test_a_graph_without_edges_keeps_its_row():
    """The edge histogram of none is empty: its kernel is 0, and the other rows stay where they are."""
    graphs = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(3)]
    lone = tt.MetricGraph([0], [0], [1.0], n_nodes=2)
    K, _, _ = grakel_kernel_matrix([graphs[0], lone, *graphs[1:]], "EH")
    L, _, _ = grakel_kernel_matrix(graphs, "EH")
    assert not K[1].any()
    assert not K[:, 1].any()
    assert np.array_equal(K[np.ix_([0, 2, 3], [0, 2, 3])], L)
    rows, _, _ = grakel_kernel_matrix(graphs, "EH", others=[lone, graphs[2]])
    assert np.array_equal(rows, [[0.0] * 3, L[2]])


def test_what_grakel_cannot_hold_is_as_stated():
    """Of parallel edges it gets the shortest, loops it does not get, single nodes it keeps."""
    graph = for_grakel(tt.MetricGraph([0, 0, 1], [1, 1, 1], [3.0, 2.0, 5.0], n_nodes=3))
    assert np.array_equal(graph.get_adjacency_matrix(), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])


LENGTH = 7.0
CIRCLE = MetricGraph([0], [0], [LENGTH])
LINE = MetricGraph([0], [1], [LENGTH])
STAR = MetricGraph([0, 0, 0], [1, 2, 3], [1.0, 1.0, 1.0])
PARALLEL = MetricGraph([0, 0], [1, 1], [2.0, 3.0])
TWO = MetricGraph([0, 2], [1, 3], [1.0, 2.0])
POINTS = MetricGraph([], [], [], 3)


@pytest.fixture(scope="module")
def graphs():
    return [line_plus_random(8, genus, seed=genus) for genus in range(5)]


def need(name):
    pytest.importorskip(RIVALS[name].module)


@pytest.mark.parametrize("name", ["GW", "NetLSD, Kirchhoff", "persistence"])
def test_the_metric_ones_hardly_see_a_subdivision(name, graphs):
    """Points put on edges change nothing of the space, and little of what these methods make of it."""
    need(name)
    finer = [graph.subdivide(20, seed=1) for graph in graphs]
    own = squared_distances(name, finer, graphs, reference=graphs).diagonal()
    others = squared_distances(name, graphs)[np.triu_indices(len(graphs), 1)]
    assert np.sqrt(own.max()) < 0.02 * np.sqrt(np.median(others))


def test_kirchhoff_eigenvalues_of_known_graphs():
    """A circle, a line and a star with three equal arms, whose spectra are known, and Weyl's law above."""
    circle = rivals.kirchhoff_eigenvalues(CIRCLE)[:5] * (LENGTH / (2 * np.pi)) ** 2
    line = rivals.kirchhoff_eigenvalues(LINE)[:4] * (LENGTH / np.pi) ** 2
    star = rivals.kirchhoff_eigenvalues(STAR)[:6] * (2 / np.pi) ** 2
    np.testing.assert_allclose(circle, [0, 1, 1, 4, 4], atol=1e-3)
    np.testing.assert_allclose(line, [0, 1, 4, 9], atol=1e-3)
    np.testing.assert_allclose(star, [0, 1, 1, 4, 9, 9], atol=1e-2)
    every = rivals.kirchhoff_eigenvalues(LINE)
    assert (np.diff(every) >= -1e-9).all()
    np.testing.assert_allclose(np.sqrt(every[1000]) * LENGTH / np.pi, 1000)
    assert np.count_nonzero(rivals.kirchhoff_eigenvalues(TWO) < 1e-6) == 2
    assert rivals.kirchhoff_eigenvalues(POINTS).tolist() == [0, 0, 0]


def test_large_graphs_have_the_eigenvalues_of_small_ones(monkeypatch):
    """The sparse way agrees with the dense one."""
    graph = line_plus_random(12, 4, seed=0)
    dense = rivals.kirchhoff_eigenvalues(graph)
    monkeypatch.setattr(rivals, "_DENSE", 10)
    np.testing.assert_allclose(rivals.kirchhoff_eigenvalues(graph)[:60], dense[:60], rtol=1e-4, atol=1e-6)


def test_extended_persistence_of_known_graphs():
    """A circle is one cycle from 0 to half its length; a line has a branch on one side of its base point."""
    pytest.importorskip("gudhi")
    cycles, branches, reach = rivals.extended_persistence(CIRCLE)
    np.testing.assert_allclose(cycles, [[0, LENGTH / 2]] * rivals.N_BASE_POINTS, atol=1e-9)
    assert reach == pytest.approx(LENGTH / 2)
    cycles, branches, _ = rivals.extended_persistence(LINE)
    assert len(cycles) == 0
    near = np.minimum(*(spread := (np.arange(16) + 0.5) / 16 * LENGTH, LENGTH - spread))
    np.testing.assert_allclose(np.sort(branches[:, 1]), np.sort(near), atol=1e-9)
    cycles, _, _ = rivals.extended_persistence(PARALLEL)
    assert len(cycles) == rivals.N_BASE_POINTS
    np.testing.assert_allclose(cycles[:, 1], 2.5, atol=1e-9)


def test_points_are_evenly_spread_and_distances_are_along_edges():
    """On a circle the farthest point is half way around; components are as far apart as all is long."""
    (C,) = rivals.metric_spaces([CIRCLE], [])
    assert C.shape == (rivals.N_POINTS, rivals.N_POINTS)
    assert C.max() == pytest.approx(LENGTH / 2)
    assert np.sort(C[0])[1] == pytest.approx(LENGTH / rivals.N_POINTS)
    (C,) = rivals.metric_spaces([TWO], [])
    assert C.max() == pytest.approx(3.0)
    (C,) = rivals.metric_spaces([POINTS], [])
    assert C.tolist() == [[0.0]]


def test_gromov_wasserstein_of_lines_is_known():
    """Uniform points on lines of lengths a and b: (a - b)² times the mean squared distance of points."""
    pytest.importorskip("ot")
    double = LINE.replace(length=[2 * LENGTH])
    (C,) = rivals.metric_spaces([LINE], [])
    squared = squared_distances("GW", [LINE, double])
    assert squared[0, 1] == pytest.approx((C**2).mean(), rel=1e-6)


def test_lengths_for_grakel_are_whole_and_never_zero(graphs):
    """Otherwise no two paths would have the same length."""
    for graph in rivals.in_whole_units(graphs, graphs):
        assert (graph.length == np.round(graph.length)).all()
        assert graph.length.min() >= 1.0
