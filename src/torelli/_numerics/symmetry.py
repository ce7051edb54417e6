"""The canonical order of the edges of a coloured 2-connected graph, up to its symmetries.

The search is that of graph canonisation (McKay and Piperno, "Practical graph isomorphism, II", 2014). It
runs on the complete graph whose nodes are the edges and whose edge colours are currents: currents, unlike
end points, are the same for all graphs with the same tropical Jacobian. Colours are refined until nothing
splits. Then one edge of a colour is individualised (gets a colour of its own), and refinement continues.
All choices within a colour are compared, up to the symmetries already found, and the one with the smallest
certificate is taken. Equal certificates prove a symmetry, so any choice between them gives the same matrix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.currents import (
    PRIME,
    mix,
    pair_words,
    potentials,
    potentials_modulo,
    resistance,
    resistance_modulo,
    rounding,
)
from torelli._numerics.forest import argsort, find, members_by_label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints, Words

    Number = int | np.int64

_CURRENT_TIE = 1.137e-9  # closer real currents are ordered by exact ones; not round, like `MASS_TIE`
_MAX_CELLS = 1_000_000  # edges times depths of a search; takes 50 MB
_SALT_ONE, _SALT_TWO = np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344)
_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = (PRIME - np.uint64(1)) // np.uint64(2)


class Block(NamedTuple):
    """A 2-connected graph with coloured edges, and its currents."""

    tail: Ints
    head: Ints
    length: Floats
    colour: Ints
    exact: Words  # potentials modulo the prime
    inverse: Floats  # real potentials
    words: Words  # a hash for each pair of edges
    twin: Ints  # the class of interchangeable nodes of each node


class _Cells(NamedTuple):
    """Ordered partitions of the edges, one for each depth of the search, and scratch space for refinement."""

    members: Ints  # (depth, edges): the edges, cell by cell
    size: Ints  # (depth, edges): the size of the cell that starts at this position
    n_cells: Ints  # (depth,): the number of cells
    sense: Ints  # (depth, edges): the direction of edges, 1 or -1, or 0 if undecided
    queue: Ints
    queued: NDArray[np.bool_]
    work: Ints  # the remaining budget


class _Tree(NamedTuple):
    """The results of a search below the current node of its tree, for each depth."""

    candidates: Ints  # (depth, edges): the edges to individualise; those already tried are moved to the front
    n_candidates: Ints
    n_left: Ints
    n_tried: Ints
    chosen: Ints  # the edge individualised last
    trace: Words  # the trace of the refinement after it
    best_trace: Words
    orbit: (
        Ints  # union-find of edges that a symmetry maps to each other; symmetries fix the edges chosen above
    )
    order: Ints  # the best order so far
    certificate: Words  # its certificate
    key: Words  # compared to find the best: a hash of the traces and the certificate


@compiled
def coloured_block(tail: Ints, head: Ints, length: Floats, n_nodes: int, colour: Ints) -> Block:
    """Return a 2-connected graph with its currents, for the lengths and for the colours."""
    inverse = np.zeros((n_nodes, n_nodes), np.float64)
    if rounding(length, n_nodes) < _CURRENT_TIE:  # otherwise only exact currents order the edges
        inverse = potentials(tail, head, length, n_nodes)
    exact = _exact_potentials(tail, head, n_nodes, colour, _SALT_ONE)
    words = pair_words(exact, _exact_potentials(tail, head, n_nodes, colour, _SALT_TWO), tail, head)
    return Block(tail, head, length, colour, exact, inverse, words, _twin_nodes(tail, head, n_nodes, colour))


@compiled
def _first_cells(block: Block, budget: int) -> _Cells:
    """Return the refined partition of the edges by colour."""
    count = len(block.tail)
    depth = min(count, _MAX_CELLS // count) + 1
    cells = _Cells(
        np.empty((depth, count), np.int64),
        np.empty((depth, count), np.int64),
        np.zeros(depth, np.int64),
        np.zeros((depth, count), np.int64),
        np.empty(count, np.int64),
        np.zeros(count, np.bool_),
        np.empty(1, np.int64),
    )
    cells.work[0] = budget
    n_colours = 0
    for value in block.colour:
        n_colours = max(n_colours, value + 1)
    first, members = members_by_label(block.colour, n_colours)
    _copy(members, cells.members[0])
    n_queue = root = np.int64(0)
    for group in range(n_colours):
        if first[group] < first[group + 1]:
            cells.size[0, first[group]] = first[group + 1] - first[group]
            cells.queue[n_queue] = first[group]
            cells.queued[first[group]] = True
            n_queue += 1
    cells.n_cells[0] = n_queue
    _refine(block, cells, root, n_queue)
    return cells


@compiled
def search(block: Block, budget: int) -> tuple[Ints, np.uint64, bool]:
    """Return the canonical order of a block's edges, its certificate, and whether the search was complete.

    Each edge of the first cell with several edges is individualised in turn, unless a symmetry maps it to
    an edge that was tried before. The traces of refinements are compared first, then the certificates of
    orders. The budget is counted in additions of words; once it is used up, the best order so far is
    returned.
    """
    cells = _first_cells(block, budget)
    count, n_depths, decided = len(block.tail), len(cells.n_cells), True
    tree = _Tree(
        np.empty((n_depths, count), np.int64),
        np.zeros(n_depths, np.int64),
        np.zeros(n_depths, np.int64),
        np.zeros(n_depths, np.int64),
        np.zeros(n_depths, np.int64),
        np.zeros(n_depths, np.uint64),
        np.zeros(n_depths, np.uint64),
        np.empty((n_depths, count), np.int64),
        np.empty((n_depths, count), np.int64),
        np.zeros(n_depths, np.uint64),
        np.zeros(n_depths, np.uint64),
    )
    depth = np.int64(0)
    _enter(block, cells, tree, depth)
    while True:
        if _next_child(block, cells, tree, depth):
            depth += 1
            _enter(block, cells, tree, depth)
            continue
        decided &= tree.n_left[depth] == 0
        if depth == 0:
            return tree.order[0].copy(), tree.certificate[0], decided
        # the node at this depth is done: its parent takes over its results
        depth -= 1
        orbit, below = tree.orbit[depth], depth + 1
        for edge in range(count):
            _join(orbit, edge, tree.orbit[below, edge])
        better = tree.n_tried[depth] == 0 or tree.trace[depth] < tree.best_trace[depth]
        key = mix(tree.trace[depth]) + tree.key[below]
        if not better and tree.certificate[below] == tree.certificate[depth]:
            _join_images(orbit, tree.order[depth], tree.order[below])
        elif better or key < tree.key[depth]:
            tree.best_trace[depth] = tree.trace[depth]
            tree.key[depth] = key
            tree.certificate[depth] = tree.certificate[below]
            _copy(tree.order[below], tree.order[depth])
        tree.candidates[depth, tree.n_tried[depth]] = tree.chosen[depth]
        tree.n_tried[depth] += 1


@compiled
def _enter(block: Block, cells: _Cells, tree: _Tree, depth: Number) -> None:
    """Start at a node of the search tree: list the edges to individualise, or record the order of a leaf."""
    count = len(block.tail)
    orbit = tree.orbit[depth]
    for edge in range(count):
        orbit[edge] = edge
    tree.n_tried[depth] = tree.n_left[depth] = 0
    if cells.n_cells[depth] == count or depth + 1 == len(cells.n_cells):
        _copy(cells.members[depth], tree.order[depth])
        tree.certificate[depth] = tree.key[depth] = _certificate(block, cells, tree.order[depth])
        if cells.n_cells[depth] < count:  # too deep, so undecided
            tree.n_left[depth] = 1
            tree.n_tried[depth] = count
        return
    start = _first_open(cells, depth)
    cell = cells.members[depth, start : start + cells.size[depth, start]].copy()
    _join_twins(block, tree.chosen[:depth], cell, orbit)
    _copy(cell, tree.candidates[depth])
    tree.n_left[depth] = len(cell)
    tree.n_candidates[depth] = len(cell)


@compiled
def _first_open(cells: _Cells, depth: Number) -> int:
    """Return the start of the first cell with several edges."""
    start = 0
    while cells.size[depth, start] == 1:
        start += 1
    return start


@compiled
def _next_child(block: Block, cells: _Cells, tree: _Tree, depth: Number) -> bool:
    """Individualise the next edge that may lead to a better order; return False if there is none."""
    count, orbit = len(block.tail), tree.orbit[depth]
    if tree.n_tried[depth] == count:
        return False
    while tree.n_left[depth] > 0:
        n_tried = tree.n_tried[depth]
        if n_tried and cells.work[0] <= 0:
            return False
        edge = tree.candidates[depth, tree.n_candidates[depth] - tree.n_left[depth]]
        tree.n_left[depth] -= 1
        known = False
        for i in range(n_tried):
            known |= find(orbit, tree.candidates[depth, i]) == find(orbit, edge)
        if known:
            continue
        start = _first_open(cells, depth)
        tree.chosen[depth] = edge
        tree.trace[depth] = _individualise(block, cells, depth, start, edge)
        if n_tried == 0 or tree.trace[depth] < tree.best_trace[depth]:
            return True
        if tree.trace[depth] == tree.best_trace[depth]:
            # the leaf reached by always taking the first edge often is an image of the best order
            below = depth + 1
            while cells.n_cells[below] < count and below + 1 < len(cells.n_cells):
                place = _first_open(cells, below)
                _individualise(block, cells, below, place, cells.members[below, place])
                below += 1
            if _certificate(block, cells, cells.members[below]) != tree.certificate[depth]:
                _individualise(block, cells, depth, start, edge)
                return True
            _join_images(orbit, tree.order[depth], cells.members[below])
        else:
            tree.candidates[depth, n_tried] = edge  # a different refinement, and a worse one
            tree.n_tried[depth] += 1
    return False


@compiled
def _copy(source: Ints, target: Ints) -> None:
    """Copy the entries of an array into another."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled
def _join(orbit: Ints, one: int, two: int) -> None:
    """Join two edges in a union-find array."""
    orbit[find(orbit, one)] = find(orbit, two)


@compiled
def _join_images(orbit: Ints, order: Ints, image: Ints) -> None:
    """Join each edge with its image under the symmetry that maps one order to the other."""
    for i in range(len(order)):
        _join(orbit, order[i], image[i])


@compiled
def _join_twins(block: Block, chosen: Ints, cell: Ints, orbit: Ints) -> None:
    """Join edges that differ by an exchange of twin nodes; no twin may be an end of a chosen edge."""
    n_nodes = len(block.twin)
    node = block.twin.copy()
    for edge in chosen:
        node[block.tail[edge]] = -1 - block.tail[edge]
        node[block.head[edge]] = -1 - block.head[edge]
    pair = np.empty(len(cell), np.float64)
    for i in range(len(cell)):
        one, two = node[block.tail[cell[i]]] + n_nodes, node[block.head[cell[i]]] + n_nodes
        pair[i] = min(one, two) * 2 * n_nodes + max(one, two)
    order = argsort(pair)
    for i in range(1, len(cell)):
        if pair[order[i]] == pair[order[i - 1]]:
            _join(orbit, cell[order[i]], cell[order[i - 1]])


@compiled
def _individualise(block: Block, cells: _Cells, depth: Number, start: Number, edge: int) -> np.uint64:
    """Put one edge into a cell of its own, before the rest of its cell, and refine; return the trace.

    The new partition is written to the next depth. The partition of this depth does not change.
    """
    members, size = cells.members[depth + 1], cells.size[depth + 1]
    _copy(cells.members[depth], members)
    _copy(cells.size[depth], size)
    _copy(cells.sense[depth], cells.sense[depth + 1])
    place = start
    while members[place] != edge:
        place += 1
    members[place], members[start] = members[start], edge
    size[start + 1] = size[start] - 1
    size[start] = 1
    cells.n_cells[depth + 1] = cells.n_cells[depth] + 1
    cells.queue[0] = start
    cells.queued[start] = True
    return _refine(block, cells, depth + 1, np.int64(1))


@compiled
def _refine(block: Block, cells: _Cells, depth: Number, n_queue: Number) -> np.uint64:
    """Split cells by their currents to the cells in the queue until nothing splits; return the trace.

    The trace is a hash; equal refinements have equal traces. When a cell splits, the parts with larger
    currents come first.
    """
    members, size, queue, queued = cells.members[depth], cells.size[depth], cells.queue, cells.queued
    count, words = len(members), block.words
    sums = np.empty(count, np.uint64)
    trace = np.uint64(0)
    head = np.int64(0)
    while n_queue > 0 and cells.n_cells[depth] < count:
        start = queue[head]
        head = (head + 1) % count
        n_queue -= 1
        queued[start] = False
        splitter = members[start : start + size[start]].copy()
        for edge in range(count):
            sums[edge] = words[splitter[0], edge]
        for other in splitter[1:]:
            row = words[other]
            for edge in range(count):
                sums[edge] += row[edge]
        if len(splitter) == 1:
            _add_signed_currents(block, cells, depth, splitter[0], sums)
        cells.work[0] -= (len(splitter) + 3) * count
        trace = mix(trace + np.uint64(start))
        a = np.int64(0)
        while a < count:
            b = a + size[a]
            differs = False
            for i in range(a + 1, b):
                differs |= sums[members[i]] != sums[members[a]]
            if differs:
                n_queue = _split_cell(block, cells, depth, a, b, sums, splitter, head, n_queue)
                for i in range(a + 1, b):
                    trace = mix(trace + sums[members[i]])
            trace = mix(trace + sums[members[a]])
            a = b
    while n_queue > 0:
        queued[queue[head]] = False
        head = (head + 1) % count
        n_queue -= 1
    return trace


@compiled
def _add_signed_currents(block: Block, cells: _Cells, depth: Number, edge: int, sums: Words) -> None:
    """Add hashes of the exact currents, with signs, of an edge that is alone in its cell.

    The first such edge with a nonzero current to another edge gives that edge a direction. Later edges
    use the sign.
    """
    members, size, sense = cells.members[depth], cells.size[depth], cells.sense[depth]
    place, doubtful = 0, False
    while sense[edge] == 0 and place < len(members):
        for other in members[place : place + size[place]]:
            if sense[other] != 0:
                value = resistance_modulo(block.exact, block.tail, block.head, edge, other)
                if value != np.uint64(0) and size[place] == 1:
                    sense[edge] = sense[other] if value <= _HALF else -sense[other]
                doubtful |= value != np.uint64(0)
        place += size[place]
    if sense[edge] == 0:
        if doubtful:
            return  # the edges of a larger cell could imply different directions
        sense[edge] = 1
    for other in range(len(sums)):
        value = resistance_modulo(block.exact, block.tail, block.head, edge, other)
        if value == np.uint64(0):
            continue
        if sense[other] == 0:
            sense[other] = sense[edge] if value <= _HALF else -sense[edge]
        sums[other] += mix(value if sense[other] == sense[edge] else PRIME - value)


@compiled
def _split_cell(
    block: Block,
    cells: _Cells,
    depth: Number,
    a: Number,
    b: Number,
    sums: Words,
    splitter: Ints,
    head: Number,
    n_queue: Number,
) -> Number:
    """Split the cell at positions a to b by sums, and queue its parts; return the length of the queue."""
    members, size, queue, queued = cells.members[depth], cells.size[depth], cells.queue, cells.queued
    count = len(members)
    _sort_by_word(members, a, b, sums)
    first = np.empty(b - a + 1, np.int64)  # start of each part
    n_parts = 0
    for i in range(a, b):
        if i == a or sums[members[i]] != sums[members[i - 1]]:
            first[n_parts] = i
            n_parts += 1
    first[n_parts] = b
    # real currents to the splitter order the parts; words order the parts whose currents tie
    current = np.zeros(n_parts, np.float64)
    for part in range(n_parts):
        edge = members[first[part]]
        for other in splitter:
            drop = resistance(block.inverse, block.tail, block.head, edge, other)
            current[part] -= drop * drop / (block.length[edge] * block.length[other])
    ranked = argsort(current)
    _sort_ties_by_part(ranked, current)
    old = members[a:b].copy()
    place = a
    largest, at_largest = np.int64(0), a
    for part in ranked:
        n_members = first[part + 1] - first[part]
        for i in range(n_members):
            members[place + i] = old[first[part] - a + i]
        size[place] = n_members
        if n_members > largest:
            largest, at_largest = n_members, place
        place += n_members
    cells.n_cells[depth] += n_parts - 1
    # sums over the whole cell are known, so sums over all parts but one suffice
    place = a
    whole = queued[a]
    while place < b:
        if not queued[place] and (whole or place != at_largest):
            queue[(head + n_queue) % count] = place
            queued[place] = True
            n_queue += 1
        place += size[place]
    return n_queue


@compiled
def _sort_ties_by_part(ranked: Ints, current: Floats) -> None:
    """Sort runs of nearly equal currents by the index of the part."""
    a = 0
    while a < len(ranked):
        b = a + 1
        while b < len(ranked) and current[ranked[b]] - current[ranked[b - 1]] <= _CURRENT_TIE:
            b += 1
        for i in range(a + 1, b):
            here, j = ranked[i], i - 1
            while j >= a and ranked[j] > here:
                ranked[j + 1] = ranked[j]
                j -= 1
            ranked[j + 1] = here
        a = b


@compiled
def _sort_by_word(members: Ints, a: Number, b: Number, words: Words) -> None:
    """Sort positions a to b by their words, in place (Shell sort)."""
    gap = 1
    while 3 * gap + 1 < b - a:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(a + gap, b):
            here, j = members[i], i - gap
            while j >= a and words[members[j]] > words[here]:
                members[j + gap] = members[j]
                j -= gap
            members[j + gap] = here
        gap //= 3


@compiled
def _certificate(block: Block, cells: _Cells, order: Ints) -> np.uint64:
    """Return a hash of all exact currents in an order; equal hashes prove a symmetry between two orders.

    Edges are reversed so that the signs of currents are fixed along a breadth-first forest of the nonzero
    currents.
    """
    count = len(order)
    cells.work[0] -= 4 * count * count
    turned = np.zeros(count, np.bool_)  # by position in the order
    queue, unseen = np.empty(count, np.int64), np.arange(count)
    left, seen, done = count, 0, 0
    word = np.uint64(0)
    while left > 0:
        if done == seen:
            queue[seen] = unseen[0]
            seen += 1
            left -= 1
            for i in range(left):
                unseen[i] = unseen[i + 1]
        place = queue[done]
        done += 1
        kept = 0
        for i in range(left):
            other = unseen[i]
            value = resistance_modulo(block.exact, block.tail, block.head, order[place], order[other])
            if value == np.uint64(0):
                unseen[kept] = other
                kept += 1
            else:
                turned[other] = turned[place] != (value > _HALF)
                queue[seen] = other
                seen += 1
        left = kept
    for i in range(count):
        word += mix(np.uint64(block.colour[order[i]]) * _ODD + np.uint64(i))
        for j in range(i + 1):
            value = resistance_modulo(block.exact, block.tail, block.head, order[i], order[j])
            if value != np.uint64(0) and turned[i] != turned[j]:
                value = PRIME - value
            word += mix(value * _ODD + np.uint64(i * count + j))
    return word


@compiled
def _exact_potentials(tail: Ints, head: Ints, n_nodes: int, colour: Ints, salt: np.uint64) -> Words:
    """Return the potentials modulo the prime for random conductances, one for each colour."""
    conductance = np.empty(len(tail), np.uint64)
    inverse = np.zeros((0, 0), np.uint64)
    while len(inverse) == 0:
        for edge in range(len(tail)):
            conductance[edge] = mix(np.uint64(colour[edge]) * _ODD ^ salt) % (
                PRIME - np.uint64(1)
            ) + np.uint64(1)
        inverse = potentials_modulo(tail, head, conductance, n_nodes)
        salt = mix(salt)  # about one Laplacian in 2 billion has no inverse
    return inverse


@compiled
def _twin_nodes(tail: Ints, head: Ints, n_nodes: int, colour: Ints) -> Ints:
    """Return the class of each node; two nodes of a class can be exchanged while all others stay."""
    around = np.zeros(n_nodes, np.uint64)
    for edge in range(len(tail)):
        word = np.uint64(colour[edge]) * _ODD
        around[tail[edge]] += mix(word + np.uint64(head[edge]))
        around[head[edge]] += mix(word + np.uint64(tail[edge]))
    leader = np.arange(n_nodes)
    for edge in range(len(tail)):
        word = np.uint64(colour[edge]) * _ODD
        one, two = tail[edge], head[edge]
        if around[one] - mix(word + np.uint64(two)) == around[two] - mix(word + np.uint64(one)):
            leader[find(leader, max(one, two))] = find(leader, min(one, two))
    for one in range(n_nodes):
        for two in range(one):
            if around[one] == around[two]:
                leader[find(leader, one)] = find(leader, two)
    return leader
