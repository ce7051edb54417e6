"""Euclidean distances between vectors of different length, a shorter one being a prefix.

The zero padding of the paper is never stored: vectors are taken in pieces of a fixed number of
coordinates, and a piece only holds the vectors that reach it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np

from torelli import _parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_PIECE_BYTES = 2**26
_TILE = 256
_CANCELLED = 1e-6
"""|x|² + |y|² - 2⟨x,y⟩ loses its last ten digits where the result is this much smaller than its terms:
such pairs are computed anew from the difference of the vectors."""


class Prefixes(Protocol):
    """Vectors of different length."""

    size: Ints
    square: Floats

    def fill(self, item: int, start: int, stop: int, row: Floats) -> None:
        """Write coordinates `start` to `stop` of vector `item`, zeros beyond its end."""

    def difference(self, item: int, others: Self, other: int) -> float:
        """Return the squared distance to another vector from the difference of the two."""


P = TypeVar("P", bound=Prefixes)


def squared_distances(X: P, Y: P | None, out: Floats, n_jobs: int | None) -> None:
    """Write the squared distances of all pairs (X with itself if Y is None) to `out`."""
    other = X if Y is None else Y
    out[...] = 0.0
    width = max(1, int(min(X.size.max(initial=0), other.size.max(initial=0))))
    rows = len(X.size) + (0 if Y is None else len(other.size))
    step = max(64, min(width, _PIECE_BYTES // (8 * max(rows, 1))))
    for start in range(0, width, step):
        _add_products(X, Y, start, min(start + step, width), out, n_jobs)

    def finish(at: int, end: int) -> None:
        for i in range(at, end):
            first = 0 if Y is not None else i + 1
            scale = X.square[i] + other.square[first:]
            row = scale - 2.0 * out[i, first:]
            for j in np.flatnonzero(row <= _CANCELLED * scale):
                row[j] = X.difference(i, other, first + int(j))
            out[i, first:] = row
            if Y is None:
                out[i, i] = 0.0
                out[i + 1 :, i] = row

    _parallel.run(finish, _ranges(len(X.size)), n_jobs if Y is not None else None)


def _add_products(
    X: Prefixes, Y: Prefixes | None, start: int, stop: int, out: Floats, n_jobs: int | None
) -> None:
    """Add the inner products over one piece of the coordinates."""
    at_x = np.flatnonzero(X.size > start)
    at_y = at_x if Y is None else np.flatnonzero(Y.size > start)
    left = _piece(X, at_x, start, stop, n_jobs)
    right = left if Y is None else _piece(Y, at_y, start, stop, n_jobs)

    def tile(i0: int, i1: int, j0: int, j1: int) -> None:
        out[np.ix_(at_x[i0:i1], at_y[j0:j1])] += left[i0:i1] @ right[j0:j1].T

    tiles = [
        (*rows, *columns)
        for rows in _ranges(len(at_x))
        for columns in _ranges(len(at_y))
        if Y is not None or columns >= rows
    ]
    with _parallel.one_blas_thread():
        _parallel.run(tile, tiles, n_jobs)


def _piece(X: Prefixes, items: Ints, start: int, stop: int, n_jobs: int | None) -> Floats:
    piece = np.empty((len(items), stop - start))

    def fill(i0: int, i1: int) -> None:
        for i in range(i0, i1):
            X.fill(int(items[i]), start, stop, piece[i])

    _parallel.run(fill, _ranges(len(items)), n_jobs)
    return piece


def _ranges(size: int) -> list[tuple[int, int]]:
    return [(start, min(start + _TILE, size)) for start in range(0, size, _TILE)]
