"""Graphs and stores that several tests of stores use."""

from __future__ import annotations

import pytest

from stores import small_graphs

SIZE = {"n_features": 4, "depth": 1}
"""Few columns, so that tests are quick."""


@pytest.fixture(scope="session")
def graphs():
    """Return more graphs than one part of rows has."""
    return small_graphs(300)
