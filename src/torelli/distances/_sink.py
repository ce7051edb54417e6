"""Where squared distances are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.distances._scale import Exponents


class Sink(Protocol):
    """Anything that squared distances can be written to, block by block.

    Attributes
    ----------
    beyond
        For a squared distance above this, a lower bound above it will do.
    has_bounds
        To be set where one was written.
    """

    beyond: float
    has_bounds: bool

    def write(self, key: Any, squared: NDArray[np.float64], exponent: Exponents | int = 0) -> None:  # noqa: ANN401
        """Store distances 2**exponent √squared at an index of numpy's."""


class Store:
    """An array that is written squared distances and keeps what the caller asked for.

    Parameters
    ----------
    out
        The caller's array.
    squared
        Whether squares are asked for.
    beyond
        The square above which a lower bound will do.
    """

    def __init__(self, out: NDArray[Any], *, squared: bool, beyond: float = np.inf) -> None:
        self.out = out
        self.squared = squared
        self.beyond = beyond
        self.has_bounds = False

    def write(self, key: Any, squared: NDArray[np.float64], exponent: Exponents | int = 0) -> None:  # noqa: ANN401
        """Store distances 2**exponent √squared; rounding may have made squares negative."""
        result = np.maximum(squared, 0.0)
        if not self.squared:
            np.sqrt(result, out=result)
        with np.errstate(over="ignore"):  # beyond the range of floats is infinite
            if np.any(exponent):
                result = np.ldexp(result, exponent * (2 if self.squared else 1))
            self.out[key] = result
