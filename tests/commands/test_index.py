"""The commands ``torelli index`` and ``torelli find``."""

from __future__ import annotations

import csv
import io
import json

import pytest

import torelli as tt
from torelli.cli import main
from torelli.io.jsonlines import json_line
from towns import grid_extract


def test_an_index_is_written_and_loaded(lines, windows, tmp_path, capsys):
    """The folder holds every graph of the input with its name, label and fields."""
    out = tmp_path / "a.index"
    assert main(["index", str(lines), "-o", str(out)]) == 0
    assert "12 graphs" in capsys.readouterr().out
    index = tt.GraphIndex.load(out)
    assert (index.kernel.entry.name, index.n_graphs_) == ("ttw", 12)
    assert index.query(windows[0][4], 1)[1].tolist() == [4]
    assert index.record(4)["label"] == windows[1][4]
    assert index.record(4)["pattern"] == f"is {windows[1][4]}"
    assert index.graph(4) == windows[0][4]


def test_labels_come_from_a_table(folder, windows, tmp_path):
    """A folder of files with a table of labels is indexed with them, by another kernel."""
    out = tmp_path / "a.index"
    table = ["--labels", str(folder / "labels.csv"), "--label", "kind"]
    assert main(["index", str(folder), *table, "-o", str(out), "--kernel", "tts"]) == 0
    index = tt.GraphIndex.load(out)
    labels = {index.ids_[i]: index.record(i)["label"] for i in range(index.n_graphs_)}
    assert sorted(labels.values()) == sorted(windows[1])


def test_options_reach_the_kernel(lines, tmp_path, capsys):
    """Bridges and the largest genus are options of the matrices, and not of vectors."""
    out = tmp_path / "a.index"
    options = ["--bridges", "double", "--max-genus", "5"]
    assert main(["index", str(lines), "-o", str(out), *options]) == 0
    kernel = tt.GraphIndex.load(out).kernel
    assert (kernel.bridges, kernel.max_genus, kernel.truncation) == ("double", 5, "leading")
    capsys.readouterr()
    assert main(["index", str(lines), "-o", str(out), "--kernel", "ttm", *options]) == 2
    assert "ttm" in capsys.readouterr().err


def test_an_approximate_index_says_what_it_finds(lines, tmp_path, capsys):
    """The recall is printed, and the method is stored."""
    out = tmp_path / "a.index"
    assert main(["index", str(lines), "-o", str(out), "--method", "hnsw", "--kernel", "tts"]) == 0
    assert "finds 100.0% of the ten nearest" in capsys.readouterr().out
    assert tt.GraphIndex.load(out).method == "hnsw"


def test_a_file_is_no_folder(lines, tmp_path, capsys):
    """A file in place of the folder is one message, before anything is read."""
    assert main(["index", "nowhere.jsonl", "-o", str(lines)]) == 2
    assert "is a file: an index is a folder" in capsys.readouterr().err


def test_files_that_are_no_index_are_not_replaced(lines, tmp_path, capsys):
    """Neither an input, nor a store, nor any file of somebody else; an index is replaced by another."""
    data = tmp_path / "data"
    data.mkdir()
    (data / "records.jsonl").write_bytes(lines.read_bytes())
    assert main(["index", str(data / "records.jsonl"), "-o", str(data)]) == 2
    assert "data has 'records.jsonl', no part of an index" in capsys.readouterr().err
    assert (data / "records.jsonl").read_bytes() == lines.read_bytes()
    for name in ("index.json", "length.npy"):
        other = tmp_path / f"with {name}"
        other.mkdir()
        (other / name).write_text("{}")
        assert main(["index", str(lines), "-o", str(other), "--kernel", "tts"]) == 2
        assert [file.name for file in other.iterdir()] == [name]
    out = tmp_path / "a.index"
    assert main(["index", str(lines), "-o", str(out), "--kernel", "tts"]) == 0
    assert main(["index", str(lines), "-o", str(out), "--kernel", "ttm", "--along", "returns"]) == 0
    assert tt.GraphIndex.load(out).kernel.along == "returns"
    (out / "notes.txt").write_text("mine")
    assert main(["index", str(lines), "-o", str(out), "--kernel", "tts"]) == 2
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--ef", "20"], "--ef is for an approximate search: add --method hnsw"),
        (["--step", "100"], "--step is the distance between windows"),
        (["--along", "returns"], "--along returns: no kernel of 'ttw' has this option; use 'ttm'"),
    ],
)
def test_options_without_effect_are_refused(lines, tmp_path, capsys, options, problem):
    """What would change nothing is an error that says what is missing."""
    assert main(["index", str(lines), "-o", str(tmp_path / "a.index"), *options]) == 2
    assert problem in capsys.readouterr().err


def test_a_picture_of_an_unknown_kind_is_refused_before_the_search(lines, capsys):
    """The error names the endings that there are."""
    assert main(["find", "nowhere", str(lines), "--picture", "near.xyz"]) == 2
    assert "--picture near.xyz: give a name that ends in .png, .svg, .pdf" in capsys.readouterr().err


def test_windows_of_an_extract(tmp_path, capsys):
    """Windows of an OpenStreetMap extract are indexed with their places; other inputs are refused."""
    out = tmp_path / "a.index"
    assert (
        main(
            [
                "index",
                str(grid_extract(tmp_path / "town.osm.pbf")),
                "--window",
                "200",
                "-o",
                str(out),
                "--kernel",
                "tts",
            ]
        )
        == 0
    )
    index = tt.GraphIndex.load(out)
    assert index.n_graphs_ > 3
    assert {"id", "lat", "lon"} <= set(index.record(0))
    assert index.query(index.graph(2), 1)[1].tolist() == [2]
    capsys.readouterr()
    assert main(["index", "--tu", "MUTAG", "--window", "200", "-o", str(out)]) == 2
    assert "--window takes OpenStreetMap extracts" in capsys.readouterr().err


@pytest.fixture
def stored(windows, tmp_path):
    """Return the folder of an index of windows with labels."""
    graphs = [graph.replace(name=f"window {i}") for i, graph in enumerate(windows[0])]
    metadata = [{"label": label, "city": "Ufa"} for label in windows[1]]
    return tt.GraphIndex("ttw").fit(graphs, metadata=metadata).save(tmp_path / "a.index")


@pytest.fixture
def query(windows, tmp_path):
    """Return a file with a window, cut into more edges, and another one."""
    path = tmp_path / "query.jsonl"
    finer = windows[0][7].subdivide(30, seed=1).replace(name="finer")
    path.write_text(json_line(finer) + "\n" + json_line(windows[0][2].replace(name="other")) + "\n")
    return path


def test_the_table_has_the_nearest_of_each_query(stored, query, windows, capsys):
    """The same space is first at distance 0, with its label, and the number of distances is told."""
    assert main(["find", str(stored), str(query), "-k", "3"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "finer"
    assert lines[2].split() == ["1", "0", "7", "window", "7", windows[1][7]]
    assert lines[6] == "other"
    assert lines[8].split()[1:3] == ["0", "2"]
    assert "distances computed" in printed.err


def test_csv_and_json_have_every_field(stored, query, windows, capsys):
    """Both list the same rows with full distances and the metadata."""
    assert main(["find", str(stored), str(query), "-k", "2", "--csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert main(["find", str(stored), str(query), "-k", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [{key: str(value) for key, value in row.items()} for row in rows] == table
    assert [row["query"] for row in rows] == ["finer", "finer", "other", "other"]
    assert [row["rank"] for row in rows] == [1, 2, 1, 2]
    assert rows[1]["city"] == "Ufa"
    expected = tt.GraphIndex("ttw").fit(windows[0]).query(windows[0][2], 2)[0]
    assert rows[3]["distance"] == pytest.approx(expected[1], rel=1e-9)


def test_radius_lists_all_within(stored, query, capsys):
    """With a radius of 0 only the same space is listed."""
    assert main(["find", str(stored), str(query), "--radius", "0", "--json"]) == 0
    assert [row["index"] for row in json.loads(capsys.readouterr().out)] == [7, 2]
    far = query.with_name("far.jsonl")
    far.write_text(json_line(tt.MetricGraph([0], [0], [1e7], unit="m")) + "\n")
    assert main(["find", str(stored), str(far), "--radius", "1"]) == 0
    assert "nothing within the radius" in capsys.readouterr().out
    assert main(["find", str(stored), str(far), "--radius", "-1"]) == 2


def test_more_than_there_are_is_all(stored, query, capsys):
    """A larger k than the index has graphs lists all, with a note."""
    assert main(["find", str(stored), str(query), "-k", "50", "--json"]) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 24
    assert "the index has 12 graphs" in printed.err


def test_a_picture_shows_query_and_results(stored, query, tmp_path, capsys):
    """The picture is written where it was asked for."""
    picture = tmp_path / "new" / "near.png"
    assert main(["find", str(stored), str(query), "-k", "4", "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"picture: {picture}" in capsys.readouterr().out


def test_damaged_and_missing_indexes_are_one_message(stored, query, tmp_path, capsys):
    """What is wrong is named, and the exit code is 2; without checksums a changed entry may pass."""
    assert main(["find", str(tmp_path / "nowhere"), str(query)]) == 2
    assert "no index" in capsys.readouterr().err
    norms = stored / "norms.npy"
    content = norms.read_bytes()
    norms.write_bytes(content[:-8] + bytes(8))
    assert main(["find", str(stored), str(query)]) == 2
    assert "norms.npy: its checksum is wrong" in capsys.readouterr().err
    assert main(["find", str(stored), str(query), "--no-verify"]) == 0
