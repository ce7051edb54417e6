"""Small drawings of networks in whole numbers, for pages: what a picture of some hundred pixels can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torelli._drawing import aspect, cycle_owners, edge_lines, is_placed, positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]
    Words = NDArray[np.uint16]

FULL = 4095
_COARSEST = 127
_BRIDGE = 65535
_MAX_LAYOUT_NODES = 400


@dataclass(frozen=True)
class Drawing:
    """A network as segments between points of a square grid.

    Attributes
    ----------
    x, y
        The points, from 0 to `FULL`; y points down, as on a screen.
    tail, head
        The ends of each segment.
    cycle
        The first basis cycle that runs over a segment, or 65535 for a bridge.
    simplified
        Whether points were merged because there were too many segments.
    """

    x: Words
    y: Words
    tail: Words
    head: Words
    cycle: Words
    simplified: bool = False


_NOTHING = np.zeros(0, np.uint16)
EMPTY = Drawing(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING)


def draw(graph: MetricGraph, *, most: int) -> Drawing:
    """Return the drawing of a network, with at most about `most` segments.

    Points closer than the grid become one. Where there are too many segments the grid is made
    coarser, to 128 points a side at the most. Networks without coordinates get a layout; those too
    large for one have an empty drawing.
    """
    if not graph.n_edges or (not is_placed(graph) and graph.n_nodes > _MAX_LAYOUT_NODES):
        return EMPTY
    owner = np.minimum(cycle_owners(graph), _BRIDGE - 1)
    owner[owner < 0] = _BRIDGE
    points, tail, head, edge = segments(graph)
    square = _in_square(points)
    grid = FULL
    while True:
        drawing = _snapped(square, tail, head, owner[edge], grid)
        if len(drawing.tail) <= most or grid <= _COARSEST:
            return drawing
        grid //= 2


def segments(graph: MetricGraph) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return points, the two ends of each segment, and its edge; x is scaled so that both axes agree."""
    points = positions(graph)
    lines = edge_lines(graph, points)
    counts = np.array([len(line) for line in lines])
    places = np.concatenate(lines) * (1.0 / aspect(graph, points), 1.0)
    inner = np.ones(len(places), dtype=np.bool_)
    inner[np.cumsum(counts) - 1] = False
    tail = np.flatnonzero(inner)
    return places, tail, tail + 1, np.repeat(np.arange(len(lines)), counts - 1)


def _in_square(points: Floats) -> Floats:
    """Return points in the unit square, centred, y down."""
    low, high = points.min(axis=0), points.max(axis=0)
    side = float((high - low).max()) or 1.0
    inside: Floats = 0.5 + (points - (low + high) / 2) / side * (1.0, -1.0)
    return inside


def _snapped(
    square: Floats, tail: NDArray[np.int64], head: NDArray[np.int64], cycle: NDArray[np.int64], grid: int
) -> Drawing:
    cell = np.clip(np.rint(square * grid), 0, grid).astype(np.int64)
    key, number = np.unique(cell[:, 0] * (grid + 1) + cell[:, 1], return_inverse=True)
    ends = np.sort(np.stack([number[tail], number[head]], axis=1), axis=1)
    # of segments that fall together the one of the first cycle is seen
    order = np.lexsort((cycle, ends[:, 1], ends[:, 0]))
    ends, cycle = ends[order], cycle[order]
    kept = ends[:, 0] != ends[:, 1]
    kept[1:] &= (ends[1:] != ends[:-1]).any(axis=1)
    used, ends = np.unique(ends[kept], return_inverse=True)
    ends = ends.reshape(-1, 2)
    step = FULL // grid
    x, y = np.divmod(key[used], grid + 1)
    tails, heads = ends.T
    return Drawing(
        _words(x * step),
        _words(y * step),
        _words(tails),
        _words(heads),
        _words(cycle[kept]),
        simplified=grid < FULL,
    )


def _words(values: NDArray[np.int64]) -> Words:
    return values.astype(np.uint16)
