"""Lines that are split where they meet."""

from __future__ import annotations

import warnings

import geopandas as gpd
import networkx as nx
import numpy as np
import pytest
import shapely
from shapely.geometry import LineString, MultiLineString

import torelli as tt
from torelli.cli import main
from torelli.io import noding
from torelli.io.lines import from_geodataframe

SYSTEMS = [("EPSG:25832", 100.0), ("EPSG:2263", 100.0), ("EPSG:4326", 0.001), (None, 1.0)]
STREET = LineString([(0, 0), (200, 0)])
OVER = LineString([(100, -100), (100, 100)])


def split(lines, crs="EPSG:25832", *, tolerance=None, **columns):
    """Return the graph of lines that are split, and what was told."""
    frame = gpd.GeoDataFrame(columns, geometry=list(lines), crs=crs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = from_geodataframe(frame, tolerance=tolerance, split=True)
    return graph, "; ".join(str(one.message) for one in caught)


def unsplit(lines, crs="EPSG:25832"):
    """Return the graph of the same lines as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return from_geodataframe(gpd.GeoDataFrame(geometry=list(lines), crs=crs))


def counts(graph):
    return graph.n_nodes, graph.n_edges, graph.genus


@pytest.mark.parametrize(("crs", "unit"), SYSTEMS)
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([[(0, 0), (2, 0)], [(1, -1), (1, 1)]], (5, 4, 0)),  # a crossing
        ([[(0, 0), (2, 0)], [(1, 0), (1, 1)]], (4, 3, 0)),  # an end on a line
        ([[(0, 0), (1, 0), (2, 0)], [(1, -1), (1, 0), (1, 1)]], (5, 4, 0)),  # a point of both
        ([[(0, 0), (2, 0), (2, 1), (1, 1), (1, -1)]], (3, 3, 1)),  # a line that crosses itself
        ([[(0, 0), (2, 0), (2, 1), (1, 1), (1, 0)]], (2, 2, 1)),  # a line that ends on itself
        ([[(0, 0), (1, 1), (2, 0), (0, 0)], [(1, -1), (1, 2)]], (5, 6, 2)),  # through a ring
        ([[(0, 0), (3, 0)], [(1, 0), (2, 0)]], (4, 4, 1)),  # along another for a stretch
        ([[(0, 0), (1, 0)], [(1, 0), (2, 0)]], (3, 2, 0)),  # nothing to split
    ],
)
def test_lines_are_joined_where_they_meet(crs, unit, lines, expected) -> None:
    """Each way in which lines meet is a node, in every system, and the total length is that of the lines."""
    lines = [LineString(np.array(line) * unit) for line in lines]
    graph, _ = split(lines, crs)
    assert counts(graph) == expected
    assert graph.total_length == pytest.approx(unsplit(lines, crs).total_length, rel=1e-9)


@pytest.mark.parametrize(("crs", "unit"), SYSTEMS)
def test_many_lines_through_one_point_are_one_node(crs, unit) -> None:
    """Places of crossings are rounded, and still one node."""
    angles = np.arange(7) * 0.44
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    middle = np.array([1 / 3, 1 / 7])
    graph, told = split([LineString(unit * np.array([middle - ray, middle + ray])) for ray in rays], crs)
    assert counts(graph) == (15, 14, 0)
    assert "7 of 7 lines were split where they meet others, which makes 14" in told


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("crs", "unit"), SYSTEMS)
def test_random_lines_are_noded_as_by_shapely(crs, unit, seed) -> None:
    """The genus is that of the lines which shapely nodes, and the total length is unchanged."""
    rng = np.random.default_rng(seed)
    lines = [LineString(unit * points) for points in rng.uniform(0, 10, (25, 4, 2))]
    noded = shapely.get_parts(shapely.node(MultiLineString(lines)))
    expected = unsplit(noded, crs)
    graph, _ = split(lines, crs)
    assert counts(graph) == counts(expected)
    assert graph.total_length == pytest.approx(unsplit(lines, crs).total_length, rel=1e-9)
    np.testing.assert_allclose(np.sort(graph.length), np.sort(expected.length), rtol=1e-6, atol=1e-6 * unit)


def test_long_lines_in_degrees_keep_their_length() -> None:
    """A straight line in degrees is no geodesic, but its pieces are as long as it was."""
    lines = [LineString([(0, 50), (10, 52)]), LineString([(3, 48), (4, 54)])]
    graph, _ = split(lines, "EPSG:4326")
    assert counts(graph) == (5, 4, 0)
    assert graph.total_length == pytest.approx(unsplit(lines, "EPSG:4326").total_length, rel=1e-12)


@pytest.mark.parametrize(
    ("crs", "scale", "gap", "joined"),
    [("EPSG:25832", 100, 5e-4, True), ("EPSG:25832", 100, 2e-3, False), ("EPSG:4326", 0.001, 5e-9, True),
     ("EPSG:4326", 0.001, 5e-8, False)],
)  # fmt: skip
def test_ends_within_the_tolerance_are_joined(crs, scale, gap, joined) -> None:
    """An end point that misses a line by less than a millimetre is on it."""
    lines = [LineString([(0, 0), (2 * scale, 0)]), LineString([(scale, gap), (scale, scale)])]
    graph, _ = split(lines, crs)
    assert counts(graph) == ((4, 3, 0) if joined else (4, 2, 0))


def test_the_tolerance_is_an_option() -> None:
    """Ends that miss a line, or overshoot it, by less than the tolerance make one junction."""
    lines = [STREET, LineString([(50, 0.4), (50, 90)]), LineString([(120, -0.4), (120, 90)])]
    assert counts(split(lines)[0]) == (7, 5, 0)  # the second is apart, the third crosses
    graph, _ = split(lines, tolerance=0.5)
    assert counts(graph) == (6, 5, 0)
    assert graph.n_components == 1
    assert graph.total_length == pytest.approx(unsplit(lines).total_length, rel=1e-9)


def test_the_tolerance_is_in_metres_at_every_latitude() -> None:
    """Near the pole, where degrees of longitude are short, an end counts by its distance in metres."""
    step = np.rad2deg(1 / 6_371_009)
    street = LineString([(10, 80), (10, 80 + 100 * step)])
    for metres, n_edges in ((0.9, 3), (1.1, 2)):
        side = 10 + metres * step / np.cos(np.deg2rad(80))
        lines = [street, LineString([(side, 80 + 50 * step), (side + 1, 80 + 50 * step)])]
        assert split(lines, "EPSG:4326", tolerance=1.0)[0].n_edges == n_edges


@pytest.mark.parametrize(
    ("columns", "joined"),
    [
        ({}, True),
        ({"bridge": ["yes", None]}, False),
        ({"BRIDGE": ["T", "F"]}, False),
        ({"bridge": ["viaduct", "no"]}, False),
        ({"bridge": [True, False]}, False),
        ({"bridge": [1, 0]}, False),
        ({"bridge": ["yes", "yes"]}, True),
        ({"bridge": ["no", None]}, True),
        ({"tunnel": ["yes", float("nan")]}, False),
        ({"tunnel": ["building_passage", None]}, True),
        ({"tunnel": ["yes", None], "bridge": [None, "yes"]}, False),
        ({"layer": [1, 0]}, False),
        ({"layer": ["-1", None]}, False),
        ({"layer": [1.0, 1.0]}, True),
        ({"layer": ["1", 1]}, True),
        ({"layer": [0, None]}, True),
        ({"layer": [0, 0], "bridge": ["T", "F"]}, False),
        ({"layer": [1, None], "bridge": ["yes", "yes"]}, True),
        ({"layer": ["1;2", 0]}, False),
        ({"layer": [["0", "1"], None]}, False),
    ],
)
def test_lines_on_different_levels_are_not_joined(columns, joined) -> None:
    """A bridge or tunnel over or under a street is no crossing, and the note counts it."""
    graph, told = split([STREET, OVER], **columns)
    assert counts(graph) == ((5, 4, 0) if joined else (4, 2, 0))
    assert ("1 pair of lines meet on different levels" in told) == (not joined)


@pytest.mark.parametrize(("height", "joined"), [(0.2, True), (5.0, False), (-6.0, False)])
def test_heights_tell_levels(height, joined) -> None:
    """Lines whose z differs by more than a metre where they cross are not joined."""
    over = LineString([(100, -100, 0), (100, -20, height), (100, 20, height), (100, 100, 0)])
    street = LineString([(0, 0, 0), (200, 0, 0)])
    assert split([street, over])[0].n_edges == (4 if joined else 2)
    side = LineString([(100, 0, height), (100, 50, height)])  # an end above a line
    assert split([street, side])[0].n_edges == (3 if joined else 2)


def test_lines_without_heights_are_joined_to_those_with() -> None:
    """No z says nothing about the level."""
    over = LineString([(100, -100, 9), (100, 100, 9)])
    assert split([STREET, over])[0].n_edges == 4


def test_the_ends_of_a_bridge_are_on_the_ground() -> None:
    """A bridge that ends on a street is joined to it; a street that ends under a bridge is not."""
    bridge = LineString([(100, 0), (100, 50)])
    assert counts(split([STREET, bridge], bridge=[None, "yes"])[0]) == (4, 3, 0)
    graph, told = split([STREET, bridge], bridge=["yes", None])
    assert counts(graph) == (4, 2, 0)
    assert "1 pair of lines meet on different levels" in told


def test_an_end_at_a_point_of_a_bridge_is_a_junction() -> None:
    """A street that ends exactly at a point of a bridge was drawn to it."""
    bridge = LineString([(0, 0), (100, 0), (200, 0)])
    side = LineString([(100, 0), (100, 50)])
    assert counts(split([bridge, side], bridge=["yes", None])[0]) == (4, 3, 0)


def test_crossings_of_two_levels_at_one_place_are_two_nodes() -> None:
    """Where bridges cross above a crossing of streets, the two are not joined."""
    lines = [STREET, OVER, LineString([(0, -100), (200, 100)]), LineString([(0, 100), (200, -100)])]
    graph, _ = split(lines, layer=[0, 0, 1, 1])
    assert (*counts(graph), graph.n_components) == (10, 8, 0, 2)


def test_the_level_of_a_row_is_that_of_its_parts() -> None:
    """Rows without geometry and rows of several lines keep lines and levels together."""
    lines = [None, MultiLineString([STREET, LineString([(0, 50), (200, 50)])]), OVER]
    graph, told = split(lines, layer=[1, 0, 1])
    assert counts(graph) == (6, 3, 0)
    assert "2 pairs of lines meet on different levels" in told
    assert split(lines, layer=[1, 0, 0])[0].n_edges == 7


def test_lines_along_one_another_are_told_of() -> None:
    """A stretch that two lines share stays twice, with its count."""
    _, told = split([LineString([(0, 0), (3, 0)]), LineString([(1, 0), (2, 0)])])
    assert "1 pair of lines run along one another" in told


@pytest.mark.parametrize(
    ("lines", "n_edges"),
    [
        ([], 0),
        ([LineString([(1, 1), (1, 1)])], 0),
        ([LineString([(0, 0), (0, 0), (1, 0), (1, 0)])], 1),
        ([LineString([(0, 0), (1, 0), (0, 0)])], 1),
        ([STREET, STREET], 2),
        ([LineString([(100, 0), (100, 0)]), STREET], 2),
    ],
)
def test_degenerate_lines(lines, n_edges) -> None:
    """Nothing, points, repeated points, lines that turn back and lines given twice are no failure."""
    graph, _ = split(lines)
    assert graph.n_edges == n_edges
    assert graph.total_length == pytest.approx(unsplit(lines).total_length, rel=1e-9)


@pytest.mark.parametrize("size", [1e101, 1e200, 1e307])
def test_coordinates_that_overflow_are_refused(size) -> None:
    """Crossings of lines far beyond any map are an error, and no warning of numpy."""
    with pytest.raises(tt.FormatError, match=r"coordinates are beyond 1e\+100"):
        split([LineString([(0, 0), (2 * size, 0)]), LineString([(size, -size), (size, size)])], None)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-100, 1e99])
@pytest.mark.parametrize("crs", ["EPSG:25832", None])
def test_sizes_far_from_one_are_no_failure(size, crs) -> None:
    """Lines of nearly any size that floats have are read, without a warning of numpy."""
    lines = [LineString([(0, 0), (2 * size, 0)]), LineString([(size, -size), (size, size)]), STREET]
    graph, told = split(lines, crs)
    assert np.isfinite(graph.total_length)
    assert "encountered" not in told


def test_too_many_crossings_are_refused(monkeypatch) -> None:
    """A file whose lines all cross is an error before memory is full."""
    monkeypatch.setattr(noding, "_MOST_JOINTS", 1000)
    monkeypatch.setattr(noding, "_AT_ONCE", 1000)
    lines = [LineString([(i, 0), (100 - i, 100)]) for i in range(60)]
    with pytest.raises(tt.FormatError, match="meet at more than 1,000 places"):
        split(lines)


@pytest.mark.parametrize("name", ["a.gpkg", "a.geojson", "a.parquet", "a.shp"])
@pytest.mark.parametrize("layer", [[0, 1], ["0", "1"]])
def test_every_format_of_lines_has_the_option(tmp_path, name, layer) -> None:
    """Files are split, with the levels of their columns."""
    other = LineString([(50, -50), (50, 50)])
    columns = {"name": "x", "LAYER": [*layer, layer[0]]}
    frame = gpd.GeoDataFrame(columns, geometry=[STREET, OVER, other], crs="EPSG:25832")
    path = tmp_path / name
    if name.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_crs("EPSG:4326" if name.endswith("json") else "EPSG:25832").to_file(path)
    with pytest.warns(tt.DataWarning, match="1 pair of lines meet on different levels"):
        (graph,) = tt.read(path, split=True)
    assert (graph.n_edges, tt.read(path)[0].n_edges) == (5, 3)


def test_the_warning_names_the_remedy_and_the_command_line_has_it(tmp_path, capsys) -> None:
    """The note about end points on lines names --split, which then joins them."""
    path = tmp_path / "a.gpkg"
    gpd.GeoDataFrame(geometry=[STREET, LineString([(100, 0), (100, 50)])], crs="EPSG:25832").to_file(path)
    with pytest.warns(tt.DataWarning, match=r"split=True \(on the command line: --split\)"):
        tt.read(path)
    assert main(["info", str(path), "--json"]) == 0
    assert '"edges": 2' in capsys.readouterr().out
    assert main(["info", str(path), "--json", "--split"]) == 0
    assert '"edges": 3' in capsys.readouterr().out


@pytest.mark.parametrize("name", ["monaco.osm.gz", "chicago-logan-square.osm.gz"])
@pytest.mark.parametrize("plane", [False, True])
def test_ways_of_a_real_city_meet_where_openstreetmap_says(data, name, plane) -> None:
    """Whole ways with bridge, tunnel and layer give the genus of the nodes that they share in OSM."""
    osmium = pytest.importorskip("osmium")
    if not (data / "osm" / name).is_file():
        pytest.skip(f"the shared data has no osm/{name}")
    rows, streets = [], nx.MultiGraph()
    for way in osmium.FileProcessor(data / "osm" / name).with_locations():
        if way.is_way() and "highway" in way.tags and all(node.location.valid() for node in way.nodes):
            levels = {key: way.tags.get(key) for key in noding.LEVEL_COLUMNS}
            rows.append({**levels, "geometry": LineString([(node.lon, node.lat) for node in way.nodes])})
            nx.add_path(streets, [node.ref for node in way.nodes])
    frame = gpd.GeoDataFrame(rows, crs="EPSG:4326")
    frame = frame.to_crs(frame.estimate_utm_crs()) if plane else frame
    n_components = nx.number_connected_components(streets)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, whole = from_geodataframe(frame, split=True), from_geodataframe(frame)
    assert graph.n_components == n_components
    assert graph.genus == streets.number_of_edges() - streets.number_of_nodes() + n_components
    assert graph.total_length == pytest.approx(whole.total_length, rel=1e-9)
