"""Random principal submatrices against the paper's two tables."""

import numpy as np
import pytest

from tiny import run_tiny
from torelli.experiments import truncation


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truncation")
    return run_tiny(truncation.EXPERIMENT, folder, lambda key: key["set"] == 0)


@pytest.mark.parametrize("metric", truncation.METRICS)
def test_genus_100_is_the_papers(outcome, metric):
    """The reading gives the first row of both of the paper's tables, with three repeats on one set."""
    off = truncation.deviations(outcome[0], metric, truncation.READING)
    assert len(off) == 9
    assert max(map(abs, off.values())) < 0.06


def test_error_falls_as_more_is_kept_and_ttw_is_steadier(outcome):
    """Both facts that the paper draws from its tables."""
    ours = truncation.averages(outcome[0])
    curves = {
        metric: [ours[metric, truncation.READING, 100, ratio] for ratio in truncation.RATIOS]
        for metric in truncation.METRICS
    }
    assert all(np.diff(curve).max() < 0 for curve in curves.values())
    assert np.all(np.array(curves["ttw"]) < np.array(curves["tte"]))


def test_the_page_shows_the_deviation_of_every_cell(outcome):
    """Ours, the paper's and the difference stand in the columns of the table."""
    rows, page = outcome
    off = truncation.deviations(rows, "tte", truncation.READING)
    line = page.split("### TTE")[1].split("deviation")[1].splitlines()[0]
    shown = [float(cell.strip(" *")) for cell in line.strip("| ").split("|")]
    assert shown == pytest.approx([off[100, ratio] for ratio in truncation.RATIOS], abs=6e-4)
    assert "0.951 (0.004)" in page


def test_nothing_dropped_is_no_error():
    """The error of the full matrices is 0, and keeping all rows gives the matrix back."""
    Q = np.cov(np.random.default_rng(0).random((6, 20)))
    assert (truncation.random_submatrix(Q, 6, np.random.default_rng(1)) == Q).all()
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert truncation.relative_error(K, K) == 0.0
    assert truncation.relative_error(K, np.ones((2, 2))) == pytest.approx(np.sqrt(0.5) / np.sqrt(2.5))


@pytest.mark.parametrize("metric", truncation.METRICS)
def test_inner_products_are_those_of_the_definition(metric):
    """For TTE the sum of products of entries, for TTW the trace of the root of a product."""
    A, B = (np.cov(np.random.default_rng(seed).random((4, 20))) for seed in (0, 1))
    roots = np.sqrt(np.linalg.eigvals(A @ B).real)
    expected = (A * B).sum() if metric == "tte" else roots.sum()
    K = truncation.kernels(metric, [A, B], {})["inner"]
    assert K[0, 1] == pytest.approx(expected, rel=1e-9)
    assert K[0, 0] == pytest.approx((A * A).sum() if metric == "tte" else np.trace(A), rel=1e-9)
