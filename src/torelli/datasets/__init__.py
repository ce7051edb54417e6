"""Data sets: metric graphs with labels, and generators of metric graphs."""

from torelli.datasets.streets import street_pattern, street_patterns
from torelli.datasets.synthetic import (
    cactus,
    delaunay,
    grid,
    line_plus_random,
    necklace,
    random_geometric,
    theta,
    voronoi,
)

__all__ = [
    "cactus",
    "delaunay",
    "grid",
    "line_plus_random",
    "necklace",
    "random_geometric",
    "street_pattern",
    "street_patterns",
    "theta",
    "voronoi",
]
