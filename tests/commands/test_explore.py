"""The command ``torelli explore``."""

from __future__ import annotations

import argparse
import json
import re
import shlex

import networkx as nx
import numpy as np
import pytest

import torelli as tt
from torelli.cli import main
from torelli.commands.explore import rows_of
from torelli.io.jsonlines import json_line
from torelli.webpage import unpack


def record(at: int, **more: object) -> str:
    """Return a line with a graph: a triangle, at a place of its own."""
    nodes = [
        [k, 10 + 0.01 * at + 0.001 * x, 50 + 0.001 * y] for k, (x, y) in enumerate([(0, 0), (1, 0), (0, 1)])
    ]
    edges = [[0, 1, 1.0 + at], [1, 2, 2.5 + at], [2, 0, 3.25]]
    return json.dumps({"id": f"t{at}", "nodes": nodes, "edges": edges, "crs": "EPSG:4326", **more})


@pytest.fixture
def lines(tmp_path):
    """Return a file with six labelled graphs of two cities."""
    path = tmp_path / "six.jsonl"
    path.write_text("\n".join(record(at, label="ab"[at % 2], city="xyz"[at // 2]) for at in range(6)))
    return path


@pytest.fixture
def town(tmp_path):
    """Return the file of a town: a grid of 20 by 20 streets of about 100 m."""
    grid = tt.datasets.grid(20, 20)
    points = grid.coordinates * 0.0009 + np.array([10.0, 0.0])
    nodes = [[k, *point] for k, point in enumerate(points.tolist())]
    edges = [
        [u, v, 100 * x]
        for u, v, x in zip(grid.tail.tolist(), grid.head.tolist(), grid.length.tolist(), strict=True)
    ]
    path = tmp_path / "town.jsonl"
    path.write_text(
        json.dumps({"id": "Town", "nodes": nodes, "edges": edges, "unit": "m", "crs": "EPSG:4326"})
    )
    return path


def embedded(path):
    """Return the data of a page."""
    match = re.search(r'id="torelli-data">(.*?)</script>', path.read_text(encoding="utf-8"))
    return json.loads(match.group(1))


def test_a_file_becomes_a_page(lines, tmp_path, capsys):
    """Every graph of the file is in the page, in order, with its class and city; the path is printed."""
    out = tmp_path / "folder" / "page.html"
    assert main(["explore", str(lines), "--out", str(out), "--title", "Six"]) == 0
    assert str(out) in capsys.readouterr().out
    data = embedded(out)
    assert data["names"] == [f"t{at}" for at in range(6)]
    assert data["classes"] == {"names": ["a", "b"], "of": [0, 1, 0, 1, 0, 1]}
    assert data["cities"] == {"names": ["x", "y", "z"], "of": [0, 0, 1, 1, 2, 2]}
    assert "<title>Six</title>" in out.read_text(encoding="utf-8")


def test_cities_are_cut_into_windows(town, tmp_path):
    """--window and --count cut windows of that reach; the seed decides which."""
    out = tmp_path / "windows.html"
    places = []
    for seed in ("0", "0", "1"):
        arguments = [
            "explore",
            str(town),
            "--window",
            "250",
            "--count",
            "12",
            "--out",
            str(out),
            "--seed",
            seed,
        ]
        assert main(arguments) == 0
        places.append(embedded(out)["lonlat"])
    assert places[0] == places[1] != places[2]
    data = embedded(out)
    assert len(data["names"]) == 12
    assert max(data["figures"]["nodes"]) <= 49
    assert len(data["panels"]) == 1


def test_a_projected_city_is_cut_into_windows(town, tmp_path, capsys):
    """Windows of a city in UTM have the places they have in degrees, and one note says so."""
    pyproj = pytest.importorskip("pyproj")
    (city,) = tt.read(town)
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    points = np.stack(to_plane.transform(*city.coordinates.T), axis=1)
    plane = tmp_path / "plane.graphml"
    nx.write_graphml(city.replace(coordinates=points, crs="EPSG:32632").to_networkx(), plane)
    places = []
    for file in (town, plane):
        out = tmp_path / "windows.html"
        arguments = ["--window", "250", "--radius", "500", "--count", "6", "--out", str(out)]
        assert main(["explore", str(file), *arguments]) == 0
        places.append(np.asarray(embedded(out)["lonlat"], dtype=float))
    assert capsys.readouterr().err.count("coordinates in EPSG:32632 were converted") == 1
    assert np.abs(places[0].mean(axis=0) - places[1].mean(axis=0)).max() < 0.01


def test_a_projected_network_is_placed_with_a_note(town, tmp_path, capsys):
    """A network in UTM is explored at its longitude and latitude, which one note says; lengths stay."""
    pyproj = pytest.importorskip("pyproj")
    (city,) = tt.read(town)
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    points = np.stack(to_plane.transform(*city.coordinates.T), axis=1)
    plane, out = tmp_path / "plane.graphml", tmp_path / "page.html"
    nx.write_graphml(city.replace(coordinates=points, crs="EPSG:32632").to_networkx(), plane)
    assert main(["explore", str(plane), "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.err.count("torelli: note: ") == 1
    assert "coordinates in EPSG:32632 were converted" in said.err
    assert said.out.startswith("1 network, ")
    data = embedded(out)
    middle = (city.coordinates.min(axis=0) + city.coordinates.max(axis=0)) / 2
    np.testing.assert_allclose(data["lonlat"], [middle], atol=1e-3)
    assert data["figures"]["length"] == [pytest.approx(city.total_length, rel=1e-5)]


def test_fewer_rows_and_clusters_are_compared_if_asked(lines, tmp_path):
    """--max-genus keeps the leading rows, --clusters says how many."""
    out = tmp_path / "page.html"
    assert main(["explore", str(lines), "--max-genus", "1", "--clusters", "2", "--out", str(out)]) == 0
    data = embedded(out)
    assert data["clusters"] == 2
    assert unpack(data["arrays"])["q.rows"].tolist() == [1] * 6


def test_the_variant_of_ttm_is_on_the_page(windows, tmp_path, capsys):
    """--along changes distances by TTM and why networks are alike, nothing else, and the page names it."""
    lines, out, arrays = tmp_path / "two.jsonl", tmp_path / "page.html", {}
    lines.write_text("".join(f"{json_line(graph)}\n" for graph in windows[0][:2]))
    for along in ("junctions", "returns"):
        options = ["--kernel", "ttm", "tts", "--along", along, "--out", str(out)]
        assert main(["explore", str(lines), *options]) == 0
        arrays[along] = unpack(embedded(out)["arrays"])
    usual, returns = arrays["junctions"], arrays["returns"]
    assert not np.array_equal(usual["ttm.near_distance"], returns["ttm.near_distance"])
    assert np.array_equal(usual["pair.other"], returns["pair.other"])
    assert not np.array_equal(usual["pair.shade"], returns["pair.shade"])
    assert np.array_equal(usual["tts.near_distance"], returns["tts.near_distance"])
    assert [kernel["label"] for kernel in embedded(out)["kernels"]] == ["TTM along returns", "TTS"]
    assert "<span>TTM along returns</span>" in out.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["explore", str(lines), "--kernel", "ttw", "tts", "--along", "returns"]) == 2
    message = "--along returns: no kernel of 'ttw', 'tts' has this option; use 'ttm', or leave it out"
    assert message in capsys.readouterr().err


def test_trees_are_explored_by_their_bridges(tmp_path, capsys):
    """With --bridges double each chain is a row, the page says so, and nothing is doubted."""
    graphs = [tt.MetricGraph([0, 0, 0], [1, 2, 3], [1.0, 2.0, 3.0 + n]) for n in range(4)]
    lines, out = tmp_path / "trees.jsonl", tmp_path / "page.html"
    lines.write_text("".join(f"{json_line(graph)}\n" for graph in graphs))
    assert main(["explore", str(lines), "--bridges", "double", "--out", str(out)]) == 0
    assert "no cycles" not in capsys.readouterr().err
    assert unpack(embedded(out)["arrays"])["q.rows"].tolist() == [3] * 4
    assert "each chain of them is doubled" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either INPUTs"),
        (["--urn", "URN4-S", "--local", "cells"], "give either INPUTs"),
        (["FILE", "--count", "3"], "--count: only with --window"),
        (["FILE", "--urn-source", "osm"], "--urn-source goes with --urn"),
        (["--tu", "MUTAG", "--window", "100"], "--window cuts the cities of INPUT files"),
        (["FILE", "--window", "-3"], "0 < r <= R"),
        (["FILE", "--clusters", "7"], "clusters is 7: use 1 to 6"),
        (["missing.jsonl"], "missing.jsonl"),
        (["FILE", "--out", "."], "this is a folder"),
    ],
)
def test_mistakes_are_explained(lines, capsys, monkeypatch, tmp_path, arguments, message):
    """What does not go together, or is not there, is one line that names it, before any page is written."""
    monkeypatch.chdir(tmp_path)
    assert main(["explore", *(str(lines) if one == "FILE" else one for one in arguments)]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "explore.html").exists()


def test_open_shows_the_page(lines, tmp_path, monkeypatch):
    """--open gives the browser the address of the file."""
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    out = tmp_path / "page.html"
    assert main(["explore", str(lines), "--out", str(out), "--open"]) == 0
    assert seen == [out.resolve().as_uri()]


def test_sets_of_the_shared_data_are_named(tmp_path):
    """--local takes a labelled set: 84 centres with their three types, on one map of the world."""
    try:
        tt.datasets.load_local("city120")
    except tt.DataNotFoundError:
        pytest.skip("the shared data is not on this machine: set TORELLI_DATA")
    out = tmp_path / "page.html"
    assert main(["explore", "--local", "city120", "--max-genus", "20", "--out", str(out)]) == 0
    data = embedded(out)
    assert len(data["names"]) == 84
    assert data["classes"]["names"] == ["grid", "hybrid", "organic"]
    assert len(data["panels"]) == 1


def test_some_rows_are_explored_as_a_page_asks_for_them(lines, tmp_path):
    """--rows keeps these networks with their own numbers, and the page knows the command that made it."""
    out = tmp_path / "some.html"
    assert main(["explore", str(lines), "--rows", "4-5,1", "--out", str(out)]) == 0
    data = embedded(out)
    assert data["names"] == ["t4", "t5", "t1"]
    assert data["rows"] == [4, 5, 1]
    assert data["command"].startswith("torelli explore ")
    assert data["command"].endswith(f"--rows 4-5,1 --out {out}")
    # of an option that is given twice the last counts, which is how a page writes the command of a selection
    again = tmp_path / "again.html"
    arguments = [*shlex.split(data["command"])[1:], "--rows", "1", "--out", str(again)]
    assert main(arguments) == 0
    assert embedded(again)["names"] == ["t1"]


@pytest.mark.parametrize("rows", ["", "a", "1-", "-1", "1;2", "1,,2", "0-99999999"])
def test_rows_that_are_no_list_are_refused(rows):
    """What is not a list of numbers, or is far too long, is an error of the option."""
    with pytest.raises(argparse.ArgumentTypeError):
        rows_of(rows)


def test_rows_that_are_not_there_are_named(lines, capsys, tmp_path):
    """A number beyond the networks is one line that says how many there are."""
    assert main(["explore", str(lines), "--rows", "2,6", "--out", str(tmp_path / "x.html")]) == 2
    assert "no network 6: there are 6, numbered from 0 to 5" in capsys.readouterr().err


def test_an_index_is_served_at_an_address_of_this_machine(windows, tmp_path, monkeypatch, capsys):
    """--serve loads an index and prints its address; other inputs beside it are refused."""
    folder = tt.GraphIndex("tts").fit(windows[0]).save(tmp_path / "a.index")
    monkeypatch.setattr("http.server.ThreadingHTTPServer.serve_forever", lambda _: None)
    assert main(["explore", "--serve", str(folder)]) == 0
    assert "12 networks at http://127.0.0.1:" in capsys.readouterr().out
    assert main(["explore", "x.graphml", "--serve", str(folder)]) == 2
    assert "torelli index" in capsys.readouterr().err
    chosen = {"kernel": "tte", "bridges": "double", "along": "returns", "max-genus": "3", "clusters": "2"}
    for option, value in {**chosen, "rows": "0-3"}.items():
        assert main(["explore", "--serve", str(folder), f"--{option}", value]) == 2
        assert f"--{option} does not go with --serve" in capsys.readouterr().err
    assert main(["explore", str(folder)]) == 2
    assert f"is an index of `torelli index`: use torelli explore --serve {folder}" in capsys.readouterr().err
    assert main(["explore", "--serve", str(tmp_path / "nowhere")]) == 2
