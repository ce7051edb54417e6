"""Matrices of a collection: packed, bounded, and compared pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from strategies import random_psd
from torelli.distances import METRICS
from torelli.search._matrix_collection import MatrixCollection

SIZES = (0, 1, 3, 20, 70, 20, 12)


@pytest.fixture(params=["ttw", "tte"])
def collection(request):
    rng = np.random.default_rng(0)
    return MatrixCollection.of(METRICS[request.param], [[random_psd(rng, size) for size in SIZES]])


def test_matrices_are_unpacked_as_they_were():
    """Packed triangles give back the matrices."""
    rng = np.random.default_rng(0)
    matrices = [random_psd(rng, size) for size in SIZES]
    collection = MatrixCollection.of(METRICS["ttw"], [matrices[:3], matrices[3:]])
    for Q, same in zip(matrices, collection.matrices(np.arange(len(SIZES))), strict=True):
        np.testing.assert_allclose(Q, same, rtol=1e-15)


def test_bounds_enclose_distances(collection):
    """Lower bounds and estimates enclose the distance of every pair, which is that of `tt.distance`."""
    items = np.arange(len(SIZES))
    for Q in collection.matrices(items):
        (query,) = collection.queries([Q])
        exact = collection.distances(query, items)
        lower, upper = collection.estimates(query, items)
        assert np.all(collection.lower_bounds(query) <= exact)
        assert np.all((lower <= exact) & (exact <= upper))
        name = collection.metric.name
        assert exact.tolist() == [tt.distance(Q, one, name) for one in collection.matrices(items)]


def test_distances_do_not_depend_on_the_batch(collection):
    """The distance of a pair is the same number alone and in any list."""
    (query,) = collection.queries(collection.matrices(np.array([4])))
    everything = collection.distances(query, np.arange(len(SIZES)))
    alone = [collection.distances(query, np.array([item]))[0] for item in range(len(SIZES))]
    assert everything.tolist() == alone


def test_matrices_of_a_file_are_checked_when_used(collection):
    """An entry that is not a number is an error of the query that meets it."""
    arrays = collection.arrays()
    arrays["entries"] = np.full_like(arrays["entries"], np.nan)
    broken = MatrixCollection.from_arrays(collection.metric, arrays)
    (query,) = collection.queries(collection.matrices(np.array([4])))
    with pytest.raises(tt.InvalidMatrixError):
        broken.distances(query, np.array([3]))
