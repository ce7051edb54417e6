"""How often a random motion on a metric graph returns to where it is, at a given scale, exactly.

A motion that stops at a constant rate has the Green's function G of u - scale² u''. On an infinite line,
2 scale G(x, x) is 1. At a point where d lines meet it is 2 / d, at the end of a line 2, and near a cycle or a
dead end it lies in between: more where the motion cannot get away. Parts that are much shorter than the scale
have almost no influence.

On a segment, G(x, x) follows from its values at the ends. These are resistances of a network: a resistor for
each segment, and one from each point to the ground. Segments may have a thickness, which multiplies their
conductance: a thin segment hardly influences what it is attached to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.diffusion import POSITIONS
from torelli._numerics.forest import ints
from torelli._numerics.resistance import eliminate, resistances, resistances_of

if TYPE_CHECKING:
    from torelli._types import Floats, Ints

_SHORT, _LONG = 1e-100, 300.0  # lengths in scales; beyond these limits nothing changes


@compiled
def thicknesses(tail: Ints, head: Ints, n_points: int, of_trees: float) -> Floats:
    """Return the thickness of each segment: 1 in the 2-core, `of_trees` on trees that are attached to it."""
    thickness = np.empty(len(tail), np.float64)
    degree, inside = ints(n_points, 0), ints(n_points, 0)
    # the segments of the 2-core at each point, added up, which for a tip is its only one
    for segment in range(len(tail)):
        thickness[segment] = 1.0
        for point in (tail[segment], head[segment]):
            degree[point] += 1
            inside[point] += segment
    for first in range(n_points):
        point = first
        while degree[point] == 1:
            segment = inside[point]
            other = head[segment] if tail[segment] == point else tail[segment]
            thickness[segment] = of_trees
            for end in (point, other):
                degree[end] -= 1
                inside[end] -= segment
            point = other
    return thickness


@compiled
def network(
    tail: Ints, head: Ints, length: Floats, thickness: Floats, n_points: int, scale: float
) -> tuple[Ints, Ints, Floats]:
    """Return ends and resistances: of the segments, then from each point to the ground, node `n_points`."""
    n_segments = len(tail)
    one, two = np.empty(n_segments + n_points, np.int64), np.empty(n_segments + n_points, np.int64)
    resistance = np.zeros(n_segments + n_points, np.float64)
    for segment in range(n_segments):
        x = min(max(length[segment] / scale, _SHORT), _LONG)
        one[segment], two[segment] = tail[segment], head[segment]
        resistance[segment] = np.sinh(x) / thickness[segment]
        leak = thickness[segment] * np.tanh(x / 2.0)
        resistance[n_segments + tail[segment]] += leak
        resistance[n_segments + head[segment]] += leak
    for point in range(n_points):
        edge = n_segments + point
        one[edge], two[edge] = point, n_points
        # an isolated point has no segment and does not matter
        resistance[edge] = 1.0 / resistance[edge] if resistance[edge] > 0.0 else 1.0
    return one, two, resistance


@compiled
def between(
    tail: Ints, head: Ints, length: Floats, thickness: Floats, scale: float, effective: Floats
) -> Floats:
    """Return the returns on segments, given the resistances between the ends of the network's edges."""
    n_segments = len(tail)
    out = np.empty((n_segments, len(POSITIONS)), np.float64)
    for segment in range(n_segments):
        x = min(max(length[segment] / scale, _SHORT), _LONG)
        # from the ends to the ground, and from end to end
        at_tail, at_head = effective[n_segments + tail[segment]], effective[n_segments + head[segment]]
        both = (at_tail + at_head - effective[segment]) / 2.0
        for i in range(len(POSITIONS)):
            # ratios of hyperbolic sines, computed from exponentials that are at most 1
            far, near = POSITIONS[i], POSITIONS[len(POSITIONS) - 1 - i]
            whole, left, right = np.expm1(-2.0 * x), np.expm1(-2.0 * x * far), np.expm1(-2.0 * x * near)
            to_tail, to_head = np.exp(-x * far) * right / whole, np.exp(-x * near) * left / whole
            ends = to_tail * to_tail * at_tail + to_head * to_head * at_head + 2.0 * to_tail * to_head * both
            out[segment, i] = 2.0 * thickness[segment] * ends - left * right / whole
    return out


@compiled
def returns(tail: Ints, head: Ints, length: Floats, thickness: Floats, n_points: int, scale: float) -> Floats:
    """Return 2 scale G(x, x) on the segments of a small graph, times their thickness.

    Parameters
    ----------
    tail, head, length, thickness
        The segments between points 0, 1, ...
    n_points
        Number of points.
    scale
        How far the motion goes.

    Returns
    -------
    returns
        Array of shape (n_segments, 3), at the `POSITIONS` on each segment.
    """
    one, two, resistance = network(tail, head, length, thickness, n_points, scale)
    factor, _ = eliminate(one, two, resistance, n_points + 1)
    return between(tail, head, length, thickness, scale, resistances_of(one, two, factor))


def returns_large(
    tail: Ints, head: Ints, length: Floats, thickness: Floats, n_points: int, scale: float
) -> Floats:
    """Return the same as `returns` by an elimination for large networks.

    Parameters
    ----------
    tail, head, length, thickness, n_points, scale
        As for `returns`.
    """
    one, two, resistance = network(tail, head, length, thickness, n_points, scale)
    effective = resistances(one, two, resistance, n_points + 1)
    return between(tail, head, length, thickness, scale, effective)
