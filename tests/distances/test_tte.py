"""TTE: known values and special cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from strategies import random_psd
from torelli.distances import _tte


def test_small_matrices_beside_a_large_one():
    """Matrices of 1e-90 keep their TTE distance beside one of 1e90."""
    Qs = [np.array([[x]]) for x in (1e-90, 2e-90, 1e90)]
    assert tt.pairwise_distances(Qs, metric="tte")[0, 1] == pytest.approx(1e-90, rel=1e-12, abs=0)


def test_differences_far_below_the_largest_entry():
    """The TTE distance of matrices that differ in a tiny or huge entry alone is that difference."""
    for large, small in ((1.0, 1e-200), (1e300, 1e-300), (1e-10, 1e-320)):
        for pair in (
            (np.diag([large, small]), np.diag([large, 3 * small])),
            ([[large]], np.diag([large, 2 * small])),
        ):
            assert tt.distance(*pair, "tte") == pytest.approx(2 * small, rel=1e-12, abs=0)
    h = 2.0**1021
    assert tt.distance([[h, h], [h, h]], [[h, -h], [-h, h]], "tte") == pytest.approx(np.sqrt(8) * h)


def test_known_values():
    """The distance is the root of the sum of all squared differences, off-diagonal ones twice."""
    assert tt.distance([[3.0]], [[1.0]], "tte") == 2.0
    assert tt.distance([[2.0, 1.0], [1.0, 2.0]], np.zeros((0, 0)), "tte", squared=True) == 10.0
    assert tt.distance([[2.0, 1.0], [1.0, 3.0]], [[1.0]], "tte", squared=True) == 12.0
    assert tt.distance([[2.0, 1.0], [1.0, 3.0]], [[2.0, -1.0], [-1.0, 3.0]], "tte", squared=True) == 8.0


@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_the_norm_is_that_of_frobenius(seed, size):
    """The compiled sum of squares, in fours and a rest, is numpy's norm."""
    Q = random_psd(np.random.default_rng(seed), size)
    assert _tte.squared_frobenius(Q) == pytest.approx(np.linalg.norm(Q) ** 2, rel=1e-13)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.data())
def test_a_packed_piece_is_part_of_the_triangle_in_shell_order(seed, size, data):
    """Any range of coordinates holds those entries, √2 times those off the diagonal, and zeros beyond."""
    Q = random_psd(np.random.default_rng(seed), size)
    vector = np.array(
        [Q[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(size) for i in range(j + 1)]
    )
    start = data.draw(st.integers(0, len(vector)))
    stop = data.draw(st.integers(start, len(vector) + 5))
    packed = _tte.PackedTriangles([np.eye(1), Q], 1, single=False, norms_known=True)
    rows = np.full((1, stop - start), np.nan)
    packed.fill(np.array([1]), start, stop, rows)
    np.testing.assert_allclose(rows[0], np.pad(vector, (0, 5))[start:stop], rtol=1e-15)
    assert packed.size.tolist() == [1, len(vector)]
    assert packed.squared_norm[1] == pytest.approx(vector @ vector)


def test_matrices_in_any_memory_order_are_read():
    """Matrices in Fortran order, and parts of larger ones, are read by entry and not by address."""
    rng = np.random.default_rng(0)
    Qs = [random_psd(rng, size) for size in (3, 5, 7)]
    inside = [np.asfortranarray(np.pad(Q, 2))[2:-2, 2:-2] for Q in Qs]
    assert np.array_equal(
        tt.pairwise_distances(inside, metric="tte"), tt.pairwise_distances(Qs, metric="tte")
    )
