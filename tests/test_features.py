"""The canonical measure as vectors, and the kernel between them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt
from strategies import ISOMETRIES, metric_graphs, moves, noisy_pairs, twisted_pairs, vanishing_edges

TRAINING = list(tt.datasets.street_patterns(2, radius=150.0, seed=1).graphs)
ALONG = ("junctions", "diffusion", "returns", "currents")
KNOWN = [-0.006287577487, 2.652581263784, 1.923214929585]
KNOWN_ALONG = {
    "diffusion": [1.4812838470269079, -1.2836221356791424, -0.6193382676646451],
    "returns": [-0.7372327016467212, 1.3013159046748914, 0.35075221613208857],
    "currents": [-0.916572891452889, 0.09301121484119065, 0.5278769066812629],
}


def fitted(along, **options):
    return tt.MeasureFeatures(along=along, n_features=24, **options).fit(TRAINING)


def with_unit_lengths(graph):
    return graph.replace(length=np.ones(graph.n_edges))


def from_definition(features, graph):
    """Return the vector along junctions point by point, from the formulas in the docstring."""
    stream = np.random.Philox(key=features.seed)
    width = features.n_features

    def uniform(*shape):
        return ((stream.random_raw(int(np.prod(shape))) >> np.uint64(11)) + 0.5).reshape(shape) * 2.0**-53

    def signs(count):
        return np.where(stream.random_raw(count) >= 2**63, 1.0, -1.0)

    def drawn(n_inputs):
        one, two = uniform(n_inputs, width), uniform(n_inputs, width)
        W = np.sqrt(-2 * np.log(one)) * np.cos(2 * np.pi * two)
        return W, 2 * np.pi * uniform(width)

    def wave(x, weights):
        return np.sqrt(2) * np.cos(x @ weights[0] + weights[1])

    measure = tt.canonical_measure(graph)
    shortest = np.exp(features.location_[0] - 1.0)
    on_segment, on_point = drawn(2), drawn(1)
    phi = [
        wave(np.array([np.log(1 + x / shortest) / features.spread_[0], 2 * F]), on_segment)
        for x, F in zip(measure.length, measure.mass, strict=True)
    ]
    degree = dict(zip(measure.points.tolist(), measure.degree.tolist(), strict=True))
    ends = [tuple(pair) if pair[0] >= 0 else (f"circle {s}",) * 2 for s, pair in enumerate(measure.ends)]
    degree |= {pair[0]: 2 for pair in ends if isinstance(pair[0], str)}
    h = {point: wave(np.array([np.log(d or 0.5)]), on_point) for point, d in degree.items()}
    zero = np.zeros(width)
    blocks = [sum(h.values(), zero), sum(phi, zero)]
    size = 2 ** int(np.ceil(np.log2(width)))
    H = scipy.linalg.hadamard(size)
    for _ in range(features.get_params()["depth"]):
        B, first, second, b = signs(width), signs(size), signs(size), 2 * np.pi * uniform(width)
        A = (H @ np.diag(second) @ H @ np.diag(first))[:width, :width] / np.sqrt(size * width)
        sent = dict.fromkeys(h, zero)
        for (u, v), wave_along in zip(ends, phi, strict=True):
            sent[u] = sent[u] + wave_along * h[v]
            sent[v] = sent[v] + wave_along * h[u]
        h = {point: wave(h[point] + B * sent[point] / np.sqrt(degree[point] or 1), (A.T, b)) for point in h}
        blocks.append(sum(h.values(), zero))
    return np.concatenate(blocks) / np.sqrt(width)


@given(metric_graphs())
@settings(max_examples=40)
def test_vectors_along_junctions_follow_the_definition(graph):
    """The vector is the sum over points and segments that the documentation states."""
    features = fitted("junctions", depth=2, size=1.0, seed=5)
    np.testing.assert_allclose(
        features.transform([graph])[0], from_definition(features, graph), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("along", ALONG)
@given(graph=metric_graphs(), move=moves(among=ISOMETRIES), ties=st.booleans())
@settings(max_examples=40)
def test_vectors_belong_to_the_space(along, graph, move, ties):
    """Subdivision, renumbering and reversal leave the vector alone, with ties between lengths as without."""
    graph = with_unit_lengths(graph) if ties else graph
    for options in ({}, {"scale": "relative", "weights": "length"}, {"weights": "count"}):
        one, two = fitted(along, **options).transform([graph, move(graph)])
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


@given(metric_graphs(), moves(), st.booleans())
@settings(max_examples=40)
def test_vectors_along_currents_belong_to_the_jacobian(graph, move, ties):
    """Along currents, bridges, pendant trees, joins and twists leave the vector alone as well."""
    graph = with_unit_lengths(graph) if ties else graph
    one, two = fitted("currents").transform([graph, move(graph)])
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


@given(twisted_pairs())
@settings(max_examples=40)
def test_twists_do_not_show_along_currents(pair):
    """Which side of a 2-vertex cut is which does not matter along currents."""
    one, two = fitted("currents").transform(pair[:2])
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


BRIDGED = ([0, 0, 2, 2, 3], [2, 3, 3, 1, 1])
"""A Wheatstone bridge from point 0 to point 1."""


@pytest.mark.parametrize(
    ("along", "least"), [("junctions", 0.2), ("diffusion", 0.02), ("returns", 0.02), ("currents", None)]
)
def test_twists_show_along_all_but_currents(along, least):
    """One of two bridges between the same points, with long edges at one end, is turned around.

    Degrees and segments are the same. So the first two blocks along junctions agree, and the steps do not.
    """
    lengths = [60.0, 50.0, 40.0, 20.0, 10.0, 80.0, 70.0, 30.0, 25.0, 15.0]
    straight, turned = (
        tt.MetricGraph([*BRIDGED[0], u, u, 4, 4, 5], [*BRIDGED[1], 4, 5, 5, v, v], lengths)
        for u, v in ((0, 1), (1, 0))
    )
    one, two = fitted(along).transform([straight, turned])
    distance = np.linalg.norm(one - two) / np.linalg.norm(one)
    if least is None:
        assert distance < 1e-12
    else:
        assert distance > least
    if along == "junctions":
        np.testing.assert_allclose(one[: 2 * 24], two[: 2 * 24], rtol=0, atol=1e-12)


@pytest.mark.parametrize("along", ALONG)
@given(graph=metric_graphs(), factor=st.floats(1e-3, 1e3))
@settings(max_examples=25)
def test_relative_vectors_do_not_depend_on_the_unit(along, graph, factor):
    """With relative scale, metres and feet give the same vector."""
    graphs = [graph, graph.replace(length=graph.length * factor)]
    one, two = fitted(along, scale="relative").transform(graphs)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


@pytest.mark.parametrize("along", ALONG)
def test_relative_vectors_do_not_depend_on_the_unit_of_a_training_graph(along):
    """With relative scale, one training graph in millimetres changes nothing that is learned."""
    features = tt.MeasureFeatures(along=along, n_features=24, scale="relative")
    mixed = [TRAINING[0].replace(length=1000.0 * TRAINING[0].length), *TRAINING[1:]]
    expected = features.fit(TRAINING).transform(TRAINING)
    np.testing.assert_allclose(features.fit(mixed).transform(TRAINING), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("along", ALONG)
@given(size=st.floats(1e-6, 0.05), seed=st.integers(0, 100))
@settings(max_examples=10)
def test_vectors_move_in_proportion_to_the_lengths(along, size, seed):
    """Noise in the lengths moves vectors by at most 3.5 times its size (2.7 measured), by returns 9 (7)."""
    noise = np.random.default_rng(seed)
    again = [g.replace(length=g.length * np.exp(size * noise.standard_normal(g.n_edges))) for g in TRAINING]
    features = fitted(along)
    one, two = features.transform(TRAINING), features.transform(again)
    moved = np.linalg.norm(one - two, axis=1) / np.linalg.norm(one, axis=1)
    assert 0.0 < moved.max() < (9.0 if along == "returns" else 3.5) * size


@pytest.mark.parametrize(
    ("along", "constant"), [("junctions", None), ("diffusion", 12.0), ("returns", 6.0), ("currents", 2.0)]
)
@given(drawn=noisy_pairs())
@settings(max_examples=100)
def test_vectors_of_any_graph_move_in_proportion_to_the_lengths(along, constant, drawn):
    """Lengths that change by at most a share s move the vector of any graph by at most a constant times s.

    Along junctions, it is twice the largest degree, at least 6 (1.4 times and 4.2 measured); along diffusion
    12 (9.5), returns 6 (4.6) and currents 2 (1.4).
    """
    graph, again, size = drawn
    degree = np.bincount(np.concatenate([graph.tail, graph.head])).max()
    one, two = tt.MeasureFeatures(along=along).fit(TRAINING).transform([graph, again])
    bound = 2.0 * max(degree, 3) if constant is None else constant
    assert np.linalg.norm(one - two) <= bound * size * np.linalg.norm(one) + 1e-9


@pytest.mark.parametrize(("along", "grows"), [("junctions", True), ("diffusion", False), ("returns", False)])
def test_noise_moves_vectors_along_junctions_by_the_degree(along, grows):
    """Where 30 segments meet, lengths that change alike move vectors along junctions ten times as far."""
    features = tt.MeasureFeatures(along=along).fit(TRAINING)
    moved = []
    for k in (2, 30):
        lengths = np.full(k, 50.0)
        graphs = [tt.MetricGraph([0] * k, [0] * k, factor * lengths) for factor in (1.0, np.exp(1e-3))]
        one, two = features.transform(graphs)
        moved.append(np.linalg.norm(one - two) / np.linalg.norm(one))
    assert (moved[1] > 10 * moved[0]) == grows


@pytest.mark.parametrize("along", ALONG)
def test_noise_moves_vectors_further_if_training_lengths_are_nearly_equal(along):
    """Inputs are divided by their spread over the training graphs, which is then small."""
    equal = [tt.MetricGraph([0, 0, 0], [1, 1, 1], [50.0, 50.0, 50.0])]
    again = TRAINING[0].replace(length=TRAINING[0].length * np.exp(1e-3))
    moved = []
    for training in (TRAINING, equal):
        one, two = tt.MeasureFeatures(along=along).fit(training).transform([TRAINING[0], again])
        moved.append(np.linalg.norm(one - two) / np.linalg.norm(one))
    assert moved[1] > 2.0 * moved[0]


SQUARE = ([0, 1, 2, 3, 0, 1], [1, 2, 3, 0, 3, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def jumps(along, ends, *, unit=1.0, **options):
    """Return how far the vectors of a square with a shorter and shorter edge are from the contracted one."""
    name = np.arange(5)
    name[ends[1]] = ends[0]
    lengths = unit * np.array(SQUARE[2])
    contracted = tt.MetricGraph(name[SQUARE[0]], name[SQUARE[1]], lengths)
    features = fitted(along, **options)
    target = features.transform([contracted])[0]
    graphs = [
        tt.MetricGraph([*SQUARE[0], ends[0]], [*SQUARE[1], ends[1]], [*lengths, unit * tiny])
        for tiny in (1e-3, 1e-6, 1e-9)
    ]
    return np.abs(features.transform(graphs) - target).max(axis=1)


@pytest.mark.parametrize(
    ("along", "ends"),
    [
        ("currents", (0, 2)),
        ("currents", (1, 1)),
        ("diffusion", (0, 2)),
        ("returns", (0, 2)),
        ("returns", (1, 1)),
    ],
)
def test_a_vanishing_edge_leads_to_the_contracted_graph(along, ends):
    """Along currents and returns, loops included, and along diffusion, loops excluded, there is no jump."""
    distance = jumps(along, ends, unit=30.0)
    assert distance[1] < distance[0] / 100
    assert distance[2] < 1e-6


def test_a_vanishing_dead_end_leads_to_the_graph_without_it():
    """Along diffusion a dead end fades away, up to Gauss's rule where its segment becomes one again."""
    distance = jumps("diffusion", (2, 4), unit=30.0)
    assert distance[2] == pytest.approx(distance[1], rel=1e-2)
    assert distance[2] < 0.1 * jumps("junctions", (2, 4), unit=30.0)[2]


@pytest.mark.parametrize(("along", "ends"), [("junctions", (0, 2)), ("diffusion", (1, 1))])
def test_where_vectors_jump(along, ends):
    """Along junctions two points that become one, and along diffusion a loop that vanishes, make a jump."""
    assert jumps(along, ends, unit=30.0)[2] > 0.05


def test_a_loop_that_vanishes_at_the_end_of_a_bridge_makes_a_jump_along_returns():
    """The bridge then belongs to a tree, which counts for 5 % of a way between cycles."""
    features = fitted("returns")
    tail, head = [0, 0, 0, 1], [1, 1, 1, 2]
    without = tt.MetricGraph(tail, head, [30.0, 60.0, 90.0, 60.0])
    graphs = [tt.MetricGraph([*tail, 2], [*head, 2], [30.0, 60.0, 90.0, 60.0, x]) for x in (1e-3, 1e-9)]
    distance = np.abs(features.transform(graphs) - features.transform([without])).max(axis=1)
    assert distance.min() > 0.05


def joins_segments(graph, contracted):
    """Say whether two segments become one where the edge vanishes: other segments are lost than its own."""
    before, after = (len(tt.canonical_measure(one).length) for one in (graph, contracted))
    return after < before - 1


def has_other_parts(graph, edge):
    """Say whether anything else meets a loop."""
    return np.isin([graph.tail, graph.head], graph.tail[edge]).sum() > 2


def edges_on_trees(graph):
    """Return how many edges are not in the 2-core."""
    kept = np.ones(graph.n_edges, dtype=bool)
    while True:
        degree = np.bincount(np.concatenate([graph.tail[kept], graph.head[kept]]), minlength=graph.n_nodes)
        tips = kept & ((degree[graph.tail] == 1) | (degree[graph.head] == 1))
        if not tips.any():
            return int((~kept).sum())
        kept &= ~tips


def makes_a_tree(graph, edge, contracted):
    """Say whether the edge is a loop, the last cycle behind bridges that belong to a tree without it."""
    is_loop = graph.tail[edge] == graph.head[edge]
    return is_loop and edges_on_trees(contracted) > edges_on_trees(graph)


def is_continuous(along, graph, edge, contracted):
    """Say whether the guide to the measure promises that the vector does not jump where the edge vanishes.

    Along currents it promises this for every edge. Along diffusion and returns it makes an exception where
    two segments become one; along diffusion also for loops, unless they are a component of their own; along
    returns for the last cycle behind a bridge.
    """
    if along == "currents":
        return True
    if joins_segments(graph, contracted):
        return False
    if along == "returns":
        return not makes_a_tree(graph, edge, contracted)
    return graph.tail[edge] != graph.head[edge] or not has_other_parts(graph, edge)


@pytest.mark.parametrize("along", ["diffusion", "returns", "currents"])
@given(drawn=vanishing_edges())
@settings(max_examples=150)
def test_vectors_are_continuous_where_the_guide_says_so(along, drawn):
    """Where an edge of any graph shrinks to a point, the vector goes to that of the contracted graph.

    Along currents for every edge. Along diffusion and returns, unless two segments become one. Along
    diffusion, unless the edge is a loop at which something else is attached. Along returns, unless it is the
    last cycle behind a bridge. `test_where_vectors_jump` and the tests below it have an example of each.
    """
    graph, edge, contracted = drawn
    assume(is_continuous(along, graph, edge, contracted))
    one, two = fitted(along).transform([graph, contracted])
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("along", "ends"), [("diffusion", (2, 4)), ("returns", (2, 4)), ("returns", (2, 2))])
def test_two_segments_that_become_one_are_integrated_by_another_rule(along, ends):
    """A dead end, or along returns a loop, that vanishes on a street makes a jump of the integration error.

    So there is none where the segments are short beside the scales, and the rule is exact.
    """
    distance = jumps(along, ends, unit=30.0)
    assert distance[1] > 1e-3
    assert distance[2] == pytest.approx(distance[1], rel=1e-3)
    assert jumps(along, ends, unit=0.03)[2] < 1e-6


def test_a_dead_end_that_becomes_longer_makes_a_jump_along_diffusion():
    """A dead end counts by the length of its segment: more, where one that vanishes cut it into two.

    This is no error of integration, for it is there also where segments are short beside the scales.
    Along returns there is none.
    """
    tail, head, lengths = [0, 0, 0, 1, 2], [1, 1, 1, 2, 3], [0.3, 0.6, 0.9, 0.6, 0.6]
    without = tt.MetricGraph(tail, head, lengths)
    graphs = [tt.MetricGraph([*tail, 2], [*head, 4], [*lengths, x]) for x in (1e-6, 1e-9)]
    distance = {
        along: np.abs(features.transform(graphs) - features.transform([without])).max(axis=1)
        for along, features in ((along, fitted(along)) for along in ("diffusion", "returns"))
    }
    assert distance["diffusion"].min() > 0.01
    assert distance["diffusion"][1] == pytest.approx(distance["diffusion"][0], rel=1e-3)
    assert distance["returns"].max() < 1e-6


@pytest.mark.parametrize("along", ["diffusion", "returns"])
def test_isolated_points_have_no_part_in_densities(along):
    """Diffusion and returns live on the segments: an isolated point does not change the vector."""
    features = fitted(along)
    graph = tt.MetricGraph(*SQUARE)
    one, two = features.transform([graph, tt.MetricGraph(*SQUARE, graph.n_nodes + 2)])
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)


@pytest.mark.parametrize("along", ALONG)
def test_a_higher_frequency_tells_more_apart(along):
    """Unit vectors of different windows lie further apart at a higher frequency."""
    spread = []
    for frequency in (0.5, 1.0, 2.0):
        X = tt.MeasureFeatures(along=along, frequency=frequency, size=0.0).fit_transform(TRAINING)
        spread.append(np.linalg.norm(X[:, None] - X, axis=2).mean())
    assert spread[0] < spread[1] < spread[2]


def test_a_vanishing_loop_keeps_its_mass():
    """By count, a loop along currents counts 1 however short it is: there the vector jumps."""
    features = tt.MeasureFeatures(along="currents", weights="count", n_features=24, size=1.0).fit(TRAINING)
    theta = ([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    with_loop = tt.MetricGraph([*theta[0], 0], [*theta[1], 0], [*theta[2], 1e-9])
    one, two = features.transform([tt.MetricGraph(*theta), with_loop])
    assert np.abs(one - two).max() > 0.05


@pytest.mark.parametrize("along", ALONG)
def test_threads_do_not_change_a_bit(along, monkeypatch):
    """One thread and three give the same bits, and float32 the same to its rounding."""
    monkeypatch.setattr("torelli._spaces._CHUNK", 64)
    one = tt.MeasureFeatures(along=along, n_jobs=1).fit_transform(TRAINING)
    three = tt.MeasureFeatures(along=along, n_jobs=3).fit_transform(TRAINING)
    single = tt.MeasureFeatures(along=along, dtype="float32").fit_transform(TRAINING)
    assert (one == three).all()
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, one, rtol=0, atol=1e-4)


@pytest.mark.parametrize("along", ALONG)
def test_odd_graphs_have_finite_vectors(along):
    """Graphs without edges or nodes, trees, loops and circles have finite vectors, in their own rows."""
    odd = [
        tt.MetricGraph([], [], []),
        tt.MetricGraph([], [], [], 3),
        tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0]),
        tt.MetricGraph([0], [0], [2.0]),
        tt.MetricGraph([0, 1], [1, 0], [1.0, 2.0]),
        TRAINING[0].replace(unit=None),
    ]
    for options in ({}, {"scale": "relative"}, {"weights": "length"}, {"weights": "count"}):
        X = tt.MeasureFeatures(along=along, **options).fit_transform(odd)
        assert np.isfinite(X).all()
        assert not X[0].any()
    features = tt.MeasureFeatures(along=along).fit(TRAINING)
    alone = features.transform(TRAINING[:1])[0]
    np.testing.assert_allclose(features.transform(odd)[5], alone, rtol=0, atol=1e-12)
    assert tt.MeasureFeatures(along=along).fit_transform(odd[:2]).shape[0] == 2


@pytest.mark.parametrize("along", ["diffusion", "returns", "currents"])
def test_large_graphs_give_the_same_without_a_matrix(along, monkeypatch):
    """Along currents, diffusion and returns, a graph too large for dense matrices has the same vector."""
    features = tt.MeasureFeatures(along=along).fit(TRAINING)
    one = features.transform(TRAINING[:3])
    monkeypatch.setattr("torelli._spaces._IN_MATRIX", 0)
    monkeypatch.setattr("torelli._spaces._IN_STARS", 0)
    np.testing.assert_allclose(features.transform(TRAINING[:3]), one, rtol=0, atol=1e-9)


def test_columns_have_names():
    """Each column is named by its block."""
    features = tt.MeasureFeatures(n_features=2, depth=1).fit(TRAINING)
    names = ["points_0", "points_1", "segments_0", "segments_1", "step1_0", "step1_1"]
    assert features.get_feature_names_out().tolist() == names
    assert features.transform(TRAINING[:1]).shape == (1, 6)
    assert len(tt.MeasureFeatures(along="currents").get_feature_names_out()) == 256
    assert tt.MeasureFeatures(along="diffusion", n_features=1).get_feature_names_out().tolist() == [
        "diffusion_0"
    ]


def test_vectors_are_the_same_everywhere():
    """The random weights do not depend on the version of numpy: a known graph has a known vector."""
    theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    X = tt.MeasureFeatures(n_features=1, depth=1, size=1.0).fit_transform([theta])
    np.testing.assert_allclose(X, [KNOWN], rtol=0, atol=1e-9)


@pytest.mark.parametrize("along", KNOWN_ALONG)
def test_vectors_along_the_others_are_the_same_everywhere(along):
    """A theta with a dead end has a known vector along diffusion, returns and currents too."""
    theta = tt.MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 1.5])
    X = tt.MeasureFeatures(along=along, n_features=3).fit_transform([theta])
    assert X[0].tolist() == pytest.approx(KNOWN_ALONG[along], rel=1e-9)


@pytest.mark.parametrize("along", ALONG)
@pytest.mark.parametrize("number", [np.int64, np.int32, np.uint8])
def test_numbers_of_numpy_are_numbers(along, number):
    """A grid of numpy integers, also of few bits, gives the vectors of ordinary integers."""
    options = {"n_features": 100, "depth": 3, "seed": 2}
    theirs = {name: number(value) for name, value in options.items()}
    expected = tt.MeasureFeatures(along=along, **options).fit_transform(TRAINING)
    found = tt.MeasureFeatures(along=along, **theirs).fit_transform(TRAINING)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "f4", "single"])
def test_a_type_of_numpy_is_a_precision(dtype):
    """Every name of a type gives the same vectors; the parameter stays as it was given, for clones."""
    features = tt.MeasureFeatures(dtype=dtype)
    assert features.dtype is dtype
    assert clone(features).dtype == dtype
    found = features.fit(TRAINING).transform(TRAINING)
    np.testing.assert_array_equal(
        found, tt.MeasureFeatures(dtype="float32").fit(TRAINING).transform(TRAINING)
    )
    assert found.dtype == np.float32
    restored = pickle.loads(pickle.dumps(features))  # noqa: S301  (written here)
    np.testing.assert_array_equal(restored.transform(TRAINING), found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"along": "roads"}, "unknown along 'roads'"),
        ({"scale": "log"}, "unknown scale 'log'"),
        ({"weights": "mass"}, "unknown weights 'mass'"),
        ({"dtype": "float16"}, "dtype is 'float16': use 'float64' or 'float32'"),
        ({"dtype": np.int64}, "dtype is <class 'numpy.int64'>: use 'float64' or 'float32'"),
        ({"dtype": ">f4"}, "dtype is '>f4': use"),
        ({"dtype": {"names": 3}}, "dtype is .*: use"),
        ({"depth": -1}, "depth is -1: use a whole number of at least 0"),
        ({"n_features": 0}, "n_features is 0"),
        ({"n_features": 16.0}, "n_features is 16.0: use a whole number"),
        ({"depth": True}, "depth is True"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"size": 2.0}, "size is 2.0: use a number from 0 to 1"),
        ({"frequency": 0.0}, "frequency is 0.0: use a positive number"),
        ({"frequency": "high"}, "frequency is 'high': use a positive number"),
        ({"size": None}, "size is None: use a number from 0 to 1"),
        ({"seed": 2**128}, "use a number below"),
        ({"along": "diffusion", "depth": 0}, "depth is 0: use a whole number of at least 1"),
        ({"along": "returns", "depth": 1}, "depth is 1: use a whole number of at least 2"),
        ({"depth": 10**12}, "depth is 1000000000000: use a whole number of at most 100"),
        ({"weights": "None"}, r"unknown weights 'None': use one of 'count', 'length', None$"),
        ({"n_jobs": 0}, "n_jobs is 0: use a number of threads"),
        ({"n_jobs": "a"}, "n_jobs is 'a': use a number of threads"),
    ],
)
def test_bad_options_are_errors(options, message):
    """Options that mean nothing are named, with those that do."""
    with pytest.raises(tt.InvalidOptionError, match=message):
        tt.MeasureFeatures(**options).fit(TRAINING)


def test_a_list_is_no_option_of_a_kernel():
    """What cannot be an option is named, as by the features."""
    with pytest.raises(tt.InvalidOptionError, match=r"an option of the kernel is \['junctions'\]"):
        tt.TTMKernel(along=["junctions"]).fit_transform(TRAINING)


@pytest.mark.parametrize(
    ("along", "change"),
    [
        ("currents", {"depth": 3}),
        ("junctions", {"scale": "relative"}),
        ("diffusion", {"weights": "count"}),
        ("junctions", {"along": "diffusion"}),
    ],
)
def test_options_changed_after_fit_are_refused(along, change):
    """What was learned with other options is not used."""
    features = fitted(along)
    before = {name: getattr(features, name) for name in change}
    with pytest.raises(tt.InvalidOptionError, match="call fit again"):
        features.set_params(**change).transform(TRAINING)
    features.set_params(**before, size=0.0, frequency=2.0).transform(TRAINING)


@pytest.mark.parametrize("along", ALONG)
def test_graphs_in_another_unit_than_the_training_graphs_are_refused(along):
    """Lengths in kilometres are no lengths in metres; relative vectors do not depend on the unit."""
    training = [graph.replace(unit="m") for graph in TRAINING]
    others = [graph.to_unit("km") for graph in training]
    features = tt.MeasureFeatures(along=along, n_features=8).fit(training)
    with pytest.raises(tt.InvalidGraphError, match=r"'km' in graphs 0.*'m' in graph .*a training graph"):
        features.transform(others)
    again = pickle.loads(pickle.dumps(features))  # noqa: S301  (our own bytes)
    with pytest.raises(tt.InvalidGraphError, match="lengths are in 2 units"):
        again.transform(others)
    expected = features.transform(training)
    np.testing.assert_array_equal(features.transform(TRAINING), expected)  # no unit: taken to be the same
    relative = tt.MeasureFeatures(along=along, n_features=8, scale="relative").fit(training)
    np.testing.assert_allclose(relative.transform(others), relative.transform(training), atol=1e-9)


@pytest.mark.parametrize(("along", "share"), [("diffusion", 0.08), ("returns", 0.05)])
def test_a_dead_end_that_vanishes_on_a_street_moves_vectors_little(along, share):
    """On any edge of windows of street patterns, by at most the share of the median distance in the guide."""
    windows = tt.datasets.street_patterns(3, radius=200, seed=0).graphs
    features = tt.MeasureFeatures(along=along).fit(windows)
    X = features.transform(windows)
    typical = np.median(np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(len(X), 1)])
    moved = []
    for window, vector in zip(windows, X, strict=True):
        n = window.n_nodes
        grown = []
        for edge in range(window.n_edges):
            half = window.length[edge] / 2
            keep = np.arange(window.n_edges) != edge
            tail = [*window.tail[keep], window.tail[edge], n, n]
            head = [*window.head[keep], n, window.head[edge], n + 1]
            grown.append(tt.MetricGraph(tail, head, [*window.length[keep], half, half, 1e-9]))
        moved.append(np.linalg.norm(features.transform(grown) - vector, axis=1).max())
    assert 0.0 < max(moved) < share * typical


@pytest.mark.parametrize("along", ["diffusion", "returns", "currents"])
def test_a_vector_that_overflows_is_an_error(along):
    """A graph that is far too large for single precision is named; in double precision it has a vector."""
    huge = TRAINING[1].replace(length=TRAINING[1].length * 1e50)
    features = tt.MeasureFeatures(along=along, dtype="float32").fit(TRAINING)
    with pytest.raises(tt.InvalidGraphError, match=r"graph 1: .*overflows; fit to graphs of its size"):
        features.transform([TRAINING[0], huge])
    X = tt.MeasureFeatures(along=along).fit(TRAINING).transform([huge])
    assert np.isfinite(X).all()
    assert X.any()


@pytest.mark.parametrize("factor", [1e-165, 1e165])
def test_products_of_lengths_may_overflow(factor):
    """Along currents, the unit of length does not matter even if products of two lengths overflow."""
    features = fitted("currents", scale="relative")
    graph = TRAINING[0]
    scaled = graph.replace(length=graph.length * factor)
    np.testing.assert_allclose(features.transform([scaled]), features.transform([graph]), rtol=0, atol=1e-9)


def test_probes_along_currents_are_announced(monkeypatch):
    """A graph whose averages are estimated is named, with the standard error."""
    features = fitted("currents")
    monkeypatch.setattr("torelli._spaces._IN_MATRIX", 0)
    monkeypatch.setattr("torelli.measure._EXACT", 0)
    with pytest.warns(tt.DataWarning, match=r"graph 0: .* random probes, with a standard error of [\d.]+%"):
        features.transform([max(TRAINING, key=lambda graph: graph.genus)])


def test_probes_do_not_depend_on_the_unit_and_keep_the_vector(monkeypatch):
    """Relative vectors of estimated averages are the same in every unit, and near those of exact averages."""
    graphs = [tt.datasets.voronoi(150, seed=seed) for seed in range(3)]
    features = tt.MeasureFeatures(along="currents", scale="relative").fit(graphs)
    exact = features.transform(graphs)
    monkeypatch.setattr("torelli._spaces._IN_MATRIX", 0)
    monkeypatch.setattr("torelli.measure._EXACT", 0)
    scaled = [graph.replace(length=graph.length * f) for f in (1.0, 1e-5, 0.01, 1e3) for graph in graphs]
    with pytest.warns(tt.DataWarning, match="random probes"):
        metres, *others = features.transform(scaled).reshape(4, len(graphs), -1)
    for other in others:
        np.testing.assert_allclose(other, metres, rtol=0, atol=1e-9 * np.abs(metres).max())
    size = np.linalg.norm(exact, axis=1)
    assert (np.linalg.norm(metres - exact, axis=1) < 0.05 * size).all()
    assert np.linalg.norm(exact[0] - exact[1]) > 2 * np.linalg.norm(metres[0] - exact[0])


def test_probed_graphs_are_named_by_their_place_among_all(monkeypatch):
    """Also where graphs are transformed portion by portion."""
    features = fitted("currents")
    graphs = [TRAINING[0], TRAINING[0], max(TRAINING, key=lambda graph: graph.genus)]
    monkeypatch.setattr("torelli._spaces._IN_MATRIX", graphs[0].n_edges)
    monkeypatch.setattr("torelli.measure._EXACT", 0)
    monkeypatch.setattr("torelli.features._PORTION", graphs[0].n_edges)
    with pytest.warns(tt.DataWarning, match="graph 2: "):
        features.transform(graphs)


def test_the_density_of_a_short_segment_keeps_its_digits():
    """Its mass is dense, and yet a little more length changes a vector with weights by count little."""
    features = tt.MeasureFeatures(along="diffusion", weights="count").fit(TRAINING)
    for short in (1e-6, 1e-10, 1e-14, 1e-16):
        edges = [0, 0, 0, 0], [1, 1, 1, 0]
        x, y = features.transform(
            [tt.MetricGraph(*edges, [1.0, 2.0, 3.0, short * factor]) for factor in (1.0, 1.3)]
        )
        assert np.linalg.norm(x - y) < (short + 1e-12) * np.linalg.norm(x)


def test_directions_have_an_entry_for_each_column():
    """Anything else is an error that says how many."""
    features = fitted("junctions")
    with pytest.raises(tt.InvalidOptionError, match=f"give {features.n_columns} numbers"):
        features.place_contributions(TRAINING[0], np.ones(3))


@pytest.mark.parametrize("along", ALONG)
def test_the_kernel_is_one(along):
    """The kernel is symmetric, 1 on the diagonal, positive definite, with median 1/2, also for new graphs."""
    kernel = tt.TTMKernel(along=along)
    K = kernel.fit_transform(TRAINING)
    assert (K == K.T).all()
    assert (np.diag(K) == 1.0).all()
    assert tt.definiteness(K).is_psd
    assert np.median(K[np.triu_indices_from(K, 1)]) == pytest.approx(0.5, abs=0.01)
    np.testing.assert_allclose(kernel.transform(TRAINING), K, rtol=0, atol=1e-12)
    finer = [graph.subdivide(10, seed=2) for graph in TRAINING]
    assert (np.diag(kernel.transform(finer)) == 1.0).all()


def test_the_kernel_works_in_a_pipeline():
    """The kernel chains with a support vector machine, is cloned by its options, and tells patterns apart."""
    data = tt.datasets.street_patterns(12, seed=3)
    kernel = tt.TTMKernel(gamma=0.7, n_features=32)
    assert clone(kernel).get_params() == kernel.get_params()
    model = make_pipeline(tt.TTMKernel(), SVC(kernel="precomputed", C=100.0)).fit(
        data.graphs[::2], data.y[::2]
    )
    assert model.score(data.graphs[1::2], data.y[1::2]) > 0.7


@pytest.mark.parametrize("along", ALONG)
def test_prepared_graphs_stand_for_the_graphs(along):
    """Fitting and transforming a selection of prepared graphs gives the vectors of these graphs."""
    graphs = list(tt.datasets.street_patterns(3, seed=1).graphs)
    graphs += [tt.MetricGraph([], [], [], 1), tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0], unit="m")]
    features = tt.MeasureFeatures(along=along, n_features=16)
    prepared = features.prepare(graphs)
    chosen = np.array([5, 0, 13, 2, 12, 2])
    X = features.fit(prepared.take(chosen[:3])).transform(prepared.take(chosen))
    some = [graphs[i] for i in chosen]
    expected = tt.MeasureFeatures(along=along, n_features=16).fit(some[:3]).transform(some)
    np.testing.assert_allclose(X, expected, rtol=1e-12, atol=1e-12)
    mask = np.isin(np.arange(len(graphs)), [2, 5])
    assert np.array_equal(features.transform(prepared.take(mask)), features.transform(prepared.take([2, 5])))
    for wrong in ([-1], [len(graphs)], [0.5], [[0]], mask[:-1]):
        with pytest.raises(tt.InvalidOptionError, match="take: "):
            prepared.take(wrong)
    nothing = prepared.take(np.array([], dtype=np.int64))
    assert features.transform(nothing).shape == (0, expected.shape[1])


def test_graphs_prepared_for_other_parameters_are_refused():
    """Points and segments do not serve along currents, nor C1-sets of another depth."""
    theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    along_junctions = tt.MeasureFeatures().prepare([theta])
    along_currents = tt.MeasureFeatures(along="currents").prepare([theta])
    for features, prepared in (
        (tt.MeasureFeatures(along="currents"), along_junctions),
        (tt.MeasureFeatures(), along_currents),
        (tt.MeasureFeatures(along="currents", depth=2), along_currents),
    ):
        with pytest.raises(tt.InvalidOptionError, match="call prepare again"):
            features.fit(prepared)


@pytest.mark.parametrize("along", ALONG)
def test_graphs_in_several_portions_have_the_same_vectors(monkeypatch, along):
    """Many graphs are transformed portion by portion, and rows stay in order."""
    graphs = [tt.datasets.voronoi(1 + seed % 4, seed=seed) for seed in range(12)]
    features = fitted(along)
    whole = features.transform(graphs)
    monkeypatch.setattr("torelli.features._PORTION", 30)
    np.testing.assert_allclose(features.transform(graphs), whole, rtol=1e-12, atol=1e-12)
