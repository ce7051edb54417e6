"""Rows from pieces: independence of the graphs beside, and of how they are batched."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from stores import content, small_graphs, write_lines
from torelli.scale import _rows, write_features, write_kernel
from torelli.scale._rows import Index, RowFeatures, as_npy, data_path, from_npy


def test_no_bit_of_a_row_depends_on_the_graphs_beside_it(graphs):
    """A graph has the same features alone and in a list, bit for bit, in both precisions."""
    for along in ("junctions", "currents"):
        for dtype in ("float64", "float32"):
            transformer = RowFeatures(along=along, dtype=dtype, n_features=32).fit(graphs)
            rows = transformer.transform(graphs[:40])
            for graph, row in zip(graphs[:40], rows, strict=True):
                assert transformer.transform([graph])[0].tobytes() == row.tobytes()


def test_batches_do_not_matter(graphs, tmp_path, monkeypatch):
    """The size of batches changes no byte of features, and no value of a kernel."""
    for name, edges, numbers in (("large", 10**6, 10**6), ("small", 30, 40)):
        monkeypatch.setattr(_rows, "_BATCH_EDGES", edges)
        monkeypatch.setattr(_rows, "_BATCH_NUMBERS", numbers)
        write_features(graphs[:60], tmp_path / f"f{name}.zarr", n_features=4)
        write_kernel(graphs[:60], tmp_path / f"k{name}.zarr", tile=16)
    for kind in "fk":
        large, small = (tmp_path / f"{kind}{name}.zarr" for name in ("large", "small"))
        assert content(large, result_only=True) == content(small, result_only=True)


def test_an_index_finds_every_row():
    """Vectors and matrices of any sizes are found in files of any number of rows."""
    rng = np.random.default_rng(0)
    size = rng.integers(0, 5, 20)
    for square in (False, True):
        values = [rng.random((n, n) if square else n) for n in size.tolist()]
        parts, files = [], {}
        for start, stop, counts in ((0, 8, [3, 5]), (8, 12, [4]), (12, 20, [1, 1, 6])):
            parts.append((start, {"size": size[start:stop].tolist(), "files": counts}))
            row = start
            for i, n_rows in enumerate(counts):
                flat = np.concatenate([np.ravel(one) for one in values[row : row + n_rows]])
                files[data_path(start, i)] = from_npy(as_npy(flat))
                row += n_rows
        index = Index.of_parts(parts)
        for start, stop in ((0, 20), (2, 4), (7, 13), (19, 20), (5, 5)):
            rows = index.rows(start, stop, square=square, read=files.__getitem__)
            assert len(rows) == stop - start
            assert all(np.array_equal(a, b) for a, b in zip(rows, values[start:stop], strict=True))


def test_a_broken_graph_is_named_and_finished_rows_stay(tmp_path):
    """An error names the line; after the line is repaired, the run goes on."""
    graphs = small_graphs(300)
    path = write_lines(tmp_path / "a.jsonl", graphs)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:290], '{"edges": [[0, 1, -1.0]]}', *lines[291:]]))
    with pytest.raises(tt.InvalidGraphError, match=r"a\.jsonl, line 291"):
        write_features(path, tmp_path / "f.zarr", n_features=4, n_fit=10)
    path.write_text("\n".join(lines))
    store = write_features(path, tmp_path / "f.zarr", n_features=4, n_fit=10)
    assert len(store) == 300


def test_warnings_of_readers_are_passed_on_once(tmp_path):
    """What a reader resolved by a rule is told once for all graphs."""
    graphs = [graph.replace(unit=None if i % 2 else "m") for i, graph in enumerate(small_graphs(8))]
    with pytest.warns(tt.DataWarning, match="some graphs state no unit"):
        write_features(graphs, tmp_path / "f.zarr", features="tts")
