"""Random Fourier features, and sums of them."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from torelli import _waves


def test_random_numbers_are_those_of_their_seed():
    """Normal numbers have mean 0 and variance 1, others fill 0 to 1, signs are even, seeds differ."""
    numbers = _waves.RandomNumbers(3)
    normal, uniform, signs = numbers.normal(200, 200), numbers.uniform(20_000), numbers.signs(100, 200)
    assert abs(normal.mean()) < 0.02
    assert normal.var() == pytest.approx(1.0, abs=0.03)
    assert 0.0 < uniform.min() < 0.001
    assert 0.999 < uniform.max() < 1.0
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert abs(signs.mean()) < 0.03
    assert (_waves.RandomNumbers(3).normal(200, 200) == normal).all()
    assert (_waves.RandomNumbers(4).normal(200, 200) != normal).all()


@given(st.floats(-1e6, 1e6))
def test_waves_are_cosines(turns):
    """A wave is sqrt(2) cos(2 pi t), as accurate as t itself."""
    with mpmath.workdps(40):
        expected = float(mpmath.sqrt(2) * mpmath.cos(2 * mpmath.pi * mpmath.mpf(turns)))
    assert _waves._wave(turns) == pytest.approx(expected, rel=0, abs=2e-15 + 1e-15 * abs(turns))


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16, 256])
def test_hadamard_matrices_are_those_of_scipy(n):
    """The transform is a product with Sylvester's matrix."""
    x = np.random.default_rng(n).standard_normal(n)
    expected = scipy.linalg.hadamard(n) @ x
    _waves._hadamard(x)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-12)


def test_the_weights_of_a_step_are_orthogonal():
    """A step multiplies by an orthogonal matrix: small inputs of unit length differ by their angle alone."""
    layers = _waves.Layers(0, 1, 64, 1.0, np.dtype(float))
    message, signs, scale, phase = layers.steps[0]
    flat = np.full(64, 0.25)  # a quarter turn, where a wave is minus its phase
    rows = 1e-4 * np.eye(64)
    _waves._take_in(np.zeros((64, 64)), message, signs, scale, flat, rows)
    weights = rows / (-1e-4 * np.sqrt(2.0) * 64**-0.5)
    np.testing.assert_allclose(weights @ weights.T, 64 * np.eye(64), rtol=0, atol=1e-4)
    received = np.zeros((1, 64))
    received[0, 3] = 1e-4
    own = np.zeros((1, 64))
    _waves._take_in(received, message, signs, scale, flat, own)
    np.testing.assert_allclose(own[0], message[3] * rows[3], rtol=0, atol=1e-9)
    assert len(np.unique(phase)) == 64


@pytest.mark.parametrize("n_features", [1, 8, 100, 200])
def test_any_number_of_features_has_the_scale_of_its_frequency(n_features):
    """Features beyond a power of two are padded, and inputs of unit variance stay at unit variance."""
    layers = _waves.Layers(5, 1, n_features, 1.0, np.dtype(float))
    message, signs, scale, _ = layers.steps[0]
    rows = 1e-4 * np.random.default_rng(0).standard_normal((4000, n_features))
    _waves._take_in(np.zeros_like(rows), message, signs, scale, np.full(n_features, 0.25), rows)
    spread = rows.std() / (1e-4 * np.sqrt(2.0))
    assert spread == pytest.approx(1.0, rel=0.1)


def test_inner_products_of_waves_estimate_a_gaussian_kernel():
    """With one frequency, the mean product of features is exp(-frequency² |x - y|² / (2 inputs))."""
    rows = np.random.default_rng(0).standard_normal((6, 4))
    features = _waves.Waves(_waves.RandomNumbers(0), 4, 40_000, [1.5], np.dtype(float))(rows)
    squared = ((rows[:, None] - rows) ** 2).sum(axis=2)
    np.testing.assert_allclose(features @ features.T / 40_000, np.exp(-(1.5**2) * squared / 8), atol=0.03)


def test_frequencies_share_the_features():
    """Each frequency has an equal share of the features, the last what is left."""
    waves = _waves.Waves(_waves.RandomNumbers(0), 400, 7, [1.0, 10.0, 100.0], np.dtype("float32"))
    size = 2 * np.pi * np.sqrt((waves.W.astype(float) ** 2).sum(axis=0))  # W gives turns
    np.testing.assert_allclose(size, [1, 1, 1, 10, 10, 10, 100], rtol=0.15)
    assert waves(np.zeros((2, 400))).dtype == np.float32


def test_rows_are_added_by_graph():
    """The sum of a graph has the weighted rows of its own range; a graph without rows has 0."""
    rows = np.arange(12.0).reshape(4, 3)  # the last column is not used
    out = np.ones((3, 2))
    _waves.add_rows(rows, np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 1, 4]), out)
    expected = np.array([rows[0], [0, 0, 0], 2 * rows[1] + 3 * rows[2] + 4 * rows[3]])[:, :2]
    np.testing.assert_allclose(out, expected / np.sqrt(2), rtol=1e-12)


def test_blocks_shrink_to_unit_norm():
    """Each block is divided by its norm, and a block of zeros stays."""
    out = np.array([[3.0, 4.0, 0.0, 0.0], [0.0, 2.0, 5.0, 12.0]])
    _waves.shrink(out, 2, 1.0)
    np.testing.assert_allclose(out, [[0.6, 0.8, 0, 0], [0, 1, 5 / 13, 12 / 13]], rtol=1e-12)


def test_norms_whose_squares_overflow_are_norms():
    """Entries of 1e200 are divided by their norm like any others."""
    out = np.array([[3e200, 4e200, 0.0, 1.0]])
    _waves.shrink(out, 2, 1.0)
    np.testing.assert_allclose(out, [[0.6, 0.8, 0, 1]], rtol=1e-12)
