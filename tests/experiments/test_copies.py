"""Windows and their copies: what each change keeps, and what it changes."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import torelli as tt
from torelli import MissingExtraError
from torelli.experiments import _copies
from torelli.experiments._copies import CHANGES, OF_WINDOWS, RADIUS, Copies
from towns import grid_city

WINDOW = grid_city(6)
SAME_SPACE = ("reordered", "subdivided", "simplified")


def change(name, graph=WINDOW, seed=0):
    if name == "simplified":
        pytest.importorskip("osmnx")
    return OF_WINDOWS[name](graph, np.random.default_rng(seed))


@pytest.mark.parametrize("name", SAME_SPACE)
def test_drawings_keep_the_space(name):
    """Length, genus and the canonical Torelli matrix stay, while the arrays are others."""
    graph = WINDOW.jitter(1e-3)
    copy = change(name, graph)
    assert copy != graph
    assert copy.total_length == pytest.approx(graph.total_length)
    np.testing.assert_allclose(tt.torelli_matrix(copy), tt.torelli_matrix(graph), rtol=1e-9, atol=1e-6)
    assert copy.coordinates is not None


def test_a_reordered_copy_has_its_nodes_where_they_were():
    """Each edge joins the same two places as before."""
    copy = change("reordered")

    def ends(graph):
        places = graph.coordinates[np.stack([graph.tail, graph.head])]
        return sorted(tuple(sorted(map(tuple, pair))) for pair in places.transpose(1, 0, 2).tolist())

    assert ends(copy) == ends(WINDOW)


def test_noise_has_the_size_that_it_says():
    """1 % of noise in lengths is 1 %; places moved by 3 m stretch streets of 100 m by 4 % or so."""
    stretch = change("lengths 1 %").length / WINDOW.length
    assert np.std(np.log(stretch)) == pytest.approx(0.01, rel=0.3)
    stretch = change("places 3 m").length / WINDOW.length
    assert np.std(stretch) == pytest.approx(3 * np.sqrt(2) / 100, rel=0.3)


def test_moved_places_never_make_a_length_zero():
    """Loops keep their length, and streets whose ends meet keep a centimetre."""
    loop = WINDOW.replace(
        tail=[0, 0], head=[0, 1], length=[50.0, 0.02], coordinates=WINDOW.coordinates, node_ids=None
    )
    copy = change("places 10 m", loop)
    assert copy.length[0] == 50.0
    assert copy.length[1] >= 0.01


def test_missing_streets_are_whole_and_what_is_left_is_connected():
    """A street cut in two by a point is dropped as one; about 5 % are."""
    graph = grid_city(15).subdivide(300, seed=0)
    copies = [change("5 % missing", graph, seed) for seed in range(5)]
    shares = [copy.total_length / graph.total_length for copy in copies]
    assert np.mean(shares) == pytest.approx(0.95, abs=0.02)
    assert {copy.n_components for copy in copies} == {1}
    # every length that is left is a multiple of a block
    whole = [tt.canonical_measure(copy).length for copy in copies]
    assert all(np.allclose(lengths % 100.0 % 99.999999, 0.0, atol=1e-4) for lengths in whole)


def test_consolidation_merges_what_is_near():
    """Two nodes 8 m apart become one; a grid of 100 m stays a grid."""
    pytest.importorskip("osmnx")
    grid = grid_city(5)
    # a staggered crossing: the second street at node 12 leaves 8 m to the north of it
    moved = grid.coordinates[12] + np.array([0.0, 8.0 / 111_195])
    tail, head = grid.tail.copy(), grid.head.copy()
    (north, *_) = np.flatnonzero(head == 13)
    tail[north] = 25
    staggered = grid.replace(
        tail=[*tail, 12], head=[*head, 25], length=[*grid.length, 8.0], n_nodes=26,
        coordinates=np.vstack([grid.coordinates, moved]), node_ids=None,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged, same = (_copies.consolidated(city, dead_ends=True) for city in (staggered, grid))
    assert (merged.n_nodes, same.n_nodes, same.n_edges) == (25, 25, 40)
    assert same.crs == "EPSG:4326"
    assert same.total_length == pytest.approx(4000.0, rel=0.01)


@pytest.mark.parametrize("drawn_back", [False, True])
def test_consolidation_keeps_the_lines_of_streets(drawn_back):
    """A street that makes a detour keeps its length where a crossing at its end is merged."""
    pytest.importorskip("osmnx")
    shapely = pytest.importorskip("shapely")
    grid = grid_city(5)
    places = grid.coordinates
    lines = [[places[u], places[v]] for u, v in zip(grid.tail, grid.head, strict=True)]
    (detour,) = np.flatnonzero((grid.tail == 12) & (grid.head == 13))
    lines[detour] = places[[12, 13, 12, 13]]  # there, back and there again
    # another point 8 m from the crossing, which is merged with it
    near = places[12] - 8.0 / 100.0 * (places[13] - places[12])
    lines.append([places[12], near])
    length = [*grid.length, 8.0]
    length[detour] *= 3.0
    texts = [str(shapely.LineString(line[:: -1 if drawn_back else 1])) for line in lines]
    city = grid.replace(
        tail=[*grid.tail, 12], head=[*grid.head, 25], length=length, n_nodes=26,
        coordinates=np.vstack([places, near]), node_ids=None, edge_values={"geometry": texts},
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        merged = _copies.consolidated(city, dead_ends=True)
    assert merged.n_nodes == 25
    assert merged.length.max() == pytest.approx(300.0, rel=0.05)


@pytest.fixture
def copies(monkeypatch):
    """Return the copies of two grid cities of other blocks."""
    cities = {"One": grid_city(31, name="One"), "Two": grid_city(41, name="Two", lat=20.0, step=75.0)}
    monkeypatch.setattr(_copies, "_QUICK_CITIES", ("One", "Two"))
    monkeypatch.setattr(_copies, "_QUICK_WINDOWS", 12)
    monkeypatch.setattr(_copies, "streets_of", lambda city, **_: cities[city])
    return Copies(quick=True, seed=0)


def load(files):
    return [pickle.loads(Path(file).read_bytes()) for file in files]  # noqa: S301  (written by us)


def test_originals_are_windows_with_city_and_quarter(copies):
    """Windows have their side, enough edges, and a group inside of their city."""
    windows, changed = load(copies.files("reordered"))
    assert len(windows.graphs) == len(changed) == len(windows.y) == 12
    assert set(windows.y) == {"One", "Two"}
    for graph in windows.graphs:
        assert graph.n_edges >= _copies.MIN_EDGES
        assert np.ptp(graph.coordinates[:, 1]) <= 2 * RADIUS / 111_000
    assert all(len(set(windows.y[windows.groups == group])) == 1 for group in set(windows.groups))


def test_a_shifted_window_is_cut_elsewhere_from_the_same_city(copies):
    """On a grid, most nodes of a window are those of its shifted copy."""
    windows, changed = load(copies.files("shifted 10 m"))
    shared = [
        len({*map(tuple, one.coordinates.tolist())} & {*map(tuple, two.coordinates.tolist())}) / one.n_nodes
        for one, two in zip(windows.graphs, changed, strict=True)
    ]
    assert min(shared) > 0.6
    assert copies.files("shifted 10 m")[0] == copies.files("reordered")[0]


def test_the_same_seed_gives_the_same_copies(copies):
    """Noise does not depend on which change was asked for first."""
    again = Copies(quick=True, seed=0)
    again.files("lengths 5 %")
    assert load(again.files("lengths 1 %"))[1] == load(copies.files("lengths 1 %"))[1]
    other = Copies(quick=True, seed=1)
    assert load(other.files("lengths 1 %"))[1] != load(copies.files("lengths 1 %"))[1]


def test_osmnx_is_asked_for_where_it_is_needed(copies, monkeypatch):
    """Without it, the error names the extra; other changes do not need it."""
    monkeypatch.setattr(_copies, "find_spec", lambda _: None)
    copies.files("lengths 1 %")
    for name in ("simplified", "consolidated"):
        with pytest.raises(MissingExtraError, match=r"torelli\[osm\]"):
            copies.files(name)
    assert set(OF_WINDOWS) < set(CHANGES)
