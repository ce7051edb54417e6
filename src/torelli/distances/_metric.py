"""The interface of a metric between matrices, the writer of its results, and its sketches.

The squares that distances are made of overflow or vanish long before the distances do. A matrix
of unusual magnitude is therefore divided by a power of 4 (`normalised`), and results carry an exponent
(`DistanceWriter`). Each matrix has its own exponent, so that the distance of a pair does not depend on
the other matrices in the list.

Sketches are short vectors of matrices whose Euclidean distance never exceeds a metric. A search compares
sketches first, and computes the metric only where they are close.

- Roots of the diagonal, for TTW. TTW² is the least mean square of X - Y over Gaussian vectors X and Y with
  covariances Q1 and Q2. That mean square is a sum over coordinates, and each term is at least the squared
  difference of the standard deviations, (√Q1[i, i] - √Q2[i, i])².
- Roots of the eigenvalues, for TTW: their distance, TTS, is the least TTW distance over all rotations (von
  Neumann's trace inequality).
- Shells, for TTE: entries of the leading rows one by one, and of each further row the diagonal entry and the
  norm of what stands before it. The norm of a difference is at least the difference of the norms.

Long vectors are folded: coordinates beyond the first `KEPT` are replaced by the norms of groups of 1, 2, 4,
... coordinates, which the same inequality allows. So sketches have one width whatever the size of a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints

    Exponents = NDArray[np.int32]
    Index = tuple[NDArray[np.integer], ...]

_SMALL, _LARGE = 1e-60, 1e60
_ZERO_EXPONENT = -(2**12)
"""Exponent of a zero matrix, below that of any number."""

KEPT = 64
"""Number of coordinates that a sketch keeps as they are."""
GROUPS = 24
"""Number of groups of the other coordinates, each twice as large as the one before; the last has the rest."""
LEADING = 16
"""Rows of a matrix whose entries are all in the sketch for TTE."""
_N_LEADING = LEADING * (LEADING + 1) // 2
_SQRT_EPS = float(np.sqrt(np.finfo(float).eps))


class PairWriter(Protocol):
    """Write the squared distances of all pairs of X and Y (of X with itself if Y is None) to `out`.

    Matrices may be of any magnitude, also within one list.
    """

    def __call__(
        self,
        X: Sequence[Floats],
        Y: Sequence[Floats] | None,
        out: DistanceWriter,
        n_jobs: int | None,
        progress: Progress | None,
    ) -> None: ...


@dataclass(frozen=True)
class Sketch:
    """A map from matrices to short vectors whose Euclidean distance never exceeds a metric.

    Attributes
    ----------
    name
        What the coordinates are.
    rows
        Returns the vectors of matrices of ordinary magnitude, as the rows of an array.
    rounding
        Returns the error of a vector relative to its norm, for matrices up to a given size.
    """

    name: str
    rows: Callable[[Sequence[Floats]], Floats]
    rounding: Callable[[int], float]


@dataclass(frozen=True)
class Metric:
    """A distance between positive semi-definite matrices: its entry in `METRICS`.

    Attributes
    ----------
    name
        Name in options.
    title
        Name in tables and figures.
    description
        One line on what is compared.
    squared_norm
        Returns d² between a matrix and the empty matrix.
    write_pairs
        Computes all pairs.
    write_pairs_float32
        The same in single precision, for metrics that have such a version.
    positive_definite
        Whether exp(-gamma d²) is a positive definite kernel for every gamma.
    degree
        Matrices that are c times as large have distances c**degree times as large.
    sketches
        Maps to vectors that let a search skip distances; without sketches, it computes all of them.
    block_bounds
        Returns lower bounds of the distances from a matrix to others, which are given as packed triangles
        (`torelli.distances._ttw`). They are tighter than those of sketches.
    vectors
        Returns the vectors, for a metric that is the Euclidean distance between vectors padded with zeros.
    """

    name: str
    title: str
    description: str
    squared_norm: Callable[[Floats], float]
    write_pairs: PairWriter
    write_pairs_float32: PairWriter | None = None
    positive_definite: bool = True
    degree: float = 0.5
    sketches: tuple[Sketch, ...] = ()
    block_bounds: Callable[[Floats, Floats, Ints, Ints], Floats] | None = None
    vectors: Callable[[Sequence[Floats], int | None], list[Floats]] | None = None


class DistanceWriter:
    """Writes squared distances to the caller's array, as squares or as distances.

    Parameters
    ----------
    out
        The caller's array.
    squared
        Whether the caller wants squares.
    cutoff
        A metric may replace a squared distance above this value by a lower bound that is also above it.

    Attributes
    ----------
    wrote_bounds
        Set by a metric that has written such a bound.
    """

    def __init__(self, out: NDArray[Any], *, squared: bool, cutoff: float = np.inf) -> None:
        self.out = out
        self.squared = squared
        self.cutoff = cutoff
        self.wrote_bounds = False

    def write(self, index: Index, squared: Floats, exponent: Exponents | int = 0) -> None:
        """Store the distances 2**exponent √squared at an index of the array; negative squares count as 0."""
        result = np.maximum(squared, 0.0)
        if not self.squared:
            np.sqrt(result, out=result)
        with np.errstate(over="ignore"):  # distances too large for a float are infinite
            if np.any(exponent):
                result = np.ldexp(result, exponent * (2 if self.squared else 1))
            self.out[index] = result


def normalised(matrices: Sequence[Floats]) -> tuple[list[Floats], Exponents]:
    """Return matrices P of ordinary magnitude and exponents h, such that each given matrix is 4**h P.

    Matrices of ordinary magnitude are returned as they are, with exponent 0.
    """
    largest = np.array([np.diagonal(Q).max(initial=0.0) for Q in matrices])
    exponent = np.where((largest > _SMALL) & (largest < _LARGE), 0, np.frexp(largest)[1] // 2)
    exponent[largest == 0.0] = _ZERO_EXPONENT
    scaled = list(matrices)
    for i in np.flatnonzero(_is_rescaled(exponent)).tolist():
        scaled[i] = np.ldexp(scaled[i], -2 * exponent[i])
    return scaled, exponent.astype(np.int32)


def any_rescaled(*exponents: Exponents) -> bool:
    """Return whether `normalised` has changed any matrix."""
    return any(bool(_is_rescaled(exponent).any()) for exponent in exponents)


def _is_rescaled(exponent: NDArray[np.integer]) -> NDArray[np.bool_]:
    rescaled: NDArray[np.bool_] = (exponent != 0) & (exponent != _ZERO_EXPONENT)
    return rescaled


def fold(vectors: Sequence[Floats]) -> Floats:
    """Return vectors of any length as rows of one width, folded beyond the first `KEPT` coordinates."""
    rows = np.zeros((len(vectors), KEPT + GROUPS))
    for vector, row in zip(vectors, rows, strict=True):
        head = vector[:KEPT]
        row[: len(head)] = head
        if len(vector) > KEPT:
            _fold_tail(np.ascontiguousarray(vector[KEPT:]), row[KEPT:])
    return rows


@compiled
def _fold_tail(tail: Floats, groups: Floats) -> None:
    start, size = 0, 1
    for group in range(len(groups)):
        stop = len(tail) if group == len(groups) - 1 else min(start + size, len(tail))
        total = 0.0
        for i in range(start, stop):
            total += tail[i] * tail[i]
        groups[group] = np.sqrt(total)
        start, size = stop, 2 * size


def diagonal_roots(matrices: Sequence[Floats]) -> Floats:
    """Return the square roots of the diagonals of matrices, folded."""
    return fold([np.sqrt(np.diagonal(Q)) for Q in matrices])


def shells(matrices: Sequence[Floats]) -> Floats:
    """Return the leading entries of matrices, and the diagonal and the norm of the rest of further rows."""
    corners = np.zeros((len(matrices), _N_LEADING))
    diagonals, norms = [], []
    for Q, corner in zip(matrices, corners, strict=True):
        beyond = max(len(Q) - LEADING, 0)
        diagonal, norm = np.empty(beyond), np.empty(beyond)
        _write_shells(Q, corner, diagonal, norm)
        diagonals.append(diagonal)
        norms.append(norm)
    return np.hstack([corners, fold(diagonals), fold(norms)])


@compiled
def _write_shells(Q: Floats, corner: Floats, diagonal: Floats, norm: Floats) -> None:
    for j in range(min(len(Q), LEADING)):
        start = j * (j + 1) // 2
        for i in range(j):
            corner[start + i] = np.sqrt(2.0) * Q[j, i]
        corner[start + j] = Q[j, j]
    for j in range(LEADING, len(Q)):
        total = 0.0
        for i in range(j):
            total += Q[j, i] * Q[j, i]
        diagonal[j - LEADING] = Q[j, j]
        norm[j - LEADING] = np.sqrt(2.0 * total)


def root_rounding(size: int) -> float:
    """Return the error of the roots of eigenvalues relative to their norm, for matrices up to a size.

    An eigenvalue has an error of at most `size` times machine epsilon times the largest, and a root at most
    the root of that. All `size` roots together have an error of √size times as much. The factor 4 leaves
    room for the constants of the solver.
    """
    return 4.0 * _SQRT_EPS * max(size, 1)


def sum_rounding(size: int) -> float:
    """Return the error of roots and norms of exact entries relative to their norm, which is rounding."""
    del size
    return 1e-12
