"""Euclidean distances between vectors of different length, a shorter one being a prefix.

The zero padding of the paper is never stored: vectors are sorted by length and packed piece by piece
of their coordinates, and a piece only has the vectors that reach it. All inner products of a piece
are products of matrices, each pair once, and every coordinate is packed once for each pair of blocks.
Pieces in which almost all coordinates are zero are listed instead (`_lists`).
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from torelli._numerics import threads
from torelli._numerics.sparse_products import Lists, Squeezed, add_products, lists_of, nonzero_part, squeeze
from torelli.distances._scale import any_beyond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli.distances._scale import Exponents
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

_SAMPLE, _SAMPLED, _SAMPLED_WIDTH = 32, 4, 2048
"""Vectors of each side that tell how much of a piece is zero, of at least so many times their number, by
their first coordinates."""

_LISTED = 20
"""What a product costs in lists, in those of a product of matrices; twice as much in single precision."""

_RANGES = 4
"""Ranges of coordinates that are listed side by side."""

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
    exponent
        The coordinates of vector i are multiples of 2**exponent[i].
    scale
        None, or what the coordinates of each vector are multiplied by to be in the range of single
        precision: they are then multiplied in it.
    """

    size: Ints
    square: Floats
    measured: bool
    exponent: Exponents
    scale: Floats | None

    def fill(self, items: Ints, start: int, stop: int, rows: Floats) -> None:
        """Write coordinates `start` to `stop` of some vectors, zeros beyond their ends."""

    def difference(self, item: int, others: Self, other: int) -> tuple[float, int]:
        """Return s and h, from the difference to another vector: the distance is 2**h √s."""


P = TypeVar("P", bound=Prefixes)
N = TypeVar("N", bound=np.number)


class _Task(NamedTuple):
    cost: int
    call: Callable[[], None]


class _Piece(NamedTuple):
    """A range of coordinates, the tiles of rows and columns that reach it, and what a pair costs.

    `listed` says whether lists cost less than products of matrices.
    """

    start: int
    stop: int
    row: int
    column: int
    tiles: list[tuple[slice, slice]]
    cost: int
    listed: bool


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
    with threads.one_blas_thread():
        for block in blocks:
            for stage in block.stages():
                costs = [task.cost for task in stage]
                part = None if progress is None else partial(_report, progress, done, sum(costs), total)
                threads.run(
                    lambda call: call(), [(task.call,) for task in stage], n_jobs, costs=costs, progress=part
                )
                done += sum(costs)


class _Block:
    """All pairs of two lists of vectors, each sorted by length; of one list with itself, each pair once."""

    def __init__(self, X: P, at: Ints, Y: P, to: Ints, out: Sink, *, symmetric: bool) -> None:
        self.X, self.at, self.Y, self.to, self.out = X, at, Y, to, out
        self.symmetric = symmetric
        self.one_list = symmetric and at is to
        self.rescaled = any_beyond(X.exponent[at], Y.exponent[to])
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
            tiles = _tiles(n_rows, n_columns, upper=self.one_list)
            part = self._nonzero_part(row, column, start, stop) * _LISTED * (1 if self.X.scale is None else 2)
            yield _Piece(start, stop, row, column, tiles, int((stop - start) * min(part, 1.0)), part < 1.0)
            start = stop

    def _nonzero_part(self, row: int, column: int, start: int, stop: int) -> float:
        """Return about which part of the products of a piece is not zero."""
        rows, columns = self.at[row:], self.to[column:]
        steps = len(rows) // _SAMPLE, len(columns) // _SAMPLE
        if min(steps) < _SAMPLED:
            return 1.0
        # other vectors on each side, also if both are one list: a vector has all in common with itself
        left, right = rows[:: steps[0]], columns[steps[1] // 2 :: steps[1]]
        stop = min(stop, start + _SAMPLED_WIDTH)
        return nonzero_part(_dense(self.X, left, start, stop), _dense(self.Y, right, start, stop))

    @property
    def cost(self) -> int:
        """The expected cost of all stages."""
        products = sum(_area(*tile) * piece.cost for piece in self.pieces for tile in piece.tiles)
        return products + _FINISH * sum(_area(*tile) for tile in self.tiles)

    def stages(self) -> Iterator[list[_Task]]:
        """Yield lists of tasks that may run side by side: multiply one piece, and pack the next."""
        total = np.zeros((len(self.at), len(self.to)))
        multiply: list[_Task] = []
        rows, columns = (_Room(), _Room()), (_Room(), _Room())
        for piece in self.pieces:
            left = _Packed(self.X, self.at[piece.row :], piece, rows)
            right = left if self.one_list else _Packed(self.Y, self.to[piece.column :], piece, columns)
            sides = [left] if self.one_list else [left, right]
            yield multiply + [task for side in sides for task in side.packing()]
            if piece.listed:
                yield [task for side in sides for task in side.listing()]
            work = partial(_add_lists if piece.listed else _multiply, left, right, total)
            multiply = [_Task(_area(*tile) * piece.cost, partial(work, *tile)) for tile in piece.tiles]
        yield multiply
        if self.one_list and not self.X.measured:
            self.X.square[self.at] = np.diagonal(total)
        yield [_Task(_FINISH * _area(*tile), partial(self._finish, total, *tile)) for tile in self.tiles]

    def _finish(self, total: Floats, rows: slice, columns: slice) -> None:
        """Write the distances of a tile, those anew that the inner products do not give accurately."""
        at, to = self.at[rows], self.to[columns]
        left, right, products = self.X.square[at][:, None], self.Y.square[to], total[rows, columns]
        if self.X.scale is not None and self.Y.scale is not None:
            products = products / self.X.scale[at][:, None] / self.Y.scale[to]
        exponent: Exponents = np.zeros((), dtype=np.int32)
        if self.rescaled:
            a, b = self.X.exponent[at][:, None], self.Y.exponent[to]
            exponent = np.maximum(a, b)
            left, right = np.ldexp(left, 2 * (a - exponent)), np.ldexp(right, 2 * (b - exponent))
            products = np.ldexp(products, a + b - 2 * exponent)
        terms = left + right
        squared = terms - 2.0 * products
        lost = squared <= (_CANCELLED if self.X.scale is None else _CANCELLED_SINGLE) * terms
        on_diagonal = self.one_list and rows == columns
        if on_diagonal:
            squared, lost = np.triu(squared, 1), np.triu(lost, 1)
        if lost.any():
            exponent = np.broadcast_to(exponent, squared.shape).copy()
        for i, j in np.argwhere(lost):
            squared[i, j], exponent[i, j] = self.X.difference(int(at[i]), self.Y, int(to[j]))
            if on_diagonal:
                exponent[j, i] = exponent[i, j]
        if on_diagonal:
            squared += squared.T
        elif self.symmetric:
            self.out.write(np.ix_(to, at), squared.T, exponent.T)
        self.out.write(np.ix_(at, to), squared, exponent)


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

    def take(self, shape: tuple[int, int], dtype: type[N]) -> NDArray[N]:
        """Return an array that is free until the next but one is taken."""
        size = shape[0] * shape[1]
        self.now, self.next = self.next, self.now
        if self.now.size < size:
            self.now = np.empty(size)
        return self.now.view(dtype)[:size].reshape(shape)


class _Packed:
    """The coordinates of some vectors in a piece: an array, or lists of what is not zero in it."""

    def __init__(self, X: Prefixes, items: Ints, piece: _Piece, rooms: tuple[_Room, _Room]) -> None:
        self.X, self.items, self.piece = X, items, piece
        shape = (len(items), piece.stop - piece.start)
        in_single = X.scale is not None and not piece.listed
        self.rows: NDArray[Any] = rooms[0].take(shape, np.float32 if in_single else np.float64)
        if piece.listed:
            length = np.empty(len(items), dtype=np.int64)
            self.squeezed = Squeezed(length, rooms[1].take(shape, np.uint32), self.rows)
            ends = np.linspace(0, shape[1], _RANGES + 1).astype(int).tolist()
            self.ranges = list(itertools.pairwise(ends))
            self.lists: dict[int, Lists] = {}

    def packing(self) -> list[_Task]:
        """Return the tasks that fill the array."""
        starts = range(0, len(self.items), _PACKED_AT_ONCE)
        return [_Task(0, partial(self._pack, slice(start, start + _PACKED_AT_ONCE))) for start in starts]

    def _pack(self, part: slice) -> None:
        self.X.fill(self.items[part], self.piece.start, self.piece.stop, self.rows[part])
        if self.piece.listed:
            squeeze(self.rows[part], self.squeezed.length[part], self.squeezed.column[part])

    def listing(self) -> list[_Task]:
        """Return the tasks that make lists of the array."""
        return [_Task(0, partial(self._list, number)) for number in range(_RANGES)]

    def _list(self, number: int) -> None:
        self.lists[number] = lists_of(self.squeezed, *self.ranges[number])


def _dense(X: Prefixes, items: Ints, start: int, stop: int) -> Floats:
    rows = np.empty((len(items), stop - start))
    X.fill(items, start, stop, rows)
    return rows


def _multiply(left: _Packed, right: _Packed, total: Floats, rows: slice, columns: slice) -> None:
    products = total[left.piece.row :, left.piece.column :]
    products[rows, columns] += left.rows[rows] @ right.rows[columns].T


def _add_lists(left: _Packed, right: _Packed, total: Floats, rows: slice, columns: slice) -> None:
    corner = left.piece.row, left.piece.column
    for number in range(_RANGES):
        add_products(left.lists[number], right.lists[number], total, corner, rows, columns)
