"""Drawings of graphs: positions, thumbnails and the arrays of a page."""

from __future__ import annotations

import numpy as np

import torelli as tt
from torelli._drawing import (
    NOT_DRAWN,
    THUMBNAIL_SIDE,
    pair_arrays,
    thumbnail,
    thumbnail_arrays,
    thumbnails,
)


def test_a_thumbnail_keeps_shape_and_cycles():
    """Segments are as long as the edges to a step of the grid, and have the first cycle of their edge."""
    graph = tt.datasets.grid(5, 4)
    drawn = thumbnail(graph, max_segments=100)
    points = graph.coordinates
    real = (
        np.linalg.norm(points[graph.tail] - points[graph.head], axis=1)
        * THUMBNAIL_SIDE
        / np.ptp(points, axis=0).max()
    )
    x, y = drawn.x.astype(float), drawn.y.astype(float)
    lengths = np.hypot(x[drawn.tail] - x[drawn.head], y[drawn.tail] - y[drawn.head])
    np.testing.assert_allclose(np.sort(lengths), np.sort(real), atol=2)
    cycles = tt.canonical_model(graph).cycles
    first = [
        min(index for index, cycle in enumerate(cycles) if edge in cycle) for edge in range(graph.n_edges)
    ]
    assert sorted(drawn.cycle.tolist()) == sorted(first)
    bridge = thumbnail(tt.MetricGraph([0], [1], [1.0]), max_segments=100)
    assert bridge.cycle.tolist() == [65535]


def test_large_networks_are_simplified_and_say_so():
    """A thumbnail with too many segments is made on a coarser grid; a small one keeps its points."""
    graph = tt.datasets.grid(60, 60)
    few = thumbnail(graph, max_segments=500)
    assert few.simplified
    assert len(few.tail) <= graph.n_edges
    assert not thumbnail(tt.datasets.grid(4, 4), max_segments=500).simplified


def test_longitudes_are_drawn_narrower_away_from_the_equator():
    """A square of degrees at 60° north is twice as high as wide, and in the middle of the thumbnail."""
    corners = [[0, 59.5], [1, 59.5], [1, 60.5], [0, 60.5]]
    graph = tt.MetricGraph([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2, 3, 4], crs="EPSG:4326", coordinates=corners)
    drawn = thumbnail(graph, max_segments=100)
    assert sorted(set(drawn.y.tolist())) == [0, THUMBNAIL_SIDE]
    np.testing.assert_allclose(
        sorted(set(drawn.x.tolist())), [THUMBNAIL_SIDE / 4, 3 * THUMBNAIL_SIDE / 4], atol=1
    )


def test_north_is_up():
    """Y grows downwards in a thumbnail, so the northern end of a street has the smaller y."""
    graph = tt.MetricGraph([0], [1], [1.0], coordinates=[[0, 0], [1, 2]])
    drawn = thumbnail(graph, max_segments=100)
    assert drawn.y[drawn.x.argmax()] == 0


def test_what_cannot_be_drawn_has_an_empty_thumbnail():
    """Graphs without edges, and large graphs without coordinates, have a thumbnail without segments."""
    assert thumbnail(tt.MetricGraph([], [], [], 2), max_segments=100) is NOT_DRAWN
    path = tt.MetricGraph(np.arange(500), np.arange(1, 501), np.ones(500))
    assert thumbnail(path, max_segments=100) is NOT_DRAWN


def test_the_most_important_graphs_are_drawn_within_a_budget():
    """Graphs are drawn in the order given, each once, while their segments fit; row i stays graph i."""
    graphs = [tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0], coordinates=[[0, 0], [1, 0], [1, 1]])] * 5
    progress: list[float] = []
    drawn = thumbnails(graphs, max_segments=100, order=[3, 1, 3, 0], max_total=4, progress=progress.append)
    assert [len(one.tail) for one in drawn] == [0, 2, 0, 2, 0]
    assert progress == [1 / 3, 2 / 3]
    assert all(len(one.tail) == 2 for one in thumbnails(graphs, max_segments=100))


def test_arrays_of_a_page_hold_each_thumbnail():
    """Thumbnail i can be cut out of the common arrays, also if others are empty."""
    graphs = [tt.datasets.grid(3, 3), tt.MetricGraph([], [], [], 1), tt.MetricGraph([0], [1], [1.0])]
    drawn = thumbnails(graphs, max_segments=100)
    arrays = thumbnail_arrays(drawn)
    for index, one in enumerate(drawn):
        points = slice(*arrays["thumbnail.points"][index : index + 2])
        segments = slice(*arrays["thumbnail.segments"][index : index + 2])
        np.testing.assert_array_equal(arrays["thumbnail.x"][points], one.x)
        np.testing.assert_array_equal(arrays["thumbnail.head"][segments], one.head)


def test_segments_of_a_thumbnail_know_their_edge():
    """Each segment is as long as its edge, and lies as flat."""
    graph = tt.datasets.grid(5, 4)
    drawn = thumbnail(graph, max_segments=100)
    assert sorted(drawn.edge.tolist()) == list(range(graph.n_edges))
    x, y = drawn.x.astype(float), drawn.y.astype(float)
    found = np.abs([x[drawn.tail] - x[drawn.head], y[drawn.tail] - y[drawn.head]])
    real = np.abs(graph.coordinates[graph.tail] - graph.coordinates[graph.head])[drawn.edge].T
    scale = THUMBNAIL_SIDE / np.ptp(graph.coordinates, axis=0).max()
    np.testing.assert_allclose(found, scale * real, atol=2)


def test_shades_of_pairs_stand_by_segment():
    """Each pair has the shades of both thumbnails, by kind, for the edge of every segment."""
    graphs = [tt.datasets.grid(3, 3), tt.datasets.cactus(2), tt.datasets.grid(2, 4)]
    drawn = thumbnails(graphs, max_segments=100)
    pairs = [(0, 1), (0, 2), (2, 1)]
    rng = np.random.default_rng(0)
    shades = [tuple(tuple(rng.uniform(-1, 1, graphs[i].n_edges) for i in p) for _ in "ab") for p in pairs]
    arrays = pair_arrays(drawn, pairs, shades)
    assert arrays["pair.first"].tolist() == [0, 2, 2, 3]
    assert arrays["pair.other"].tolist() == [1, 2, 1]
    at = 0
    for pair, kinds, start in zip(pairs, shades, arrays["pair.start"], strict=True):
        assert start == at
        for both in kinds:
            for i, values in zip(pair, both, strict=True):
                found = arrays["pair.shade"][at : at + len(drawn[i].tail)]
                np.testing.assert_array_equal(found, np.rint(4 * values[drawn[i].edge]))
                at += len(found)
    assert at == len(arrays["pair.shade"])
