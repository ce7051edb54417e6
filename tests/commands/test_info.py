"""The command ``torelli info``."""

from __future__ import annotations

import csv
import io
import json
import sys

import pytest

from torelli import DataNotFoundError, MetricGraph
from torelli.cli import main
from torelli.commands import _inputs, info
from torelli.datasets.storage import shared_data
from torelli.io.readers import Record

GRAPHML = """<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="l" for="edge" attr.name="length" attr.type="double"/>
  <graph edgedefault="undirected">
    <node id="a"/><node id="b"/><node id="c"/><node id="d"/>
    <edge source="a" target="b"><data key="l">1.0</data></edge>
    <edge source="a" target="b"><data key="l">2.0</data></edge>
    <edge source="b" target="c"><data key="l">4.5</data></edge>
    <edge source="c" target="c"><data key="l">1.0</data></edge>
  </graph>
</graphml>
"""


@pytest.fixture
def file(tmp_path):
    """Return a file with a small graph: two parallel edges, a bridge, a loop and an isolated node."""
    path = tmp_path / "small.graphml"
    path.write_text(GRAPHML)
    return path


def test_a_graph_is_described(file, capsys) -> None:
    """Each figure of a graph counted by hand stands in its column."""
    assert main(["info", str(file), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["graphs"]
    assert row == {
        "name": str(file), "nodes": 4, "edges": 4, "components": 2, "loops": 1, "parallel": 1, "genus": 2,
        "bridges": 1, "total_length": 8.5, "unit": None, "sparsity": "S", "generic": True, "ties": 0,
        "determined": True, "matrix_bytes": 32, "values": [], "fields": [],
    }  # fmt: skip


def test_the_table_has_the_same_figures(file, capsys) -> None:
    """The text is one header and one line per graph."""
    assert main(["info", str(file)]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:8] == ["file", "nodes", "edges", "comps", "loops", "parallel", "genus", "bridges"]
    assert line.split() == [
        str(file),
        *["4", "4", "2", "1", "1", "2", "1", "8.5", "-", "S", "yes", "32", "B"],
    ]


def test_names_of_values_and_fields_stand_below_the_table(tmp_path, capsys) -> None:
    """What else files say of edges and graphs is named, in every form of the output."""
    path = tmp_path / "a.jsonl"
    edges = [{"source": 0, "target": 1, "length": 1, "lanes": 2}]
    path.write_text(json.dumps({"edges": edges, "Type": "REN"}))
    assert main(["info", str(path)]) == 0
    *_, values, fields = capsys.readouterr().out.splitlines()
    assert values == "values on edges: lanes"
    assert fields == "fields of graphs, for --label and --groups: Type"
    assert main(["info", str(path), "--csv"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith(",lanes,Type")


def test_many_trees_are_told_of_once(tmp_path, capsys) -> None:
    """One note for all files without cycles has the number of them and of the rows."""
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("u,v,length\n1,2,1\n2,3,1\n2,4,1\n")
    assert main(["info", str(tmp_path / "*.csv")]) == 0
    (note,) = capsys.readouterr().err.splitlines()
    assert "a.csv and 2 other inputs: all 3 graphs have no cycles" in note
    assert "(3 rows)" in note


def test_doubled_bridges_make_the_matrix_larger(file, capsys) -> None:
    """A bridge is a row of its own: three rows instead of two."""
    assert main(["info", str(file), "--json", "--bridges", "double"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"][0]["matrix_bytes"] == 8 * 3**2


def test_a_neuron_is_told_what_there_is_to_compare(tmp_path, capsys) -> None:
    """A tree has an empty matrix, and the note counts the chains between its branch points."""
    path = tmp_path / "cell.swc"
    path.write_text("1 1 0 0 0 1 -1\n2 3 0 1 0 1 1\n3 3 0 2 0 1 2\n4 3 1 2 0 1 3\n5 3 -2 2 0 1 3\n")
    assert main(["info", str(path)]) == 0
    (note,) = capsys.readouterr().err.splitlines()
    assert "the graph has no cycles, and Q is empty; --bridges double" in note
    assert "(3 rows), and --kernel ttm" in note
    assert main(["info", str(path), "--bridges", "double"]) == 0
    assert capsys.readouterr().err == ""


def test_csv_can_be_read_back(file, capsys) -> None:
    """--csv prints a header and a row that the csv module reads."""
    assert main(["info", str(file), "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["kind"], row["genus"], row["total_length"]) == ("graph", "2", "8.5")


def test_patterns_are_expanded(file, tmp_path, capsys) -> None:
    """A pattern that the shell left alone stands for its files, in order."""
    (tmp_path / "another.graphml").write_text(GRAPHML)
    assert main(["info", str(tmp_path / "*.graphml"), "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)["graphs"]]
    assert names == [str(tmp_path / "another.graphml"), str(file)]


@pytest.mark.parametrize("form", [[], ["--csv"], ["--json"]])
def test_a_file_that_cannot_be_read_does_not_hide_the_others(file, tmp_path, capsys, form) -> None:
    """The bad files give a line each on standard error, the good one is listed, the exit code is 1."""
    bad, missing = tmp_path / "bad.graphml", tmp_path / "missing.graphml"
    bad.write_text("<graphml")
    assert main(["info", str(bad), str(file), str(missing), *form]) == 1
    out, err = capsys.readouterr()
    assert "small.graphml" in out
    lines = [line for line in err.splitlines() if line.startswith("torelli: ")]
    assert [str(bad) in lines[0], str(missing) in lines[1]] == [True, True]
    if form == ["--json"]:
        assert [error["name"] for error in json.loads(out)["errors"]] == [str(bad), str(missing)]


def test_a_file_with_several_graphs_is_a_set(tmp_path, capsys) -> None:
    """Means and deviations by default, every graph with --each."""
    path = tmp_path / "TINY"
    path.mkdir()
    files = {"A": "1,2\n2,3\n3,1\n4,5\n", "graph_indicator": "1\n1\n1\n2\n2\n", "graph_labels": "0\n1\n"}
    for part, text in files.items():
        (path / f"TINY_{part}.txt").write_text(text)
    assert main(["info", str(path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sets"]
    assert (row["graphs"], row["nodes"], row["genus"], row["agrees"]) == (2, 2.5, 0.5, None)
    assert main(["info", str(path), "--json", "--each"]) == 0
    rows = json.loads(capsys.readouterr().out)["graphs"]
    assert [(row["name"], row["genus"]) for row in rows] == [("TINY[0]", 1), ("TINY[1]", 0)]


def test_trees_have_no_finite_ratio_and_json_stays_valid(tmp_path, capsys) -> None:
    """log(0) is null in JSON, empty in CSV and -inf in the table."""
    path = tmp_path / "T"
    path.mkdir()
    for part, text in {"A": "1,2\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n"}.items():
        (path / f"T_{part}.txt").write_text(text)
    assert main(["info", str(path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["sets"]
    assert row["log_ratio"] is None
    assert main(["info", str(path)]) == 0
    assert "-inf" in capsys.readouterr().out


@pytest.mark.usefixtures("tu")
def test_the_papers_table_is_reproduced_in_all_23_rows(capsys) -> None:
    """Means, deviations, ratio and class agree with the paper to its two decimals, row by row."""
    assert main(["info", "--tu", "all", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sets"]
    assert len(rows) == 23
    keys = ("nodes", "nodes_std", "edges", "edges_std", "genus", "genus_std", "log_ratio")
    for row in rows:
        assert row["agrees"] is True
        assert [row[key] for key in keys] == pytest.approx([row[f"paper_{key}"] for key in keys], abs=0.00501)
        assert (row["graphs"], row["sparsity"]) == (row["paper_graphs"], row["paper_sparsity"])


@pytest.mark.usefixtures("tu")
def test_the_verdict_stands_below_the_table(capsys) -> None:
    """Each set of the paper has a second line with the paper's figures and a verdict."""
    assert main(["info", "--tu", "MUTAG", "BZR"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["MUTAG", "188", "17.93", "±"]
    assert lines[2].split()[0] == "paper"
    assert lines[2].split()[-1] == "match"
    assert lines[-1].startswith("2 of 2 rows match the paper")


@pytest.mark.usefixtures("tu")
def test_a_row_that_differs_says_so(capsys, monkeypatch) -> None:
    """If a figure of the paper were another, the row would not match."""
    rows = [{**row, "m": "19.80"} for row in info.paper_table("dataset_statistics")]
    monkeypatch.setattr(info, "paper_table", lambda _: rows)
    assert main(["info", "--tu", "MUTAG"]) == 0
    out = capsys.readouterr().out
    assert "differs" in out
    assert "0 of 1 rows match" in out


def test_after_one_failed_download_no_other_is_tried(monkeypatch, capsys) -> None:
    """Without a network the command does not wait for 23 sets in turn."""
    asked = []

    def load_tu(name: str, *, lengths: str, download_if_missing: bool) -> None:
        asked.append((name, lengths, download_if_missing))
        raise DataNotFoundError("offline")

    monkeypatch.setattr(_inputs, "load_tu", load_tu)
    assert main(["info", "--tu", "X", "Y"]) == 1
    assert asked == [("X", "unit", True), ("Y", "unit", False)]
    assert capsys.readouterr().err.count("offline") == 2


def test_progress_is_said_once_it_takes_long(file, monkeypatch, capsys) -> None:
    """After some seconds a line on standard error says which file is being read."""
    monkeypatch.setattr(info, "_QUIET_SECONDS", -1.0)
    assert main(["info", str(file)]) == 0
    assert f"torelli: 1 of 1: {file}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["--length", "km", "--layer", "edges"], {"length": "km", "layer": "edges"}),
        (["--network-type", "all", "--tolerance", "0.5"], {"network_type": "all", "tolerance": 0.5}),
        (["--network-type", "none"], {"network_type": None}),
        (["--length", "1"], {"length": 1.0}),
    ],
)
def test_options_are_passed_on_to_the_reader(file, monkeypatch, arguments, options) -> None:
    """What the command is told about reading goes to `read_records`, and nothing else."""
    seen = []

    def read_records(path: str, **given: object) -> list[Record]:
        seen.append((path, given))
        return [Record(MetricGraph([0], [1], [1.0]))]

    monkeypatch.setattr(sys.modules["torelli.io.read"], "read_records", read_records)
    assert main(["info", str(file), *arguments]) == 0
    assert seen == [(str(file), options)]


def test_what_a_reader_resolves_is_said(file, monkeypatch, capsys) -> None:
    """Warnings of readers are notes on standard error, one line each, and no tracebacks."""

    def read_records(_: str) -> list[Record]:
        import warnings

        warnings.warn("3 edges were listed twice", UserWarning, stacklevel=1)
        return [Record(MetricGraph([0], [1], [1.0]))]

    monkeypatch.setattr(sys.modules["torelli.io.read"], "read_records", read_records)
    assert main(["info", str(file)]) == 0
    assert f"torelli: note: {file}: 3 edges were listed twice" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("tu")
def test_every_file_of_the_shared_data_is_described(capsys) -> None:
    """All 188 files of the shared data are read, in one command and without an error."""
    pytest.importorskip("osmium")
    root = shared_data("tu").parent
    patterns = ("osm/*", "other/*.gz", "urn/graphs/*.gz", "urn/city120/*.gz", "urn/cells/*.gz", "tu/*.zip")
    assert main(["info", *(str(root / pattern) for pattern in patterns), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (len(printed["graphs"]), len(printed["sets"]), printed["errors"]) == (164, 24, [])
    assert all(row["genus"] == row["edges"] - row["nodes"] + row["components"] for row in printed["graphs"])


def test_nothing_to_describe_is_an_error(capsys) -> None:
    """Without files and sets the usage is shown."""
    with pytest.raises(SystemExit) as stop:
        main(["info"])
    assert stop.value.code == 2
    assert "give files, or --tu" in capsys.readouterr().err


def test_the_help_has_examples(capsys) -> None:
    """--help teaches by example."""
    with pytest.raises(SystemExit):
        main(["info", "--help"])
    assert "torelli info --tu all" in capsys.readouterr().out


def test_a_long_unit_is_shown_by_its_symbol(tmp_path, capsys) -> None:
    """The table has the short name, which --unit takes too; JSON has the name of the file."""
    path = tmp_path / "a.csv"
    path.write_text("u,v,length,unit\na,b,3,US survey foot\n")
    assert main(["info", str(path)]) == 0
    assert " us-ft " in capsys.readouterr().out
    assert main(["info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"][0]["unit"] == "US survey foot"
