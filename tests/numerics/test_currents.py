"""Currents on networks of resistors, real and modulo a prime, against dense inverses and fractions."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli._numerics import currents

P = int(currents.PRIME)


@st.composite
def connected(draw):
    """Draw a connected multigraph with whole lengths: a random tree and further edges."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_nodes, extra = draw(st.integers(2, 7)), draw(st.integers(0, 8))
    tree = [(int(rng.integers(i)), i) for i in range(1, n_nodes)]
    ends = np.array(tree + rng.integers(n_nodes, size=(extra, 2)).tolist())
    ends = ends[ends[:, 0] != ends[:, 1]]
    return ends[:, 0].copy(), ends[:, 1].copy(), rng.integers(1, 50, size=len(ends)), n_nodes


def laplacian(tail, head, conductance, n_nodes):
    """Return the weighted Laplacian."""
    L = np.zeros((n_nodes, n_nodes), dtype=object if isinstance(conductance[0], Fraction) else float)
    for a, b, weight in zip(tail, head, conductance, strict=True):
        L[a, a] += weight
        L[b, b] += weight
        L[a, b] -= weight
        L[b, a] -= weight
    return L


@given(connected())
def test_potentials_are_the_inverse_of_the_grounded_laplacian(network):
    """Without the last node they are numpy's inverse; the last node has potential 0."""
    tail, head, length, n_nodes = network
    computed = currents.potentials(tail, head, length.astype(float), n_nodes)
    expected = np.linalg.inv(laplacian(tail, head, 1.0 / length, n_nodes)[:-1, :-1])
    np.testing.assert_allclose(computed[:-1, :-1], expected, rtol=1e-9, atol=1e-9 * expected.max())
    assert not computed[-1].any()
    assert not computed[:, -1].any()


@given(connected())
def test_resistances_are_those_of_networkx(network):
    """The potential difference over an edge for a current along itself is the effective resistance."""
    tail, head, length, n_nodes = network
    inverse = currents.potentials(tail, head, length.astype(float), n_nodes)
    G = nx.MultiGraph()
    G.add_nodes_from(range(n_nodes))
    G.add_edges_from((u, v, {"length": x}) for u, v, x in zip(tail, head, length.astype(float), strict=True))
    for edge in range(len(tail)):
        expected = nx.resistance_distance(G, int(tail[edge]), int(head[edge]), weight="length")
        assert currents.resistance(inverse, tail, head, edge, edge) == pytest.approx(expected, rel=1e-8)


def exact_inverse(L):
    """Return the inverse of a matrix of fractions, by elimination."""
    n = len(L)
    rows = [[*map(Fraction, row), *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(L)]
    for k in range(n):
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]


@given(connected())
def test_potentials_modulo_the_prime_are_the_exact_ones(network):
    """Exact rational potentials, taken modulo the prime, are what is computed there."""
    tail, head, weight, n_nodes = network
    computed = currents.potentials_modulo(tail, head, weight.astype(np.uint64), n_nodes)
    fractions = [Fraction(int(x)) for x in weight]
    exact = exact_inverse(laplacian(tail, head, fractions, n_nodes)[:-1, :-1])
    expected = [[x.numerator * pow(x.denominator, -1, P) % P for x in row] for row in exact]
    assert computed[:-1, :-1].tolist() == expected
    for c in range(len(tail)):
        for d in range(len(tail)):
            entry = lambda x, y: 0 if n_nodes - 1 in {x, y} else expected[x][y]  # noqa: E731
            drop = (
                entry(tail[c], tail[d])
                - entry(tail[c], head[d])
                - entry(head[c], tail[d])
                + entry(head[c], head[d])
            )
            assert currents.resistance_modulo(computed, tail, head, c, d) == drop % P


def test_without_an_inverse_modulo_the_prime_the_matrix_is_empty():
    """Conductances that add up to the prime at a node have no potentials there, and none are made up."""
    ends = np.array([0, 0]), np.array([1, 1])
    conductance = np.array([1, P - 1], dtype=np.uint64)
    assert currents.potentials_modulo(*ends, conductance, 2).shape == (0, 0)


@given(connected(), st.integers(0, 2**32 - 1))
def test_words_of_pairs_do_not_depend_on_directions_and_names(network, seed):
    """Turning edges around and renumbering nodes leaves the word of each pair of edges alone."""
    tail, head, weight, n_nodes = network
    rng = np.random.default_rng(seed)
    name, turn = rng.permutation(n_nodes), rng.random(len(tail)) < 0.5
    other = name[np.where(turn, head, tail)], name[np.where(turn, tail, head)]

    def words(tail, head):
        systems = (weight.astype(np.uint64), (weight**2 + 1).astype(np.uint64))
        return currents.pair_words(
            *(currents.potentials_modulo(tail, head, system, n_nodes) for system in systems), tail, head
        )

    assert np.array_equal(words(tail, head), words(*other))


def test_rounding_grows_with_the_range_of_lengths():
    """The bound covers the error of potentials whose lengths differ by six magnitudes."""
    rng = np.random.default_rng(0)
    ends = np.array(nx.complete_graph(8).edges)
    length = 10.0 ** rng.uniform(-3, 3, len(ends))
    tail, head = ends[:, 0].copy(), ends[:, 1].copy()
    inverse = currents.potentials(tail, head, length, 8)
    fractions = [1 / Fraction(float(x)) for x in length]
    exact = np.array(exact_inverse(laplacian(tail, head, fractions, 8)[:-1, :-1]), dtype=float)
    bound = currents.rounding(length, 8)
    assert np.abs(inverse[:-1, :-1] - exact).max() <= bound * length.max()
    assert currents.rounding(length * 7.0, 8) == pytest.approx(bound)
    assert currents.rounding(np.ones(3), 8) < bound
