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
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from torelli._compile import compiled
from torelli._forest import argsort, chords_in, find, gram_of_cycles, kruskal, rooted_forest
from torelli._ties import canonical_order, is_above
from torelli.graph import MetricGraph
from torelli.io import as_metric_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Words = NDArray[np.uint64]


# of the cipher; the third part of a key is the sum, bit by bit, of the others and 0x1BD11BDAA9FC1A22
_KEY = (np.uint64(0xA4093822299F31D0), np.uint64(0x082EFA98EC4E6C89), np.uint64(0xB7F6D9606C2D477B))
_COUNTER = np.uint64(0x13198A2E03707344)


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
        from torelli.matrix import fix_signs  # noqa: PLC0415  (the way of the data: model before matrix)

        core = self.core
        in_tree = np.zeros(core.n_edges, dtype=np.bool_)
        in_tree[self.tree] = True
        tail, head, length = core.tail.copy(), core.head.copy(), core.length.copy()
        cycle, member, sign = _fundamental_cycles(tail, head, core.n_nodes, in_tree, self.basis)
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


def canonical_model(graph: Any, length: str = "length") -> CanonicalModel:  # noqa: ANN401
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
    # copies, because compiled code knows read-only arrays as another type and would be built twice
    parts = core_and_basis(graph.tail.copy(), graph.head.copy(), graph.length.copy(), graph.n_nodes)
    edge_class, flow, tail, head, total, n_nodes, in_tree, basis, n_ties = parts
    is_determined = True
    if n_ties:
        order, is_determined = canonical_order(tail, head, total, n_nodes)
        in_tree = kruskal(tail, head, n_nodes, order)
        basis = chords_in(order, in_tree)
    edge_sign = _edge_signs(flow, edge_class, len(total))
    core = MetricGraph(tail, head, total, n_nodes, name=graph.name, unit=graph.unit)
    tree = np.flatnonzero(in_tree)
    return CanonicalModel(graph, core, edge_class, edge_sign, tree, basis, int(n_ties), is_determined)


@compiled
def core_and_basis(
    tail: Ints, head: Ints, length: Floats, n_nodes: int
) -> tuple[Ints, Words, Ints, Ints, Floats, int, NDArray[np.bool_], Ints, int]:
    """Return (edge class, flow, core tail, core head, class total, core nodes, in tree, basis, ties).

    If there are ties, tree and basis are not the canonical ones: see `canonical_order`.
    """
    flow = _random_circulation(tail, head, n_nodes)
    edge_class, first = _c1_sets(flow)
    total = _class_totals(edge_class, length, len(first))
    leader = np.arange(n_nodes)
    for edge in range(len(tail)):
        at = edge_class[edge]
        if at < 0 or first[at] != edge:
            leader[find(leader, tail[edge])] = find(leader, head[edge])

    # number the contracted nodes that still carry an edge
    number = np.full(n_nodes, -1, np.int64)
    n_core = 0
    core_tail = np.empty(len(first), np.int64)
    core_head = np.empty(len(first), np.int64)
    for at in range(len(first)):
        one, two = find(leader, tail[first[at]]), find(leader, head[first[at]])
        for node in (one, two):
            if number[node] < 0:
                number[node] = n_core
                n_core += 1
        core_tail[at], core_head[at] = number[one], number[two]

    order = argsort(total)
    n_ties = 0
    for at in range(1, len(order)):
        n_ties += not is_above(total, order[at], order[at - 1])
    in_tree = kruskal(core_tail, core_head, n_core, order)
    basis = chords_in(order, in_tree)
    return edge_class, flow, core_tail, core_head, total, n_core, in_tree, basis, n_ties


def _edge_signs(flow: Words, edge_class: Ints, n_classes: int) -> Ints:
    """Return 1 for edges with the flow of the first of their class, -1 for its opposite, 0 for bridges."""
    sign = np.zeros(len(flow), dtype=np.int64)
    on_cycle = np.flatnonzero(edge_class >= 0)
    first = np.empty(n_classes, dtype=np.int64)
    first[edge_class[on_cycle[::-1]]] = on_cycle[::-1]  # of several, the last one written stays
    sign[on_cycle] = np.where((flow[on_cycle] == flow[first[edge_class[on_cycle]]]).all(axis=1), 1, -1)
    return sign


@compiled
def bridge_chains(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> tuple[Ints, Floats]:
    """Return the maximal chain of each bridge (-1 for other edges), numbered by first edges, and the totals.

    A chain passes through a point only if nothing but its two bridges ends there: it stops at leaves,
    at branchings and where it meets a cycle. So a chain is a segment all of bridges.
    """
    flow = _random_circulation(tail, head, n_nodes)
    segment, n_segments = segments(tail, head, n_nodes)
    number = np.full(n_segments, -1, np.int64)
    count = 0
    for edge in range(len(tail)):
        if _is_zero(flow, edge) and number[segment[edge]] < 0:
            number[segment[edge]] = count
            count += 1
    chain = number[segment]
    return chain, _class_totals(chain, length, count)


@compiled
def segments(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, int]:
    """Return the segment of each edge, numbered by first edges, and their number.

    Edges that meet in a point of degree 2 are one segment of the metric space.
    """
    degree = np.zeros(n_nodes, np.int64)
    for edge in range(len(tail)):
        degree[tail[edge]] += 1
        degree[head[edge]] += 1
    leader = np.arange(len(tail))
    before = np.full(n_nodes, -1, np.int64)  # the edge that was seen first at a point of degree 2
    for edge in range(len(tail)):
        for node in (tail[edge], head[edge]):
            if degree[node] == 2:  # noqa: PLR2004
                if before[node] < 0:
                    before[node] = edge
                else:
                    one, two = find(leader, before[node]), find(leader, edge)
                    leader[max(one, two)] = min(one, two)
    segment = np.empty(len(tail), np.int64)
    count = 0
    for edge in range(len(tail)):
        first = find(leader, edge)
        if first == edge:
            segment[edge] = count
            count += 1
        else:
            segment[edge] = segment[first]
    return segment, count


@compiled
def _random_circulation(tail: Ints, head: Ints, n_nodes: int) -> Words:
    """Return the flow from tail to head on each edge of a random circulation: two numbers modulo 2^64.

    Every non-tree edge of a spanning forest carries two fixed pseudo-random words around its cycle.
    The flow of an edge is the signed sum of the words whose cycles run through it. So it is 0 on
    bridges, and equal up to sign on two edges of one C1-set, through which the same cycles run.

    All else differs. The flow of any other edge than a bridge has a word with factor 1 or -1. So have
    the sum and the difference of the flows of two edges that are no C1-set, because a cycle runs
    through one edge and not through the other. As these factors are odd, such a sum of independent
    uniform words is uniform modulo 2^64, however many words it has: two, if one word should equal
    another; three, if one should equal the sum of two. Both its numbers are 0 with probability 2^-128.
    A graph of m edges has at most m² such sums. So it is misread with probability at most
    m² / 2^128, or 3e-27 for a million edges.
    """
    order, parent_edge = rooted_forest(tail, head, n_nodes)
    flow = np.empty((len(tail), 2), np.uint64)
    in_forest = np.zeros(len(tail), np.bool_)
    for node in range(n_nodes):
        if parent_edge[node] >= 0:
            in_forest[parent_edge[node]] = True
    surplus = np.zeros((n_nodes, 2), np.uint64)
    for edge in range(len(tail)):
        if not in_forest[edge]:
            words = _random_words(np.uint64(edge))
            for k in range(2):
                flow[edge, k] = words[k]
                surplus[head[edge], k] += words[k]
                surplus[tail[edge], k] -= words[k]
    for at in range(n_nodes - 1, -1, -1):
        node = order[at]
        edge = parent_edge[node]
        if edge >= 0:
            parent = tail[edge] + head[edge] - node
            # what arrives in the subtree leaves it through the parent edge
            sign = np.uint64(1) if tail[edge] == node else ~np.uint64(0)
            for k in range(2):
                flow[edge, k] = sign * surplus[node, k]
                surplus[parent, k] += surplus[node, k]
    return flow


@compiled
def _random_words(counter: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return two independent words for a counter, by the block cipher Threefry-2x64 of 20 rounds.

    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011). The key and the
    second word of the counter are digits of pi, as in a test vector of the authors.
    """
    a, b = _four_rounds(counter + _KEY[0], _COUNTER + _KEY[1], 16, 42, 12, 31)
    a, b = _four_rounds(a + _KEY[1], b + _KEY[2] + np.uint64(1), 16, 32, 24, 21)
    a, b = _four_rounds(a + _KEY[2], b + _KEY[0] + np.uint64(2), 16, 42, 12, 31)
    a, b = _four_rounds(a + _KEY[0], b + _KEY[1] + np.uint64(3), 16, 32, 24, 21)
    a, b = _four_rounds(a + _KEY[1], b + _KEY[2] + np.uint64(4), 16, 42, 12, 31)
    return a + _KEY[2], b + _KEY[0] + np.uint64(5)


@compiled
def _four_rounds(
    a: np.uint64, b: np.uint64, first: int, second: int, third: int, fourth: int
) -> tuple[np.uint64, np.uint64]:
    for turn in (first, second, third, fourth):
        a += b
        b = ((b << np.uint64(turn)) | (b >> np.uint64(64 - turn))) ^ a
    return a, b


@compiled
def _c1_sets(flow: Words) -> tuple[Ints, Ints]:
    """Group edges by flow up to sign: the class of each edge (-1: bridge), the first edge of each class.

    Classes are numbered by their first edge.
    """
    n_edges = len(flow)
    n_slots = 2
    while n_slots < 2 * n_edges:
        n_slots *= 2
    slots = np.full(
        n_slots, -1, np.int64
    )  # a hash table of classes; flows are random, so they need no hashing
    edge_class = np.full(n_edges, -1, np.int64)
    first = np.empty(n_edges, np.int64)
    count = 0
    for edge in range(n_edges):
        if _is_zero(flow, edge):
            continue
        word = min(flow[edge, 0], np.uint64(0) - flow[edge, 0])
        slot = np.int64(word & np.uint64(n_slots - 1))
        while slots[slot] >= 0 and not _equal_up_to_sign(flow, first[slots[slot]], edge):
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] < 0:
            slots[slot] = count
            first[count] = edge
            count += 1
        edge_class[edge] = slots[slot]
    return edge_class, first[:count]


@compiled
def _is_zero(flow: Words, edge: int) -> bool:
    return bool((flow[edge, 0] | flow[edge, 1]) == 0)


@compiled
def _equal_up_to_sign(flow: Words, one: int, two: int) -> bool:
    # without a branch inside: which sign it is cannot be foreseen
    difference = (flow[one, 0] - flow[two, 0]) | (flow[one, 1] - flow[two, 1])
    total = (flow[one, 0] + flow[two, 0]) | (flow[one, 1] + flow[two, 1])
    return bool((difference == 0) | (total == 0))


@compiled
def _class_totals(edge_class: Ints, length: Floats, n_classes: int) -> Floats:
    """Sum the lengths of each class by Neumaier's method: subdividing moves a total by rounding only."""
    total = np.zeros(n_classes, np.float64)
    lost = np.zeros(n_classes, np.float64)
    for edge in range(len(length)):
        at = edge_class[edge]
        if at >= 0:
            old, new = total[at], total[at] + length[edge]
            lost[at] += (old - new) + length[edge] if old >= length[edge] else (length[edge] - new) + old
            total[at] = new
    total += lost
    return total


@compiled
def _fundamental_cycles(
    tail: Ints, head: Ints, n_nodes: int, in_tree: NDArray[np.bool_], chords: Ints
) -> tuple[Ints, Ints, Ints]:
    """List the fundamental cycles as (cycle, edge, sign); each runs along its chord from tail to head."""
    tree = np.flatnonzero(in_tree)
    order, parent_edge = rooted_forest(tail[tree], head[tree], n_nodes)
    parent = np.full(n_nodes, -1, np.int64)
    depth = np.zeros(n_nodes, np.int64)
    for node in order:
        if parent_edge[node] >= 0:
            parent_edge[node] = tree[parent_edge[node]]
            parent[node] = tail[parent_edge[node]] + head[parent_edge[node]] - node
            depth[node] = depth[parent[node]] + 1
    n_steps = len(chords)
    for chord in chords:
        up, down = head[chord], tail[chord]
        while up != down:
            if depth[up] >= depth[down]:
                up = parent[up]
            else:
                down = parent[down]
            n_steps += 1
    cycle, edge, sign = np.empty(n_steps, np.int64), np.empty(n_steps, np.int64), np.empty(n_steps, np.int64)
    at = 0
    for i in range(len(chords)):
        cycle[at], edge[at], sign[at] = i, chords[i], 1
        at += 1
        # back from the head to the tail: up from the head, and down to the tail
        up, down = head[chords[i]], tail[chords[i]]
        while up != down:
            if depth[up] >= depth[down]:
                step = parent_edge[up]
                direction = 1 if tail[step] == up else -1
                up = parent[up]
            else:
                step = parent_edge[down]
                direction = 1 if head[step] == down else -1
                down = parent[down]
            cycle[at], edge[at], sign[at] = i, step, direction
            at += 1
    return cycle, edge, sign
