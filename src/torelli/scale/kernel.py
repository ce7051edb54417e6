"""Kernel matrices of many graphs, written to disk tile by tile.

Tile (i, j) holds the pairs of graphs i * side ... and j * side ...; its mirror image (j, i) is written with
it. For metrics between matrices, the last bits of a value may depend on the pairs that are computed together,
so a tile is always computed as a whole. A task is a list of tiles.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import uuid4

import numpy as np

from torelli._errors import InvalidOptionError, RequestTooLargeError
from torelli._numerics import threads
from torelli._numerics.threads import progress_of
from torelli._registry import get_kernel
from torelli.distances import Metric, squared_matrix_distances, squared_vector_distances
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import rbf, resolve_gamma
from torelli.kernels import UNDERFLOW
from torelli.matrix import warn_of_trees
from torelli.scale import _zarr
from torelli.scale._job import N_FIT, Job, Work, parts_of, put_names, require_disk
from torelli.scale._rows import Index, RowFeatures, cast, from_npy, padded_rows
from torelli.scale._run import run
from torelli.scale._store import Part, Store, write_part
from torelli.scale.costs import pair_step, seconds, tile_seconds
from torelli.scale.stores import KernelStore, tile_mark

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints

ENDINGS = (".zarr", ".npy", ".csv")
_SAMPLE, _SAMPLE_SECONDS = 1000, 60.0
"""Largest number of graphs for the median rule of gamma, and most seconds to spend; at least 50 graphs."""
_LEAST_SAMPLE = 50
_CACHE_SHARE = 4  # part of the memory for representations that were read
LARGEST_SIDE = 256
"""Most graphs on a side of a tile."""
TASK_SECONDS = 20.0
"""Expected seconds of the tiles that one task computes."""
LEAST_TASKS = 200
"""Least number of tasks in a run, so that many workers finish at about the same time."""
_TILE_SECONDS = 60.0  # most expected seconds of a tile
_BLOCK_BYTES = 2**26  # most bytes of the representations on a side of a tile, unless two take more
_WORK = 4  # memory that a tile takes, in multiples of its representations, besides 100 MB
_FIXED_BYTES = 10**8
_RUNS = 4  # that a process may work for in turn, with the stores that it has open
_SPARE = 0.1  # part of a worker's memory that is free between tasks


def write_kernel(
    inputs: Any,
    path: str | os.PathLike[str],
    kernel: str = "ttw",
    *,
    gamma: float | Literal["median"] | None = "median",
    dtype: Literal["float64", "float32"] = "float64",
    tile: int | None = None,
    fit: Any = None,
    n_fit: int = N_FIT,
    append: bool = False,
    fresh: bool = False,
    verify: bool = False,
    memory: float | None = None,
    n_jobs: int | None = None,
    dask: Any = None,
    label: str = "label",
    tu: tuple[str, ...] = (),
    lengths: Literal["uniform", "attribute", "unit", "resistance"] = "uniform",
    window: float | None = None,
    step: float | None = None,
    read_options: Mapping[str, Any] | None = None,
    verbose: bool | Progress = False,
    **options: Any,
) -> KernelStore | Path:
    """Write the kernel matrix of graphs to disk, tile by tile, and return the store.

    A run that was stopped, by a kill too, continues where it was: tiles that are finished are not computed
    again, and the result is the same to the last byte.

    Parameters
    ----------
    inputs, dtype, fresh, verify, memory, dask, label, tu, lengths, window, step, read_options, verbose
        As for `write_features`.
    path
        What to write. A name that ends in ``.zarr`` is a store: a folder that `open_kernel`, zarr and dask
        read. Files that end in ``.npy`` (with names and labels in ``.rows.csv``) and ``.csv`` appear when
        they are complete; until then the work is in a hidden folder beside them.
    kernel
        Name of a kernel (`KERNELS`).
    gamma
        A positive number, ``"median"``, or None to write distances instead of kernel values. The median is
        over the pairs of at most 1,000 graphs, evenly spread over the inputs, and fewer where pairs take
        long. Appending keeps gamma.
    tile
        Graphs on each side of a tile. By default a power of two up to 256, so that a tile takes at most
        about a minute. The last bits of TTW and TTE may depend on it.
    fit, n_fit
        For kernels that learn: as for `write_features`.
    append
        Add the graphs of `inputs` to a complete store: only tiles with new graphs are computed.
    n_jobs
        Number of threads; the result does not depend on it.
    options
        Options of the kernel's representation.

    Returns
    -------
    store
        The store, or the path of a plain file.

    Raises
    ------
    StoreError
        If the store belongs to other inputs or options, another process writes to it, or the disk is full.

    Examples
    --------
    >>> import numpy as np
    >>> import torelli as tt
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> with TemporaryDirectory() as folder:
    ...     store = tt.write_kernel(rings, Path(folder, "rings.zarr"), gamma=None)  # distances
    ...     np.asarray(store).tolist()
    [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    job = Job(
        inputs, path, ENDINGS, dtype=dtype, fit=fit, n_fit=n_fit, append=append, fresh=fresh, verify=verify,
        memory=memory, dask=dask, label=label, tu=tu, lengths=lengths, window=window, step=step,
        read_options=read_options, verbose=verbose,
    )  # fmt: skip
    whole = isinstance(tile, (int, np.integer)) and not isinstance(tile, bool)
    if tile is not None and not (whole and 1 <= tile <= LARGEST_SIDE):
        raise InvalidOptionError(f"tile is {tile!r}: use a whole number from 1 to {LARGEST_SIDE}")
    if gamma is not None and gamma != "median":
        gamma = resolve_gamma(gamma, np.empty((0, 0)))
    transformer, settings = _representation(kernel, options)
    about = {"kernel": kernel, "gamma": gamma, "tile": tile, "representation": settings}
    with job.writing("kernel", about, transformer) as work:
        if work is not None:
            distance = get_kernel(kernel).entry.distance
            metric = distance if isinstance(distance, Metric) and distance.vectors is not None else None
            n_rows = work.compute_rows("matrices" if is_square(kernel) else "vectors", metric)
            if n_rows is not None:
                if isinstance(distance, Metric) and settings.get("bridges") == "ignore":
                    warn_of_trees(Index.of_parts(parts_of(work.store)).size.tolist(), "kernels")
                _write_tiles(work, kernel, n_rows, n_jobs)
                work.write_file(KernelStore(job.root))
    written: KernelStore | Path = job.result(KernelStore)
    return written


def _representation(kernel: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the transformer of a kernel, and all its options."""
    entry = get_kernel(kernel).entry
    settings = entry.options(options)
    settings.pop("dtype", None)  # representations are in double precision, whatever the result is
    if issubclass(entry.representation, MeasureFeatures):
        return RowFeatures(**settings), settings
    if entry.learns:
        raise InvalidOptionError(f"kernel {kernel!r} learns from all graphs, which a stream cannot offer")
    return entry.representation(**settings), settings


def _write_tiles(work: Work, kernel: str, n_rows: int, n_jobs: int | None) -> None:
    """Compute the tiles that are missing, and those that have grown."""
    store, client, dtype = work.store, work.client, work.job.dtype
    options, cache_bytes = store.manifest["options"], work.job.memory // _CACHE_SHARE
    index = Index.of_parts(parts_of(store))
    index.save(store)
    facts = store.journal.facts
    if "side" not in facts:
        side = options["tile"] or side_of(kernel, index.size)
        gamma, n_sample = _gamma(store, kernel, index, options["gamma"], cache_bytes, n_jobs)
        store.journal.note({"side": side, "gamma": gamma, "n_graphs_of_gamma": n_sample})
    side, gamma = int(facts["side"]), facts["gamma"]
    recipe = PairRecipe(
        str(store.root.absolute()), kernel, n_rows, side, gamma, dtype, cache_bytes,
        n_jobs if client is None else None,
    )  # fmt: skip
    n_blocks = -(-n_rows // side)
    # a tile that was not full is computed again, as it is in a store that is made at once
    tiles = [
        (i, j)
        for i in range(n_blocks)
        for j in range(i, n_blocks)
        if recipe.mark(i, j) not in store.journal.marks
        or tile_path(i, j) not in store
        or tile_path(j, i) not in store
    ]
    costs = tile_seconds(kernel, index.size, side)
    require_disk(store, np.dtype(dtype).itemsize * side**2 * 2 * len(tiles))
    total, done = float(sum(costs[i, j] for i, j in tiles)), 0.0
    progress = progress_of(work.job.verbose, kernel)

    def commit(task: TilesTask, parts: list[Part]) -> None:
        nonlocal done
        store.commit(parts, [recipe.mark(*tile) for tile in task.tiles])
        done += task.cost
        if progress is not None:
            progress(min(done / max(total, 1e-9), 1.0))

    run(
        "kernel",
        tasks_of(tiles, costs),
        partial(make_tiles, recipe),
        commit,
        split=lambda task, work: [(half, work) for half in task.halves()],
        client=client,
        store=store,
    )
    put_names(store)
    attributes = {"kernel": kernel, "gamma": gamma}
    store.put("kernel/zarr.json", _zarr.array((n_rows, n_rows), (side, side), dtype, attributes))


def n_graphs_of_gamma(kernel: str, size: Ints, n_rows: int) -> int:
    """Return how many graphs gamma is the median over the pairs of."""
    each = float(seconds(pair_step(kernel), np.median(size) if len(size) else 1))
    return min(n_rows, int(np.clip(np.sqrt(2.0 * _SAMPLE_SECONDS / each), _LEAST_SAMPLE, _SAMPLE)))


def _gamma(
    store: Store,
    kernel: str,
    index: Index,
    gamma: float | Literal["median"] | None,
    cache_bytes: int,
    n_jobs: int | None,
) -> tuple[float | None, int]:
    """Return gamma as a number, and how many graphs it was taken from."""
    if gamma != "median":
        return gamma, 0
    n_rows = len(index.size)
    n_chosen = n_graphs_of_gamma(kernel, index.size, n_rows)
    chosen = np.unique(np.linspace(0, n_rows - 1, n_chosen).astype(np.int64))
    sampled: list[Floats] = []
    for row in chosen.tolist():
        sampled += representations(store, index, row, row + 1, kernel, cache_bytes)
    return resolve_gamma("median", squared_distances(kernel, sampled, None, None, n_jobs)), len(chosen)


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
        Gamma of the kernel; None to store distances.
    dtype
        Type of the result.
    cache_bytes
        Most bytes of representations that a process keeps.
    n_jobs
        Threads for each tile.
    run
        The call that computes the tiles. What a process keeps of a store, it keeps for one call: another may
        find a store of the same name with other graphs.
    """

    root: str
    kernel: str
    n_rows: int
    side: int
    gamma: float | None
    dtype: str
    cache_bytes: int
    n_jobs: int | None = None
    run: str = field(default_factory=lambda: uuid4().hex)

    @property
    def square(self) -> bool:
        """Whether representations are matrices."""
        return is_square(self.kernel)

    def bounds(self, block: int) -> tuple[int, int]:
        """Return the rows of a block."""
        return block * self.side, min((block + 1) * self.side, self.n_rows)

    def mark(self, i: int, j: int) -> str:
        """Return the note of a finished tile."""
        return tile_mark(i, j, self.side, self.n_rows)


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
        return [TilesTask(tiles, self.cost / 2) for tiles in (self.tiles[:middle], self.tiles[middle:])]


def is_square(kernel: str) -> bool:
    """Return whether the representations of a kernel are matrices, and not vectors."""
    metric = get_kernel(kernel).entry.distance
    return isinstance(metric, Metric) and metric.vectors is None


def block_bytes(size: Ints, side: int, *, square: bool) -> int:
    """Return the largest number of bytes of the representations of a block."""
    n_entries = size**2 if square else size
    starts = np.arange(0, len(size), side)
    return 8 * int(np.add.reduceat(n_entries, starts).max()) if len(size) else 0


def side_of(kernel: str, size: Ints) -> int:
    """Return the side of tiles for graphs of given sizes: the largest power of two that is not too costly."""
    square = is_square(kernel)
    n_entries = size**2 if square else size
    side = LARGEST_SIDE
    limit = max(_BLOCK_BYTES, 16 * int(n_entries.max(initial=0)))
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
    task_tiles: list[tuple[int, int]] = []
    cost = 0.0
    for i, j in tiles:
        if task_tiles and cost + seconds[i, j] > most:
            yield TilesTask(tuple(task_tiles), cost)
            task_tiles, cost = [], 0.0
        task_tiles.append((i, j))
        cost += float(seconds[i, j])
    if task_tiles:
        yield TilesTask(tuple(task_tiles), cost)


def tile_path(i: int, j: int) -> str:
    """Return the file of a tile."""
    return f"kernel/c/{i}/{j}"


def make_tiles(recipe: PairRecipe, task: TilesTask) -> list[Part]:
    """Compute tiles and write them and their mirror images."""
    root = Path(recipe.root)
    parts = []
    for i, j in task.tiles:
        _make_room(recipe, task, i, j)
        values = _tile(recipe, i, j)
        parts.append(write_part(root, tile_path(i, j), _zarr.encode(_padded(values, recipe.side))))
        if i != j:
            parts.append(write_part(root, tile_path(j, i), _zarr.encode(_padded(values.T, recipe.side))))
    memory = worker_memory()
    if memory is not None and memory.left < _SPARE * memory.limit:
        _cache.clear()
    return parts


def _tile(recipe: PairRecipe, i: int, j: int) -> NDArray[Any]:
    rows = _representations(recipe, *recipe.bounds(i))
    columns = None if i == j else _representations(recipe, *recipe.bounds(j))
    squared = squared_distances(recipe.kernel, rows, columns, recipe.gamma, recipe.n_jobs)
    values = np.sqrt(squared) if recipe.gamma is None else rbf(recipe.gamma, squared)
    return cast(values, recipe.dtype)


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


def _padded(values: NDArray[Any], side: int) -> NDArray[Any]:
    if values.shape == (side, side):
        return np.ascontiguousarray(values)
    block = np.full((side, side), np.nan, dtype=values.dtype)
    block[: values.shape[0], : values.shape[1]] = values
    return block


def _make_room(recipe: PairRecipe, task: TilesTask, i: int, j: int) -> None:
    """Drop what the worker of a cluster keeps if it has too little memory for a tile.

    Raises if that does not help and the task has other tiles, so that the task is split. A single tile is
    tried anyway: the estimate is a generous one.
    """
    memory = worker_memory()
    if memory is None:
        return
    size = _opened(recipe)[1].size
    bounds = [recipe.bounds(block) for block in (i, j)]
    n_entries = sum(int((size[a:b] ** 2 if recipe.square else size[a:b]).sum()) for a, b in bounds)
    needed = _WORK * 8 * n_entries + _FIXED_BYTES
    if needed > memory.left:
        _cache.clear()
        memory = worker_memory()
        if memory is not None and needed > memory.left and len(task.tiles) > 1:
            raise RequestTooLargeError(
                f"a tile takes {needed:,} bytes, and the worker has {memory.left:,} left"
            )


class WorkerMemory(NamedTuple):
    """Bytes of the worker of a cluster: when it pauses, and how much it may use until then."""

    limit: int
    left: int


def worker_memory() -> WorkerMemory | None:
    """Return the memory of the worker that this runs in, None elsewhere or if it has no limit.

    A worker takes no task while it uses more than a part of its limit (by default 80 %). What it keeps for
    later tasks must therefore stay below that, or it would pause forever.
    """
    try:
        from distributed import get_worker
    except ImportError:
        return None
    try:
        worker = get_worker()
    except ValueError:  # not in a worker
        return None
    manager = worker.memory_manager
    if manager.memory_limit is None:
        return None
    limit = int(manager.memory_limit * (manager.memory_pause_fraction or 1.0))
    return WorkerMemory(limit, limit - int(worker.monitor.get_process_memory()))


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
_runs: OrderedDict[str, tuple[Store, Index]] = OrderedDict()
_runs_lock = Lock()


def _opened(recipe: PairRecipe) -> tuple[Store, Index]:
    """Return the store of a run and its index, which a process reads once in the run."""
    with _runs_lock:
        if recipe.run not in _runs:
            store = Store(Path(recipe.root))
            _runs[recipe.run] = store, Index.load(store)
            while len(_runs) > _RUNS:
                _runs.popitem(last=False)
        return _runs[recipe.run]


def _representations(recipe: PairRecipe, start: int, stop: int) -> list[Floats]:
    (store, index), cache_bytes, memory = _opened(recipe), recipe.cache_bytes, worker_memory()
    if memory is not None:
        cache_bytes = min(cache_bytes, memory.limit // _CACHE_SHARE)
    return representations(store, index, start, stop, recipe.kernel, cache_bytes)


def representations(
    store: Store, index: Index, start: int, stop: int, kernel: str, cache_bytes: int
) -> list[Floats]:
    """Return the representations of rows, each file of which is read once while there is room."""
    return index.rows(
        start, stop, square=is_square(kernel), read=lambda path: _cache.read(store, path, cache_bytes)
    )
