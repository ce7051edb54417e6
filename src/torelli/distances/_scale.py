"""Matrices of any magnitude as those of ordinary size, with an exponent for each.

The squares that distances are made of overflow or vanish long before the distances do. A matrix
outside of the ordinary is therefore divided by a power of 4. Each has its own, so that the
distance of a pair does not depend on the other matrices of the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Exponents = NDArray[np.int32]  # the type that `numpy.ldexp` takes on every platform

_SMALL, _LARGE = 1e-60, 1e60
_ZERO = -(2**12)
"""The exponent of a zero matrix, below that of any number."""


def normalised(matrices: Sequence[Floats]) -> tuple[list[Floats], Exponents]:
    """Return matrices P of ordinary size and exponents h, such that each given matrix is 4**h P.

    Matrices of ordinary size are returned as they are, with exponent 0.
    """
    largest = np.array([np.diagonal(Q).max(initial=0.0) for Q in matrices])
    exponent = np.where((largest > _SMALL) & (largest < _LARGE), 0, np.frexp(largest)[1] // 2)
    exponent[largest == 0.0] = _ZERO
    found = list(matrices)
    for at in np.flatnonzero(_beyond(exponent)).tolist():
        found[at] = np.ldexp(found[at], -2 * exponent[at])
    return found, exponent.astype(np.int32)


def any_beyond(*exponents: Exponents) -> bool:
    """Return whether any matrix was not of ordinary size."""
    return any(bool(_beyond(exponent).any()) for exponent in exponents)


def _beyond(exponent: NDArray[np.integer]) -> NDArray[np.bool_]:
    beyond: NDArray[np.bool_] = (exponent != 0) & (exponent != _ZERO)
    return beyond
