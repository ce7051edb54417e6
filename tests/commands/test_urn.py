"""``torelli urn``: from cities to a data set, a model and a map."""

from __future__ import annotations

import csv
import json
import re

import geopandas as gpd
import networkx as nx
import numpy as np
import pytest
from shapely.geometry import LineString

from torelli.cli import main
from torelli.datasets import osm as osm_module
from torelli.datasets import read_urn
from torelli.persist import load_model
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


def test_a_projected_city_becomes_a_set(cities, tmp_path, capsys):
    """A file in UTM is cut into windows in degrees, and one note says that it was converted."""
    pyproj = pytest.importorskip("pyproj")
    city = grid_city(41, step=60.0)
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    points = np.stack(to_plane.transform(*city.coordinates.T), axis=1)
    plane = tmp_path / "plane.graphml"
    moved = city.replace(coordinates=points, crs="EPSG:32632", node_ids=None)
    nx.write_graphml(moved.to_networkx(), plane)
    out = tmp_path / "set.jsonl"
    assert build(out, "--cities", *cities, plane, "--radius", 500, "--count", 12) == 0
    assert capsys.readouterr().err.count("coordinates in EPSG:32632 were converted") == 1
    data = read_urn(out)
    assert {window.crs for window in data.graphs} == {"EPSG:4326"}
    np.testing.assert_allclose(data.centres, np.broadcast_to([50.0, 10.0], (12, 2)), atol=0.01)


def test_how_the_files_of_cities_are_read_can_be_said(tmp_path, capsys):
    """--split and --zero are options here too, since the messages about such files name them."""
    gpd = pytest.importorskip("geopandas")
    shapely = pytest.importorskip("shapely")
    streets = [[(500_000 + 100 * i, 5_500_000), (500_000 + 100 * i, 5_502_000)] for i in range(21)]
    across = [[(500_000, 5_500_000 + 100 * i), (502_000, 5_500_000 + 100 * i)] for i in range(21)]
    lines = [shapely.LineString(line) for line in streets + across]
    path, out = tmp_path / "grid.gpkg", tmp_path / "set.jsonl"
    gpd.GeoDataFrame(geometry=lines, crs="EPSG:32632").to_file(path)
    options = ["--cities", path, "--radius", 500, "--window", 210, "--count", 4]
    assert build(out, *options, "--split") == 0
    assert "42 of 42 lines were split" in capsys.readouterr().err
    assert {window.n_nodes for window in read_urn(out).graphs} == {25}
    zero = nx.Graph()
    zero.add_nodes_from([(k, {"x": 10 + 1e-4 * k, "y": 50.0}) for k in range(4)])
    zero.add_weighted_edges_from([(0, 1, 7.0), (1, 2, 0.0), (2, 3, 7.0)], weight="length")
    nx.write_graphml(zero, tmp_path / "zero.graphml")
    options = ["--cities", tmp_path / "zero.graphml", "--radius", 100, "--window", 50, "--count", 1]
    assert build(out, *options) != 0
    assert "--zero contract" in capsys.readouterr().err
    assert build(out, *options, "--zero", "contract") == 0
    assert "1 edge of length 0" in capsys.readouterr().err


def test_sets_of_the_paper_are_read_as_they_are(tmp_path, capsys):
    """Options of reading go with --cities only."""
    assert build(tmp_path / "a.jsonl", "--set", "URN4-S", "--source", "standins", "--split") != 0
    assert "--split: only with --cities" in capsys.readouterr().err


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
        ((out, "--set", "URN2-1S", "--radius", 5), "--radius: only with --cities"),
        ((tmp_path / "set.csv", "--cities", *cities), "ends in .jsonl"),
        ((out, "--cities", *cities, "--source", "standins"), "--source goes with --set"),
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


@pytest.fixture
def trained(cities, tmp_path, capsys):
    """Build a set of two cities, train on it with blocked folds, and return the model's path."""
    data, model = tmp_path / "set.jsonl", tmp_path / "model.skops"
    pytest.importorskip("skops")
    assert build(data, "--cities", *cities, "--count", 40, "--radius", 800) == 0
    assert main(["urn", "train", str(model), "--data", str(data)]) == 0
    assert "accuracy 100.0% on blocked folds" in capsys.readouterr().out
    return model


def test_a_model_maps_a_city(cities, trained, tmp_path, capsys):
    """Every part of a city that the model knows is found to be of its kind; table, map and GeoJSON agree."""
    out = tmp_path / "map"
    assert (
        main(["urn", "classify", cities[1], "--model", str(trained), "--out", str(out), "--step", "300"]) == 0
    )
    assert "coarse: 100%" in capsys.readouterr().out
    with (out / "windows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["pattern"] for row in rows} == {"coarse"}
    squares = json.loads((out / "windows.geojson").read_text(encoding="utf-8"))["features"]
    assert [square["properties"]["pattern"] for square in squares] == [row["pattern"] for row in rows]
    # 4 km by 4 km, a window every 300 m
    assert 13**2 <= len(rows) <= 15**2
    for row, square in zip(rows, squares, strict=True):
        ring = np.array(square["geometry"]["coordinates"][0])
        assert np.allclose(ring[:4].mean(axis=0), [float(row["lon"]), float(row["lat"])], atol=1e-5)
    assert (out / "map.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_of_synthetic_patterns(tmp_path, capsys):
    """No data is needed; the four patterns are told apart far better than by chance."""
    pytest.importorskip("skops")
    assert main(["urn", "train", str(tmp_path / "m.skops"), "--patterns", "12", "--window", "250"]) == 0
    shown = capsys.readouterr().out
    assert "48 windows of radius 250 m from synthetic patterns: chaotic, gridiron, linear, tributary" in shown
    assert float(re.search(r"accuracy ([\d.]+)%", shown)[1]) > 60
    _, about = load_model(tmp_path / "m.skops")
    assert (about["r"], about["cut"]) == (250.0, "bbox")


def test_a_model_keeps_the_variant_of_its_kernel(tmp_path, capsys):
    """A model trained along returns compares windows along returns after it was loaded."""
    pytest.importorskip("skops")
    out = tmp_path / "m.skops"
    options = ["--patterns", "4", "--window", "150", "--along", "returns"]
    assert main(["urn", "train", str(out), *options, "--kernel", "ttm"]) == 0
    assert "kernel: TTM along returns" in capsys.readouterr().out
    model, about = load_model(out)
    assert model[0].along == "returns"
    assert about["kernel"] == "TTM along returns"
    assert main(["urn", "train", str(out), *options]) == 2
    shown = capsys.readouterr().err
    assert "--along returns: the product of kernels has no such option; add --kernel ttm" in shown
    assert main(["urn", "train", str(out), *options, "--kernel", "tts"]) == 2
    assert "--along returns: no kernel of 'tts' has this option; use 'ttm'" in capsys.readouterr().err


def test_mistakes_with_models_are_named(cities, trained, tmp_path, capsys):
    """Wrong names and options end with one line."""
    data = str(tmp_path / "set.jsonl")
    for arguments, message in (
        (["train", str(tmp_path / "m.pkl"), "--patterns", "5"], "ends in .skops or .joblib"),
        (
            ["train", str(tmp_path / "m.skops"), "--data", data, "--window", "9"],
            "--window goes with --patterns",
        ),
        (["classify", cities[0], "--model", "none.skops"], "there is no model none.skops"),
        (["classify", cities[0], "--model", str(trained), "--step", "0"], "--step is 0"),
    ):
        assert main(["urn", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_shapefile_without_its_reference_system_is_told_what_it_lacks(tmp_path, capsys):
    """Metres without a reference system cannot be placed: the error names the file that states it."""
    lines = [LineString([(5e5, 5e6), (5e5 + 200, 5e6)]), LineString([(5e5 + 200, 5e6), (5e5, 5e6 + 200)])]
    gpd.GeoDataFrame(geometry=lines, crs="EPSG:32630").to_file(tmp_path / "roads.shp")
    (tmp_path / "roads.prj").unlink()
    command = ["urn", "build", str(tmp_path / "w.jsonl"), "--cities", str(tmp_path / "roads.shp")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "states its reference system, as a shapefile does with its .prj file" in error
    assert "MetricGraph" not in error
