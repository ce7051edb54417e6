"""Distances between positive semi-definite matrices of different size.

The smaller matrix of a pair counts as padded with zeros, as in the paper, but the padding is never
stored: each metric has a form in which it drops out. `METRICS` lists the metrics. A new one is a module
that ends in its `Metric`, and its name in that list.
"""

from torelli.distances._metric import Metric, Sketch, normalised
from torelli.distances._pairwise import (
    MATRIX_ROUNDING,
    METRICS,
    VECTOR_ROUNDING,
    check_matrices,
    distance,
    distances_from,
    get_metric,
    norms_of,
    pairwise_distances,
    pairwise_distances_chunked,
    squared_matrix_distances,
    squared_vector_distances,
    squared_vector_products,
)

__all__ = [
    "MATRIX_ROUNDING",
    "METRICS",
    "VECTOR_ROUNDING",
    "Metric",
    "Sketch",
    "check_matrices",
    "distance",
    "distances_from",
    "get_metric",
    "normalised",
    "norms_of",
    "pairwise_distances",
    "pairwise_distances_chunked",
    "squared_matrix_distances",
    "squared_vector_distances",
    "squared_vector_products",
]
