"""Tiles of a kernel matrix: which there are, what each costs, and how one is computed.

Tile (i, j) holds the pairs of graphs i * side ... and j * side ...; with it goes its mirror image (j, i). For
metrics between matrices the last bits of a value may depend on the pairs that are computed together, so a
tile is always computed as a whole. Tasks are lists of tiles.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import RequestTooLargeError
from torelli._numerics import threads
from torelli._registry import get_kernel
from torelli.distances import Metric, squared_matrix_distances, squared_vector_distances
from torelli.kernel_matrix import rbf
from torelli.kernels import UNDERFLOW
from torelli.scale import _zarr
from torelli.scale._rows import Index, from_npy
from torelli.scale._store import INSIDE, Part, Store, manifest_of, write_part
from torelli.scale.costs import tile_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints

LARGEST_SIDE = 256
"""Most graphs on a side of a tile."""

TASK_SECONDS = 20.0
"""Expected seconds of the tiles that one task computes."""

LEAST_TASKS = 200
"""Tasks of a run, so that many workers end at about the same time."""

_TILE_SECONDS = 60.0  # most expected seconds of a tile
_BLOCK_BYTES = 2**26  # most bytes of the representations on a side of a tile, unless two take more
_WORK = 4  # memory that a tile takes, in multiples of its representations, besides 100 MB
_FIXED_BYTES = 10**8


@dataclass(frozen=True)
class PairRecipe:
    """How tiles are computed; it is sent to workers.

    Attributes
    ----------
    root
        The store.
    kernel
        Name of the kernel.
    n_rows
        Number of graphs.
    side
        Graphs on each side of a tile.
    gamma
        Of the kernel; None to store distances.
    dtype
        Type of the result.
    cache_bytes
        Most bytes of representations that a process keeps.
    n_jobs
        Threads for each tile.
    """

    root: str
    kernel: str
    n_rows: int
    side: int
    gamma: float | None
    dtype: str
    cache_bytes: int
    n_jobs: int | None = None

    @property
    def square(self) -> bool:
        """Whether representations are matrices."""
        return is_square(self.kernel)

    def bounds(self, block: int) -> tuple[int, int]:
        """Return the rows of a block."""
        return block * self.side, min((block + 1) * self.side, self.n_rows)

    def mark(self, i: int, j: int) -> str:
        """Return the note of a finished tile: one that was not full is computed again when graphs come."""
        (a, b), (c, d) = self.bounds(i), self.bounds(j)
        return f"{i}/{j}:{b - a}x{d - c}"


class TilesTask(NamedTuple):
    """Tiles (i, j) with i <= j, and what they cost in seconds."""

    tiles: tuple[tuple[int, int], ...]
    cost: float

    @property
    def is_light(self) -> bool:
        """Whether so little is sent that all tasks can be sent at once."""
        return True

    @property
    def is_alone(self) -> bool:
        """Whether the task needs what another one has written."""
        return False

    def halves(self) -> list[TilesTask]:
        """Return two tasks with half the tiles each; nothing if there is only one."""
        middle = len(self.tiles) // 2
        if not middle:
            return []
        return [TilesTask(some, self.cost / 2) for some in (self.tiles[:middle], self.tiles[middle:])]


def is_square(kernel: str) -> bool:
    """Return whether the representations of a kernel are matrices, and not vectors."""
    metric = get_kernel(kernel).entry.distance
    return isinstance(metric, Metric) and metric.vectors is None


def block_bytes(size: Ints, side: int, *, square: bool) -> int:
    """Return the largest number of bytes of the representations of a block."""
    numbers = size**2 if square else size
    starts = np.arange(0, len(size), side)
    return 8 * int(np.add.reduceat(numbers, starts).max()) if len(size) else 0


def side_of(kernel: str, size: Ints) -> int:
    """Return the side of tiles for graphs of given sizes: the largest power of two that is not too costly."""
    square = is_square(kernel)
    numbers = size**2 if square else size
    side = LARGEST_SIDE
    limit = max(_BLOCK_BYTES, 16 * int(numbers.max(initial=0)))
    while side > 1 and (
        block_bytes(size, side, square=square) > limit
        or float(tile_seconds(kernel, size, side).max(initial=0.0)) > _TILE_SECONDS
    ):
        side //= 2
    return side


def tasks_of(tiles: Sequence[tuple[int, int]], seconds: Floats) -> Iterator[TilesTask]:
    """Yield tasks of about equal cost that cover tiles in their order; a costly tile is a task of its own."""
    total = float(sum(seconds[i, j] for i, j in tiles))
    most = min(TASK_SECONDS, total / LEAST_TASKS)
    some: list[tuple[int, int]] = []
    cost = 0.0
    for i, j in tiles:
        if some and cost + seconds[i, j] > most:
            yield TilesTask(tuple(some), cost)
            some, cost = [], 0.0
        some.append((i, j))
        cost += float(seconds[i, j])
    if some:
        yield TilesTask(tuple(some), cost)


def tile_path(i: int, j: int) -> str:
    """Return the file of a tile."""
    return f"kernel/c/{i}/{j}"


def make_tiles(recipe: PairRecipe, task: TilesTask) -> list[Part]:
    """Compute tiles and write them and their mirror images."""
    root = Path(recipe.root)
    parts = []
    for i, j in task.tiles:
        values = _tile(recipe, i, j)
        parts.append(write_part(root, tile_path(i, j), _zarr.encode(_padded(values, recipe.side))))
        if i != j:
            parts.append(write_part(root, tile_path(j, i), _zarr.encode(_padded(values.T, recipe.side))))
    return parts


def _tile(recipe: PairRecipe, i: int, j: int) -> NDArray[Any]:
    _require_memory(recipe, i, j)
    rows = _representations(recipe, *recipe.bounds(i))
    columns = None if i == j else _representations(recipe, *recipe.bounds(j))
    squared = squared_distances(recipe.kernel, rows, columns, recipe.gamma, recipe.n_jobs)
    values = np.sqrt(squared) if recipe.gamma is None else rbf(recipe.gamma, squared)
    return values.astype(recipe.dtype)


def squared_distances(
    kernel: str,
    rows: list[Floats],
    columns: list[Floats] | None,
    gamma: float | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Return squared distances between representations; where `gamma` makes the kernel 0, a lower bound."""
    distance = get_kernel(kernel).entry.distance
    with threads.one_blas_thread():
        if isinstance(distance, Metric) and distance.vectors is None:
            cutoff = np.inf if gamma is None else UNDERFLOW / gamma
            return squared_matrix_distances(distance, rows, columns, n_jobs=n_jobs, cutoff=cutoff)[0]
        width = max(max(map(len, rows), default=0), max(map(len, columns or ()), default=0))
        X = padded_rows(rows, width)
        Y = None if columns is None else padded_rows(columns, width)
        return squared_vector_distances(X, Y) if isinstance(distance, Metric) else distance(X, Y)


def padded_rows(vectors: Sequence[Floats], width: int) -> Floats:
    """Return vectors as rows of one array, the shorter ones padded with zeros."""
    rows = np.zeros((len(vectors), width))
    for row, vector in zip(rows, vectors, strict=True):
        row[: len(vector)] = vector
    return rows


def _padded(values: NDArray[Any], side: int) -> NDArray[Any]:
    if values.shape == (side, side):
        return np.ascontiguousarray(values)
    block = np.full((side, side), np.nan, dtype=values.dtype)
    block[: values.shape[0], : values.shape[1]] = values
    return block


def _require_memory(recipe: PairRecipe, i: int, j: int) -> None:
    """Raise if the worker of a cluster that this runs in has a limit that the tile would exceed."""
    limit = worker_memory_left()
    if limit is None:
        return
    size = _index(_store(recipe.root)).size
    bounds = [recipe.bounds(block) for block in (i, j)]
    numbers = sum(int((size[a:b] ** 2 if recipe.square else size[a:b]).sum()) for a, b in bounds)
    needed = _WORK * 8 * numbers + _FIXED_BYTES
    if needed > limit:
        _cache.clear()
        left = worker_memory_left()
        if left is not None and needed > left:
            raise RequestTooLargeError(f"a tile takes {needed:,} bytes, and the worker has {left:,} left")


def worker_memory_left() -> int | None:
    """Return the bytes that the worker of a cluster may still use, None elsewhere or if it has no limit."""
    try:
        from distributed import get_worker
    except ImportError:
        return None
    try:
        worker = get_worker()
    except ValueError:  # not in a worker
        return None
    limit = worker.memory_manager.memory_limit
    return None if limit is None else int(limit - worker.monitor.get_process_memory())


class _Cache:
    """Numbers of files that this process has read: each is read once while there is room."""

    def __init__(self) -> None:
        self.kept: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        self.n_bytes = 0
        self.lock = Lock()

    def clear(self) -> None:
        with self.lock:
            self.kept.clear()
            self.n_bytes = 0

    def read(self, store: Store, path: str, limit: int) -> Floats:
        entry = store.journal.files.get(path)
        key = (f"{store.root}/{path}", "" if entry is None else entry.digest)
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        values = from_npy(store.read(path))
        with self.lock:
            if key not in self.kept:
                self.kept[key] = values
                self.n_bytes += values.nbytes
            while self.n_bytes > limit and len(self.kept) > 1:
                self.n_bytes -= self.kept.popitem(last=False)[1].nbytes
        return values


_cache = _Cache()
_stores: dict[tuple[str, int], Store] = {}


def _store(root: str) -> Store:
    """Return the store of a task; its journal is read once in each process, and on as it grows."""
    key = (root, manifest_of(Path(root)).stat().st_ino)  # a store that was made anew is another one
    if key not in _stores:
        _stores[key] = Store(Path(root))
    return _stores[key]


_indices: dict[tuple[str, str], Index] = {}


def _index(store: Store) -> Index:
    """Return the index of a store, which a process reads once."""
    store.journal.refresh()
    entry = store.journal.files.get(f"{INSIDE}/index-size.npy")
    key = (str(store.root), "" if entry is None else entry.digest)
    if key not in _indices:
        _indices[key] = Index.load(store)
    return _indices[key]


def _representations(recipe: PairRecipe, start: int, stop: int) -> list[Floats]:
    store = _store(recipe.root)
    return representations(store, _index(store), start, stop, recipe.kernel, recipe.cache_bytes)


def representations(
    store: Store, index: Index, start: int, stop: int, kernel: str, cache_bytes: int
) -> list[Floats]:
    """Return the representations of rows, each file of which is read once while there is room."""
    return index.rows(
        start, stop, square=is_square(kernel), read=lambda path: _cache.read(store, path, cache_bytes)
    )
