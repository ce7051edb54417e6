"""What is said while functions are compiled."""

from __future__ import annotations

import gc
import logging
import os
import subprocess
import sys
import time
from contextlib import suppress

from torelli._numerics.waiting import MESSAGE, Waiting


def test_a_long_compilation_is_announced_once(caplog):
    """The message comes during the first wait that is too long, and never again."""
    waiting = Waiting(patience=0.0)
    with caplog.at_level(logging.WARNING, logger="torelli"):
        for _ in range(2):
            with waiting.compiling():
                deadline = time.monotonic() + 10.0
                while not caplog.records and time.monotonic() < deadline:
                    time.sleep(0.01)
    assert [record.getMessage() for record in caplog.records] == [MESSAGE]
    assert "torelli warmup" in MESSAGE


def test_no_thread_is_needed(monkeypatch, caplog):
    """Where no thread can be started, functions are compiled without the message."""

    def refuse(_timer):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("torelli._numerics.waiting.Timer.start", refuse)
    with Waiting(patience=0.0).compiling():
        pass
    assert not caplog.records


def test_short_compilations_add_up(caplog):
    """Several functions that take less than the patience are one wait to a user."""
    waiting = Waiting(patience=3600.0)
    with waiting.compiling():
        time.sleep(0.01)
    assert 0.0 < 3600.0 - waiting.left < 60.0
    assert not caplog.records


def test_garbage_is_collected_afterwards():
    """The collector is as it was before, also after an error."""
    waiting = Waiting(patience=3600.0)
    with suppress(KeyboardInterrupt), waiting.compiling():
        assert not gc.isenabled()
        raise KeyboardInterrupt
    assert gc.isenabled()
    gc.disable()
    try:
        with waiting.compiling():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_message_goes_to_standard_error(tmp_path):
    """A process that has not configured logging writes the line itself, once, to standard error alone."""
    script = (
        "import torelli._numerics.waiting as w; w.waiting.left = 0.0\n"
        "from torelli._numerics.forest import each\n"
        "assert list(each(3)) == [0, 1, 2]"
    )
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (run.stdout, run.stderr) == ("", MESSAGE + "\n")
