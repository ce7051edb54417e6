"""The list of results in a folder."""

from dataclasses import replace

import pytest

from torelli._errors import DataWarning
from torelli.experiments import Settings, index, perturbation, run, stored_rows, write_index


def small():
    """Return an experiment whose rows are known, and the rows."""
    rows = [
        {
            "varied": "genus bound",
            "N": 30,
            "genus_bound": 20,
            "metric": metric,
            "R": size,
            "error": size**2,
            "std": 0.0,
        }
        for metric in perturbation.METRICS
        for size in perturbation.NOISE
    ]
    first = replace(
        perturbation.EXPERIMENT,
        cells=lambda _: perturbation.cells(Settings(quick=True))[1:],
        measure=lambda *_: rows,
        figures=lambda _: {},
    )
    return first, rows


def test_the_list_has_the_outcome_of_what_is_there(tmp_path):
    """A line for each experiment with results, full or quick, in the order given; stored rows come back."""
    first, rows = small()
    second = replace(first, name="other", shows="Something else.", section="", outcome=lambda _: "")
    absent = replace(first, name="absent")
    assert run(first, tmp_path / "perturbation", Settings(), verbose=False) == rows
    run(second, tmp_path / "other-quick", Settings(quick=True), verbose=False)
    assert stored_rows(first, tmp_path / "perturbation") == rows
    write_index([first, absent, second], tmp_path)
    text = (tmp_path / "README.md").read_text()
    assert text == index([first, absent, second], tmp_path)
    lines = [line for line in text.splitlines() if line.startswith("| [")]
    assert lines[0].startswith("| [perturbation](perturbation/README.md) | Section D.4. How far")
    assert "TTE 2.00 to 2.00" in lines[0]
    assert lines[1] == "| [other-quick](other-quick/README.md) | Something else. | see the page |"
    assert len(lines) == 2


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\xff\n", b'{"configuration": {}}\n'])
def test_damaged_cells_of_one_do_not_spoil_the_list(tmp_path, content):
    """An experiment whose ledger cannot be read has its line, which says so; the others are as they were."""
    first, _ = small()
    second = replace(first, name="other")
    for experiment in (first, second):
        run(experiment, tmp_path / experiment.name, Settings(), verbose=False)
    before = index([first, second], tmp_path).splitlines()
    (tmp_path / "other" / "cells.jsonl").write_bytes(content)
    with pytest.warns(DataWarning, match=r"other.cells\.jsonl.*--fresh"):
        after = index([first, second], tmp_path).splitlines()
    assert after[:-1] == before[:-1]
    assert after[-1].endswith("| its cells cannot be read |")
