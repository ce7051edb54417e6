"""``torelli urn``: from cities to a data set, a model and a map."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from torelli.cli import main
from torelli.datasets import _osm as osm_module
from torelli.datasets import read_urn
from towns import grid_city, osmnx_graph


@pytest.fixture
def cities(tmp_path):
    """Write two cities as GraphML and return their paths."""
    paths = []
    for name, step in (("fine", 60.0), ("coarse", 100.0)):
        path = tmp_path / f"{name}.graphml"
        city = grid_city(41, step=step, name=name).jitter(1e-3).replace(node_ids=None)
        nx.write_graphml(city.to_networkx(), path)
        paths.append(str(path))
    return paths


@pytest.fixture
def osmnx(monkeypatch):
    """Put a grid city in place of OSMnx's answers; the returned list records the questions."""
    ox = pytest.importorskip("osmnx")
    monkeypatch.setattr(osm_module, "PAUSE", 0.0)
    monkeypatch.setattr(osm_module, "_probe", lambda _: None)
    asked = []

    def graph_from_point(centre, dist, *, dist_type, network_type):
        asked.append((centre, dist, dist_type, network_type))
        return osmnx_graph(grid_city(41, lat=centre[0], lon=centre[1], step=80.0))

    def geocode(place):
        asked.append(place)
        if place == "Atlantis":
            raise ValueError("Nominatim could not geocode query 'Atlantis'")
        return (42.3, -83.0)

    monkeypatch.setattr(ox, "graph_from_point", graph_from_point)
    monkeypatch.setattr(ox, "geocode", geocode)
    return asked


def build(out, *arguments):
    return main(["urn", "build", str(out), *map(str, arguments)])


def test_files_become_a_labelled_set(cities, tmp_path, capsys):
    """The file has the windows with label, city and centre, and the command says what is in it."""
    out = tmp_path / "out" / "set.jsonl.gz"
    options = ("--labels", "a", "b", "--radius", 800, "--window", 200, "--count", 20, "--seed", 4)
    assert build(out, "--cities", *cities, *options) == 0
    data = read_urn(out)
    assert (len(data.graphs), data.R, data.r, data.seed) == (20, 800, 200, 4)
    assert data.y.tolist() == ["a"] * 10 + ["b"] * 10
    assert set(data.city) == {"fine", "coarse"}
    shown = capsys.readouterr().out
    assert "20 windows" in shown
    assert "a: 10 windows of fine" in shown
    assert [path.name for path in out.parent.iterdir()] == ["set.jsonl.gz"]


def test_centres_of_files_may_be_given(cities, tmp_path):
    """Landmarks lie around the centre that is asked for."""
    out = tmp_path / "set.jsonl"
    assert build(out, "--cities", cities[0], "--centres", "50.005,10.005", "--radius", 300, "--count", 6) == 0
    lat, lon = read_urn(out).centres.T
    assert np.abs(lat - 50.005).max() < 300 / 111e3 + 1e-6
    assert np.abs(lon - 10.005).max() < 300 / 71e3


def test_places_are_asked_for_once(osmnx, tmp_path, capsys):
    """Names are geocoded, coordinates taken as they are, and a second run asks nothing."""
    out, cache = tmp_path / "set.jsonl", tmp_path / "cache"
    arguments = (
        "--cities",
        "Detroit, USA",
        "12.01,8.59",
        "--count",
        8,
        "--network-type",
        "drive",
        "--cache",
        cache,
    )
    assert build(out, *arguments) == 0
    assert osmnx == [
        "Detroit, USA",
        ((42.3, -83.0), 1150.0, "bbox", "drive"),
        ((12.01, 8.59), 1150.0, "bbox", "drive"),
    ]
    first = out.read_bytes()
    assert "asking OpenStreetMap for the streets of Detroit, USA" in capsys.readouterr().err
    assert build(out, *arguments) == 0
    assert len(osmnx) == 3
    assert out.read_bytes() == first
    assert set(read_urn(out).y) == {"Detroit, USA", "12.01,8.59"}


def test_a_set_of_the_paper_by_name(osmnx, tmp_path):
    """The paper's cities, radii and count, through OSMnx."""
    out = tmp_path / "set.jsonl.gz"
    assert build(out, "--set", "URN2-1S", "--cache", tmp_path / "cache", "--seed", 1) == 0
    data = read_urn(out)
    assert (data.name, data.source, len(data.graphs), data.seed) == ("URN2-1S", "osm", 400, 1)
    assert [question[0] for question in osmnx] == [(41.87, -87.63), (54.73, 55.95)]


@pytest.mark.usefixtures("osmnx")
def test_mistakes_are_named_before_anything_is_computed(cities, tmp_path, capsys):
    """Options that do not go together, missing files, unknown places: one line and exit code 2."""
    out = tmp_path / "set.jsonl"
    for arguments, message in (
        ((out, "--set", "URN2-1S", "--radius", 5), "--radius go with --cities"),
        ((tmp_path / "set.csv", "--cities", *cities), "ends in .jsonl"),
        ((out, "--cities", *cities, "--labels", "a"), "--labels has 1 entries for 2 cities"),
        ((out, "--cities", cities[0], "--centres", "north"), "give LAT,LON"),
        ((out, "--cities", cities[0], cities[0]), "two cities are called 'fine'"),
        ((out, "--cities", "nowhere.graphml"), "there is no file nowhere.graphml"),
        ((out, "--cities", cities[0], "--network-type", "walk"), "for a file (fine.graphml) use drive"),
        ((out, "--cities", "Atlantis", "--cache", tmp_path), "could not geocode query 'Atlantis'"),
        ((out, "--cities", cities[0], "--window", 5000), "0 < r <= R"),
    ):
        assert build(*arguments) == 2
        shown = capsys.readouterr().err
        assert message in shown
        assert "Traceback" not in shown
    assert not out.exists()
