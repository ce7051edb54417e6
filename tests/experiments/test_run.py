"""Running experiments: stopping, going on, and what is written."""

import csv
import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from torelli._errors import FormatError, InvalidOptionError
from torelli.experiments import Settings, run
from torelli.report import report_page
from toy_experiment import contents, quick, toy, without_date


def test_everything_is_written(tmp_path):
    """CSV, page, figures in two formats and a record of the machine stand in the folder."""
    run(toy([]), tmp_path, Settings(), command="torelli reproduce toy", verbose=False)
    assert {path.name for path in tmp_path.iterdir()} == {
        "cells.jsonl", "toy.csv", "README.md", "squares.png", "squares.svg", "run.json",
    }  # fmt: skip
    rows = list(csv.DictReader((tmp_path / "toy.csv").read_text().splitlines()))
    assert [row["square"] for row in rows] == ["0", "1", "4", "9", "16", "25"]
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["sittings"][0]["command"] == "torelli reproduce toy"
    assert record["sittings"][0]["versions"]["numpy"] == np.__version__
    assert "The last is 25." in (tmp_path / "README.md").read_text()


@pytest.mark.parametrize("stop_at", [0, 3, 5])
def test_a_stopped_run_goes_on_to_the_same_tables(tmp_path, stop_at):
    """What was measured is not measured again, and the outcome is byte for byte that of one sitting."""
    once, first, second = [], [], []
    run(toy(once), tmp_path / "once", Settings(), verbose=False)
    with pytest.raises(KeyboardInterrupt):
        run(toy(first, stop_at=stop_at), tmp_path / "twice", Settings(), verbose=False)
    run(toy(second), tmp_path / "twice", Settings(), verbose=False)
    assert first + second == once
    assert without_date(contents(tmp_path / "twice")) == without_date(contents(tmp_path / "once"))


def test_a_page_of_other_rows_goes(tmp_path):
    """Rows without some of the cells have no page, also not that of before."""
    run(quick([]), tmp_path, Settings(), verbose=False)
    store = tmp_path / "cells.jsonl"
    store.write_bytes(b"".join(store.read_bytes().splitlines(keepends=True)[:-2]))
    run(quick([]), tmp_path, Settings(), only={"number": ["5"]}, verbose=False)
    assert not (tmp_path / "README.md").exists()
    with pytest.raises(FormatError, match=r"README\.md cannot be read .*; run torelli reproduce toy again"):
        report_page(tmp_path)


KILLED = """
import shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kills import killed_at_every_step
from toy_experiment import contents, quick, without_date
from torelli._errors import TorelliError
from torelli.experiments import Settings, run
from torelli.report import report_page

home = Path(sys.argv[2])
options = {"fresh": True} if "fresh" in sys.argv else {}

def prepare():
    shutil.rmtree(home / "killed", ignore_errors=True)
    if "before" in sys.argv:
        run(quick([]), home / "killed", Settings(quick=True), command="old", verbose=False)

def act():
    run(quick([]), home / "killed", Settings(quick=True), command="new", verbose=False, **options)

run(quick([]), home / "once", Settings(quick=True), verbose=False)
expected = without_date(contents(home / "once"))
prepare()
for _ in killed_at_every_step(act, home / "killed"):
    try:
        page = report_page(home / "killed")
        assert "The last is 4." in page
        print("page")
    except TorelliError as error:
        assert any(words in str(error) for words in ("torelli reproduce", "no folder", "no run.json")), error
        print("none")
    act()
    assert without_date(contents(home / "killed")) == expected
    assert not list((home / "killed").glob(".*"))
    assert "The last is 4." in report_page(home / "killed")
    prepare()
"""


@pytest.mark.parametrize(
    ("how", "seen"),
    [([], ["none", "page"]), (["before"], ["page"]), (["before", "fresh"], ["page", "none", "page"])],
)
def test_a_killed_run_goes_on_to_the_same_result(tmp_path, how, seen):
    """Whatever step on disk a ``kill -9`` hits, there is a whole page or none, and the next run completes."""
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parents[1]), str(tmp_path), *how]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) > 20
    assert [page for page, _ in groupby(done.stdout.split())] == seen


def test_a_finished_run_is_not_measured_again(tmp_path):
    """A second call writes the outcome from the ledger, and --fresh measures anew."""
    run(toy([]), tmp_path, Settings(), verbose=False)
    measured = []
    run(toy(measured), tmp_path, Settings(), verbose=False)
    assert measured == []
    run(toy(measured), tmp_path, Settings(), fresh=True, verbose=False)
    assert measured == list(range(6))


def test_only_some_cells_are_measured(tmp_path, capsys):
    """A selection gives its rows; the page waits for the rest, which the same folder takes later."""
    measured = []
    run(toy(measured), tmp_path, Settings(), only={"number": ["1", "4"]})
    assert measured == [1, 4]
    assert "4 of 6 cells left" in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"cells.jsonl", "toy.csv", "run.json"}
    rows = list(csv.DictReader((tmp_path / "toy.csv").read_text().splitlines()))
    assert [row["square"] for row in rows] == ["1", "16"]
    run(toy(measured), tmp_path, Settings(), verbose=False)
    assert measured == [1, 4, 0, 2, 3, 5]
    run(toy([]), tmp_path / "once", Settings(), verbose=False)
    assert without_date(contents(tmp_path)) == without_date(contents(tmp_path / "once"))


def test_some_cells_are_measured_again_and_the_rest_stays(tmp_path):
    """`fresh` with a selection appends those cells anew, and every other line is as it was."""
    run(toy([]), tmp_path, Settings(), verbose=False)
    before = (tmp_path / "cells.jsonl").read_bytes()
    measured = []
    run(toy(measured), tmp_path, Settings(), fresh=True, only={"number": ["2"]}, verbose=False)
    assert measured == [2]
    after = (tmp_path / "cells.jsonl").read_bytes()
    assert after.startswith(before)
    assert json.loads(after[len(before) :])["cell"] == {"number": 2}
    assert [sitting["cells"] for sitting in json.loads((tmp_path / "run.json").read_text())["sittings"]] == [
        6,
        1,
    ]


@pytest.mark.parametrize(
    ("only", "message"),
    [
        ({"colour": ["red"]}, "unknown part of a cell 'colour': use one of 'number'"),
        ({"number": ["1", "7"]}, "unknown number '7': use one of '0', '1'"),
    ],
)
def test_a_selection_of_nothing_says_what_there_is(tmp_path, only, message):
    """And nothing that was measured before is lost."""
    run(toy([]), tmp_path, Settings(), verbose=False)
    before = contents(tmp_path)
    with pytest.raises(InvalidOptionError, match=message):
        run(toy([]), tmp_path, Settings(), fresh=True, only=only, verbose=False)
    assert contents(tmp_path) == before


def test_cells_side_by_side_come_out_in_order(tmp_path):
    """Several workers give the table of one."""
    run(toy([]), tmp_path / "one", Settings(), verbose=False)
    run(toy([], isolated=True), tmp_path / "two", Settings(), workers=3, verbose=False)
    assert contents(tmp_path / "one")["toy.csv"] == contents(tmp_path / "two")["toy.csv"]


def test_a_cell_that_ran_out_of_time_is_tried_again_with_more(tmp_path):
    """`again` decides, by the rows and the caps, which stored cells are measured anew."""
    measured = []
    options = {"again": lambda rows, settings: rows[0]["square"] == 4 and settings.seconds > 100}
    run(toy([], **options), tmp_path, Settings(seconds=10), verbose=False)
    run(toy(measured, **options), tmp_path, Settings(seconds=1000), verbose=False)
    assert measured == [2]


def test_progress_names_the_cell_and_the_time_left(tmp_path, capsys):
    """Progress goes to standard error, a line for each cell where that is no terminal."""
    run(toy([]), tmp_path, Settings())
    lines = capsys.readouterr().err.splitlines()
    assert "now 0" in lines[0]
    assert "5/6 cells" in lines[5]
    assert "left" in lines[5]
