"""What the tests of readers share: where real data is, and the edges of a graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from torelli import MetricGraph


@pytest.fixture(scope="session")
def data() -> Path:
    """Return the folder of real data; tests that need it are skipped where it is missing."""
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("TORELLI_DATA", root.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set TORELLI_DATA")
    return folder


@pytest.fixture(scope="session")
def edges_of() -> Callable[[MetricGraph], list[tuple[int, int, float]]]:
    """Return a function that lists the edges of a graph, sorted, each from its smaller end."""

    def sorted_edges(graph: MetricGraph) -> list[tuple[int, int, float]]:
        rows = zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
        return sorted((min(u, v), max(u, v), x) for u, v, x in rows)

    return sorted_edges
