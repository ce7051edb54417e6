"""Graphs of igraph, rustworkx and PyTorch Geometric."""

from __future__ import annotations

from types import SimpleNamespace

import igraph
import numpy as np
import pytest
import rustworkx as rx

import torelli as tt

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
