"""Kernel matrices: gamma from squared distances, definiteness and its repair, principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.spatial.distance import squareform

from torelli._errors import InvalidMatrixError, InvalidOptionError, quoted
from torelli._validate import is_positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats

Gamma = float | Literal["median"]
Repair = Literal["clip", "flip", "shift"]
REPAIRS: tuple[Repair, ...] = ("clip", "flip", "shift")


def rbf(gamma: float, squared: Floats) -> Floats:
    """Return exp(-gamma d²) of squared distances, which may be infinite."""
    with np.errstate(over="ignore"):
        K: Floats = np.multiply(squared, -gamma)
        return np.exp(K, out=K)


def spectral_repair(K: Floats, repair: Repair) -> tuple[Floats, float]:
    """Return P such that K P is the repaired matrix (for clip and flip), and what shift adds to k(x, x).

    Rows of new graphs are multiplied by the same P, so that a training graph keeps its repaired row.
    """
    values, vectors = np.linalg.eigh(K)
    keep = np.where(values > 0, 1.0, 0.0 if repair == "clip" else -1.0)
    return (vectors * keep) @ vectors.T, max(0.0, -float(values[0]))


def resolve_gamma(gamma: Gamma, squared: Floats) -> float:
    """Return gamma as a number; the median rule gives 1 if all distances are 0."""
    if isinstance(gamma, str) and gamma == "median":
        upper = squareform(squared, checks=False)
        nonzero = upper[upper > 0]
        if not len(nonzero):
            return 1.0
        median = float(np.median(nonzero, overwrite_input=True))
        if np.isinf(median):
            raise InvalidMatrixError("squared distances overflow: measure lengths in a larger unit")
        if median < np.finfo(float).tiny:
            raise InvalidMatrixError("squared distances vanish: measure lengths in a smaller unit")
        return float(np.log(2.0)) / median
    if not is_positive(gamma):
        raise InvalidOptionError(f"gamma is {quoted(gamma)}: use a positive number or 'median'")
    return float(gamma)


@dataclass(frozen=True)
class Definiteness:
    """The signs of the spectrum of a kernel matrix.

    Attributes
    ----------
    n_positive, n_zero, n_negative
        Numbers of eigenvalues above, within and below the tolerance.
    smallest, largest
        Extreme eigenvalues.
    tolerance
        What counts as zero.

    References
    ----------
    See `definiteness`.

    Examples
    --------
    >>> import torelli as tt
    >>> tt.definiteness([[1.0, 1.0], [1.0, 1.0]]).n_zero
    1
    """

    n_positive: int
    n_zero: int
    n_negative: int
    smallest: float
    largest: float
    tolerance: float

    @property
    def is_psd(self) -> bool:
        """Whether no eigenvalue is negative beyond the tolerance."""
        return self.n_negative == 0


def definiteness(K: NDArray[np.floating[Any]], *, tolerance: float | None = None) -> Definiteness:
    """Count the positive, zero and negative eigenvalues of a kernel matrix.

    Parameters
    ----------
    K
        Symmetric matrix.
    tolerance
        Largest absolute value that counts as zero; by default what rounding can explain: the size times
        machine epsilon times the largest eigenvalue.

    References
    ----------
    Appendix B.2 and D.3 of the paper. Repairs by clip, flip and shift: Chen et al., Similarity-based
    classification, JMLR 10 (2009).

    Examples
    --------
    >>> import torelli as tt
    >>> signs = tt.definiteness([[1.0, 2.0], [2.0, 1.0]])
    >>> signs.n_positive, signs.n_negative, signs.is_psd
    (1, 1, False)
    """
    K = np.asarray(K, dtype=np.float64)
    if K.shape != K.shape[:1] * 2 or not np.isfinite(K).all():
        raise InvalidMatrixError(f"a kernel matrix must be square and finite, this one has shape {K.shape}")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-12 * np.abs(K).max(initial=0.0)):
        raise InvalidMatrixError("a kernel matrix must be symmetric")
    values = np.linalg.eigvalsh(K)
    if tolerance is None:
        tolerance = len(K) * float(np.finfo(float).eps) * float(np.abs(values).max(initial=0.0))
    positive = int(np.count_nonzero(values > tolerance))
    negative = int(np.count_nonzero(values < -tolerance))
    extremes = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
    return Definiteness(positive, len(values) - positive - negative, negative, *extremes, float(tolerance))


def principal_components(K: Floats, n_components: int = 2) -> tuple[Floats, Floats]:
    """Return the first kernel principal components and their shares of the variance.

    Parameters
    ----------
    K
        Symmetric matrix of kernel values.
    n_components
        How many to return; if the matrix has fewer, the rest is 0.

    Returns
    -------
    scores
        Array of shape (n_graphs, n_components). The entry of largest absolute value in each column is
        positive, so that the same kernel gives the same picture.
    share
        Each component's share of the sum of the positive eigenvalues of the centred matrix.

    Notes
    -----
    scikit-learn's `KernelPCA` returns no shares and raises if the matrix is not positive definite.
    """
    K = np.asarray(K, dtype=np.float64)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() if len(K) else K
    values, vectors = np.linalg.eigh(centred)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = min(n_components, len(K))
    scores, share = np.zeros((len(K), n_components)), np.zeros(n_components)
    scores[:, :kept] = vectors[:, :kept] * np.sqrt(values[:kept])
    share[:kept] = values[:kept] / max(values.sum(), np.finfo(float).tiny)
    if len(K):
        scores *= np.where(scores[np.abs(scores).argmax(axis=0), np.arange(n_components)] < 0, -1.0, 1.0)
    return scores, share
