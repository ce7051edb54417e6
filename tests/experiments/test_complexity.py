"""Growth of the time of every kernel."""

import pytest

from tiny import run_tiny
from torelli.experiments import Settings, complexity
from torelli.experiments._measurement import Outcome


def test_every_kernel_of_the_papers_table_is_timed():
    kernels = {cell.key["kernel"] for cell in complexity.cells(Settings())}
    assert kernels == {"Torelli map", "TTE", "TTW", "TTS", "EH", "GS", "OS", "SP", "WL", "kCD"}


def test_every_sweep_has_a_theory():
    """Each kernel, step and size has an exponent, or what stands in its place, in the table."""
    for kernel, against in complexity.SWEEPS:
        steps = ("fit", "transform") if kernel in complexity.rivals.BASELINES else ("fit",)
        steps = steps if kernel == complexity.MAP or len(steps) > 1 else ("transform",)
        assert all((kernel, step, against) in complexity.THEORY for step in steps)


def test_a_tiny_run_shows_the_exponents_of_ours(tmp_path, monkeypatch):
    """The page has the exponent of the times that were measured, beside the theory."""
    monkeypatch.setitem(complexity.SWEEPS, ("TTW", "g"), (32, 64, 128, 200))
    rows, page = run_tiny(
        complexity.EXPERIMENT,
        tmp_path,
        lambda key: (key["kernel"], key["against"]) in {("Torelli map", "n"), ("TTE", "N"), ("TTW", "g")},
    )
    exponents = {key: complexity.growth(part) for key, part in complexity.sweeps(rows).items()}
    assert {kernel for kernel, _, _ in exponents} == {"Torelli map", "TTE", "TTW"}
    assert f"| {exponents['TTW', 'transform', 'g']:.2f} | 3 |" in page


def test_a_sweep_of_a_baseline_ends_when_it_takes_too_long():
    """After a size that took enough no other is tried."""
    pytest.importorskip("grakel")
    short = complexity.time_baseline("SP", "n", [8, 16], 0, 100.0)
    assert [size for size, *_ in short] == [8, 16]
    assert len(complexity.time_baseline("SP", "N", [2, 4], 0, -1.0)) == 1


@pytest.mark.parametrize("status", ["T", "ok"])
def test_rows_of_a_baseline(monkeypatch, status):
    """What ran out of time is noted with its caps, named on the page, and tried again with more time."""
    outcome = Outcome(status, [(8, 0.01, 0.1), (16, 0.02, 0.4), (32, 0.04, 1.6)])
    monkeypatch.setattr(complexity, "call", lambda *_, **__: outcome)
    theirs = complexity.measure({"kernel": "OS", "against": "N"}, Settings(seconds=7))
    ours = [
        {"kernel": "TTE", "against": "g", "step": "transform", "size": g, "seconds": seconds, "status": "ok"}
        for g, seconds in [(8, 0), (64, 64**2), (128, 128**2), (256, 256**2)]  # too short for the clock: 8
    ]
    page = complexity.page([*ours, *({"kernel": "OS", "against": "N", **row} for row in theirs)])
    assert "| TTE | transform | g | 64 to 256 | 2.00 | 2 |" in page
    assert ("| OS | transform | N | 8 to 32 | 2.00 | 2 |" in page) == (status == "ok")
    assert ("OS against N (T)" in page) == (status == "T")
    assert complexity.EXPERIMENT.again(theirs, Settings(seconds=8)) == (status == "T")
