"""Draw the pictures of docs/generators.md: ``python docs/make_generator_pictures.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from PIL import Image

from torelli.datasets import (
    cactus,
    delaunay,
    grid,
    line_plus_random,
    necklace,
    random_geometric,
    street_pattern,
    theta,
    voronoi,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from torelli import MetricGraph

FOLDER = Path(__file__).parent / "images" / "generators"
FAMILIES = {
    "line_plus_random": [line_plus_random(24, genus, seed=1) for genus in (3, 8, 24)],
    "delaunay": [delaunay(n, seed=1) for n in (15, 40, 120)],
    "voronoi": [voronoi(n, seed=2) for n in (8, 30, 90)],
    "grid": [grid(6, 8, jitter=jitter, seed=1) for jitter in (0.0, 0.2, 0.4)],
    "random_geometric": [random_geometric(80, radius, seed=4) for radius in (0.12, 0.17, 0.24)],
    "cactus": [cactus(6, seed=1), cactus(16, seed=3), cactus(12, cycle_nodes=3, seed=6)],
    "theta": [theta(3, seed=1), theta(5, seed=1), theta(8, inner_nodes=3, seed=1)],
    "necklace": [necklace(n, seed=1) for n in (3, 7, 16)],
}
PATTERNS = ("gridiron", "linear", "chaotic", "tributary")


def draw(axis: Axes, graph: MetricGraph, *, node_size: float) -> None:
    """Draw the edges as straight lines between the nodes' coordinates."""
    places = np.asarray(graph.coordinates)
    segments = np.stack([places[graph.tail], places[graph.head]], axis=1)
    axis.add_collection(LineCollection(list(segments), colors="#1f3b57", linewidths=0.9))
    axis.scatter(places[:, 0], places[:, 1], s=node_size, color="#c0392b", linewidths=0, zorder=2)
    axis.set_aspect("equal")
    axis.autoscale_view()
    axis.set_axis_off()
    axis.set_title(f"{graph.n_nodes} nodes, genus {graph.genus}", fontsize=8)


def save(name: str, graphs: list[MetricGraph], *, node_size: float) -> None:
    """Draw graphs side by side."""
    figure = Figure(figsize=(2.5 * len(graphs), 2.6), dpi=90, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    for axis, graph in zip(figure.subplots(1, len(graphs)), graphs, strict=True):
        draw(axis, graph, node_size=node_size)
    canvas.draw()
    # few colours, and few bytes in the repository
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB").quantize(16)
    picture.save(FOLDER / f"{name}.png", optimize=True)


def main() -> None:
    """Draw every picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, graphs in FAMILIES.items():
        save(name, graphs, node_size=6.0)
    for pattern in PATTERNS:
        windows = [street_pattern(pattern, radius=300, seed=seed) for seed in (1, 2, 3)]
        save(pattern, windows, node_size=2.5)


if __name__ == "__main__":
    main()
