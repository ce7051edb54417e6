"""Euclidean distances between vectors of different length, a shorter one being a prefix.

The zero padding of the paper is never stored: vectors are sorted by length and worked on in tiles,
and a tile only has the coordinates that both its sides reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np

from torelli import _parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._parallel import Progress
    from torelli.distances._sink import Sink

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_TILE = 256
_PIECE = 4096
"""Vectors a side of a tile, and coordinates packed at a time: 8 MB, which the cache of a core can take."""

_CANCELLED = 1e-6
"""|x|² + |y|² - 2 xy loses its last ten digits where the result is this much smaller than its terms: such
pairs are computed anew from the difference of the vectors."""


class Prefixes(Protocol):
    """Vectors of different length."""

    size: Ints
    square: Floats

    def fill(self, item: int, start: int, stop: int, row: Floats) -> None:
        """Write coordinates `start` to `stop` of vector `item`, zeros beyond its end."""

    def difference(self, item: int, others: Self, other: int) -> float:
        """Return the squared distance to another vector from the difference of the two."""


P = TypeVar("P", bound=Prefixes)


def squared_distances(X: P, Y: P | None, out: Sink, n_jobs: int | None, progress: Progress | None) -> None:
    """Write the squared distances of all pairs (X with itself if Y is None) to `out`."""
    other = X if Y is None else Y
    rows = np.argsort(X.size, kind="stable")
    columns = rows if Y is None else np.argsort(other.size, kind="stable")

    def solve(at: Ints, to: Ints) -> None:
        products = _products(X, at, other, to)
        terms = X.square[at][:, None] + other.square[to]
        squared = terms - 2.0 * products
        for i, j in np.argwhere(squared <= _CANCELLED * terms):
            squared[i, j] = X.difference(int(at[i]), other, int(to[j]))
        if Y is None:
            if at is to:
                squared = np.triu(squared, 1)
                squared += squared.T
            out[np.ix_(to, at)] = squared.T
        out[np.ix_(at, to)] = squared

    tiles_x = _tiles(rows)
    tiles_y = tiles_x if Y is None else _tiles(columns)
    tasks = [(at, to) for i, at in enumerate(tiles_x) for to in tiles_y[0 if Y is not None else i :]]
    costs = [float(len(at) * len(to) * _width(X, at, other, to)) for at, to in tasks]
    with _parallel.one_blas_thread():
        _parallel.run(solve, tasks, n_jobs, costs=costs, progress=progress)


def _tiles(items: Ints) -> list[Ints]:
    return [items[start : start + _TILE] for start in range(0, len(items), _TILE)]


def _width(X: Prefixes, at: Ints, Y: Prefixes, to: Ints) -> int:
    """Return the number of coordinates that both sides of a tile reach; at least 1."""
    return max(1, min(int(X.size[at[-1]]), int(Y.size[to[-1]])))


def _products(X: Prefixes, at: Ints, Y: Prefixes, to: Ints) -> Floats:
    """Return the inner products of a tile, piece by piece of the coordinates."""
    total = np.zeros((len(at), len(to)))
    width = _width(X, at, Y, to)
    for start in range(0, width, _PIECE):
        stop = min(start + _PIECE, width)
        # vectors are sorted by length: those that end before the piece stand first
        i = int(np.searchsorted(X.size[at], start, side="right"))
        j = int(np.searchsorted(Y.size[to], start, side="right"))
        left = _packed(X, at[i:], start, stop)
        right = left if at is to else _packed(Y, to[j:], start, stop)
        total[i:, j:] += left @ right.T
    return total


def _packed(X: Prefixes, items: Ints, start: int, stop: int) -> Floats:
    piece = np.empty((len(items), stop - start))
    for row, item in zip(piece, items.tolist(), strict=True):
        X.fill(item, start, stop, row)
    return piece
