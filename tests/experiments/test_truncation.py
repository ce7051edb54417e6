"""Random principal submatrices against the paper's two tables."""

import numpy as np
import pytest

from tiny import run_tiny
from torelli.experiments import truncation


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truncation")
    return run_tiny(truncation.EXPERIMENT, folder, lambda key: key["set"] == 0)


def test_ttw_at_genus_100_is_the_papers(outcome):
    """The reading gives the first row of the paper's TTW table."""
    off = truncation.deviations(outcome[0], "ttw", "pairs")
    assert len(off) == 9
    assert max(map(abs, off.values())) < 0.06


def test_error_falls_as_more_is_kept_and_ttw_is_steadier(outcome):
    """Both facts that the paper draws from its tables."""
    ours = truncation.averages(outcome[0])
    curves = {
        metric: [ours[metric, "whole", 100, ratio] for ratio in truncation.RATIOS]
        for metric in truncation.METRICS
    }
    assert all(np.diff(curve).max() < 0 for curve in curves.values())
    assert np.all(np.array(curves["ttw"]) < np.array(curves["tte"]))


def test_the_page_shows_the_deviation_of_every_cell(outcome):
    """Ours, the paper's and the difference stand in the columns of the table."""
    rows, page = outcome
    off = truncation.deviations(rows, "tte", truncation.RULE)
    line = page.split("### TTE")[1].split("deviation")[1].splitlines()[0]
    shown = [float(cell.strip(" *")) for cell in line.strip("| ").split("|")]
    assert shown == pytest.approx([off[100, ratio] for ratio in truncation.RATIOS], abs=6e-4)
    assert "0.951 (0.004)" in page


def test_nothing_dropped_is_no_error():
    """The error of the full matrices is 0, and keeping all rows gives the matrix back."""
    Q = np.cov(np.random.default_rng(0).random((6, 20)))
    assert (truncation.random_submatrix(Q, 6, np.random.default_rng(1)) == Q).all()
    D = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert truncation.relative_error(D, D, "whole") == 0.0
    assert truncation.relative_error(D, 0 * D, "pairs") == pytest.approx(np.sqrt(0.5) / np.sqrt(2.5))
