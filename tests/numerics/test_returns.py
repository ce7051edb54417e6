"""Returns of random motions on metric graphs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torelli as tt
from strategies import metric_graphs
from torelli._numerics.diffusion import POSITIONS
from torelli._numerics.returns import returns, returns_large, thicknesses
from torelli._spaces import junctions


def arrays(graph):
    spaces = junctions([graph], 1)
    return spaces.tail, spaces.head, spaces.length, len(spaces.degree)


def by_finite_elements(tail, head, length, thickness, n_points, scale, n_elements=600):
    """Return scale-free returns by linear finite elements of equal number on each segment, densely."""
    nodes, size = [], n_points
    for u, v in zip(tail, head, strict=True):
        inner = np.arange(size, size + n_elements - 1)
        nodes.append(np.concatenate([[u], inner, [v]]))
        size += n_elements - 1
    A = np.zeros((size, size))
    for ends, x, a in zip(nodes, length, thickness, strict=True):
        step = x / n_elements
        for i, j in pairwise(ends):
            A[[i, j], [i, j]] += a * (scale / step + step / scale / 3)
            A[[i, j], [j, i]] += a * (-scale / step + step / scale / 6)
    green = np.linalg.inv(A + np.diag(np.diag(A) == 0.0))
    out = []
    for ends, a in zip(nodes, thickness, strict=True):
        at = POSITIONS * n_elements
        low = np.floor(at).astype(int)
        part = at - low
        one, two = green[ends[low], ends[low]], green[ends[low + 1], ends[low + 1]]
        out.append(2 * a * ((1 - part) * one + part * two))
    return np.array(out)


def test_returns_agree_with_finite_elements():
    """A graph with cycles, a loop, a bridge and a dead end has the returns of its differential equation."""
    tail, head = np.array([0, 1, 0, 2, 2, 3]), np.array([1, 2, 2, 3, 2, 3 + 1])
    length, thickness = np.array([1.0, 0.5, 2.0, 0.7, 0.9, 1.1]), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.05])
    for scale in (0.3, 1.0, 5.0):
        found = returns(tail, head, length, thickness, 5, scale)
        expected = by_finite_elements(tail, head, length, thickness, 5, scale, 120)
        np.testing.assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.parametrize("degree", [1, 3, 4, 9])
def test_returns_near_a_point_where_long_lines_meet(degree):
    """Where d long lines meet, returns are 2 / d; far from every point they are 1."""
    n = degree
    tail, head, length = np.zeros(n, np.int64), np.arange(1, n + 1), np.full(n, 200.0)
    found = returns(tail, head, length, np.ones(n), n + 1, 1.0)
    np.testing.assert_allclose(found[:, 1], 1.0, rtol=1e-12)
    short = returns(tail, head, np.full(n, 1e3), np.ones(n), n + 1, 1e3 / 1e-6 / 1e6)
    assert np.isfinite(short).all()
    # near the point: split each line there
    inner = np.concatenate([tail, np.arange(1, n + 1)]), np.concatenate([head, np.arange(n + 1, 2 * n + 1)])
    both = np.concatenate([np.full(n, 1e-9), np.full(n, 200.0)])
    near = returns(*inner, both, np.ones(2 * n), 2 * n + 1, 1.0)
    np.testing.assert_allclose(near[:n], 2.0 / degree, rtol=1e-6)


@pytest.mark.parametrize("ratio", [1e-3, 0.1, 1.0, 10.0, 1e6])
def test_returns_on_a_circle(ratio):
    """On a circle of length L, returns are coth(L / 2) in scales everywhere, and 1 on a long one."""
    found = returns(np.array([0]), np.array([0]), np.array([ratio]), np.ones(1), 1, 1.0)
    np.testing.assert_allclose(found, 1.0 / np.tanh(ratio / 2.0), rtol=1e-9)


@given(metric_graphs(max_parts=2), st.floats(0.01, 100.0))
@settings(max_examples=60)
def test_large_networks_have_the_same_returns(graph, scale):
    """Both ways to eliminate agree, also for loops, parallel segments, circles and several components."""
    *ends, length, n_points = arrays(graph)
    thickness = thicknesses(*ends, n_points, 0.05)
    one = returns(*ends, length, thickness, n_points, scale)
    assert (one > 0.0).all()
    np.testing.assert_allclose(returns_large(*ends, length, thickness, n_points, scale), one, rtol=1e-9)


@given(metric_graphs(max_parts=2))
def test_only_trees_are_thin(graph):
    """A segment is thin if it is a bridge with a side that is a tree."""
    *ends, _, n_points = arrays(graph)
    thickness = thicknesses(*ends, n_points, 0.25)
    kept = np.ones(len(thickness), dtype=bool)
    for _ in range(len(kept)):
        degree = np.bincount(np.concatenate([end[kept] for end in ends]), minlength=n_points)
        kept &= (degree[ends[0]] != 1) & (degree[ends[1]] != 1)
    np.testing.assert_array_equal(thickness, np.where(kept, 1.0, 0.25))


def test_parts_far_shorter_than_the_scale_hardly_matter():
    """A loop of a hundredth of the scale changes returns on a long circle by less than 3 percent."""
    circle = np.array([0, 1]), np.array([1, 0]), np.array([50.0, 50.0]), np.ones(2), 2, 1.0
    with_loop = np.array([0, 1, 0]), np.array([1, 0, 0]), np.array([50.0, 50.0, 0.01]), np.ones(3), 2, 1.0
    before, after = returns(*circle), returns(*with_loop)[:2]
    np.testing.assert_allclose(after, before, rtol=0.03)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("short", [1e-4, 1e-9, 1e-14])
def test_short_segments_beside_a_long_circle_keep_their_digits(short, large):
    """Three tiny segments side by side, attached to a circle, have the returns of the point of attachment."""
    tail, head = np.array([0, 0, 0, 0]), np.array([1, 1, 1, 0])
    length = np.array([short, short, short, 1.0])
    compute = returns_large if large else returns
    found = compute(tail, head, length, np.ones(4), 2, 1.0)
    # the Green's function is constant on parts far shorter than the scale, up to their total leak
    leak = 2.0 * np.tanh(0.5) + 3.0 * short
    np.testing.assert_allclose(found[:3], 2.0 / leak, rtol=3.0 * short + 1e-13)


@pytest.mark.parametrize("length", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_lengths_are_finite(length):
    """Lengths of any magnitude beside ordinary ones give finite, positive returns."""
    graph = tt.MetricGraph([0, 0, 0, 1], [1, 1, 0, 2], [1.0, length, 1.0, length])
    *ends, lengths, n_points = arrays(graph)
    found = returns(*ends, lengths, np.ones(len(lengths)), n_points, 1.0)
    assert np.isfinite(found).all()
    assert (found > 0.0).all()
