"""Plain files from stores."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pandas as pd
import pytest

import torelli as tt
from stores import write_lines
from torelli.scale import write_features, write_kernel
from torelli.scale._outputs import work_folder

SIZE = {"n_features": 4, "depth": 1}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_format_has_the_same_numbers(graphs, tmp_path, dtype):
    """.zarr, .npy, .csv and .parquet hold the same numbers to the last bit, with names and labels."""
    labels = [f"label {number % 2}" for number in range(len(graphs))]
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
        patch.setattr("torelli.scale._outputs._remove_chunks", lambda _: sys.exit())
        with pytest.raises(SystemExit):
            write_features(graphs[:9], tmp_path / "f.npy", features="tts")
    folder = work_folder(tmp_path / "f.npy")
    assert (folder / "features").exists()
    write_features(graphs[:9], tmp_path / "f.npy", features="tts")
    assert not (folder / "features").exists()
    assert not (folder / "_torelli" / "data").exists()
