"""The registry of metrics between matrices, and all pairs of a list: for users and for kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist

from torelli import _memory
from torelli._errors import InvalidMatrixError, InvalidOptionError, listed, look_up, quoted
from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli._registry import KERNELS
from torelli._validate import precision_of
from torelli.distances._metric import DistanceWriter
from torelli.distances._tte import TTE
from torelli.distances._tts import TTS
from torelli.distances._ttw import TTW
from torelli.io.convert import is_graph
from torelli.matrix import torelli_matrices, warn_of_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, GraphLike
    from torelli.distances._metric import Metric


MATRIX_ROUNDING, VECTOR_ROUNDING = 1e-12, 1e-9
"""Relative tolerance below which a distance counts as zero in a kernel: two drawings of the same space give
matrices, or vectors, that differ by rounding."""

_LEAST_NORM, _MOST_NORM = 1e-284, 1e300
"""Range of squared norms whose sums, and their products with the squared tolerance, are ordinary floats."""

_VECTORS = 256  # rows and columns of a tile of distances between vectors
_CANCELLED = 1e-6  # squared distances below this part of their terms are computed again from differences

_MATRIX = 2  # dimensions of a matrix
_SYMMETRY = 1e-8
_CHECK_TILE = 64
_SHARE = 2**20
_FAULTS_SHOWN = 20


METRICS: dict[str, Metric] = {metric.name: metric for metric in (TTW, TTE, TTS)}
"""The metrics by name."""


def get_metric(name: str) -> Metric:
    """Return a metric by its name.

    Raises
    ------
    InvalidOptionError
        If there is no metric of that name.
    """
    if isinstance(name, str) and name in KERNELS and name not in METRICS:
        kernel = KERNELS[name]
        raise InvalidOptionError(
            f"{quoted(name)} is a distance between vectors of graphs, not between matrices: use "
            f"{kernel.__name__} or {kernel.entry.representation.__name__}; metrics between matrices are "
            f"{listed(METRICS)}"
        )
    return look_up("metric", name, METRICS)


def distance(
    Q1: ArrayLike | GraphLike,
    Q2: ArrayLike | GraphLike,
    metric: str = "ttw",
    *,
    squared: bool = False,
    **options: Any,
) -> float:
    """Return the distance between two graphs, or two positive semi-definite matrices of any sizes.

    Parameters
    ----------
    Q1, Q2
        Two graphs, whose Torelli matrices are compared, or two matrices. The smaller matrix is treated as
        padded with zeros.
    metric
        ``"ttw"``, ``"tte"`` or ``"tts"`` (`METRICS`).
    squared
        Return the square.
    options
        For graphs, options of `torelli_matrices`, such as ``bridges="double"``.

    References
    ----------
    Section 4.2 and appendix C.2 of the paper; Bhatia, Jain and Lim, On the Bures-Wasserstein distance
    between positive definite matrices (2019). `pairwise_distances` has the formulas.

    Examples
    --------
    >>> distance([[4.0]], [[1.0, 0.0], [0.0, 9.0]], metric="ttw", squared=True)
    10.0
    >>> from torelli import MetricGraph
    >>> distance(MetricGraph([0], [0], [4.0]), MetricGraph([0], [0], [1.0]))
    1.0
    """
    return float(pairwise_distances([Q1], [Q2], metric, squared=squared, **options)[0, 0])


@_memory.refused_if_too_large(
    "the distances", "give out=numpy.memmap(...), dtype='float32', or use pairwise_distances_chunked"
)
def pairwise_distances(
    Qs: Sequence[ArrayLike | GraphLike],
    Ys: Sequence[ArrayLike | GraphLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    n_jobs: int | None = None,
    out: NDArray[Any] | None = None,
    dtype: DTypeLike = np.float64,
    verbose: bool | Progress = False,
    **options: Any,
) -> NDArray[Any]:
    """Return the distances of all pairs of graphs, or of matrices of any mix of sizes.

    Parameters
    ----------
    Qs
        Graphs as `as_metric_graph` takes them, whose Torelli matrices are compared, or positive semi-definite
        matrices, which may be 0 by 0; not both. Arrays and lists of numbers are taken to be matrices: convert
        a graph in such a form with `as_metric_graph` first.
    Ys
        A second list; by default, all pairs within `Qs` are compared.
    metric
        ``"ttw"`` (Bures-Wasserstein), ``"tte"`` (Frobenius) or ``"tts"`` (spectral).
    squared
        Return squared distances.
    n_jobs
        Number of threads, as in scikit-learn; BLAS is kept to one thread in each. The result is
        the same for every number, bit for bit. More threads do not help below a few thousand pairs.
    out
        Floating-point array or `numpy.memmap` of the right shape, to write to and return. A float32
        array stores the result with a relative error of 6e-8, where it is within the range of float32.
    dtype
        Precision. ``"float32"`` returns an array of half the size, unless `out` is given, and for ``"tte"``
        multiplies in single precision, with relative errors of distances below 1e-5. Use it to save memory,
        not time: it was 1.1 times as fast as float64 on IMDB-MULTI and 0.75 times on DD
        (``make bench CASES=tte``). The other metrics are computed in float64 in any case: they need roots of
        eigenvalues, and roots of small eigenvalues would be noise in single precision.
    verbose
        True to show the fraction done and the time left on standard error, or a function that is
        called with the fraction done. Work is counted in flops, not pairs.
    options
        For graphs, options of `torelli_matrices`, such as ``bridges="double"`` or ``length``.

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
    Eigenvalues at rounding level (size times 2e-16 of the largest) count as 0 in ``"tts"``. Pairs of nearly
    equal matrices are recomputed in a form without cancellation, so that small distances have small
    relative errors too. Magnitudes may differ by any amount: a pair has the same distance alone and in
    every list, up to rounding. Distances and squares that no float can hold are infinite or 0.
    Memory beyond input and output stays below 1 GB.

    References
    ----------
    The distances are those of section 4.2 of the paper, between zero-padded matrices A and B: TTW
    ``d² = tr A + tr B - 2 tr (√A B √A)^(1/2)``, TTE ``d² = ‖A - B‖²`` (Frobenius). TTS, ours, is
    ``d² = Σ (√λᵢ - √μᵢ)²`` with the sorted eigenvalues λ of A and μ of B; it is the least TTW distance over
    rotations.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> tt.pairwise_distances(rings, metric="ttw")
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    entry = get_metric(metric)
    X, Y = _matrices_of(Qs, Ys, n_jobs, options)
    shape = (len(X), len(X if Y is None else Y))
    precision = precision_of(dtype)
    if out is None:
        remedy = "give out=numpy.memmap(...), dtype='float32', or use pairwise_distances_chunked"
        _memory.require(precision.itemsize * shape[0] * shape[1], f"distances of shape {shape}", remedy)
        out = np.zeros(shape, dtype=precision)
    elif not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.kind != "f":
        raise InvalidOptionError(f"out must be an array of floats of shape {shape}")
    else:
        out[...] = 0.0
    single = precision == np.float32
    _write_distances(entry, X, Y, out, squared=squared, n_jobs=n_jobs, verbose=verbose, single=single)
    return out


def _matrices_of(
    Qs: Sequence[Any], Ys: Sequence[Any] | None, n_jobs: int | None, options: dict[str, Any]
) -> tuple[list[Floats], list[Floats] | None]:
    """Return both lists as matrices, which for graphs are their Torelli matrices."""
    for given in (Qs, Ys):
        if is_graph(given):
            raise InvalidOptionError("got a single graph where a list of graphs is expected: give [graph]")
    columns = () if Ys is None else Ys
    if not hasattr(Qs, "__iter__") or not hasattr(columns, "__iter__"):
        kinds = {False}
    else:
        Qs, columns = (one if isinstance(one, np.ndarray) else list(one) for one in (Qs, columns))
        kinds = {is_graph(one) for one in (*Qs, *columns)}
    if kinds == {False, True}:
        raise InvalidMatrixError("some of the list are graphs and some matrices: give only one kind")
    if kinds == {True}:
        matrices = torelli_matrices([*Qs, *columns], n_jobs=n_jobs, **options)
        if options.get("bridges", "ignore") == "ignore" and options.get("max_genus") != 0:
            warn_of_trees([len(Q) for Q in matrices], "distances")
        return matrices[: len(Qs)], None if Ys is None else matrices[len(Qs) :]
    if options:
        raise InvalidOptionError(f"{', '.join(sorted(options))}: only for distances between graphs")
    return check_matrices(Qs, n_jobs), None if Ys is None else check_matrices(columns, n_jobs)


def _write_distances(
    metric: Metric,
    X: list[Floats],
    Y: list[Floats] | None,
    out: NDArray[Any],
    *,
    squared: bool,
    n_jobs: int | None,
    verbose: bool | Progress,
    single: bool = False,
    cutoff: float = np.inf,
) -> float:
    """Write the distances of checked matrices to an array of zeros; return up to which square they are exact.

    Squared distances above `cutoff` may be replaced by a lower bound that is above it too. The result is
    `cutoff` if there are such bounds, else infinity.
    """
    writer = DistanceWriter(out, squared=squared, cutoff=cutoff)
    write_pairs = (metric.write_pairs_float32 if single else None) or metric.write_pairs
    write_pairs(X, Y, writer, n_jobs, threads.progress_of(verbose, metric.name))
    return cutoff if writer.wrote_bounds else np.inf


def squared_matrix_distances(
    metric: Metric,
    X: list[Floats],
    Y: list[Floats] | None,
    *,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
    cutoff: float = np.inf,
) -> tuple[Floats, float]:
    """Return squared distances between checked matrices for a kernel, and up to which square they are exact.

    Distances that rounding explains, 1e-12 of the norms, are 0. Squares above `cutoff` may be lower bounds.
    """
    columns = X if Y is None else Y
    out = np.zeros((len(X), len(columns)))

    def write(*, squared: bool) -> float:
        return _write_distances(
            metric, X, Y, out, squared=squared, n_jobs=n_jobs, verbose=verbose, cutoff=cutoff
        )

    row_norms, column_norms = _squared_norms(metric, X), _squared_norms(metric, columns)
    if row_norms is None or column_norms is None:
        return out, _square_at_any_scale(metric, X, columns, out, write(squared=False), cutoff)
    exact_to = write(squared=True)
    for row, norm in zip(out, row_norms, strict=True):
        row[row <= MATRIX_ROUNDING**2 * (norm + column_norms)] = 0.0
    return out, exact_to


def distances_from(metric: Metric, Q: Floats, others: Sequence[Floats]) -> Floats:
    """Return the distances of one checked matrix to others; those below 1e-12 of the norms count as 0."""
    out = np.zeros((1, len(others)))
    _write_distances(metric, [Q], list(others), out, squared=False, n_jobs=1, verbose=False)
    near: Floats = out[0]
    norms = norms_of(metric, [Q, *others])
    near[near <= MATRIX_ROUNDING * np.hypot(norms[0], norms[1:])] = 0.0
    return near


def norms_of(metric: Metric, matrices: list[Floats]) -> Floats:
    """Return the distance of each checked matrix to the empty matrix."""
    squares = _squared_norms(metric, matrices)
    if squares is not None:
        return np.asarray(np.sqrt(squares))
    out = np.zeros((1, len(matrices)))
    _write_distances(metric, [np.empty((0, 0))], matrices, out, squared=False, n_jobs=1, verbose=False)
    return np.asarray(out[0])


def squared_vector_distances(X: Floats, Y: Floats | None) -> Floats:
    """Return squared Euclidean distances of rows; those below 1e-9 of the norms (rounding) are 0."""
    columns = X if Y is None else Y
    # by differences, not products: exactly 0 for equal rows and exactly symmetric
    squared: Floats = cdist(X, columns, "sqeuclidean")
    with np.errstate(over="ignore"):
        norms = (X**2).sum(axis=1)[:, None] + (columns**2).sum(axis=1)
    _round_to_zero(squared, norms)
    return squared


def _round_to_zero(squared: Floats, norms: Floats) -> None:
    """Set squared distances of vectors to 0 where rounding explains them; `norms` may have overflowed."""
    squared[(squared <= VECTOR_ROUNDING**2 * norms) & (norms < np.inf)] = 0.0


def squared_vector_products(X: Floats, Y: Floats | None, n_jobs: int | None = None) -> Floats:
    """Return the same as `squared_vector_distances` to nine digits, many times as fast, by matrix products.

    The last digits of a distance depend on its position. Stores need the same bits for a pair in every run,
    and compute differences.
    """
    rows = np.ascontiguousarray(X, dtype=np.float64)
    columns = rows if Y is None else np.ascontiguousarray(Y, dtype=np.float64)
    left = np.einsum("ij,ij->i", rows, rows)
    right = left if Y is None else np.einsum("ij,ij->i", columns, columns)
    out = np.empty((len(rows), len(columns)))

    def work(i: int, j: int) -> None:
        x, y = slice(i, i + _VECTORS), slice(j, j + _VECTORS)
        with np.errstate(over="ignore", invalid="ignore"):
            terms = left[x, None] + right[y]
            squared = rows[x] @ columns[y].T
            squared *= -2.0
            squared += terms
        # |x|² + |y|² - 2 xy has lost digits there, all of them (nan) where the norms overflow
        near = np.nonzero(~(squared > _CANCELLED * terms))
        for part in range(0, len(near[0]), _VECTORS):
            one, two = near[0][part : part + _VECTORS], near[1][part : part + _VECTORS]
            difference = rows[i + one] - columns[j + two]
            squared[one, two] = np.einsum("ij,ij->i", difference, difference)
        _round_to_zero(squared, terms)
        out[x, y] = squared
        if Y is None:
            if i == j:
                np.copyto(out[x, x], np.triu(squared) + np.triu(squared, 1).T)
            else:
                out[y, x] = squared.T

    starts = range(0, len(columns), _VECTORS)
    tasks = [(i, j) for i in range(0, len(rows), _VECTORS) for j in starts if Y is not None or j >= i]
    with threads.one_blas_thread():
        threads.run(work, tasks, n_jobs)
    return out


def _squared_norms(metric: Metric, matrices: list[Floats]) -> Floats | None:
    """Return squared norms, or None if some are too large or too small to judge rounding errors."""
    with np.errstate(over="ignore"):
        squares = np.array([metric.squared_norm(Q) for Q in matrices])
    in_range = (squares > _LEAST_NORM) & (squares < _MOST_NORM) | np.array([len(Q) == 0 for Q in matrices])
    return squares if in_range.all() else None


def _square_at_any_scale(
    metric: Metric, X: list[Floats], Y: list[Floats], out: Floats, exact_to: float, cutoff: float
) -> float:
    """Square distances in place, with 0 at the level of rounding; return up to which square they are exact.

    Squares that overflow are infinite, and those that underflow are 0. Without a cutoff that is an
    error. With one it is harmless: exp(-gamma d²) is 0 for the former, and 1 to rounding for the latter.
    """
    row_norms, column_norms = np.zeros((len(X), 1)), np.zeros((1, len(Y)))
    empty = [np.empty((0, 0))]
    _write_distances(metric, X, empty, row_norms, squared=False, n_jobs=None, verbose=False)
    _write_distances(metric, empty, Y, column_norms, squared=False, n_jobs=None, verbose=False)
    out[out <= np.hypot(MATRIX_ROUNDING * row_norms, MATRIX_ROUNDING * column_norms)] = 0.0
    distinct = out > 0.0
    with np.errstate(over="ignore"):
        np.square(out, out=out)
    overflow, vanish = bool(np.isinf(out).any()), bool((distinct & (out < np.finfo(float).tiny)).any())
    if np.isinf(cutoff) and overflow:
        raise InvalidMatrixError("squared distances overflow: measure lengths in a larger unit")
    if np.isinf(cutoff) and vanish:
        raise InvalidMatrixError("squared distances vanish: measure lengths in a smaller unit")
    return min(exact_to, float(np.finfo(float).max)) if overflow or vanish else exact_to


def pairwise_distances_chunked(
    Qs: Sequence[ArrayLike | GraphLike],
    Ys: Sequence[ArrayLike | GraphLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    reduce_func: Callable[[Floats, int], Any] | None = None,
    working_memory: float = 256.0,
    n_jobs: int | None = None,
    dtype: DTypeLike = np.float64,
    **options: Any,
) -> Iterator[Any]:
    """Yield the distance matrix in blocks of whole rows, for results too large for memory.

    Parameters
    ----------
    Qs, Ys, metric, squared, n_jobs, dtype, options
        As for `pairwise_distances`.
    reduce_func
        Called with each block and the index of its first row; its result is yielded instead.
    working_memory
        Largest size of a block in megabytes (2**20 bytes); a block has at least one row.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> nearest = tt.pairwise_distances_chunked(rings, reduce_func=lambda rows, start: rows.max(axis=1))
    >>> [block.tolist() for block in nearest]
    [[2.0, 1.0, 2.0]]
    """
    X, columns = _matrices_of(Qs, Ys, n_jobs, options)
    Y = X if columns is None else columns
    rows = max(1, int(working_memory * 2**20 / (precision_of(dtype).itemsize * len(Y))))
    for start in range(0, len(X), rows):
        part = X[start : start + rows]
        block = pairwise_distances(part, Y, metric, squared=squared, n_jobs=n_jobs, dtype=dtype)
        yield block if reduce_func is None else reduce_func(block, start)


def check_matrices(matrices: Sequence[Any], n_jobs: int | None = None) -> list[Floats]:
    """Convert to a list of float64 matrices; raise one error with every fault."""
    if isinstance(matrices, np.ndarray) and matrices.ndim == _MATRIX:
        raise InvalidMatrixError("got a single matrix where a list of matrices is expected: give [Q]")
    if not hasattr(matrices, "__iter__"):
        raise InvalidMatrixError(f"got {type(matrices).__name__} where a list of matrices is expected")
    converted: dict[int, Floats] = {}
    faults: dict[int, str] = {}
    for position, matrix in enumerate(matrices):
        try:
            raw = np.asarray(matrix)
            # complex numbers would lose their imaginary part
            Q = np.ascontiguousarray(raw, dtype=np.float64) if raw.dtype.kind != "c" else None
        except (TypeError, ValueError):
            Q = None
        if Q is None:
            faults[position] = "cannot be read as an array of real numbers"
            continue
        if Q.ndim == _MATRIX and Q.shape[0] == Q.shape[1]:
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
        listed = [f"matrix {position} {fault}" for position, fault in sorted(faults.items())]
        hidden = len(faults) - _FAULTS_SHOWN
        more = [f"and {hidden:,} more"] if hidden > 0 else []
        raise InvalidMatrixError("; ".join(listed[:_FAULTS_SHOWN] + more))
    return list(converted.values())


def _shares(matrices: dict[int, Floats]) -> list[tuple[int, ...]]:
    """Split a list of matrices into parts of a few megabytes."""
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
    """Return whether a matrix has no fault; a tile and its mirror image are compared while in the cache."""
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
                    # false also for NaN, such as the difference of two infinities
                    faults += not (abs(Q[i, j] - Q[j, i]) <= bound * root[j]) & (abs(Q[i, j]) <= largest)
    return faults == 0


@compiled
def _entry_fault(Q: Floats) -> int:
    """Return the position in `_KINDS` of the first kind of fault."""
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
