"""Operations on straight-line plans of streets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torelli.datasets import _street_plans as plans

SEEDS = st.integers(min_value=0, max_value=2**32)


def test_bends_are_joined_and_lengths_added() -> None:
    """A chain between two junctions becomes one street; a ring without junctions is left out."""
    points = np.arange(18.0).reshape(9, 2)
    # a triangle 0-1-2 with tails at 0 and 1, whose side through 2 bends; a ring 5-6-7; 3-8 bends on
    ends = np.array([[0, 1], [1, 2], [2, 0], [0, 3], [1, 4], [5, 6], [6, 7], [7, 5], [3, 8]])
    joined = plans.join_bends(plans.Streets(points, ends, 2.0 ** np.arange(9)))
    assert joined.points.tolist() == points[[0, 1, 4, 8]].tolist()
    streets = sorted((*sorted(pair), x) for pair, x in zip(joined.ends.tolist(), joined.length, strict=True))
    assert streets == [(0, 1, 1.0), (0, 1, 2.0 + 4.0), (0, 3, 8.0 + 256.0), (1, 2, 16.0)]


@given(seed=SEEDS, cuts=st.integers(0, 12))
@settings(max_examples=30, deadline=None)
def test_splitting_streets_keeps_their_length(seed, cuts) -> None:
    """Cutting streets at any places adds that many nodes and streets and no length."""
    rng = np.random.default_rng(seed)
    plan = plans.Plan(rng.random((4, 2)), np.array([[0, 1], [1, 2], [2, 3], [0, 3]]))
    edge, at = rng.integers(4, size=cuts), rng.uniform(0.01, 0.99, size=cuts)
    finer, nodes = plans.split(plan, edge, at)
    assert len(finer.ends) == 4 + cuts
    assert plans.straight_lengths(finer).sum() == pytest.approx(plans.straight_lengths(plan).sum())
    start, stop = plan.points[plan.ends[edge, 0]], plan.points[plan.ends[edge, 1]]
    np.testing.assert_allclose(finer.points[nodes], start + at[:, None] * (stop - start))
    assert (plans.node_degrees(len(finer.points), finer.ends) == 2).all()
