"""Where the lines of a drawn graph run and which cycle colours them, for pictures in Python and in HTML."""

from __future__ import annotations

from colorsys import hsv_to_rgb
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from torelli._geo import is_geographic
from torelli.model import canonical_model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]

# Okabe and Ito's colours, told apart also by colour-blind people; pattern first to last
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "osD^vP*X"
BRIDGE = "#B8B8B8"
_GOLDEN_ANGLE = 0.6180339887498949
_POLE = 90.0
_MAX_LAYOUT_NODES = 2000
_LAYOUT_WORK = 2_000_000  # entries of distance matrices, over all steps


def cycle_owners(graph: MetricGraph) -> NDArray[np.int64]:
    """Return for each edge the first basis cycle that runs over it, -1 for bridges."""
    owner = np.full(graph.n_edges, -1)
    for number, edges in reversed(list(enumerate(canonical_model(graph).cycles))):
        owner[edges] = number
    return owner


def cycle_colour(number: int) -> tuple[float, float, float]:
    """Return a colour for each number, neighbours far apart."""
    return hsv_to_rgb((0.58 + number * _GOLDEN_ANGLE) % 1.0, 0.75, 0.85 if number % 2 else 0.65)


def class_colour(number: int, n_classes: int) -> str:
    """Return the colour of a class: from the palette while it lasts, from the circle of hues beyond."""
    if n_classes <= len(PALETTE):
        return PALETTE[number]
    return "#" + "".join(f"{round(255 * part):02x}" for part in cycle_colour(number))


def is_placed(graph: MetricGraph) -> bool:
    """Whether every node has coordinates."""
    return graph.coordinates is not None and bool(np.isfinite(graph.coordinates[:, :2]).all())


def positions(graph: MetricGraph) -> Floats:
    """Return the places of the nodes; without coordinates a layout, the same for the same graph."""
    if graph.coordinates is not None and np.isfinite(graph.coordinates[:, :2]).all():
        return graph.coordinates[:, :2]
    if graph.n_nodes > _MAX_LAYOUT_NODES:
        raise ValueError(
            f"{graph.n_nodes:,} nodes without coordinates are too many for a layout: give coordinates"
        )
    return _layout(graph)


def _layout(graph: MetricGraph) -> Floats:
    """Return places whose distances are near the numbers of edges between nodes.

    Classical scaling, then steps of stress majorisation with weights d⁻² (Gansner, Koren and North,
    2005): each solves a Laplacian system that is factored once. Components stand apart.
    """
    n = graph.n_nodes
    if n < 2:  # noqa: PLR2004  (nothing to arrange)
        return np.zeros((n, 2))
    links = coo_array((np.ones(graph.n_edges), (graph.tail, graph.head)), shape=(n, n)).tocsr()
    hops = np.asarray(shortest_path(links, directed=False, unweighted=True))
    hops[~np.isfinite(hops)] = hops[np.isfinite(hops)].max() + 2.0
    squares = hops**2
    centred = squares.mean(axis=0) + squares.mean(axis=1)[:, None] - squares - squares.mean()
    values, vectors = eigh(centred / 2.0, subset_by_index=[n - 2, n - 1])
    # twins start at one place, and only a push drives them apart
    push = np.random.default_rng(0).normal(scale=0.01, size=(n, 2))
    points: Floats = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0)) + push
    np.fill_diagonal(squares, np.inf)
    weights = 1.0 / squares
    factor = cho_factor(np.diag(weights.sum(axis=1)) - weights + 1.0 / n)
    for _ in range(min(60, max(10, _LAYOUT_WORK // n**2))):
        ratio = -weights * hops / np.maximum(cdist(points, points), 1e-9)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        points = cho_solve(factor, ratio @ points)
    return points


def edge_lines(graph: MetricGraph, points: Floats) -> list[Floats]:
    """Return a line for each edge: straight, bowed where it runs beside another, a ring for a loop."""
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
            at = np.linspace(0.0, 1.0, 13)[:, None]
            across = np.array([start[1] - stop[1], stop[0] - start[0]])
            side = 0.35 * ((rank + 1) // 2) * (1 if rank % 2 else -1)
            lines.append(start + at * (stop - start) + 4 * side * at * (1 - at) * across)
    return lines


def has_degrees(graph: MetricGraph, points: Floats) -> bool:
    """Return whether points of a graph are longitudes and latitudes, away from the poles."""
    return is_geographic(graph.crs) and bool(len(points)) and bool(np.abs(points[:, 1]).max() < _POLE)


def aspect(graph: MetricGraph, points: Floats) -> float:
    """Return the stretch that makes degrees of longitude and latitude look like metres."""
    return float(1.0 / np.cos(np.radians(points[:, 1].mean()))) if has_degrees(graph, points) else 1.0
