"""Converters of objects: arrays, edge lists, and graphs of networkx, igraph, rustworkx, PyG and GraKeL.

An adjacency matrix holds lengths: entry (i, j) is an edge, 0 is none. (i, j) and (j, i) with one
length are one edge, so a symmetric matrix is an undirected graph; entries that differ are two
edges. One triangle alone is enough (`torelli.io.directed` states the rule). A sparse
matrix with several entries in one place has parallel edges. Each row of an edge list is an edge.

Graphs of other libraries are read by their methods and attributes, without importing the libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import Fault, InvalidGraphError, quoted
from torelli._validate import EXACT
from torelli.io.edges import build_graph, number_nodes
from torelli.io.places import find_places, how_to_measure
from torelli.io.values import EdgeValues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import GraphLike, Json, MatrixLike
    from torelli.graph import MetricGraph
    from torelli.io.directed import Directions

_TRIPLE = 3
_ROW_REMEDY = "give each edge as (node, node, length)"

_PAIR = 2


def from_array(array: NDArray[Any], length: str, directions: Directions) -> MetricGraph:
    """Convert a square array as adjacency, any other with three columns as an edge list.

    A 3 x 3 array could be either. With a loop at node 2 it is an edge list unless it is symmetric;
    if it is, and both readings make sense, that is an error.
    """
    if not array.ndim or array.shape[1:] not in {array.shape[:1], (_TRIPLE,)}:
        problem = f"an array of shape {array.shape} is neither an adjacency matrix nor an edge list"
        raise InvalidGraphError([Fault(problem, "give shape (n, n) for lengths, or (m, 3) for u, v, length")])
    if array.shape[0] != array.shape[1]:
        return _from_edge_array(array, length)
    if array.shape == (_TRIPLE, _TRIPLE) and _looks_like_edges(array):
        if (array != array.T).any():
            return _from_edge_array(array, length)
        problem = "a symmetric 3 x 3 array can be read as an adjacency matrix and as three edges"
        remedy = "give edges as a list of (u, v, length) tuples, or the matrix as scipy.sparse.coo_array"
        raise InvalidGraphError([Fault(problem, remedy)])
    return from_dense(array, directions)


def from_nested_lists(rows: Sequence[Sequence[Any]], length: str, directions: Directions) -> MetricGraph:
    """Convert n lists of n entries: an adjacency matrix, but see `from_array` for n = 3."""
    return from_array(np.array(rows), length, directions)


def from_dense(matrix: MatrixLike, directions: Directions) -> MetricGraph:
    """Convert a dense adjacency matrix; entries that are not 0 are lengths."""
    try:
        array = np.asarray(matrix)
    except ValueError:
        array = np.empty(0)
    _check_adjacency(array.shape, array.dtype)
    tail, head = np.nonzero(array)
    return _from_entries(tail, head, array[tail, head], len(array), directions)


def from_sparse(matrix: MatrixLike, _length: str, directions: Directions) -> MetricGraph:
    """Convert a scipy sparse adjacency matrix; every stored entry is an edge, parallel ones too."""
    _check_adjacency(matrix.shape, matrix.dtype)
    try:
        entries = matrix.tocoo()
    except ValueError as error:
        problem = f"scipy cannot read the sparse matrix ({error})"
        raise InvalidGraphError([Fault(problem, "give it indices from 0 to its shape")]) from error
    row, column = entries.coords if hasattr(entries, "coords") else (entries.row, entries.col)
    return _from_entries(row, column, entries.data, matrix.shape[0], directions)


def from_edge_list(rows: Iterable[Any], length: str, _directions: object = None) -> MetricGraph:
    """Convert (u, v, length) rows with any hashable node ids; a mapping may stand for the length."""
    return from_edges(rows, length)


def from_edges(
    rows: Iterable[Any],
    length: str,
    *,
    nodes: Iterable[Any] = (),
    directions: Directions | None = None,
) -> MetricGraph:
    """Convert rows as `from_edge_list` does; with `directions`, they are directed edges."""
    edges = list(rows)
    wrong = [i for i, row in enumerate(edges) if not _is_row(row)]
    if wrong:
        shown = tuple(f"{i} ({edges[i]!r:.60})" for i in wrong)
        raise InvalidGraphError([Fault("the row is not an edge", _ROW_REMEDY, shown)])
    payloads = [row[2] if len(row) == _TRIPLE else None for row in edges]
    tail, head, names = number_nodes([row[0] for row in edges], [row[1] for row in edges], nodes)
    return build_graph(
        tail,
        head,
        _attribute(payloads, length),
        names,
        length=length,
        other_attributes=lambda: _attribute_names(payloads),
        directions=directions,
    )


def _attribute(payloads: Iterable[object], name: str) -> list[Any]:
    """Return an attribute of each edge from what stands for its length: a mapping, or the value itself."""
    return [payload.get(name) if isinstance(payload, Mapping) else payload for payload in payloads]


def _attribute_names(payloads: Iterable[object]) -> Iterator[Any]:
    """Yield the names of all attributes of all edges."""
    return (name for payload in payloads if isinstance(payload, Mapping) for name in payload)


def _is_row(row: object) -> bool:
    return isinstance(row, (tuple, list, np.ndarray)) and len(row) in (2, _TRIPLE)


def _from_edge_array(array: NDArray[Any], length: str) -> MetricGraph:
    if array.dtype.kind not in "fiu":
        return from_edge_list(array.tolist(), length)
    ends = array[:, :2]
    whole = (ends.dtype.kind != "f") | ((np.abs(ends) < EXACT) & (ends == np.floor(ends)))
    if not whole.all():
        rows = tuple(str(i) for i in np.flatnonzero(~whole.all(axis=1)).tolist())
        raise InvalidGraphError([Fault("end points are not whole numbers", _ROW_REMEDY, rows)])
    names, inverse = np.unique(ends.astype(np.int64), return_inverse=True)
    inverse = inverse.reshape(ends.shape)
    return build_graph(inverse[:, 0], inverse[:, 1], array[:, 2], names.tolist(), length=length)


def _looks_like_edges(array: NDArray[Any]) -> bool:
    if array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        return False
    return bool((array[:, 2] > 0).all() and (array[:, :2] == np.floor(array[:, :2])).all())


def _check_adjacency(shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    if not shape or tuple(shape[1:]) != tuple(shape[:1]):
        problem = f"an adjacency matrix of shape {tuple(shape)} is not square"
        raise InvalidGraphError([Fault(problem, "give one row and one column for each node")])
    if dtype.kind not in "fiu":
        problem = f"an adjacency matrix of type {dtype} has no lengths"
        raise InvalidGraphError(
            [Fault(problem, "give lengths; matrix.astype(float) makes every edge 1 long")]
        )


def _from_entries(
    row: NDArray[Any], column: NDArray[Any], lengths: NDArray[Any], size: int, directions: Directions
) -> MetricGraph:
    tail, head = row.astype(np.int64), column.astype(np.int64)
    values = lengths.astype(np.float64)
    return build_graph(tail, head, values, range(size), length="entry", directions=directions)


def from_networkx(
    graph: GraphLike, length: str, directions: Directions, *, values: bool | tuple[str, ...] = ()
) -> MetricGraph:
    """Convert a networkx graph; unit, name, coordinates and reference system come with it."""
    nodes = list(graph)
    directed = graph.is_directed()
    tail, head, attributes = _edges(graph, nodes, directed=directed)
    lengths = [data.get(length) for data in attributes]
    data_of_nodes = [data for _, data in graph.nodes.items()]
    places = find_places(data_of_nodes, graph.graph.get("crs"))
    how_to_set = f"set it (all to 1: networkx.set_edge_attributes(graph, 1.0, {quoted(length)}))"
    if places is None and lengths and lengths[0] is None:
        how_to_set += how_to_measure(data_of_nodes)
    about: dict[str, Any] = {**described(graph.graph), **({} if places is None else places._asdict())}
    if values:
        kept = EdgeValues(wanted=values, length=length)
        names = dict.fromkeys(key for data in attributes for key in data if isinstance(key, str))
        columns = {name: [data.get(name) for data in attributes] for name in names if kept.keeps(name)}
        about["edge_values"] = kept.arrays(columns)
    return build_graph(
        tail,
        head,
        lengths,
        nodes,
        length=length,
        other_attributes=lambda: (key for data in attributes for key in data),
        how_to_set=how_to_set,
        directions=directions if directed else None,
        ways=lambda: known([data.get("osmid") for data in attributes]),
        **about,
    )


def _edges(
    graph: GraphLike,
    nodes: Sequence[Any],
    *,
    directed: bool,
) -> tuple[list[int], list[int], list[Any]]:
    """Return tails, heads and attributes from the adjacency: networkx's order, several times as fast.

    An undirected edge is listed at both of its ends, and taken at the first.
    """
    adjacency = [neighbours for _, neighbours in graph.adjacency()]
    numbered = nodes == [*range(len(nodes))]
    if not numbered:
        position = dict(zip(nodes, range(len(nodes)), strict=True))
        adjacency = [{position[v]: data for v, data in neighbours.items()} for neighbours in adjacency]
    tail: list[int] = []
    head: list[int] = []
    attributes: list[Any] = []
    several = graph.is_multigraph()
    for i, neighbours in enumerate(adjacency):
        for j, data in neighbours.items():
            if j < i and not directed:
                continue
            if several:
                tail += [i] * len(data)
                head += [j] * len(data)
                attributes += data.values()
            else:
                tail.append(i)
                head.append(j)
                attributes.append(data)
    if numbered and head and not 0 <= min(head) <= max(head) < len(nodes):
        problem = f"edges lead to nodes {min(head)} to {max(head)} in a graph of {len(nodes):,} nodes"
        raise InvalidGraphError([Fault(problem, "add nodes and edges by networkx's own methods")])
    return tail, head, attributes


def described(attributes: Mapping[Any, Any]) -> dict[str, str | None]:
    """Return name and unit from the attributes of a graph; OSMnx measures in metres."""
    name, unit = attributes.get("name"), attributes.get("unit")
    if unit is None and str(attributes.get("created_with", "")).startswith("OSMnx"):
        unit = "m"
    return {"name": str(name) if name else None, "unit": str(unit) if unit else None}


def known(values: list[Any]) -> list[Any] | None:
    """Return the values if any of them is there."""
    return values if any(value is not None for value in values) else None


def from_igraph(graph: GraphLike, length: str, directions: Directions) -> MetricGraph:
    """Convert an `igraph.Graph`: lengths from the edge attribute, node names from ``name``."""
    size = graph.vcount()
    have = set(graph.vs.attributes())
    names = graph.vs["name"] if "name" in have else None
    nodes = names if names is not None and len(set(names)) == size else range(size)
    edges = graph.get_edgelist()
    attributes = {key: graph[key] for key in graph.attributes()}
    about: dict[str, Any] = described(attributes)
    points = _points([graph.vs[axis] for axis in "xyz" if axis in have]) if {"x", "y"} <= have else None
    if points is not None:
        about |= {"coordinates": points, "crs": _text(attributes.get("crs"))}
    edge_attributes = graph.es.attributes()
    return build_graph(
        [u for u, _ in edges],
        [v for _, v in edges],
        graph.es[length] if length in edge_attributes else [None] * len(edges),
        nodes,
        length=length,
        other_attributes=lambda: edge_attributes,
        directions=directions if graph.is_directed() else None,
        ways=lambda: known(graph.es["osmid"]) if "osmid" in edge_attributes else None,
        **about,
    )


def from_rustworkx(graph: GraphLike, length: str, directions: Directions) -> MetricGraph:
    """Convert a rustworkx graph: an edge's payload is its length, or a mapping that holds it.

    Nodes are named by rustworkx's own indices; a node payload that is a mapping with ``x`` and
    ``y`` gives coordinates.
    """
    nodes = list(graph.node_indices())
    edges = list(graph.weighted_edge_list())
    payloads = [payload for *_, payload in edges]
    tail, head, _ = number_nodes([u for u, *_ in edges], [v for _, v, _ in edges], nodes)
    attributes = graph.attrs if isinstance(graph.attrs, Mapping) else {}
    about: dict[str, Any] = described(attributes)
    places = graph.nodes()
    if places and all(isinstance(place, Mapping) and "x" in place and "y" in place for place in places):
        axes = "xyz" if all("z" in place for place in places) else "xy"
        about |= {"coordinates": _points([[place[axis] for place in places] for axis in axes])}
        about |= {"crs": _text(attributes.get("crs"))}
    return build_graph(
        tail,
        head,
        _attribute(payloads, length),
        nodes,
        length=length,
        other_attributes=lambda: _attribute_names(payloads),
        directions=directions if type(graph).__name__ == "PyDiGraph" else None,
        ways=lambda: known([p.get("osmid") if isinstance(p, Mapping) else None for p in payloads]),
        **about,
    )


def from_torch_geometric(data: GraphLike, length: str, directions: Directions) -> MetricGraph:
    """Convert a PyTorch Geometric `Data` by its attributes.

    Lengths are the attribute named `length` where there is one, else ``edge_attr`` if it has one
    column. PyTorch Geometric stores both directions of an undirected edge: they are one edge, by
    the rule for directed graphs.
    """
    index = _array(data.edge_index)
    if index.shape[:-1] != (2,):
        problem = f"edge_index has shape {index.shape}"
        raise InvalidGraphError([Fault(problem, "give an array of shape (2, number of edges)")])
    if index.size and index.dtype.kind not in "iu":
        raise InvalidGraphError([Fault(f"edge_index has type {index.dtype}", "give integers")])
    lengths, where = None, length
    for where in (length, "edge_attr"):
        values = getattr(data, where, None)
        if values is not None:
            lengths = _array(values)
            break
    if lengths is not None and lengths.shape[1:] == (1,):
        lengths = lengths[:, 0]
    if lengths is None or lengths.shape != (index.shape[1],):
        problem = "there are no edge lengths" if lengths is None else f"{where} has shape {lengths.shape}"
        remedy = f"set data.{length} to one number for each of the {index.shape[1]:,} columns of edge_index"
        raise InvalidGraphError([Fault(problem, remedy)])
    size = getattr(data, "num_nodes", None)
    size = int(index.max(initial=-1)) + 1 if size is None else int(size)
    if index.size and not 0 <= index.min() <= index.max() < size:
        problem = f"edge_index runs from {index.min()} to {index.max()} in a graph of {size:,} nodes"
        raise InvalidGraphError([Fault(problem, f"use numbers from 0 to {size - 1}, or set num_nodes")])
    points = getattr(data, "pos", None)
    name = getattr(data, "name", None)
    return build_graph(
        index[0].astype(np.int64),
        index[1].astype(np.int64),
        lengths,
        range(size),
        length=where,
        directions=directions,
        coordinates=None if points is None else _array(points),
        name=_text(name),
    )


def from_grakel_graph(graph: GraphLike, length: str, directions: Directions) -> MetricGraph:
    """Convert a `grakel.Graph` in any of its formats; weights are lengths."""
    if graph.edge_dictionary is not None:
        nodes = graph.node_labels or ()
        return _from_edge_dictionary(graph.edge_dictionary, nodes, length, directions)
    return from_dense(graph.adjacency_matrix, directions)


def from_grakel_input(parts: Sequence[Any], length: str, directions: Directions) -> MetricGraph:
    """Convert GraKeL's input form [edges or adjacency, node labels, edge labels]; labels give nodes only."""
    graph = parts[0]
    labels = parts[1] if len(parts) > 1 and isinstance(parts[1], Mapping) else {}
    if isinstance(graph, Mapping):
        return _from_edge_dictionary(graph, labels, length, directions)
    if isinstance(graph, np.ndarray):
        return from_dense(graph, directions)
    if hasattr(graph, "tocoo"):
        return from_sparse(graph, length, directions)
    rows = list(graph)
    if rows and all(isinstance(row, (list, np.ndarray)) for row in rows):
        return from_dense(rows, directions)
    return from_edges(rows, length, nodes=labels, directions=directions)


def _from_edge_dictionary(
    edges: Mapping[Any, Any],
    nodes: GraphLike,
    length: str,
    directions: Directions,
) -> MetricGraph:
    """Convert {(u, v): length} or {u: {v: length}}."""
    flat: list[tuple[Any, ...]] = []
    for key, value in edges.items():
        if isinstance(value, Mapping):
            flat += [(key, other, weight) for other, weight in value.items()]
        elif isinstance(value, (list, set, tuple)):
            flat += [(key, other, None) for other in value]
        elif isinstance(key, tuple) and len(key) == _PAIR:
            flat.append((*key, value))
        else:
            problem = (
                f"the edge dictionary has the key {quoted(key)} with a value of type {type(value).__name__}"
            )
            raise InvalidGraphError([Fault(problem, "give {(u, v): length} or {u: {v: length}}")])
    if all(isinstance(value, (Mapping, list, set)) for value in edges.values()):
        nodes = [*nodes, *edges]
    return from_edges(flat, length, nodes=nodes, directions=directions)


def _array(values: Json) -> NDArray[Any]:
    """Return an array of a tensor, wherever it lives, or of anything like an array."""
    for step in ("detach", "cpu"):
        values = getattr(values, step)() if hasattr(values, step) else values
    return np.asarray(values)


def _points(axes: list[Any]) -> NDArray[np.float64] | None:
    try:
        return np.array(axes, dtype=np.float64).T
    except (TypeError, ValueError, OverflowError):
        return None


def _text(value: object) -> str | None:
    return str(value) if value else None
