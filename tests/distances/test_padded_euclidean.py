"""Distances between vectors that are padded with zeros."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from strategies import random_psd
from torelli.distances import _padded_euclidean


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
    found = tt.pairwise_distances(Qs, metric=metric, n_jobs=2, verbose=heard.append)
    assert np.allclose(found, expected, rtol=1e-9, atol=0)
    assert np.array_equal(found, found.T)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert np.allclose(tt.pairwise_distances(Qs, Qs[:21], metric), expected[:, :21], rtol=1e-9, atol=0)
