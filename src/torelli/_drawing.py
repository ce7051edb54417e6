"""Drawing graphs: colours, and thumbnails for HTML pages."""

from __future__ import annotations

from colorsys import hsv_to_rgb
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from torelli._layout import in_unit_square, is_placed, segments
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

THUMBNAIL_SIDE = 4095
"""Largest coordinate of a point in a thumbnail."""
_COARSEST_SIDE = 127
_NO_CYCLE = 65535
_SHADES = 4  # on each side of 0; more cannot be told apart in a small drawing
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
    edge
        The edge of the graph that each segment belongs to.
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
    edge: Ints
    simplified: bool = False
    frame: tuple[float, float, float, float] | None = None


_NOTHING = np.zeros(0, np.uint16)
NOT_DRAWN = Thumbnail(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros(0, np.int64))


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
    points, tail, head, edge, stretch = segments(graph)
    points, square = in_unit_square(points)
    west, south, east, north = (square * stretch).ravel().tolist()
    frame = (west, south, east, north) if is_placed(graph) else None
    side = THUMBNAIL_SIDE
    while True:
        drawn = _on_grid(points, tail, head, owner[edge], edge, side)
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
        Largest number of segments in all thumbnails together; graphs that do not fit are not drawn.
    progress
        Called with the fraction done.
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


def pair_arrays(
    drawn: Sequence[Thumbnail],
    pairs: Sequence[tuple[int, int]],
    shades: Iterable[tuple[tuple[Floats, Floats], tuple[Floats, Floats]]],
) -> dict[str, NDArray[np.int8] | NDArray[np.uint32]]:
    """Return pairs of thumbnails as the arrays that ``torelli.comparison`` in ``static/page.js`` reads.

    Parameters
    ----------
    drawn
        The thumbnails.
    pairs
        Positions of the two graphs of each pair, in the order of the first.
    shades
        For each pair, two kinds of shades from -1 to 1, each for the edges of both graphs.

    Returns
    -------
    arrays
        Thumbnail i has the pairs from ``pair.first[i]`` to ``pair.first[i + 1]``. ``pair.other`` is the other
        graph of a pair, and ``pair.start`` the start of its shades in ``pair.shade``, from -4 to 4: of the
        first kind on the segments of both thumbnails, then of the second.
    """
    values = [
        np.concatenate(
            [
                np.rint(_SHADES * both[side][drawn[index].edge]).astype(np.int8)
                for both in kinds
                for side, index in enumerate(pair)
            ]
        )
        for pair, kinds in zip(pairs, shades, strict=True)
    ]
    counts = np.bincount([one for one, _ in pairs], minlength=len(drawn)).tolist()
    return {
        "pair.first": starts(counts),
        "pair.other": np.array([other for _, other in pairs], np.uint32),
        "pair.start": starts([len(one) for one in values])[:-1],
        "pair.shade": np.concatenate([np.zeros(0, np.int8), *values]),
    }


def _on_grid(points: Floats, tail: Ints, head: Ints, cycle: Ints, edge: Ints, side: int) -> Thumbnail:
    """Return segments between the points of a grid, without those that have no length or coincide."""
    cell = np.clip(np.rint(points * side), 0, side).astype(np.int64)
    cells, point = np.unique(cell[:, 0] * (side + 1) + cell[:, 1], return_inverse=True)
    ends = np.sort(np.stack([point[tail], point[head]], axis=1), axis=1)
    # of segments that coincide, the one of the first cycle is kept
    order = np.lexsort((cycle, ends[:, 1], ends[:, 0]))
    ends, cycle, edge = ends[order], cycle[order], edge[order]
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
        edge=edge[kept],
        simplified=side < THUMBNAIL_SIDE,
    )
