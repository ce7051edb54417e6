"""The page of the street experiment, from rows that are made up."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from torelli.experiments import _urn_page

SET = "URN2-1S"


def score(method, accuracy, *, folds="random", protocol="chosen", name=SET):
    """Return an accuracy as the experiment stores it."""
    return {
        "set": name,
        "method": method,
        "kind": "score",
        "folds": folds,
        "protocol": protocol,
        "accuracy": accuracy,
        "std": 1.25,
        "seconds": 30.0,
        "classify_seconds": 90.0,
    }


def failed(method):
    """Return the row of a baseline that ran out of time."""
    return {
        "set": SET,
        "method": method,
        "kind": "failed",
        "status": "T",
        "cap_seconds": 300.0,
        "cap_gigabytes": 8.0,
    }


def line_of(text, start):
    """Return the cells of the first line of a table that starts with a word."""
    return next(
        [cell.strip() for cell in line[1:-1].split("|")]
        for line in text.splitlines()
        if line.startswith(f"| {start} |")
    )


def test_the_best_of_a_set_is_bold_and_ties_are_too():
    """Accuracies equal to one decimal are both the best; marks and gaps stay what they are."""
    rows = [score("TTE", 80.04), score("TTW", 79.96), score("genus", 60.0), failed("OS")]
    table = _urn_page._accuracy_table(rows, "random")
    header, cells = line_of(table, "set"), line_of(table, SET)
    by_method = dict(zip(header, cells, strict=True))
    assert by_method["TTE"] == by_method["TTW"] == "**80.0**"
    assert (by_method["genus"], by_method["OS"], by_method["SP"]) == ("60.0", "T", "")


def test_a_tie_is_not_ahead_and_a_baseline_out_of_time_is_beaten():
    """The verdict counts strict wins, and says how failures count and what the caps were."""
    rows = [
        score("combined", 80.0),
        score("combined + statistics", 90.0),
        score("WL", 80.0),
        score("statistics", 70.0),
        failed("OS"),
    ]
    text = _urn_page._verdict(rows)
    header = line_of(text, "number of the paper's sets with a win over")
    combined = dict(zip(header, line_of(text, "combined, random folds"), strict=True))
    assert (combined["WL"], combined["statistics"], combined["OS"]) == ("0", "1", "1")
    assert combined["all of them"] == "0 of 1"
    assert line_of(text, "combined + statistics, random folds")[-1] == "1 of 1"
    assert "(1 cells; caps 300 s, 8 GB) counts as beaten; a tie does not." in text


def test_the_outcome_counts_the_papers_sets_alone():
    """Wins on other sets are no part of it."""
    rows = [
        *(score("combined + statistics", 90.0, folds=folds) for folds in ("random", "blocked")),
        score("statistics", 80.0),
        score("statistics", 95.0, folds="blocked"),
        score("TTW", 85.0),
        score("combined + statistics", 99.0, name="city120"),
    ]
    text = _urn_page.outcome(rows)
    assert "on 1 of 1 sets with random folds and 0 of 1 sets with blocked folds." in text
    assert text.endswith("TTW alone beats the statistics on 1.")
    assert "TTM" not in text
    measured = _urn_page.outcome([*rows, score("TTM", 99.0)])
    assert "TTM alone beats all of these on 1 of 1 sets with random folds and 0 of 1" in measured
    tuned = _urn_page.outcome([*rows, score("TTM, tuned", 70.0)])
    assert "TTM, tuned alone beats all of these on 0 of 1 sets with random folds and 0 of 1" in tuned


def test_the_goal_is_met_by_one_kernel_ahead_of_all_everywhere():
    """Both kinds of folds and both other sets count; a kernel with plain statistics cannot meet it."""
    both = ("random", "blocked")
    rows = [
        *(score("TTM", 90.0, folds=folds) for folds in both),
        *(score("combined", 70.0, folds=folds) for folds in both),
        *(score("combined + statistics", 95.0, folds=folds) for folds in both),
        *(score("statistics", 80.0, folds=folds) for folds in both),
        *(score("TTM", 60.0, name=name) for name in ("city120", "cells")),
        *(score("combined", 60.0, name=name) for name in ("city120", "cells")),
        *(score("statistics", 56.2, name=name) for name in ("city120", "cells")),
    ]
    text = _urn_page._goal(rows)
    assert line_of(text, "TTM") == [
        "TTM", "1 of 1", "1 of 1", "60.0 against 56.2, 60.0 against 56.2", "met",
    ]  # fmt: skip
    assert line_of(text, "combined")[-1] == "not met"
    assert "combined + statistics" not in text
    rows[-1] = score("statistics", 61.0, name="cells")
    assert line_of(_urn_page._goal(rows), "TTM")[-1] == "not met"


def blocks(method, *right):
    """Return how many of ten windows of each block are right."""
    key = {"set": SET, "method": method, "kind": "block", "windows": 10}
    return [{**key, "block": i, "right": count} for i, count in enumerate(right)]


def test_differences_are_judged_by_blocks_not_by_windows():
    """A lead in one of two blocks is chance, however many windows it has; one in ten of ten is not."""
    pair = [
        score("TTM, tuned", 90.0, folds="blocked"),
        score("SP", 95.0, folds="blocked"),
        score("WL", 80.0, folds="blocked"),
    ]
    few = [*pair, *blocks("TTM, tuned", 10, 0), *blocks("SP", 10, 9), *blocks("WL", 1, 1)]
    line = line_of(_urn_page._difference_table(few), SET)
    assert line[:8] == [SET, "SP", "90.0", "95.0", "-9", "0", "1", "2"]
    assert float(line[8]) == 1.0
    many = [*pair, *blocks("TTM, tuned", *[8] * 10), *blocks("SP", *[9] * 10)]
    line = line_of(_urn_page._difference_table(many), SET)
    assert line[4:8] == ["-10", "0", "10", "10"]
    assert float(line[8]) == pytest.approx(2 / 1024, abs=1e-3)
    assert SET not in _urn_page._difference_table(pair)


def transfer(true, predicted, count):
    """Return how many windows of a pattern's city were predicted to be of a pattern."""
    return {
        "set": "synthetic 150 m",
        "method": "combined",
        "kind": "transfer",
        "city": "A",
        "true": true,
        "predicted": predicted,
        "count": count,
    }


def test_transfer_is_the_mean_over_patterns_of_the_share_that_is_right():
    """A pattern with many windows counts as much as one with few, and one without windows as 0."""
    rows = [
        {"set": "synthetic 150 m", "method": "combined", "kind": "synthetic", "accuracy": 75.0},
        transfer("gridiron", "gridiron", 90),
        transfer("gridiron", "linear", 10),
        transfer("linear", "linear", 1),
        transfer("linear", "chaotic", 1),
    ]
    text = _urn_page._transfer_table(rows)
    shares = dict(
        zip(line_of(text, "windows, model"), line_of(text, "synthetic 150 m, combined"), strict=True)
    )
    assert shares["synthetic folds (%)"] == "75.0"
    assert shares["real, mean of patterns (%)"] == "35.0"
    assert [shares[pattern] for pattern in ("gridiron", "linear", "chaotic", "tributary")] == [
        "90",
        "50",
        "0",
        "0",
    ]


def test_the_papers_figures_stand_below_ours():
    """Each of the paper's sets has two lines, and an accuracy has its deviation."""
    text = _urn_page._paper_accuracy([score("TTE", 87.125, protocol="paper"), score("TTE", 50.0)])
    header = line_of(text, "set")
    assert dict(zip(header, line_of(text, SET), strict=True))["TTE"] == "87.1 ± 1.2"
    assert dict(zip(header, line_of(text, "*paper*"), strict=True))["TTE"] == "*87.50 ± 5.24*"


def test_total_times_are_of_our_kernels_on_the_papers_sets():
    """Seconds of a kernel count once, those of all cross-validations add up."""
    rows = [score("TTE", 1.0, protocol="paper"), score("TTE", 1.0), score("genus", 1.0, protocol="paper")]
    text = _urn_page._total_time(rows)
    assert "sets took 0.5 minutes" in text
    assert "cross-validations took 3.0 minutes" in text


def test_confusions_are_shares_of_the_true_class():
    """Rows add up to a hundred per cent; sets that were not measured have an empty place."""
    confusion = [
        {
            "set": SET,
            "method": "combined + statistics",
            "kind": "confusion",
            "folds": "blocked",
            "true": true,
            "predicted": predicted,
            "count": count,
        }
        for true, predicted, count in (("a", "a", 3), ("a", "b", 1), ("b", "b", 5))
    ]
    figures = _urn_page.figures([score("TTE", 80.0), *confusion])
    try:
        drawn = [ax for ax in figures["confusion"].axes if ax.get_title()]
        assert [ax.get_title() for ax in drawn] == [SET]
        assert [text.get_text() for text in drawn[0].texts] == ["75", "25", "0", "100"]
        heights = [bar.get_height() for bar in figures["accuracy"].axes[0].patches]
        assert sum(heights) == pytest.approx(80.0)
    finally:
        plt.close("all")
