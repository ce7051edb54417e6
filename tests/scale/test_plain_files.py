"""Features and kernels as plain files."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pandas as pd
import pytest

import torelli as tt
from stores import write_lines
from torelli.scale import _plain_files, write_features, write_kernel
from torelli.scale._plain_files import work_folder

SIZE = {"n_features": 4, "depth": 1}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_format_has_the_same_numbers(graphs, tmp_path, dtype):
    """.zarr, .npy, .csv and .parquet hold the same numbers to the last bit, with names and labels."""
    labels = [f"label {i % 2}" for i in range(len(graphs))]
    path = write_lines(tmp_path / "graphs.jsonl", graphs, labels)
    X = np.asarray(write_features(path, tmp_path / "f.zarr", dtype=dtype, **SIZE))
    files = {
        end: write_features(path, tmp_path / f"f{end}", dtype=dtype, **SIZE)
        for end in (".npy", ".csv", ".parquet")
    }
    loaded = np.load(files[".npy"], mmap_mode="r")
    assert loaded.dtype == X.dtype
    assert loaded.tobytes() == X.tobytes()
    names = pd.read_csv(tmp_path / "f.rows.csv")
    assert names["id"].tolist() == [graph.name for graph in graphs]
    assert names["label"].tolist() == labels
    frame = pd.read_parquet(files[".parquet"])
    with files[".csv"].open() as file:
        head, *rows = list(csv.reader(file))
    assert list(frame.columns) == head
    assert frame["id"].tolist() == [row[0] for row in rows] == [graph.name for graph in graphs]
    assert frame["label"].tolist() == [row[1] for row in rows] == labels
    assert frame.iloc[:, 2:].to_numpy().tobytes() == X.tobytes()
    assert np.array([row[2:] for row in rows]).astype(dtype).tobytes() == X.tobytes()


def test_a_kernel_as_a_table_has_its_names_on_both_sides(graphs, tmp_path):
    """The header and the first column of the table are the names of the graphs."""
    path = write_kernel(graphs[:5], tmp_path / "k.csv", "tts")
    with path.open() as file:
        head, *rows = list(csv.reader(file))
    names = [graph.name for graph in graphs[:5]]
    assert head == ["id", *names]
    assert [row[0] for row in rows] == names
    K = np.asarray(write_kernel(graphs[:5], tmp_path / "k.zarr", "tts"))
    assert np.array_equal(np.array([row[1:] for row in rows], dtype=float), K)


def test_a_finished_file_is_not_made_again(graphs, tmp_path):
    """The same command finds its file; one that has changed since, or other options, are refused."""
    path = write_features(graphs[:9], tmp_path / "f.npy", **SIZE)
    before = path.stat().st_mtime_ns
    assert write_features(graphs[:9], tmp_path / "f.npy", **SIZE) == path
    assert path.stat().st_mtime_ns == before
    assert not (work_folder(path) / "features").exists()
    with pytest.raises(tt.StoreError, match="n_features is 4 there and 5 here"):
        write_features(graphs[:9], tmp_path / "f.npy", **{**SIZE, "n_features": 5})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(tt.StoreError, match=r"f\.npy was finished before, and is missing or has changed"):
        write_features(graphs[:9], tmp_path / "f.npy", **SIZE)
    write_features(graphs[:9], tmp_path / "f.npy", fresh=True, **SIZE)
    assert np.load(path).shape == (9, 12)


def test_a_finished_file_belongs_to_its_inputs(graphs, tmp_path):
    """Other, more or fewer graphs are refused, although the file is finished; it stays as it is."""
    path = write_features(graphs[:9], tmp_path / "f.npy", **SIZE)
    before = path.read_bytes()
    for others, problem in (
        ([*graphs[:8], graphs[20]], "made from other inputs: its row 8 is graph"),
        (graphs[:10], "has 9 graphs, and the inputs have more"),
        (graphs[:8], "was made from 9 graphs"),
    ):
        with pytest.raises(tt.StoreError, match=problem):
            write_features(others, path, **SIZE)
    assert path.read_bytes() == before


def test_a_flipped_bit_of_a_finished_file_is_seen_by_verify(graphs, tmp_path):
    """Numbers and names of a plain file are compared with their checksums if verify is asked for."""
    path = write_kernel(graphs[:9], tmp_path / "k.npy")
    assert write_kernel(graphs[:9], path, verify=True) == path
    for file in (path, tmp_path / "k.rows.csv"):
        sound = file.read_bytes()
        file.write_bytes(sound[:-2] + bytes([sound[-2] ^ 1]) + sound[-1:])
        with pytest.raises(tt.StoreError, match=rf"{file.name} was finished before, and is missing or has"):
            write_kernel(graphs[:9], path, verify=True)
        file.write_bytes(sound)


def test_a_kill_after_the_file_leaves_no_chunks_for_good(graphs, tmp_path, monkeypatch):
    """If a run ends between the plain file and the removal of its chunks, the next run removes them."""
    with monkeypatch.context() as patch:
        patch.setattr("torelli.scale._plain_files._remove_chunks", lambda _: sys.exit())
        with pytest.raises(SystemExit):
            write_features(graphs[:9], tmp_path / "f.npy", features="tts")
    folder = work_folder(tmp_path / "f.npy")
    assert (folder / "features").exists()
    write_features(graphs[:9], tmp_path / "f.npy", features="tts")
    assert not (folder / "features").exists()
    assert not (folder / "_torelli" / "data").exists()


def test_a_result_does_not_replace_its_input(tmp_path):
    """An input, by whatever path, or the graphs of a fit are never replaced, even by a fresh start."""
    path = tmp_path / "edges.csv"
    text = "source,target,length\na,b,1\nb,c,1\nc,a,2\n"
    for name in ("edges.csv", "fit.csv", "other.rows.csv"):
        (tmp_path / name).write_text(text)
    (tmp_path / "link.csv").symlink_to(path)
    for given, target, fit in (
        (path, path, None),
        (tmp_path / "link.csv", path, None),
        (str(tmp_path / "e*.csv"), tmp_path / "sub" / ".." / "edges.csv", None),
        (path, tmp_path / "fit.csv", tmp_path / "fit.csv"),
        (path, tmp_path / "fit.csv", [str(tmp_path / "f*.csv")]),
        (tmp_path / "other.rows.csv", tmp_path / "other.npy", None),
    ):
        (tmp_path / "sub").mkdir(exist_ok=True)
        with pytest.raises(tt.InvalidOptionError, match="is an input, which the result would replace"):
            write_features(given, target, fit=fit, fresh=True, **SIZE)
    assert {file.read_text() for file in tmp_path.glob("*.csv")} == {text}
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("target", "mine"), [("a.csv", "a.csv"), ("a.npy", "a.npy"), ("a.npy", "a.rows.csv")]
)
def test_a_file_of_somebody_else_is_only_replaced_on_request(graphs, tmp_path, target, mine):
    """A file that torelli did not write is kept without ``fresh``, and nothing is computed before."""
    (tmp_path / mine).write_text("mine")
    with pytest.raises(tt.StoreError, match="exists, and is no result that torelli knows"):
        write_features(graphs[:3], tmp_path / target, **SIZE)
    assert [path.name for path in tmp_path.iterdir()] == [mine]
    assert (tmp_path / mine).read_text() == "mine"
    for fresh in (True, False, True):
        assert write_features(graphs[:3], tmp_path / target, fresh=fresh, **SIZE).is_file()
    assert (tmp_path / mine).read_bytes() != b"mine"


def test_a_file_that_appears_during_the_run_is_kept(graphs, tmp_path):
    """A file that somebody writes while rows are computed is not replaced, and the run can continue."""

    def stream():
        yield from graphs[:3]
        (tmp_path / "a.csv").write_text("mine")

    with pytest.raises(tt.StoreError, match="exists, and is no result"):
        write_features(stream(), tmp_path / "a.csv", **SIZE)
    assert (tmp_path / "a.csv").read_text() == "mine"
    (tmp_path / "a.csv").unlink()
    assert write_features(graphs[:3], tmp_path / "a.csv", **SIZE).is_file()


@pytest.mark.parametrize("fresh", [True, False])
def test_a_run_that_was_stopped_may_replace_what_it_wrote(graphs, tmp_path, monkeypatch, fresh):
    """A file that a killed run wrote, or was to replace after ``fresh``, is replaced by the next run."""
    place = _plain_files.place

    def killed(root, target, write):
        if fresh or target.suffix == ".csv":
            place(root, target, write)
        if target.suffix == ".npy" or fresh:
            raise KeyboardInterrupt

    if fresh:
        (tmp_path / "a.npy").write_text("mine")
    monkeypatch.setattr(_plain_files, "place", killed)
    with pytest.raises(KeyboardInterrupt):
        write_features(graphs[:3], tmp_path / "a.npy", fresh=fresh, **SIZE)
    monkeypatch.undo()
    path = write_features(graphs[:3], tmp_path / "a.npy", **SIZE)
    assert np.load(path).shape[0] == 3


def test_a_folder_with_the_name_of_the_result_is_refused_at_once(graphs, tmp_path):
    """A folder where the file is to be is an error before anything is computed."""
    (tmp_path / "a.csv").mkdir()
    (tmp_path / "b.rows.csv").mkdir()
    for name in ("a.csv", "b.npy"):
        with pytest.raises(tt.StoreError, match="is a folder"):
            write_features(graphs[:3], tmp_path / name, fresh=True, **SIZE)
    assert not list(tmp_path.glob(".*"))
