"""Eigenvalues of many matrices at once, against LAPACK and known values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli._numerics.eigenvalues import LANES, LARGEST, eigenvalues

EPS = np.finfo(float).eps
SIZES = [1, 2, 3, 4, 5, 7, 8, 17, 31, 32, 33, 64, 100, 255, LARGEST, LARGEST + 1]


def gram(rng, count, size, rank=None):
    """Return random positive semi-definite matrices."""
    A = rng.standard_normal((count, size, rank or size))
    return A @ A.transpose(0, 2, 1)


def assert_close(values, stack):
    """Assert that they err by a few times rounding of the largest, by LAPACK's account."""
    expected = np.linalg.eigvalsh(stack)
    error = np.abs(np.sort(values, axis=1) - expected).max(axis=1)
    assert (error <= 2 * (8 + stack.shape[1]) * EPS * expected[:, -1]).all()


@pytest.mark.parametrize("size", SIZES)
def test_agrees_with_lapack(size):
    rng = np.random.default_rng(size)
    for stack in (gram(rng, LANES + 3, size), gram(rng, 2, size, rank=max(1, size // 2))):
        assert_close(eigenvalues(stack), stack)


def test_known_values():
    """The path of n nodes has the eigenvalues 2 - 2 cos(pi k / n); a matrix of ones has n and zeros."""
    n = 40
    path = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    path[0, 0] = path[-1, -1] = 1.0
    computed = np.sort(eigenvalues(np.array([path, np.ones((n, n)), np.zeros((n, n)), np.eye(n)])), axis=1)
    np.testing.assert_allclose(computed[0], 2 - 2 * np.cos(np.pi * np.arange(n) / n), atol=1e-14)
    np.testing.assert_allclose(computed[1], np.eye(n)[-1] * n, atol=1e-13)
    assert (computed[2] == 0.0).all()
    assert (computed[3] == 1.0).all()


@given(
    st.integers(2, 40),
    st.integers(0, 2**32 - 1),
    st.floats(0.0, 40.0),
    st.integers(-450, 450),
    st.booleans(),
)
def test_graded_clustered_and_scaled(size, seed, decades, power, sparse):
    """Eigenvalues over many orders of magnitude, equal ones, tiny couplings, any scale."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    if sparse:
        basis = np.where(rng.random((size, size)) < 0.8, 0.0, basis) + 1e-25 * basis
    spectrum = 10.0 ** -np.sort(rng.choice([0.0, decades / 2, decades], size=size))
    stack = ((basis * spectrum) @ basis.T)[None]
    stack += stack.transpose(0, 2, 1)
    scaled = stack * 2.0**power
    np.testing.assert_array_equal(eigenvalues(scaled), eigenvalues(stack) * 2.0**power)
    if stack.max() > 0:
        assert_close(eigenvalues(stack), stack)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_whole_numbers_and_rows_of_zeros(size, rank, seed):
    """Exact zeros and equal numbers everywhere: shifts hit eigenvalues, and matrices fall apart."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-2, 3, (LANES, size, rank)) * (rng.random((LANES, size, 1)) < 0.6)
    stack = (A @ A.transpose(0, 2, 1)).astype(float)
    assert_close(eigenvalues(stack), stack)


def test_a_shift_that_is_an_eigenvalue():
    computed = eigenvalues(np.array([[[1.0, 0.0, -2.0], [0.0, 0.0, 0.0], [-2.0, 0.0, 4.0]]]))
    np.testing.assert_allclose(np.sort(computed[0]), [0.0, 0.0, 5.0], atol=1e-15)


def test_only_lower_triangles_count_and_nothing_is_written():
    stack = gram(np.random.default_rng(0), 5, 20)
    lower = np.tril(stack) + np.triu(np.full((20, 20), np.nan), 1)
    before = lower.copy()
    np.testing.assert_array_equal(eigenvalues(lower), eigenvalues(stack))
    np.testing.assert_array_equal(lower, before)


def test_companions_do_not_matter():
    """A matrix has the same eigenvalues, bit for bit, wherever it stands in a stack."""
    rng = np.random.default_rng(1)
    stack = gram(rng, 2 * LANES + 5, 24)
    stack[3], stack[20] = np.eye(24), 0.0
    together = eigenvalues(stack)
    order = rng.permutation(len(stack))
    np.testing.assert_array_equal(eigenvalues(stack[order]), together[order])
    for position in (0, 3, 20, len(stack) - 1):
        np.testing.assert_array_equal(eigenvalues(stack[position : position + 1])[0], together[position])


def test_lapack_helps_where_sweeps_do_not_converge(monkeypatch):
    def give_up_on_the_second(stack, values, computed):
        values[:] = np.linalg.eigvalsh(stack)
        values[1] = np.nan
        computed[1] = False

    monkeypatch.setattr("torelli._numerics.eigenvalues._write_eigenvalues", give_up_on_the_second)
    stack = gram(np.random.default_rng(2), 3, 20)
    assert_close(eigenvalues(stack), stack)
