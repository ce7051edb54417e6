"""The canonical measure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from strategies import ISOMETRIES, metric_graphs, moves, subdivide, twisted_pairs, vanishing_edges


def rows(*columns):
    """Return rows of numbers in an order that does not depend on numbering, rounded to compare them."""
    table = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    return table[np.lexsort(table.round(9).T)]


def projection_squared(graph):
    """Return the squared projection onto the cycle space of the core, from a dense pseudo-inverse."""
    core = tt.canonical_model(graph).core
    incidence = np.zeros((core.n_nodes, core.n_edges))
    np.add.at(incidence, (core.tail, np.arange(core.n_edges)), 1.0)
    np.add.at(incidence, (core.head, np.arange(core.n_edges)), -1.0)
    scaled = incidence / np.sqrt(core.length)
    return (np.eye(core.n_edges) - np.linalg.pinv(scaled) @ scaled) ** 2


@given(metric_graphs())
def test_masses_add_up_to_the_genus(graph):
    """Edges, segments and C1-sets carry the genus in all; bridges carry exactly nothing, loops 1."""
    measure = tt.canonical_measure(graph)
    for mass in (measure.edge_mass, measure.mass, measure.class_mass):
        assert mass.sum() == pytest.approx(graph.genus, abs=1e-11)
    assert (measure.edge_mass[tt.canonical_model(graph).bridges] == 0.0).all()
    loops = graph.tail == graph.head
    np.testing.assert_allclose(measure.edge_mass[loops], 1.0, rtol=1e-14)


@given(metric_graphs(), moves(among=ISOMETRIES))
def test_segments_belong_to_the_space(graph, move):
    """Subdividing, renumbering and turning edges leaves lengths, masses and degrees of segments alone."""
    one, two = tt.canonical_measure(graph), tt.canonical_measure(move(graph))
    np.testing.assert_allclose(rows(one.length, one.mass), rows(two.length, two.mass), rtol=1e-9, atol=1e-9)
    assert sorted(one.degree) == sorted(two.degree)


@given(metric_graphs(), moves())
def test_c1_sets_belong_to_the_jacobian(graph, move):
    """Bridges, trees, joins and twists leave the lengths, masses and currents of C1-sets alone."""
    one, two = tt.canonical_measure(graph), tt.canonical_measure(move(graph))
    np.testing.assert_allclose(
        rows(one.class_length, one.class_mass, one.currents() @ one.class_length),
        rows(two.class_length, two.class_mass, two.currents() @ two.class_length),
        rtol=1e-9,
        atol=1e-9,
    )


@given(twisted_pairs())
def test_twists_leave_currents_alone(pair):
    """Which side of a 2-vertex cut is which does not matter to C1-sets."""
    one, two, _ = pair
    a, b = tt.canonical_measure(one), tt.canonical_measure(two)
    np.testing.assert_allclose(
        np.sort(a.currents(), axis=None), np.sort(b.currents(), axis=None), rtol=0, atol=1e-9
    )


@given(metric_graphs())
def test_segments_are_chains_between_essential_points(graph):
    """Every edge lies in one segment, whose inner points have degree 2 and whose ends do not."""
    measure = tt.canonical_measure(graph)
    degree = np.bincount(graph.tail, minlength=graph.n_nodes) + np.bincount(
        graph.head, minlength=graph.n_nodes
    )
    assert sorted(edge for chain in measure.segments for edge in chain) == list(range(graph.n_edges))
    assert (degree[measure.points] == measure.degree).all()
    for chain, ends, length in zip(measure.segments, measure.ends, measure.length, strict=True):
        nodes = np.concatenate([graph.tail[chain], graph.head[chain]])
        assert sorted(nodes[degree[nodes] != 2]) == ([] if ends[0] < 0 else ends.tolist())
        assert graph.length[chain].sum() == pytest.approx(length)


@given(metric_graphs(), st.integers(0, 2**32 - 1))
def test_mass_is_spread_evenly(graph, seed):
    """Cut at any point, an edge leaves its mass to both parts in proportion to their lengths."""
    density = tt.canonical_measure(graph)
    finer = tt.canonical_measure(subdivide(graph, np.random.default_rng(seed)))
    one = rows(density.edge_mass / graph.length)
    two = rows(finer.edge_mass / finer.graph.length)
    np.testing.assert_allclose(np.unique(one.round(7)), np.unique(two.round(7)))


@given(metric_graphs(max_size=4))
def test_currents_are_the_squared_projection(graph):
    """The currents agree with a dense projection, and their rows add up to the masses."""
    measure = tt.canonical_measure(graph)
    squared = measure.currents()
    np.testing.assert_allclose(squared, projection_squared(graph), rtol=0, atol=1e-9)
    np.testing.assert_allclose(squared.sum(axis=1), measure.class_mass, rtol=0, atol=1e-10)


def test_probing_states_its_error():
    """The estimate by probes is within its stated error of the exact product, which has error 0."""
    measure = tt.canonical_measure(tt.datasets.voronoi(60, seed=1))
    values = np.log(measure.class_length)
    exact, none = measure.along_currents(values)
    estimate, error = measure.along_currents(values, n_probes=200, seed=3)
    deviation = (estimate - exact) / error
    assert not none.any()
    assert 0.8 < np.sqrt(np.mean(deviation**2)) < 1.25
    assert error.mean() < 0.1 * np.abs(exact).mean()


def test_a_class_that_shrinks_loses_its_mass():
    """The mass is continuous in the lengths: an edge that is no loop takes its mass to 0 with its length."""
    for tiny in (1e-3, 1e-6, 1e-9):
        square = tt.MetricGraph([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [1.0, 2.0, 3.0, 4.0, tiny])
        measure = tt.canonical_measure(square)
        assert measure.edge_mass[4] < tiny
        contracted = tt.canonical_measure(tt.MetricGraph([0, 1, 0, 3], [1, 0, 3, 0], [1.0, 2.0, 3.0, 4.0]))
        np.testing.assert_allclose(measure.edge_mass[:4], contracted.edge_mass, atol=tiny)


@given(vanishing_edges())
def test_a_vanishing_edge_leaves_the_masses_of_the_contracted_graph(drawn):
    """Whatever edge shrinks to a point, the others go to their masses without it; a loop alone keeps its own.

    Every edge but a loop goes to mass 0. A loop has mass 1 at any length.
    """
    graph, edge, contracted = drawn
    mass = tt.canonical_measure(graph).edge_mass
    is_loop = graph.tail[edge] == graph.head[edge]
    np.testing.assert_allclose(
        np.delete(mass, edge), tt.canonical_measure(contracted).edge_mass, rtol=0, atol=1e-6
    )
    assert mass[edge] == pytest.approx(1.0 if is_loop else 0.0, abs=1e-6)


def test_a_loop_that_shrinks_keeps_its_mass():
    """The mass of a loop is 1 at any length, and 0 without it: the only edge whose mass jumps."""
    for tiny in (1e-3, 1e-6, 1e-9):
        theta = tt.MetricGraph([0, 0, 0, 1], [1, 1, 1, 1], [1.0, 2.0, 3.0, tiny])
        assert tt.canonical_measure(theta).edge_mass[3] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("unit", [5e-324, 1e-310, 1e-295])
def test_lengths_whose_conductances_overflow(unit):
    """The smallest numbers are lengths too: alone they are a unit like any other, beside 1 they vanish."""
    theta = [0, 0, 0], [1, 1, 1]
    measure = tt.canonical_measure(tt.MetricGraph(*theta, [unit, 2 * unit, 3 * unit]))
    expected = tt.canonical_measure(tt.MetricGraph(*theta, [1.0, 2.0, 3.0]))
    np.testing.assert_allclose(measure.edge_mass, expected.edge_mass, rtol=1e-12)
    np.testing.assert_allclose(measure.currents(), expected.currents(), rtol=1e-12)
    mixed = tt.canonical_measure(tt.MetricGraph(*theta, [unit, 1.0, 1.0]))
    np.testing.assert_allclose(mixed.edge_mass, [0.0, 1.0, 1.0], atol=1e-12)
    graphs = [mixed.graph, expected.graph]
    for along in ("junctions", "diffusion", "returns", "currents"):
        for scale in ("absolute", "relative"):
            vectors = tt.MeasureFeatures(along=along, scale=scale).fit_transform(graphs)
            assert np.isfinite(vectors).all()


def test_circles_and_points():
    """A circle is a segment without ends, an isolated node an essential point without segments."""
    measure = tt.canonical_measure(tt.MetricGraph([0, 1], [1, 0], [1.0, 2.0], 3))
    assert measure.ends.tolist() == [[-1, -1]]
    assert measure.length.tolist() == [3.0]
    assert measure.mass.tolist() == [1.0]
    assert measure.points.tolist() == [2]
    assert measure.degree.tolist() == [0]


def test_values_for_other_classes_are_an_error():
    """Values must be as many as C1-sets, and an error needs two probes."""
    measure = tt.canonical_measure(tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0]))
    with pytest.raises(tt.InvalidOptionError, match="give a finite number for each of 3 C1-sets"):
        measure.along_currents([1.0, 2.0])
    for wrong in (["a", "b", "c"], [1.0, 2.0, np.nan], [10**400, 0, 0], [1j, 0, 0]):
        with pytest.raises(tt.InvalidOptionError, match="give a finite number"):
            measure.along_currents(wrong)
    with pytest.raises(tt.InvalidOptionError, match="at least 2"):
        measure.along_currents([1.0, 2.0, 3.0], n_probes=1)
    with pytest.raises(tt.InvalidOptionError, match=r"n_probes is 2\.5: use a whole number"):
        measure.along_currents([1.0, 2.0, 3.0], n_probes=2.5)
    with pytest.raises(tt.InvalidOptionError, match="seed is -1: use a whole number from 0"):
        measure.along_currents([1.0, 2.0, 3.0], n_probes=4, seed=-1)
