"""``torelli plan``."""

from __future__ import annotations

import json

from torelli.cli import main


def test_a_plan_is_printed(lines, capsys):
    """The text says what a kernel takes and on which machine that was measured."""
    assert main(["plan", str(lines), "--kernel", "ttw"]) == 0
    out = capsys.readouterr().out
    assert "kernel ttw (float64) of 12 graphs" in out
    assert "78 pairs" in out
    assert "Calibrated by `make bench CASES=scale`" in out


def test_a_plan_as_json(lines, capsys):
    """Figures of features can be read by a program."""
    assert main(["plan", str(lines), "--features", "measure", "--dtype", "float32", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_graphs"] == 12
    assert plan["result_bytes"] == 12 * 1280 * 4
    assert plan["total_seconds"] > 0


def test_a_plan_for_graphs_that_are_not_there(capsys):
    """--graphs and --genus need no input, and belong together."""
    assert main(["plan", "--graphs", "1e6", "--genus", "50", "--features", "measure", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_graphs"] == 10**6
    assert plan["sizes"][0] == 120
    for arguments in (["--graphs", "5"], ["--genus", "5"], ["a.jsonl", "--graphs", "5", "--genus", "5"]):
        assert main(["plan", *arguments]) == 2
        assert "--graphs" in capsys.readouterr().err
