"""Distances between matrices that are mostly zero, by lists of what is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli._numerics.sparse_products import Squeezed, add_products, lists_of, nonzero_part, squeeze
from torelli.distances import _padded_euclidean


def sparse_psd(rng, size, density=0.03):
    """Return a Gram matrix of random sparse vectors."""
    A = rng.standard_normal((size, 2 * size)) * (rng.random((size, 2 * size)) < density)
    return A @ A.T


@pytest.fixture(scope="module")
def sparse():
    """Return enough sparse matrices for lists to pay."""
    rng = np.random.default_rng(0)
    Qs = [sparse_psd(rng, int(size)) for size in rng.integers(0, 70, 400)]
    Qs[7] = np.zeros((30, 30))
    Qs[8], Qs[9] = Qs[3] * (1 + 1e-9), Qs[3].copy()
    return Qs


@pytest.fixture
def uses(monkeypatch):
    """Count how many pieces were listed, and how many multiplied as dense matrices."""
    computed = {"_add_lists": 0, "_multiply": 0}

    def watched(name, function):
        def call(*arguments):
            computed[name] += 1
            function(*arguments)

        return call

    for name in computed:
        monkeypatch.setattr(_padded_euclidean, name, watched(name, getattr(_padded_euclidean, name)))
    return computed


def plain(X, Y):
    """Return the squared distances from the definition, one by one."""
    out = np.empty((len(X), len(Y)))
    for i, A in enumerate(X):
        for j, B in enumerate(Y):
            D = np.zeros((max(len(A), len(B)),) * 2)
            D[: len(A), : len(A)] = A
            D[: len(B), : len(B)] -= B
            out[i, j] = (D**2).sum()
    return out


def test_sparse_matrices_are_listed_and_the_distances_right(sparse, uses):
    """Of one list and of two, near ones and equal ones too, the same bits for every number of threads."""
    expected = plain(sparse, sparse[:150])
    computed = tt.pairwise_distances(sparse, metric="tte", squared=True)
    assert uses["_add_lists"] > 0
    assert np.allclose(computed[:, :150], expected, rtol=1e-9, atol=0)
    assert np.array_equal(computed, computed.T)
    assert computed[3, 9] == 0.0
    assert np.array_equal(tt.pairwise_distances(sparse, metric="tte", squared=True, n_jobs=2), computed)
    uses["_add_lists"] = 0
    two = tt.pairwise_distances(sparse, sparse[:150], "tte", squared=True, n_jobs=2)
    assert uses["_add_lists"] > 0
    assert np.allclose(two, expected, rtol=1e-9, atol=0)


def test_lists_keep_their_digits_where_single_precision_is_asked_for(sparse, uses):
    """Matrices far apart in scale are multiplied by powers of two before, and that is undone."""
    mixed = [Q * 10.0 ** (i % 5 * 6 - 12) for i, Q in enumerate(sparse)]
    computed = tt.pairwise_distances(mixed, metric="tte", dtype="float32")
    assert uses["_add_lists"] > 0
    assert np.allclose(computed, tt.pairwise_distances(mixed, metric="tte"), rtol=1e-5, atol=0)


def test_dense_matrices_are_not_listed(uses):
    """Where nothing is zero, products of matrices are many times as fast."""
    rng = np.random.default_rng(0)
    tt.pairwise_distances([sparse_psd(rng, 20, density=1.0) for _ in range(300)], metric="tte")
    assert uses == {"_add_lists": 0, "_multiply": uses["_multiply"]}
    assert uses["_multiply"] > 0


@pytest.mark.usefixtures("tu")
def test_large_molecules_are_listed(uses):
    """Cycles of the proteins of DD are mostly far from each other."""
    Qs = tt.torelli_matrices(tt.datasets.load_tu("DD").graphs[:300], max_genus=100)
    computed = tt.pairwise_distances(Qs, metric="tte", squared=True, n_jobs=2)
    assert uses["_add_lists"] > 0
    assert np.allclose(computed[:20], plain(Qs[:20], Qs), rtol=1e-9, atol=0)


@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 12), st.integers(1, 30), st.floats(0.0, 1.0))
def test_lists_give_the_products_of_matrices(seed, n_left, n_right, n_columns, density):
    """Whatever the pattern of zeros, for every range of columns and rows."""
    rng = np.random.default_rng(seed)
    sides = [
        rng.integers(-3, 4, (n, n_columns)) * (rng.random((n, n_columns)) < density) * 1.0
        for n in (n_left, n_right)
    ]
    cut = int(rng.integers(n_columns + 1))
    lists = []
    for rows in sides:
        packed, length = rows.copy(), np.empty(len(rows), dtype=np.int64)
        column = np.empty(rows.shape, dtype=np.uint32)
        squeeze(packed, length, column)
        squeezed = Squeezed(length, column, packed)
        lists.append([lists_of(squeezed, 0, cut), lists_of(squeezed, cut, n_columns)])
    a, b = sorted(rng.integers(0, n_left + 1, 2).tolist())
    c, d = sorted(rng.integers(0, n_right + 1, 2).tolist())
    computed = np.zeros((n_left + 2, n_right + 3))
    for left, right in zip(*lists, strict=True):
        add_products(left, right, computed, (2, 3), slice(a, b), slice(c, d))
    expected = np.zeros_like(computed)
    expected[2 + a : 2 + b, 3 + c : 3 + d] = sides[0][a:b] @ sides[1][c:d].T
    assert np.array_equal(computed, expected)
    if n_left and n_right:
        share = np.mean([(x != 0) & (y != 0) for x in sides[0] for y in sides[1]])
        assert nonzero_part(*sides) == pytest.approx(share)
