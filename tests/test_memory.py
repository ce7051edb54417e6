"""What memory is free, and what happens where there is too little of it."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

import pytest

import torelli as tt
from torelli import _memory

GB = 10**9
linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")


@pytest.fixture
def machine(tmp_path):
    """Return a function that lays out the files of ``/proc`` and ``/sys`` and asks what is free there."""

    def free(groups: str, files: dict[str, object]) -> int | None:
        files = {"proc/meminfo": f"MemTotal: 1\nMemAvailable: {50 * GB // 1024} kB\n", **files}
        for name, text in {**files, "proc/self/cgroup": groups}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{text}\n")
        return _memory.available_bytes(tmp_path)

    return free


def group(path: str, limit: object, used: int, cache: int = 0) -> dict[str, object]:
    """Return the files of a control group of version 2."""
    folder = f"sys/fs/cgroup/{path}".rstrip("/")
    return {
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": used,
        f"{folder}/memory.stat": f"anon {used - cache}\ninactive_file {cache}\nactive_file 0",
    }


def test_free_memory_is_that_of_the_machine_without_limits(machine) -> None:
    """Groups without a limit, and files that are missing, do not count."""
    assert machine("0::/user/shell", group("user", "max", GB)) == pytest.approx(50 * GB, rel=1e-6)


def test_the_group_of_the_process_limits_memory(machine) -> None:
    """The limit of the process's own control group counts, wherever it is in the tree."""
    assert machine("0::/user/shell", group("user/shell", 4 * GB, GB)) == 3 * GB


def test_a_group_above_limits_memory(machine) -> None:
    """The smallest of what the groups from the process up to the root leave is what is free."""
    files = group("a/b", 8 * GB, GB) | group("a", 6 * GB, 4 * GB) | group("", "max", 9 * GB)
    assert machine("0::/a/b", files) == 2 * GB


def test_other_groups_do_not_limit_memory(machine) -> None:
    """A limit on another control group says nothing of this process."""
    assert machine("0::/a", group("b", GB, 0)) == pytest.approx(50 * GB, rel=1e-6)


def test_cache_of_files_counts_as_free(machine) -> None:
    """What a group holds of files that were read is given back on demand."""
    assert machine("0::/a", group("a", 4 * GB, 4 * GB, cache=3 * GB)) == 3 * GB


def test_a_group_over_its_limit_leaves_nothing(machine) -> None:
    """Free memory is never negative."""
    assert machine("0::/a", group("a", GB, 2 * GB)) == 0


@pytest.mark.parametrize("path", ["/docker/0123", "/"])
def test_groups_of_version_1(machine, path) -> None:
    """The older files count too; in a container, where the path is one of the host, those of the root."""
    folder = "sys/fs/cgroup/memory"
    files = {
        f"{folder}/memory.limit_in_bytes": 4 * GB,
        f"{folder}/memory.usage_in_bytes": 3 * GB,
        f"{folder}/memory.stat": f"cache 1\ntotal_inactive_file {GB}",
    }
    assert machine(f"5:cpu:/\n4:memory,hugetlb:{path}\n0::/", files) == 2 * GB
    assert machine(f"4:memory:{path}", {f"{folder}/memory.limit_in_bytes": 2**63 - 4096}) > 40 * GB


def test_no_files_no_figure(tmp_path, monkeypatch) -> None:
    """Where nothing is known, nothing is refused."""
    monkeypatch.delattr(_memory.os, "sysconf")
    assert _memory.available_bytes(tmp_path) is None


LIMITED = """
    import resource, sys
    import numpy as np
    import torelli as tt

    def pages(at):
        return int(open("/proc/self/statm").read().split()[at]) * resource.getpagesize()

    which, at = {"AS": (resource.RLIMIT_AS, 0), "DATA": (resource.RLIMIT_DATA, 5)}[sys.argv[1]]
    graph = tt.MetricGraph([0] * 5000, [1] * 5000, np.linspace(1, 2, 5000))
    few = [tt.MetricGraph([0, 0], [1, 1], [1.0 + i, 2.0]) for i in range(2500)]
    Qs = [np.eye(1)] * 6000
    for kernel in (tt.TTSKernel(), tt.TTEKernel()):
        kernel.fit_transform(few[:3])  # what is compiled and loaded before takes memory too
    tt.torelli_matrix(graph, max_genus=10)
    resource.setrlimit(which, (pages(at) + 100 * 2**20,) * 2)
    calls = {
        "threads": lambda: tt.pairwise_distances(Qs[:300], metric="tts", n_jobs=64),
        "matrix": lambda: tt.torelli_matrix(graph),
        "greedy": lambda: tt.torelli_matrix(graph, max_genus=3500, truncation="greedy"),
        "distances": lambda: tt.pairwise_distances(Qs, metric="tts"),
        "kernel": lambda: tt.TTSKernel().fit_transform(few),
        "repair": lambda: tt.TTEKernel(psd="clip").fit(few[:1500]).transform(few[:1900]),
        "file": lambda: tt.read(sys.argv[2]),
        "any file": lambda: tt.read(sys.argv[2], max_bytes=10**12),
        "small": lambda: tt.torelli_matrix(graph, max_genus=10),
    }
    for name, call in calls.items():
        try:
            call()
            print(name, "ran")
        except tt.RequestTooLargeError as error:
            print(name, "refused:", " ".join(str(error).split()))
"""


@linux
@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_limits_of_the_process_refuse_and_never_fail(tmp_path, limit) -> None:
    """Under ``ulimit -v`` and ``ulimit -d`` what is too large is refused with a figure, not a MemoryError."""
    (tmp_path / "a.csv").write_text("u,v,length\n" + "a,b,1\n" * 3_000_000)
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(LIMITED), limit, str(tmp_path / "a.csv")]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    said = dict(line.split(" ", 1) for line in run.stdout.replace("any file", "any_file").splitlines())
    refused = {"matrix", "greedy", "distances", "kernel", "repair", "file", "any_file"}
    assert {name for name, what in said.items() if what.startswith("refused: ")} == refused
    assert "would take 200 MB" in said["matrix"]
    assert "max_genus" in said["matrix"]
    assert "288 MB" in said["distances"]
    # what is left decides whether its size or what reading takes is too much
    too_much = r"reading it takes about [\d.]+ MB of memory|it has about [\d.]+ MB after decompression"
    assert re.search(rf"a\.csv: ({too_much}).* max_bytes=", said["file"])
    assert said["threads"] == said["small"] == "ran"


def test_a_failed_allocation_is_refused_with_its_figure() -> None:
    """What numpy says of the array that it could not have is part of the error, and the remedy follows."""

    @_memory.refused_if_too_large("the sum", "use less")
    def fail(message: str) -> None:
        raise MemoryError(message)

    with pytest.raises(
        tt.RequestTooLargeError, match=r"^the sum cannot .*Unable to allocate 3 GiB\): use less$"
    ):
        fail("Unable to allocate 3 GiB")
    with pytest.raises(tt.RequestTooLargeError, match="an allocation failed"):
        fail("")
