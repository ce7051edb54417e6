"""Tasks in this process, or on a Dask cluster whose workers may die and join.

A worker writes its results under temporary names. The owner of the store commits them, one task after the
other, so that it does not matter where, how often and in which order tasks run.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from uuid import uuid4

from torelli._errors import InvalidOptionError, StoreError, shortened
from torelli.io.files import require
from torelli.scale._store import Store, manifest_of, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_IN_FLIGHT = 3  # tasks submitted for each thread of the cluster, if tasks carry much data
_ATTEMPTS = 5  # at a task that cannot be split and whose workers die
_PATIENCE = 10.0  # seconds without a worker after which a run says that it waits


class Task(Protocol):
    """A unit of work."""

    @property
    def is_light(self) -> bool:
        """Whether so little is sent that all tasks can be sent at once."""

    @property
    def is_alone(self) -> bool:
        """Whether the task needs what tasks before it have written."""


T = TypeVar("T", bound=Task)
R = TypeVar("R")


def run(
    name: str,
    tasks: Iterable[T],
    work: Callable[[T], R],
    commit: Callable[[T, R], None],
    *,
    split: Callable[[T, Callable[[T], R]], list[tuple[T, Callable[[T], R]]]],
    client: Any = None,
    store: Store | None = None,
) -> None:
    """Run tasks and commit the result of each.

    Parameters
    ----------
    name
        Name of the tasks in the dashboard.
    tasks
        The tasks, which may be a stream.
    work
        Does a task, in any process.
    commit
        Stores its result, in this process.
    split
        Takes a task that was too large for a worker and its `work`. Returns smaller tasks, each with its
        `work`; an empty list if the task cannot be made smaller.
    client
        A Dask client; None for this process.
    store
        The store that a worker must see before it begins a task.
    """
    if client is None:
        for task in tasks:
            commit(task, work(task))
    else:
        guard = None if store is None else Guard.of(store)
        with _report_waiting(client):
            _Cluster(name, work, commit, split, client, guard).run(iter(tasks))


@contextmanager
def _report_waiting(client: Any) -> Iterator[None]:
    """Say on standard error that a run waits because no worker takes tasks, and that it goes on."""
    ended = Event()

    def watch() -> None:
        waiting = False
        while not ended.wait(_PATIENCE):
            # where the scheduler does not answer, or is gone, the run itself says so
            with suppress(Exception):
                n_workers, n_running = client.run_on_scheduler(_count_workers)
                if waiting == bool(n_running):
                    waiting = not waiting
                    _say(_waits(n_workers) if waiting else "a Dask worker takes tasks again; the run goes on")

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _count_workers(dask_scheduler: Any) -> tuple[int, int]:
    """Return the number of all workers, and of those that take tasks."""
    return len(dask_scheduler.workers), len(dask_scheduler.running)


def _waits(n_workers: int) -> str:
    if n_workers:
        why = f"all {n_workers} Dask workers are near their memory limit and take no tasks"
    else:
        why = "no Dask worker is left"
    return f"{why}; the run waits for one (to stop it, press Ctrl-C: what is finished is kept)"


def _say(message: str) -> None:
    sys.stderr.write(f"\ntorelli: {message}\n")
    sys.stderr.flush()


class Guard(NamedTuple):
    """The manifest of a store, by which a worker checks that it sees the same store."""

    root: str
    manifest: bytes

    @classmethod
    def of(cls, store: Store) -> Guard:
        """Return the guard of a store that this process sees."""
        root = store.root.absolute()
        return cls(str(root), manifest_of(root).read_bytes())

    def problem(self) -> str:
        """Return why this process cannot work on the store; empty if it can."""
        try:
            seen = manifest_of(Path(self.root)).read_bytes()
        except OSError:
            seen = b""
        if seen == self.manifest:
            return ""
        return f"does not see {self.root}: put the store on a file system that all workers share"


def _guarded(guard: Guard | None, work: Callable[[T], R], task: T) -> R:
    """Do a task in a worker; raise if the worker, which may have joined just now, does not fit the store."""
    problem = "" if guard is None else guard.problem()
    if problem:
        from distributed import get_worker

        raise StoreError(f"worker {get_worker().address} {problem}")
    return work(task)


class _Cluster:
    def __init__(
        self, name: str, work: Any, commit: Any, split: Any, client: Any, guard: Guard | None
    ) -> None:
        self.name, self.work, self.commit, self.split, self.client = name, work, commit, split, client
        self.guard = guard
        self.token = uuid4().hex
        self.pending: dict[Any, tuple[Any, Any, int]] = {}
        self.count = 0
        self.are_light = False

    def run(self, tasks: Iterator[Any]) -> None:
        import distributed

        done: Any = distributed.as_completed(loop=self.client.loop)  # type: ignore[no-untyped-call]
        alone: Any = None
        try:
            while True:
                while alone is None and self._has_room():
                    task = next(tasks, None)
                    if task is None:
                        break
                    if task.is_alone:
                        alone = task
                    else:
                        done.add(self._submit(task, self.work, 0))
                if self.pending:
                    for again in self._finished(next(done)):
                        done.add(again)
                elif alone is not None:
                    self.commit(alone, self.work(alone))
                    alone = None
                else:
                    return
        except Exception as error:
            if self.client.status == "running":
                raise
            raise StoreError(
                "the connection to the Dask scheduler is lost; finished tiles are kept: run the same command "
                "again once there is a scheduler"
            ) from error
        finally:
            if self.pending and self.client.status == "running":
                self.client.cancel(list(self.pending), force=True)

    def _has_room(self) -> bool:
        if self.are_light:
            return True
        threads = sum(self.client.nthreads().values())
        return len(self.pending) < _IN_FLIGHT * max(int(threads), 1)

    def _submit(self, task: Any, work: Any, attempt: int) -> Any:
        self.count += 1
        self.are_light = task.is_light
        key = f"torelli-{self.name}-{self.token}-{self.count}"
        future = self.client.submit(_guarded, self.guard, work, task, key=key, pure=False)
        self.pending[future] = (task, work, attempt)
        return future

    def _finished(self, future: Any) -> list[Any]:
        """Commit the result of a task; return what has to run again, in smaller parts or elsewhere."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        task, work, attempt = self.pending.pop(future)
        try:
            result = future.result()
        except (KilledWorker, MemoryError) as error:
            parts = self.split(task, work)
            if parts:
                return [self._submit(part, do, 0) for part, do in parts]
            if isinstance(error, KilledWorker) and attempt < _ATTEMPTS:
                return [self._submit(task, work, attempt + 1)]
            raise StoreError(
                "the workers have too little memory for the smallest part of the work "
                f"({shortened(str(error), 300)}); give them more, or leave out the largest graphs"
            ) from error
        except CancelledError:  # the cluster has lost it with its workers
            return [self._submit(task, work, attempt)]
        self.commit(task, result)
        return []


@contextmanager
def connected(dask: Any, memory: int | None) -> Iterator[Any]:
    """Yield a Dask client: the given one, one for an address, or one for new processes on this machine.

    Parameters
    ----------
    dask
        None, a ``distributed.Client``, the address of a scheduler, or a number of processes to start on this
        machine.
    memory
        Memory limit in bytes for all processes that are started here.
    """
    if dask is None:
        yield None
        return
    distributed = require("distributed", "scale", "a Dask cluster")
    if isinstance(dask, distributed.Client):
        yield dask
    elif isinstance(dask, int) and dask > 0:
        limit = "auto" if memory is None else memory // dask
        try:
            cluster = distributed.LocalCluster(
                n_workers=dask,
                threads_per_worker=1,
                processes=True,
                memory_limit=limit,
                dashboard_address="127.0.0.1:0",
            )
        except RuntimeError as error:  # such as a process that is killed before it is ready
            raise StoreError(
                f"the {dask} processes did not start ({error}); run the same command again"
            ) from error
        with cluster, distributed.Client(cluster) as client:
            yield client
    elif isinstance(dask, str):
        try:
            client = distributed.Client(dask)
        except (OSError, ValueError) as error:
            raise StoreError(f"there is no Dask scheduler at {shortened(dask)}: {error}") from error
        with client:
            yield client
    else:
        raise InvalidOptionError(
            f"dask is {dask!r}: use a distributed.Client, the address of a scheduler such as "
            "'tcp://node1:8786', or a number of processes"
        )


def check_workers(client: Any, store: Store) -> None:
    """Raise unless scheduler and workers have the versions of this process, and workers see the store."""
    if client is None:
        return
    probe, ours = _version_probe(), versions()
    # ignore a worker that dies meanwhile: it returns an error
    by_worker = {f"worker {name}": theirs for name, theirs in client.run(probe, on_error="return").items()}
    for place, theirs in {"the scheduler": client.run_on_scheduler(probe), **by_worker}.items():
        if isinstance(theirs, dict) and theirs != ours:
            different = ", ".join(
                f"{name} {theirs[name]} instead of {release}"
                for name, release in ours.items()
                if theirs[name] != release
            )
            raise StoreError(f"{place} has {different}; install the same versions everywhere")
    for worker, problem in client.run(Guard.of(store).problem, on_error="return").items():
        if isinstance(problem, str) and problem:
            raise StoreError(f"worker {worker} {problem}")


def _version_probe() -> Callable[[], dict[str, str]]:
    """Return a function that finds versions elsewhere, also where this package is missing.

    It is defined inside another one, so that it is sent as code and not by its name.
    """
    names = tuple(versions())

    def probe() -> dict[str, str]:
        from importlib import import_module

        releases = {}
        for name in names:
            try:
                releases[name] = ".".join(import_module(name).__version__.split(".")[:2])
            except ImportError:
                releases[name] = "none"
        return releases

    return probe
