"""Networks that are one thing to a reader: of one place, or the same for a kernel.

Windows around random places of a city overlap, and some contain the same streets. Listed one by one, they
would fill the list of similar networks with copies of one place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

    Pairs = NDArray[np.bool_]

_SHARED = 0.5  # of the length of two networks together, from which on they are of one place
_ROUNDING = 1e-12  # squared distance that is rounding, in medians of the squared distances
_DIGITS = 9  # of a place on the map, whose side is 1


def of_one_place(graphs: Sequence[MetricGraph]) -> Pairs:
    """Return for each pair of networks whether they have more than half of their streets in common.

    That is, if the streets that both have are longer than half of the streets that one of them has. A
    street is an edge between the same two points of a reference system. Coordinates without a reference
    system say nothing of places, so that such networks have no place in common.
    """
    n = len(graphs)
    owners, keys, lengths = [], [], []
    systems: dict[str, int] = {}
    for i, graph in enumerate(graphs):
        if graph.coordinates is None or graph.crs is None or not graph.n_edges:
            continue
        points = graph.coordinates[:, :2]
        system = np.full(graph.n_edges, systems.setdefault(graph.crs, len(systems)), dtype=np.float64)
        ends = np.concatenate([points[graph.tail], points[graph.head]], axis=1)
        swapped = (ends[:, 0] > ends[:, 2]) | ((ends[:, 0] == ends[:, 2]) & (ends[:, 1] > ends[:, 3]))
        ends[swapped] = ends[swapped][:, [2, 3, 0, 1]]
        keys.append(np.column_stack([ends, graph.length, system]))
        lengths.append(graph.length)
        owners.append(np.full(graph.n_edges, i))
    if not keys:
        return np.eye(n, dtype=np.bool_)
    street = _numbered(np.concatenate(keys))
    length = np.zeros(int(street.max()) + 1)
    length[street] = np.concatenate(lengths)
    # a network that has a street twice, as two parallel edges, has it once here
    has = sp.csr_array((np.ones(len(street)), (np.concatenate(owners), street)), shape=(n, len(length)))
    has.data = np.sqrt(length[has.indices])
    common = (has @ has.T).toarray()
    total = np.diagonal(common)
    together: Pairs = common > _SHARED * (total[:, None] + total - common)
    np.fill_diagonal(together, val=True)
    return together


def _numbered(rows: Floats) -> Ints:
    """Return a number for each row, the same for equal rows."""
    order = np.lexsort(rows.T)
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    numbers = np.empty(len(rows), dtype=np.int64)
    numbers[order] = np.cumsum(new) - 1
    return numbers


def same_for_kernel(squared: Floats) -> Ints:
    """Return for each network the first one at distance 0 from it, which a kernel takes for the same.

    Parameters
    ----------
    squared
        The squared distances of all pairs.
    """
    positive = squared[squared > 0]
    limit = _ROUNDING * float(np.median(positive)) if positive.size else 0.0
    near = sp.csr_array((squared <= limit).astype(np.int8))
    return _first(connected_components(near, directed=False)[1].astype(np.int64))


def same_point(places: Floats) -> Ints:
    """Return for each network the first one at the same point of the map; those without a place are alone."""
    known = np.isfinite(places).all(axis=1)
    numbers = np.arange(len(places)) + len(places)
    numbers[known] = _numbered(places[known].round(_DIGITS))
    return _first(numbers)


def _first(numbers: Ints) -> Ints:
    """Return for each entry the index of the first equal one."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    representative: Ints = first[inverse]
    return representative
