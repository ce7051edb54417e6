"""What messages quote of what they were given."""

from __future__ import annotations

import zipfile

import networkx as nx
import pandas as pd
import pytest
from distributed.core import error_message
from distributed.protocol import pickle as dask_pickle
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli._errors import Fault, listed, quoted, shortened
from torelli.classification import classify

LONG = "x" * 10**6
TRIANGLE = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 1.5, 2.0])


@given(st.recursive(st.text() | st.binary() | st.integers() | st.floats(), st.lists))
def test_what_is_short_is_quoted_whole(value):
    """A short value is quoted as Python writes it, a long one by its ends and its length."""
    text = repr(value)
    if len(text) <= 80:
        assert quoted(value) == text
    else:
        assert quoted(value).startswith(text[:60])
        assert f"{text[-10:]} ({len(text):,} characters)" in quoted(value)
        assert len(quoted(value)) < 120


@pytest.mark.parametrize("kind", [*tt.TorelliError.__subclasses__(), tt.TorelliError])
def test_errors_are_sent_between_processes(kind):
    """Dask sends an error of a worker with its type and its message."""
    error = kind([Fault("a problem", "a remedy")] if kind is tt.InvalidGraphError else "a problem")
    sent = dask_pickle.loads(error_message(error)["exception"].data)
    assert type(sent) is kind
    assert str(sent) == str(error)


def test_what_python_cannot_write_is_quoted_by_its_type():
    """An integer of thousands of digits, which has no `repr`, is named."""
    assert quoted(10**5000) == "<int>"


def test_lists_are_cut():
    """Of many values the first are listed, each shortened; of a short text nothing is cut."""
    assert listed("ab") == "'a', 'b'"
    assert listed(range(12)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."
    assert len(listed([LONG] * 20)) < 1_200
    assert shortened("path/to/file") == "path/to/file"


def test_a_fault_counts_the_edges_that_it_leaves_out():
    """Edges with long names are named as far as there is room, and the rest is counted."""
    edges = tuple(f"{i} ({quoted(LONG)})" for i in range(20))
    text = str(Fault("length is zero", "mend it", edges, name=LONG))
    assert len(text) < 2_000
    assert " and 11 more: length is zero; mend it" in text
    error = tt.InvalidGraphError([Fault("problem", "remedy", edges)] * 50)
    assert len(str(error)) < 12_000
    assert "more (all in the exception's attribute `faults`)" in str(error)


def graph_with(length=1.0, node=0, **attributes):
    """Return a networkx graph of one edge."""
    graph = nx.Graph(**attributes)
    graph.add_edge(node, 1, length=length)
    return graph


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.as_metric_graph(graph_with(LONG)),
        lambda: tt.as_metric_graph(graph_with(-1.0, LONG, name=LONG)),
        lambda: tt.as_metric_graph(graph_with(), length=LONG),
        lambda: tt.as_metric_graph(pd.DataFrame({LONG: [1], LONG + "y": [2]})),
        lambda: tt.as_metric_graph([(0, 1, LONG), (LONG, 2, None), LONG]),
        lambda: tt.as_metric_graph([{LONG: 1.0}, {}]),
        lambda: tt.MetricGraph([0], [1], [LONG]),
        lambda: tt.MetricGraph([0], [1], [0.0], name=LONG, node_ids=[LONG, "b"]),
        lambda: tt.MetricGraph([], [], [], 10**5000 * -1),
        lambda: tt.TTEKernel(gamma=LONG).fit_transform([TRIANGLE] * 2),
        lambda: tt.pairwise_distances([[[1.0]]], metric=LONG),
        lambda: tt.torelli_matrix(TRIANGLE, max_genus=LONG),
        lambda: tt.torelli_matrix(TRIANGLE, truncation=LONG),
        lambda: tt.StreetStatistics(features=LONG).fit_transform([TRIANGLE]),
        lambda: tt.datasets.load_tu(LONG),
        lambda: tt.datasets.street_patterns(LONG),
        lambda: classify([TRIANGLE] * 3, [LONG, "b", "b"], folds=2),
        lambda: tt.read(LONG),
        lambda: tt.read(LONG + "*.csv"),
    ],
)
def test_long_arguments_are_quoted_in_a_line(call):
    """A megabyte in a call is an error of some lines."""
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        call()
    assert len(str(caught.value)) < 2_000


def test_names_in_archives_are_quoted_in_a_line(tmp_path):
    """The longest names that a zip can hold give a short message."""
    name = LONG[:60_000]
    for parts in (["A"], ["A", "graph_indicator", "graph_labels"]):
        with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
            for part in parts:
                archive.writestr(f"{name}_{part}.txt", LONG)
        with pytest.raises(tt.FormatError) as caught:
            tt.read(tmp_path / "set.zip")
        assert len(str(caught.value)) < 2_000
