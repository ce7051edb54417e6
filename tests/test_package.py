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
import sys, time
import numpy, scipy.sparse, scipy.spatial, networkx, numba
import sklearn.base, sklearn.gaussian_process, sklearn.utils
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
before = set(sys.modules)
start = time.perf_counter()
from torelli import *
seconds = time.perf_counter() - start
assert not compiled.buffer, compiled.buffer
heavy = {"matplotlib", "pandas", "geopandas", "osmnx", "osmium", "igraph"} & (set(sys.modules) - before)
assert not heavy, heavy
print(seconds)
"""


def test_importing_compiles_nothing_and_is_quick():
    """Import takes under 1.5 s beyond its dependencies and needs no optional package."""
    command = [sys.executable, "-c", _IMPORT]
    runs = [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)]  # noqa: S603
    assert not any(run.returncode for run in runs), runs[0].stderr
    assert min(float(run.stdout) for run in runs) < 1.5


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
