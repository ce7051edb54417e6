"""Which converter takes which object, and lists of graphs."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import rustworkx as rx
import scipy.sparse as sp

import torelli as tt

PATH = pd.DataFrame({"source": [0], "target": [1], "length": [2.0]})


def test_a_metric_graph_is_returned_as_it_is() -> None:
    """Nothing is copied."""
    graph = tt.MetricGraph([0], [1], [1.0])
    assert tt.as_metric_graph(graph) is graph


def test_a_list_may_mix_forms() -> None:
    """Each entry is converted by its own kind, and row i belongs to entry i."""
    path = igraph.Graph(edges=[(0, 1)])
    path.es["length"] = [2.0]
    graphs = [
        PATH,
        np.array([[0, 2.0], [2.0, 0]]),
        sp.coo_array(([2.0], ([0], [1])), shape=(2, 2)),
        [(0, 1, 2.0)],
        path,
        SimpleNamespace(edge_index=np.array([[0], [1]]), edge_attr=np.array([2.0]), num_nodes=2),
    ]
    converted = tt.as_metric_graphs(graphs)
    assert [graph.length.tolist() for graph in converted] == [[2.0]] * 6
    assert len(tt.as_metric_graphs(np.array([[[0, 1.0], [1.0, 0]]] * 3))) == 3
    assert len(tt.as_metric_graphs(pd.Series([nx.Graph([(0, 1, {"length": 1})])]))) == 1


@pytest.mark.parametrize(
    "single",
    [
        nx.Graph(),
        igraph.Graph(),
        rx.PyGraph(),
        PATH,
        np.zeros((2, 2)),
        sp.eye_array(2),
        tt.MetricGraph([], [], []),
        SimpleNamespace(edge_index=np.zeros((2, 0))),
        "cities/*.graphml",
        7,
    ],
)
def test_a_single_graph_is_no_list(single) -> None:
    """A graph, a text or a number where a list is meant is an error that says so."""
    with pytest.raises(tt.InvalidGraphError, match="where a list of graphs is expected"):
        tt.as_metric_graphs(single)


def test_faults_of_a_list_are_in_one_error() -> None:
    """Every bad graph is named by its position."""
    with pytest.raises(tt.InvalidGraphError, match=r"(?s)graph 0.*zero.*graph 2.*negative"):
        tt.as_metric_graphs([[(0, 1, 0.0)], [(0, 1, 1.0)], [(0, 1, -1.0)]])


@pytest.mark.parametrize("thing", [None, 3.5, "a", {}, set(), object(), pd.Series([1.0]), igraph.Graph().vs])
def test_other_objects_are_refused(thing) -> None:
    """What is no graph is an error that names the type."""
    with pytest.raises(tt.InvalidGraphError, match=f"type {type(thing).__name__}"):
        tt.as_metric_graph(thing)


def test_no_optional_package_is_imported() -> None:
    """Converting networkx, numpy and scipy input imports none of the packages of other graphs."""
    code = """
import sys, networkx, numpy, scipy.sparse
from torelli import as_metric_graph
before = set(sys.modules)
for graph in (numpy.eye(4), scipy.sparse.eye_array(4), networkx.path_graph(1), [(0, 1, 2.0)]):
    as_metric_graph(graph)
print(sorted({name.partition(".")[0] for name in set(sys.modules) - before} - {"torelli"}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == "[]"
