"""Comparison of the synthetic street patterns with real cities, by the same figures.

A real city of a pattern gives one mean for each figure, over windows cut around random junctions; the
range of a pattern runs from the smallest to the largest mean of its cities. The synthetic windows of
the pattern should have a mean within that range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli.datasets import _street_plans as plans
from torelli.datasets.local import city_index, read_city
from torelli.datasets.streets import PATTERNS, street_patterns
from torelli.datasets.windows import cut_windows, landmarks_within, metres_from, middle_of

if TYPE_CHECKING:
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
    dead_ends = np.mean(plans.node_degrees(graph.n_nodes, ends) == 1)
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
    points = metres_from(city, middle_of(city))
    # cuts are discs or boxes: within this distance of the middle, a window lies inside either
    reach = np.ptp(points, axis=0).min() / 2 - 1.5 * radius
    connected = landmarks_within(city, points, np.inf, "disc")
    inside = connected[np.hypot(points[connected, 0], points[connected, 1]) <= reach]
    landmarks = np.random.default_rng(seed).permutation(inside)[:n_windows]
    return list(cut_windows(city, points, landmarks, radius, "bbox"))


def read_cities(*, max_nodes: int | None = None) -> dict[str, list[MetricGraph]]:
    """Read the real cities of each pattern from the shared data.

    Parameters
    ----------
    max_nodes
        Leave out larger cities. This saves time and can only narrow the ranges.
    """
    cities: dict[str, list[MetricGraph]] = {pattern: [] for pattern in PATTERNS}
    for row in city_index():
        too_large = max_nodes is not None and int(row["nodes"]) > max_nodes
        if row["network"] == _NETWORK and row["pattern"] in cities and not too_large:
            cities[row["pattern"]].append(read_city(row["file"]).replace(name=row["city"]))
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
