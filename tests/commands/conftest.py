"""Small collections with labels, as files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import torelli as tt
from torelli.io.jsonlines import json_line


@pytest.fixture(scope="module")
def windows():
    """Return small windows of four patterns, and the pattern of each."""
    data = tt.datasets.street_patterns(3, radius=150, seed=0)
    return data.graphs, np.asarray(data.target_names)[data.y].tolist()


@pytest.fixture
def lines(windows, tmp_path):
    """Return a file of JSON lines whose objects have a label and a pattern."""
    path = tmp_path / "windows.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for graph, label in zip(*windows, strict=True):
            file.write(json_line(graph, label=label, pattern=f"is {label}") + "\n")
    return path


@pytest.fixture
def folder(windows, tmp_path):
    """Return a folder of edge lists with a table of labels among them."""
    home = tmp_path / "windows"
    home.mkdir()
    rows = ["place,file,kind"]
    for i, (graph, label) in enumerate(zip(*windows, strict=True)):
        name = f"window{i}"
        (home / f"{name}.jsonl").write_text(json_line(graph) + "\n")
        rows.append(f"{100 - i},{name}.jsonl,{label}")
    (home / "labels.csv").write_text("\n".join(rows) + "\n")
    return home
