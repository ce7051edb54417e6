"""Compiling everything in advance."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import ClassVar

import numba
import pytest

from torelli.commands import warmup

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


def _in_new_process(code, folder, **environment):
    return subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", code],
        env={**os.environ, **({"NUMBA_CACHE_DIR": str(folder)} if folder else {}), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


_SIGNATURES = """
import json
from torelli._numerics.linking import Entry
from torelli.cli import main

assert main(["warmup"]) == 0
inner = {
    value
    for entry in Entry.made
    for name in entry.py_func.__code__.co_names
    if isinstance(value := entry.py_func.__globals__.get(name), Entry)
}
counted = [entry for entry in Entry.made if entry.signatures or entry not in inner]
print(json.dumps({f"{e.py_func.__module__}.{e.py_func.__name__}": len(e.signatures) for e in counted}))
"""
SEVERAL = {
    "torelli.distances._tte._pack_all": 2,  # both precisions
    "torelli._waves._write_waves": 2,
    "torelli._waves._send": 2,
    "torelli._waves._take_in": 2,
    "torelli._waves.add_rows": 4,  # both, with one block of features and with several
}
"""Functions with more than one signature."""


def test_every_function_is_compiled_for_few_types():
    """Each function that Python calls has machine code afterwards, most of them for one signature only."""
    folder = os.environ.get("NUMBA_CACHE_DIR", "")  # the cache of the other tests, which may be full
    run = _in_new_process(_SIGNATURES, folder)
    assert run.returncode == 0, run.stderr
    *stages, summary, counted = run.stdout.splitlines()
    assert [line.partition(":")[0] for line in stages] == list(warmup.STAGES)
    assert re.fullmatch(r"\d+ functions compiled, \d+ found on disk, in \d+ s; [\d.]+ MB under .+", summary)
    signatures = json.loads(counted)
    assert [name for name, count in signatures.items() if count == 0] == []
    assert {name: count for name, count in signatures.items() if count > 1} == SEVERAL


def test_some_kernels_alone_are_compiled():
    """A kernel that is named is ready afterwards, and nothing is compiled that only others need."""
    folder = os.environ.get("NUMBA_CACHE_DIR", "")
    code = """
import torelli as tt
from torelli._numerics.linking import Entry
from torelli.cli import main
assert main(["warmup", "--kernel", "tts"]) == 0
before = sum(len(entry.signatures) for entry in Entry.made)
tt.TTSKernel().fit_transform(tt.datasets.street_patterns(1).graphs)
assert before == sum(len(entry.signatures) for entry in Entry.made)
print(sorted(entry.py_func.__name__ for entry in Entry.made if entry.signatures))
"""
    run = _in_new_process(code, folder)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("TTS: ")
    names = run.stdout.splitlines()[-1]
    assert "write_matrices" in names
    assert "cross_nuclear_norms" not in names


class _Process:
    """Stands for a process that has ended."""

    started: ClassVar[list[list[str]]] = []

    def __init__(self, command, **_):
        self.started.append(command)

    def wait(self):
        return 0

    kill = wait


@pytest.fixture
def started(monkeypatch):
    """Return the list of commands that other processes were started with, on a machine with two cores."""
    monkeypatch.setattr("joblib.effective_n_jobs", lambda _: 2)
    monkeypatch.setattr(warmup.subprocess, "Popen", _Process)
    monkeypatch.setattr(_Process, "started", [])
    return _Process.started


def test_another_process_helps_only_while_something_is_compiled(started):
    """It starts once, with the first compilation; where all code is on disk there is none."""
    with warmup.compiled_beside(["ttw"]):
        pass
    assert started == []
    with warmup.compiled_beside(["ttw"]):
        assert [numba.njit(lambda x: x + 1)(1), numba.njit(lambda x: x + 2)(1)] == [2, 3]
    assert [command[-1] for command in started] == ["ttw"]


def test_a_process_that_cannot_start_is_done_without(started, monkeypatch):
    """A limit on processes is no failure: the code is compiled later."""

    def refuse(*_, **__):
        raise BlockingIOError

    monkeypatch.setattr(_Process, "__init__", refuse)
    with warmup.compiled_beside(["ttw"]):
        assert numba.njit(lambda x: x + 1)(1) == 2
    assert started == []


# one small stage instead of all, so that an empty cache is filled in a second
_ONE_STAGE = """
from torelli.cli import main
from torelli.commands import warmup
from torelli._numerics.forest import each
warmup.STAGES = {"one": lambda: each(3)}
raise SystemExit(main(["warmup"]))
"""


def test_a_second_run_finds_everything(tmp_path):
    """The first process compiles and says where the code is; the next one compiles nothing."""
    first = _in_new_process(_ONE_STAGE, tmp_path)
    assert first.returncode == 0, first.stderr
    assert "1 functions compiled, 0 found on disk" in first.stdout
    assert str(tmp_path) in first.stdout
    assert "0 functions compiled, 1 found on disk" in _in_new_process(_ONE_STAGE, tmp_path).stdout


@pytest.mark.parametrize("why", ["the disk is full", "a file is in the way"])
def test_a_cache_that_cannot_be_kept_is_an_error(tmp_path, why):
    """The command exists to fill the cache, so it fails where it cannot, and says what to do."""
    code, folder = _ONE_STAGE, tmp_path / "cache"
    if why == "the disk is full":
        code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))" + code
    else:
        folder.touch()
    run = _in_new_process(code, folder)
    assert run.returncode == 2
    said = {
        "the disk is full": "all functions work, but a new process compiles them again",
        "a file is in the way": f"NUMBA_CACHE_DIR is {folder}, which cannot be written",
    }
    assert said[why] in run.stderr
    assert "NUMBA_CACHE_DIR" in run.stderr


def test_without_a_compiler_it_says_so(tmp_path):
    """With NUMBA_DISABLE_JIT there is nothing to compile, which is an error here."""
    run = _in_new_process(_ONE_STAGE, tmp_path, NUMBA_DISABLE_JIT="1")
    assert run.returncode == 2
    assert "NUMBA_DISABLE_JIT is set" in run.stderr
