"""The one way in which functions are compiled here."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

F = TypeVar("F", bound="Callable[..., Any]")


def compiled(function: F) -> F:
    """Compile on first call, keep the machine code on disk, and release the GIL while it runs.

    Parallelism is by Python threads over chunks of work: that needs no threading layer of
    numba's, is safe under fork and inside other thread pools, and stops on Ctrl-C between chunks.
    """
    return cast("F", numba.njit(function, nogil=True, cache=True, error_model="numpy"))


def compiled_with_fma(function: F) -> F:
    """Compile as `compiled`; products may be added without rounding, and sums taken in another order."""
    options = {"contract", "reassoc"}
    return cast("F", numba.njit(function, nogil=True, cache=True, error_model="numpy", fastmath=options))
