"""Settings shared by all tests."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

import torelli as tt
from browser import Pages, chromium
from torelli._errors import DataNotFoundError
from torelli.datasets.storage import shared_data

# compiled code is loaded or built on first use, which no deadline should count
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# a shell starts what runs in the background deaf to Ctrl-C, and so would be what the tests start and stop
signal.signal(signal.SIGINT, signal.default_int_handler)


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


@pytest.fixture(scope="session")
def browser():
    """Return a browser for all tests of one process."""
    with chromium() as found:
        yield found


@pytest.fixture
def pages(browser):
    """Return what opens a file in the browser; the test fails on console errors, requests and dialogs."""
    opened = Pages(browser)
    yield opened
    for context in browser.contexts:
        context.close()
    assert opened.problems == []
