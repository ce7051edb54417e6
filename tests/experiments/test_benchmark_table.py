"""Who is ahead in the benchmark, from rows that are made up."""

from __future__ import annotations

import pytest

from torelli.experiments._benchmark_table import Table, behind_wl, judged

STEADY = [60.0 + i for i in range(10)]


def row(dataset, method, folds, lengths="unit", inner=None):
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
            row("MUTAG", "WL", STEADY),
            row("MUTAG", "TTM", better),
            row("MUTAG", "TTE", [x - 1.0 for x in STEADY]),
            row("DD", "WL", STEADY),
            row("DD", "TTM", [x - 5.0 for x in STEADY]),
            row("DD", "TTE", [x + 0.01 for x in STEADY]),
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
        row("MUTAG", "TTM", [1.0, 2.0], "unit", [5.0, 1.0]),
        row("MUTAG", "TTM", [3.0, 4.0], "resistance", [1.0, 5.0]),
        row("MUTAG", "sum", [9.0, 9.0], "all", [9.0, 0.0]),
    ]
    assert Table(rows).chosen("MUTAG", ("TTM",)) == [1.0, 4.0]
    assert Table(rows).chosen("MUTAG") == [9.0, 4.0]
