"""Effective resistances as edge lengths for graphs without lengths; isomorphic graphs get the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import splu

from torelli._errors import Fault, InvalidGraphError
from torelli._numerics.core import core_of
from torelli._numerics.forest import rooted_forest

if TYPE_CHECKING:
    from torelli._types import Floats, Ints


_DENSE = 1200  # core nodes up to which a dense factorisation is faster
_AT_ONCE = 256  # right-hand sides of a sparse solve held in memory at a time


def edge_resistances(tail: Ints, head: Ints, n_nodes: int, *, name: str | None = None) -> Floats:
    """Return the effective resistance between the ends of each edge, if every edge is a unit resistor.

    Parameters
    ----------
    tail, head, n_nodes
        The graph. It may have parallel edges and several components.
    name
        Name of the graph, for error messages.

    Returns
    -------
    resistance
        In (0, 1], and exactly 1 for bridges: the fraction of spanning forests that contain the edge.

    Raises
    ------
    InvalidGraphError
        If there are loops: a loop has resistance 0, which is not a valid length.

    Notes
    -----
    A spanning forest omits at most one edge of a C1-set, and each of its k edges equally often. In the
    core of the canonical model the C1-set is one resistor of k ohms; let R be the resistance between its
    ends. Then each of its edges has resistance 1 - (1 - R / k) / k. Only the core needs a solve, and it
    has at most 2(g - 1) nodes for genus g.

    References
    ----------
    Klein and Randić, Resistance distance, Journal of Mathematical Chemistry 12 (1993).

    Examples
    --------
    >>> edge_resistances(np.array([0, 1, 2, 2]), np.array([1, 2, 0, 3]), 4)
    array([0.66666667, 0.66666667, 0.66666667, 1.        ])
    """
    loops = np.flatnonzero(tail == head)
    if len(loops):
        edges = tuple(f"{edge} ({tail[edge]}, {tail[edge]})" for edge in loops.tolist())
        remedy = "choose another kind of length, or remove the loops"
        raise InvalidGraphError([Fault("a loop has effective resistance 0", remedy, edges, name=name)])
    edge_class, _, core_tail, core_head, size, n_core, *_ = core_of(tail, head, np.ones(len(tail)), n_nodes)
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
    # grounding one node of each component makes the Laplacian of the other nodes invertible
    unknown = np.full(n_nodes, -1, dtype=np.int64)
    free = order[parent_edge[order] >= 0]
    unknown[free] = np.arange(len(free))
    a, b, conductance = unknown[u], unknown[v], 1.0 / ohms[proper]
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
    # a last row and column of zeros stands for the ground, whose index is -1
    inverse = np.zeros((size + 1, size + 1))
    inverse[:size, :size] = cho_solve(factor, np.eye(size), check_finite=False)
    potential = np.diag(inverse)
    return potential[a] + potential[b] - inverse[a, b] - inverse[b, a]


def _sparse_between(a: Ints, b: Ints, conductance: Floats, size: int) -> Floats:
    factor = splu(_laplacian(a, b, conductance, size), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0)
    # computes the inverse in blocks of columns, and keeps only its diagonal and its entries at edges
    order = np.argsort(b, kind="stable")
    first = np.searchsorted(b[order], np.arange(0, size + _AT_ONCE, _AT_ONCE))
    potential, across = np.zeros(size + 1), np.zeros(len(a))
    for block, start in enumerate(range(0, size, _AT_ONCE)):
        column = np.arange(start, min(start + _AT_ONCE, size))
        current = np.zeros((size + 1, len(column)))
        current[column, column - start] = 1.0
        current[:size] = factor.solve(current[:size])
        potential[column] = current[column, column - start]
        edges = order[first[block] : first[block + 1]]
        across[edges] = current[a[edges], b[edges] - start]
    return potential[a] + potential[b] - 2 * across
