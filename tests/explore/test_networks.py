"""Sets of networks to explore together."""

from __future__ import annotations

import pytest

import torelli as tt
from torelli.explore import NetworkSet


def test_wrong_lengths_are_refused():
    """A list of classes that does not match the networks is an error with both numbers."""
    with pytest.raises(tt.InvalidOptionError, match="classes has 1 entries for 2 networks"):
        NetworkSet.from_graphs([tt.MetricGraph([0], [1], [1.0])] * 2, title="two", classes=["a"])
    with pytest.raises(tt.InvalidOptionError, match="nothing to explore"):
        NetworkSet.from_graphs([], title="none")
