"""Checks of input: every fault is in one error."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli import _validate


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
    with pytest.raises(tt.InvalidGraphError, match="1,099,511,627,776 nodes, more than the limit of"):
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


@given(st.lists(st.floats() | st.sampled_from([0.0, 1.0, 1e308, np.nan, np.inf, -np.inf]), max_size=8))
def test_lengths_pass_exactly_if_there_is_no_fault(values):
    """The quick check and the list of faults agree; every bad edge is listed once."""
    lengths = np.array(values, dtype=np.float64)
    faults = _validate.length_faults(lengths, str)
    assert _validate.are_lengths(lengths) == (not faults)
    listed = sorted(int(edge) for fault in faults for edge in fault.edges)
    assert listed == [i for i, x in enumerate(values) if not 0 < x < np.inf]
    if not listed:
        # numbers that are lengths one by one may still be too large together
        assert bool(faults) == bool(lengths.size and lengths.max() > np.finfo(float).max / len(lengths))


def test_lengths_are_read_one_by_one():
    """Numbers and numeric strings are lengths; truth values, complex numbers and words are not."""
    raw = ["2.5", 3, None, "wide", True, 1j, 10**400, np.float32(0.5), np.bool_(1), [1.0]]
    lengths, not_numbers = _validate.parse_lengths(raw)
    assert not_numbers == [3, 4, 5, 6, 8, 9]
    assert lengths[[0, 1, 7]].tolist() == [2.5, 3.0, 0.5]
    assert np.isnan(lengths[[2, *not_numbers]]).all()


@given(st.lists(st.integers(0, 9), unique=True), st.integers(0, 4))
def test_positions_and_masks_choose_the_same(chosen, extra):
    """Distinct positions come back in their order, and a mask gives those where it is true."""
    size = 10 + extra
    assert _validate.positions(chosen, size, "edges").tolist() == chosen
    mask = np.isin(np.arange(size), chosen)
    assert _validate.positions(mask, size, "edges").tolist() == sorted(chosen)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([0, 3], "edges: a position is out of range; use 0 to 2"),
        ([-1], "out of range"),
        ([1, 1], "listed more than once"),
        ([0.0, 1.0], "give positions as a list of integers, or a mask of size 3"),
        ([[0, 1]], "list of integers"),
        ([True, False], "list of integers"),
    ],
)
def test_positions_that_choose_nothing_definite_are_refused(chosen, message):
    """The error says what was chosen, and which positions there are."""
    with pytest.raises(tt.InvalidOptionError, match=message):
        _validate.positions(chosen, 3, "edges")


def test_end_points_of_arrays_that_are_trusted_are_checked_all_the_same():
    """An end point out of range is named with its edge and graph."""
    ends = np.array([0, 1, 5]), np.array([1, 2, 0])
    with pytest.raises(
        tt.InvalidGraphError, match=r"'net'.*edge 2 \(5, 0\): end point out of range for 3 nodes"
    ):
        _validate.check_end_points(*ends, 3, name="net")
    _validate.check_end_points(*ends, 6)


def test_kinds_of_numbers():
    """Truth values are not positive, the text "nan" is not missing, and decimal commas are not numbers."""
    assert all(_validate.is_positive(x) for x in (1, 0.5, np.float32(2), np.int64(3)))
    assert not any(_validate.is_positive(x) for x in (0, -1, np.nan, np.inf, True, "1", None))
    assert _validate.is_missing(None)
    assert _validate.is_missing(float("nan"))
    assert not any(map(_validate.is_missing, (0, "", "nan", False)))
    assert all(map(_validate.is_number, ("1", " -2.5e3 ", "nan", "inf")))
    assert not any(map(_validate.is_number, ("", "1,5", "m")))
