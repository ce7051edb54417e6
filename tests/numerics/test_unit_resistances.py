"""Effective resistance of edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torelli import InvalidGraphError
from torelli._numerics import unit_resistances as module
from torelli.datasets import edge_resistances


def arrays(graph) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a graph with nodes 0..n-1 as tail, head and number of nodes."""
    ends = np.array(list(graph.edges()), dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], graph.number_of_nodes()


def by_pseudo_inverse(tail, head, n_nodes) -> np.ndarray:
    """Return resistances from the definition."""
    laplacian = np.zeros((n_nodes, n_nodes))
    for u, v in zip(tail.tolist(), head.tolist(), strict=True):
        laplacian[[u, v, u, v], [u, v, v, u]] += [1, 1, -1, -1] if u != v else 0
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    return inverse[tail, tail] + inverse[head, head] - 2 * inverse[tail, head]


@st.composite
def multigraphs(draw) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw a graph with parallel edges and several components, without loops."""
    n_nodes = draw(st.integers(2, 9))
    pair = st.tuples(st.integers(0, n_nodes - 1), st.integers(0, n_nodes - 1)).filter(lambda p: p[0] != p[1])
    ends = np.array(draw(st.lists(pair, max_size=20)), dtype=np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1], n_nodes


@given(multigraphs())
@settings(deadline=None)
def test_it_agrees_with_the_pseudo_inverse_of_the_laplacian(graph) -> None:
    """On any multigraph the reduced solve gives what the definition gives."""
    np.testing.assert_allclose(edge_resistances(*graph), by_pseudo_inverse(*graph), rtol=0, atol=1e-9)


@given(multigraphs(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_it_does_not_depend_on_node_numbers_or_edge_order(graph, random) -> None:
    """Isomorphic graphs have the same resistances."""
    tail, head, n_nodes = graph
    order, name = list(range(len(tail))), list(range(n_nodes))
    random.shuffle(order)
    random.shuffle(name)
    name = np.array(name, dtype=np.int64)
    moved = edge_resistances(name[head[order]], name[tail[order]], n_nodes)
    np.testing.assert_allclose(moved, edge_resistances(*graph)[order], rtol=1e-12)


@pytest.mark.parametrize("n", [3, 4, 10, 101])
def test_known_values(n) -> None:
    """A cycle has (n - 1)/n, a complete graph 2/n, a tree exactly 1."""
    np.testing.assert_allclose(edge_resistances(*arrays(nx.cycle_graph(n))), (n - 1) / n, rtol=1e-13)
    np.testing.assert_allclose(edge_resistances(*arrays(nx.complete_graph(n))), 2 / n, rtol=1e-12)
    assert set(edge_resistances(*arrays(nx.path_graph(n)))) == {1.0}


def test_foster() -> None:
    """The resistances of a connected graph add up to n - 1 (Foster's theorem)."""
    graph = nx.connected_watts_strogatz_graph(300, 6, 0.3, seed=1)
    assert edge_resistances(*arrays(graph)).sum() == pytest.approx(299, rel=1e-12)


def test_the_sparse_route_gives_what_the_dense_one_gives(monkeypatch) -> None:
    """Large cores are solved by a sparse factorisation, with the same result."""
    graph = arrays(nx.disjoint_union(nx.grid_2d_graph(15, 15), nx.gnm_random_graph(60, 150, seed=2)))
    dense = edge_resistances(*graph)
    monkeypatch.setattr(module, "_DENSE", 0)
    monkeypatch.setattr(module, "_AT_ONCE", 7)
    np.testing.assert_allclose(edge_resistances(*graph), dense, rtol=1e-10)


def test_a_loop_is_an_error() -> None:
    """Between the ends of a loop the resistance is 0, which is no length: the loops are named."""
    with pytest.raises(InvalidGraphError, match=r"graph 'G'.*edge 1 \(2, 2\): a loop"):
        edge_resistances(np.array([0, 2]), np.array([1, 2]), 3, name="G")


def test_a_graph_without_edges_has_none() -> None:
    """No edges, no resistances."""
    assert edge_resistances(np.empty(0, np.int64), np.empty(0, np.int64), 3).shape == (0,)
