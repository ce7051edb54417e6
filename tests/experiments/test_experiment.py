"""What every registered experiment has in common, and the ledger that stores its cells."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from torelli._errors import FormatError, InvalidOptionError
from torelli.experiments import EXPERIMENTS, Cell, Settings, _experiment, get_experiment, run, stored_rows
from torelli.experiments._experiment import never, no_outcome
from torelli.report import report_page
from toy_experiment import contents, quick, toy, without_date


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_are_distinct_and_can_be_stored(name):
    """Keys of cells are plain, survive JSON and differ; a quick run has no more cells than the full one."""
    experiment = get_experiment(name)
    assert experiment.name == name
    counts = []
    for is_quick in (True, False):
        cells = experiment.cells(Settings(quick=is_quick))
        keys = [json.dumps(dict(cell.key), sort_keys=True) for cell in cells]
        assert len(set(keys)) == len(keys) > 0
        assert [json.loads(key) for key in keys] == [dict(cell.key) for cell in cells]
        assert len({tuple(cell.key) for cell in cells}) == 1
        assert all(cell.cost > 0 for cell in cells)
        counts.append(len(cells))
    assert counts[0] <= counts[1]


def test_by_default_nothing_is_measured_again_and_nothing_summed_up():
    """An experiment that says nothing keeps its stored cells, and the list of results refers to its page."""
    assert not never([{"status": "T"}], Settings(seconds=1e9))
    assert no_outcome([{"a": 1}]) == ""


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
    assert "written again; when and where" in capsys.readouterr().err
    rewritten = json.loads(record.read_text())
    assert rewritten == {"experiment": "toy", "quick": False, "seed": 3, "version": 1, "sittings": []}
    if content is not None:
        assert (tmp_path / "run.json.damaged").read_bytes() == content
    page = contents(tmp_path)["README.md"].decode()
    until = "The latest run:"
    assert page.partition(until)[0] == before["README.md"].decode().partition(until)[0]
    assert page.endswith("\nunknown, because `run.json` was damaged.\n")
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


def test_rows_of_another_seed_are_not_mixed_in(tmp_path):
    """A folder measured with another seed is refused, with the remedy."""
    run(toy([]), tmp_path, Settings(), verbose=False)
    with pytest.raises(InvalidOptionError, match="--fresh"):
        run(toy([]), tmp_path, Settings(seed=1), verbose=False)


CONFIGURATION = {"experiment": "toy", "seed": 0}


def test_cells_are_read_back_and_the_last_of_a_key_counts(tmp_path):
    """Rows come back as they were, whatever the order of a key's parts, also in a second sitting."""
    path = tmp_path / "new" / "cells.jsonl"
    ledger = _experiment.Ledger(path, CONFIGURATION)
    ledger.add({"a": 1, "b": "x"}, [{"value": 0.1}])
    ledger.add({"b": "x", "a": 1}, [{"value": None}, {"value": 1e300}])
    again = _experiment.Ledger(path, CONFIGURATION)
    assert again.done == ledger.done == {'{"a": 1, "b": "x"}': [{"value": None}, {"value": 1e300}]}
    assert not again.was_torn


def test_a_torn_line_is_cut_off_before_the_next_is_added(tmp_path):
    """What a kill left of a line does not run into the line that follows."""
    path = tmp_path / "cells.jsonl"
    _experiment.Ledger(path, CONFIGURATION).add({"a": 1}, [])
    with path.open("a") as file:
        file.write('{"cell": {"a": 2}, "ro')
    torn = _experiment.Ledger(path, CONFIGURATION)
    assert torn.was_torn
    torn.add({"a": 3}, [{"value": 3}])
    assert list(_experiment.read_ledger(path).done) == ['{"a": 1}', '{"a": 3}']


def test_rows_are_collected_in_the_order_of_the_table(tmp_path):
    """Each row begins with the key of its cell; cells that were not measured have none."""
    cells = [Cell({"a": i}) for i in range(3)]
    done = {
        _experiment.cell_name({"a": 2}): [{"x": 5}],
        _experiment.cell_name({"a": 0}): [{"x": 1}, {"x": 2}],
    }
    assert _experiment.collect(cells, done) == [{"a": 0, "x": 1}, {"a": 0, "x": 2}, {"a": 2, "x": 5}]


def test_a_ledger_that_is_not_there_is_empty_and_has_no_rows(tmp_path):
    """Reading it is no error; asking for its rows is one, with the remedy."""
    assert _experiment.read_ledger(tmp_path / "cells.jsonl") == (None, {}, 0, False)
    with pytest.raises(FormatError, match=r"cells\.jsonl: there are no cells; start over with --fresh"):
        stored_rows(toy([]), tmp_path)
