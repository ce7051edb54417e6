"""From edges with names and raw lengths to a metric graph."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli.io import edges
from torelli.io.files import Budget


@given(st.lists(st.tuples(*[st.sampled_from(["a", "b", 3, ("c", 1), 2.5])] * 2)))
def test_nodes_are_numbered_in_order_of_appearance(pairs):
    """Numbers lead back to the names; nodes that are listed come first, each once."""
    listed = ["z", "b", "z"]
    tail, head, names = edges.number_nodes([u for u, _ in pairs], [v for _, v in pairs], listed)
    assert [(names[u], names[v]) for u, v in zip(tail, head, strict=True)] == pairs
    flat = [*listed, *(node for pair in pairs for node in pair)]
    assert names == list(dict.fromkeys(flat))


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (["a", None], ["b", "c"], r"edge 1 \(None, 'c'\): an end point is missing; name both ends"),
        (["a"], [float("nan")], r"edge 0 \('a', nan\): an end point is missing"),
        ([[1]], ["b"], "a node name cannot be hashed .* numbers, strings or other hashable"),
    ],
)
def test_ends_that_name_no_node_are_refused(sources, targets, message):
    """A missing or unhashable end is named with its edge and graph."""
    with pytest.raises(tt.InvalidGraphError, match=message) as caught:
        edges.number_nodes(sources, targets, name="net")
    assert "'net'" in str(caught.value)


def build(raw, **options):
    """Return the graph of a path with raw lengths."""
    count = len(raw)
    return edges.build_graph(range(count), range(1, count + 1), raw, list("abcdef")[: count + 1], **options)


@pytest.mark.parametrize(
    "raw", [[1.0, 2.5], ["1", "2.5"], [1, "2.5"], np.array([1.0, 2.5]), [np.float32(1), 2.5]]
)
def test_lengths_are_read_from_numbers_and_text(raw):
    """Floats, integers, numeric strings and arrays give the same graph, with the names of its nodes."""
    graph = build(raw, name="net", unit="m")
    assert graph.length.tolist() == [1.0, 2.5]
    assert graph.node_ids == ("a", "b", "c")
    assert (graph.name, graph.unit) == ("net", "m")


def test_every_bad_length_is_in_one_error():
    """Missing, unreadable and impossible lengths come together, with edges, attribute and remedies."""
    with pytest.raises(tt.InvalidGraphError) as caught:
        build(
            [None, "wide", -1.0, True, "nan"],
            length="metres",
            other_attributes=lambda: ["km", "metres"],
            how_to_set="add a column",
            name="net",
        )
    text = str(caught.value)
    for part in (
        "edge 0 ('a', 'b'): attribute 'metres' is missing; add a column, or name another attribute",
        "the edges have 'km'",
        "1 ('b', 'c'): 'wide'",
        "3 ('d', 'e'): True",
        "attribute 'metres' is not a number",
        "edge 2 ('c', 'd'): length is negative",
        "edge 4 ('e', 'f'): length is NaN",
    ):
        assert part in text
    assert len(caught.value.faults) == 4


def test_numbered_nodes_have_no_names_and_are_checked():
    """A range as nodes gives a graph without ids, and an end point beyond it is refused."""
    assert edges.build_graph([0], [1], [1.0], range(3)).node_ids is None
    with pytest.raises(tt.InvalidGraphError, match="end point out of range for 1 nodes"):
        edges.build_graph([0], [1], [1.0], range(1))


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_contraction_joins_what_zero_edges_connect(seed, n_nodes):
    """Nodes joined by edges of length 0 are one, named after the first; other edges keep their lengths."""
    rng = np.random.default_rng(seed)
    tail, head = rng.integers(n_nodes, size=(2, 10))
    length = rng.integers(0, 3, size=10).astype(float)
    new_tail, new_head, kept_length, kept, count = edges.contract_points(tail, head, length, n_nodes)
    G = nx.Graph()
    G.add_nodes_from(range(n_nodes))
    G.add_edges_from(zip(tail[length == 0].tolist(), head[length == 0].tolist(), strict=True))
    groups = sorted(map(sorted, nx.connected_components(G)))
    assert kept.tolist() == [group[0] for group in groups]
    new_node = {node: i for i, group in enumerate(groups) for node in group}
    positive = length > 0
    assert new_tail.tolist() == [new_node[node] for node in tail[positive].tolist()]
    assert new_head.tolist() == [new_node[node] for node in head[positive].tolist()]
    assert kept_length.tolist() == length[positive].tolist()
    assert count == np.count_nonzero(~positive)


def table(parts, max_bytes=10**6):
    """Return a table of edges that were read part by part."""
    gathered = edges.EdgeTable(Budget(Path("a.csv"), max_bytes))
    for ends, lengths in parts:
        gathered.extend(ends, lengths)
    return gathered


def test_a_table_read_in_parts_is_one_graph():
    """Where a part ends makes no difference, and names are numbered through all parts."""
    ends, lengths = ["a", "b", "b", "c", "c", "a"], ["1", "2.5", "4"]
    whole = table([(ends, lengths)]).graph("length", name="net")
    parts = table([(ends[:2], lengths[:1]), ([], []), (ends[2:], lengths[1:])]).graph("length", name="net")
    assert whole == parts
    assert parts.node_ids == ("a", "b", "c")
    assert parts.length.tolist() == [1.0, 2.5, 4.0]


def test_faults_of_a_table_are_numbered_through_all_parts():
    """An edge of a later part is named by its place in the whole table."""
    good = (["a", "b"], ["1"])
    with pytest.raises(
        tt.InvalidGraphError, match=r"edge 1 \('b', 'c'\): 'x': attribute 'length' is not a number"
    ):
        table([good, (["b", "c"], ["x"])]).graph("length")
    with pytest.raises(tt.InvalidGraphError, match=r"edge 1 \('b', 'c'\): attribute 'length' is missing"):
        table([good, (["b", "c"], [None])]).graph("length")
    with pytest.raises(tt.InvalidGraphError, match=r"edge 1 \('b', None\): an end point is missing"):
        table([good, (["b", None], ["1"])]).graph("length")


def test_a_table_counts_what_it_takes():
    """Edges, names and faults are counted while they are read, so that the limit holds before the end."""
    with pytest.raises(tt.RequestTooLargeError, match=r"a\.csv"):
        table([(["a", "b"], ["1"])] * 100, max_bytes=5_000)
    with pytest.raises(tt.RequestTooLargeError):
        table([(["a" * 5_000, "b"], ["1"])], max_bytes=5_000)
    table([(["a", "b"], ["1"])], max_bytes=5_000)
