"""The shared data of the project."""

from __future__ import annotations

import collections
import re
import warnings

import numpy as np
import pytest

from torelli import DataNotFoundError, DataWarning, InvalidOptionError
from torelli.datasets import load_local, local, storage


def test_city120_has_labels_and_the_counts_of_its_index(shared) -> None:
    """84 graphs whose nodes, edges and lengths are those that the index states, in its order."""
    shared("urn", "city120", "index.csv")
    data = load_local("city120")
    assert np.bincount(data.y).tolist() == [22, 26, 36]
    assert data.target_names.tolist() == ["organic", "grid", "hybrid"]
    for graph, row, label in zip(data.graphs, data.index, data.y, strict=True):
        assert (graph.n_nodes, graph.n_edges) == (int(row["nodes"]), int(row["edges"]))
        assert graph.total_length == pytest.approx(float(row["total_length_m"]), abs=0.06)
        assert data.target_names[label] == row["type"]


def test_cells_have_their_city(shared) -> None:
    """1,034 cells of 20 cities in metres, with longitude and latitude."""
    shared("urn", "cells", "cells.jsonl.gz")
    data = load_local("cells")
    assert len(data.graphs) == len(data.y) == 1034
    assert collections.Counter(data.y.tolist())["Tokyo"] == 81
    assert data.target_names[data.groups].tolist() == data.y.tolist()
    assert all(name.startswith(city.split()[0]) for name, city in zip(data.names, data.y, strict=True))
    assert {(graph.unit, graph.crs) for graph in data.graphs} == {("m", "EPSG:4326")}
    # straight lines: no edge is shorter than its ends are apart, to the rounding of the coordinates
    graph = data.graphs[0]
    lon, lat = graph.coordinates.T
    east = (lon[graph.head] - lon[graph.tail]) * np.cos(np.radians(lat.mean()))
    apart = np.hypot(east, lat[graph.head] - lat[graph.tail]) * np.pi / 180 * 6_371_009
    np.testing.assert_allclose(graph.length, apart, rtol=0.01, atol=0.5)


def test_cities_have_pattern_and_network(shared) -> None:
    """64 cities whose nodes and edges are those that the index states."""
    shared("urn", "graphs", "index.csv")
    data = load_local("cities")
    assert len(data.graphs) == 64
    assert set(data.target_names) == {"chaotic", "gridiron", "linear", "tributary"}
    assert collections.Counter(data.y.tolist())[""] == 1
    assert set(data.network) == {"A", "D"}
    for graph, row in zip(data.graphs, data.index, strict=True):
        assert (graph.n_nodes, graph.n_edges) == (int(row["nodes"]), int(row["edges"]))
        assert graph.n_components == int(row["components"])
        assert graph.total_length / 1000 == pytest.approx(float(row["total_km"]), abs=0.06)


def test_what_takes_long_is_shown(shared, clock, monkeypatch, capsys) -> None:
    """Cities are read with a line of progress on standard error, unless they are read within a second."""
    shared("urn", "graphs", "index.csv")
    monkeypatch.setattr(local, "read_city", lambda file: file)
    clock(0.01)
    load_local("cities")
    assert capsys.readouterr().err == ""
    clock(0.7)
    load_local("cities")
    lines = capsys.readouterr().err.split("\r")
    assert len(lines) == 64
    assert lines[1].startswith("reading cities:   3%, ")
    assert lines[-1].startswith("reading cities: 100%, 45 s")
    assert lines[-1].endswith("\n")


@pytest.mark.parametrize(("name", "genera"), [("power", 3), ("vessel", 1), ("river", 1), ("neurons", 2)])
def test_other_networks_have_no_labels(shared, name, genera) -> None:
    """Power grids, vessels, a river and neurons are lists of graphs with a unit and y = None."""
    shared("other")
    graphs, y = load_local(name, return_X_y=True)
    assert y is None
    assert len(graphs) == genera
    assert all(graph.unit for graph in graphs)
    if name in {"neurons", "river"}:
        assert {graph.genus for graph in graphs} == {0}
    else:
        assert min(graph.genus for graph in graphs) > 0


def test_raw_openstreetmap_is_read(shared) -> None:
    """All nine extracts give a graph in metres."""
    shared("osm")
    pytest.importorskip("osmium")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        data = load_local("osm")
    assert all(issubclass(one.category, DataWarning) for one in told)
    assert any(re.match("barcelona-eixample.*kept once", str(one.message)) for one in told)
    assert len(data.graphs) == 9
    assert {graph.unit for graph in data.graphs} == {"m"}
    assert min(graph.genus for graph in data.graphs) > 0


def test_an_unknown_name_lists_the_known_ones() -> None:
    """The error has all names."""
    with pytest.raises(InvalidOptionError, match="unknown local data set 'roads': use one of 'city120'"):
        load_local("roads")


def test_missing_data_says_where_it_was_looked_for(tmp_path, monkeypatch) -> None:
    """The error has every folder; the environment variable, if it is set, is the only one."""
    monkeypatch.setattr(storage, "_HERE", tmp_path / "a" / "b" / "c" / "d" / "e.py")
    monkeypatch.chdir(tmp_path)
    named, beside = tmp_path / "here" / "other", tmp_path.parent / "shared" / "data" / "other"
    for setting, looked_at, not_looked_at in ((str(tmp_path / "here"), named, beside), ("", beside, named)):
        monkeypatch.setenv("TORELLI_DATA", setting)
        with pytest.raises(DataNotFoundError, match="TORELLI_DATA") as caught:
            load_local("power")
        assert str(looked_at) in str(caught.value)
        assert str(not_looked_at) not in str(caught.value)


def test_data_beside_a_checkout_is_found(tmp_path, monkeypatch) -> None:
    """Without TORELLI_DATA the neighbour of the checkout is taken."""
    monkeypatch.delenv("TORELLI_DATA", raising=False)
    checkout = tmp_path / "work" / "main"
    (checkout / "src" / "torelli" / "datasets").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    (tmp_path / "work" / "shared" / "data" / "tu").mkdir(parents=True)
    monkeypatch.setattr(storage, "_HERE", checkout / "src" / "torelli" / "datasets" / "storage.py")
    monkeypatch.chdir(tmp_path)
    assert storage.shared_data("tu") == tmp_path / "work" / "shared" / "data" / "tu"


@pytest.mark.parametrize(
    ("platform", "variable", "ends"),
    [
        ("linux", "XDG_CACHE_HOME", ("set", "torelli")),
        ("linux", None, (".cache", "torelli")),
        ("win32", "LOCALAPPDATA", ("set", "torelli")),
        ("win32", None, ("AppData", "Local", "torelli")),
        ("darwin", None, ("Library", "Caches", "torelli")),
    ],
)
def test_the_cache_is_where_each_system_keeps_caches(platform, variable, ends, tmp_path, monkeypatch) -> None:
    """Linux, Windows and macOS have their own places, which a variable may move."""
    monkeypatch.setattr(storage.sys, "platform", platform)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "set"))
    assert storage.cache_folder().parts[-len(ends) :] == ends
    assert storage.cache_folder(tmp_path) == tmp_path
