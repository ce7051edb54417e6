"""What metrics share: magnitudes taken out of matrices, the writer of results, and sketches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from strategies import random_psd
from torelli.distances import METRICS
from torelli.distances._metric import (
    GROUPS,
    KEPT,
    DistanceWriter,
    Metric,
    any_rescaled,
    diagonal_roots,
    fold,
    normalised,
    root_rounding,
    shells,
)


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


SKETCHES = [(metric, sketch) for metric in METRICS.values() for sketch in metric.sketches]


@pytest.mark.parametrize(("metric", "sketch"), SKETCHES, ids=lambda one: one.name)
@given(st.integers(0, 2**32 - 1), st.integers(0, 90), st.integers(0, 90))
def test_sketches_are_no_farther_apart_than_the_metric(metric, sketch, seed, first, second):
    """The Euclidean distance of two sketches is at most the distance, for matrices of any two sizes."""
    rng = np.random.default_rng(seed)
    matrices = [random_psd(rng, size) for size in (first, second)]
    left, right = sketch.rows(matrices)
    distance = tt.distance(*matrices, metric.name)
    error = sketch.rounding(max(first, second)) * (np.linalg.norm(left) + np.linalg.norm(right))
    assert np.linalg.norm(left - right) <= distance * (1 + 1e-9) + error


@pytest.mark.parametrize(("metric", "sketch"), SKETCHES, ids=lambda one: one.name)
def test_sketches_have_the_norm_of_the_matrix(metric, sketch):
    """The distance to the empty matrix is in the sketch, also for matrices longer than it."""
    for size in (1, 17, KEPT + 1, 3 * KEPT):
        Q = random_psd(np.random.default_rng(size), size)
        (row,) = sketch.rows([Q])
        expected = tt.distance(Q, np.empty((0, 0)), metric.name)
        assert np.linalg.norm(row) == pytest.approx(expected, rel=1e-9)


def test_roots_of_the_diagonal_are_exact_for_diagonal_matrices():
    """Diagonal matrices are as far apart as the roots of their entries."""
    A, B = np.diag([4.0, 9.0, 1.0]), np.diag([1.0, 16.0])
    left, right = diagonal_roots([A, B])
    assert np.linalg.norm(left - right) == pytest.approx(tt.distance(A, B, "ttw"))


def test_small_matrices_are_their_own_sketch_for_tte():
    """Up to size 16 the sketch for TTE has every entry, so that the bound is the distance."""
    rng = np.random.default_rng(1)
    A, B = random_psd(rng, 16), random_psd(rng, 9)
    left, right = shells([A, B])
    assert np.linalg.norm(left - right) == pytest.approx(np.linalg.norm(A - np.pad(B, (0, 7))))


@given(st.lists(st.floats(-1e3, 1e3), max_size=300), st.lists(st.floats(-1e3, 1e3), max_size=300))
def test_folding_keeps_norms_and_shortens_differences(one, other):
    """Folded vectors have one width and the norms of the vectors, and are no farther apart."""
    rows = fold([np.array(one), np.array(other)])
    assert rows.shape == (2, KEPT + GROUPS)
    size = max(len(one), len(other))
    x, y = (np.pad(np.array(each, dtype=float), (0, size - len(each))) for each in (one, other))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [np.linalg.norm(x), np.linalg.norm(y)])
    assert np.linalg.norm(rows[0] - rows[1]) <= np.linalg.norm(x - y) * (1 + 1e-12) + 1e-9


def test_roots_of_rank_deficient_matrices_are_within_their_rounding():
    """The bound on the error of roots holds where eigenvalues are 0 and their roots are noise."""
    rng = np.random.default_rng(0)
    for size in (10, 60, 200):
        factor = rng.standard_normal((size, size // 2))
        true = np.sort(np.linalg.svd(factor, compute_uv=False))[::-1]
        (row,) = METRICS["ttw"].sketches[1].rows([factor @ factor.T])
        error = np.linalg.norm(row - fold([true])[0])
        assert error <= root_rounding(size) * np.linalg.norm(true)
