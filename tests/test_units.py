"""Units of length."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt


def test_mixed_units_are_refused_and_can_be_converted() -> None:
    """Graphs in metres beside graphs in kilometres are no list to compare; in one unit they are."""
    in_metres = tt.MetricGraph([0, 0], [1, 1], [1000.0, 2000.0], unit="m")
    in_kilometres = tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0], unit="km")
    for compute in (tt.torelli_matrices, tt.TTWKernel().fit):
        with pytest.raises(tt.InvalidGraphError, match="km"):
            compute([in_metres, in_kilometres])
    Q, R = tt.torelli_matrices([in_metres, in_kilometres.to_unit("m")])
    assert np.array_equal(Q, R)
    with pytest.raises(tt.InvalidOptionError, match="degree"):
        in_metres.replace(unit="degrees").to_unit("m")
