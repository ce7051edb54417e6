"""Limits and options of readers: memory, node ids, directions and units."""

from __future__ import annotations

import gzip
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import torelli as tt
from torelli import _memory


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


def test_mixed_units_are_refused_and_can_be_converted() -> None:
    """Graphs in metres beside graphs in kilometres are no list to compare; in one unit they are."""
    in_metres = tt.MetricGraph([0, 0], [1, 1], [1000.0, 2000.0], unit="m")
    in_kilometres = tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0], unit="km")
    for compute in (tt.torelli_matrices, tt.TTWKernel().fit):
        with pytest.raises(tt.InvalidGraphError, match="km"):
            compute([in_metres, in_kilometres])
    Q, R = tt.torelli_matrices([in_metres, in_kilometres.to_unit("m")])
    assert np.array_equal(Q, R)
    with pytest.raises(tt.InvalidOptionError, match="degree"):
        in_metres.replace(unit="degrees").to_unit("m")


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
