"""What the explorer's page holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as array_strategy

import torelli as tt
from places import TOWNS, two_towns
from torelli._drawing import thumbnail
from torelli.explanation import shades
from torelli.explore import NetworkSet, page_data
from torelli.webpage import unpack

NONE = 2**32 - 1


@pytest.fixture(scope="module")
def networks():
    """Return 30 networks of two towns."""
    return two_towns(30)


@pytest.fixture(scope="module")
def data(networks):
    """Return the data of the page, and its arrays."""
    figures = page_data.page_data(networks)
    return figures, unpack(figures["arrays"])


@pytest.fixture(scope="module")
def distances(networks):
    """Return the distances of each kernel, by the library's own function."""
    Qs = tt.torelli_matrices(networks.graphs)
    return {metric: tt.pairwise_distances(Qs, metric=metric) for metric in ("ttw", "tte", "tts")}


def test_row_i_belongs_to_network_i(networks, data):
    """Names, classes, cities, figures and places stand in the order of the input."""
    figures, arrays = data
    assert figures["names"] == [graph.name for graph in networks.graphs]
    assert sorted(panel["name"] for panel in figures["panels"]) == sorted(TOWNS)
    assert [figures["classes"]["names"][k] for k in figures["classes"]["of"]] == networks.classes
    assert [figures["cities"]["names"][k] for k in figures["cities"]["of"]] == networks.cities
    assert figures["figures"]["genus"] == [graph.genus for graph in networks.graphs]
    assert figures["figures"]["edges"] == [graph.n_edges for graph in networks.graphs]
    middle = [
        (graph.coordinates.min(axis=0) + graph.coordinates.max(axis=0)) / 2 for graph in networks.graphs
    ]
    np.testing.assert_allclose(figures["lonlat"], middle, atol=1e-5)
    assert len(arrays["place"]) == 2 * len(networks)


@pytest.mark.parametrize("metric", ["ttw", "tte", "tts"])
def test_neighbours_are_the_nearest_by_the_distances(networks, data, distances, metric):
    """The ten most similar, anywhere and in the other city, and their distances, come from the matrix."""
    arrays = data[1]
    n = len(networks)
    other = np.array(networks.cities)[:, None] != np.array(networks.cities)
    for kind, allowed in (("near", ~np.eye(n, dtype=bool)), ("elsewhere", other)):
        rows = arrays[f"{metric}.{kind}"].reshape(n, -1)
        given = arrays[f"{metric}.{kind}_distance"].reshape(n, -1)
        assert rows.shape == (n, 10)
        for i in range(n):
            assert allowed[i, rows[i]].all()
            np.testing.assert_allclose(given[i], distances[metric][i, rows[i]], rtol=1e-5, atol=1e-3)
            nearest = np.sort(distances[metric][i, allowed[i]])[:10]
            np.testing.assert_allclose(given[i], nearest, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("metric", ["ttw", "tte", "tts"])
def test_similarity_is_the_kernel_to_a_255th(data, distances, metric):
    """The triangle of similarities is exp(-gamma d²) with the median at 1/2."""
    squared = distances[metric] ** 2
    upper = squared[np.triu_indices_from(squared, 1)]
    kernel = np.exp(-np.log(2) / np.median(upper[upper > 0]) * upper)
    np.testing.assert_allclose(data[1][f"{metric}.similarity"] / 255, kernel, atol=0.51 / 255)


def test_many_networks_have_estimates_instead(networks, monkeypatch):
    """Beyond the limit similarity comes from components and what they leave: exact if they leave nothing."""
    monkeypatch.setattr(page_data, "MAX_EXACT", 10)
    monkeypatch.setattr(page_data, "N_COMPONENTS", 30)
    figures = page_data.page_data(networks)
    arrays = unpack(figures["arrays"])
    assert not figures["exact"]
    assert "tts.similarity" not in arrays
    z = arrays["tts.xy"].reshape(30, -1).astype(float)
    rest = arrays["tts.residual"].astype(float)
    squared = np.square(z[:, None] - z).sum(axis=2) + rest[:, None] + rest
    pairs = np.triu_indices(30, 1)
    kernel = tt.TTSKernel().fit_transform(networks.graphs)
    np.testing.assert_allclose((1 - squared / 2)[pairs], kernel[pairs], atol=1e-4)


def test_drawings_and_matrices_are_those_of_the_network(networks, data):
    """The drawing in row i is that of network i; its Q is right to 1/127."""
    arrays = data[1]
    for i, Q in enumerate(tt.torelli_matrices(networks.graphs)):
        kept = min(len(Q), 40)
        lower = arrays["q"][arrays["q.starts"][i] : arrays["q.starts"][i + 1]]
        expected = Q[:kept, :kept][np.tril_indices(kept)]
        np.testing.assert_allclose(
            lower * arrays["q.scale"][i] / 127, expected, atol=0.51 * expected.max(initial=0.0) / 127
        )
        alone = thumbnail(networks.graphs[i], max_segments=20_000)
        points = slice(*arrays["thumbnail.points"][i : i + 2])
        segments = slice(*arrays["thumbnail.segments"][i : i + 2])
        for part, chosen in (("x", points), ("y", points), ("tail", segments), ("cycle", segments)):
            np.testing.assert_array_equal(arrays[f"thumbnail.{part}"][chosen], getattr(alone, part))


def test_pairs_are_explained_by_their_edges(networks, data):
    """Each network has its nearest by TTM, with the shades of both drawings that `tt.explain` gives."""
    arrays = data[1]
    features = tt.MeasureFeatures().fit(networks.graphs)
    near = arrays["ttm.near"].reshape(len(networks), -1)
    for i in (0, 7, 29):
        first, stop = arrays["pair.first"][i : i + 2]
        others = arrays["pair.other"][first:stop]
        np.testing.assert_array_equal(others, near[i, : len(others)])
        j, at = int(others[0]), int(arrays["pair.start"][first])
        for both in shades(tt.explain(networks.graphs[i], networks.graphs[j], features)):
            for k, values in zip((i, j), both, strict=True):
                edge = thumbnail(networks.graphs[k], max_segments=20_000).edge
                found = arrays["pair.shade"][at : at + len(edge)]
                np.testing.assert_allclose(found, np.rint(4 * values[edge]), atol=1e-9)
                at += len(edge)


def test_pairs_that_do_not_fit_are_left_out(networks, monkeypatch):
    """With less room, each network has fewer pairs, all of them the same number, or the page has none."""
    monkeypatch.setattr(page_data, "_SHADES", 20_000)
    some = unpack(page_data.page_data(networks, kernels=["ttm"])["arrays"])
    counts = np.diff(some["pair.first"].astype(int))
    assert 1 <= counts.max() < 10
    assert len(some["pair.shade"]) <= 20_000
    monkeypatch.setattr(page_data, "_SHADES", 10)
    assert "pair.first" not in unpack(page_data.page_data(networks, kernels=["ttm"])["arrays"])


def test_clusters_are_numbered_by_size(networks):
    """Cluster 1 is the largest, and there are as many as asked for."""
    figures = page_data.page_data(networks, clusters=3)
    counts = np.bincount(unpack(figures["arrays"])["tts.cluster"])
    assert len(counts) == 3
    assert (np.diff(counts) <= 0).all()
    with pytest.raises(tt.InvalidOptionError, match="use 1 to 8"):
        page_data.page_data(networks, clusters=9)


@pytest.mark.parametrize("error", [0.0, 1e-18, 1e-17, 1e-16, 1e-15, 1e-14])
def test_networks_that_differ_by_rounding_share_a_cluster(error):
    """Where fewer networks differ than clusters are asked for, there are fewer clusters, and no warning."""
    squared = np.array([[0.0, error, 1.0], [error, 0.0, 1.0 + error], [1.0, 1.0 + error, 0.0]])
    view = page_data.kernel_view(squared, None, 3, np.eye(3, dtype=bool))
    assert view.cluster.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "graphs",
    [
        [tt.MetricGraph([0], [1], [1.0])],
        [tt.MetricGraph([], [], [], 2), tt.MetricGraph([0, 0, 0], [1, 1, 0], [1.0, 2.0, 3.5])],
        [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])] * 4,
    ],
    ids=["one tree", "no edges, loop and parallel edges", "all alike"],
)
def test_smallest_networkss(graphs):
    """One network, none with cycles, and all equal: everything is there, and nothing is NaN."""
    figures = page_data.page_data(NetworkSet.from_graphs(graphs, title="few"))
    stored = unpack(figures["arrays"])
    assert figures["panels"] == []
    assert "no coordinates" in figures["note"]
    for metric in ("ttw", "tte", "tts"):
        assert np.isfinite(stored[f"{metric}.xy"]).all()
        assert len(stored[f"{metric}.near"]) == len(graphs) * (len(graphs) - 1)
        assert (stored[f"{metric}.cluster"] == 0).sum() >= 1


def test_too_few_elsewhere_are_left_out():
    """Where other cities have fewer than ten networks, the rest of the row is empty."""
    squared = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    allowed = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=bool)
    figures = page_data.nearest(squared, allowed, np.eye(3, dtype=bool))
    assert figures.rows.tolist() == [[2, NONE], [2, NONE], [0, 1]]
    assert figures.distances.tolist() == [[2, 0], [3, 0], [2, 3]]
    assert figures.counts.tolist() == [[1, 0], [1, 0], [1, 1]]


def test_networks_that_belong_together_are_one_neighbour():
    """The nearest stands for all that are together with it; those of one's own place are one entry."""
    position = np.array([0.0, 1.0, 2.0, 3.0, 4.5, 5.0])
    together = np.eye(6, dtype=bool)
    for group in ([0, 1, 3], [2, 5]):
        together[np.ix_(group, group)] = True
    figures = page_data.nearest((position[:, None] - position) ** 2, None, together)
    assert figures.rows[0].tolist() == [1, 2, 4, NONE, NONE]
    assert figures.counts[0].tolist() == [2, 2, 1, 0, 0]
    np.testing.assert_allclose(figures.distances[0], [1, 2, 4.5, 0, 0])
    # the nearest of the group to each other network stands for it
    assert figures.rows[4].tolist()[:2] == [5, 3]
    assert figures.counts[4].tolist() == [2, 3, 0, 0, 0]


@given(array_strategy(np.float64, (8, 2), elements=st.integers(0, 3).map(float)), st.integers(0, 255))
def test_every_network_is_in_one_entry(points, bits):
    """Entries count all others once, their distances grow, and no two entries belong together."""
    squared = np.square(points[:, None] - points).sum(axis=2)
    group = (np.arange(8) & bits) % 3
    together = group[:, None] == group
    figures = page_data.nearest(squared, None, together)
    assert (figures.counts.sum(axis=1) == 7).all()
    for i in range(8):
        rows = figures.rows[i][figures.counts[i] > 0]
        assert len(set(group[rows].tolist())) == len(rows)
        assert (np.diff(figures.distances[i][: len(rows)]) >= 0).all()
        others = np.flatnonzero(np.arange(8) != i)
        for row, distance in zip(rows, figures.distances[i], strict=False):
            assert distance == pytest.approx(np.sqrt(squared[i, others[together[row, others]]].min()))


def test_drawings_have_their_scale(networks, data):
    """The side of a drawing is in metres on the earth; in a plane in the unit of lengths that fit."""
    figures, _ = data
    for scale, graph in zip(figures["sides"], networks.graphs, strict=True):
        assert (scale is None) == (graph.n_edges == 0)
        if scale is not None:
            assert scale[1] == "m"
            assert scale[0] >= np.ptp(graph.coordinates[:, 1]) * 111_195 * 0.999
    plane = tt.MetricGraph(
        [0, 1, 2], [1, 2, 0], [5.0, 4.0, 3.0], coordinates=[[0, 0], [4, 3], [4, 0]], unit="um"
    )
    other = plane.replace(length=np.array([500.0, 400.0, 300.0]))
    layout = plane.replace(coordinates=None)
    sides = page_data.page_data(NetworkSet.from_graphs([plane, other, layout], title=""))["sides"]
    assert sides == [(4.0, "um"), None, None]


def test_classes_that_are_numbers_sort_as_numbers():
    """Classes -1, 2 and 10 stand in this order; with a word among them they are words."""
    triangle = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.5])
    for classes, expected in ((["10", "-1", "2"], ["-1", "2", "10"]), (["10", "b", "2"], ["10", "2", "b"])):
        figures = page_data.page_data(NetworkSet.from_graphs([triangle] * 3, title="three", classes=classes))
        assert figures["classes"]["names"] == expected
        assert [expected[k] for k in figures["classes"]["of"]] == classes
