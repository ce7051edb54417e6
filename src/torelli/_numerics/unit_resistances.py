"""Effective resistance: lengths for graphs that have none, the same for isomorphic graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from torelli._errors import Fault, InvalidGraphError
from torelli._numerics.core import core_and_basis
from torelli._numerics.forest import rooted_forest

if TYPE_CHECKING:
    from torelli._types import Floats, Ints


_DENSE = 1200  # core nodes up to which a dense factorisation is the faster one
_AT_ONCE = 256  # right-hand sides of a sparse solve held in memory


def edge_resistances(tail: Ints, head: Ints, n_nodes: int, *, name: str | None = None) -> Floats:
    """Return the effective resistance between the ends of each edge, every edge being a unit resistor.

    Parameters
    ----------
    tail, head, n_nodes
        The graph; parallel edges and several components are welcome.
    name
        Name of the graph, for messages.

    Returns
    -------
    resistance
        In (0, 1], and 1 exactly for bridges: the share of the spanning forests that hold the edge.

    Raises
    ------
    InvalidGraphError
        If there are loops: between the ends of a loop the resistance is 0, which is no length.

    Notes
    -----
    A spanning forest leaves out at most one edge of a C1-set, each of its k edges equally often.
    So with R the resistance between the ends of the set in the core of the canonical model, where
    the set is one resistor of k ohms, each of its edges has resistance 1 - (1 - R / k) / k. Only
    the core needs a solve, and it has at most 2(g - 1) nodes for genus g.

    Examples
    --------
    >>> edge_resistances(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4)
    array([0.66666667, 0.66666667, 0.66666667, 1.        ])
    """
    loops = np.flatnonzero(tail == head)
    if len(loops):
        edges = tuple(f"{edge} ({tail[edge]}, {tail[edge]})" for edge in loops.tolist())
        remedy = "take another kind of length, or remove the loops"
        raise InvalidGraphError([Fault("a loop has effective resistance 0", remedy, edges, name=name)])
    parts = core_and_basis(tail, head, np.ones(len(tail)), n_nodes)
    edge_class, _, core_tail, core_head, size, n_core, *_ = parts
    resistance = np.ones(len(tail))
    on_cycle = edge_class >= 0
    between = _core_resistances(core_tail, core_head, size, n_core)
    resistance[on_cycle] = (1 - (1 - between / size) / size)[edge_class[on_cycle]]
    return resistance


def _core_resistances(tail: Ints, head: Ints, ohms: Floats, n_nodes: int) -> Floats:
    """Return the resistance between the ends of each edge of a network; 0 for loops."""
    between = np.zeros(len(tail))
    proper = np.flatnonzero(tail != head)
    if not len(proper):
        return between
    u, v = tail[proper], head[proper]
    order, parent_edge = rooted_forest(u, v, n_nodes)
    # one node of each component is earthed, which makes the Laplacian of the others invertible
    number = np.full(n_nodes, -1, dtype=np.int64)
    free = order[parent_edge[order] >= 0]
    number[free] = np.arange(len(free))
    a, b, conductance = number[u], number[v], 1.0 / ohms[proper]
    solve = _dense_between if len(free) <= _DENSE else _sparse_between
    between[proper] = solve(a, b, conductance, len(free))
    return between


def _laplacian(a: Ints, b: Ints, conductance: Floats, size: int) -> sp.csc_array:
    inner = (a >= 0) & (b >= 0)
    ends = np.concatenate([a[a >= 0], b[b >= 0]])
    diagonal = np.bincount(ends, np.concatenate([conductance[a >= 0], conductance[b >= 0]]), minlength=size)
    rows = np.concatenate([np.arange(size), a[inner], b[inner]])
    columns = np.concatenate([np.arange(size), b[inner], a[inner]])
    values = np.concatenate([diagonal, -conductance[inner], -conductance[inner]])
    return sp.csc_array((values, (rows, columns)), shape=(size, size))


def _dense_between(a: Ints, b: Ints, conductance: Floats, size: int) -> Floats:
    factor = cho_factor(_laplacian(a, b, conductance, size).toarray(), lower=True, check_finite=False)
    # a last row and column of zeros stands for the earth, which index -1 finds
    inverse = np.zeros((size + 1, size + 1))
    inverse[:size, :size] = cho_solve(factor, np.eye(size), check_finite=False)
    potential = np.diag(inverse)
    return potential[a] + potential[b] - inverse[a, b] - inverse[b, a]


def _sparse_between(a: Ints, b: Ints, conductance: Floats, size: int) -> Floats:
    factor = splu(_laplacian(a, b, conductance, size), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
    # column by column of the inverse, of which only the entries at edges and on the diagonal are kept
    order = np.argsort(b, kind="stable")
    first = np.searchsorted(b[order], np.arange(0, size + _AT_ONCE, _AT_ONCE))
    potential, across = np.zeros(size + 1), np.zeros(len(a))
    for at, start in enumerate(range(0, size, _AT_ONCE)):
        column = np.arange(start, min(start + _AT_ONCE, size))
        current = np.zeros((size + 1, len(column)))
        current[column, column - start] = 1.0
        current[:size] = factor.solve(current[:size])
        potential[column] = current[column, column - start]
        edges = order[first[at] : first[at + 1]]
        across[edges] = current[a[edges], b[edges] - start]
    return potential[a] + potential[b] - 2 * across
