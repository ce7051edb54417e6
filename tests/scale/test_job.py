"""One call that writes a store: its arguments, its rows, and what later runs compare."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import torelli as tt
from stores import content, small_graphs, write_lines
from torelli.scale import FeatureStore, KernelStore, write_features, write_kernel
from torelli.scale._job import memory_of

SIZE = {"n_features": 4, "depth": 1}
MEMORY = """
import sys, tracemalloc
from pathlib import Path
from torelli.scale import write_features
write_features(sys.argv[1], sys.argv[2] + "/warm.zarr", n_features=4)
tracemalloc.start()
write_features([sys.argv[1]] * int(sys.argv[3]), sys.argv[2] + "/f.zarr", n_features=4)
print(tracemalloc.get_traced_memory()[1])
"""
PEAK = """
import sys
from torelli.cli import main
assert main(sys.argv[1:]) == 0
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say the peak memory")
@pytest.mark.parametrize(
    ("command", "count"),
    [
        (["features", "--n-features", "8"], 700),
        (["features", "--features", "tts"], 700),
        (["kernel", "--kernel", "tts"], 300),
    ],
    ids=["measure", "spectra", "kernel"],
)
@pytest.mark.parametrize("ending", [".zarr", ".npy"])
def test_the_peak_memory_of_a_command_does_not_grow_with_the_graphs(tmp_path, command, count, ending):
    """Ten times the graphs take at most the bytes by which a plain file is written, and 20 MB for names."""
    peaks = []
    graphs = small_graphs(count)
    for times in (1, 10):
        inputs = write_lines(tmp_path / f"{times}.jsonl", graphs * times)
        arguments = [*command, inputs, "-o", tmp_path / f"{times}{ending}", "--memory", "500MB"]
        run = subprocess.run(  # noqa: S603  (ourselves)
            [sys.executable, "-c", PEAK, *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert not run.returncode, run.stderr
        peaks.append(1024 * int(run.stdout.splitlines()[-1]))
    assert peaks[1] - peaks[0] < 500e6 / 8 + 20e6


@pytest.mark.parametrize("write", [write_features, write_kernel])
def test_options_that_do_not_fit_are_refused_before_anything_is_written(graphs, tmp_path, write):
    """Endings, types, appending to a plain file and too little memory are errors of both functions."""
    for name, options, problem in (
        ("x.txt", {}, "give a name that ends in"),
        ("x.zarr", {"dtype": "int8"}, "dtype is 'int8'"),
        ("x.npy", {"append": True}, "only a store, whose name ends in .zarr, can be appended to"),
        ("x.zarr", {"append": True, "fresh": True}, "use one of --append and --fresh"),
        ("x.zarr", {"memory": 10}, "memory is 10"),
    ):
        with pytest.raises(tt.InvalidOptionError, match=problem):
            write(graphs[:3], tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_the_result_is_a_store_or_the_path_of_a_file(graphs, tmp_path):
    """The ending decides, also when the result is there already."""
    for _ in range(2):
        assert isinstance(write_features(graphs[:3], tmp_path / "f.zarr", n_features=2), FeatureStore)
        assert isinstance(write_kernel(graphs[:3], tmp_path / "k.zarr", "tts"), KernelStore)
        path = write_kernel(graphs[:3], tmp_path / "k.npy", "tts")
        assert np.load(path).shape == (3, 3)


def test_memory_is_checked():
    """A limit is a number of bytes of at least half a gigabyte; without one there is a default."""
    assert memory_of(2e9) == 2_000_000_000
    assert memory_of(None) >= 5 * 10**8
    assert memory_of(np.int64(10**9)) == 10**9
    for wrong in (1000, "2GB", True, -1, np.nan, np.inf):
        with pytest.raises(tt.InvalidOptionError, match="memory is"):
            memory_of(wrong)


def test_options_may_be_numbers_of_numpy(tmp_path):
    """They are stored as numbers, and the same store is found again."""
    rings = [tt.MetricGraph([0], [0], [float(length)]) for length in (1, 4, 9)]
    options = {"seed": np.int64(2), "depth": np.int64(1), "frequency": np.float32(2), "tile": np.int64(2)}
    one = write_kernel(rings, tmp_path / "k.zarr", "ttm", dtype=np.float32, **options)
    plain = {name: value.item() for name, value in options.items()}
    two = write_kernel(rings, tmp_path / "k.zarr", "ttm", dtype="float32", **plain)
    assert one.dtype == two.dtype == np.float32
    assert np.array_equal(np.asarray(one), np.asarray(two))
    assert write_features(rings, tmp_path / "f.zarr", dtype=np.dtype("float32"), **SIZE).dtype == np.float32


def test_what_is_no_input_is_an_error(tmp_path):
    """A single graph, a number and an empty name are named; so are numbers of graphs to fit to."""
    ring = tt.MetricGraph([0], [0], [1.0])
    for wrong in (None, 5, ring):
        with pytest.raises(tt.InvalidOptionError, match="give a path, a list of paths, or a list of graphs"):
            write_features(wrong, tmp_path / "f.zarr")
    with pytest.raises(tt.DataNotFoundError, match="the name of a file is empty"):
        write_features("", tmp_path / "f.zarr")
    for wrong in (-1, 0, 1.5, None, True):
        with pytest.raises(tt.InvalidOptionError, match="n_fit is"):
            write_features([ring], tmp_path / "f.zarr", n_fit=wrong)


def test_an_append_that_was_stopped_goes_on_with_its_own_inputs(tmp_path):
    """Other graphs cannot be appended before, and the same ones complete it."""
    graphs = small_graphs(600)
    write_features(graphs[:10], tmp_path / "f.zarr", n_fit=10, **SIZE)

    def broken():
        yield from graphs[10:590]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_features(broken(), tmp_path / "f.zarr", append=True, n_fit=10, **SIZE)
    with pytest.raises(tt.StoreError, match="graphs of graphs were being appended; run that command again"):
        write_features(graphs[100:200], tmp_path / "f.zarr", append=True, n_fit=10, **SIZE)
    store = write_features(graphs[10:], tmp_path / "f.zarr", append=True, n_fit=10, **SIZE)
    assert store.ids.tolist() == [graph.name for graph in graphs]


@pytest.mark.parametrize("write", [write_features, write_kernel])
def test_an_append_that_cannot_be_read_leaves_the_store_as_it_was(tmp_path, write):
    """After inputs without graphs, or with a bad line, the store is complete and other inputs are taken."""
    options = SIZE if write is write_features else {"tile": 8}
    one, two = (write_lines(tmp_path / f"{i}.jsonl", small_graphs(9, seed=i)) for i in range(2))
    store = write(one, tmp_path / "s.zarr", **options)
    before = content(store.path)
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "bad.jsonl").write_text(two.read_text() + '{"edges": 3}\n')
    for name, problem in (("empty", "the inputs have no graphs"), ("bad", r"bad\.jsonl, line 10: ")):
        with pytest.raises((tt.StoreError, tt.FormatError), match=problem):
            write(tmp_path / f"{name}.jsonl", store.path, append=True, **options)
        store.refresh()
        assert store.is_complete
        assert content(store.path) == before
    assert write(one, store.path, **options).is_complete
    assert len(write(two, store.path, append=True, **options)) == 18


def test_features_are_not_fitted_to_inputs_that_could_not_be_read(tmp_path):
    """If the first inputs fail before a row is there, others give the numbers of a new store."""
    bad = write_lines(tmp_path / "bad.jsonl", small_graphs(9, seed=5))
    bad.write_text(bad.read_text() + '{"edges": 3}\n')
    with pytest.raises(tt.FormatError, match="line 10"):
        write_features(bad, tmp_path / "f.zarr", n_fit=5, **SIZE)
    graphs = small_graphs(9)
    write_features(graphs, tmp_path / "f.zarr", n_fit=5, **SIZE)
    write_features(graphs, tmp_path / "once.zarr", n_fit=5, **SIZE)
    assert content(tmp_path / "f.zarr") == content(tmp_path / "once.zarr")


@pytest.mark.parametrize("write", [write_features, write_kernel])
def test_nothing_is_appended_to_what_does_not_exist(graphs, tmp_path, write):
    """A wrong name is an error that makes no store."""
    with pytest.raises(tt.StoreError, match=r"x\.zarr does not exist: make it first, without --append"):
        write(graphs[:3], tmp_path / "x.zarr", append=True)
    assert not list(tmp_path.iterdir())


def test_nothing_is_appended_to_what_is_not_complete(tmp_path):
    """A store whose first run was stopped is completed by that run."""
    graphs = small_graphs(300)

    def broken():
        yield from graphs[:280]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_features(broken(), tmp_path / "f.zarr", n_fit=10, **SIZE)
    with pytest.raises(tt.StoreError, match=r"f\.zarr is not complete: run the command that makes it again"):
        write_features(graphs, tmp_path / "f.zarr", append=True, n_fit=10, **SIZE)


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ("id", "a\0", r"the id 'a\\x00' has a NUL character; change the id"),
        ("id", "\ud800", r"the id '\\ud800' has half of a surrogate pair, .*; change the id"),
        ("label", "a\0", r"the label 'a\\x00' has a NUL character; change the label"),
        ("label", "\udfff", r"the label '\\udfff' has half of a surrogate pair"),
    ],
)
@pytest.mark.parametrize("name", ["f.zarr", "f.csv", "f.parquet"])
def test_names_that_a_result_cannot_keep_are_refused_when_they_are_read(tmp_path, field, text, problem, name):
    """An id or label that arrays of text would shorten, or could not hold, is an error with its line."""
    line = {"id": "a", "label": "b", "edges": [[0, 0, 1.5]], field: text}
    (tmp_path / "a.jsonl").write_text('{"edges": [[0, 0, 2.5]]}\n' + json.dumps(line) + "\n")
    with pytest.raises(tt.FormatError, match=rf"a\.jsonl, line 2: {problem}"):
        write_features(tmp_path / "a.jsonl", tmp_path / name, **SIZE)
    graph = tt.MetricGraph([0], [0], [1.5], name="a\0")
    with pytest.raises(tt.FormatError, match=r"graph 0: a\\0: the id 'a\\x00' has a NUL"):
        write_features([graph], tmp_path / "graph.zarr", **SIZE)


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are always text")
def test_files_whose_names_are_not_text_are_refused_as_names(tmp_path):
    """The name of a file that is not valid text is an error if it becomes an id, and else does not matter."""
    path = tmp_path / os.fsdecode(b"\xff.jsonl")
    path.write_text('{"id": "a", "edges": [[0, 0, 1.5]]}\n')
    assert write_features(path, tmp_path / "f.zarr", features="tts").ids.tolist() == ["a"]
    path.write_text('{"edges": [[0, 0, 1.5]]}\n')
    with pytest.raises(tt.FormatError, match="has half of a surrogate pair, which is no character"):
        write_features(path, tmp_path / "g.zarr", features="tts")


def test_inputs_without_graphs_are_refused(tmp_path):
    """A store of nothing is an error."""
    with pytest.raises(tt.StoreError, match="the inputs have no graphs"):
        write_features([], tmp_path / "f.zarr", features="tts")
    with pytest.raises(tt.StoreError, match="has no graphs yet: make it first, without --append"):
        write_features(small_graphs(3), tmp_path / "f.zarr", features="tts", append=True)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_graphs(tmp_path):
    """Twenty times as many graphs take the same memory but for their names."""
    path = write_lines(tmp_path / "a.jsonl", small_graphs(500))
    peaks = []
    for times in (1, 20):
        (tmp_path / str(times)).mkdir()
        command = [sys.executable, "-c", MEMORY, str(path), str(tmp_path / str(times)), str(times)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        peaks.append(int(run.stdout))
    assert peaks[1] < peaks[0] + 300 * 10_000
