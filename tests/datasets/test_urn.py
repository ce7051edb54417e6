"""The paper's eight sets of street networks, and sets of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from torelli import (
    DataWarning,
    InvalidGraphError,
    InvalidOptionError,
    MetricGraph,
    MissingExtraError,
)
from torelli.datasets import URN_NAMES, build_urn, load_urn, paper_table
from torelli.datasets import urn as urn_module
from torelli.datasets.local import read_one
from torelli.datasets.windows import middle_of
from torelli.io import files
from torelli.statistics import StreetStatistics
from towns import DEGREE, STEP, grid_city, osmnx_graph


def test_landmarks_lie_within_the_global_radius_of_the_given_centre() -> None:
    """Every landmark is a node of the square around the centre, and distinct."""
    centre = (50.0 + 300 / DEGREE, 10.0)
    data = build_urn({"A": grid_city()}, R=510, r=150, n=100, centres=[centre], blocks=2)
    landmarks = np.array(data.landmarks)
    assert len(set(data.landmarks)) == 100
    assert np.abs(landmarks - [15, 18]).max() <= 5
    lat = 50.0 + (landmarks[:, 1] - 15) * STEP / DEGREE
    np.testing.assert_allclose(data.centres[:, 0], lat, rtol=1e-12)
    np.testing.assert_allclose(data.centres[:, 1], 10.0, atol=0.02)


def test_the_same_seed_gives_the_same_set_and_another_seed_another() -> None:
    """Landmarks come from the seed and the position of the city alone."""
    cities = {"A": grid_city(), "B": grid_city(lat=20.0)}
    options: dict[str, Any] = {"R": 1000, "r": 150, "n": 60}
    first = build_urn(cities, seed=3, **options)
    assert first.graphs == build_urn(cities, seed=3, **options).graphs
    assert first.landmarks != build_urn(cities, seed=4, **options).landmarks
    assert first.landmarks[:30] == build_urn({"A": grid_city()}, seed=3, R=1000, r=150, n=30).landmarks
    assert first.landmarks[:30] != first.landmarks[30:]


def test_windows_of_blocks_that_are_not_neighbours_share_no_node() -> None:
    """Blocks are squares at least as wide as a window, numbered apart for each city."""
    data = build_urn({"A": grid_city(), "B": grid_city(lat=20.0)}, R=1000, r=240, n=400, blocks=4)
    assert build_urn([grid_city()], R=200, r=150, n=9).groups.tolist() == [0] * 9
    assert set(data.groups[:200]) <= set(range(16))
    assert set(data.groups[200:]) <= set(range(16, 32))
    cells = {group: divmod(group, 4) for group in range(16)}
    nodes: dict[int, set[Any]] = {group: set() for group in range(16)}
    for group, window in zip(data.groups[:200].tolist(), data.graphs[:200], strict=True):
        nodes[group] |= set(window.node_ids)
    far = 0
    for a, (row, column) in cells.items():
        for b, (other_row, other_column) in cells.items():
            if max(abs(row - other_row), abs(column - other_column)) > 1:
                far += 1
                assert not nodes[a] & nodes[b]
    assert far > 100


def test_windows_are_shared_evenly_and_labelled() -> None:
    """N counts all windows; labels default to the names of the cities."""
    cities = [grid_city(name="A"), grid_city(name="B"), grid_city(name="C")]
    data = build_urn(cities, R=1000, r=150, n=50, labels=["x", "y", "x"])
    assert data.city.tolist() == ["A"] * 17 + ["B"] * 17 + ["C"] * 16
    assert data.y.tolist() == ["x"] * 17 + ["y"] * 17 + ["x"] * 16
    graphs, y = build_urn(cities, R=1000, r=150, n=50, return_X_y=True)
    assert graphs == data.graphs
    assert y.tolist() == data.city.tolist()


def test_windows_keep_where_they_come_from() -> None:
    """Name, unit, reference system, coordinates and node ids go with each window."""
    window = build_urn({"A": grid_city()}, R=1000, r=150, n=5).graphs[2]
    assert (window.name, window.unit, window.crs) == ("A[2]", "m", "EPSG:4326")
    assert window.coordinates is not None
    assert window.coordinates.shape == (window.n_nodes, 2)


def test_a_city_with_too_few_nodes_repeats_windows_with_a_warning() -> None:
    """No node serves twice before all have served once, and the number of repeats is said."""
    with pytest.warns(DataWarning, match="A within 110 m of its centre has 9 nodes for 12 .*: 3 windows"):
        data = build_urn({"A": grid_city()}, R=110, r=100, n=12, blocks=1)
    assert len(set(data.landmarks[:9])) == 9
    assert len(set(data.landmarks)) == 9


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"r": 0}, "0 < r <= R"),
        ({"r": 1200}, "0 < r <= R"),
        ({"R": float("nan")}, "0 < r <= R"),
        ({"n": 0}, "at least one window"),
        ({"cut": "hexagon"}, "unknown cut 'hexagon'"),
        ({"blocks": 7}, "blocks is 7: use 1 to 6"),
        ({"blocks": 0}, "blocks is 0"),
        ({"labels": ["a", "b"]}, "labels has 2 entries for 1 cities"),
        ({"centres": []}, "centres has 0 entries"),
        ({"centres": [(0.0, 0.0)]}, "has no streets"),
    ],
)
def test_options_that_make_no_sense_are_errors(options, problem) -> None:
    """Each error says what to use."""
    with pytest.raises(InvalidOptionError, match=problem):
        build_urn([grid_city()], **{"R": 1000, "r": 150, "n": 10, **options})


def test_graphs_of_osmnx_are_converted() -> None:
    """In a dictionary or a list, OSMnx's graph of a city gives the windows of that city."""
    city = grid_city()
    expected = build_urn({"A": city}, R=1000, r=150, n=20)
    named = build_urn({"A": osmnx_graph(city)}, R=1000, r=150, n=20)
    listed = build_urn([osmnx_graph(city), city], R=1000, r=150, n=40)
    for data in (named, listed):
        np.testing.assert_allclose(data.centres[:20], expected.centres)
        for window, other in zip(data.graphs[:20], expected.graphs, strict=True):
            assert (window.n_nodes, window.n_edges) == (other.n_nodes, other.n_edges)
    assert listed.city.tolist() == ["city 0"] * 20 + ["Grid"] * 20


def test_cities_must_be_a_list_of_distinct_names() -> None:
    """One graph, no graph and two of one name are errors."""
    for single in (grid_city(), osmnx_graph(grid_city()), "city.graphml"):
        with pytest.raises(InvalidOptionError, match="give a list of cities"):
            build_urn(single, R=1000, r=150, n=10)  # type: ignore[arg-type]
    with pytest.raises(InvalidGraphError, match="an object of type int"):
        build_urn([3], R=1000, r=150, n=10)
    with pytest.raises(InvalidOptionError, match="two cities are called 'Grid'"):
        build_urn([grid_city(), grid_city()], R=1000, r=150, n=10)
    with pytest.raises(InvalidOptionError, match="no cities"):
        build_urn([], R=1000, r=150, n=10)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"coordinates": None}, "nodes have no coordinates"),
        ({"crs": "EPSG:99999"}, "coordinates are in EPSG:99999, which pyproj cannot convert"),
        ({"crs": "site grid"}, "coordinates are in site grid, which pyproj cannot convert"),
        ({"coordinates": np.full((961, 2), np.inf), "crs": "EPSG:32632"}, "961 nodes have coordinates"),
        ({"coordinates": np.full((961, 2), 1e6), "crs": None}, "961 nodes have coordinates that are missing"),
        ({"coordinates": np.full((961, 2), np.nan)}, "961 nodes have coordinates that are missing"),
    ],
)
def test_places_must_be_longitude_and_latitude(changes, problem) -> None:
    """A graph that cannot be cut is named with what is wrong with its coordinates."""
    with pytest.raises(InvalidGraphError, match=f"'Grid': {problem}"):
        build_urn([grid_city().replace(**changes)], R=1000, r=150, n=10)


def projected(city: MetricGraph, crs: str) -> MetricGraph:
    """Return a city with its coordinates in a projected reference system."""
    pyproj = pytest.importorskip("pyproj")
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", crs, always_xy=True)
    points = np.stack(to_plane.transform(*np.asarray(city.coordinates).T[:2]), axis=1)
    return city.replace(coordinates=points, crs=crs)


@pytest.mark.parametrize("crs", ["EPSG:32632", "epsg:25832", "+init=epsg:32632", "+proj=utm +zone=32"])
@pytest.mark.parametrize("cut", ["bbox", "disc", "network"])
def test_windows_of_a_projected_city_are_those_of_its_longitudes_and_latitudes(cut, crs) -> None:
    """A city in UTM is converted, with one warning, and gives the same windows in EPSG:4326."""
    city = grid_city()
    expected = build_urn([city], R=1040, r=310, n=20, cut=cut, centres=[(50.0, 10.0)])
    plane = projected(city, "EPSG:32632").replace(crs=crs)
    with pytest.warns(DataWarning, match=r"were converted to longitude and latitude \('Grid'\)") as told:
        built = build_urn([plane], R=1040, r=310, n=20, cut=cut, centres=[(50.0, 10.0)])
    assert len(told) == 1
    assert built.landmarks == expected.landmarks
    assert built.graphs == expected.graphs
    np.testing.assert_allclose(built.centres, expected.centres, atol=1e-8)
    for window, other in zip(built.graphs, expected.graphs, strict=True):
        assert (window.crs, window.unit) == ("EPSG:4326", "m")
        np.testing.assert_allclose(window.coordinates, other.coordinates, atol=1e-8)


def test_several_projected_cities_are_told_of_once() -> None:
    """One warning names all cities that were converted, and not those that were not."""
    cities = [projected(grid_city(name=name), crs) for name, crs in (("A", "EPSG:32632"), ("B", "EPSG:2154"))]
    with pytest.warns(DataWarning, match=r"EPSG:32632, EPSG:2154 were converted .* \('A', 'B'\)") as told:
        build_urn([*cities, grid_city(name="C")], R=1000, r=310, n=3)
    assert len(told) == 1


def test_a_city_in_feet_is_measured_in_metres() -> None:
    """Lengths in the feet of a projected system are metres in the windows, as the radii are."""
    city = grid_city(lat=40.7, lon=-74.0)
    feet = projected(city, "EPSG:2263").to_unit("us-ft")
    with pytest.warns(DataWarning, match="EPSG:2263"):
        built = build_urn([feet], R=1040, r=310, n=5, centres=[(40.7, -74.0)])
    expected = build_urn([city], R=1040, r=310, n=5, centres=[(40.7, -74.0)])
    for window, other in zip(built.graphs, expected.graphs, strict=True):
        assert window.unit == "m"
        np.testing.assert_allclose(window.length, other.length)
        np.testing.assert_array_equal(window.tail, other.tail)


def test_a_real_city_in_utm_gives_the_same_windows(shared) -> None:
    """Monaco in UTM is cut into the windows of Monaco in degrees."""
    city = read_one(shared("urn", "graphs", "Monaco.graphml.gz"))
    centre = middle_of(city)
    expected = build_urn([city], R=500, r=150, n=10, centres=[centre])
    with pytest.warns(DataWarning, match="EPSG:32632 were converted"):
        built = build_urn([projected(city, "EPSG:32632")], R=500, r=150, n=10, centres=[centre])
    assert built.graphs == expected.graphs


def test_a_projected_city_without_pyproj_names_the_extra(monkeypatch) -> None:
    """Where pyproj is not installed, the error says which extra brings it."""
    plane = projected(grid_city(), "EPSG:32632")

    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(files, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"EPSG:32632 .* needs pyproj: pip install 'torelli\[geo\]'"):
        build_urn([plane], R=1000, r=310, n=5)


def test_the_assumed_reference_system_is_that_of_the_windows() -> None:
    """Windows of a city without a reference system state the degrees they were cut by."""
    data = build_urn([grid_city().replace(crs=None)], R=1000, r=310, n=5)
    assert {window.crs for window in data.graphs} == {"EPSG:4326"}
    features = StreetStatistics().fit_transform(data.graphs)
    np.testing.assert_array_equal(
        features, StreetStatistics().fit_transform(build_urn([grid_city()], R=1000, r=310, n=5).graphs)
    )


def test_a_city_across_the_date_line_is_one_city() -> None:
    """Longitudes 179.99 and -179.99 are neighbours, if the centre is given."""
    city = grid_city(lon=180.0)
    points = np.array(city.coordinates)
    points[:, 0] = (points[:, 0] + 180) % 360 - 180
    data = build_urn([city.replace(coordinates=points)], R=1000, r=310, n=20, centres=[(50.0, 180.0)])
    assert {graph.n_nodes for graph in data.graphs} == {49}


@pytest.mark.parametrize("name", URN_NAMES)
def test_the_stand_ins_have_the_counts_and_patterns_of_the_paper(shared, name, recwarn) -> None:
    """Every set is built from local cities, with the paper's N and classes."""
    shared("urn", "graphs", "index.csv")
    rows = [row for row in paper_table("urn_construction") if row["dataset"] == name]
    data = load_urn(name, source="standins")
    share = int(rows[0]["N"]) // len(rows)
    assert data.y.tolist() == [row["pattern"] for row in rows for _ in range(share)]
    assert all(graph.n_components == 1 and graph.unit == "m" for graph in data.graphs)
    assert len(np.unique(data.groups)) >= 10 * len(rows)
    # one stand-in of one set has fewer nodes within 1 km than the paper draws landmarks
    assert [str(w.message)[:7] for w in recwarn] == (["Nanjing"] if name == "URN2-2S" else [])


def test_reading_stand_ins_that_takes_long_is_shown(shared, clock, monkeypatch, capsys) -> None:
    """The line of progress names the set."""
    shared("urn", "graphs", "index.csv")
    clock(2.0)
    monkeypatch.setattr(urn_module, "read_city", lambda _: grid_city())
    with pytest.raises(InvalidOptionError, match="has no streets"):
        load_urn("URN2-1S", source="standins")
    lines = [line.rstrip(" ") for line in capsys.readouterr().err.split("\r")]
    label = "reading the cities of URN2-1S"
    assert lines == ["", f"{label}:  50%, 2 s left", f"{label}: 100%, 4 s         \n"]


def test_unknown_sets_sources_and_networks_are_errors(tmp_path) -> None:
    """Each error lists what is possible."""
    with pytest.raises(InvalidOptionError, match="unknown URN set 'URN5'"):
        load_urn("URN5")
    with pytest.raises(InvalidOptionError, match="unknown source 'web'"):
        load_urn("URN2-1S", source="web")
    with pytest.raises(InvalidOptionError, match="unknown network_type 'sea'"):
        load_urn("URN2-1S", network_type="sea", data_home=tmp_path)
