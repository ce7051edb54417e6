"""Graphs of GraKeL, which has no release for Python 3.13 that goes with numpy 2."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt

grakel = pytest.importorskip("grakel", exc_type=ImportError)

TRIANGLE = {("a", "b"): 1.0, ("b", "a"): 1.0, ("b", "c"): 2.0, ("c", "b"): 2.0, ("c", "a"): 3.0}


@pytest.mark.parametrize(
    "form",
    [
        grakel.Graph(TRIANGLE, node_labels=dict.fromkeys("abcd", 0)),
        [TRIANGLE, dict.fromkeys("abcd", 0)],
        ({"a": {"b": 1.0}, "b": {"a": 1.0, "c": 2.0}, "c": {"a": 3.0}, "d": {}}, {}, {}),
        [[(*ends, x) for ends, x in TRIANGLE.items()], dict.fromkeys("abcd", 0), {}],
    ],
)
def test_grakel_dictionaries(form) -> None:
    """GraKeL's graphs and input lists give one edge for both directions; labelled nodes are there."""
    graph = tt.as_metric_graph(form)
    assert sorted(graph.length.tolist()) == [1.0, 2.0, 3.0]
    assert sorted(graph.node_ids) == list("abcd")
    assert graph.genus == 1


@pytest.mark.parametrize(
    "form",
    [
        grakel.Graph([[0, 1.5, 0], [1.5, 0, 2.5], [0, 2.5, 0]]),
        [np.array([[0, 1.5, 0], [1.5, 0, 2.5], [0, 2.5, 0]]), {0: 1, 1: 1, 2: 1}],
        [[[0, 1.5, 0], [1.5, 0, 2.5], [0, 2.5, 0]], {0: 1, 1: 1, 2: 1}],
    ],
)
def test_grakel_adjacency(form, edges_of) -> None:
    """GraKeL's adjacency forms hold lengths."""
    assert edges_of(tt.as_metric_graph(form)) == [(0, 1, 1.5), (1, 2, 2.5)]


def test_grakel_edges_without_weights_are_an_error() -> None:
    """A set of pairs has no lengths, and none are made up."""
    with pytest.raises(tt.InvalidGraphError, match="'length' is missing"):
        tt.as_metric_graph([{(0, 1), (1, 0)}, {0: 1, 1: 1}])
