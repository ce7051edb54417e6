"""Threads over chunks of compiled or BLAS work.

Gain over ``joblib.Parallel(prefer="threads")`` in overhead: 20,000 empty tasks in two threads were 98 to 374
times as fast in five runs (``make bench CASES=numerics``, on a machine busy with other work). Two threads
compute TTW distances 1.8 to 2.0 times as fast as one (``make bench CASES=ttw``).
"""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

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

    Tasks must not depend on `n_jobs` nor write to the same place: then the result does not depend
    on it either. An exception or Ctrl-C cancels what has not begun and is passed on as soon as the
    tasks under way end: keep them to a fraction of a second.

    Parameters
    ----------
    work, tasks, n_jobs
        What to call, with what, in how many threads.
    costs
        Expected cost of each task in any unit, for an honest `progress`.
    progress
        Called with the part of the cost that is done, from 0 to 1.
    """
    weights = [1.0] * len(tasks) if costs is None else list(costs)
    total = sum(weights) or 1.0
    waiting = deque(zip(tasks, weights, strict=True))
    finished: deque[float] = deque()
    failures: list[BaseException] = []
    done = 0.0

    def work_off() -> Iterator[None]:
        while waiting:
            try:
                task, weight = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            work(*task)
            finished.append(weight)
            yield

    def help_out() -> None:
        try:
            for _ in work_off():
                pass
        except BaseException as failure:  # noqa: BLE001  (raised in the calling thread)
            failures.append(failure)
            waiting.clear()

    def tell() -> None:
        nonlocal done
        while progress is not None and finished:
            done += finished.popleft()
            progress(done / total)

    # the caller works too: a pool would wake it after every task, which takes a core from the others
    helpers = [Thread(target=help_out) for _ in range(min(effective_n_jobs(n_jobs), len(tasks)) - 1)]
    try:
        for helper in helpers:
            with suppress(RuntimeError):  # a limit on memory or processes leaves no room for another thread
                helper.start()
        for _ in work_off():
            tell()
        _join(helpers)
    except BaseException:
        waiting.clear()
        _join(helpers)
        raise
    if failures:
        raise failures[0]
    tell()


def _join(threads: Sequence[Thread]) -> None:
    """Wait for those threads that were started."""
    for thread in threads:
        if thread.ident is not None:
            thread.join()


class ProgressLine:
    """Shows the part done and the time left on one line of standard error.

    Parameters
    ----------
    label
        What is going on.
    """

    _WAIT = 1.0
    _EVERY = 0.2

    def __init__(self, label: str) -> None:
        self.label = label
        self.start = self.last = time.monotonic()
        self.shown = False

    def __call__(self, part: float) -> None:
        """Show the part done, a few times a second, and nothing for what ends within a second."""
        now = time.monotonic()
        finished = part >= 1.0
        if now - self.start < self._WAIT or (now - self.last < self._EVERY and not finished):
            return
        self.last = now
        elapsed = now - self.start
        if finished:
            rest = f", {elapsed:.0f} s"
        else:
            # before the first piece is done, nothing tells how long the rest takes
            rest = f", {elapsed * (1.0 - part) / part:.0f} s left" if part > 0 else ""
        if not finished or self.shown:
            sys.stderr.write(f"\r{self.label}: {part:4.0%}{rest:<14}" + ("\n" if finished else ""))
            sys.stderr.flush()
            self.shown = True


def progress_of(verbose: bool | Progress, label: str) -> Progress | None:  # noqa: FBT001  (scikit-learn's name)
    """Return what ``verbose`` asks for: nothing, a line on standard error, or the caller's function."""
    if callable(verbose):
        return verbose
    return ProgressLine(label) if verbose else None


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


class _OneBlasThread:
    """BLAS at one thread while anybody asks for it: the limit is one of the process, not of a thread."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.limit: Any = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Set the limit for the first to enter, lift it for the last to leave."""
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
"""A context in which BLAS uses one thread, for work that is spread over threads of our own: the sums in a
product then never depend on the number of cores."""
