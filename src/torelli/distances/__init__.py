"""Distances between positive semi-definite matrices of different size.

The smaller matrix of a pair is padded with zeros, as in the paper, but never really: each metric has
a form in which the padding drops out. `METRICS` lists them; a new metric is one module and one line.
"""

from torelli.distances._pairwise import (
    METRICS,
    Metric,
    distance,
    get_metric,
    pairwise_distances,
    pairwise_distances_chunked,
)

__all__ = ["METRICS", "Metric", "distance", "get_metric", "pairwise_distances", "pairwise_distances_chunked"]
