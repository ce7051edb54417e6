"""Lines with coordinates: GeoDataFrames and the files of geographic information systems."""

from __future__ import annotations

import sys
import warnings
import zipfile

import geopandas as gpd
import networkx as nx
import numpy as np
import osmnx as ox
import pytest
from pyproj import Geod
from shapely.geometry import LineString, MultiLineString, Point

import torelli as tt
from torelli.io.lines import snap

SQUARE = [
    LineString([(0, 0), (100, 0)]),
    LineString([(100, 0), (100, 50), (0, 50)]),
    LineString([(0, 50), (0, 0)]),
    LineString([(0, 0), (60, 80)]),
]


def frame(lines=SQUARE, crs="EPSG:25832") -> gpd.GeoDataFrame:
    return gpd.GeoDataFrame({"road": range(len(lines))}, geometry=list(lines), crs=crs)


def test_projected_lines_are_measured_in_the_plane() -> None:
    """Lengths follow the line, end points that coincide are one node, the unit is that of the system."""
    graph = tt.as_metric_graph(frame())
    assert graph.length.tolist() == [100, 150, 50, 100]
    assert (graph.n_nodes, graph.genus, graph.unit, graph.crs) == (4, 1, "m", "EPSG:25832")
    np.testing.assert_array_equal(graph.coordinates[:2], [[0, 0], [100, 0]])


def test_geographic_lines_are_measured_on_the_ellipsoid() -> None:
    """Degrees are measured on the ellipsoid of their reference system, in metres."""
    lines = [LineString([(8, 50), (8.01, 50.0), (8.01, 50.02)])]
    graph = tt.as_metric_graph(frame(lines, "EPSG:4326"))
    assert graph.length[0] == pytest.approx(Geod(ellps="WGS84").geometry_length(lines[0]), rel=1e-12)
    assert (graph.unit, graph.crs) == ("m", "EPSG:4326")


@pytest.mark.parametrize("crs", ["EPSG:3857", "ESRI:102100"])
def test_web_mercator_is_measured_on_the_ellipsoid(crs) -> None:
    """Web Mercator stretches lengths with the latitude, so that its lines are measured as degrees are."""
    degrees = frame([LineString([(25, 60), (25.01, 60), (25.01, 60.02)])], "EPSG:4326")
    graph, expected = tt.as_metric_graph(degrees.to_crs(crs)), tt.as_metric_graph(degrees)
    np.testing.assert_allclose(graph.length, expected.length, rtol=1e-8)
    np.testing.assert_allclose(graph.coordinates, expected.coordinates)
    assert (graph.unit, graph.crs) == ("m", "EPSG:4326")


def test_feet_are_feet() -> None:
    """The unit of a projected system other than the metre is kept, and nothing is converted."""
    graph = tt.as_metric_graph(frame(crs="EPSG:2263"))
    assert graph.length[0] == 100
    assert graph.unit == "US survey foot"


def test_without_a_reference_system_only_equal_points_are_one() -> None:
    """No system, no unit, no tolerance."""
    lines = [LineString([(0, 0), (1, 0)]), LineString([(1 + 1e-9, 0), (2, 0)])]
    graph = tt.as_metric_graph(frame(lines, None))
    assert (graph.n_nodes, graph.unit, graph.crs) == (4, None, None)


@pytest.mark.parametrize(
    ("crs", "gap", "n_nodes"),
    [("EPSG:25832", 5e-4, 3), ("EPSG:25832", 2e-3, 4), ("EPSG:4326", 5e-9, 3), ("EPSG:4326", 5e-8, 4)],
)
def test_end_points_within_a_millimetre_are_one(crs, gap, n_nodes) -> None:
    """The default tolerance is a millimetre, also in degrees."""
    lines = [LineString([(0, 0), (1, 0)]), LineString([(1 + gap, 0), (2, 0)])]
    assert tt.as_metric_graph(frame(lines, crs)).n_nodes == n_nodes


def test_snapping_goes_through_points_in_between_and_over_the_date_line() -> None:
    """A chain of near points is one node; 180 and -180 degrees are one meridian."""
    chain = np.array([[0.0, 0.0], [0.9, 0.0], [1.8, 0.0], [5.0, 0.0]])
    assert snap(chain, 1.0, on_sphere=False)[0].tolist() == [0, 0, 0, 1]
    assert snap(np.array([[180.0, 10.0], [-180.0, 10.0]]), 1e-3, on_sphere=True)[0].tolist() == [0, 0]


def test_a_tolerance_that_joins_everything_is_refused() -> None:
    """Millions of pairs of near points are an error before they are listed."""
    lines = [LineString([(i * 1e-4, 0), (i * 1e-4, 1e-4)]) for i in range(6000)]
    with pytest.raises(tt.FormatError, match="pairs of end points"):
        tt.io.lines.from_geodataframe(frame(lines), tolerance=1e3)


@pytest.mark.parametrize("tolerance", [-1, float("nan"), float("inf")])
def test_bad_tolerance(tolerance) -> None:
    """A tolerance is a finite length of 0 or more."""
    with pytest.raises(tt.InvalidOptionError, match="tolerance"):
        tt.io.lines.from_geodataframe(frame(), tolerance=tolerance)


@pytest.mark.parametrize(
    ("crs", "scale", "gap", "warned"),
    [
        ("EPSG:25832", 100, 5e-4, True),
        ("EPSG:25832", 100, 2e-3, False),
        ("EPSG:4326", 0.001, 5e-9, True),
        ("EPSG:4326", 0.001, 5e-8, False),
        (None, 100, 0, False),
    ],
)
def test_ends_on_another_line_are_warned_of(crs, scale, gap, warned) -> None:
    """An end within the tolerance of another line, off its ends, is counted; a crossing is none."""
    lines = [
        LineString([(0, 0), (2 * scale, 0)]),
        LineString([(scale, gap), (scale, scale)]),
        LineString([(scale / 2, -scale), (scale / 2, scale)]),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert tt.as_metric_graph(frame(lines, crs)).n_nodes == 6
    assert [str(one.message)[:40] for one in caught] == ["1 of 6 end points lie on another line, o"] * warned


def test_the_tolerance_of_junctions_is_in_metres_at_every_latitude() -> None:
    """Near the pole, where degrees of longitude are short, an end counts by its distance in metres."""
    step = np.rad2deg(1 / 6_371_009)  # a metre along a meridian
    street = LineString([(10, 80), (10, 80 + 100 * step)])
    for metres, expected in ((0.9, 1), (1.1, 0)):
        side = 10 + metres * step / np.cos(np.deg2rad(80))
        lines = frame([street, LineString([(side, 80 + 50 * step), (side + 1, 80 + 50 * step)])], "EPSG:4326")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tt.io.lines.from_geodataframe(lines, tolerance=1.0)
        assert len(caught) == expected


def test_parts_rings_and_empty_rows() -> None:
    """Each part of a MultiLineString is an edge, a closed line a loop; empty rows are counted."""
    lines = [
        MultiLineString([[(0, 0), (1, 0)], [(1, 0), (2, 0)]]),
        LineString([(5, 5), (6, 5), (6, 6), (5, 5)]),
        None,
    ]
    with pytest.warns(tt.DataWarning, match="1 of 3 rows has no geometry"):
        graph = tt.as_metric_graph(frame(lines))
    assert (graph.n_edges, graph.n_loops) == (3, 1)


def test_zero_lines_and_other_shapes() -> None:
    """A line of length 0 is contracted with a warning; a point is no line."""
    with pytest.warns(tt.DataWarning, match="1 line has length 0"):
        graph = tt.as_metric_graph(frame([*SQUARE, LineString([(0, 0), (0, 0)])]))
    assert graph.n_edges == 4
    with pytest.raises(tt.InvalidGraphError, match="1 of 5 geometries are not lines but Point"):
        tt.as_metric_graph(frame([*SQUARE, Point(0, 0)]))
    with np.errstate(invalid="ignore"):
        lost = LineString([(0, 0), (float("nan"), 1)])
    with pytest.raises(tt.InvalidGraphError, match="not finite"):
        tt.as_metric_graph(frame([lost]))


def test_degrees_off_the_earth_are_refused() -> None:
    """Lengths cannot be measured between places with a latitude beyond 90."""
    with pytest.raises(tt.FormatError, match=r"2 of 2 points.*swapped"):
        tt.as_metric_graph(frame([LineString([(50, 100), (51, 101)])], "EPSG:4326"))


def test_lines_in_both_directions_are_warned_of() -> None:
    """The edges of a directed OSMnx graph come twice, and a warning says so."""
    graph = nx.MultiDiGraph(crs="EPSG:25832")
    graph.add_node(1, x=0.0, y=0.0)
    graph.add_node(2, x=0.0, y=7.0)
    graph.add_edge(1, 2, length=7.0)
    graph.add_edge(2, 1, length=7.0)
    edges = ox.graph_to_gdfs(graph, nodes=False)
    with pytest.warns(tt.DataWarning, match="1 lines of 2 run back"):
        assert tt.as_metric_graph(edges).n_edges == 2


@pytest.mark.parametrize("suffix", [".gpkg", ".geojson", ".json", ".parquet", ".geoparquet", ".shp"])
def test_files_of_lines(tmp_path, suffix) -> None:
    """Every format of lines gives the graph of the GeoDataFrame."""
    lines = frame(
        [LineString([(8, 50), (8.01, 50.0)]), LineString([(8.01, 50.0), (8.01, 50.02), (8, 50)])], "EPSG:4326"
    )
    file = tmp_path / f"roads{suffix}"
    if "parquet" in suffix:
        lines.to_parquet(file)
    else:
        lines.to_file(file, driver={".json": "GeoJSON"}.get(suffix))
    (graph,) = tt.read(file)
    expected = tt.as_metric_graph(lines)
    np.testing.assert_allclose(graph.length, expected.length, rtol=1e-9)
    assert (graph.n_nodes, graph.genus) == (2, 1)
    assert (graph.name, graph.source, graph.unit, graph.crs) == ("roads", file.name, "m", "EPSG:4326")
    assert tt.read(file, tolerance=1e4)[0].n_nodes == 1


def test_the_geopackage_of_osmnx_is_read(tmp_path) -> None:
    """Of OSMnx's layers nodes and edges the one with lines is taken."""
    graph = nx.MultiDiGraph(crs="EPSG:25832")
    for node, (x, y) in enumerate([(0.0, 0.0), (0.0, 7.0), (5.0, 0.0)]):
        graph.add_node(node, x=x, y=y)
    for i, (u, v) in enumerate([(0, 1), (1, 2), (2, 0)]):
        graph.add_edge(u, v, osmid=i, length=1.0)
    ox.save_graph_geopackage(graph, tmp_path / "town.gpkg")
    (town,) = tt.read(tmp_path / "town.gpkg")
    assert (town.n_nodes, town.genus) == (3, 1)
    assert sorted(town.length.tolist()) == pytest.approx([5, 7, np.hypot(5, 7)])


def test_layers(tmp_path) -> None:
    """Of several layers with lines one must be named; a layer that is not there lists those that are."""
    file = tmp_path / "roads.gpkg"
    frame([Point(0, 0)]).to_file(file, layer="stops")
    frame([Point(0, 1)]).to_file(file, layer="trees")
    with pytest.raises(tt.FormatError, match="none of the layers has lines; the layers are 'stops', 'trees'"):
        tt.read(file)
    frame(SQUARE).to_file(file, layer="roads")
    assert tt.read(file)[0].n_edges == 4
    frame(SQUARE[:1]).to_file(file, layer="rails")
    with pytest.raises(tt.FormatError, match=r"2 layers have lines, 'roads', 'rails'; name one with layer="):
        tt.read(file)
    assert tt.read(file, layer="rails")[0].n_edges == 1
    single = tmp_path / "roads.parquet"
    frame(SQUARE).to_parquet(single)
    with pytest.raises(tt.FormatError, match="GeoParquet has no layers"):
        tt.read(single, layer="roads")
    with pytest.raises(tt.FormatError, match="no layer 'paths'; the layers are 'stops'"):
        tt.read(file, layer="paths")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.gpkg", b""),
        ("a.gpkg", b"SQLite format 3\0" + b"\0" * 200),
        ("a.geojson", b"<OGRVRTDataSource/>"),
        ("a.geojson", b'{"type": "FeatureCollection"'),
        ("a.geojson", b'{"type": "FeatureCollection", "features": []}'),
        ("a.json", b'{"type": "FeatureCollection", "features": [{"type": "Feature"}]}'),
        ("a.parquet", b"PAR1"),
        ("a.parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"),
        ("a.shp", b"\x00\x00\x27\x0a" + b"\0" * 96),
        ("a.shp", b"PAR1"),
    ],
)
@pytest.mark.filterwarnings("ignore::torelli.DataWarning")
def test_broken_files_of_lines(tmp_path, name, content) -> None:
    """Empty, truncated and mislabelled files are a `FormatError` that names the file."""
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(tt.FormatError, match=rf"^{name}: "):
        tt.read(file)


def test_warnings_stay_warnings(tmp_path) -> None:
    """Where warnings are errors, what is raised is the warning, not a complaint about the file."""
    file = tmp_path / "roads.gpkg"
    frame([*SQUARE, LineString([(0, 0), (0, 0)])]).to_file(file)
    with pytest.raises(tt.DataWarning, match="1 line has length 0"):
        tt.read(file)


def test_a_parquet_file_of_many_rows_in_few_bytes_is_refused(tmp_path) -> None:
    """Rows that take no space in the file are counted before they are read."""
    file = tmp_path / "empty.parquet"
    gpd.GeoDataFrame(geometry=[None] * 1_000_000, crs="EPSG:4326").to_parquet(file)
    assert file.stat().st_size < 20_000
    with pytest.raises(tt.RequestTooLargeError, match=r"^empty.parquet: .* 1\.5 GB .* 100 MB .*max_bytes"):
        tt.read(file, max_bytes=10**8)


def test_without_geopandas_the_error_names_the_extra(tmp_path, monkeypatch) -> None:
    """A missing package is an error with the command that installs it."""
    file = tmp_path / "a.gpkg"
    file.write_bytes(b"SQLite format 3\0")
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(tt.MissingExtraError, match=r"geopandas: pip install 'torelli\[geo\]'"):
        tt.read(file)


def test_a_file_with_points_among_its_lines_is_read_with_a_warning(tmp_path) -> None:
    """What overpass-turbo exports has points and areas too: they are counted and left out."""
    file = tmp_path / "export.geojson"
    frame([Point(0, 0), *SQUARE], "EPSG:25832").to_file(file)
    with pytest.warns(tt.DataWarning, match=r"1 of 5 rows is left out, because only lines .*: Point"):
        (graph,) = tt.read(file)
    assert graph.length.tolist() == [100, 150, 50, 100]
    assert graph.edge_values["road"].tolist() == [1, 2, 3, 4]


def test_a_file_of_points_alone_is_refused_in_plain_words(tmp_path) -> None:
    """The error of a file does not list rows as edges, or speak of a frame."""
    file = tmp_path / "trees.gpkg"
    frame([Point(0, 0), Point(1, 1)]).to_file(file)
    with pytest.raises(tt.FormatError, match=r"^trees.gpkg: it has no lines, only Point; a network needs"):
        tt.read(file)


@pytest.mark.parametrize("suffix", [".geojson", ".parquet"])
def test_columns_of_lists_are_values(tmp_path, suffix) -> None:
    """OSMnx has the ids of several ways on one street: GDAL and GeoParquet return them as arrays."""
    streets = frame(SQUARE[:2])
    streets["osmid"] = [[1, 2], [3]]
    if suffix == ".geojson":
        streets["osmid"] = streets["osmid"].astype(str)  # GDAL recognises JSON in text
        streets.to_file(tmp_path / "a.geojson")
    else:
        streets.to_parquet(tmp_path / "a.parquet")
    (graph,) = tt.read(tmp_path / f"a{suffix}")
    assert graph.edge_values["osmid"].tolist() == ["[1, 2]", "[3]"]


def test_zipped_shapefiles_and_flatgeobuf(tmp_path) -> None:
    """A shapefile is read from the zip in which it is published, and FlatGeobuf as other files are."""
    (tmp_path / "shp").mkdir()
    frame().to_file(tmp_path / "shp" / "roads.shp")
    with zipfile.ZipFile(tmp_path / "published.zip", "w") as archive:
        archive.writestr("readme.txt", "roads of the county")
        for part in (tmp_path / "shp").iterdir():
            archive.write(part, f"county/{part.name}")
    frame().to_file(tmp_path / "roads.fgb", driver="FlatGeobuf", SPATIAL_INDEX="NO")
    for name in ("published.zip", "roads.fgb"):
        (graph,) = tt.read(tmp_path / name)
        assert graph.length.tolist() == [100, 150, 50, 100]
        assert (graph.crs, graph.unit, graph.source) == ("EPSG:25832", "m", name)
        assert graph.edge_values["road"].tolist() == [0, 1, 2, 3]


def test_a_zip_of_two_files_of_lines_is_in_doubt(tmp_path) -> None:
    """Nothing is chosen among several files; a zip of something else says what would be read."""
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.geojson", "{}")
        archive.writestr("b.geojson", "{}")
    with pytest.raises(
        tt.FormatError, match=r"^two.zip: it has 2 files of lines \('a.geojson', 'b.geojson'\)"
    ):
        tt.read(tmp_path / "two.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("football.gml", "graph []")
    with pytest.raises(
        tt.FormatError, match=r"^other.zip: the content is neither a data set in the TU format"
    ):
        tt.read(tmp_path / "other.zip")


def test_geodataframes_are_split_too() -> None:
    """The remedy that the warning of end points on lines names works where the warning comes from."""
    cross = [LineString([(0, 0), (10, 0)]), LineString([(5, 0), (5, 5)])]
    with pytest.warns(tt.DataWarning, match="1 of 4 end points lie on another line.*split=True"):
        assert tt.as_metric_graph(frame(cross)).n_edges == 2
    with pytest.warns(tt.DataWarning, match="1 of 2 lines were split"):
        graph = tt.as_metric_graph(frame(cross), split=True)
    assert (graph.n_edges, graph.total_length) == (3, 15)
    near = [LineString([(0, 0), (10, 0)]), LineString([(10.5, 0), (20, 0)])]
    assert tt.as_metric_graph(frame(near), tolerance=1.0).n_components == 1
    with pytest.raises(
        tt.InvalidOptionError, match="split: only a GeoDataFrame has lines, and this is a Graph"
    ):
        tt.as_metric_graph(nx.Graph(), split=True)
