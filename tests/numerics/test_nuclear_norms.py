"""Nuclear norms of products of triangular factors, against LAPACK and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli._numerics.nuclear_norms import LANES, LARGEST, congruent, cross_nuclear_norms

EPS = np.finfo(float).eps
SIZES = [1, 2, 3, 4, 5, 7, 8, 17, 31, 32, 33, 64, 100, 255, LARGEST, LARGEST + 1]


def norms(factors, first, second, size):
    """Return the norms of pairs, in an array that held something else."""
    out = np.full(len(first), np.nan)
    cross_nuclear_norms(factors, np.array(first), np.array(second), size, out)
    return out


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10])
def test_agrees_with_singular_values(size):
    """More pairs than are worked on side by side agree with numpy's nuclear norm."""
    rng = np.random.default_rng(size)
    factors = np.tril(rng.standard_normal((20, 10, 10)))
    first, second = rng.integers(20, size=(2, LANES + 5))
    leading = factors[:, :size, :size]
    expected = np.linalg.norm(leading[first].transpose(0, 2, 1) @ leading[second], "nuc", axis=(1, 2))
    np.testing.assert_allclose(norms(factors, first, second, size), expected, rtol=1e-13)


@given(st.lists(st.floats(1e-150, 1e150), min_size=3, max_size=3), st.floats(1e-150, 1e150))
def test_diagonal_factors_have_the_sum_of_products(entries, other):
    """Diagonal factors of any magnitude give the sum of the products of their entries."""
    factors = np.stack([np.diag(entries), other * np.eye(3)])
    assert norms(factors, [0], [1], 3)[0] == pytest.approx(sum(other * x for x in entries), rel=1e-14)


def test_tiny_singular_values_keep_their_digits():
    """Singular values of 1 and 1e-12 add up to 1 + 1e-12, where a Gram matrix would round the second."""
    angle = 0.3
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    A = np.diag([1.0, 1e-12]) @ rotation
    # a reversed QR gives a lower triangular matrix with the singular values of A
    _, upper = np.linalg.qr(A[:, ::-1])
    factors = np.stack([np.eye(2), upper[::-1, ::-1]])
    assert norms(factors, [0], [1], 2)[0] - 1.0 == pytest.approx(1e-12, rel=1e-3)


def test_singular_factors_and_zeros():
    """Zero factors have norm 0, and a factor of rank 1 the length of its one column."""
    factors = np.zeros((3, 3, 3))
    factors[1, :, 0] = [1.0, 2.0, 2.0]
    factors[2] = np.eye(3)
    assert norms(factors, [0, 0, 1, 1], [0, 1, 2, 1], 3) == pytest.approx([0.0, 0.0, 3.0, 9.0], abs=1e-290)


def test_companions_do_not_matter():
    """A pair has the same norm, but for rounding, alone and among others."""
    rng = np.random.default_rng(0)
    factors = np.tril(rng.standard_normal((9, 5, 5)))
    first, second = np.divmod(np.arange(81), 9)
    together = norms(factors, first, second, 5)
    alone = [norms(factors, [i], [j], 5)[0] for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=1e-14)


@pytest.mark.parametrize("size", SIZES)
def test_congruent_matrices_have_the_lower_triangles_of_the_product(size):
    """Every size, also those that are not a multiple of the inner block, agrees with plain products."""
    rng = np.random.default_rng(size)
    A = rng.standard_normal((3, size, size))
    L, stack = np.tril(rng.standard_normal((size, size))), A @ A.transpose(0, 2, 1)
    lower, expected = np.tril(congruent(L, stack)), np.tril(L.T @ stack @ L)
    np.testing.assert_allclose(lower, expected, rtol=0, atol=size * EPS * np.abs(expected).max())
