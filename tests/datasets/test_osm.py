"""Cities from files and from OpenStreetMap."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

import networkx as nx
import pytest

from torelli import DataNotFoundError, FormatError, MissingExtraError
from torelli.datasets import load_urn
from torelli.datasets import osm as osm_module
from torelli.datasets.osm import load_city
from towns import grid_city, osmnx_graph

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def osmnx(monkeypatch) -> list[tuple[Any, ...]]:
    """Put a grid city in place of OSMnx's answer; the returned list records the questions."""
    ox = pytest.importorskip("osmnx")
    monkeypatch.setattr(osm_module, "PAUSE", 0.0)
    monkeypatch.setattr(osm_module, "_probe", lambda _: None)
    asked: list[tuple[Any, ...]] = []

    def graph_from_point(
        centre: tuple[float, float], dist: float, *, dist_type: str, network_type: str
    ) -> Any:
        asked.append((centre, dist, dist_type, network_type, ox.settings.cache_folder))
        return osmnx_graph(grid_city(61, lat=centre[0], lon=centre[1], step=90.0))

    monkeypatch.setattr(ox, "graph_from_point", graph_from_point)
    return asked


def test_a_live_set_asks_for_each_city_once(osmnx, tmp_path, capsys) -> None:
    """The paper's cities are asked for with its coordinates; S and M sets share one file per city."""
    data = load_urn("URN2-1S", data_home=tmp_path)
    assert capsys.readouterr().err.splitlines() == [
        f"asking OpenStreetMap for the streets of {city}" for city in ("Chicago", "Ufa")
    ]
    assert len(data.graphs) == 400
    folder = str(tmp_path / "urn" / "overpass")
    assert osmnx == [
        ((41.87, -87.63), 2300, "bbox", "all", folder),
        ((54.73, 55.95), 2300, "bbox", "all", folder),
    ]
    assert {graph.n_nodes for graph in data.graphs} == {9}
    assert set(data.y) == {"gridiron", "chaotic"}
    again = load_urn("URN2-1S", data_home=tmp_path)
    larger = load_urn("URN2-1M", data_home=tmp_path)
    assert again.graphs == data.graphs
    assert {graph.n_nodes for graph in larger.graphs} == {49}
    assert len(osmnx) == 2
    load_urn("URN2-1S", data_home=tmp_path, network_type="drive")
    assert [question[3] for question in osmnx] == ["all", "all", "drive", "drive"]


def test_an_interrupted_run_goes_on_where_it_stopped(osmnx, tmp_path, monkeypatch) -> None:
    """If the second city fails, the first is kept, nothing half-written is left, and a new call resumes."""
    import osmnx as ox

    working: Callable[..., Any] = ox.graph_from_point
    settings = ox.settings.use_cache, ox.settings.cache_folder

    def failing(centre: tuple[float, float], *args: Any, **options: Any) -> Any:
        if centre[0] > 50:
            raise ConnectionError("no route to Overpass")
        return working(centre, *args, **options)

    monkeypatch.setattr(ox, "graph_from_point", failing)
    with pytest.raises(DataNotFoundError, match=r"of Ufa.*\(attempt 1: no route.*\).*continues from there"):
        load_urn("URN2-1S", data_home=tmp_path)
    assert [path.name for path in (tmp_path / "urn").iterdir()] == ["Chicago_41.87_-87.63_2300m_all.graphml"]
    assert (ox.settings.use_cache, ox.settings.cache_folder) == settings
    monkeypatch.setattr(ox, "graph_from_point", working)
    assert len(load_urn("URN2-1S", data_home=tmp_path).graphs) == 400
    assert [question[0] for question in osmnx] == [(41.87, -87.63), (54.73, 55.95)]


def test_a_server_that_cannot_be_reached_is_asked_once(tmp_path, monkeypatch) -> None:
    """Nobody listens: one short error with the way out, before OSMnx could pause for a minute."""
    ox = pytest.importorskip("osmnx")
    monkeypatch.setattr(ox.settings, "overpass_url", "http://127.0.0.1:9/api")
    monkeypatch.setattr(osm_module, "_last_request", {})
    monkeypatch.setattr(ox, "graph_from_point", pytest.fail)
    monkeypatch.setattr(osm_module.time, "sleep", pytest.fail)
    with pytest.raises(
        DataNotFoundError, match=r"\(attempt 1: Connection refused\)\. .*source='standins'"
    ) as caught:
        load_urn("URN2-1S", data_home=tmp_path)
    assert len(str(caught.value).replace(str(tmp_path), "")) < 300
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    ("problem", "attempts"),
    [
        (TimeoutError("timed out"), 4),
        (ValueError("'overpass-api.de' responded: 503 Service Unavailable <html>"), 4),
        (ValueError("'overpass-api.de' responded: 429 Too Many Requests <html>"), 4),
        (ValueError("'overpass-api.de' responded: 400 Bad Request <html>"), 1),
        (ValueError("No data elements in server response."), 1),
        (ConnectionError("Failed to resolve 'overpass-api.de'"), 1),
    ],
)
@pytest.mark.usefixtures("osmnx")
def test_only_what_may_pass_is_tried_again(tmp_path, monkeypatch, problem, attempts) -> None:
    """Time-outs and a busy or broken server are tried four times, all else once."""
    tried: list[object] = []

    def failing(*question: object, **_: object) -> None:
        tried.append(question)
        raise problem

    monkeypatch.setattr("osmnx.graph_from_point", failing)
    with pytest.raises(DataNotFoundError, match=f"attempt {attempts}: "):
        load_urn("URN2-1S", data_home=tmp_path)
    assert len(tried) == attempts


@pytest.mark.usefixtures("osmnx")
def test_questions_are_spaced(tmp_path, monkeypatch) -> None:
    """Between two cities there is a pause, whatever OSMnx does itself."""
    pauses: list[float] = []
    monkeypatch.setattr(osm_module, "PAUSE", 1000.0)
    monkeypatch.setattr(osm_module, "_last_request", {})
    monkeypatch.setattr(osm_module.time, "sleep", pauses.append)
    load_urn("URN2-1S", data_home=tmp_path)
    assert pauses == [pytest.approx(1000.0, abs=500.0)]


def test_without_osmnx_the_extra_is_named(tmp_path, monkeypatch) -> None:
    """The error says what to install, and what works without it."""
    imported = builtins.__import__

    def no_osmnx(name: str, *args: Any, **options: Any) -> Any:
        if name == "osmnx":
            raise ImportError(name)
        return imported(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", no_osmnx)
    with pytest.raises(MissingExtraError, match=r"pip install 'torelli\[osm\]'.*standins"):
        load_urn("URN2-1S", data_home=tmp_path)


def test_a_city_is_read_from_a_file(tmp_path):
    """A file gives its streets, named after it; one that is missing or has several graphs is an error."""
    path = tmp_path / "town.graphml"
    nx.write_graphml(grid_city(5).replace(node_ids=None, crs=None).to_networkx(), path)
    town = load_city(str(path))
    assert (town.name, town.streets.name, town.streets.crs, town.centre) == (
        "town",
        "town",
        "EPSG:4326",
        None,
    )
    assert town.streets.genus == 16
    with pytest.raises(DataNotFoundError, match=r"no file nowhere\.graphml"):
        load_city("nowhere.graphml")
    (tmp_path / "two.jsonl").write_text('{"edges": [[0, 1, 1.0]]}\n' * 2)
    with pytest.raises(FormatError, match="2 graphs: give a file with one city"):
        load_city(str(tmp_path / "two.jsonl"))
