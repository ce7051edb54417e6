"""Refinement: what stays and what moves."""

import numpy as np
import pytest

from tiny import run_tiny
from torelli import MetricGraph
from torelli.experiments import Settings, invariance


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("invariance")
    return run_tiny(invariance.EXPERIMENT, folder, lambda key: key["kernel"] in invariance.OURS)


def part(rows, kernel):
    return {row["points"]: row for row in rows if row["kernel"] == kernel}


def test_every_kernel_and_level_is_there():
    """Six of ours, six of GraKeL's and two of those by hops, on two sets, at six levels."""
    keys = [cell.key for cell in invariance.cells(Settings())]
    kernels = {key["kernel"] for key in keys}
    assert {"TTE", "TTW", "TTS", "TTE literal", "TTW literal", "EH", "GS", "OS", "SP", "WL", "kCD"} < kernels
    assert len(keys) == 2 * len(kernels)
    assert invariance.levels(Settings()) == [0, 1, 2, 5, 10, 50]


@pytest.mark.parametrize("kernel", invariance.INVARIANT)
def test_canonical_kernels_stay(outcome, kernel):
    """Drift is rounding, and every prediction is the same."""
    found = part(outcome[0], kernel)
    assert max(row["drift"] for row in found.values()) < 1e-12
    assert len({row["accuracy"] for row in found.values()}) == 1
    assert found[10]["mean_nodes"] > 1.5 * found[0]["mean_nodes"]


@pytest.mark.parametrize("kernel", ["TTE literal", "TTW literal"])
def test_literal_kernels_move(outcome, kernel):
    """The paper's algorithm as printed does not keep its promise."""
    found = part(outcome[0], kernel)
    assert found[0]["drift"] == 0.0
    assert found[10]["drift"] > 0.01


def test_the_page_says_so(outcome):
    rows, page = outcome
    worst = max(row["drift"] for row in rows if row["kernel"] in invariance.INVARIANT)
    assert f"move by at most {worst:.1e}" in " ".join(page.split())
    assert "accuracy by at most 0.0 points" in " ".join(page.split())


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
    assert "| OS | 1.0e-01 | T |" in invariance.page(rows)
    again = invariance.EXPERIMENT.again
    assert not again(rows[-1:], Settings(seconds=60.0))
    assert again(rows[-1:], Settings(seconds=61.0))
    assert not again(rows[:-1], Settings(seconds=61.0))


@pytest.mark.parametrize(("status", "shown"), [("ok", "T"), ("M", "M")])
def test_levels_that_were_not_reached_are_marked(monkeypatch, status, shown):
    """A sweep that ends early leaves T for the rest; one that failed leaves its reason for all."""
    value = [{"points": 0, "status": "ok", "drift": 0.0}] if status == "ok" else None
    outcome = invariance._isolated.Outcome(status, value)
    monkeypatch.setattr(invariance._isolated, "call", lambda *_, **__: outcome)
    rows = invariance.measure({"dataset": "streets", "kernel": "OS"}, Settings(quick=True))
    assert [row["points"] for row in rows] == [0, 1, 10]
    assert [row["status"] for row in rows] == [status if status == "M" else "ok", shown, shown]


def test_a_sweep_ends_after_a_level_that_took_too_long():
    rows = invariance.compare("streets", "TTS", [0, 1], quick=True, seed=0, enough=0.0)
    assert [row["points"] for row in rows] == [0]
