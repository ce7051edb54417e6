"""Comparisons of methods: measured on a set that a test makes, and pages of rows that are made up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import torelli as tt
from torelli.experiments import Settings, _comparison
from torelli.experiments._comparison import LabelledSet, Table, drift, essential, measure_method
from torelli.experiments._measurement import Outcome


def town_set():
    """Return short and long necklaces, which the lengths alone tell apart."""
    rng = np.random.default_rng(0)
    graphs = [tt.datasets.necklace(4, seed=i) for i in range(24)]
    y = np.arange(24) % 2
    graphs = [
        g.replace(length=g.length * (1 + 4 * k) * rng.uniform(0.9, 1.1))
        for g, k in zip(graphs, y, strict=True)
    ]
    return LabelledSet(graphs, np.array(["short", "long"])[y], np.arange(24) // 4)


@pytest.fixture
def here(monkeypatch):
    """Compute in this process, where the set is known."""
    calls = []

    def call(function, arguments, **caps):
        calls.append(caps)
        return Outcome("ok", _comparison.computed(**arguments), peak_mb=100.0)

    monkeypatch.setattr(_comparison, "call", call)
    monkeypatch.setattr(_comparison, "import_module", lambda _: SimpleNamespace(town_set=town_set))
    return calls


def run(method, **options):
    settings = Settings(seconds=7.0, gigabytes=3.0)
    return measure_method(
        method, "here:town_set", {}, town_set(), n_folds=10, repeats=2, settings=settings, **options
    )


@pytest.mark.parametrize("method", ["TTM", "TTS", "metric statistics"])
def test_lengths_tell_the_classes_apart(here, method):
    """All folds are right, and no more folds are made than there are groups."""
    (row,) = run(method)
    assert row["status"] == "ok"
    assert row["accuracy"] == 100.0
    assert row["n_folds"] == 6
    assert len(row["folds"].split()) == 12
    assert (row["graphs"], row["classes"]) == (24, 2)
    assert row["compute_seconds"] >= 0.0
    assert row["drift"] < 1e-6
    assert here == [{"seconds": 7.0, "gigabytes": 3.0, "threads": 1}]


def test_the_majority_needs_no_process(here):
    """It has an accuracy and neither time nor drift."""
    (row,) = run("majority")
    assert row["accuracy"] <= 50.0
    assert "drift" not in row
    assert here == []


def test_what_ran_out_of_time_has_its_mark_and_its_caps(monkeypatch):
    """Nothing is cross-validated then."""
    monkeypatch.setattr(_comparison, "call", lambda *_, **__: Outcome("T"))
    (row,) = run("TTS")
    assert (row["status"], row["cap_seconds"], row["cap_gigabytes"]) == ("T", 7.0, 3.0)


def test_a_method_that_counts_nodes_drifts_and_the_measure_does_not():
    """New drawings of the same space are as far for street statistics as other graphs are."""
    graphs = town_set().graphs
    assert drift("TTM", graphs, 0) < 1e-6
    assert drift("street statistics", graphs, 0) > 10.0


def test_essential_graphs_are_the_same_space_without_points_of_degree_2():
    """Segments, circles and isolated nodes stay; what subdivides them goes."""
    theta = tt.MetricGraph([0, 0, 0, 3, 4], [1, 1, 1, 4, 3], [1.0, 2.0, 3.0, 1.0, 1.5], 6, name="x", unit="m")
    small = essential(theta.subdivide(20, seed=0))
    assert (small.n_nodes, small.n_edges, small.genus, small.n_components) == (5, 4, 3, 4)
    assert sorted(small.length.round(9).tolist()) == [1.0, 2.0, 2.5, 3.0]
    assert (small.name, small.unit) == ("x", "m")
    np.testing.assert_allclose(tt.torelli_matrix(small), tt.torelli_matrix(theta), atol=1e-9)
    tree = essential(tt.MetricGraph([0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0]))
    assert (tree.n_nodes, tree.length.tolist()) == (2, [3.0])


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
    lines = _comparison.accuracies(Table(ROWS)).splitlines()
    assert lines[0] == "| set | TTM | GW | WL | genus |"
    assert lines[2] == "| one | 81.5 | 71.6 | 60.8 | **99.0** |"
    assert lines[3] == "| two | 51.5 | T | **61.5** | E |"


def test_ours_is_judged_against_the_best_that_could_be_computed():
    """The genus and the majority are lines to beat, not rivals; wins need a difference, p says how sure."""
    table = Table(ROWS)
    text = _comparison.ahead(table, "TTM")
    assert "| one | 81.5 | 71.6 (GW) | +9.9 |" in text
    assert "| two | 51.5 | 61.5 (WL) | -10.0 |" in text
    assert "TTM beats every other method that could be computed on 1 of 2 sets, with p < 0.05 on 1" in text
    assert _comparison.wins(table, "TTM") == (1, 2)
    assert _comparison.wins(table, "TTS") == (0, 0)
    assert (table.ours, table.others) == (["TTM"], ["GW", "WL"])


def test_costs_have_their_column_and_reasons_their_place():
    """Time, drift, caps and errors come from the rows."""
    table = Table(ROWS)
    assert "| two | 12.3 | T | 12.3 | E |" in _comparison.costs(table, "drift")
    text = _comparison.descriptions(table)
    assert "out of time (300 s) or memory (8 GB)" in text
    assert "- genus on two failed: ValueError: too small" in text
    assert "- **GW**: Gromov-Wasserstein" in text


def test_the_figure_has_a_mark_for_each_method_and_set():
    """The genus is left out of the figure, as it is a line to beat."""
    (ax,) = _comparison.dots(Table(ROWS), "accuracy").axes
    assert [line.get_label() for line in ax.get_lines()] == ["TTM", "GW", "WL"]
    assert all(len(line.get_xdata()) == 2 for line in ax.get_lines())
