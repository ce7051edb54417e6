"""Distances between vectors that are padded with zeros."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import torelli as tt
from strategies import random_psd
from torelli.distances import _padded_euclidean
from torelli.distances._metric import DistanceWriter


def matrices(n=30, seed=0, largest=40):
    rng = np.random.default_rng(seed)
    return [random_psd(rng, int(size)) for size in rng.integers(0, largest, size=n)]


@pytest.mark.parametrize("metric", ["tte", "tts"])
@pytest.mark.parametrize("cost_of_lists", [20, 0])
def test_blocks_pieces_and_tiles_leave_no_seam(metric, cost_of_lists, monkeypatch):
    """All pairs are right where vectors are cut into blocks, coordinates into pieces, pairs into tiles."""
    Qs = matrices(60, largest=25)
    expected = tt.pairwise_distances(Qs, metric=metric)
    smallest = {"_BLOCK": 17, "_PIECE_BYTES": 2000, "_LEAST_TILE": 3, "_MOST_TILE": 5}
    for name, value in {**smallest, "_LISTED": cost_of_lists}.items():
        monkeypatch.setattr(_padded_euclidean, name, value)
    heard = []
    computed = tt.pairwise_distances(Qs, metric=metric, n_jobs=2, verbose=heard.append)
    assert np.allclose(computed, expected, rtol=1e-9, atol=0)
    assert np.array_equal(computed, computed.T)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert np.allclose(tt.pairwise_distances(Qs, Qs[:21], metric), expected[:, :21], rtol=1e-9, atol=0)


class Vectors:
    """Plain vectors of different length."""

    scale = None
    norms_known = True

    def __init__(self, vectors):
        self.vectors = vectors
        self.size = np.array([len(vector) for vector in vectors], dtype=np.int64)
        self.squared_norm = np.array([vector @ vector for vector in vectors])
        self.exponent = np.zeros(len(vectors), dtype=np.int32)

    def fill(self, items, start, stop, rows):
        """Write coordinates, with zeros beyond the end."""
        for row, item in zip(rows, items, strict=True):
            part = self.vectors[item][start:stop]
            row[:] = np.pad(part, (0, stop - start - len(part)))

    def difference(self, item, others, other):
        """Return the squared distance from the difference."""
        a, b = sorted((self.vectors[item], others.vectors[other]), key=len)
        return float(((np.pad(a, (0, len(b) - len(a))) - b) ** 2).sum()), 0

    def padded(self):
        """Return all vectors as one matrix."""
        return np.array([np.pad(vector, (0, 40 - len(vector))) for vector in self.vectors]).reshape(-1, 40)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.none() | st.integers(1, 30))
def test_agrees_with_scipy_on_padded_vectors(seed, n, m):
    """Of one list and of two, distances are those of vectors padded to one length, zeros included."""
    rng = np.random.default_rng(seed)

    def vectors(count):
        return Vectors([rng.integers(-3, 4, size=size).astype(float) for size in rng.integers(0, 40, count)])

    X = vectors(n)
    Y = None if m is None else vectors(m)
    out = np.full((n, n if m is None else m), np.nan)
    _padded_euclidean.squared_distances(X, Y, DistanceWriter(out, squared=True), 1, None)
    expected = cdist(X.padded(), (Y or X).padded(), "sqeuclidean")
    assert np.array_equal(out, expected)


def test_nearly_equal_vectors_keep_their_digits():
    """Where the norms cancel, the distance comes from the difference of the vectors."""
    vector = np.linspace(1.0, 2.0, 20)
    X = Vectors([vector, vector + 1e-9, np.append(vector, 1e-9)])
    out = np.empty((3, 3))
    _padded_euclidean.squared_distances(X, None, DistanceWriter(out, squared=False), 1, None)
    assert out[0, 1] == pytest.approx(1e-9 * np.sqrt(20), rel=1e-6)
    assert out[2, 0] == 1e-9
