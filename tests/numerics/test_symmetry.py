"""The canonical order of edges: the same for every drawing of a graph, another for another graph."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli._numerics import symmetry
from torelli._numerics.currents import resistance_modulo

BUDGET = 10**8
PRISM = nx.circular_ladder_graph(4)
TWISTED = nx.circulant_graph(8, [1, 4])  # cubic on 8 nodes as well: the Möbius ladder
FAMILIES = {
    "complete": nx.complete_graph(5),
    "bipartite": nx.complete_bipartite_graph(3, 3),
    "petersen": nx.petersen_graph(),
    "prism": PRISM,
    "twisted prism": TWISTED,
    "wheel": nx.wheel_graph(6),
}


def arrays(graph):
    """Return the end points of a networkx graph."""
    ends = np.array(graph.edges, dtype=np.int64)
    return ends[:, 0].copy(), ends[:, 1].copy(), graph.number_of_nodes()


def canonical(tail, head, n_nodes, colour, budget=BUDGET):
    """Return the order and certificate of a graph, whether it is decided, and its exact currents in order."""
    block = symmetry.coloured_block(tail, head, 1.0 + colour, n_nodes, colour)
    order, certificate, decided = symmetry.search(block, budget)
    table = np.array(
        [[resistance_modulo(block.exact, tail, head, c, d) for d in order] for c in order], dtype=np.uint64
    )
    # the direction of an edge means nothing
    return order, certificate, decided, np.minimum(table, np.uint64(2**31 - 1) - table)


def redrawn(tail, head, n_nodes, colour, rng):
    """Return the graph with other numbers of nodes and edges, and other directions."""
    order, name = rng.permutation(len(tail)), rng.permutation(n_nodes)
    turn = rng.random(len(tail)) < 0.5
    one, two = name[np.where(turn, head, tail)], name[np.where(turn, tail, head)]
    return one[order], two[order], n_nodes, colour[order]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n_colours", [1, 2])
def test_every_drawing_has_one_certificate(name, n_colours):
    """Symmetric graphs, redrawn, have the same certificate, colours and currents in canonical order."""
    rng = np.random.default_rng(len(name))
    tail, head, n_nodes = arrays(FAMILIES[name])
    graph = tail, head, n_nodes, rng.integers(n_colours, size=len(tail))
    order, certificate, decided, table = canonical(*graph)
    assert decided
    assert sorted(order) == list(range(len(tail)))
    for _ in range(5):
        other = redrawn(*graph, rng)
        again, same, decided, other_table = canonical(*other)
        assert decided
        assert same == certificate
        assert np.array_equal(graph[3][order], other[3][again])
        assert np.array_equal(table, other_table)


@given(st.integers(0, 2**32 - 1), st.integers(4, 7), st.integers(1, 3))
def test_any_drawing_of_any_graph(seed, n_nodes, n_colours):
    """The same for a ring with random chords, parallel ones too."""
    rng = np.random.default_rng(seed)
    chords = rng.integers(n_nodes, size=(2, n_nodes))
    ring = np.arange(n_nodes)
    tail, head = np.concatenate([[ring, (ring + 1) % n_nodes], chords[:, chords[0] != chords[1]]], axis=1)
    graph = tail, head, n_nodes, rng.integers(n_colours, size=len(tail))
    one, two = canonical(*graph), canonical(*redrawn(*graph, rng))
    assert one[1:3] == two[1:3]
    assert one[2]
    assert np.array_equal(one[3], two[3])


def test_other_graphs_have_other_certificates():
    """Graphs of equal degrees that are not isomorphic, and colourings that no symmetry maps, differ."""
    one, two = (canonical(*arrays(graph), np.zeros(12, np.int64))[1] for graph in (PRISM, TWISTED))
    assert one != two
    tail, head, n_nodes = arrays(nx.complete_graph(4))
    pairs = {}
    for a in range(6):
        for b in range(a):
            colour = np.zeros(6, np.int64)
            colour[[a, b]] = 1
            touching = bool({tail[a], head[a]} & {tail[b], head[b]})
            pairs.setdefault(touching, set()).add(canonical(tail, head, n_nodes, colour)[1])
    assert len(pairs[True]) == len(pairs[False]) == 1
    assert pairs[True] != pairs[False]


def test_colours_come_first():
    """Edges of a smaller colour stand before those of a larger one."""
    rng = np.random.default_rng(0)
    tail, head, n_nodes = arrays(nx.complete_graph(6))
    colour = rng.integers(3, size=len(tail))
    order = canonical(tail, head, n_nodes, colour)[0]
    assert (np.diff(colour[order]) >= 0).all()


def test_a_search_that_is_given_up_says_so():
    """Without a budget a graph that needs a search gets an order of all edges, which is not decided."""
    rng = np.random.default_rng(1)
    shrikhande = nx.Graph(
        ((x, y), ((x + a) % 4, (y + b) % 4))
        for x in range(4)
        for y in range(4)
        for a, b in ((1, 0), (0, 1), (1, 1))
    )
    graph = *arrays(nx.convert_node_labels_to_integers(shrikhande)), np.zeros(48, np.int64)
    assert canonical(*graph)[2]
    order, _, decided, _ = canonical(*redrawn(*graph, rng), budget=0)
    assert not decided
    assert sorted(order) == list(range(48))
