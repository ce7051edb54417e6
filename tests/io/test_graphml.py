"""GraphML."""

from __future__ import annotations

import gzip
import warnings
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import torelli as tt
from strategies import networkx_graphs

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = '<key id="l" for="edge" attr.name="length" attr.type="double"/>'


def write(tmp_path, body, name="g.graphml", head=HEAD) -> Path:
    file = tmp_path / name
    file.write_text(head + body + "</graphml>")
    return file


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(networkx_graphs("roads"))
def test_what_networkx_writes_is_read_as_networkx_converts_it(tmp_path, graph) -> None:
    """A graph of any class, through a file, is the graph that conversion in memory gives."""
    nx.write_graphml(graph, tmp_path / "g.graphml")
    (read,) = tt.read(tmp_path / "g.graphml")
    # networkx loses the key of parallel edges, not the edges themselves
    assert read == tt.as_metric_graph(graph)
    assert (read.name, read.unit, read.source) == ("roads", "km", "g.graphml")
    assert read.node_ids == tuple("012345")


def test_unit_and_reference_system_survive_networkx_and_a_file(tmp_path) -> None:
    """What `to_networkx` gives is written by networkx and read back with unit, system and places."""
    points = [[8.0, 50.0], [8.1, 50.0]]
    graph = tt.MetricGraph(
        [0, 0], [1, 1], [1.0, 2.0], unit="m", coordinates=points, crs="EPSG:4326", name="pair"
    )
    nx.write_graphml(graph.to_networkx(), tmp_path / "g.graphml")
    (read,) = tt.read(tmp_path / "g.graphml")
    assert read == graph
    assert (read.name, read.unit, read.crs) == ("pair", "m", "EPSG:4326")
    np.testing.assert_array_equal(read.coordinates, points)
    assert tt.MetricGraph([0], [1], [1.0]).to_networkx().graph == {"name": ""}


def test_osmnx_files_have_every_attribute_as_text(data) -> None:
    """An OSMnx file gives the graph that networkx and conversion give, directions merged."""
    file = data / "osm" / "westminster-osmnx.graphml.gz"
    (graph,) = tt.read(file)
    with gzip.open(file) as stream:
        theirs = nx.read_graphml(stream, force_multigraph=True)
    for *_, attributes in theirs.edges(data=True):
        osmid = attributes["osmid"]
        attributes["osmid"] = osmid.strip("[]").split(", ")
    assert graph.replace(edge_values=None) == tt.as_metric_graph(theirs)
    assert (graph.unit, graph.crs, graph.name) == ("m", "epsg:4326", "westminster-osmnx")
    assert graph.coordinates.shape == (graph.n_nodes, 2)


def test_a_city_of_3_km_is_read_whole(data) -> None:
    """The largest of the city files keeps all its junctions and streets."""
    file = data / "urn" / "graphs" / "Barcelona_r3000.graphml.gz"
    (graph,) = tt.read(file)
    assert (graph.n_nodes, graph.n_edges) == (18_877, 27_466)


def test_every_graphml_of_the_shared_data_is_read(data) -> None:
    """All files under the shared data are metric graphs with coordinates, without a warning."""
    for pattern in ("other/*.graphml.gz", "urn/city120/*.graphml.gz"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the graphs have lengths in", tt.DataWarning)
            graphs = tt.read(data / pattern)
        assert all(graph.coordinates is not None and graph.n_edges for graph in graphs)
    vessel = tt.read(data / "other" / "vessel_mousebrain_vesselvio.graphml.gz")[0]
    assert vessel.coordinates.shape[1] == 3
    assert vessel.unit.startswith("voxel")


def test_another_attribute_may_be_the_length(tmp_path) -> None:
    """The length is the attribute asked for, and its default counts."""
    keys = '<key id="k" for="edge" attr.name="km"><default>7</default></key>'
    body = '<graph edgedefault="undirected"><node id="a"/><node id="b"/><edge source="a" target="b"/>'
    body += '<edge source="a" target="b"><data key="k">2</data></edge></graph>'
    (graph,) = tt.read(write(tmp_path, keys + body), length="km", unit="km")
    assert graph.length.tolist() == [7.0, 2.0]
    assert graph.unit == "km"


def test_drawings_of_yed(tmp_path) -> None:
    """Data directly under <graphml>, as yEd writes its resources, do not matter; nor do shapes and labels."""
    keys = '<key for="graphml" id="r" yfiles.type="resources"/>'
    keys += '<key for="node" id="s" yfiles.type="nodegraphics"/>'
    shape = '<y:ShapeNode><y:Geometry x="5.0" y="6.0"/><y:NodeLabel>a</y:NodeLabel></y:ShapeNode>'
    shape = f'<data key="s">{shape}</data>'
    body = f'<graph edgedefault="directed" id="G"><node id="n0">{shape}</node><node id="n1">{shape}</node>'
    body += '<edge id="e0" source="n0" target="n1"><data key="l">2.5</data></edge></graph>'
    resources = '<data key="r"><y:Resources><y:Resource id="1">picture</y:Resource></y:Resources></data>'
    head = HEAD.replace(">", ' xmlns:y="http://www.yworks.com/xml/graphml">')
    for content in (keys + KEYS + body + resources, KEYS + keys + resources + body):
        (graph,) = tt.read(write(tmp_path, content, head=head))
        assert (graph.node_ids, graph.length.tolist(), graph.coordinates) == (("n0", "n1"), [2.5], None)


def test_several_graphs_and_mixed_directions(tmp_path) -> None:
    """Each graph of a file is one; an undirected edge among directed ones is an edge of its own."""
    nodes = '<node id="a"/><node id="b"/>'
    edge = '<edge source="{}" target="{}" {}><data key="l">1.0</data></edge>'
    first = f'<graph edgedefault="undirected">{nodes}{edge.format("a", "b", "")}</graph>'
    two_way = edge.format("b", "a", 'directed="false"')
    edges = edge.format("a", "b", "") + edge.format("b", "a", "") + two_way
    second = f'<graph edgedefault="directed">{nodes}{edges}</graph>'
    one, two = tt.read(write(tmp_path, KEYS + first + second))
    assert (one.n_edges, two.n_edges) == (1, 2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "no <graph>"),
        ('<graph><node id="a"/><node id="a"/></graph>', "1 node ids appear more than once"),
        ('<graph><node id="a"/><edge source="a" target="b"/></graph>', "1 nodes that are not in the graph"),
        ("<graph><node/></graph>", "line 1: a <node> has no id"),
        ('<graph><node id="a"/><edge source="a"/></graph>', "no target"),
        ('<graph><node id="a"><graph/></node></graph>', "nested"),
        ('<graph><node id="a"/><hyperedge/></graph>', "hyperedge"),
        ('<graph><node id="a"><data key="q">1</data></node></graph>', "'q' is not declared"),
        ("<node id='a'/>", "is outside a graph"),
        ("<a>" * 100 + "</a>" * 100, "64 deep"),
        ("<graph>", "not valid XML"),
        ("<graph>\x01</graph>", "not valid XML"),
    ],
)
def test_broken_files_are_one_clear_error(tmp_path, body, message) -> None:
    """What breaks the format is an error with the file and, where there is one, the line."""
    with pytest.raises(tt.FormatError, match=message) as caught:
        tt.read(write(tmp_path, body))
    assert str(caught.value).startswith("g.graphml")


@pytest.mark.parametrize("value", ["nan", "-1", "0", "long", "inf", ""])
def test_bad_lengths_name_file_and_edge(tmp_path, value) -> None:
    """A length that is none is reported with the file and the edge."""
    body = KEYS + '<graph><node id="a"/><node id="b"/><edge source="a" target="b"><data key="l">'
    with pytest.raises(tt.InvalidGraphError, match=r"g\.graphml.*edge 0 \('a', 'b'\)"):
        tt.read(write(tmp_path, body + value + "</data></edge></graph>"))


TEN = ["ha", *(f"&e{i};" * 10 for i in range(11))]
BOMB = "".join(f'<!ENTITY e{i} "{text}">' for i, text in enumerate(TEN))


@pytest.mark.parametrize(
    "doctype",
    [
        f"<!DOCTYPE graphml [{BOMB}]>",
        '<!DOCTYPE graphml [<!ENTITY e11 SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE graphml [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;]>',
        '<!DOCTYPE graphml SYSTEM "http://127.0.0.1:1/x.dtd">',
    ],
    ids=["bomb", "external", "parameter", "dtd"],
)
def test_entities_are_refused(tmp_path, doctype) -> None:
    """Entity bombs and external entities are refused before anything is expanded or fetched."""
    file = write(tmp_path, "<graph>&e11;</graph>", head=doctype + HEAD)
    with pytest.raises(tt.FormatError, match="entities"):
        tt.read(file)


def test_a_million_isolated_nodes_are_read(tmp_path) -> None:
    """Isolated nodes stay, however many there are."""
    nodes = "".join(f'<node id="{i}"/>' for i in range(1_000_000))
    with pytest.warns(tt.DataWarning, match="no edges"):
        (graph,) = tt.read(write(tmp_path, f"<graph>{nodes}</graph>"))
    assert graph.n_nodes == 1_000_000


def test_coordinates_that_are_swapped_are_warned_of(tmp_path) -> None:
    """Latitudes beyond 90 in a file of degrees are counted in a warning, with the likely cause."""
    keys = '<key id="x" for="node" attr.name="x"/><key id="y" for="node" attr.name="y"/>'
    keys += '<key id="c" for="graph" attr.name="crs"/>'
    node = '<node id="a"><data key="x">41.9</data><data key="y">-120.5</data></node>'
    node += '<edge source="a" target="a"><data key="l">1</data></edge>'
    with pytest.warns(tt.DataWarning, match="1 of 1 points.*swapped"):
        (graph,) = tt.read(
            write(tmp_path, f'{KEYS}{keys}<graph><data key="c">epsg:4326</data>{node}</graph>')
        )
    np.testing.assert_array_equal(graph.coordinates, [[41.9, -120.5]])


def test_encodings(tmp_path) -> None:
    """Encodings that XML declares are read; bytes that do not fit theirs are an error."""
    loop = '<edge source="Málaga" target="Málaga"><data key="l">1</data></edge>'
    body = f'{KEYS}<graph><node id="Málaga"/>{loop}</graph>'
    file = tmp_path / "g.graphml"
    file.write_text(f"{HEAD}{body}</graphml>", encoding="utf-16")
    assert tt.read(file)[0].node_ids == ("Málaga",)
    file.write_text(f'<?xml version="1.0" encoding="latin-1"?>{HEAD}{body}</graphml>', encoding="latin-1")
    assert tt.read(file)[0].node_ids == ("Málaga",)
    file.write_text(f"{HEAD}{body}</graphml>", encoding="latin-1")
    with pytest.raises(tt.FormatError, match="not valid XML"):
        tt.read(file)
    file.write_text(f'<?xml version="1.0" encoding="no-such"?>{HEAD}{body}</graphml>')
    with pytest.raises(tt.FormatError, match="encoding"):
        tt.read(file)


def test_ids_of_edges_are_values_where_they_are_names(tmp_path) -> None:
    """YEd names every edge; networkx only numbers the parallel ones, which says nothing of an edge."""
    text = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
    <key id="d" for="edge" attr.name="length" attr.type="double"/><graph edgedefault="undirected">
    <node id="a"/><node id="b"/><edge id="{}" source="a" target="b"><data key="d">1</data></edge>
    <edge id="{}" source="a" target="b"><data key="d">2</data></edge></graph></graphml>"""
    path = tmp_path / "a.graphml"
    path.write_text(text.format("e7", "e3"))
    (graph,) = tt.read(path)
    assert dict(zip(graph.edge_values["id"].tolist(), graph.length.tolist(), strict=True)) == {
        "e7": 1,
        "e3": 2,
    }
    assert not tt.read(path, values=False)[0].edge_values
    path.write_text(text.format("0", "1"))
    assert not tt.read(path)[0].edge_values
