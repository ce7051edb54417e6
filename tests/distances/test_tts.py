"""TTS: known values, and what it does and does not see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from strategies import random_psd
from torelli.distances._tts import Spectra


def rotation(rng, size):
    """Return a random orthogonal matrix."""
    return np.linalg.qr(rng.standard_normal((size, size)))[0]


def test_known_values():
    """Roots of eigenvalues are compared largest first, and missing ones are 0."""
    assert tt.distance([[4.0]], np.zeros((0, 0)), "tts") == pytest.approx(2.0, rel=1e-15)
    assert tt.distance(np.diag([1.0, 9.0]), np.diag([9.0, 1.0]), "tts") == 0.0
    assert tt.distance(np.diag([1.0, 9.0]), [[4.0]], "tts", squared=True) == pytest.approx(2.0)
    # the theta with strands 1, 1, 1 has the eigenvalues 3 and 1
    expected = (np.sqrt(3.0) - 1.0) ** 2 + 1.0
    assert tt.distance([[2.0, 1.0], [1.0, 2.0]], [[1.0]], "tts", squared=True) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_rotations_are_not_seen(seed, size):
    """A matrix and the same in another orthonormal basis are at distance 0, up to rounding."""
    rng = np.random.default_rng(seed)
    Q, U = random_psd(rng, size), rotation(rng, size)
    turned = U @ Q @ U.T
    assert tt.distance(Q, (turned + turned.T) / 2, "tts") < 1e-12 * size * np.trace(Q)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8))
def test_it_is_the_smallest_ttw_distance_over_rotations(seed, one, two):
    """No rotation brings two matrices nearer by TTW, and a common eigenbasis brings them as near."""
    rng = np.random.default_rng(seed)
    A, B = random_psd(rng, max(one, two)), random_psd(rng, min(one, two))
    tts = tt.distance(A, B, "tts", squared=True)
    U = rotation(rng, len(A))
    turned = U @ A @ U.T
    assert tts <= tt.distance((turned + turned.T) / 2, B, "ttw", squared=True) * (1 + 1e-9) + 1e-9
    aligned = [np.diag(np.linalg.eigvalsh(Q)[::-1]) for Q in (A, B)]
    assert tt.distance(*aligned, "ttw", squared=True) == pytest.approx(tts, rel=1e-7, abs=1e-9)


def test_spectra_are_roots_in_descending_order_in_their_rows():
    """Row i has the roots of matrix i, whatever the sizes; eigenvalues at rounding level are 0."""
    rng = np.random.default_rng(0)
    Qs = [random_psd(rng, size) for size in (3, 0, 5, 3)] + [np.ones((4, 4))]
    spectra = Spectra(Qs, 1)
    for Q, roots in zip(Qs[:4], spectra.roots[:4], strict=True):
        np.testing.assert_allclose(roots, np.sqrt(np.linalg.eigvalsh(Q)[::-1]), rtol=1e-9)
    assert spectra.roots[4].tolist() == pytest.approx([2.0, 0.0, 0.0, 0.0], rel=1e-14, abs=0)
    assert spectra.squared_norm == pytest.approx([np.trace(Q) for Q in Qs])


def test_the_first_matrix_that_is_not_positive_semi_definite_is_named():
    """The error has its position in the list and its smallest eigenvalue, also at unusual magnitudes."""
    bad = np.array([[1.0, 2.0], [2.0, 3.0]])
    for scale in (1.0, 1e100):
        smallest = np.linalg.eigvalsh(bad)[0] * scale
        with pytest.raises(
            tt.InvalidMatrixError,
            match=f"matrix 2 is not .* eigenvalue is {smallest:.3g}$".replace("+", r"\+"),
        ):
            tt.pairwise_distances([np.eye(3), np.eye(2), bad * scale], metric="tts")
