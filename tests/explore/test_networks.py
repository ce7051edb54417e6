"""Sets of networks to explore together."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.explore import NetworkSet
from towns import grid_city


def test_wrong_lengths_are_refused():
    """A list of classes that does not match the networks is an error with both numbers."""
    with pytest.raises(tt.InvalidOptionError, match="classes has 1 entries for 2 networks"):
        NetworkSet.from_graphs([tt.MetricGraph([0], [1], [1.0])] * 2, title="two", classes=["a"])
    with pytest.raises(tt.InvalidOptionError, match="nothing to explore"):
        NetworkSet.from_graphs([], title="none")


SQUARE = tt.MetricGraph(
    [0, 1, 2, 3],
    [1, 2, 3, 0],
    [1.0] * 4,
    coordinates=[[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [0.0, 2.0]],
    name="square",
)


def test_names_and_places_come_from_the_graphs_by_default():
    """A graph without a name is numbered; the place is the middle of the nodes, NaN without any."""
    bare = SQUARE.replace(name=None, coordinates=None)
    lost = SQUARE.replace(coordinates=np.full((4, 2), np.nan))
    networks = NetworkSet.from_graphs([SQUARE, bare, lost], title="three")
    assert networks.names == ["square", "network 1", "square"]
    np.testing.assert_array_equal(networks.places, [[2.0, 1.0], [np.nan, np.nan], [np.nan, np.nan]])
    assert len(networks) == 3
    assert (networks.classes, networks.cities) == (None, None)


def test_places_are_geographic_if_they_are_given_or_all_systems_are():
    """Places given by the caller are longitude and latitude; those of graphs are what their systems say."""
    in_degrees = SQUARE.replace(crs="EPSG:4326")
    bare = SQUARE.replace(coordinates=None)

    def geographic(*graphs, **options):
        return NetworkSet.from_graphs(graphs, title="", **options).geographic

    assert geographic(in_degrees, bare)
    assert not geographic(in_degrees, SQUARE)
    assert geographic(SQUARE, places=np.array([[8.0, 50.0]]))


def test_classes_and_cities_are_text():
    """Numbers become their text, entry by entry."""
    networks = NetworkSet.from_graphs([SQUARE] * 2, title="", classes=[1, "b"], cities=np.array([7, 8]))
    assert networks.classes == ["1", "b"]
    assert networks.cities == ["7", "8"]


def test_a_data_set_names_its_classes():
    """Class numbers stand for the names of the set; its first line is the note."""
    data = tt.datasets.street_patterns(1, radius=150, seed=0)
    networks = NetworkSet.from_dataset(data, "patterns")
    assert networks.classes == list(data.target_names)
    assert networks.graphs == data.graphs
    assert networks.note == data.DESCR.strip().splitlines()[0]
    unlabelled = NetworkSet.from_dataset({"graphs": [SQUARE], "y": None}, "none")
    assert unlabelled.classes is None


def test_centres_of_a_data_set_are_longitude_and_latitude():
    """Data sets have centres as (lat, lon), and places are (lon, lat)."""
    networks = NetworkSet.from_dataset({"graphs": [SQUARE], "centres": [(50.0, 8.0)]}, "one")
    assert networks.places.tolist() == [[8.0, 50.0]]
    assert networks.geographic


def test_a_city_for_each_network_is_no_grouping():
    """Cities of an index count only if some city has several networks."""
    index = [{"city": "A"}, {"city": "B"}, {"city": "A"}]
    assert NetworkSet.from_dataset({"graphs": [SQUARE] * 3, "index": index}, "").cities == ["A", "B", "A"]
    assert NetworkSet.from_dataset({"graphs": [SQUARE] * 2, "index": index[:2]}, "").cities is None


def test_cities_are_cut_into_windows():
    """Windows are shared evenly, know their city, lie in it, and the seed decides them."""
    cities = {"A": grid_city(21, name="A"), "B": grid_city(31, lat=40.0, name="B").replace(crs=None)}
    networks = NetworkSet.from_cities(cities, window=210.0, count=6, seed=1)
    assert networks.cities == ["A"] * 3 + ["B"] * 3
    assert networks.title == "Windows of A, B"
    assert {graph.n_nodes for graph in networks.graphs} == {25}
    np.testing.assert_allclose(networks.places, [[10.0, 50.0]] * 3 + [[10.0, 40.0]] * 3, atol=0.02)
    again = NetworkSet.from_cities(cities, window=210.0, count=6, seed=1)
    other = NetworkSet.from_cities(cities, window=210.0, count=6, seed=2)
    assert np.array_equal(again.places, networks.places)
    assert not np.array_equal(other.places, networks.places)
