"""The synthetic families: their closed forms, and that the seed decides."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from torelli import InvalidOptionError, canonical_model
from torelli.datasets import (
    cactus,
    delaunay,
    grid,
    line_plus_random,
    necklace,
    random_geometric,
    theta,
    voronoi,
)
from torelli.datasets.synthetic import _pair_at

SEEDS = st.integers(min_value=0, max_value=2**32)
SMALL = st.integers(min_value=3, max_value=30)

FAMILIES = {
    "line_plus_random": lambda size, seed: line_plus_random(size, size // 3, seed=seed),
    "delaunay": lambda size, seed: delaunay(size, seed=seed),
    "voronoi": lambda size, seed: voronoi(size, seed=seed),
    "grid": lambda size, seed: grid(size, 4, seed=seed),
    "random_geometric": lambda size, seed: random_geometric(size, 2.0, seed=seed),
    "cactus": lambda size, seed: cactus(size, seed=seed),
    "theta": lambda size, seed: theta(size, seed=seed),
    "necklace": lambda size, seed: necklace(size, seed=seed),
}
EUCLIDEAN = ("delaunay", "voronoi", "grid", "random_geometric")


def distances(graph) -> np.ndarray:
    span = graph.coordinates[graph.head] - graph.coordinates[graph.tail]
    return np.hypot(span[:, 0], span[:, 1])


@pytest.mark.parametrize("family", FAMILIES)
@given(size=SMALL, seed=SEEDS)
@settings(max_examples=25, deadline=None)
def test_every_family_is_connected_placed_and_decided_by_its_seed(family, size, seed) -> None:
    """Graphs are connected, have finite coordinates and a name, and the seed alone decides them."""
    graph = FAMILIES[family](size, seed)
    assert graph.n_components == 1
    assert graph.coordinates.shape == (graph.n_nodes, 2)
    assert np.isfinite(graph.coordinates).all()
    assert graph.name.startswith(f"{family}(")
    assert graph.name.endswith(f"seed={seed})")
    assert graph == FAMILIES[family](size, seed)
    assert graph != FAMILIES[family](size, seed + 1)


@pytest.mark.parametrize("family", EUCLIDEAN)
@given(size=SMALL, seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_lengths_of_planar_families_are_euclidean(family, size, seed) -> None:
    """Each edge is as long as the distance of its end points."""
    graph = FAMILIES[family](size, seed)
    np.testing.assert_allclose(graph.length, distances(graph), rtol=1e-12)


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - set(EUCLIDEAN)))
def test_lengths_of_the_other_families_are_uniform(family) -> None:
    """Lengths lie in (0, 1] and have the mean and the variance of Unif(0, 1)."""
    lengths = np.concatenate([FAMILIES[family](30, seed).length for seed in range(40)])
    assert lengths.min() > 0
    assert lengths.max() <= 1
    assert lengths.mean() == pytest.approx(1 / 2, abs=0.03)
    assert lengths.var() == pytest.approx(1 / 12, abs=0.01)


@given(size=SMALL, seed=SEEDS, data=st.data())
@settings(max_examples=50, deadline=None)
def test_line_plus_random_is_a_line_with_distinct_chords(size, seed, data) -> None:
    """The first edges are the line, the genus is the one asked for, and no pair comes twice."""
    genus = data.draw(st.integers(0, (size - 1) * (size - 2) // 2))
    graph = line_plus_random(size, genus, seed=seed)
    assert (graph.n_nodes, graph.n_edges, graph.genus) == (size, genus + size - 1, genus)
    assert graph.tail[: size - 1].tolist() == list(range(size - 1))
    assert graph.head[: size - 1].tolist() == list(range(1, size))
    assert graph.n_parallel == 0
    assert (np.abs(graph.head - graph.tail)[size - 1 :] >= 2).all()


def test_line_plus_random_reaches_the_complete_graph_and_no_further() -> None:
    """The largest genus gives every pair once; one more is an error that says how many there are."""
    assert line_plus_random(6, 10).n_edges == 15
    with pytest.raises(InvalidOptionError, match="only 10 pairs"):
        line_plus_random(6, 11)


def test_line_plus_random_chooses_all_chords_alike() -> None:
    """Over many seeds each of the pairs that are not neighbours comes equally often."""
    chosen = np.zeros((6, 6))
    for seed in range(2000):
        graph = line_plus_random(6, 2, seed=seed)
        chosen[graph.tail[5:], graph.head[5:]] += 1
    counts = chosen[np.triu_indices(6, 2)]
    assert counts.sum() == 4000
    assert counts.min() > 330
    assert counts.max() < 470


@given(st.integers(0, 2**52))
def test_pairs_are_listed_without_gaps(place) -> None:
    """The formula for the pair at a place inverts the formula for the place of a pair."""
    first, second = (int(side[0]) for side in _pair_at(np.array([place])))
    assert 0 <= first <= second - 2
    assert (second - 2) * (second - 1) // 2 + first == place


@given(size=SMALL, seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_genus_of_delaunay_follows_from_the_hull(size, seed) -> None:
    """There are 2n - 2 - h triangles, with h points on the convex hull."""
    graph = delaunay(size, seed=seed)
    hull = len(ConvexHull(graph.coordinates).vertices)
    assert graph.genus == 2 * size - 2 - hull
    assert nx.check_planarity(nx.Graph(graph.to_networkx()))[0]


@given(size=st.integers(1, 60), seed=SEEDS)
@settings(max_examples=60, deadline=None)
def test_each_voronoi_cell_is_a_cycle(size, seed) -> None:
    """The genus is the number of cells, and the border of the unit square belongs to the graph."""
    graph = voronoi(size, seed=seed)
    assert graph.genus == size
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert np.abs(graph.coordinates - corner).max(axis=1).min() < 1e-9
    ends = graph.coordinates[np.stack([graph.tail, graph.head])]
    for axis in (0, 1):
        for side in (0.0, 1.0):
            on_side = (np.abs(ends[:, :, axis] - side) < 1e-9).all(axis=0)
            assert graph.length[on_side].sum() == pytest.approx(1.0)


def test_one_voronoi_cell_is_the_unit_square() -> None:
    """A single cell gives four sides of length 1."""
    np.testing.assert_allclose(voronoi(1).length, 1.0, rtol=1e-9)
    assert voronoi(1).n_edges == 4


@given(rows=st.integers(1, 12), columns=st.integers(1, 12), seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_genus_of_a_grid_is_its_number_of_squares(rows, columns, seed) -> None:
    """A grid of a by b nodes has genus (a - 1)(b - 1)."""
    assert grid(rows, columns, seed=seed).genus == (rows - 1) * (columns - 1)


def test_a_grid_without_jitter_has_unit_lengths() -> None:
    """With jitter 0 every edge has length 1; with jitter lengths differ and stay close."""
    assert (grid(4, 5, jitter=0.0).length == 1.0).all()
    lengths = grid(4, 5, jitter=0.1).length
    assert len(np.unique(lengths)) == len(lengths)
    assert lengths.min() > 0.8
    assert lengths.max() < 1.3


@given(size=st.integers(1, 40), radius=st.floats(0.01, 1.5), seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_random_geometric_joins_exactly_the_close_points(size, radius, seed) -> None:
    """The edges are the pairs within the radius; points without any stay as components."""
    graph = random_geometric(size, radius, seed=seed)
    points = graph.coordinates
    gap = np.hypot(*(points[:, None, axis] - points[None, :, axis] for axis in (0, 1)))
    expected = {(i, j) for i in range(size) for j in range(i + 1, size) if gap[i, j] <= radius}
    assert set(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)) == expected
    assert graph.n_nodes == size


@given(cycles=st.integers(1, 25), nodes=st.integers(1, 6), seed=SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_cactus_has_one_class_for_each_cycle(cycles, nodes, seed) -> None:
    """The genus is the number of cycles, and no edge lies on two of them: Q is diagonal."""
    graph = cactus(cycles, cycle_nodes=nodes, seed=seed)
    assert graph.genus == cycles
    assert graph.n_nodes == 1 + cycles * (nodes - 1)
    assert graph.n_components == 1
    model = canonical_model(graph)
    totals = graph.length.reshape(cycles, nodes).sum(axis=1)
    assert len(model.bridges) == 0
    np.testing.assert_allclose(np.sort(model.core.length), np.sort(totals))


@given(strands=st.integers(1, 12), inner=st.integers(0, 4), seed=SEEDS)
def test_the_genus_of_a_theta_is_one_less_than_its_strands(strands, inner, seed) -> None:
    """Two nodes joined by k strands have genus k - 1, however many nodes lie on the strands."""
    graph = theta(strands, inner_nodes=inner, seed=seed)
    assert graph.genus == strands - 1
    assert graph.n_nodes == 2 + strands * inner


@given(beads=st.integers(1, 20), seed=SEEDS)
def test_the_genus_of_a_necklace_is_one_more_than_its_beads(beads, seed) -> None:
    """Each bead is a cycle and the thread closes one more; no edge is a bridge."""
    graph = necklace(beads, seed=seed)
    assert graph.genus == beads + 1
    assert graph.n_edges == 5 * beads
    assert len(canonical_model(graph).bridges) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: line_plus_random(0, 0), "n_nodes must be an integer of 1 or more, got 0"),
        (lambda: line_plus_random(5, -1), "genus must be an integer of 0 or more, got -1"),
        (lambda: delaunay(2), "n_nodes must be an integer of 3 or more"),
        (lambda: voronoi(0), "n_cells must be"),
        (lambda: grid(0, 3), "n_rows must be"),
        (lambda: grid(3, 2.5), "n_columns must be an integer of 1 or more, got 2.5"),
        (lambda: grid(3, 3, jitter=0.5), "jitter must be at least 0 and below 0.5"),
        (lambda: random_geometric(3, 0.0), "radius must be positive and finite"),
        (lambda: random_geometric(3, float("nan")), "radius must be positive and finite"),
        (lambda: cactus(0), "n_cycles must be"),
        (lambda: cactus(2, cycle_nodes=0), "cycle_nodes must be"),
        (lambda: theta(0), "n_strands must be"),
        (lambda: theta(2, inner_nodes=-1), "inner_nodes must be"),
        (lambda: necklace("two"), "n_beads must be an integer of 1 or more, got 'two'"),
    ],
)
def test_impossible_sizes_are_named(make, message) -> None:
    """A size that no graph can have is an error that names the option and what it may be."""
    with pytest.raises(InvalidOptionError, match=message):
        make()
