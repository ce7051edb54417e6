"""Kernel matrices of many graphs, written to disk tile by tile."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from torelli._errors import InvalidOptionError, StoreError
from torelli._numerics.threads import progress_of
from torelli._registry import get_kernel
from torelli.distances import Metric
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import resolve_gamma
from torelli.matrix import warn_of_trees
from torelli.scale import _zarr
from torelli.scale._build import N_FIT, parts_of, put_names, require_disk
from torelli.scale._job import Job, Work
from torelli.scale._pairs import (
    LARGEST_SIDE,
    PairRecipe,
    TilesTask,
    is_square,
    make_tiles,
    representations,
    side_of,
    squared_distances,
    tasks_of,
    tile_path,
)
from torelli.scale._rows import Index, RowFeatures
from torelli.scale._run import run
from torelli.scale.costs import pair_step, seconds, tile_seconds
from torelli.scale.stores import CHOSEN, KernelStore

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.scale._store import Part, Store

ENDINGS = (".zarr", ".npy", ".csv")
_SAMPLE, _SAMPLE_SECONDS = 1000, 60.0
"""Most graphs whose pairs gamma is the median of, and most seconds for that; at least 50 graphs."""
_LEAST_SAMPLE = 50
_CACHE_SHARE = 4  # part of the memory for representations that were read


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
    if tile is not None and not (isinstance(tile, int) and 1 <= tile <= LARGEST_SIDE):
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
    if CHOSEN not in store:
        if store.journal.marks:
            raise StoreError(f"{store.root.name}: {CHOSEN} is damaged; start over with --fresh")
        side = options["tile"] or side_of(kernel, index.size)
        gamma, n_sample = _gamma(store, kernel, index, options["gamma"], cache_bytes, n_jobs)
        store.put_json(CHOSEN, {"side": side, "gamma": gamma, "n_graphs_of_gamma": n_sample})
    chosen = store.read_json(CHOSEN)
    side, gamma = int(chosen["side"]), chosen["gamma"]
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
    found: list[Floats] = []
    for row in chosen.tolist():
        found += representations(store, index, row, row + 1, kernel, cache_bytes)
    return resolve_gamma("median", squared_distances(kernel, found, None, None, n_jobs)), len(chosen)
