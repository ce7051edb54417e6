"""Lower bounds of TTW from blocks of two by two."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

import torelli as tt
from torelli.distances._blocks import block_bounds


def packed(matrices):
    """Return lower triangles one after the other, their ends and the sizes."""
    size = np.array([len(Q) for Q in matrices], dtype=np.int64)
    entries = np.concatenate([np.empty(0), *(Q[np.tril_indices(len(Q))] for Q in matrices)])
    return entries, np.cumsum(size * (size + 1) // 2), size


def random_matrices(rng, count, most=9, *, rank=None):
    """Return random positive semi-definite matrices of sizes up to `most`."""
    matrices = []
    for _ in range(count):
        n = int(rng.integers(0, most + 1))
        A = rng.standard_normal((n, n if rank is None else min(rank, n)))
        matrices.append(A @ A.T)
    return matrices


def block_distances(Q, R):
    """Return the squared distances of blocks by matrix roots, the rest by traces."""
    shared = min(len(Q), len(R))
    total = np.trace(Q[shared:, shared:]) + np.trace(R[shared:, shared:])
    for i in range(0, shared, 2):
        A, B = (P[i : min(i + 2, shared), i : min(i + 2, shared)] for P in (Q, R))
        root = sqrtm(A)
        total += np.trace(A + B - 2 * sqrtm(root @ B @ root)).real
    return total


def test_bounds_are_the_distances_of_blocks():
    """The formula for two by two agrees with matrix roots."""
    rng = np.random.default_rng(0)
    Q, *others = [P for P in random_matrices(rng, 40) if len(P) > 1]
    expected = [np.sqrt(max(block_distances(Q, P), 0.0)) for P in others]
    assert block_bounds(Q, *packed(others)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("rank", [None, 1, 2])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_no_bound_is_above_its_distance(rank, scale):
    """Also for singular matrices, near copies, empty ones, and lengths of any magnitude."""
    rng = np.random.default_rng(1)
    matrices = [scale * Q for Q in random_matrices(rng, 40, rank=rank)]
    near = [Q * (1.0 + 1e-9 * rng.standard_normal()) for Q in matrices]
    everything = [*matrices, *near, np.empty((0, 0)), np.array([[1.0]])]
    arguments = packed(everything)
    D = tt.pairwise_distances(everything)
    for row, Q in enumerate(everything):
        bounds = block_bounds(Q, *arguments)
        assert np.isfinite(bounds).all()
        assert (bounds * (1 - 1e-6) <= D[row]).all()


def test_bounds_of_diagonal_matrices_are_exact():
    """Without overlaps the blocks are everything."""
    Q, R = np.diag([1.0, 4.0, 9.0]), np.diag([4.0, 4.0, 1.0, 16.0])
    assert block_bounds(Q, *packed([R])) == pytest.approx(tt.pairwise_distances([Q, R])[0, 1])
