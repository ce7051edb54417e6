"""Where the lines of a drawn graph run and which cycle colours them, for pictures in Python and in HTML."""

from __future__ import annotations

from colorsys import hsv_to_rgb
from typing import TYPE_CHECKING, Any

import numpy as np

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
_MIDDLE_LATITUDE = 90.0
_MAX_LAYOUT_NODES = 2000


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


def positions(graph: MetricGraph) -> Floats:
    """Return the places of the nodes; without coordinates a layout, the same for the same graph."""
    if graph.coordinates is not None and np.isfinite(graph.coordinates[:, :2]).all():
        return graph.coordinates[:, :2]
    import networkx as nx  # noqa: PLC0415  (only for layouts)

    if graph.n_nodes > _MAX_LAYOUT_NODES:
        raise ValueError(
            f"{graph.n_nodes:,} nodes without coordinates are too many for a layout: give coordinates"
        )
    plain = graph.replace(node_ids=None, coordinates=None).to_networkx()
    layout: dict[int, Any] = nx.spring_layout(nx.Graph(plain), seed=0, iterations=200)
    return np.array([layout[node] for node in range(graph.n_nodes)]).reshape(-1, 2)


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


def is_geographic(graph: MetricGraph, points: Floats) -> bool:
    """Whether the places are longitudes and latitudes."""
    named = graph.crs is not None and any(word in graph.crs.upper() for word in ("4326", "WGS", "CRS84"))
    return named and bool(len(points)) and bool(np.abs(points[:, 1]).max() < _MIDDLE_LATITUDE)


def aspect(graph: MetricGraph, points: Floats) -> float:
    """Return the stretch that makes degrees of longitude and latitude look like metres."""
    return float(1.0 / np.cos(np.radians(points[:, 1].mean()))) if is_geographic(graph, points) else 1.0
