"""Converters of objects: adjacency matrices, edge lists, igraph, rustworkx and PyTorch Geometric."""

from __future__ import annotations

from types import SimpleNamespace

import igraph
import numpy as np
import pytest
import rustworkx as rx
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
    edges = [
        (ids[u], ids[v], x)
        for u, v, x in zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
    ]
    assert edges == rows
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


THETA = [(0, 1, 1.0), (0, 1, 2.0), (0, 1, 3.0), (1, 2, 4.0)]


def test_igraph_keeps_parallels_names_and_places(edges_of) -> None:
    """An igraph graph keeps parallel edges, isolated nodes, names and coordinates."""
    graph = igraph.Graph(n=4, edges=[(u, v) for u, v, _ in THETA])
    graph.es["length"] = [x for *_, x in THETA]
    graph.vs["name"] = list("abcd")
    graph.vs["x"], graph.vs["y"] = [0, 1, 2, 3], [0, 0, 1, 1]
    graph["name"], graph["unit"] = "theta", "km"
    converted = tt.as_metric_graph(graph)
    assert edges_of(converted) == THETA
    assert (converted.name, converted.unit, converted.node_ids) == ("theta", "km", tuple("abcd"))
    assert converted.coordinates.tolist() == [[0, 0], [1, 0], [2, 1], [3, 1]]


def test_directed_igraph_follows_the_rule_for_directed_graphs(edges_of) -> None:
    """The two directions of an edge are one edge."""
    graph = igraph.Graph(edges=[(0, 1), (1, 0), (1, 2)], directed=True)
    graph.es["length"] = [5.0, 5.0, 6.0]
    assert edges_of(tt.as_metric_graph(graph)) == [(0, 1, 5.0), (1, 2, 6.0)]


def test_igraph_without_lengths_is_an_error() -> None:
    """A missing attribute is named with those that are there."""
    graph = igraph.Graph(edges=[(0, 1)])
    graph.es["weight"] = [1.0]
    with pytest.raises(tt.InvalidGraphError, match=r"'length' is missing.*'weight'"):
        tt.as_metric_graph(graph)


@pytest.mark.parametrize("payload", [lambda x: x, lambda x: {"length": x}])
def test_rustworkx_payloads_are_lengths(payload, edges_of) -> None:
    """An edge's payload is its length, or a mapping that holds it; removed nodes leave no gap."""
    graph = rx.PyGraph()
    graph.add_nodes_from(["gone", "a", "b", "c"])
    graph.remove_node(0)
    graph.add_edges_from([(u + 1, v + 1, payload(x)) for u, v, x in THETA])
    converted = tt.as_metric_graph(graph)
    assert edges_of(converted) == THETA
    assert converted.node_ids == (1, 2, 3)


def test_rustworkx_digraph_with_places(edges_of) -> None:
    """Directions are merged, and node payloads with x and y give coordinates."""
    graph = rx.PyDiGraph(attrs={"name": "D", "crs": "EPSG:4326"})
    graph.add_nodes_from([{"x": 1, "y": 2}, {"x": 3, "y": 4}])
    graph.add_edges_from([(0, 1, 5.0), (1, 0, 5.0)])
    converted = tt.as_metric_graph(graph)
    assert edges_of(converted) == [(0, 1, 5.0)]
    assert converted.coordinates.tolist() == [[1, 2], [3, 4]]
    assert (converted.name, converted.crs) == ("D", "EPSG:4326")


class FakeTensor:
    """What is used of a tensor: it must be detached and brought to memory before it is an array."""

    def __init__(self, values, *, ready=False) -> None:
        self.values, self.ready = values, ready

    def detach(self) -> FakeTensor:
        """Return the same values without their history."""
        return self

    def cpu(self) -> FakeTensor:
        """Return the values in memory."""
        return FakeTensor(self.values, ready=True)

    def __array__(self, dtype=None, copy=None):
        assert self.ready
        return np.array(self.values, dtype=dtype)


def geometric(**attributes: object) -> SimpleNamespace:
    index = [[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]]
    return SimpleNamespace(edge_index=FakeTensor(index), num_nodes=4, **attributes)


LENGTHS = [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"edge_attr": FakeTensor(LENGTHS)},
        {"edge_attr": FakeTensor([[x] for x in LENGTHS])},
        {"edge_attr": FakeTensor(np.ones((6, 4))), "length": FakeTensor(LENGTHS)},
    ],
)
def test_data_of_pytorch_geometric_by_its_attributes(attributes, edges_of) -> None:
    """Both directions of an edge are one, isolated nodes stay, and the named attribute comes first."""
    pos = np.arange(8.0).reshape(4, 2)
    graph = tt.as_metric_graph(geometric(pos=FakeTensor(pos), **attributes))
    assert edges_of(graph) == [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 2.0)]
    assert graph.n_nodes == 4
    np.testing.assert_array_equal(graph.coordinates, pos)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (geometric(), "no edge lengths"),
        (geometric(edge_attr=np.ones((6, 2))), r"edge_attr has shape \(6, 2\)"),
        (SimpleNamespace(edge_index=np.array([[0, 9], [1, 2]]), num_nodes=3, edge_attr=np.ones(2)), "0 to 9"),
        (SimpleNamespace(edge_index=np.zeros((3, 2)), edge_attr=np.ones(2)), "shape"),
        (
            SimpleNamespace(edge_index=np.array([[0.5], [1]]), edge_attr=np.ones(1)),
            "type float64; give integers",
        ),
        (
            SimpleNamespace(edge_index=np.array([[0], [1]]), edge_attr=np.ones(1), num_nodes=2**62),
            "more than the limit of 2,147,483,648",
        ),
    ],
)
def test_data_without_lengths_is_an_error(data, message) -> None:
    """What cannot be read as edges with one length each is refused with the shape found."""
    with pytest.raises(tt.InvalidGraphError, match=message):
        tt.as_metric_graph(data)


@pytest.mark.slow
def test_pytorch_geometric_itself(edges_of) -> None:
    """A `Data` of the real package converts like its attributes."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data_module = pytest.importorskip("torch_geometric.data", reason="torch_geometric is not installed")
    index = torch.tensor([[0, 1, 1, 2, 0, 2], [1, 0, 2, 1, 2, 0]])
    lengths = torch.tensor(LENGTHS, requires_grad=True)
    data = data_module.Data(edge_index=index, edge_attr=lengths, num_nodes=4)
    assert edges_of(tt.as_metric_graph(data)) == [(0, 1, 1.0), (0, 2, 3.0), (1, 2, 2.0)]
