"""TTE: known values and special cases."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt


def test_small_matrices_beside_a_large_one():
    """Matrices of 1e-90 keep their TTE distance beside one of 1e90."""
    Qs = [np.array([[x]]) for x in (1e-90, 2e-90, 1e90)]
    assert tt.pairwise_distances(Qs, metric="tte")[0, 1] == pytest.approx(1e-90, rel=1e-12, abs=0)


def test_differences_far_below_the_largest_entry():
    """The TTE distance of matrices that differ in a tiny or huge entry alone is that difference."""
    for large, small in ((1.0, 1e-200), (1e300, 1e-300), (1e-10, 1e-320)):
        for pair in (
            (np.diag([large, small]), np.diag([large, 3 * small])),
            ([[large]], np.diag([large, 2 * small])),
        ):
            assert tt.distance(*pair, "tte") == pytest.approx(2 * small, rel=1e-12, abs=0)
    h = 2.0**1021
    assert tt.distance([[h, h], [h, h]], [[h, -h], [-h, h]], "tte") == pytest.approx(np.sqrt(8) * h)
