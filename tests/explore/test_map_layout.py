"""Where networks go on the map of the explorer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import torelli as tt
from places import TOWNS, two_towns
from torelli._drawing import thumbnail
from torelli.explore import NetworkSet
from torelli.explore import map_layout as module
from torelli.explore.map_layout import GRID
from towns import grid_city

TRIANGLE = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.5], coordinates=[[0, 0], [1, 0], [0, 1]])


def lay_out_map(networks):
    """Return the layout of networks, with the frames of their drawings."""
    frames = [thumbnail(graph, max_segments=1000).frame for graph in networks.graphs]
    return module.lay_out_map(networks, frames)


def shifted(x, y, **changes):
    """Return the triangle at another place."""
    return TRIANGLE.replace(coordinates=TRIANGLE.coordinates + np.array([x, y]), **changes)


def test_the_map_has_a_panel_for_each_far_city():
    """Two far towns are two squares; every network lies inside that of its town."""
    networks = two_towns(30)
    layout = lay_out_map(networks)
    assert sorted(panel.name for panel in layout.panels) == sorted(TOWNS)
    for panel in layout.panels:
        inside = layout.xy[np.array(networks.cities) == panel.name] - panel.corner
        assert ((inside > 0) & (inside < 1)).all()
        assert len(panel.streets)
    assert layout.note == ""


def test_networks_on_top_of_each_other_have_no_map():
    """Networks drawn around the same origin are not at places: the note says so."""
    patterns = tt.datasets.street_patterns(2, radius=150, seed=0)
    layout = lay_out_map(NetworkSet.from_graphs(patterns.graphs, title="patterns"))
    assert layout.panels == []
    assert "no map" in layout.note
    assert np.isnan(layout.xy).all()


def test_near_cities_share_one_panel():
    """Cities that are not far apart for their size stand on one map without a name."""
    graphs = [shifted(3 * i, 0) for i in range(4)]
    (panel,) = lay_out_map(NetworkSet.from_graphs(graphs, title="", cities=["a", "a", "b", "b"])).panels
    assert panel.name == ""
    assert panel.side == pytest.approx(10 * 1.08)


def test_places_and_streets_agree():
    """A network's place is the middle of its streets, in the same square, with north up."""
    layout = lay_out_map(NetworkSet.from_graphs([shifted(0, 0), shifted(9, 5)], title=""))
    (panel,) = layout.panels
    streets = panel.streets.reshape(-1, 2) / GRID
    assert len(panel.streets) == 6
    for xy, part in zip(layout.xy, (streets[:, 0] < 0.5, streets[:, 0] >= 0.5), strict=True):
        middle = (streets[part].min(axis=0) + streets[part].max(axis=0)) / 2
        np.testing.assert_allclose(xy, middle, atol=2 / GRID)
    assert (layout.xy[1] > layout.xy[0]).all()


def test_degrees_of_longitude_are_narrower_away_from_the_equator():
    """At 60° north a degree east is half as far on the map as a degree north."""
    places = ((0.0, 53.0), (20.0, 53.0), (0.0, 72.5))  # with the middles of triangles at 60 on average
    graphs = [shifted(x, y, crs="EPSG:4326") for x, y in places]
    xy = lay_out_map(NetworkSet.from_graphs(graphs, title="")).xy
    east, north = np.linalg.norm(xy[1] - xy[0]) / 20.0, np.linalg.norm(xy[2] - xy[0]) / 19.5
    assert east == pytest.approx(north / 2, rel=1e-6)


def test_networks_without_a_place_are_counted_and_keep_their_rows():
    """They have NaN, the others are on the map, and the note says how many are not."""
    nowhere = TRIANGLE.replace(coordinates=None)
    layout = lay_out_map(NetworkSet.from_graphs([nowhere, shifted(0, 0), nowhere, shifted(9, 0)], title=""))
    assert np.isfinite(layout.xy).all(axis=1).tolist() == [False, True, False, True]
    assert layout.note == "2 networks have no coordinates and are not on the map."
    without = lay_out_map(NetworkSet.from_graphs([nowhere], title=""))
    assert (without.panels, without.note) == ([], module._NO_COORDINATES)


def test_many_streets_are_drawn_on_a_coarser_grid(monkeypatch):
    """Beyond the limit, segments end on fewer places and fall together; coordinates stay within the panel."""
    networks = two_towns(12)
    fine = lay_out_map(networks)
    monkeypatch.setattr(module, "_MAX_STREETS", 10)
    coarse = lay_out_map(networks)
    assert np.array_equal(coarse.xy, fine.xy)
    for one, two in zip(fine.panels, coarse.panels, strict=True):
        assert 0 < len(two.streets) <= len(one.streets)
        assert two.streets.max() <= GRID
        assert len(np.unique(two.streets)) <= module._COARSEST_GRID + 1


def test_the_streets_are_those_of_the_city():
    """The whole network of a city lies under its windows as far as the panel reaches."""
    city = grid_city(21, name="A")
    cut = NetworkSet.from_cities({"A": city}, window=210.0, count=4, radius=400.0, seed=1)
    (panel,) = lay_out_map(cut).panels
    (alone,) = lay_out_map(replace(cut, streets={})).panels
    own, whole = ({tuple(row) for row in one.streets.tolist()} for one in (alone, panel))
    assert own < whole
    assert panel.side == alone.side
    # 21 by 21 nodes, and the panel shows a part
    assert len(whole) < 2 * 21 * 20
    assert panel.streets.max() <= GRID


def test_frames_are_where_the_streets_are():
    """The frame of a drawing is the square around the network's own streets; NaN without a place."""
    nowhere = TRIANGLE.replace(coordinates=None)
    layout = lay_out_map(NetworkSet.from_graphs([shifted(0, 0), nowhere, shifted(9, 5)], title=""))
    (panel,) = layout.panels
    assert np.isnan(layout.frames[1]).all()
    for at in (0, 2):
        west, south, east, north = layout.frames[at]
        np.testing.assert_allclose((east - west, north - south), 1 / panel.side)
        np.testing.assert_allclose(((west + east) / 2, (south + north) / 2), layout.xy[at])


def test_plane_coordinates_are_not_drawn_on_a_map_of_the_earth():
    """Networks whose places were given in degrees, but not their nodes, are points without streets."""
    places = np.array([[8.0, 50.0], [8.1, 50.0]])
    layout = lay_out_map(NetworkSet.from_graphs([shifted(0, 0), shifted(500, 0)], title="", places=places))
    (panel,) = layout.panels
    assert len(panel.streets) == 0
    assert layout.xy[1, 0] > layout.xy[0, 0]
