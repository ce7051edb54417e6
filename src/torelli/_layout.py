"""Where the nodes and edges of a graph are drawn, and graphs and matrices as a notebook shows them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from torelli._geo import is_geographic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

_POLE = 90.0
_MAX_LAYOUT_NODES = 2000
_LAYOUT_WORK = 2_000_000  # entries of distance matrices, over all steps
_MAX_NOTEBOOK_LAYOUT, _MAX_NOTEBOOK_EDGES = 300, 5_000
_SIDE = 240  # of a drawing in a notebook, in pixels
_MAX_CELLS, _SHADES = 48, 8  # rows of the picture of a matrix, and shades of its cells


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
    from scipy.linalg import cho_factor, cho_solve, eigh
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import shortest_path
    from scipy.spatial.distance import cdist

    n = graph.n_nodes
    if n <= 1:
        return np.zeros((n, 2))
    ends = graph.tail.astype(np.int32), graph.head.astype(np.int32)  # scipy 1.13 takes no wider indices
    links = coo_array((np.ones(graph.n_edges), ends), shape=(n, n)).tocsr()
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
    extent = float(np.ptp(points, axis=0).max(initial=0.0)) if len(points) else 0.0
    loop_radius = 0.02 * extent or 0.1
    drawn = np.hypot(*(points[graph.tail] - points[graph.head]).T) if graph.n_edges else np.empty(0)
    drawn = drawn[drawn > 0.0]
    if drawn.size:  # rings of a large network are as small as its streets
        loop_radius = min(loop_radius, float(np.median(drawn)) / 2.0)
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


def segments(graph: MetricGraph) -> tuple[Floats, Ints, Ints, Ints, Floats]:
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


def in_unit_square(points: Floats) -> tuple[Floats, Floats]:
    """Return points moved and scaled into the unit square, with y downwards as on a screen.

    The second result is the square before: its lower left and its upper right corner, as rows.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    middle, side = (low + high) / 2, float((high - low).max()) or 1.0
    inside: Floats = 0.5 + (points - middle) / side * (1.0, -1.0)
    return inside, np.stack([middle - side / 2, middle + side / 2])


def notebook_html(
    graph: MetricGraph,
    title: str,
    rows: Iterable[tuple[str, str]],
    colours: Sequence[str] | None = None,
) -> str:
    """Return a drawing of a graph beside a table, as a notebook shows it.

    Parameters
    ----------
    graph
        The graph. It is not drawn if it has too many edges, or too many nodes without coordinates.
    title, rows
        Title of the table, and its labels and values.
    colours
        Colour of each edge; by default the colour of the text.
    """
    return _beside_a_table(_svg(graph, title, colours), title, rows)


def matrix_html(Q: Floats, title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a square matrix as cells, darker for larger absolute values, beside a table.

    Of a matrix with many rows, each cell is the largest entry of a block.
    """
    size = np.abs(Q)
    if len(Q) > _MAX_CELLS:
        starts = np.arange(_MAX_CELLS) * len(Q) // _MAX_CELLS
        size = np.maximum.reduceat(np.maximum.reduceat(size, starts, axis=0), starts, axis=1)
    largest = float(size.max(initial=0.0)) or 1.0
    # by roots, because overlaps of cycles are much shorter than cycles
    shades = np.ceil(np.sqrt(size / largest) * _SHADES).astype(int)
    paths = "".join(
        f"<path fill='#0072b2' fill-opacity='{shade / _SHADES:g}' d='"
        + "".join(f"M{x} {y}h1v1h-1z" for y, x in np.argwhere(shades == shade).tolist())
        + "'/>"
        for shade in range(1, _SHADES + 1)
    )
    picture = (
        f"<svg role='img' aria-label='{escape(title, quote=True)}' width='{_SIDE}' height='{_SIDE}' "
        f"viewBox='0 0 {len(size)} {len(size)}' style='border:1px solid #b8b8b8'>{paths}</svg>"
    )
    return _beside_a_table(picture if len(Q) else "", title, rows)


def _beside_a_table(picture: str, title: str, rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><th style='text-align:left'>{escape(label)}</th>"
        f"<td style='text-align:right'>{escape(value)}</td></tr>"
        for label, value in rows
    )
    table = f"<table><caption>{escape(title)}</caption><tbody>{cells}</tbody></table>"
    return f"<div style='display:flex;gap:1.5em;align-items:center;flex-wrap:wrap'>{picture}{table}</div>"


def _svg(graph: MetricGraph, title: str, colours: Sequence[str] | None) -> str:
    unplaced = not is_placed(graph) and graph.n_nodes > _MAX_NOTEBOOK_LAYOUT
    if not graph.n_edges or graph.n_edges > _MAX_NOTEBOOK_EDGES or unplaced:
        return ""
    points, tail, head, edge, _ = segments(graph)
    pixels = in_unit_square(points)[0] * (_SIDE - 8) + 4
    by_colour: dict[str, list[str]] = {}
    for one, two, index in zip(pixels[tail].tolist(), pixels[head].tolist(), edge.tolist(), strict=True):
        path = f"M{one[0]:.1f} {one[1]:.1f}L{two[0]:.1f} {two[1]:.1f}"
        by_colour.setdefault("currentColor" if colours is None else colours[index], []).append(path)
    paths = "".join(f"<path stroke='{colour}' d='{''.join(lines)}'/>" for colour, lines in by_colour.items())
    return (
        f"<svg role='img' aria-label='{escape(title, quote=True)}' width='{_SIDE}' height='{_SIDE}' "
        f"viewBox='0 0 {_SIDE} {_SIDE}' fill='none' stroke-width='1.2' stroke-linecap='round'>{paths}</svg>"
    )
