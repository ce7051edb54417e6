"""Classical kernels as baselines: those of GraKeL, on graphs without labels."""

from __future__ import annotations

import time
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import MissingExtraError, unknown_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._types import Floats, GraphLike
    from torelli.graph import MetricGraph


BASELINES: dict[str, str] = {
    "EH": "EdgeHistogram",
    "GS": "GraphletSampling",
    "OS": "OddSth",
    "SP": "ShortestPath",
    "WL": "WeisfeilerLehman",
    "kCD": "CoreFramework",
}
"""The paper's six kernels, with the names of their classes in GraKeL."""

SEES_LENGTHS = frozenset({"SP", "kCD"})
"""Kernels whose values depend on the weights of edges; the others see edges and labels only."""


def require_grakel() -> None:
    """Raise an error at the start of a run, not after hours, if GraKeL is missing."""
    if find_spec("grakel") is None:
        raise MissingExtraError("the baselines need GraKeL: pip install 'torelli[bench]'")


def kernel_matrix(
    graphs: Sequence[MetricGraph], name: str, *, seed: int = 0, others: Sequence[MetricGraph] | None = None
) -> tuple[Floats, float, float]:
    """Return a kernel matrix of GraKeL with default parameters, and the processor time of fit and transform.

    Parameters
    ----------
    graphs
        Graphs to fit. Node and edge labels are constant, weights are the lengths.
    name
        One of `BASELINES`.
    seed
        Seed of graphlet sampling.
    others
        Graphs for the rows of the matrix; by default those of the columns, which are fitted.

    Notes
    -----
    GraKeL represents neither loops nor parallel edges: it gets the shortest of parallel edges and no
    loops. EH refuses a graph without edges, whose histogram is empty; its kernel with any graph is 0.
    The matrix comes from ``transform``. Without `others` it is made symmetric, since graphlet
    sampling draws again.
    """
    if name not in BASELINES:
        raise unknown_option("baseline", name, list(BASELINES))
    require_grakel()
    from grakel import kernels

    columns = _accepted(graphs, name)
    rows = columns if others is None else _accepted(others, name)
    fitted = [for_grakel(graphs[i]) for i in columns]
    transformed = fitted if others is None else [for_grakel(others[i]) for i in rows]
    options = {"random_state": seed} if name == "GS" else {}
    kernel = getattr(kernels, BASELINES[name])(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = time.process_time()
        kernel.fit(fitted)
        between = time.process_time()
        part = np.asarray(kernel.transform(transformed), dtype=np.float64)
        after = time.process_time()
    K = np.zeros((len(graphs if others is None else others), len(graphs)))
    K[np.ix_(rows, columns)] = part
    if others is None:
        K = (K + K.T) / 2.0
    return K, between - before, after - between


def _accepted(graphs: Sequence[MetricGraph], name: str) -> list[int]:
    """Return the positions of the graphs that GraKeL accepts."""
    return [i for i, graph in enumerate(graphs) if name != "EH" or (graph.tail != graph.head).any()]


def for_grakel(graph: MetricGraph) -> GraphLike:
    """Return a graph of GraKeL with constant labels and the lengths as weights."""
    from grakel import Graph

    edges: dict[int, dict[int, float]] = {node: {} for node in range(graph.n_nodes)}
    for a, b, length in zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True):
        if a != b:
            shortest = min(length, edges[a].get(b, np.inf))
            edges[a][b] = edges[b][a] = shortest
    edge_labels = {(a, b): 0 for a, ends in edges.items() for b in ends}
    return Graph(edges, node_labels=dict.fromkeys(edges, 0), edge_labels=edge_labels)


def normalised(K: Floats) -> Floats:
    """Return K(x, y) / sqrt(K(x, x) K(y, y)); a graph without features is similar only to itself."""
    scale = np.sqrt(np.maximum(np.diag(K), 0.0))
    scale[scale == 0.0] = 1.0
    cosine: Floats = K / np.outer(scale, scale)
    np.fill_diagonal(cosine, 1.0)
    return cosine


def squared_distances(rows: Sequence[MetricGraph], columns: Sequence[MetricGraph], name: str) -> Floats:
    """Return 2 - 2 k between graphs, for a normalised kernel k of GraKeL."""
    both = rows if rows is columns else [*rows, *columns]
    K = normalised(kernel_matrix(both, name)[0])
    part = K if rows is columns else K[: len(rows), len(rows) :]
    squared: Floats = np.maximum(2.0 - 2.0 * part, 0.0)
    return squared
