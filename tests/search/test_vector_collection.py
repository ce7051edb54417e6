"""Vectors of a collection: projected on axes, bounded, and compared by differences."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.search._vector_collection import N_AXES, VectorCollection, project


def vectors(width, n=200, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    low = rng.normal(size=(n, 5)) @ rng.normal(size=(5, width))
    return (low + 0.01 * rng.normal(size=(n, width)) + 3.0).astype(dtype)


@pytest.mark.parametrize("width", [0, 1, 40, 96, 97, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bounds_are_below_distances(width, dtype):
    """No bound exceeds its distance, and for long vectors of few directions they are close."""
    X = vectors(width, dtype=dtype)
    collection = VectorCollection.of(X, 1e-9)
    for x in (*X[:3].astype(float), np.zeros(width), np.full(width, 1e8)):
        (query,) = collection.queries([x])
        exact = collection.distances(query, np.arange(len(X)))
        plain = np.linalg.norm(X.astype(float) - x, axis=1)
        np.testing.assert_allclose(exact, plain, rtol=1e-12, atol=1e-9)
        bounds = collection.lower_bounds(query)
        assert np.all(bounds <= exact)
        if width:
            assert np.median(bounds / np.maximum(exact, 1e-9)) > 0.9


def test_sketches_of_long_vectors_are_short():
    """Vectors longer than 96 have sketches of 64 coordinates and the norm of the rest, in float32."""
    rows = VectorCollection.of(vectors(300), 1e-9).tables[0].rows
    assert rows.shape == (200, N_AXES + 1)
    assert rows.dtype == np.float32


def test_projection_keeps_norms():
    """Coordinates and the rest together have the norm of what was projected."""
    X = vectors(120)
    collection = VectorCollection.of(X, 1e-9)
    rows = project(X, collection.centre, collection.axes)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.linalg.norm(X - collection.centre, axis=1))


def test_longer_queries_count_what_is_beyond():
    """Coordinates of a query beyond the width of the collection are part of its distance."""
    collection = VectorCollection.of(np.array([[3.0], [0.0]]), 0.0)
    (query,) = collection.queries([np.array([0.0, 4.0])])
    assert collection.distances(query, np.array([0, 1])).tolist() == [5.0, 4.0]
    assert np.all(collection.lower_bounds(query) <= [5.0, 4.0])
    (short,) = VectorCollection.of(np.array([[3.0, 4.0]]), 0.0).queries([np.empty(0)])
    assert VectorCollection.of(np.array([[3.0, 4.0]]), 0.0).distances(short, np.array([0])).tolist() == [5.0]


def test_rounding_is_distance_zero():
    """Vectors that differ by less than the tolerance are at distance exactly 0."""
    X = np.array([[1.0, 2.0], [1.0 + 1e-10, 2.0], [1.0 + 1e-7, 2.0]])
    collection = VectorCollection.of(X, 1e-9)
    (query,) = collection.queries([X[0]])
    found = collection.distances(query, np.arange(3))
    assert found[:2].tolist() == [0.0, 0.0]
    assert found[2] == pytest.approx(1e-7)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_of_a_file_are_checked_when_used(value):
    """A vector that is not finite is an error of the query that meets it, not a neighbour."""
    collection = VectorCollection.of(vectors(120), 1e-9)
    arrays = collection.arrays()
    arrays["vectors"] = np.full_like(arrays["vectors"], value)
    broken = VectorCollection.from_arrays(arrays, 1e-9)
    for x in (np.ones(120), np.zeros(120)):
        (query,) = broken.queries([x])
        with pytest.raises(tt.FormatError, match="not finite"):
            broken.distances(query, np.array([3]))
