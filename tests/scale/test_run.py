"""Tasks in this process and on a cluster of separate processes, whose workers are killed."""

from __future__ import annotations

import logging
import os
import signal
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from time import sleep

import numpy as np
import psutil
import pytest
from dask import config
from distributed import Client, LocalCluster

import torelli as tt
from stores import content
from torelli.scale import write_features, write_kernel
from torelli.scale._run import Guard, connected, run
from torelli.scale.kernel import TilesTask


@dataclass(frozen=True)
class Numbers:
    """A task that adds numbers, and which of its attempts fail."""

    numbers: tuple[int, ...]
    is_light: bool = True
    is_alone: bool = False


def add(most, task):
    """Return the sum of a task that is not too large."""
    if len(task.numbers) > most:
        raise MemoryError("too many")
    return sum(task.numbers)


def halves(task, work):
    """Return two tasks, or none for one number."""
    middle = len(task.numbers) // 2
    parts = (task.numbers[:middle], task.numbers[middle:]) if middle else ()
    return [(Numbers(part), work) for part in parts]


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two processes on this machine."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as found:
            yield found


@pytest.fixture
def client(cluster):
    """Return a client of the cluster."""
    with Client(cluster) as found:
        yield found


def test_tasks_run_one_after_the_other_here():
    """Without a client, tasks of a stream are done and committed in their order."""
    done = []
    tasks = (Numbers((number,)) for number in range(4))
    run("sum", tasks, partial(add, 9), lambda task, result: done.append((task.numbers, result)), split=halves)
    assert done == [((number,), number) for number in range(4)]


def test_a_task_that_is_too_large_for_a_worker_is_split(client):
    """Parts that fit are done; what is smallest and still too large is an error."""
    done = []
    tasks = [Numbers(tuple(range(8))), Numbers((1,), is_light=False), Numbers((5,), is_alone=True)]
    commit = lambda task, result: done.append((task.numbers, result))  # noqa: E731
    run("sum", tasks, partial(add, 2), commit, split=halves, client=client)
    assert sum(result for _, result in done) == 28 + 1 + 5
    assert all(len(numbers) <= 2 for numbers, _ in done)
    assert done[-1] == ((5,), 5)
    with pytest.raises(tt.StoreError, match="too little memory for the smallest part"):
        run("sum", tasks[:1], partial(add, 0), commit, split=halves, client=client)


def test_the_result_of_a_cluster_is_that_of_one_process_though_workers_die(cluster, client, graphs, tmp_path):
    """Features and kernel have the same bytes, with a worker killed while tiles are computed."""
    for name, dask in (("serial", None), ("cluster", client)):
        write_features(graphs, tmp_path / f"f-{name}.zarr", n_features=4, dask=dask)
    kills = []

    def kill(part):
        if part < 1.0 and not kills:
            kills.append(part)
            os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)

    write_kernel(graphs[:60], tmp_path / "k-serial.zarr", tile=8)
    write_kernel(graphs[:60], tmp_path / "k-cluster.zarr", tile=8, dask=client, verbose=kill)
    assert kills
    for kind in "fk":
        serial, other = (content(tmp_path / f"{kind}-{name}.zarr") for name in ("serial", "cluster"))
        assert serial == other


def test_a_run_without_workers_says_that_it_waits(graphs, tmp_path, monkeypatch, capfd):
    """It says so on standard error once, goes on when a worker joins, and has the bytes of a serial run."""
    monkeypatch.setattr("torelli.scale._run._PATIENCE", 0.2)
    waiting, joined = "no Dask worker is left; the run waits", "a Dask worker takes tasks again"
    errors = []

    def heard(text):
        errors.append(capfd.readouterr().err)
        return text in "".join(errors)

    target = tmp_path / "k-cluster.zarr"
    with (
        ThreadPoolExecutor(1) as elsewhere,  # waits for the run, which ends with the cluster at the latest
        LocalCluster(
            n_workers=0, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as client,
    ):
        run = elsewhere.submit(write_kernel, graphs[:60], target, tile=8, dask=client)
        wait_for(lambda: heard(waiting))
        assert not run.done()
        cluster.scale(1)
        run.result()
    heard("")
    assert "".join(errors).count(waiting) == 1
    assert "".join(errors).count(joined) == 1
    write_kernel(graphs[:60], tmp_path / "k-serial.zarr", tile=8)
    assert content(target) == content(tmp_path / "k-serial.zarr")


def test_a_lost_scheduler_is_an_error_that_says_what_to_do(graphs, tmp_path):
    """Tiles that are finished are kept, and the same call without the scheduler finishes the store."""
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
    client = Client(cluster.scheduler_address)

    def lose_the_scheduler(part):
        if part < 1.0:
            client.close()

    with pytest.raises(tt.StoreError, match="connection to the Dask scheduler is lost; finished tiles are"):
        write_kernel(graphs[:60], tmp_path / "k.zarr", tile=8, dask=client, verbose=lose_the_scheduler)
    cluster.close()
    write_kernel(graphs[:60], tmp_path / "k.zarr", tile=8)
    write_kernel(graphs[:60], tmp_path / "k-serial.zarr", tile=8)
    assert content(tmp_path / "k.zarr") == content(tmp_path / "k-serial.zarr")


@pytest.fixture
def small_worker():
    """Return what starts a cluster with one worker that has a few bytes more than it uses after some work."""
    with ExitStack() as open_clusters:

        def start(work, spare):
            options = {"n_workers": 1, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
            with LocalCluster(**options) as cluster, Client(cluster) as client:
                work(client)
                (used,) = client.run(process_bytes).values()
            limit = int((used + spare) / 0.8)  # at 80 % a worker takes no tasks, at 95 % it is killed
            cluster = open_clusters.enter_context(LocalCluster(memory_limit=limit, **options))
            return cluster, open_clusters.enter_context(Client(cluster))

        with config.set({"distributed.scheduler.allowed-failures": 0}):
            yield start


def test_a_worker_with_little_memory_does_not_lose_the_run(tmp_path, monkeypatch, small_worker):
    """Tasks are split that have several tiles, the worker does not pause, and the bytes are the same."""
    graphs = [bouquet(60, seed) for seed in range(100)]
    serial, clustered = tmp_path / "serial.zarr", tmp_path / "cluster.zarr"
    write_kernel(graphs, serial, "tte", tile=4)
    split = []
    halves = TilesTask.halves
    monkeypatch.setattr(TilesTask, "halves", lambda task: split.append(task) or halves(task))
    _, client = small_worker(
        lambda client: write_kernel(graphs[:2], tmp_path / "x.zarr", "tte", tile=4, dask=client), 50 * 10**6
    )
    write_kernel(graphs, clustered, "tte", tile=4, dask=client)
    assert split
    assert content(serial) == content(clustered)


def test_a_worker_that_is_killed_for_its_memory_does_not_lose_the_run(small_worker):
    """The nanny kills a worker at its limit; the task is then split until its parts fit."""
    done = []
    commit = lambda task, result: done.append((task.numbers, result))  # noqa: E731
    cluster, client = small_worker(
        lambda client: run("sum", [Numbers((1,))], hold, commit, split=halves, client=client), 100 * 10**6
    )
    done.clear()
    first = next(iter(cluster.workers.values())).pid
    run("sum", [Numbers(tuple(range(8)))], hold, commit, split=halves, client=client)
    assert next(iter(cluster.workers.values())).pid != first
    assert 1 < len(done) <= 8
    assert sum(result for _, result in done) == 28


def hold(task):
    """Return the sum of a task, and hold 50 MB for each number meanwhile."""
    memory = [np.ones(50 * 10**6, dtype=np.uint8) for _ in task.numbers]
    sleep(1.0)  # the nanny looks ten times a second
    return sum(number * int(block[0]) for number, block in zip(task.numbers, memory, strict=True))


def process_bytes():
    """Return the memory that this process uses."""
    return psutil.Process().memory_info().rss


def bouquet(n_cycles, seed):
    """Return a graph of many cycles on few nodes, which has a large matrix."""
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(0, 20, (2, n_cycles + 19))
    tail[:19], head[:19] = np.arange(19), np.arange(1, 20)
    return tt.MetricGraph(tail, head, rng.uniform(1.0, 9.0, n_cycles + 19), 20, name=str(seed))


def wait_for(condition):
    """Wait until a condition is true, for at most two minutes."""
    for _ in range(1200):
        if condition():
            return
        sleep(0.1)
    pytest.fail("never true")


def test_workers_that_do_not_see_the_store_are_named(client, graphs, tmp_path, monkeypatch):
    """The error names the worker and says where the store should be, also for a worker that joins late."""
    elsewhere = tmp_path / "only here"
    message = r"worker tcp://.* does not see .*: put the store on a file system that all workers share"
    right = Guard.of
    monkeypatch.setattr(Guard, "of", lambda store: right(store)._replace(root=str(elsewhere)))
    with pytest.raises(tt.StoreError, match=message):
        write_features(graphs[:5], tmp_path / "f.zarr", dask=client)
    monkeypatch.setattr("torelli.scale._job.check_workers", lambda *_: None)
    with pytest.raises(tt.StoreError, match=message):
        write_features(graphs[:5], tmp_path / "f.zarr", dask=client)


def test_a_cluster_with_other_versions_is_refused(client, graphs, tmp_path, monkeypatch):
    """The last bits may depend on versions, and tasks cannot be read where a package is missing."""
    monkeypatch.setattr("torelli.scale._run.versions", lambda: {"numpy": "1.0", "no_such_package": "2.0"})
    message = r"the scheduler has numpy \d\S+ instead of 1\.0, no_such_package none instead of 2\.0; install"
    with pytest.raises(tt.StoreError, match=message):
        write_features(graphs[:5], tmp_path / "f.zarr", dask=client)


def test_what_is_no_cluster_is_refused():
    """An option of another type is an error that says what is possible."""
    refused = pytest.raises(tt.InvalidOptionError, match=r"use a distributed\.Client, the address")
    with refused, connected(0.5, None):
        pass
    with connected(None, None) as none:
        assert none is None


def test_a_process_of_a_cluster_computes_the_graphs_of_each_call(client, tmp_path):
    """Workers outlive a call, and may have read another store of the same name."""
    for call in range(4):
        roots = np.array([1.0, 2.0 + call, 5.0 + call])
        rings = [tt.MetricGraph([0], [0], [root**2]) for root in roots.tolist()]
        store = tt.write_kernel(rings, tmp_path / "k.zarr", "tts", gamma=None, fresh=True, dask=client)
        np.testing.assert_allclose(np.asarray(store), np.abs(roots[:, None] - roots), atol=1e-12)
