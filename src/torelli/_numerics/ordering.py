"""An order of elimination that keeps the meshes of a large network small: approximate minimum degree.

The nodes that remain are kept in a quotient graph. An eliminated node becomes an element, the list of the
nodes that its elimination joins to each other, so no mesh is ever written edge by edge. A new element
absorbs the elements that it covers. Nodes with the same neighbours are merged, and their elimination is one
step. The degree of a node is replaced by a bound that costs one pass over its elements (Amestoy, Davis and
Duff, 1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled
from torelli._numerics.forest import ints

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Ints

    Nodes = NDArray[np.int32]

_FEW = 16  # neighbours that do not make a node a hub, however small the network is
_HUB = -1  # stands for the number of elements of a hub that has no list yet

# columns of the table of nodes. An element has the number of the node whose elimination made it. All
# figures of a node stand together, because most of the time is spent on fetching them from memory.
_START = 0  # of the list of a node in the lists; the node that it has been merged into
_N_ELEMENTS = 1  # that the list of a node begins with; hubs that the list of an element begins with
_SIZE = 2  # of the list, with the nodes that no element joins to the node
_WEIGHT = 3  # nodes merged into a node, itself included; negative in the current element, 0 once it is gone
_DEGREE = 4  # bound on the number of nodes joined to a node; the weight of the nodes of an element
_STAMP = 5  # a mark; 0 for an element that has been absorbed
_AFTER = 6  # the next node of the same degree, or in the same bucket
_BEFORE = 7  # the previous node of the same degree, or the bucket
_COLUMNS = 8


@compiled
def nodes(count: int, value: int) -> Nodes:
    """Return an array of node numbers, all with the same value."""
    array = np.empty(count, np.int32)
    for i in range(count):
        array[i] = value
    return array


@compiled
def neighbours(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, Nodes, Nodes]:
    """Return (start, size, lists): the neighbours of each node, each once, without the node itself."""
    start = ints(n_nodes + 1, 0)
    for edge in range(len(tail)):
        if tail[edge] != head[edge]:
            start[tail[edge] + 1] += 1
            start[head[edge] + 1] += 1
    for node in range(n_nodes):
        start[node + 1] += start[node]
    size = nodes(n_nodes, 0)
    lists = np.empty(start[n_nodes], np.int32)
    for edge in range(len(tail)):
        one, two = tail[edge], head[edge]
        if one != two:
            lists[start[one] + size[one]] = two
            size[one] += 1
            lists[start[two] + size[two]] = one
            size[two] += 1
    seen = nodes(n_nodes, -1)
    for node in range(n_nodes):
        end = start[node]
        for slot in range(start[node], start[node] + size[node]):
            other = lists[slot]
            if seen[other] != node:
                seen[other] = node
                lists[end] = other
                end += 1
        size[node] = end - start[node]
    return start, size, lists


@compiled
def order_nodes(start: Ints, size: Nodes, lists: Nodes) -> tuple[Nodes, int]:
    """Return the step in which each node is eliminated, and the number of steps.

    One node of each step is joined to all others of the step and to all later nodes that these are joined
    to, so that their elimination makes one mesh.
    Hubs, which have very many neighbours, are eliminated after all others. Until then they have no lists,
    which would be read again for each neighbour.

    Parameters
    ----------
    start, size, lists
        The neighbours of each node, from `neighbours`.
    """
    n_nodes = len(size)
    most = max(_FEW, int(np.sqrt(n_nodes)))
    graph = np.empty((n_nodes, _COLUMNS), np.int64)
    newest, step = nodes(n_nodes, -1), nodes(n_nodes, -1)
    n_hubs = 0
    for node in range(n_nodes - 1, -1, -1):
        _put(node, start[node], 0, size[node], size[node], graph)
        graph[node, _WEIGHT] = 1
        if size[node] > most:
            graph[node, _N_ELEMENTS] = _HUB
            n_hubs += 1
        else:
            _insert(node, graph, newest)
    quotient, used, n_steps, mark = _eliminate_all(
        graph, lists.copy(), len(lists), n_nodes, n_hubs, newest, step, 0, 2
    )
    if n_hubs > 0:
        quotient, used = _with_lists_of_hubs(start, size, lists, n_hubs, graph, quotient, used, step)
        for node in range(n_nodes - 1, -1, -1):
            if size[node] > most:
                _insert(node, graph, newest)
        _, _, n_steps, _ = _eliminate_all(graph, quotient, used, n_hubs, 0, newest, step, n_steps, mark)
    for node in range(n_nodes):
        leader = node
        while step[leader] < 0:
            leader = graph[leader, _START]
        merged = node
        while step[merged] < 0:
            step[merged] = step[leader]
            merged = graph[merged, _START]
    return step, n_steps


@compiled
def _put(node: int, start: int, n_elements: int, size: int, degree: int, graph: Ints) -> None:
    """Set the list and the degree of a node or an element."""
    graph[node, _START], graph[node, _N_ELEMENTS], graph[node, _SIZE] = start, n_elements, size
    graph[node, _DEGREE], graph[node, _STAMP] = degree, 1


@compiled
def _with_lists_of_hubs(
    start: Ints,
    size: Nodes,
    lists: Nodes,
    n_hubs: int,
    graph: Ints,
    quotient: Nodes,
    used: int,
    step: Nodes,
) -> tuple[Nodes, int]:
    """Append lists of the hubs, all other nodes eliminated, to the quotient graph; return it and its end."""
    n_nodes = len(size)
    n_elements, degree = nodes(n_nodes, 0), ints(n_nodes, 0)
    n_entries = 0
    for node in range(n_nodes):
        if step[node] >= 0 and graph[node, _STAMP] > 0 and graph[node, _SIZE] > 1:
            for slot in range(graph[node, _START], graph[node, _START] + graph[node, _SIZE]):
                n_elements[quotient[slot]] += 1
                degree[quotient[slot]] += graph[node, _SIZE] - 1
                n_entries += 1
        elif graph[node, _N_ELEMENTS] == _HUB:
            n_entries += size[node]
    quotient = with_room(quotient, used, n_entries)
    for hub in range(n_nodes):
        if graph[hub, _N_ELEMENTS] != _HUB:
            continue
        end = used + n_elements[hub]
        for slot in range(start[hub], start[hub] + size[hub]):
            if step[lists[slot]] < 0 and graph[lists[slot], _WEIGHT] > 0:
                quotient[end] = lists[slot]
                end += 1
        at_most = min(n_hubs - 1, degree[hub] + end - used - n_elements[hub])
        # the elements follow below
        _put(hub, used, 0, end - used, at_most, graph)
        used = end
    for node in range(n_nodes):
        if step[node] >= 0 and graph[node, _STAMP] > 0 and graph[node, _SIZE] > 1:
            graph[node, _N_ELEMENTS] = 0
            for slot in range(graph[node, _START], graph[node, _START] + graph[node, _SIZE]):
                hub = quotient[slot]
                quotient[graph[hub, _START] + graph[hub, _N_ELEMENTS]] = node
                graph[hub, _N_ELEMENTS] += 1
    return quotient, used


@compiled
def _eliminate_all(
    graph: Ints,
    lists: Nodes,
    used: int,
    n_left: int,
    n_hubs: int,
    newest: Nodes,
    step: Nodes,
    n_steps: int,
    mark: int,
) -> tuple[Nodes, int, int, int]:
    """Eliminate all nodes but hubs; return the lists, their end, the next step, and an unused mark.

    Only the node that others have been merged into gets its step. `mark` is larger than all stamps, and so is
    the one returned: stamps of an earlier elimination must not look like those of a later one.
    """
    bucket = nodes(len(step), -1)
    beyond = len(step) + 1  # more than the weight that a stamp adds to a mark
    least = 0
    while n_left > n_hubs:
        while newest[least] < 0:
            least += 1
        pivot = newest[least]
        _remove(pivot, graph, newest)
        step[pivot] = n_steps
        n_steps += 1
        lists = with_room(lists, used, graph[pivot, _DEGREE])
        begin = used
        used, weight = _make_element(pivot, graph, lists, used, newest)
        mark += beyond
        _measure_outside(graph, lists, begin, used, mark)
        n_merged = _update_lists(pivot, graph, lists, begin, used, mark, bucket)
        mark = _merge_alike(graph, lists, begin, used, mark + beyond, bucket)
        weight -= n_merged
        n_left -= n_merged - graph[pivot, _WEIGHT]
        end = first = begin
        for slot in range(begin, used):
            node = lists[slot]
            if graph[node, _WEIGHT] == 0:
                continue
            own = -graph[node, _WEIGHT]
            graph[node, _WEIGHT] = own
            lists[end] = node
            if graph[node, _N_ELEMENTS] == _HUB:  # hubs come first
                lists[end], lists[first] = lists[first], node
                first += 1
            else:
                graph[node, _DEGREE] = min(graph[node, _DEGREE] + weight - own, n_left - own)
                _insert(node, graph, newest)
                least = min(least, graph[node, _DEGREE])
            end += 1
        used = end
        _put(pivot, begin, first - begin, end - begin, weight, graph)
        graph[pivot, _WEIGHT] = 0
    return lists, used, n_steps, mark + beyond


@compiled
def _make_element(pivot: int, graph: Ints, lists: Nodes, used: int, newest: Nodes) -> tuple[int, int]:
    """Write the nodes that the elimination of `pivot` joins; return the end of their list and their weight.

    They are taken out of the lists of degrees. The elements of the pivot are absorbed.
    """
    total = 0
    graph[pivot, _WEIGHT] = -graph[pivot, _WEIGHT]
    middle = graph[pivot, _START] + graph[pivot, _N_ELEMENTS]
    for outer in range(graph[pivot, _START], middle + 1):
        if outer < middle:
            element = lists[outer]
            first = graph[element, _START]
            last = first + graph[element, _SIZE]
            graph[element, _STAMP] = 0
        else:  # the nodes that no element joins to the pivot
            first, last = middle, graph[pivot, _START] + graph[pivot, _SIZE]
        for slot in range(first, last):
            node = lists[slot]
            if graph[node, _WEIGHT] > 0:
                total += graph[node, _WEIGHT]
                graph[node, _WEIGHT] = -graph[node, _WEIGHT]
                if graph[node, _N_ELEMENTS] != _HUB:
                    _remove(node, graph, newest)
                lists[used] = node
                used += 1
    return used, total


@compiled
def _measure_outside(graph: Ints, lists: Nodes, begin: int, end: int, mark: int) -> None:
    """Set the stamp of each element that meets the current one: `mark` + the weight of its other nodes."""
    for slot in range(begin, end):
        node = lists[slot]
        own = -graph[node, _WEIGHT]
        # none for a hub, which is counted with its elements
        for place in range(graph[node, _START], graph[node, _START] + graph[node, _N_ELEMENTS]):
            element = lists[place]
            if graph[element, _STAMP] >= mark:
                graph[element, _STAMP] -= own
            elif graph[element, _STAMP] > 0:
                graph[element, _STAMP] = graph[element, _DEGREE] + mark - own
                first = graph[element, _START]
                for hub in range(first, first + graph[element, _N_ELEMENTS]):
                    graph[element, _STAMP] += min(graph[lists[hub], _WEIGHT], 0)


@compiled
def _update_lists(
    pivot: int, graph: Ints, lists: Nodes, begin: int, end: int, mark: int, bucket: Nodes
) -> int:
    """Put the new element into the lists of its nodes; return the weight of those eliminated with it.

    What the element covers leaves the lists: other elements, and nodes. So there is room for its number.
    A node with an otherwise empty list is eliminated together with the pivot. The others are put into
    buckets by a hash of their lists, and their degrees become those outside the element.
    """
    n_merged, n_buckets = 0, len(bucket)
    for slot in range(begin, end):
        node = lists[slot]
        if graph[node, _N_ELEMENTS] == _HUB:
            continue
        first = graph[node, _START]
        middle, last = first + graph[node, _N_ELEMENTS], first + graph[node, _SIZE]
        outside, total, put = 0, 0, first
        for place in range(first, middle):
            element = lists[place]
            beyond = graph[element, _STAMP] - mark
            if beyond > 0:
                outside += beyond
                total += element
                lists[put] = element
                put += 1
            else:
                graph[element, _STAMP] = 0  # absorbed: the new element covers it
        n_elements = put - first
        for place in range(middle, last):
            other = lists[place]
            if graph[other, _WEIGHT] > 0:
                outside += graph[other, _WEIGHT]
                total += other
                lists[put] = other
                put += 1
        if outside == 0:
            n_merged -= graph[node, _WEIGHT]
            graph[node, _WEIGHT] = 0
            graph[node, _START] = pivot
            continue
        # the first node makes room for an element, and the first element for the new one
        lists[put] = lists[first + n_elements]
        lists[first + n_elements] = lists[first]
        lists[first] = pivot
        graph[node, _N_ELEMENTS], graph[node, _SIZE] = n_elements + 1, put + 1 - first
        graph[node, _DEGREE] = min(graph[node, _DEGREE], outside)
        key = total % n_buckets
        graph[node, _BEFORE] = key
        graph[node, _AFTER] = bucket[key]
        bucket[key] = node
    return n_merged


@compiled
def _merge_alike(graph: Ints, lists: Nodes, begin: int, end: int, mark: int, bucket: Nodes) -> int:
    """Merge nodes of the current element that have the same lists; return an unused mark."""
    for slot in range(begin, end):
        if graph[lists[slot], _WEIGHT] == 0 or graph[lists[slot], _N_ELEMENTS] == _HUB:
            continue
        key = graph[lists[slot], _BEFORE]
        one = bucket[key]
        bucket[key] = -1
        while one >= 0 and graph[one, _AFTER] >= 0:
            first = graph[one, _START]
            for place in range(first + 1, first + graph[one, _SIZE]):
                graph[lists[place], _STAMP] = mark
            previous = one
            two = graph[one, _AFTER]
            while two >= 0:
                if _is_alike(one, two, graph, lists, mark):
                    graph[one, _WEIGHT] += graph[two, _WEIGHT]
                    graph[two, _WEIGHT] = 0
                    graph[two, _START] = one
                    graph[previous, _AFTER] = graph[two, _AFTER]
                else:
                    previous = two
                two = graph[two, _AFTER]
            mark += 1
            one = graph[one, _AFTER]
    return mark


@compiled
def _is_alike(one: int, two: int, graph: Ints, lists: Nodes, mark: int) -> bool:
    """Return whether two nodes have the same lists, given that the list of the first is marked."""
    if graph[one, _SIZE] != graph[two, _SIZE] or graph[one, _N_ELEMENTS] != graph[two, _N_ELEMENTS]:
        return False
    first = graph[two, _START]
    for place in range(first + 1, first + graph[two, _SIZE]):
        if graph[lists[place], _STAMP] != mark:
            return False
    return True


@compiled
def _insert(node: int, graph: Ints, newest: Nodes) -> None:
    degree = graph[node, _DEGREE]
    graph[node, _AFTER] = newest[degree]
    graph[node, _BEFORE] = -1
    if newest[degree] >= 0:
        graph[newest[degree], _BEFORE] = node
    newest[degree] = node


@compiled
def _remove(node: int, graph: Ints, newest: Nodes) -> None:
    before, after = graph[node, _BEFORE], graph[node, _AFTER]
    if before < 0:
        newest[graph[node, _DEGREE]] = after
    else:
        graph[before, _AFTER] = after
    if after >= 0:
        graph[after, _BEFORE] = before


@compiled
def with_room(lists: Nodes, used: int, more: int) -> Nodes:
    """Return the lists, in a larger array if `more` entries do not fit."""
    if used + more <= len(lists):
        return lists
    larger = np.empty(used + more + used // 2, np.int32)
    for i in range(used):
        larger[i] = lists[i]
    return larger
