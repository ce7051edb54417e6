"""Adjacency matrices and edge lists.

An adjacency matrix holds lengths: entry (i, j) is an edge, 0 is none. (i, j) and (j, i) with one
length are one edge, so a symmetric matrix is an undirected graph; entries that differ are two
edges. One triangle alone is enough (`torelli.io.directed` states the rule). A sparse
matrix with several entries in one place has parallel edges. Each row of an edge list is an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import Fault, InvalidGraphError
from torelli._validate import EXACT
from torelli.io.edges import build_graph, number_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from torelli._types import MatrixLike
    from torelli.graph import MetricGraph
    from torelli.io.directed import Directions

_TRIPLE = 3
_ROW_REMEDY = "give each edge as (node, node, length)"


def from_array(array: NDArray[Any], length: str, directions: Directions) -> MetricGraph:
    """Convert a square array as adjacency, any other with three columns as an edge list.

    A 3 x 3 array could be either. With a loop at node 2 it is an edge list unless it is symmetric;
    if it is, and both readings make sense, that is an error.
    """
    if not array.ndim or array.shape[1:] not in {array.shape[:1], (_TRIPLE,)}:
        problem = f"an array of shape {array.shape} is neither an adjacency matrix nor an edge list"
        raise InvalidGraphError([Fault(problem, "give shape (n, n) for lengths, or (m, 3) for u, v, length")])
    if array.shape[0] != array.shape[1]:
        return _from_edge_array(array, length)
    if array.shape == (_TRIPLE, _TRIPLE) and _looks_like_edges(array):
        if (array != array.T).any():
            return _from_edge_array(array, length)
        problem = "a symmetric 3 x 3 array can be read as an adjacency matrix and as three edges"
        remedy = "give edges as a list of (u, v, length) tuples, or the matrix as scipy.sparse.coo_array"
        raise InvalidGraphError([Fault(problem, remedy)])
    return from_dense(array, directions)


def from_nested_lists(rows: Sequence[Sequence[Any]], length: str, directions: Directions) -> MetricGraph:
    """Convert n lists of n entries: an adjacency matrix, but see `from_array` for n = 3."""
    return from_array(np.array(rows), length, directions)


def from_dense(matrix: MatrixLike, directions: Directions) -> MetricGraph:
    """Convert a dense adjacency matrix; entries that are not 0 are lengths."""
    try:
        array = np.asarray(matrix)
    except ValueError:
        array = np.empty(0)
    _check_adjacency(array.shape, array.dtype)
    tail, head = np.nonzero(array)
    return _from_entries(tail, head, array[tail, head], len(array), directions)


def from_sparse(matrix: MatrixLike, _length: str, directions: Directions) -> MetricGraph:
    """Convert a scipy sparse adjacency matrix; every stored entry is an edge, parallel ones too."""
    _check_adjacency(matrix.shape, matrix.dtype)
    try:
        entries = matrix.tocoo()
    except ValueError as error:
        problem = f"scipy cannot read the sparse matrix ({error})"
        raise InvalidGraphError([Fault(problem, "give it indices from 0 to its shape")]) from error
    row, column = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    return _from_entries(row, column, entries.data, matrix.shape[0], directions)


def from_edge_list(rows: Iterable[Any], length: str, _directions: object = None) -> MetricGraph:
    """Convert (u, v, length) rows with any hashable node ids; a mapping may stand for the length."""
    return from_edges(rows, length)


def from_edges(
    rows: Iterable[Any],
    length: str,
    *,
    nodes: Iterable[Any] = (),
    directions: Directions | None = None,
) -> MetricGraph:
    """Convert rows as `from_edge_list` does; with `directions`, they are directed edges."""
    edges = list(rows)
    wrong = [i for i, row in enumerate(edges) if not _is_row(row)]
    if wrong:
        shown = tuple(f"{i} ({edges[i]!r:.60})" for i in wrong)
        raise InvalidGraphError([Fault("the row is not an edge", _ROW_REMEDY, shown)])
    lengths = [row[2] if len(row) == _TRIPLE else None for row in edges]
    mappings = [value for value in lengths if isinstance(value, Mapping)]
    tail, head, names = number_nodes([row[0] for row in edges], [row[1] for row in edges], nodes)
    return build_graph(
        tail,
        head,
        [value.get(length) if isinstance(value, Mapping) else value for value in lengths],
        names,
        length=length,
        other_attributes=lambda: (key for mapping in mappings for key in mapping),
        directions=directions,
    )


def _is_row(row: object) -> bool:
    return isinstance(row, (tuple, list, np.ndarray)) and len(row) in (2, _TRIPLE)


def _from_edge_array(array: NDArray[Any], length: str) -> MetricGraph:
    if array.dtype.kind not in "fiu":
        return from_edge_list(array.tolist(), length)
    ends = array[:, :2]
    whole = (ends.dtype.kind != "f") | ((np.abs(ends) < EXACT) & (ends == np.floor(ends)))
    if not whole.all():
        rows = tuple(str(i) for i in np.flatnonzero(~whole.all(axis=1)).tolist())
        raise InvalidGraphError([Fault("end points are not whole numbers", _ROW_REMEDY, rows)])
    names, inverse = np.unique(ends.astype(np.int64), return_inverse=True)
    inverse = inverse.reshape(ends.shape)
    return build_graph(inverse[:, 0], inverse[:, 1], array[:, 2], names.tolist(), length=length)


def _looks_like_edges(array: NDArray[Any]) -> bool:
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        return False
    return bool((array[:, 2] > 0).all() and (array[:, :2] == np.floor(array[:, :2])).all())


def _check_adjacency(shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    if not shape or tuple(shape[1:]) != tuple(shape[:1]):
        problem = f"an adjacency matrix of shape {tuple(shape)} is not square"
        raise InvalidGraphError([Fault(problem, "give one row and one column for each node")])
    if dtype.kind not in "fiu":
        problem = f"an adjacency matrix of type {dtype} has no lengths"
        raise InvalidGraphError(
            [Fault(problem, "give lengths; matrix.astype(float) makes every edge 1 long")]
        )


def _from_entries(
    row: NDArray[Any], column: NDArray[Any], lengths: NDArray[Any], size: int, directions: Directions
) -> MetricGraph:
    tail, head = row.astype(np.int64), column.astype(np.int64)
    values = lengths.astype(np.float64)
    return build_graph(tail, head, values, range(size), length="entry", directions=directions)
