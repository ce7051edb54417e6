"""TTM as a family of kernels for cross-validation."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.datasets import line_plus_random
from torelli.experiments import _measure_kernels
from torelli.experiments._measure_kernels import SETTINGS, MeasureKernels, squared_distances


@pytest.fixture(scope="module")
def graphs():
    """Return graphs whose lengths grow from one to the next, so that what is learned depends on them."""
    return [
        graph.replace(length=graph.length * (1 + i))
        for i, graph in enumerate(line_plus_random(12, 4, seed=i) for i in range(10))
    ]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_kernel_is_that_of_the_estimator_fitted_to_the_columns(graphs, name):
    """Rows of test graphs do not change what is learned: K is TTMKernel's, fitted to training graphs."""
    family = MeasureKernels([graphs], [[SETTINGS[name]]])
    train, rows = np.array([7, 1, 4, 5]), np.array([0, 4, 9, 3, 1])
    estimator = tt.TTMKernel(**SETTINGS[name]).fit([graphs[i] for i in train])
    expected = estimator.transform([graphs[i] for i in rows])
    np.testing.assert_allclose(family.kernel(0, rows, train), expected, rtol=1e-8)


def test_other_training_graphs_give_another_kernel(graphs):
    """Nothing that was learned from one fold is used in another."""
    family = MeasureKernels([graphs], [[{}]])
    rows = np.array([0, 9])
    first = family.kernel(0, rows, np.arange(4))
    second = family.kernel(0, rows, np.arange(4, 8))
    again = family.kernel(0, rows, np.arange(4))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, second)


def test_kernels_are_numbered_setting_by_setting(graphs):
    """Factors multiply gamma, which is a power of the kernel; settings change the vectors."""
    at = np.arange(6)
    family = MeasureKernels([graphs], [[{}], [{"along": "currents"}]], (1.0, 2.0))
    K = [family.kernel(i, at, at) for i in range(len(family))]
    assert len(K) == 4
    np.testing.assert_allclose(K[1], K[0] ** 2, rtol=1e-9)
    np.testing.assert_allclose(K[3], K[2] ** 2, rtol=1e-9)
    assert not np.allclose(K[0], K[2])


def test_draws_are_averaged(graphs):
    """The kernel of several lists is the mean of their kernels."""
    other = [graph.replace(length=graph.length[::-1].copy()) for graph in graphs]
    at = np.arange(len(graphs))
    one, two, both = (
        MeasureKernels(draws, [[{}]]).kernel(0, at, at) for draws in ([graphs], [other], [graphs, other])
    )
    np.testing.assert_allclose(both, (one + two) / 2, rtol=1e-12)


@pytest.fixture
def transformed(monkeypatch):
    """Return the list of how many graphs each transformation had."""
    sizes = []

    class Counted(tt.MeasureFeatures):
        def transform(self, X):
            sizes.append(len(X.segment_offsets) - 1)
            return super().transform(X)

    monkeypatch.setattr(_measure_kernels, "MeasureFeatures", Counted)
    return sizes


def test_vectors_are_computed_once_for_all_factors(graphs, transformed, monkeypatch):
    """Another gamma costs no further transformation, and only a few sets of vectors are kept."""
    monkeypatch.setattr(_measure_kernels, "_KEPT", 2)
    family = MeasureKernels([graphs], [[{}]], (1.0, 2.0, 4.0))
    for i in range(3):
        family.kernel(i, np.arange(10), np.arange(5))
    assert transformed == [10]
    for size in (6, 7, 5):
        family.kernel(0, np.arange(size + 1), np.arange(size))
    assert transformed == [10, 7, 8, 6]


def test_rounded_scales_share_vectors_between_folds(graphs, transformed):
    """Training graphs with the same rounded scale need one transformation, and the kernel changes little."""
    family = MeasureKernels([graphs], [[{}]], rounded=True)
    everything = np.arange(len(graphs))
    K = family.kernel(0, everything, everything)
    family.kernel(0, everything[::-1], everything[::-1])
    assert transformed == [len(graphs)]
    exact = MeasureKernels([graphs], [[{}]]).kernel(0, everything, everything)
    np.testing.assert_allclose(K, exact, atol=0.02)


def test_several_options_make_a_product(graphs):
    """The kernel of several options is the geometric mean of their kernels."""
    options = [{}, {"along": "currents"}]
    rows, columns = np.arange(8), np.arange(5)
    product = MeasureKernels([graphs], [options]).kernel(0, rows, columns)
    parts = [MeasureKernels([graphs], [[one]]).kernel(0, rows, columns) for one in options]
    np.testing.assert_allclose(product, np.sqrt(parts[0] * parts[1]), rtol=1e-9)


def test_distances_by_products_are_those_by_differences():
    """Equal rows are at distance exactly 0, others as a sum of squares says."""
    X = np.random.default_rng(0).standard_normal((6, 40))
    X[3] = X[1]
    expected = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    squared = squared_distances(X, X)
    np.testing.assert_allclose(squared, expected, rtol=1e-10)
    assert squared[1, 3] == squared[3, 1] == 0.0
    assert (squared.diagonal() == 0.0).all()
