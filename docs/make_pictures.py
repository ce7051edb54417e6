"""Remake the pictures of README and docs: ``make pictures``."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from torelli import DataNotFoundError, MeasureFeatures, explain, plot
from torelli.classification import classify
from torelli.commands import demo
from torelli.datasets.local import read_city
from torelli.datasets.streets import street_patterns

IMAGES = Path(__file__).parent / "images"


def main() -> int:
    """Draw the demo's pictures with its default settings."""
    data = street_patterns(60, radius=300.0, seed=0)
    outcome = classify(data.graphs, np.asarray(data.target_names)[data.y])
    print(demo.draw_cycles(data, IMAGES / "cycles.png").name)
    print(demo.draw_kernel_pca(outcome, IMAGES / "kernel_pca.png").name)
    draw_measure(IMAGES / "measure.png")
    draw_city(IMAGES / "barcelona.png")
    draw_explanation(IMAGES / "explanation.png")
    return 0


def draw_measure(path: Path) -> None:
    """Draw a window of each street pattern, coloured by the canonical measure."""
    data = street_patterns(1, radius=300.0, seed=0)
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    for graph, ax in zip(data.graphs, axes.ravel(), strict=True):
        plot.measure(graph, ax=ax)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(path.name)


def draw_city(path: Path) -> None:
    """Draw the streets of a real city, coloured by the canonical measure, if the shared data are there."""
    try:
        city = read_city("Barcelona_r3000.graphml.gz")
    except DataNotFoundError as error:
        print(f"{path.name} left out: {error}")
        return
    figure, ax = plt.subplots(figsize=(9, 8), layout="constrained")
    plot.measure(city, ax=ax)
    ax.text(1, 0, "© OpenStreetMap contributors", transform=ax.transAxes, ha="right", va="bottom", size=7)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(path.name)


def draw_explanation(path: Path) -> None:
    """Draw what makes a gridiron and a tributary window alike, and what sets them apart."""
    data = street_patterns(20, radius=300.0, seed=0)
    names = np.asarray(data.target_names)[data.y]
    one, other = (data.graphs[int(np.flatnonzero(names == name)[0])] for name in ("gridiron", "tributary"))
    figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
    plot.explain(explain(one, other, MeasureFeatures().fit(data.graphs)), axes=axes.ravel().tolist())
    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(path.name)


if __name__ == "__main__":
    sys.exit(main())
