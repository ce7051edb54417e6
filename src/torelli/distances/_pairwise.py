"""The registry of metrics and the functions that users call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from torelli import _memory, _parallel
from torelli._compile import compiled
from torelli._errors import InvalidMatrixError, InvalidOptionError, unknown_option
from torelli.distances._tte import squared_tte
from torelli.distances._tts import squared_tts
from torelli.distances._ttw import squared_ttw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from torelli._parallel import Progress

    Floats = NDArray[np.float64]

_SYMMETRY = 1e-8


class SquaredDistances(Protocol):
    """Write the squared distances of all pairs of X and Y (X with itself if Y is None) to `out`."""

    def __call__(
        self,
        X: Sequence[Floats],
        Y: Sequence[Floats] | None,
        out: Floats,
        n_jobs: int | None,
        progress: Progress | None,
    ) -> None: ...


@dataclass(frozen=True)
class Metric:
    """A distance between positive semi-definite matrices.

    Attributes
    ----------
    name
        How it is called in options.
    title
        What it is, for tables and pictures.
    positive_definite
        Whether exp(-gamma d²) is a positive definite kernel for every gamma.
    squared
        Computes all pairs.
    """

    name: str
    title: str
    positive_definite: bool
    squared: SquaredDistances


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ttw", "tropical Torelli-Wasserstein", positive_definite=False, squared=squared_ttw),
        Metric("tte", "tropical Torelli-Euclidean", positive_definite=True, squared=squared_tte),
        Metric("tts", "tropical Torelli-spectral", positive_definite=True, squared=squared_tts),
    )
}


def get_metric(name: str) -> Metric:
    """Return a metric by its name.

    Raises
    ------
    InvalidOptionError
        If there is none of that name; the message lists the names.
    """
    try:
        return METRICS[name]
    except (KeyError, TypeError):
        raise unknown_option("metric", name, METRICS) from None


def distance(Q1: ArrayLike, Q2: ArrayLike, metric: str = "ttw", *, squared: bool = False) -> float:
    """Return the distance between two positive semi-definite matrices, of any sizes.

    Parameters
    ----------
    Q1, Q2
        Matrices; the smaller one counts as padded with zeros.
    metric
        ``"ttw"``, ``"tte"`` or ``"tts"`` (`METRICS`).
    squared
        Return the square.

    Examples
    --------
    >>> distance([[4.0]], [[1.0, 0.0], [0.0, 9.0]], metric="ttw", squared=True)
    10.0
    """
    return float(pairwise_distances([Q1], [Q2], metric, squared=squared)[0, 0])


def pairwise_distances(
    Qs: Sequence[ArrayLike],
    Ys: Sequence[ArrayLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
    verbose: bool | Progress = False,
) -> NDArray[Any]:
    """Return the distances of all pairs of matrices, of any mix of sizes.

    Parameters
    ----------
    Qs
        Positive semi-definite matrices; 0x0 ones are welcome.
    Ys
        A second list; by default all pairs within `Qs` are taken.
    metric
        ``"ttw"`` (Bures-Wasserstein), ``"tte"`` (Frobenius) or ``"tts"`` (spectral).
    squared
        Return squared distances.
    n_jobs
        Number of threads, as in scikit-learn; BLAS is kept to one thread in each. The result is
        the same for every number, bit for bit. Below some thousand pairs it does not help.
    out
        Array or `numpy.memmap` of the right shape to write to and return. Everything is computed
        in float64; a float32 array stores the result with a relative error of 6e-8.
    verbose
        True for a line with the part done and the time left on standard error, or a function that
        is called with the part done. Work is counted in flops, not pairs.

    Returns
    -------
    D
        Array of shape (len(Qs), len(Ys)): entry (i, j) belongs to ``Qs[i]`` and ``Ys[j]``. Within
        one list it is exactly symmetric with an exactly zero diagonal. Never NaN.

    Raises
    ------
    RequestTooLargeError
        If the result cannot fit in memory.

    Notes
    -----
    Nearly equal matrices are not left to the difference of large numbers: such pairs are computed
    anew in a form without cancellation, so that small distances have small relative errors too.
    Memory beyond input and output stays below 1 GB.
    """
    chosen = get_metric(metric)
    X = check_matrices(Qs)
    Y = None if Ys is None else check_matrices(Ys)
    shape = (len(X), len(X if Y is None else Y))
    if out is None:
        remedy = "give out=numpy.memmap(...), a float32 array as out=, or use pairwise_distances_chunked"
        _memory.require(8 * shape[0] * shape[1], f"distances of shape {shape}", remedy)
        out = np.zeros(shape)
    elif out.shape != shape or out.dtype.kind != "f":
        raise InvalidOptionError(
            f"out has shape {out.shape} and type {out.dtype}: give floats of shape {shape}"
        )
    else:
        out[...] = 0.0
    chosen.squared(X, Y, out, n_jobs, _parallel.progress_of(verbose, chosen.name))
    for row in out:
        np.maximum(row, 0.0, out=row)
        if not squared:
            np.sqrt(row, out=row)
    return out


def pairwise_distances_chunked(
    Qs: Sequence[ArrayLike],
    Ys: Sequence[ArrayLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    reduce_func: Callable[[Floats, int], Any] | None = None,
    working_memory: float = 256.0,
    n_jobs: int | None = None,
) -> Iterator[Any]:
    """Yield the distance matrix in blocks of whole rows, for results too large for memory.

    Parameters
    ----------
    Qs, Ys, metric, squared, n_jobs
        As for `pairwise_distances`.
    reduce_func
        Called with each block and the number of its first row; its result is yielded instead.
    working_memory
        Most megabytes (2**20 bytes) in a block; a block has at least one row.
    """
    X = check_matrices(Qs)
    Y = X if Ys is None else check_matrices(Ys)
    rows = max(1, int(working_memory * 2**20 / (8 * len(Y))))
    for start in range(0, len(X), rows):
        block = pairwise_distances(X[start : start + rows], Y, metric, squared=squared, n_jobs=n_jobs)
        yield block if reduce_func is None else reduce_func(block, start)


def check_matrices(matrices: Sequence[Any]) -> list[Floats]:
    """Convert to a list of float64 matrices; raise one error with every fault."""
    if isinstance(matrices, np.ndarray) and matrices.ndim == 2:  # noqa: PLR2004
        raise InvalidMatrixError("got a single matrix where a list of matrices is meant: give [Q]")
    if not hasattr(matrices, "__iter__"):
        raise InvalidMatrixError(f"got {type(matrices).__name__} where a list of matrices is meant")
    converted, faults = [], []
    for position, matrix in enumerate(matrices):
        try:
            Q = np.ascontiguousarray(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            faults.append(f"matrix {position} cannot be read as an array of numbers")
            continue
        problem = _shape_fault(Q) or _KINDS[_entry_fault(Q)]
        if problem:
            faults.append(f"matrix {position} {problem}")
        converted.append(Q)
    if not converted and not faults:
        raise InvalidMatrixError("the list of matrices is empty: give at least one matrix")
    if faults:
        raise InvalidMatrixError("; ".join(faults))
    return converted


_KINDS = (
    "",
    "has entries that are NaN or infinite",
    "is not symmetric",
    "has negative entries on its diagonal",
)


def _shape_fault(Q: Floats) -> str:
    if Q.ndim == 2 and Q.shape[0] == Q.shape[1]:  # noqa: PLR2004
        return ""
    return f"has shape {Q.shape}, which is not square"


@compiled
def _entry_fault(Q: Floats) -> int:
    for i in range(len(Q)):
        for j in range(i + 1):
            if not np.isfinite(Q[i, j]) or not np.isfinite(Q[j, i]):
                return 1
    for i in range(len(Q)):
        if Q[i, i] < 0.0:
            return 3
        for j in range(i):
            if abs(Q[i, j] - Q[j, i]) > _SYMMETRY * np.sqrt(abs(Q[i, i] * Q[j, j])):
                return 2
    return 0
