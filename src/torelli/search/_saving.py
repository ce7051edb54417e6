"""An index as a folder: what is stored of it, and checks of what is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import FormatError, InvalidOptionError
from torelli._registry import get_kernel
from torelli._version import __version__
from torelli.distances import MATRIX_ROUNDING, VECTOR_ROUNDING, Metric
from torelli.kernels import GraphKernel, options_of
from torelli.search._hnsw import NeighbourGraph
from torelli.search._matrix_collection import MatrixCollection, require
from torelli.search._records import Records, StoredRecords
from torelli.search._storage import StoredFolder, write_folder
from torelli.search._vector_collection import VectorCollection

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Ints

_NEIGHBOURS = "neighbours.hnsw"
_REMEDY = "make the index again"


class IndexParts(NamedTuple):
    """Everything that an index consists of.

    Attributes
    ----------
    kernel, method, ef, seed
        Its parameters.
    unit
        Unit of the lengths.
    transformer
        What makes matrices or vectors of graphs, None for an index of vectors alone.
    collection
        The distinct matrices or vectors.
    group
        Which of them each graph has.
    records
        Names and graphs.
    neighbours, recall
        What an approximate search uses, and how much it finds.
    """

    kernel: GraphKernel
    method: Any
    ef: Any
    seed: Any
    unit: str | None
    transformer: Any
    collection: MatrixCollection | VectorCollection
    group: Ints
    records: Records
    neighbours: NeighbourGraph | None
    recall: float | None


def write_index(folder: Path, parts: IndexParts) -> Path:
    """Write an index to a folder, and return it."""
    entry = parts.kernel.entry
    arrays, files = parts.records.stored()
    arrays |= parts.collection.arrays() | {"group": parts.group}
    fitted = {} if parts.transformer is None else _fitted(parts.transformer)
    arrays |= {f"fitted_{name}": np.atleast_1d(value) for name, value in fitted.items()}
    if parts.neighbours is not None:
        files[_NEIGHBOURS] = parts.neighbours.save
    options = options_of(parts.kernel)
    if parts.transformer is not None:
        options = {name: getattr(parts.transformer, name) for name in entry.defaults}
    about = {
        "torelli": __version__,
        "kernel": entry.name,
        "options": {
            name: one.item() if isinstance(one, np.generic) else one for name, one in options.items()
        },
        "length": parts.kernel.length,
        "method": parts.method,
        "ef": parts.ef,
        "seed": parts.seed,
        "unit": parts.unit,
        "takes_graphs": parts.transformer is not None,
        "fitted": sorted(fitted),
        "recall": parts.recall,
    }
    write_folder(folder, about, arrays, files)
    return folder


def read_index(folder: Path, *, verify: bool) -> IndexParts:
    """Return the parts of a stored index; raise if they do not belong together."""
    stored = StoredFolder(folder, verify=verify)
    about = stored.about
    kernel, transformer = _read_kernel(stored)
    unit, recall, method = (about.get(key) for key in ("unit", "recall", "method"))
    if not isinstance(unit, (str, type(None))) or not isinstance(recall, (float, type(None))):
        raise FormatError(f"the manifest of the index has no valid unit or recall; {_REMEDY}")
    collection = _read_collection(stored, kernel)
    group = stored.array("group")
    require(group.ndim == 1 and group.dtype == np.int64 and len(group) > 0, "group", "a list of integers")
    n_items = len(collection)
    in_range = bool(((group >= 0) & (group < n_items)).all())
    require(in_range and len(np.unique(group)) == n_items, "group", "the items of graphs")
    records = StoredRecords(stored)
    require(len(records) == len(group), "record_ends", "one record for each graph")
    neighbours = None
    if method == "hnsw":
        neighbours = NeighbourGraph.load(stored.file(_NEIGHBOURS), *collection.tables[0].rows.shape)
    return IndexParts(
        kernel, method, about.get("ef"), about.get("seed"), unit, transformer, collection, group, records,
        neighbours, recall,
    )  # fmt: skip


def _read_collection(stored: StoredFolder, kernel: GraphKernel) -> MatrixCollection | VectorCollection:
    distance = kernel.entry.distance
    if isinstance(distance, Metric) and distance.vectors is None:
        names = ["size", "entries", "norms", "unit", *(f"sketches{i}" for i in range(len(distance.sketches)))]
        return MatrixCollection.from_arrays(distance, {name: stored.array(name) for name in names})
    names = ["vectors", "unit"]
    if "axes.npy" in stored:
        names += ["centre", "axes", "sketches0"]
    tolerance = MATRIX_ROUNDING if isinstance(distance, Metric) else VECTOR_ROUNDING
    return VectorCollection.from_arrays({name: stored.array(name) for name in names}, tolerance)


def _read_kernel(stored: StoredFolder) -> tuple[GraphKernel, Any]:
    """Return the kernel of a manifest, and the fitted transformer of graphs, None if there is none."""
    about = stored.about
    name, options, length, fitted = (about.get(key) for key in ("kernel", "options", "length", "fitted"))
    if not isinstance(name, str) or not isinstance(options, dict) or not isinstance(length, str):
        raise FormatError(f"the manifest of the index names no kernel; {_REMEDY}")
    if not isinstance(fitted, list) or not all(isinstance(one, str) and one.isidentifier() for one in fitted):
        raise FormatError(f"the manifest of the index lists no fitted arrays; {_REMEDY}")
    try:
        kernel_class = get_kernel(name)
        known = kernel_class.entry.options(options)
        accepted = {key: known[key] for key in kernel_class().get_params(deep=False) if key in options}
        kernel = kernel_class(length=length, **accepted)
        kernel._check_parameters()  # noqa: SLF001  (as when a model is loaded)
    except (InvalidOptionError, TypeError) as error:
        raise FormatError(f"this is not a valid index: {error}") from error
    if about.get("takes_graphs") is not True:
        return kernel, None
    representation: Any = kernel.entry.representation
    state = dict(representation(**known).__getstate__())
    state |= {one: np.array(stored.array(f"fitted_{one}")) for one in fitted}
    transformer = representation.__new__(representation)
    try:
        transformer.__setstate__(state)  # checks what it is given
    except InvalidOptionError as error:
        raise FormatError(f"this is not a valid index: {error}") from error
    return kernel, transformer


def set_jobs(transformer: Any, n_jobs: int | None) -> None:
    """Set the number of threads of a transformer that has one."""
    if "n_jobs" in transformer.get_params(deep=False):
        transformer.set_params(n_jobs=n_jobs)


def _fitted(transformer: object) -> Mapping[str, NDArray[Any]]:
    """Return the arrays that a transformer has learned."""
    found = {name: value for name, value in vars(transformer).items() if name.endswith("_")}
    for name, value in found.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi":
            kind = type(transformer).__name__
            raise InvalidOptionError(f"{name} of {kind} is no array of numbers, and cannot be stored")
    return found
