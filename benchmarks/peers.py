"""The kernel TTM against methods of other libraries, from graphs to kernel matrix."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import torelli as tt
from benchmarks.measure import Row, best, compared
from torelli.datasets import load_tu, load_urn
from torelli.experiments import rivals
from torelli.experiments.rivals import gromov_wasserstein, metric_spaces, netlsd_shipped

if TYPE_CHECKING:
    from collections.abc import Callable

    from torelli import MetricGraph

CORES = 2
PAIRED = 40  # graphs of which all pairs are compared by Gromov-Wasserstein
AT_LEAST = {"ot.gromov": 100, "NetLSD": 10, "GraKeL WL": 5}


def measure() -> list[Row]:
    """Time from graphs to kernel matrix of TTM, compared with POT's Gromov-Wasserstein, NetLSD and WL.

    All have the same graphs, in one run. Gromov-Wasserstein compares 50 points of each graph; its time is
    that of all pairs of 40 graphs, multiplied by the ratio of the numbers of pairs. NetLSD has its
    defaults. GraKeL has its own graphs with constant labels, made in advance. TTM has two threads; of the
    others, none has more than those of its BLAS.
    """
    rows = []
    sets: dict[str, Callable[[], list[MetricGraph]]] = {
        "NCI1": lambda: load_tu("NCI1", lengths="unit").graphs,
        "PROTEINS": lambda: load_tu("PROTEINS", lengths="unit").graphs,
        "URN4-S": lambda: list(load_urn("URN4-S", source="standins", seed=0).graphs),
    }
    for name, load in sets.items():
        graphs = load()
        _ttm(graphs[:10])
        ours = best(partial(_ttm, graphs))
        theirs = {
            "ot.gromov": _gromov(graphs),
            "NetLSD": best(partial(_netlsd, graphs)),
            "GraKeL WL": _wl(graphs),
        }
        what = f"{name}, {len(graphs):,} graphs"
        rows += [compared(what, peer, ours, seconds, AT_LEAST[peer]) for peer, seconds in theirs.items()]
    return rows


def _ttm(graphs: list[MetricGraph]) -> None:
    tt.distance_cache.clear()
    tt.TTMKernel(n_jobs=CORES).fit_transform(graphs)


def _gromov(graphs: list[MetricGraph]) -> float:
    """Return the time of all pairs, from that of the pairs of some graphs."""
    at = np.linspace(0, len(graphs) - 1, PAIRED).round().astype(int)
    spaces = metric_spaces([graphs[i] for i in at], [])
    some = best(lambda: gromov_wasserstein(spaces, spaces), 1)
    points = best(lambda: metric_spaces([graphs[i] for i in at], []), 1)
    pairs = len(graphs) * (len(graphs) - 1) / (PAIRED * (PAIRED - 1))
    return some * pairs + points * len(graphs) / PAIRED


def _netlsd(graphs: list[MetricGraph]) -> None:
    rbf_kernel(netlsd_shipped(graphs, []))


def _wl(graphs: list[MetricGraph]) -> float:
    from grakel.kernels import VertexHistogram, WeisfeilerLehman

    inputs = [rivals.for_grakel(graph) for graph in graphs]
    return best(lambda: WeisfeilerLehman(base_graph_kernel=VertexHistogram).fit_transform(inputs))
