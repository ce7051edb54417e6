"""The canonical model: what the metric space determines, and nothing else."""

from __future__ import annotations

import contextlib
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import (
    ISOMETRIES,
    MOVES,
    metric_graphs,
    moves,
    relabel,
    reverse_edges,
    subdivide,
    twisted_pairs,
)

EXAMPLES = settings(max_examples=300)


@contextlib.contextmanager
def ties_allowed():
    """Leave ties in the drawn lengths without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.NonGenericWarning)
        yield


def assert_same_matrix(A, B):
    """Equal size, and equal to 1e-9 of the largest entry."""
    assert A.shape == B.shape
    assert np.abs(A - B).max(initial=0.0) <= 1e-9 * np.abs(A).max(initial=0.0)


@EXAMPLES
@given(metric_graphs(), moves())
def test_the_matrix_does_not_change_under_any_mix_of_moves(graph, move):
    """Subdividing, relabelling, shuffling, reversing, bridges, trees and joins leave Q alone."""
    assume(graph.is_generic)
    assert_same_matrix(tt.torelli_matrix(graph), tt.torelli_matrix(move(graph)))


@EXAMPLES
@given(metric_graphs(), moves(among=ISOMETRIES))
def test_doubled_bridges_do_not_change_with_the_drawing(graph, move):
    """Subdividing, relabelling, shuffling and reversing leave Q with its bridges alone."""
    assume(graph.is_generic)
    assert_same_matrix(
        tt.torelli_matrix(graph, bridges="double"), tt.torelli_matrix(move(graph), bridges="double")
    )


@EXAMPLES
@given(metric_graphs())
def test_doubling_is_the_matrix_of_the_graph_with_a_copy_of_every_chain(graph):
    """Doubling gives, but for the order of rows, the matrix of a graph that has each chain twice."""
    model = tt.canonical_model(graph)
    copies = np.concatenate([np.arange(0), *model.bridge_chains]).astype(int)
    # a copy of a chain has the ends of the chain and inner points of its own
    tail, head, n_nodes = graph.tail.copy(), graph.head.copy(), graph.n_nodes
    new_tail, new_head = [], []
    for chain in model.bridge_chains:
        ends = np.concatenate([graph.tail[chain], graph.head[chain]])
        inner = [node for node in np.unique(ends) if np.count_nonzero(ends == node) == 2]
        name = {node: n_nodes + i for i, node in enumerate(inner)}
        n_nodes += len(inner)
        new_tail += [name.get(node, node) for node in graph.tail[chain]]
        new_head += [name.get(node, node) for node in graph.head[chain]]
    twice = tt.MetricGraph(
        np.append(tail, new_tail),
        np.append(head, new_head),
        np.append(graph.length, graph.length[copies]),
        n_nodes,
    )
    with ties_allowed():
        Q, expected = tt.torelli_matrix(graph, bridges="double"), tt.torelli_matrix(twice)
    assert len(Q) == twice.genus
    assert np.allclose(np.linalg.eigvalsh(Q), np.linalg.eigvalsh(expected), rtol=1e-9, atol=1e-9)
    assert np.linalg.norm(Q) == pytest.approx(np.linalg.norm(expected))


@given(metric_graphs())
def test_cycles_stay_where_they_are_when_bridges_are_doubled(graph):
    """The leading block is the matrix without bridges; the rest is diagonal, the longest chain first."""
    with ties_allowed():
        Q, cycles = tt.torelli_matrix(graph, bridges="double"), tt.torelli_matrix(graph)
    g = graph.genus
    assert np.array_equal(Q[:g, :g], cycles)
    chains = tt.canonical_model(graph).bridge_chains
    totals = np.array([2 * graph.length[chain].sum() for chain in chains])
    assert np.allclose(Q[g:], np.hstack([np.zeros((len(chains), g)), np.diag(totals)]), rtol=1e-12)
    assert np.all(np.diff(totals) <= 1e-12 * totals[:1].sum())
    assert sorted(np.concatenate([np.arange(0), *chains]).tolist()) == reference.bridges(graph)


def test_a_tree_is_the_lengths_of_its_branches():
    """Edges that meet in a point of degree 2 are one branch; leaves and forks end it."""
    # a fork at 0 with branches 0-1-2 (3 + 4), 0-3 (5) and 0-4 (1), in an order that mixes them
    tree = tt.MetricGraph([1, 0, 0, 0], [2, 3, 1, 4], [4.0, 5.0, 3.0, 1.0])
    assert tt.torelli_matrix(tree, bridges="double").tolist() == np.diag([14.0, 10.0, 2.0]).tolist()
    assert tt.torelli_matrix(tree).shape == (0, 0)
    assert [chain.tolist() for chain in tt.canonical_model(tree).bridge_chains] == [[0, 2], [1], [3]]


def test_a_cycle_ends_a_chain_of_bridges():
    """A point of degree 2 that carries bridges only is passed; one with a loop on it is not."""
    path = tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0])
    with_loop = tt.MetricGraph([0, 1, 1], [1, 2, 1], [1.0, 2.0, 7.0])
    assert tt.torelli_matrix(path, bridges="double").tolist() == [[6.0]]
    assert tt.torelli_matrix(with_loop, bridges="double").tolist() == np.diag([7.0, 4.0, 2.0]).tolist()
    assert tt.torelli_matrix(tt.MetricGraph([], [], [], 3), bridges="double").shape == (0, 0)


def test_a_bridge_that_shrinks_to_nothing_moves_nothing():
    """Zero padding and the longest first make the matrix continuous in the lengths of bridges."""
    whole = tt.torelli_matrix(tt.MetricGraph([0, 0, 0], [1, 2, 3], [3.0, 1e-9, 5.0]), bridges="double")
    limit = np.diag([10.0, 6.0])
    assert tt.distance(whole, limit, "tte") < 1e-8


def test_doubled_bridges_of_equal_length_need_no_warning():
    """Ties among bridges leave the matrix determined."""
    star = tt.MetricGraph([0, 0, 0], [1, 2, 3], [1.0, 1.0, 1.0])
    assert tt.torelli_matrix(star, bridges="double").tolist() == (2 * np.eye(3)).tolist()


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_each_move_alone_leaves_the_matrix(move):
    """Every move is exercised by itself on graphs where it does something."""
    moved = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = 12
        half = np.repeat([0, n], 12)
        tail, head = rng.integers(n, size=24) + half, rng.integers(n, size=24) + half
        graph = tt.MetricGraph(tail, head, rng.uniform(0.01, 10.0, 24), 2 * n)
        after = move(graph, rng)
        moved += after != graph
        assert_same_matrix(tt.torelli_matrix(graph), tt.torelli_matrix(after))
    assert moved > 10


@EXAMPLES
@given(twisted_pairs())
def test_swapping_the_sides_of_a_cut_leaves_the_matrix(pair):
    """A 2-isomorphism does not change Q, as Theorem 4.2 of the paper wants it."""
    one, two, differ = pair
    assume(one.is_generic and differ)
    assert_same_matrix(tt.torelli_matrix(one), tt.torelli_matrix(two))


@given(metric_graphs())
def test_the_matrix_is_the_gram_matrix_of_the_listed_cycles(graph):
    """Q = M diag(length) M^T, where M lists the basis cycles as signed edges of the input."""
    M = tt.canonical_model(graph).cycle_edge_matrix.toarray()
    with ties_allowed():
        Q = tt.torelli_matrix(graph)
    assert np.allclose(M @ np.diag(graph.length) @ M.T, Q, rtol=1e-12, atol=1e-12)


@given(metric_graphs())
def test_bridges_and_c1_sets(graph):
    """Bridges are the edges on no cycle; removing an edge turns its C1-set into bridges."""
    model = tt.canonical_model(graph)
    bridges = reference.bridges(graph)
    assert model.bridges.tolist() == bridges
    assert sorted(np.concatenate([*model.c1_sets, model.bridges]).tolist()) == list(range(graph.n_edges))
    for members in model.c1_sets[:4]:
        kept = np.setdiff1d(np.arange(graph.n_edges), members[:1])
        rest = tt.MetricGraph(graph.tail[kept], graph.head[kept], graph.length[kept], graph.n_nodes)
        new = set(kept[reference.bridges(rest)].tolist()) - set(bridges)
        assert new == set(members[1:].tolist())


@given(metric_graphs())
def test_the_core_is_small_and_has_the_same_genus_and_length(graph):
    """At most 3(g - 1) edges are left, loops aside, and all length but the bridges'."""
    model = tt.canonical_model(graph)
    assert model.core.genus == graph.genus == model.genus == len(model.cycles)
    assert reference.bridges(model.core) == []
    on_cycles = graph.total_length - graph.length[model.bridges].sum()
    assert model.core.total_length == pytest.approx(on_cycles, rel=1e-12, abs=1e-12)
    if model.genus:
        assert model.core.n_edges - model.core.n_loops <= max(3 * (model.genus - 1), 0)


def test_cycles_are_given_as_edges_of_the_input():
    """On a subdivided theta with a tail each cycle lists its own edges and no bridge."""
    # strands 0-1 (edge 0), 0-2-1 (edges 1, 2), 0-3-4-1 (edges 3, 4, 5), bridge 1-5 (edge 6)
    G = tt.MetricGraph([0, 0, 2, 0, 3, 4, 1], [1, 2, 1, 3, 4, 1, 5], [1.0, 1.0, 1.5, 2.0, 2.0, 2.0, 9.0])
    model = tt.canonical_model(G)
    assert [cycle.tolist() for cycle in model.cycles] == [[0, 1, 2], [0, 3, 4, 5]]
    assert model.bridges.tolist() == [6]
    assert model.core.length.tolist() == [1.0, 2.5, 6.0]


def test_the_counterexample_to_theorem_3_2():
    """Cutting the edge 3 of the theta (1, 2, 3) changes the literal matrix and not the canonical one."""
    theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    cut = tt.MetricGraph([0, 0, 0, 2], [1, 1, 2, 1], [1.0, 2.0, 1.6, 1.4])
    assert tt.torelli_matrix(theta, "literal").tolist() == [[3.0, 1.0], [1.0, 4.0]]
    assert np.allclose(tt.torelli_matrix(cut, "literal"), [[4.0, 1.0], [1.0, 3.0]])
    assert tt.torelli_matrix(theta).tolist() == [[3.0, 1.0], [1.0, 4.0]]
    assert np.allclose(tt.torelli_matrix(cut), [[3.0, 1.0], [1.0, 4.0]], rtol=1e-15)


def test_ties_made_by_rounding_are_seen():
    """Totals that differ by rounding of a sum only count as tied."""
    tenths = tt.MetricGraph([0] * 3 + [0, 1], [2, 2, 2, 1, 2], [0.1 + 0.2, 0.5, 0.9, 0.1, 0.2])
    assert 0.1 + 0.2 != 0.3
    assert tenths.summary().n_ties == 1


@EXAMPLES
@given(metric_graphs(max_size=4, max_parts=2))
def test_determinant_and_lattice_do_not_depend_on_the_model(graph):
    """The determinant is the weighted sum over complements of spanning forests; bases differ unimodularly."""
    assume(graph.n_edges <= 14)
    with ties_allowed():
        canonical, literal = tt.torelli_matrix(graph), tt.torelli_matrix(graph, "literal")
    expected = reference.spanning_forest_polynomial(graph)
    assert np.linalg.det(canonical) == pytest.approx(expected, rel=1e-9)
    assert np.linalg.det(literal) == pytest.approx(expected, rel=1e-9)
    _, M_literal = reference.literal(graph)
    M = tt.canonical_model(graph).cycle_edge_matrix.toarray()
    change = np.linalg.lstsq(M.T, M_literal.T)[0].T if len(M) else np.zeros((0, 0))
    assert np.allclose(change, np.round(change), atol=1e-9)
    assert abs(np.linalg.det(np.round(change))) == pytest.approx(1.0)
    assert np.allclose(change @ canonical @ change.T, literal, rtol=1e-9, atol=1e-9)


def test_signs_do_not_depend_on_rounding():
    """An overlap that is lost in the rounding of a long path still tells in which sense cycles run."""
    tail, head = [3, 3, 3, 0, 1, 0], [0, 1, 2, 1, 2, 2]
    length = [1e17, 1, 2e17, 3e17, 4e17, 5e17]
    one = tt.torelli_matrix(tt.MetricGraph(tail, head, length))
    two = tt.torelli_matrix(tt.MetricGraph(head, tail, length))
    assert np.array_equal(np.sign(one), np.sign(two))
    assert_same_matrix(one, two)


@given(st.integers(0, 2**32), st.integers(3, 12), st.integers(1, 24))
def test_overlaps_have_the_sign_of_the_edges_they_share(seed, n_nodes, genus):
    """However short a shared edge is beside the cycles, and wherever the cycles stand among each other."""
    rng = np.random.default_rng(seed)
    n_edges = n_nodes + genus
    ends = rng.integers(n_nodes, size=(2, n_edges))
    graph = tt.MetricGraph(*ends, 10.0 ** rng.uniform(-20, 20, n_edges), n_nodes)
    M = tt.canonical_model(graph).cycle_edge_matrix
    Q = tt.torelli_matrix(graph)
    assert np.array_equal(np.sign(Q), np.sign((M @ M.T).toarray()))
    assert np.array_equal(Q, Q.T)


def test_a_lattice_of_many_decades():
    """Lengths over twelve decades keep the matrix under refinement and reversal."""
    rng = np.random.default_rng(0)
    graph = tt.MetricGraph(
        rng.integers(30, size=90), rng.integers(30, size=90), 10.0 ** rng.uniform(-6, 6, 90), 30
    )
    for seed in range(10):
        move = np.random.default_rng(seed)
        again = reverse_edges(relabel(subdivide(graph, move), move), move)
        assert_same_matrix(tt.torelli_matrix(graph), tt.torelli_matrix(again))


def test_networkx_graphs_are_converted():
    """The model takes what the matrix takes."""
    G = nx.cycle_graph(4)
    nx.set_edge_attributes(G, 2.0, "metres")
    assert tt.canonical_model(G, length="metres").cycles[0].tolist() == [0, 1, 2, 3]
    assert tt.torelli_matrix(G, length="metres").tolist() == [[8.0]]
