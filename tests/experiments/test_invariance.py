"""Refinement: what stays and what moves."""

import numpy as np
import pytest

from tiny import run_tiny
from torelli import MetricGraph
from torelli.experiments import Settings, invariance
from torelli.experiments._measurement import Outcome


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("invariance")
    return run_tiny(invariance.EXPERIMENT, folder, lambda key: key["kernel"] in invariance.OURS)


def part(rows, kernel):
    return {row["points"]: row for row in rows if row["kernel"] == kernel and row["points"] != "reordered"}


def test_every_kernel_and_level_is_there():
    """Ours, six of GraKeL's and two of those by hops, on two sets at six levels and on three reordered."""
    keys = [cell.key for cell in invariance.cells(Settings())]
    kernels = {key["kernel"] for key in keys}
    ours = {"TTE", "TTW", "TTS", "TTM", "TTE literal", "TTW literal"}
    assert ours | {"EH", "GS", "OS", "SP", "WL", "kCD"} < kernels
    assert len(keys) == (2 + 3) * len(kernels)
    assert invariance.levels(Settings()) == [0, 1, 2, 5, 10, 50]


@pytest.mark.parametrize("kernel", invariance.INVARIANT)
def test_canonical_kernels_stay(outcome, kernel):
    """Drift is rounding, and every prediction is the same."""
    selected = part(outcome[0], kernel)
    assert max(row["drift"] for row in selected.values()) < 1e-12
    assert len({row["accuracy"] for row in selected.values()}) == 1
    assert selected[10]["mean_nodes"] > 1.5 * selected[0]["mean_nodes"]


@pytest.mark.parametrize("kernel", ["TTE literal", "TTW literal"])
def test_literal_kernels_move(outcome, kernel):
    """The paper's algorithm as printed does not keep its promise."""
    selected = part(outcome[0], kernel)
    assert selected[0]["drift"] == 0.0
    assert selected[10]["drift"] > 0.01


def test_reordering_moves_the_literal_kernels_alone(outcome):
    """On tied lengths ours stay exactly and predict the same; the paper's algorithm follows the file."""
    rows = {row["kernel"]: row for row in outcome[0] if row["points"] == "reordered"}
    for kernel in invariance.INVARIANT:
        assert rows[kernel]["drift"] < 1e-12
        assert rows[kernel]["accuracy"] == rows[kernel]["accuracy_before"]
    assert rows["TTE literal"]["drift"] > 1e-3
    assert "## Reordered" in outcome[1]


def test_the_page_says_so(outcome):
    """Drift and change of accuracy of both kinds of ours stand in the outcome, as the rows have them."""
    rows, page = outcome
    text = " ".join(page.split())
    for kind in (invariance.INVARIANT, ("TTE literal", "TTW literal", "TTS literal")):
        drifts = [row["drift"] for name in kind for points, row in part(rows, name).items() if points]
        selected = [part(rows, kernel) for kernel in kind]
        change = max(
            abs(some[points]["accuracy"] - some[0]["accuracy"]) for some in selected for points in some
        )
        assert f"move by {min(drifts):.1e} to {max(drifts):.1e} of the norm" in text
        assert f"accuracy by at most {change:.1f} points" in text


def test_genus_alone_is_a_kernel_of_the_genus():
    """Graphs of equal genus have the value 1, and the median pair 1/2."""
    graphs = [MetricGraph([0] * k, [1] * k, np.arange(1.0, k + 1)) for k in (2, 2, 3)]
    K, after, _ = invariance.torelli_kernels(graphs, invariance.refine(graphs, 20, 0), "genus", "")
    assert K[0].tolist() == pytest.approx([1, 1, 0.5])
    assert (after == K).all()


def test_a_classical_kernel_moves():
    """Weisfeiler-Lehman sees every new node of degree 2."""
    pytest.importorskip("grakel")
    graphs = [MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0]), MetricGraph([0, 1], [1, 2], [1.0, 1.0])]
    before, after, across = invariance.baseline_kernels(graphs, invariance.refine(graphs, 10, 0), "WL", 0)
    assert np.diag(before) == pytest.approx([1, 1])
    assert abs(after - before).max() > 0.01
    assert across.shape == (2, 2)


def test_by_hops_ignores_lengths():
    """With weights of 1, shortest paths of equal graphs with other lengths are equal."""
    pytest.importorskip("grakel")
    graphs = [MetricGraph([0, 1, 2], [1, 2, 0], lengths) for lengths in ([1.0, 2.0, 2.5], [3.0, 4.5, 5.0])]
    by_hops, _, _ = invariance.baseline_kernels(graphs, graphs, "SP by hops", 0)
    by_length, _, _ = invariance.baseline_kernels(graphs, graphs, "SP", 0)
    assert by_hops[0, 1] == pytest.approx(1.0)
    assert by_length[0, 1] < 0.9


def test_what_a_baseline_could_not_do_stands_in_the_table():
    """A cell out of time is T, and it is tried again with more time alone."""
    rows = [
        {
            "dataset": "streets",
            "kernel": kernel,
            "points": points,
            "status": "ok",
            "drift": 0.1,
            "accuracy": 50.0,
        }
        | {"largest_class": 0.25, "n_graphs": 4, "mean_nodes": 9.0}
        for kernel in ("TTE", "TTE literal", "OS")
        for points in (0, 1)
    ]
    rows[-1] = {**rows[-1], "status": "T", "seconds": 60.0, "gigabytes": 8.0}
    page = " ".join(
        invariance.page([*rows, {**rows[1], "kernel": "WL"}, {**rows[0], "kernel": "WL"}]).split()
    )
    assert "| OS | 1.0e-01 | T |" in page
    assert "1 of 8 cells of the tables were not computed: T is out of time (60 s per cell" in page
    again = invariance.EXPERIMENT.again
    assert not again(rows[-1:], Settings(seconds=60.0))
    assert again(rows[-1:], Settings(seconds=61.0))
    assert not again(rows[:-1], Settings(seconds=61.0))


@pytest.mark.parametrize(("status", "calls"), [("T", 1), ("M", 1), ("E", 3)])
def test_levels_after_one_that_was_too_much_are_not_tried(monkeypatch, status, calls):
    """Out of time or memory ends a sweep, a failure does not; each level has its mark and the caps."""
    tried = []

    def call(function, arguments, **caps):
        tried.append(arguments["points"])
        return Outcome(status, message="Traceback\nValueError: no labels")

    monkeypatch.setattr(invariance, "call", call)
    rows = invariance.measure({"dataset": "streets", "kernel": "OS"}, Settings(quick=True, seconds=5))
    assert [row["points"] for row in rows] == [0, 1, 10]
    assert [row["status"] for row in rows] == [status] * 3
    assert {row["seconds"] for row in rows} == {5}
    assert len(tried) == calls
    assert rows[0]["message"] == "ValueError: no labels"
