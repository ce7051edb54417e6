"""Bridges and C1-sets: the same edges, in whatever order they are given."""

from __future__ import annotations

import functools

import networkx as nx
import numba
import numpy as np
import pytest

import reference
import torelli as tt
from torelli._errors import DataNotFoundError
from torelli._numerics.core import _random_words


def cubic(seed):
    """Return a 3-regular graph of 300 edges."""
    ends = np.array(nx.random_regular_graph(3, 200, seed=seed).edges)
    return tt.MetricGraph(*ends.T, np.ones(len(ends)))


def subdivided_pattern(seed):
    """Return a synthetic street window with 200 points more on its edges."""
    pattern = ("gridiron", "linear", "chaotic", "tributary")[seed % 4]
    return tt.datasets.street_pattern(pattern, radius=400, seed=seed).subdivide(200, seed=seed)


def street_window(seed):
    """Return a window of a real city."""
    windows = street_windows()
    if not windows:
        pytest.skip("the shared data has no street windows here: set TORELLI_DATA")
    return windows[seed % len(windows)]


@functools.cache
def street_windows():
    """Return windows of real cities, none where the shared data are missing."""
    try:
        return tt.datasets.load_local("city120").graphs
    except DataNotFoundError:
        return []


FAMILIES = (cubic, subdivided_pattern, street_window)


def reordered(graph, rng):
    """Return a graph with its edges in another order, some reversed, its nodes renumbered; and the order."""
    order, name = rng.permutation(graph.n_edges), rng.permutation(graph.n_nodes)
    ends = name[np.stack([graph.tail, graph.head])[:, order]]
    turned = rng.random(graph.n_edges) < 0.5
    tail, head = np.where(turned, ends[::-1], ends)
    return tt.MetricGraph(tail, head, rng.uniform(1.0, 2.0, graph.n_edges), graph.n_nodes), order


def first_of_class(label):
    """Return the first place of the label at each place; -1 stays."""
    first = np.full(len(label) + 1, -1)  # the last place is that of label -1
    members = np.flatnonzero(label >= 0)[::-1]
    first[label[members]] = members
    return first[label]


def count_misread(graph, times, seed):
    """Count the reorderings of a graph whose bridges and C1-sets are not those of the reference."""
    rng = np.random.default_rng(seed)
    expected = reference.c1_sets(graph)
    misread = 0
    for _ in range(times):
        other, order = reordered(graph, rng)
        label = np.empty(graph.n_edges, dtype=np.int64)
        label[order] = tt.canonical_model(other).edge_class
        misread += not np.array_equal(first_of_class(label), expected)
    return misread


@pytest.mark.parametrize("family", FAMILIES)
def test_bridges_and_c1_sets_do_not_depend_on_the_order_of_edges(family):
    """Reordered, reversed and renumbered edges are the C1-sets by which removing one makes bridges."""
    assert [count_misread(family(seed), 500, seed) for seed in range(4)] == [0] * 4


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
@pytest.mark.parametrize("family", FAMILIES)
def test_bridges_and_c1_sets_do_not_depend_on_300_000_orders(family, batch):
    """The same for 10,000 orders a batch, of ten graphs."""
    seeds = range(10 * batch, 10 * batch + 10)
    assert [count_misread(family(seed), 1000, seed) for seed in seeds] == [0] * 10


def test_c1_sets_do_not_depend_on_edge_numbers():
    """A theta is a theta wherever its edges stand in the list: here among 131 pendant edges."""
    tail, head, length = np.zeros(134, dtype=int), np.arange(2, 136), np.ones(134)
    for members, ends, strand in ((0, (0, 1), 1.0), (66, (0, 1), 2.0), (133, (1, 0), 3.0)):
        (tail[members], head[members]), length[members] = ends, strand
    assert tt.torelli_matrix(tt.MetricGraph(tail, head, length)).tolist() == [[3.0, 1.0], [1.0, 4.0]]


def assert_same_matrix_after_subdivision(graph):
    refined = graph.subdivide(200, seed=668)
    assert graph.is_generic
    assert refined.is_generic
    Q = tt.torelli_matrix(graph)
    assert np.allclose(Q, tt.torelli_matrix(refined), rtol=0, atol=1e-9 * np.abs(Q).max())


def test_points_on_edges_of_a_street_pattern_do_not_change_the_matrix():
    """A window and a refinement of it have one matrix."""
    assert_same_matrix_after_subdivision(tt.datasets.street_pattern("chaotic", seed=[0, 2, 68]))


@pytest.mark.slow
def test_points_on_edges_of_one_of_1200_patterns_do_not_change_the_matrix():
    """The same window, as a user finds it in a large set."""
    assert_same_matrix_after_subdivision(tt.datasets.street_patterns(300, seed=0).graphs[668])


def count_relations(words):
    """Count the sums and differences of two words that are 0, or equal to a word up to sign."""
    small = np.unique(np.concatenate([[np.uint64(0)], words, -words]))
    begins = np.zeros(2**22, dtype=bool)
    begins[small >> 42] = True
    return _count_sums_among(np.sort(words), small, begins)


@numba.njit
def _count_sums_among(words, small, begins):
    """Count the sums and differences of two words that are small; few others begin as one of these."""
    count = 0
    for i in range(len(words)):
        for j in range(i + 1):
            plus, minus = words[i] + words[j], words[i] - words[j]
            if begins[plus >> np.uint64(42)]:
                count += _is_among(plus, small)
            if begins[minus >> np.uint64(42)] and i != j:
                count += _is_among(minus, small)
    return count


@numba.njit
def _is_among(word, ascending):
    low, high = 0, len(ascending)
    while high - low > 1:
        middle = (low + high) // 2
        if ascending[middle] <= word:
            low = middle
        else:
            high = middle
    return ascending[low] == word


@pytest.mark.parametrize("n_words", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_words_have_no_relation_of_three(n_words):
    """No word is 0, another's double, or equal to another or to a sum of two others, up to signs."""
    words = np.array([_random_words(np.uint64(edge)) for edge in range(n_words)], dtype=np.uint64)
    assert [count_relations(column) for column in words.T.copy()] == [0, 0]


def test_the_search_for_relations_finds_each_kind():
    """Words that are related in one way are counted once or more; those of one bit are not."""
    words = np.uint64(1) << np.arange(0, 60, 3, dtype=np.uint64)
    assert count_relations(words) == 0
    one, two = words[[4]], words[[9]]
    for related in (0 * one, one, -one, 2 * one, -one - one, one + two, one - two, -one - two):
        assert count_relations(np.append(words, related)) > 0


def test_words_are_those_of_the_authors_of_the_cipher():
    """Threefry-2x64 of 20 rounds gives the known answer of Random123 for the digits of pi."""
    assert _random_words(np.uint64(0x243F6A8885A308D3)) == (0x263C7D30BB0F0AF1, 0x56BE8361D3311526)
