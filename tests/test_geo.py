"""Longitude and latitude: one rule for what is geographic, followed wherever it matters."""

from __future__ import annotations

import json
import sys

import geopandas as gpd
import matplotlib.pyplot as plt
import numpy as np
import pytest
from shapely.geometry import LineString

import torelli as tt
from torelli import _geo, plot
from torelli.datasets.windows import metres_from
from torelli.explore import NetworkSet

WGS84 = [
    "EPSG:4326",
    "epsg:4326",
    "4326",
    "WGS 84",
    "WGS84",
    "OGC:CRS84",
    "urn:ogc:def:crs:OGC:1.3:CRS84",
    "urn:ogc:def:crs:EPSG::4326",
    "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
    "+proj=longlat +datum=WGS84 +no_defs",
    "+init=epsg:4326",
    'GEOGCS["WGS 84",DATUM["WGS_1984"]]',
]
OTHERS = ["EPSG:4269", "NAD83", "EPSG:4258", "EPSG:4267"]
BY_PYPROJ = ["EPSG:4674", "EPSG:4490", "ESRI:104602"]
PROJECTED = ["EPSG:25832", "EPSG:3857", "EPSG:4087", "WGS 84 / UTM zone 33N", "+proj=utm +zone=33", "local"]


@pytest.fixture(autouse=True)
def figures():
    """Close what was drawn."""
    yield
    plt.close("all")


@pytest.fixture
def without_pyproj(monkeypatch):
    """Let pyproj be missing; answers are not kept from or for other tests."""
    monkeypatch.setattr(_geo, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "pyproj", None)
    _geo._is_geographic.cache_clear()
    yield
    _geo._is_geographic.cache_clear()


@pytest.mark.parametrize("crs", WGS84 + OTHERS + BY_PYPROJ)
def test_systems_of_longitude_and_latitude_are_geographic(crs):
    """A system is recognised by code, name, URN, web address, PROJ string and well-known text."""
    assert _geo.is_geographic(crs)


@pytest.mark.parametrize("crs", [*PROJECTED, "", "EPSG:999999", "EPSG:4326\ud800", "x" * 10**6, None])
def test_projected_and_unknown_systems_are_not_geographic(crs):
    """A projected system, a name that nobody knows, and no system at all are not geographic."""
    assert not _geo.is_geographic(crs)


@pytest.mark.parametrize("crs", WGS84 + OTHERS)
def test_common_systems_are_known_without_pyproj(crs, without_pyproj):
    """The common systems need no extra; codes that only pyproj knows are not geographic without it."""
    assert _geo.is_geographic(crs)
    assert not any(map(_geo.is_geographic, BY_PYPROJ + PROJECTED))


def street(crs, **options):
    """Return two streets that meet at 60° north, 0.001° and 0.002° long in longitude and latitude."""
    points = [[10.0, 60.0], [10.001, 60.0], [10.001, 60.002]]
    lengths = [55.597, 222.39]
    return tt.MetricGraph([0, 1], [1, 2], lengths, coordinates=points, crs=crs, unit="m", **options)


@pytest.mark.parametrize("crs", WGS84 + OTHERS)
def test_everything_follows_the_one_rule(crs):
    """Pictures, maps, windows, street statistics and the explorer agree that a system is geographic."""
    graph = street(crs)
    assert plot.graph(graph).get_aspect() == pytest.approx(2.0, rel=1e-3)
    assert plot.city_map([graph]).get_xlabel() == "longitude"
    np.testing.assert_allclose(metres_from(graph, (60.0, 10.0))[2], [55.597, 222.39], rtol=1e-4)
    assert tt.StreetStatistics(["circuity"]).fit_transform([graph])[0, 0] == pytest.approx(1.0, rel=1e-4)
    assert NetworkSet.from_graphs([graph], title="street").geographic


@pytest.mark.parametrize("crs", PROJECTED)
def test_nothing_takes_a_projected_system_for_degrees(crs):
    """The same coordinates in a projected system are drawn as they are; the explorer converts them."""
    graph = street(crs)
    assert plot.graph(graph).get_aspect() == 1.0
    assert plot.city_map([graph]).get_xlabel() == "x"
    if crs == "local":
        assert not NetworkSet.from_graphs([graph], title="street").geographic
    else:
        with pytest.warns(tt.DataWarning, match="were converted to longitude and latitude"):
            assert NetworkSet.from_graphs([graph], title="street").geographic
    with pytest.raises(tt.InvalidGraphError, match="coordinates are in"):
        metres_from(graph, (60.0, 10.0))
    with pytest.raises(tt.InvalidGraphError, match="times as long as the straight lines"):
        tt.StreetStatistics(["circuity"]).fit_transform([graph])


@pytest.mark.parametrize("crs", ["EPSG:4326", "WGS 84", "urn:ogc:def:crs:OGC:1.3:CRS84", "EPSG:4269"])
def test_readers_check_the_range_of_any_geographic_system(crs, tmp_path):
    """A file whose longitude and latitude are swapped gives a warning, however its system is named."""
    record = {"nodes": [["a", 49.0, 120.0], ["b", 49.1, 120.0]], "edges": [["a", "b", 7.0]], "crs": crs}
    (tmp_path / "swapped.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.warns(tt.DataWarning, match="2 of 2 points lie outside .* swapped: x is the longitude"):
        tt.read(tmp_path / "swapped.jsonl")
    record["crs"] = "EPSG:25832"
    (tmp_path / "projected.jsonl").write_text(json.dumps(record) + "\n")
    tt.read(tmp_path / "projected.jsonl")


@pytest.mark.parametrize("crs", ["EPSG:4326", "OGC:CRS84", "EPSG:4269", "EPSG:4674"])
def test_lines_of_a_geographic_system_stay_geographic(crs):
    """Lines measured on the ellipsoid give a graph in metres whose system the rest takes for degrees."""
    frame = gpd.GeoDataFrame(geometry=[LineString([(10, 60), (10.001, 60)])], crs=crs)
    graph = tt.as_metric_graph(frame)
    assert graph.unit == "m"
    assert graph.length[0] == pytest.approx(55.8, abs=0.1)
    assert _geo.is_geographic(graph.crs)


def test_street_statistics_name_nodes_out_of_range():
    """A latitude that is missing is an error with graph, count and remedy, not a row of NaN."""
    graph = street("WGS 84", name="Nowhere")
    broken = graph.replace(coordinates=[[10.0, 60.0], [np.nan, 60.0], [10.0, 91.0]])
    with pytest.raises(tt.InvalidGraphError, match=r"graph 1 .*Nowhere.*2 nodes .* out of range"):
        tt.StreetStatistics(["circuity"]).fit_transform([graph, broken])


def test_a_quarter_of_the_equator():
    """Great circles and plane coordinates have the radius of the earth in metres."""
    quarter = _geo.great_circle(*np.array([[0.0], [0.0], [90.0], [0.0]]))
    assert quarter[0] == pytest.approx(np.pi / 2 * _geo.EARTH_RADIUS)
    across = _geo.east_north(np.array([[-179.9, 0.1]]), (0.0, 179.9))
    np.testing.assert_allclose(across, [[0.2 * _geo.METRES_PER_DEGREE, 0.1 * _geo.METRES_PER_DEGREE]])
