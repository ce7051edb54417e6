"""Pajek's networks."""

from __future__ import annotations

import networkx as nx
import pytest

import torelli as tt
from torelli.io.pajek import PAJEK


def read(tmp_path, text, **options):
    """Return the graph of a text."""
    file = tmp_path / "g.net"
    file.write_text(text, encoding="utf-8")
    (graph,) = tt.read(file, **options)
    return graph


def test_edges_and_arcs(tmp_path) -> None:
    """Each edge is one, the two arcs of a street are one, and nodes are named by their labels."""
    graph = read(tmp_path, PAJEK.example, unit="km")
    assert (graph.name, graph.source, graph.unit) == ("town", "g.net", "km")
    assert graph.node_ids == ("a", "b c", "d")
    assert sorted(graph.length.tolist()) == [1.5, 2.5, 3.5]
    assert (graph.genus, graph.coordinates) == (1, None)


def test_what_networkx_writes(tmp_path) -> None:
    """A multigraph through networkx's writer keeps its parallel edges and their weights."""
    graph = nx.MultiGraph()
    graph.add_weighted_edges_from([("a", "b", 1.5), ("a", "b", 2.5), ("b", "c", 1.0)], weight="weight")
    nx.write_pajek(graph, tmp_path / "g.net")
    (got,) = tt.read(tmp_path / "g.net")
    assert got.node_ids == ("a", "b", "c")
    assert sorted(got.length.tolist()) == [1.0, 1.5, 2.5]


def test_equal_labels_stay_two_nodes(tmp_path) -> None:
    """Vertices with one label are as many nodes, named by their numbers."""
    graph = read(tmp_path, '*Vertices 2\n1 "Berlin" 0 0\n2 "Berlin" 0 1\n*Edges\n1 2 5\n')
    assert (graph.node_ids, graph.length.tolist()) == (("1", "2"), [5.0])
    assert graph.coordinates.tolist() == [[0, 0], [0, 1]]


def test_matrices(tmp_path) -> None:
    """A symmetric matrix of lengths is an undirected graph; 0 is no edge."""
    graph = read(tmp_path, "*vertices 3\n1\n2\n3\n*matrix\n0 2 0\n2 0 1.5\n0 1.5 0\n")
    assert sorted(graph.length.tolist()) == [1.5, 2.0]


def test_vertices_that_are_declared_only(tmp_path) -> None:
    """A header that promises more vertices than the file has is told, and costs nothing."""
    with pytest.warns(tt.DataWarning, match="9,000,000,000 vertices are declared and 2 are in the file"):
        graph = read(tmp_path, "*Vertices 9000000000\n% comment\n*Edges\n1 2 5\n")
    assert graph.n_nodes == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b 5\n", "not a network of Pajek"),
        ("*Vertices 2\n1 a\n2 b\n*Edges\n1\n", "line 5: an edge has the field '1' only"),
        ("*Vertices 2\n1 a\n2 b\n*Edges\n1 b 4\n", "line 5: 'b' is not the number of a vertex"),
        ("*Vertices 2\n1 a\n2 b\n*Edges\n1 2\n", "'length' is missing"),
        ("*Vertices 2\n1 a\n2 b\n*Edges\n1 2 far\n", "not a number"),
        ("*Vertices 2\n1 a\n1 b\n*Edges\n1 1 4\n", "1 node ids appear more than once"),
        ("*Vertices 2\n1 a\n2 b\n*Arcslist\n1 2\n", r"\*Arcslist has no lengths"),
        ("*Vertices 2\n1 a\n2 b\n*Matrix\n0 1 1\n", "does not fit the 2 vertices"),
        ("*Vertices 1\n1 a\n*Vertices 1\n1 b\n", "line 3: a second network begins"),
    ],
)
def test_broken_files(tmp_path, text, message) -> None:
    """Each fault is an error that names the file."""
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"(?s)g\.net.*{message}"):
        read(tmp_path, text)


def test_the_limit_of_memory_holds(tmp_path) -> None:
    """A file of vertices that would take more than the limit is refused."""
    text = "*Vertices\n" + "".join(f"{i}\n" for i in range(20_000))
    with pytest.raises(tt.RequestTooLargeError, match=r"g\.net"):
        read(tmp_path, text, max_bytes=2_000_000)


def test_a_matrix_of_vertices_that_are_declared_only(tmp_path) -> None:
    """Programs that write a matrix often leave the list of vertices out."""
    graph = read(tmp_path, "*Vertices 3\n*Matrix\n0 1 2\n1 0 0\n2 0 0\n")
    assert (graph.node_ids, sorted(graph.length)) == (("1", "2", "3"), [1, 2])


def test_lists_of_neighbours_have_the_length_that_is_given(tmp_path) -> None:
    """*Edgeslist states no lengths: with one length for every edge it is read."""
    text = "*Vertices 3\n*Edgeslist\n1 2 3\n2 3\n"
    with pytest.raises(tt.FormatError, match=r"\*Edgeslist has no lengths; .*length=1.0"):
        read(tmp_path, text)
    graph = read(tmp_path, text, length=2.0)
    assert (graph.n_edges, graph.genus, graph.total_length) == (3, 1, 6)
