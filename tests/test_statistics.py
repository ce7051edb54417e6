"""Statistics of street networks and of data sets."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import torelli as tt
from strategies import ISOMETRIES, metric_graphs, moves
from torelli.datasets import set_statistics, sparsity_class

CORNERS = [[0.0, 0.0], [3.0, 0.0], [3.0, 4.0], [0.0, 4.0], [3.0, 5.0]]


def block(**options):
    """Return a block of 3 by 4 with a crooked street of 5 and a dead end of 1."""
    tail, head = [0, 1, 2, 3, 2], [1, 2, 3, 0, 4]
    return tt.MetricGraph(tail, head, [3.0, 5.0, 3.0, 4.0, 1.0], **{"coordinates": CORNERS, **options})


def test_each_feature_of_a_known_network():
    """All figures of a block with a dead end, by hand."""
    statistics = tt.StreetStatistics(tt.STREET_FEATURES)
    row = dict(zip(statistics.get_feature_names_out(), statistics.fit_transform([block()])[0], strict=True))
    assert row == pytest.approx(
        {
            "node_density": 5 / 15,
            "edge_density": 16 / 15,
            "mean_length": 3.2,
            "length_spread": np.std([3, 5, 3, 4, 1]),
            "dead_end_share": 0.2,
            "mean_degree": 2.0,
            "circuity": 16 / 15,
            "genus": 1.0,
        }
    )


def test_degrees_are_measured_in_metres():
    """A street of one thousandth of a degree north at the equator is 111.2 m, and so a circuity of 1."""
    step = 1e-3
    graph = tt.MetricGraph(
        [0, 1], [1, 2], [111.195, 111.195], coordinates=[[0, 0], [0, step], [step, step]], crs="EPSG:4326"
    )
    row = tt.StreetStatistics(["circuity", "node_density"]).fit_transform([graph])[0]
    assert row[0] == pytest.approx(1.0, rel=1e-4)
    assert row[1] == pytest.approx(3 / 111.195**2, rel=1e-3)
    across = graph.replace(coordinates=[[180.0, 0], [180.0, step], [step - 180.0, step]])
    assert tt.StreetStatistics(["circuity"]).fit_transform([across])[0, 0] == pytest.approx(1.0, rel=1e-4)


def test_the_genus_alone_needs_no_coordinates():
    """Features that do not need places work on any graph, networkx included."""
    G = nx.cycle_graph(5)
    nx.set_edge_attributes(G, 2.0, "metres")
    column = tt.StreetStatistics(("genus", "mean_length"), length="metres").fit_transform(
        [G, nx.create_empty_copy(G)]
    )
    assert column.tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_they_classify_street_patterns():
    """Scaled statistics with a support vector machine do far better than chance on synthetic patterns."""
    data = tt.datasets.street_patterns(20, seed=0)
    model = make_pipeline(clone(tt.StreetStatistics(area=600.0**2)), StandardScaler(), SVC(C=10))
    assert model.fit(data.graphs[::2], data.y[::2]).score(data.graphs[1::2], data.y[1::2]) > 0.6


def test_what_cannot_be_computed_is_named_with_the_graph():
    """No coordinates, no area, units that disagree, unknown features: each says where and what to do."""
    for options, message in (
        ({"features": ["bends"]}, "unknown feature 'bends'"),
        ({"features": "genus"}, r"\['genus'\]"),
        ({"features": []}, "features is empty"),
        ({"area": "hull"}, "'box'"),
        ({"area": -1.0}, "positive number"),
    ):
        with pytest.raises(tt.InvalidOptionError, match=message):
            tt.StreetStatistics(**options).fit([block()])
    bare = tt.MetricGraph([0], [1], [1.0], name="bare")
    with pytest.raises(tt.InvalidGraphError, match=r"graph 1 \('bare'\): nodes have no coordinates"):
        tt.StreetStatistics().fit_transform([block(), bare])
    line = tt.MetricGraph([0], [1], [1.0], coordinates=[[0, 0], [1, 0]])
    with pytest.raises(tt.InvalidGraphError, match="give area as a number"):
        tt.StreetStatistics().fit_transform([line])
    degrees = tt.MetricGraph([0], [1], [111.0], coordinates=[[0, 0], [0.001, 0.0]])
    with pytest.raises(tt.InvalidGraphError, match="crs='EPSG:4326' for degrees"):
        tt.StreetStatistics(["circuity"]).fit_transform([degrees])


def test_a_point_has_figures():
    """A network without edges has no lengths, and one whose ends coincide no straight line."""
    point = tt.MetricGraph([], [], [], 1, coordinates=[[0.0, 0.0]])
    loop = tt.MetricGraph([0], [0], [5.0], coordinates=[[0.0, 0.0]])
    rows = tt.StreetStatistics(area=10.0).fit_transform([point, loop])
    assert rows.tolist() == [[0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.1, 0.5, 5.0, 0.0, 0.0, 2.0, 1.0]]


@given(metric_graphs(), moves(among=ISOMETRIES))
def test_statistics_of_the_space_do_not_change_with_the_drawing(graph, move):
    """Subdividing, relabelling, shuffling and reversing leave every column alone."""
    assume(graph.is_generic)
    before, after = tt.MetricStatistics().fit_transform([graph, move(graph)])
    assert np.allclose(before, after, rtol=1e-9, atol=1e-9)


def test_statistics_of_the_space_by_hand():
    """A theta of strands 1, 2, 3 with a tail of 4 that is cut in two."""
    graph = tt.MetricGraph([0, 0, 0, 1, 2], [1, 1, 1, 2, 3], [1.0, 2.0, 3.0, 1.5, 2.5])
    statistics = tt.MetricStatistics(scale=2.0)
    names, row = statistics.get_feature_names_out(), statistics.fit_transform([graph])[0]
    features = dict(zip(names, row, strict=True))
    counts = {
        "genus": 2,
        "components": 1,
        "c1_sets": 3,
        "chains": 1,
        "leaves": 1,
        "degree_3": 1,
        "degree_4": 1,
    }
    for name, count in counts.items():
        assert features[name] == pytest.approx(np.log1p(count)), name
    assert features["bridge_share"] == pytest.approx(0.4)
    assert features["segment_decile_5"] == pytest.approx(np.log1p(2.5 / 2))
    assert features["cycle_decile_5"] == pytest.approx(np.log1p(3.5 / 2))
    assert features["chain_total"] == pytest.approx(np.log1p(4 / 2))
    assert features["c1_set_total"] == pytest.approx(np.log1p(6 / 2))
    assert np.isfinite(statistics.fit_transform([tt.MetricGraph([], [], [], 2)])).all()
    with pytest.raises(tt.InvalidOptionError, match="scale is 0"):
        tt.MetricStatistics(scale=0).fit([graph])


def test_means_leave_isolated_nodes_out_and_deviations_are_of_the_population():
    """Two graphs by hand: a triangle with an isolated node, and an edge."""
    triangle = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.0], 4)
    edge = tt.MetricGraph([0], [1], [1.0])
    statistics = set_statistics([triangle, edge])
    assert (statistics.nodes, statistics.nodes_std) == (2.5, 0.5)
    assert (statistics.edges, statistics.edges_std) == (2.0, 1.0)
    assert (statistics.genus, statistics.genus_std) == (0.5, 0.5)
    assert statistics.n_isolated == 1
    assert statistics.matrix_bytes == 8
    assert statistics.log_ratio == pytest.approx(math.log(0.2))


@pytest.mark.parametrize(
    ("genus", "n_nodes", "expected"),
    [(0, 0, "S"), (0, 5, "S"), (9.9, 10, "S"), (10, 10, "SS"), (27.1, 10, "SS"), (27.2, 10, "D")],
)
def test_sparsity_classes_have_the_bounds_of_the_paper(genus, n_nodes, expected):
    """Sparse below log(g/n) = 0, semi-sparse below 1, dense from there; trees are sparse."""
    assert sparsity_class(genus, n_nodes) == expected
