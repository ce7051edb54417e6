"""Settings shared by all tests."""

from __future__ import annotations

import os
import signal
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import torelli as tt
from browser import Pages, chromium
from torelli._errors import DataNotFoundError
from torelli.datasets.storage import shared_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# compiled code is loaded or built on first use, which no deadline should count
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# a shell starts what runs in the background deaf to Ctrl-C, and so would be what the tests start and stop
signal.signal(signal.SIGINT, signal.default_int_handler)

# a triangle with a tail, a single edge, and an isolated node; both directions of every edge
TINY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n3, 1\n1, 3\n3, 4\n4, 3\n5, 6\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
}


@pytest.fixture(autouse=True)
def _empty_cache():
    """Start every test without distances from another."""
    tt.distance_cache.clear()


@pytest.fixture
def tu():
    """Skip where the benchmark sets are missing."""
    try:
        shared_data("tu", "MUTAG.zip")
    except DataNotFoundError:
        pytest.skip("the shared data has no TU sets here: set TORELLI_DATA")


@pytest.fixture
def tiny() -> dict[str, str]:
    """Return the files of a set of three graphs: a triangle with a tail, an edge, an isolated node."""
    return dict(TINY)


@pytest.fixture
def tu_zip(tmp_path) -> Callable[..., Path]:
    """Return a function that zips files as the TU site does."""

    def write(files: dict[str, str | bytes], name: str = "TINY", folder: Path | None = None) -> Path:
        path = (folder or tmp_path) / f"{name}.zip"
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for part, text in files.items():
                archive.writestr(f"{name}/{name}_{part}.txt", text)
        return path

    return write


@pytest.fixture(scope="session")
def browser():
    """Return a browser for all tests of one process."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def pages(browser):
    """Return what opens a file in the browser; the test fails on console errors, requests and dialogs."""
    opened = Pages(browser)
    yield opened
    opened.close()
    assert opened.problems == []
