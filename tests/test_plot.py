"""Pictures."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt

import torelli as tt
from torelli import plot


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
    grey = mpl.colors.to_rgba(plot._BRIDGE)
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
