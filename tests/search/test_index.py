"""The index of graphs: nearest graphs, identical to computing every distance."""

from __future__ import annotations

from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

import torelli as tt
from strategies import metric_graphs
from torelli.datasets import street_patterns
from torelli.search._hnsw import NeighbourGraph

MATRIX_KERNELS = ("ttw", "tte", "tts")
KERNELS = (*MATRIX_KERNELS, "ttm")


@cache
def windows(n_per_pattern, radius=120, seed=1):
    """Return windows of streets, made once."""
    return tuple(street_patterns(n_per_pattern, radius=radius, seed=seed).graphs)


def ring(length, **options):
    return tt.MetricGraph([0], [0], [length], **options)


def plain_distance(A, B, kernel):
    """Return a distance by its definition, with padded matrices and scipy's square root."""
    size = max(len(A), len(B), 1)
    A, B = (np.pad(Q, (0, size - len(Q))) for Q in (A, B))
    if kernel == "tte":
        return np.linalg.norm(A - B)
    if kernel == "tts":
        roots = [np.sqrt(np.clip(np.linalg.eigvalsh(Q)[::-1], 0, None)) for Q in (A, B)]
        return np.linalg.norm(roots[0] - roots[1])
    values, vectors = np.linalg.eigh(A)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    inner = np.linalg.eigvalsh(root @ B @ root)
    return np.sqrt(max(0.0, np.trace(A) + np.trace(B) - 2 * np.sqrt(np.clip(inner, 0, None)).sum()))


def by_all_distances(index, graphs, query, k):
    """Return the k nearest by the distance of every pair, smallest index first among equals."""
    kernel = index.kernel
    if kernel == "ttm":
        X = tt.MeasureFeatures().fit_transform(graphs)
        x = tt.MeasureFeatures().fit(graphs).transform([query])[0]
        distances = np.linalg.norm(X - x, axis=1)
        distances[distances <= 1e-9 * np.hypot(np.linalg.norm(X, axis=1), np.linalg.norm(x))] = 0.0
    else:
        Q, *matrices = tt.torelli_matrices([query, *graphs])
        distances = tt.pairwise_distances([Q], matrices, kernel)[0]
        norms = tt.pairwise_distances([np.empty((0, 0))], matrices, kernel)[0]
        distances[distances <= 1e-12 * norms] = 0.0
    order = np.lexsort((np.arange(len(graphs)), distances))[:k]
    return distances[order], order


@settings(max_examples=25, deadline=None)
@given(
    st.lists(metric_graphs(max_size=5, max_parts=2), min_size=1, max_size=12),
    st.lists(st.integers(0, 11), max_size=6),
    metric_graphs(max_size=5, max_parts=2),
    st.sampled_from(KERNELS),
    st.data(),
)
@pytest.mark.filterwarnings("ignore:.*no cycles")
def test_nearest_are_those_of_all_distances(graphs, copies, query, kernel, data):
    """Distances and indices are those of computing every distance, with copies in the order of indices."""
    graphs += [graphs[i % len(graphs)] for i in copies]
    k = data.draw(st.integers(1, len(graphs)))
    index = tt.GraphIndex(kernel).fit(graphs)
    distances, indices = index.query(query, k)
    expected, order = by_all_distances(index, graphs, query, k)
    np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-9)
    assert np.all(np.diff(distances) >= 0)
    ties = np.diff(distances) == 0
    assert np.all(np.diff(indices)[ties] > 0)
    clear = np.diff(expected, append=np.inf) > 1e-6
    clear &= np.diff(expected, prepend=-np.inf) > 1e-6
    assert indices[clear].tolist() == order[clear].tolist() or k == len(graphs)
    # the last may tie with one that was left out
    assert set(indices[:-1][clear[:-1]]) == set(order[:-1][clear[:-1]])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(metric_graphs(max_size=5, max_parts=2), min_size=2, max_size=10),
    metric_graphs(max_size=5),
    st.sampled_from(MATRIX_KERNELS),
)
@pytest.mark.filterwarnings("ignore:.*no cycles")
def test_nearest_are_those_of_the_definition(graphs, query, kernel):
    """A plain route with padded matrices and eigenvalues finds the same distances, and no nearer graph."""
    matrices, (Q,) = tt.torelli_matrices(graphs), tt.torelli_matrices([query])
    plain = np.array([plain_distance(Q, one, kernel) for one in matrices])
    k = (len(graphs) + 1) // 2
    distances, indices = tt.GraphIndex(kernel).fit(graphs).query([query], k)
    scale = 1.0 + plain.max()
    np.testing.assert_allclose(distances[0], np.sort(plain)[:k], atol=1e-6 * scale)
    np.testing.assert_allclose(plain[indices[0]], distances[0], atol=1e-6 * scale)


@pytest.mark.filterwarnings("ignore:Matrix is")  # what scipy says of padded matrices
def test_square_root_of_scipy_gives_the_same_nearest():
    """On windows of streets, the formula with scipy's matrix square root has the same three nearest."""
    graphs = list(windows(6, 120, 3))
    query = graphs.pop(5)
    (Q,), matrices = tt.torelli_matrices([query]), tt.torelli_matrices(graphs)
    plain = []
    for one in matrices:
        size = max(len(Q), len(one))
        A, B = (np.pad(M, (0, size - len(M))) for M in (Q, one))
        root = sqrtm(A + 1e-14 * np.trace(A) * np.eye(size)).real
        inner = sqrtm(root @ B @ root + 1e-14 * np.trace(B) * np.eye(size)).real
        plain.append(np.sqrt(max(0.0, np.trace(A) + np.trace(B) - 2 * np.trace(inner))))
    distances, indices = tt.GraphIndex("ttw").fit(graphs).query(query, 3)
    assert indices.tolist() == np.argsort(plain)[:3].tolist()
    np.testing.assert_allclose(distances, np.sort(plain)[:3], rtol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_search_spares_distances_and_finds_the_same(kernel):
    """On 160 windows a query computes part of the distances, and finds what all of them give."""
    graphs = list(windows(40, 120, 1))
    queries = list(windows(2, 120, 2))
    index = tt.GraphIndex(kernel, n_jobs=2).fit(graphs)
    distances, indices = index.query(queries, 5)
    for query, computed, where in zip(queries, distances, indices, strict=True):
        expected, order = by_all_distances(index, graphs, query, 5)
        np.testing.assert_allclose(computed, expected, rtol=1e-9)
        assert where.tolist() == order.tolist()
    assert index.n_distances_ < 8 * 160
    assert 0.2 < index.spared_ < 1.0
    assert index.spared_ == 1.0 - index.n_distances_ / (8 * index.n_distinct_)


@pytest.mark.parametrize("kernel", KERNELS)
def test_radius_returns_all_within(kernel):
    """All graphs up to a distance, that of one of them included, nearest first."""
    graphs = list(windows(10, 120, 1))
    index = tt.GraphIndex(kernel).fit(graphs)
    distances, indices = index.query(graphs[:2], len(graphs))
    radius = float(distances[0, 7])
    near, where = index.query_radius(graphs[:2], radius)
    for row in range(2):
        inside = distances[row] <= radius
        assert near[row].tolist() == distances[row][inside].tolist()
        assert where[row].tolist() == indices[row][inside].tolist()
    assert len(near[0]) == 8
    one, places = index.query_radius(graphs[0], 0.0)
    assert one.tolist() == [0.0]
    assert places.tolist() == [0]


@pytest.mark.parametrize("kernel", KERNELS)
def test_another_drawing_is_at_distance_zero(kernel):
    """The same space cut into more edges is found at distance exactly 0, the smaller index first."""
    graphs = list(windows(3, 120, 1))
    finer = [graph.subdivide(40, seed=1) for graph in graphs]
    distances, indices = tt.GraphIndex(kernel).fit(graphs + finer).query(finer[4], 3)
    assert distances[:2].tolist() == [0.0, 0.0]
    assert indices[:2].tolist() == [4, 4 + len(graphs)]
    assert distances[2] > 0


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore:.*no cycles")
def test_copies_come_in_the_order_of_indices(kernel):
    """Of many equal graphs the first ones are returned, and one distance serves them all."""
    index = tt.GraphIndex(kernel).fit([ring(2.0)] * 50 + [ring(1.0)] * 3 + [ring(2.0)])
    distances, indices = index.query(ring(2.0), 5)
    assert distances.tolist() == [0.0] * 5
    assert indices.tolist() == [0, 1, 2, 3, 4]
    assert (index.n_graphs_, index.n_distinct_, index.n_distances_) == (54, 2, 2)
    assert index.query(ring(1.0), 4)[1].tolist() == [50, 51, 52, 0]


@pytest.mark.parametrize("kernel", KERNELS)
def test_trees_are_graphs_too(kernel):
    """Graphs of genus 0 and without edges are indexed and found, and so is one graph alone."""
    tree, point = tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0]), tt.MetricGraph([], [], [], 1)
    index = tt.GraphIndex(kernel).fit([ring(3.0), tree, ring(1.0), point])
    distances, indices = index.query(tree, 4)
    assert distances[0] == 0.0
    assert indices[0] == 1
    if kernel != "ttm":
        assert indices.tolist() == [1, 3, 2, 0]
    alone = tt.GraphIndex(kernel).fit([tree])
    assert alone.query(tree, 1)[0].tolist() == [0.0]
    assert alone.query([ring(4.0)], 1)[1].tolist() == [[0]]


@pytest.mark.parametrize("kernel", MATRIX_KERNELS)
@pytest.mark.parametrize("power", [-300, -150, -60, 0, 60, 150, 300])
def test_unit_of_length_does_not_matter(kernel, power):
    """Lengths of any magnitude have the same neighbours at distances of that magnitude."""
    graphs = list(windows(8, 120, 1))
    scaled = [graph.replace(length=np.ldexp(graph.length, power)) for graph in graphs]
    distances, indices = tt.GraphIndex(kernel).fit(graphs).query(graphs[3], 6)
    others, places = tt.GraphIndex(kernel).fit(scaled).query(scaled[3], 6)
    assert places.tolist() == indices.tolist()
    degree = 1.0 if kernel == "tte" else 0.5
    np.testing.assert_allclose(others, np.ldexp(distances, int(degree * power)), rtol=1e-9)


@pytest.mark.parametrize("kernel", MATRIX_KERNELS)
def test_magnitudes_may_differ_within_an_index(kernel):
    """Graphs of lengths around 1e-150, 1 and 1e150 together have the neighbours of their own magnitude."""
    graphs = list(windows(3, 120, 1))
    mixed = [graph.replace(length=np.ldexp(graph.length, p)) for p in (-498, 0, 498) for graph in graphs]
    index = tt.GraphIndex(kernel).fit(mixed)
    for start, query in ((0, mixed[1]), (12, mixed[13]), (24, mixed[25])):
        distances, indices = index.query(query, 12)
        expected = np.array([tt.distance(query, graph, kernel) for graph in mixed])
        np.testing.assert_allclose(distances, np.sort(expected)[:12], rtol=1e-9)
        if start == 12:
            # all small graphs are as far as a graph without edges
            assert indices[0] == 13
        np.testing.assert_allclose(expected[indices], distances, rtol=1e-9)


def test_disconnected_graphs_are_compared_as_one():
    """Two rings apart are one graph of genus 2, nearest to two rings that touch."""
    apart = tt.MetricGraph([0, 1], [0, 1], [1.0, 2.0])
    touching = tt.MetricGraph([0, 0], [0, 0], [1.0, 2.0])
    distances, indices = tt.GraphIndex("ttw").fit([ring(3.0), apart]).query(touching, 2)
    assert distances[0] == 0.0
    assert indices.tolist() == [1, 0]


def test_query_takes_what_graphs_are_made_of():
    """A networkx graph is a query, and a list gives rows."""
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 1.0), (1, 2, 1.5), (2, 0, 2.0)], weight="length")
    index = tt.GraphIndex("ttw").fit([ring(4.5), ring(9.0)])
    assert index.query(graph, 1)[1].tolist() == [0]
    assert index.query([graph], 1)[1].shape == (1, 1)


def test_options_of_a_kernel_are_used():
    """An index by a kernel with doubled bridges tells trees apart."""
    short, long = tt.MetricGraph([0], [1], [1.0]), tt.MetricGraph([0], [1], [9.0])
    index = tt.GraphIndex(tt.TTWKernel(bridges="double")).fit([short, long])
    distances, indices = index.query(long, 2)
    assert indices.tolist() == [1, 0]
    assert distances.tolist() == [0.0, pytest.approx(np.sqrt(18.0) - np.sqrt(2.0))]


def test_trees_warn():
    """An index of trees alone warns that their distances are all 0."""
    trees = [tt.MetricGraph([0], [1], [1.0]), tt.MetricGraph([0], [1], [9.0])]
    with pytest.warns(tt.DataWarning, match="no cycles"):
        tt.GraphIndex("ttw").fit(trees)


def test_units_must_agree():
    """Graphs in kilometres are refused by an index in metres."""
    index = tt.GraphIndex("ttw").fit([ring(1.0, unit="m"), ring(2.0, unit="m")])
    assert index.query(ring(2.0, unit="m"), 1)[1].tolist() == [1]
    with pytest.raises(tt.InvalidGraphError, match="units"):
        index.query(ring(2.0, unit="km"), 1)


@pytest.mark.parametrize("k", [0, 3, -1, 1.5, True, "2"])
def test_impossible_numbers_of_neighbours_are_refused(k):
    """More neighbours than graphs, or none, is an error that says how many there are."""
    index = tt.GraphIndex("tte").fit([ring(1.0), ring(2.0)])
    with pytest.raises(tt.InvalidOptionError, match="from 1 to 2"):
        index.query(ring(1.0), k)


@pytest.mark.parametrize("radius", [-1.0, np.nan, "far", None])
def test_impossible_radii_are_refused(radius):
    """A radius has to be a number of 0 or more."""
    index = tt.GraphIndex("tte").fit([ring(1.0), ring(2.0)])
    with pytest.raises(tt.InvalidOptionError, match="radius"):
        index.query_radius(ring(1.0), radius)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "wl"}, "unknown kernel"),
        ({"method": "lsh"}, "unknown method"),
        ({"ef": 0}, "ef is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_unknown_options_are_refused(options, message):
    """A wrong option is named, with what is possible."""
    with pytest.raises(tt.InvalidOptionError, match=message):
        tt.GraphIndex(**options).fit([ring(1.0)])


def test_vectors_are_indexed_and_queried():
    """An index of vectors takes vectors, and graphs too if it is given the transformer that made them."""
    graphs = list(windows(10, 120, 1))
    features = tt.MeasureFeatures(n_features=40, dtype="float32").fit(graphs)
    X = features.transform(graphs)
    index = tt.GraphIndex.from_vectors(X, ids=[f"w{i}" for i in range(len(X))], transformer=features)
    distances, indices = index.query(X[:3], 4)
    expected = np.linalg.norm(X[:3, None].astype(float) - X.astype(float), axis=2)
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :4], rtol=1e-9)
    assert indices[:, 0].tolist() == [0, 1, 2]
    assert index.query(X[1], 4)[1].tolist() == indices[1].tolist()
    assert index.query(graphs[:3], 4)[1].tolist() == indices.tolist()
    assert index.ids_[3] == "w3"
    plain = tt.GraphIndex.from_vectors(X)
    with pytest.raises(tt.InvalidOptionError, match="made from vectors"):
        plain.query(graphs[0], 1)
    with pytest.raises(tt.InvalidOptionError, match="no graphs"):
        plain.graph(0)
    with pytest.raises(tt.InvalidOptionError, match="199 columns"):
        plain.query(X[:, 1:], 1)
    with pytest.raises(tt.InvalidOptionError, match="compares no vectors"):
        tt.GraphIndex.from_vectors(X, kernel="ttw")
    with pytest.raises(tt.InvalidOptionError, match="give a MeasureFeatures"):
        tt.GraphIndex.from_vectors(X, transformer=tt.MetricStatistics())


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((0, 3)), [["a"]], [[np.nan, 1.0]], [[np.inf, 1.0]]])
def test_wrong_vectors_are_refused(wrong):
    """Vectors have to be rows of finite numbers."""
    with pytest.raises(tt.InvalidOptionError, match="vectors"):
        tt.GraphIndex.from_vectors(wrong)


def test_names_and_metadata_belong_to_their_graph():
    """A record has the name and the metadata of its graph, and a wrong number of them is refused."""
    graphs = [ring(1.0, name="a"), ring(2.0)]
    index = tt.GraphIndex("tts").fit(graphs, metadata=[{"city": "Ufa"}, {}])
    assert index.ids_ == ["a", "1"]
    assert index.record(0) == {"id": "a", "city": "Ufa"}
    assert index.graph(1) == graphs[1]
    with pytest.raises(tt.InvalidOptionError, match="0 to 1"):
        index.record(2)
    with pytest.raises(tt.InvalidOptionError, match="1 ids for 2"):
        tt.GraphIndex("tts").fit(graphs, ids=["x"])
    with pytest.raises(tt.InvalidOptionError, match="metadata of graph 1 is 5: give a dictionary"):
        tt.GraphIndex("tts").fit(graphs, metadata=[{}, 5])


@pytest.mark.parametrize("kernel", KERNELS)
def test_approximate_search_reports_its_recall(kernel):
    """Candidates from hnswlib are sorted by exact distances, and the recall on a sample is kept."""
    graphs = list(windows(16, 100, 1))
    exact = tt.GraphIndex(kernel).fit(graphs)
    near = tt.GraphIndex(kernel, method="hnsw", ef=40).fit(graphs)
    assert 0.8 < near.recall_ <= 1.0
    distances, indices = near.query(graphs[:20], 5)
    expected, order = exact.query(graphs[:20], 5)
    hits = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(indices, order, strict=True)])
    assert hits > 0.8
    assert np.all(distances >= expected)
    assert near.query(graphs[0], len(graphs))[1].tolist() == exact.query(graphs[0], len(graphs))[1].tolist()


@pytest.mark.parametrize("ef", [10, 500, 2000])
def test_rows_that_hnswlib_does_not_reach_are_searched_exactly(ef, monkeypatch):
    """A search that hnswlib gives up falls back to all distances, also where fit measures the recall."""
    vectors = np.random.default_rng(0).normal(size=(500, 640))
    exact = tt.GraphIndex.from_vectors(vectors)
    index = tt.GraphIndex.from_vectors(vectors, method="hnsw", ef=ef)
    assert index.query(vectors[:9], 500)[1].tolist() == exact.query(vectors[:9], 500)[1].tolist()

    def give_up(*_):
        raise RuntimeError(
            "Cannot return the results in a contiguous 2D array. Probably ef or M is too small"
        )

    monkeypatch.setattr(NeighbourGraph, "candidates", give_up)
    index = tt.GraphIndex.from_vectors(vectors, method="hnsw", ef=ef)
    assert index.recall_ == 1.0
    assert index.query(vectors[:9], 5)[1].tolist() == exact.query(vectors[:9], 5)[1].tolist()


@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 130),
    st.integers(-1000, 1000),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["float64", "float32"]),
)
def test_vectors_of_any_magnitude_have_the_nearest_of_all_differences(n, width, power, seed, dtype):
    """Exact search among vectors, projected or not, near a far centre or not, equals plain differences."""
    rng = np.random.default_rng(seed)
    power = power if dtype == "float64" else power % 60
    X = rng.normal(size=(n, width)) + 100.0 * (seed % 2)
    X = np.ldexp(np.round(X, 1) if seed % 3 else X, power).astype(dtype)
    x = np.ldexp(np.round(rng.normal(size=width), 1) + 100.0 * (seed % 2), power)
    k = int(rng.integers(1, n + 1))
    distances, indices = tt.GraphIndex.from_vectors(X).query(x, k)
    plain = np.ldexp(np.linalg.norm(np.ldexp(X.astype(float), -power) - np.ldexp(x, -power), axis=1), power)
    np.testing.assert_allclose(distances, np.sort(plain)[:k], rtol=1e-12)
    np.testing.assert_allclose(plain[indices], distances, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_neighbours_of_an_indexed_graph_leave_it_out(kernel):
    """The nearest others of a graph of the index are those of a query, without the graph itself."""
    graphs = [*windows(4), windows(4)[2]]
    index = tt.GraphIndex(kernel).fit(graphs)
    for position in (0, 2, 16):
        distances, indices = index.neighbours(position, 5)
        expected, places = index.query(graphs[position], 6)
        kept = places != position
        assert indices.tolist() == places[kept].tolist()
        assert distances.tolist() == expected[kept].tolist()
    copies = tt.GraphIndex(kernel).fit([graphs[0]] * 9)
    assert copies.neighbours(7, 3)[1].tolist() == [0, 1, 2]
    assert copies.neighbours(1, 8)[1].tolist() == [0, 2, 3, 4, 5, 6, 7, 8]
    with pytest.raises(tt.InvalidOptionError, match="up to 8"):
        copies.neighbours(1, 9)
