"""Tables of experiments that compare methods on labelled sets, from rows that are made up."""

from __future__ import annotations

from torelli.experiments import _comparison_page
from torelli.experiments._comparison_page import Table


def row(dataset, method, folds, **other):
    """Return a row as the experiments store it."""
    return {
        "dataset": dataset,
        "method": method,
        "status": "ok",
        "accuracy": sum(folds) / len(folds),
        "std": 1.0,
        "folds": " ".join(map(str, folds)),
        "n_folds": 2,
        "graphs": 40,
        "classes": 2,
        "compute_seconds": 1.5,
        "drift": 12.34,
        **other,
    }


def lost(dataset, method, status="T", message=""):
    return {
        "dataset": dataset, "method": method, "status": status, "message": message,
        "cap_seconds": 300.0, "cap_gigabytes": 8.0,
    }  # fmt: skip


ROWS = [
    row("one", "TTM", (80.0, 82.0, 81.0, 83.0)),
    row("one", "GW", (70.0, 72.0, 71.5, 73.0)),
    row("one", "WL", (60.0, 62.0, 61.0, 60.0)),
    row("one", "genus", (99.0, 99.0, 99.0, 99.0)),
    row("two", "TTM", (50.0, 52.0, 51.0, 53.0)),
    lost("two", "GW"),
    row("two", "WL", (60.0, 62.0, 61.0, 63.0)),
    lost("two", "genus", "E", "Traceback\nValueError: too small"),
]


def test_the_best_of_a_set_is_bold_and_marks_stay():
    """T and E stand where a method could not be computed."""
    lines = _comparison_page.accuracies(Table(ROWS)).splitlines()
    assert lines[0] == "| set | TTM | GW | WL | genus |"
    assert lines[2] == "| one | 81.5 | 71.6 | 60.8 | **99.0** |"
    assert lines[3] == "| two | 51.5 | T | **61.5** | E |"


def test_ours_is_judged_against_the_best_that_could_be_computed():
    """The genus and the majority are lines to beat, not rivals; wins need a difference, p says how sure."""
    table = Table(ROWS)
    text = _comparison_page.ahead(table, "TTM")
    assert "| one | 81.5 | 71.6 (GW) | +9.9 |" in text
    assert "| two | 51.5 | 61.5 (WL) | -10.0 |" in text
    assert "TTM beats every other method that could be computed on 1 of 2 sets, with p < 0.05 on 1" in text
    assert _comparison_page.wins(table, "TTM") == (1, 2)
    assert _comparison_page.wins(table, "TTS") == (0, 0)
    assert (table.ours, table.others) == (["TTM"], ["GW", "WL"])


def test_costs_have_their_column_and_reasons_their_place():
    """Time, drift, caps and errors come from the rows."""
    table = Table(ROWS)
    assert "| two | 12.3 | T | 12.3 | E |" in _comparison_page.costs(table, "drift")
    text = _comparison_page.descriptions(table)
    assert "out of time (300 s) or memory (8 GB)" in text
    assert "- genus on two failed: ValueError: too small" in text
    assert "- **GW**: Gromov-Wasserstein" in text


def test_the_figure_has_a_mark_for_each_method_and_set():
    """The genus is left out of the figure, as it is a line to beat."""
    (ax,) = _comparison_page.dots(Table(ROWS), "accuracy").axes
    assert [line.get_label() for line in ax.get_lines()] == ["TTM", "GW", "WL"]
    assert all(len(line.get_xdata()) == 2 for line in ax.get_lines())
