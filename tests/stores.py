"""Small graphs for stores, what a store holds, and a store that is killed while it is written."""

from __future__ import annotations

import numpy as np

import torelli as tt
from torelli.io.jsonlines import json_line

_PASSING = {"lock", "journal.jsonl"}  # who writes, and in which order files were finished


def small_graphs(count, seed=0):
    """Return graphs with two to seven cycles and lengths in metres, each with a name."""
    rng = np.random.default_rng(seed)
    graphs = []
    for number in range(count):
        n_nodes = int(rng.integers(3, 7))
        around = np.arange(n_nodes)
        chords = rng.integers(0, n_nodes, (int(rng.integers(1, 7)), 2))
        tail = np.concatenate([around, chords[:, 0]])
        head = np.concatenate([(around + 1) % n_nodes, chords[:, 1]])
        length = rng.uniform(1.0, 9.0, len(tail))
        graphs.append(tt.MetricGraph(tail, head, length, n_nodes, name=f"g{seed}-{number}", unit="m"))
    return graphs


def write_lines(path, graphs, labels=None):
    """Write graphs as JSON lines, with labels if there are any."""
    fields = [{}] * len(graphs) if labels is None else [{"label": label} for label in labels]
    lines = [json_line(graph, **field) for graph, field in zip(graphs, fields, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def content(root, *, result_only=False):
    """Return the files of a store by path; `result_only` leaves out what is kept beside the result."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and path.name not in _PASSING
        and not (result_only and "_torelli" in path.relative_to(root).parts)
    }
