"""The one way in which functions are compiled here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

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


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:  # noqa: ANN401, ARG001  (numba asks for this form)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(address), generate


@compiled
def matrix_at(address: int, size: int) -> NDArray[np.float64]:
    """Return the matrix in C order at an address, in compiled code, which takes no lists of arrays."""
    return numba.carray(_pointer(address), (size, size), np.float64)  # type: ignore[attr-defined, call-arg]
