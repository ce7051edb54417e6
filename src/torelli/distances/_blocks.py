"""Lower bounds of TTW from blocks of two by two entries along the diagonals of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from torelli._types import Floats, Ints

_EPS = float(np.finfo(float).eps)


def block_bounds(Q: Floats, entries: Floats, ends: Ints, size: Ints) -> Floats:
    """Return lower bounds of the TTW distances from a matrix to others.

    TTW² is the least mean of |X - Y|² over Gaussian vectors X, Y with the two matrices as covariances. The
    mean is a sum over groups of coordinates, and each term is at least the squared TTW distance of the blocks
    of that group. For two coordinates it is tr A + tr B - 2 √(tr AB + 2 √(det A det B)).

    Parameters
    ----------
    Q
        A matrix.
    entries
        The lower triangles of the others, row by row and one after the other.
    ends, size
        The end of each triangle in `entries`, and the size of each matrix.
    """
    bounds = np.empty(len(size))
    _write_bounds(np.ascontiguousarray(Q), entries, ends, size, bounds)
    return bounds


@compiled
def _write_bounds(Q: Floats, entries: Floats, ends: Ints, size: Ints, bounds: Floats) -> None:
    trace_of_Q = 0.0
    for i in range(len(Q)):
        trace_of_Q += Q[i, i]
    for item in range(len(size)):
        n = size[item]
        start = ends[item] - n * (n + 1) // 2
        trace = 0.0
        for i in range(n):
            trace += entries[start + i * (i + 3) // 2]
        largest = max(trace, trace_of_Q)
        if not 0.0 < largest < np.inf:
            bounds[item] = 0.0
            continue
        # in this unit no product overflows, and those that underflow do not matter
        unit = 4.0 ** np.floor(np.log2(largest) / 2.0)
        square, shared = (trace_of_Q + trace) / unit, min(n, len(Q))
        error = 4.0 * _EPS * (n + len(Q) + 16.0) * square
        for i in range(0, shared, 2):
            row = start + i * (i + 1) // 2
            a, b = Q[i, i] / unit, entries[row + i] / unit
            product = a * b
            if i + 1 < shared:
                c, d = Q[i + 1, i + 1] / unit, entries[row + 2 * i + 2] / unit
                e, f = Q[i + 1, i] / unit, entries[row + 2 * i + 1] / unit
                # rounding may only make the product larger, and so the bound smaller
                first = max(a * c - e * e, 0.0) + 8.0 * _EPS * a * c
                second = max(b * d - f * f, 0.0) + 8.0 * _EPS * b * d
                diagonal = product + c * d
                product = max(diagonal + 2.0 * e * f, 0.0) + 16.0 * _EPS * diagonal
                product += 2.0 * np.sqrt(first) * np.sqrt(second)
            square -= 2.0 * np.sqrt(product)
        bounds[item] = np.sqrt(max(square - error, 0.0)) * np.sqrt(unit)
