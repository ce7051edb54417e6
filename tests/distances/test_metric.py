"""What metrics share: magnitudes that are taken out of matrices, and the way of results to the caller."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli.distances._metric import DistanceWriter, Metric, any_rescaled, normalised


@given(st.lists(st.floats(1e-300, 1e300) | st.just(0.0), max_size=6))
def test_normalised_matrices_and_exponents_give_the_matrices_back(magnitudes):
    """4**h P is the given matrix bit for bit, and P is neither huge nor tiny."""
    matrices = [magnitude * np.array([[1.0, 0.5], [0.5, 0.75]]) for magnitude in magnitudes]
    scaled, exponent = normalised(matrices)
    for P, h, Q in zip(scaled, exponent.tolist(), matrices, strict=True):
        if Q.any():
            assert np.array_equal(np.ldexp(P, 2 * h), Q)
            assert 1e-61 < P.max() < 1e61
        else:
            assert P is Q
    assert any_rescaled(exponent) == any(not 1e-60 < x < 1e60 for x in magnitudes if x)


def test_ordinary_matrices_are_not_copied():
    """Matrices of ordinary magnitude are passed on as they are, empty ones too."""
    matrices = [np.eye(2), np.zeros((0, 0)), 1e50 * np.eye(3)]
    scaled, exponent = normalised(matrices)
    assert all(P is Q for P, Q in zip(scaled, matrices, strict=True))
    assert not any_rescaled(exponent)


@pytest.mark.parametrize(("squared", "expected"), [(False, [6.0, 0.0, 2.0]), (True, [36.0, 0.0, 4.0])])
def test_results_are_roots_or_squares_in_units_of_their_exponents(squared, expected):
    """The writer stores 2**h √s, or its square; a negative s, which only rounding gives, counts as 0."""
    out = np.full(3, np.nan)
    writer = DistanceWriter(out, squared=squared)
    writer.write((np.arange(3),), np.array([9.0, -1e-17, 4.0]), np.array([1, 5, 0], dtype=np.int32))
    assert out.tolist() == expected


def test_squares_that_no_float_holds_are_infinite_and_their_roots_are_not():
    """The distance 2**600 is stored as it is; its square is infinite, without a warning."""
    for squared, expected in ((False, 2.0**600), (True, np.inf)):
        out = np.zeros(1)
        DistanceWriter(out, squared=squared).write((np.array([0]),), np.array([1.0]), 600)
        assert out[0] == expected


@pytest.mark.parametrize("name", sorted(tt.METRICS))
def test_the_norm_of_an_entry_is_the_distance_to_the_empty_matrix(name):
    """`squared_norm` of a metric is d² between a matrix and the matrix of a tree, and its name is its key."""
    metric = tt.METRICS[name]
    Q = np.array([[3.0, 1.0, 0.5], [1.0, 2.0, 0.0], [0.5, 0.0, 4.0]])
    assert metric.name == name
    expected = tt.distance(Q, np.zeros((0, 0)), name, squared=True)
    assert metric.squared_norm(Q) == pytest.approx(expected, rel=1e-14)


def test_a_metric_is_one_module_and_one_entry(monkeypatch):
    """A metric in the registry serves distances of matrices and of graphs, and a kernel of one line."""

    def write_pairs(X, Y, out, n_jobs, progress):
        rows, columns = (np.sqrt([np.trace(Q) for Q in matrices]) for matrices in (X, Y or X))
        out.write(np.indices((len(rows), len(columns))), (rows[:, None] - columns) ** 2)

    toy = Metric("ttx", "root of the trace", "difference of the roots of traces", np.trace, write_pairs)
    monkeypatch.setitem(tt.METRICS, "ttx", toy)

    class TTXKernel(tt.TorelliKernel, metric="ttx"):
        """A kernel on traces."""

    monkeypatch.setitem(tt.KERNELS, "ttx", TTXKernel)
    graphs = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    expected = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    assert tt.pairwise_distances(graphs, metric="ttx").tolist() == expected
    assert tt.distance(np.eye(1), 4.0 * np.eye(1), "ttx") == 1.0
    K = TTXKernel(gamma=1.0).fit_transform(graphs)
    assert np.allclose(K, np.exp(-np.square(expected)))
    assert np.allclose(tt.GraphRBF("ttx", gamma=1.0)(graphs), K)
