"""The figures by which the paper describes a data set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli.graph import MetricGraph

Sparsity = Literal["S", "SS", "D"]


def log_genus_ratio(genus: float, n_nodes: float) -> float:
    """Return log(g / n), the paper's measure of sparsity; minus infinity for trees."""
    return math.log(genus / n_nodes) if genus > 0 else -math.inf


def sparsity_class(genus: float, n_nodes: float) -> Sparsity:
    """Return the paper's class of a graph, or of a data set by its means.

    Sparse (``"S"``) if log(g / n) < 0, semi-sparse (``"SS"``) if it is less than 1, else dense (``"D"``).

    Examples
    --------
    >>> sparsity_class(2.86, 17.93), sparsity_class(33.70, 21.54), sparsity_class(77.76, 19.77)
    ('S', 'SS', 'D')
    """
    ratio = log_genus_ratio(genus, n_nodes)
    if ratio < 0:
        return "S"
    return "SS" if ratio < 1 else "D"


@dataclass(frozen=True)
class SetStatistics:
    """Means and population standard deviations over the graphs of a data set.

    As in the paper's table, nodes without an edge do not count (``n_isolated`` has their number in
    all graphs together), and ``log_ratio`` is the logarithm of the ratio of the means.
    """

    n_graphs: int
    nodes: float
    nodes_std: float
    edges: float
    edges_std: float
    genus: float
    genus_std: float
    n_isolated: int
    matrix_bytes: int

    @property
    def log_ratio(self) -> float:
        """The logarithm of mean genus over mean nodes."""
        return log_genus_ratio(self.genus, self.nodes)

    @property
    def sparsity(self) -> Sparsity:
        """The paper's class of the set."""
        return sparsity_class(self.genus, self.nodes)


def set_statistics(graphs: Sequence[MetricGraph]) -> SetStatistics:
    """Return the figures of the paper's table of data sets for a list of graphs."""
    nodes = np.array([n_touched(graph) for graph in graphs], dtype=np.int64)
    edges = np.array([graph.n_edges for graph in graphs], dtype=np.int64)
    genus = np.array([graph.genus for graph in graphs], dtype=np.int64)
    return SetStatistics(
        n_graphs=len(graphs),
        nodes=float(nodes.mean()),
        nodes_std=float(nodes.std()),
        edges=float(edges.mean()),
        edges_std=float(edges.std()),
        genus=float(genus.mean()),
        genus_std=float(genus.std()),
        n_isolated=sum(graph.n_nodes for graph in graphs) - int(nodes.sum()),
        matrix_bytes=8 * int((genus**2).sum()),
    )


def n_touched(graph: MetricGraph) -> int:
    """Return the number of nodes that have an edge."""
    touched = np.zeros(graph.n_nodes, dtype=np.bool_)
    touched[graph.tail] = True
    touched[graph.head] = True
    return int(np.count_nonzero(touched))
