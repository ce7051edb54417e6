"""Masses of large networks, by fronts."""

from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from benchmarks.scale import random_street_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import metric_graphs, tiny_multigraphs
from torelli._numerics import fronts, resistance
from torelli._numerics.fronts import front_resistances


def front_masses(tail, head, length, n_nodes):
    """Return the masses computed by fronts."""
    return 1.0 - front_resistances(tail, head, length, n_nodes) / length


def masses(tail, head, length, n_nodes):
    ends = np.array(tail, dtype=np.int64), np.array(head, dtype=np.int64)
    return front_masses(*ends, np.array(length, dtype=float), n_nodes)


def by_nodes(tail, head, length, n_nodes):
    """Return the masses computed node by node."""
    factor, _ = resistance.eliminate(tail, head, length, n_nodes)
    return 1.0 - resistance.resistances_of(tail, head, factor) / length


def arrays(graph, seed=0, magnitudes=1.0):
    """Return the arrays of a networkx graph with random lengths over some orders of magnitude."""
    graph = nx.convert_node_labels_to_integers(graph)
    ends = np.array(graph.edges, dtype=np.int64).reshape(-1, 2).T
    exponent = np.random.default_rng(seed).uniform(-magnitudes / 2, magnitudes / 2, ends.shape[1])
    return ends[0].copy(), ends[1].copy(), 10.0**exponent, graph.number_of_nodes()


def wide_bipartite():
    """Return hubs with many neighbours, each of which has a few hubs."""
    rng = np.random.default_rng(0)
    graph = nx.Graph()
    graph.add_nodes_from(range(3040))
    graph.add_edges_from((40 + node, int(hub)) for node in range(3000) for hub in rng.integers(40, size=3))
    return graph


def caterpillar():
    graph = nx.path_graph(1000)
    graph.add_edges_from((node, 1000 + 3 * node + leg) for node in range(1000) for leg in range(3))
    return graph


def chain_of_cliques():
    graph = nx.Graph()
    for clique in range(20):
        graph.add_edges_from((60 * clique + u, 60 * clique + v) for u in range(60) for v in range(u))
        graph.add_edge(60 * clique, 60 * clique + 60)
    return graph


NETWORKS = {
    "star": lambda: nx.star_graph(4000),
    "star of stars": lambda: nx.balanced_tree(16, 3),
    "path": lambda: nx.path_graph(5000),
    "cycle": lambda: nx.cycle_graph(5000),
    "caterpillar": caterpillar,
    "wheel": lambda: nx.wheel_graph(4000),
    "ladder": lambda: nx.circular_ladder_graph(2000),
    "complete": lambda: nx.complete_graph(150),
    "complete bipartite": lambda: nx.complete_bipartite_graph(20, 400),
    "hubs": wide_bipartite,
    "cliques": chain_of_cliques,
    "cubic": lambda: nx.random_regular_graph(3, 1000, seed=1),
    "random": lambda: nx.gnm_random_graph(700, 2500, seed=1),
    "sparse random": lambda: nx.gnm_random_graph(3000, 2800, seed=1),
    "scale-free": lambda: nx.barabasi_albert_graph(1500, 2, seed=1),
    "cube": lambda: nx.grid_graph((9, 9, 9)),
    "strip": lambda: nx.grid_2d_graph(12, 300),
    "isolated nodes": lambda: nx.empty_graph(50),
}


@given(tiny_multigraphs())
def test_masses_are_probabilities_of_random_spanning_forests(graph):
    """The mass of an edge is the probability that a random spanning forest leaves it out."""
    exact = np.array(reference.exact_masses(*graph), dtype=float)
    np.testing.assert_allclose(masses(*graph), exact, rtol=0, atol=1e-14)


@given(st.integers(0, 2**32 - 1), st.integers(2, 24), st.integers(0, 16))
@settings(max_examples=60)
def test_lengths_of_all_magnitudes_keep_twelve_digits(seed, n_nodes, n_more):
    """Lengths between a millionth and a million give the masses of exact arithmetic to 1e-12."""
    rng = np.random.default_rng(seed)
    near = [max(0, node - int(rng.integers(1, 4))) for node in range(1, n_nodes)]
    tail = [*near, *(int(node) for node in rng.integers(n_nodes, size=n_more))]
    head = [*range(1, n_nodes), *(int(node) for node in rng.integers(n_nodes, size=n_more))]
    length = (10.0 ** rng.uniform(-6, 6, size=len(tail))).tolist()
    exact = np.array(reference.exact_laplacian_masses(tail, head, length, n_nodes), dtype=float)
    np.testing.assert_allclose(masses(tail, head, length, n_nodes), exact, rtol=0, atol=1e-12)


@given(metric_graphs(max_size=60, max_parts=3))
def test_any_multigraph_has_the_masses_of_single_eliminations(graph):
    """With loops, parallel edges and components, masses are those computed node by node."""
    network = graph.tail.copy(), graph.head.copy(), graph.length.copy(), graph.n_nodes
    mass = front_masses(*network)
    np.testing.assert_allclose(mass, by_nodes(*network), rtol=0, atol=1e-12)
    assert mass.sum() == pytest.approx(graph.genus, abs=1e-11)
    assert (mass[graph.tail == graph.head] == 1.0).all()


@pytest.mark.parametrize("magnitudes", [1.0, 12.0])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_many_kinds(name, magnitudes):
    """Masses are those computed node by node to 1e-12, for lengths of similar and of all magnitudes."""
    tail, head, length, n_nodes = arrays(NETWORKS[name](), magnitudes=magnitudes)
    mass = front_masses(tail, head, length, n_nodes)
    np.testing.assert_allclose(mass, by_nodes(tail, head, length, n_nodes), rtol=0, atol=1e-12)
    assert (np.abs(mass - 0.5) <= 0.5 + 1e-12).all()


@pytest.mark.parametrize("n_edges", [200, 3000, 12_000])
def test_cities(n_edges):
    """Voronoi cells and grids with gaps: masses are those computed node by node, and add up to the genus."""
    for graph in (tt.datasets.voronoi(n_edges // 3, seed=1), random_street_graph(n_edges, 1)):
        network = graph.tail.copy(), graph.head.copy(), graph.length.copy(), graph.n_nodes
        mass = front_masses(*network)
        np.testing.assert_allclose(mass, by_nodes(*network), rtol=0, atol=1e-13)
        assert mass.sum() == pytest.approx(graph.genus, rel=1e-13)


def test_a_network_agrees_with_a_dense_inverse():
    """A random network with hubs has the resistances of the inverse of its Kirchhoff matrix."""
    graph = nx.compose(nx.gnm_random_graph(500, 900, seed=2), nx.star_graph(300))
    graph = graph.subgraph(max(nx.connected_components(graph), key=len))
    u, v, length, n = arrays(graph)
    kirchhoff = np.zeros((n, n))
    np.add.at(kirchhoff, (u, v), -1 / length)
    kirchhoff += kirchhoff.T
    kirchhoff -= np.diag(kirchhoff.sum(axis=0))
    green = np.linalg.inv(kirchhoff + 1.0 / n)
    expected = 1 - (green[u, u] + green[v, v] - 2 * green[u, v]) / length
    np.testing.assert_allclose(front_masses(u, v, length, n), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n", [40, 67, 300])
def test_complete_graphs_and_cycles(n):
    """Unit lengths: a complete graph has mass 1 - 2/n everywhere, a cycle 1/n."""
    for graph, expected in ((nx.complete_graph(n), 1 - 2 / n), (nx.cycle_graph(n), 1 / n)):
        tail, head, _, _ = arrays(graph)
        np.testing.assert_allclose(masses(tail, head, np.ones(len(tail)), n), expected, rtol=1e-13)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_numbers_and_directions_do_not_matter(seed):
    """Renumbered nodes, reordered and reversed edges give the same masses to 1e-12."""
    rng = np.random.default_rng(seed)
    graph = tt.datasets.voronoi(400, seed=3)
    length = 10.0 ** rng.uniform(-4, 4, graph.n_edges)
    mass = masses(graph.tail, graph.head, length, graph.n_nodes)
    number, order = rng.permutation(graph.n_nodes), rng.permutation(graph.n_edges)
    turned = rng.random(graph.n_edges) < 0.5
    tail = number[np.where(turned, graph.head, graph.tail)][order]
    head = number[np.where(turned, graph.tail, graph.head)][order]
    moved = masses(tail, head, length[order], graph.n_nodes)
    np.testing.assert_allclose(moved, mass[order], rtol=0, atol=1e-12)


def test_the_same_network_has_the_same_bits():
    """Two computations give identical masses, whatever memory held before."""
    network = arrays(NETWORKS["random"]())
    first = front_masses(*network)
    front_masses(*arrays(NETWORKS["hubs"]()))
    np.testing.assert_array_equal(front_masses(*network), first)


def test_large_networks_use_fronts(monkeypatch):
    """`masses` uses fronts from `LARGE` nodes on, and not below."""
    monkeypatch.setattr(resistance, "front_resistances", lambda *network: 0.25 * network[2])
    tail = np.arange(resistance.LARGE)
    head = (tail + 1) % resistance.LARGE
    assert (resistance.masses(tail, head, np.ones(len(tail)), len(tail)) == 0.75).all()
    below = resistance.masses(tail[:9], tail[:9] + 1, np.ones(9), 10)
    np.testing.assert_allclose(below, 0.0, atol=1e-15)


def test_a_network_too_dense_for_the_memory_is_refused(monkeypatch):
    """A network whose elimination leaves too many nodes joined to each other is refused with the figure."""
    monkeypatch.setattr(fronts._memory, "available_bytes", lambda: 1000)
    monkeypatch.setattr(fronts._memory, "_SMALL", 0)
    tail, head = np.array(nx.complete_graph(30).edges).T
    with pytest.raises(tt.RequestTooLargeError, match="leaves 30 nodes"):
        masses(tail, head, np.ones(len(tail)), 30)


def test_products_of_all_shapes():
    """Products of matrices of any size are added, on and right of the diagonal or everywhere."""
    rng = np.random.default_rng(0)
    tile = fronts.Tile(np.full(64 * 64, np.nan), np.full(64 * 4, np.nan), np.full(4 * 64, np.nan))
    for n_rows, n_terms, width in ((1, 1, 1), (3, 5, 7), (64, 64, 64), (70, 66, 131), (4, 130, 67)):
        left, right = rng.random((n_rows, n_terms)), rng.random((n_terms, width))
        scale, before = rng.random(n_terms), rng.random((n_rows, width))
        for upper in (False, True):
            out = before.copy()
            fronts.add_products(
                out.reshape(-1), 0, width, n_rows, left.reshape(-1), 0, n_terms, 1,
                right.reshape(-1), 0, width, scale, n_terms, width, upper, tile,
            )  # fmt: skip
            expected = before + left @ (scale[:, None] * right)
            rows, columns = np.triu_indices(n_rows, 0, width) if upper else np.indices(out.shape)
            np.testing.assert_allclose(out[rows, columns], expected[rows, columns], rtol=1e-13)


def test_fronts_work_without_a_compiler():
    """NUMBA_DISABLE_JIT gives the same resistances, in plain Python."""
    script = (
        "import numpy as np\n"
        "from torelli._numerics.fronts import front_resistances\n"
        "n = np.arange(30)\n"
        "tail, head = np.append(n, n), np.append((n + 1) % 30, np.full(30, 30))\n"
        "print(front_resistances(tail, head, 1.0 + np.arange(60.0), 31).tolist())"
    )
    values = [
        np.array(
            eval(  # noqa: S307  (a list of numbers)
                subprocess.run(  # noqa: S603  (our own script)
                    [sys.executable, "-W", "error", "-c", script],
                    env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
        )
        for disabled in ("0", "1")
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=0, atol=1e-14)
