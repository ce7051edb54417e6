"""Running experiments: stopping, going on, and what is written."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from torelli._errors import FormatError, InvalidOptionError
from torelli.experiments import Cell, Experiment, Settings, run, stored_rows
from torelli.report import report_page


def toy(measured, *, stop_at=None, **options):
    """Return an experiment that squares numbers, notes what it measures, and may be interrupted."""

    def measure(key, settings):
        if key["number"] == stop_at:
            raise KeyboardInterrupt
        measured.append(key["number"])
        rng = np.random.default_rng([settings.seed, key["number"]])
        return [{"square": key["number"] ** 2, "noise": float(rng.random())}]

    def figures(rows):
        figure = Figure()
        figure.subplots().plot([row["square"] for row in rows])
        return {"squares": figure}

    return Experiment(
        "toy",
        "Squares",
        "0.1",
        "That squares grow.",
        1,
        lambda settings: [Cell({"number": i}, cost=i + 1) for i in range(3 if settings.quick else 6)],
        measure,
        lambda rows: f"The last is {rows[-1]['square']}.\n\n![squares](squares.png)",
        figures,
        **options,
    )


class Picture(Figure):
    """A figure that is written at once."""

    def savefig(self, path, **_):
        """Write something."""
        Path(path).write_bytes(b"a picture")


def quick(measured):
    """Return the same experiment with pictures that take no time."""
    return replace(toy(measured), figures=lambda _: {"squares": Picture()})


def contents(folder):
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".csv", ".md", ".svg"}
    }


def without_date(files):
    page = files["README.md"].decode().split("## How this was measured")[0]
    return {**files, "README.md": page}


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


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9, 0.999])
def test_a_torn_file_costs_the_torn_cell_alone(tmp_path, kept):
    """A ledger cut anywhere, as by a kill or a full disk, gives the same tables in the end."""
    run(toy([]), tmp_path, Settings(), verbose=False)
    before = without_date(contents(tmp_path))
    store = tmp_path / "cells.jsonl"
    text = store.read_bytes()
    store.write_bytes(text[: int(kept * len(text))])
    measured = []
    run(toy(measured), tmp_path, Settings(), verbose=False)
    assert 0 < len(measured) <= 6
    assert without_date(contents(tmp_path)) == before


@pytest.mark.parametrize("kept", [1, 60, -1, -30])
def test_a_torn_line_is_told(tmp_path, capsys, kept):
    """What was dropped of the ledger is said, and the cell is measured again."""
    run(quick([]), tmp_path, Settings(), verbose=False)
    before = without_date(contents(tmp_path))
    store = tmp_path / "cells.jsonl"
    store.write_bytes(store.read_bytes()[:kept])
    run(quick([]), tmp_path, Settings())
    assert f"toy: {store} ended in half a line, which was dropped\n" in capsys.readouterr().err
    assert without_date(contents(tmp_path)) == before


HOSTILE = [
    b"", b"{", b"[]", b"null", b"NaN", b"3", b"\xff\xfe", b"\0" * 50, b"[" * 10**5, b"9" * 10**5, b"{}",
    b'{"cell": {"number": 2}}', b'{"rows": []}', b'{"cell": 2, "rows": []}',
    b'{"cell": {"number": 2}, "rows": 2}',
    b'{"cell": {"number": [2]}, "rows": []}', b'{"cell": {"number": 2}, "rows": [2]}',
    b'{"cell": {"number": 2}, "rows": [{"square": [4]}]}', b'{"cell": null, "rows": null}',
    b'{"cell": {"number": ' + b"9" * 10**5 + b'}, "rows": []}',
]  # fmt: skip


@pytest.mark.parametrize("number", [1, 4, 7])
@pytest.mark.parametrize("line", HOSTILE, ids=range(len(HOSTILE)))
def test_a_damaged_line_is_told(tmp_path, number, line):
    """A line of the ledger that is no cell is an error with file, line and remedy, and the remedy helps."""
    run(quick([]), tmp_path, Settings(), verbose=False)
    before = without_date(contents(tmp_path))
    store = tmp_path / "cells.jsonl"
    lines = store.read_bytes().splitlines(keepends=True)
    damaged = [*lines[: number - 1], line + b"\n", *lines[number:]]
    store.write_bytes(b"".join(damaged))
    for read in (lambda: run(quick([]), tmp_path, Settings()), lambda: stored_rows(quick([]), tmp_path)):
        with pytest.raises(FormatError, match=rf"cells\.jsonl, line {number}: .*--fresh") as caught:
            read()
        assert ("remove the line" in str(caught.value)) == (number > 1)
        assert len(str(caught.value)) < 2_000
    if number > 1:
        store.write_bytes(b"".join([*lines[: number - 1], *lines[number:]]))
        measured = []
        run(quick(measured), tmp_path, Settings(), verbose=False)
        assert measured == [number - 2]
    store.write_bytes(b"".join(damaged))
    run(quick([]), tmp_path, Settings(), fresh=True, verbose=False)
    assert without_date(contents(tmp_path)) == before


@pytest.mark.parametrize("square", ["NaN", "1e999", '"x"', "null", "9" * 4000, '"\\ud800"', "true"])
def test_rows_that_make_no_page_are_told(tmp_path, square):
    """Rows of strange values give their page, or an error that names the ledger and keeps what was there."""
    run(quick([]), tmp_path, Settings(), verbose=False)
    before = contents(tmp_path)
    experiment = replace(
        quick([]),
        page=lambda rows: f"{rows[-1]['square'] / 1e3:.1f}",
        outcome=lambda rows: f"{rows[0]['none']}",
    )
    store = tmp_path / "cells.jsonl"
    lines = store.read_text().splitlines(keepends=True)
    store.write_text("".join(lines[:-1]) + f'{{"cell": {{"number": 5}}, "rows": [{{"square": {square}}}]}}\n')
    try:
        run(experiment, tmp_path, Settings(), verbose=False)
    except FormatError as error:
        assert f"{store}: its rows are not those of this experiment" in str(error)  # noqa: PT017
        assert "--fresh" in str(error)  # noqa: PT017
        assert contents(tmp_path) == before
    else:
        assert square in {"NaN", "1e999", "true"}


@pytest.mark.parametrize("content", [None, *HOSTILE[:11], b'{"experiment": "toy", "sittings": [{}]}'])
def test_a_damaged_record_is_written_anew(tmp_path, capsys, content):
    """Cells are not lost with `run.json`: what the ledger has is used, the rest told, the old file kept."""
    run(quick([]), tmp_path, Settings(seed=3), verbose=False)
    before = contents(tmp_path)
    record = tmp_path / "run.json"
    record.unlink() if content is None else record.write_bytes(content)
    with pytest.raises(FormatError, match=r"run\.json|experiment"):
        report_page(tmp_path)
    measured = []
    run(quick(measured), tmp_path, Settings(seed=3))
    assert measured == []
    assert "written anew, without when and where" in capsys.readouterr().err
    found = json.loads(record.read_text())
    assert found == {"experiment": "toy", "quick": False, "seed": 3, "version": 1, "sittings": []}
    if content is not None:
        assert (tmp_path / "run.json.damaged").read_bytes() == content
    page = contents(tmp_path)["README.md"].decode()
    assert page.partition("The last one")[0] == before["README.md"].decode().partition("The last one")[0]
    assert page.endswith("\nnot known, since `run.json` was damaged.\n")
    assert "The last is 25" in report_page(tmp_path)
    run(quick(measured), tmp_path, Settings(seed=3), fresh=True, only={"number": ["2"]}, verbose=False)
    assert len(json.loads(record.read_text())["sittings"]) == 1


def test_a_record_of_another_run_is_told(tmp_path):
    """`run.json` of another seed beside the cells is a mixture: the remedies are named, and they help."""
    for seed in (1, 2):
        run(quick([]), tmp_path / str(seed), Settings(seed=seed), verbose=False)
    record = tmp_path / "1" / "run.json"
    record.write_bytes((tmp_path / "2" / "run.json").read_bytes())
    with pytest.raises(FormatError, match=r"of another run than cells\.jsonl \(seed differs\); remove it"):
        run(quick([]), tmp_path / "1", Settings(seed=1), verbose=False)
    record.unlink()
    run(quick([]), tmp_path / "1", Settings(seed=1), verbose=False)
    assert json.loads(record.read_text())["seed"] == 1


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
sys.path[:0] = sys.argv[1:3]
from kills import killed_at_every_step
from test_run import contents, quick, without_date
from torelli._errors import TorelliError
from torelli.experiments import Settings, run
from torelli.report import report_page

home = Path(sys.argv[3])
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
    here = Path(__file__)
    command = [sys.executable, "-c", KILLED, str(here.parent), str(here.parents[1]), str(tmp_path), *how]
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


def test_rows_of_another_seed_are_not_mixed_in(tmp_path):
    """A folder measured with another seed is refused, with the remedy."""
    run(toy([]), tmp_path, Settings(), verbose=False)
    with pytest.raises(InvalidOptionError, match="--fresh"):
        run(toy([]), tmp_path, Settings(seed=1), verbose=False)


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
