"""TTE: the Frobenius distance ‖Q1 - Q2‖ of zero-padded Torelli matrices (paper, section 4.2)."""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics import threads
from torelli._numerics.compile import compiled, matrix_at
from torelli.distances import _padded_euclidean
from torelli.distances._metric import Metric, Sketch, normalised, shells, sum_rounding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.distances._metric import DistanceWriter


_SHARE = 64  # matrices that a thread measures at a time
_LEAST, _MOST = 1e-280, 1e300  # range in which a sum of squares neither overflows nor loses entries
_REACH = 1000  # powers of two within 2**-1000 and 2**1000 bring every difference into that range


class PackedTriangles:
    """Symmetric matrices as vectors in shell order: entry (i, j), i <= j, stands at j (j + 1) / 2 + i.

    All entries with larger index at most k come before those of k + 1, so that a smaller matrix is
    a prefix in the space of a larger one; off-diagonal entries carry √2. Nothing is packed before
    it is asked for.
    """

    def __init__(
        self, matrices: Sequence[Floats], n_jobs: int | None, *, single: bool, norms_known: bool
    ) -> None:
        self.given = matrices
        scaled, exponent = normalised(matrices)
        # what is read by its address has to be square and in C order
        self.matrices = [np.ascontiguousarray(Q, dtype=np.float64).reshape(len(Q), len(Q)) for Q in scaled]
        self.exponent = 2 * exponent
        self.address = np.array([Q.__array_interface__["data"][0] for Q in self.matrices], dtype=np.int64)
        self.norms_known = norms_known
        self.scale = _scales(self.matrices) if single else None
        self.genus = np.array([len(Q) for Q in matrices], dtype=np.int64)
        self.size = self.genus * (self.genus + 1) // 2
        self.squared_norm = np.zeros(len(matrices))
        if norms_known:
            starts = range(0, len(matrices), _SHARE)
            tasks = [(start, min(start + _SHARE, len(matrices))) for start in starts]
            threads.run(self._measure, tasks, n_jobs)

    def _measure(self, start: int, stop: int) -> None:
        for item in range(start, stop):
            self.squared_norm[item] = squared_frobenius(self.matrices[item])

    def fill(self, items: Ints, start: int, stop: int, rows: Floats) -> None:
        """Write packed entries `start` to `stop`."""
        scale = np.ones(len(items)) if self.scale is None else self.scale[items]
        _pack_all(self.address[items], self.genus[items], start, stop, scale, rows)

    def difference(self, item: int, others: PackedTriangles, other: int) -> tuple[float, int]:
        """Return s and h such that the distance to another matrix is 2**h √s, from their difference."""
        A, B = sorted((self.given[item], others.given[other]), key=len)
        squared, largest = _difference(A, B, 1.0)
        if largest == 0.0 or _LEAST < squared < _MOST:
            return squared, 0
        exponent = min(max(math.frexp(min(largest, sys.float_info.max))[1], -_REACH), _REACH)
        return _difference(A, B, 2.0**-exponent)[0], exponent


def squared_tte(
    X: Sequence[Floats],
    Y: Sequence[Floats] | None,
    out: DistanceWriter,
    n_jobs: int | None,
    progress: Progress | None,
    *,
    single: bool = False,
) -> None:
    """Write the squared TTE distances of all pairs to `out`; `single` multiplies in single precision."""
    # norms taken from products in single precision would be inaccurate
    norms_known = single or Y is not None
    packed = PackedTriangles(X, n_jobs, single=single, norms_known=norms_known)
    other = None if Y is None else PackedTriangles(Y, n_jobs, single=single, norms_known=norms_known)
    _padded_euclidean.squared_distances(packed, other, out, n_jobs, progress)


def _scales(matrices: Sequence[Floats]) -> Floats:
    """Return a power of two for each matrix that brings its largest entry, on the diagonal, near 1."""
    largest = np.array([np.diagonal(Q).max(initial=0.0) for Q in matrices])
    _, exponent = np.frexp(largest)
    scale: Floats = np.ldexp(1.0, -exponent)
    return scale


@compiled
def squared_frobenius(Q: Floats) -> float:
    """Return the sum of the squares of the entries of a symmetric matrix."""
    total = 0.0
    for j in range(len(Q)):
        # several sums side by side: the processor need not wait for one addition to begin the next
        a = b = c = d = 0.0
        for i in range(0, j - 3, 4):
            a += Q[j, i] ** 2
            b += Q[j, i + 1] ** 2
            c += Q[j, i + 2] ** 2
            d += Q[j, i + 3] ** 2
        for i in range(j // 4 * 4, j):
            a += Q[j, i] ** 2
        total += 2.0 * ((a + b) + (c + d)) + Q[j, j] ** 2
    return total


@compiled
def _pack_all(address: Ints, genus: Ints, start: int, stop: int, scale: Floats, rows: Floats) -> None:
    """Pack a piece of matrices given by their addresses: a call for each matrix would double the time."""
    for i in range(len(rows)):
        _pack(matrix_at(address[i], genus[i]), start, stop, scale[i], rows[i])


@compiled
def _pack(Q: Floats, start: int, stop: int, scale: float, row: Floats) -> None:
    root = np.sqrt(2.0) * scale
    j = int((np.sqrt(8.0 * start + 1.0) - 1.0) / 2.0)
    while j * (j + 1) // 2 > start:
        j -= 1
    while (j + 1) * (j + 2) // 2 <= start:
        j += 1
    i = start - j * (j + 1) // 2
    filled = 0
    while filled < stop - start and j < len(Q):
        count = min(j + 1 - i, stop - start - filled)
        for k in range(count):
            row[filled + k] = Q[j, i + k] * root
        if i + count == j + 1:
            row[filled + count - 1] = Q[j, j] * scale
        filled += count
        j += 1
        i = 0
    for k in range(np.uint64(filled), np.uint64(len(row))):  # unsigned: the compiler fills blocks at once
        row[k] = 0.0


@compiled
def _difference(small: Floats, large: Floats, scale: float) -> tuple[float, float]:
    """Return the squared norm of a scaled difference, and its largest entry."""
    k = len(small)
    total, largest = 0.0, 0.0
    for j in range(len(large)):
        for i in range(j + 1):
            if j >= k:
                entry = large[j, i] * scale
            elif scale < 1.0:  # entries of opposite sign, whose difference may overflow
                entry = large[j, i] * scale - small[j, i] * scale
            else:
                entry = (large[j, i] - small[j, i]) * scale
            total += (2.0 if i < j else 1.0) * entry * entry
            largest = max(largest, abs(entry))
    return total, largest


TTE = Metric(
    name="tte",
    title="tropical Torelli-Euclidean",
    description="Euclidean (Frobenius) distance between Torelli matrices",
    squared_norm=squared_frobenius,
    write_pairs=squared_tte,
    write_pairs_float32=partial(squared_tte, single=True),
    degree=1.0,
    sketches=(Sketch("entries and norms of rows", shells, sum_rounding),),
)
