"""Machine code on disk: used while it is sound, and never the reason of a failure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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
if sys.argv[2] == "of an older numba":
    import numba
    numba.__version__ = "0.1"
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

    def run(disk="", cache=folder, **environment):
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)  # edits within one second
        paths = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
        done = subprocess.run(  # noqa: S603  (our own script)
            [sys.executable, "-c", _START, str(PACKAGE), disk],
            env={**os.environ, **paths, **environment},
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


def test_code_of_another_processor_is_left_alone(call, kept):
    """Machines of two kinds share a folder: each compiles for itself, and finds its own code later."""
    for hits in (0, 2):
        assert call(NUMBA_CPU_NAME="generic") == [[42, 22], hits, []]
    assert call() == [[42, 22], 2, []]
    assert all(path.exists() for path in kept)


def test_code_of_another_numba_is_compiled_again(call, kept):
    """A file of another version of numba is replaced without a word."""
    for hits in (0, 2):
        assert call("of an older numba") == [[42, 22], hits, []]
    assert call() == [[42, 22], 0, []]
    assert all(path.exists() for path in kept)


def test_processes_that_compile_at_once_do_not_disturb_each_other(call, tmp_path):
    """Both get right values, and what is on disk afterwards is sound."""
    with ThreadPoolExecutor(2) as pool:
        for values, _, warned in pool.map(lambda _: call(), range(2)):
            assert (values, warned) == ([42, 22], [])
    assert call() == [[42, 22], 2, []]
    assert len([path for path in (tmp_path / "cache").rglob("*") if path.is_file()]) == 2


_INTERRUPTED = """
import gc, os, signal
from numba.core import event
from torelli._numerics.forest import each

class Press(event.Listener):
    def on_start(self, _):
        os.kill(os.getpid(), signal.SIGINT)
    def on_end(self, _):
        pass

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with event.install_listener("numba:compile", Press()):
        each(3)
except KeyboardInterrupt:
    print("interrupted")
print(each(3).tolist(), gc.isenabled())
"""


def test_an_interrupted_compilation_starts_again(tmp_path):
    """Ctrl-C ends a compilation at once; the next call compiles the function as if nothing had been."""
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", _INTERRUPTED],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "interrupted\n[0, 1, 2] True\n"


def test_everything_works_without_a_compiler(tmp_path):
    """NUMBA_DISABLE_JIT gives the same distances, in plain Python and without warnings of overflow."""
    script = (
        "import json, torelli as tt\n"
        "cube = [(i, i ^ b, 1.0) for i in range(8) for b in (1, 2, 4) if i < i ^ b]\n"
        "theta = [(0, 1, 1.0), (0, 1, 2.0), (0, 1, 3.0)]\n"
        "graphs = [tt.as_metric_graph(edges) for edges in (cube, theta)]\n"
        "print(json.dumps([tt.distance(*graphs, metric) for metric in tt.METRICS]))"
    )
    values = [
        json.loads(
            subprocess.run(  # noqa: S603  (our own script)
                [sys.executable, "-W", "error", "-c", script],
                env={**os.environ, "NUMBA_DISABLE_JIT": disabled},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for disabled in ("0", "1")
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


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
