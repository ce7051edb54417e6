"""Where distances go, how far they are, and what stops them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import networkx as nx
import numpy as np
import pytest

import torelli as tt
from strategies import random_psd
from torelli import _memory
from torelli._numerics import threads
from torelli.distances import squared_vector_distances, squared_vector_products

METRICS = sorted(tt.METRICS)


def matrices(n=30, seed=0, largest=40):
    rng = np.random.default_rng(seed)
    return [random_psd(rng, int(size)) for size in rng.integers(0, largest, size=n)]


@pytest.mark.parametrize("metric", METRICS)
def test_distances_go_into_the_array_that_is_given(metric, tmp_path):
    """An array or memory map is filled and returned; float32 keeps seven digits of the float64 result."""
    Qs = matrices()
    expected = tt.pairwise_distances(Qs, metric=metric)
    for out in (
        np.full((30, 30), np.nan),
        np.memmap(tmp_path / "d.bin", dtype=np.float64, mode="w+", shape=(30, 30)),
    ):
        assert tt.pairwise_distances(Qs, metric=metric, out=out) is out
        assert np.array_equal(out, expected)
    small = tt.pairwise_distances(Qs, metric=metric, out=np.empty((30, 30), dtype=np.float32))
    assert small.dtype == np.float32
    assert np.allclose(small, expected, rtol=2e-7, atol=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("squared", [False, True])
def test_single_precision_errs_by_less_than_it_says(metric, squared):
    """float32 keeps five digits: of matrices far apart in scale, nearly equal, empty, and of many sizes."""
    Qs = matrices(20, largest=130)
    Qs += [Qs[3] * 1e-12, Qs[4] * 1e12, Qs[5] * 1e-12, Qs[6] * 1.001, Qs[7] * (1 + 1e-9), Qs[8]]
    expected = tt.pairwise_distances(Qs, metric=metric, squared=squared)
    for n_jobs in (1, 2):
        computed = tt.pairwise_distances(Qs, metric=metric, squared=squared, dtype="float32", n_jobs=n_jobs)
        assert computed.dtype == np.float32
        assert np.allclose(computed, expected, rtol=1e-5, atol=0)
        assert np.array_equal(computed, computed.T)
    blocks = tt.pairwise_distances_chunked(Qs, Qs[:9], metric, squared=squared, dtype="float32")
    assert np.allclose(np.concatenate(list(blocks)), expected[:, :9], rtol=1e-5, atol=0)


def test_single_precision_is_only_for_floats():
    """Another type is refused by name."""
    for dtype in ("float16", "int32", "single precision"):
        with pytest.raises(tt.InvalidOptionError, match=f"dtype is '{dtype}': use 'float64' or 'float32'"):
            tt.pairwise_distances(matrices(3), dtype=dtype)


@pytest.mark.parametrize("out", [np.empty((3, 2)), np.empty((3, 3), dtype=int), [[0.0]]])
def test_an_array_that_does_not_fit_is_refused(out):
    """Shape and type are checked before anything is computed."""
    with pytest.raises(tt.InvalidOptionError, match="array of floats of shape"):
        tt.pairwise_distances(matrices(3), out=out)


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_of_rows_make_up_the_whole(metric):
    """The chunked form yields the rows of the full matrix in order, or what a function makes of them."""
    Qs = matrices()
    full = tt.pairwise_distances(Qs, metric=metric)
    megabytes = 7 * 30 * 8 / 2**20
    blocks = list(tt.pairwise_distances_chunked(Qs, metric=metric, working_memory=megabytes))
    assert [len(block) for block in blocks] == [7, 7, 7, 7, 2]
    assert np.allclose(np.concatenate(blocks), full, rtol=1e-9, atol=1e-12 * full.max())
    nearest = tt.pairwise_distances_chunked(
        Qs,
        metric=metric,
        working_memory=megabytes,
        reduce_func=lambda block, start: (start, block.argmin(axis=1)),
    )
    assert [start for start, _ in nearest] == [0, 7, 14, 21, 28]


@pytest.mark.parametrize("metric", METRICS)
def test_graphs_are_compared_by_their_torelli_matrices(metric):
    """Graphs of any library give the distances of their matrices, in blocks and with options too."""
    theta, loop = nx.MultiGraph([(0, 1, {"length": n}) for n in (1, 2, 3)]), tt.MetricGraph([0], [0], [4.0])
    lasso = [("a", "a", 1.0), ("a", "b", 5.0)]
    graphs = [theta, loop, lasso]
    for options in ({}, {"bridges": "double"}):
        Qs = tt.torelli_matrices(graphs, **options)
        expected = tt.pairwise_distances(Qs, metric=metric)
        assert np.array_equal(tt.pairwise_distances(graphs, metric=metric, **options), expected)
        assert np.array_equal(tt.pairwise_distances(graphs, graphs[:1], metric, **options), expected[:, :1])
        assert tt.distance(theta, lasso, metric, **options) == expected[0, 2]
        blocks = tt.pairwise_distances_chunked(graphs, metric=metric, working_memory=1e-6, **options)
        assert np.array_equal(np.vstack(list(blocks)), expected)


def test_graphs_and_matrices_are_not_mixed():
    """A mixture, a graph instead of a list, and options of graphs for matrices are refused."""
    loop = tt.MetricGraph([0], [0], [4.0])
    with pytest.raises(tt.InvalidMatrixError, match="some of the list are graphs and some matrices"):
        tt.distance(loop, np.eye(2))
    with pytest.raises(tt.InvalidOptionError, match="single graph where a list"):
        tt.pairwise_distances(loop)
    with pytest.raises(tt.InvalidOptionError, match="bridges: only for distances between graphs"):
        tt.pairwise_distances([np.eye(2)], bridges="double")


def test_trees_are_told_that_cycles_see_nothing():
    """Trees are at distance 0, with a warning at the caller's line that names what tells them apart."""
    trees = [tt.MetricGraph([0], [1], [float(n)]) for n in (1, 2)]
    with pytest.warns(tt.DataWarning, match="all 2 graphs have no cycles.*bridges='double'.*'ttm'") as caught:
        assert tt.distance(*trees) == 0.0
    assert [one.filename for one in caught] == [__file__]
    assert tt.distance(*trees, bridges="double") > 0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_progress_is_told_from_0_to_1(metric, n_jobs):
    """A callback hears an ascending part of the work that ends at 1."""
    heard = []
    tt.pairwise_distances(matrices(), metric=metric, n_jobs=n_jobs, verbose=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(1.0)


def test_the_progress_line_counts_work_not_pairs(capsys, monkeypatch):
    """The line shows the part done and the time that is left, and stays silent for what is quick."""
    clock = iter([0.0, 0.5, 2.0, 4.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    line = threads.ProgressLine("ttw")
    line(0.1)
    assert capsys.readouterr().err == ""
    line(0.25)
    assert "25%, 6 s left" in capsys.readouterr().err
    line(1.0)
    assert capsys.readouterr().err.endswith("100%, 4 s         \n")


def test_the_progress_line_does_not_count_the_wait_for_the_first_piece(capsys, monkeypatch):
    """After a minute of compilation for 1 %, 9 % in 9 s leave 90 s, and not ten minutes."""
    clock = iter([0.0, 60.0, 69.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    line = threads.ProgressLine("ttw")
    line(0.01)
    assert "left" not in capsys.readouterr().err
    line(0.10)
    assert "10%, 90 s left" in capsys.readouterr().err


def test_the_progress_line_promises_no_time_before_anything_is_done(capsys, monkeypatch):
    """At 0 % the line shows the part done alone."""
    clock = iter([0.0, 2.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    threads.ProgressLine("ttw")(0.0)
    assert capsys.readouterr().err.strip() == "ttw:   0%"


def test_what_cannot_fit_is_refused_before_it_starts(monkeypatch):
    """The error has the figure and the option that helps, for matrices, distances and kernels."""
    ring = tt.MetricGraph([0] * 400, [1] * 400, np.linspace(1, 2, 400))
    Qs = [np.eye(1)] * 500
    monkeypatch.setattr(_memory, "available_bytes", lambda: 1_000_000)
    with pytest.raises(tt.RequestTooLargeError, match=r"1\.27 MB, 1 MB are free: use max_genus .*399"):
        tt.torelli_matrix(ring)
    assert tt.torelli_matrix(ring, max_genus=100).shape == (100, 100)
    with pytest.raises(tt.RequestTooLargeError, match=r"2 MB.*out=numpy\.memmap"):
        tt.pairwise_distances(Qs)
    with pytest.raises(MemoryError, match="kernel matrix"):
        tt.TTSKernel().fit([tt.MetricGraph([0], [0], [1.0 + i]) for i in range(300)])


def test_free_memory_is_known_here():
    """On Linux the free memory is a plausible number; where nothing is known nothing is refused."""
    if sys.platform == "linux":
        assert 10**6 < _memory.available_bytes() < 10**15
    assert _memory.size(1.5e9) == "1.5 GB"
    assert _memory.size(2.5e15) == "2.5e+03 TB"


_INTERRUPTED = """
import sys, numpy as np, torelli as tt
rng = np.random.default_rng(0)
A = rng.standard_normal((600, 160, 160))  # the distances take minutes
Qs = list(A @ A.transpose(0, 2, 1) + np.eye(160))
tt.pairwise_distances(Qs[:3])
print("ready", flush=True)
tt.pairwise_distances(Qs, n_jobs=int(sys.argv[1]))
print("finished", flush=True)
"""


@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_ctrl_c_stops_long_before_the_end(n_jobs):
    """An interrupted computation ends with KeyboardInterrupt, and leaves no process behind."""
    process = subprocess.Popen(  # noqa: S603  (our own script)
        [sys.executable, "-c", _INTERRUPTED, n_jobs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    assert "finished" not in out


_PEAK = """
import json, resource, sys, numpy as np, torelli as tt
rng = np.random.default_rng(0)
A = rng.standard_normal((500, 250, 250))
Qs = list(A @ A.transpose(0, 2, 1) + np.eye(250))
del A
small = [Q[:k, :k].copy() for Q, k in zip(Qs, rng.integers(1, 40, size=500))]
tt.pairwise_distances(small[:9], metric=sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
# a large side that has to be read and packed, and a small one that keeps it quick
tt.pairwise_distances(Qs, small, metric=sys.argv[1], n_jobs=2)
print(json.dumps((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))
"""


@pytest.mark.parametrize("metric", METRICS)
def test_memory_beyond_input_and_output_is_bounded(metric):
    """A quarter of a gigabyte of matrices needs far less than the stated gigabyte besides."""
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", _PEAK, metric], capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) < 300


@pytest.mark.parametrize("n", [0, 1, 7, 300])
@pytest.mark.parametrize("others", [None, 2, 290])
def test_distances_of_vectors_by_products_are_those_by_differences(n, others):
    """Products give nine digits even for near pairs, exact zeros for equal rows, and exact symmetry."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 40)) + 3.0
    if n > 6:
        X[3], X[4] = X[1], X[1] + 1e-7 * rng.standard_normal(40)
        X[5] = X[1] * (1.0 + 1e-12)  # the same to rounding
    Y = None if others is None else np.concatenate([X[:1], rng.standard_normal((others, 40))])
    squared = squared_vector_products(X, Y, n_jobs=2)
    np.testing.assert_allclose(squared, squared_vector_distances(X, Y), rtol=1e-9, atol=0.0)
    np.testing.assert_array_equal(squared, squared_vector_products(X, Y, n_jobs=1))
    if Y is None:
        np.testing.assert_array_equal(squared, squared.T)
        assert not squared.diagonal().any()
    if n > 6 and Y is None:
        assert squared[1, 3] == squared[1, 5] == 0.0
        assert squared[1, 4] > 0.0


def test_distances_of_equal_vectors_are_zero():
    """A list of one vector many times, each pair of which cancels, has no distance."""
    X = np.tile(np.random.default_rng(0).standard_normal(30), (700, 1))
    assert not squared_vector_products(X, None).any()


@pytest.mark.parametrize("squared_distances", [squared_vector_distances, squared_vector_products])
def test_vectors_whose_norms_overflow_are_not_equal(squared_distances):
    """Distances beyond the range of floats are infinite, and only those of equal vectors are 0."""
    X = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 1.0], [1.0, 2.0]])
    expected = [[0.0, np.inf, 1.0, np.inf], [np.inf, 0.0, np.inf, np.inf]]
    np.testing.assert_array_equal(squared_distances(X, None)[:2], expected)
    np.testing.assert_array_equal(squared_distances(X, X[:2]).T, expected)


def test_a_kernel_between_vectors_is_no_metric_between_matrices():
    """TTM is no metric between matrices: the error names the classes that compute it."""
    rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0)]
    message = (
        "'ttm' is a distance between vectors.*: use TTMKernel or MeasureFeatures; .* 'ttw', 'tte', 'tts'"
    )
    with pytest.raises(tt.InvalidOptionError, match=message):
        tt.distance(*rings, "ttm")
    with pytest.raises(tt.InvalidOptionError, match=message):
        tt.pairwise_distances(rings, metric="ttm")
    with pytest.raises(tt.InvalidOptionError, match="unknown metric 'tt': use one of 'ttw'"):
        tt.distance(*rings, "tt")
