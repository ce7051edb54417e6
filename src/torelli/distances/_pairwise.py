"""The registry of metrics and the functions that users call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from torelli import _memory
from torelli._errors import InvalidMatrixError, InvalidOptionError, quoted, unknown_option
from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli.distances._sink import Store
from torelli.distances._tte import squared_frobenius, squared_tte
from torelli.distances._tts import squared_tts
from torelli.distances._ttw import squared_ttw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from torelli._numerics.threads import Progress
    from torelli.distances._sink import Sink

    Floats = NDArray[np.float64]

_SYMMETRY = 1e-8
_CHECK_TILE = 64
_SHARE = 2**20
_FAULTS_SHOWN = 20


class SquaredDistances(Protocol):
    """Write the squared distances of all pairs of X and Y (X with itself if Y is None) to `out`.

    Matrices may be of any magnitude, and of different ones: see `_scale`.
    """

    def __call__(
        self,
        X: Sequence[Floats],
        Y: Sequence[Floats] | None,
        out: Sink,
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
    square
        Returns d² to the empty matrix, which is the scale of rounding.
    squared
        Computes all pairs.
    squared_single
        The same in single precision, where that is faster.
    positive_definite
        Whether exp(-gamma d²) is a positive definite kernel for every gamma.
    """

    name: str
    title: str
    square: Callable[[Floats], float]
    squared: SquaredDistances
    squared_single: SquaredDistances | None = None
    positive_definite: bool = True


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ttw", "tropical Torelli-Wasserstein", np.trace, squared_ttw, positive_definite=False),
        Metric(
            "tte",
            "tropical Torelli-Euclidean",
            squared_frobenius,
            squared_tte,
            partial(squared_tte, single=True),
        ),
        Metric("tts", "tropical Torelli-spectral", np.trace, squared_tts),
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


@_memory.refused_if_too_large(
    "the distances", "give out=numpy.memmap(...), dtype='float32', or use pairwise_distances_chunked"
)
def pairwise_distances(
    Qs: Sequence[ArrayLike],
    Ys: Sequence[ArrayLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
    dtype: DTypeLike = np.float64,
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
        Array or `numpy.memmap` of the right shape, of floats, to write to and return. A float32
        array stores the result with a relative error of 6e-8, where it is within the range of float32.
    dtype
        Precision. ``"float32"`` returns an array of half the size, unless there is `out`, and for
        ``"tte"`` multiplies in single precision, about twice as fast for large matrices, with
        relative errors of distances below 1e-5. The other metrics are computed in float64 all the
        same: they need roots of eigenvalues, which for small ones would be noise in single precision.
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
    Eigenvalues below rounding (size times 2e-16 of the largest) count as 0 in ``"tts"``. Nearly equal
    matrices are not left to the difference of large numbers: such pairs are computed
    anew in a form without cancellation, so that small distances have small relative errors too.
    Magnitudes may differ by any amount: a pair has the same distance alone and in every list, up to
    rounding. Distances and squares that no float can hold are infinite or 0.
    Memory beyond input and output stays below 1 GB.
    """
    chosen = get_metric(metric)
    X = check_matrices(Qs, n_jobs)
    Y = None if Ys is None else check_matrices(Ys, n_jobs)
    shape = (len(X), len(X if Y is None else Y))
    precision = _precision(dtype)
    if out is None:
        remedy = "give out=numpy.memmap(...), dtype='float32', or use pairwise_distances_chunked"
        _memory.require(precision.itemsize * shape[0] * shape[1], f"distances of shape {shape}", remedy)
        out = np.zeros(shape, dtype=precision)
    elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.kind != "f":
        raise InvalidOptionError(f"out must be an array of floats of shape {shape}")
    else:
        out[...] = 0.0
    single = precision == np.float32
    compute(chosen, X, Y, out, squared=squared, n_jobs=n_jobs, verbose=verbose, single=single)
    return out


def _precision(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.float32, np.float64):
        raise InvalidOptionError(f"dtype is {quoted(dtype)}: use 'float64' or 'float32'")
    return found


def compute(
    metric: Metric,
    X: list[Floats],
    Y: list[Floats] | None,
    out: NDArray[Any],
    *,
    squared: bool,
    n_jobs: int | None,
    verbose: bool | Progress,
    single: bool = False,
    beyond: float = np.inf,
) -> float:
    """Write the distances of checked matrices to an array of zeros.

    Instead of a squared distance above `beyond`, a lower bound above it may be written. Returns the number up
    to which all are exact: `beyond`, or infinity if there are no bounds.
    """
    store = Store(out, squared=squared, beyond=beyond)
    work = (metric.squared_single if single else None) or metric.squared
    work(X, Y, store, n_jobs, threads.progress_of(verbose, metric.name))
    return beyond if store.has_bounds else np.inf


def pairwise_distances_chunked(
    Qs: Sequence[ArrayLike],
    Ys: Sequence[ArrayLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    reduce_func: Callable[[Floats, int], Any] | None = None,
    working_memory: float = 256.0,
    n_jobs: int | None = None,
    dtype: DTypeLike = np.float64,
) -> Iterator[Any]:
    """Yield the distance matrix in blocks of whole rows, for results too large for memory.

    Parameters
    ----------
    Qs, Ys, metric, squared, n_jobs, dtype
        As for `pairwise_distances`.
    reduce_func
        Called with each block and the number of its first row; its result is yielded instead.
    working_memory
        Most megabytes (2**20 bytes) in a block; a block has at least one row.
    """
    X = check_matrices(Qs, n_jobs)
    Y = X if Ys is None else check_matrices(Ys, n_jobs)
    rows = max(1, int(working_memory * 2**20 / (_precision(dtype).itemsize * len(Y))))
    for start in range(0, len(X), rows):
        part = X[start : start + rows]
        block = pairwise_distances(part, Y, metric, squared=squared, n_jobs=n_jobs, dtype=dtype)
        yield block if reduce_func is None else reduce_func(block, start)


def check_matrices(matrices: Sequence[Any], n_jobs: int | None = None) -> list[Floats]:
    """Convert to a list of float64 matrices; raise one error with every fault."""
    if isinstance(matrices, np.ndarray) and matrices.ndim == 2:  # noqa: PLR2004
        raise InvalidMatrixError("got a single matrix where a list of matrices is meant: give [Q]")
    if not hasattr(matrices, "__iter__"):
        raise InvalidMatrixError(f"got {type(matrices).__name__} where a list of matrices is meant")
    converted: dict[int, Floats] = {}
    faults: dict[int, str] = {}
    for position, matrix in enumerate(matrices):
        if hasattr(matrix, "is_multigraph") or hasattr(matrix, "n_edges"):
            problem = f"matrix {position} is a graph"
            raise InvalidMatrixError(
                f"{problem}: distances are between matrices, see torelli.torelli_matrices"
            )
        try:
            raw = np.asarray(matrix)
            if raw.dtype.kind == "c":
                raise TypeError  # noqa: TRY301  (its imaginary part would be lost)
            Q = np.ascontiguousarray(raw, dtype=np.float64)
        except (TypeError, ValueError):
            faults[position] = "cannot be read as an array of real numbers"
            continue
        if Q.ndim == 2 and Q.shape[0] == Q.shape[1]:  # noqa: PLR2004
            converted[position] = Q
        else:
            faults[position] = f"has shape {Q.shape}, which is not square"
    if not converted and not faults:
        raise InvalidMatrixError("the list of matrices is empty: give at least one matrix")

    def check(*positions: int) -> None:
        for position in positions:
            if not _is_sound(converted[position]):
                faults[position] = _KINDS[_entry_fault(converted[position])]

    threads.run(check, _shares(converted), n_jobs)
    if faults:
        found = [f"matrix {position} {fault}" for position, fault in sorted(faults.items())]
        hidden = len(faults) - _FAULTS_SHOWN
        more = [f"and {hidden:,} more"] if hidden > 0 else []
        raise InvalidMatrixError("; ".join(found[:_FAULTS_SHOWN] + more))
    return list(converted.values())


def _shares(matrices: dict[int, Floats]) -> list[tuple[int, ...]]:
    """Cut a list of matrices into parts of some megabytes."""
    parts = np.cumsum([Q.size for Q in matrices.values()]) // _SHARE
    return [
        tuple(part.tolist()) for part in np.split(np.array([*matrices]), np.flatnonzero(np.diff(parts)) + 1)
    ]


_KINDS = (
    "",
    "has entries that are NaN or infinite",
    "is not symmetric",
    "has negative entries on its diagonal",
    "has an entry larger than all of its diagonal, and so is not positive semi-definite",
)


@compiled
def _is_sound(Q: Floats) -> bool:
    """Whether a matrix has no fault, in one pass over square tiles, held in the cache with their mirrors."""
    root = np.empty(len(Q))
    largest = 0.0
    for i in range(len(Q)):
        if not 0.0 <= Q[i, i] < np.inf:
            return False
        root[i] = np.sqrt(Q[i, i])
        largest = max(largest, Q[i, i])
    largest += _SYMMETRY * largest
    faults = 0
    for top in range(0, len(Q), _CHECK_TILE):
        for left in range(0, top + 1, _CHECK_TILE):
            for i in range(top, min(top + _CHECK_TILE, len(Q))):
                bound = _SYMMETRY * root[i]
                for j in range(left, min(left + _CHECK_TILE, i)):
                    # false also for NaN, and for a difference of infinities, which is NaN
                    faults += not (abs(Q[i, j] - Q[j, i]) <= bound * root[j]) & (abs(Q[i, j]) <= largest)
    return faults == 0


@compiled
def _entry_fault(Q: Floats) -> int:
    """Return the number in `_KINDS` of the first kind of fault."""
    for i in range(len(Q)):
        for j in range(i + 1):
            if not np.isfinite(Q[i, j]) or not np.isfinite(Q[j, i]):
                return 1
    for i in range(len(Q)):
        if Q[i, i] < 0.0:
            return 3
        for j in range(i):
            if abs(Q[i, j] - Q[j, i]) > _SYMMETRY * np.sqrt(abs(Q[i, i])) * np.sqrt(abs(Q[j, j])):
                return 2
    return 4
