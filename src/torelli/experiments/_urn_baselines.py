"""GraKeL's kernels on street networks, in a process of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.experiments._urn_data import load

if TYPE_CHECKING:
    from torelli.graph import MetricGraph


def kernel_matrix(name: str, kernel: str, *, quick: bool, seed: int) -> tuple[Any, float]:
    """Return the normalised kernel matrix of a set by a kernel of GraKeL, and the seconds it took.

    Parameters
    ----------
    name
        The set.
    kernel
        ``"OS"`` (ODD-STh), ``"SP"`` (shortest paths) or ``"WL"`` (Weisfeiler-Lehman, 5 rounds), with
        GraKeL's defaults otherwise.
    quick, seed
        As for `load`.
    """
    from grakel import kernels  # noqa: PLC0415  (an extra)

    graphs = [_streets(graph) for graph in load(name, quick=quick, seed=seed).graphs]
    chosen = {
        "OS": lambda: kernels.OddSth(normalize=True),
        "SP": lambda: kernels.ShortestPath(normalize=True),
        "WL": lambda: kernels.WeisfeilerLehman(
            n_iter=5, base_graph_kernel=kernels.VertexHistogram, normalize=True
        ),
    }[kernel]()
    before = time.perf_counter()
    # isolated junctions normalise to 0 / 0
    K = np.nan_to_num(np.asarray(chosen.fit_transform(graphs), dtype=np.float64))
    return K, time.perf_counter() - before


def _streets(graph: MetricGraph) -> list[Any]:
    """Return a graph as GraKeL takes it: without lengths, which blind its kernels, all labels alike."""
    edges = {
        pair: 1.0
        for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
        if u != v
        for pair in ((u, v), (v, u))
    }
    if not edges:
        edges = {(0, 0): 1.0}
    nodes = sorted({node for edge in edges for node in edge})
    return [edges, dict.fromkeys(nodes, "street"), dict.fromkeys(edges, "street")]
