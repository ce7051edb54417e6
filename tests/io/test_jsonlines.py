"""JSON lines."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import torelli as tt
from torelli.io import Record
from torelli.io.jsonlines import json_line, write_json_lines

if TYPE_CHECKING:
    from pathlib import Path

SQUARE = {
    "id": "cell7",
    "nodes": [[5, 0.0, 0.0], [6, 1.0, 0.0], [7, 1.0, 1.0], [8, 9.0, 9.0]],
    "edges": [[5, 6, 1.0], [6, 7, 1.5], [7, 5, 2.0]],
}


def write(tmp_path, *records: object) -> Path:
    file = tmp_path / "cells.jsonl"
    file.write_text(
        "\n".join(record if isinstance(record, str) else json.dumps(record) for record in records)
    )
    return file


def test_one_graph_a_line(tmp_path) -> None:
    """Each line is a graph with its id, coordinates and isolated nodes; empty lines are nothing."""
    one, two = tt.read(write(tmp_path, SQUARE, "", {**SQUARE, "id": 9, "unit": "m", "crs": "EPSG:4326"}))
    assert (one.name, one.n_nodes, one.genus, one.unit) == ("cell7", 4, 1, None)
    assert (two.name, two.unit, two.crs, two.source) == ("9", "m", "EPSG:4326", "cells.jsonl")
    np.testing.assert_array_equal(one.coordinates[3], [9, 9])
    assert one.node_ids == (5, 6, 7, 8)


def test_objects_and_bare_ids(tmp_path) -> None:
    """Nodes may be ids or objects, edges objects; without nodes they follow from the edges."""
    edges = [{"source": "a", "target": "b", "km": 2}]
    graphs = tt.read(
        write(
            tmp_path,
            {"edges": edges},
            {"nodes": ["b", "a", "c"], "edges": edges},
            {"nodes": [{"id": "a", "x": 1, "y": 2}, {"id": "b", "x": 3, "y": 4}], "edges": edges},
        ),
        length="km",
    )
    assert [graph.n_nodes for graph in graphs] == [2, 3, 2]
    assert [graph.coordinates is None for graph in graphs] == [True, True, False]
    assert graphs[0].name == "cells"


def test_the_cells_of_the_shared_data(data) -> None:
    """All 1,034 cells are read with ids, coordinates and lengths as given."""
    graphs = tt.read(data / "urn" / "cells" / "cells.jsonl.gz", unit="m")
    assert len(graphs) == 1034
    assert graphs[0].name == "Beijing101"
    assert all(graph.unit == "m" and graph.coordinates is not None for graph in graphs)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "list of 'edges'"),
        ({"edges": 3}, "list of 'edges'"),
        ({"nodes": 3, "edges": []}, "'nodes' is not a list"),
        ({"edges": [[1, 2]]}, r"not \[u, v, length\]"),
        ({"nodes": [[]], "edges": []}, "no id"),
        ({"nodes": [[1, 0, 0], [1, 1, 1]], "edges": []}, "1 nodes have the id of another"),
        ({"nodes": [1], "edges": [[1, 2, 3.0]]}, r"1 nodes that are not listed \(2\)"),
        ({"nodes": [[1, "x", 0]], "edges": []}, "coordinate is not a number"),
    ],
)
def test_wrong_records(tmp_path, record, message) -> None:
    """A line of another form is an error with the file and the number of the line."""
    with pytest.raises(tt.FormatError, match=rf"cells\.jsonl, line 2: .*{message}"):
        tt.read(write(tmp_path, SQUARE, record))


def test_bad_lengths_of_all_lines_are_in_one_error(tmp_path) -> None:
    """Every bad length is listed with its line, NaN and missing ones too."""
    bad = [
        '{"edges": [[1, 2, NaN]]}',
        {"edges": [[1, 2, None]]},
        {"edges": [[1, 2, -1]]},
        {"edges": [[[1], 2, 1]]},
    ]
    with pytest.raises(tt.InvalidGraphError) as caught:
        tt.read(write(tmp_path, *bad))
    text = str(caught.value)
    assert all(f"line {i}" in text for i in (1, 2, 3, 4))
    assert len(caught.value.faults) == 4


def test_other_keys_are_the_fields_of_a_record(tmp_path) -> None:
    """What a line says beside its graph comes with the graph, as it stands there."""
    record = {**SQUARE, "unit": "m", "label": "grid", "group": 3, "tags": {"a": [1, None]}}
    (one, two) = tt.read_records(write(tmp_path, record, SQUARE))
    assert one.graph == two.graph
    assert one.fields == {"label": "grid", "group": 3, "tags": {"a": [1, None]}}
    assert two.fields == {}


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_what_is_written_is_read_back(tmp_path, name) -> None:
    """Graphs come back bit for bit, with ids, coordinates, values on edges and fields."""
    graph = tt.MetricGraph(
        [0, 1, 1], [1, 0, 1], [0.1, 1e-300, 2 / 3], 3,
        name="Süd \ud800", unit="km", crs="EPSG:4326", coordinates=[[0.1, 0.2], [3, 4], [5, 6]],
        node_ids=["ä", 7, "7"], edge_values={"kind": ["a", "b", "c"], "lanes": [1, 2, 3]},
    )  # fmt: skip
    records = [Record(graph, {"label": "x"}), Record(tt.MetricGraph([0], [1], [1.0]), {"label": None})]
    write_json_lines(tmp_path / name, records)
    one, two = tt.read_records(tmp_path / name)
    assert [one.graph, two.graph] == [record.graph for record in records]
    assert (one.fields, two.fields) == ({"label": "x"}, {"label": None})
    assert (one.graph.name, one.graph.unit, one.graph.crs) == ("Süd \ud800", "km", "EPSG:4326")
    assert one.graph.node_ids == graph.node_ids
    np.testing.assert_array_equal(one.graph.coordinates, graph.coordinates)
    before = (tmp_path / name).read_bytes()
    write_json_lines(tmp_path / name, records)
    assert (tmp_path / name).read_bytes() == before
    text = gzip.decompress(before) if name.endswith("gz") else before
    assert text.count(b"\n") == 2


@pytest.mark.parametrize("ids", [[(0, 1), (1, 2)], [0.5, 1.5], [10**5000, 1], [None, "a"]])
def test_ids_that_json_has_not_are_written_as_numbers(ids) -> None:
    """Nodes whose ids are not all strings or integers are numbered."""
    line = json_line(tt.MetricGraph([0], [1], [1.0], node_ids=ids))
    assert json.loads(line)["nodes"] == [0, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [([1, 2, 3], "'edge_values' is not an object"), ({"a": [1]}, "one value for each of the 3 edges")],
)
def test_wrong_values_on_edges(tmp_path, values, message) -> None:
    """Values that do not fit the edges are an error with the line."""
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"cells\.jsonl, line 1.*{message}"):
        tt.read(write(tmp_path, {**SQUARE, "edge_values": values}))
