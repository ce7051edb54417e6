"""Operations on straight-line plans of streets."""

from __future__ import annotations

import networkx as nx
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


def random_plan(rng, n_points=8, n_streets=10):
    """Return a plan of random streets, none of them a point."""
    ends = rng.integers(n_points, size=(n_streets, 2))
    return plans.Plan(rng.uniform(-10, 10, size=(n_points, 2)), ends[ends[:, 0] != ends[:, 1]])


CROSS = plans.Plan(np.array([[-4.0, 0.0], [4.0, 0.0], [0.0, 3.0], [0.0, 6.0]]), np.array([[0, 1], [2, 3]]))
"""A street from west to east, and one to the north that does not reach it."""


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_the_nearest_street_is_nearest(seed):
    """The distance is the smallest to a thousand points on each street, and is reached where it says."""
    rng = np.random.default_rng(seed)
    plan, points = random_plan(rng), rng.uniform(-12, 12, size=(5, 2))
    edge, fraction, distance = plans.nearest_street(plan, points)
    start, stop = plan.points[plan.ends[:, 0]], plan.points[plan.ends[:, 1]]
    on_streets = start + np.linspace(0, 1, 1001)[:, None, None] * (stop - start)
    brute = np.linalg.norm(on_streets[None] - points[:, None, None], axis=-1).min(axis=(1, 2))
    assert (distance <= brute + 1e-9).all()
    np.testing.assert_allclose(distance, brute, atol=0.03)
    foot = start[edge] + fraction[:, None] * (stop - start)[edge]
    np.testing.assert_allclose(np.linalg.norm(foot - points, axis=1), distance)


def test_the_street_ahead_is_the_first_that_is_met():
    """From the end of a street, straight on: the crossing street, or none behind and to the side."""
    points = np.array([[0.0, 3.0], [0.0, 3.0], [1.0, -2.0], [9.0, -2.0]])
    heading = np.array([[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    edge, fraction, distance = plans.street_ahead(CROSS, points, heading)
    assert distance.tolist() == [3.0, np.inf, 2.0, np.inf]
    assert edge[[0, 2]].tolist() == [0, 0]
    assert fraction[[0, 2]].tolist() == [0.5, 0.625]


def test_dead_ends_go_on_to_the_next_street_or_its_junction():
    """A prolonged street makes a new node on the one it meets, or takes the junction that is near."""
    rng = np.random.default_rng(0)
    longer = plans.go_on(CROSS, 1.0, 5.0, rng, half_side=10.0, snap=0.5)
    assert longer.points[4:].tolist() == [[0.0, 0.0]]
    assert sorted(map(sorted, longer.ends.tolist())) == [[0, 4], [1, 4], [2, 3], [2, 4]]
    snapped = plans.go_on(CROSS, 1.0, 5.0, rng, half_side=10.0, snap=4.5)
    assert len(snapped.points) == 4
    assert len(snapped.ends) == 3
    out_of_reach = plans.go_on(CROSS, 1.0, 2.0, rng, half_side=10.0, snap=0.5)
    assert out_of_reach.ends.tolist() == CROSS.ends.tolist()


def crossings(plan):
    """Count pairs of streets without a common end that meet, by orientation."""

    def side(a, b, c):
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    count = 0
    for i, (a, b) in enumerate(plan.ends.tolist()):
        for c, d in plan.ends.tolist()[:i]:
            if not {a, b} & {c, d}:
                p, q, r, s = plan.points[[a, b, c, d]]
                count += side(p, q, r) * side(p, q, s) < 0 and side(r, s, p) * side(r, s, q) < 0
    return count


@given(SEEDS)
@settings(max_examples=15, deadline=None)
def test_side_streets_and_lots_cross_nothing(seed):
    """Streets that grow, and lanes around lots, leave a plan without crossings without any."""
    rng = np.random.default_rng(seed)
    ring = plans.Plan(
        np.array([[-90.0, -90.0], [90.0, -90.0], [90.0, 90.0], [-90.0, 90.0]]),
        np.array([[0, 1], [1, 2], [2, 3], [3, 0]]),
    )
    grown = plans.grow(ring, 8.0, (10.0, 60.0), rng, half_side=100.0, clearance=5.0)
    whole = plans.add_lots(grown, 8.0, (10.0, 40.0), rng, half_side=100.0)
    assert crossings(whole) == 0
    G = nx.Graph(whole.ends.tolist())
    assert nx.is_connected(G)
    # each lot closes one cycle more, each side street none
    n_lots = (len(whole.points) - len(grown.points)) // 4
    assert len(whole.ends) - len(whole.points) == n_lots


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_the_largest_component_is_that_of_networkx(seed):
    """It has as many nodes as networkx's largest, and its streets keep their lengths and ends."""
    rng = np.random.default_rng(seed)
    plan = random_plan(rng, n_points=12, n_streets=8)
    streets = plans.Streets(*plan, rng.uniform(1, 2, size=len(plan.ends)))
    part = plans.largest_part(streets)
    G = nx.MultiGraph()
    G.add_nodes_from(range(12))
    G.add_edges_from(plan.ends.tolist())
    assert len(part.points) == max(map(len, nx.connected_components(G)))
    triples = {(*plan.points[ends].ravel(), x) for ends, x in zip(streets.ends, streets.length, strict=True)}
    assert {
        (*part.points[ends].ravel(), x) for ends, x in zip(part.ends, part.length, strict=True)
    } <= triples


def test_short_streets_are_contracted_to_their_middle():
    """Two junctions half a metre apart become one between them, and parallel streets one street."""
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 9.0], [9.0, 0.0]])
    plan = plans.Plan(points, np.array([[0, 1], [0, 2], [1, 2], [1, 3]]))
    merged = plans.merge_close(plan, 1.0)
    assert merged.points.tolist() == [[0.25, 0.0], [0.0, 9.0], [9.0, 0.0]]
    assert merged.ends.tolist() == [[0, 1], [0, 2]]


def test_a_crop_keeps_the_streets_of_the_nodes_inside():
    """A street with one end in the square stays with both of its ends; one without goes."""
    points = np.array([[0.0, 0.0], [5.0, 0.0], [20.0, 0.0], [30.0, 0.0]])
    plan = plans.Plan(points, np.array([[0, 1], [1, 2], [2, 3]]))
    assert plans.crop(plan, 10.0).points.tolist() == points[:3].tolist()
    assert plans.crop(plan, 10.0).ends.tolist() == [[0, 1], [1, 2]]
    far = plan._replace(points=points + 100.0)
    assert plans.crop(far, 10.0) is far


def test_a_turned_plan_has_the_same_lengths():
    """A quarter turn takes east to north, and any turn keeps the lengths of streets."""
    turned = plans.rotate(CROSS, np.pi / 2)
    np.testing.assert_allclose(turned.points[1], [0.0, 4.0], atol=1e-12)
    np.testing.assert_allclose(plans.straight_lengths(plans.rotate(CROSS, 0.7)), [8.0, 3.0])
