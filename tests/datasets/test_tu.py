"""Benchmark sets in the TU format as lists of metric graphs."""

from __future__ import annotations

import shutil
import zipfile

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torelli import DataNotFoundError, DataWarning, FormatError, InvalidOptionError, TorelliError
from torelli.datasets import TU_NAMES, load_tu, paper_table, read_tu


def edges(graph) -> list[tuple[int, int]]:
    """Return the edges of a graph as pairs."""
    return list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))


def test_a_zip_becomes_graphs_and_labels(tu_zip, tiny) -> None:
    """Both directions are one edge, isolated nodes stay, and labels are those of the file."""
    data = read_tu(tu_zip(tiny))
    assert [edges(graph) for graph in data.graphs] == [[(0, 1), (0, 2), (1, 2), (2, 3)], [(0, 1)], []]
    assert [graph.n_nodes for graph in data.graphs] == [4, 2, 1]
    assert data.y.tolist() == [1, -1, 1]
    assert data.target_names.tolist() == ["-1", "1"]
    assert data.name == "TINY"
    assert data.graphs[0].name == "TINY[0]"
    assert data.n_repeated_rows == 0


def test_a_folder_is_read_like_its_zip(tu_zip, tiny, tmp_path) -> None:
    """A folder, and a folder in a folder of the same name, give what the zip gives."""
    path = tu_zip(tiny)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "TINY")
    assert read_tu(tmp_path / "TINY").graphs == read_tu(path).graphs
    assert read_tu(tmp_path / "TINY" / "TINY").graphs == read_tu(path).graphs
    assert load_tu(tmp_path / "TINY", lengths="unit").graphs == read_tu(path).graphs


def test_return_x_y_is_the_pair(tu_zip, tiny) -> None:
    """return_X_y=True gives graphs and labels, as in scikit-learn."""
    graphs, y = load_tu(str(tu_zip(tiny)), return_X_y=True)
    assert len(graphs) == len(y) == 3


def test_windows_line_ends_and_missing_spaces_change_nothing(tu_zip, tiny) -> None:
    """CRLF, other separators and a missing last newline are the same data."""
    expected = read_tu(tu_zip(tiny)).graphs
    other = {part: text.replace(", ", ",").replace("\n", "\r\n").rstrip() for part, text in tiny.items()}
    assert read_tu(tu_zip(other)).graphs == expected


def test_nodes_need_not_be_listed_graph_by_graph(tu_zip) -> None:
    """Nodes of one graph may be scattered; they keep their order."""
    files = {"A": "1,3\n3,1\n2,4\n", "graph_indicator": "1\n2\n1\n2\n2\n", "graph_labels": "0\n1\n"}
    graphs = read_tu(tu_zip(files)).graphs
    assert [edges(graph) for graph in graphs] == [[(0, 1)], [(0, 1)]]
    assert [graph.n_nodes for graph in graphs] == [2, 3]


def test_a_loop_is_one_edge_and_stays(tu_zip, tiny) -> None:
    """A row (u, u) is a loop."""
    tiny["A"] += "7, 7\n"
    graph = read_tu(tu_zip(tiny)).graphs[2]
    assert edges(graph) == [(0, 0)]
    assert graph.genus == 1
    with pytest.raises(TorelliError, match=r"TINY\[2\].*a loop has effective resistance 0"):
        read_tu(tu_zip(tiny), lengths="resistance")


def test_repeated_rows_are_one_edge_and_counted(tu_zip, tiny) -> None:
    """Rows that repeat an earlier one in the same direction are taken once, with a warning and a count."""
    expected = read_tu(tu_zip(tiny)).graphs
    tiny["A"] += "1, 2\n1, 2\n6, 5\n"
    with pytest.warns(DataWarning, match="3 rows repeat an earlier one"):
        data = read_tu(tu_zip(tiny))
    assert data.graphs == expected
    assert data.n_repeated_rows == 3


def test_a_graph_without_nodes_is_allowed(tu_zip) -> None:
    """A label without nodes is an empty graph, so that rows keep matching y."""
    files = {"A": "1,2\n", "graph_indicator": "1\n1\n3\n", "graph_labels": "0\n1\n0\n"}
    assert [graph.n_nodes for graph in read_tu(tu_zip(files)).graphs] == [2, 0, 1]


@st.composite
def small_sets(draw) -> list[nx.Graph]:
    """Draw a list of small graphs, loops and isolated nodes included."""
    graphs = []
    for _ in range(draw(st.integers(1, 4))):
        n_nodes = draw(st.integers(1, 6))
        pair = st.tuples(st.integers(0, n_nodes - 1), st.integers(0, n_nodes - 1))
        graph = nx.Graph(draw(st.lists(pair, max_size=10)))
        graph.add_nodes_from(range(n_nodes))
        graphs.append(graph)
    return graphs


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(small_sets(), st.randoms(use_true_random=False))
def test_any_set_round_trips(tu_zip, graphs, random) -> None:
    """Whatever the order and direction of the rows, the graphs come back edge by edge."""
    rows, indicator, offset = [], [], 1
    for number, graph in enumerate(graphs, 1):
        for u, v in graph.edges:
            forward, backward = (u + offset, v + offset), (v + offset, u + offset)
            rows += random.choice([{forward}, {backward}, {forward, backward}])
        indicator += [number] * len(graph)
        offset += len(graph)
    random.shuffle(rows)
    files = {
        "A": "".join(f"{u}, {v}\n" for u, v in rows),
        "graph_indicator": "".join(f"{number}\n" for number in indicator),
        "graph_labels": "0\n" * len(graphs),
    }
    parsed = read_tu(tu_zip(files)).graphs
    assert [edges(graph) for graph in parsed] == [
        sorted((min(edge), max(edge)) for edge in graph.edges) for graph in graphs
    ]


def test_uniform_lengths_are_seeded_and_do_not_depend_on_the_order_of_rows(tu_zip, tiny) -> None:
    """The same seed gives the same lengths, another seed others, shuffled rows the same."""
    path = tu_zip(tiny)
    first = load_tu(path, seed=1).graphs
    assert first == load_tu(path, seed=1).graphs
    assert first != load_tu(path, seed=2).graphs
    rows = tiny["A"].splitlines()
    tiny["A"] = "\n".join(rows[::-1])
    assert first == load_tu(tu_zip(tiny), seed=1).graphs


def test_uniform_lengths_are_uniform_and_never_zero(shared) -> None:
    """On a large set lengths lie in (0, 1] and have the mean and variance of Unif(0, 1)."""
    length = np.concatenate([graph.length for graph in load_tu(shared("tu", "PROTEINS.zip")).graphs])
    assert length.min() > 0
    assert length.max() <= 1
    assert length.mean() == pytest.approx(1 / 2, abs=0.01)
    assert length.var() == pytest.approx(1 / 12, abs=0.002)


def test_attribute_lengths_are_those_of_the_file(tu_zip, tiny) -> None:
    """One number for each row is the length of its edge."""
    tiny["edge_attributes"] = "\n".join(map(str, [1.5, 1.5, 2, 2, 3, 3, 0.25, 0.25, 7, 7]))
    graphs = read_tu(tu_zip(tiny), lengths="attribute").graphs
    assert graphs[0].length.tolist() == [1.5, 3.0, 2.0, 0.25]
    assert graphs[1].length.tolist() == [7.0]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([1, 1, 2, 2, 3, 3, 1, 1, 7, 8], r"line 9: the row contradicts"),
        ([1, 1, 2, 2, 3, 3, 1, 1, 7], r"9 rows of 1 numbers"),
        (["1,2"] * 10, r"10 rows of 2 numbers"),
        ([1, 1, 2, 2, 3, 3, 0, 0, 7, 7], r"lines 7, 8: a length must be finite and greater than 0"),
        ([1, 1, 2, 2, 3, 3, "nan", "nan", 7, 7], r"lines 7, 8: a length must be finite"),
        ([1, 1, 2, 2, 3, 3, "far", 1, 7, 7], r"line 7: 'far'"),
    ],
)
def test_attributes_that_are_no_lengths_are_an_error(tu_zip, tiny, values, problem) -> None:
    """Contradicting, missing, zero, NaN and textual lengths are named with their lines."""
    tiny["edge_attributes"] = "\n".join(map(str, values))
    with pytest.raises(FormatError, match=problem):
        read_tu(tu_zip(tiny), lengths="attribute")


def test_a_set_without_attributes_says_so(tu_zip, tiny) -> None:
    """lengths='attribute' names the set that has none, and the other choices."""
    with pytest.raises(InvalidOptionError, match="TINY has no edge attributes; use 'uniform'"):
        read_tu(tu_zip(tiny), lengths="attribute")
    with pytest.raises(InvalidOptionError, match="unknown lengths 'metric'"):
        read_tu(tu_zip(tiny), lengths="metric")


def test_resistance_lengths(tu_zip, tiny) -> None:
    """The triangle has 2/3 on each edge, its tail 1."""
    graphs = read_tu(tu_zip(tiny), lengths="resistance").graphs
    np.testing.assert_allclose(graphs[0].length, [2 / 3, 2 / 3, 2 / 3, 1], rtol=1e-14)
    assert graphs[1].length.tolist() == [1.0]


def test_what_is_not_there_is_not_found(tmp_path, tiny) -> None:
    """A path that does not exist, and a name that is none, are errors that say so."""
    with pytest.raises(DataNotFoundError, match="no TU data set at"):
        load_tu(tmp_path / "no.zip")
    with pytest.raises(DataNotFoundError, match="no TU data set at"):
        read_tu(tmp_path / "no")
    with pytest.raises(InvalidOptionError, match="not the name"):
        load_tu("MUTAG?x=1")
    folder = tmp_path / "S"
    folder.mkdir()
    for part, text in tiny.items():
        (folder / f"S_{part}.txt").write_text(text)
    with pytest.raises(InvalidOptionError, match="is a folder"):
        load_tu(folder, sha256="0" * 64)


def test_the_names_are_those_of_the_paper() -> None:
    """The 23 sets are the rows of the paper's table, in its order."""
    assert list(TU_NAMES) == [row["dataset"] for row in paper_table("dataset_statistics")]


@pytest.mark.parametrize("name", ["BZR_MD", "COX2_MD", "DHFR_MD", "ER_MD"])
def test_the_md_sets_carry_distances(shared, name) -> None:
    """Their lengths are distances between atoms in three dimensions: no triangle inequality fails."""
    graphs = read_tu(shared("tu", f"{name}.zip"), lengths="attribute").graphs
    graph = max(graphs, key=lambda graph: graph.n_nodes)
    n = graph.n_nodes
    assert graph.n_edges == n * (n - 1) // 2
    distance = np.zeros((n, n))
    distance[graph.tail, graph.head] = distance[graph.head, graph.tail] = graph.length
    assert (distance[:, None, :] <= distance[:, :, None] + distance[None, :, :] + 1e-9).all()
    assert 1.0 < min(graph.length.min() for graph in graphs) < 1.5


def test_the_imdb_sets_list_every_row_twice(shared) -> None:
    """What is known of a set needs no warning, and each edge is there once."""
    data = read_tu(shared("tu", "IMDB-BINARY.zip"))
    assert data.n_repeated_rows == 193_062
    assert sum(graph.n_edges for graph in data.graphs) == 96_531
    assert all(graph.n_parallel == 0 for graph in data.graphs)


def test_a_set_agrees_with_networkx(shared) -> None:
    """MUTAG read line by line with networkx has the same edges, graph by graph."""
    path = shared("tu", "MUTAG.zip")
    with zipfile.ZipFile(path) as archive:
        rows = [tuple(map(int, line.split(b","))) for line in archive.open("MUTAG/MUTAG_A.txt")]
        indicator = [int(line) for line in archive.open("MUTAG/MUTAG_graph_indicator.txt")]
    whole = nx.Graph(rows)
    offset = 1
    for number, graph in enumerate(read_tu(path).graphs, 1):
        count = indicator.count(number)
        part = whole.subgraph(range(offset, offset + count))
        assert set(edges(graph)) == {(min(e) - offset, max(e) - offset) for e in part.edges}
        assert graph.n_nodes == count
        offset += count


def test_resistances_on_real_graphs_add_up(shared) -> None:
    """In each graph the resistances add up to nodes minus components (Foster), loops there are none."""
    for graph in read_tu(shared("tu", "ENZYMES.zip"), lengths="resistance").graphs:
        assert graph.total_length == pytest.approx(graph.n_nodes - graph.n_components, rel=1e-11)


def test_a_local_name_is_found_in_the_data_folder(tu_zip, tiny, tmp_path, monkeypatch) -> None:
    """TORELLI_DATA/tu is looked at first, zips before folders; the cache comes later."""
    monkeypatch.setenv("TORELLI_DATA", str(tmp_path / "data"))
    path = tu_zip(tiny, folder=tmp_path / "data" / "tu")
    assert load_tu("TINY").source == str(path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(path.parent)
    path.unlink()
    assert load_tu("TINY").source == str(path.parent / "TINY")
    shutil.rmtree(path.parent / "TINY")
    home = tmp_path / "home"
    cached = tu_zip(tiny, folder=home / "tu")
    assert load_tu("TINY", data_home=home).source == str(cached)
