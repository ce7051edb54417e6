"""Exact effective resistances of large networks, by eliminating nodes and then substituting back.

Elimination replaces a star of resistors by the equivalent mesh between its ends, node by node. The way
back, in reverse order, computes the resistances along a star from those between the ends of its mesh.
Conductances are only added, multiplied and divided, and no node is grounded. So a resistance of a
millionth beside one of a million keeps its digits (the idea of Grassmann, Taksar and Heyman for Markov
chains). The resistances along the sparsity pattern of the factor are those of a selected inversion
(Takahashi, Fagan and Chen, 1973).

Here nodes are eliminated one by one, those of least degree first. Large networks are computed by the same
formulas in `torelli._numerics.fronts`, which eliminates many nodes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli import _memory
from torelli._numerics.compile import compiled
from torelli._numerics.forest import copied, floats, ints
from torelli._numerics.fronts import front_resistances

if TYPE_CHECKING:
    from typing import TypeVar

    from numpy.typing import ArrayLike, NDArray

    from torelli._types import Floats, Ints

    Nodes = NDArray[np.int32]
    Values = TypeVar("Values", Nodes, Floats)

LARGE = (
    3000  # nodes from which on resistances are computed by fronts, faster there for all but trees and paths
)
_SHORTEST = 1e-290  # whose conductance is far from an overflow
LANES = 16  # right-hand sides solved side by side, innermost in memory


class Factor(NamedTuple):
    """A network after elimination: the star of each eliminated node, and the dense rest.

    Attributes
    ----------
    order
        The nodes in the order of elimination; the nodes of the dense rest come last.
    rank
        Position of each node in that order.
    first
        Start of the star of each eliminated node in `ends` and `share`, by position.
    ends, share
        The other ends of a star, and the share of its conductance that leads to each of them.
    resistance
        1 / total conductance of each star, by position, dense rest included; 0 for a star without
        ends.
    rest
        The conductances between the nodes of the dense rest. After `eliminate_rest`, the row of a node
        has the shares of its star, right of the diagonal.
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

    The mass is F_e = 1 - R_e / length_e, where R_e is the effective resistance between the ends of the
    edge if every edge is a resistor of its length. It is the probability that a random spanning forest,
    weighted by the product of the lengths of the edges outside it, does not contain the edge. It is 1
    for loops and 0 for bridges, and the masses add up to the genus (Foster 1949).

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. It may have loops, parallel edges and several components.

    Examples
    --------
    >>> masses([0, 0, 0, 1], [1, 1, 0, 2], [1.0, 3.0, 2.0, 1.0], 3).round(12).tolist()
    [0.25, 0.75, 1.0, 0.0]
    """
    lengths = conductive(np.array(length, dtype=np.float64))
    return np.clip(1.0 - resistances(tail, head, lengths, n_nodes) / lengths, 0.0, 1.0)


def resistances(tail: ArrayLike, head: ArrayLike, length: ArrayLike, n_nodes: int) -> Floats:
    """Return the effective resistance between the ends of each edge of a multigraph; 0 for loops.

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. It may have loops, parallel edges and several components.

    Examples
    --------
    >>> resistances([0, 0, 0, 1], [1, 1, 0, 2], [1.0, 3.0, 2.0, 1.0], 3).round(12).tolist()
    [0.75, 0.75, 0.0, 1.0]
    """
    u, v, lengths = _arrays(tail, head, length)
    if n_nodes >= LARGE:
        return front_resistances(u, v, lengths, n_nodes)
    return resistances_of(u, v, _factor(u, v, lengths, n_nodes))


def resistance_rows(
    tail: ArrayLike, head: ArrayLike, length: ArrayLike, n_nodes: int, edges: ArrayLike
) -> Floats:
    """Return the cross resistances between chosen edges and all edges.

    The entry R_cd is the voltage from tail to head of edge d if a unit current enters at the tail of
    edge c and leaves at its head. The projection onto the cycle space in the inner product of the
    lengths is T_cd = [c = d] - R_cd / sqrt(length_c length_d).

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. It may have loops, parallel edges and several components.
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


@compiled
def conductive(length: Floats) -> Floats:
    """Return lengths whose conductances, and sums of these, are finite.

    If one is below 1e-290, all are returned in units of the longest, and at least 1e-290. Masses and currents
    do not depend on the unit.
    """
    least, most = np.inf, 0.0
    for one in length:
        least, most = min(least, one), max(most, one)
    if least >= _SHORTEST:
        return length
    lengths = np.empty(len(length), np.float64)
    for edge in range(len(length)):
        lengths[edge] = max(length[edge] / most, _SHORTEST)
    return lengths


class Projection:
    """The projection onto the cycle space in the inner product of the lengths, without forming its matrix.

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. It may have loops, parallel edges and several components.
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
    # copies, because numba types read-only arrays differently and would compile the functions twice
    return (
        np.array(tail, dtype=np.int64),
        np.array(head, dtype=np.int64),
        np.array(length, dtype=np.float64),
    )


def _factor(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Factor:
    factor, n_entries = eliminate(tail, head, length, n_nodes)
    n_rest = n_nodes - len(factor.first) + 1
    what = f"the resistances of a network whose elimination leaves {n_rest:,} nodes joined to each other"
    _memory.require(8 * (2 * n_rest**2 + n_entries), what, "take a sparser network")
    return factor


@compiled
def edge_masses(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Floats:
    """Return `masses` of a small network; callable from compiled code, without a check of memory."""
    length = conductive(length)
    factor, _ = eliminate(tail, head, length, n_nodes)
    mass = resistances_of(tail, head, factor)
    for edge in range(len(mass)):
        mass[edge] = min(max(1.0 - mass[edge] / length[edge], 0.0), 1.0)
    return mass


@compiled
def resistances_of(tail: Ints, head: Ints, factor: Factor) -> Floats:
    """Return the effective resistance between the ends of each edge of a network, given its factor."""
    eliminate_rest(factor)
    along, rest = _resistances(factor)
    n_sparse = len(factor.first) - 1
    between = np.empty(len(tail), np.float64)
    for edge in range(len(tail)):
        if tail[edge] == head[edge]:
            between[edge] = 0.0
            continue
        one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
        low, high = min(one, two), max(one, two)
        if low >= n_sparse:
            between[edge] = rest[low - n_sparse, high - n_sparse]
        else:
            slot = factor.first[low]
            while factor.ends[slot] != factor.order[high]:
                slot += 1
            between[edge] = along[slot]
    return between


@compiled
def _adjacency(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> tuple[Ints, Ints, Nodes, Floats]:
    """Return (start, size, neighbours, conductances) without loops and with parallel edges merged."""
    start = ints(n_nodes + 1, 0)
    for edge in range(len(tail)):
        if tail[edge] != head[edge]:
            start[tail[edge] + 1] += 1
            start[head[edge] + 1] += 1
    for node in range(n_nodes):
        start[node + 1] += start[node]
    end = ints(n_nodes, 0)
    for node in range(n_nodes):
        end[node] = start[node]
    neighbour = np.empty(start[n_nodes], np.int32)
    conductance = np.empty(start[n_nodes], np.float64)
    for edge in range(len(tail)):
        if tail[edge] != head[edge]:
            for side in range(2):
                one, two = (head[edge], tail[edge]) if side else (tail[edge], head[edge])
                neighbour[end[one]] = two
                conductance[end[one]] = 1.0 / length[edge]
                end[one] += 1
    size = ints(n_nodes, 0)
    place = ints(n_nodes, -1)
    for node in range(n_nodes):
        for slot in range(start[node], end[node]):
            other = neighbour[slot]
            if place[other] >= start[node]:
                conductance[place[other]] += conductance[slot]
            else:
                target = start[node] + size[node]
                place[other] = target
                neighbour[target], conductance[target] = other, conductance[slot]
                size[node] += 1
    return start, size, neighbour, conductance


@compiled
def eliminate(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> tuple[Factor, int]:
    """Return the factor of a network, its dense rest not yet eliminated, and its number of sparse entries.

    Nodes of least degree are eliminated first, until the rest is dense.
    """
    start, size, neighbour, conductance = _adjacency(tail, head, length, n_nodes)
    room, used = copied(size), len(neighbour)

    newest, after, before = _lists_of_degrees(size)
    order = np.empty(n_nodes, np.int64)
    first = ints(n_nodes + 1, 0)
    ends = np.empty(len(neighbour) + n_nodes, np.int32)
    share = np.empty(len(ends), np.float64)
    resistance = floats(n_nodes)
    place = ints(n_nodes, -1)
    count, least, n_entries = 0, 0, 0
    for node in range(n_nodes):
        n_entries += size[node]
    while count < n_nodes and 2 * n_entries < (n_nodes - count) * (n_nodes - count):
        while newest[least] < 0:
            least += 1
        node = newest[least]
        _remove(node, least, newest, after, before)
        degree, begin = size[node], first[count]
        stop = begin + degree
        ends, share = _larger(ends, begin, stop), _larger(share, begin, stop)
        total = 0.0
        for i in range(degree):
            ends[begin + i] = neighbour[start[node] + i]
            share[begin + i] = conductance[start[node] + i]
            total += share[begin + i]
        for i in range(degree):
            share[begin + i] /= total
            place[ends[begin + i]] = i
        n_entries -= 2 * degree
        for one in range(degree):
            other = np.int64(ends[begin + one])
            old, needed = size[other], size[other] + degree
            if needed > room[other]:
                room[other] = 2 * needed
                neighbour = _moved(neighbour, start[other], old, used, room[other])
                conductance = _moved(conductance, start[other], old, used, room[other])
                start[other] = used
                used += room[other]
            weight = total * share[begin + one]
            span = slice(start[other], start[other] + needed)
            size[other] = _join(
                node, one, weight, ends[begin:stop], share[begin:stop], place,
                neighbour[span], conductance[span], old,
            )  # fmt: skip
            n_entries += size[other] - old + 1
            if size[other] != old:
                _remove(other, old, newest, after, before)
                _insert(other, size[other], newest, after, before)
                least = min(least, size[other])
        for slot in range(begin, stop):
            place[ends[slot]] = -1
        order[count] = node
        resistance[count] = 1.0 / total if degree > 0 else 0.0
        count += 1
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
    """Replace a node in the list of end `one` of its star by the other ends; return the new size of the list.

    `place` has the index of each end in the star, and -1 for other nodes.
    """
    slot = 0
    while slot < size:
        end = neighbour[slot]
        if end == node:
            size -= 1
            neighbour[slot], conductance[slot] = neighbour[size], conductance[size]
            continue
        member = place[end]
        if member >= 0:
            conductance[slot] += weight * share[member]
            place[end] = -2  # has an entry already
        slot += 1
    for member in range(len(ends)):
        if place[ends[member]] == -2:
            place[ends[member]] = member
        elif member != one:
            neighbour[size], conductance[size] = ends[member], weight * share[member]
            size += 1
    return size


@compiled
def _dense_rest(
    order: Ints, count: int, start: Ints, size: Ints, neighbour: Nodes, conductance: Floats
) -> tuple[Ints, Floats]:
    """Append the remaining nodes to the order; return the ranks and the conductances between those nodes."""
    n_nodes = len(order)
    rank = ints(n_nodes, -1)
    for position in range(count):
        rank[order[position]] = position
    n_done = count
    for node in range(n_nodes):
        if rank[node] < 0:
            rank[node] = n_done
            order[n_done] = node
            n_done += 1
    rest = _square(n_nodes - count)
    for row in range(n_nodes - count):
        node = order[count + row]
        for slot in range(start[node], start[node] + size[node]):
            rest[row, rank[neighbour[slot]] - count] = conductance[slot]
    return rank, rest


@compiled
def _lists_of_degrees(size: Ints) -> tuple[Ints, Ints, Ints]:
    """Return doubly linked lists of nodes by degree: the first of each degree, the next and the previous."""
    newest, after, before = ints(len(size) + 1, -1), ints(len(size), -1), ints(len(size), -1)
    for node in range(len(size) - 1, -1, -1):
        _insert(node, size[node], newest, after, before)
    return newest, after, before


@compiled
def _insert(node: int | np.int64, degree: int, newest: Ints, after: Ints, before: Ints) -> None:
    after[node] = newest[degree]
    before[node] = -1
    if newest[degree] >= 0:
        before[newest[degree]] = node
    newest[degree] = node


@compiled
def _remove(node: int | np.int64, degree: int, newest: Ints, after: Ints, before: Ints) -> None:
    if before[node] < 0:
        newest[degree] = after[node]
    else:
        after[before[node]] = after[node]
    if after[node] >= 0:
        before[after[node]] = before[node]


@compiled
def _larger(values: Values, used: int, needed: int) -> Values:
    """Return the values, in an array with room for 1.5 times `needed` if they do not fit."""
    if needed <= len(values):
        return values
    more = np.empty(needed + needed // 2, values.dtype)
    for i in range(used):
        more[i] = values[i]
    return more


@compiled
def _moved(values: Values, start: int, size: int, used: int, room: int) -> Values:
    """Return the values with `size` of them copied from `start` to the end of the used part."""
    values = _larger(values, used, used + room)
    for i in range(size):
        values[used + i] = values[start + i]
    return values


@compiled
def _square(size: int) -> Floats:
    """Return a matrix of zeros."""
    matrix = np.empty((size, size), np.float64)
    for row in range(size):
        for column in range(size):
            matrix[row, column] = 0.0
    return matrix


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

    Let p be the shares of the star of node i, and r the resistance of the whole star. Then
    R_ij = r + sum_k p_k R_kj - 1/2 sum_kl p_k p_l R_kl for all j that were eliminated later.
    Each term is at most a few times R_ij, so cancellation loses few digits.
    """
    first, ends, rank, n_sparse = factor.first, factor.ends, factor.rank, len(factor.first) - 1
    rest = _rest_resistances(factor)
    along = np.empty(len(ends), np.float64)
    widest = 0
    for position in range(n_sparse):
        widest = max(widest, first[position + 1] - first[position])
    # index of each end in the current star; `widest` for other nodes
    place = ints(len(rank), widest)
    share, mean = floats(widest + 1), floats(widest + 1)
    for position in range(n_sparse - 1, -1, -1):
        begin, degree = first[position], first[position + 1] - first[position]
        for i in range(degree):
            place[ends[begin + i]] = i
            share[i] = factor.share[begin + i]
            mean[i] = 0.0
        for i in range(degree):
            column = rank[ends[begin + i]]
            total = 0.0
            if column < n_sparse:
                for slot in range(first[column], first[column + 1]):
                    j = place[ends[slot]]
                    mean[j] += share[i] * along[slot]
                    total += share[j] * along[slot]
            else:
                row = column - n_sparse
                for j in range(i):
                    other = rank[ends[begin + j]] - n_sparse
                    if other >= 0:
                        mean[j] += share[i] * rest[row, other]
                        total += share[j] * rest[row, other]
            mean[i] += total
        overall = 0.0
        for i in range(degree):
            overall += share[i] * mean[i]
        for i in range(degree):
            along[begin + i] = factor.resistance[position] + (mean[i] - 0.5 * overall)
            place[ends[begin + i]] = widest
            share[i] = 0.0
    return along, rest


@compiled
def _rest_resistances(factor: Factor) -> Floats:
    size, n_sparse = len(factor.rest), len(factor.first) - 1
    share = factor.rest
    between, mean = _square(size), floats(size)
    for node in range(size - 2, -1, -1):
        for other in range(node + 1, size):
            mean[other] = 0.0
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
    """Write the voltages across all edges for a unit current through each chosen edge."""
    voltage = np.empty((len(factor.order), LANES), np.float64)
    for begin in range(0, len(edges), LANES):
        count = min(LANES, len(edges) - begin)
        voltage[:] = 0.0
        for lane in range(count):
            edge = edges[begin + lane]
            voltage[factor.rank[tail[edge]], lane] += 1.0
            voltage[factor.rank[head[edge]], lane] -= 1.0
        solve(factor, voltage)
        for edge in range(len(tail)):
            one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
            for lane in range(count):
                rows[begin + lane, edge] = voltage[one, lane] - voltage[two, lane]


@compiled
def _project(tail: Ints, head: Ints, length: Floats, factor: Factor, fields: Floats) -> None:
    """Project each row of values on edges onto the cycle space, in place."""
    voltage = np.empty((len(factor.order), LANES), np.float64)
    for begin in range(0, len(fields), LANES):
        count = min(LANES, len(fields) - begin)
        voltage[:] = 0.0
        for edge in range(len(tail)):
            scale = 1.0 / np.sqrt(length[edge])
            one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
            for lane in range(count):
                voltage[one, lane] += scale * fields[begin + lane, edge]
                voltage[two, lane] -= scale * fields[begin + lane, edge]
        solve(factor, voltage)
        for edge in range(len(tail)):
            scale = 1.0 / np.sqrt(length[edge])
            one, two = factor.rank[tail[edge]], factor.rank[head[edge]]
            for lane in range(count):
                fields[begin + lane, edge] -= scale * (voltage[one, lane] - voltage[two, lane])


@compiled
def solve(factor: Factor, voltage: Floats) -> None:
    """Replace the currents into the nodes, by position and lane, by the resulting voltages."""
    n_nodes, n_sparse = len(factor.order), len(factor.first) - 1
    rank, rest = factor.rank, factor.rest
    # the current into a star flows on to its ends
    for position in range(n_nodes):
        if position < n_sparse:
            for slot in range(factor.first[position], factor.first[position + 1]):
                _add(voltage[rank[factor.ends[slot]]], factor.share[slot], voltage[position])
        else:
            for other in range(position + 1, n_nodes):
                _add(voltage[other], rest[position - n_sparse, other - n_sparse], voltage[position])
    for position in range(n_nodes - 1, -1, -1):
        for lane in range(LANES):
            voltage[position, lane] *= factor.resistance[position]
        if position < n_sparse:
            for slot in range(factor.first[position], factor.first[position + 1]):
                _add(voltage[position], factor.share[slot], voltage[rank[factor.ends[slot]]])
        else:
            for other in range(position + 1, n_nodes):
                _add(voltage[position], rest[position - n_sparse, other - n_sparse], voltage[other])


@compiled
def _add(target: Floats, factor: float, source: Floats) -> None:
    for lane in range(LANES):
        target[lane] += factor * source[lane]
