"""Explanations: the sums over places are the similarity and the distance that they explain."""

from __future__ import annotations

import pickle

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import torelli as tt
from strategies import metric_graphs
from torelli.explanation import explain_pairs, shades

OPTIONS = [
    {},
    {"along": "currents"},
    {"size": 0.0},
    {"size": 1.0, "weights": "length"},
    {"along": "currents", "weights": "count", "scale": "relative"},
]


@settings(max_examples=60, deadline=None)
@given(metric_graphs(), metric_graphs(), st.sampled_from(OPTIONS))
def test_parts_add_up(one, other, options):
    """Over edges and isolated nodes, parts add up to the similarity and to the squared distance."""
    features = tt.MeasureFeatures(n_features=16, **options).fit([one, other])
    x, y = features.transform([one, other])
    explanation = tt.explain(one, other, features)
    size = max(x @ x, y @ y, 1e-300)
    assert explanation.similarity == pytest.approx(x @ y, abs=1e-9 * size)
    assert explanation.squared_distance == pytest.approx((x - y) @ (x - y), abs=1e-9 * size)
    for graph, alike, isolated in zip((one, other), explanation.alike, explanation.isolated, strict=True):
        assert alike.shape == (graph.n_edges,)
        assert alike.sum() + isolated[0] == pytest.approx(x @ y, abs=1e-9 * size)
    apart = sum(
        part.sum() + rest[1] for part, rest in zip(explanation.apart, explanation.isolated, strict=True)
    )
    assert apart == pytest.approx(explanation.squared_distance, abs=1e-9 * size)


def test_pieces_of_an_edge_share_its_part():
    """A graph that is subdivided has the same explanation, edge by edge, however it is cut."""
    graphs = tt.datasets.street_patterns(1, seed=3).graphs[:2]
    features = tt.MeasureFeatures(n_features=32).fit(graphs)
    whole = tt.explain(*graphs, features)
    tagged = graphs[0].replace(edge_values={"edge": np.arange(graphs[0].n_edges)})
    finer = tagged.subdivide(50, seed=1)
    pieces = tt.explain(finer, graphs[1], features)
    back = np.bincount(finer.edge_values["edge"], pieces.apart[0])
    assert np.allclose(back, whole.apart[0], atol=1e-9 * np.abs(whole.apart[0]).max())


def test_what_only_one_graph_has_sets_them_apart():
    """If a grid gets one long diagonal, the edges at its ends set the two apart the most."""
    n = 5
    node = np.arange(n * n).reshape(n, n)
    tail = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel()])
    head = np.concatenate([node[:, 1:].ravel(), node[1:].ravel()])
    grid = tt.MetricGraph(tail, head, np.ones(len(tail)))
    with_diagonal = tt.MetricGraph([*tail, 0], [*head, n * n - 1], [*np.ones(len(tail)), 6.0])
    explanation = tt.explain(grid, with_diagonal)
    most = np.argsort(explanation.apart[1])[-3:]
    ends = with_diagonal.tail[most], with_diagonal.head[most]
    assert all(np.isin([one, two], [0, n * n - 1]).any() for one, two in zip(*ends, strict=True))
    assert explanation.alike[0].sum() == pytest.approx(explanation.similarity)


def test_equal_graphs_are_not_apart():
    """Two drawings of one space have distance 0, and no edge sets them apart."""
    graph = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    explanation = tt.explain(graph, graph.subdivide(4, seed=2))
    assert explanation.cosine == pytest.approx(1.0)
    assert np.abs(np.concatenate(explanation.apart)).max() < 1e-9


def test_lengths_are_those_of_the_features():
    """Graphs of networkx are explained by the attribute that the features take lengths from."""
    one, other = nx.cycle_graph(3), nx.cycle_graph(4)
    for graph, length in ((one, 2.0), (other, 5.0)):
        nx.set_edge_attributes(graph, length, "metres")
        nx.set_edge_attributes(graph, 1.0, "length")
    features = tt.MeasureFeatures(length="metres").fit([one, other])
    x, y = features.transform([one, other])
    explanation = tt.explain(one, other, features)
    assert explanation.squared_distance == pytest.approx((x - y) @ (x - y))


@pytest.mark.parametrize("along", ["junctions", "returns", "currents"])
def test_pairs_of_a_collection_are_explained_as_one_by_one(along):
    """Every pair has the parts that it has alone, also where graphs are in several pairs."""
    graphs = list(tt.datasets.street_patterns(1, radius=150.0, seed=2).graphs)
    features = tt.MeasureFeatures(along=along).fit(graphs)
    pairs = [(0, 1), (1, 0), (0, 3), (2, 3)]
    for (i, j), found in zip(pairs, explain_pairs(graphs, pairs, features), strict=True):
        alone = tt.explain(graphs[i], graphs[j], features)
        assert found.graphs == (graphs[i], graphs[j])
        assert found.squared_distance == pytest.approx(alone.squared_distance)
        for kind in ("alike", "apart"):
            for one, other in zip(getattr(found, kind), getattr(alone, kind), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_shades_do_not_depend_on_cuts():
    """All edges of a segment have one shade, from -1 to 1, however the segment is cut."""
    grid, cactus = tt.datasets.grid(3, 3), tt.datasets.cactus(3)
    features = tt.MeasureFeatures().fit([grid, cactus])
    whole = shades(tt.explain(grid, cactus, features))
    finer = grid.subdivide(20, seed=0)
    cut = shades(tt.explain(finer, cactus, features))
    for before, after in zip(whole, cut, strict=True):
        assert np.abs(np.concatenate(before)).max() == 1.0
        np.testing.assert_allclose(np.unique(after[0].round(9)), np.unique(before[0].round(9)), atol=1e-6)


def test_a_kernel_explains_with_its_own_features():
    """A fitted kernel explains like features with its options and training graphs, also once restored."""
    graphs = tt.datasets.street_patterns(2, seed=5).graphs
    features = tt.MeasureFeatures(along="returns").fit(graphs)
    expected = tt.explain(*graphs[:2], features)
    kernel = tt.TTMKernel(along="returns").fit(graphs)
    for one in (kernel, pickle.loads(pickle.dumps(kernel))):  # noqa: S301  (written here)
        found = tt.explain(*graphs[:2], one)
        assert found.squared_distance == pytest.approx(expected.squared_distance)
        for ours, theirs in zip(found.apart, expected.apart, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-9)
    drawn = [graph.to_networkx() for graph in graphs]
    for one in drawn:
        for *_, values in one.edges(data=True):
            values["metres"] = values.pop("length")
    named = tt.TTMKernel(along="returns", length="metres").fit(drawn)
    assert tt.explain(*drawn[:2], named).squared_distance == pytest.approx(expected.squared_distance)
    with pytest.raises(NotFittedError):
        tt.explain(*graphs[:2], tt.TTMKernel())


@pytest.mark.parametrize("given", [tt.TTWKernel(), tt.TTWKernel, tt.MeasureFeatures, "ttm"])
def test_features_of_another_kind_are_refused(given):
    """An error names what was given and what is meant."""
    graph = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    name = given.__name__ if isinstance(given, type) else type(given).__name__
    with pytest.raises(tt.InvalidOptionError, match=f"{name}: give fitted MeasureFeatures or a fitted TTMK"):
        tt.explain(graph, graph, given)


def test_the_picture_has_both_graphs_twice():
    """`tt.plot.explain` draws all edges of both graphs, alike above and apart below."""
    graphs = tt.datasets.street_patterns(1, seed=3).graphs[:2]
    axes = tt.plot.explain(tt.explain(*graphs))
    titles = [ax.get_title() for ax in axes]
    counts = [len(ax.collections[0].get_segments()) for ax in axes]
    plt.close(axes[0].figure)
    assert [title.rpartition(": ")[2] for title in titles] == ["alike", "alike", "apart", "apart"]
    assert counts == [graph.n_edges for graph in (*graphs, *graphs)]
    with pytest.raises(tt.InvalidOptionError, match="drawn on four"):
        tt.plot.explain(tt.explain(*graphs), axes=[])
