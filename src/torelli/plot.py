"""Pictures: each function draws on an Axes, its own or the one given by ``ax=``, and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from torelli._errors import MissingExtraError
from torelli.io import as_metric_graph
from torelli.matrix import torelli_matrix
from torelli.model import canonical_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]

# Okabe and Ito's colours, told apart also by colour-blind people; pattern first to last
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
MARKERS = "osD^vP*X"
_BRIDGE = "#B8B8B8"
_GOLDEN_ANGLE = 0.6180339887498949
_MIDDLE_LATITUDE = 90.0
MAX_LAYOUT_NODES = 2000


def _axes(ax: Axes | None, **figure: Any) -> Axes:  # noqa: ANN401  (options of matplotlib's figure)
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtraError("pictures need matplotlib: pip install 'torelli[plot]'") from error
    _, new = plt.subplots(layout="constrained", **figure)
    return cast("Axes", new)


def graph(
    graph: Any,  # noqa: ANN401  (whatever can be converted)
    *,
    ax: Axes | None = None,
    cycles: bool = True,
    linewidth: float = 2.0,
) -> Axes:
    """Draw a graph at its coordinates, with the basis cycles coloured.

    Every edge takes the colour of the first basis cycle that runs over it; bridges, which lie on
    no cycle, are grey and thin. Without coordinates a layout is computed (same graph, same picture).

    Parameters
    ----------
    graph
        What to draw: a `MetricGraph`, or anything that `as_metric_graph` takes.
    ax
        Where to draw it.
    cycles
        Whether to colour the cycles.
    linewidth
        Width of edges on cycles.
    """
    graph = as_metric_graph(graph)
    ax = _axes(ax, figsize=(5, 5))
    from matplotlib.collections import LineCollection  # noqa: PLC0415  (an extra, which is there by now)

    points = positions(graph)
    owner = np.full(graph.n_edges, -1)
    if cycles:
        for number, edges in reversed(list(enumerate(canonical_model(graph).cycles))):
            owner[edges] = number
    colours = [_cycle_colour(number) if number >= 0 else _BRIDGE for number in owner.tolist()]
    widths = np.where((owner >= 0) | (not cycles), linewidth, linewidth / 2)
    lines = edge_lines(graph, points)
    order = np.argsort(owner >= 0, kind="stable")
    ax.add_collection(
        LineCollection(
            [lines[i] for i in order],
            colors=[colours[i] for i in order],
            linewidths=widths[order].tolist(),
            capstyle="round",
        )
    )
    ax.autoscale_view()
    ax.set_aspect(aspect(graph, points))
    ax.set_axis_off()
    ax.set_title(f"{graph.name or 'graph'}: genus {graph.genus}", fontsize="medium")
    return ax


def matrix(graph_or_matrix: MetricGraph | Floats, *, ax: Axes | None = None) -> Axes:
    """Draw a Torelli matrix as a heat map: blue for overlaps in the same sense, red for opposite."""
    Q = graph_or_matrix if isinstance(graph_or_matrix, np.ndarray) else torelli_matrix(graph_or_matrix)
    ax = _axes(ax, figsize=(4.6, 4))
    limit = float(np.abs(Q).max(initial=0.0)) or 1.0
    image = ax.imshow(Q, cmap="RdBu", vmin=-limit, vmax=limit)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    ax.set_title(f"Q, {len(Q)} × {len(Q)}", fontsize="medium")  # noqa: RUF001  (a product)
    return ax


def kernel_pca(
    K: Floats, y: Sequence[Any] | NDArray[Any] | None = None, *, ax: Axes | None = None, title: str = ""
) -> Axes:
    """Draw the first two kernel principal components of a kernel matrix, coloured and marked by class."""
    ax = _axes(ax, figsize=(5, 4))
    XY, share = principal_components(K, 2)
    classes = np.zeros(len(K), dtype=int) if y is None else np.asarray(y)
    for number, label in enumerate(np.unique(classes)):
        chosen = classes == label
        ax.scatter(
            XY[chosen, 0],
            XY[chosen, 1] if XY.shape[1] > 1 else np.zeros(chosen.sum()),
            s=18,
            marker=MARKERS[number % len(MARKERS)],
            color=PALETTE[number % len(PALETTE)],
            alpha=0.75,
            linewidths=0,
            label=None if y is None else str(label),
        )
    if y is not None:
        ax.legend(frameon=False, fontsize="small")
    ax.set_xlabel(f"component 1 ({share[0]:.0%})")
    ax.set_ylabel(f"component 2 ({share[1] if len(share) > 1 else 0:.0%})")
    ax.set_title(title, fontsize="medium")
    return ax


def principal_components(K: Floats, n_components: int) -> tuple[Floats, Floats]:
    """Return the leading kernel principal components, scaled, and the share of each in the positive spectrum.

    Signs are fixed so that the same kernel gives the same picture.
    """
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    values, vectors = np.linalg.eigh(centred)
    positive = np.maximum(values[::-1], 0.0)
    XY = vectors[:, ::-1][:, :n_components] * np.sqrt(positive[:n_components])
    XY *= np.where(XY[np.abs(XY).argmax(axis=0), np.arange(XY.shape[1])] < 0, -1.0, 1.0)
    return XY, positive / max(positive.sum(), np.finfo(float).tiny)


def _cycle_colour(number: int) -> tuple[float, float, float]:
    """Return a colour for each number, neighbours far apart."""
    from matplotlib.colors import hsv_to_rgb  # noqa: PLC0415  (an extra)

    hue = (0.58 + number * _GOLDEN_ANGLE) % 1.0
    red, green, blue = hsv_to_rgb((hue, 0.75, 0.85 if number % 2 else 0.65)).tolist()
    return red, green, blue


def is_placed(graph: MetricGraph) -> bool:
    """Return whether every node has coordinates."""
    return graph.coordinates is not None and bool(np.isfinite(graph.coordinates[:, :2]).all())


def positions(graph: MetricGraph) -> Floats:
    """Return where to draw each node: at its coordinates, else by a layout (same graph, same picture)."""
    if is_placed(graph):
        return cast("Floats", graph.coordinates)[:, :2]
    import networkx as nx  # noqa: PLC0415  (only for layouts)

    if graph.n_nodes > MAX_LAYOUT_NODES:
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


def aspect(graph: MetricGraph, points: Floats) -> float:
    """Return the stretch that makes degrees of longitude and latitude look like metres."""
    geographic = graph.crs is not None and ("4326" in graph.crs or "WGS" in graph.crs.upper())
    if not geographic or not len(points) or np.abs(points[:, 1]).max() >= _MIDDLE_LATITUDE:
        return 1.0
    return float(1.0 / np.cos(np.radians(points[:, 1].mean())))
