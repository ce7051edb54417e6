"""Nuclear norms of products of triangular factors, in compiled code.

Small matrices: `cross_nuclear_norms` rotates many of them side by side. Gain (``make bench CASES=floor``):
all TTW distances between the matrices of genus at most 8, which are computed from these norms, took 2.4
times less time on PROTEINS and on COIL-DEL than one batched `numpy.linalg.eigvalsh` call for the same pairs.

Larger matrices: the norm of Lᵀ M with Q = M Mᵀ is the sum of the square roots of the eigenvalues of Lᵀ Q L,
which `congruent` computes for one triangular L and many Q of the same size. A general product would spend
half of its flops on the zeros of L and on the redundant triangle of the result. A compiled product in blocks
of 4 x 4 skips both, and avoids a BLAS call for every matrix. Above `LARGEST`, BLAS multiplies panels of
columns. Gain over ``L.T @ Q @ L`` in numpy, one thread (``make bench CASES=numerics``, on a machine busy with
other work): 1.6 to 2.1 times as fast at 200 x 200 and 256 x 256, in two runs. At 16 x 16 to 80 x 80, eight
runs for each size gave ratios from 0.33 to 4.8, which shows no gain.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled, compiled_with_fma
from torelli._numerics.forest import floats, room

if TYPE_CHECKING:
    from torelli._types import Floats, Ints

LANES = 64
"""Matrices processed side by side, innermost in memory, so that the compiler uses vector instructions."""

_LAST_SWEEP = 1e-10
"""The last sweep is the one that meets no squared cosine above this. It leaves cosines of about 1e-10, and
the error in the sum of the column norms is of the order of their squares."""

_MAX_SWEEPS = 30
_TINY = 1e-300

LARGEST = 256
"""Size up to which `congruent` uses compiled code."""

_PANELS = 4
_SIDE = 4

# unsigned indices and a constant row length let the compiler use vector instructions
_ROW = np.uint64(LARGEST + 8)
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)


@compiled
def cross_nuclear_norms(factors: Floats, first: Ints, second: Ints, size: int, out: Floats) -> None:
    """Write the nuclear norms of ``factors[i].T @ factors[j]`` for the pairs (i, j) in `first` and `second`.

    Factors are lower triangular, and only their leading blocks of `size` are read. One-sided Jacobi
    rotations are accurate to rounding even for tiny singular values, which a Gram matrix would square.
    """
    column = np.empty((size, size, LANES))
    left, right = np.empty((size, size, LANES)), np.empty((size, size, LANES))
    norm, scale = room(LANES), room(LANES)
    for start in range(0, len(first), LANES):
        count = min(LANES, len(first) - start)
        for lane in range(LANES):
            pair = start + min(lane, count - 1)
            i, j = first[pair], second[pair]
            for m in range(size):
                for c in range(m + 1):
                    left[m, c, lane] = factors[i, m, c]
                    right[m, c, lane] = factors[j, m, c]
        _multiply(left, right, size, column)
        _normalise(column, size, scale)
        _orthogonalise(column, size)
        _sum_of_norms(column, size, norm)
        for lane in range(count):
            out[start + lane] = norm[lane] * scale[lane]


@compiled
def _multiply(left: Floats, right: Floats, size: int, column: Floats) -> None:
    """Write the columns of left.T @ right for lower triangular factors."""
    total = room(LANES)
    for c in range(size):
        for r in range(size):
            for lane in range(LANES):
                total[lane] = 0.0
            for m in range(max(r, c), size):
                for lane in range(LANES):
                    total[lane] += left[m, r, lane] * right[m, c, lane]
            for lane in range(LANES):
                column[c, r, lane] = total[lane]


@compiled
def _normalise(column: Floats, size: int, scale: Floats) -> None:
    """Divide each matrix by its largest entry, so that fourth powers neither overflow nor underflow."""
    for lane in range(LANES):
        scale[lane] = _TINY
    for c in range(size):
        for r in range(size):
            for lane in range(LANES):
                scale[lane] = max(scale[lane], abs(column[c, r, lane]))
    for c in range(size):
        for r in range(size):
            for lane in range(LANES):
                column[c, r, lane] /= scale[lane]


@compiled
def _sum_of_norms(column: Floats, size: int, norm: Floats) -> None:
    """Write the sum of the column norms, which are the singular values once columns are orthogonal."""
    total = room(LANES)
    for lane in range(LANES):
        norm[lane] = 0.0
    for c in range(size):
        for lane in range(LANES):
            total[lane] = 0.0
        for r in range(size):
            for lane in range(LANES):
                total[lane] += column[c, r, lane] * column[c, r, lane]
        for lane in range(LANES):
            norm[lane] += np.sqrt(total[lane])


@compiled
def _orthogonalise(column: Floats, size: int) -> None:
    """Rotate pairs of columns until all columns are orthogonal in every lane."""
    square = np.empty((size, LANES))
    product, cosine, sine, worst = room(LANES), room(LANES), room(LANES), room(LANES)
    for _ in range(_MAX_SWEEPS):
        for lane in range(LANES):
            worst[lane] = 0.0
        for p in range(size):
            for lane in range(LANES):
                square[p, lane] = 0.0
            for r in range(size):
                for lane in range(LANES):
                    square[p, lane] += column[p, r, lane] * column[p, r, lane]
        for p in range(size - 1):
            for q in range(p + 1, size):
                for lane in range(LANES):
                    product[lane] = 0.0
                for r in range(size):
                    for lane in range(LANES):
                        product[lane] += column[p, r, lane] * column[q, r, lane]
                for lane in range(LANES):
                    a, b, g = square[p, lane], square[q, lane], product[lane]
                    worst[lane] = max(worst[lane], g * g / (a * b + _TINY))
                    # the smaller of the two rotations with tan(2 angle) = 2 g / (b - a)
                    root = np.sqrt((b - a) * (b - a) + 4.0 * g * g)
                    tangent = np.copysign(2.0, b - a) * g / (abs(b - a) + root + _TINY)
                    cosine[lane] = 1.0 / np.sqrt(1.0 + tangent * tangent)
                    sine[lane] = cosine[lane] * tangent
                    square[p, lane] = a - tangent * g
                    square[q, lane] = b + tangent * g
                for r in range(size):
                    for lane in range(LANES):
                        x, y = column[p, r, lane], column[q, r, lane]
                        column[p, r, lane] = cosine[lane] * x - sine[lane] * y
                        column[q, r, lane] = sine[lane] * x + cosine[lane] * y
        if _count_below(worst, _LAST_SWEEP) == LANES:
            return


@compiled
def _count_below(values: Floats, bound: float) -> int:
    count = 0
    for i in range(len(values)):
        count += values[i] < bound
    return count


def congruent(L: Floats, stack: Floats) -> Floats:
    """Return the lower triangles of L.T @ Q_t @ L for stacked symmetric Q_t; other entries are not set."""
    out = np.empty(stack.shape)
    if len(L) <= LARGEST:
        _write_congruent(L, stack, out)
        return out
    count, size, _ = stack.shape
    panels = list(itertools.pairwise(np.linspace(0, size, _PANELS + 1).astype(int).tolist()))
    flat = stack.reshape(-1, size)
    right = [(flat[:, a:] @ L[a:, a:b]).reshape(count, size, b - a) for a, b in panels]
    for k, (a, b) in enumerate(panels):
        left = np.ascontiguousarray(L[a:, a:b].T)
        for (c, d), block in zip(panels[: k + 1], right, strict=False):
            np.matmul(left, block[:, a:], out=out[:, a:b, c:d])
    return out


@compiled_with_fma
def _write_congruent(L: Floats, stack: Floats, out: Floats) -> None:
    """Write the lower triangles of L.T @ Q_t @ L, computed in copies padded to a multiple of `_SIDE`."""
    count, size, _ = stack.shape
    padded = (size + _SIDE - 1) // _SIDE * _SIDE
    n_entries = np.int64(padded * _ROW)
    lower, upper, Q = floats(n_entries), floats(n_entries), floats(n_entries)
    QL, result = room(n_entries), room(n_entries)
    for i in range(size):
        for j in range(i + 1):
            lower[np.uint64(i) * _ROW + np.uint64(j)] = L[i, j]
            upper[np.uint64(j) * _ROW + np.uint64(i)] = L[i, j]
    for t in range(count):
        for i in range(size):
            for j in range(size):
                Q[np.uint64(i) * _ROW + np.uint64(j)] = stack[t, i, j]
        for i in range(0, padded, _SIDE):
            row = np.uint64(i) * _ROW
            _clear_rows(QL, row, padded)
            for k in range(0, padded, _SIDE):
                _add_product(Q, row + np.uint64(k), lower, np.uint64(k) * _ROW, QL, row, k + _SIDE)
        for i in range(0, padded, _SIDE):
            row = np.uint64(i) * _ROW
            _clear_rows(result, row, i + _SIDE)
            for k in range(i, padded, _SIDE):
                _add_product(upper, row + np.uint64(k), QL, np.uint64(k) * _ROW, result, row, i + _SIDE)
        for i in range(size):
            for j in range(i + 1):
                out[t, i, j] = result[np.uint64(i) * _ROW + np.uint64(j)]


@compiled_with_fma
def _clear_rows(matrix: Floats, row: np.uint64, width: int) -> None:
    """Set four rows to zero."""
    for i in range(_SIDE):
        for j in range(width):
            matrix[row + np.uint64(i) * _ROW + np.uint64(j)] = 0.0


@compiled_with_fma
def _add_product(
    square: Floats,
    corner: np.uint64,
    right: Floats,
    start: np.uint64,
    out: Floats,
    row: np.uint64,
    width: int,
) -> None:
    """Add the product of a 4 x 4 block and four rows to four rows."""
    a, b, c, d = corner, corner + _ROW, corner + _2 * _ROW, corner + _3 * _ROW
    a0, a1, a2, a3 = square[a], square[a + _1], square[a + _2], square[a + _3]
    b0, b1, b2, b3 = square[b], square[b + _1], square[b + _2], square[b + _3]
    c0, c1, c2, c3 = square[c], square[c + _1], square[c + _2], square[c + _3]
    d0, d1, d2, d3 = square[d], square[d + _1], square[d + _2], square[d + _3]
    for column in range(width):
        j = np.uint64(column)
        r0, r1 = right[start + j], right[start + _ROW + j]
        r2, r3 = right[start + _2 * _ROW + j], right[start + _3 * _ROW + j]
        t = row + j
        t0 = out[t] + a0 * r0 + a1 * r1 + a2 * r2 + a3 * r3
        t1 = out[t + _ROW] + b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3
        t2 = out[t + _2 * _ROW] + c0 * r0 + c1 * r1 + c2 * r2 + c3 * r3
        t3 = out[t + _3 * _ROW] + d0 * r0 + d1 * r1 + d2 * r2 + d3 * r3
        out[t] = t0
        out[t + _ROW] = t1
        out[t + _2 * _ROW] = t2
        out[t + _3 * _ROW] = t3
