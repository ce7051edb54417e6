"""Edges of length zero: an error that names the remedy, or points."""

from __future__ import annotations

import gzip
import json

import networkx as nx
import numpy as np
import pytest

import torelli as tt
from torelli.cli import main

# a square whose second edge has no length, so that it is a triangle with a leaf
EDGES = [("a", "b", 1.0), ("b", "c", 0.0), ("c", "d", 2.0), ("d", "a", 3.0), ("c", "e", 4.0)]


def networkx_graph(kind=nx.Graph):
    graph = kind(name="town")
    for at, node in enumerate("abcde"):
        graph.add_node(node, x=float(at), y=0.0)
    graph.add_weighted_edges_from(EDGES, weight="length")
    return graph


def files(folder):
    """Write the graph in every format that states lengths, and return the paths."""
    nx.write_graphml(networkx_graph(), folder / "a.graphml")
    (folder / "b.csv").write_text("source,target,length\n" + "".join(f"{u},{v},{x}\n" for u, v, x in EDGES))
    (folder / "c.jsonl").write_text(json.dumps({"id": "town", "edges": EDGES}))
    ends = [("abcde".index(u) + 1, "abcde".index(v) + 1, x) for u, v, x in EDGES]
    tu = folder / "TINY"
    tu.mkdir()
    (tu / "TINY_A.txt").write_text("".join(f"{u}, {v}\n{v}, {u}\n" for u, v, _ in ends))
    (tu / "TINY_edge_attributes.txt").write_text("".join(f"{x}\n{x}\n" for *_, x in ends))
    (tu / "TINY_graph_indicator.txt").write_text("1\n" * 5)
    (tu / "TINY_graph_labels.txt").write_text("0\n")
    return [folder / "a.graphml", folder / "b.csv", folder / "c.jsonl", tu]


@pytest.mark.parametrize("position", range(4), ids=["graphml", "csv", "jsonl", "tu"])
def test_every_reader_makes_points_of_them(tmp_path, position):
    """The two ends are one node, all other edges stay, and the warning has the count."""
    with pytest.warns(tt.DataWarning, match=r"^1 edge of length 0 in .* was contracted to a point$"):
        (graph,) = tt.read(files(tmp_path)[position], zero="contract")
    assert (graph.n_nodes, graph.n_edges, graph.genus) == (4, 4, 1)
    assert sorted(graph.length) == [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_allclose(tt.torelli_matrix(graph), [[6.0]])


@pytest.mark.parametrize("position", range(3), ids=["graphml", "csv", "jsonl"])
def test_the_error_names_the_option(tmp_path, position):
    """By default such an edge is an error, which names it and says how to make a point of it."""
    expected = r"(?s)length is zero.*zero='contract'.*--zero contract"
    with pytest.raises(tt.InvalidGraphError, match=expected) as raised:
        tt.read(files(tmp_path)[position])
    assert "('b', 'c'): length is zero" in str(raised.value)


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph, nx.DiGraph, nx.MultiDiGraph])
def test_objects_keep_ids_and_places(kind):
    """A point has the id and the place of the first of its nodes."""
    with pytest.warns(tt.DataWarning, match="1 edge of length 0 in 'town' was contracted"):
        graph = tt.as_metric_graph(networkx_graph(kind), zero="contract")
    assert graph.node_ids == ("a", "b", "d", "e")
    np.testing.assert_array_equal(graph.coordinates[:, 0], [0.0, 1.0, 3.0, 4.0])


def test_both_directions_of_a_street_are_one_point():
    """In a directed graph, an edge of length zero and its reverse count once."""
    graph = networkx_graph().to_directed()
    with pytest.warns(tt.DataWarning, match="1 edge of length 0"):
        contracted = tt.as_metric_graph(graph, zero="contract")
    assert (contracted.n_nodes, contracted.n_edges) == (4, 4)


def test_edge_values_stay_with_their_edges(tmp_path):
    """Values of the edges that stay are those they had."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"edges": EDGES, "edge_values": {"width": [1, 2, 3, 4, 5]}}))
    with pytest.warns(tt.DataWarning, match="contracted"):
        (graph,) = tt.read(path, zero="contract")
    assert graph.edge_values["width"].tolist() == [1, 3, 4, 5]


def test_lists_arrays_and_loops():
    """Rows of numbers, cycles of zeros and loops of zeros become points too."""
    rows = np.array([[0, 1, 0.0], [1, 2, 0.0], [2, 0, 0.0], [2, 2, 0.0], [2, 3, 5.0]])
    with pytest.warns(tt.DataWarning, match="4 edges of length 0 were contracted"):
        (graph,) = tt.as_metric_graphs([rows], zero="contract")
    assert (graph.n_nodes, graph.length.tolist()) == (2, [5.0])


def test_nothing_is_said_where_there_are_none():
    """Without edges of length zero the option changes nothing and says nothing."""
    ring = [(0, 1, 1.0), (1, 2, 2.0), (2, 0, 2.5)]
    assert tt.as_metric_graph(ring, zero="contract") == tt.as_metric_graph(ring)


@pytest.mark.parametrize("length", [-1.0, float("nan"), float("inf"), "x", None])
def test_other_faults_stay_errors(length):
    """Only zeros are contracted: what is wrong otherwise is still refused, without talk of zeros."""
    with pytest.raises(tt.InvalidGraphError) as raised:
        tt.as_metric_graph([("a", "b", 0.0), ("b", "c", length)], zero="contract")
    assert "zero" not in str(raised.value)


def test_an_unknown_rule_is_refused():
    """The error lists the rules."""
    with pytest.raises(tt.InvalidOptionError, match=r"zero 'drop'.*error.*contract"):
        tt.as_metric_graph([(0, 1, 1.0)], zero="drop")


def test_the_command_line_has_the_option(tmp_path, capsys):
    """--zero contract reads the file and tells the count."""
    path = files(tmp_path)[0]
    assert main(["info", str(path)]) != 0
    assert "--zero contract" in capsys.readouterr().err
    assert main(["info", str(path), "--zero", "contract"]) == 0
    assert "1 edge of length 0" in capsys.readouterr().err


def test_a_real_city_with_two_nodes_at_one_place(data, tmp_path):
    """One edge of Monaco set to zero no longer refuses the city."""
    text = gzip.decompress((data / "urn" / "graphs" / "Monaco.graphml.gz").read_bytes()).decode()
    graph = nx.parse_graphml(text, force_multigraph=True)
    first = next(edge for edge in graph.edges(keys=True) if edge[0] != edge[1])
    whole = tt.as_metric_graph(graph)
    graph.edges[first]["length"] = 0.0
    path = tmp_path / "monaco.graphml"
    nx.write_graphml(graph, path)
    with pytest.warns(tt.DataWarning, match="1 edge of length 0 in 'monaco'"):
        (contracted,) = tt.read(path, zero="contract")
    assert (contracted.n_nodes, contracted.n_edges) == (whole.n_nodes - 1, whole.n_edges - 1)
    assert contracted.genus == whole.genus


def test_the_warning_is_at_the_line_of_the_caller():
    """Python shows the user's own line, whatever block of this package the warning comes from."""
    with pytest.warns(tt.DataWarning, match="1 edge of length 0 was contracted to a point") as caught:
        tt.as_metric_graph([(0, 1, 0.0), (1, 2, 1.0)], zero="contract")
    assert [one.filename for one in caught] == [__file__]
