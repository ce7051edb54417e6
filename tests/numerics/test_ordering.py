"""Orders of elimination by approximate minimum degree."""

from __future__ import annotations

import os
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli._numerics.ordering import neighbours, order_nodes


def adjacency(graph):
    """Return the lists of neighbours of a networkx graph with nodes 0, 1, ..."""
    ends = np.array(graph.edges, dtype=np.int64).reshape(-1, 2).T.copy()
    return neighbours(*ends, graph.number_of_nodes())


def filled(graph, step):
    """Eliminate the nodes by steps, and return the later neighbours of each at its time."""
    rest = {node: set(graph[node]) - {node} for node in graph}
    later = {}
    for node in sorted(graph, key=lambda node: step[node]):
        later[node] = rest.pop(node)
        for other in later[node]:
            rest[other] |= later[node]
            rest[other] -= {node, other}
    return later


def least_degree_entries(graph):
    """Return the number of entries if a node of exactly the least degree is always eliminated first."""
    rest = {node: set(graph[node]) for node in graph}
    entries = 0
    while rest:
        node = min(rest, key=lambda node: (len(rest[node]), node))
        joined = rest.pop(node)
        entries += len(joined)
        for other in joined:
            rest[other] |= joined
            rest[other] -= {node, other}
    return entries


@st.composite
def graphs(draw):
    """Draw a graph of up to 80 nodes: random edges, and up to two hubs with most nodes around them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 80))
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for u, v in rng.integers(n, size=(draw(st.integers(0, 3 * n)), 2)).tolist():
        if u != v:
            graph.add_edge(u, v)
    for hub in rng.integers(n, size=draw(st.integers(0, 2))).tolist():
        graph.add_edges_from((hub, node) for node in range(n) if node != hub and rng.random() < 0.8)
    return graph


def test_neighbours_are_listed_once_and_without_loops():
    """Parallel edges in either direction give one neighbour, and a loop gives none."""
    start, size, lists = neighbours(np.array([0, 1, 0, 2, 2]), np.array([1, 0, 1, 2, 1]), 4)
    found = [sorted(lists[begin : begin + count]) for begin, count in zip(start, size, strict=False)]
    assert found == [[1], [0, 2], [1], []]


@given(graphs())
def test_nodes_of_a_step_have_the_same_mesh(graph):
    """Steps have no gaps; one node of a step is joined to all others and to all their later neighbours."""
    step, n_steps = order_nodes(*adjacency(graph))
    assert set(step.tolist()) == set(range(n_steps))
    rest = {node: set(graph[node]) for node in graph}
    for one in range(n_steps):
        joined = {node: rest.pop(node) for node in graph if step[node] == one}
        together = set(joined).union(*joined.values())
        assert any(others | {node} == together for node, others in joined.items())
        for node in together - set(joined):
            rest[node] = (rest[node] | together) - set(joined) - {node}


@pytest.mark.parametrize(
    "graph",
    [nx.grid_2d_graph(14, 14), nx.random_regular_graph(3, 150, seed=1), nx.cycle_graph(150)],
    ids=["grid", "cubic", "cycle"],
)
def test_meshes_are_about_as_small_as_with_exact_degrees(graph):
    """The entries are at most a quarter more than if nodes of exactly the least degree came first."""
    graph = nx.convert_node_labels_to_integers(graph)
    step, _ = order_nodes(*adjacency(graph))
    entries = sum(len(joined) for joined in filled(graph, step).values())
    assert entries <= 1.25 * least_degree_entries(graph)


def test_hubs_come_last():
    """The hub of a wheel comes after its rim, or with the last of it, and adds one entry to each node."""
    wheel = nx.wheel_graph(400)
    step, _ = order_nodes(*adjacency(wheel))
    rim, _ = order_nodes(*adjacency(nx.cycle_graph(399)))
    assert step[0] == step.max()
    entries = sum(len(joined) for joined in filled(wheel, step).values())
    assert entries <= 399 + sum(len(joined) for joined in filled(nx.cycle_graph(399), rim).values())


def test_hubs_whose_neighbours_form_one_path_add_few_entries():
    """Hubs with neighbours of their own along one path are not all joined to each other early."""
    n_hubs, each = 30, 100
    graph = nx.path_graph(range(n_hubs, n_hubs + n_hubs * each))
    graph.add_edges_from((node, (node - n_hubs) // each) for node in range(n_hubs, n_hubs + n_hubs * each))
    step, _ = order_nodes(*adjacency(graph))
    assert step[:n_hubs].min() > step[n_hubs:].max() - 2
    assert sum(len(joined) for joined in filled(graph, step).values()) < 4 * len(graph)


def test_a_city_has_few_entries():
    """The entries of a planar network of thousands of nodes are a few dozen for each node."""
    city = tt.datasets.voronoi(1500, seed=0)
    graph = nx.Graph(zip(city.tail.tolist(), city.head.tolist(), strict=True))
    step, _ = order_nodes(*adjacency(nx.convert_node_labels_to_integers(graph)))
    later = filled(nx.convert_node_labels_to_integers(graph), step)
    assert sum(len(joined) for joined in later.values()) < 12 * city.n_nodes


_CHECKED = """
import numpy as np
from torelli._numerics import ordering

make = ordering._make_element

def checked(pivot, graph, lists, used, newest):
    end, weight = make(pivot, graph, lists, used, newest)
    assert end - used <= graph[pivot, ordering._DEGREE], "an element is larger than the degree of its pivot"
    return end, weight

ordering._make_element = checked
for seed in (397, 650):
    rng = np.random.default_rng(seed)
    n_hubs, n_others = rng.integers(30, 150), rng.integers(5, 300)
    n = n_hubs + n_others
    tail, head = [], []
    for hub in range(n_hubs):
        near = rng.choice(n_hubs, min(n_hubs, max(17, int(n**0.5) + 1) + 2), replace=False)
        tail += [hub] * len(near)
        head += near.tolist()
    for node in range(n_hubs, n):
        near = rng.choice(n_hubs, rng.integers(1, 6), replace=False)
        tail += [node] * len(near)
        head += near.tolist()
    for _ in range(rng.integers(n_others)):
        tail.append(rng.integers(n_hubs, n))
        head.append(rng.integers(n_hubs, n))
    name = rng.permutation(n)
    ordering.order_nodes(*ordering.neighbours(name[np.array(tail)], name[np.array(head)], n))
"""


def test_degrees_of_hubs_are_upper_bounds():
    """Room is made for the nodes that a hub joins by its degree, which must never be too small."""
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", _CHECKED],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
