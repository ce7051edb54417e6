"""Sets of networks to explore together, and those of one place."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.explore import NetworkSet
from torelli.explore.networks import of_one_place, same_for_kernel, same_point
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


def test_cities_that_were_cut_are_kept_for_the_map():
    """The whole network of each city comes along, in longitude and latitude, also through a data set."""
    city = grid_city(21, name="A")
    networks = NetworkSet.from_cities({"A": city}, window=210.0, count=3)
    assert networks.streets["A"].n_edges == city.n_edges
    data = tt.datasets.build_urn({"A": city}, R=400, r=210, n=3)
    assert NetworkSet.from_dataset(data, "").streets["A"].n_edges == city.n_edges


def test_some_of_the_networks_are_taken():
    """Row i of each attribute stays with its network, and rows lead back to the first set."""
    graphs = [SQUARE.replace(name=name) for name in "abcd"]
    networks = NetworkSet.from_graphs(graphs, title="four", classes=[0, 1, 2, 3], cities=list("wxyz"))
    some = networks.take([3, 1])
    assert (some.names, some.classes, some.cities, some.rows) == (["d", "b"], ["3", "1"], ["z", "x"], [3, 1])
    assert [graph.name for graph in some.graphs] == ["d", "b"]
    assert some.take([1]).rows == [1]
    assert networks.take([1]).rows == some.take([1]).rows
    with pytest.raises(tt.InvalidOptionError, match="no network 4, 9: there are 4, numbered from 0 to 3"):
        networks.take([1, 4, 9])
    with pytest.raises(tt.InvalidOptionError, match="no network was chosen"):
        networks.take([])


def test_labels_that_are_missing_have_a_name():
    """None, NaN and an empty text are one class."""
    networks = NetworkSet.from_graphs([SQUARE] * 4, title="", classes=[None, float("nan"), "", 0.0])
    assert networks.classes == ["no label"] * 3 + ["0.0"]


def test_projected_networks_are_placed_on_the_earth():
    """Coordinates in UTM become degrees for the map, lengths stay; unknown systems stay in the plane."""
    pyproj = pytest.importorskip("pyproj")
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    x, y = to_plane.transform(9.0, 50.0)
    plane = SQUARE.replace(coordinates=SQUARE.coordinates + np.array([x, y]), crs="EPSG:32632", unit="ft")
    with pytest.warns(tt.DataWarning, match="converted to longitude and latitude"):
        networks = NetworkSet.from_graphs([plane], title="")
    assert networks.geographic
    np.testing.assert_allclose(networks.places, [[9.0, 50.0]], atol=1e-4)
    assert networks.graphs[0].length.tolist() == plane.length.tolist()
    unknown = plane.replace(crs="LOCAL:nowhere")
    assert not NetworkSet.from_graphs([unknown], title="").geographic


def windows(n):
    """Return windows of one city, some of which overlap."""
    return tt.datasets.build_urn({"A": grid_city(21, name="A")}, R=500, r=210, n=n, seed=2).graphs


def shared(one, two):
    """Return the share of streets that two networks have in common, by sets of pairs of points."""
    sets = []
    for graph in (one, two):
        points = list(map(tuple, graph.coordinates.tolist()))
        ends = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
        sets.append(
            {frozenset((points[u], points[v])): x for (u, v), x in zip(ends, graph.length, strict=True)}
        )
    common = sum(sets[0][key] for key in sets[0].keys() & sets[1].keys())
    return common / (sum(sets[0].values()) + sum(sets[1].values()) - common)


def test_windows_with_most_of_their_streets_in_common_are_of_one_place():
    """More than half of the length of both together is the limit, counted by hand."""
    graphs = windows(25)
    pairs = of_one_place(graphs)
    expected = np.array([[shared(one, two) > 0.5 for two in graphs] for one in graphs])
    assert np.array_equal(pairs, expected)
    assert len(graphs) < pairs.sum() < len(graphs) ** 2


def test_the_drawing_of_a_network_does_not_matter_to_its_place():
    """Reversed, reordered edges and other numbers of nodes are the same streets."""
    first, *_ = windows(1)
    order = np.random.default_rng(0).permutation(first.n_edges)
    nodes = np.random.default_rng(1).permutation(first.n_nodes)
    turned = tt.MetricGraph(
        nodes[first.head[order]],
        nodes[first.tail[order]],
        first.length[order],
        coordinates=first.coordinates[np.argsort(nodes)],
        crs=first.crs,
    )
    assert of_one_place([first, turned]).all()


@pytest.mark.parametrize(
    "change", [{"crs": None}, {"coordinates": None}], ids=["no system", "no coordinates"]
)
def test_networks_without_a_place_have_none_in_common(change):
    """Equal graphs that say nothing of their place are not of one place; each is with itself."""
    graphs = [windows(1)[0].replace(**change)] * 3
    assert np.array_equal(of_one_place(graphs), np.eye(3, dtype=bool))


def test_parallel_streets_count_once():
    """A network with a street twice shares no more than it has."""
    single = tt.MetricGraph([0], [1], [2.0], coordinates=[[0, 0], [1, 0]], crs="EPSG:4326")
    double = tt.MetricGraph([0, 0], [1, 1], [2.0, 2.0], coordinates=[[0, 0], [1, 0]], crs="EPSG:4326")
    other = tt.MetricGraph([0, 0], [1, 1], [2.0, 9.0], coordinates=[[0, 0], [1, 0]], crs="EPSG:4326")
    assert of_one_place([single, double, other]).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_a_kernel_takes_networks_at_distance_zero_for_the_same():
    """Rounding does not separate them, and small true distances do; the first of them is named."""
    position = np.array([0.0, 5.0, 1e-8, 5.0, 5.001])
    squared = (position[:, None] - position) ** 2
    assert same_for_kernel(squared).tolist() == [0, 1, 0, 1, 4]
    assert same_for_kernel(np.zeros((3, 3))).tolist() == [0, 0, 0]
    assert same_for_kernel(np.zeros((1, 1))).tolist() == [0]


def test_windows_that_differ_in_bridges_are_the_same_for_a_kernel_of_cycles():
    """TTW sees no bridges: a network with a cul-de-sac more is at its point."""
    ring = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 2.5])
    tail = tt.MetricGraph([0, 1, 2, 0], [1, 2, 0, 3], [1.0, 2.0, 2.5, 7.0])
    larger = ring.replace(length=2 * ring.length)
    squared = tt.pairwise_distances([ring, larger, tail], squared=True)
    assert same_for_kernel(squared).tolist() == [0, 1, 0]


def test_networks_at_one_point_of_the_map():
    """Equal points are one; networks without a point are each alone."""
    places = np.array([[0.5, 0.5], [np.nan, np.nan], [0.5, 0.5 + 1e-12], [0.25, 0.5], [np.nan, np.nan]])
    assert same_point(places).tolist() == [0, 1, 0, 3, 4]
