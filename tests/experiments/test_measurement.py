"""Calls in processes of their own, times and their growth."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from torelli.experiments import _measurement
from torelli.experiments._measurement import best_seconds, call, exponent


def test_a_call_in_its_own_process_returns_value_and_memory():
    outcome = call("json:dumps", {"obj": [1, 2]}, seconds=100, gigabytes=4)
    assert (outcome.status, outcome.value) == ("ok", "[1, 2]")
    assert outcome.peak_mb > 1


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="elsewhere the parent's memory may count")
def test_memory_is_that_of_the_call_and_not_of_its_parent():
    ballast = np.ones(10**8)
    outcome = call("json:dumps", {"obj": 1}, seconds=100, gigabytes=4)
    assert outcome.peak_mb < ballast.nbytes / 2**20


SLEEPER = """
import sys
from pathlib import Path
from torelli.experiments import Cell, Experiment, Settings, run
from torelli.experiments._measurement import call

def measure(key, settings):
    print("begun", flush=True)
    call("subprocess:check_output", {"args": ["sleep", sys.argv[2]]}, seconds=300, gigabytes=4)

experiment = Experiment("t", "t", "", "t", 1, lambda _: [Cell({"a": 1})], measure, str, dict, isolated=True)
run(experiment, Path(sys.argv[1]), Settings(), verbose=False)
"""


@pytest.mark.parametrize(("how", "duration"), [(signal.SIGINT, "97.5"), (signal.SIGKILL, "98.5")])
def test_nothing_is_left_behind(tmp_path, how, duration):
    """Ctrl-C ends the processes of the cells within seconds, and so does the end of the run by force."""

    def sleepers():
        search = ["pgrep", "-f", f"sleep {duration}"]
        return subprocess.run(search, capture_output=True, text=True, check=False).stdout.split()  # noqa: S603

    command = [sys.executable, "-c", SLEEPER, str(tmp_path), duration]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # noqa: S603
        process.stdout.readline()
        wait_until(sleepers)
        process.send_signal(how)
        process.wait(timeout=20)
    wait_until(lambda: not sleepers())


def wait_until(condition, seconds=30):
    """Wait for a condition, and fail if it does not come."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("function", "arguments", "status"),
    [
        ("math:sqrt", {}, "E"),
        ("os:_exit", {"status": 9}, "E"),
        ("numpy:ones", {"shape": [2_000_000_000]}, "M"),
        ("timeit:timeit", {"stmt": "pass", "number": 10**12}, "T"),
        ("subprocess:check_output", {"args": ["sleep", "60"]}, "T"),
    ],
)
def test_what_stops_a_call_is_an_outcome(function, arguments, status):
    """An exception, a crash, too much memory, and too much computing or waiting each cost that call alone."""
    seconds = 0.5 if status == "T" else 100
    assert call(function, arguments, seconds=seconds, gigabytes=2).status == status


def test_the_cap_is_on_processor_time():
    """A call that waits for others, as on a busy machine, is not stopped."""
    outcome = call("subprocess:check_output", {"args": ["sleep", "4"]}, seconds=3, gigabytes=2)
    assert outcome.status == "ok"


def test_exponent():
    """A power law gives its exponent."""
    x = np.array([1.0, 2.0, 5.0, 9.0])
    assert exponent(x, 3 * x**1.7) == pytest.approx(1.7)


class Work:
    """A function that takes 3 ms on a clock with ticks of a given length."""

    def __init__(self, monkeypatch, tick):
        self.calls = 0
        clock = SimpleNamespace(process_time=lambda: 3 * self.calls // tick * tick / 1000)
        monkeypatch.setattr(_measurement, "time", clock)

    def __call__(self):
        """Let 3 ms go by."""
        self.calls += 1


@pytest.mark.parametrize(("long", "calls"), [(1.0, 10), (0.001, 3)])
def test_the_best_time(monkeypatch, long, calls):
    """Each repeat is timed; calls that take long are repeated three times only."""
    work = Work(monkeypatch, tick=1)
    assert best_seconds(work, 10, long=long) == pytest.approx(0.003)
    assert work.calls == calls


def test_the_best_time_on_a_clock_with_long_ticks(monkeypatch):
    """Calls shorter than a tick are timed together, so that none is said to take no time."""
    work = Work(monkeypatch, tick=10)
    assert best_seconds(work, 5) == pytest.approx(0.003, rel=0.5)
    assert work.calls > 5
