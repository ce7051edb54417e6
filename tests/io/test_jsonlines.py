"""JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import torelli as tt

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
