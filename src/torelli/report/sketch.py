"""Small drawings of graphs as paths of SVG: light enough for a page that holds hundreds of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._drawing import aspect, cycle_colour, cycle_owners, edge_lines, positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli.graph import MetricGraph

_SIDE = 400
_MAX_EDGES = 20_000
_MAX_LAYOUT_NODES = 400


def sketch(graph: MetricGraph) -> dict[str, Any] | None:
    """Return a drawing of a graph: the same lines and colours as `torelli.plot.graph`.

    Returns
    -------
    drawing
        ``size`` (width, height) and ``paths``, pairs of a colour (empty for bridges) and the ``d`` of an
        SVG path, bridges first. None for a graph without edges, and for one too large to be drawn.
    """
    placed = graph.coordinates is not None and bool(np.isfinite(graph.coordinates[:, :2]).all())
    if not 0 < graph.n_edges <= _MAX_EDGES or (not placed and graph.n_nodes > _MAX_LAYOUT_NODES):
        return None
    points = positions(graph)
    lines = edge_lines(graph, points)
    # y grows downwards on a screen
    stretch = np.array([1.0, -aspect(graph, points)])
    corners = np.concatenate(lines) * stretch
    low, extent = corners.min(axis=0), np.ptp(corners, axis=0)
    scale = _SIDE / (float(extent.max()) or 1.0)
    owner = cycle_owners(graph)
    paths = []
    for number in np.unique(owner).tolist():
        chosen = [lines[edge] for edge in np.flatnonzero(owner == number)]
        d = _path([np.rint((line * stretch - low) * scale).astype(int) for line in chosen])
        paths.append(["" if number < 0 else _hex(cycle_colour(number)), d])
    width, height = np.maximum(np.rint(extent * scale), 1).astype(int).tolist()
    return {"size": [width, height], "paths": paths}


def sketches(
    graphs: Sequence[MetricGraph],
    order: Iterable[int],
    *,
    max_bytes: int,
    progress: Progress | None = None,
) -> dict[int, dict[str, Any]]:
    """Return drawings by the number of the graph, in the order given while they fit into `max_bytes`."""
    drawn: dict[int, dict[str, Any]] = {}
    size = 0
    wanted = list(dict.fromkeys(order))
    for done, at in enumerate(wanted, 1):
        drawing = sketch(graphs[at])
        if drawing is not None:
            size += sum(len(d) + len(colour) + 8 for colour, d in drawing["paths"]) + 40
            if size > max_bytes:
                break
            drawn[at] = drawing
        if progress is not None:
            progress(done / len(wanted))
    return drawn


def _path(lines: list[NDArray[np.int64]]) -> str:
    """Return lines as one path; an edge that goes on where the last one ended does not lift the pen."""
    text: list[str] = []
    pen: list[int] | None = None
    for drawn in lines:
        line = drawn
        if pen == line[-1].tolist():
            line = line[::-1]
        if pen != line[0].tolist():
            text.append(f"M{line[0][0]} {line[0][1]}")
        steps = np.diff(line, axis=0).tolist()
        text += [f"l{dx} {dy}" for dx, dy in steps]
        pen = line[-1].tolist()
    return "".join(text)


def _hex(colour: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)
