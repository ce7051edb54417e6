"""What commands have in common: naming inputs, reading them, and their labels."""

from __future__ import annotations

import argparse
import inspect
import re
import sys

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
    """The zip of a benchmark set is a collection with labels and drawn lengths."""
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
    found = _inputs.load_collection(parser_arguments, seed=1)
    assert found.labels.tolist() == ["-1", "1"]
    assert found.names == ["TINY[0]", "TINY[1]"]
    assert 0 < found.graphs[0].length[0] < 1


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
    """The command has every option that `read` has, and no other about reading."""
    parser = argparse.ArgumentParser()
    _inputs.add_reading_options(parser)
    flags = {flag for action in parser._actions for flag in action.option_strings} - {"-h", "--help"}
    options = [*inspect.signature(sys.modules["torelli.io.read"].read).parameters][1:]
    assert flags == {"--" + option.replace("_", "-") for option in options}
