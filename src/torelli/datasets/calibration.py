"""Do the synthetic street patterns have the figures of real cities? Measure both alike.

A real city of a pattern gives one mean for each figure, over windows cut around random junctions; the
range of a pattern runs from the smallest to the largest mean of its cities. The synthetic windows of
the pattern should have a mean within that range.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx
import numpy as np

from torelli._errors import DataNotFoundError, FormatError
from torelli.datasets import _plan
from torelli.datasets.streets import PATTERNS, street_patterns
from torelli.io import as_metric_graph

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

FIGURES = (
    "nodes",
    "genus",
    "mean length (m)",
    "lower quartile (m)",
    "median length (m)",
    "upper quartile (m)",
    "variation of length",
    "dead-end share",
)

_METRES_PER_DEGREE = 111_195.0
# of the shared data's two kinds of networks, the one that all patterns have
_NETWORK = "A"


class Comparison(NamedTuple):
    """One figure of one pattern: the range of the real cities and the synthetic mean."""

    pattern: str
    figure: str
    low: float
    high: float
    synthetic: float

    @property
    def is_inside(self) -> bool:
        """Whether the synthetic mean lies within the range."""
        return self.low <= self.synthetic <= self.high


def figures(graph: MetricGraph) -> NDArray[np.float64]:
    """Return the `FIGURES` of one window; a window without edges has no lengths (NaN)."""
    ends = np.column_stack([graph.tail, graph.head])
    dead_ends = np.mean(_plan.node_degrees(graph.n_nodes, ends) == 1)
    lengths = np.full(5, np.nan)
    if graph.n_edges:
        quartiles = np.quantile(graph.length, [0.25, 0.5, 0.75])
        mean = graph.length.mean()
        lengths = np.array([mean, *quartiles, graph.length.std() / mean])
    return np.array([graph.n_nodes, graph.genus, *lengths, dead_ends])


def mean_figures(graphs: list[MetricGraph]) -> NDArray[np.float64]:
    """Return the mean of each figure over windows, of lengths over those that have edges."""
    return np.asarray(np.nanmean([figures(graph) for graph in graphs], axis=0))


def city_windows(city: MetricGraph, *, radius: float, n_windows: int, seed: int = 0) -> list[MetricGraph]:
    """Cut windows from a real city: squares around random junctions well inside, largest components.

    Parameters
    ----------
    city
        A city with longitude and latitude as coordinates and lengths in metres.
    radius
        Half the side of a window in metres.
    n_windows
        Number of windows; fewer if the city has fewer junctions well inside.
    seed
        Seed of the choice of junctions.
    """
    if city.coordinates is None:
        raise FormatError(f"{city.name}: nodes need the attributes x and y (longitude and latitude)")
    low, high = city.coordinates.min(axis=0), city.coordinates.max(axis=0)
    middle = (low + high) / 2
    scale = _METRES_PER_DEGREE * np.array([np.cos(np.radians(middle[1])), 1.0])
    points = (city.coordinates - middle) * scale
    streets = _plan.largest_part(_plan.Streets(points, np.column_stack([city.tail, city.head]), city.length))
    # cuts are discs or boxes: within this distance of the middle, a window lies inside either
    reach = ((high - low) * scale / 2).min() - 1.5 * radius
    inside = np.flatnonzero(np.hypot(streets.points[:, 0], streets.points[:, 1]) <= reach)
    rng = np.random.default_rng(seed)
    windows = []
    for node in rng.permutation(inside)[:n_windows]:
        cut = _plan.window(streets, streets.points[node], radius)
        windows.append(
            city.replace(
                tail=cut.ends[:, 0],
                head=cut.ends[:, 1],
                length=cut.length,
                n_nodes=len(cut.points),
                coordinates=cut.points - streets.points[node],
                crs=None,
                node_ids=None,
            )
        )
    return windows


def read_cities(folder: Path, *, max_nodes: int | None = None) -> dict[str, list[MetricGraph]]:
    """Read the real cities of each pattern from the shared data's folder ``urn/graphs``.

    Parameters
    ----------
    folder
        The folder with ``index.csv`` and the GraphML files.
    max_nodes
        Leave out larger cities, which takes less time and can only narrow the ranges.
    """
    index = folder / "index.csv"
    if not index.is_file():
        raise DataNotFoundError(f"{index} is missing: set TORELLI_DATA to the folder with the shared data")
    cities: dict[str, list[MetricGraph]] = {pattern: [] for pattern in PATTERNS}
    with index.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            too_large = max_nodes is not None and int(row["nodes"]) > max_nodes
            if row["network"] == _NETWORK and row["pattern"] in cities and not too_large:
                city = as_metric_graph(nx.read_graphml(folder / row["file"]))
                cities[row["pattern"]].append(city.replace(name=row["city"], unit="m"))
    return cities


def compare(
    cities: dict[str, list[MetricGraph]], *, radius: float, n_windows: int = 60, seed: int = 0
) -> list[Comparison]:
    """Compare the synthetic windows with those of real cities, figure by figure and pattern by pattern.

    Parameters
    ----------
    cities
        The real cities of each pattern; a pattern without cities has a range of NaN.
    radius
        Half the side of all windows in metres.
    n_windows
        Number of windows of each city, and of each synthetic pattern.
    seed
        Seed of the windows.
    """
    synthetic = street_patterns(n_windows, radius=radius, seed=seed)
    rows = []
    for label, pattern in enumerate(PATTERNS):
        chosen = [graph for graph, y in zip(synthetic.graphs, synthetic.y, strict=True) if y == label]
        real = [
            mean_figures(city_windows(city, radius=radius, n_windows=n_windows, seed=seed))
            for city in cities[pattern]
        ]
        low = np.min(real, axis=0) if real else np.full(len(FIGURES), np.nan)
        high = np.max(real, axis=0) if real else np.full(len(FIGURES), np.nan)
        rows += [
            Comparison(pattern, figure, float(a), float(b), float(mean))
            for figure, a, b, mean in zip(FIGURES, low, high, mean_figures(chosen), strict=True)
        ]
    return rows
