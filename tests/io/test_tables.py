"""Tables with one edge a row."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

import torelli as tt
from torelli.cli import main


@pytest.mark.parametrize(
    "names",
    [
        ("source", "target", "length"),
        ("u", "v", "weight"),
        ("From", "To", "Distance"),
        ("tail", "head", "length"),
        ("origin", "destination", "length"),
        ("SRC", "DST", "LENGTH"),
    ],
)
def test_columns_are_found_by_name(names) -> None:
    """The stated synonyms are found in any case and any order; other columns are ignored."""
    table = pd.DataFrame({"speed": [1, 2], names[2]: [1.5, 2.5], names[0]: ["a", "b"], names[1]: ["b", "c"]})
    graph = tt.as_metric_graph(table)
    assert graph.node_ids == ("a", "b", "c")
    assert graph.length.tolist() == [1.5, 2.5]


def test_each_row_is_an_edge() -> None:
    """(u, v) and (v, u) are two edges, and so is a row that comes twice."""
    table = pd.DataFrame({"u": [1, 2, 1], "v": [2, 1, 2], "length": [1.0, 1.0, 1.0]})
    assert tt.as_metric_graph(table).n_parallel == 2


def test_a_named_column_has_no_synonyms() -> None:
    """Where a column is asked for, no other stands in for it."""
    table = pd.DataFrame({"u": [1], "v": [2], "length": [1.0]})
    with pytest.raises(
        tt.InvalidGraphError, match=r"no column for the length \('km' was asked for\); .*length=\.\.\."
    ):
        tt.as_metric_graph(table, length="km")


def test_columns_are_named_by_the_caller(tmp_path) -> None:
    """Named columns of a DataFrame and of a CSV are used, in their own case first, whatever else there is."""
    table = pd.DataFrame(
        {
            "from": ["x", "y"],
            "to": ["y", "z"],
            "A": ["a", "b"],
            "a": [0, 0],
            "B": ["b", "c"],
            "km": [1.5, 2.5],
        }
    )
    graph = tt.as_metric_graph(table, length="KM", source="A", target="b")
    assert graph.node_ids == ("a", "b", "c")
    assert graph.length.tolist() == [1.5, 2.5]
    assert tt.as_metric_graphs([table], length="km", source="A", target="B") == [graph]
    file = tmp_path / "roads.csv"
    table.to_csv(file, index=False)
    assert tt.read(file, length="km", source="A", target="B", values=False) == [graph]
    (with_values,) = tt.read(file, length="km", source="A", target="B")
    assert with_values == tt.as_metric_graph(table, length="km", source="A", target="B", values=True)
    assert with_values.edge_values["a"].tolist() == [0, 0]
    assert main(["info", str(file), "--length", "km", "--source", "A", "--target", "B"]) == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("u", "v", "from", "to", "length"), r"'u', 'from' may all be the source; 'v', 'to' may all be the"),
        (
            ("u", "v", "Distance", "weight"),
            r"'Distance', 'weight' may all be the length; the columns are 'u'",
        ),
        (("u", "v", "length", "LENGTH"), r"'length', 'LENGTH' may all be the length"),
    ],
)
def test_several_columns_that_would_do_are_an_error(tmp_path, columns, message) -> None:
    """A table in which two columns may be the same thing is refused, with the columns and the remedy."""
    table = pd.DataFrame([[1] * len(columns)], columns=columns)
    file = tmp_path / "roads.csv"
    table.to_csv(file, index=False)
    with pytest.raises(tt.InvalidGraphError, match=rf"{message}.*source=\.\.\."):
        tt.as_metric_graph(table)
    with pytest.raises(tt.FormatError, match=rf"roads\.csv: .*{message}.*--source"):
        tt.read(file)


def test_a_column_names_the_graph_of_each_row(tmp_path, capsys) -> None:
    """Rows of one file are several graphs, with the values that all rows of each graph share as fields."""
    file = tmp_path / "trails.csv"
    file.write_text("net,from,to,distance,colony,strength\nb,x,y,1,B,7\na,x,y,2,A,8\nb,y,z,3,B,9\n")
    records = tt.read_records(file, graph="NET")
    assert [(r.graph.name, r.graph.length.tolist(), r.fields) for r in records] == [
        ("b", [1.0, 3.0], {"colony": "B"}),
        ("a", [2.0], {"colony": "A"}),
    ]
    assert main(["info", str(file), "--graph", "net", "--each"]) == 0
    assert records[0].graph.edge_values["strength"].tolist() == [7, 9]
    *table, values, fields = capsys.readouterr().out.splitlines()
    assert len(table) == 3
    assert (values.split(": ")[1], fields.split(": ")[1]) == ("strength", "colony")
    with pytest.raises(tt.FormatError, match=r"trails\.csv: there is no column 'city' .* 'net', 'from'"):
        tt.read(file, graph="city")
    file.write_text("net,from,to,distance\n,x,y,1\n")
    with pytest.raises(tt.FormatError, match=r"trails\.csv: 1 row has no 'net'"):
        tt.read(file, graph="net")


def test_trails_of_ants(data) -> None:
    """The 83 networks of the ants are read from one table, with their treatment and colony."""
    file = data / "ants" / "edges.csv"
    if not file.is_file():
        pytest.skip(f"no {file}")
    records = tt.read_records(file, graph="network_ID", unit="m")
    assert len(records) == 83
    assert sum(record.graph.n_edges for record in records) == 1495
    assert len({record.fields["colony"] for record in records}) == 9
    assert all("treatment" in record.fields for record in records)


def test_ends_are_found_in_pairs() -> None:
    """A column `source` without a `target`, as the tag of OpenStreetMap, is not an end beside `u` and `v`."""
    table = pd.DataFrame({"source": ["Bing"], "u": [1], "v": [2], "length": [1.0], "weight": [7.0]})
    assert tt.as_metric_graph(table).node_ids == (1, 2)
    assert tt.as_metric_graph(table).total_length == 1.0


def test_only_tables_have_columns() -> None:
    """A column that is named for another object is an error."""
    with pytest.raises(tt.InvalidOptionError, match=r"source: only a DataFrame has columns.* list"):
        tt.as_metric_graph([("a", "b", 1.0)], source="from")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame({"a": [1]}), "columns are 'a'"),
        (
            pd.DataFrame({"u": [1], "v": [2], "km": [3]}),
            "no column for the length; .*'km'.*length=.*weight",
        ),
        (pd.DataFrame(), "columns"),
        (pd.DataFrame({"u": [1, 2], "v": [2, 3], "length": [1.0, np.nan]}), "NaN"),
        (pd.DataFrame({"u": [1, None], "v": [2, 3], "length": [1.0, 2.0]}), r"end point is missing"),
        (
            pd.DataFrame({"u": [1, 2], "v": [2, 3], "length": [1, 2], "unit": ["m", "km"]}),
            "2 units: 'km', 'm'",
        ),
    ],
)
def test_bad_tables(table, message) -> None:
    """Missing columns, ends and lengths, and lengths in several units, are errors."""
    with pytest.raises(tt.InvalidGraphError, match=message):
        tt.as_metric_graph(table)


@pytest.mark.parametrize(
    "text",
    [
        "source,target,length\na,b,1.5\nb,c,2.5\n",
        "length;v;u\n1.5;b;a\n2.5;c;b\n",
        "# roads\na\tb\t1.5\nb\tc\t2.5\n",
        "a b 1.5\nb c 2.5",
        '\ufeff"u","v","distance","unit"\r\n"a","b","1.5","m"\r\n"b","c","2.5","m"\r\n',
    ],
)
def test_csv_dialects(tmp_path, text) -> None:
    """Commas, semicolons, tabs and blanks, with a header or without, with a mark of UTF-8 or without."""
    file = tmp_path / "roads.csv"
    file.write_text(text, encoding="utf-8")
    (graph,) = tt.read(file)
    assert sorted(graph.length.tolist()) == [1.5, 2.5]
    assert (graph.n_nodes, graph.name, graph.source) == (3, "roads", "roads.csv")
    assert graph.unit == ("m" if "unit" in text else None)


def test_compressed_csv(tmp_path) -> None:
    """A .csv.gz is a CSV."""
    file = tmp_path / "roads.csv.gz"
    file.write_bytes(gzip.compress(b"u,v,length\n1,2,3\n"))
    assert tt.read(file, unit="km")[0].unit == "km"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n\n", "no row"),
        (
            b"city,pattern\nParis,star\n",
            "no column for the source; .*the target; .*the length; the columns are 'city', 'pattern'",
        ),
        (
            b"u,v,km\na,b,1\n",
            "no column for the length; .*'u', 'v', 'km'.*--length.*length or distance or weight",
        ),
        (b"u,to_node,length\na,b,1\n", "no column for the target; .*--target.*source/target, u/v"),
        (b"u,v,length\na,b\n", "1 row does not have 3 fields"),
        (b"u,v,length\na,b,1\na,b,1,2\n", "1 row does not have 3 fields"),
        (b"u,v,length\na,b,\n", "missing"),
        (b"u,v,length\na,b,12 m\n", "not a number"),
        (b"u,v,length\n,b,1\n", "end point is missing"),
        (b"u,v,length\na,b,nan\n", "NaN"),
        ("u,v,length\na,b,1\n".encode("utf-16-le"), "null bytes"),
        (b'u,v,length\na,"b,1\n', "not valid CSV"),
    ],
)
def test_broken_csv(tmp_path, content, message) -> None:
    """Each kind of broken file is one error that names the file."""
    file = tmp_path / "roads.csv"
    file.write_bytes(content)
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"(?s)roads\.csv.*({message})"):
        tt.read(file)


def write(folder, text, name="roads.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "header",
    ["From_Node,To_Node,Length (km)", "from_node_id,to_node_id,length_km", "source id,target id,distance_km"],
)
def test_columns_are_found_with_node_id_and_unit_in_their_names(tmp_path, header) -> None:
    """The names of GMNS and of many spreadsheets are recognised, and the graph has the unit in them."""
    (graph,) = tt.read(write(tmp_path, f"{header}\na,b,1\nb,c,2\n"))
    assert (graph.node_ids, graph.total_length, graph.unit) == (("a", "b", "c"), 3, "km")


def test_plain_names_go_before_names_with_id(tmp_path) -> None:
    """A table with `from` and `from_ID` has one column for the source; the other is a value."""
    (graph,) = tt.read(write(tmp_path, "from,to,from_id,to_id,length\na,b,1,2,3\n"))
    assert graph.node_ids == ("a", "b")
    assert [*graph.edge_values] == ["from_id", "to_id"]


def test_decimal_commas_are_read_and_told(tmp_path) -> None:
    """A spreadsheet of most of Europe separates columns by semicolons, and decimals by commas."""
    path = write(tmp_path, "u;v;length;width;name\na;b;1,5;2;x,1\nb;c;2,25;0,5;y\n")
    with pytest.warns(tt.DataWarning, match=r"^roads.csv: numbers have a decimal comma: 1,5 is read as 1.5$"):
        (graph,) = tt.read(path)
    assert graph.length.tolist() == [1.5, 2.25]
    assert graph.edge_values["width"].tolist() == [2, 0.5]
    assert graph.edge_values["name"].tolist() == ["x,1", "y"]


def test_commas_between_thousands_are_refused(tmp_path) -> None:
    """In a file of commas, 1,500 may be one and a half or fifteen hundred: nothing is guessed."""
    with pytest.raises(tt.InvalidGraphError, match=r"'1,500'.*not a number; .*written without commas"):
        tt.read(write(tmp_path, 'u,v,length\na,b,"1,500"\n'))


def test_rows_of_several_graphs_are_not_one_graph_in_silence(tmp_path) -> None:
    """A column that names graphs and is not used is told of, with the option; one value is no doubt."""
    path = write(tmp_path, "network_ID,u,v,length\nA,1,2,1\nB,1,2,2\n")
    with pytest.warns(tt.DataWarning, match=r"all rows are edges of one graph, though .* graph='network_ID'"):
        assert len(tt.read(path)) == 1
    assert [graph.name for graph in tt.read(path, graph="network_ID")] == ["A", "B"]
    assert len(tt.read(write(tmp_path, "network_ID,u,v,length\nA,1,2,1\nA,1,2,2\n"))) == 1


def test_edge_lists_of_collections(tmp_path) -> None:
    """Lists of edges have comments, blanks of any number, and often no lengths."""
    text = "% a comment\n# another\n 1  2   0.5 \n2 3 1\n"
    (graph,) = tt.read(write(tmp_path, text, "roads.edges"))
    assert (graph.node_ids, graph.length.tolist()) == (("1", "2", "3"), [0.5, 1])
    unweighted = write(tmp_path, "# nodes: 3\n1\t2\n2\t3\n", "roads.edgelist")
    with pytest.raises(tt.FormatError, match=r"two nodes and no length; .*length=1.0"):
        tt.read(unweighted)
    assert tt.read(unweighted, length=1.0)[0].total_length == 2


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("0 1 {'weight': 4}\n", "networkx.write_weighted_edgelist"),
        ('id,WKT\n1,"LINESTRING (0 0, 1 0)"\n', "convert the file to GeoPackage"),
    ],
)
def test_what_is_no_table_of_edges_has_a_remedy(tmp_path, text, remedy) -> None:
    """Attributes of Python and lines as text are not read, and the error says what to do."""
    with pytest.raises(tt.FormatError, match=remedy):
        tt.read(write(tmp_path, text))
