"""The smallest eigenvalues of the kernel matrices."""

import numpy as np
import pytest

from tiny import run_tiny
from torelli.experiments import Settings, definiteness


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("definiteness")
    return run_tiny(
        definiteness.EXPERIMENT, folder, lambda key: key["genus_bound"] in (20, 65) and key["N"] < 150
    )


def test_the_sweeps_are_those_of_the_paper():
    """N = 30, 50, 70 by the genus bound 20 to 125, and g0 = 20, 40, 60 by N = 50 to 190."""
    keys = [cell.key for cell in definiteness.cells(Settings())]
    first = {(key["N"], key["genus_bound"]) for key in keys if key["sweep"] == "genus"}
    second = {(key["N"], key["genus_bound"]) for key in keys if key["sweep"] == "graphs"}
    assert {N for N, _ in first} == {30, 50, 70}
    assert {20, 125} <= {bound for _, bound in first}
    assert {bound for _, bound in second} == {20, 40, 60}
    assert {50, 190} <= {N for N, _ in second}


def test_ttm_is_measured_at_every_point():
    """The sweep of TTM has each point of the other two once."""
    keys = [cell.key for cell in definiteness.cells(Settings())]
    points = [(key["N"], key["genus_bound"]) for key in keys if key["sweep"] == "measure"]
    assert len(points) == len(set(points))
    assert set(points) == {(key["N"], key["genus_bound"]) for key in keys if key["sweep"] != "measure"}


def test_all_but_ttw_are_positive_definite(outcome):
    """No eigenvalue of TTE, TTS or TTM is negative beyond rounding, for any gamma."""
    assert {row["metric"] for row in outcome[0]} == {"tte", "ttw", "tts", "ttm"}
    for row in outcome[0]:
        if row["metric"] != "ttw":
            assert row["lowest"] > -1e-12
            assert row["n_indefinite"] == 0


def test_ttw_is_not_for_a_small_gamma(outcome):
    """Its eigenvalues go below the tolerance, and the page counts in how many sets."""
    rows, page = outcome
    part = [row for row in rows if row["metric"] == "ttw" and row["gamma"] == 0.001]
    assert min(row["lowest"] for row in part) < -1e-4
    count = sum(row["n_indefinite"] for row in part)
    total = sum(row["n_sets"] for row in part)
    line = next(line for line in page.splitlines() if line.startswith("| 0.001 |"))
    assert f"0 of {total} | {count} of {total} | 0 of {total}" in line


def test_smallest_eigenvalue_grows_with_the_genus_and_falls_with_the_number(outcome):
    """The two observations of the paper, for TTE with the median rule."""
    smallest = {
        (row["sweep"], row["N"], row["genus_bound"]): row["smallest_nonzero"]
        for row in outcome[0]
        if (row["metric"], row["gamma"]) == ("tte", "median")
    }
    assert smallest["genus", 30, 65] > smallest["genus", 30, 20]
    assert smallest["graphs", 50, 20] > smallest["graphs", 120, 20]


def test_smallest_nonzero():
    assert definiteness.smallest_nonzero(np.array([-1e-9, 1e-8, 2e-6, 1.0])) == 2e-6
    assert definiteness.smallest_nonzero(np.array([-3e-6, 1e-8, 1.0])) == -3e-6
