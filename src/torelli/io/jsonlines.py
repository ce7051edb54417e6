"""JSON lines: one graph a line, as an object with ``nodes`` and ``edges``.

``edges`` is a list of [u, v, length], or of objects with source, target and length; ``nodes``
(optional) a list of [id, x, y] or [id, x, y, z], of ids, or of objects with id, x and y.
``id`` or ``name`` names the graph; ``unit`` and ``crs`` are kept. Ids of nodes are strings or numbers:
``1`` and ``1.0`` are one number in JSON and so one node, ``"1"`` is another, and ``true`` is an error.
"""

from __future__ import annotations

import json
from itertools import chain
from math import isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import Fault, FormatError, InvalidGraphError, listed, shortened
from torelli._geo import check_lonlat
from torelli.io.edges import FAULT_BYTES, build_graph, graph_bytes, number_nodes
from torelli.io.files import lines, parse_json, string_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from torelli.graph import MetricGraph
    from torelli.io.files import Budget

_WORK, _ITEM = 2, 200  # while a graph is made: times the memory of its JSON, and bytes for each item


def read_json_lines(path: Path, *, length: str, budget: Budget, **about: Any) -> list[MetricGraph]:  # noqa: ANN401
    """Read every graph of a JSON lines file; all faults are in one error, each with its line."""
    graphs: list[MetricGraph] = []
    faults: list[Fault] = []
    for number, line in enumerate(lines(path, budget), 1):
        if not line or line.isspace():
            continue
        where = f"{path.name}, line {number:,}"
        try:
            record = parse_json(line, where, budget, work=_WORK, item=_ITEM)
            graphs.append(_graph(record, length, where, about))
            budget.take(graph_bytes(graphs[-1]) + string_bytes(line))
        except InvalidGraphError as error:
            faults += [Fault(f.problem, f.remedy, f.edges, name=where) for f in error.faults]
            budget.take(sum(FAULT_BYTES * (len(fault.edges) + 4) for fault in error.faults))
    if faults:
        raise InvalidGraphError(faults)
    if not graphs:
        raise FormatError(f"{path.name}: there is no graph in the file")
    return graphs


def _graph(record: Any, length: str, where: str, about: dict[str, Any]) -> MetricGraph:  # noqa: ANN401
    if not isinstance(record, dict) or not isinstance(record.get("edges"), list):
        raise FormatError(f"{where}: not an object with a list of 'edges'")
    nodes = record.get("nodes", [])
    if not isinstance(nodes, list):
        raise FormatError(f"{where}: 'nodes' is not a list")
    rows = [_row(node, ("id", "x", "y", "z")) for node in nodes]
    edges = [_row(edge, ("source", "target", length)) for edge in record["edges"]]
    if not all(len(edge) == 3 for edge in edges):  # noqa: PLR2004
        raise FormatError(f"{where}: an edge is not [u, v, length]")
    if not all(rows):
        raise FormatError(f"{where}: a node has no id")
    ids = [row[0] for row in rows]
    sources, targets = [edge[0] for edge in edges], [edge[1] for edge in edges]
    _check_ids([ids, sources, targets], where)
    tail, head, names = number_nodes(sources, targets, ids)
    _check_names(ids, names, where)
    name = record.get("id", record.get("name"))
    crs = record.get("crs")
    graph = build_graph(
        tail,
        head,
        [edge[2] for edge in edges],
        names,
        length=length,
        name=str(name) if name is not None else about["name"],
        source=about["source"],
        unit=str(record["unit"]) if record.get("unit") else about["unit"],
        coordinates=_places(rows, where) if len(ids) == len(names) else None,
        crs=str(crs) if crs else None,
    )
    check_lonlat(graph.coordinates, graph.crs, where, fatal=False)
    return graph


def _row(item: Any, keys: tuple[str, ...]) -> list[Any]:  # noqa: ANN401
    """Return a node or an edge as a list: it may be one, or an object, or a bare id."""
    if isinstance(item, dict):
        row = [item.get(key) for key in keys]
        while row and row[-1] is None and len(row) != 3:  # noqa: PLR2004  (an edge without length is reported as such)
            row.pop()
        return row
    return item if isinstance(item, list) else [item]


def _check_ids(lists: list[list[Any]], where: str) -> None:
    """Refuse truth values, which Python takes for 0 and 1, and numbers too large to be told apart."""
    kinds = {*map(type, chain(*lists))}
    if bool in kinds:
        shown = next(json.dumps(value) for value in chain(*lists) if isinstance(value, bool))
        raise FormatError(f"{where}: a node has the id {shown}; name nodes by strings or numbers")
    if float in kinds and any(isinstance(value, float) and isinf(value) for value in chain(*lists)):
        raise FormatError(
            f"{where}: a node has an infinite number for an id; name nodes by strings or numbers"
        )


def _check_names(ids: list[Any], names: list[Any], where: str) -> None:
    if len(set(ids)) < len(ids):
        raise FormatError(f"{where}: {len(ids) - len(set(ids)):,} nodes have the id of another")
    if ids and len(names) > len(ids):
        unknown = listed(names[len(ids) :])
        raise FormatError(
            f"{where}: edges name {len(names) - len(ids):,} nodes that are not listed ({unknown})"
        )


def _places(rows: list[list[Any]], where: str) -> list[list[float]] | None:
    widths = {len(row) for row in rows}
    if not widths <= {3, 4} or len(widths) != 1:
        return None
    try:
        return [[float(value) for value in row[1:]] for row in rows]
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(f"{where}: a coordinate is not a number ({shortened(str(error))})") from error


def json_line(graph: MetricGraph, **more: Any) -> str:  # noqa: ANN401  (whatever JSON can hold)
    """Return a graph as a line that `read_json_lines` reads back to an equal graph; nodes are numbered.

    Coordinates that are not all finite are left out: JSON has no such numbers.
    """
    points = graph.coordinates
    if points is not None and np.isfinite(points).all():
        nodes: list[Any] = [[node, *point] for node, point in enumerate(points.tolist())]
    else:
        nodes = list(range(graph.n_nodes))
    ends = zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
    known = {"id": graph.name, "unit": graph.unit, "crs": graph.crs}
    record = {key: value for key, value in known.items() if value is not None} | more
    return json.dumps({**record, "nodes": nodes, "edges": list(map(list, ends))}, separators=(",", ":"))
