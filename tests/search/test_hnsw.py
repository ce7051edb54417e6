"""Candidates from hnswlib, and checks of its files, which it does not check itself."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.search._hnsw import _HEADER, NeighbourGraph, check_file

ROWS = np.random.default_rng(0).normal(size=(300, 5))


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("hnsw") / "a.hnsw"
    NeighbourGraph.of(ROWS, 0, None).save(path)
    return path.read_bytes()


def test_candidates_are_near(content, tmp_path):
    """A graph finds the nearest rows, also after it is stored."""
    path = tmp_path / "a.hnsw"
    path.write_bytes(content)
    for graph in (NeighbourGraph.of(ROWS, 0, None), NeighbourGraph.load(path, 300, 5)):
        candidates = graph.candidates(ROWS[7:8], 20)
        nearest = np.argsort(np.linalg.norm(ROWS - ROWS[7], axis=1))[:15]
        assert len(set(candidates) & set(nearest)) >= 13
        assert len(graph.candidates(ROWS[7:8], 1000)) == 300


def test_rows_without_columns_are_all_candidates():
    """Rows of width 0 have a graph too."""
    assert NeighbourGraph.of(np.empty((3, 0)), 0, None).candidates(np.empty((1, 0)), 3).tolist() == [0, 1, 2]


def test_sound_files_pass(content, tmp_path):
    """What hnswlib writes passes the checks, for other sizes it does not."""
    path = tmp_path / "a.hnsw"
    path.write_bytes(content)
    check_file(path, 300, 5)
    for n_rows, width in ((299, 5), (300, 6)):
        with pytest.raises(tt.FormatError):
            check_file(path, n_rows, width)


@pytest.mark.parametrize("field", _HEADER.names)
@pytest.mark.parametrize("value", [2**31 - 1, 2**20, 1])
def test_forged_headers_are_refused(content, tmp_path, field, value):
    """No number of the header can be another one, but those that the search does not use."""
    head = np.frombuffer(content[: _HEADER.itemsize], _HEADER).copy()
    if head[field][0] == value:
        pytest.skip("it is that number")
    head[field] = value
    path = tmp_path / "a.hnsw"
    path.write_bytes(head.tobytes() + content[_HEADER.itemsize :])
    if field in {"mult", "ef_construction"} or (field == "entry" and value < 300):
        return
    with pytest.raises(tt.FormatError, match=r"a\.hnsw"):
        check_file(path, 300, 5)


def test_forged_links_are_refused(content, tmp_path):
    """A link out of the rows, a count that is too large, a label twice and upper links that end early."""
    path = tmp_path / "a.hnsw"
    start, each = _HEADER.itemsize, 4 + 4 * 32 + 4 * 5 + 8
    for offset, word in ((4, 300), (0, 33), (0, 1 << 16), (each - 8, 1)):
        forged = bytearray(content)
        forged[start + offset : start + offset + 4] = int(word).to_bytes(4, "little")
        path.write_bytes(forged)
        with pytest.raises(tt.FormatError):
            check_file(path, 300, 5)
    upper = start + 300 * each
    sizes = np.frombuffer(content[upper:], np.uint8)
    first = next(i for i in range(len(sizes) - 4) if sizes[i : i + 4].tolist() == [68, 0, 0, 0])
    link = upper + first + 8
    for word in (300, 2**32 - 1):
        forged = bytearray(content)
        forged[link : link + 4] = int(word).to_bytes(4, "little")
        path.write_bytes(forged)
        with pytest.raises(tt.FormatError):
            check_file(path, 300, 5)
    for damaged in (b"", content[:50], content[: upper - 1], content[:-1], content + b"\0"):
        path.write_bytes(damaged)
        with pytest.raises(tt.FormatError):
            check_file(path, 300, 5)


def test_links_to_rows_below_their_level_are_refused(content, tmp_path):
    """A link of an upper level to a row that has no links there, which hnswlib would read from nowhere."""
    upper = _HEADER.itemsize + 300 * (4 + 4 * 32 + 4 * 5 + 8)
    at, levels, where = upper, [], {}
    for row in range(300):
        n_bytes = int.from_bytes(content[at : at + 4], "little")
        levels.append(n_bytes // 68)
        where[row] = at + 4
        at += 4 + n_bytes
    row = next(i for i in range(300) if levels[i] and content[where[i]] > 0)
    forged = bytearray(content)
    forged[where[row] + 4 : where[row] + 8] = levels.index(0).to_bytes(4, "little")
    path = tmp_path / "a.hnsw"
    path.write_bytes(forged)
    with pytest.raises(tt.FormatError, match="below its level"):
        check_file(path, 300, 5)
