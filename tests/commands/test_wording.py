"""What commands say."""

from __future__ import annotations

import time
import warnings

import pytest

import torelli as tt
from torelli.commands import wording
from torelli.commands.wording import Notes, about, in_options, say, telling_time


@pytest.mark.parametrize(
    ("library", "command"),
    [
        ("2 layers have lines; name one with layer=...", "2 layers have lines; name one with --layer"),
        ("no road of network_type='drive'; try 'all'", "no road of --network-type drive; try 'all'"),
        ("raise it with max_bytes=... (on the command line: --max-bytes)", "raise it with --max-bytes"),
        ("or groups=None for random folds", "or --groups none for random folds"),
        ("split=True splits the lines there", "--split splits the lines there"),
        ("state it with unit='US survey foot'", "state it with --unit 'US survey foot'"),
        ("use graph.replace(unit=...) first", "use graph.replace(unit=...) first"),
        ("give out=numpy.memmap(...)", "give out=numpy.memmap(...)"),
        ("and 3 more (all in the exception's attribute `faults`)", "and 3 more"),
        ("(use the shared data: source='standins')", "(use the shared data: --source standins)"),
    ],
)
def test_keywords_become_options(library, command):
    """What is an option of a command is written as one; calls and other keywords stay as they are."""
    assert in_options(library) == command


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("town.csv: no column 'length'", "data/town.csv: no column 'length'"),
        ("no column 'length'", "data/town.csv: no column 'length'"),
        ("cannot open 'data/town.csv'", "cannot open 'data/town.csv'"),
    ],
)
def test_a_file_is_named_once(message, said):
    """The path of the command line stands once, wherever the message has the name already."""
    assert about("data/town.csv", message) == said


def test_a_note_on_many_inputs_is_told_once_with_their_number(capsys):
    """The first input is named with the note, and the others are counted at the end."""
    notes = Notes()
    for name in ("a/x.csv", "a/y.csv", "a/z.csv"):
        assert notes.while_loading(name, lambda path: warn_of(path.rpartition("/")[2])) == 1
    notes.finish()
    first, last = capsys.readouterr().err.splitlines()
    assert first == "torelli: note: a/x.csv: measured in metres"
    assert last == "torelli: note: 2 other inputs have the same note: measured in metres"


def warn_of(name):
    """Warn of a file as readers do."""
    warnings.warn(f"{name}: measured in metres", tt.DataWarning, stacklevel=1)
    return 1


def test_what_takes_its_time_says_so(monkeypatch, capsys):
    """A line on standard error comes again and again while something lasts, and none once it is over."""
    monkeypatch.setattr(wording, "_QUIET_SECONDS", 0.01)
    with telling_time("waiting"):
        for _ in range(2):
            while "waiting ... " not in capsys.readouterr().err:
                time.sleep(0.01)
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_steps_in_a_row_share_their_patience(monkeypatch, capsys):
    """The wait for a line counts from the last one, whatever step printed it: short steps are not silent."""
    now = [100.0]
    monkeypatch.setattr(wording.time, "monotonic", lambda: now[0])
    say("start")
    now[0] += 2.0
    with telling_time("first"):
        pass
    now[0] += 1.0
    with telling_time("second"):
        while "second ... 0 s" not in (said := capsys.readouterr().err):
            time.sleep(0.01)
    assert "first" not in said
