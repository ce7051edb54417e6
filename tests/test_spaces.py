"""Batches of graphs as spaces, against the measure of each graph by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import metric_graphs
from torelli import _spaces
from torelli._numerics.batch import offsets_of

BATCHES = st.lists(metric_graphs(max_size=4), min_size=1, max_size=4)
ODD = [
    tt.MetricGraph([], [], []),
    tt.MetricGraph([], [], [], 3),
    tt.MetricGraph([0], [0], [2.0]),
    tt.MetricGraph([0, 1], [1, 0], [1.0, 2.0]),
    tt.MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 4.0]),
]


def sorted_rows(*columns):
    """Return rows in an order that does not depend on numbering."""
    table = np.column_stack([np.asarray(column, dtype=float) for column in columns])
    return table[np.lexsort(table.round(9).T)]


@given(BATCHES)
@settings(max_examples=40)
def test_junctions_are_essential_points_and_segments_of_each_graph(graphs):
    """Degrees, lengths and masses in the range of graph i are those of its canonical measure."""
    spaces = _spaces.junctions(graphs, 1)
    for i, graph in enumerate(graphs):
        measure = tt.canonical_measure(graph)
        points = slice(*spaces.point_offsets[i : i + 2])
        segments = slice(*spaces.segment_offsets[i : i + 2])
        n_circles = int((measure.ends[:, 0] < 0).sum())
        assert sorted(spaces.degree[points]) == sorted([*measure.degree, *[2.0] * n_circles])
        np.testing.assert_allclose(
            sorted_rows(spaces.length[segments], spaces.mass[segments]),
            sorted_rows(measure.length, measure.mass),
            rtol=1e-9,
            atol=1e-9,
        )
        ends = np.concatenate([spaces.tail[segments], spaces.head[segments]])
        assert ((ends >= points.start) & (ends < points.stop)).all()
        assert np.array_equal(
            np.bincount(ends - points.start, minlength=points.stop - points.start), spaces.degree[points]
        )


def test_junctions_of_odd_graphs():
    """Empty graphs, points, circles and a theta with a tail keep their places in the batch."""
    spaces = _spaces.junctions(ODD, 1)
    assert np.diff(spaces.point_offsets).tolist() == [0, 3, 1, 1, 3]
    assert np.diff(spaces.segment_offsets).tolist() == [0, 0, 1, 1, 4]
    assert spaces.degree.tolist() == [0, 0, 0, 2, 2, 3, 4, 1]
    assert sorted(spaces.length) == [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]
    # bridges carry nothing, a circle 1, and a strand of the theta 1 - r/l with its effective resistance r
    theta = [1 - 6 / 11 / x for x in (1.0, 2.0, 3.0)]
    assert sorted(spaces.mass) == pytest.approx(sorted([1.0, 1.0, *theta, 0.0]), abs=1e-12)


@pytest.mark.parametrize("in_matrix", [1500, 0])
@given(graphs=BATCHES)
@settings(max_examples=40)
def test_classes_are_averaged_along_currents(in_matrix, graphs):
    """Columns are log length and mass, then their means by the squared currents of the measure, in turn."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_spaces, "_IN_MATRIX", in_matrix)
        spaces = _spaces.classes(graphs, 2, 1)
    for i, graph in enumerate(graphs):
        part = slice(*spaces.offsets[i : i + 2])
        measure = tt.canonical_measure(graph)
        chain = measure.currents() / np.maximum(measure.class_mass, 1e-300)[:, None]
        columns = np.column_stack([np.log(measure.class_length), measure.class_mass])
        expected = np.hstack([columns, chain @ columns, chain @ chain @ columns])
        np.testing.assert_allclose(
            sorted_rows(spaces.length[part], spaces.columns[part]),
            sorted_rows(measure.class_length, expected),
            rtol=1e-7,
            atol=1e-7,
        )


@pytest.mark.parametrize(("share", "error"), [(1e-8, 1e-5), (1e-12, 1e-3), (1e-16, 2.0), (1e-30, 100.0)])
def test_averages_of_a_very_short_class_are_means(share, error, monkeypatch):
    """Rows of the chain add up to 1 where a mass is lost in rounding; averages stay between the extremes."""
    graph = tt.datasets.voronoi(30, seed=0)
    edge = next(edges for edges in tt.canonical_measure(graph).segments if len(edges) == 1)[0]
    length = graph.length.copy()
    length[edge] = share * length.min()
    short = graph.replace(length=length)
    exact = _spaces.classes([short], 1, 1).columns
    monkeypatch.setattr(_spaces, "_IN_MATRIX", 0)
    columns = _spaces.classes([short], 1, 1).columns
    np.testing.assert_allclose(columns, exact, rtol=0, atol=error)
    assert (columns[:, 2:].min(axis=0) >= columns[:, :2].min(axis=0) - 1e-9).all()
    assert (columns[:, 2:].max(axis=0) <= columns[:, :2].max(axis=0) + 1e-9).all()


@given(BATCHES)
@settings(max_examples=40)
def test_lengths_of_classes_are_those_of_c1_sets(graphs):
    """Each C1-set, found by trying which edges removal of one turns into bridges, has its total length."""
    spaces = _spaces.classes(graphs, 0, 1)
    for i, graph in enumerate(graphs):
        first = reference.c1_sets(graph)
        expected = [graph.length[first == edge].sum() for edge in np.unique(first[first >= 0])]
        assert sorted(spaces.length[slice(*spaces.offsets[i : i + 2])]) == pytest.approx(sorted(expected))


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=30))
def test_chunks_cover_every_graph_once_in_order(sizes):
    """Runs of graphs follow each other without gaps, and one of several graphs has few parts."""
    offsets = offsets_of(np.array(sizes))
    runs = _spaces.chunks(offsets)
    assert [i for start, stop in runs for i in range(start, stop)] == list(range(len(sizes)))
    assert all(stop == start + 1 or sum(sizes[start : stop - 1]) <= 2 * 4096 + 9000 for start, stop in runs)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_a_bit(n_jobs, monkeypatch):
    """Batches cut into many chunks give the same bits as in one thread."""
    graphs = ODD + [tt.datasets.grid(4, 4, jitter=0.3, seed=seed) for seed in range(6)]
    expected = _spaces.junctions(graphs, 1), _spaces.classes(graphs, 1, 1)
    monkeypatch.setattr(_spaces, "_CHUNK", 5)
    spaces = _spaces.junctions(graphs, n_jobs), _spaces.classes(graphs, 1, n_jobs)
    for one, two in zip(expected, spaces, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_large_networks_among_small_ones_have_the_same_masses(monkeypatch):
    """Networks whose masses are computed by themselves have the masses that they have in a batch."""
    graphs = [*ODD, *tt.datasets.street_patterns(1, seed=0).graphs]
    expected = _spaces.junctions(graphs, 1)
    monkeypatch.setattr(_spaces, "LARGE", 3)
    found = _spaces.junctions(graphs, 2)
    np.testing.assert_array_equal(found.tail, expected.tail)
    np.testing.assert_allclose(found.mass, expected.mass, rtol=0, atol=1e-13)
