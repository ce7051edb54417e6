"""Machine code on disk: used while it is sound, and never the reason of a failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import torelli as tt

PACKAGE = Path(tt.__file__).parent

# the package without its imports: a process then starts in a second
_START = """
import json, sys, types, warnings
package = types.ModuleType("torelli")
package.__path__ = [sys.argv[1]]
sys.modules["torelli"] = package
if sys.argv[2] == "full":
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import caller
    values = [caller.double(21), caller.plus_one(21)]
hits = sum(f.stats.cache_hits.total() for f in (caller.double, caller.plus_one))
print(json.dumps([values, hits, [[w.category.__name__, str(w.message)] for w in caught]]))
"""
_CALLER = """
from callee import increment
from torelli._numerics.compile import compiled

@compiled
def double(x):
    return 2 * x

@compiled
def plus_one(x):
    return increment(x)
"""
_CALLEE = """
from torelli._numerics.compile import compiled

@compiled
def increment(x):
    return x + 1
"""


@pytest.fixture
def call(tmp_path):
    """Return what calls two functions in a new process: values, functions not compiled, warnings."""
    (tmp_path / "caller.py").write_text(_CALLER)
    (tmp_path / "callee.py").write_text(_CALLEE)
    folder = tmp_path / "cache"

    def run(disk="", cache=folder):
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)  # edits within one second
        paths = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
        done = subprocess.run(  # noqa: S603  (our own script)
            [sys.executable, "-c", _START, str(PACKAGE), disk],
            env={**os.environ, **paths},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    return run


@pytest.fixture
def kept(call, tmp_path):
    """Return the files in which a first process keeps the functions."""
    assert call() == [[42, 22], 0, []]
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert len(files) == 2  # of the two that Python calls
    return files


def test_a_damaged_file_is_compiled_again(call, kept):
    """Values are right, one warning names a file, and the files are sound afterwards."""
    for damage in ("truncated", "empty", "garbage", "one bit"):
        for path in kept:
            content = path.read_bytes()
            damaged = {
                "truncated": content[: len(content) // 2],
                "empty": b"",
                "garbage": b"no machine code at all",
                "one bit": content[:-900] + bytes([content[-900] ^ 1]) + content[-899:],
            }
            path.write_bytes(damaged[damage])
        values, hits, [[category, message]] = call()
        assert (values, hits, category) == ([42, 22], 0, "CacheWarning")
        assert "cached machine code cannot be read, so it is compiled again (OSError: " in message
        assert ".nbc is damaged)" in message
    assert call() == [[42, 22], 2, []]


def test_files_that_cannot_be_opened_are_done_without(call, kept):
    """Values are right, with one warning of reading and one of writing."""
    for path in kept:
        path.unlink()
        path.mkdir()
    values, hits, warned = call()
    assert (values, hits) == ([42, 22], 0)
    assert [category for category, _ in warned] == ["CacheWarning"] * 2
    assert "cannot be cached on disk" in warned[1][1]


def test_a_full_disk_is_no_failure(call, kept, tmp_path):
    """Where files cannot be written to the end, one warning says so, and no old code is taken for the new."""
    pytest.importorskip("resource")
    (tmp_path / "caller.py").write_text(_CALLER.replace("2 * x", "3 * x"))
    values, hits, [[category, message]] = call("full")
    assert (values, hits, category) == ([63, 22], 0, "CacheWarning")
    assert "machine code cannot be cached on disk (OSError: [Errno" in message
    assert "set NUMBA_CACHE_DIR to a writable folder" in message
    assert call() == [[63, 22], 0, []]
    assert sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file()) == sorted(kept)


def test_a_change_in_another_module_is_seen(call, kept, tmp_path):
    """A function is compiled again if one that it calls has changed, in whatever file that is."""
    (tmp_path / "callee.py").write_text(_CALLEE.replace("x + 1", "x + 2"))
    assert call()[0] == [42, 23]


def test_no_folder_that_can_be_written(call, tmp_path):
    """Without any place for the cache, functions are compiled, and one warning says so."""
    nowhere = tmp_path / "file"
    nowhere.touch()
    (tmp_path / "__pycache__").touch()
    values, hits, [[category, message]] = call(cache=nowhere)
    assert (values, hits, category) == ([42, 22], 0, "CacheWarning")
    assert "machine code cannot be cached on disk (RuntimeError: cannot cache function" in message


def test_the_package_works_where_nothing_can_be_written(tmp_path):
    """A read-only installation without a home directory is imported without a word and computes."""
    shutil.copytree(PACKAGE, tmp_path / "torelli", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "torelli", *(tmp_path / "torelli").rglob("*/")]:
        (folder / "__pycache__").touch()
    nowhere = str(tmp_path / "torelli" / "__pycache__")
    script = "import torelli as tt; print('imported'); print(tt.MetricGraph([0], [0], [1.0], 3).n_components)"
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "NUMBA_CACHE_DIR": nowhere,
            "XDG_CACHE_HOME": nowhere,
            "HOME": nowhere,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "imported\n3\n"
    assert run.stderr.count("CacheWarning: ") == 1
    assert "<string>:1: CacheWarning" in run.stderr
