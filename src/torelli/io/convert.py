"""Objects in memory to metric graphs: which converter takes which object."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import Fault, InvalidGraphError, InvalidOptionError
from torelli._units import check_units, in_unit
from torelli.graph import MetricGraph
from torelli.io.directed import Directions
from torelli.io.edges import zero_lengths
from torelli.io.objects import from_networkx
from torelli.io.values import check_values

if TYPE_CHECKING:
    from torelli._types import GraphLike
    from torelli.io.edges import Zero

_EDGE = 3  # entries of a row of an edge list: two nodes and a length
_LIST_REMEDY = "give a list of graphs, such as [graph]"

# by the package that the object's class comes from, so that none of them has to be installed, and by an
# attribute that graphs of that package have and its other objects lack
_CONVERTERS = {
    "igraph": ("objects", "from_igraph", "get_edgelist"),
    "rustworkx": ("objects", "from_rustworkx", "weighted_edge_list"),
    "torch_geometric": ("objects", "from_torch_geometric", "edge_index"),
    "grakel": ("objects", "from_grakel_graph", "edge_dictionary"),
    "geopandas": ("lines", "from_geodataframe", "geometry"),
    "pandas": ("tables", "from_dataframe", "columns"),
}
_OPTIONS_OF = (
    ("pandas", "a DataFrame has columns", ("source", "target")),
    ("geopandas", "a GeoDataFrame has lines", ("tolerance", "split")),
)
_WITH_VALUES = ("geopandas", "pandas")  # converters that keep values on edges, beside networkx's


def as_metric_graph(
    graph: GraphLike,
    length: str = "length",
    *,
    direction_tolerance: float | None = None,
    source: str | None = None,
    target: str | None = None,
    tolerance: float | None = None,
    split: bool = False,
    values: bool | Iterable[str] = False,
    zero: Zero = "error",
) -> MetricGraph:
    """Return a graph as a `MetricGraph`.

    Parameters
    ----------
    graph
        A `MetricGraph`, which is returned as it is, or one of

        - a networkx graph of any class, including OSMnx's; an igraph or rustworkx graph;
        - an adjacency matrix of lengths, as a numpy array or a scipy sparse matrix, whose
          duplicate entries are parallel edges; or an edge list: rows (u, v, length) with any
          hashable node ids, as a list of tuples or an array with three columns;
        - a pandas DataFrame with the columns `source`, `target` and `length`;
        - a PyTorch Geometric `Data`; a `grakel.Graph`, or GraKeL's [edges, labels, ...];
        - a GeoDataFrame of lines, whose end points within a millimetre are one node.

        In directed graphs, adjacency matrices and PyTorch Geometric the two directions of one
        street are one edge (`torelli.io.directed` states the rule); true parallels stay.
    length
        Name of the edge attribute with the length; numeric strings are converted.
    direction_tolerance
        In directed graphs, relative difference of lengths up to which two opposite edges are one street,
        whose length is then the mean of the two; a warning gives the count. By default only rounding (1e-9)
        is allowed, and edges that differ by up to 1 % are kept, with a warning; 0 keeps them without a
        warning.
    source, target
        Names of the columns of a DataFrame with the ends of each edge. By default, whichever of these pairs
        the table has, in upper or lower case: ``source``/``target``, ``u``/``v``, ``from``/``to``,
        ``origin``/``destination``, ``src``/``dst``, ``tail``/``head``, ``start``/``end``.
    tolerance, split
        For GeoDataFrames: distance within which end points are one node, and whether to split lines where
        they cross, both as for `torelli.read`.
    values
        Which other values on edges to keep as `MetricGraph.edge_values`, of networkx graphs, DataFrames and
        GeoDataFrames: False for none, True for all but ``geometry``, or a list of names.
    zero
        How to treat edges of length zero. ``"error"``: raise an error that names them. ``"contract"``:
        contract each to a point, which has the id and place of its first end; a warning gives the count.

    Raises
    ------
    InvalidGraphError
        If a length is missing, not a number, zero, negative or not finite (the message lists every such
        edge), or if a required column of a table is missing or ambiguous.
    InvalidOptionError
        If `source` or `target` is given for anything but a DataFrame, `tolerance` or `split` for anything
        but a GeoDataFrame, or `values` where there are none.

    Warns
    -----
    DataWarning
        If opposite edges have nearly the same length; the message gives their count and the remedy.

    Examples
    --------
    >>> as_metric_graph([("a", "b", 1.0), ("b", "c", 2.0), ("c", "a", 2.5)])
    MetricGraph(3 nodes, 3 edges, genus 1, total length 5.5)
    """
    directions = Directions(direction_tolerance)
    with zero_lengths(zero):
        options = _given(source=source, target=target, tolerance=tolerance, split=split or None)
        converted = _convert(graph, length, directions, options, values=check_values(values))
    directions.tell()
    return converted


def _given(**options: object) -> dict[str, Any]:
    """Return the options that are given."""
    return {name: value for name, value in options.items() if value is not None}


def _convert(
    graph: GraphLike,
    length: str,
    directions: Directions,
    options: dict[str, Any],
    *,
    values: bool | tuple[str, ...] = (),
) -> MetricGraph:
    for package, rule, names in _OPTIONS_OF:
        given = [name for name in options if name in names]
        if given and _package_of(graph) != package:
            raise InvalidOptionError(
                f"{' and '.join(given)}: only {rule}, and this is a {type(graph).__name__}"
            )
    if isinstance(graph, MetricGraph):
        return graph
    if _is_networkx(graph):
        return from_networkx(graph, length, directions, values=values)
    further = {**options}
    if values:
        if _package_of(graph) not in _WITH_VALUES:
            raise InvalidOptionError(
                f"values: a {type(graph).__name__} has no named values on edges; leave the option out"
            )
        further["values"] = values
    place = _find_converter(graph)
    if place is None:
        problem = f"an object of type {type(graph).__name__} cannot be read as a metric graph"
        remedy = "give a torelli.MetricGraph, a networkx graph, or what torelli.as_metric_graph lists"
        raise InvalidGraphError([Fault(problem, remedy)])
    module, function = place
    converted: MetricGraph = getattr(import_module(f"torelli.io.{module}"), function)(
        graph, length, directions, **further
    )
    return converted


def as_metric_graphs(
    graphs: Iterable[Any],
    length: str = "length",
    *,
    direction_tolerance: float | None = None,
    unit: str | None = None,
    source: str | None = None,
    target: str | None = None,
    zero: Zero = "error",
) -> list[MetricGraph]:
    """Return a list of graphs as metric graphs; row i of every later result belongs to ``graphs[i]``.

    Parameters
    ----------
    graphs
        A list of whatever `as_metric_graph` takes.
    length, direction_tolerance, source, target, zero
        As for `as_metric_graph`.
    unit
        Unit for all lengths, such as ``"m"``. Graphs that state another unit are converted
        (`MetricGraph.to_unit`), and graphs that state none are taken to be in this one.

    Raises
    ------
    InvalidGraphError
        If graphs are invalid (one error lists the faults of all graphs, with their positions), or if the
        graphs state several units and `unit` is not given, since lengths then mean different things.

    Warns
    -----
    DataWarning
        If some graphs state a unit and others none, which are then taken to be in that unit; and, once
        for all graphs, where opposite edges have nearly the same length.

    Examples
    --------
    >>> import networkx as nx
    >>> import torelli as tt
    >>> ring, path = nx.cycle_graph(4), nx.path_graph(3)
    >>> for graph in (ring, path):
    ...     nx.set_edge_attributes(graph, 1.0, "length")
    >>> [graph.genus for graph in tt.as_metric_graphs([ring, path])]
    [1, 0]
    """
    directions = Directions(direction_tolerance)
    if _is_single_graph(graphs):
        raise InvalidGraphError(
            [Fault("got a single graph where a list of graphs is expected", _LIST_REMEDY)]
        )
    if isinstance(graphs, (str, bytes)) or not hasattr(graphs, "__iter__"):
        problem = f"got {type(graphs).__name__} where a list of graphs is expected"
        raise InvalidGraphError([Fault(problem, _LIST_REMEDY)])
    columns = _given(source=source, target=target)
    converted: list[MetricGraph] = []
    faults: list[Fault] = []
    with zero_lengths(zero):
        for position, graph in enumerate(graphs):
            try:
                converted.append(_convert(graph, length, directions, columns))
            except InvalidGraphError as error:
                faults.extend(error.at(position))
        if faults:
            raise InvalidGraphError(faults)
    if not converted:
        raise InvalidGraphError([Fault("the list of graphs is empty", "give at least one graph")])
    directions.tell()
    if unit is not None:
        return [in_unit(graph, unit) for graph in converted]
    check_units(converted)
    return converted


def is_graph(thing: object) -> bool:
    """Return whether an object is a graph rather than a matrix, where a caller may pass either.

    Arrays, lists of numbers, sparse matrices and square tables of numbers are matrices.
    """
    if isinstance(thing, (np.ndarray, np.generic)) or hasattr(thing, "tocoo"):
        return False
    if isinstance(thing, MetricGraph) or _is_networkx(thing) or hasattr(thing, "edge_index"):
        return True
    package = _package_of(thing)
    if package == "pandas":
        table: Any = thing
        return len(set(table.shape)) > 1 or not all(kind.kind in "iufb" for kind in table.dtypes)
    if package is not None:
        return True
    first = thing[0] if isinstance(thing, (list, tuple)) and thing else None
    edge = isinstance(first, (list, tuple)) and len(first) == _EDGE
    return edge and any(isinstance(end, str) for end in first or ())


def _is_networkx(graph: object) -> bool:
    return hasattr(graph, "is_multigraph") and hasattr(graph, "edges")


def _package_of(graph: object) -> str | None:
    """Return the package of a converter that the object's class, or a base of it, comes from."""
    for kind in type(graph).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _CONVERTERS:
            return package if hasattr(graph, _CONVERTERS[package][2]) else None
    return None


def _is_single_graph(graphs: object) -> bool:
    if isinstance(graphs, (list, tuple)):
        return False
    if isinstance(graphs, np.ndarray):
        if graphs.ndim > 1 and graphs.dtype == object:
            problem = f"numpy has turned a list of graphs into an array of shape {graphs.shape}"
            raise InvalidGraphError([Fault(problem, "convert the list with torelli.as_metric_graphs first")])
        return len(graphs.shape[1:]) == 1
    return (
        isinstance(graphs, MetricGraph)
        or _is_networkx(graphs)
        or _package_of(graphs) is not None
        or hasattr(graphs, "tocoo")
        or hasattr(graphs, "edge_index")
    )


def _find_converter(graph: GraphLike) -> tuple[str, str] | None:  # noqa: PLR0911  (one for each kind)
    """Return the module and function that convert an object."""
    package = _package_of(graph)
    if package is not None:
        return _CONVERTERS[package][:2]
    if isinstance(graph, np.ndarray):
        return "objects", "from_array"
    if hasattr(graph, "tocoo"):
        return "objects", "from_sparse"
    if hasattr(graph, "edge_index"):
        return "objects", "from_torch_geometric"
    if not isinstance(graph, (list, tuple)) or not graph:
        return None
    first = graph[0]
    if isinstance(first, (Mapping, AbstractSet)) or hasattr(first, "tocoo") or _is_nested(first):
        return "objects", "from_grakel_input"
    if all(isinstance(row, list) and len(row) == len(graph) for row in graph):
        return "objects", "from_nested_lists"
    return "objects", "from_edge_list"


def _is_nested(part: object) -> bool:
    """Whether a part is itself a matrix or a list of edges."""
    if isinstance(part, np.ndarray):
        return len(part.shape[1:]) == 1
    return (
        isinstance(part, (list, tuple)) and bool(part) and all(isinstance(row, (list, tuple)) for row in part)
    )
