"""Densities of spread sources, against closed forms, a fine grid and conservation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import metric_graphs
from torelli._numerics.diffusion import POSITIONS, SHARES, diffuse, diffuse_large, sources
from torelli._spaces import junctions

SCALES = st.floats(0.05, 50.0)


def arrays(graph):
    """Return the segments of a graph, and sources at its points and on its segments."""
    space = junctions([graph], 1)
    given = sources(space.tail, space.head, space.length, space.mass, space.degree, 0.3)
    return (space.tail, space.head, space.length), given


def test_a_circle_and_an_interval_have_closed_forms():
    """A point source spreads as cosh: around a circle, and along a segment with closed ends."""
    scale = 0.7
    around = diffuse(
        np.array([0]), np.array([0]), np.array([2.0]), np.array([[3.0]]), np.zeros((1, 1)), scale
    )
    expected = 3.0 * np.cosh((2.0 * POSITIONS - 1.0) / scale) / (2.0 * scale * np.sinh(1.0 / scale))
    np.testing.assert_allclose(around[0, :, 0], expected, rtol=1e-12)
    tail, head, length = np.array([0]), np.array([1]), np.array([2.0])
    along = diffuse(tail, head, length, np.array([[3.0], [0.0]]), np.zeros((1, 1)), scale)
    expected = 3.0 * np.cosh(2.0 * (1.0 - POSITIONS) / scale) / (scale * np.sinh(2.0 / scale))
    np.testing.assert_allclose(along[0, :, 0], expected, rtol=1e-12)


@given(metric_graphs(), SCALES)
@settings(max_examples=40)
def test_a_constant_stays_and_both_routes_agree(graph, scale):
    """An even density does not change, and a sparse factorisation gives the same as stars."""
    edges, (at_points, on_segments) = arrays(graph)
    one = diffuse(*edges, at_points, on_segments, scale)
    np.testing.assert_allclose(
        one, diffuse_large(*edges, at_points, on_segments, scale), rtol=1e-9, atol=1e-9
    )
    even = diffuse(*edges, np.zeros_like(at_points), np.ones_like(on_segments), scale)
    np.testing.assert_allclose(even, 1.0, rtol=1e-9)


@given(metric_graphs())
@settings(max_examples=25)
def test_no_source_is_lost(graph):
    """Where the scale is long against the segments, the integral of the density is the whole source."""
    edges, (at_points, on_segments) = arrays(graph)
    length = edges[2]
    if not len(length):
        return
    isolated = np.bincount(np.concatenate(edges[:2]), minlength=len(at_points)) == 0
    at_points[isolated] = 0.0
    spread = diffuse(*edges, at_points, on_segments, 10.0 * length.max())
    total = at_points.sum(axis=0) + length @ on_segments
    np.testing.assert_allclose(np.einsum("s,p,spc->c", length, SHARES, spread), total, rtol=1e-6, atol=1e-6)


def test_very_short_and_very_long_segments_keep_their_digits():
    """A segment of a billionth beside one of a million neither overflows nor loses what flows through it."""
    tail, head = np.array([0, 1, 2]), np.array([1, 2, 3])
    length = np.array([1e6, 1e-9, 1.0])
    at_points = np.array([[1.0], [0.0], [0.0], [0.0]])
    on_segments = np.array([[0.0], [0.0], [1.0]])
    spread = diffuse(tail, head, length, at_points, on_segments, 1.0)
    joined = diffuse(tail[:2], head[:2], length[::2], at_points[:3], on_segments[::2], 1.0)
    assert np.isfinite(spread).all()
    np.testing.assert_allclose(spread[::2], joined, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("short", [1e-3, 1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_short_segments_keep_their_digits_in_large_graphs(short, share):
    """Segments far below the scale, all, some, or in a component of their own, cost no digit on any route."""
    i = np.arange(144).reshape(12, 12)
    tail = np.concatenate([i[:, :-1].ravel(), i[:-1].ravel(), [144, 144, 144]])
    head = np.concatenate([i[:, 1:].ravel(), i[1:].ravel(), [145, 145, 145]])
    rng = np.random.default_rng(0)
    length = np.where(rng.random(len(tail)) < share, short, 1.0) * rng.uniform(1.0, 2.0, len(tail))
    length[-3:] = [1e-8, 2e-8, 3e-8]
    degree = np.bincount(np.concatenate([tail, head])).astype(float)
    given = sources(tail, head, length, np.full(len(tail), 0.3), degree, 0.3)
    one = diffuse(tail, head, length, *given, 1.0)
    np.testing.assert_allclose(diffuse_large(tail, head, length, *given, 1.0), one, rtol=1e-9, atol=1e-12)


def test_sources_describe_the_graph():
    """A triangle with a short dead end: branching adds up to twice the excess, mass to 1, the tip fades."""
    tail, head = np.array([0, 0]), np.array([0, 1])
    length, mass, degree = np.array([3.0, 0.1]), np.array([1.0, 0.0]), np.array([3.0, 1.0])
    at_points, on_segments = sources(tail, head, length, mass, degree, 0.3)
    np.testing.assert_allclose(at_points, [[1, 0, 0], [-1, 0, 1 - np.exp(-1 / 3)]], rtol=1e-12)
    np.testing.assert_allclose(on_segments, [[0, 1 / 3, 0], [0, 0, 0]], rtol=1e-12)
    assert at_points[:, 0].sum() == pytest.approx(2.0 * (len(tail) - len(degree)))
