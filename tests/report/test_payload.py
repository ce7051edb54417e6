"""What the explorer's page holds."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from places import TOWNS, two_towns
from torelli.report import payload as payloads
from torelli.report.collection import collect
from torelli.report.drawing import FULL, draw

NONE = 2**32 - 1


@pytest.fixture(scope="module")
def collection():
    """Return 30 networks of two towns."""
    return two_towns(30)


@pytest.fixture(scope="module")
def data(collection):
    """Return the payload and its arrays."""
    found = payloads.payload(collection)
    return found, payloads.unpack(found["arrays"])


@pytest.fixture(scope="module")
def distances(collection):
    """Return the distances of each kernel, by the library's own function."""
    Qs = tt.torelli_matrices(collection.graphs)
    return {metric: tt.pairwise_distances(Qs, metric=metric) for metric in ("ttw", "tte", "tts")}


def test_row_i_belongs_to_network_i(collection, data):
    """Names, classes, cities, figures and places stand in the order of the input."""
    found, arrays = data
    assert found["names"] == [graph.name for graph in collection.graphs]
    assert [found["classes"]["names"][k] for k in found["classes"]["of"]] == collection.classes
    assert [found["cities"]["names"][k] for k in found["cities"]["of"]] == collection.cities
    assert found["figures"]["genus"] == [graph.genus for graph in collection.graphs]
    assert found["figures"]["edges"] == [graph.n_edges for graph in collection.graphs]
    middle = [
        (graph.coordinates.min(axis=0) + graph.coordinates.max(axis=0)) / 2 for graph in collection.graphs
    ]
    np.testing.assert_allclose(found["lonlat"], middle, atol=1e-5)
    assert len(arrays["place"]) == 2 * len(collection)


@pytest.mark.parametrize("metric", ["ttw", "tte", "tts"])
def test_neighbours_are_the_nearest_by_the_distances(collection, data, distances, metric):
    """The ten most similar, anywhere and in the other city, and their distances, come from the matrix."""
    arrays = data[1]
    n = len(collection)
    other = np.array(collection.cities)[:, None] != np.array(collection.cities)
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


def test_many_networks_have_estimates_instead(collection, monkeypatch):
    """Beyond the limit similarity comes from components and what they leave: exact if they leave nothing."""
    monkeypatch.setattr(payloads, "MOST_EXACT", 10)
    monkeypatch.setattr(payloads, "COMPONENTS", 30)
    found = payloads.payload(collection)
    arrays = payloads.unpack(found["arrays"])
    assert not found["exact"]
    assert "tts.similarity" not in arrays
    z = arrays["tts.xy"].reshape(30, -1).astype(float)
    rest = arrays["tts.residual"].astype(float)
    squared = np.square(z[:, None] - z).sum(axis=2) + rest[:, None] + rest
    pairs = np.triu_indices(30, 1)
    kernel = tt.TTSKernel().fit_transform(collection.graphs)
    np.testing.assert_allclose((1 - squared / 2)[pairs], kernel[pairs], atol=1e-4)


def test_drawings_and_matrices_are_those_of_the_network(collection, data):
    """The drawing in row i is that of network i; its Q is right to 1/127."""
    arrays = data[1]
    for i, Q in enumerate(tt.torelli_matrices(collection.graphs)):
        kept = min(len(Q), 40)
        lower = arrays["q"][arrays["q.starts"][i] : arrays["q.starts"][i + 1]]
        expected = Q[:kept, :kept][np.tril_indices(kept)]
        np.testing.assert_allclose(
            lower * arrays["q.scale"][i] / 127, expected, atol=0.51 * expected.max(initial=0.0) / 127
        )
        alone = draw(collection.graphs[i], most=20_000)
        points = slice(*arrays["draw.points"][i : i + 2])
        segments = slice(*arrays["draw.segments"][i : i + 2])
        for part, chosen in (("x", points), ("y", points), ("tail", segments), ("cycle", segments)):
            np.testing.assert_array_equal(arrays[f"draw.{part}"][chosen], getattr(alone, part))


def test_a_drawing_keeps_shape_and_cycles():
    """Segments are as long as the edges to a step of the grid, and have the first cycle of their edge."""
    graph = tt.datasets.grid(5, 4)
    drawn = draw(graph, most=100)
    points = graph.coordinates
    real = (
        np.linalg.norm(points[graph.tail] - points[graph.head], axis=1) * FULL / np.ptp(points, axis=0).max()
    )
    x, y = drawn.x.astype(float), drawn.y.astype(float)
    found = np.hypot(x[drawn.tail] - x[drawn.head], y[drawn.tail] - y[drawn.head])
    np.testing.assert_allclose(np.sort(found), np.sort(real), atol=2)
    cycles = tt.canonical_model(graph).cycles
    first = [min(at for at, cycle in enumerate(cycles) if edge in cycle) for edge in range(graph.n_edges)]
    assert sorted(drawn.cycle.tolist()) == sorted(first)
    bridge = draw(tt.MetricGraph([0], [1], [1.0]), most=100)
    assert bridge.cycle.tolist() == [65535]


def test_the_map_has_a_panel_for_each_far_city(data):
    """Two far towns are two squares; every network lies inside that of its town."""
    found, arrays = data
    assert sorted(panel["name"] for panel in found["panels"]) == sorted(TOWNS)
    place = arrays["place"].reshape(-1, 2)
    for panel in found["panels"]:
        kind = found["cities"]["names"].index(panel["name"])
        inside = place[np.array(found["cities"]["of"]) == kind] - panel["corner"]
        assert ((inside > 0) & (inside < 1)).all()


def test_clusters_are_numbered_by_size(collection):
    """Cluster 1 is the largest, and there are as many as asked for."""
    found = payloads.payload(collection, clusters=3)
    counts = np.bincount(payloads.unpack(found["arrays"])["tts.cluster"])
    assert len(counts) == 3
    assert (np.diff(counts) <= 0).all()
    with pytest.raises(tt.InvalidOptionError, match="use 1 to 8"):
        payloads.payload(collection, clusters=9)


@pytest.mark.parametrize(
    "graphs",
    [
        [tt.MetricGraph([0], [1], [1.0])],
        [tt.MetricGraph([], [], [], 2), tt.MetricGraph([0, 0, 0], [1, 1, 0], [1.0, 2.0, 3.5])],
        [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])] * 4,
    ],
    ids=["one tree", "no edges, loop and parallel edges", "all alike"],
)
def test_smallest_collections(graphs):
    """One network, none with cycles, and all equal: everything is there, and nothing is NaN."""
    found = payloads.payload(collect(graphs, title="few"))
    arrays = payloads.unpack(found["arrays"])
    assert found["panels"] == []
    assert "no coordinates" in found["note"]
    for metric in ("ttw", "tte", "tts"):
        assert np.isfinite(arrays[f"{metric}.xy"]).all()
        assert len(arrays[f"{metric}.near"]) == len(graphs) * (len(graphs) - 1)
        assert (arrays[f"{metric}.cluster"] == 0).sum() >= 1


def test_too_few_elsewhere_are_left_out():
    """Where other cities have fewer than ten networks, the rest of the row is empty."""
    squared = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 9.0], [4.0, 9.0, 0.0]])
    allowed = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=bool)
    rows, distance = payloads.nearest(squared, allowed)
    assert rows.tolist() == [[2, NONE], [2, NONE], [0, 1]]
    assert distance.tolist() == [[2, 0], [3, 0], [2, 3]]


def test_networks_on_top_of_each_other_have_no_map():
    """Networks drawn around the same origin are not at places: the page says so."""
    patterns = tt.datasets.street_patterns(2, radius=150, seed=0)
    found = payloads.payload(collect(patterns.graphs, title="patterns"))
    assert found["panels"] == []
    assert "no map" in found["note"]


def test_large_networks_are_simplified_and_say_so():
    """A drawing of too many segments is made on a coarser grid; a small one is not touched."""
    graph = tt.datasets.grid(60, 60)
    few = draw(graph, most=500)
    assert few.simplified
    assert len(few.tail) <= graph.n_edges
    assert not draw(tt.datasets.grid(4, 4), most=500).simplified


def test_classes_that_are_numbers_sort_as_numbers():
    """Classes -1, 2 and 10 stand in this order; with a word among them they are words."""
    triangle = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.5])
    for classes, expected in ((["10", "-1", "2"], ["-1", "2", "10"]), (["10", "b", "2"], ["10", "2", "b"])):
        found = payloads.payload(collect([triangle] * 3, title="three", classes=classes))
        assert found["classes"]["names"] == expected
        assert [expected[k] for k in found["classes"]["of"]] == classes


def test_wrong_lengths_are_refused():
    """A list of classes that does not match the networks is an error with both numbers."""
    with pytest.raises(tt.InvalidOptionError, match="classes has 1 entries for 2 networks"):
        collect([tt.MetricGraph([0], [1], [1.0])] * 2, title="two", classes=["a"])
    with pytest.raises(tt.InvalidOptionError, match="nothing to explore"):
        collect([], title="none")
