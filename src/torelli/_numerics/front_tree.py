"""The plan of an elimination by fronts: which nodes are eliminated together, and where their meshes go.

A front is a group of nodes that are eliminated together, its pivots, with the later nodes that their
elimination joins to each other, its border. The border of a front lies within the front of its first node,
the parent, so the fronts form a forest. Small fronts are merged with their parents if that adds few
entries. An entry that no mesh uses is a conductance of zero and does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.forest import ints
from torelli._numerics.ordering import neighbours, nodes, order_nodes, with_room

if TYPE_CHECKING:
    from torelli._numerics.ordering import Nodes
    from torelli._types import Ints

_TINY, _SMALL, _MEDIUM = 4, 16, 48  # pivots of a merged front, by which zeros are allowed


class Plan(NamedTuple):
    """Fronts in postorder: the subtree of a front stands directly before it.

    Attributes
    ----------
    first
        Position of the first pivot of each front; the pivots of a front have successive positions.
    parent
        The parent of each front, or -1.
    eldest
        The first child of each front, or -1.
    border_first, into
        The border of each front, in the order of elimination: its start, and the index of each of its
        nodes among the pivots and the border of the parent.
    panel_first
        Start of the panel of each front: one row for each pivot, one column for each pivot and each node
        of the border.
    entry
        The entry of each edge in the panels; -1 for a loop.
    """

    first: Ints
    parent: Ints
    eldest: Ints
    border_first: Ints
    into: Nodes
    panel_first: Ints
    entry: Ints


@compiled
def plan_fronts(tail: Ints, head: Ints, n_nodes: int) -> tuple[Plan, int]:
    """Return the fronts of a network, and the number of entries that must be kept beside the panels."""
    start, size, lists = neighbours(tail, head, n_nodes)
    step, n_steps = order_nodes(start, size, lists)
    parent, old_first, old_border = _borders(step, n_steps, start, size, lists)
    n_pivots, n_border = ints(n_steps, 0), ints(n_steps, 0)
    for node in range(n_nodes):
        n_pivots[step[node]] += 1
    for front in range(n_steps):
        n_border[front] = old_first[front + 1] - old_first[front]
    merged = _merge_small(parent, n_pivots, n_border)
    rank, order, most = _postorder(parent, merged, n_pivots, n_border)

    n_fronts = len(order)
    first, border_first, panel_first = ints(n_fronts + 1, 0), ints(n_fronts + 1, 0), ints(n_fronts + 1, 0)
    up, eldest = ints(n_fronts, -1), ints(n_fronts, -1)
    for front in range(n_fronts):
        old = order[front]
        first[front + 1] = first[front] + n_pivots[old]
        border_first[front + 1] = border_first[front] + n_border[old]
        panel_first[front + 1] = panel_first[front] + n_pivots[old] * (n_pivots[old] + n_border[old])
        if parent[old] >= 0:
            up[front] = rank[merged[parent[old]]]
    for front in range(n_fronts - 1, -1, -1):
        if up[front] >= 0:
            eldest[up[front]] = front

    position = _positions(step, merged, rank, first)
    border = np.empty(border_first[n_fronts], np.int32)
    put = 0
    for front in range(n_fronts):
        for slot in range(old_first[order[front]], old_first[order[front] + 1]):
            border[put] = position[old_border[slot]]
            put += 1
    border = _sorted_lists(border_first, border, n_nodes)
    into = _places_in_parents(first, up, border_first, border)
    entry = _entries(tail, head, position, first, border_first, border, panel_first)
    return Plan(first, up, eldest, border_first, into, panel_first, entry), most


@compiled
def _borders(step: Nodes, n_steps: int, start: Ints, size: Nodes, lists: Nodes) -> tuple[Nodes, Ints, Nodes]:
    """Return the parent of each step, and the later nodes that it joins: their start and the nodes."""
    n_nodes = len(step)
    # the nodes and the children of each step, as linked lists
    newest, after = nodes(n_steps, -1), nodes(n_nodes, -1)
    for node in range(n_nodes - 1, -1, -1):
        after[node] = newest[step[node]]
        newest[step[node]] = node
    parent, child, sibling = nodes(n_steps, -1), nodes(n_steps, -1), nodes(n_steps, -1)
    seen = nodes(n_nodes, -1)
    first = ints(n_steps + 1, 0)
    border = np.empty(len(lists) + n_nodes, np.int32)
    used = 0
    for front in range(n_steps):
        begin, most = used, used
        below = child[front]
        while below >= 0:
            most += first[below + 1] - first[below]
            below = sibling[below]
        node = newest[front]
        while node >= 0:
            most += size[node]
            node = after[node]
        border = with_room(border, used, most - used)
        below = child[front]
        while below >= 0:
            used = _join(front, border, first[below], first[below + 1], step, seen, border, used)
            below = sibling[below]
        node = newest[front]
        while node >= 0:
            used = _join(front, lists, start[node], start[node] + size[node], step, seen, border, used)
            node = after[node]
        first[front + 1] = used
        if used > begin:
            lowest = n_steps
            for slot in range(begin, used):
                lowest = min(lowest, step[border[slot]])
            parent[front] = lowest
            sibling[front] = child[lowest]
            child[lowest] = front
    return parent, first, border


@compiled
def _join(
    front: int, source: Nodes, low: int, high: int, step: Nodes, seen: Nodes, border: Nodes, used: int
) -> int:
    """Append the nodes of a list that come after a front to its border, each once; return its end."""
    for slot in range(low, high):
        node = source[slot]
        if step[node] > front and seen[node] != front:
            seen[node] = front
            border[used] = node
            used += 1
    return used


@compiled
def _merge_small(parent: Nodes, n_pivots: Ints, n_border: Ints) -> Ints:
    """Merge fronts with their parents if that adds few entries; return the front that each belongs to.

    The merged front has the number and the border of the last one, and its `n_pivots` becomes the sum.
    """
    n_fronts = len(parent)
    merged, unused = ints(n_fronts, -1), ints(n_fronts, 0)
    for front in range(n_fronts):
        up = parent[front]
        if up < 0:
            continue
        total = n_pivots[front] + n_pivots[up]
        zeros = unused[front] + unused[up]
        zeros += n_pivots[front] * (n_pivots[up] + n_border[up] - n_border[front])
        entries = total * (total + 1) // 2 + total * n_border[up]
        if total <= _TINY or zeros <= _allowed(total) * entries:
            n_pivots[up], unused[up] = total, zeros
            merged[front] = up
    for front in range(n_fronts - 1, -1, -1):
        merged[front] = front if merged[front] < 0 else merged[merged[front]]
    return merged


@compiled
def _allowed(n_pivots: int) -> float:
    """Return the part of a front's entries that may be zeros added by merging."""
    if n_pivots <= _SMALL:
        return 0.4
    return 0.1 if n_pivots <= _MEDIUM else 0.05


@compiled
def _postorder(parent: Nodes, merged: Ints, n_pivots: Ints, n_border: Ints) -> tuple[Ints, Ints, int]:
    """Return the rank of each front in postorder, the fronts in that order, and the entries of the stack.

    A front waits on the stack until its first child has been visited on the way back. So the child whose
    subtree needs most comes first.
    """
    n_old = len(parent)
    need, second, largest = ints(n_old, 0), ints(n_old, 0), ints(n_old, 0)
    eldest, child, sibling = ints(n_old, -1), ints(n_old, -1), ints(n_old, -1)
    n_fronts, most = 0, 0
    for front in range(n_old):
        if merged[front] != front:
            continue
        n_fronts += 1
        own = (n_pivots[front] + n_border[front]) ** 2
        total = max(own, need[front])
        if eldest[front] >= 0:
            total = max(total, own + max(second[front], largest[front]))
        if parent[front] < 0:
            most = max(most, total)
            continue
        up = merged[parent[front]]
        largest[up] = max(largest[up], own)
        other = front
        if eldest[up] < 0 or total > need[up]:
            second[up] = max(second[up], need[up])
            need[up] = total
            other, eldest[up] = eldest[up], front
        else:
            second[up] = max(second[up], total)
        if other >= 0:
            sibling[other] = child[up]
            child[up] = other
    rank, order = ints(n_old, -1), ints(n_fronts, 0)
    count = n_fronts
    waiting = ints(n_fronts, 0)
    # parents first, and the last child before the others: the reverse of a postorder
    for root in range(n_old - 1, -1, -1):
        if merged[root] != root or parent[root] >= 0:
            continue
        waiting[0] = root
        n_waiting = 1
        while n_waiting > 0:
            n_waiting -= 1
            front = waiting[n_waiting]
            count -= 1
            order[count], rank[front] = front, count
            if eldest[front] >= 0:
                waiting[n_waiting] = eldest[front]
                n_waiting += 1
            below = child[front]
            while below >= 0:
                waiting[n_waiting] = below
                n_waiting += 1
                below = sibling[below]
    return rank, order, most


@compiled
def _positions(step: Nodes, merged: Ints, rank: Ints, first: Ints) -> Nodes:
    """Return the position of each node: those of a front follow each other."""
    put = first.copy()
    position = nodes(len(step), 0)
    for node in range(len(step)):
        front = rank[merged[step[node]]]
        position[node] = put[front]
        put[front] += 1
    return position


@compiled
def _sorted_lists(start: Ints, lists: Nodes, n_nodes: int) -> Nodes:
    """Return lists of nodes with each list sorted: the lists that have a node, node by node."""
    begin = ints(n_nodes + 1, 0)
    for slot in range(len(lists)):
        begin[lists[slot] + 1] += 1
    for node in range(n_nodes):
        begin[node + 1] += begin[node]
    owner = np.empty(len(lists), np.int32)
    for front in range(len(start) - 1):
        for slot in range(start[front], start[front + 1]):
            node = lists[slot]
            owner[begin[node]] = front
            begin[node] += 1
    put = start.copy()
    out = np.empty(len(lists), np.int32)
    slot = 0
    for node in range(n_nodes):
        while slot < begin[node]:
            out[put[owner[slot]]] = node
            put[owner[slot]] += 1
            slot += 1
    return out


@compiled
def _places_in_parents(first: Ints, parent: Ints, start: Ints, border: Nodes) -> Nodes:
    """Return the index of each node of a border among the pivots and the border of the parent."""
    into = np.empty(len(border), np.int32)
    for front in range(len(parent)):
        up = parent[front]
        if up < 0:
            continue
        begin, end = first[up], first[up + 1]
        other = start[up]
        for slot in range(start[front], start[front + 1]):
            node = border[slot]
            if node < end:
                into[slot] = node - begin
            else:
                while border[other] < node:
                    other += 1
                into[slot] = end - begin + other - start[up]
    return into


@compiled
def _entries(
    tail: Ints, head: Ints, position: Nodes, first: Ints, start: Ints, border: Nodes, panel_first: Ints
) -> Ints:
    """Return the entry of each edge in the panels, in the row of its first end; -1 for a loop."""
    front_of = nodes(len(position), 0)
    for front in range(len(first) - 1):
        for node in range(first[front], first[front + 1]):
            front_of[node] = front
    entry = ints(len(tail), -1)
    for edge in range(len(tail)):
        one, two = position[tail[edge]], position[head[edge]]
        if one == two:
            continue
        low, high = min(one, two), max(one, two)
        front = front_of[low]
        begin, n_pivots = first[front], first[front + 1] - first[front]
        if high < first[front + 1]:
            column = high - begin
        else:
            least, most = start[front], start[front + 1] - 1
            while least < most:
                middle = (least + most) // 2
                if border[middle] < high:
                    least = middle + 1
                else:
                    most = middle
            column = n_pivots + least - start[front]
        width = n_pivots + start[front + 1] - start[front]
        entry[edge] = panel_first[front] + (low - begin) * width + column
    return entry
