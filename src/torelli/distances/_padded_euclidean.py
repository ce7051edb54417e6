"""Euclidean distances between vectors of different length, the shorter one padded with zeros.

The padding is never stored. Vectors are sorted by length, and their coordinates are packed piece by
piece; a piece holds only the vectors that reach it. The inner products of a piece are matrix
products. Each pair is computed once, and each coordinate is packed once for each pair of blocks.
A piece whose coordinates are almost all zero is multiplied as lists of nonzeros instead
(`torelli._numerics.sparse_products`).
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from torelli._numerics import threads
from torelli._numerics.sparse_products import Lists, Squeezed, add_products, lists_of, nonzero_part, squeeze
from torelli.distances._metric import any_rescaled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.distances._metric import DistanceWriter, Exponents


_BLOCK = 2048
"""Vectors on each side of a block of inner products held in memory (32 MB)."""

_PIECE_BYTES = 2**24
"""Largest packed piece on each side; two pieces at a time stay in the processor's cache."""

_LEAST_TILE, _MOST_TILE, _TILES = 48, 400, 3
"""Smallest and largest number of vectors on each side of a task, and the number of tasks aimed at."""

_PACKED_AT_ONCE = 100
"""Vectors packed by one task: few, so that packing fills the gaps between products."""

_SAMPLE, _SAMPLED, _SAMPLED_WIDTH = 32, 4, 2048
"""Size of the sample that estimates how much of a piece is zero: vectors on each side, how many times more
vectors there have to be, and coordinates looked at."""

_LISTED = 20
"""Cost of a sparse multiply-add relative to a dense one; twice as much in single precision."""

_RANGES = 4
"""Ranges of coordinates turned into lists in parallel."""

_FINISH = 200
"""Cost of a pair besides its inner product, in multiply-adds."""

_MOST_SINGLE = 8192
"""Most coordinates of a piece in single precision; the sum over pieces is in double precision."""

_CANCELLED, _CANCELLED_SINGLE = 1e-6, 0.02
"""|x|² + |y|² - 2 xy loses digits where it is smaller than its terms by this factor. Such pairs are
recomputed from the difference of the vectors; the others keep ten digits, in single precision four."""


class PaddedVectors(Protocol):
    """Vectors of different length.

    Attributes
    ----------
    size, squared_norm
        Number of coordinates of each vector, and the sum of their squares.
    norms_known
        Whether `squared_norm` is filled. If not, it is taken from the products, which is possible only
        for the pairs of one list.
    exponent
        Coordinates of vector i are in units of 2**exponent[i].
    scale
        None, or a factor for each vector that brings its coordinates into the range of single precision,
        in which they are then multiplied.
    """

    size: Ints
    squared_norm: Floats
    norms_known: bool
    exponent: Exponents
    scale: Floats | None

    def fill(self, items: Ints, start: int, stop: int, rows: Floats) -> None:
        """Write coordinates `start` to `stop` of some vectors, zeros beyond their ends."""

    def difference(self, item: int, others: Self, other: int) -> tuple[float, int]:
        """Return s and h such that the distance to another vector is 2**h √s, from their difference."""


P = TypeVar("P", bound=PaddedVectors)
N = TypeVar("N", bound=np.number)


class _Task(NamedTuple):
    cost: int
    call: Callable[[], None]


class _Piece(NamedTuple):
    """A range of coordinates, the tiles of rows and columns that reach it, and the cost of a pair.

    `listed` says whether lists of nonzeros cost less than matrix products.
    """

    start: int
    stop: int
    row: int
    column: int
    tiles: list[tuple[slice, slice]]
    cost: int
    listed: bool


def squared_distances(
    X: P, Y: P | None, out: DistanceWriter, n_jobs: int | None, progress: Progress | None
) -> None:
    """Write the squared distances of all pairs (X with itself if Y is None) to `out`."""
    rows = _blocks(X)
    columns = rows if Y is None else _blocks(Y)
    blocks = [
        _Block(X, x_items, X if Y is None else Y, y_items, out, symmetric=Y is None)
        for i, x_items in enumerate(rows)
        for y_items in columns[i if Y is None else 0 :]
    ]
    blocks.sort(key=lambda block: not block.one_list)  # these compute the norms that the other blocks need
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

    def __init__(
        self, X: P, x_items: Ints, Y: P, y_items: Ints, out: DistanceWriter, *, symmetric: bool
    ) -> None:
        self.X, self.x_items, self.Y, self.y_items, self.out = X, x_items, Y, y_items, out
        self.symmetric = symmetric
        self.one_list = symmetric and x_items is y_items
        self.rescaled = any_rescaled(X.exponent[x_items], Y.exponent[y_items])
        self.pieces = list(self._pieces())
        self.tiles = _tiles(len(x_items), len(y_items), upper=self.one_list)

    def _pieces(self) -> Iterator[_Piece]:
        sizes, other = self.X.size[self.x_items], self.Y.size[self.y_items]
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
        """Return an estimate of the share of products in a piece that are not zero."""
        rows, columns = self.x_items[row:], self.y_items[column:]
        steps = len(rows) // _SAMPLE, len(columns) // _SAMPLE
        if min(steps) < _SAMPLED:
            return 1.0
        # different vectors on each side even for one list: a vector shares all nonzeros with itself
        left, right = rows[:: steps[0]], columns[steps[1] // 2 :: steps[1]]
        stop = min(stop, start + _SAMPLED_WIDTH)
        return nonzero_part(_dense(self.X, left, start, stop), _dense(self.Y, right, start, stop))

    @property
    def cost(self) -> int:
        """The expected cost of all stages."""
        products = sum(_area(*tile) * piece.cost for piece in self.pieces for tile in piece.tiles)
        return products + _FINISH * sum(_area(*tile) for tile in self.tiles)

    def stages(self) -> Iterator[list[_Task]]:
        """Yield lists of tasks that may run in parallel: multiply one piece while packing the next."""
        total = np.zeros((len(self.x_items), len(self.y_items)))
        multiply: list[_Task] = []
        rows, columns = (_Buffers(), _Buffers()), (_Buffers(), _Buffers())
        for piece in self.pieces:
            left = _Packed(self.X, self.x_items[piece.row :], piece, rows)
            right = left if self.one_list else _Packed(self.Y, self.y_items[piece.column :], piece, columns)
            sides = [left] if self.one_list else [left, right]
            yield multiply + [task for side in sides for task in side.packing()]
            if piece.listed:
                yield [task for side in sides for task in side.listing()]
            work = partial(_add_lists if piece.listed else _multiply, left, right, total)
            multiply = [_Task(_area(*tile) * piece.cost, partial(work, *tile)) for tile in piece.tiles]
        yield multiply
        if self.one_list and not self.X.norms_known:
            self.X.squared_norm[self.x_items] = np.diagonal(total)
        yield [_Task(_FINISH * _area(*tile), partial(self._finish, total, *tile)) for tile in self.tiles]

    def _finish(self, total: Floats, rows: slice, columns: slice) -> None:
        """Write the distances of a tile; recompute those that cancellation has made inaccurate."""
        x_items, y_items = self.x_items[rows], self.y_items[columns]
        left, right, products = (
            self.X.squared_norm[x_items][:, None],
            self.Y.squared_norm[y_items],
            total[rows, columns],
        )
        if self.X.scale is not None and self.Y.scale is not None:
            products = products / self.X.scale[x_items][:, None] / self.Y.scale[y_items]
        exponent: Exponents = np.zeros((), dtype=np.int32)
        if self.rescaled:
            a, b = self.X.exponent[x_items][:, None], self.Y.exponent[y_items]
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
            squared[i, j], exponent[i, j] = self.X.difference(int(x_items[i]), self.Y, int(y_items[j]))
            if on_diagonal:
                exponent[j, i] = exponent[i, j]
        if on_diagonal:
            squared += squared.T
        elif self.symmetric:
            self.out.write(np.ix_(y_items, x_items), squared.T, exponent.T)
        self.out.write(np.ix_(x_items, y_items), squared, exponent)


def _report(progress: Progress, done: int, cost: int, total: int, part: float) -> None:
    progress((done + part * cost) / max(total, 1))


def _blocks(X: PaddedVectors) -> list[Ints]:
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


class _Buffers:
    """Memory for two pieces in turn; allocating afresh would cost as much as the packing itself."""

    def __init__(self) -> None:
        self.now, self.next = np.empty(0), np.empty(0)

    def take(self, shape: tuple[int, int], dtype: type[N]) -> NDArray[N]:
        """Return an array that stays untouched until the next but one is taken."""
        size = shape[0] * shape[1]
        self.now, self.next = self.next, self.now
        if self.now.size < size:
            self.now = np.empty(size)
        return self.now.view(dtype)[:size].reshape(shape)


class _Packed:
    """The coordinates of some vectors in a piece, as an array or as lists of nonzero entries."""

    def __init__(
        self, X: PaddedVectors, items: Ints, piece: _Piece, buffers: tuple[_Buffers, _Buffers]
    ) -> None:
        self.X, self.items, self.piece = X, items, piece
        shape = (len(items), piece.stop - piece.start)
        in_single = X.scale is not None and not piece.listed
        self.rows: NDArray[Any] = buffers[0].take(shape, np.float32 if in_single else np.float64)
        if piece.listed:
            length = np.empty(len(items), dtype=np.int64)
            self.squeezed = Squeezed(length, buffers[1].take(shape, np.uint32), self.rows)
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
        return [_Task(0, partial(self._list, part)) for part in range(_RANGES)]

    def _list(self, part: int) -> None:
        self.lists[part] = lists_of(self.squeezed, *self.ranges[part])


def _dense(X: PaddedVectors, items: Ints, start: int, stop: int) -> Floats:
    rows = np.empty((len(items), stop - start))
    X.fill(items, start, stop, rows)
    return rows


def _multiply(left: _Packed, right: _Packed, total: Floats, rows: slice, columns: slice) -> None:
    products = total[left.piece.row :, left.piece.column :]
    products[rows, columns] += left.rows[rows] @ right.rows[columns].T


def _add_lists(left: _Packed, right: _Packed, total: Floats, rows: slice, columns: slice) -> None:
    corner = left.piece.row, left.piece.column
    for part in range(_RANGES):
        add_products(left.lists[part], right.lists[part], total, corner, rows, columns)
