"""Drawings for pages."""

from __future__ import annotations

import re

import numpy as np

import torelli as tt
from torelli import _drawing
from torelli.report.sketch import sketch, sketches


def test_a_drawing_has_the_lines_of_the_graph():
    """Each cycle is a path of its colour, bridges are one without; y grows downwards; steps add up."""
    G = tt.MetricGraph(
        [0, 1, 2, 2], [1, 2, 0, 3], [1.0, 2.0, 2.5, 4.0], coordinates=[[0, 0], [2, 0], [2, 1], [2, 2]]
    )
    drawn = sketch(G)
    assert drawn["size"] == [400, 400]
    (none, bridge), (colour, cycle) = drawn["paths"]
    assert none == ""
    assert re.fullmatch(r"#[0-9a-f]{6}", colour)
    assert bridge == "M400 200l0 -200"
    assert cycle == "M0 400l400 0l0 -200l-400 200"


def test_longitudes_are_drawn_narrower_away_from_the_equator():
    """A square of degrees at 60° north is twice as high as wide."""
    G = tt.MetricGraph([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2, 3, 4], crs="EPSG:4326",
        coordinates=[[0, 59.5], [1, 59.5], [1, 60.5], [0, 60.5]])  # fmt: skip
    width, height = sketch(G)["size"]
    assert abs(width - height / 2) <= 1


def test_what_cannot_be_drawn_is_none():
    """No edges, or many nodes without places: nothing is drawn, and nothing fails."""
    assert sketch(tt.MetricGraph([], [], [], 2)) is None
    assert sketch(tt.MetricGraph(np.arange(500), np.arange(1, 501), np.ones(500))) is None


def test_drawings_stay_within_their_budget():
    """Graphs are drawn in the order given, each once, while they fit."""
    graphs = [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])] * 5
    assert list(sketches(graphs, [3, 1, 3, 0], max_bytes=10**6)) == [3, 1, 0]
    parts: list[float] = []
    few = sketches(graphs, range(5), max_bytes=400, progress=parts.append)
    assert 0 < len(few) < 5
    assert len(parts) == len(few)


def test_a_layout_keeps_rings_round_and_nodes_apart():
    """A hexagon's edges are equally long, twins do not coincide, components stand apart."""
    ring = tt.MetricGraph(range(6), [1, 2, 3, 4, 5, 0], [1.0] * 6)
    points = _drawing.positions(ring)
    lengths = np.linalg.norm(points[ring.tail] - points[ring.head], axis=1)
    assert np.ptp(lengths) < 0.05
    star = _drawing.positions(tt.MetricGraph([0] * 5, range(1, 6), [1.0] * 5, 7))
    apart = np.linalg.norm(star[:, None] - star[None], axis=2)[~np.eye(7, dtype=bool)]
    assert apart.min() > 0.4
