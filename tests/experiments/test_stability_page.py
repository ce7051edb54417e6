"""The page of the stability experiment, from rows that are made up."""

from __future__ import annotations

from torelli.experiments import _stability_page
from torelli.experiments._copies import CHANGES


def row(method, change, *, moved=0.1, found=100.0, accuracy=50.0, **other):
    """Return a row as the experiment stores it."""
    return {
        "method": method,
        "change": change,
        "status": "ok",
        "windows": 900,
        "left_out": 0,
        "among": 1000,
        "cities": 15,
        "moved": moved,
        "moved_95": 2 * moved,
        "found": found,
        "accuracy": accuracy,
        "accuracy_before": 60.0,
        "seconds": 1.0,
        **other,
    }


def rows_of(method, **other):
    return [row(method, change, **other) for change in CHANGES]


def line_of(text, start):
    """Return the cells of the first line of a table that starts with a word."""
    return next(
        [cell.strip() for cell in line[1:-1].split("|")]
        for line in text.splitlines()
        if line.startswith(f"| {start} |")
    )


def test_goals_are_met_or_not_with_their_figures():
    """Noise, the worst of the small changes, and both ways of consolidation."""
    rows = rows_of("TTM")
    rows[CHANGES.index("simplified")]["found"] = 98.0
    rows[CHANGES.index("consolidated")]["found"] = 79.0
    goals = line_of(_stability_page._goals(_stability_page.Table(rows)), "TTM")
    assert goals == ["TTM", "0.1 %, met", "98 %, not met", "79 %, not met", "100 %, met"]


def test_what_could_not_be_computed_has_its_mark_and_its_caps():
    """T stands in every table, the goals say that nothing was measured, and the caps are named."""
    lost = [
        {"method": "GW", "change": change, "status": "T", "cap_seconds": 300.0, "cap_gigabytes": 8.0}
        for change in CHANGES
    ]
    text = _stability_page.page([*rows_of("TTM", left_out=2), *lost])
    assert line_of(text, "GW")[1:] == ["not measured"] * 4
    assert "- GW: T (300 s a change, 8 GB)." in text
    assert "| GW | T | T |" in text
    assert "left out: reordered 2," in text
    assert "1,000 squares of 500 m of 15 cities" in text


def test_every_figure_stands_in_its_table():
    """Moved, found and accuracies are those of the rows, with the number of windows."""
    text = _stability_page.page(rows_of("TTS", moved=1.25, found=87.5, accuracy=43.2))
    assert "| TTS | 1.25 |" in text
    assert "| TTS | 2.5 |" in text
    assert "| TTS | 87.5 |" in text
    assert text.count("| 1,000 |") == 1
    assert "| TTS | 60.0 | 43.2 |" in text


def test_the_outcome_is_that_of_ttm_beside_the_best_other():
    """Without TTM there is nothing to say."""
    text = _stability_page.outcome([*rows_of("TTM", found=82.0), *rows_of("WL", found=70.0)])
    assert "moves TTM by 0.1 %" in text
    assert "for 82 % (WL 70 %)" in text
    assert _stability_page.outcome(rows_of("WL")) == ""


def test_the_figure_has_a_cell_for_each_method_and_change():
    """Figures that are missing stay empty."""
    rows = [*rows_of("TTM"), {"method": "GW", "change": CHANGES[0], "status": "M"}]
    figure = _stability_page.figures(rows)["stability"]
    assert [len(ax.texts) for ax in figure.axes[:2]] == [len(CHANGES)] * 2
    assert len(figure.axes[0].get_yticklabels()) == 2
