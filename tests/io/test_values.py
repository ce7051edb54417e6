"""Values on edges: nothing that a file says of its edges is lost, whatever the format."""

from __future__ import annotations

import json
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import torelli as tt
from torelli.io.values import EdgeValues

YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key id="d0" for="edge" yfiles.type="edgegraphics"/>
<key id="d1" for="edge" attr.name="metres" attr.type="double"/>
<key id="d2" for="edge" attr.name="cable" attr.type="string"><default>copper</default></key>
<key id="d3" for="edge" attr.name="open" attr.type="boolean"/>
<key id="d4" for="edge" attr.name="pairs" attr.type="int"/>
<key id="d5" for="edge" attr.name="empty" attr.type="string"/>
<key id="d6" for="graph" attr.name="Type" attr.type="string"/>
<graph edgedefault="undirected"><data key="d6">COM</data><node id="a"/><node id="b"/>
<edge source="a" target="b"><data key="d0"><y:EdgeLabel>x</y:EdgeLabel></data><data key="d1">2.5</data>
<data key="d2">007</data><data key="d3">true</data><data key="d4">4</data></edge>
<edge source="b" target="a"><data key="d1">1</data><data key="d3">false</data></edge></graph></graphml>"""


def values_of(graph):
    """Return the values on the edges of a graph as lists."""
    return {name: values.tolist() for name, values in graph.edge_values.items()}


def test_graphml_keeps_values_of_the_declared_kind(tmp_path) -> None:
    """Texts stay texts, a missing number is NaN, defaults hold, and the drawing of yEd is no value."""
    (tmp_path / "g.graphml").write_text(YED)
    (record,) = tt.read_records(tmp_path / "g.graphml", length="metres")
    assert record.fields == {"Type": "COM"}
    graph = record.graph
    np.testing.assert_array_equal(graph.edge_values["pairs"], [4.0, np.nan])
    assert graph.edge_values["open"].tolist() == [True, False]
    assert graph.edge_values["cable"].tolist() == ["007", "copper"]
    assert set(graph.edge_values) == {"pairs", "open", "cable"}


def test_graphml_has_the_values_that_networkx_reads(data) -> None:
    """The radius of every vessel is that which networkx reads from the same file."""
    file = data / "other" / "vessel_mousebrain_vesselvio.graphml.gz"
    (graph,) = tt.read(file)
    theirs = nx.read_graphml(file)
    ours = {
        (frozenset((graph.node_ids[u], graph.node_ids[v])), radius)
        for u, v, radius in zip(graph.tail, graph.head, graph.edge_values["radius"].tolist(), strict=True)
    }
    assert ours == {(frozenset((u, v)), radius) for u, v, radius in theirs.edges(data="radius")}


def test_the_kept_direction_of_a_street_keeps_its_values(tmp_path) -> None:
    """Of two directed edges that are one street, values of the kept one stay beside their own length."""
    graph = nx.MultiDiGraph()
    for u, v, length, kind in ((0, 1, 1.0, "a"), (1, 0, 1.0, "a"), (1, 2, 2.0, "b"), (2, 0, 3.0, "c")):
        graph.add_edge(u, v, length=length, kind=kind)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    (got,) = tt.read(tmp_path / "g.graphml")
    assert dict(zip(got.length.tolist(), got.edge_values["kind"].tolist(), strict=True)) == {
        1.0: "a",
        2.0: "b",
        3.0: "c",
    }
    assert values_of(tt.as_metric_graph(graph, values=True)) == values_of(got)
    assert not tt.as_metric_graph(graph).edge_values


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "g.gml",
            'graph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 length 2 lanes 3 ref "01" ] ]',
            {"lanes": [3], "ref": ["01"]},
        ),
        (
            "g.net",
            '*Vertices 2\n1 "a"\n2 "b"\n*Edges\n1 2 2.5 w 3 l "main road"\n',
            {"w": [3], "l": ["main road"]},
        ),
        (
            "g.csv",
            "u,v,length,width,zip,note\na,b,1,2.5,007,\nb,c,2,,008,\n",
            {"zip": ["007", "008"]},
        ),
        (
            "g.jsonl",
            json.dumps(
                {
                    "edges": [
                        {"source": 0, "target": 1, "length": 1.5, "lanes": 2, "tags": ["x"]},
                        {"source": 1, "target": 2, "length": 1.0, "lanes": 3},
                    ]
                }
            ),
            {"lanes": [2, 3], "tags": ['["x"]', ""]},
        ),
        ("g.swc", "1 1 0 0 0 2.0 -1\n2 3 3 4 0 1.5 1\n", {"type": [3], "radius": [1.5]}),
        (
            "g.inp",
            "[JUNCTIONS]\na\nb\n[PIPES]\np7 a b 12 100 130 0 Open\n[OPTIONS]\nUnits LPS\n",
            {
                "id": ["p7"],
                "kind": ["pipe"],
                "diameter": [100.0],
                "roughness": [130],
                "settings": ["0 Open"],
            },
        ),
        (
            "g.osm",
            """<osm version="0.6"><node id="1" lat="50" lon="8"/><node id="2" lat="50.1" lon="8"/>
            <way id="10"><nd ref="1"/><nd ref="2"/><tag k="highway" v="primary"/><tag k="lanes" v="2"/>
            <tag k="note" v="x"/></way></osm>""",
            {"osmid": [10], "highway": ["primary"], "lanes": ["2"]},
        ),
    ],
)
def test_every_format_keeps_what_it_says_of_edges(tmp_path, name, content, expected) -> None:
    """Values are there by name, can be left out or chosen, and survive a pickle's and JSON's round trip."""
    if name.endswith(".osm"):
        pytest.importorskip("osmium")
    (tmp_path / name).write_text(content)
    (graph,) = tt.read(tmp_path / name)
    got = values_of(graph)
    assert {key: got[key] for key in expected} == expected
    (bare,) = tt.read(tmp_path / name, values=False)
    assert not bare.edge_values
    assert bare == graph.replace(edge_values=None)
    chosen = next(iter(expected))
    (one,) = tt.read(tmp_path / name, values=[chosen])
    assert values_of(one) == {chosen: expected[chosen]}
    with pytest.warns(tt.DataWarning, match="no edge has a value 'colour'"):
        tt.read(tmp_path / name, values=["colour"])


def test_a_line_gives_its_values_to_every_piece(tmp_path) -> None:
    """Columns of lines are values; pieces, parts of a MultiLineString and what is left keep their own."""
    geopandas = pytest.importorskip("geopandas")
    from shapely import LineString, MultiLineString

    lines = geopandas.GeoDataFrame(
        {
            "length": [9.0, 8.0, 7.0],
            "name": ["main", None, "twin"],
            "lanes": pd.array([2, None, 1], dtype="Int64"),
            "built": pd.to_datetime(["2020-01-01", None, "1999-12-31"]),
        },
        geometry=[
            LineString([(0, 0), (10, 0)]),
            LineString([(4, -3), (4, 3)]),
            MultiLineString([[(20, 0), (21, 0)], [(30, 0), (32, 0)]]),
        ],
        crs=32632,
    )
    for file in ("g.gpkg", "g.geojson", "g.parquet", "g.shp"):
        path = tmp_path / file
        if path.suffix == ".parquet":
            lines.to_parquet(path)
        else:
            lines.drop(columns="built").to_file(path)
        with pytest.warns(tt.DataWarning, match="split"):
            (graph,) = tt.read(path, split=True)
        rows = list(zip(graph.length.round(6), graph.edge_values["name"], strict=True))
        assert sorted(rows) == sorted(
            [(4, "main"), (6, "main"), (3, ""), (3, ""), (1, "twin"), (2, "twin")]
        ), file
        assert sorted(graph.edge_values["length_in_file"].tolist()) == [7, 7, 8, 8, 9, 9]
    frame = tt.as_metric_graph(lines, values=True)
    assert frame.edge_values["built"].tolist() == ["2020-01-01 00:00:00", "", *["1999-12-31 00:00:00"] * 2]
    np.testing.assert_array_equal(frame.edge_values["lanes"], [2, np.nan, 1, 1])


def test_edges_that_are_contracted_take_their_values_along(tmp_path) -> None:
    """An edge of length 0 goes with its value, and the others keep theirs."""
    (tmp_path / "g.csv").write_text("u,v,length,kind\na,b,1,x\nb,c,0,y\nc,a,2,z\n")
    with pytest.warns(tt.DataWarning, match="contracted"):
        (graph,) = tt.read(tmp_path / "g.csv", zero="contract")
    assert values_of(graph) == {"kind": ["x", "z"]}


def test_a_table_with_repeated_and_unnamed_columns_keeps_them_all(tmp_path) -> None:
    """The index that pandas writes, and a second column of a name, have names of their own."""
    (tmp_path / "g.csv").write_text(",u,v,length,kind,kind\n0,a,b,1,x,p\n1,b,c,2,y,q\n")
    (graph,) = tt.read(tmp_path / "g.csv")
    assert values_of(graph) == {"unnamed": [0, 1], "kind": ["x", "y"], "kind_2": ["p", "q"]}


def test_long_texts_are_left_out_with_a_warning_unless_they_are_named(tmp_path) -> None:
    """One text of a megabyte does not make an array of a megabyte for each edge."""
    rows = "".join(f"{u},{v},1,short\n" for u, v in pairwise(range(500)))
    (tmp_path / "g.csv").write_text("u,v,length,note\n" + rows + f"x,y,1,{'long' * 5000}\n")
    with pytest.warns(tt.DataWarning, match=r"very long: 'note'; keep them with values=\['note'\]"):
        (graph,) = tt.read(tmp_path / "g.csv")
    assert not graph.edge_values
    (graph,) = tt.read(tmp_path / "g.csv", values=["note"])
    assert graph.edge_values["note"][-1] == "long" * 5000
    with pytest.raises(tt.RequestTooLargeError, match="max_bytes"):
        tt.read(tmp_path / "g.csv", values=["note"], max_bytes=10_000_000)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2"], [1, 2]),
        (["1", None], [1.0, np.nan]),
        (["1.5", "nan", "-2e3"], [1.5, np.nan, -2000.0]),
        (["1", "2a"], ["1", "2a"]),
        (["01", "2"], ["01", "2"]),
        (["1e999", "2"], ["1e999", "2"]),
        (["9" * 30, "1"], ["9" * 30, "1"]),
        (["true", "false"], ["true", "false"]),
        ([True, False], [True, False]),
        ([2**70, 1], [str(2**70), "1"]),
        ([1, True], ["1", "True"]),
    ],
)
def test_numbers_are_told_by_what_comes_back(texts, expected) -> None:
    """Texts become numbers only where nothing of them is lost."""
    arrays = EdgeValues(wanted=True).arrays({"x": texts})
    assert arrays["x"].dtype.kind in "bifU"
    np.testing.assert_array_equal(arrays["x"], expected)


def test_values_that_are_not_names_are_refused(tmp_path) -> None:
    """A single name is not a list of names, and an adjacency matrix has no values."""
    (tmp_path / "g.csv").write_text("u,v,length\na,b,1\n")
    with pytest.raises(tt.InvalidOptionError, match="values is 'width': use True"):
        tt.read(tmp_path / "g.csv", values="width")
    with pytest.raises(tt.InvalidOptionError, match="ndarray has no named values"):
        tt.as_metric_graph(np.ones((4, 4)), values=True)


def test_texts_are_equal_in_arrays_of_any_width() -> None:
    """A part of a graph equals the graph that is made of that part alone."""
    graph = tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0], edge_values={"kind": ["a", "much longer"]})
    alone = tt.MetricGraph([0], [1], [1.0], edge_values={"kind": ["a"]})
    assert graph.edge_subgraph([0]) == alone
    other = tt.MetricGraph([0], [1], [1.0], edge_values={"kind": ["b"]})
    assert other != alone


def test_missing_numbers_survive_json(tmp_path) -> None:
    """NaN is null in JSON lines, which other programs read, and comes back."""
    from torelli.io.jsonlines import write_json_lines
    from torelli.io.readers import Record

    graph = tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0], edge_values={"width": [np.nan, 2.5]})
    write_json_lines(tmp_path / "g.jsonl", [Record(graph)])
    assert json.loads((tmp_path / "g.jsonl").read_text())["edge_values"] == {"width": [None, 2.5]}
    assert tt.read(tmp_path / "g.jsonl") == [graph]


def test_every_edge_may_be_given_one_length(tmp_path) -> None:
    """A number instead of a name is the length of every edge, where a file has lengths and where not."""
    graph = nx.cycle_graph(4)
    nx.write_graphml(graph, tmp_path / "g.graphml")
    with pytest.raises(tt.InvalidGraphError, match=r"missing on all 4 edges.*length=1\.0"):
        tt.read(tmp_path / "g.graphml")
    (got,) = tt.read(tmp_path / "g.graphml", length=1.0)
    assert (got.n_edges, got.total_length, got.unit) == (4, 4.0, None)
    (tmp_path / "g.csv").write_text("from,to,metres\na,b,5\nb,c,7\n")
    (got,) = tt.read(tmp_path / "g.csv", length=2, unit="km")
    assert (got.length.tolist(), got.unit, values_of(got)) == ([2.0, 2.0], "km", {"metres": [5, 7]})
    (tmp_path / "g.jsonl").write_text('{"edges": [[0, 1], [1, 2]], "unit": "m"}')
    (got,) = tt.read(tmp_path / "g.jsonl", length=1)
    assert (got.length.tolist(), got.unit) == ([1.0, 1.0], None)
    with pytest.raises(tt.InvalidOptionError, match="length is 0: use the name"):
        tt.read(tmp_path / "g.csv", length=0)
