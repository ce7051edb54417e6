"""Tools to measure cells: calls in their own process with caps, processor times, fits, random graphs."""

from __future__ import annotations

import json
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.datasets import line_plus_random

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torelli.experiments._experiment import Rows, Settings
    from torelli.graph import MetricGraph

N_NODES = 50
"""Nodes of `random_graphs`."""
_OUT_OF_MEMORY = 3
_PATIENCE = 10  # seconds on the clock for each second of processor time
_running: set[subprocess.Popen[bytes]] = set()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call.

    Attributes
    ----------
    status
        ``"ok"``; ``"T"`` or ``"M"`` if it ran out of time or memory; ``"E"`` if it failed.
    value
        The function's return value, if ok.
    message
        The end of what the process wrote to standard error, if it failed.
    peak_mb
        Peak memory of the process in megabytes, if ok.
    """

    status: str
    value: Any = None
    message: str = ""
    peak_mb: float | None = None


def call(
    function: str,
    arguments: Mapping[str, Any],
    *,
    seconds: float,
    gigabytes: float,
    threads: int | None = None,
) -> Outcome:
    """Return the outcome of calling ``module:function`` with plain arguments in a new process.

    Parameters
    ----------
    function
        Module and name, such as ``"torelli.experiments.benchmark:baseline"``.
    arguments
        Keyword arguments that JSON can represent.
    seconds, gigabytes
        Limits on processor time, in whole seconds, and on writable memory; mapped files do not count.
        Processor time does not depend on what else the machine does. A call that only waits is stopped after
        ten times as long.
    threads
        Number of BLAS threads in the process; by default the library's own choice.
    """
    with tempfile.TemporaryDirectory(prefix="torelli-") as folder:
        caps = {"seconds": seconds, "gigabytes": gigabytes}
        request = {"function": function, "arguments": dict(arguments), "out": folder, **caps}
        # not by -m: the package has imported this module already
        script = f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1]))"
        command = [sys.executable, "-c", script, json.dumps(request)]
        environment = dict(os.environ)
        if threads is not None:
            environment |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
        errors = Path(folder) / "stderr"
        with errors.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603  (our own module)
                command,
                stdin=subprocess.PIPE,
                stdout=stderr,
                stderr=stderr,
                start_new_session=True,
                env=environment,
            )
            _running.add(process)
            try:
                code = _wait(process, _PATIENCE * seconds)
            except BaseException:
                _kill(process)
                raise
            finally:
                _running.discard(process)
                if process.stdin is not None:
                    process.stdin.close()
        if code in (None, -signal.SIGXCPU):
            return Outcome("T")
        if code == 0:
            value, peak_mb = pickle.loads((Path(folder) / "value").read_bytes())  # noqa: S301  (written by us)
            return Outcome("ok", value, peak_mb=peak_mb)
        message = errors.read_text(encoding="utf-8", errors="replace")[-2000:].strip()
        if code == _OUT_OF_MEMORY or "MemoryError" in message:
            return Outcome("M", message=message)
        return Outcome("E", message=message if code > 0 else f"{message}\nended by signal {-code}".strip())


def again_with_more(rows: Rows, settings: Settings) -> bool:
    """Return whether a row of a cell failed, or ran out of time or memory and now has more of it.

    The row has the caps as ``seconds`` and ``gigabytes``, or as ``cap_seconds`` and ``cap_gigabytes``.
    """
    caps = {"T": "seconds", "M": "gigabytes"}
    for row in rows:
        cap = caps.get(row.get("status", ""))
        if row.get("status") == "E" or (cap and row.get(f"cap_{cap}", row.get(cap)) < getattr(settings, cap)):
            return True
    return False


def stop() -> None:
    """Kill the processes of all running calls, in all threads."""
    for process in list(_running):
        _kill(process)


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Return the exit code, or None after killing a process that took too long."""
    end = time.monotonic() + seconds
    while True:
        # short waits, so that Ctrl-C takes effect at once in any thread
        try:
            return process.wait(timeout=min(0.5, max(0.0, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= end:
                _kill(process)
                return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main(text: str) -> int:
    """Run one call, in the new process."""
    request = json.loads(text)
    Thread(target=_end_with_parent, daemon=True).start()
    limit = int(request["gigabytes"] * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    if math.isfinite(request["seconds"]):
        # at the soft limit the process is ended by SIGXCPU
        limit = max(1, math.ceil(request["seconds"]))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    module, name = request["function"].split(":")
    try:
        value = getattr(import_module(module), name)(**request["arguments"])
    except MemoryError:
        return _OUT_OF_MEMORY
    (Path(request["out"]) / "value").write_bytes(pickle.dumps((value, peak_mb())))
    return 0


def peak_mb() -> float:
    """Return the peak memory of this process in megabytes.

    On Linux, ``ru_maxrss`` includes the parent's memory at the time of the fork; ``VmHWM`` does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if "VmHWM" in line)
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def _end_with_parent() -> None:
    """Kill this process and its children once standard input ends, which means that the parent is gone."""
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)


def best_seconds(function: Callable[[], object], repeats: int, *, long: float = float("inf")) -> float:
    """Return the best processor time of `repeats` calls, at most three if one takes over `long` seconds.

    Some clocks tick every 10 ms: a call that none of them sees is timed in a batch of 2, 4, 8, … calls.
    """
    times: list[float] = []
    batch = 1
    while len(times) < (min(repeats, 3) if times and min(times) > long else repeats):
        start = time.process_time()
        for _ in range(batch):
            function()
        seconds = time.process_time() - start
        if seconds > 0:
            times.append(seconds / batch)
        else:
            batch *= 2
    return min(times)


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the exponent b of the power law y = a x^b, by least squares on the logarithms."""
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])


def random_graphs(n_graphs: int, genus_bound: int, seed: list[int]) -> list[MetricGraph]:
    """Return the graphs of sections D.3 and D.4: lines with random edges, lengths from Unif(0, 1).

    The genus is drawn from 1 to the bound. The paper states only the bound; the number of nodes and the
    distribution of the genus are ours.
    """
    rng = np.random.default_rng(seed)
    genera = rng.integers(1, genus_bound + 1, size=n_graphs)
    seeds = rng.integers(2**31, size=n_graphs)
    return [
        line_plus_random(N_NODES, int(genus), seed=int(graph_seed))
        for genus, graph_seed in zip(genera, seeds, strict=True)
    ]
