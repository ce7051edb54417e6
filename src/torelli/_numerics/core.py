"""The 3-edge-connected core of a metric graph, its ties and its bridges, on plain arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.forest import argsort, each, find, floats, ints, kruskal, rooted_forest, taken
from torelli._numerics.ties import canonical_order, is_above

if TYPE_CHECKING:
    from torelli._types import Flags, Floats, Ints, Signs, Words

# key of the cipher; its third word is the bitwise sum (xor) of the other two and 0x1BD11BDAA9FC1A22
_KEY = (np.uint64(0xA4093822299F31D0), np.uint64(0x082EFA98EC4E6C89), np.uint64(0xB7F6D9606C2D477B))
_COUNTER = np.uint64(0x13198A2E03707344)


class Core(NamedTuple):
    """The core of a graph with its canonical basis; `CanonicalModel` explains the terms.

    Attributes
    ----------
    edge_class, edge_sign
        The C1-set of each edge, -1 for bridges; and 1 if cycles run along the edge in the same direction as
        along the first edge of its C1-set, -1 if in the opposite one, 0 for bridges.
    tail, head, total, n_nodes
        The core: edge c is C1-set c.
    in_tree, basis
        Whether each C1-set is in the minimum spanning forest, and the remaining C1-sets by ascending total.
    n_ties, is_determined
        Number of C1-sets whose total equals an earlier one, and whether the metric space determines
        their order.
    """

    edge_class: Ints
    edge_sign: Signs
    tail: Ints
    head: Ints
    total: Floats
    n_nodes: int
    in_tree: Flags
    basis: Ints
    n_ties: int
    is_determined: bool


class Cores(NamedTuple):
    """The cores of many graphs, with a basis each; see `Core`.

    Arrays with an entry for each edge or C1-set are concatenated over all graphs. Each graph has room for as
    many C1-sets as it has edges, and uses the first entries of its part. The basis of a graph with ties is
    not canonical: see `canonical_order`.
    """

    edge_class: Ints
    edge_sign: Signs
    tail: Ints
    head: Ints
    total: Floats
    in_tree: Flags
    basis: Ints
    n_classes: Ints
    n_nodes: Ints
    genus: Ints
    n_ties: Ints

    def of(self, graph: int, first: int, last: int) -> Core:
        """Return the core of one graph, whose edges are `first` to `last`."""
        end = first + self.n_classes[graph]
        return Core(
            self.edge_class[first:last],
            self.edge_sign[first:last],
            self.tail[first:end],
            self.head[first:end],
            self.total[first:end],
            int(self.n_nodes[graph]),
            self.in_tree[first:end],
            self.basis[first : first + self.genus[graph]],
            int(self.n_ties[graph]),
            is_determined=not self.n_ties[graph],
        )


def empty_cores(n_edges: int, n_graphs: int) -> Cores:
    """Return arrays for `write_cores`."""
    return Cores(
        np.empty(n_edges, np.int64),
        np.empty(n_edges, np.int8),
        np.empty(n_edges, np.int64),
        np.empty(n_edges, np.int64),
        np.empty(n_edges),
        np.empty(n_edges, np.bool_),
        np.empty(n_edges, np.int64),
        *(np.zeros(n_graphs, np.int64) for _ in range(4)),
    )


def core_of(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Core:
    """Return the core of a graph; if there are ties, its basis is not canonical."""
    cores = empty_cores(len(tail), 1)
    # copies, because numba types read-only arrays differently and would compile the function twice
    graph = (tail.copy(), head.copy(), length.copy())
    arrays = (*graph, np.array([0, len(tail)]), np.array([n_nodes]), *cores)
    write_cores(*arrays, 0, 1)
    return cores.of(0, 0, len(tail))


def canonical_core(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Core:
    """Return the core of a graph with its canonical basis, with ties resolved."""
    core = core_of(tail, head, length, n_nodes)
    if not core.n_ties:
        return core
    order, is_determined = canonical_order(core.tail, core.head, core.total, core.n_nodes)
    kruskal(core.tail, core.head, core.n_nodes, order, core.in_tree, core.basis)
    return core._replace(is_determined=is_determined)


@compiled
def write_cores(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints,
    edge_class: Ints, edge_sign: Signs, core_tail: Ints, core_head: Ints, total: Floats,
    in_tree: Flags, basis: Ints, n_classes: Ints, n_core: Ints, genus: Ints, n_ties: Ints,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Write the cores of some graphs of a batch into the arrays of `Cores`."""
    for graph in range(start, stop):
        a, b = edge_offsets[graph], edge_offsets[graph + 1]
        flow = _random_circulation(tail[a:b], head[a:b], n_nodes[graph])
        first = _c1_sets(flow, edge_class[a:b], edge_sign[a:b])
        size = len(first)
        sums = class_totals(edge_class[a:b], length[a:b], size)
        order = argsort(sums)
        n_tied = 0
        for i in range(size):
            total[a + i] = sums[i]
            n_tied += i > 0 and not is_above(sums[order[i]], sums[order[i - 1]])
        ends = (core_tail[a : a + size], core_head[a : a + size])
        count = _contract(tail[a:b], head[a:b], n_nodes[graph], edge_class[a:b], first, *ends)
        n_classes[graph], n_core[graph], n_ties[graph] = size, count, n_tied
        genus[graph] = kruskal(*ends, count, order, in_tree[a : a + size], basis[a : a + size])


@compiled
def _contract(
    tail: Ints, head: Ints, n_nodes: int, edge_class: Ints, first: Ints, core_tail: Ints, core_head: Ints
) -> int:
    """Write the ends of each C1-set after contracting all edges but its first; return the number of nodes."""
    leader = each(n_nodes)
    for edge in range(len(tail)):
        c1_set = edge_class[edge]
        if c1_set < 0 or first[c1_set] != edge:
            leader[find(leader, tail[edge])] = find(leader, head[edge])
    # number the contracted nodes that still carry an edge
    core_node = ints(n_nodes, -1)
    count = 0
    for c1_set in range(len(first)):
        one, two = find(leader, tail[first[c1_set]]), find(leader, head[first[c1_set]])
        if core_node[one] < 0:
            core_node[one] = count
            count += 1
        if core_node[two] < 0:
            core_node[two] = count
            count += 1
        core_tail[c1_set], core_head[c1_set] = core_node[one], core_node[two]
    return count


@compiled
def bridge_chains(
    tail: Ints, head: Ints, length: Floats, n_nodes: int, edge_class: Ints
) -> tuple[Ints, Floats]:
    """Return the maximal chain of each bridge (-1 for other edges), and the total length of each chain.

    Chains are numbered by their first edge. A chain passes through a point only if no other edge ends
    there: it stops at leaves, at branch points and at cycles. So a chain is a segment that consists of
    bridges.
    """
    segment, n_segments = segments(tail, head, n_nodes)
    chain_of_segment = ints(n_segments, -1)
    count = 0
    for edge in range(len(tail)):
        if edge_class[edge] < 0 and chain_of_segment[segment[edge]] < 0:
            chain_of_segment[segment[edge]] = count
            count += 1
    chain = taken(chain_of_segment, segment)
    return chain, class_totals(chain, length, count)


@compiled
def segments(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, int]:
    """Return the segment of each edge, and the number of segments.

    Edges that meet in a point of degree 2 belong to the same segment of the metric space. Segments are
    numbered by their first edge.
    """
    degree = ints(n_nodes, 0)
    for edge in range(len(tail)):
        degree[tail[edge]] += 1
        degree[head[edge]] += 1
    leader = each(len(tail))
    before = ints(n_nodes, -1)  # the first edge seen at each point of degree 2
    for edge in range(len(tail)):
        for node in (tail[edge], head[edge]):
            if degree[node] == 2:
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
    such a sum of independent uniform words is uniform modulo 2^64, however many words it has. Both its
    integers are 0 with probability 2^-128. A graph of m edges has at most m² such sums. So the probability of
    a wrong result is at most m² / 2^128, or 3e-27 for a million edges.
    """
    order, parent_edge = rooted_forest(tail, head, n_nodes)
    in_forest = ints(len(tail), 0)
    for node in range(n_nodes):
        if parent_edge[node] >= 0:
            in_forest[parent_edge[node]] = 1
    # both words of an edge or a node, one after the other
    flow, surplus = np.empty(2 * len(tail), np.uint64), np.empty(2 * n_nodes, np.uint64)
    for i in range(2 * n_nodes):
        surplus[i] = 0
    for edge in range(len(tail)):
        if not in_forest[edge]:
            one, two = _random_words(np.uint64(edge))
            flow[2 * edge], flow[2 * edge + 1] = one, two
            surplus[2 * head[edge]] += one
            surplus[2 * head[edge] + 1] += two
            surplus[2 * tail[edge]] -= one
            surplus[2 * tail[edge] + 1] -= two
    for position in range(n_nodes - 1, -1, -1):
        node = order[position]
        edge = parent_edge[node]
        if edge >= 0:
            parent = tail[edge] + head[edge] - node
            # the surplus of a subtree leaves it through the parent edge
            sign = np.uint64(1) if tail[edge] == node else ~np.uint64(0)
            for k in range(2):
                flow[2 * edge + k] = sign * surplus[2 * node + k]
                surplus[2 * parent + k] += surplus[2 * node + k]
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
def _c1_sets(flow: Words, edge_class: Ints, edge_sign: Signs) -> Ints:
    """Write the C1-set and the direction of each edge; return the first edge of each C1-set.

    A C1-set consists of the edges with the same flow up to sign. C1-sets are numbered by their first edge.
    """
    n_edges = len(edge_class)
    n_slots = 2
    while n_slots < 2 * n_edges:
        n_slots *= 2
    # a hash table of C1-sets; the flows are random, so their low bits serve as the hash
    slots = ints(n_slots, -1)
    first = np.empty(n_edges, np.int64)
    count = 0
    for edge in range(n_edges):
        one, two = flow[2 * edge], flow[2 * edge + 1]
        if (one | two) == 0:
            edge_class[edge], edge_sign[edge] = -1, 0
            continue
        slot = np.int64(min(one, np.uint64(0) - one) & np.uint64(n_slots - 1))
        while slots[slot] >= 0 and not _equal_up_to_sign(flow, first[slots[slot]], edge):
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] < 0:
            slots[slot] = count
            first[count] = edge
            count += 1
        same = 2 * first[slots[slot]]
        edge_class[edge] = slots[slot]
        edge_sign[edge] = 1 if (flow[same] == one) & (flow[same + 1] == two) else -1
    return first[:count]


@compiled
def _equal_up_to_sign(flow: Words, one: int, two: int) -> bool:
    # without a branch, because the processor cannot predict the sign
    difference = (flow[2 * one] - flow[2 * two]) | (flow[2 * one + 1] - flow[2 * two + 1])
    total = (flow[2 * one] + flow[2 * two]) | (flow[2 * one + 1] + flow[2 * two + 1])
    return bool((difference == 0) | (total == 0))


@compiled
def class_totals(edge_class: Ints, length: Floats, n_classes: int) -> Floats:
    """Return the total length of each class, summed by Neumaier's method.

    With this method subdividing an edge changes a total by no more than rounding.
    """
    total, lost = floats(n_classes), floats(n_classes)
    for edge in range(len(length)):
        label = edge_class[edge]
        if label >= 0:
            old, new = total[label], total[label] + length[edge]
            lost[label] += (old - new) + length[edge] if old >= length[edge] else (length[edge] - new) + old
            total[label] = new
    for i in range(n_classes):
        total[i] += lost[i]
    return total
