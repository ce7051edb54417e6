"""Layouts of graphs without coordinates, and graphs as a notebook shows them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import torelli as tt
from torelli._layout import edge_lines, positions


def test_a_layout_keeps_rings_round_and_nodes_apart():
    """A hexagon's edges are equally long, twins do not coincide, components stand apart."""
    ring = tt.MetricGraph(range(6), [1, 2, 3, 4, 5, 0], [1.0] * 6)
    points = positions(ring)
    lengths = np.linalg.norm(points[ring.tail] - points[ring.head], axis=1)
    assert np.ptp(lengths) < 0.05
    star = positions(tt.MetricGraph([0] * 5, range(1, 6), [1.0] * 5, 7))
    apart = np.linalg.norm(star[:, None] - star[None], axis=2)[~np.eye(7, dtype=bool)]
    assert apart.min() > 0.4


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_rings_of_loops_are_in_proportion_to_the_picture(unit):
    """They are a part of its extent, and no larger than its streets."""
    points = unit * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.01]])
    rings = edge_lines(tt.MetricGraph([0, 1], [0, 1], [1.0, 1.0], 3), points)
    assert np.ptp(rings[0][:, 0]) == pytest.approx(0.04 * unit, rel=0.02)
    ring, _ = edge_lines(tt.MetricGraph([0, 1], [0, 2], [1.0, 1.0], 3), points)
    assert np.ptp(ring[:, 0]) == pytest.approx(0.01 * unit, rel=0.02)
    (alone,) = edge_lines(tt.MetricGraph([0], [0], [1.0]), points[:1])
    assert np.isfinite(alone).all()


THETA = tt.MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 1.0], name="<b>theta</b>")


@pytest.mark.parametrize("shown", [THETA, tt.canonical_model(THETA), tt.canonical_measure(THETA)])
def test_a_notebook_shows_a_drawing_and_a_table(shown):
    """The HTML is well formed, draws every edge, and has the figures; names are escaped."""
    root = ET.fromstring(shown._repr_html_())  # noqa: S314 (our own)
    (svg,) = root.iter("svg")
    assert len(re.findall("M", "".join(path.get("d") for path in svg.iter("path")))) >= THETA.n_edges
    assert len(list(root.iter("tr"))) >= 5
    assert not list(root.iter("b"))


@pytest.mark.parametrize("genus", [0, 1, 2, 120])
def test_a_notebook_shows_a_matrix_as_a_picture_with_its_figures(genus):
    """The HTML is well formed at any size, and the array is an array in every other respect."""
    Q = tt.torelli_matrix(tt.datasets.cactus(genus, seed=0) if genus else tt.MetricGraph([0], [1], [1.0]))
    root = ET.fromstring(Q._repr_html_())  # noqa: S314 (our own)
    cells = "".join(path.get("d") or "" for path in root.iter("path"))
    assert cells.count("M") == min(genus, 48)  # cycles of a cactus share no edge
    assert f"<td style='text-align:right'>{genus}</td>" in Q._repr_html_()
    assert repr(Q) == repr(np.asarray(Q))
    assert Q.ravel()._repr_html_() is None
    for computed in (Q @ Q, Q + 1.0, np.sqrt(Q), Q == Q.T):
        assert type(computed) is np.ndarray
    assert type(Q.sum()) is np.float64


def test_bridges_are_grey_and_the_basis_has_its_colour():
    """A model colours bridges, forest and basis; a measure colours bridges as such."""
    model = tt.canonical_model(THETA)._repr_html_()
    assert [model.count(colour) for colour in ("#b8b8b8", "#0072b2", "#d55e00")] == [1, 1, 1]
    assert "#b8b8b8" in tt.canonical_measure(THETA)._repr_html_()


@pytest.mark.parametrize(
    "graph",
    [
        tt.MetricGraph([], [], [], 3),
        tt.MetricGraph(range(400), range(1, 401), np.ones(400)),
        tt.MetricGraph(range(6000), range(1, 6001), np.ones(6000), coordinates=np.ones((6001, 2))),
    ],
    ids=["empty", "no coordinates", "many edges"],
)
def test_what_is_too_large_has_a_table_alone(graph):
    """A graph without edges, or too large to draw at once, is shown by its figures."""
    page = graph._repr_html_()
    assert "<svg" not in page
    assert f"{graph.n_nodes:,}" in page


def test_plain_text_says_what_it_is():
    """Models and measures print one line with their figures."""
    assert "2 nodes and 3 C1-sets, 1 bridges, 0 ties" in repr(tt.canonical_model(THETA))
    assert "4 segments" in repr(tt.canonical_measure(THETA))
    assert "total mass 2)" in repr(tt.canonical_measure(THETA))
