"""Spanning forests, fundamental cycles and their Gram matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from torelli._numerics.forest import argsort


@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, np.inf]) | st.floats(0, 1e300), max_size=40),
    st.sampled_from([1, 5, 10]),
)
def test_sorting_is_stable_whatever_the_length(values, times):
    """Short arrays are sorted in another way than long ones, with the same order, ties included."""
    array = np.array(values * times, dtype=np.float64)
    assert np.array_equal(argsort(array), np.argsort(array, kind="stable"))
