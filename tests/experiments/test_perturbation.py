"""Noise on the lengths."""

import pytest

from tiny import run_tiny
from torelli.experiments import Settings, perturbation


def test_the_settings_are_those_of_the_paper():
    keys = [tuple(cell.key.values()) for cell in perturbation.cells(Settings())]
    assert [key[1:] for key in keys] == [(60, 30), (70, 30), (100, 30), (30, 20), (30, 40), (30, 60)]
    assert perturbation.NOISE[0] == 0.01
    assert perturbation.NOISE[-1] == pytest.approx(5.12)


def test_error_grows_with_the_noise(tmp_path):
    """Small noise moves K little, as a power of its size between 0.5 and 2.2, and large noise a lot."""
    rows, page = run_tiny(perturbation.EXPERIMENT, tmp_path, lambda key: key["varied"] == "genus bound")
    for metric in perturbation.METRICS:
        (part,) = perturbation.by_curve(rows, metric).values()
        errors = [row["error"] for row in part]
        assert errors[0] < 0.02
        assert errors[-1] > 10 * errors[0]
        assert 0.5 < perturbation.slope(part) < 2.2
        assert f"{perturbation.slope(part):.2f}" in page


def test_slope_is_the_exponent_for_small_noise():
    """Where the error levels off, it no longer counts."""
    rows = [{"R": size, "error": min(1.0, size**2)} for size in perturbation.NOISE]
    assert perturbation.slope(rows) == pytest.approx(2.0)
