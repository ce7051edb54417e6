"""networkx graphs."""

from __future__ import annotations

import timeit

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.floats(0.1, 10)), max_size=25),
    st.sampled_from([nx.Graph, nx.MultiGraph]),
)
def test_undirected_edges_are_those_of_networkx(rows, kind) -> None:
    """Every edge of an undirected graph is taken once, in networkx's order, loops and parallels too."""
    graph = kind()
    graph.add_nodes_from(range(8))
    graph.add_edges_from((u, v, {"length": x}) for u, v, x in rows)
    converted = tt.as_metric_graph(graph)
    expected = [(u, v, x) for u, v, x in graph.edges(data="length")]
    edges = list(
        zip(converted.tail.tolist(), converted.head.tolist(), converted.length.tolist(), strict=True)
    )
    assert edges == expected
    assert converted.n_nodes == 8


def test_what_the_graph_knows_is_kept() -> None:
    """Name, unit, reference system, node ids and three coordinates come along."""
    graph = nx.Graph(name="aorta", unit="mm", crs="EPSG:25832")
    graph.add_node("a", x=0.0, y=1.0, z=2.0)
    graph.add_node("b", x="3", y="4", z="5")
    graph.add_edge("a", "b", length="2.5")
    converted = tt.as_metric_graph(graph)
    assert (converted.name, converted.unit, converted.crs) == ("aorta", "mm", "EPSG:25832")
    assert converted.node_ids == ("a", "b")
    np.testing.assert_array_equal(converted.coordinates, [[0, 1, 2], [3, 4, 5]])
    assert converted.length.tolist() == [2.5]


def test_z_is_left_out_where_a_node_lacks_it() -> None:
    """Two coordinates remain where not every node has three."""
    graph = nx.path_graph(2)
    nx.set_edge_attributes(graph, 1.0, "length")
    graph.nodes[0].update(x=0, y=0, z=0)
    graph.nodes[1].update(x=1, y=1)
    assert tt.as_metric_graph(graph).coordinates.shape == (2, 2)


def test_views_are_converted(edges_of) -> None:
    """A subgraph view gives the edges that it shows."""
    graph = nx.cycle_graph(6)
    nx.set_edge_attributes(graph, 1.0, "length")
    assert edges_of(tt.as_metric_graph(graph.subgraph([1, 2, 3]))) == [(0, 1, 1.0), (1, 2, 1.0)]


def test_osmnx_graphs_are_in_metres() -> None:
    """A graph that says it was made by OSMnx has its lengths in metres."""
    graph = nx.MultiDiGraph(created_with="OSMnx 2.0.0", crs="epsg:4326")
    graph.add_edge(1, 2, length=10.0, osmid=[5, 6])
    graph.add_edge(2, 1, length=10.0 * (1 + 1e-12), osmid=[6, 5])
    converted = tt.as_metric_graph(graph)
    assert converted.unit == "m"
    assert converted.n_edges == 1


@pytest.mark.parametrize("value", [None, "wide", 0, -1, float("nan"), float("inf"), True, 10**400])
@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_bad_lengths_are_named(kind, value) -> None:
    """Each kind of bad length is an error that names the edge by the caller's node ids."""
    graph = kind(name="Ghent")
    graph.add_edge("a", "b", length=value if value is not None else 1)
    if value is None:
        del next(iter(graph.edges(data=True)))[2]["length"]
    graph.add_edge("b", "c", length=2.0)
    with pytest.raises(tt.InvalidGraphError, match=r"'Ghent', edge 0 \('a', 'b'\)"):
        tt.as_metric_graph(graph)


def test_a_missing_attribute_names_those_that_are_there() -> None:
    """The message about a missing length lists the attributes that edges have."""
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=1.0, speed=50)
    with pytest.raises(tt.InvalidGraphError, match=r"'length' is missing.*'speed', 'weight'"):
        tt.as_metric_graph(graph)
    assert tt.as_metric_graph(graph, length="weight").n_edges == 1


def test_a_missing_attribute_says_how_to_have_unit_lengths() -> None:
    """The remedy for a missing length is a call that can be pasted."""
    graph = nx.path_graph(3)
    with pytest.raises(tt.InvalidGraphError, match=r"networkx\.set_edge_attributes\(graph, 1\.0, 'length'\)"):
        tt.as_metric_graph(graph)
    nx.set_edge_attributes(graph, 1.0, "length")
    assert tt.as_metric_graph(graph).total_length == 2


def test_a_list_of_one_number_is_no_length() -> None:
    """Lengths that are lists are refused, also where all of them are of one size."""
    graph = nx.Graph()
    graph.add_edge(0, 1, length=[1.0])
    graph.add_edge(1, 2, length=[2.0])
    with pytest.raises(tt.InvalidGraphError, match="not a number"):
        tt.as_metric_graph(graph)


def test_edges_to_nodes_that_are_not_there_are_an_error() -> None:
    """A graph whose adjacency was written by hand is refused, before compiled code relies on it."""
    for directed in (nx.Graph, nx.DiGraph):
        graph = directed([(0, 1, {"length": 1.0})])
        graph._adj[0][2**40] = {"length": 1.0}
        with pytest.raises(
            tt.InvalidGraphError, match="edges lead to nodes 1 to 1099511627776 in a graph of 2"
        ):
            tt.as_metric_graph(graph)


def test_small_graphs_convert_fast() -> None:
    """A graph of 30 edges takes some tens of microseconds: well below what its matrix takes."""
    graph = nx.gnm_random_graph(20, 30, seed=1)
    nx.set_edge_attributes(graph, 1.5, "length")
    best = min(timeit.repeat(lambda: tt.as_metric_graph(graph), number=20, repeat=200)) / 20
    assert best < 120e-6, f"{best * 1e6:.0f} us; 34 us on the machine where it was written"
