"""The lock of a store, held by this process, by others, dead or alive, and by other machines."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest

import torelli as tt
from torelli.scale._lock import locked


def in_another_process(act):
    """Return what another process reports of an act: an error, or nothing; it may end itself."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  (the child ends here, whatever happens)
            os.write(into, str(error).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as report:
        text = report.read()
    os.waitpid(child, 0)
    return text


def take(path):
    """Hold the lock for a moment."""
    with locked(path, "the store"):
        pass


def test_two_writers_are_refused_with_the_owner(tmp_path):
    """The second of two writers is told the process, the machine and the age of the lock."""
    path = tmp_path / "lock"
    with locked(path, "the store"):
        told = in_another_process(lambda: take(path))
    assert told.startswith(f"the store is being written by process {os.getpid()} on ")
    assert re.search(r"for \d+ seconds; wait until it ends$", told)
    assert not in_another_process(lambda: take(path))


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    """A process that was killed on this machine leaves nothing that has to be removed by hand."""
    path = tmp_path / "lock"

    def die():
        with locked(path, "the store"):
            os.kill(os.getpid(), signal.SIGKILL)

    in_another_process(die)
    assert path.stat().st_size
    take(path)
    assert not path.stat().st_size


def test_the_lock_of_another_machine_is_respected(tmp_path):
    """A lock that another machine has not released is an error, with what to do."""
    owner = {"host": "node7", "pid": 12, "since": 0}
    (tmp_path / "lock").write_text(json.dumps(owner))
    with (
        pytest.raises(tt.StoreError, match=r"process 12 on 'node7', for .* hours; if .* remove"),
        locked(tmp_path / "lock", "the store"),
    ):
        pass
    assert json.loads((tmp_path / "lock").read_text()) == owner
