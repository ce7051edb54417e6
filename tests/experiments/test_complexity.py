"""Growth of the time of every kernel."""

import pytest

from tiny import run_tiny
from torelli.experiments import Settings, complexity


def test_every_kernel_of_the_papers_table_is_timed():
    kernels = {cell.key["kernel"] for cell in complexity.cells(Settings())}
    assert kernels == {"Torelli map", "TTE", "TTW", "TTS", "EH", "GS", "OS", "SP", "WL", "kCD"}


def test_every_sweep_has_a_theory():
    """Each kernel, step and size has an exponent, or what stands in its place, in the table."""
    for kernel, against in complexity.SWEEPS:
        steps = ("fit", "transform") if kernel in complexity.baselines.BASELINES else ("fit",)
        steps = steps if kernel == complexity.MAP or len(steps) > 1 else ("transform",)
        assert all((kernel, step, against) in complexity.THEORY for step in steps)


def test_ours_grow_as_the_theory_says(tmp_path, monkeypatch):
    """Exponents of a tiny run lie near the theory, or below where fixed costs count."""
    monkeypatch.setitem(complexity.SWEEPS, ("TTW", "g"), (32, 64, 128, 200))
    rows, page = run_tiny(
        complexity.EXPERIMENT,
        tmp_path,
        lambda key: (key["kernel"], key["against"]) in {("Torelli map", "n"), ("TTE", "N"), ("TTW", "g")},
    )
    found = {key: complexity.growth(part) for key, part in complexity.sweeps(rows).items()}
    assert 0.3 < found["Torelli map", "fit", "n"] < 2
    assert 0.6 < found["TTE", "transform", "N"] < 3
    assert 1.2 < found["TTW", "transform", "g"] < 5
    assert f"| {found['TTW', 'transform', 'g']:.2f} | 3 |" in page


def test_times_of_a_baseline():
    pytest.importorskip("grakel")
    fit, transform = complexity.time_baseline("SP", "n", 16, 1, 0)
    assert 0 < fit < 10
    assert 0 < transform < 10


def test_a_sweep_ends_at_the_first_size_that_is_too_much(monkeypatch):
    """What ran out of time is noted with its cap, is named on the page, and larger sizes are not tried."""
    calls = []

    def call(function, arguments, **caps):
        calls.append(arguments["size"])
        done = arguments["size"] < 64
        return complexity._isolated.Outcome("ok" if done else "T", (0.01, 0.1) if done else None)

    monkeypatch.setattr(complexity._isolated, "call", call)
    rows = complexity.measure({"kernel": "OS", "against": "n"}, Settings(seconds=7))
    assert calls == [16, 32, 64]
    assert rows[-1] == {"step": "fit", "size": 64, "seconds": 7, "status": "T", "gigabytes": 8.0}
    ours = [
        {"kernel": "TTE", "against": "g", "step": "transform", "size": g, "seconds": g**2, "status": "ok"}
        for g in (64, 128, 256)
    ]
    page = complexity.page([*ours, *({"kernel": "OS", "against": "n", **row} for row in rows)])
    assert "OS at n = 64 (T)" in page
    assert "| TTE | transform | g | 64 to 256 | 2.00 | 2 |" in page
    assert complexity.EXPERIMENT.again(rows, Settings(seconds=8))
