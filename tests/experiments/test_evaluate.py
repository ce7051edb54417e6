"""The two protocols, and the baselines they judge."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import euclidean_distances

import torelli as tt
from torelli.experiments.baselines import SEES_LENGTHS, for_grakel, kernel_matrix
from torelli.experiments.evaluate import (
    NoKernel,
    OneKernel,
    RBFs,
    choose,
    fair_protocol,
    paired_test,
    paper_protocol,
)


@pytest.fixture(scope="module")
def blobs():
    points, y = make_blobs(120, centers=3, cluster_std=0.5, random_state=0)
    return euclidean_distances(points, squared=True), y


def test_both_protocols_tell_separated_classes_apart(blobs):
    D, y = blobs
    assert np.mean(paper_protocol(RBFs([D], (1.0,)), y, 0)) > 95
    found = fair_protocol(RBFs([D]), y, 0, repeats=2)
    assert len(found.accuracy) == len(found.inner) == 20
    assert np.mean(found.accuracy) > 95


def test_labels_of_the_test_folds_are_not_seen(blobs):
    """Wrong labels in a test fold change neither what is chosen nor the inner accuracy."""
    D, y = blobs
    train, test = np.arange(0, 100), np.arange(100, 120)
    wrong = y.copy()
    wrong[test] = (y[test] + 1) % 3
    assert choose(RBFs([D]), y, train, 0) == choose(RBFs([D]), wrong, train, 0)


def test_random_labels_are_at_chance(blobs):
    """Nothing leaks: where there is nothing to learn, nested choice does not find it."""
    D, _ = blobs
    y = np.random.default_rng(0).integers(0, 2, len(D))
    assert 35 < np.mean(fair_protocol(RBFs([D]), y, 0).accuracy) < 65


def test_no_kernel_is_the_largest_class():
    y = np.array([0] * 70 + [1] * 30)
    assert np.mean(fair_protocol(NoKernel(), y, 0).accuracy) == pytest.approx(70.0)


def test_the_scale_of_distances_does_not_matter(blobs):
    """The median rule makes metres and kilometres the same."""
    D, y = blobs
    here = fair_protocol(RBFs([D]), y, 0, repeats=1).accuracy
    assert here == fair_protocol(RBFs([1e6 * D]), y, 0, repeats=1).accuracy


def test_splits_can_be_given(blobs):
    """Spatial blocks take the place of random folds."""
    D, y = blobs
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    assert len(fair_protocol(RBFs([D]), y, 0, splits=splits).accuracy) == 2


def test_paired_test():
    """Equal accuracies are no difference, a steady one is; folds that share graphs count for less."""
    rng = np.random.default_rng(0)
    a = 80 + rng.normal(size=30)
    assert paired_test(a, a) == 1.0
    assert paired_test(a, a - 3 + 0.5 * rng.normal(size=30)) < 1e-4
    plain = paired_test(a, a - 0.5 + rng.normal(size=30), test_share=0.0)
    assert paired_test(a, a - 0.5 + rng.normal(size=30)) != plain


class TestBaselines:
    """GraKeL's kernels on graphs without labels."""

    @pytest.fixture(autouse=True)
    def grakel(self):
        """Skip where GraKeL has no release."""
        pytest.importorskip("grakel")

    @pytest.mark.parametrize("name", ["EH", "GS", "OS", "SP", "WL", "kCD"])
    def test_lengths_matter_to_those_that_see_them(self, name):
        """Whether a kernel depends on the lengths is as `SEES_LENGTHS` says."""
        uniform = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(5)]
        unit = [tt.MetricGraph(g.tail, g.head, np.ones(g.n_edges)) for g in uniform]
        K, fit, transform = kernel_matrix(uniform, name)
        L, _, _ = kernel_matrix(unit, name)
        assert K.shape == (5, 5)
        assert np.array_equal(K, K.T)
        assert min(fit, transform) >= 0
        assert np.allclose(K, L) == (name not in SEES_LENGTHS)

    def test_new_graphs_against_fitted_ones(self):
        """Rows are the new graphs, columns the fitted ones."""
        graphs = [tt.datasets.line_plus_random(8, 3, seed=seed) for seed in range(5)]
        K, _, _ = kernel_matrix(graphs, "WL")
        rows, _, _ = kernel_matrix(graphs, "WL", others=graphs[:2])
        assert np.allclose(rows, K[:2])

    def test_a_graph_without_edges_keeps_its_row(self):
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

    def test_what_grakel_cannot_hold_is_as_stated(self):
        """Of parallel edges it gets the shortest, loops it does not get, single nodes it keeps."""
        graph = for_grakel(tt.MetricGraph([0, 0, 1], [1, 1, 1], [3.0, 2.0, 5.0], n_nodes=3))
        assert np.array_equal(graph.get_adjacency_matrix(), [[0, 2, 0], [2, 0, 0], [0, 0, 0]])


def test_a_kernel_of_one_is_taken_as_it_is(blobs):
    K = np.exp(-blobs[0])
    part = OneKernel(K).kernel(0, np.array([3, 1]), np.array([2, 0]))
    assert np.array_equal(part, K[[3, 1]][:, [2, 0]])
