"""TTW: known values, a second route, factors of singular matrices, and bounds in place of distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm

import torelli as tt
from strategies import random_psd
from torelli.distances import _ttw
from torelli.distances._metric import DistanceWriter
from torelli.distances._ttw import block_bounds


def test_known_values():
    """Diagonal matrices are as far apart as the roots of their entries, and missing entries are 0."""
    assert tt.distance([[4.0]], np.zeros((0, 0)), "ttw") == pytest.approx(2.0, rel=1e-15)
    assert tt.distance([[9.0]], [[4.0]], "ttw") == pytest.approx(1.0, rel=1e-15)
    assert tt.distance(np.diag([9.0, 16.0]), np.diag([4.0, 1.0]), "ttw", squared=True) == pytest.approx(10.0)


@given(st.integers(0, 2**32 - 1))
def test_two_by_two_matrices_have_a_closed_form(seed):
    """The root of a 2 by 2 product has the trace √(tr AB + 2 √det AB)."""
    rng = np.random.default_rng(seed)
    A, B = random_psd(rng, 2), random_psd(rng, 2)
    middle = np.sqrt(np.trace(A @ B) + 2 * np.sqrt(np.linalg.det(A @ B)))
    expected = np.trace(A) + np.trace(B) - 2 * middle
    assert tt.distance(A, B, "ttw", squared=True) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("sizes", [(_ttw.SMALL, _ttw.SMALL), (_ttw.SMALL + 1, 30), (7, 25)])
def test_agrees_with_roots_of_matrices(sizes):
    """On both sides of the switch of methods the distance is that of scipy's matrix square roots."""
    rng = np.random.default_rng(sizes)
    A, B = (random_psd(rng, size) for size in sizes)
    padded = np.pad(A, (0, len(B) - len(A)))
    root = sqrtm(B)
    middle = np.trace(sqrtm(root @ padded @ root + 1e-14 * np.eye(len(B)))).real
    expected = np.trace(A) + np.trace(B) - 2 * middle
    assert tt.distance(A, B, "ttw", squared=True) == pytest.approx(expected, rel=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(1, 14), st.integers(0, 14))
def test_factors_are_triangular_and_give_the_matrix_back(seed, size, rank):
    """Also a singular matrix is L Lᵀ for a lower triangular L."""
    Q = random_psd(np.random.default_rng(seed), size, min(rank, size))
    L = _ttw.triangular_factor(Q)
    assert np.array_equal(L, np.tril(L))
    np.testing.assert_allclose(L @ L.T, Q, rtol=0, atol=1e-12 * max(Q.max(), 1.0))


def test_a_matrix_with_a_negative_eigenvalue_has_no_factor():
    """The error states the size and how negative the matrix is, relative to its largest eigenvalue."""
    with pytest.raises(
        tt.InvalidMatrixError, match=r"size 2 is not positive semi-definite: .* -0\.333 times"
    ):
        _ttw.triangular_factor(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("size", [4, 15])
def test_beyond_the_cutoff_a_lower_bound_above_it_is_allowed(size):
    """Squares up to the cutoff are exact; what stands for the others is above it and at most d²."""
    rng = np.random.default_rng(size)
    Qs = [random_psd(rng, size) * scale for scale in (1.0, 1.1, 1.2, 100.0, 110.0)]
    exact = tt.pairwise_distances(Qs, metric="ttw", squared=True)
    cutoff = 2 * exact[:3, :3].max()
    out = np.zeros((5, 5))
    writer = DistanceWriter(out, squared=True, cutoff=cutoff)
    _ttw.squared_ttw(Qs, None, writer, 1, None)
    near = exact <= cutoff
    assert near.sum() < near.size
    assert np.array_equal(out[near], exact[near])
    assert (out[~near] > cutoff).all()
    assert (out <= exact * (1 + 1e-12)).all()
    assert writer.wrote_bounds == (size > _ttw.SMALL)


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=9),
    st.lists(st.integers(0, 30), unique=True, max_size=9),
)
def test_pairs_are_a_row_with_each_later_partner(rows, partners):
    """Of all combinations, those are listed whose partner comes after the row, row by row."""
    rows, partners = sorted(rows), sorted(partners)
    expected = [(row, partner) for row in rows for partner in partners if partner > row]
    after = _ttw.pairs_after(np.array(rows, dtype=np.int64), np.array(partners, dtype=np.int64))
    assert list(zip(*(side.tolist() for side in after), strict=True)) == expected


def test_the_order_does_not_depend_on_the_list():
    """Matrices of one size and trace are ordered by their entries, wherever they stand."""
    matrices = [np.diag([1.0, 3.0]), np.diag([2.0, 2.0]), np.eye(1), np.diag([3.0, 1.0]), np.zeros((0, 0))]

    def ordered(matrices):
        genus = np.array([len(Q) for Q in matrices])
        trace = np.array([Q.trace() for Q in matrices])
        order = _ttw.order_by_content(matrices, genus, trace, np.zeros(len(matrices), np.int32))
        return [matrices[i].tolist() for i in order]

    assert ordered(matrices) == ordered(matrices[::-1])
    assert [len(Q) for Q in ordered(matrices)] == [0, 1, 2, 2, 2]


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
