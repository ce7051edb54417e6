"""Masses and cross resistances of networks."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import metric_graphs, tiny_multigraphs
from torelli._numerics import resistance


def of(graph, *edges):
    return graph.tail, graph.head, graph.length, graph.n_nodes, *edges


def projection(graph):
    """Return the projection onto the cycle space, in the inner product of the lengths."""
    incidence = np.zeros((graph.n_nodes, graph.n_edges))
    for edge, (u, v) in enumerate(zip(graph.tail, graph.head, strict=True)):
        incidence[u, edge] += 1
        incidence[v, edge] -= 1
    scaled = incidence / np.sqrt(graph.length)
    return np.eye(graph.n_edges) - np.linalg.pinv(scaled) @ scaled


@given(tiny_multigraphs())
def test_masses_are_probabilities_of_random_spanning_forests(graph):
    """The mass of an edge is the probability that a random spanning forest leaves it out."""
    np.testing.assert_allclose(
        resistance.masses(*graph), np.array(reference.exact_masses(*graph), dtype=float), rtol=0, atol=1e-14
    )


@given(metric_graphs())
def test_masses_are_the_diagonal_of_the_projection_onto_cycles(graph):
    """On any multigraph the masses are those of the dense projection, and add up to the genus."""
    mass = resistance.masses(*of(graph))
    np.testing.assert_allclose(mass, np.diag(projection(graph)), rtol=0, atol=1e-9)
    assert mass.sum() == pytest.approx(graph.genus, abs=1e-11)
    assert (mass[graph.tail == graph.head] == 1.0).all()
    np.testing.assert_allclose(mass[tt.canonical_model(graph).bridges], 0.0, atol=1e-14)


@given(metric_graphs(max_parts=2))
def test_cross_resistances_give_the_projection_onto_cycles(graph):
    """The rows of chosen edges are the rows of the dense projection."""
    chosen = np.arange(graph.n_edges)[::2]
    rows = resistance.resistance_rows(*of(graph, chosen))
    scale = np.sqrt(np.multiply.outer(graph.length[chosen], graph.length))
    identity = np.eye(graph.n_edges)[chosen]
    np.testing.assert_allclose(identity - rows / scale, projection(graph)[chosen], rtol=0, atol=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(0, 14))
@settings(max_examples=60)
def test_lengths_of_all_magnitudes_keep_twelve_digits(seed, n_nodes, n_more):
    """Lengths between a millionth and a million give the masses of exact arithmetic to 1e-12."""
    rng = np.random.default_rng(seed)
    tail = [int(rng.integers(node)) for node in range(1, n_nodes)]
    tail += [int(node) for node in rng.integers(n_nodes, size=n_more)]
    head = [*range(1, n_nodes), *(int(node) for node in rng.integers(n_nodes, size=n_more))]
    length = (10.0 ** rng.uniform(-6, 6, size=len(tail))).tolist()
    exact = np.array(reference.exact_laplacian_masses(tail, head, length, n_nodes), dtype=float)
    np.testing.assert_allclose(resistance.masses(tail, head, length, n_nodes), exact, rtol=0, atol=1e-12)


def test_a_large_network_agrees_with_solves_of_its_laplacian():
    """A network of thousands of nodes, eliminated sparsely, agrees with a dense solve at every edge."""
    graph = tt.datasets.voronoi(800, seed=3)
    n = graph.n_nodes
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (graph.tail, graph.head), -1 / graph.length)
    np.add.at(laplacian, (graph.head, graph.tail), -1 / graph.length)
    laplacian -= np.diag(laplacian.sum(axis=0))
    green = np.linalg.inv(laplacian + 1.0 / n)
    u, v = graph.tail, graph.head
    expected = 1 - (green[u, u] + green[v, v] - 2 * green[u, v]) / graph.length
    mass = resistance.masses(*of(graph))
    np.testing.assert_allclose(mass, expected, rtol=0, atol=1e-10)
    assert mass.sum() == pytest.approx(graph.genus, rel=1e-13)

    chosen = np.array([5, 17, 1000])
    a, b = u[chosen], v[chosen]
    across = green[a][:, u] - green[a][:, v] - green[b][:, u] + green[b][:, v]
    rows = resistance.resistance_rows(*of(graph, chosen))
    np.testing.assert_allclose(rows, across, rtol=0, atol=1e-10 * graph.length.max())


@pytest.mark.parametrize("n", [3, 7, 40])
def test_masses_of_complete_graphs_and_cycles(n):
    """Unit lengths: a complete graph has mass 1 - 2/n everywhere, a cycle 1/n."""
    for graph, expected in ((nx.complete_graph(n), 1 - 2 / n), (nx.cycle_graph(n), 1 / n)):
        tail, head = np.array(graph.edges).T
        mass = resistance.masses(tail, head, np.ones(len(tail)), n)
        np.testing.assert_allclose(mass, expected, rtol=1e-13)


def test_a_network_too_dense_for_the_memory_is_refused(monkeypatch):
    """A network whose elimination leaves too many nodes joined to each other is refused with the figure."""
    monkeypatch.setattr(resistance._memory, "available_bytes", lambda: 1000)
    monkeypatch.setattr(resistance._memory, "_SMALL", 0)
    tail, head = np.array(nx.complete_graph(30).edges).T
    with pytest.raises(tt.RequestTooLargeError, match="leaves 30 nodes"):
        resistance.masses(tail, head, np.ones(len(tail)), 30)
