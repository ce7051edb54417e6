"""Pictures."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import torelli as tt
from torelli import _drawing, plot


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_a_graph_is_drawn_edge_by_edge_with_its_cycles_coloured():
    """Each cycle has its colour, bridges share one, and loops and parallels are not hidden."""
    G = tt.MetricGraph(
        [0, 1, 2, 2, 3, 3],
        [1, 2, 0, 3, 3, 0],
        [1, 2, 4, 8, 16, 64],
        coordinates=[[0, 0], [1, 0], [0, 1], [2, 2]],
    )
    _, ax = plt.subplots()
    assert plot.graph(G, ax=ax) is ax
    (lines,) = ax.collections
    assert len(lines.get_paths()) == G.n_edges
    assert len({tuple(c) for c in lines.get_colors()}) == G.genus
    assert "genus 3" in ax.get_title()


def test_bridges_are_grey_and_parallel_edges_apart():
    """A bridge is drawn in the bridges' colour; two parallel edges are two different lines."""
    G = tt.MetricGraph([0, 0, 1], [1, 1, 2], [1.0, 2.0, 3.0], coordinates=[[0, 0], [1, 0], [2, 0]])
    (lines,) = plot.graph(G).collections
    grey = mpl.colors.to_rgba(_drawing.BRIDGE)
    assert sum(np.allclose(colour, grey) for colour in lines.get_colors()) == 1
    shapes = {path.vertices.tobytes() for path in lines.get_paths()}
    assert len(shapes) == 3


def test_graphs_without_coordinates_get_a_layout():
    """The same graph gets the same layout; too many nodes are refused with the remedy."""
    G = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0])
    one, two = (plot.graph(G).collections[0].get_paths()[0].vertices for _ in range(2))
    assert np.array_equal(one, two)
    with pytest.raises(ValueError, match="give coordinates"):
        plot.graph(tt.MetricGraph(np.arange(3000), np.arange(1, 3001), np.ones(3000)))


def test_matrix_and_kernel_pca_return_their_axes():
    """Both take an Axes or make one, also for the smallest inputs."""
    G = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    assert plot.matrix(G).images[0].get_array().tolist() == [[3, 1], [1, 4]]
    _, ax = plt.subplots()
    K = np.exp(-np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))))
    assert plot.kernel_pca(K, list("aabbcc"), ax=ax, title="demo") is ax
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert sum(len(points.get_offsets()) for points in ax.collections) == 6
    plot.kernel_pca(np.ones((1, 1)))


def test_geographic_coordinates_are_stretched():
    """A degree of longitude at 60° north is drawn half as wide as one of latitude."""
    G = tt.MetricGraph([0], [1], [1.0], coordinates=[[0, 60], [1, 60]], crs="EPSG:4326")
    assert plot.graph(G).get_aspect() == pytest.approx(2.0)


def test_a_kernel_matrix_is_ordered_by_class():
    """Rows and columns are sorted by class, in their own order within one, with a bound between classes."""
    K = np.arange(16.0).reshape(4, 4)
    ax = plot.kernel(K + K.T, ["b", "a", "b", "a"], title="demo")
    order = [1, 3, 0, 2]
    assert np.array_equal(ax.images[0].get_array(), (K + K.T)[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert [line.get_ydata()[0] for line in ax.lines if line.get_ydata()[0] == line.get_ydata()[1]] == [1.5]
    assert np.array_equal(plot.kernel(K).images[0].get_array(), K)
    with pytest.raises(tt.InvalidOptionError, match="3 values for 4 graphs"):
        plot.kernel(K, [0, 0, 1])


def test_a_confusion_matrix_shows_counts_and_shares():
    """Rows are true classes; a class that was never predicted, or never true, has its place."""
    ax = plot.confusion(["a", "a", "b"], ["a", "c", "b"], ax=plt.subplots()[1])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["a", "b", "c"]
    assert ax.images[0].get_array().tolist() == [[0.5, 0, 0.5], [0, 1, 0], [0, 0, 0]]
    assert [text.get_text() for text in ax.texts] == [
        "1\n50%",
        "0",
        "1\n50%",
        "0",
        "1\n100%",
        "0",
        "0",
        "0",
        "0",
    ]


def test_the_spectrum_marks_negative_eigenvalues():
    """Negative eigenvalues have their own marks and a count; zeros are counted and not drawn."""
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    ax = plot.spectrum((vectors * [4.0, 2.0, 1.0, 0.0, -0.5]) @ vectors.T)
    positive, negative, _ = ax.lines
    assert np.allclose(positive.get_ydata(), [4, 2, 1])
    assert np.allclose(negative.get_ydata(), [0.5])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["3 positive", "1 negative, smallest -0.5", "1 zero up to rounding"]
    assert len(plot.spectrum(np.eye(3)).lines) == 1


def window(x, **about):
    """Return a square window at a place."""
    corners = [[x, 60], [x + 0.1, 60], [x + 0.1, 60.1], [x, 60.1]]
    return tt.MetricGraph([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 3.0, 4.5], coordinates=corners, **about)


def test_a_map_colours_windows_by_class_or_value():
    """All streets are drawn; windows of one class share a colour, numbers have a scale, NaN is grey."""
    windows = [window(0, crs="EPSG:4326"), window(1, crs="EPSG:4326"), window(2, crs="EPSG:4326")]
    ax = plot.city_map(windows, ["old", "new", "old"])
    (lines,) = ax.collections
    colours = [tuple(colour) for colour in lines.get_colors()]
    assert len(lines.get_paths()) == 12
    assert colours[0] == colours[8] != colours[4]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["new", "old"]
    assert (ax.get_xlabel(), ax.get_aspect()) == ("longitude", pytest.approx(1 / np.cos(np.radians(60.05))))
    valued = plot.city_map(windows, [0.0, 1.0, np.nan]).collections[0].get_colors()
    assert np.allclose(valued[8], mpl.colors.to_rgba(_drawing.BRIDGE))
    assert not np.allclose(valued[0], valued[4])
    assert len(plot.city_map([windows[0]], ax=ax).collections) == 2


def test_what_cannot_stand_on_one_map_is_refused():
    """Missing places, mixed reference systems and a wrong number of values are told."""
    bare = tt.MetricGraph([0], [1], [1.0], name="bare")
    with pytest.raises(tt.InvalidOptionError, match="graph 1 \\('bare'\\) has no coordinates"):
        plot.city_map([window(0), bare])
    with pytest.raises(tt.InvalidOptionError, match="2 reference systems"):
        plot.city_map([window(0), window(0, crs="EPSG:4326")])
    with pytest.raises(tt.InvalidOptionError, match="1 values for 2 windows"):
        plot.city_map([window(0), window(1)], ["one"])


def test_many_classes_still_have_distinct_colours():
    """Beyond the palette, colours come from the circle of hues."""
    assert len({_drawing.class_colour(i, 20) for i in range(20)}) == 20
    assert [_drawing.class_colour(i, 3) for i in range(3)] == list(plot.PALETTE[:3])


def test_measure_colours_edges_by_mass_and_leaves_bridges_grey():
    """A loop has mass 1, three parallel edges share two cycles, and a bridge has no value."""
    graph = tt.MetricGraph([0, 0, 0, 1, 2], [1, 1, 1, 2, 2], [1.0, 1.0, 1.0, 1.0, 5.0])
    ax = tt.plot.measure(graph)
    values = ax.collections[0].get_array()
    plt.close(ax.figure)
    assert np.ma.getmaskarray(values).tolist() == [False, False, False, True, False]
    assert values.compressed().tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1.0])


def test_a_graph_without_nodes_is_an_empty_picture():
    """There is nothing to draw, and nothing fails."""
    empty = tt.MetricGraph([], [], [], 0)
    assert not tt.plot.measure(empty).collections[0].get_segments()
    assert len(tt.plot.explain(tt.explain(empty, tt.datasets.grid(3, 3)))) == 4


def test_only_explanations_are_drawn_as_such():
    """The error says where to get one."""
    with pytest.raises(tt.InvalidOptionError, match=r"is no explanation: give what torelli\.explain returns"):
        tt.plot.explain(tt.datasets.grid(3, 3))


def test_a_gallery_has_one_picture_for_each_graph():
    """Graphs are drawn row by row with their titles, and a wrong number of titles is refused."""
    rings = [tt.MetricGraph([0, 1], [1, 0], [1.0, n + 1.0], name=f"ring {n}") for n in range(6)]
    axes = tt.plot.gallery(rings)
    assert [ax.get_title() for ax in axes] == [f"ring {n}: genus 1" for n in range(6)]
    assert len(axes[0].figure.axes) == 8
    titled = tt.plot.gallery(rings[:1], ["query"])
    assert titled[0].get_title() == "query"
    with pytest.raises(tt.InvalidOptionError, match="2 values for 6"):
        tt.plot.gallery(rings, ["a", "b"])
