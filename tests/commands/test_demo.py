"""The demo."""

from __future__ import annotations

import re

import pytest

from torelli.cli import main
from torelli.commands import demo


def test_the_demo_prints_accuracies_and_draws_pictures(tmp_path, capsys):
    """A small run ends well: every kernel beats chance by far, both pictures and the report are there."""
    assert main(["demo", "--windows", "12", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    scores = {
        name: float(value)
        for name, value in re.findall(r"^(\w[\w ]*?)\s+([\d.]+)\s+[\d.]+ to ", text, flags=re.MULTILINE)
    }
    assert set(scores) == {"TTM", "TTW", "genus alone", "majority class"}
    assert min(scores[name] for name in ("TTM", "TTW")) > 40
    for name in ("cycles.png", "kernel_pca.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert "48 windows" in text
    report = tmp_path / "report.html"
    assert f"report: {report}" in text
    assert "street patterns" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--windows", "1"], ["--seed", "-1"], ["--windows", "many"]])
def test_options_that_cannot_be_are_refused_at_once(arguments, capsys):
    """A wrong option is answered by the parser, with its name."""
    with pytest.raises(SystemExit) as stopped:
        main(["demo", *arguments])
    assert stopped.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_told_before_computing(tmp_path, capsys):
    """A file in the way of the pictures is one message, and nothing is computed."""
    (tmp_path / "file").touch()
    assert main(["demo", "--out", str(tmp_path / "file")]) == 2
    output = capsys.readouterr()
    assert "file" in output.err
    assert "windows" not in output.out


def test_without_its_packages_the_extra_is_named(monkeypatch, tmp_path, capsys):
    """The demo asks for its extra at the start."""
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "torelli[report]" in capsys.readouterr().err
