"""Random Fourier features, and sums of them."""

from __future__ import annotations

import numpy as np
import pytest

from torelli import _waves


def test_random_numbers_are_those_of_their_seed():
    """Normal numbers have mean 0 and variance 1, phases fill a turn, and another seed gives others."""
    normal, phases = _waves.random_numbers(3)
    drawn, turned = normal(200, 200), phases(20_000)
    assert abs(drawn.mean()) < 0.02
    assert drawn.var() == pytest.approx(1.0, abs=0.03)
    assert 0.0 < turned.min() < 0.01
    assert 6.27 < turned.max() < 2 * np.pi
    assert (_waves.random_numbers(3)[0](2, 2) == _waves.random_numbers(3)[0](2, 2)).all()
    assert (_waves.random_numbers(4)[0](2, 2) != _waves.random_numbers(3)[0](2, 2)).all()


def test_inner_products_of_waves_estimate_a_gaussian_kernel():
    """With one frequency, the mean product of features is exp(-frequency² |x - y|² / (2 inputs))."""
    rows = np.random.default_rng(0).standard_normal((6, 4))
    features = _waves.Waves(0, 4, 40_000, [1.5], np.dtype(float))(rows)
    squared = ((rows[:, None] - rows) ** 2).sum(axis=2)
    np.testing.assert_allclose(features @ features.T / 40_000, np.exp(-(1.5**2) * squared / 8), atol=0.03)


def test_frequencies_share_the_features():
    """Each frequency has an equal share of the features, the last what is left."""
    waves = _waves.Waves(0, 400, 7, [1.0, 10.0, 100.0], np.dtype("float32"))
    size = np.sqrt((waves.W.astype(float) ** 2).sum(axis=0))
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
