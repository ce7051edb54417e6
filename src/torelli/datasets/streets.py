"""Synthetic street networks of four patterns: gridiron, linear, chaotic and tributary.

The patterns are those of the paper's task on urban road networks (section 5.3). Each window is cut
from a town of its own, drawn at random and larger than the window, in the way windows are cut from a
real city: a square around a random junction, the streets with both ends inside, the largest
component. So the edge of the window shows as it does in real data.

The constants are chosen so that the windows have the figures of real cities (``torelli patterns``
shows the comparison); lengths are in metres.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import InvalidOptionError, quoted, unknown_option
from torelli.datasets import _street_plans as plans
from torelli.datasets._street_plans import Plan
from torelli.graph import MetricGraph

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from sklearn.utils import Bunch

PATTERNS = ("gridiron", "linear", "chaotic", "tributary")

SMALLEST_RADIUS, LARGEST_RADIUS = 100.0, 1000.0
# how far beyond the window a town is drawn, so that its border is outside
_MARGIN = 40.0
_SHORTEST = 2.0
_DUAL_SHARE = 0.15
_DUAL_WIDTH = (18.0, 28.0)


def street_pattern(pattern: str, *, radius: float = 300.0, seed: int = 0) -> MetricGraph:
    """Return one window of a synthetic town.

    Parameters
    ----------
    pattern
        ``"gridiron"``: rectangular blocks, with alleys, gaps and driveways. ``"linear"``: long
        parallel roads, irregularly spaced, with few links between them. ``"chaotic"``: cells of
        every shape and size between short streets. ``"tributary"``: a few collector roads with
        side streets that branch and are mostly dead ends.
    radius
        Half the side of the square window in metres, from 100 to 1000: the paper's local radius,
        150 or 300. The work grows with its fourth power.
    seed
        Seed of the town and of the window's position.

    Returns
    -------
    A connected metric graph in metres; coordinates are metres from the window's centre. Streets
    bend, so a length may exceed the distance between its end points.

    Examples
    --------
    >>> street_pattern("gridiron", radius=150, seed=1).unit
    'm'
    """
    if pattern not in _TOWNS:
        raise unknown_option("pattern", pattern, PATTERNS)
    _check_radius(radius)
    return _window(pattern, float(radius), np.random.default_rng(seed), f"{pattern} (seed {seed})")


def street_patterns(n_per_pattern: int, *, radius: float = 300.0, seed: int = 0) -> Bunch:
    """Return a data set of windows of all four patterns, for classification.

    Parameters
    ----------
    n_per_pattern
        Number of windows of each pattern, each from a town of its own.
    radius
        Half the side of each window in metres.
    seed
        Seed of the data set. A larger set with the same seed begins with the smaller one's windows,
        pattern by pattern.

    Returns
    -------
    A `sklearn.utils.Bunch` with ``graphs``, ``y`` (positions in ``target_names``), ``target_names``,
    ``name`` and ``DESCR``.

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.street_patterns(2, radius=150, seed=0)
    >>> len(data.graphs), data.target_names[data.y[0]].item()
    (8, 'gridiron')
    """
    if n_per_pattern < 1:
        raise InvalidOptionError(f"n_per_pattern must be at least 1, got {quoted(n_per_pattern)}")
    _check_radius(radius)
    graphs = [
        _window(
            pattern,
            float(radius),
            np.random.default_rng([seed, label, position]),
            f"{pattern} {position}",
        )
        for label, pattern in enumerate(PATTERNS)
        for position in range(n_per_pattern)
    ]
    from sklearn.utils import Bunch

    return Bunch(
        graphs=graphs,
        y=np.repeat(np.arange(len(PATTERNS)), n_per_pattern),
        target_names=np.array(PATTERNS),
        name=f"street_patterns({n_per_pattern}, radius={radius:g}, seed={seed})",
        DESCR=f"{n_per_pattern} synthetic street networks of each of the patterns {', '.join(PATTERNS)}, "
        f"in windows of {2 * radius:g} m by {2 * radius:g} m; lengths in metres",
    )


def _check_radius(radius: float) -> None:
    if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
        possible = f"from {SMALLEST_RADIUS:g} to {LARGEST_RADIUS:g} metres"
        raise InvalidOptionError(f"radius must be {possible}, got {quoted(radius)}")


def _window(pattern: str, radius: float, rng: np.random.Generator, name: str) -> MetricGraph:
    """Draw a town, and cut a window around a random junction near its middle."""
    draw, detour = _TOWNS[pattern]
    inner = 0.25 * radius
    # side streets that start at nearly the same place start at one junction
    plan = plans.merge_close(draw(radius + inner + _MARGIN, rng), _SHORTEST)
    plan = plans.keep_nodes(plan, plans.largest_component(len(plan.points), plan.ends))
    length = plans.straight_lengths(plan) * (1.0 + rng.exponential(detour, size=len(plan.ends)))
    town = plans.join_bends(plans.Streets(plan.points, plan.ends, length))
    # the junction nearest to a random place: it exists however sparse the town is
    distance = np.abs(town.points - rng.uniform(-inner, inner, size=2)).max(axis=1)
    centre = town.points[distance.argmin()]
    cut = plans.window(town, centre, radius)
    return MetricGraph(
        cut.ends[:, 0],
        cut.ends[:, 1],
        cut.length,
        len(cut.points),
        name=name,
        unit="m",
        coordinates=cut.points - centre,
    )


def _gridiron(half_side: float, rng: np.random.Generator) -> Plan:
    """Blocks between two sets of parallel streets; alleys behind the houses; yards and driveways."""
    long_side, short_side = rng.uniform(130.0, 230.0), rng.uniform(95.0, 140.0)
    plan = _blocks(half_side, long_side, short_side, rng.beta(1.7, 1.3), 0.02, rng)
    plan = plans.grow(plan, rng.uniform(0.15, 0.45), (15.0, 45.0), rng, half_side=half_side, clearance=5.0)
    plan = plans.go_on(plan, 0.6, 80.0, rng, half_side=half_side, snap=8.0)
    plan = plans.add_lots(plan, rng.uniform(0.9, 2.3), (5.0, 40.0), rng, half_side=half_side, cluster=65.0)
    plan = plans.grow(
        plan, rng.uniform(1.3, 4.7), (5.0, 60.0), rng, half_side=half_side, clearance=2.0, cluster=27.0
    )
    return plans.go_on(plan, 0.35, 70.0, rng, half_side=half_side, snap=3.0)


def _linear(half_side: float, rng: np.random.Generator) -> Plan:
    """Long roads side by side, some with two carriageways, and links at irregular places."""
    plan = _roads(half_side, rng.uniform(110.0, 220.0), rng.uniform(160.0, 330.0), rng)
    plan = plans.grow(plan, rng.uniform(0.1, 0.6), (30.0, 100.0), rng, half_side=half_side, clearance=10.0)
    plan = plans.go_on(plan, 0.5, 150.0, rng, half_side=half_side, snap=10.0)
    plan = plans.add_lots(plan, rng.uniform(0.3, 1.0), (12.0, 40.0), rng, half_side=half_side, cluster=60.0)
    return plans.grow(
        plan, rng.uniform(0.1, 0.6), (10.0, 40.0), rng, half_side=half_side, clearance=5.0, cluster=50.0
    )


def _chaotic(half_side: float, rng: np.random.Generator) -> Plan:
    """Draw the borders of irregular cells, some of them opened, with a few dead ends."""
    plan = _cells(half_side, rng.uniform(85.0, 125.0), rng.uniform(0.35, 0.7), rng)
    plan = plans.merge_close(plan, 16.0)
    plan = plans.thin(plan, rng.uniform(0.0, 0.06), rng)
    plan = plans.grow(plan, rng.uniform(0.3, 1.5), (15.0, 60.0), rng, half_side=half_side, clearance=8.0)
    return plans.go_on(plan, 0.75, 120.0, rng, half_side=half_side, snap=12.0)


def _tributary(half_side: float, rng: np.random.Generator) -> Plan:
    """Collector roads around large cells; side streets branch off, and off each other."""
    plan = _cells(half_side, rng.uniform(190.0, 270.0), 0.35, rng)
    plan = plans.merge_close(plan, 50.0)
    density = rng.uniform(0.5, 1.3)
    plan = plans.grow(plan, 1.3 * density, (50.0, 160.0), rng, half_side=half_side, clearance=15.0)
    plan = plans.go_on(plan, 0.4, 250.0, rng, half_side=half_side, snap=15.0)
    plan = plans.add_lots(plan, 0.7 * density, (25.0, 80.0), rng, half_side=half_side)
    plan = plans.grow(
        plan, 2.2 * density, (25.0, 90.0), rng, half_side=half_side, clearance=10.0, cluster=36.0
    )
    plan = plans.go_on(plan, 0.85, 150.0, rng, half_side=half_side, snap=10.0)
    plan = plans.add_lots(plan, 4.0 * density, (5.0, 25.0), rng, half_side=half_side, cluster=30.0)
    plan = plans.grow(plan, 4.0 * density, (4.0, 55.0), rng, half_side=half_side, clearance=2.0, cluster=25.0)
    return plans.go_on(plan, 0.2, 60.0, rng, half_side=half_side, snap=3.0)


def _blocks(
    half_side: float,
    long_side: float,
    short_side: float,
    alleys: float,
    gaps: float,
    rng: np.random.Generator,
) -> Plan:
    """Return rectangular blocks: `alleys` of them cut in two lengthwise, `gaps` of the streets missing."""
    extent = half_side * np.sqrt(2.0)
    x = _offsets(extent, long_side, 0.12, rng)
    y = _offsets(extent, short_side, 0.06, rng)
    # every second row runs through the middle of the blocks, where the alleys are
    rows = np.sort(np.concatenate([y, (y[1:] + y[:-1]) / 2]))
    points = np.stack(np.meshgrid(x, rows, indexing="ij"), axis=-1).reshape(-1, 2)
    node = np.arange(len(points)).reshape(len(x), len(rows))
    along = rng.random((len(x) - 1, len(rows)))
    along_built = np.where(np.arange(len(rows)) % 2 == 1, along < alleys, along >= gaps)
    across_built = np.repeat(rng.random((len(x), len(y) - 1)) >= gaps, 2, axis=1)
    ends = np.concatenate(
        [
            np.column_stack([node[:-1][along_built], node[1:][along_built]]),
            np.column_stack([node[:, :-1][across_built], node[:, 1:][across_built]]),
        ]
    )
    plan = Plan(points + rng.normal(0.0, 2.5, size=points.shape), ends)
    return plans.crop(plans.rotate(plan, rng.uniform(0.0, np.pi)), half_side)


def _roads(half_side: float, spacing: float, link_gap: float, rng: np.random.Generator) -> Plan:
    """Return parallel roads, about `spacing` apart, with links about every `link_gap` along them."""
    extent = half_side * np.sqrt(2.0)
    heights = _offsets(extent, spacing, 0.45, rng)
    dual = heights[rng.random(len(heights)) < _DUAL_SHARE]
    heights = np.sort(np.concatenate([heights, dual + rng.uniform(*_DUAL_WIDTH, size=len(dual))]))
    links = [_offsets(extent, link_gap, 0.6, rng)]
    for gap in np.diff(heights)[1:]:
        # some links go straight on across a road, and most across the two halves of a dual one
        is_dual = gap < _DUAL_WIDTH[1]
        goes_on = links[-1][rng.random(len(links[-1])) < (0.85 if is_dual else 0.4)]
        fresh = _offsets(extent, link_gap * (3.0 if is_dual else 1.6), 0.6, rng)
        links.append(np.concatenate([goes_on, fresh]))
    points, ends, n_points = [], [], 0
    link_starts: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    for road, height in enumerate(heights):
        before = links[road - 1] if road else np.empty(0)
        after = links[road] if road < len(links) else np.empty(0)
        x, place = np.unique(np.concatenate([before, after, [-extent, extent]]), return_inverse=True)
        place += n_points
        ends.append(n_points + np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))]))
        ends.append(np.column_stack([link_starts, place[: len(before)]]))
        link_starts = place[len(before) : len(before) + len(after)]
        points.append(np.column_stack([x, np.full(len(x), height)]))
        n_points += len(x)
    swayed = _sway(np.concatenate(points), 25.0, 900.0, rng)
    plan = plans.rotate(Plan(swayed, np.concatenate(ends)), rng.uniform(0.0, np.pi))
    return plans.crop(plan, half_side)


def _offsets(
    extent: float, spacing: float, irregularity: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return increasing positions that cover -extent to extent, whose gaps vary around the spacing."""
    n_gaps = int(np.ceil(2.0 * extent / (spacing * (1.0 - irregularity)))) + 4
    gaps = spacing * rng.uniform(1.0 - irregularity, 1.0 + irregularity, size=n_gaps)
    positions = np.cumsum(gaps) - rng.uniform(1.0, 2.0) * spacing - extent
    kept: NDArray[np.float64] = positions[np.abs(positions) <= extent + spacing]
    return kept


def _sway(
    points: NDArray[np.float64], amplitude: float, wavelength: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Bend all roads along x in the same gentle wave, so that they stay side by side."""
    phase = rng.uniform(0.0, 2.0 * np.pi)
    wave = rng.uniform(0.0, amplitude) * np.sin(2.0 * np.pi * points[:, 0] / wavelength + phase)
    return points + np.column_stack([np.zeros(len(points)), wave])


def _cells(half_side: float, size: float, disorder: float, rng: np.random.Generator) -> Plan:
    """Return the borders of Voronoi cells around the points of a disturbed lattice."""
    from scipy.spatial import Voronoi

    extent = half_side + 3.0 * size
    axis = np.arange(-extent, extent, size)
    lattice = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    # every second row is shifted: a square lattice would show through as a grid
    lattice[:, ::2, 0] += size / 2
    centres = lattice.reshape(-1, 2) + rng.normal(0.0, disorder * size, size=(lattice.size // 2, 2))
    diagram = Voronoi(centres)
    ridges = np.asarray(diagram.ridge_vertices, dtype=np.int64)
    plan = Plan(diagram.vertices, ridges[(ridges >= 0).all(axis=1)])
    return plans.crop(plans.rotate(plan, rng.uniform(0.0, np.pi)), half_side)


# how to draw a town of each pattern, and how much its streets bend (mean excess over a straight line)
_TOWNS: dict[str, tuple[Callable[[float, np.random.Generator], Plan], float]] = {
    "gridiron": (_gridiron, 0.03),
    "linear": (_linear, 0.05),
    "chaotic": (_chaotic, 0.03),
    "tributary": (_tributary, 0.12),
}
