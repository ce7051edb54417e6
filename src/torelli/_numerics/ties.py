"""The canonical order of C1-sets with tied totals.

C1-sets are sorted by total, then by canonical mass. Within a block (a 2-connected component of the core),
those that are still tied are ordered by their currents, up to symmetry (`symmetry`). Isomorphic blocks
follow each other. The order does not depend on how edges are numbered, subdivided or directed.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.currents import potentials, resistance, rounding
from torelli._numerics.forest import argsort, find, incident_edges, kruskal, members_by_label, taken
from torelli._numerics.resistance import masses, resistance_rows
from torelli._numerics.symmetry import coloured_block, search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints, Words


TIE = 1e-12
"""Relative difference below which class totals count as tied: the totals of a class in two subdivisions of
a graph agree only up to rounding."""
MASS_TIE = 1.137e-9
"""Difference below which masses count as tied, because they come from a matrix inverse with rounding errors.
It is not a round number, because masses for round lengths may differ by one."""
BUDGET = 1_000_000_000
"""Budget for the symmetry search in one block, in additions of words (a second or two). A search that needs
more ends undecided."""
DENSE_NODES = 700
"""Number of nodes up to which the currents of a block are computed by dense matrices."""
DENSE_CLASSES = 2500
"""Number of C1-sets up to which all currents of a block are compared; their hashes take 50 MB."""
MAX_CURRENTS = 30_000_000
"""Largest number of currents computed in a larger block, between tied C1-sets and all C1-sets."""
LOOP_MASS = 2.0
"""Value used for the mass of a loop instead of 1, so that no other mass is close to it."""

RESOLVED, OPEN, MASSES_NEEDED = 0, 1, 2

_MANY = 10  # copying a column takes as long as multiplying this many columns
_PAIR = 2
_MAX_CHOICES = 32  # most choices in a large block whose alternatives are compared
_DENSE_MASSES = 200  # largest number of nodes of a block whose masses are computed with a dense matrix


@compiled
def is_above(one: float, two: float) -> bool:
    """Return whether one total is larger than another and not tied with it."""
    return one - two > TIE * one


@compiled
def _levels(total: Floats) -> Ints:
    """Return the rank of each total, equal for tied ones."""
    order = argsort(total)
    level = np.zeros(len(total), np.int64)
    count = 0
    for i in range(len(total)):
        if i and is_above(total[order[i]], total[order[i - 1]]):
            count += 1
        level[order[i]] = count
    return level


def canonical_order(tail: Ints, head: Ints, total: Floats, n_nodes: int) -> tuple[Ints, bool]:
    """Return the order of the C1-sets of a core, and whether the metric space determines it.

    The order is not determined if the search for symmetries takes more than `BUDGET`. It is not determined
    either if a block is so large that only some of its currents can be compared, and these currents do not
    distinguish its C1-sets.
    """
    colour, block, state = tied_colours(tail, head, total, n_nodes, np.empty(0))
    if state == MASSES_NEEDED:
        mass = masses(tail, head, total, n_nodes)
        mass[tail == head] = LOOP_MASS
        colour, block, state = tied_colours(tail, head, total, n_nodes, mass)
    if state == RESOLVED:
        return np.argsort(colour, kind="stable"), True
    position, certificate = np.zeros(len(tail), np.int64), np.zeros(len(tail), np.uint64)
    determined, n_large = _order_small_blocks(tail, head, total, colour, block, BUDGET, position, certificate)
    large: list[
        tuple[Ints, Floats]
    ] = []  # blocks without a certificate: their C1-sets, and sums of their currents
    for classes in _large_blocks(tail, head, colour, block) if n_large else ():
        small_tail, small_head, nodes = _renumber(tail, head, classes)
        parts = (small_tail, small_head, _relative(total, classes), nodes, colour[classes])
        order, sums, decided = _order_by_some_currents(*parts)
        position[classes[order]] = np.arange(len(order))
        large.append((classes, sums))
        determined &= decided
    by_sums = cmp_to_key(_compare)
    large.sort(key=lambda entry: by_sums(entry[1]))
    for i, (classes, sums) in enumerate(large):
        same = i and _compare(large[i - 1][1], sums) == 0
        certificate[classes] = certificate[large[i - 1][0][0]] if same else np.uint64(i)
    # blocks with equal certificates are isomorphic, so their order does not matter as long as it is total
    return np.lexsort((block, position, certificate, colour)), bool(determined)


@compiled
def _order_small_blocks(
    tail: Ints,
    head: Ints,
    total: Floats,
    colour: Ints,
    block: Ints,
    budget: int,
    position: Ints,
    certificate: Words,
) -> tuple[bool, int]:
    """Return whether all searches were complete, and the number of open blocks that are too large for one.

    Writes the position of each class of an open block within its block, and the certificate of the block.
    A block is open if one of its classes has the colour of another class.
    """
    decided, n_large = True, 0
    tied = _shared(colour)
    first, member = members_by_label(block, len(block))
    for b in range(len(block)):
        classes = member[first[b] : first[b + 1]]
        if len(classes) <= 1 or not _any_at(tied, classes):  # one class: a loop
            continue
        small_tail, small_head, n_nodes = _renumber(tail, head, classes)
        if _is_large(n_nodes, len(classes)):
            n_large += 1
            continue
        length, shade = _relative(total, classes), taken(colour, classes)
        order, word, ended = search(coloured_block(small_tail, small_head, length, n_nodes, shade), budget)
        decided &= ended
        for i in range(len(order)):
            position[classes[order[i]]] = i
            certificate[classes[order[i]]] = word
    return decided, n_large


@compiled
def _is_large(n_nodes: int, n_classes: int) -> bool:
    """Return whether a block is too large for a matrix of all its currents."""
    return n_nodes > DENSE_NODES or n_classes > DENSE_CLASSES


def _large_blocks(tail: Ints, head: Ints, colour: Ints, block: Ints) -> list[Ints]:
    """Return the classes of each open block that is too large for a matrix of all its currents."""
    shared = np.bincount(colour)[colour] > 1
    blocks = [np.flatnonzero(block == b) for b in np.unique(block[shared])]
    return [one for one in blocks if _is_large(len(np.unique([tail[one], head[one]])), len(one))]


def _compare(one: Floats, two: Floats) -> int:
    """Return -1, 0 or 1: shorter arrays come first, then lexicographic order up to `MASS_TIE`."""
    if len(one) != len(two):
        return -1 if len(one) < len(two) else 1
    apart = np.flatnonzero(np.abs(one - two) > MASS_TIE)
    return int(np.sign(one[apart[0]] - two[apart[0]])) if len(apart) else 0


def _order_by_some_currents(
    tail: Ints, head: Ints, length: Floats, n_nodes: int, colour: Ints
) -> tuple[Ints, Floats, bool]:
    """Return an order of the C1-sets of a large block, sums of currents in it, and whether it is determined.

    Only the currents of tied C1-sets are computed, with rounding. C1-sets that these currents do not
    distinguish are individualised in the given order. The order counts as determined if each choice was
    between two C1-sets, and if replacing any one choice by its alternative gives the same currents.
    """
    tied = np.flatnonzero(np.bincount(colour)[colour] > 1)
    if len(tied) * len(tail) > MAX_CURRENTS:
        return np.argsort(colour, kind="stable"), np.empty(0), False
    rows = resistance_rows(tail, head, length, n_nodes, tied)
    rows = rows**2 / (length[tied][:, None] * length)
    colours, n_alike = _refine_by_rows(colour, tied, rows)
    order = np.argsort(colours)
    place, image = np.empty(len(tail), np.int64), np.empty(len(tail), np.int64)
    place[tied] = np.arange(len(tied))
    determined = len(n_alike) <= _MAX_CHOICES and all(count == _PAIR for count in n_alike)
    for choice in range(len(n_alike)) if determined else ():
        image[order] = np.argsort(_refine_by_rows(colour, tied, rows, choice)[0])
        moved = np.flatnonzero(image[tied] != tied)  # the others keep their currents among themselves
        there = rows[place[image[tied[moved]]]][:, image]
        determined &= np.allclose(rows[moved], there, rtol=0.0, atol=MASS_TIE)
    in_order = place[order[np.isin(order, tied)]]
    return order, rows[in_order][:, order] @ _weights(np.arange(len(tail))), bool(determined)


def _weights(index: Ints) -> Floats:
    """Return a factor from 1 to 2 for each index, so that sums of currents do not agree by chance."""
    root = np.sqrt(index + 2.0)
    return np.asarray(1.0 + root - np.floor(root))


def _refine_by_rows(
    colour: Ints, tied: Ints, rows: Floats, other: int | None = None
) -> tuple[Ints, list[int]]:
    """Return distinct colours, and the number of candidates for each C1-set that was individualised.

    Colours are split by the currents of tied C1-sets. When nothing splits, the first C1-set of the first
    shared colour is individualised; at choice number `other`, the last one.
    """
    n_alike: list[int] = []
    colour = np.unique(colour, return_inverse=True)[1]
    sums = np.zeros(len(colour))
    sums[tied] = rows @ _weights(colour)
    while True:
        before = np.bincount(colour)[colour[tied]]
        colour = split(colour, sums)
        if colour.max() == len(colour) - 1:
            return colour, n_alike
        size = np.bincount(colour)
        if (size[colour[tied]] == before).all():
            first = np.flatnonzero(size > 1)[0]
            members = tied[colour[tied] == first]
            alone = members[-1] if other == len(n_alike) else members[0]
            n_alike.append(len(members))
            colour[colour >= first] += 1
            colour[alone] = first
            size = np.bincount(colour)
        # unchanged cells cannot split anything further, so only sums over new cells are needed
        new = np.flatnonzero(size[colour[tied]] != before)
        if len(new) > len(tied) // _MANY:
            weight = np.zeros(len(colour))
            weight[tied[new]] = _weights(colour[tied[new]])
            sums[tied] = rows @ weight
        else:
            sums[tied] = rows[:, tied[new]] @ _weights(colour[tied[new]])


@compiled
def tied_colours(tail: Ints, head: Ints, total: Floats, n_nodes: int, mass: Floats) -> tuple[Ints, Ints, int]:
    """Return the rank of each C1-set by total and canonical mass, its block, and a state.

    `mass` has the mass of each class. If it is empty, the masses of small blocks are computed here. The
    state is `RESOLVED` if the remaining ties cannot change the matrix, `OPEN` if more than masses must be
    compared, and `MASSES_NEEDED` if the caller must give the masses.
    """
    level = _levels(total)
    matters = _order_matters(tail, head, n_nodes, level)
    if not matters.any():
        return level, np.zeros(len(tail), np.int64), RESOLVED
    block, n_blocks = _blocks(tail, head, n_nodes)
    if len(mass) == 0:
        mass = np.zeros(len(tail), np.float64)
        first, member = members_by_label(block, n_blocks)
        for b in range(n_blocks):
            classes = member[first[b] : first[b + 1]]
            if _any_at(matters, classes) and not _block_masses(tail, head, total, classes, mass):
                return level, block, MASSES_NEEDED
    colour = _split_parallels(tail, head, n_nodes, split(level, mass))
    tied = _shared(colour)
    for c in range(len(tail)):
        if tied[c] and matters[c] and tail[c] != head[c]:
            return colour, block, OPEN
    return colour, block, RESOLVED


@compiled
def _order_matters(tail: Ints, head: Ints, n_nodes: int, level: Ints) -> NDArray[np.bool_]:
    """Return for each C1-set whether the order within its level changes the matrix.

    It does not if the spanning forest takes the same C1-sets in any order, and at most one closes a cycle.
    Nor does it if all are loops, because their rows are alike. Few accidental ties in a city matter.
    """
    matters = np.zeros(len(level), np.bool_)
    first, member = members_by_label(level, len(level))
    leader = np.arange(n_nodes)
    for rank in range(len(level)):
        classes = member[first[rank] : first[rank + 1]]
        n_loops = n_chords = 0
        for c in classes:
            n_loops += tail[c] == head[c]
            n_chords += find(leader, tail[c]) == find(leader, head[c])
        n_fixed = n_chords  # C1-sets that close a cycle in any order
        n_chords = 0
        for c in classes:
            one, two = find(leader, tail[c]), find(leader, head[c])
            n_chords += one == two
            leader[one] = two
        if n_chords != n_fixed or (n_chords > 1 and n_loops < len(classes)):
            for c in classes:
                matters[c] = True
    return matters


@compiled
def order_by_masses(
    tail: Ints, head: Ints, total: Floats, edge_offsets: Ints, n_classes: Ints, n_core: Ints, n_ties: Ints,
    in_tree: NDArray[np.bool_], basis: Ints, state: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    """Write the bases of cores whose ties canonical masses break, and the state of all cores with ties."""
    no_masses = np.empty(0, np.float64)
    for i in range(start, stop):
        if n_ties[i]:
            a = edge_offsets[i]
            c = a + n_classes[i]
            colour, _, state[i] = tied_colours(tail[a:c], head[a:c], total[a:c], n_core[i], no_masses)
            if state[i] == RESOLVED:
                order = members_by_label(colour, len(colour))[1]
                kruskal(tail[a:c], head[a:c], n_core[i], order, in_tree[a:c], basis[a:c])


@compiled
def _any_at(flags: NDArray[np.bool_], positions: Ints) -> bool:
    """Return whether a flag is set at one of the positions."""
    for position in positions:
        if flags[position]:
            return True
    return False


@compiled
def _relative(total: Floats, classes: Ints) -> Floats:
    """Return the totals of some classes, divided by the largest."""
    largest = 0.0
    for c in classes:
        largest = max(largest, total[c])
    length = np.empty(len(classes), np.float64)
    for i in range(len(classes)):
        length[i] = total[classes[i]] / largest
    return length


@compiled
def _shared(label: Ints) -> NDArray[np.bool_]:
    """Return which entries share their label with another entry."""
    size = np.zeros(len(label), np.int64)
    for value in label:
        size[value] += 1
    shared = np.empty(len(label), np.bool_)
    for i in range(len(label)):
        shared[i] = size[label[i]] > 1
    return shared


@compiled
def split(label: Ints, value: Floats) -> Ints:
    """Return ranks by label, then by value; values with the same label and within `MASS_TIE` share a rank."""
    first, member = members_by_label(label, len(label))
    rank = np.empty(len(label), np.int64)
    count = 0
    for group in range(len(label)):
        members = member[first[group] : first[group + 1]]
        if len(members) == 0:
            continue
        if len(members) > 1:
            values = np.empty(len(members), np.float64)
            for i in range(len(members)):
                values[i] = value[members[i]]
            members = taken(members, argsort(values))
        for i in range(len(members)):
            if i and value[members[i]] - value[members[i - 1]] > MASS_TIE:
                count += 1
            rank[members[i]] = count
        count += 1
    return rank


@compiled
def _blocks(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, int]:
    """Return the 2-connected component of each edge, and their number; each loop is a component."""
    n_edges = len(tail)
    first, incident = incident_edges(tail, head, n_nodes)
    block = np.full(n_edges, -1, np.int64)
    seen = np.full(n_nodes, -1, np.int64)  # the time at which a node was reached
    low = np.zeros(n_nodes, np.int64)  # the earliest time that can be reached from below
    path, entry = (
        np.empty(n_nodes, np.int64),
        np.full(n_nodes, -1, np.int64),
    )  # the current path, and the edge into each node
    slot = first[:-1].copy()
    stack, n_stack, clock, count = np.empty(n_edges, np.int64), 0, 0, 0
    for root in range(n_nodes):
        if seen[root] >= 0:
            continue
        depth = 0
        path[0] = root
        seen[root] = low[root] = clock
        clock += 1
        while depth >= 0:
            node = path[depth]
            if slot[node] < first[node + 1]:
                edge = incident[slot[node]]
                slot[node] += 1
                other = tail[edge] + head[edge] - node
                if other == node:
                    if block[edge] < 0:
                        block[edge] = count
                        count += 1
                elif seen[other] < 0:
                    stack[n_stack] = edge
                    n_stack += 1
                    seen[other] = low[other] = clock
                    clock += 1
                    entry[other] = edge
                    depth += 1
                    path[depth] = other
                elif edge != entry[node] and seen[other] < seen[node]:
                    stack[n_stack] = edge
                    n_stack += 1
                    low[node] = min(low[node], seen[other])
            else:
                depth -= 1
                if depth < 0:
                    continue
                above = path[depth]
                low[above] = min(low[above], low[node])
                if low[node] >= seen[above]:
                    edge = -1
                    while edge != entry[node]:
                        n_stack -= 1
                        edge = stack[n_stack]
                        block[edge] = count
                    count += 1
    return block, count


@compiled
def _renumber(tail: Ints, head: Ints, classes: Ints) -> tuple[Ints, Ints, int]:
    """Return the tails and heads of some edges with nodes renumbered from 0, and the number of nodes."""
    ends = np.empty(2 * len(classes), np.float64)
    for i in range(len(classes)):
        ends[2 * i], ends[2 * i + 1] = tail[classes[i]], head[classes[i]]
    order = argsort(ends)
    small_tail, small_head = np.empty(len(classes), np.int64), np.empty(len(classes), np.int64)
    count = 0
    for i in range(len(ends)):
        if i and ends[order[i]] != ends[order[i - 1]]:
            count += 1
        if order[i] % 2 == 0:
            small_tail[order[i] // 2] = count
        else:
            small_head[order[i] // 2] = count
    return small_tail, small_head, count + 1


@compiled
def _block_masses(tail: Ints, head: Ints, total: Floats, classes: Ints, mass: Floats) -> bool:
    """Write the canonical masses of a block; return False if a dense matrix is too large or inaccurate."""
    if len(classes) == 1:
        mass[classes[0]] = LOOP_MASS
        return True
    small_tail, small_head, n_nodes = _renumber(tail, head, classes)
    length = _relative(total, classes)
    if n_nodes > _DENSE_MASSES or rounding(length, n_nodes) > MASS_TIE:
        return False
    inverse = potentials(small_tail, small_head, length, n_nodes)
    for i in range(len(classes)):
        mass[classes[i]] = 1.0 - resistance(inverse, small_tail, small_head, i, i) / length[i]
    return True


@compiled
def _split_parallels(tail: Ints, head: Ints, n_nodes: int, colour: Ints) -> Ints:
    """Return colours in which parallel edges of the same colour differ.

    Parallel edges are interchangeable, whatever the other choices. So are all loops, because the node of a
    loop does not matter.
    """
    rank = np.zeros(len(tail), np.float64)
    first, member = members_by_label(colour, len(colour))
    for group in range(len(colour)):
        members = member[first[group] : first[group + 1]]
        if len(members) <= 1:
            continue
        pair = np.empty(len(members), np.float64)
        for i in range(len(members)):
            one, two = tail[members[i]], head[members[i]]
            pair[i] = min(one, two) * n_nodes + max(one, two) if one != two else -1
        order = argsort(pair)
        for i in range(1, len(members)):
            if pair[order[i]] == pair[order[i - 1]]:
                rank[members[order[i]]] = rank[members[order[i - 1]]] + 1.0
    return split(colour, rank)
