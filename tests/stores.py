"""Small graphs for stores, what a store holds, and damage to its files."""

from __future__ import annotations

import numpy as np

import torelli as tt
from torelli.io.jsonlines import json_line

_PASSING = {"lock", "journal.jsonl"}  # who writes, and in which order files were finished


def small_graphs(count, seed=0):
    """Return graphs with two to seven cycles and lengths in metres, each with a name."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(count):
        n_nodes = int(rng.integers(3, 7))
        around = np.arange(n_nodes)
        chords = rng.integers(0, n_nodes, (int(rng.integers(1, 7)), 2))
        tail = np.concatenate([around, chords[:, 0]])
        head = np.concatenate([(around + 1) % n_nodes, chords[:, 1]])
        length = rng.uniform(1.0, 9.0, len(tail))
        graphs.append(tt.MetricGraph(tail, head, length, n_nodes, name=f"g{seed}-{i}", unit="m"))
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


def damage(root, rng):
    """Damage a random file of a store in a random way; return what was done.

    A bit flips, the file is cut, lost or extended, a page of it becomes zeros, or random bytes replace some.
    """
    path = rng.choice(sorted(path for path in root.rglob("*") if path.is_file() and path.name != "lock"))
    content = bytearray(path.read_bytes())
    start = rng.randrange(max(len(content), 1))
    kind = rng.choice(["flip", "flip", "cut", "delete", "zeros", "noise", "longer"])
    if kind == "flip" and content:
        content[start] ^= 1 << rng.randrange(8)
    elif kind == "cut":
        del content[start:]
    elif kind == "zeros":
        stop = min(start + 4096, len(content))
        content[start:stop] = bytes(stop - start)
    elif kind == "noise":
        stop = min(start + rng.randrange(1, 50), len(content))
        content[start:stop] = rng.randbytes(stop - start)
    elif kind == "longer":
        content += rng.randbytes(rng.randrange(1, 50))
    if kind == "delete":
        path.unlink()
    else:
        path.write_bytes(content)
    return f"{path.relative_to(root)}: {kind} at {start:,}"


def served(path, kind):
    """Return what a reader of a store sees: names, labels, numbers and what belongs to them."""
    store = tt.open_features(path) if kind == "features" else tt.open_kernel(path)
    numbers = np.asarray(store)
    if kind == "kernel":
        return store.ids.tolist(), store.labels, numbers, [store.gamma]
    learned = []
    if store.options["features"] == "measure":
        transformer = store.transformer()
        learned = [transformer.location_.tolist(), transformer.spread_.tolist(), store.columns]
    return store.ids.tolist(), store.labels, numbers, learned


def check_damaged(path, kind, clean):
    """Raise unless a damaged store gives an error that names the remedy, or rows of the clean store.

    Where the end of the journal is lost, the store is one that is not complete, and has its first rows.
    """
    try:
        ids, labels, numbers, rest = served(path, kind)
    except tt.TorelliError as error:
        remedies = ("--verify", "--fresh", "is not a store", "not finished")
        if not any(remedy in str(error) for remedy in remedies):
            raise AssertionError(f"an error without a remedy: {error}") from error
        return False
    n = len(ids)
    assert ids == clean[0][:n]
    assert (labels is None and (clean[1] is None or not n)) or labels.tolist() == clean[1][:n].tolist()
    expected = clean[2][:n, :n] if kind == "kernel" else clean[2][:n]
    assert np.array_equal(numbers, expected) or not n
    assert not n or rest == clean[3]
    return True
