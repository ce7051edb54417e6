"""Lower bounds of distances from sketches, with what rounding may add."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli.search._sketch_table import SketchTable


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
