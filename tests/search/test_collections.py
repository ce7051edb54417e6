"""Collections of matrices and vectors: bounds never exceed distances, and stored arrays are checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from strategies import random_psd
from torelli import matrix
from torelli.distances import METRICS
from torelli.search._collections import (
    N_AXES,
    Groups,
    MatrixCollection,
    SketchTable,
    VectorCollection,
    collection_of_matrices,
    collection_of_vectors,
    project,
)

SIZES = (0, 1, 3, 20, 70, 20, 12)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 200),
    st.integers(-900, 900),
    st.integers(-900, 900),
    st.sampled_from([np.float64, np.float32]),
)
def test_no_bound_exceeds_the_distance(seed, width, unit, exponent, dtype):
    """Bounds are below the exact distances of the rows, in any units, and close to them."""
    rng = np.random.default_rng(seed)
    rows = (rng.uniform(-1, 1, (7, width)) * 10.0 ** rng.integers(-6, 1)).astype(dtype)
    x = rng.uniform(-1, 1, (1, width + 2))
    x[0, :width] = x[0, :width].astype(dtype)
    if seed % 2:
        x[0, :width], x[0, width:], exponent = rows[3], 0.0, unit
    (bounds,) = SketchTable(rows, unit, 0.0).lower_bounds(x, exponent, 0.0)
    top = max(unit, exponent)
    padded = np.pad(rows.astype(float), ((0, 0), (0, 2)))
    x, padded = np.ldexp(x[0], exponent - top), np.ldexp(padded, unit - top)
    exact = np.linalg.norm(x - padded, axis=1)
    assert np.all(np.ldexp(bounds, -top) <= exact * (1 - 1e-7) + 1e-300)
    norms = np.linalg.norm(x) + np.linalg.norm(padded, axis=1)
    slack = 1e-5 * exact + (0.02 if dtype == np.float32 else 1e-5) * norms
    assert np.all(np.ldexp(bounds, -top) >= exact - slack - 1e-15)


def test_relative_and_absolute_errors_are_subtracted():
    """The errors of the sketches lower the bounds."""
    rows, x = np.array([[3.0, 0.0]]), np.array([[0.0, 4.0]])
    exact = SketchTable(rows, 0, 0.0).lower_bounds(x, 0, 0.0)[0, 0]
    assert exact == pytest.approx(5.0, rel=1e-5)
    assert SketchTable(rows, 0, 0.1).lower_bounds(x, 0, 0.0)[0, 0] == pytest.approx(exact - 0.7, rel=1e-5)
    assert SketchTable(rows, 0, 0.0).lower_bounds(x, 0, 0.1)[0, 0] == pytest.approx(exact - 0.7, rel=1e-5)
    assert SketchTable(rows, 0, 0.0, 1.0).lower_bounds(x, 0, 0.0)[0, 0] == pytest.approx(exact - 1, rel=1e-5)


def test_bounds_that_overflow_are_infinite():
    """A distance that no float holds has an infinite bound, not a wrong one."""
    (bounds,) = SketchTable(np.ones((1, 4)), 1024, 0.0).lower_bounds(np.zeros((1, 4)), 0, 0.0)
    assert bounds.tolist() == [np.inf]


def test_sketches_without_columns_bound_nothing():
    """Rows of width 0 are all at distance 0 from a query of width 0."""
    (bounds,) = SketchTable(np.empty((3, 0)), 0, 0.0).lower_bounds(np.zeros((1, 0)), 0, 0.0)
    assert bounds.tolist() == [0.0] * 3


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
    distances = collection.distances(query, np.arange(3))
    assert distances[:2].tolist() == [0.0, 0.0]
    assert distances[2] == pytest.approx(1e-7)


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


def test_equal_arrays_are_one_group():
    """Arrays that are equal bit for bit share a group, also across calls."""
    groups = Groups()
    assert groups.add([np.zeros(2), np.ones(2), np.zeros(2)]) == [0, 1]
    assert groups.add([np.ones(2), np.full(2, 3.0)]) == [1]
    assert groups.array().tolist() == [0, 1, 0, 1, 2]


def test_parts_do_not_matter(monkeypatch):
    """Matrices that are made part by part are those that are made at once."""
    rings = [tt.MetricGraph([0] * n, [0] * n, np.arange(1.0, n + 1)) for n in (1, 3, 2, 3, 5, 1)]
    whole, group = collection_of_matrices(METRICS["ttw"], tt.TorelliMap(), rings, n_jobs=None, verbose=False)
    shown = []
    monkeypatch.setattr(matrix, "ENTRIES_AT_ONCE", 8)
    parts, same = collection_of_matrices(
        METRICS["ttw"], tt.TorelliMap(), rings, n_jobs=None, verbose=shown.append
    )
    assert group.tolist() == same.tolist() == [0, 1, 2, 1, 3, 0]
    assert whole.entries.tolist() == parts.entries.tolist()
    assert len(shown) > 1
    assert shown[-1] == 1.0


def test_different_vectors_are_not_copied():
    """Rows without repeats are used as they are."""
    X = np.arange(6.0).reshape(3, 2)
    assert collection_of_vectors(X)[0].vectors is X
    collection, group = collection_of_vectors(X[[0, 1, 0]])
    assert collection.vectors.tolist() == X[:2].tolist()
    assert group.tolist() == [0, 1, 0]
