"""The cost model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli._provenance import is_described
from torelli.scale.costs import calibration, pair_step, seconds, tile_seconds


def test_the_calibration_says_where_it_comes_from():
    """The tables name the command and the machine that they were measured with."""
    assert calibration()["command"] == "make bench CASES=scale"
    assert is_described(calibration()["machine"])


@pytest.mark.parametrize("step", calibration()["seconds"])
def test_costs_grow_with_size(step):
    """Larger is never quicker, within the table and beyond it, and everything takes some time."""
    times = seconds(step, np.geomspace(1, 1e5, 200))
    assert (np.diff(times) >= 0).all()
    assert (times > 0).all()
    known = calibration()["seconds"][step]
    last = list(known)[-1]
    assert seconds(step, float(last)) == pytest.approx(max(known.values()))


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(1, 8))
def test_tiles_cost_what_their_pairs_cost(sizes, side):
    """The cost of a tile is the sum over its pairs, of half of them on the diagonal."""
    size = np.array(sizes)
    for kernel in ("ttw", "tts"):
        costs = tile_seconds(kernel, size, side)
        step = pair_step(kernel)
        each = seconds(step, np.minimum.outer(size, size) if kernel == "ttw" else size.max())
        pairs = np.broadcast_to(each, (len(size), len(size)))
        for i in range(len(costs)):
            for j in range(len(costs)):
                part = pairs[i * side : (i + 1) * side, j * side : (j + 1) * side].sum()
                assert costs[i, j] == pytest.approx(part / (2 if i == j else 1))


def test_every_kernel_has_a_cost():
    """Kernels without a table of their own cost what vectors cost."""
    assert {name: pair_step(name) for name in tt.KERNELS} == {
        "ttw": "pair ttw",
        "tte": "pair tte",
        "tts": "pair of vectors",
        "ttm": "pair of vectors",
    }
