"""Features of any number of graphs, written to disk as they are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from torelli._errors import InvalidOptionError, listed, unknown_option
from torelli._types import StoredFeatures
from torelli.distances import METRICS
from torelli.kernels import TorelliMap
from torelli.scale import _zarr
from torelli.scale._job import N_FIT, Job, parts_of, put_names, require_disk
from torelli.scale._rows import ROWS, Index, RowFeatures, cast, from_npy, padded_rows
from torelli.scale._store import Store, write_part
from torelli.scale.stores import FeatureStore

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from torelli._numerics.threads import Progress

FEATURES: tuple[StoredFeatures, ...] = get_args(StoredFeatures)
ENDINGS = (".zarr", ".npy", ".csv", ".parquet")

_COLUMNS = 64  # of a chunk of spectra, so that longer ones only add chunks


def write_features(
    inputs: Any,
    path: str | os.PathLike[str],
    *,
    features: StoredFeatures = "measure",
    dtype: Literal["float64", "float32"] = "float64",
    fit: Any = None,
    n_fit: int = N_FIT,
    append: bool = False,
    fresh: bool = False,
    verify: bool = False,
    memory: float | None = None,
    dask: Any = None,
    label: str = "label",
    tu: tuple[str, ...] = (),
    lengths: Literal["uniform", "attribute", "unit", "resistance"] = "uniform",
    window: float | None = None,
    step: float | None = None,
    read_options: Mapping[str, Any] | None = None,
    verbose: bool | Progress = False,
    **options: Any,
) -> FeatureStore | Path:
    """Write the features of graphs to disk, as a stream, and return the store.

    A run that was stopped, by a kill too, continues where it was: rows that are finished are not computed
    again, and the result is the same to the last byte.

    Parameters
    ----------
    inputs
        Paths and patterns of files, folders and archives (.tar, .tar.gz, .zip), or graphs (any iterable of
        what `as_metric_graph` takes). They are read one after the other; files of JSON lines may be of any
        size.
    path
        What to write. A name that ends in ``.zarr`` is a store: a folder that `open_features`, zarr and dask
        read. Files that end in ``.npy`` (with names and labels in ``.rows.csv``), ``.csv`` and ``.parquet``
        appear when they are complete; until then the work is in a hidden folder beside them.
    features
        ``"measure"``: `MeasureFeatures`. ``"tts"``: the square roots of the eigenvalues of Torelli matrices,
        largest first, padded with zeros; their Euclidean distance is TTS.
    dtype
        Type of the numbers.
    fit
        Paths or graphs that measure features are fitted to; by default the first `n_fit` of the inputs.
        What is learned is stored, so that appended graphs get the same features.
    n_fit
        Number of graphs to fit to, fewer if they have over two million edges.
    append
        Add the graphs of `inputs` to a complete store.
    fresh
        Remove what is there and start over.
    verify
        Compare all finished files with their checksums first; damaged ones are made again.
    memory
        Memory limit in bytes; by default half of the free memory. Each graph must fit by itself.
    dask
        A ``distributed.Client``, the address of a scheduler, or a number of processes to start here. The
        store has to be on a file system that the workers share.
    label
        Field of JSON lines with the label of a graph.
    tu, lengths
        Names of TU sets, and the lengths of edges in all TU sets, as for `torelli.datasets.load_tu`.
    window, step
        Take windows from OpenStreetMap extracts of any size: half the side of a window, and the distance
        between neighbouring windows, in metres (`torelli.scale.country_windows`).
    read_options
        Options of `torelli.read`.
    verbose
        Whether to show progress.
    options
        Options of `MeasureFeatures`, or of `torelli_matrices` for ``"tts"``.

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
    ...     store = tt.write_features(rings, Path(folder, "rings.zarr"), features="tts")
    ...     np.asarray(store).tolist()
    [[1.0], [2.0], [3.0]]
    """
    if features not in FEATURES:
        raise unknown_option("features", features, FEATURES)
    job = Job(
        inputs, path, ENDINGS, dtype=dtype, fit=fit, n_fit=n_fit, append=append, fresh=fresh, verify=verify,
        memory=memory, dask=dask, label=label, tu=tu, lengths=lengths, window=window, step=step,
        read_options=read_options, verbose=verbose,
    )  # fmt: skip
    transformer = transformer_of(features, options, dtype)
    settings = {name: value for name, value in transformer.get_params().items() if name not in _NOT_OPTIONS}
    with job.writing("features", {"features": features, "transformer": settings}, transformer) as work:
        if work is not None:
            if features == "measure":
                n_rows = work.compute_rows("features")
            else:
                n_rows = work.compute_rows("vectors", METRICS["tts"])
            if n_rows is not None:
                _FINISH[features](work.store, n_rows, dtype)
                work.write_file(FeatureStore(job.root))
    written: FeatureStore | Path = job.result(FeatureStore)
    return written


_NOT_OPTIONS = ("n_jobs", "dtype", "length")


def transformer_of(features: str, options: Mapping[str, Any], dtype: str) -> Any:
    """Return the transformer that makes the rows; raise if it does not have one of the options."""
    kind: Any = RowFeatures if features == "measure" else TorelliMap
    given = {**options, "dtype": dtype} if features == "measure" else options
    unknown = [name for name in options if name not in kind().get_params()]
    if unknown:
        known = [name for name in kind().get_params() if name not in _NOT_OPTIONS]
        raise InvalidOptionError(
            f"unknown option of the features {features!r}: {listed(unknown)}: use one of {listed(known, 20)}"
        )
    return kind(**given)


def _finish_measure(store: Store, n_rows: int, dtype: str) -> None:
    put_names(store)
    columns = FeatureStore(store.root).columns
    shape, chunks = (n_rows, len(columns)), (ROWS, len(columns))
    store.put("features/zarr.json", _zarr.array(shape, chunks, dtype, {"columns": columns}))


def _finish_spectra(store: Store, n_rows: int, dtype: str) -> None:
    """Pad spectra to the longest; chunks that are there and would be the same are kept."""
    index = Index.of_parts(parts_of(store))
    width = int(index.size.max(initial=0))
    n_columns = -(-max(width, 1) // _COLUMNS)
    present = sum(path.startswith("features/c/") for path in store.journal.files)
    n_chunks = -(-n_rows // ROWS) * n_columns
    require_disk(store, np.dtype(dtype).itemsize * ROWS * _COLUMNS * (n_chunks - present))
    before = _rows_of(store)
    for block in range(-(-n_rows // ROWS)):
        start, stop = block * ROWS, min((block + 1) * ROWS, n_rows)
        paths = [f"features/c/{block}/{column}" for column in range(n_columns)]
        if stop <= before and all(path in store for path in paths):
            continue
        vectors = index.rows(start, stop, square=False, read=lambda path: from_npy(store.read(path)))
        values = np.full((ROWS, n_columns * _COLUMNS), np.nan)
        values[: stop - start] = padded_rows(vectors, n_columns * _COLUMNS)
        parts = []
        for column, path in enumerate(paths):
            chunk = cast(values[:, column * _COLUMNS : (column + 1) * _COLUMNS], dtype)
            parts.append(write_part(store.root, path, _zarr.encode(chunk)))
        store.commit(parts)
    put_names(store)
    attributes = {"columns": [f"root_{column}" for column in range(width)]}
    store.put("features/zarr.json", _zarr.array((n_rows, width), (ROWS, _COLUMNS), dtype, attributes))


def _rows_of(store: Store) -> int:
    """Return how many rows of spectra were padded before."""
    if "features/zarr.json" not in store:
        return 0
    return int(store.read_json("features/zarr.json")["shape"][0])


_FINISH = {"measure": _finish_measure, "tts": _finish_spectra}
