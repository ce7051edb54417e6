"""The demo."""

from __future__ import annotations

import re

import pytest

from torelli.cli import main


def test_the_demo_prints_accuracies_and_draws_pictures(tmp_path, capsys):
    """A small run ends well: every kernel beats chance by far, and both pictures are there."""
    assert main(["demo", "--windows", "12", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    scores = {
        name: float(value)
        for name, value in re.findall(r"^(\w[\w ]*?)\s+([\d.]+) ±", text, flags=re.MULTILINE)
    }
    assert set(scores) == {"TTW", "TTE", "TTS", "genus alone"}
    assert min(scores[name] for name in ("TTW", "TTE", "TTS")) > 40
    for name in ("cycles.png", "kernel_pca.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert "48 windows" in text


def test_help_teaches(capsys):
    """Help of the tool lists its commands, help of a command says what it does."""
    for arguments, words in ((["--help"], "demo"), (["demo", "--help"], "street patterns")):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
        assert words in capsys.readouterr().out


def test_no_command_is_an_error(capsys):
    """Without a command the usage is shown."""
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "usage" in capsys.readouterr().err
