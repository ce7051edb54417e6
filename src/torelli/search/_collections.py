"""The matrices or vectors of an index, their sketches, and distances from a query to them.

A sketch is a short vector. The distance between two sketches, less an allowance for rounding, is a lower
bound of the distance between the matrices or vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli import _memory
from torelli._errors import FormatError, InvalidOptionError
from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli.distances import (
    MATRIX_ROUNDING,
    VECTOR_ROUNDING,
    Metric,
    check_matrices,
    distances_from,
    normalised,
    norms_of,
)
from torelli.matrix import parts_by_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

RELATIVE = 1e-6
"""Relative error of a computed distance that a bound leaves room for; the actual error is at most 1e-8."""

_CONSTANT = 8.0  # of the error of an inner product, which is at most (width + 1) eps |x| |y|
_BLOCK_BYTES = 2**26
_UNDERFLOW = {np.dtype(np.float64): 1e-150, np.dtype(np.float32): 1e-16}
"""Distances whose squares vanish, in units of a sketch: rows in single precision are at most about 1."""
MATRIX_BATCH = 128
_ABSOLUTE = 1e-9
"""Error of a distance relative to the norms, besides `RELATIVE`; the actual error is at most 1e-12."""
VECTOR_BATCH = 1024
N_AXES = 64
"""Number of principal axes to project on; vectors with few more coordinates are their own sketches."""
_WORTH_AXES = 96
_SAMPLE = 10_000
_SMALL, _LARGE = 1e-100, 1e100
_TWO = 2  # dimensions of an array of rows


@dataclass(frozen=True)
class SketchTable:
    """The sketches of a collection.

    Attributes
    ----------
    rows
        One sketch in each row, in units of 2**exponent.
    exponent
        The exponent of the unit.
    rounding, error
        Error of a sketch relative to its norm, and an additional absolute error, in the unit.
    """

    rows: NDArray[Any]
    exponent: int
    rounding: float
    error: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "_norms", _norms(self.rows))

    def lower_bounds(self, sketches: Floats, exponent: int, rounding: float) -> Floats:
        """Return lower bounds of the distances from some sketches (rows) to all of the collection (columns).

        Parameters
        ----------
        sketches
            Sketches of queries; they may be wider than those of the collection, which end in zeros.
        exponent
            Exponent of their unit.
        rounding
            Their relative error.

        Notes
        -----
        The bound is the distance of the sketches minus the largest error that rounding can have in it. With
        computed norms and an inner product of n terms, the square has an error of at most
        (n + 8) eps (|x|² + |y|²). The sketches themselves have relative errors, and the distance that the
        bound is compared with has one too (`RELATIVE`). So no bound exceeds its computed distance.
        """
        unit = max(self.exponent, exponent)
        mine, theirs = np.ldexp(1.0, self.exponent - unit), np.ldexp(1.0, exponent - unit)
        width, eps = self.rows.shape[1], float(np.finfo(self.rows.dtype).eps)
        given = sketches[:, :width].astype(self.rows.dtype)
        norms: Floats = self._norms * mine  # type: ignore[attr-defined]
        bounds = np.empty((len(sketches), len(self.rows)))
        for x, bound in zip(sketches, bounds, strict=True):
            bound[:] = np.linalg.norm(x) * theirs
        sums = bounds**2 + norms**2
        bounds += norms
        step = max(1, _BLOCK_BYTES // (self.rows.itemsize * max(width, 1)))
        squares = (1.0 - 2.0 * (width + _CONSTANT) * eps) * sums
        for start in range(0, len(self.rows), step):
            part = slice(start, start + step)
            squares[:, part] -= (2.0 * mine * theirs) * (given @ self.rows[part].T)
        error = max(rounding, self.rounding, eps) * bounds + self.error * mine
        error += _UNDERFLOW[self.rows.dtype]
        np.sqrt(np.maximum(squares, 0.0), out=bounds)
        bounds -= error
        with np.errstate(over="ignore"):
            return np.ldexp(np.maximum((1.0 - RELATIVE) * bounds, 0.0), unit)


def _norms(rows: NDArray[Any]) -> Floats:
    """Return the norms of rows in double precision, block by block."""
    norms = np.empty(len(rows))
    step = max(1, _BLOCK_BYTES // (8 * max(rows.shape[1], 1)))
    for start in range(0, len(rows), step):
        part = rows[start : start + step].astype(np.float64)
        norms[start : start + step] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return norms


class MatrixQuery(NamedTuple):
    """A matrix, its norm, and its sketches with the exponent of their unit."""

    matrix: Floats
    norm: float
    sketches: list[Floats]
    exponent: int


@dataclass(frozen=True)
class MatrixCollection:
    """Matrices, their norms and their sketches for a metric.

    Attributes
    ----------
    metric
        The metric.
    size, ends
        Size of each matrix, and the end of its entries.
    entries
        The lower triangles of all matrices, row by row.
    norms
        Distance of each matrix to the empty matrix.
    tables
        The sketches.
    """

    metric: Metric
    size: Ints
    ends: Ints
    entries: Floats
    norms: Floats
    tables: tuple[SketchTable, ...]
    batch = MATRIX_BATCH

    @classmethod
    def of(cls, metric: Metric, matrices: Iterable[Sequence[Floats]]) -> MatrixCollection:
        """Return the collection of matrices, which come in parts so that only one part is unpacked."""
        sizes, entries, norms, exponents = [], [], [], []
        rows: list[list[Floats]] = [[] for _ in metric.sketches]
        for part in matrices:
            sizes += [len(Q) for Q in part]
            entries += [Q[np.tril_indices(len(Q))] for Q in part]
            norms.append(norms_of(metric, list(part)))
            scaled, exponent = normalised(part)
            exponents.append(_unit(metric, exponent))
            for table, sketch in zip(rows, metric.sketches, strict=True):
                table.append(sketch.rows(scaled))
        size = np.array(sizes, dtype=np.int64)
        exponent = np.concatenate(exponents)
        unit = _largest_exponent(exponent, size)
        largest = int(size.max(initial=0))
        tables = [
            SketchTable(
                _trimmed(np.ldexp(np.concatenate(table), (exponent - unit)[:, None])),
                unit,
                sketch.rounding(largest),
            )
            for table, sketch in zip(rows, metric.sketches, strict=True)
        ]
        ends = np.cumsum(size * (size + 1) // 2)
        return cls(metric, size, ends, np.concatenate(entries), np.concatenate(norms), tuple(tables))

    def __len__(self) -> int:
        return len(self.size)

    def matrices(self, items: Ints) -> list[Floats]:
        """Return some matrices."""
        unpacked = []
        for item in items.tolist():
            size, end = int(self.size[item]), int(self.ends[item])
            Q = np.empty((size, size))
            _unpack(self.entries[end - size * (size + 1) // 2 : end], Q)
            unpacked.append(Q)
        return unpacked

    def queries(self, matrices: Sequence[Floats]) -> list[MatrixQuery]:
        """Return what a search needs of matrices."""
        norms = norms_of(self.metric, list(matrices))
        scaled, exponent = normalised(matrices)
        units = _unit(self.metric, exponent)
        tables = [sketch.rows(scaled) for sketch in self.metric.sketches]
        return [
            MatrixQuery(Q, float(norm), [table[i : i + 1] for table in tables], int(units[i]))
            for i, (Q, norm) in enumerate(zip(matrices, norms, strict=True))
        ]

    def lower_bounds(self, query: MatrixQuery) -> Floats:
        """Return a lower bound of the distance to each matrix."""
        bounds = np.zeros(len(self))
        for table, sketch, rows in zip(self.tables, self.metric.sketches, query.sketches, strict=True):
            rounding = sketch.rounding(len(query.matrix))
            np.maximum(bounds, table.lower_bounds(rows, query.exponent, rounding)[0], out=bounds)
        return bounds

    def tightened(self, query: MatrixQuery, items: Ints) -> Floats:
        """Return lower bounds of the distances to some matrices, from more of their entries."""
        if self.metric.block_bounds is None:
            return np.zeros(len(items))
        bounds = self.metric.block_bounds(query.matrix, self.entries, self.ends[items], self.size[items])
        return np.fmax((1.0 - RELATIVE) * bounds, 0.0)

    def estimates(self, query: MatrixQuery, items: Ints) -> tuple[Floats, Floats]:
        """Return bounds of the distances to some matrices, which differ by rounding alone."""
        computed = distances_from(self.metric, query.matrix, self._checked(items))
        error = RELATIVE * computed + _ABSOLUTE * (self.norms[items] + query.norm)
        with np.errstate(invalid="ignore"):  # an infinite distance minus an infinite error
            return np.fmax(computed - error, 0.0), computed + error

    def distances(self, query: MatrixQuery, items: Ints) -> Floats:
        """Return the distances to some matrices; each depends on the two matrices alone, to the last bit."""
        distances = [distances_from(self.metric, query.matrix, [Q])[0] for Q in self._checked(items)]
        return np.array(distances, dtype=np.float64)

    def _checked(self, items: Ints) -> list[Floats]:
        """Return some matrices, checked: they may be read from a file."""
        return check_matrices(self.matrices(items)) if len(items) else []

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        sketches = {f"sketches{i}": table.rows for i, table in enumerate(self.tables)}
        unit = self.tables[0].exponent if self.tables else 0
        return {
            "size": self.size,
            "entries": self.entries,
            "norms": self.norms,
            "unit": np.array([unit]),
            **sketches,
        }

    @classmethod
    def from_arrays(cls, metric: Metric, arrays: Mapping[str, NDArray[Any]]) -> MatrixCollection:
        """Return the collection of stored arrays, or raise if they do not belong together."""
        size, entries, norms = arrays["size"], arrays["entries"], arrays["norms"]
        require(size.ndim == 1 and size.dtype == np.int64, "size", "a list of integers")
        most = int(np.sqrt(2.0 * entries.size)) + 1
        in_range = bool(((size >= 0) & (size <= most)).all())
        require(in_range, "size", "sizes of matrices whose entries are stored")
        ends = np.cumsum(size * (size + 1) // 2)
        n_entries = int(ends[-1]) if len(ends) else 0
        require(entries.shape == (n_entries,) and entries.dtype == np.float64, "entries", "the triangles")
        require(norms.shape == size.shape and norms.dtype == np.float64, "norms", "one for each matrix")
        require(bool((norms >= 0.0).all()), "norms", "numbers of 0 or more")
        unit = read_unit(arrays["unit"])
        tables = []
        for i, sketch in enumerate(metric.sketches):
            rows = read_rows(arrays, f"sketches{i}", len(size))
            tables.append(SketchTable(rows, unit, sketch.rounding(int(size.max(initial=0)))))
        return cls(metric, size, ends, entries, norms, tuple(tables))


def _unit(metric: Metric, exponent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the exponents of sketches of matrices that were divided by 4**exponent."""
    unit: NDArray[np.int32] = np.rint(2.0 * metric.degree * exponent).astype(np.int32)
    return unit


def _largest_exponent(exponent: NDArray[np.int32], size: Ints) -> int:
    """Return the largest exponent of a matrix that is not empty."""
    return int(exponent[size > 0].max(initial=-(2**12))) if (size > 0).any() else 0


def _trimmed(rows: Floats) -> Floats:
    """Return rows without the columns at their end that are 0 everywhere."""
    used = np.flatnonzero(rows.any(axis=0))
    return np.ascontiguousarray(rows[:, : int(used[-1]) + 1 if len(used) else 0])


@compiled
def _unpack(entries: Floats, Q: Floats) -> None:
    entry = 0
    for i in range(len(Q)):
        for j in range(i + 1):
            Q[i, j] = entries[entry]
            Q[j, i] = entries[entry]
            entry += 1


def require(ok: object, name: str, expected: str) -> None:
    """Raise if a stored array is not what it has to be."""
    if not ok:
        raise FormatError(f"the array {name!r} of the index is not {expected}: make the index again")


def read_unit(stored: NDArray[Any]) -> int:
    """Return the exponent of the unit of stored sketches."""
    require(stored.shape == (1,) and stored.dtype == np.int64, "unit", "one integer")
    require(abs(int(stored[0])) <= 2**13, "unit", "an exponent of floats")
    return int(stored[0])


def read_rows(arrays: Mapping[str, NDArray[Any]], name: str, n_rows: int) -> NDArray[Any]:
    """Return stored rows of finite floats: a bound that is not a number would drop a graph in silence."""
    rows = arrays[name]
    require(len(rows.shape[1:]) == 1 and len(rows) == n_rows, name, f"{n_rows} rows")
    require(rows.dtype in (np.float64, np.float32), name, "an array of floats")
    step = max(1, 2**22 // max(rows.shape[1], 1))
    finite = all(bool(np.isfinite(rows[i : i + step]).all()) for i in range(0, n_rows, step))
    require(finite, name, "finite")
    return rows


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
        Distances up to this fraction of the norms are rounding, and count as 0.
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
    batch = VECTOR_BATCH

    @classmethod
    def of(cls, vectors: NDArray[Any], tolerance: float) -> VectorCollection:
        """Return the collection of vectors."""
        largest = _largest_entry(vectors)
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
        queries = []
        for given in vectors:
            vector = np.zeros(width + 1)
            head, tail = given[:width], given[width:]
            vector[: len(head)] = head
            vector[width] = _norm(tail)
            exponent = max(unit, int(np.frexp(np.abs(vector).max(initial=0.0))[1]))
            scaled, centre = np.ldexp(vector, -exponent), np.ldexp(self.centre, unit - exponent)
            sketch = project(scaled[None, :width], centre, self.axes)
            queries.append(VectorQuery(vector, np.append(sketch, [scaled[width:]], axis=1), exponent))
        return queries

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
        computed = self.distances(query, items)
        return computed, computed

    def distances(self, query: VectorQuery, items: Ints) -> Floats:
        """Return the distances to some vectors; each depends on the two vectors alone, to the last bit."""
        # sorted, so that memory-mapped rows are read in the order of the file
        order = np.argsort(items)
        out = np.empty(len(items))
        for start in range(0, len(items), VECTOR_BATCH):
            part = order[start : start + VECTOR_BATCH]
            rows = np.ascontiguousarray(self.vectors[items[part]])
            distances = np.empty(len(part))
            _write_distances(query.vector, rows, self.tolerance, distances)
            out[part] = distances
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
            largest = _largest_entry(vectors)
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
    if not np.isfinite(_largest_entry(array)):
        raise InvalidOptionError("vectors have entries that are NaN or infinite: give finite numbers")
    return array


def _largest_entry(vectors: NDArray[Any]) -> float:
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


class Groups:
    """Which arrays are equal, bit for bit; the matrices of trees, for one, are all equal."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.of: list[int] = []

    def add(self, arrays: Sequence[NDArray[Any]] | NDArray[Any]) -> list[int]:
        """Take in more arrays; return the positions among them of those that are new."""
        new = []
        for position, array in enumerate(arrays):
            digest = blake2b(array.tobytes(), digest_size=16).digest()
            if digest not in self.known:
                self.known[digest] = len(self.known)
                new.append(position)
            self.of.append(self.known[digest])
        return new

    def array(self) -> Ints:
        """Return the group of each array."""
        return np.array(self.of, dtype=np.int64)


def collection_of_matrices(
    metric: Metric,
    transformer: Any,
    graphs: list[MetricGraph],
    *,
    n_jobs: int | None,
    verbose: bool | Progress,
) -> tuple[MatrixCollection | VectorCollection, Ints]:
    """Return the different matrices of graphs, or vectors that a metric takes of them, and each graph's."""
    groups = Groups()
    show = threads.progress_of(verbose, "matrices")

    def distinct() -> Iterator[list[Floats]]:
        for start, stop in parts_by_size(graphs):
            part = transformer.transform(graphs[start:stop])
            if metric.vectors is not None:
                part = metric.vectors(part, n_jobs)
            if new := groups.add(part):
                yield [part[i] for i in new]
            if show is not None:
                show(stop / len(graphs))

    if metric.vectors is None:
        return MatrixCollection.of(metric, distinct()), groups.array()
    rows = [row for part in distinct() for row in part]
    width = max(map(len, rows), default=0)
    _memory.require(8 * len(rows) * width, "the vectors of the index", "use a kernel with max_genus")
    padded = np.zeros((len(rows), width))
    for row, target in zip(rows, padded, strict=True):
        target[: len(row)] = row
    return VectorCollection.of(padded, MATRIX_ROUNDING), groups.array()


def collection_of_vectors(vectors: NDArray[Any]) -> tuple[VectorCollection, Ints]:
    """Return the different rows of an array, and each row's."""
    groups = Groups()
    first = groups.add(vectors)
    rows = vectors if len(first) == len(vectors) else vectors[first]
    return VectorCollection.of(rows, VECTOR_ROUNDING), groups.array()
