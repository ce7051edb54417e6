"""Sketches of a whole collection, and lower bounds of distances from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats

RELATIVE = 1e-6
"""Relative error of a computed distance that a bound leaves room for; it is in fact 1e-8 and less."""

_CONSTANT = 8.0  # of the error of an inner product, which is at most (width + 1) eps |x| |y|
_BLOCK_BYTES = 2**26
_UNDERFLOW = {np.dtype(np.float64): 1e-150, np.dtype(np.float32): 1e-16}
"""Distances whose squares vanish, in units of a sketch: rows in single precision are at most about 1."""


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
        Error of a sketch relative to its norm, and an absolute error besides, in the unit.
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
