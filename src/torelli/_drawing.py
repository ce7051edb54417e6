"""Drawing graphs: node positions, edge lines, colours, and thumbnails for HTML pages."""

from __future__ import annotations

from colorsys import hsv_to_rgb
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from torelli._geo import is_geographic
from torelli.model import canonical_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

    Words = NDArray[np.uint16]

# Okabe and Ito's colours, which colour-blind people can tell apart
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "osD^vP*X"
BRIDGE = "#B8B8B8"
_GOLDEN_ANGLE = 0.6180339887498949
_POLE = 90.0
_MAX_LAYOUT_NODES = 2000
_LAYOUT_WORK = 2_000_000  # entries of distance matrices, over all steps

THUMBNAIL_SIDE = 4095
"""Largest coordinate of a point in a thumbnail."""
_COARSEST_SIDE = 127
_NO_CYCLE = 65535
_MAX_THUMBNAIL_LAYOUT = 400  # nodes; a layout of more takes too long where hundreds are drawn


def cycle_owners(graph: MetricGraph) -> NDArray[np.int64]:
    """Return for each edge the index of the first basis cycle that contains it, -1 for bridges."""
    owner = np.full(graph.n_edges, -1)
    for cycle, edges in reversed(list(enumerate(canonical_model(graph).cycles))):
        owner[edges] = cycle
    return owner


def cycle_colour(index: int) -> tuple[float, float, float]:
    """Return the colour of a cycle as (red, green, blue); consecutive cycles have distant hues."""
    return hsv_to_rgb((0.58 + index * _GOLDEN_ANGLE) % 1.0, 0.75, 0.85 if index % 2 else 0.65)


def class_colour(index: int, n_classes: int) -> str:
    """Return the colour of a class: from the palette if it has enough, else a hue of its own."""
    if n_classes <= len(PALETTE):
        return PALETTE[index]
    return "#" + "".join(f"{round(255 * part):02x}" for part in cycle_colour(index))


def is_placed(graph: MetricGraph) -> bool:
    """Return whether every node has coordinates."""
    return graph.coordinates is not None and bool(np.isfinite(graph.coordinates[:, :2]).all())


def positions(graph: MetricGraph) -> Floats:
    """Return the coordinates of the nodes, or a layout (always the same) if one of them has none."""
    if graph.coordinates is not None and is_placed(graph):
        return graph.coordinates[:, :2]
    if graph.n_nodes > _MAX_LAYOUT_NODES:
        raise ValueError(
            f"{graph.n_nodes:,} nodes without coordinates are too many for a layout: give coordinates"
        )
    return _layout(graph)


def _layout(graph: MetricGraph) -> Floats:
    """Return positions whose distances are close to the numbers of edges between nodes.

    Classical scaling, then stress majorisation with weights d⁻² (Gansner, Koren and North, 2005). Each
    step solves a Laplacian system, which is factored once. Components do not overlap.
    """
    n = graph.n_nodes
    if n <= 1:
        return np.zeros((n, 2))
    links = coo_array((np.ones(graph.n_edges), (graph.tail, graph.head)), shape=(n, n)).tocsr()
    hops = np.asarray(shortest_path(links, directed=False, unweighted=True))
    hops[~np.isfinite(hops)] = hops[np.isfinite(hops)].max() + 2.0
    squares = hops**2
    centred = squares.mean(axis=0) + squares.mean(axis=1)[:, None] - squares - squares.mean()
    values, vectors = eigh(centred / 2.0, subset_by_index=[n - 2, n - 1])
    # nodes with the same neighbours start at the same point, and only noise separates them
    noise = np.random.default_rng(0).normal(scale=0.01, size=(n, 2))
    points: Floats = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0)) + noise
    np.fill_diagonal(squares, np.inf)
    weights = 1.0 / squares
    factor = cho_factor(np.diag(weights.sum(axis=1)) - weights + 1.0 / n)
    for _ in range(min(60, max(10, _LAYOUT_WORK // n**2))):
        ratio = -weights * hops / np.maximum(cdist(points, points), 1e-9)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        points = cho_solve(factor, ratio @ points)
    return points


def edge_lines(graph: MetricGraph, points: Floats) -> list[Floats]:
    """Return a line for each edge: straight, curved if it is parallel to another, a ring for a loop."""
    seen: dict[tuple[int, int], int] = {}
    loop_radius = 0.02 * float(np.ptp(points, axis=0).max(initial=0.0)) or 0.1
    lines = []
    for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True):
        pair = (min(u, v), max(u, v))
        rank = seen[pair] = seen.get(pair, -1) + 1
        start, stop = points[pair[0]], points[pair[1]]
        if u == v:
            angle = np.linspace(-np.pi / 2, 3 * np.pi / 2, 24)
            radius = loop_radius * (1 + rank)
            lines.append(start + radius * np.stack([np.cos(angle), 1 + np.sin(angle)], axis=1))
        elif rank == 0:
            lines.append(points[list(pair)])
        else:
            part = np.linspace(0.0, 1.0, 13)[:, None]
            across = np.array([start[1] - stop[1], stop[0] - start[0]])
            side = 0.35 * ((rank + 1) // 2) * (1 if rank % 2 else -1)
            lines.append(start + part * (stop - start) + 4 * side * part * (1 - part) * across)
    return lines


def has_degrees(graph: MetricGraph, points: Floats) -> bool:
    """Return whether points of a graph are longitudes and latitudes, away from the poles."""
    return is_geographic(graph.crs) and bool(len(points)) and bool(np.abs(points[:, 1]).max() < _POLE)


def aspect(graph: MetricGraph, points: Floats) -> float:
    """Return the stretch that makes degrees of longitude and latitude look like metres."""
    return float(1.0 / np.cos(np.radians(points[:, 1].mean()))) if has_degrees(graph, points) else 1.0


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """A graph as segments between points of a square grid; without segments if it was not drawn.

    Attributes
    ----------
    x, y
        Coordinates of the points, from 0 to `THUMBNAIL_SIDE`; y grows downwards, as on a screen.
    tail, head
        Indices of the end points of each segment.
    cycle
        Index of the first basis cycle that contains the segment, 65535 for a bridge.
    simplified
        Whether points were merged because there were too many segments.
    frame
        West, south, east and north of the square in the coordinates of the graph; None for a layout.
    """

    x: Words
    y: Words
    tail: Words
    head: Words
    cycle: Words
    simplified: bool = False
    frame: tuple[float, float, float, float] | None = None


_NOTHING = np.zeros(0, np.uint16)
NOT_DRAWN = Thumbnail(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)


def thumbnail(graph: MetricGraph, *, max_segments: int) -> Thumbnail:
    """Return a small drawing of a graph, simplified if it has more than `max_segments` segments.

    Points in the same cell of a grid become one. A grid of 4,096 points a side is halved while there
    are too many segments, down to 128 points. Graphs without coordinates get a layout; those
    without edges, and those too large for a layout, are not drawn.
    """
    if not graph.n_edges or (not is_placed(graph) and graph.n_nodes > _MAX_THUMBNAIL_LAYOUT):
        return NOT_DRAWN
    owner = np.minimum(cycle_owners(graph), _NO_CYCLE - 1)
    owner[owner < 0] = _NO_CYCLE
    points, tail, head, edge, stretch = _segments(graph)
    low, high = points.min(axis=0), points.max(axis=0)
    middle, width = (low + high) / 2, float((high - low).max()) or 1.0
    # y downwards, as on a screen
    points = 0.5 + (points - middle) / width * (1.0, -1.0)
    corners = np.concatenate([(middle - width / 2) * stretch, (middle + width / 2) * stretch])
    frame = tuple(corners.tolist()) if is_placed(graph) else None
    side = THUMBNAIL_SIDE
    while True:
        drawn = _on_grid(points, tail, head, owner[edge], side)
        if len(drawn.tail) <= max_segments or side <= _COARSEST_SIDE:
            return replace(drawn, frame=frame)
        side //= 2


def thumbnails(
    graphs: Sequence[MetricGraph],
    *,
    max_segments: int,
    order: Iterable[int] | None = None,
    max_total: int | None = None,
    progress: Progress | None = None,
) -> list[Thumbnail]:
    """Return the thumbnail of each graph.

    Parameters
    ----------
    graphs
        What to draw.
    max_segments
        Number of segments above which a thumbnail is simplified.
    order
        Indices of the graphs, the most important first; by default their own order.
    max_total
        Number of segments of all thumbnails together; graphs that do not fit are not drawn.
    progress
        Called with the part that is done.
    """
    chosen = list(dict.fromkeys(range(len(graphs)) if order is None else order))
    drawn = [NOT_DRAWN] * len(graphs)
    total = 0
    for done, index in enumerate(chosen, 1):
        one = thumbnail(graphs[index], max_segments=max_segments)
        total += len(one.tail)
        if max_total is not None and total > max_total:
            break
        drawn[index] = one
        if progress is not None:
            progress(done / len(chosen))
    return drawn


def thumbnail_arrays(drawn: Sequence[Thumbnail]) -> dict[str, NDArray[np.uint16] | NDArray[np.uint32]]:
    """Return thumbnails as the arrays that ``torelli.thumbnail`` in ``static/page.js`` reads.

    Points and segments of all thumbnails stand one after the other; thumbnail i has the points from
    ``thumbnail.points[i]`` to ``thumbnail.points[i + 1]``, and segments likewise.
    """
    parts = ("x", "y", "tail", "head", "cycle")
    return {
        **{f"thumbnail.{part}": np.concatenate([getattr(one, part) for one in drawn]) for part in parts},
        "thumbnail.points": starts([len(one.x) for one in drawn]),
        "thumbnail.segments": starts([len(one.tail) for one in drawn]),
    }


def starts(counts: list[int]) -> NDArray[np.uint32]:
    """Return where each of several consecutive pieces starts, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def _segments(graph: MetricGraph) -> tuple[Floats, Ints, Ints, Ints, Floats]:
    """Return points, for each segment its two ends and its edge, and how coordinates were stretched.

    The points times the stretch of x and y are coordinates of the graph; x and y of the points have the same
    scale.
    """
    points = positions(graph)
    lines = edge_lines(graph, points)
    counts = np.array([len(line) for line in lines])
    stretch = np.array([aspect(graph, points), 1.0])
    corners = np.concatenate(lines) / stretch
    starts_segment = np.ones(len(corners), dtype=np.bool_)
    starts_segment[np.cumsum(counts) - 1] = False
    tail = np.flatnonzero(starts_segment)
    return corners, tail, tail + 1, np.repeat(np.arange(len(lines)), counts - 1), stretch


def _on_grid(points: Floats, tail: Ints, head: Ints, cycle: Ints, side: int) -> Thumbnail:
    """Return segments between the points of a grid, without those that have no length or coincide."""
    cell = np.clip(np.rint(points * side), 0, side).astype(np.int64)
    cells, point = np.unique(cell[:, 0] * (side + 1) + cell[:, 1], return_inverse=True)
    ends = np.sort(np.stack([point[tail], point[head]], axis=1), axis=1)
    # of segments that coincide, the one of the first cycle is kept
    order = np.lexsort((cycle, ends[:, 1], ends[:, 0]))
    ends, cycle = ends[order], cycle[order]
    kept = ends[:, 0] != ends[:, 1]
    kept[1:] &= (ends[1:] != ends[:-1]).any(axis=1)
    used, ends = np.unique(ends[kept], return_inverse=True)
    tails, heads = ends.reshape(-1, 2).T
    step = THUMBNAIL_SIDE // side
    x, y = np.divmod(cells[used], side + 1)
    return Thumbnail(
        x=(x * step).astype(np.uint16),
        y=(y * step).astype(np.uint16),
        tail=tails.astype(np.uint16),
        head=heads.astype(np.uint16),
        cycle=cycle[kept].astype(np.uint16),
        simplified=side < THUMBNAIL_SIDE,
    )
