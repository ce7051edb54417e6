"""The 3-edge-connected core of a metric graph, its ties and its bridges, on plain arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.forest import argsort, chords_in, find, kruskal, rooted_forest
from torelli._numerics.ties import canonical_order, is_above

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints, Words


# key of the cipher; its third word is the bitwise sum (xor) of the other two and 0x1BD11BDAA9FC1A22
_KEY = (np.uint64(0xA4093822299F31D0), np.uint64(0x082EFA98EC4E6C89), np.uint64(0xB7F6D9606C2D477B))
_COUNTER = np.uint64(0x13198A2E03707344)


class Core(NamedTuple):
    """The core of a graph with its canonical basis; `CanonicalModel` explains the terms.

    Attributes
    ----------
    edge_class, flow
        The C1-set of each edge, -1 for bridges, and the random circulation that identifies the C1-sets.
    tail, head, total, n_nodes
        The core: edge c is C1-set c.
    in_tree, basis
        Whether each C1-set is in the minimum spanning forest, and the remaining C1-sets by ascending total.
    n_ties, is_determined
        Number of C1-sets whose total equals an earlier one, and whether the metric space determines
        their order.
    """

    edge_class: Ints
    flow: Words
    tail: Ints
    head: Ints
    total: Floats
    n_nodes: int
    in_tree: NDArray[np.bool_]
    basis: Ints
    n_ties: int
    is_determined: bool


def canonical_core(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Core:
    """Return the core of a graph with its canonical basis, with ties resolved."""
    # copies, because numba types read-only arrays differently and would compile the function twice
    core = Core(*core_and_basis(tail.copy(), head.copy(), length.copy(), n_nodes), is_determined=True)
    if not core.n_ties:
        return core
    order, is_determined = canonical_order(core.tail, core.head, core.total, core.n_nodes)
    in_tree = kruskal(core.tail, core.head, core.n_nodes, order)
    return core._replace(in_tree=in_tree, basis=chords_in(order, in_tree), is_determined=is_determined)


@compiled
def core_and_basis(
    tail: Ints, head: Ints, length: Floats, n_nodes: int
) -> tuple[Ints, Words, Ints, Ints, Floats, int, NDArray[np.bool_], Ints, int]:
    """Return (edge class, flow, core tail, core head, class total, core nodes, in tree, basis, ties).

    If there are ties, the tree and the basis are not canonical: see `canonical_order`.
    """
    flow = _random_circulation(tail, head, n_nodes)
    edge_class, first = _c1_sets(flow)
    total = class_totals(edge_class, length, len(first))
    leader = np.arange(n_nodes)
    for edge in range(len(tail)):
        c1_set = edge_class[edge]
        if c1_set < 0 or first[c1_set] != edge:
            leader[find(leader, tail[edge])] = find(leader, head[edge])

    # number the contracted nodes that still carry an edge
    core_node = np.full(n_nodes, -1, np.int64)
    n_core = 0
    core_tail = np.empty(len(first), np.int64)
    core_head = np.empty(len(first), np.int64)
    for c1_set in range(len(first)):
        one, two = find(leader, tail[first[c1_set]]), find(leader, head[first[c1_set]])
        for node in (one, two):
            if core_node[node] < 0:
                core_node[node] = n_core
                n_core += 1
        core_tail[c1_set], core_head[c1_set] = core_node[one], core_node[two]

    order = argsort(total)
    n_ties = 0
    for i in range(1, len(order)):
        n_ties += not is_above(total, order[i], order[i - 1])
    in_tree = kruskal(core_tail, core_head, n_core, order)
    basis = chords_in(order, in_tree)
    return edge_class, flow, core_tail, core_head, total, n_core, in_tree, basis, n_ties


@compiled
def bridge_chains(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> tuple[Ints, Floats]:
    """Return the maximal chain of each bridge (-1 for other edges), and the total length of each chain.

    Chains are numbered by their first edge. A chain passes through a point only if no other edge ends
    there: it stops at leaves, at branch points and at cycles. So a chain is a segment that consists of
    bridges.
    """
    flow = _random_circulation(tail, head, n_nodes)
    segment, n_segments = segments(tail, head, n_nodes)
    chain_of_segment = np.full(n_segments, -1, np.int64)
    count = 0
    for edge in range(len(tail)):
        if _is_zero(flow, edge) and chain_of_segment[segment[edge]] < 0:
            chain_of_segment[segment[edge]] = count
            count += 1
    chain = chain_of_segment[segment]
    return chain, class_totals(chain, length, count)


@compiled
def segments(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, int]:
    """Return the segment of each edge, and the number of segments.

    Edges that meet in a point of degree 2 belong to the same segment of the metric space. Segments are
    numbered by their first edge.
    """
    degree = np.zeros(n_nodes, np.int64)
    for edge in range(len(tail)):
        degree[tail[edge]] += 1
        degree[head[edge]] += 1
    leader = np.arange(len(tail))
    before = np.full(n_nodes, -1, np.int64)  # the first edge seen at each point of degree 2
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
    """Return the flow of a random circulation from tail to head on each edge: two integers modulo 2^64.

    Every non-tree edge of a spanning forest carries two fixed pseudo-random words around its cycle.
    The flow of an edge is the signed sum of the words whose cycles run through it. So the flow is 0 on
    bridges. On two edges of the same C1-set it is equal up to sign, because the same cycles run through
    both.

    All other flows differ with high probability. The flow of an edge that is not a bridge contains a word
    with factor 1 or -1. The same holds for the sum and the difference of the flows of two edges from
    different C1-sets, because some cycle runs through one of the edges only. Since these factors are odd,
    such a sum of independent uniform words is uniform modulo 2^64, whatever the number of words: two, if
    one word should equal another; three, if one should equal the sum of two. Both its integers are 0 with
    probability 2^-128. A graph of m edges has at most m² such sums. So the probability of a wrong result
    is at most m² / 2^128, or 3e-27 for a million edges.
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
    for position in range(n_nodes - 1, -1, -1):
        node = order[position]
        edge = parent_edge[node]
        if edge >= 0:
            parent = tail[edge] + head[edge] - node
            # the surplus of a subtree leaves it through the parent edge
            sign = np.uint64(1) if tail[edge] == node else ~np.uint64(0)
            for k in range(2):
                flow[edge, k] = sign * surplus[node, k]
                surplus[parent, k] += surplus[node, k]
    return flow


@compiled
def _random_words(counter: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return two independent words for a counter, from the block cipher Threefry-2x64 with 20 rounds.

    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011). The key and the
    second word of the counter are digits of pi, as in one of the authors' test vectors.
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
    """Return the C1-set of each edge (-1 for bridges), and the first edge of each C1-set.

    A C1-set consists of the edges with the same flow up to sign. C1-sets are numbered by their first edge.
    """
    n_edges = len(flow)
    n_slots = 2
    while n_slots < 2 * n_edges:
        n_slots *= 2
    # a hash table of C1-sets; the flows are random, so their low bits serve as the hash
    slots = np.full(n_slots, -1, np.int64)
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
    # without a branch, because the processor cannot predict the sign
    difference = (flow[one, 0] - flow[two, 0]) | (flow[one, 1] - flow[two, 1])
    total = (flow[one, 0] + flow[two, 0]) | (flow[one, 1] + flow[two, 1])
    return bool((difference == 0) | (total == 0))


@compiled
def class_totals(edge_class: Ints, length: Floats, n_classes: int) -> Floats:
    """Return the total length of each class, summed by Neumaier's method.

    With this method subdividing an edge changes a total by no more than rounding.
    """
    total = np.zeros(n_classes, np.float64)
    lost = np.zeros(n_classes, np.float64)
    for edge in range(len(length)):
        label = edge_class[edge]
        if label >= 0:
            old, new = total[label], total[label] + length[edge]
            lost[label] += (old - new) + length[edge] if old >= length[edge] else (length[edge] - new) + old
            total[label] = new
    total += lost
    return total
