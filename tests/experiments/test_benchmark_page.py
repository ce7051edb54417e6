"""The page of the benchmark and who is ahead, from rows that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from torelli.datasets import paper_table
from torelli.experiments import _benchmark_page
from torelli.experiments._benchmark_page import Table, behind_wl, judged

STEADY = [60.0 + i for i in range(10)]


def fair_row(dataset, method, folds, lengths="unit", inner=None):
    """Return a row of the fair protocol."""
    return {
        "dataset": dataset,
        "method": method,
        "lengths": lengths,
        "protocol": "fair",
        "status": "ok",
        "folds": " ".join(map(str, folds)),
        "inner": " ".join(map(str, inner or folds)),
    }


@pytest.fixture
def table():
    """Return two sets: TTM is ahead on one, TTE on the other; WL is the only other kernel."""
    better = [x + 10.0 + 0.1 * (i % 2) for i, x in enumerate(STEADY)]
    return Table(
        [
            fair_row("MUTAG", "WL", STEADY),
            fair_row("MUTAG", "TTM", better),
            fair_row("MUTAG", "TTE", [x - 1.0 for x in STEADY]),
            fair_row("DD", "WL", STEADY),
            fair_row("DD", "TTM", [x - 5.0 for x in STEADY]),
            fair_row("DD", "TTE", [x + 0.01 for x in STEADY]),
        ]
    )


def test_all_of_ours_and_each_alone_are_judged(table):
    """Chosen among all, both sets are won; a single kernel wins where it is ahead by itself."""
    assert judged(table) == (["MUTAG", "DD"], [], ["MUTAG", "DD"])
    assert judged(table, ("TTM",)) == (["MUTAG"], ["DD"], ["MUTAG"])
    assert judged(table, ("TTE",)) == (["DD"], ["MUTAG"], ["DD"])
    assert judged(table, ("TTS",)) == ([], [], [])


def test_how_far_wl_is_ahead(table):
    """Points are positive where WL is ahead of what was chosen."""
    assert behind_wl(table, ("TTM",)) == pytest.approx({"MUTAG": -10.05, "DD": 5.0})
    assert behind_wl(table, ("TTE",)) == pytest.approx({"MUTAG": 1.0, "DD": -0.01})
    assert behind_wl(table, ("TTW",)) == {}


def test_a_choice_among_some_methods_takes_all_their_lengths():
    """The sum has one kind of length of its own, other kernels have up to four."""
    rows = [
        fair_row("MUTAG", "TTM", [1.0, 2.0], "unit", [5.0, 1.0]),
        fair_row("MUTAG", "TTM", [3.0, 4.0], "resistance", [1.0, 5.0]),
        fair_row("MUTAG", "sum", [9.0, 9.0], "all", [9.0, 0.0]),
    ]
    assert Table(rows).chosen("MUTAG", ("TTM",)) == [1.0, 4.0]
    assert Table(rows).chosen("MUTAG") == [9.0, 4.0]


PAPER = {row["dataset"]: row for row in paper_table("accuracy")}


def row(method, lengths, protocol, *, dataset="MUTAG", status="ok", folds=(50.0,) * 10, inner=None, **other):
    """Return a row as the experiment stores it."""
    return {
        "dataset": dataset,
        "method": method,
        "lengths": lengths,
        "protocol": protocol,
        "status": status,
        "accuracy": float(np.mean(folds)),
        "std": float(np.std(folds)),
        "folds": " ".join(map(str, folds)),
        "inner": " ".join(map(str, inner or folds)),
        "seconds": 60.0,
        "fit_seconds": 0.1234,
        "transform_seconds": 2.0,
        "peak_mb": 1500.0,
        "ties": "metric",
        **other,
    }


def test_the_kernel_with_the_best_inner_accuracy_is_chosen_fold_by_fold():
    """Neither accuracies on test folds nor kernels that ran out of time take part in the choice."""
    rows = [
        row("TTE", "unit", "fair", folds=(10.0, 20.0, 30.0), inner=(9.0, 1.0, 9.0)),
        row("TTS", "unit", "fair", folds=(90.0, 40.0, 90.0), inner=(1.0, 9.0, 1.0)),
        row("TTW", "unit", "fair", folds=(99.0, 99.0, 99.0), status="T"),
    ]
    table = Table(rows)
    assert table.chosen("MUTAG") == [10.0, 40.0, 30.0]
    assert table.ours("MUTAG") == [[10.0, 20.0, 30.0], [90.0, 40.0, 90.0]]
    assert table.folds("MUTAG", "TTW", "unit") is None
    assert Table([row("WL", "unit", "fair")]).chosen("MUTAG") is None


def test_the_best_other_kernel_is_one_that_was_computed():
    """Those out of time do not count, and neither do the genus and the largest class."""
    rows = [
        row("WL", "unit", "fair", folds=(80.0, 82.0)),
        row("SP", "unit", "fair", folds=(99.0, 99.0), status="M"),
        row("GS", "unit", "fair", folds=(70.0, 70.0)),
        row("genus", "unit", "fair", folds=(95.0, 95.0)),
    ]
    assert Table(rows).best_baseline("MUTAG") == ("WL", [80.0, 82.0])
    assert Table(rows[1:2]).best_baseline("MUTAG") is None


def test_each_method_is_looked_up_with_the_lengths_of_its_protocol():
    """By the paper's protocol kernels that see lengths have random ones; by the fair one the plain graphs."""
    rows = [row("SP", "uniform", "paper", folds=(1.0,)), row("SP", "unit", "fair", folds=(2.0,))]
    table = Table([*rows, row("WL", "unit", "paper", folds=(3.0,))])
    looked_up = [table.get("MUTAG", *key) for key in (("SP", "paper"), ("SP", "fair"), ("WL", "paper"))]
    expected = [1.0 if "SP" in _benchmark_page.SEES_LENGTHS else None, 2.0, 3.0]
    assert [None if r is None else r["accuracy"] for r in looked_up] == expected


def test_the_page_has_our_figures_beside_those_of_the_paper():
    """Means with deviations, marks of what ran out, empty fields for what was not measured, and costs."""
    rows = [
        row("TTE", "uniform", "paper", folds=(80.0, 84.0)),
        row("TTW", "uniform", "paper", status="T"),
        row("WL", "unit", "paper", folds=(77.0, 77.0)),
    ]
    text = _benchmark_page.page(rows)
    paper = PAPER["MUTAG"]
    printed = [f"{float(paper[m]):.1f} ± {float(paper[f'{m}_std']):.1f}" for m in ("TTE", "TTW")]
    assert f"| MUTAG | {printed[0]} |  | 82.0 ± 2.0 | {printed[1]} |  | T |  |  |" in text
    assert "ran out of time (60 s)" in text
    assert "1 data sets without labels" in text
    assert "0.123" in text
    assert "1,500" in text


def test_the_verdict_counts_wins_by_what_was_chosen_inside():
    """A set is ahead if the chosen accuracies are above the best other kernel's on average."""
    steady = [60.0 + i for i in range(10)]
    better = [x + 10.0 + 0.1 * (i % 2) for i, x in enumerate(steady)]
    rows = [
        row("TTE", "unit", "fair", folds=better),
        row("WL", "unit", "fair", folds=steady),
        row("TTE", "unit", "fair", dataset="DD", folds=steady),
        row("WL", "unit", "fair", dataset="DD", folds=better),
    ]
    text = _benchmark_page.outcome(rows)
    assert (
        "beats every other kernel that could be computed on\n1 of 2 sets (MUTAG), with p < 0.05 on 1" in text
    )
    assert "behind on 1 (DD)" in text


def test_goals_are_printed_for_all_of_ours_and_for_single_kernels():
    """Each goal has its figure and whether it was met; kernels that were not measured have no line."""
    rows = [
        row("TTM", "unit", "fair", folds=(70.0, 71.0)),
        row("WL", "unit", "fair", folds=(72.5, 73.5)),
    ]
    text = _benchmark_page.page(rows)
    goals = "0 of 1, not met | 0, not met | 2.5 (MUTAG), met |"
    assert f"| all of ours | {goals}" in text
    assert f"| TTM | {goals}" in text
    assert "| TTW | 0 of 1" not in text


def test_ties_do_not_concern_ttm():
    """Rows of TTM need no mark of how ties were broken, because nothing is sorted."""
    plain = {key: value for key, value in row("TTM", "unit", "fair").items() if key != "ties"}
    assert "except on" not in _benchmark_page.page([plain])


def test_sets_measured_before_ties_were_broken_are_named():
    """Rows without the mark are those in which the order of edges decided, which the page says."""
    new = row("TTE", "unit", "fair")
    old = {key: value for key, value in new.items() if key != "ties"}
    assert "does not affect the figures\n([what this changed](" in _benchmark_page.page([new])
    assert "except on\nMUTAG:" in _benchmark_page.page([old])


def test_figures_have_a_point_for_each_set():
    """Both charts name every set once, whether or not it was measured by all methods."""
    rows = [row("TTE", "uniform", "paper"), row("WL", "unit", "fair", dataset="DD")]
    for figure in _benchmark_page.figures(rows).values():
        (ax,) = figure.axes
        assert [label.get_text() for label in ax.get_yticklabels()] == ["MUTAG", "DD"]
        assert all(len(line.get_xdata()) == 2 for line in ax.get_lines())


@pytest.mark.parametrize("status", ["T", "M"])
def test_costs_of_what_was_not_finished_are_its_mark(status):
    """A cell out of time or memory has no seconds."""
    assert _benchmark_page._cost(row("WL", "unit", "paper", status=status), "fit_seconds") == status
    assert _benchmark_page._cost(row("WL", "unit", "paper", peak_mb=None), "peak_mb") == ""
    assert _benchmark_page._cost(None, "fit_seconds") == ""
