"""TTW: the Bures-Wasserstein distance of zero-padded Torelli matrices (paper, section 4.2).

With Cholesky factors Q = L Lᵀ and k = min(g1, g2),

    d² = tr Q1 + tr Q2 - 2 ‖L1[:k, :k]ᵀ L2[:k, :k]‖_*        (sum of singular values)

because lower triangular factors make the padding drop out. Matrices are sorted by size, so that
every pair is a row (the smaller) and a partner (the larger), and rows of one size share the
leading blocks of their partners.

The sum of singular values is at most √(tr Q1 tr Q2), so d² is at least (√tr Q1 - √tr Q2)². Where that
bound is above the caller's cutoff, it is written instead of d², and no eigenvalues are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import InvalidMatrixError
from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli._numerics.eigenvalues import eigenvalues
from torelli._numerics.nuclear_norms import congruent, cross_nuclear_norms
from torelli.distances._metric import (
    Metric,
    Sketch,
    any_rescaled,
    diagonal_roots,
    fold,
    normalised,
    root_rounding,
    sum_rounding,
)
from torelli.distances._tts import roots_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.distances._metric import DistanceWriter, Exponents

SMALL = 10
"""Largest size for which Jacobi rotations are faster than eigenvalues of Gram matrices; they are also more
accurate."""

_CANCELLED = 1e-6
"""A d² smaller than its terms by this factor has lost digits to cancellation and is recomputed."""

_ACCURATE = 1e-10
_STACK_BYTES = 2**21
_TASK_SECONDS = 0.2
_WORTH_THREADS = 0.02  # seconds of work; below this, threads cost more than they save
_MOST_ROWS = 64
_EPS = float(np.finfo(float).eps)

_PIVOT = 1e-10
"""A Cholesky pivot smaller than its diagonal entry by this factor may be noise; the factor is then computed
from eigenvalues."""


def squared_ttw(
    X: Sequence[Floats],
    Y: Sequence[Floats] | None,
    out: DistanceWriter,
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Write the squared TTW distances of all pairs to `out`."""
    pairs = _Pairs(X, Y, out)
    tasks = pairs.tasks()
    costs = [len(rows) * len(partners) * pair_cost(int(pairs.genus[rows[0]])) for rows, partners in tasks]
    if sum(costs) < _WORTH_THREADS:
        n_jobs = 1
    with threads.one_blas_thread():
        threads.run(pairs.solve, tasks, n_jobs, costs=costs, progress=progress)


def pair_cost(size: int) -> float:
    """Return an estimate of the seconds a pair takes; the quadratic term is overhead of short loops."""
    if size <= SMALL:
        return 1e-7 + 3e-9 * size**3
    return 1.2e-8 * size**2 + 1.2e-10 * size**3


def stack_height(size: int) -> int:
    """Return how many blocks of a size are processed in one call."""
    return max(1, _STACK_BYTES // (8 * max(size, 1) ** 2))


class _Pairs:
    """All pairs of a list of matrices, or of two lists, in ascending order of size.

    Of each pair the matrix that stands first in `order` is the row. The order depends on the
    matrices alone, not on the list they came in, so that d(a, b) and d(b, a) are the same number.
    """

    def __init__(self, X: Sequence[Floats], Y: Sequence[Floats] | None, out: DistanceWriter) -> None:
        matrices, exponent = normalised(X if Y is None else [*X, *Y])
        genus = np.array([len(Q) for Q in matrices], dtype=np.int64)
        trace = np.array([Q.trace() for Q in matrices])
        order = order_by_content(matrices, genus, trace, exponent)
        self.matrices = [matrices[i] for i in order]
        self.genus, self.trace, self.exponent = genus[order], trace[order], exponent[order]
        self.rescaled = any_rescaled(exponent)
        self.out = out
        self.symmetric = Y is None
        self.in_y = order >= len(X)
        self.place = np.where(self.in_y, order - len(X), order)
        self.lead = np.zeros((len(order), SMALL, SMALL))
        for Q, L in zip(self.matrices, self.lead, strict=True):
            block = np.ascontiguousarray(Q[:SMALL, :SMALL])
            if not small_cholesky(block, L):
                L[: len(block), : len(block)] = semidefinite_factor(block)

    def tasks(self) -> list[tuple[Ints, Ints]]:
        """Return (rows of one size, partners), a fraction of a second each; every matrix is a row."""
        everything = np.arange(len(self.genus))
        x, y = everything[~self.in_y], everything[self.in_y]
        tasks = []
        for rows, partners in [(x, x)] if self.symmetric else [(x, y), (y, x)]:
            for run in np.split(rows, np.flatnonzero(np.diff(self.genus[rows])) + 1):
                size = int(self.genus[run[0]])
                n_pairs = max(1, int(_TASK_SECONDS / pair_cost(size)))
                # a full stack of partners first, then rows to share it
                height = min(max(n_pairs // stack_height(size), 1), _MOST_ROWS)
                for start in range(0, len(run), height):
                    some = run[start : start + height]
                    later = partners[np.searchsorted(partners, some[0]) :]
                    width = max(1, n_pairs // len(some))
                    tasks += [(some, later[i : i + width]) for i in range(0, max(len(later), 1), width)]
        return tasks

    def solve(self, rows: Ints, partners: Ints) -> None:
        """Write the distances of rows of one size to the partners after each."""
        size = int(self.genus[rows[0]])
        if size <= SMALL:
            first, second = pairs_after(rows, partners)
            norm = np.zeros(len(first))
            cross_nuclear_norms(self.lead, first, second, size, norm)
            self.write(first, second, norm, np.zeros(len(first)))
            return
        factors = [triangular_factor(self.matrices[row]) for row in rows.tolist()]
        step = stack_height(size)
        for first_partner in range(0, len(partners), step):
            part = partners[first_partner : first_partner + step]
            stack = self.leading_blocks(part, size)
            for row, factor in zip(rows, factors, strict=True):
                start = int(np.searchsorted(part, row + 1))
                if start < len(part):
                    later = part[start:]
                    norms = self.norms(row, later, factor, stack[start:])
                    self.write(np.full(len(later), row), later, *norms)

    def norms(self, row: int, partners: Ints, factor: Floats, stack: Floats) -> tuple[Floats, Floats]:
        """Return nuclear norms with error bounds; upper bounds of norms where d² is above the cutoff."""
        most = np.sqrt(self.trace[row] * self.trace[partners])
        left, right, shrink, exponent = self.terms(row, partners)
        with np.errstate(over="ignore"):
            near = np.ldexp(left + right - 2.0 * shrink * most, 2 * exponent) <= self.out.cutoff
        if near.all():
            return gram_norms(congruent(factor, stack))
        self.out.wrote_bounds = True
        error = np.zeros(len(partners))
        if near.any():
            # multiply the whole stack: the last bits depend on which matrices are multiplied together
            most[near], error[near] = gram_norms(congruent(factor, stack)[near])
        return most, error

    def terms(
        self, first: Ints | int, second: Ints
    ) -> tuple[Floats, Floats, Floats | float, Exponents | int]:
        """Return traces, the factor of norms, and the exponent of the unit of each pair."""
        left, right = self.trace[first], self.trace[second]
        if not self.rescaled:
            return left, right, 1.0, 0
        a, b = self.exponent[first], self.exponent[second]
        exponent = np.maximum(a, b)
        left, right = np.ldexp(left, 2 * (a - exponent)), np.ldexp(right, 2 * (b - exponent))
        return left, right, np.ldexp(1.0, a + b - 2 * exponent), exponent

    def leading_blocks(self, items: Ints, size: int) -> Floats:
        """Return the leading blocks of some matrices as one array."""
        stack = np.empty((len(items), size, size))
        for block, item in zip(stack, items.tolist(), strict=True):
            block[:] = self.matrices[item][:size, :size]
        return stack

    def write(self, first: Ints, second: Ints, norm: Floats, error: Floats) -> None:
        """Write the distances of pairs; recompute those that cancellation has made inaccurate."""
        left, right, shrink, exponent = self.terms(first, second)
        norm, error = shrink * norm, shrink * error
        squared = left + right - 2.0 * norm
        # 2 norm is about the trace of the leading blocks where the two are close
        lost = (squared <= _CANCELLED * 2.0 * norm) | (error > _ACCURATE * np.abs(squared))
        for pair in np.flatnonzero(lost):
            squared[pair] = self.polished(int(first[pair]), int(second[pair]))
        i, j = self.place[first], self.place[second]
        if self.symmetric:
            self.out.write((i, j), squared, exponent)
            self.out.write((j, i), squared, exponent)
        elif len(first):
            turned = self.in_y[first[0]]  # rows of one task are all of X, or all of Y
            self.out.write((j, i) if turned else (i, j), squared, exponent)

    def polished(self, row: int, other: int) -> float:
        """Return the squared norm of L1 - L2 U with the best rotation U, as `terms` scales it."""
        A, B = self.matrices[row], self.matrices[other]
        a, b = self.exponent[row], self.exponent[other]
        if a == b and len(A) == len(B) and np.array_equal(A, B):
            return 0.0
        k = len(A)
        if k <= SMALL:
            left, right = self.lead[row, :k, :k], self.lead[other, :k, :k]
        else:
            left, right = triangular_factor(A), triangular_factor(B[:k, :k])
        rest = np.diagonal(B)[k:].sum()
        if self.rescaled and a != b:
            left, right = np.ldexp(left, a - max(a, b)), np.ldexp(right, b - max(a, b))
            rest = np.ldexp(rest, 2 * (b - max(a, b)))
        W, _, Zt = np.linalg.svd(right.T @ left)
        return float(((left - right @ (W @ Zt)) ** 2).sum() + rest)


def pairs_after(rows: Ints, partners: Ints) -> tuple[Ints, Ints]:
    """Return all pairs of a row and a partner that comes after it, both ascending."""
    start = np.searchsorted(partners, rows, side="right")
    count = len(partners) - start
    before = np.cumsum(count) - count
    chosen = np.arange(count.sum()) - np.repeat(before - start, count)
    return np.repeat(rows, count), partners[chosen]


def gram_norms(gram: Floats) -> tuple[Floats, Floats]:
    """Return the nuclear norms of stacked A from lower triangles of A.T @ A, with error bounds."""
    values = eigenvalues(gram)
    largest = values.max(axis=1, keepdims=True)
    roots = np.sqrt(np.maximum(values, _EPS * largest))
    error = np.divide(largest, roots, out=np.zeros_like(roots), where=roots > 0)
    return roots.sum(axis=1), gram.shape[1] * _EPS * error.sum(axis=1)


def order_by_content(matrices: Sequence[Floats], genus: Ints, trace: Floats, exponent: Exponents) -> Ints:
    """Return an order by size, magnitude, trace and bytes, which does not depend on the order of the list."""
    order = np.lexsort((trace, exponent, genus))
    same = (np.diff(genus[order]) == 0) & (np.diff(exponent[order]) == 0) & (np.diff(trace[order]) == 0)
    same &= genus[order][1:] > 0
    # `same` compares neighbours: a run of n equal matrices is n - 1 times True
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]])))
    for start, end in edges.reshape(-1, 2).tolist():
        run = slice(start, end + 1)
        order[run] = sorted(order[run].tolist(), key=lambda i: matrices[i].tobytes())
    return order


def triangular_factor(Q: Floats) -> Floats:
    """Return a lower triangular L with L @ L.T = Q for a positive semi-definite matrix."""
    try:
        L: Floats = np.linalg.cholesky(Q).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return semidefinite_factor(Q)
    # a pivot at the level of rounding is noise, and so is the column that was divided by its root
    if (np.diagonal(L) ** 2 > _PIVOT * np.diagonal(Q)).all():
        return L
    return semidefinite_factor(Q)


def semidefinite_factor(Q: Floats) -> Floats:
    """Return a lower triangular L with L @ L.T = Q for a matrix of deficient rank.

    Cholesky pivots do not show whether an eigenvalue is small or rounding; eigenvalues do.
    """
    values, vectors = np.linalg.eigh(Q)
    noise = len(Q) * _EPS * np.abs(values).max(initial=0.0)
    if values[0] < -10.0 * noise:
        size = f"a matrix of size {len(Q)}"
        raise InvalidMatrixError(
            f"{size} is not positive semi-definite: its smallest eigenvalue is {values[0] / values[-1]:.3g} "
            "times the largest"
        )
    roots = np.sqrt(np.where(values <= noise, 0.0, values))
    _, upper = np.linalg.qr((vectors * roots).T)
    return np.ascontiguousarray(upper.T, dtype=np.float64)


@compiled
def small_cholesky(Q: Floats, L: Floats) -> bool:
    """Write the Cholesky factor of `Q` into `L`; return False at a pivot that may be noise."""
    for c in range(len(Q)):
        pivot = Q[c, c]
        for m in range(c):
            pivot -= L[c, m] * L[c, m]
        if not pivot > _PIVOT * Q[c, c]:
            return False
        L[c, c] = np.sqrt(pivot)
        for r in range(c + 1, len(Q)):
            entry = Q[r, c]
            for m in range(c):
                entry -= L[r, m] * L[c, m]
            L[r, c] = entry / L[c, c]
    return True


def block_bounds(Q: Floats, entries: Floats, ends: Ints, size: Ints) -> Floats:
    """Return lower bounds of the TTW distances from a matrix to others.

    TTW² is the least mean of |X - Y|² over Gaussian vectors X, Y with the two matrices as covariances. The
    mean is a sum over groups of coordinates, and each term is at least the squared TTW distance of the blocks
    of that group. For two coordinates it is tr A + tr B - 2 √(tr AB + 2 √(det A det B)).

    Parameters
    ----------
    Q
        A matrix.
    entries
        The lower triangles of the others, row by row and one after the other.
    ends, size
        The end of each triangle in `entries`, and the size of each matrix.
    """
    bounds = np.empty(len(size))
    _write_bounds(np.ascontiguousarray(Q), entries, ends, size, bounds)
    return bounds


@compiled
def _write_bounds(Q: Floats, entries: Floats, ends: Ints, size: Ints, bounds: Floats) -> None:
    trace_of_Q = 0.0
    for i in range(len(Q)):
        trace_of_Q += Q[i, i]
    for item in range(len(size)):
        n = size[item]
        start = ends[item] - n * (n + 1) // 2
        trace = 0.0
        for i in range(n):
            trace += entries[start + i * (i + 3) // 2]
        largest = max(trace, trace_of_Q)
        if not 0.0 < largest < np.inf:
            bounds[item] = 0.0
            continue
        # in this unit no product overflows, and those that underflow do not matter
        unit = 4.0 ** np.floor(np.log2(largest) / 2.0)
        square, shared = (trace_of_Q + trace) / unit, min(n, len(Q))
        error = 4.0 * _EPS * (n + len(Q) + 16.0) * square
        for i in range(0, shared, 2):
            row = start + i * (i + 1) // 2
            a, b = Q[i, i] / unit, entries[row + i] / unit
            product = a * b
            if i + 1 < shared:
                c, d = Q[i + 1, i + 1] / unit, entries[row + 2 * i + 2] / unit
                e, f = Q[i + 1, i] / unit, entries[row + 2 * i + 1] / unit
                # rounding may only make the product larger, and so the bound smaller
                first = max(a * c - e * e, 0.0) + 8.0 * _EPS * a * c
                second = max(b * d - f * f, 0.0) + 8.0 * _EPS * b * d
                diagonal = product + c * d
                product = max(diagonal + 2.0 * e * f, 0.0) + 16.0 * _EPS * diagonal
                product += 2.0 * np.sqrt(first) * np.sqrt(second)
            square -= 2.0 * np.sqrt(product)
        bounds[item] = np.sqrt(max(square - error, 0.0)) * np.sqrt(unit)


TTW = Metric(
    name="ttw",
    title="tropical Torelli-Wasserstein",
    description="Bures-Wasserstein distance between Torelli matrices",
    squared_norm=np.trace,
    write_pairs=squared_ttw,
    positive_definite=False,
    sketches=(
        Sketch("roots of the diagonal", diagonal_roots, sum_rounding),
        Sketch("roots of the eigenvalues", lambda matrices: fold(roots_of(matrices)), root_rounding),
    ),
    block_bounds=block_bounds,
)
