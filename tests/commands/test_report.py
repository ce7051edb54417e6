"""The command ``torelli report``."""

from __future__ import annotations

import json
import re

from torelli.cli import main
from torelli.experiments import Settings, run
from toy_experiment import quick

FAST = ["--kernel", "tte", "--folds", "3"]


def test_the_report_is_the_same_by_both_ways(lines, tmp_path, capsys):
    """--report writes what `torelli report` makes of the folder of --out."""
    out, one, two = tmp_path / "out", tmp_path / "one.html", tmp_path / "two.html"
    assert main(["classify", str(lines), *FAST, "--out", str(out), "--report", str(one)]) == 0
    assert f"report: {one}" in capsys.readouterr().out
    assert main(["report", str(out), "--out", str(two)]) == 0

    def data(path):
        found = re.search(r'id="torelli-data">(.*?)</script>', path.read_text(encoding="utf-8"))
        return json.loads(found[1])

    assert data(one) == data(two)
    assert one.stat().st_size < 10_000_000


def test_the_report_of_an_experiment_stands_in_its_folder(tmp_path, capsys):
    """Without --out the page is report.html in the folder, and the path is printed."""
    run(quick([]), tmp_path, Settings(quick=True), verbose=False)
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"report: {tmp_path / 'report.html'}\n"
    assert "The last is 4." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_has_no_result_has_no_report(tmp_path, capsys):
    """A folder without a result, or none at all, is one message, and nothing is written."""
    for folder in (tmp_path, tmp_path / "missing"):
        out = tmp_path / "page.html"
        assert main(["report", str(folder), "--out", str(out)]) == 2
        assert folder.name in capsys.readouterr().err
        assert not out.exists()
