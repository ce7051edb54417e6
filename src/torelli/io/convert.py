"""Objects in memory to metric graphs: which converter takes which object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from importlib import import_module
from typing import Any

import numpy as np

from torelli._errors import Fault, InvalidGraphError
from torelli.graph import MetricGraph
from torelli.io.networkx import from_networkx

_LIST_REMEDY = "give a list of graphs, such as [graph]"

# by the package that the object's class comes from, so that none of them need be installed
_CONVERTERS = {
    "igraph": ("torelli.io.graphlibs", "from_igraph"),
    "rustworkx": ("torelli.io.graphlibs", "from_rustworkx"),
    "torch_geometric": ("torelli.io.graphlibs", "from_torch_geometric"),
    "grakel": ("torelli.io.graphlibs", "from_grakel_graph"),
    "geopandas": ("torelli.io.lines", "from_geodataframe"),
    "pandas": ("torelli.io.tables", "from_dataframe"),
}


def as_metric_graph(graph: Any, length: str = "length") -> MetricGraph:  # noqa: ANN401
    """Convert a graph to a `MetricGraph`.

    Parameters
    ----------
    graph
        A `MetricGraph`, which is returned as it is, or one of

        - a networkx graph of any class, OSMnx's among them; an igraph or rustworkx graph;
        - an adjacency matrix of lengths, as a numpy array or a scipy sparse matrix, whose
          duplicate entries are parallel edges; or an edge list: rows (u, v, length) with any
          hashable node ids, as a list of tuples or an array with three columns;
        - a pandas DataFrame with the columns ``source``, ``target`` and `length`;
        - a PyTorch Geometric `Data`; a `grakel.Graph`, or GraKeL's [edges, labels, ...];
        - a GeoDataFrame of lines, whose end points within a millimetre are one node.

        In directed graphs, adjacency matrices and PyTorch Geometric the two directions of one
        street are one edge (`torelli.io.directed` states the rule); true parallels stay.
    length
        Name of the edge attribute with the length; numeric strings are converted.

    Raises
    ------
    InvalidGraphError
        With every edge whose length is missing, no number, zero, negative or not finite.

    Examples
    --------
    >>> as_metric_graph([("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 2.5)])
    MetricGraph(3 nodes, 3 edges, genus 1, total length 5.5)
    """
    if isinstance(graph, MetricGraph):
        return graph
    if _is_networkx(graph):
        return from_networkx(graph, length)
    package = _package_of(graph)
    if package in _CONVERTERS:
        module, function = _CONVERTERS[package]
        converted: MetricGraph = getattr(import_module(module), function)(graph, length)
        return converted
    if isinstance(graph, np.ndarray):
        arrays = import_module("torelli.io.arrays")
        converted = arrays.from_array(graph, length)
        return converted
    if isinstance(graph, (list, tuple)) and len(graph):
        return _from_sequence(graph, length)
    if hasattr(graph, "tocoo"):
        converted = import_module("torelli.io.arrays").from_sparse(graph)
        return converted
    if hasattr(graph, "edge_index"):
        converted = import_module("torelli.io.graphlibs").from_torch_geometric(graph, length)
        return converted
    problem = f"an object of type {type(graph).__name__} cannot be read as a metric graph"
    remedy = "give a torelli.MetricGraph, a networkx graph, or what torelli.as_metric_graph lists"
    raise InvalidGraphError([Fault(problem, remedy)])


def as_metric_graphs(graphs: Iterable[Any], length: str = "length") -> list[MetricGraph]:
    """Convert a list of graphs; row i of every later result belongs to ``graphs[i]``.

    Raises
    ------
    InvalidGraphError
        One error with the faults of all graphs, each with the position of its graph.
    """
    if _is_single_graph(graphs):
        raise InvalidGraphError([Fault("got a single graph where a list of graphs is meant", _LIST_REMEDY)])
    if isinstance(graphs, (str, bytes)) or not hasattr(graphs, "__iter__"):
        problem = f"got {type(graphs).__name__} where a list of graphs is meant"
        raise InvalidGraphError([Fault(problem, _LIST_REMEDY)])
    converted: list[MetricGraph] = []
    faults: list[Fault] = []
    for position, graph in enumerate(graphs):
        try:
            converted.append(as_metric_graph(graph, length))
        except InvalidGraphError as error:
            faults.extend(error.at(position))
    if faults:
        raise InvalidGraphError(faults)
    if not converted:
        raise InvalidGraphError([Fault("the list of graphs is empty", "give at least one graph")])
    return converted


def _is_networkx(graph: object) -> bool:
    return hasattr(graph, "is_multigraph") and hasattr(graph, "edges")


def _package_of(graph: object) -> str | None:
    """Return the package of a converter that the object's class, or a base of it, comes from."""
    for kind in type(graph).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _CONVERTERS:
            return package
    return None


def _is_single_graph(graphs: object) -> bool:
    if isinstance(graphs, (list, tuple)):
        return False
    if isinstance(graphs, np.ndarray):
        return graphs.ndim == 2 and graphs.dtype != object  # noqa: PLR2004
    if _package_of(graphs) == "pandas":
        return hasattr(graphs, "columns")  # a Series may hold graphs
    return (
        isinstance(graphs, MetricGraph)
        or _is_networkx(graphs)
        or _package_of(graphs) is not None
        or hasattr(graphs, "tocoo")
        or hasattr(graphs, "edge_index")
    )


def _from_sequence(parts: list[Any] | tuple[Any, ...], length: str) -> MetricGraph:
    """Tell GraKeL's [edges, labels, ...] from a list of (u, v, length) rows and from nested lists."""
    first = parts[0]
    if isinstance(first, (Mapping, Set)) or hasattr(first, "tocoo") or _is_nested(first):
        converted: MetricGraph = import_module("torelli.io.graphlibs").from_grakel_input(parts, length)
    elif all(isinstance(row, list) and len(row) == len(parts) for row in parts):
        converted = import_module("torelli.io.arrays").from_array(np.array(parts), length)
    else:
        converted = import_module("torelli.io.arrays").from_edge_list(parts, length)
    return converted


def _is_nested(part: object) -> bool:
    """Whether a part is itself a matrix or a list of edges."""
    if isinstance(part, np.ndarray):
        return part.ndim == 2  # noqa: PLR2004
    return isinstance(part, (list, tuple)) and bool(part) and all(isinstance(row, (list, tuple)) for row in part)
