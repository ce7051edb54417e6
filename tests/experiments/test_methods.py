"""All methods that experiments compare."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli import InvalidOptionError, MetricGraph, MissingExtraError
from torelli.datasets import line_plus_random
from torelli.evaluation import FixedKernel, NoKernel, RBFKernels
from torelli.experiments import methods
from torelli.experiments._measure_kernels import SETTINGS, MeasureKernels
from torelli.experiments.methods import METHODS, squared_distances

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
    at = np.arange(len(graphs))
    K = family.kernel(0, at, at)
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
