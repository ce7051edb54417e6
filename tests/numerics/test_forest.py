"""Spanning forests, fundamental cycles and their Gram matrices."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from strategies import metric_graphs
from torelli._numerics import forest


def forest_and_chords(graph):
    """Return which edges a minimum spanning forest takes, and the others by length."""
    order = forest.argsort(graph.length)
    in_tree, chords = np.empty(graph.n_edges, bool), np.empty(graph.n_edges, np.int64)
    count = forest.kruskal(graph.tail, graph.head, graph.n_nodes, order, in_tree, chords)
    return in_tree, chords[:count]


@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, np.inf]) | st.floats(0, 1e300), max_size=40),
    st.sampled_from([1, 5, 10, 100]),
)
def test_sorting_is_stable_whatever_the_length(values, times):
    """Short arrays are sorted in another way than long ones, with the same order, ties included."""
    array = np.array(values * times, dtype=np.float64)
    assert np.array_equal(forest.argsort(array), np.argsort(array, kind="stable"))


@given(metric_graphs())
def test_the_forest_is_a_minimum_one_that_spans(graph):
    """It has the length of networkx's forest and no cycle, and the chords are the other edges by length."""
    G = reference.as_networkx(graph)
    in_tree, chords = forest_and_chords(graph)
    expected = nx.minimum_spanning_tree(G, weight="length").size(weight="length")
    assert graph.length[in_tree].sum() == pytest.approx(expected, abs=1e-12)
    n_parts = nx.number_connected_components(G)
    assert in_tree.sum() == graph.n_nodes - n_parts
    assert forest.count_components(graph.tail[in_tree], graph.head[in_tree], graph.n_nodes) == n_parts
    assert sorted(chords) == np.flatnonzero(~in_tree).tolist()
    assert (np.diff(graph.length[chords]) >= 0).all()


@given(metric_graphs())
def test_nodes_come_after_their_parents(graph):
    """The order lists each node once, and the parent edge of a node leads to one that came before."""
    order, parent_edge = forest.rooted_forest(graph.tail, graph.head, graph.n_nodes)
    assert sorted(order) == list(range(graph.n_nodes))
    place = np.argsort(order)
    roots = 0
    for node, edge in enumerate(parent_edge.tolist()):
        if edge < 0:
            roots += 1
            continue
        ends = {int(graph.tail[edge]), int(graph.head[edge])}
        assert node in ends
        assert min(place[list(ends)]) < place[node]
    assert roots == nx.number_connected_components(reference.as_networkx(graph))


@given(metric_graphs())
def test_incident_edges_are_listed_node_by_node(graph):
    """Each edge stands at both of its ends, a loop twice at its node."""
    first, incident = forest.incident_edges(graph.tail, graph.head, graph.n_nodes)
    for node in range(graph.n_nodes):
        expected = [*np.flatnonzero(graph.tail == node), *np.flatnonzero(graph.head == node)]
        assert sorted(incident[first[node] : first[node + 1]]) == sorted(expected)


@given(metric_graphs())
def test_listed_cycles_are_closed_and_their_gram_matrix_is_that_of_the_potentials(graph):
    """Each cycle has its chord and tree edges alone and no boundary; Q is M diag(length) Mᵀ."""
    in_tree, chords = forest_and_chords(graph)
    cycle, edge, sign = forest.fundamental_cycles(graph.tail, graph.head, graph.n_nodes, in_tree, chords)
    M = np.zeros((len(chords), graph.n_edges))
    np.add.at(M, (cycle, edge), sign)
    incidence = np.zeros((graph.n_nodes, graph.n_edges))
    np.add.at(incidence, (graph.head, np.arange(graph.n_edges)), 1.0)
    np.add.at(incidence, (graph.tail, np.arange(graph.n_edges)), -1.0)
    assert not (incidence @ M.T).any()
    assert np.array_equal(M[:, ~in_tree][:, np.argsort(np.argsort(chords))], np.eye(len(chords)))
    Q = np.empty((len(chords), len(chords)))
    forest.gram_of_cycles(graph.tail, graph.head, graph.length, graph.n_nodes, in_tree, chords, Q.reshape(-1))
    np.testing.assert_allclose(Q, M @ np.diag(graph.length) @ M.T, rtol=1e-9, atol=1e-9)


def test_the_gram_matrix_of_a_theta():
    """Strands 1, 2 and 3 have the cycles 1 + 2 and 1 + 3, which share the strand 1."""
    tail, head, length = np.zeros(3, np.int64), np.ones(3, np.int64), np.array([1.0, 2.0, 3.0])
    Q = np.empty((2, 2))
    forest.gram_of_cycles(
        tail, head, length, 2, np.array([True, False, False]), np.array([1, 2]), Q.reshape(-1)
    )
    assert Q.tolist() == [[3.0, 1.0], [1.0, 4.0]]


@given(st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_signs_are_those_of_one_choice_whatever_the_directions(seed, genus):
    """Turning any cycles around first gives the same matrix, which differs from the first by signs alone."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-1, 2, size=(genus, genus)).astype(float)
    Q = A @ A.T
    turn = rng.choice([-1.0, 1.0], size=genus)
    one, two = Q.copy(), turn[:, None] * Q * turn
    sign = forest.fix_signs(one.reshape(-1), genus)
    forest.fix_signs(two.reshape(-1), genus)
    assert np.array_equal(one, two)
    assert np.array_equal(one, sign[:, None] * Q * sign)
    assert not np.signbit(one[one == 0]).any()


def test_signs_follow_the_first_overlap():
    """A cycle runs along the one before it that it overlaps with, here the first and then the second."""
    Q = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    assert forest.fix_signs(Q.reshape(-1), 3).tolist() == [1.0, -1.0, 1.0]
    assert Q.tolist() == [[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]


@given(st.lists(st.integers(0, 5), max_size=20))
def test_members_are_listed_by_label_in_their_order(labels):
    """The members of a label stand together, ascending."""
    first, member = forest.members_by_label(np.array(labels, dtype=np.int64), 6)
    for label in range(6):
        expected = [i for i, value in enumerate(labels) if value == label]
        assert member[first[label] : first[label + 1]].tolist() == expected
