"""Sketches: short vectors of matrices whose Euclidean distance never exceeds a metric.

A search compares sketches first, and computes the metric only where they are close.

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

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._types import Floats

KEPT = 64
"""Coordinates that a sketch has one by one."""

GROUPS = 24
"""Groups of the coordinates beyond, each twice as large as the one before; the last has all that is left."""

LEADING = 16
"""Rows of a matrix whose entries are all in the sketch for TTE."""

_N_LEADING = LEADING * (LEADING + 1) // 2
_SQRT_EPS = float(np.sqrt(np.finfo(float).eps))


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
