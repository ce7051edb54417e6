"""Threads that run chunks of compiled or BLAS work.

The overhead is lower than that of ``joblib.Parallel(prefer="threads")``: 20,000 empty tasks in two threads
were 98 to 374 times as fast in five runs (``make bench CASES=numerics``, on a machine busy with other
work). Two threads compute TTW distances 1.8 to 2.0 times as fast as one (``make bench CASES=ttw``).
"""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import contextmanager, suppress
from functools import cache
from math import inf, isfinite
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from torelli._errors import InvalidOptionError, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Progress = Callable[[float], None]


def run(
    work: Callable[..., None],
    tasks: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    costs: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> None:
    """Call ``work(*task)`` for each task in `n_jobs` threads (as in scikit-learn: None is 1, -1 all cores).

    The result does not depend on `n_jobs`, provided that the tasks do not, and that no two tasks write to
    the same memory. An exception or Ctrl-C cancels the tasks that have not started, and is raised as soon
    as the running ones end: keep tasks to a fraction of a second.

    Parameters
    ----------
    work, tasks, n_jobs
        The function, the arguments of each call, and the number of threads.
    costs
        Expected cost of each task in any unit, so that `progress` is proportional to the time.
    progress
        Called with the completed part of the cost, from 0 to 1.
    """
    if n_jobs is not None and (not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0):
        raise InvalidOptionError(
            f"n_jobs is {quoted(n_jobs)}: use a number of threads, -1 for all cores, or None"
        )
    weights = [1.0] * len(tasks) if costs is None else list(costs)
    total = sum(weights) or 1.0
    waiting = deque(zip(tasks, weights, strict=True))
    finished: deque[float] = deque()
    failures: list[BaseException] = []
    done = 0.0

    def run_tasks() -> Iterator[None]:
        while waiting:
            try:
                task, weight = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            work(*task)
            finished.append(weight)
            yield

    def run_as_helper() -> None:
        try:
            for _ in run_tasks():
                pass
        except BaseException as failure:  # noqa: BLE001  (raised in the calling thread)
            failures.append(failure)
            waiting.clear()

    def report() -> None:
        nonlocal done
        while progress is not None and finished:
            done += finished.popleft()
            progress(done / total)

    # the calling thread works too: a pool would wake it after every task and take a core from the others
    helpers = [Thread(target=run_as_helper) for _ in range(min(effective_n_jobs(n_jobs), len(tasks)) - 1)]
    try:
        for helper in helpers:
            with suppress(RuntimeError):  # a limit on memory or processes may forbid another thread
                helper.start()
        for _ in run_tasks():
            report()
        _join(helpers)
    except BaseException:
        waiting.clear()
        _join(helpers)
        raise
    if failures:
        raise failures[0]
    report()


def _join(threads: Sequence[Thread]) -> None:
    """Wait for the threads that were started."""
    for thread in threads:
        if thread.ident is not None:
            thread.join()


class ProgressLine:
    """Show the completed part and the time left on one line of standard error.

    Parameters
    ----------
    label
        Name of the computation.
    """

    _WAIT = 1.0
    _EVERY = 0.2
    _SMALL = 0.05

    def __init__(self, label: str) -> None:
        self.label = label
        self.start = self.last = time.monotonic()
        self.shown = False
        self._since: tuple[float, float] | None = None

    def __call__(self, part: float) -> None:
        """Show the completed part a few times a second, and nothing for work that ends within a second."""
        now = time.monotonic()
        finished = part >= 1.0
        if self._since is None:
            # a small first piece has mostly waited, such as for a compilation, and says nothing of the speed
            self._since = (now, part) if part < self._SMALL else (self.start, 0.0)
        if now - self.start < self._WAIT or (now - self.last < self._EVERY and not finished):
            return
        self.last = now
        elapsed = now - self.start
        if finished:
            rest = f", {elapsed:.0f} s"
        else:
            # before anything is done, nothing tells how long the rest takes
            seconds, done = now - self._since[0], part - self._since[1]
            left = seconds * (1.0 - part) / done if done > 0 else inf
            rest = f", {left:.0f} s left" if isfinite(left) else ""
        if not finished or self.shown:
            sys.stderr.write(f"\r{self.label}: {part:4.0%}{rest:<14}" + ("\n" if finished else ""))
            sys.stderr.flush()
            self.shown = True


def progress_of(verbose: bool | Progress, label: str) -> Progress | None:
    """Return the progress function for ``verbose``: None, a line on standard error, or the caller's own."""
    if callable(verbose):
        return verbose
    return ProgressLine(label) if verbose else None


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


class _OneBlasThread:
    """A context with one BLAS thread, counted because the limit applies to the whole process."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Set the limit for the first user, and lift it after the last."""
        with self.lock:
            self.users += 1
            if self.users == 1:
                self.limit = _blas().limit(limits=1, user_api="blas")
                self.limit.__enter__()
        try:
            yield
        finally:
            with self.lock:
                self.users -= 1
                if self.users == 0:
                    self.limit.__exit__(None, None, None)


one_blas_thread = _OneBlasThread()
"""A context in which BLAS uses one thread, for work that is already spread over threads. The order of the
sums in a product then does not depend on the number of cores."""
