"""Limits and options of readers: memory, node ids, directions and units."""

from __future__ import annotations

import gzip
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import hostile
import torelli as tt
from torelli import _memory

LIMIT = 50_000_000
SLACK = 50_000_000  # for what a part of any file takes, and libraries for themselves


def test_a_compressed_table_is_refused_with_the_figure_before_it_takes_the_memory(tmp_path) -> None:
    """A file of a few kilobytes that would take more memory than allowed names the limit and the option."""
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"source,target,length\n" + b"a,b,1.0\n" * 2_000_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(tt.RequestTooLargeError, match=r"bomb\.csv\.gz.*MB.*max_bytes"):
        tt.read(path, max_bytes=20_000_000)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("many.jsonl.gz", b'{"edges": [["a", "b", 1.0]]}\n' * 200_000),
        ("tree.swc.gz", b"1 1 0 0 0 1 -1\n" * 400_000),
    ],
)
def test_other_formats_keep_to_the_limit(tmp_path, name, content) -> None:
    """JSON lines and neurons are refused by what their parsing takes."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(content))
    with pytest.raises(tt.RequestTooLargeError, match=name):
        tt.read(path, max_bytes=1_000_000)


_LIMITED = """
import resource, sys
import numpy as np, torelli as tt
graph = tt.MetricGraph(np.zeros(40_000, int), np.ones(40_000, int), np.arange(1.0, 40_001.0))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
try:
    tt.torelli_matrix(graph)
except tt.RequestTooLargeError as error:
    print(error)
"""


def test_a_limit_of_the_shell_counts() -> None:
    """Under `ulimit -v`, a matrix that does not fit is a RequestTooLargeError with the figure."""
    run = subprocess.run([sys.executable, "-c", _LIMITED], capture_output=True, text=True, check=False)  # noqa: S603
    assert "12.8 GB" in run.stdout, run.stderr
    assert "max_genus" in run.stdout


def test_json_ids_keep_their_kind(tmp_path) -> None:
    """The numbers 1 and 1.0 are one node, the text "1" is another, and `true` is refused."""
    path = tmp_path / "ids.jsonl"
    path.write_text('{"edges": [[1, "1", 1.0], [1.0, "1", 2.0]]}\n')
    [graph] = tt.read(path)
    assert (graph.n_nodes, graph.genus) == (2, 1)
    path.write_text('{"edges": [[1, 2, 1.0], [true, 2, 2.0]]}\n')
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match="true"):
        tt.read(path)


def _both_ways(factor):
    streets = nx.MultiDiGraph()
    for u, v, length in ((0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0)):
        streets.add_edge(u, v, length=length)
        streets.add_edge(v, u, length=length * factor)
    return streets


def test_directions_that_differ_a_little_are_told_and_can_be_merged() -> None:
    """Opposite edges of nearly one length stay two with a warning, or become one of mean length if asked."""
    with pytest.warns(tt.DataWarning, match=r"3 pairs of opposite edges.*direction_tolerance"):
        kept = tt.as_metric_graph(_both_ways(1.001))
    assert kept.n_edges == 6
    with pytest.warns(tt.DataWarning, match="3 pairs .* merged"):
        merged = tt.as_metric_graph(_both_ways(1.001), direction_tolerance=0.01)
    assert merged.n_edges == 3
    assert np.allclose(np.sort(merged.length), [1.0005, 2.001, 3.0015])
    assert tt.as_metric_graph(_both_ways(1.5)).n_edges == 6


def test_limits_of_a_control_group_count(tmp_path) -> None:
    """The limit of a group above the process's own counts; cache that is given back is free."""
    group = tmp_path / "sys/fs/cgroup/jobs"
    (group / "mine").mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemAvailable: 9000000 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/jobs/mine\n")
    (group / "mine/memory.max").write_text("max\n")
    (group / "mine/memory.current").write_text("1000\n")
    (group / "memory.max").write_text("500000000\n")
    (group / "memory.current").write_text("300000000\n")
    (group / "memory.stat").write_text("anon 1\ninactive_file 50000000\n")
    assert _memory.available_bytes(tmp_path) == 250_000_000


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_the_limit_holds_for_what_parsing_takes(tmp_path) -> None:
    """Files of every format that would take hundreds of megabytes are refused within `max_bytes`."""
    paths = hostile.write_all(tmp_path)
    assert max(path.stat().st_size for path in paths) < 5_000_000
    command = [sys.executable, "-W", "ignore", hostile.__file__, str(LIMIT), *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    rows = [line.split(" ", 2) for line in run.stdout.splitlines()]
    assert [name for _, name, _ in rows] == [path.name for path in paths]
    over = {name: taken for taken, name, _ in rows if int(taken) > LIMIT + SLACK}
    assert not over
    for _, name, outcome in rows:
        assert outcome.startswith(f"RequestTooLargeError: '{name}: "), outcome
        assert "50 MB that are allowed; if you trust the file, raise" in outcome


def test_the_default_limit_is_half_of_the_memory_that_is_free(tmp_path, monkeypatch) -> None:
    """Without `max_bytes` the limit follows what is free; the error says so, and the option lifts it."""
    file = tmp_path / "roads.csv.gz"
    file.write_bytes(gzip.compress(b"u,v,length\n" + b"a,b,1\n" * 200_000))
    monkeypatch.setattr(_memory, "available_bytes", lambda: 10**7)
    with pytest.raises(
        tt.RequestTooLargeError,
        match=r"^roads.csv.gz: .* about .* more than the 5 MB that are allowed, half of what is free",
    ):
        tt.read(file)
    assert tt.read(file, max_bytes=10**9)[0].n_edges == 200_000
    monkeypatch.setattr(_memory, "available_bytes", lambda: None)
    assert tt.read(file)[0].n_edges == 200_000


def test_the_figure_is_that_of_the_whole_file(tmp_path) -> None:
    """From the part that was read the error tells what all of it would take."""
    file = tmp_path / "roads.csv"
    file.write_text("u,v,length\n" + "a,b,1\n" * 2_000_000)
    with pytest.raises(
        tt.RequestTooLargeError, match=r"takes about [12]\d\d MB of memory, more than the 20 MB"
    ):
        tt.read(file, max_bytes=2 * 10**7)


def test_all_files_that_are_too_large_are_in_one_error(tmp_path) -> None:
    """Each file that takes too much memory is named with its figure."""
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("u,v,length\n" + "a,b,1\n" * 10_000)
    with pytest.raises(tt.RequestTooLargeError, match=r"(?s)2 files cannot be read:.*a\.csv: .*b\.csv: "):
        tt.read(tmp_path, max_bytes=100_000)


def test_a_large_tu_set_is_refused_with_its_figure(tmp_path) -> None:
    """`read_tu` and `load_tu` take the same limit as `read`."""
    folder = tmp_path / "T"
    folder.mkdir()
    (folder / "T_graph_labels.txt").write_text("0\n" * 5000)
    (folder / "T_graph_indicator.txt").write_text("".join(f"{i + 1}\n" * 2 for i in range(5000)))
    (folder / "T_A.txt").write_text("".join(f"{2 * i + 1},{2 * i + 2}\n" for i in range(5000)))
    with pytest.raises(
        tt.RequestTooLargeError, match=r"^T: reading it takes about .* the 1 MB that are allowed"
    ):
        tt.datasets.load_tu(folder, lengths="unit", max_bytes=10**6)
    assert len(tt.datasets.load_tu(folder, lengths="unit", max_bytes=10**8).graphs) == 5000
