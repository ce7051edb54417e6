"""Names, metadata and graphs of an index, in memory and in a folder."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.search._records import FILE, Records, StoredRecords
from torelli.search._storage import StoredFolder, write_folder

GRAPHS = [
    tt.MetricGraph(
        [0, 1], [1, 0], [1.0, 2.0], name="flat", coordinates=[[0.0, 1.0], [2.0, 3.0]], crs="EPSG:4326"
    ),
    tt.MetricGraph([], [], [], 2, name="points"),
    tt.MetricGraph(
        [0], [1], [1.5], coordinates=[[0.0, 1.0, 2.0], [2.0, np.nan, 3.0]], unit="m", source="a.csv"
    ),
]


def stored_in(folder, records):
    arrays, files = records.stored()
    write_folder(folder, {}, arrays, files)
    return StoredRecords(StoredFolder(folder, verify=True))


def test_graphs_with_and_without_coordinates_are_read_back(tmp_path):
    """Graphs in two, three and no dimensions keep edges, coordinates, name, source, unit and system."""
    metadata = [{"city": "Ufa", "n": 1}, {}, {"nested": [1, {"a": None}]}]
    records = stored_in(tmp_path, Records(["a", "ä \n", "c"], metadata, GRAPHS))
    assert records.names() == ["a", "ä \n", "c"]
    assert [records.facts(i) for i in range(3)] == metadata
    for position, graph in enumerate(GRAPHS):
        read = records.graph(position)
        assert read == graph
        for key in ("name", "source", "unit", "crs"):
            assert getattr(read, key) == getattr(graph, key)
        np.testing.assert_equal(read.coordinates, graph.coordinates)


def test_records_without_graphs_have_names(tmp_path):
    """Records of vectors have names and no graphs."""
    records = stored_in(tmp_path, Records(["a", "b"], None, None))
    assert records.names() == ["a", "b"]
    assert records.facts(1) == {}
    assert not records.has_graphs


@pytest.mark.parametrize(
    "line", [b"{}", b'{"id": 3, "metadata": {}}', b'{"id": "a", "metadata": []}', b"[]", b"{"]
)
def test_records_that_are_none_are_refused(tmp_path, line):
    """A line that is no record is an error with its position."""
    arrays = {"record_ends": np.array([len(line) + 1])}
    write_folder(tmp_path, {}, arrays, {FILE: lambda path: path.write_bytes(line + b"\n")})
    with pytest.raises(tt.FormatError, match="record 0"):
        StoredRecords(StoredFolder(tmp_path, verify=True)).name(0)


def test_graphs_of_a_file_are_checked_like_input(tmp_path):
    """A stored edge of negative length, or to a node that is not there, is an error."""
    arrays, files = Records(["a", "b", "c"], None, GRAPHS).stored()
    for name, value in (("length", -1.0), ("head", 7)):
        changed = arrays[name].copy()
        changed[0] = value
        write_folder(tmp_path, {}, arrays | {name: changed}, files)
        with pytest.raises(tt.InvalidGraphError):
            StoredRecords(StoredFolder(tmp_path, verify=True)).graph(0)
