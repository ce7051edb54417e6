"""Sketches of matrices: their distance never exceeds the metric."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from strategies import random_psd
from torelli.distances import METRICS
from torelli.distances._sketches import GROUPS, KEPT, diagonal_roots, fold, root_rounding, shells

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
