"""The canonical model: the cycle basis that the metric space determines, in linear time.

Bridges are contracted, each C1-set becomes one edge with the sum of its lengths, and the minimum
spanning forest of the resulting core gives the cycle basis. The basis does not depend on how edges are
subdivided, numbered or directed, nor on bridges, nor on how the sides of a 2-vertex cut are arranged.

A chain is a segment of the space that consists of bridges, joined at points of degree 2. The option
``bridges="double"`` of `torelli_matrix` doubles chains, so that each becomes a cycle of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.core import bridge_chains, canonical_core
from torelli._numerics.forest import fundamental_cycles, write_matrices
from torelli.graph import MetricGraph
from torelli.io import as_metric_graph

if TYPE_CHECKING:
    import scipy.sparse as sp

    from torelli._types import GraphLike, Ints


@dataclass(frozen=True, eq=False, repr=False)
class CanonicalModel:
    """The 3-edge-connected core of a metric graph with its canonical cycle basis.

    Attributes
    ----------
    graph
        The input graph.
    core
        The 3-edge-connectivization: edge c is C1-set c with its total length. Its nodes are
        contracted parts of the input graph and have no names.
    edge_class
        The index of each edge's C1-set, or -1 for a bridge.
    edge_sign
        For each edge, +1 if cycles run along it in the same direction (tail to head) as along the first
        edge of its C1-set, -1 if in the opposite direction, and 0 for a bridge.
    tree
        The C1-sets in the minimum spanning forest of the core.
    basis
        The C1-sets that close the basis cycles, by ascending total: row i of the Torelli matrix
        is the cycle of ``basis[i]``.
    n_ties
        Number of C1-sets whose total equals an earlier one; 0 if the graph is generic.
    is_determined
        Whether the metric space determines the Torelli matrix. Ties are broken by canonical masses,
        by currents, and by symmetries. It is False only if the search for symmetries was given up:
        then tied C1-sets are taken in the order of the edges.

    References
    ----------
    See `canonical_model`.

    Examples
    --------
    >>> import torelli as tt
    >>> model = tt.canonical_model(tt.MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 4.0]))
    >>> model.genus, model.bridges.tolist(), [edges.tolist() for edges in model.c1_sets]
    (2, [3], [[0], [1], [2]])
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

    def __repr__(self) -> str:
        return (
            f"CanonicalModel({self.graph!r}: core of {self.core.n_nodes:,} nodes and "
            f"{self.core.n_edges:,} C1-sets, {len(self.bridges):,} bridges, {self.n_ties:,} ties)"
        )

    def _repr_html_(self) -> str:
        from torelli._layout import notebook_html

        rows = [
            ("genus", f"{self.genus:,}"),
            ("C1-sets", f"{self.core.n_edges:,}"),
            ("nodes of the core", f"{self.core.n_nodes:,}"),
            ("bridges", f"{len(self.bridges):,}"),
            ("ties", f"{self.n_ties:,}"),
            ("determined", "yes" if self.is_determined else "no"),
        ]
        in_basis = np.isin(self.edge_class, self.basis)
        colours = np.where(self.edge_class < 0, "#b8b8b8", np.where(in_basis, "#d55e00", "#0072b2")).tolist()
        title = "orange: C1-sets that close the basis cycles, blue: forest, grey: bridges"
        return notebook_html(self.graph, title, rows, colours)

    @property
    def bridges(self) -> Ints:
        """The edges of the input graph that lie on no cycle."""
        return np.flatnonzero(self.edge_class < 0)

    @cached_property
    def bridge_chains(self) -> list[Ints]:
        """The maximal chains of bridges through points of degree 2, longest first, each as its edges."""
        graph = self.graph
        ends = (graph.tail.copy(), graph.head.copy())
        chain, total = bridge_chains(*ends, graph.length.copy(), graph.n_nodes, self.edge_class)
        order = np.argsort(chain, kind="stable")[graph.n_edges - len(self.bridges) :]
        counts = np.bincount(chain[order], minlength=len(total))
        members = np.split(order, np.cumsum(counts)[:-1]) if len(total) else []
        return [members[i] for i in np.argsort(-total, kind="stable").tolist()]

    @cached_property
    def c1_sets(self) -> list[Ints]:
        """The C1-sets, each as an array of edges of the input graph."""
        order = np.argsort(self.edge_class, kind="stable")[len(self.bridges) :]
        counts = np.bincount(self.edge_class[order], minlength=self.core.n_edges)
        return np.split(order, np.cumsum(counts)[:-1]) if len(counts) else []

    @cached_property
    def cycle_edge_matrix(self) -> sp.csr_array:
        """The signed incidence matrix M of basis cycles (rows) and edges, with Q = M diag(length) Mᵀ."""
        import scipy.sparse as sp

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
        signs, edges, rows = np.empty(self.genus), np.array([0, core.n_edges]), np.array([0, self.genus])
        # the function that computes Torelli matrices is compiled already; its parts would be compiled again
        write_matrices(
            tail, head, length, edges, edges[1:], np.array([core.n_nodes]), in_tree, self.basis,
            np.arange(self.genus), rows, np.empty(self.genus**2), rows**2, signs,
            signed=True, start=0, stop=1,
        )  # fmt: skip
        return sp.csr_array(sp.diags_array(signs) @ by_class @ spread)

    @cached_property
    def cycles(self) -> list[Ints]:
        """The basis cycles as arrays of edges of the input graph, in the row order of the Torelli matrix.

        A cycle contains all edges of a C1-set or none, so a cycle is closed after contracting bridges.
        """
        M = self.cycle_edge_matrix
        return [
            np.sort(M.indices[a:b]).astype(np.int64) for a, b in zip(M.indptr[:-1], M.indptr[1:], strict=True)
        ]


def canonical_model(graph: GraphLike, length: str = "length") -> CanonicalModel:
    """Return the 3-edge-connected core of a metric graph, with its canonical cycle basis.

    Parameters
    ----------
    graph
        A `MetricGraph`, or anything that `as_metric_graph` takes.
    length
        Name of the edge attribute with the length, for a graph that is not a `MetricGraph`.

    References
    ----------
    C1-sets and the 3-edge-connectivization: Caporaso and Viviani (2010), and appendix C.3 of the paper. The
    guide to what the space determines proves that the basis does not depend on the drawing, which section
    3.3 of the paper claims for Algorithm 1.

    Examples
    --------
    >>> theta = MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> [cycle.tolist() for cycle in canonical_model(theta).cycles]
    [[0, 1], [0, 2]]
    """
    graph = as_metric_graph(graph, length)
    parts = canonical_core(graph.tail, graph.head, graph.length, graph.n_nodes)
    core = MetricGraph(parts.tail, parts.head, parts.total, parts.n_nodes, name=graph.name, unit=graph.unit)
    return CanonicalModel(
        graph,
        core,
        parts.edge_class,
        parts.edge_sign.astype(np.int64),
        tree=np.flatnonzero(parts.in_tree),
        basis=parts.basis,
        n_ties=parts.n_ties,
        is_determined=parts.is_determined,
    )
