"""The command ``torelli index``."""

from __future__ import annotations

import torelli as tt
from torelli.cli import main
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
    found = {index.ids_[i]: index.record(i)["label"] for i in range(index.n_graphs_)}
    assert sorted(found.values()) == sorted(windows[1])


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
    assert "give a folder" in capsys.readouterr().err


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
