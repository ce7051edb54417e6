"""Adjacency matrices and edge lists."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt

EDGES = [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 3.5), (2, 3, 4.0)]


def dense(edges=EDGES, size=5) -> np.ndarray:
    matrix = np.zeros((size, size))
    for u, v, x in edges:
        matrix[u, v] = matrix[v, u] = x
    return matrix


@pytest.mark.parametrize(
    "form",
    [
        np.array,
        np.triu,
        np.ndarray.tolist,
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
        sp.dok_array,
        lambda m: sp.lil_matrix(np.triu(m)),
    ],
)
def test_an_adjacency_matrix_holds_lengths(form, edges_of) -> None:
    """Dense or sparse, whole or upper triangle: each pair of nodes is one edge, isolated nodes stay."""
    graph = tt.as_metric_graph(form(dense()))
    assert edges_of(graph) == sorted(EDGES)
    assert graph.n_nodes == 5


def test_sparse_duplicates_are_parallel_edges(edges_of) -> None:
    """Two entries in one place are two edges, never one with their sum, in COO and in CSR."""
    row, column, value = [0, 0, 1, 1], [1, 1, 0, 0], [1.0, 2.0, 1.0, 2.0]
    coo = sp.coo_array((value, (row, column)), shape=(2, 2))
    assert edges_of(tt.as_metric_graph(coo)) == [(0, 1, 1.0), (0, 1, 2.0)]
    csr = sp.csr_array((np.array(value), np.array(column), np.array([0, 2, 4])), shape=(2, 2))
    assert edges_of(tt.as_metric_graph(csr)) == [(0, 1, 1.0), (0, 1, 2.0)]


def test_equal_duplicates_stay_two(edges_of) -> None:
    """The same entry twice, and twice in the other triangle, is two parallel edges of one length."""
    coo = sp.coo_array(([3.0] * 4, ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    assert edges_of(tt.as_metric_graph(coo)) == [(0, 1, 3.0), (0, 1, 3.0)]


def test_an_asymmetric_matrix_follows_the_rule_for_directed_graphs(edges_of) -> None:
    """Entries (i, j) and (j, i) that differ are two edges; a diagonal entry is a loop."""
    matrix = np.array([[0.0, 1.0, 0, 0], [2.0, 0.0, 0, 0], [0, 0, 7.0, 0], [0, 0, 0, 0]])
    assert edges_of(tt.as_metric_graph(matrix)) == [(0, 1, 1.0), (0, 1, 2.0), (2, 2, 7.0)]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 4)), "neither"),
        (np.ones(4), "neither"),
        (np.ones((2, 2), dtype=bool), "no lengths"),
        (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
        (np.array([[0, -1.0], [-1.0, 0]]), "negative"),
        (np.array([[0, np.inf], [np.inf, 0]]), "infinite"),
        (sp.coo_array(([0.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2)), "zero"),
        (sp.coo_array(([1.0], ([0], [1])), shape=(2, 3)), "not square"),
        (np.array([[1j, 0], [0, 1j]]), "no lengths"),
    ],
)
def test_what_is_no_adjacency_matrix_is_an_error(matrix, message) -> None:
    """Shapes, types and entries that are no lengths are refused with the reason."""
    with pytest.raises(tt.InvalidGraphError, match=message):
        tt.as_metric_graph(matrix)


@given(st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2), st.floats(0.1, 9)), min_size=1))
def test_edge_lists_take_any_hashable_ids(rows) -> None:
    """Each row is an edge, nodes come in order of appearance, and repeated rows are parallel edges."""
    graph = tt.as_metric_graph(rows)
    ids = graph.node_ids
    found = [
        (ids[u], ids[v], x)
        for u, v, x in zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
    ]
    assert found == rows
    assert list(ids) == list(dict.fromkeys(node for u, v, _ in rows for node in (u, v)))


def test_edge_list_arrays_keep_their_ids() -> None:
    """An (m, 3) array is an edge list; its nodes are sorted by id."""
    graph = tt.as_metric_graph(np.array([[10, 7, 1.5], [7, 99, 2.0], [99, 10, 2.5], [7, 10, 1.0]]))
    assert graph.node_ids == (7, 10, 99)
    assert graph.genus == 2


def test_edge_list_rows_may_hold_mappings() -> None:
    """A mapping in place of the length is looked up by the name of the length."""
    graph = tt.as_metric_graph([("a", "b", {"metres": 3})], length="metres")
    assert graph.length.tolist() == [3.0]


def test_a_three_by_three_array_is_an_edge_list_only_if_it_cannot_be_a_matrix_of_a_graph(edges_of) -> None:
    """Three edges as an array are recognised; a symmetric one that fits both readings is refused."""
    triangle = np.array([[0, 1, 1.0], [1, 2, 2.0], [2, 0, 2.5]])
    assert edges_of(tt.as_metric_graph(triangle)) == [(0, 1, 1.0), (0, 2, 2.5), (1, 2, 2.0)]
    matrix = np.array([[0, 1, 2.0], [1, 0, 3.0], [2.0, 3.0, 0]])
    assert edges_of(tt.as_metric_graph(matrix)) == [(0, 1, 1.0), (0, 2, 2.0), (1, 2, 3.0)]
    with pytest.raises(tt.InvalidGraphError, match="and as three edges"):
        tt.as_metric_graph(np.array([[0, 1, 2.0], [1, 0, 3.0], [2.0, 3.0, 4.0]]))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 1)], "missing"),
        ([(0, 1, 2, 3)], "not an edge"),
        ([(0, [1], 2.0)], "hashable"),
        ([(0, None, 2.0)], "end point is missing"),
        ([(0, float("nan"), 2.0)], "end point is missing"),
        ([(0, 1, "far")], "not a number"),
        ([], "cannot be read"),
        (np.array([[0.5, 1, 1.0], [0, 1, 1.0]]), "whole"),
        (np.array([[np.nan, 1, 1.0], [0, 1, 1.0]]), "whole"),
        (np.array([[1e19, 2e19, 1.0], [0, 1, 1.0]]), "whole"),
    ],
)
def test_what_is_no_edge_list_is_an_error(rows, message) -> None:
    """Rows of another shape, ends or lengths that are missing, and an empty list are refused."""
    with pytest.raises(tt.InvalidGraphError, match=message):
        tt.as_metric_graph(rows)


@pytest.mark.parametrize("column", [2**30, -1])
def test_a_sparse_matrix_with_columns_that_it_does_not_have_is_an_error(column) -> None:
    """Indices out of range, which scipy does not always look at, never become nodes."""
    rows = sp.csr_array((np.ones(1), np.array([column]), np.array([0, 1, 1, 1])), shape=(3, 3))
    with pytest.raises(tt.InvalidGraphError, match=f"index:? {column}|out of range"):
        tt.as_metric_graph(rows)
    entries = sp.coo_array(([1.0], ([0], [1])), shape=(3, 3))
    entries.col[0] = column
    with pytest.raises(tt.InvalidGraphError, match="end point out of range for 3 nodes"):
        tt.as_metric_graph(entries)
