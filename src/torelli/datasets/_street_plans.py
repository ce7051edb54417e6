"""Straight-line plans of streets: the operations that the street patterns are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats

    Integers = NDArray[np.int64]
    Mask = NDArray[np.bool_]


_CLUSTER_TRIES = 20
_BEND = 2  # street ends that meet in a bend
_AHEAD = 1e-6
# half the width of a lot as a share of its depth; below 1, so that its lane lies in the disc around its
# middle that no street enters
_LOT_SHAPE = (0.3, 0.7)


class Plan(NamedTuple):
    """Points in the plane and the pairs of them that a straight street joins."""

    points: Floats
    ends: Integers


class Streets(NamedTuple):
    """A plan whose streets have a length of their own, no shorter than the straight line."""

    points: Floats
    ends: Integers
    length: Floats


def node_degrees(n_nodes: int, ends: Integers) -> Integers:
    """Return the number of edge ends at each node; a loop counts twice."""
    return np.bincount(ends.ravel(), minlength=n_nodes).astype(np.int64)


def straight_lengths(plan: Plan) -> Floats:
    """Return the Euclidean length of each street."""
    span = plan.points[plan.ends[:, 1]] - plan.points[plan.ends[:, 0]]
    return np.hypot(span[:, 0], span[:, 1])


def node_components(n_nodes: int, ends: Integers) -> Integers:
    """Return the component of each node, as a number from 0."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def restrict(ends: Integers, keep: Mask) -> tuple[Integers, Mask]:
    """Return the ends, renumbered, of the edges with both ends among the kept nodes, and which they are."""
    inside = keep[ends[:, 0]] & keep[ends[:, 1]]
    return (np.cumsum(keep) - 1)[ends[inside]], inside


def keep_nodes(plan: Plan, keep: Mask) -> Plan:
    """Return the plan induced on some of its points."""
    return Plan(plan.points[keep], restrict(plan.ends, keep)[0])


def largest_component(n_nodes: int, ends: Integers) -> Mask:
    """Return which nodes lie in the component with the most nodes (the first of several such)."""
    component = node_components(n_nodes, ends)
    largest: Mask = component == np.bincount(component).argmax()
    return largest


def crop(plan: Plan, half_side: float) -> Plan:
    """Return the streets with an end in the square around the origin.

    Their other ends stay too: a junction inside must not look like a bend for want of its streets.
    A plan without a street that ends inside is returned whole.
    """
    inside = in_square(plan.points, half_side)
    if not inside[plan.ends].any():
        return plan
    ends = plan.ends[inside[plan.ends].any(axis=1)]
    keep = np.zeros(len(plan.points), dtype=bool)
    keep[ends] = True
    return keep_nodes(plan._replace(ends=ends), keep)


def in_square(points: Floats, half_side: float) -> Mask:
    """Return which points lie in the square around the origin."""
    return np.asarray((np.abs(points) <= half_side).all(axis=1))


def rotate(plan: Plan, angle: float) -> Plan:
    """Return the plan turned around the origin."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return plan._replace(points=plan.points @ np.array([[cosine, sine], [-sine, cosine]]))


def thin(plan: Plan, share: float, rng: np.random.Generator) -> Plan:
    """Remove a random share of the streets."""
    return plan._replace(ends=plan.ends[rng.random(len(plan.ends)) >= share])


def merge_close(plan: Plan, tolerance: float) -> Plan:
    """Contract the streets shorter than the tolerance: three-way junctions become four-way ones.

    Streets are straight, so two between the same points are one.
    """
    short = straight_lengths(plan) < tolerance
    place = node_components(len(plan.points), plan.ends[short])
    count = np.bincount(place)
    points = np.column_stack([np.bincount(place, weights=axis) / count for axis in plan.points.T])
    ends = np.sort(place[plan.ends], axis=1)
    return Plan(points, np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0))


def split(plan: Plan, edge: Integers, fraction: Floats) -> tuple[Plan, Integers]:
    """Put a point on streets, at a fraction of each; return the plan and the new nodes in input order."""
    order = np.lexsort((fraction, edge))
    cut = edge[order]
    node = len(plan.points) + np.arange(len(cut))
    start, stop = plan.points[plan.ends[cut, 0]], plan.points[plan.ends[cut, 1]]
    points = start + fraction[order, None] * (stop - start)
    is_first = np.ones(len(cut), dtype=bool)
    is_first[1:] = cut[1:] != cut[:-1]
    is_last = np.append(is_first[1:], [True] * (len(cut) > 0))
    first_stop = plan.ends[:, 1].copy()
    first_stop[cut[is_first]] = node[is_first]
    cut_stop = np.where(is_last, plan.ends[cut, 1], node + 1)
    ends = np.concatenate(
        [np.column_stack([plan.ends[:, 0], first_stop]), np.column_stack([node, cut_stop])],
    )
    new_nodes = np.empty(len(cut), dtype=np.int64)
    new_nodes[order] = node
    return Plan(np.concatenate([plan.points, points]), ends), new_nodes


def nearest_street(plan: Plan, points: Floats) -> tuple[Integers, Floats, Floats]:
    """Return for each point the nearest street, where on it (a fraction) and how far away."""
    start = plan.points[plan.ends[:, 0]]
    span = plan.points[plan.ends[:, 1]] - start
    x = points[:, 0, None] - start[:, 0]
    y = points[:, 1, None] - start[:, 1]
    fraction = np.clip((x * span[:, 0] + y * span[:, 1]) / (span**2).sum(axis=1), 0.0, 1.0)
    squared = (x - fraction * span[:, 0]) ** 2 + (y - fraction * span[:, 1]) ** 2
    row = np.arange(len(points))
    edge = squared.argmin(axis=1)
    return edge, fraction[row, edge], np.sqrt(squared[row, edge])


def street_ahead(plan: Plan, points: Floats, heading: Floats) -> tuple[Integers, Floats, Floats]:
    """Return for each point the first street in a direction, where on it (a fraction) and how far.

    `heading` has unit vectors; the distance is infinite where there is no street ahead.
    """
    start = plan.points[plan.ends[:, 0]]
    span = plan.points[plan.ends[:, 1]] - start
    x = start[:, 0] - points[:, 0, None]
    y = start[:, 1] - points[:, 1, None]
    turn = heading[:, 0, None] * span[:, 1] - heading[:, 1, None] * span[:, 0]
    turn[turn == 0.0] = np.nan
    fraction = (x * heading[:, 1, None] - y * heading[:, 0, None]) / turn
    distance = (x * span[:, 1] - y * span[:, 0]) / turn
    # streets that start at the point itself are at distance 0 up to rounding: they are not ahead
    distance[~((fraction >= 0.0) & (fraction <= 1.0) & (distance > _AHEAD))] = np.inf
    row = np.arange(len(points))
    edge = distance.argmin(axis=1)
    return edge, fraction[row, edge], distance[row, edge]


def grow(
    plan: Plan,
    per_hectare: float,
    reach: tuple[float, float],
    rng: np.random.Generator,
    *,
    half_side: float,
    clearance: float,
    cluster: float | None = None,
) -> Plan:
    """Let side streets grow: random points join the nearest street by the shortest way.

    The shortest way crosses no other street, so the plan stays planar.

    Parameters
    ----------
    per_hectare
        Mean number of points tried; those out of reach or in each other's way are dropped.
    reach
        Shortest and longest side street, in metres.
    half_side
        Points lie in the square of this half side around the origin.
    clearance
        No side street starts closer than this to a junction.
    cluster
        Radius of the clusters that the points form, in metres; by default they lie anywhere.
    """
    points = _scatter(per_hectare, half_side, cluster, rng)
    edge, fraction, distance = nearest_street(plan, points)
    clear = np.minimum(fraction, 1.0 - fraction) * straight_lengths(plan)[edge] > clearance
    fits = np.flatnonzero((distance >= reach[0]) & (distance <= reach[1]) & clear)
    chosen = fits[_apart(points[fits], distance[fits])]
    plan, foot = split(plan, edge[chosen], fraction[chosen])
    tips = len(plan.points) + np.arange(len(chosen))
    return Plan(
        np.concatenate([plan.points, points[chosen]]),
        np.concatenate([plan.ends, np.column_stack([foot, tips])]),
    )


def add_lots(
    plan: Plan,
    per_hectare: float,
    reach: tuple[float, float],
    rng: np.random.Generator,
    *,
    half_side: float,
    cluster: float | None = None,
) -> Plan:
    """Add lanes that leave a street, run beside it and come back: yards and car parks.

    The parameters are those of `grow`; the reach is the distance of a lane from its street.
    """
    points = _scatter(per_hectare, half_side, cluster, rng)
    edge, fraction, distance = nearest_street(plan, points)
    half_width = distance * rng.uniform(_LOT_SHAPE[0], _LOT_SHAPE[1], size=len(points))
    length = straight_lengths(plan)
    clear = np.minimum(fraction, 1.0 - fraction) * length[edge] > half_width + 2.0
    fits = np.flatnonzero((distance >= reach[0]) & (distance <= reach[1]) & clear)
    chosen = fits[_apart(points[fits], np.hypot(distance, half_width)[fits])]
    edge, fraction, points = edge[chosen], fraction[chosen], points[chosen]
    share = half_width[chosen] / length[edge]
    along = share[:, None] * (plan.points[plan.ends[edge, 1]] - plan.points[plan.ends[edge, 0]])
    plan, feet = split(plan, np.tile(edge, 2), np.concatenate([fraction - share, fraction + share]))
    corners = len(plan.points) + np.arange(2 * len(chosen))
    lanes = np.concatenate([np.column_stack([feet, corners]), corners.reshape(2, -1).T])
    return Plan(
        np.concatenate([plan.points, points - along, points + along]), np.concatenate([plan.ends, lanes])
    )


def go_on(
    plan: Plan, share: float, reach: float, rng: np.random.Generator, *, half_side: float, snap: float
) -> Plan:
    """Prolong a share of the dead ends in the square, straight on to the next street within reach.

    A prolonged street that would arrive closer than `snap` to a junction arrives at the junction.
    """
    is_dead = node_degrees(len(plan.points), plan.ends) == 1
    is_dead &= in_square(plan.points, half_side) & (rng.random(len(plan.points)) < share)
    at_tail, at_head = (np.flatnonzero(is_dead[plan.ends[:, side]]) for side in (0, 1))
    dead = np.concatenate([plan.ends[at_tail, 0], plan.ends[at_head, 1]])
    before = np.concatenate([plan.ends[at_tail, 1], plan.ends[at_head, 0]])
    heading = plan.points[dead] - plan.points[before]
    heading /= np.hypot(heading[:, 0], heading[:, 1])[:, None]
    edge, fraction, distance = street_ahead(plan, plan.points[dead], heading)
    fits = np.flatnonzero(distance <= reach)
    halfway = plan.points[dead[fits]] + heading[fits] * distance[fits, None] / 2
    chosen = fits[_apart(halfway, distance[fits] / 2)]
    plan, foot = _feet(plan, edge[chosen], fraction[chosen], snap)
    return plan._replace(ends=np.concatenate([plan.ends, np.column_stack([dead[chosen], foot])]))


def _scatter(per_hectare: float, half_side: float, cluster: float | None, rng: np.random.Generator) -> Floats:
    """Return random points in the square, in clusters if a radius of the clusters is given."""
    n_points = int(rng.poisson(per_hectare * (2 * half_side) ** 2 / 1e4))
    points = rng.uniform(-half_side, half_side, size=(n_points, 2))
    if cluster is None:
        return points
    middle = rng.integers(1 + n_points // _CLUSTER_TRIES, size=n_points)
    return points[middle] + rng.normal(0.0, cluster, size=(n_points, 2))


def _apart(points: Floats, radius: Floats) -> Mask:
    """Return which discs meet no disc before them, so that streets inside them cannot cross."""
    gap = np.hypot(*(points[:, None, axis] - points[None, :, axis] for axis in (0, 1)))
    meets = gap < radius[:, None] + radius[None, :]
    return np.asarray(~np.tril(meets, -1).any(axis=1))


def _feet(plan: Plan, edge: Integers, fraction: Floats, snap: float) -> tuple[Plan, Integers]:
    """Return the plan with a node at each place on a street, or the junction if one is near."""
    along = fraction * straight_lengths(plan)[edge]
    rest = (1.0 - fraction) * straight_lengths(plan)[edge]
    foot = np.where(along < rest, plan.ends[edge, 0], plan.ends[edge, 1])
    is_new = np.minimum(along, rest) > snap
    plan, foot[is_new] = split(plan, edge[is_new], fraction[is_new])
    return plan, foot


def join_bends(streets: Streets) -> Streets:
    """Make one street of each chain through points with two street ends, as simplified maps do."""
    n_nodes, n_streets = len(streets.points), len(streets.ends)
    is_bend = node_degrees(n_nodes, streets.ends) == _BEND
    # a loop at a point of its own has two ends there too, but is not a chain to join
    is_bend[streets.ends[streets.ends[:, 0] == streets.ends[:, 1], 0]] = False
    flat = streets.ends.ravel()
    street_of_end = np.repeat(np.arange(n_streets), 2)
    at_bend = is_bend[flat]
    pairs = street_of_end[at_bend][np.argsort(flat[at_bend], kind="stable")].reshape(-1, 2)
    chain = node_components(n_streets, pairs)
    outer_chain, outer_node = chain[street_of_end[~at_bend]], flat[~at_bend]
    ends = outer_node[np.argsort(outer_chain, kind="stable")].reshape(-1, 2)
    # a chain without outer ends is a ring by itself: it has no junction to hang on and is left out
    has_ends = np.bincount(outer_chain, minlength=chain.max(initial=-1) + 1) > 0
    length = np.bincount(chain, weights=streets.length)[has_ends].astype(np.float64)
    return Streets(streets.points[~is_bend], restrict(ends, ~is_bend)[0], length)


def window(streets: Streets, centre: Floats, radius: float) -> Streets:
    """Return the largest component of what lies in the square of half side `radius` around a point."""
    return largest_part(induced(streets, in_square(streets.points - centre, radius)))


def largest_part(streets: Streets) -> Streets:
    """Return the component with the most nodes."""
    return induced(streets, largest_component(len(streets.points), streets.ends))


def induced(streets: Streets, keep: Mask) -> Streets:
    """Return the streets with both ends among the kept nodes."""
    ends, inside = restrict(streets.ends, keep)
    return Streets(streets.points[keep], ends, streets.length[inside])
