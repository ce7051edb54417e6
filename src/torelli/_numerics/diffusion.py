"""Diffusion on metric graphs: densities near each point, at a given scale, exactly.

A random motion that stops at a constant rate spreads a source. The resulting density u solves
u - scale² u'' = source on every segment, and the flows into each point balance its source. On a segment u is
a constant and two exponentials. So the values at the ends of segments determine u, and they are the voltages
of a network: a resistor for each segment, and one from each point to the ground.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from torelli._numerics.compile import compiled
from torelli._numerics.resistance import LANES, eliminate, eliminate_rest, solve

if TYPE_CHECKING:
    from torelli._types import Floats, Ints

POSITIONS = 0.5 + np.array([-0.5, 0.0, 0.5]) * np.sqrt(0.6)
"""Where on a segment a density is evaluated: the nodes of Gauss's rule, as shares of its length."""
SHARES = np.array([5.0, 8.0, 5.0]) / 18.0
"""The weights of Gauss's rule: the share of the length that each position represents."""
_LONG = 300.0  # in scales; nothing spreads this far, and exponentials do not overflow
_MAX_DENSITY = 1e100
_CORRECTIONS, _EXACT = 4, 1e-12  # of voltages: how often they are corrected, and when they are exact


@compiled
def diffuse(
    tail: Ints, head: Ints, length: Floats, at_points: Floats, on_segments: Floats, scale: float
) -> Floats:
    """Return the densities of spread sources on the segments of a small graph.

    Parameters
    ----------
    tail, head, length
        The segments between points 0, 1, ...
    at_points
        Amount of each source at each point, of shape (n_points, n_sources), with at most `LANES` sources.
    on_segments
        Density of each source on each segment, of shape (n_segments, n_sources).
    scale
        How far the sources spread.

    Returns
    -------
    densities
        Array of shape (n_segments, 3, n_sources), at the `POSITIONS` on each segment.
    """
    n_points, n_segments, n_sources = len(at_points), len(tail), at_points.shape[1]
    ground = n_points
    one, two = np.empty(3 * n_segments, np.int64), np.empty(3 * n_segments, np.int64)
    resistance = np.empty(3 * n_segments, np.float64)
    voltage = np.zeros((n_points + 1, LANES), np.float64)
    for segment in range(n_segments):
        x = min(length[segment] / scale, _LONG)
        leak = np.tanh(x / 2.0)
        u, v = tail[segment], head[segment]
        one[segment], two[segment], resistance[segment] = u, v, np.sinh(x)
        for end, point in ((1, u), (2, v)):
            edge = end * n_segments + segment
            one[edge], two[edge], resistance[edge] = point, ground, 1.0 / leak
    factor, _ = eliminate(one, two, resistance, n_points + 1)
    eliminate_rest(factor)
    rank = factor.rank
    for point in range(n_points):
        for source in range(n_sources):
            voltage[rank[point], source] = at_points[point, source] / scale
            voltage[rank[ground], source] -= at_points[point, source] / scale
    for segment in range(n_segments):
        leak = np.tanh(min(length[segment] / scale, _LONG) / 2.0)
        for source in range(n_sources):
            amount = leak * on_segments[segment, source]
            voltage[rank[tail[segment]], source] += amount
            voltage[rank[head[segment]], source] += amount
            voltage[rank[ground], source] -= 2.0 * amount
    solve(factor, voltage)
    ends = np.empty((n_points, n_sources), np.float64)
    for point in range(n_points):
        for source in range(n_sources):
            ends[point, source] = voltage[rank[point], source] - voltage[rank[ground], source]
    return _between(tail, head, length, ends, on_segments, scale)


def diffuse_large(
    tail: Ints, head: Ints, length: Floats, at_points: Floats, on_segments: Floats, scale: float
) -> Floats:
    """Return the same as `diffuse`, by a sparse factorisation whose cost grows little faster than the graph.

    Where that would lose digits, because segments are far shorter than the scale, `diffuse` itself is used.

    Parameters
    ----------
    tail, head, length, at_points, on_segments, scale
        As for `diffuse`.
    """
    x = np.minimum(length / scale, _LONG)
    conductance, leak = 1.0 / np.sinh(x), np.tanh(x / 2.0)
    right = at_points / scale
    np.add.at(right, tail, leak[:, None] * on_segments)
    np.add.at(right, head, leak[:, None] * on_segments)
    ends = _voltages(tail, head, conductance, leak, right)
    if ends is None:
        densities: Floats = diffuse(tail, head, length, at_points, on_segments, scale)
        return densities
    between: Floats = _between(tail, head, length, ends, on_segments, scale)
    return between


def _voltages(tail: Ints, head: Ints, conductance: Floats, leak: Floats, right: Floats) -> Floats | None:
    """Return the voltages of the points for given currents, or None if they cannot be computed exactly.

    If segments are far shorter than the scale, the sums of conductances and leaks lose the digits of the
    leaks. Voltages are therefore corrected until a correction no longer matters.
    """
    n_points = len(right)
    total = conductance + leak
    rows, columns = np.concatenate([tail, head, tail, head]), np.concatenate([tail, head, head, tail])
    values = np.concatenate([total, total, -conductance, -conductance])
    matrix = sp.coo_array((values, (rows, columns)), shape=(n_points, n_points)).tocsc()
    isolated = (np.bincount(np.concatenate([tail, head]), minlength=n_points) == 0).astype(np.float64)
    options = {"SymmetricMode": True}
    try:
        lu = splu(
            (matrix + sp.diags_array(isolated)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options=options,
        )
    except RuntimeError:  # singular: nothing is left of the leaks
        return None
    at_most: Floats = lu.solve(np.abs(right))
    voltages: Floats = lu.solve(right)
    for _ in range(_CORRECTIONS):
        # flows along segments from differences, which keep their digits
        flow = conductance[:, None] * (voltages[tail] - voltages[head])
        rest = right - isolated[:, None] * voltages
        np.subtract.at(rest, tail, flow + leak[:, None] * voltages[tail])
        np.add.at(rest, head, flow - leak[:, None] * voltages[head])
        correction = lu.solve(rest)
        voltages += correction
        if (np.abs(correction) <= _EXACT * np.abs(at_most)).all():
            return voltages
    return None


@compiled
def _between(
    tail: Ints, head: Ints, length: Floats, ends: Floats, on_segments: Floats, scale: float
) -> Floats:
    """Return the densities on segments, given those at their ends."""
    n_sources = ends.shape[1]
    densities = np.empty((len(tail), len(POSITIONS), n_sources), np.float64)
    for segment in range(len(tail)):
        x = min(length[segment] / scale, _LONG)
        for i in range(len(POSITIONS)):
            # ratios of hyperbolic sines, computed from exponentials that are at most 1
            far, near = POSITIONS[i], POSITIONS[len(POSITIONS) - 1 - i]
            to_tail = np.exp(-x * far) * np.expm1(-2.0 * x * near) / np.expm1(-2.0 * x)
            to_head = np.exp(-x * near) * np.expm1(-2.0 * x * far) / np.expm1(-2.0 * x)
            # 1 - to_tail - to_head, without a difference: densities of very short segments are huge
            stays = np.expm1(-x * far) * np.expm1(-x * near) / (1.0 + np.exp(-x))
            for source in range(n_sources):
                densities[segment, i, source] = (
                    to_tail * ends[tail[segment], source]
                    + to_head * ends[head[segment], source]
                    + stays * on_segments[segment, source]
                )
    return densities


@compiled
def sources(
    tail: Ints, head: Ints, length: Floats, mass: Floats, degree: Floats, short: float
) -> tuple[Floats, Floats]:
    """Return the sources that describe a metric graph: branching, mass and dead ends, in this order.

    Branching is degree - 2 at every point: it adds up when a segment between two points shrinks to a
    point. The mass is spread evenly on its segment. A dead end counts 1 - exp(-length / short) at its tip, so
    that it fades away as it shrinks.

    Parameters
    ----------
    tail, head, length, mass
        The segments and their canonical masses.
    degree
        Degree of each point.
    short
        Length below which dead ends count little.

    Returns
    -------
    at_points, on_segments
        As for `diffuse`.
    """
    at_points = np.zeros((len(degree), 3), np.float64)
    on_segments = np.zeros((len(tail), 3), np.float64)
    at_points[:, 0] = degree - 2.0
    for segment in range(len(tail)):
        on_segments[segment, 1] = min(mass[segment] / length[segment], _MAX_DENSITY)
        for point in (tail[segment], head[segment]):
            if degree[point] == 1.0:
                at_points[point, 2] = -np.expm1(-length[segment] / short)
    return at_points, on_segments
