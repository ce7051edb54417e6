"""Euclidean distances between vectors of different length, a shorter one being a prefix.

The zero padding of the paper is never stored: vectors are sorted by length and packed piece by piece
of their coordinates, and a piece only has the vectors that reach it. All inner products of a piece
are products of matrices, each pair once, and every coordinate is packed once for each pair of blocks.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from torelli import _parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from torelli._parallel import Progress
    from torelli.distances._sink import Sink

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_BLOCK = 2048
"""Vectors a side of a block of inner products that is held in memory: 32 MB."""

_PIECE_BYTES = 2**24
"""Most memory of a packed piece, for each side; there are two pieces at a time, for the processor's cache."""

_LEAST_TILE, _MOST_TILE, _TILES = 48, 400, 3
"""Vectors a side of a task: such that there are some tasks for every thread, but no slow small ones."""

_PACKED_AT_ONCE = 100
"""Vectors of a task that packs: small, to fill what the products leave of a stage."""

_FINISH = 200
"""What a pair costs besides its products, in products of two numbers."""

_MOST_SINGLE = 8192
"""Most coordinates of a piece in single precision: sums of pieces are in double precision."""

_CANCELLED, _CANCELLED_SINGLE = 1e-6, 0.02
"""|x|² + |y|² - 2 xy loses digits where the result is this much smaller than its terms: such pairs are
computed anew from the difference of the vectors. Ten digits are left, in single precision four."""


class Prefixes(Protocol):
    """Vectors of different length.

    Attributes
    ----------
    size, square
        The number of coordinates of each vector, and the sum of their squares.
    measured
        Whether the squares are known. If not, and for one list only, they are taken from the products.
    scale
        None, or what the coordinates of each vector are multiplied by to be in the range of single
        precision: they are then multiplied in it.
    """

    size: Ints
    square: Floats
    measured: bool
    scale: Floats | None

    def fill(self, items: Ints, start: int, stop: int, rows: Floats) -> None:
        """Write coordinates `start` to `stop` of some vectors, zeros beyond their ends."""

    def difference(self, item: int, others: Self, other: int) -> float:
        """Return the squared distance to another vector from the difference of the two."""


P = TypeVar("P", bound=Prefixes)


class _Task(NamedTuple):
    cost: int
    call: Callable[[], None]


class _Piece(NamedTuple):
    """A range of coordinates, and the tiles of rows and columns that reach it."""

    start: int
    stop: int
    row: int
    column: int
    tiles: list[tuple[slice, slice]]


def squared_distances(X: P, Y: P | None, out: Sink, n_jobs: int | None, progress: Progress | None) -> None:
    """Write the squared distances of all pairs (X with itself if Y is None) to `out`."""
    rows = _blocks(X)
    columns = rows if Y is None else _blocks(Y)
    blocks = [
        _Block(X, at, X if Y is None else Y, to, out, symmetric=Y is None)
        for i, at in enumerate(rows)
        for to in columns[i if Y is None else 0 :]
    ]
    blocks.sort(key=lambda block: not block.one_list)  # these give the squares that others need
    total = sum(block.cost for block in blocks)
    done = 0
    with _parallel.one_blas_thread():
        for block in blocks:
            for stage in block.stages():
                costs = [task.cost for task in stage]
                part = None if progress is None else partial(_report, progress, done, sum(costs), total)
                _parallel.run(
                    lambda call: call(), [(task.call,) for task in stage], n_jobs, costs=costs, progress=part
                )
                done += sum(costs)


class _Block:
    """All pairs of two lists of vectors, each sorted by length; of one list with itself, each pair once."""

    def __init__(self, X: P, at: Ints, Y: P, to: Ints, out: Sink, *, symmetric: bool) -> None:
        self.X, self.at, self.Y, self.to, self.out = X, at, Y, to, out
        self.symmetric = symmetric
        self.one_list = symmetric and at is to
        self.pieces = list(self._pieces())
        self.tiles = _tiles(len(at), len(to), upper=self.one_list)

    def _pieces(self) -> Iterator[_Piece]:
        sizes, other = self.X.size[self.at], self.Y.size[self.to]
        width = min(int(sizes[-1]), int(other[-1]))
        start = 0
        while start < width:
            # vectors are sorted by length: those that end before the piece stand first
            row = int(np.searchsorted(sizes, start, side="right"))
            column = int(np.searchsorted(other, start, side="right"))
            n_rows, n_columns = len(sizes) - row, len(other) - column
            most = max(1, _PIECE_BYTES // (8 * max(n_rows, n_columns)))
            stop = min(width, start + (most if self.X.scale is None else min(most, _MOST_SINGLE)))
            yield _Piece(start, stop, row, column, _tiles(n_rows, n_columns, upper=self.one_list))
            start = stop

    @property
    def cost(self) -> int:
        """The expected cost of all stages."""
        products = sum(
            _area(*tile) * (piece.stop - piece.start) for piece in self.pieces for tile in piece.tiles
        )
        return products + _FINISH * sum(_area(*tile) for tile in self.tiles)

    def stages(self) -> Iterator[list[_Task]]:
        """Yield lists of tasks that may run side by side: multiply one piece, and pack the next."""
        total = np.zeros((len(self.at), len(self.to)))
        multiply: list[_Task] = []
        rows, columns = _Room(), _Room()
        for piece in self.pieces:
            left, pack_left = _packing(self.X, self.at[piece.row :], piece, rows)
            right, pack_right = (
                (left, []) if self.one_list else _packing(self.Y, self.to[piece.column :], piece, columns)
            )
            yield multiply + pack_left + pack_right
            products = total[piece.row :, piece.column :]
            multiply = [
                _Task(_area(*tile) * left.shape[1], partial(_multiply, left, right, products, *tile))
                for tile in piece.tiles
            ]
        yield multiply
        if self.one_list and not self.X.measured:
            self.X.square[self.at] = np.diagonal(total)
        yield [_Task(_FINISH * _area(*tile), partial(self._finish, total, *tile)) for tile in self.tiles]

    def _finish(self, total: Floats, rows: slice, columns: slice) -> None:
        """Write the distances of a tile, those anew that the inner products do not give accurately."""
        at, to = self.at[rows], self.to[columns]
        terms = self.X.square[at][:, None] + self.Y.square[to]
        products = total[rows, columns]
        if self.X.scale is not None and self.Y.scale is not None:
            products = products / self.X.scale[at][:, None] / self.Y.scale[to]
        squared = terms - 2.0 * products
        lost = squared <= (_CANCELLED if self.X.scale is None else _CANCELLED_SINGLE) * terms
        on_diagonal = self.one_list and rows == columns
        if on_diagonal:
            squared, lost = np.triu(squared, 1), np.triu(lost, 1)
        for i, j in np.argwhere(lost):
            squared[i, j] = self.X.difference(int(at[i]), self.Y, int(to[j]))
        if on_diagonal:
            squared += squared.T
        elif self.symmetric:
            self.out[np.ix_(to, at)] = squared.T
        self.out[np.ix_(at, to)] = squared


def _report(progress: Progress, done: int, cost: int, total: int, part: float) -> None:
    progress((done + part * cost) / max(total, 1))


def _blocks(X: Prefixes) -> list[Ints]:
    """Sort vectors by length and cut the list."""
    order = np.argsort(X.size, kind="stable")
    return [order[start : start + _BLOCK] for start in range(0, len(order), _BLOCK)]


def _tiles(n_rows: int, n_columns: int, *, upper: bool) -> list[tuple[slice, slice]]:
    """Cut a matrix into tiles; `upper` leaves out those below the diagonal."""
    size = min(max(-(-max(n_rows, n_columns) // _TILES), _LEAST_TILE), _MOST_TILE)
    return [
        (slice(i, min(i + size, n_rows)), slice(j, min(j + size, n_columns)))
        for i in range(0, n_rows, size)
        for j in range(i if upper else 0, n_columns, size)
    ]


def _area(rows: slice, columns: slice) -> int:
    area: int = (rows.stop - rows.start) * (columns.stop - columns.start)
    return area


class _Room:
    """Memory for two pieces in turn: fresh memory costs as much as the packing itself."""

    def __init__(self) -> None:
        self.now, self.next = np.empty(0), np.empty(0)

    def take(self, shape: tuple[int, int], dtype: type[np.floating]) -> Floats:
        """Return an array that is free until the next but one is taken."""
        size = shape[0] * shape[1]
        self.now, self.next = self.next, self.now
        if self.now.size < size:
            self.now = np.empty(size)
        array: Floats = self.now.view(dtype)[:size].reshape(shape)
        return array


def _packing(X: Prefixes, items: Ints, piece: _Piece, room: _Room) -> tuple[Floats, list[_Task]]:
    """Return an array for the coordinates of a piece and the tasks that fill it."""
    dtype = np.float64 if X.scale is None else np.float32
    packed = room.take((len(items), piece.stop - piece.start), dtype)

    def fill(rows: slice) -> None:
        X.fill(items[rows], piece.start, piece.stop, packed[rows])

    return packed, [
        _Task(0, partial(fill, slice(start, start + _PACKED_AT_ONCE)))
        for start in range(0, len(items), _PACKED_AT_ONCE)
    ]


def _multiply(left: Floats, right: Floats, products: Floats, rows: slice, columns: slice) -> None:
    products[rows, columns] += left[rows] @ right[columns].T
