"""Noding: lines split where they cross or touch, so that these places are nodes of the graph.

Lines are joined where two of them cross, where one crosses itself, and where an end point lies within a
tolerance of a line. Where the data say that lines are on different levels (a bridge, a tunnel, another
layer, or another height), crossings are not joined. An end of a bridge or tunnel is joined to a line on
the ground, and an end that is exactly a point of another line is joined to it unless their heights differ.
Lengths are shares of those of the lines, so that splitting does not change their sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import FormatError
from torelli._geo import METRES_PER_DEGREE

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from torelli._types import Floats, ForeignObject, GraphLike, Ints

    Snap = Callable[[Floats], tuple[Ints, Floats]]


LEVEL_COLUMNS = ("bridge", "tunnel", "layer")
"""Columns that say on which level a line is; upper and lower case are the same."""

_NO = {"", "0", "0.0", "f", "n", "no", "false", "none", "nan", "<na>", "null", "building_passage"}
_MOST_JOINTS = 5_000_000
_AT_ONCE = 20_000_000  # pairs of segments that one query may return
_LARGEST = 1e100  # largest coordinate; its fourth power is finite
_ROUNDING = 1e-9  # of the extent, where there is no tolerance
_SHORT = 4  # in tolerances: a piece this short, from a node to itself, is not a loop
_LEAST_COSINE = 0.01  # nearer to a pole than half a degree there are no roads


class Lines(NamedTuple):
    """Lines as points.

    Attributes
    ----------
    points
        All points of all lines, as (x, y).
    line
        The line of each point.
    heights
        The z of each point, NaN where there is none.
    steps
        The length from each point to the next, 0 from one line to the next.
    level
        The level of each line; 0 is the ground.
    on_sphere
        Whether points are longitudes and latitudes.
    """

    points: Floats
    line: Ints
    heights: Floats
    steps: Floats
    level: Ints
    on_sphere: bool


class Pieces(NamedTuple):
    """What lines were split into.

    Attributes
    ----------
    tail, head, length
        The nodes and the length of each piece.
    places
        The place of each node.
    line
        The line that each piece belongs to.
    n_split
        Number of lines that were split.
    n_apart
        Number of pairs of lines that meet on different levels and are not joined.
    n_along
        Number of pairs of lines that run along one another for a stretch.
    """

    tail: Ints
    head: Ints
    length: Floats
    places: Floats
    line: Ints
    n_split: int
    n_apart: int
    n_along: int


class _Segments(NamedTuple):
    """The straight parts of lines: ends, line, position along the line, length, and heights at the ends."""

    p: Floats
    q: Floats
    line: Ints
    start: Floats
    length: Floats
    low: Floats
    high: Floats

    def position(self, which: Ints, share: Floats) -> Floats:
        return self.start[which] + share * self.length[which]

    def height(self, which: Ints, share: Floats) -> Floats:
        return self.low[which] + share * (self.high[which] - self.low[which])


class _Stops(NamedTuple):
    """Places on lines that are to be nodes: line, position along it, place, and the level to snap in."""

    line: Ints
    position: Floats
    place: Floats
    level: Ints


def levels(frame: GraphLike, rows: Ints) -> Ints:
    """Return the level of some rows of a frame by its columns `LEVEL_COLUMNS`; 0 is the ground.

    A `layer` other than 0 is the level; without one, a bridge is on 1 and a tunnel on -1. Every value
    that is not a number is a level of its own. The numbers returned only tell levels apart.
    """
    column = {str(name).lower(): k for k, name in enumerate(frame.columns)}
    level_of_row = np.full(len(frame), "0", dtype=object)
    for name, level in (("tunnel", "-1"), ("bridge", "1")):
        if name in column:
            values = frame.iloc[:, column[name]].tolist()
            level_of_row[[str(value).strip().lower() not in _NO for value in values]] = level
    if "layer" in column:
        for row, value in enumerate(frame.iloc[:, column["layer"]].tolist()):
            text = str(value).strip()
            if text.lower() in _NO:
                continue
            try:
                layer = float(text)
            except ValueError:
                level_of_row[row] = text
            else:
                if layer:
                    level_of_row[row] = f"{layer:g}"
    names, code = np.unique(np.append("0", level_of_row[rows].astype(str)), return_inverse=True)
    code = code.reshape(-1)
    ground = code[0]
    result: Ints = np.where(code == ground, 0, np.where(code == 0, len(names), code))[1:].astype(np.int64)
    return result


def split_lines(
    shapely: ModuleType,
    lines: Lines,
    tolerance: float,
    clearance: float,
    snap: Callable[[Floats, float], tuple[Ints, Floats]],
    file: str | None,
) -> Pieces:
    """Return the pieces of lines between the places where they meet.

    Parameters
    ----------
    shapely
        The package.
    lines
        The lines.
    tolerance
        Distance within which an end point is on a line, and places are one node. If it is 0, a billionth of
        the extent is used, because crossings are rounded.
    clearance
        Difference in height beyond which lines are on different levels.
    snap
        Function of points and a tolerance that returns the node of each point and the place of each node.
    file
        Name of the file, for messages.
    """
    if np.abs(lines.points).max(initial=0.0) > _LARGEST:
        raise FormatError(
            f"{file or 'lines'}: coordinates are beyond {_LARGEST:g}, and where lines cross cannot be "
            "computed; check the file, or read it without split"
        )
    n_lines = len(lines.level)
    every_line = np.arange(n_lines)
    first = np.searchsorted(lines.line, every_line)
    last = np.searchsorted(lines.line, every_line, side="right") - 1
    along = np.concatenate([[0.0], np.cumsum(lines.steps)])
    total = along[last] - along[first]
    if tolerance == 0 and len(lines.points):
        extent = float(np.ptp(lines.points, axis=0).max())
        tolerance = _ROUNDING * extent * (METRES_PER_DEGREE if lines.on_sphere else 1.0)
    start = np.flatnonzero(
        (lines.line[1:] == lines.line[:-1]) & (lines.points[1:] != lines.points[:-1]).any(axis=1)
    )
    line_of_start = lines.line[start]
    segments = _Segments(
        lines.points[start],
        lines.points[start + 1],
        line_of_start,
        along[start] - along[first[line_of_start]],
        lines.steps[start],
        lines.heights[start],
        lines.heights[start + 1],
    )
    end = np.concatenate([first, last])
    shapes = shapely.linestrings(np.stack([segments.p, segments.q], axis=1))
    tree = shapely.STRtree(shapes)
    touching, apart_touching = _touching_ends(shapely, tree, segments, lines, end, tolerance, clearance, file)
    crossing, apart_crossing, n_along = _crossings(
        shapely, tree, shapes, segments, lines, lines.points[end], tolerance, clearance, file
    )
    apart = np.unique(np.concatenate([apart_touching, apart_crossing]), axis=0)
    stops = _Stops(
        np.concatenate([every_line, touching.line, crossing.line, every_line]),
        np.concatenate([np.zeros(n_lines), touching.position, crossing.position, total]),
        np.concatenate([lines.points[first], touching.place, crossing.place, lines.points[last]]),
        np.concatenate([0 * every_line, touching.level, crossing.level, 0 * every_line]),
    )
    is_cut = np.ones(len(stops.line), dtype=np.bool_)
    is_cut[:n_lines] = is_cut[len(is_cut) - n_lines :] = False
    node, places = _nodes(stops, lambda points: snap(points, tolerance))
    order = np.lexsort((np.arange(len(node)), np.clip(stops.position, 0.0, total[stops.line]), stops.line))
    # a stop that is the node before or after it on the line, a rounding apart, would be a loop
    order = order[~(is_cut[order] & _repeats(stops, node, order, _SHORT * tolerance))]
    backwards = order[::-1]
    ends_next = np.append(False, ~is_cut[backwards][:-1])
    drop = is_cut[backwards] & ends_next & _repeats(stops, node, backwards, _SHORT * tolerance)
    order = backwards[~drop][::-1]
    line, position = stops.line[order], np.clip(stops.position, 0.0, total[stops.line])[order]
    same = line[1:] == line[:-1]
    tail, head = node[order][:-1][same], node[order][1:][same]
    used, renumbered = np.unique(np.concatenate([tail, head]), return_inverse=True)
    renumbered = renumbered.reshape(-1)
    return Pieces(
        renumbered[: len(tail)],
        renumbered[len(tail) :],
        np.diff(position)[same],
        places[used],
        line[1:][same],
        int(np.count_nonzero(np.bincount(line[1:][same], minlength=n_lines) > 1)),
        len(apart),
        n_along,
    )


def _repeats(stops: _Stops, node: Ints, order: Ints, short: float) -> NDArray[np.bool_]:
    """Return for each stop whether the one before it, on the same line, is the same node and near."""
    line, place, position = stops.line[order], node[order], stops.position[order]
    repeats = np.zeros(len(order), dtype=np.bool_)
    repeats[1:] = (line[1:] == line[:-1]) & (place[1:] == place[:-1]) & (np.abs(np.diff(position)) <= short)
    return repeats


def _nodes(stops: _Stops, snap: Snap) -> tuple[Ints, Floats]:
    """Return the node of each stop, and the place of each node; levels are snapped one by one."""
    node = np.empty(len(stops.line), dtype=np.int64)
    places, count = [], 0
    for level in np.unique(stops.level):
        here = stops.level == level
        local, snapped = snap(stops.place[here])
        node[here] = local + count
        places.append(snapped)
        count += len(snapped)
    return node, np.concatenate(places) if places else np.empty((0, 2))


def _touching_ends(
    shapely: ModuleType,
    tree: ForeignObject,
    segments: _Segments,
    lines: Lines,
    end: Ints,
    tolerance: float,
    clearance: float,
    file: str | None,
) -> tuple[_Stops, Ints]:
    """Return where end points touch lines, and the pairs of lines that are kept apart by their levels."""
    place, own = lines.points[end], lines.line[end]
    scale = np.ones_like(place)
    reach = np.full(len(end), tolerance)
    if lines.on_sphere:
        cosine = np.maximum(np.cos(np.deg2rad(place[:, 1])), _LEAST_COSINE)
        scale = METRES_PER_DEGREE * np.stack([cosine, np.ones(len(end))], axis=1)
        reach = tolerance / scale[:, 0]
    which, segment = _queried(
        len(end),
        len(segments.line),
        lambda some: tree.query(shapely.points(place[some]), predicate="dwithin", distance=reach[some]),
        file,
    )
    p = (segments.p[segment] - place[which]) * scale[which]
    d = (segments.q[segment] - segments.p[segment]) * scale[which]
    share = _part(-(p * d).sum(axis=1), (d * d).sum(axis=1))
    near = np.linalg.norm(p + share[:, None] * d, axis=1) <= tolerance
    which, segment, share = which[near], segment[near], share[near]
    other = segments.line[segment]
    joined = (lines.level[own[which]] == lines.level[other]) | (lines.level[other] == 0)
    # a line that ends exactly on a point of another was drawn to meet it
    for point in (segments.p, segments.q):
        joined |= (point[segment] == place[which]).all(axis=1)
    joined &= ~(np.abs(lines.heights[end][which] - segments.height(segment, share)) > clearance)
    # an end at the end of another line is joined to it on every level
    ends = np.stack([lines.points[end[: len(lines.level)]], lines.points[end[len(lines.level) :]]])
    gaps = (ends[:, other] - place[which]) * scale[which]
    at_end = (np.linalg.norm(gaps, axis=2) <= tolerance).any(axis=0)
    apart = ~joined & ~at_end
    pairs = np.sort(np.stack([own[which], other], axis=1)[apart], axis=1)
    segment, share, which = segment[joined], share[joined], which[joined]
    return (
        _Stops(
            segments.line[segment],
            segments.position(segment, share),
            place[which],
            np.zeros(len(segment), np.int64),
        ),
        pairs,
    )


def _crossings(
    shapely: ModuleType,
    tree: ForeignObject,
    shapes: NDArray[Any],
    segments: _Segments,
    lines: Lines,
    ends: Floats,
    tolerance: float,
    clearance: float,
    file: str | None,
) -> tuple[_Stops, Ints, int]:
    """Return where lines cross off their ends, the pairs kept apart, and how many run along one another."""

    def query(some: Ints) -> Ints:
        one, two = tree.query(shapes[some], predicate="intersects")
        neighbours = (some[one] + 1 == two) & (segments.line[some[one]] == segments.line[two])
        wanted = (some[one] < two) & ~neighbours
        return np.stack([one[wanted], two[wanted]])

    one, two = _queried(len(shapes), len(shapes), query, file)
    met = shapely.intersection(shapes[one], shapes[two])
    stretch = shapely.get_type_id(met) == 1
    n_along = len(np.unique(np.stack([segments.line[one], segments.line[two]])[:, stretch], axis=1).T)
    place, pair = shapely.get_coordinates(met, return_index=True)
    one, two = one[pair], two[pair]
    if len(place):  # ends are joined by `_touching_ends`
        from scipy.spatial import KDTree

        space, points = (_metres(ends), _metres(place)) if lines.on_sphere else (ends, place)
        off = KDTree(space).query(points, distance_upper_bound=np.nextafter(tolerance, np.inf))[0] > tolerance
        one, two, place = one[off], two[off], place[off]
    shares = [_share(segments, segment, place) for segment in (one, two)]
    heights = [segments.height(segment, share) for segment, share in zip((one, two), shares, strict=True)]
    level = lines.level[segments.line[one]]
    joined = level == lines.level[segments.line[two]]
    joined &= ~(np.abs(heights[0] - heights[1]) > clearance)
    pairs = np.sort(np.stack([segments.line[one], segments.line[two]], axis=1)[~joined], axis=1)
    both = np.concatenate([one[joined], two[joined]])
    share = np.concatenate([shares[0][joined], shares[1][joined]])
    return (
        _Stops(
            segments.line[both],
            segments.position(both, share),
            np.tile(place[joined], (2, 1)),
            np.tile(level[joined], 2),
        ),
        pairs,
        n_along,
    )


def _queried(
    size: int, n_others: int, query: Callable[[Ints], tuple[Ints, Ints] | Ints], file: str | None
) -> tuple[Ints, Ints]:
    """Return all pairs that a query finds, asked for some at a time; too many are an error."""
    step = max(1, _AT_ONCE // max(n_others, 1))
    ones, twos, count = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for start in range(0, size, step):
        some = np.arange(start, min(start + step, size))
        one, two = query(some)
        count += len(one)
        if count > _MOST_JOINTS:
            raise FormatError(
                f"{file or 'lines'}: lines meet at more than {_MOST_JOINTS:,} places; give a smaller "
                "tolerance, or fewer lines"
            )
        ones.append(some[one])
        twos.append(np.asarray(two, dtype=np.int64))
    return np.concatenate(ones), np.concatenate(twos)


def _share(segments: _Segments, which: Ints, place: Floats) -> Floats:
    """Return how far along a segment a place on it is, from 0 to 1."""
    d = segments.q[which] - segments.p[which]
    return _part(((place - segments.p[which]) * d).sum(axis=1), (d * d).sum(axis=1))


def _part(along: Floats, whole: Floats) -> Floats:
    """Return a quotient from 0 to 1, and 0 where the whole is so short that its square is 0."""
    part: Floats = np.divide(along, whole, out=np.zeros_like(along), where=whole > 0)
    return np.clip(part, 0.0, 1.0)


def _metres(degrees: Floats) -> Floats:
    """Return places on a sphere in metres."""
    lon, lat = np.deg2rad(degrees).T
    flat = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    places: Floats = np.rad2deg(METRES_PER_DEGREE) * flat
    return places
