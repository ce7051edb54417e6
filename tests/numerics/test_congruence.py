"""Congruences of many matrices with one triangular matrix."""

from __future__ import annotations

import numpy as np
import pytest

from torelli._numerics.congruence import LARGEST, congruent

EPS = np.finfo(float).eps
SIZES = [1, 2, 3, 4, 5, 7, 8, 17, 31, 32, 33, 64, 100, 255, LARGEST, LARGEST + 1]


@pytest.mark.parametrize("size", SIZES)
def test_lower_triangles_are_those_of_the_product(size):
    """Every size, also those that are not a multiple of the inner block, agrees with plain products."""
    rng = np.random.default_rng(size)
    A = rng.standard_normal((3, size, size))
    L, stack = np.tril(rng.standard_normal((size, size))), A @ A.transpose(0, 2, 1)
    found, expected = np.tril(congruent(L, stack)), np.tril(L.T @ stack @ L)
    np.testing.assert_allclose(found, expected, rtol=0, atol=size * EPS * np.abs(expected).max())
