"""Checks of input: every fault is in one error."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import torelli as tt


def test_every_fault_of_an_array_graph_is_listed_at_once():
    """Zero, negative, NaN and infinite lengths and end points out of range come in one error."""
    with pytest.raises(tt.InvalidGraphError) as caught:
        tt.MetricGraph([0, 1, 2, 3, 9], [1, 2, 3, 0, -1], [0.0, -1.0, np.nan, np.inf, 1.0], 4, name="bad")
    text = str(caught.value)
    for part in (
        "'bad'",
        "zero",
        "negative",
        "NaN",
        "infinite",
        "out of range",
        "edge 0 (0, 1)",
        "edge 4 (9, -1)",
    ):
        assert part in text
    assert len(caught.value.faults) == 5
    assert all(fault.remedy for fault in caught.value.faults)


@pytest.mark.parametrize(
    ("tail", "head", "length", "message"),
    [
        ([0, 1, 0], [1, 0, 0], [1e308, 1e308, 1.0], "total length overflows"),
        ([10**9], [10**9 + 1], [1.0], "number nodes from 0, or give edges with ids"),
        ([1e19], [0.0], [1.0], "whole numbers"),
        ([0, [1]], [1, 2], [1.0, 2.0], "cannot be read"),
        ([0, 1], [1, 2], [1.0, [2.0]], "cannot be read"),
        ([0, 1], [1], [1.0], "differ in size"),
        ([0.5], [1], [1.0], "whole numbers"),
        (["a"], ["b"], [1.0], "end points have type"),
        ([0], [1], ["long"], "not a number"),
        ([[0]], [[1]], [[1.0]], "one-dimensional"),
        ([0], [1], [True], "not a number"),
        ([0], [1], [1 + 2j], "not a number"),
    ],
)
def test_arrays_that_are_no_graph(tail, head, length, message):
    """Wrong shapes and types are named."""
    with pytest.raises(tt.InvalidGraphError, match=message):
        tt.MetricGraph(tail, head, length)


@pytest.mark.parametrize("n_nodes", [-1, 2.5, "three", True])
def test_a_node_count_must_be_a_number(n_nodes):
    """A count that is none is named with its value."""
    with pytest.raises(tt.InvalidGraphError, match="n_nodes is"):
        tt.MetricGraph([], [], [], n_nodes)


def test_nodes_that_memory_cannot_hold_are_refused(monkeypatch):
    """A number of nodes far beyond the edges is checked before arrays of that size are made."""
    with pytest.raises(tt.InvalidGraphError, match="there are 1,099,511,627,776 nodes, and at most"):
        tt.MetricGraph([0], [1], [1.0], 2**40)
    monkeypatch.setattr("torelli._memory.available_bytes", lambda: 10**8)
    assert tt.MetricGraph([0], [1], [1.0], 10**6).n_components == 10**6 - 1
    with pytest.raises(tt.RequestTooLargeError, match=r"a graph of 2,000,000 nodes would take 200 MB"):
        tt.MetricGraph([0], [1], [1.0], 2_000_000)


def test_node_ids_and_coordinates_must_match_the_nodes():
    """One id and one point for each node."""
    with pytest.raises(tt.InvalidGraphError, match="node_ids"):
        tt.MetricGraph([0], [1], [1.0], 2, node_ids=["a"])
    for points in ([[0, 0]], [["a", "b"]], [[0, 1], [2]]):
        with pytest.raises(tt.InvalidGraphError, match="coordinates"):
            tt.MetricGraph([0], [1], [1.0], 2, coordinates=points)
    for ids in (["a", "a"], [[1], [2]]):
        with pytest.raises(tt.InvalidGraphError, match="node_ids repeat"):
            tt.MetricGraph([0], [1], [1.0], 2, node_ids=ids)


def test_lengths_as_numeric_strings_are_converted():
    """GraphML gives strings; a string that is a number is one."""
    assert tt.MetricGraph([0], [1], ["2.5"]).length.tolist() == [2.5]
    G = nx.Graph()
    G.add_edge("a", "b", length="1e2")
    assert tt.as_metric_graph(G).length.tolist() == [100.0]


def test_long_lists_of_faults_are_cut_in_the_message_only():
    """A million bad edges do not make a message of a million lines, and none is lost."""
    n = 100_000
    with pytest.raises(tt.InvalidGraphError) as caught:
        tt.MetricGraph(np.zeros(n, int), np.ones(n, int), np.zeros(n))
    assert len(str(caught.value)) < 2_000
    assert "99,980 more" in str(caught.value)
    assert len(caught.value.faults[0].edges) == n
