"""The command ``torelli report``."""

from __future__ import annotations

import json
import re

from torelli.cli import main

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
