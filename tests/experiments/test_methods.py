"""All methods that experiments compare."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli import InvalidOptionError, MetricGraph, MissingExtraError
from torelli.datasets import line_plus_random
from torelli.evaluation import FixedKernel, NoKernel, RBFKernels
from torelli.experiments import methods
from torelli.experiments.methods import (
    METHODS,
    SETTINGS,
    MeasureKernels,
    squared_distances,
)

CIRCLE = MetricGraph([0], [0], [7.0])
PARALLEL = MetricGraph([0, 0], [1, 1], [2.0, 3.0])
TWO = MetricGraph([0, 2], [1, 3], [1.0, 2.0])


@pytest.fixture(scope="module")
def graphs():
    return [line_plus_random(8, genus, seed=genus) for genus in range(5)]


def need(name):
    if METHODS[name].module is not None:
        pytest.importorskip(METHODS[name].module)


@pytest.mark.parametrize("name", METHODS)
def test_distances_are_symmetric_and_zero_on_the_diagonal(name, graphs):
    """Squared distances are finite and not negative, also of circles and several components."""
    need(name)
    some = [*graphs, CIRCLE, PARALLEL, TWO]
    squared = squared_distances(name, some)
    assert squared.shape == (len(some), len(some))
    assert np.isfinite(squared).all()
    assert squared.min() >= 0.0
    np.testing.assert_allclose(squared, squared.T, atol=1e-9 * squared.max())
    np.testing.assert_allclose(squared.diagonal(), 0.0, atol=1e-6 * squared.max())
    assert squared.max() > 0.0


@pytest.mark.parametrize("name", METHODS)
def test_other_graphs_are_compared_on_the_scale_of_the_reference(name, graphs):
    """A part of the matrix of all is the matrix of the parts, if the reference is the same."""
    need(name)
    whole = squared_distances(name, graphs)
    part = squared_distances(name, graphs[:2], graphs[2:], reference=graphs)
    np.testing.assert_allclose(part, whole[:2, 2:], atol=1e-6 * whole.max())


@pytest.mark.parametrize("name", [*SETTINGS, "TTW", "TTE, bridges", "TTS", "TTS literal"])
def test_ours_are_those_of_the_library(name, graphs):
    """The distances of an experiment are those that a user gets."""
    squared = squared_distances(name, graphs)
    if name in SETTINGS:
        X = tt.MeasureFeatures(**SETTINGS[name]).fit_transform(graphs)
        expected = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    else:
        model = "literal" if "literal" in name else "canonical"
        Q = tt.torelli_matrices(graphs, model, bridges="double" if "bridges" in name else "ignore")
        expected = tt.pairwise_distances(Q, metric=name[:3].lower(), squared=True)
    np.testing.assert_allclose(squared, expected, atol=1e-9 * expected.max())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("genus", RBFKernels),
        ("TTS", RBFKernels),
        ("TTM", MeasureKernels),
        ("WL", FixedKernel),
        (methods.MAJORITY, NoKernel),
    ],
)
def test_each_method_is_a_family_of_kernels(name, kind, graphs):
    """Distances and vectors have a kernel for each factor, GraKeL's one; k(x, x) is 1."""
    if name in METHODS:
        need(name)
    family = methods.kernels(name, methods.values_of(name, graphs), graphs, (1.0, 4.0))
    assert isinstance(family, kind)
    assert len(family) == (1 if kind in {FixedKernel, NoKernel} else 2)
    every = np.arange(len(graphs))
    K = family.kernel(0, every, every)
    np.testing.assert_allclose(K.diagonal() if K.size else 1.0, 1.0)


def test_unknown_methods_and_missing_libraries_are_named(monkeypatch):
    """The error says which extra brings the library."""
    with pytest.raises(InvalidOptionError, match="GW"):
        methods.get_method("GWW")
    with pytest.raises(InvalidOptionError, match="values_of"):
        methods.kernels("GW", None, [], (1.0,))
    monkeypatch.setattr(methods, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"torelli\[peers\]"):
        methods.get_method("GW")


@pytest.fixture(scope="module")
def growing():
    """Return graphs whose lengths grow from one to the next, so that what is learned depends on them."""
    return [
        graph.replace(length=graph.length * (1 + i))
        for i, graph in enumerate(line_plus_random(12, 4, seed=i) for i in range(10))
    ]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_kernel_is_that_of_the_estimator_fitted_to_the_columns(growing, name):
    """Rows of test graphs do not change what is learned: K is TTMKernel's, fitted to training graphs."""
    family = MeasureKernels([growing], [[SETTINGS[name]]])
    train, rows = np.array([7, 1, 4, 5]), np.array([0, 4, 9, 3, 1])
    estimator = tt.TTMKernel(**SETTINGS[name]).fit([growing[i] for i in train])
    expected = estimator.transform([growing[i] for i in rows])
    np.testing.assert_allclose(family.kernel(0, rows, train), expected, rtol=1e-8)


def test_other_training_graphs_give_another_kernel(growing):
    """Nothing that was learned from one fold is used in another."""
    family = MeasureKernels([growing], [[{}]])
    rows = np.array([0, 9])
    first = family.kernel(0, rows, np.arange(4))
    second = family.kernel(0, rows, np.arange(4, 8))
    again = family.kernel(0, rows, np.arange(4))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, second)


def test_kernels_are_numbered_setting_by_setting(growing):
    """Factors multiply gamma, which is a power of the kernel; settings change the vectors."""
    every = np.arange(6)
    family = MeasureKernels([growing], [[{}], [{"along": "currents"}]], (1.0, 2.0))
    K = [family.kernel(i, every, every) for i in range(len(family))]
    assert len(K) == 4
    np.testing.assert_allclose(K[1], K[0] ** 2, rtol=1e-9)
    np.testing.assert_allclose(K[3], K[2] ** 2, rtol=1e-9)
    assert not np.allclose(K[0], K[2])


def test_draws_are_averaged(growing):
    """The kernel of several lists is the mean of their kernels."""
    other = [graph.replace(length=graph.length[::-1].copy()) for graph in growing]
    every = np.arange(len(growing))
    one, two, both = (
        MeasureKernels(draws, [[{}]]).kernel(0, every, every)
        for draws in ([growing], [other], [growing, other])
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

    monkeypatch.setattr(methods, "MeasureFeatures", Counted)
    return sizes


def test_vectors_are_computed_once_for_all_factors(growing, transformed, monkeypatch):
    """Another gamma costs no further transformation, and only a few sets of vectors are kept."""
    monkeypatch.setattr(methods, "_KEPT", 2)
    family = MeasureKernels([growing], [[{}]], (1.0, 2.0, 4.0))
    for i in range(3):
        family.kernel(i, np.arange(10), np.arange(5))
    assert transformed == [10]
    for size in (6, 7, 5):
        family.kernel(0, np.arange(size + 1), np.arange(size))
    assert transformed == [10, 7, 8, 6]


def test_rounded_scales_share_vectors_between_folds(growing, transformed):
    """Training graphs with the same rounded scale need one transformation, and the kernel changes little."""
    family = MeasureKernels([growing], [[{}]], rounded=True)
    everything = np.arange(len(growing))
    K = family.kernel(0, everything, everything)
    family.kernel(0, everything[::-1], everything[::-1])
    assert transformed == [len(growing)]
    exact = MeasureKernels([growing], [[{}]]).kernel(0, everything, everything)
    np.testing.assert_allclose(K, exact, atol=0.02)


def test_several_options_make_a_product(growing):
    """The kernel of several options is the geometric mean of their kernels."""
    options = [{}, {"along": "currents"}]
    rows, columns = np.arange(8), np.arange(5)
    product = MeasureKernels([growing], [options]).kernel(0, rows, columns)
    parts = [MeasureKernels([growing], [[one]]).kernel(0, rows, columns) for one in options]
    np.testing.assert_allclose(product, np.sqrt(parts[0] * parts[1]), rtol=1e-9)
