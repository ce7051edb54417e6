"""Distances between positive semi-definite matrices of different size.

The smaller matrix of a pair counts as padded with zeros, as in the paper, but the padding is never
stored: each metric has a form in which it drops out. `METRICS` lists the metrics. A new one is a module
that ends in its `Metric`, and its name in that list.
"""

from torelli.distances._metric import Metric
from torelli.distances._pairwise import (
    METRICS,
    distance,
    get_metric,
    pairwise_distances,
    pairwise_distances_chunked,
    squared_matrix_distances,
    squared_vector_distances,
)

__all__ = [
    "METRICS",
    "Metric",
    "distance",
    "get_metric",
    "pairwise_distances",
    "pairwise_distances_chunked",
    "squared_matrix_distances",
    "squared_vector_distances",
]
