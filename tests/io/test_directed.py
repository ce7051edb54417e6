"""Directed input: both directions of one street are one edge, true parallels stay."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt


def multi(*edges):
    G = nx.MultiDiGraph()
    for u, v, length, *way in edges:
        G.add_edge(u, v, length=length, **({"osmid": way[0]} if way else {}))
    return tt.as_metric_graph(G)


@pytest.mark.parametrize(
    ("edges", "lengths"),
    [
        ([(0, 1, 5.0), (1, 0, 5.0)], [5.0]),
        ([(0, 1, 5.0), (1, 0, 7.0)], [5.0, 7.0]),
        ([(0, 1, 5.0), (0, 1, 5.0)], [5.0, 5.0]),
        ([(0, 1, 5.0), (0, 1, 5.0), (1, 0, 5.0)], [5.0, 5.0]),
        ([(0, 1, 5.0), (1, 0, 5.0 * (1 + 1e-12))], [5.0]),
        ([(0, 1, 5.0, 10), (1, 0, 5.0, 20)], [5.0, 5.0]),
        ([(0, 1, 5.0, [10, 11]), (1, 0, 5.0, [11, 10])], [5.0]),
        ([(0, 1, 5.0, "[10, 11]"), (1, 0, 5.0, "[11, 10]")], [5.0]),
        ([(0, 1, 5.0, 10), (1, 0, 5.0, [10])], [5.0]),
        ([(0, 1, 5.0, float("nan")), (1, 0, 5.0, float("nan"))], [5.0]),
        ([(0, 1, 5.0, np.array([1, 2])), (1, 0, 5.0, np.array([2, 1]))], [5.0]),
        ([(0, 0, 5.0), (0, 0, 5.0)], [5.0, 5.0]),
        ([(0, 0, 5.0, 10), (0, 0, 5.0, 10)], [5.0]),
        ([(0, 0, 5.0, 10), (0, 0, 5.0, 20)], [5.0, 5.0]),
        ([(0, 0, 5.0, 10)], [5.0]),
        ([(2, 1, 3.0), (1, 0, 4.0)], [3.0, 4.0]),
    ],
    ids=[
        "two-way street",
        "two one-way streets of different length",
        "two lanes one way",
        "a street and a one-way twin",
        "directions that differ by rounding",
        "dual carriageway: two ways of one length",
        "ways in another order",
        "ways as the text of a list",
        "a way alone and in a list",
        "ways that are NaN",
        "ways in arrays",
        "two loops of unknown ways",
        "a loop street in both directions",
        "two loops of two ways",
        "a one-way loop",
        "one-way streets",
    ],
)
def test_the_rule_for_directions(edges, lengths):
    """What stays of some directed edges."""
    assert sorted(multi(*edges).length.tolist()) == lengths


@given(st.integers(0, 2**32 - 1))
def test_a_street_network_and_its_directed_form_are_the_same_graph(seed):
    """Putting both directions of every edge changes nothing, for simple and for multigraphs."""
    rng = np.random.default_rng(seed)
    G = nx.MultiGraph()
    G.add_nodes_from(range(6))
    for i in range(int(rng.integers(1, 14))):
        u, v = (int(x) for x in rng.integers(6, size=2))
        if u != v:
            G.add_edge(u, v, length=float(rng.uniform(1, 2)), osmid=i)
    one, two = tt.as_metric_graph(G), tt.as_metric_graph(G.to_directed())
    assert two.n_edges == one.n_edges
    assert np.allclose(tt.torelli_matrix(one), tt.torelli_matrix(two), rtol=1e-12)


@pytest.mark.parametrize("cls", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_every_networkx_class_with_any_node_ids(cls):
    """Strings, tuples and numbers serve as nodes; an isolated node stays."""
    G = cls()
    G.add_edge("a", (1, 2), weight=1.0)
    G.add_edge((1, 2), 3.5, weight=2.0)
    G.add_edge(3.5, "a", weight=4.0)
    G.add_node(None.__class__)
    H = tt.as_metric_graph(G, length="weight")
    assert (H.n_nodes, H.n_edges, H.genus) == (4, 3, 1)
    assert set(H.node_ids) == set(G)
    assert tt.torelli_matrix(H).tolist() == [[7.0]]
