"""What commands have in common: naming inputs, reading them, and their labels."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import warnings

import pytest

import torelli as tt
from torelli.cli import main
from torelli.commands import _inputs
from torelli.io.jsonlines import json_line

FAST = ["--kernel", "tte", "--folds", "3"]
LONG = "x" * 10**6


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("kind", "type"), "no column 'kind'.*'place', 'file', 'type'"),
        (lambda text: text.replace("window3.jsonl", "other"), "1 of 12 graphs have no label"),
        (lambda text: text + "1,window3.jsonl,grid\n", "is listed 2 times"),
        (lambda text: text.replace("window3.jsonl,gridiron", "window3.jsonl,"), "has no kind"),
    ],
)
def test_a_table_that_does_not_fit_is_told(folder, change, words, capsys):
    """No graph is left out silently: the message counts and names the ones without a label."""
    table = folder / "labels.csv"
    text = table.read_text()
    table.write_text(change(text.replace("window3.jsonl,linear", "window3.jsonl,gridiron")))
    assert main(["classify", str(folder), "--labels", str(table), "--label", "kind", *FAST]) == 2
    assert re.search(words, capsys.readouterr().err)


def test_a_tu_set_has_its_labels(tmp_path):
    """The zip of a benchmark set is read with its labels and drawn lengths."""
    home = tmp_path / "TINY"
    home.mkdir()
    (home / "TINY_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n")
    (home / "TINY_graph_indicator.txt").write_text("1\n1\n2\n2\n")
    (home / "TINY_graph_labels.txt").write_text("-1\n1\n")
    parser_arguments = type(
        "Arguments",
        (),
        {"files": [str(home)], "tu": [], "lengths": "uniform", "labels": None, "label": "label"},
    )
    inputs = _inputs.load_inputs(parser_arguments, seed=1)
    assert inputs.labels.tolist() == ["-1", "1"]
    assert inputs.names == ["TINY[0]", "TINY[1]"]
    assert 0 < inputs.graphs[0].length[0] < 1


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (f"name,{LONG[: 10**5]}", "g,a"),
        ("name,label", f"{LONG[: 10**5]},a"),
        (",".join(f"column{at}" for at in range(10**4)), "g"),
    ],
)
def test_tables_of_labels_are_quoted_in_a_line(tmp_path, capsys, header, row):
    """Long names, and many of them, in a table of labels give a short message."""
    (tmp_path / "labels.csv").write_text(f"{header}\n{row}\n")
    (tmp_path / "g.jsonl").write_text(json_line(tt.MetricGraph([0, 1], [1, 0], [1.0, 2.0], name=LONG)) + "\n")
    assert main(["classify", str(tmp_path / "g.jsonl"), "--labels", str(tmp_path / "labels.csv")]) == 2
    assert 0 < len(capsys.readouterr().err) < 2_000


def test_the_options_of_the_command_are_those_of_the_reader() -> None:
    """The command has every option that `read` has, and no other about reading.

    `values` is the exception: `info` tells all values of edges, and the other commands use none.
    """
    parser = argparse.ArgumentParser()
    _inputs.add_reading_options(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings} - {"-h", "--help"}
    options = [*inspect.signature(sys.modules["torelli.io.read"].read).parameters][1:]
    assert flags == {"--" + option.replace("_", "-") for option in options if option != "values"}


def graph(name=None, source=None):
    """Return a graph of one loop."""
    return tt.MetricGraph([0], [0], [1.0], name=name, source=source)


@pytest.mark.parametrize("key", ["g1", "a.jsonl", "a"])
def test_a_row_names_a_graph_by_its_name_or_its_file(tmp_path, key):
    """The column with the names is found, the file's ending may be missing, and rows come in any order."""
    path = tmp_path / "labels.csv"
    path.write_text(f"note,which,label\nx,other,wrong\ny,{key},right\n", encoding="utf-8")
    graphs = [graph("g1", "a.jsonl"), graph("other", "b.jsonl")]
    assert _inputs.labels_of_table(path, "label", graphs).tolist() == ["right", "wrong"]


def test_a_table_without_some_graphs_counts_them(tmp_path):
    """The error is about the column that names the most graphs."""
    path = tmp_path / "labels.csv"
    path.write_text("name,label\na,1\nb,2\nb,3\n", encoding="utf-8")
    with pytest.raises(
        tt.FormatError, match=r"^labels\.csv: 2 of 3 graphs .*'b' is listed 2 times, 'c' is missing"
    ):
        _inputs.labels_of_table(path, "label", [graph("a"), graph("b"), graph("c")])


def test_patterns_are_expanded_and_files_of_that_name_come_first(tmp_path):
    """A pattern stands for its files in order; a file whose name looks like a pattern is itself."""
    for name in ("b.csv", "a.csv", "c[1].csv"):
        (tmp_path / name).touch()
    pattern, literal, none = (str(tmp_path / name) for name in ("[ab].csv", "c[1].csv", "*.gml"))
    expanded = _inputs.expand([literal, pattern, none])
    assert expanded == [literal, str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), none]


def test_warnings_are_notes_and_each_is_said_once(capsys):
    """What a loader warns of is a line on standard error with the name of the input, and no warning."""

    def load(_):
        for text in ("merged 3", "merged 3", "dropped 1"):
            warnings.warn(text, tt.DataWarning, stacklevel=1)
        return 7

    assert _inputs.with_notes("a.csv", load) == 7
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == "torelli: note: a.csv: merged 3\ntorelli: note: a.csv: dropped 1\n"


def test_a_field_is_a_column_only_if_every_graph_has_it():
    """Values become text in the order of the graphs."""
    fields = [{"city": "A", "year": 1}, {"city": 3}]
    inputs = _inputs.Inputs([graph()] * 2, ["a", "b"], None, fields, "two")
    assert inputs.column("city") == ["A", "3"]
    assert inputs.column("year") is None


def test_numbers_of_the_command_line():
    """Whole numbers may be written as 8e9; what is not whole or too small is refused with the reason."""
    assert _inputs._whole_number("8e9") == 8_000_000_000
    with pytest.raises(argparse.ArgumentTypeError, match=r"1\.5 is not a whole number"):
        _inputs._whole_number("1.5")
    assert _inputs.at_least(2)("2") == 2
    with pytest.raises(argparse.ArgumentTypeError, match="1 is too small, give 2 or more"):
        _inputs.at_least(2)("1")


@pytest.mark.parametrize("word", ["inf", "nan", "1e999"])
def test_a_limit_that_is_no_number_is_refused_by_the_parser(word, capsys):
    """Infinite and undefined limits are a message of the parser, not a traceback."""
    parser = argparse.ArgumentParser()
    _inputs.add_reading_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args(["--max-bytes", word])
    assert "--max-bytes" in capsys.readouterr().err


def test_only_options_that_were_given_reach_the_reader():
    """Nothing is passed on by default, and the word none stands for no choice."""
    parser = argparse.ArgumentParser()
    _inputs.add_reading_options(parser)
    assert _inputs.read_options(parser.parse_args([])) == {}
    given = parser.parse_args(["--network-type", "none", "--max-bytes", "1e6", "--unit", "km"])
    assert _inputs.read_options(given) == {"network_type": None, "max_bytes": 1_000_000, "unit": "km"}


def test_after_one_failed_download_no_other_is_tried(monkeypatch):
    """Once a set could not be had, the others are looked for on this machine alone."""
    asked = []

    def load_tu(name, *, download_if_missing, **_):
        asked.append((name, download_if_missing))
        raise tt.DataNotFoundError(name)

    monkeypatch.setattr(_inputs, "load_tu", load_tu)
    load = _inputs.tu_loader(lengths="unit")
    for name in ("X", "Y"):
        with pytest.raises(tt.DataNotFoundError):
            load(name)
    assert asked == [("X", True), ("Y", False)]
