"""Vectors of a collection, their projections as sketches, and their distances to a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import FormatError, InvalidOptionError
from torelli._numerics.compile import compiled
from torelli.search._matrix_collection import read_rows, read_unit, require
from torelli.search._sketch_table import SketchTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints

BATCH = 1024
N_AXES = 64
"""Principal axes that vectors are projected on; vectors of few more coordinates are their own sketches."""

_WORTH_AXES = 96
_SAMPLE = 10_000
_BLOCK_BYTES = 2**26
_SMALL, _LARGE = 1e-100, 1e100
_TWO = 2  # dimensions of an array of rows


class VectorQuery(NamedTuple):
    """A vector, and last the norm of what it has beyond the collection's width; its sketch in a unit."""

    vector: Floats
    sketch: Floats
    exponent: int


@dataclass(frozen=True)
class VectorCollection:
    """Vectors and their sketches: coordinates along principal axes, and the norm of the rest.

    A projection on orthonormal axes shortens no difference to more than its length, and by Pythagoras the
    rest adds its own difference of norms.

    Attributes
    ----------
    vectors
        One in each row.
    tolerance
        Distances up to this part of the norms are rounding, and count as 0.
    centre, axes
        What is subtracted from a vector, and the orthonormal axes; none if vectors are their own sketches.
    tables
        The sketches.
    """

    vectors: NDArray[Any]
    tolerance: float
    centre: Floats
    axes: Floats
    tables: tuple[SketchTable, ...]
    batch = BATCH

    @classmethod
    def of(cls, vectors: NDArray[Any], tolerance: float) -> VectorCollection:
        """Return the collection of vectors."""
        largest = _largest(vectors)
        unit = int(np.frexp(largest)[1]) if largest > 0.0 else 0
        width = vectors.shape[1]
        centre, axes = np.zeros(width), np.empty((width, 0))
        if width > _WORTH_AXES:
            centre, axes = principal_axes(vectors, unit)
        dtype = np.float32 if axes.size else np.float64
        rows = np.empty((len(vectors), axes.shape[1] + 1 if axes.size else width), dtype)
        for part in _parts(vectors):
            rows[part] = project(np.ldexp(vectors[part].astype(np.float64), -unit), centre, axes)
        return cls(vectors, tolerance, centre, axes, (_table(rows, unit, centre),))

    def __len__(self) -> int:
        return len(self.vectors)

    def queries(self, vectors: Sequence[Floats]) -> list[VectorQuery]:
        """Return what a search needs of vectors, which may be longer or shorter than those of the collection.

        What is missing at the end of a vector is 0.
        """
        width, unit = self.vectors.shape[1], self.tables[0].exponent
        found = []
        for given in vectors:
            vector = np.zeros(width + 1)
            head, tail = given[:width], given[width:]
            vector[: len(head)] = head
            vector[width] = _norm(tail)
            exponent = max(unit, int(np.frexp(np.abs(vector).max(initial=0.0))[1]))
            scaled, centre = np.ldexp(vector, -exponent), np.ldexp(self.centre, unit - exponent)
            sketch = project(scaled[None, :width], centre, self.axes)
            found.append(VectorQuery(vector, np.append(sketch, [scaled[width:]], axis=1), exponent))
        return found

    def lower_bounds(self, query: VectorQuery) -> Floats:
        """Return a lower bound of the distance to each vector."""
        table = self.tables[0]
        return np.asarray(table.lower_bounds(query.sketch, query.exponent, table.rounding)[0])

    def tightened(self, query: VectorQuery, items: Ints) -> Floats:
        """Return no better bounds: computing a distance is as quick."""
        del query
        return np.zeros(len(items))

    def estimates(self, query: VectorQuery, items: Ints) -> tuple[Floats, Floats]:
        """Return the distances to some vectors twice: they are exact lower and upper bounds."""
        found = self.distances(query, items)
        return found, found

    def distances(self, query: VectorQuery, items: Ints) -> Floats:
        """Return the distances to some vectors; each depends on the two vectors alone, to the last bit."""
        # sorted, so that memory-mapped rows are read in the order of the file
        order = np.argsort(items)
        out = np.empty(len(items))
        for start in range(0, len(items), BATCH):
            part = order[start : start + BATCH]
            rows = np.ascontiguousarray(self.vectors[items[part]])
            found = np.empty(len(part))
            _write_distances(query.vector, rows, self.tolerance, found)
            out[part] = found
        if np.isnan(out).any():
            raise FormatError("a vector of the index is not finite: make the index again")
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        table = self.tables[0]
        stored = {"vectors": self.vectors, "unit": np.array([table.exponent])}
        if self.axes.size:
            stored |= {"centre": self.centre, "axes": self.axes, "sketches0": table.rows}
        return stored

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], tolerance: float) -> VectorCollection:
        """Return the collection of stored arrays, or raise if they do not belong together."""
        vectors, unit = arrays["vectors"], read_unit(arrays["unit"])
        require(
            vectors.ndim == _TWO and vectors.dtype in (np.float64, np.float32), "vectors", "rows of floats"
        )
        if "axes" not in arrays:
            largest = _largest(vectors)
            require(np.isfinite(largest), "vectors", "finite")
            return cls.of(vectors, tolerance)
        width = vectors.shape[1]
        centre, axes = arrays["centre"], arrays["axes"]
        for name, array, shape in (("centre", centre, (width,)), ("axes", axes, (width, N_AXES))):
            right = array.shape == shape and array.dtype == np.float64 and bool(np.isfinite(array).all())
            require(right, name, f"floats of shape {shape}")
        orthonormal = np.allclose(axes.T @ axes, np.eye(N_AXES), rtol=0.0, atol=1e-9)
        require(orthonormal, "axes", "orthonormal")
        rows = read_rows(arrays, "sketches0", len(vectors))
        require(rows.shape[1] == N_AXES + 1 and rows.dtype == np.float32, "sketches0", "of the axes' width")
        return cls(vectors, tolerance, centre, axes, (_table(rows, unit, centre),))


def principal_axes(vectors: NDArray[Any], unit: int) -> tuple[Floats, Floats]:
    """Return the mean of vectors and their principal axes, from a sample, in units of 2**unit."""
    step = max(1, len(vectors) // _SAMPLE)
    sample = np.ldexp(vectors[::step].astype(np.float64), -unit)
    centre = sample.mean(axis=0)
    sample -= centre
    _, axes = np.linalg.eigh(sample.T @ sample)
    return centre, np.ascontiguousarray(axes[:, ::-1][:, :N_AXES])


def project(vectors: Floats, centre: Floats, axes: Floats) -> Floats:
    """Return coordinates along axes and the norm of the rest; vectors themselves if there are no axes."""
    if not axes.size:
        return vectors
    rest = vectors - centre
    along = rest @ axes
    rest -= along @ axes.T
    return np.column_stack([along, np.sqrt(np.einsum("ij,ij->i", rest, rest))])


def check_vectors(vectors: object) -> NDArray[Any]:
    """Return vectors as an array of float32 or float64 rows, without copying one that is such an array."""
    array = vectors if isinstance(vectors, np.ndarray) else np.asarray(vectors)
    if array.ndim != _TWO or array.dtype.kind not in "fiu" or not len(array):
        raise InvalidOptionError(
            f"vectors have shape {array.shape} and type {array.dtype}: give one or more rows of real numbers"
        )
    if array.dtype not in (np.float64, np.float32):
        array = array.astype(np.float64)
    if not np.isfinite(_largest(array)):
        raise InvalidOptionError("vectors have entries that are NaN or infinite: give finite numbers")
    return array


def _largest(vectors: NDArray[Any]) -> float:
    """Return the largest absolute value, NaN if there is one."""
    return max((float(np.abs(vectors[part]).max(initial=0.0)) for part in _parts(vectors)), default=0.0)


def _parts(vectors: NDArray[Any]) -> list[slice]:
    step = max(1, _BLOCK_BYTES // (8 * max(vectors.shape[1], 1)))
    return [slice(start, start + step) for start in range(0, len(vectors), step)]


def _table(rows: NDArray[Any], unit: int, centre: Floats) -> SketchTable:
    """Return the table of projections; what is subtracted leaves the rounding of its own size."""
    eps = float(np.finfo(rows.dtype).eps)
    width = len(centre)
    error = 4.0 * float(np.finfo(float).eps) * width * float(np.abs(centre).max(initial=0.0))
    return SketchTable(rows, unit, 4.0 * eps, error + 1e-12 * (rows.dtype == np.float32))


def _norm(tail: Floats) -> float:
    largest = float(np.abs(tail).max(initial=0.0))
    return largest * float(np.linalg.norm(tail / largest)) if largest > 0.0 else 0.0


@compiled
def _write_distances(x: Floats, rows: Floats, tolerance: float, out: Floats) -> None:
    """Write distances by differences, in a unit of each pair in which no square overflows."""
    width = rows.shape[1]
    largest_x = 0.0
    for j in range(len(x)):
        largest_x = max(largest_x, abs(x[j]))
    for i in range(len(rows)):
        largest, sound = largest_x, True
        for j in range(width):
            entry = abs(float(rows[i, j]))
            sound &= entry < np.inf
            largest = max(largest, entry)
        if largest == 0.0 or not sound:
            out[i] = 0.0 if sound else np.nan
            continue
        # a power of two changes no digit
        scale = 2.0 ** np.floor(np.log2(largest)) if not _SMALL < largest < _LARGE else 1.0
        squared = (x[width] / scale) ** 2
        norms = squared
        for j in range(width):
            a, b = x[j] / scale, float(rows[i, j]) / scale
            squared += (a - b) * (a - b)
            norms += a * a + b * b
        if squared <= tolerance * tolerance * norms:
            out[i] = 0.0
        else:
            out[i] = scale * np.sqrt(squared)
