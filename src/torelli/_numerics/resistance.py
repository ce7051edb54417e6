"""Exact effective resistances of large networks: nodes eliminated one by one, then put back.

A star of resistors is replaced by the mesh between its ends until nothing is left, and the
resistances between the ends of a star are found from those between the ends of the mesh, in
reverse. Conductances are only added, multiplied and divided, and no node is earthed: a resistance
of a millionth beside one of a million keeps its digits (the idea of Grassmann, Taksar and Heyman
for Markov chains). The resistances along the pattern of the factor are those of a selected
inversion (Takahashi, Fagan and Chen, 1973).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli import _memory
from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from typing import TypeVar

    from numpy.typing import ArrayLike, NDArray

    from torelli._types import Floats, Ints

    Nodes = NDArray[np.int32]
    Values = TypeVar("Values", Nodes, Floats)

_LANES = 16  # right-hand sides solved side by side, innermost in memory


class Factor(NamedTuple):
    """A network taken apart: what each node was joined to when it was eliminated, and what was left.

    Attributes
    ----------
    order
        The nodes in the order of elimination; those of the dense rest come last.
    rank
        Position of each node in that order.
    first
        Start of the star of each eliminated node in `ends` and `share`, by position.
    ends, share
        The other ends of a star, and the part of its conductance that leads there.
    resistance
        1 / conductance of each star as a whole, dense ones included; 0 where nothing was left to
        lead to. By position.
    rest
        The conductances between the nodes of the dense rest; once these are eliminated too, the
        shares of each star in the row of its node, right of the diagonal.
    """

    order: Ints
    rank: Ints
    first: Ints
    ends: Nodes
    share: Floats
    resistance: Floats
    rest: Floats


def masses(tail: ArrayLike, head: ArrayLike, length: ArrayLike, n_nodes: int) -> Floats:
    """Return the canonical mass of each edge of a multigraph.

    The mass F_e = 1 - R_e / length_e, with R_e the effective resistance between the ends of the
    edge when every edge is a resistor of its length, is the probability that a random spanning
    forest, weighted by the product of the lengths left out, leaves the edge out: 1 for loops, 0 for
    bridges, and all masses add up to the genus (Foster 1949).

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. Loops, parallel edges and several components are welcome.

    Examples
    --------
    >>> masses([0, 0, 0, 1], [1, 1, 0, 2], [1.0, 3.0, 2.0, 1.0], 3).round(12).tolist()
    [0.25, 0.75, 1.0, 0.0]
    """
    u, v, lengths = _arrays(tail, head, length)
    factor = _factor(u, v, lengths, n_nodes)
    return masses_of(u, v, lengths, factor)


def resistance_rows(
    tail: ArrayLike, head: ArrayLike, length: ArrayLike, n_nodes: int, edges: ArrayLike
) -> Floats:
    """Return the cross resistances between chosen edges and all edges.

    The entry R_cd is the voltage from tail to head of edge d when a unit current enters at the tail of
    edge c and leaves at its head. The projection onto the cycle space in the inner product of the
    lengths is T_cd = [c = d] - R_cd / sqrt(length_c length_d).

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. Loops, parallel edges and several components are welcome.
    edges
        Numbers of the chosen edges.

    Returns
    -------
    rows
        Array of shape (n_chosen, n_edges).
    """
    u, v, lengths = _arrays(tail, head, length)
    chosen = np.asarray(edges, dtype=np.int64).reshape(-1)
    shape = (len(chosen), len(u))
    _memory.require(8 * shape[0] * shape[1], f"cross resistances of shape {shape}", "choose fewer edges")
    rows = np.empty(shape)
    factor = _factor(u, v, lengths, n_nodes)
    eliminate_rest(factor)
    write_rows(u, v, chosen, factor, rows)
    return rows


class Projection:
    """The projection onto the cycle space in the inner product of the lengths, without its matrix.

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. Loops, parallel edges and several components are welcome.
    """

    def __init__(self, tail: ArrayLike, head: ArrayLike, length: ArrayLike, n_nodes: int) -> None:
        self._edges = _arrays(tail, head, length)
        self._factor = _factor(*self._edges, n_nodes)
        eliminate_rest(self._factor)

    def __call__(self, fields: ArrayLike) -> Floats:
        """Return the projection T x of each row x of an array of shape (n_fields, n_edges)."""
        out = np.array(fields, dtype=np.float64)
        _project(*self._edges, self._factor, out)
        return out


def _arrays(tail: ArrayLike, head: ArrayLike, length: ArrayLike) -> tuple[Ints, Ints, Floats]:
    # copies, because compiled code knows read-only arrays as another type and would be built twice
    return (
        np.array(tail, dtype=np.int64),
        np.array(head, dtype=np.int64),
        np.array(length, dtype=np.float64),
    )


def _factor(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Factor:
    factor, n_entries = eliminate(tail, head, length, n_nodes)
    n_rest = n_nodes - len(factor.first) + 1
    what = f"the resistances of a network whose elimination leaves {n_rest:,} nodes all joined to each other"
    _memory.require(8 * (2 * n_rest**2 + n_entries), what, "take a sparser network")
    return factor


@compiled
def edge_masses(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Floats:
    """Return `masses` of small networks, from compiled code."""
    factor, _ = eliminate(tail, head, length, n_nodes)
    return masses_of(tail, head, length, factor)


@compiled
def masses_of(tail: Ints, head: Ints, length: Floats, factor: Factor) -> Floats:
    """Return the mass of each edge of a network that has been taken apart."""
    eliminate_rest(factor)
    along, rest = _resistances(factor)
    n_sparse = len(factor.first) - 1
    mass = np.ones(len(tail), np.float64)
    for edge in range(len(tail)):
        if tail[edge] == head[edge]:
            continue
        one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
        low, high = min(one, two), max(one, two)
        if low >= n_sparse:
            between = rest[low - n_sparse, high - n_sparse]
        else:
            at = factor.first[low]
            while factor.ends[at] != factor.order[high]:
                at += 1
            between = along[at]
        mass[edge] = min(max(1.0 - between / length[edge], 0.0), 1.0)
    return mass


@compiled
def _adjacency(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> tuple[Ints, Ints, Nodes, Floats]:
    """Return (start, size, neighbours, conductances): loops left out, parallel edges as one."""
    start = np.zeros(n_nodes + 1, np.int64)
    for edge in range(len(tail)):
        if tail[edge] != head[edge]:
            start[tail[edge] + 1] += 1
            start[head[edge] + 1] += 1
    for node in range(n_nodes):
        start[node + 1] += start[node]
    end = start[:-1].copy()
    neighbour = np.empty(start[n_nodes], np.int32)
    conductance = np.empty(start[n_nodes], np.float64)
    for edge in range(len(tail)):
        if tail[edge] != head[edge]:
            for one, two in ((tail[edge], head[edge]), (head[edge], tail[edge])):
                neighbour[end[one]] = two
                conductance[end[one]] = 1.0 / length[edge]
                end[one] += 1
    size = np.zeros(n_nodes, np.int64)
    place = np.full(n_nodes, -1, np.int64)
    for node in range(n_nodes):
        for at in range(start[node], end[node]):
            other = neighbour[at]
            if place[other] >= start[node]:
                conductance[place[other]] += conductance[at]
            else:
                to = start[node] + size[node]
                place[other] = to
                neighbour[to], conductance[to] = other, conductance[at]
                size[node] += 1
    return start, size, neighbour, conductance


@compiled
def eliminate(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> tuple[Factor, int]:
    """Eliminate nodes of least degree first until what is left is dense.

    Returns the factor, its dense rest not yet eliminated, and the number of its sparse entries.
    """
    start, size, neighbour, conductance = _adjacency(tail, head, length, n_nodes)
    room, used = size.copy(), len(neighbour)

    newest, after, before = _lists_of_degrees(size)
    order = np.empty(n_nodes, np.int64)
    first = np.zeros(n_nodes + 1, np.int64)
    ends = np.empty(len(neighbour) + n_nodes, np.int32)
    share = np.empty(len(ends), np.float64)
    resistance = np.zeros(n_nodes, np.float64)
    place = np.full(n_nodes, -1, np.int64)
    n_entries = size.sum()
    count, left, least = 0, n_nodes, 0
    while left > 0 and 2 * n_entries < left * left:
        while newest[least] < 0:
            least += 1
        node = newest[least]
        _strike(node, least, newest, after, before)
        degree, begin = size[node], first[count]
        stop = begin + degree
        ends, share = _larger(ends, begin, stop), _larger(share, begin, stop)
        ends[begin:stop] = neighbour[start[node] : start[node] + degree]
        share[begin:stop] = conductance[start[node] : start[node] + degree]
        total = share[begin:stop].sum()
        for at in range(degree):
            share[begin + at] /= total
            place[ends[begin + at]] = at
        n_entries -= 2 * degree
        for one in range(degree):
            other = ends[begin + one]
            old, needed = size[other], size[other] + degree
            if needed > room[other]:
                room[other] = 2 * needed
                neighbour = _moved(neighbour, start[other], old, used, room[other])
                conductance = _moved(conductance, start[other], old, used, room[other])
                start[other] = used
                used += room[other]
            span = slice(start[other], start[other] + needed)
            weight = total * share[begin + one]
            size[other] = _join(
                node, one, weight, ends[begin:stop], share[begin:stop], place,
                neighbour[span], conductance[span], old,
            )  # fmt: skip
            n_entries += size[other] - old + 1
            if size[other] != old:
                _strike(other, old, newest, after, before)
                _enlist(other, size[other], newest, after, before)
                least = min(least, size[other])
        for at in range(begin, stop):
            place[ends[at]] = -1
        order[count] = node
        resistance[count] = 1.0 / total if degree > 0 else 0.0
        count += 1
        left -= 1
        first[count] = stop

    rank, rest = _dense_rest(order, count, start, size, neighbour, conductance)
    stop = first[count]
    return Factor(order, rank, first[: count + 1], ends[:stop], share[:stop], resistance, rest), stop


@compiled
def _join(
    node: int,
    one: int,
    weight: float,
    ends: Nodes,
    share: Floats,
    place: Ints,
    neighbour: Nodes,
    conductance: Floats,
    size: int,
) -> int:
    """Join end number `one` of the star of a node to its other ends, in place of the node.

    `place` has the number of each end in the star, and -1 for other nodes. Returns the new size of the list.
    """
    at = 0
    while at < size:
        end = neighbour[at]
        if end == node:
            size -= 1
            neighbour[at], conductance[at] = neighbour[size], conductance[size]
            continue
        member = place[end]
        if member >= 0:
            conductance[at] += weight * share[member]
            place[end] = -2  # joined already
        at += 1
    for member in range(len(ends)):
        if place[ends[member]] == -2:  # noqa: PLR2004
            place[ends[member]] = member
        elif member != one:
            neighbour[size], conductance[size] = ends[member], weight * share[member]
            size += 1
    return size


@compiled
def _dense_rest(
    order: Ints, count: int, start: Ints, size: Ints, neighbour: Nodes, conductance: Floats
) -> tuple[Ints, Floats]:
    """Append what is left to the order; return the position of each node and the conductances of the rest."""
    n_nodes = len(order)
    rank = np.full(n_nodes, -1, np.int64)
    for at in range(count):
        rank[order[at]] = at
    n_done = count
    for node in range(n_nodes):
        if rank[node] < 0:
            rank[node] = n_done
            order[n_done] = node
            n_done += 1
    rest = np.zeros((n_nodes - count, n_nodes - count), np.float64)
    for row in range(n_nodes - count):
        node = order[count + row]
        for at in range(start[node], start[node] + size[node]):
            rest[row, rank[neighbour[at]] - count] = conductance[at]
    return rank, rest


@compiled
def _lists_of_degrees(size: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the nodes of equal degree as lists: the newest by degree, the next and the last by node."""
    newest = np.full(len(size) + 1, -1, np.int64)
    after = np.full(len(size), -1, np.int64)
    before = np.full(len(size), -1, np.int64)
    for node in range(len(size) - 1, -1, -1):
        _enlist(node, size[node], newest, after, before)
    return newest, after, before


@compiled
def _enlist(node: int, degree: int, newest: Ints, after: Ints, before: Ints) -> None:
    after[node] = newest[degree]
    before[node] = -1
    if newest[degree] >= 0:
        before[newest[degree]] = node
    newest[degree] = node


@compiled
def _strike(node: int, degree: int, newest: Ints, after: Ints, before: Ints) -> None:
    if before[node] < 0:
        newest[degree] = after[node]
    else:
        after[before[node]] = after[node]
    if after[node] >= 0:
        before[after[node]] = before[node]


@compiled
def _larger(values: Values, used: int, needed: int) -> Values:
    """Return the values in an array with room for `needed` of them and half as many again."""
    if needed <= len(values):
        return values
    more = np.empty(needed + needed // 2, values.dtype)
    more[:used] = values[:used]
    return more


@compiled
def _moved(values: Values, start: int, size: int, used: int, room: int) -> Values:
    """Return the values with `size` of them copied from `start` to the end of what is used."""
    values = _larger(values, used, used + room)
    values[used : used + size] = values[start : start + size]
    return values


@compiled
def eliminate_rest(factor: Factor) -> None:
    """Eliminate the dense rest of a factor in place."""
    rest, resistance = factor.rest, factor.resistance
    size, n_sparse = len(rest), len(factor.first) - 1
    for node in range(size):
        total = 0.0
        for other in range(node + 1, size):
            total += rest[node, other]
        if total == 0.0:
            continue
        resistance[n_sparse + node] = 1.0 / total
        for one in range(node + 1, size):
            weight = rest[node, one]
            if weight > 0.0:
                share = weight / total
                for two in range(one + 1, size):
                    rest[one, two] += share * rest[node, two]
        for other in range(node + 1, size):
            rest[node, other] /= total


@compiled
def _resistances(factor: Factor) -> tuple[Floats, Floats]:
    """Return the resistances along the stars of a factor, and those between the nodes of its rest.

    For a node i with shares p of its star and resistance r of the star as a whole,
    R_ij = r + sum_k p_k R_kj - 1/2 sum_kl p_k p_l R_kl for all j that were eliminated later.
    Each term is at most a few times R_ij, so that little is lost where they cancel.
    """
    first, ends, rank, n_sparse = factor.first, factor.ends, factor.rank, len(factor.first) - 1
    rest = _rest_resistances(factor)
    along = np.empty(len(ends), np.float64)
    widest = 0
    for at in range(n_sparse):
        widest = max(widest, first[at + 1] - first[at])
    place = np.full(len(rank), widest, np.int64)  # of the other ends of the star at hand; `widest` for others
    share = np.zeros(widest + 1, np.float64)
    mean = np.zeros(widest + 1, np.float64)
    for position in range(n_sparse - 1, -1, -1):
        begin, degree = first[position], first[position + 1] - first[position]
        for at in range(degree):
            place[ends[begin + at]] = at
            share[at] = factor.share[begin + at]
            mean[at] = 0.0
        for at in range(degree):
            column = rank[ends[begin + at]]
            total = 0.0
            if column < n_sparse:
                for slot in range(first[column], first[column + 1]):
                    to = place[ends[slot]]
                    mean[to] += share[at] * along[slot]
                    total += share[to] * along[slot]
            else:
                row = column - n_sparse
                for to in range(at):
                    other = rank[ends[begin + to]] - n_sparse
                    if other >= 0:
                        mean[to] += share[at] * rest[row, other]
                        total += share[to] * rest[row, other]
            mean[at] += total
        overall = 0.0
        for at in range(degree):
            overall += share[at] * mean[at]
        for at in range(degree):
            along[begin + at] = factor.resistance[position] + (mean[at] - 0.5 * overall)
            place[ends[begin + at]] = widest
            share[at] = 0.0
    return along, rest


@compiled
def _rest_resistances(factor: Factor) -> Floats:
    size, n_sparse = len(factor.rest), len(factor.first) - 1
    share = factor.rest
    between = np.zeros((size, size), np.float64)
    mean = np.empty(size, np.float64)
    for node in range(size - 2, -1, -1):
        mean[node + 1 :] = 0.0
        for one in range(node + 1, size):
            weight = share[node, one]
            if weight > 0.0:
                for two in range(node + 1, size):
                    mean[two] += weight * between[one, two]
        overall = 0.0
        for other in range(node + 1, size):
            overall += share[node, other] * mean[other]
        for other in range(node + 1, size):
            between[node, other] = factor.resistance[n_sparse + node] + (mean[other] - 0.5 * overall)
            between[other, node] = between[node, other]
    return between


@compiled
def write_rows(tail: Ints, head: Ints, edges: Ints, factor: Factor, rows: Floats) -> None:
    """Write the voltages across all edges for a unit current through each chosen one."""
    voltage = np.empty((len(factor.order), _LANES), np.float64)
    for begin in range(0, len(edges), _LANES):
        count = min(_LANES, len(edges) - begin)
        voltage[:] = 0.0
        for lane in range(count):
            edge = edges[begin + lane]
            voltage[factor.rank[tail[edge]], lane] += 1.0
            voltage[factor.rank[head[edge]], lane] -= 1.0
        _solve(factor, voltage)
        for edge in range(len(tail)):
            one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
            for lane in range(count):
                rows[begin + lane, edge] = voltage[one, lane] - voltage[two, lane]


@compiled
def _project(tail: Ints, head: Ints, length: Floats, factor: Factor, fields: Floats) -> None:
    """Subtract from each row of fields on edges its part that is orthogonal to the cycles."""
    voltage = np.empty((len(factor.order), _LANES), np.float64)
    for begin in range(0, len(fields), _LANES):
        count = min(_LANES, len(fields) - begin)
        voltage[:] = 0.0
        for edge in range(len(tail)):
            scale = 1.0 / np.sqrt(length[edge])
            one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
            for lane in range(count):
                voltage[one, lane] += scale * fields[begin + lane, edge]
                voltage[two, lane] -= scale * fields[begin + lane, edge]
        _solve(factor, voltage)
        for edge in range(len(tail)):
            scale = 1.0 / np.sqrt(length[edge])
            one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
            for lane in range(count):
                fields[begin + lane, edge] -= scale * (voltage[one, lane] - voltage[two, lane])


@compiled
def _solve(factor: Factor, voltage: Floats) -> None:
    """Replace the currents into the nodes, by position and lane, by the voltages that they cause."""
    n_nodes, n_sparse = len(factor.order), len(factor.first) - 1
    rank, rest = factor.rank, factor.rest
    # the current into a star goes on to its ends
    for at in range(n_nodes):
        if at < n_sparse:
            for slot in range(factor.first[at], factor.first[at + 1]):
                _add(voltage[rank[factor.ends[slot]]], factor.share[slot], voltage[at])
        else:
            for other in range(at + 1, n_nodes):
                _add(voltage[other], rest[at - n_sparse, other - n_sparse], voltage[at])
    for at in range(n_nodes - 1, -1, -1):
        for lane in range(_LANES):
            voltage[at, lane] *= factor.resistance[at]
        if at < n_sparse:
            for slot in range(factor.first[at], factor.first[at + 1]):
                _add(voltage[at], factor.share[slot], voltage[rank[factor.ends[slot]]])
        else:
            for other in range(at + 1, n_nodes):
                _add(voltage[at], rest[at - n_sparse, other - n_sparse], voltage[other])


@compiled
def _add(target: Floats, factor: float, source: Floats) -> None:
    for lane in range(_LANES):
        target[lane] += factor * source[lane]
