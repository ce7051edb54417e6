"""The canonical model: what the metric space itself determines, in linear time.

Bridges are contracted, each C1-set becomes one edge with the sum of its lengths, and the minimum
spanning forest of what is left gives the cycle basis. Nothing here depends on how edges were
subdivided, numbered or directed, nor on bridges, nor on which side of a 2-vertex cut is which.

Bridges that follow each other through points of degree 2 are one segment of the space, a chain; the
option to double chains, so that each becomes a cycle of its own, is one of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from torelli._numerics.core import bridge_chains, canonical_core
from torelli._numerics.forest import fix_signs, fundamental_cycles, gram_of_cycles
from torelli.graph import MetricGraph
from torelli.io import as_metric_graph

if TYPE_CHECKING:
    from torelli._types import GraphLike, Ints, Words


@dataclass(frozen=True, eq=False)
class CanonicalModel:
    """The 3-edge-connected core of a metric graph with its canonical cycle basis.

    Attributes
    ----------
    graph
        The input.
    core
        The 3-edge-connectivization: edge c is C1-set c with its total length. Its nodes are
        contracted parts of the input and have no names.
    edge_class
        For each edge of the input the number of its C1-set, or -1 for a bridge.
    edge_sign
        For each edge +1 or -1: whether cycles run along it in the same sense (tail to head) as
        along the first edge of its C1-set; 0 for a bridge.
    tree
        The C1-sets in the minimum spanning forest of the core.
    basis
        The C1-sets that close the basis cycles, by ascending total: row i of the Torelli matrix
        is the cycle of ``basis[i]``.
    n_ties
        Number of C1-sets whose total equals that of an earlier one; 0 if the graph is generic.
    is_determined
        Whether the metric space determines the Torelli matrix. Ties are broken by canonical masses,
        by currents, and by symmetries, so it is False only where the search for symmetries was given
        up: then tied C1-sets are taken in the order of the edges.
    """

    graph: MetricGraph
    core: MetricGraph
    edge_class: Ints
    edge_sign: Ints
    tree: Ints
    basis: Ints
    n_ties: int
    is_determined: bool

    @property
    def genus(self) -> int:
        """Number of basis cycles."""
        return len(self.basis)

    @property
    def bridges(self) -> Ints:
        """The edges of the input that lie on no cycle."""
        return np.flatnonzero(self.edge_class < 0)

    @cached_property
    def bridge_chains(self) -> list[Ints]:
        """The maximal chains of bridges through points of degree 2, longest first, each as its edges."""
        graph = self.graph
        chain, total = bridge_chains(graph.tail.copy(), graph.head.copy(), graph.length.copy(), graph.n_nodes)
        order = np.argsort(chain, kind="stable")[graph.n_edges - len(self.bridges) :]
        counts = np.bincount(chain[order], minlength=len(total))
        members = np.split(order, np.cumsum(counts)[:-1]) if len(total) else []
        return [members[at] for at in np.argsort(-total, kind="stable").tolist()]

    @cached_property
    def c1_sets(self) -> list[Ints]:
        """The C1-sets, each as the edges of the input in it."""
        order = np.argsort(self.edge_class, kind="stable")[len(self.bridges) :]
        counts = np.bincount(self.edge_class[order], minlength=self.core.n_edges)
        return np.split(order, np.cumsum(counts)[:-1]) if len(counts) else []

    @cached_property
    def cycle_edge_matrix(self) -> sp.csr_array:
        """Signed incidence M of basis cycles (rows) and edges of the input, with Q = M diag(length) Mᵀ."""
        core = self.core
        in_tree = np.zeros(core.n_edges, dtype=np.bool_)
        in_tree[self.tree] = True
        tail, head, length = core.tail.copy(), core.head.copy(), core.length.copy()
        cycle, member, sign = fundamental_cycles(tail, head, core.n_nodes, in_tree, self.basis)
        shape = (self.genus, core.n_edges)
        by_class = sp.csr_array((sign.astype(np.float64), (cycle, member)), shape=shape)
        on_cycle = np.flatnonzero(self.edge_class >= 0)
        spread = sp.csr_array(
            (self.edge_sign[on_cycle].astype(np.float64), (self.edge_class[on_cycle], on_cycle)),
            shape=(core.n_edges, self.graph.n_edges),
        )
        Q = np.empty((self.genus, self.genus))
        gram_of_cycles(tail, head, length, core.n_nodes, in_tree, self.basis, Q)
        return sp.csr_array(sp.diags_array(fix_signs(Q)) @ by_class @ spread)

    @cached_property
    def cycles(self) -> list[Ints]:
        """Each basis cycle as edges of the input, in the order of the rows of the Torelli matrix.

        A C1-set lies on a cycle with all its edges, so a cycle is closed after contracting bridges.
        """
        M = self.cycle_edge_matrix
        return [
            np.sort(M.indices[a:b]).astype(np.int64) for a, b in zip(M.indptr[:-1], M.indptr[1:], strict=True)
        ]


def canonical_model(graph: GraphLike, length: str = "length") -> CanonicalModel:
    """Reduce a metric graph to its 3-edge-connected core and choose the canonical cycle basis.

    Parameters
    ----------
    graph
        A `MetricGraph`, or anything that `as_metric_graph` takes.
    length
        Name of the edge attribute with the length, for a graph that is not a `MetricGraph`.

    Examples
    --------
    >>> theta = MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> [cycle.tolist() for cycle in canonical_model(theta).cycles]
    [[0, 1], [0, 2]]
    """
    graph = as_metric_graph(graph, length)
    parts = canonical_core(graph.tail, graph.head, graph.length, graph.n_nodes)
    edge_sign = _edge_signs(parts.flow, parts.edge_class, len(parts.total))
    core = MetricGraph(parts.tail, parts.head, parts.total, parts.n_nodes, name=graph.name, unit=graph.unit)
    return CanonicalModel(
        graph,
        core,
        parts.edge_class,
        edge_sign,
        tree=np.flatnonzero(parts.in_tree),
        basis=parts.basis,
        n_ties=int(parts.n_ties),
        is_determined=parts.is_determined,
    )


def _edge_signs(flow: Words, edge_class: Ints, n_classes: int) -> Ints:
    """Return 1 for edges with the flow of the first of their class, -1 for its opposite, 0 for bridges."""
    sign = np.zeros(len(flow), dtype=np.int64)
    on_cycle = np.flatnonzero(edge_class >= 0)
    first = np.empty(n_classes, dtype=np.int64)
    first[edge_class[on_cycle[::-1]]] = on_cycle[::-1]  # of several, the last one written stays
    sign[on_cycle] = np.where((flow[on_cycle] == flow[first[edge_class[on_cycle]]]).all(axis=1), 1, -1)
    return sign
