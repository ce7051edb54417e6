"""Random sets of graphs with a bound on the genus, as in sections D.3 and D.4 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli.datasets import line_plus_random

if TYPE_CHECKING:
    from torelli.graph import MetricGraph

N_NODES = 50


def random_graphs(n_graphs: int, genus_bound: int, seed: list[int]) -> list[MetricGraph]:
    """Return lines of 50 nodes with random edges, of a genus drawn from 1 to the bound, lengths Unif(0, 1).

    The paper states the bound alone; the number of nodes and the distribution of the genus are ours.
    """
    rng = np.random.default_rng(seed)
    genera = rng.integers(1, genus_bound + 1, size=n_graphs)
    seeds = rng.integers(2**31, size=n_graphs)
    return [
        line_plus_random(N_NODES, int(genus), seed=int(number))
        for genus, number in zip(genera, seeds, strict=True)
    ]
