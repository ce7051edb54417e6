"""Lengths that are measured between the places of nodes, where edges have none."""

from __future__ import annotations

import warnings
import zipfile

import networkx as nx
import numpy as np
import pytest

import torelli as tt
from torelli._geo import great_circle
from torelli.cli import main

SPHERE = "no edge has a length: .* great circle, in metres"
PLANE = "no edge has a length: .* straight line"


def ring(places, **attributes) -> nx.MultiGraph:
    """Return a ring through nodes with attributes, without lengths."""
    graph = nx.MultiGraph(**attributes)
    graph.add_nodes_from(enumerate(places))
    graph.add_edges_from((i, (i + 1) % len(places)) for i in range(len(places)))
    return graph


@pytest.mark.parametrize(
    "names", [("Longitude", "Latitude"), ("lon", "lat"), ("LONG", "LAT"), ("lng", "lat")]
)
def test_longitude_and_latitude_give_metres(tmp_path, names) -> None:
    """Edges without lengths are measured on the great circle, in a file and in memory, and this is told."""
    places = [(8.0, 50.0), (8.1, 50.0), (8.1, 50.2)]
    graph = ring([dict(zip(names, place, strict=True)) for place in places])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    with pytest.warns(tt.DataWarning, match=SPHERE):
        (read,) = tt.read(tmp_path / "g.graphml")
    lon, lat = np.array(places)[[0, 1, 2, 0]].T
    expected = great_circle(lon[:-1], lat[:-1], lon[1:], lat[1:])
    np.testing.assert_allclose(sorted(read.length), sorted(expected))
    assert (read.unit, read.crs) == ("m", "EPSG:4326")
    with pytest.warns(tt.DataWarning, match=SPHERE):
        assert tt.as_metric_graph(graph) == read
    with pytest.warns(tt.DataWarning, match=SPHERE):
        assert tt.read(tmp_path / "g.graphml", unit="km")[0].total_length == pytest.approx(
            sum(expected) / 1e3
        )


def test_info_says_that_lengths_are_measured(tmp_path, capsys) -> None:
    """`torelli info` has a note."""
    graph = ring([{"x": 0, "y": 0}, {"x": 3, "y": 0}, {"x": 3, "y": 4}])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert main(["info", str(tmp_path / "g.graphml"), "--json"]) == 0
    output = capsys.readouterr()
    assert '"total_length": 12.0' in output.out
    assert "no edge has a length: lengths are measured between the coordinates" in output.err


@pytest.mark.parametrize(
    ("crs", "expected", "message"),
    [(None, 26.0, PLANE), ("EPSG:32632", 10.0, PLANE), ("EPSG:4326", None, SPHERE)],
)
def test_other_places_are_in_a_plane_or_in_space(crs, expected, message) -> None:
    """Coordinates x and y are a plane, with z space; of a projected system z is not used."""
    places = [{"x": 0, "y": 0, "z": 0}, {"x": 3, "y": 4, "z": 12}]
    graph = ring(places, **({} if crs is None else {"crs": crs}))
    with pytest.warns(tt.DataWarning, match=message):
        measured = tt.as_metric_graph(graph)
    assert measured.crs == crs
    if expected is None:
        assert measured.unit == "m"
    else:
        assert (measured.total_length, measured.unit) == (expected, None)


def test_longitude_goes_before_a_drawing(tmp_path) -> None:
    """If x and y have no stated system, longitude and latitude are the places; otherwise x and y are."""
    places = [{"x": 1, "y": 2, "lon": 8, "lat": 50}, {"x": 3, "y": 2, "lon": 9, "lat": 50}]
    with pytest.warns(tt.DataWarning, match=SPHERE):
        assert tt.as_metric_graph(ring(places)).crs == "EPSG:4326"
    with pytest.warns(tt.DataWarning, match=PLANE):
        assert tt.as_metric_graph(ring(places, crs="EPSG:32632")).total_length == 4.0


def test_nodes_at_one_place_are_contracted(tmp_path) -> None:
    """Edges of length 0 make their nodes one, with a warning that has the count."""
    graph = ring([{"lon": 8, "lat": 50}, {"lon": 8, "lat": 50}, {"lon": 9, "lat": 50}])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    with pytest.warns(tt.DataWarning) as caught:
        (read,) = tt.read(tmp_path / "g.graphml")
    messages = [str(warning.message) for warning in caught]
    assert "g.graphml: 1 edge between nodes at one place was contracted" in messages
    assert (read.n_nodes, read.n_edges, read.node_ids) == (2, 2, ("0", "2"))
    assert read.coordinates.tolist() == [[8, 50], [9, 50]]


def test_the_note_is_the_same_for_all_files(tmp_path) -> None:
    """Measured lengths of many files are told once, as Python shows a warning of one line and text once."""
    for i in range(3):
        nx.write_graphml(ring([{"lon": i, "lat": 0}, {"lon": 9, "lat": 1}]), tmp_path / f"{i}.graphml")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(tt.read(tmp_path)) == 3
    assert len({str(warning.message) for warning in caught}) == 1


def test_stated_lengths_are_never_replaced() -> None:
    """Lengths on some edges only, and another attribute that was asked for, stay errors."""
    graph = ring([{"x": 0, "y": 0}, {"x": 3, "y": 0}, {"x": 3, "y": 4}])
    with pytest.raises(tt.InvalidGraphError, match="attribute 'km' is missing"):
        tt.as_metric_graph(graph, length="km")
    graph.edges[0, 1, 0]["length"] = 7.0
    with pytest.raises(tt.InvalidGraphError, match="attribute 'length' is missing"):
        tt.as_metric_graph(graph)


def test_places_of_some_nodes_are_not_enough(tmp_path) -> None:
    """The error says how many nodes have no place."""
    graph = ring([{"Longitude": 8.0, "Latitude": 50.0}, {"Longitude": 9.0, "Latitude": 50.0}, {}])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    with pytest.raises(tt.InvalidGraphError, match=r"g\.graphml.*coordinates to measure by \(1 of 3 nodes"):
        tt.read(tmp_path / "g.graphml")
    with pytest.raises(tt.InvalidGraphError, match=r"coordinates to measure by .1 of 3 nodes"):
        tt.as_metric_graph(graph)


def test_places_that_are_not_on_the_earth_are_refused() -> None:
    """Latitudes beyond 90 are an error where lengths depend on them."""
    with pytest.raises(tt.InvalidGraphError, match="1 of 2 nodes lie outside"):
        tt.as_metric_graph(ring([{"lon": 8, "lat": 50}, {"lon": 8, "lat": 95}]))


@pytest.mark.filterwarnings("ignore::torelli.DataWarning")
def test_backbones_of_the_internet(data, tmp_path) -> None:
    """The 85 networks of the Topology Zoo whose nodes all have a place are read; others are refused."""
    archive = data / "zoo" / "graphml.zip"
    if not archive.is_file():
        pytest.skip(f"no {archive}")
    with zipfile.ZipFile(archive) as files:
        files.extractall(tmp_path)
    n_read = 0
    for path in sorted(tmp_path.iterdir()):
        placed = [{"Longitude", "Latitude"} <= data.keys() for _, data in nx.read_graphml(path).nodes.items()]
        if all(placed):
            (graph,) = tt.read(path)
            assert (graph.unit, graph.crs) == ("m", "EPSG:4326")
            n_read += 1
        else:
            with pytest.raises(tt.InvalidGraphError, match="'length' is missing"):
                tt.read(path)
    assert n_read == 85
