"""The package as it is installed."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import torelli as tt


def test_the_version_is_that_of_the_installed_package():
    """One version, in one place."""
    assert version("torelli") == tt.__version__


@pytest.mark.skipif(
    "TORELLI_TEST_WHEEL" not in os.environ, reason="set by `make test`, which installs the wheel"
)
def test_the_wheel_is_tested_and_not_the_checkout():
    """`make test` runs on what a user would install, typed marker included."""
    here = Path(tt.__file__)
    assert "site-packages" in here.parts
    assert (here.parent / "py.typed").exists()


def test_everything_public_is_there_and_documented():
    """Each name in __all__ exists and has a docstring."""
    for name in tt.__all__:
        thing = getattr(tt, name)
        assert isinstance(thing, (str, dict)) or thing.__doc__


_IMPORT = """
import sys
import sklearn.gaussian_process
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
before = set(sys.modules)
from torelli import *
assert not compiled.buffer, compiled.buffer
heavy = {"matplotlib", "pandas", "geopandas", "osmnx", "osmium", "igraph"} & (set(sys.modules) - before)
assert not heavy, heavy
"""


def test_importing_every_name_compiles_nothing():
    """Importing all public names compiles nothing and needs no optional package."""
    command = [sys.executable, "-c", _IMPORT]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr


def test_examples_in_docstrings_run():
    """What the documentation shows is what happens."""
    modules = [module.name for module in pkgutil.walk_packages(tt.__path__, "torelli.")]
    results = {
        name: doctest.testmod(importlib.import_module(name))
        for name in modules
        if not name.endswith("__main__") and ">>>" in (inspect.getsource(importlib.import_module(name)))
    }
    assert sum(result.attempted for result in results.values()) > 30
    assert {name: result.failed for name, result in results.items() if result.failed} == {}
