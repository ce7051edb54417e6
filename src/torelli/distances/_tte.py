"""TTE: the Frobenius distance ‖Q1 - Q2‖ of zero-padded Torelli matrices (paper, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._compile import compiled
from torelli.distances import _prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._parallel import Progress
    from torelli.distances._sink import Sink

    Floats = NDArray[np.float64]


class PackedTriangles:
    """Symmetric matrices as vectors in shell order: entry (i, j), i <= j, stands at j (j + 1) / 2 + i.

    All entries with larger index at most k come before those of k + 1, so that a smaller matrix is
    a prefix in the space of a larger one; off-diagonal entries carry √2. Nothing is packed before
    it is asked for.
    """

    def __init__(self, matrices: Sequence[Floats]) -> None:
        self.matrices = matrices
        genus = np.array([len(Q) for Q in matrices], dtype=np.int64)
        self.size = genus * (genus + 1) // 2
        self.square = np.array([squared_frobenius(Q) for Q in matrices])

    def fill(self, item: int, start: int, stop: int, row: Floats) -> None:
        """Write packed entries `start` to `stop`."""
        _pack(self.matrices[item], start, stop, row)

    def difference(self, item: int, others: PackedTriangles, other: int) -> float:
        """Return the squared distance to another matrix from the difference of the two."""
        A, B = self.matrices[item], others.matrices[other]
        return _difference(A, B) if len(A) <= len(B) else _difference(B, A)


def squared_tte(
    X: Sequence[Floats],
    Y: Sequence[Floats] | None,
    out: Sink,
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Write the squared TTE distances of all pairs to `out`."""
    _prefix.squared_distances(
        PackedTriangles(X), None if Y is None else PackedTriangles(Y), out, n_jobs, progress
    )


@compiled
def squared_frobenius(Q: Floats) -> float:
    """Return the sum of the squares of the entries of a symmetric matrix."""
    total = 0.0
    for j in range(len(Q)):
        for i in range(j):
            total += 2.0 * Q[j, i] ** 2
        total += Q[j, j] ** 2
    return total


@compiled
def _pack(Q: Floats, start: int, stop: int, row: Floats) -> None:
    root = np.sqrt(2.0)
    j = int((np.sqrt(8.0 * start + 1.0) - 1.0) / 2.0)
    while j * (j + 1) // 2 > start:
        j -= 1
    while (j + 1) * (j + 2) // 2 <= start:
        j += 1
    i = start - j * (j + 1) // 2
    for at in range(stop - start):
        if j >= len(Q):
            row[at:] = 0.0
            return
        row[at] = Q[j, i] * (root if i < j else 1.0)
        i += 1
        if i > j:
            j += 1
            i = 0


@compiled
def _difference(small: Floats, large: Floats) -> float:
    k = len(small)
    total = 0.0
    for j in range(len(large)):
        for i in range(j + 1):
            entry = large[j, i] - small[j, i] if j < k else large[j, i]
            total += (2.0 if i < j else 1.0) * entry * entry
    return total
