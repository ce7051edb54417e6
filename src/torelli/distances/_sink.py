"""Where squared distances are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    def __setitem__(self, key: Any, value: Any) -> None: ...  # noqa: ANN401  (any index of numpy's)


class Store:
    """An array that is written squared distances and keeps what the caller asked for.

    Parameters
    ----------
    out
        The caller's array.
    squared
        Whether squares are asked for.
    factor
        What distances are to be multiplied by.
    beyond
        The square, after multiplication, above which a lower bound will do.
    """

    def __init__(self, out: NDArray[Any], *, squared: bool, factor: float, beyond: float = np.inf) -> None:
        self.out = out
        self.squared = squared
        self.factor = factor
        self.beyond = beyond / factor / factor
        self.has_bounds = False

    def __setitem__(self, key: Any, value: NDArray[np.float64]) -> None:  # noqa: ANN401
        """Store squared distances, which rounding may have made negative."""
        result = np.maximum(value, 0.0)
        if not self.squared:
            np.sqrt(result, out=result)
        if self.factor != 1.0:
            with np.errstate(over="ignore"):  # beyond the range of floats is infinite
                result *= self.factor
                if self.squared:
                    result *= self.factor
        self.out[key] = result
