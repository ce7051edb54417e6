"""What is computed from kernel matrices and squared distances."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.kernel_matrix import principal_components, rbf, resolve_gamma, spectral_repair


def test_the_median_rule_is_of_distances_between_different_points():
    """Gamma is ln 2 over the median of the squares that are not 0, and 1 if all are."""
    squared = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 8.0], [2.0, 8.0, 0.0]])
    assert resolve_gamma("median", squared) == pytest.approx(np.log(2.0) / 5.0)
    assert resolve_gamma("median", np.zeros((3, 3))) == 1.0
    assert resolve_gamma(0.5, squared) == 0.5


@pytest.mark.parametrize(("square", "problem"), [(np.inf, "overflow"), (1e-320, "vanish")])
def test_distances_that_no_gamma_fits_are_refused(square, problem):
    """Squares that overflow or vanish are named, with the unit as the remedy."""
    with pytest.raises(tt.InvalidMatrixError, match=f"squared distances {problem}: measure lengths in"):
        resolve_gamma("median", np.array([[0.0, square], [square, 0.0]]))


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf, True, "mean", None])
def test_gamma_is_a_positive_number_or_the_median_rule(gamma):
    """Anything else is an error that says what can be given."""
    with pytest.raises(tt.InvalidOptionError, match="use a positive number or 'median'"):
        resolve_gamma(gamma, np.zeros((2, 2)))


def test_infinite_distances_have_the_kernel_value_zero():
    """They are as far apart as can be, without a warning."""
    assert rbf(2.0, np.array([0.0, np.inf, 1e308])).tolist() == [1.0, 0.0, 0.0]


def test_repairs_change_the_negative_part_of_the_spectrum():
    """Clip drops negative eigenvalues, flip turns their sign, and shift is the size of the lowest."""
    K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1
    for repair, expected in (("clip", [0.0, 3.0]), ("flip", [1.0, 3.0])):
        projection, shift = spectral_repair(K, repair)
        assert np.allclose(np.linalg.eigvalsh(K @ projection), expected)
        assert shift == pytest.approx(1.0)
    assert spectral_repair(np.eye(2), "clip")[1] == 0.0


def test_definiteness_counts_signs():
    """Numbers of positive, zero and negative eigenvalues and the extreme ones."""
    signs = tt.definiteness(np.diag([3.0, 0.0, -2.0, 1.0]))
    assert (signs.n_positive, signs.n_zero, signs.n_negative) == (2, 1, 1)
    assert (signs.smallest, signs.largest, signs.is_psd) == (-2.0, 3.0, False)
    assert tt.definiteness(np.diag([1.0, 1e-7]), tolerance=1e-6).n_zero == 1
    assert tt.definiteness(np.zeros((0, 0))).is_psd


@pytest.mark.parametrize(
    "K", [np.ones((2, 3)), np.full((2, 2), np.nan), np.array([[1.0, 100.0], [0.0, 1.0]])]
)
def test_definiteness_of_what_is_no_kernel_matrix(K):
    """Matrices that are not square, finite and symmetric are refused."""
    with pytest.raises(tt.InvalidMatrixError, match="kernel matrix must be"):
        tt.definiteness(K)


def test_principal_components_are_those_of_the_points_behind_the_kernel():
    """For a linear kernel they are the principal components of the points, up to a fixed sign."""
    X = np.random.default_rng(0).normal(size=(7, 3)) * [5.0, 2.0, 0.1]
    scores, share = principal_components(X @ X.T)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert np.allclose(np.abs(scores), np.abs(U[:, :2] * s[:2]))
    assert (scores[np.abs(scores).argmax(axis=0), [0, 1]] > 0).all()
    assert np.allclose(share, s[:2] ** 2 / (s**2).sum())
    scores, share = principal_components(np.ones((1, 1)))
    assert scores.tolist() == [[0, 0]]
    assert share.tolist() == [0, 0]
