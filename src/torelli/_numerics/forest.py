"""Compiled functions on trees and forests, shared by both models.

Every function takes plain arrays. Node and edge numbers start at 0, and -1 means none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints


_UNSEEN = -2
_SMALLEST = float(np.finfo(np.float64).tiny)
_LOST = 1e-10  # an edge shorter than this fraction of its path may be lost in rounding
_LANES = 8  # cycles processed side by side, innermost in memory, for vector instructions
_WIDTH = np.uint64(_LANES)
_SHORT = 256
_RUN = 16  # values sorted by insertion before runs are merged


@compiled
def find(leader: Ints, node: int) -> int:
    """Return the root of `node` in a union-find array, with path halving."""
    while leader[node] != node:
        leader[node] = leader[leader[node]]
        node = leader[node]
    return node


@compiled
def ints(count: int, value: int) -> Ints:
    """Return an array of integers, all with the same value.

    Every function of numpy that compiled code calls is compiled too, once for each combination of types.
    So arrays are made by ``np.empty`` and filled by loops.
    """
    array = np.empty(count, np.int64)
    for i in range(count):
        array[i] = value
    return array


@compiled
def floats(count: int | np.int64) -> Floats:
    """Return an array of zeros."""
    array = np.empty(count, np.float64)
    for i in range(count):
        array[i] = 0.0
    return array


@compiled
def room(count: int | np.int64) -> Floats:
    """Return an uninitialised array of floats."""
    return np.empty(count, np.float64)


@compiled
def taken(values: Ints, positions: Ints) -> Ints:
    """Return the values at the positions."""
    chosen = np.empty(len(positions), np.int64)
    for i in range(len(positions)):
        chosen[i] = values[positions[i]]
    return chosen


@compiled
def argsort(values: Floats) -> Ints:
    """Return the stable order that sorts the values; short arrays are sorted without branches.

    In a short array, all pairs of values are compared. The processor does several comparisons at once and
    mispredicts no branch, which for a few dozen values is several times as fast as a sort.
    """
    count = len(values)
    order = np.empty(count, np.int64)
    if count > _SHORT:
        _merge_sort(values, order)
        return order
    n_smaller = ints(count, 0)
    for i in range(count):
        for j in range(count):
            n_smaller[j] += np.int64(values[i] < values[j])
    n_equal = ints(count, 0)  # for each count of smaller values, the values placed so far
    for i in range(count):
        rank = n_smaller[i]
        order[rank + n_equal[rank]] = i
        n_equal[rank] += 1
    return order


@compiled
def _merge_sort(values: Floats, order: Ints) -> None:
    """Write the stable order that sorts the values; numba's own merge sort takes seconds to compile."""
    count = len(values)
    for first in range(0, count, _RUN):
        last = min(first + _RUN, count)
        for i in range(first, last):
            value, j = values[i], i
            while j > first and values[order[j - 1]] > value:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    other = np.empty(count, np.int64)
    width = _RUN
    while width < count:
        for first in range(0, count, 2 * width):
            middle, last = min(first + width, count), min(first + 2 * width, count)
            one, two = first, middle
            for place in range(first, last):
                if two == last or (one < middle and values[order[one]] <= values[order[two]]):
                    other[place] = order[one]
                    one += 1
                else:
                    other[place] = order[two]
                    two += 1
        for i in range(count):
            order[i] = other[i]
        width *= 2


@compiled
def members_by_label(label: Ints, n_labels: int) -> tuple[Ints, Ints]:
    """Return the members grouped by label, as (start of each group, members)."""
    first, member = ints(n_labels + 1, 0), np.empty(len(label), np.int64)
    for i in range(len(label)):
        first[label[i] + 1] += 1
    for i in range(n_labels):
        first[i + 1] += first[i]
    fill = copied(first)
    for i in range(len(label)):
        member[fill[label[i]]] = i
        fill[label[i]] += 1
    return first, member


@compiled
def copied(values: Ints) -> Ints:
    """Return a copy of integers."""
    copy = np.empty(len(values), np.int64)
    for i in range(len(values)):
        copy[i] = values[i]
    return copy


@compiled
def each(count: int) -> Ints:
    """Return the integers from 0 to `count` - 1."""
    numbers = np.empty(count, np.int64)
    for i in range(count):
        numbers[i] = i
    return numbers


@compiled
def count_components(tail: Ints, head: Ints, n_nodes: int) -> int:
    """Return the number of connected components."""
    leader = each(n_nodes)
    components = n_nodes
    for edge in range(len(tail)):
        u, v = find(leader, tail[edge]), find(leader, head[edge])
        if u != v:
            leader[max(u, v)] = min(u, v)
            components -= 1
    return components


@compiled
def incident_edges(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, Ints]:
    """Return the edges at each node, as (start of each node's list, edges); loops are listed twice."""
    first = ints(n_nodes + 1, 0)
    for edge in range(len(tail)):
        first[tail[edge] + 1] += 1
        first[head[edge] + 1] += 1
    for node in range(n_nodes):
        first[node + 1] += first[node]
    incident = np.empty(2 * len(tail), np.int64)
    fill = copied(first)
    for edge in range(len(tail)):
        incident[fill[tail[edge]]] = edge
        fill[tail[edge]] += 1
        incident[fill[head[edge]]] = edge
        fill[head[edge]] += 1
    return first, incident


@compiled
def rooted_forest(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, Ints]:
    """Return a spanning forest as (order, parent edge).

    `order` lists the nodes component by component, each after its parent. The parent edge of a
    root is -1. If the graph is already a forest, this roots it.
    """
    first, incident = incident_edges(tail, head, n_nodes)
    order = np.empty(n_nodes, np.int64)
    parent_edge = ints(n_nodes, _UNSEEN)
    n_found = 0
    for root in range(n_nodes):
        if parent_edge[root] != _UNSEEN:
            continue
        parent_edge[root] = -1
        order[n_found] = root
        done = n_found
        n_found += 1
        while done < n_found:
            node = order[done]
            done += 1
            for slot in range(first[node], first[node + 1]):
                edge = incident[slot]
                other = tail[edge] + head[edge] - node
                if parent_edge[other] == _UNSEEN:
                    parent_edge[other] = edge
                    order[n_found] = other
                    n_found += 1
    return order, parent_edge


@compiled
def kruskal(
    tail: Ints, head: Ints, n_nodes: int, order: Ints, in_tree: NDArray[np.bool_], chords: Ints
) -> int:
    """Write which edges are in the minimum spanning forest, and the others, processing edges in `order`.

    Returns the number of chords: the edges outside the forest, listed in the same order.
    """
    leader = each(n_nodes)
    count = 0
    for i in range(len(order)):
        edge = order[i]
        u, v = find(leader, tail[edge]), find(leader, head[edge])
        in_tree[edge] = u != v
        if u != v:
            leader[u] = v
        else:
            chords[count] = edge
            count += 1
    return count


@compiled
def gram_of_cycles(
    tail: Ints,
    head: Ints,
    length: Floats,
    n_nodes: int,
    in_tree: NDArray[np.bool_],
    chords: Ints,
    out: Floats,
) -> None:
    """Write the Gram matrix of the fundamental cycles of `chords` with respect to a spanning forest.

    Each cycle runs along its chord from tail to head and back through the tree. `out` is the matrix as a
    flat array: flat arrays compile faster. The time is O(n + m + g²) for g chords, because no path is
    listed. The potential phi_i(x) is the signed length that the path from the root to x shares with cycle
    i, and Q_ij = phi_i(tail_j) - phi_i(head_j).
    """
    start, stop, parent, height = _tree_of_ends(tail, head, length, n_nodes, in_tree, chords)
    genus, n_left = len(chords), len(parent)
    side = floats(n_left * _LANES)
    phi = floats(n_left * _LANES)
    lost = ints(_LANES, 0)
    clean = n_left  # phi is 0 before this node
    for first in range(0, genus, _LANES):
        count = min(_LANES, genus - first)
        lowest = n_left
        for lane in range(count):
            i = first + lane
            low, shortest, total = _mark_path(start[i], stop[i], parent, height, side, lane)
            lowest = min(lowest, low)
            lost[lane] = shortest < _LOST * total
        for k in range(clean * _LANES, lowest * _LANES):
            phi[k] = 0.0
        clean = lowest
        for node in range(lowest, n_left):
            here, up = node * _LANES, parent[node] * _LANES
            if up < 0:
                for lane in range(_LANES):
                    phi[here + lane] = side[here + lane]
            else:
                for lane in range(_LANES):
                    phi[here + lane] = side[here + lane] + phi[up + lane]
        if count == _LANES:
            _write_overlaps(phi, start, stop, first, genus, out)
        else:
            for j in range(first, genus):
                for lane in range(count):
                    out[j * genus + first + lane] = (
                        phi[start[j] * _LANES + lane] - phi[stop[j] * _LANES + lane]
                    )
        for lane in range(count):
            i = first + lane
            if lost[lane]:
                _restore_signs(start, stop, parent, side, lane, i, out)
            out[i * genus + i] += length[chords[i]]
        _mirror(first, count, genus, out)
        for k in range(lowest * _LANES, n_left * _LANES):
            side[k] = 0.0


@compiled
def _write_overlaps(phi: Floats, start: Ints, stop: Ints, first: int, genus: int, out: Floats) -> None:
    """Write `_LANES` columns of the lower triangle: their overlaps with each later cycle."""
    # unsigned indices and a constant loop count let the compiler use vector instructions
    size = np.uint64(genus)
    for j in range(np.uint64(first), size):
        plus, minus = np.uint64(start[j]) * _WIDTH, np.uint64(stop[j]) * _WIDTH
        entry = j * size + np.uint64(first)
        for lane in range(_WIDTH):
            out[entry + lane] = phi[plus + lane] - phi[minus + lane]


@compiled
def _mirror(first: int, count: int, genus: int, out: Floats) -> None:
    """Copy `count` columns of the lower triangle to rows of the upper one, while they are in the cache."""
    size = np.uint64(genus)
    for j in range(np.uint64(first + 1), size):
        row, column = j * size + np.uint64(first), np.uint64(first) * size + j
        for lane in range(min(np.uint64(count), j - np.uint64(first))):
            out[column + lane * size] = out[row + lane]


@compiled
def _mark_path(
    a: int, b: int, parent: Ints, height: Floats, side: Floats, lane: int
) -> tuple[int, float, float]:
    """Return the smallest node number below the top of a tree path, its shortest edge, and its length.

    Writes the heights of the path's nodes into a lane of `side`: positive on the way up from `a`, negative
    on the way up from `b`.
    """
    lowest, shortest, total = len(parent), np.inf, 0.0
    # parents have smaller numbers, so the larger of two nodes is never an ancestor of the other
    while a != b:
        node = max(a, b)
        lowest = node  # numbers only decrease
        shortest = min(shortest, height[node])
        total += height[node]
        if a > b:
            side[a * _LANES + lane] = height[a]
            a = parent[a]
        else:
            side[b * _LANES + lane] = -height[b]
            b = parent[b]
    return lowest, shortest, total


@compiled
def _restore_signs(
    start: Ints, stop: Ints, parent: Ints, side: Floats, lane: int, i: int, out: Floats
) -> None:
    """Correct the signs of column i where overlaps may be lost in the rounding of a long path.

    The count of shared edges shows whether, and with which sign, two cycles overlap. An overlap that was
    rounded to zero becomes the smallest normal number.
    """
    shared, genus = ints(len(parent), 0), len(start)
    for node in range(len(parent)):
        step, up = side[node * _LANES + lane], parent[node]
        shared[node] = np.int64(step > 0.0) - np.int64(step < 0.0) + (shared[up] if up >= 0 else 0)
    for j in range(i, genus):
        count = shared[start[j]] - shared[stop[j]]
        overlap = max(abs(out[j * genus + i]), _SMALLEST)
        out[j * genus + i] = 0.0 if count == 0 else overlap * (1.0 if count > 0 else -1.0)


@compiled
def _tree_of_ends(
    tail: Ints, head: Ints, length: Floats, n_nodes: int, in_tree: NDArray[np.bool_], chords: Ints
) -> tuple[Ints, Ints, Ints, Floats]:
    """Return a spanning forest reduced to the ends of the chords and the branch points between them.

    The result has the tails and heads of the chords, the parent of each node (smaller than the node; -1 at a
    root), and the distance to the parent. At most four nodes per chord remain, however large the tree is.
    """
    order, parent, parent_edge = rooted_tree(tail, head, n_nodes, in_tree)

    # a node stays if a chord ends there, or if two or more branches with chord ends meet there
    branches = ints(n_nodes, 0)
    stays = ints(n_nodes, 0)
    for i in range(len(chords)):
        stays[tail[chords[i]]] = 1
        stays[head[chords[i]]] = 1
    n_left = 0
    for position in range(n_nodes - 1, -1, -1):
        node = order[position]
        if stays[node] or branches[node] > 0:
            if branches[node] > 1:
                stays[node] = 1
            if parent[node] >= 0:
                branches[parent[node]] += 1
        n_left += stays[node]

    new_node = ints(n_nodes, -1)  # new number of the nearest node at or above this one that stays
    below = floats(n_nodes)  # distance up to that node
    small_parent = np.empty(n_left, np.int64)
    height = np.empty(n_left, np.float64)
    count = 0
    for position in range(n_nodes):
        node = order[position]
        up = parent[node]
        if up >= 0:
            new_node[node] = new_node[up]
            below[node] = below[up] + length[parent_edge[node]]
        if stays[node]:
            small_parent[count] = new_node[node]
            height[count] = below[node]
            new_node[node] = count
            below[node] = 0.0
            count += 1
    start = np.empty(len(chords), np.int64)
    stop = np.empty(len(chords), np.int64)
    for i in range(len(chords)):
        start[i], stop[i] = new_node[tail[chords[i]]], new_node[head[chords[i]]]
    return start, stop, small_parent, height


@compiled
def rooted_tree(tail: Ints, head: Ints, n_nodes: int, in_tree: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Return a spanning forest as (order, parent, parent edge), given the edges in it."""
    tree, tree_tail, tree_head = (
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
    )
    count = 0
    for edge in range(len(in_tree)):
        if in_tree[edge]:
            tree[count], tree_tail[count], tree_head[count] = edge, tail[edge], head[edge]
            count += 1
    order, parent_edge = rooted_forest(tree_tail[:count], tree_head[:count], n_nodes)
    parent = ints(n_nodes, -1)
    for node in range(n_nodes):
        if parent_edge[node] >= 0:
            edge = tree[parent_edge[node]]
            parent_edge[node] = edge
            parent[node] = tail[edge] + head[edge] - node
    return order, parent, parent_edge


@compiled
def fix_signs(Q: Floats, genus: int) -> Floats:
    """Return the signs that make Q positive along a fixed forest, and apply them to the flat Q in place.

    The forest is the breadth-first one, in index order, of the graph of nonzero overlaps. It depends only
    on which entries vanish, so signs do not jump while the combinatorial type stays the same.
    """
    sign = np.empty(genus, np.float64)
    for i in range(genus):
        sign[i] = 1.0
    queue = np.empty(genus, np.int64)
    unseen = each(genus)  # ascending; only the first `left` entries are valid
    left = genus
    seen = done = 0
    turned = False
    while left > 0:
        if done == seen:
            queue[seen] = unseen[0]
            seen += 1
            left -= 1
            for k in range(left):
                unseen[k] = unseen[k + 1]
        i = queue[done]
        done += 1
        kept = 0
        for k in range(left):
            j = unseen[k]
            overlap = Q[i * genus + j]
            if overlap != 0:
                sign[j] = sign[i] if overlap > 0 else -sign[i]
                turned |= sign[j] < 0
                queue[seen] = j
                seen += 1
            else:
                unseen[kept] = j
                kept += 1
        left = kept
    if turned:
        for i in range(genus):
            here, row = sign[i], i * genus
            for j in range(genus):
                Q[row + j] = Q[row + j] * (here * sign[j]) + 0.0  # no negative zeros
    return sign


@compiled
def write_matrices(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_edges: Ints, n_nodes: Ints,
    in_tree: NDArray[np.bool_], basis: Ints, row: Ints, row_offsets: Ints, out: Floats, out_offsets: Ints,
    signs: Floats, signed: bool, start: int, stop: int,
) -> None:  # fmt: skip
    """Write the chosen rows and columns of the Torelli matrices of some cores, and the signs of their rows.

    If `signed` is True, `fix_signs` chooses the signs; otherwise they are not written.
    """
    for i in range(start, stop):
        a, first = edge_offsets[i], row_offsets[i]
        b = a + n_edges[i]
        chords = taken(basis[a:b], row[first : row_offsets[i + 1]])
        Q = out[out_offsets[i] : out_offsets[i + 1]]
        gram_of_cycles(tail[a:b], head[a:b], length[a:b], n_nodes[i], in_tree[a:b], chords, Q)
        if signed:
            chosen = fix_signs(Q, len(chords))
            for k in range(len(chords)):
                signs[first + k] = chosen[k]


@compiled
def fundamental_cycles(
    tail: Ints, head: Ints, n_nodes: int, in_tree: NDArray[np.bool_], chords: Ints
) -> tuple[Ints, Ints, Ints]:
    """Return the fundamental cycles as (cycle, edge, sign); each runs along its chord from tail to head."""
    order, parent, parent_edge = rooted_tree(tail, head, n_nodes, in_tree)
    depth = ints(n_nodes, 0)
    for i in range(n_nodes):
        if parent[order[i]] >= 0:
            depth[order[i]] = depth[parent[order[i]]] + 1
    n_steps = len(chords)
    for i in range(len(chords)):
        up, down = head[chords[i]], tail[chords[i]]
        while up != down:
            if depth[up] >= depth[down]:
                up = parent[up]
            else:
                down = parent[down]
            n_steps += 1
    cycle, edge, sign = np.empty(n_steps, np.int64), np.empty(n_steps, np.int64), np.empty(n_steps, np.int64)
    step = 0
    for i in range(len(chords)):
        cycle[step], edge[step], sign[step] = i, chords[i], 1
        step += 1
        # the way back through the tree: up from the head, then down to the tail
        up, down = head[chords[i]], tail[chords[i]]
        while up != down:
            if depth[up] >= depth[down]:
                tree_edge = parent_edge[up]
                direction = 1 if tail[tree_edge] == up else -1
                up = parent[up]
            else:
                tree_edge = parent_edge[down]
                direction = 1 if head[tree_edge] == down else -1
                down = parent[down]
            cycle[step], edge[step], sign[step] = i, tree_edge, direction
            step += 1
    return cycle, edge, sign
