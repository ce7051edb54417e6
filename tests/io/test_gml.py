"""GML."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings

import torelli as tt
from strategies import networkx_graphs
from torelli.io.gml import GML

NODES = "node [ id 0 ] node [ id 1 ]"


def read(tmp_path, text, **options):
    """Return the graphs of a text."""
    file = tmp_path / "g.gml"
    file.write_text(text, encoding="utf-8")
    return tt.read(file, **options)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(networkx_graphs("roads & paths"))
def test_what_networkx_writes_is_read_as_networkx_converts_it(tmp_path, graph) -> None:
    """A graph of any class, through a file, is the graph that conversion in memory gives."""
    nx.write_gml(graph, tmp_path / "g.gml")
    (got,) = tt.read(tmp_path / "g.gml", values=False)
    assert got == tt.as_metric_graph(graph)
    assert (got.name, got.unit, got.source) == ("roads & paths", "km", "g.gml")


def test_parallel_edges_need_no_header(tmp_path) -> None:
    """Two edges between two nodes are two, whether the file says `multigraph 1` or not."""
    (graph,) = read(tmp_path, GML.example)
    assert (graph.n_edges, graph.length.tolist(), graph.unit) == (2, [2.5, 3.5], "km")
    assert graph.coordinates.tolist() == [[8.5, 50.1], [8.6, 50.2]]
    assert graph.node_ids == ("0", "1")


def test_lengths_are_measured_where_there_are_none(tmp_path) -> None:
    """Files such as those of the Topology Zoo have longitude and latitude, and no lengths."""
    text = GML.example.replace("length 2.5", "").replace("length 3.5", "").replace("lon", "Longitude")
    with pytest.warns(tt.DataWarning, match="great circle"):
        assert read(tmp_path, text)[0].unit == "m"


def test_several_graphs_and_another_length(tmp_path) -> None:
    """Each graph of a file is one, comments and brackets in strings do not matter, and length is named."""
    one = f'graph [ {NODES} edge [ source 0 target 1 km 2 note "]" ] ]'
    graphs = read(tmp_path, f"# a [ comment\n{one}\n{one}", length="km")
    assert [graph.length.tolist() for graph in graphs] == [[2.0], [2.0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Creator 5", "not GML"),
        (f"graph [ {NODES}", "truncated"),
        (f"graph [ {NODES} ] ]", "line 1: a list is closed that was not opened"),
        ("graph [ node [ label 5 ] ]", "a node has no id"),
        (f"graph [ {NODES} edge [ source 0 ] ]", "an? edge has no target"),
        (f"graph [\n{NODES} edge [ source ] ]", "line 2: the key 'source' has no value"),
        ('graph [ "x" 5 ]', "expected a key instead of 'x'"),
        ('graph [ name "x ]', "a string is not closed"),
        ("graph [ node [ id 0 ] node [ id 0 ] ]", "1 node ids appear more than once"),
        (f"graph [ {NODES} edge [ source 0 target 7 length 1 ] ]", "name 1 nodes that are not in the graph"),
        (f"graph [ {NODES} edge [ source 0 target 1 km 1 ] ]", "'length' is missing.*have 'km'"),
        ("a [ " * 1000, "nested more than 64 deep"),
    ],
)
def test_broken_files(tmp_path, text, message) -> None:
    """Each fault is an error that names the file."""
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"(?s)g\.gml.*{message}"):
        read(tmp_path, text)


def test_the_limit_of_memory_holds(tmp_path) -> None:
    """A file of nodes that would take more than the limit is refused."""
    text = "graph [" + "".join(f"node [ id {i} ]\n" for i in range(20_000)) + "]"
    with pytest.raises(tt.RequestTooLargeError, match=r"g\.gml"):
        read(tmp_path, text, max_bytes=2_000_000)
