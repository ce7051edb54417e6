"""Torelli matrices of a collection as packed triangles, and their distances to a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import FormatError
from torelli._numerics.compile import compiled
from torelli.distances import Metric, check_matrices, distances_from, normalised, norms_of
from torelli.search._sketch_table import RELATIVE, SketchTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints

BATCH = 128
_ABSOLUTE = 1e-9
"""Error of a distance relative to the norms, besides `RELATIVE`; it is in fact 1e-12 and less."""


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
    batch = BATCH

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
        unit = _largest(exponent, size)
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
        found = []
        for item in items.tolist():
            size, end = int(self.size[item]), int(self.ends[item])
            Q = np.empty((size, size))
            _unpack(self.entries[end - size * (size + 1) // 2 : end], Q)
            found.append(Q)
        return found

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
        found = self.metric.block_bounds(query.matrix, self.entries, self.ends[items], self.size[items])
        return np.fmax((1.0 - RELATIVE) * found, 0.0)

    def estimates(self, query: MatrixQuery, items: Ints) -> tuple[Floats, Floats]:
        """Return bounds of the distances to some matrices, which differ by rounding alone."""
        found = distances_from(self.metric, query.matrix, self._checked(items))
        error = RELATIVE * found + _ABSOLUTE * (self.norms[items] + query.norm)
        with np.errstate(invalid="ignore"):  # an infinite distance minus an infinite error
            return np.fmax(found - error, 0.0), found + error

    def distances(self, query: MatrixQuery, items: Ints) -> Floats:
        """Return the distances to some matrices; each depends on the two matrices alone, to the last bit."""
        found = [distances_from(self.metric, query.matrix, [Q])[0] for Q in self._checked(items)]
        return np.array(found, dtype=np.float64)

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


def _largest(exponent: NDArray[np.int32], size: Ints) -> int:
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
