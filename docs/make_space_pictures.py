"""Draw the pictures of docs/invariance.md: ``python docs/make_space_pictures.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.patches import FancyArrowPatch

import torelli as tt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Place = Sequence[float] | NDArray[np.float64]

IMAGES = Path(__file__).parent / "images"
FOREST, CHORDS, BRIDGE = "black", ("#d55e00", "#0072b2", "#009e73", "#cc79a7"), "#b8b8b8"
COLOURS = (*CHORDS, "#e69f00", "#56b4e9", "#8c510a", "#5e4fa2", "#7fbc41", "#b2182b", "#35978f", "#4d4d4d")


def arc(ax: Axes, start: Place, end: Place, bend: float, colour: str, label: str) -> None:
    """Draw an edge as an arc that leaves the straight line by `bend`, with a label at its middle."""
    one, two = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    style = f"arc3,rad={2 * bend / max(float(np.linalg.norm(two - one)), 1e-9)}"
    ax.add_patch(
        FancyArrowPatch(
            tuple(one), tuple(two), connectionstyle=style, arrowstyle="-", color=colour, lw=2.2, zorder=1
        )
    )
    normal = np.array([two[1] - one[1], one[0] - two[0]]) / np.linalg.norm(two - one)
    x, y = (one + two) / 2 + bend * normal
    ax.text(
        x,
        y,
        label,
        ha="center",
        va="center",
        color=colour,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )


def points(ax: Axes, places: Iterable[Place]) -> None:
    """Draw nodes, and hide the axes."""
    x, y = np.asarray(list(places), dtype=float).T
    ax.scatter(x, y, s=28, color="black", zorder=3)
    ax.set_aspect("equal")
    ax.margins(0.15)
    ax.axis("off")


def numbers(ax: Axes, Q: NDArray[np.float64], title: str) -> None:
    """Draw a small matrix with its entries."""
    ax.imshow(np.abs(Q), cmap="Blues", vmin=0, vmax=2 * np.abs(Q).max())
    for (i, j), value in np.ndenumerate(Q):
        ax.text(j, i, f"{value:g}", ha="center", va="center")
    ax.set(title=title, xticks=[], yticks=[])


def save(figure: Figure, name: str) -> None:
    """Write a picture."""
    figure.savefig(IMAGES / f"{name}.png", dpi=110)
    plt.close(figure)
    print(f"{name}.png")


def draw_counterexample() -> None:
    """Draw a theta graph before and after a cut, with the matrices of both models."""
    theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1, 2, 3])
    cut = tt.MetricGraph([0, 0, 0, 2], [1, 1, 2, 1], [1, 2, 1.6, 1.4])
    figure, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained", width_ratios=(2, 1, 1))
    arc(axes[0, 0], (0, 0), (3, 0), 0.0, FOREST, "1")
    arc(axes[0, 0], (0, 0), (3, 0), -0.8, CHORDS[0], "2")
    arc(axes[0, 0], (0, 0), (3, 0), 0.8, CHORDS[1], "3")
    points(axes[0, 0], [(0, 0), (3, 0)])
    arc(axes[1, 0], (0, 0), (3, 0), 0.0, FOREST, "1")
    arc(axes[1, 0], (0, 0), (3, 0), -0.8, CHORDS[1], "2")
    arc(axes[1, 0], (0, 0), (1.5, -0.9), 0.15, CHORDS[0], "1.6")
    arc(axes[1, 0], (1.5, -0.9), (3, 0), 0.15, FOREST, "1.4")
    points(axes[1, 0], [(0, 0), (3, 0), (1.5, -0.9)])
    axes[0, 0].set_title("a theta graph")
    axes[1, 0].set_title("the same space, with a point on the edge 3")
    for row, graph in zip(axes, (theta, cut), strict=True):
        row[0].set(xlim=(-0.3, 3.3), ylim=(-1.3, 1.2))
        numbers(row[1], tt.torelli_matrix(graph, "literal"), "Algorithm 1")
        numbers(row[2], tt.torelli_matrix(graph), "canonical model")
    save(figure, "space_counterexample")


PLACES = np.array(
    [(0, 0), (0, 2), (2, 2), (2, 0), (4, 0), (4, 2), (6, 2), (6, 0), (1, 1), (3, 2), (5, 3), (7.2, 2.6),
     (7.4, 1.4), (-1.2, 2.4), (5, -0.9)], dtype=float,
)  # fmt: skip
STREETS = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 8), (2, 8), (1, 8), (3, 4), (2, 9), (9, 5), (4, 5), (5, 10),
           (10, 6), (6, 7), (7, 14), (14, 4), (5, 7), (6, 11), (6, 12), (1, 13)]  # fmt: skip


def draw_reduction() -> None:
    """Draw a small network, its bridges and C1-sets, and its core."""
    tail, head = np.array(STREETS).T
    lengths = np.linalg.norm(PLACES[tail] - PLACES[head], axis=1)
    model = tt.canonical_model(tt.MetricGraph(tail, head, lengths))
    colours = [BRIDGE if c < 0 else COLOURS[c % len(COLOURS)] for c in model.edge_class.tolist()]
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.0), layout="constrained")
    for ax, shades in zip(axes, ([FOREST] * len(tail), colours), strict=False):
        for a, b, colour in zip(tail, head, shades, strict=True):
            ax.plot(*PLACES[[a, b]].T, color=colour, lw=2.5, zorder=1)
        points(ax, PLACES)
    axes[0].set_title(f"as stored: {len(PLACES)} nodes, {len(STREETS)} edges")
    axes[1].set_title(f"{len(model.bridges)} bridges (grey), {model.core.n_edges} C1-sets (one colour each)")
    # contract the bridges, and all edges of a C1-set but the first
    kept = np.array([edges[0] for edges in model.c1_sets])
    gone: nx.Graph[int] = nx.Graph()
    gone.add_nodes_from(range(len(PLACES)))
    gone.add_edges_from(STREETS[e] for e in np.setdiff1d(np.arange(len(STREETS)), kept).tolist())
    merged = {node: i for i, part in enumerate(nx.connected_components(gone)) for node in part}
    places = np.array([
        np.mean([PLACES[node] for node, i in merged.items() if i == j], axis=0)
        for j in range(len(set(merged.values())))
    ])  # fmt: skip
    parallel: dict[tuple[int, ...], int] = {}
    for c1_set, edge in enumerate(kept.tolist()):
        ends = tuple(sorted(merged[node] for node in STREETS[edge]))
        count = parallel[ends] = parallel.get(ends, -1) + 1
        arc(axes[2], places[ends[0]], places[ends[-1]], (0.0, 0.55, -0.55)[count],
            COLOURS[c1_set % len(COLOURS)], f"{model.core.length[c1_set]:.1f}")  # fmt: skip
    points(axes[2], places)
    axes[2].set_title(f"core: {len(places)} nodes, {model.core.n_edges} edges, genus {model.genus}")
    save(figure, "space_reduction")


def draw_twist() -> None:
    """Draw two graphs that differ by a twist at two points, with their common matrix."""
    left = [(0, 1, 2.0), (1, 2, 3.0), (0, 2, 5.5)]
    places = np.array([(0, 0), (-1.3, 1), (0, 2), (1.4, 0.5), (1.4, 1.5)])
    right = [(0, 3, 1.0), (3, 4, 1.5), (4, 2, 2.5), (3, 2, 4.0)]
    swap = {0: 2, 2: 0, 3: 3, 4: 4}
    twisted = [(swap[a], swap[b], length) for a, b, length in right]
    turned = places.copy()
    turned[3], turned[4] = (1.4, 1.5), (1.4, 0.5)
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
    matrices = []
    for ax, edges, where in ((axes[0], left + right, places), (axes[1], left + twisted, turned)):
        tail, head, lengths = zip(*edges, strict=True)
        matrices.append(tt.torelli_matrix(tt.MetricGraph(tail, head, lengths)))
        for i, (a, b, length) in enumerate(edges):
            arc(ax, where[a], where[b], 0.0, COLOURS[1] if i < len(left) else COLOURS[0], f"{length:g}")
        points(ax, where)
    if not np.allclose(matrices[0], matrices[1]):
        raise AssertionError("a twist changed the matrix")
    axes[0].set_title("a graph with a 2-vertex cut")
    axes[1].set_title("the orange side, turned over")
    numbers(axes[2], matrices[0], "one matrix for both")
    save(figure, "space_twist")


def draw_ties() -> None:
    """Draw a grid of unit lengths, with the masses that break its ties."""
    rows, columns = 3, 4
    places = np.array([(x, y) for y in range(rows) for x in range(columns)], dtype=float)
    edges = [(a, b) for a in range(len(places)) for b in range(a) if np.abs(places[a] - places[b]).sum() == 1]
    tail, head = np.array(edges).T
    graph = tt.MetricGraph(tail, head, np.ones(len(edges)), n_nodes=len(places))
    mass = tt.canonical_measure(graph).edge_mass
    shades = dict(zip(np.unique(mass.round(9)).tolist(), COLOURS, strict=False))
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for (a, b), value in zip(edges, mass.round(9).tolist(), strict=True):
        arc(ax, places[a], places[b], 0.0, shades[value], f"{value:.3f}")
    points(ax, places)
    ax.set_title("All edges have length 1. Masses tell them apart, up to symmetry.")
    save(figure, "space_ties")


if __name__ == "__main__":
    draw_counterexample()
    draw_reduction()
    draw_twist()
    draw_ties()
