"""JSON lines: one graph a line, as an object with ``nodes`` and ``edges``.

``edges`` is a list of [u, v, length], or of objects with source, target and length; ``nodes``
(optional) a list of [id, x, y] or [id, x, y, z], of ids, or of objects with id, x and y.
``id`` or ``name`` names the graph; ``unit`` and ``crs`` are kept.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import Fault, FormatError, InvalidGraphError, listed, shortened
from torelli.io.edges import build_graph, number_nodes
from torelli.io.files import parse_json, read_text
from torelli.io.places import check_places

if TYPE_CHECKING:
    from pathlib import Path

    from torelli.graph import MetricGraph


def read_json_lines(path: Path, *, length: str, max_bytes: int, **about: Any) -> list[MetricGraph]:  # noqa: ANN401
    """Read every graph of a JSON lines file; all faults are in one error, each with its line."""
    graphs: list[MetricGraph] = []
    faults: list[Fault] = []
    for number, line in enumerate(read_text(path, max_bytes).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path.name}, line {number:,}"
        try:
            graphs.append(_graph(parse_json(line, where), length, where, about))
        except InvalidGraphError as error:
            faults += [Fault(f.problem, f.remedy, f.edges, name=where) for f in error.faults]
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
    tail, head, names = number_nodes([edge[0] for edge in edges], [edge[1] for edge in edges], ids)
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
        unit=about.get("unit") or (str(record["unit"]) if record.get("unit") else None),
        coordinates=_places(rows, where) if len(ids) == len(names) else None,
        crs=str(crs) if crs else None,
    )
    check_places(graph.coordinates, graph.crs, where, fatal=False)
    return graph


def _row(item: Any, keys: tuple[str, ...]) -> list[Any]:  # noqa: ANN401
    """Return a node or an edge as a list: it may be one, or an object, or a bare id."""
    if isinstance(item, dict):
        row = [item.get(key) for key in keys]
        while row and row[-1] is None and len(row) != 3:  # noqa: PLR2004  (an edge without length is reported as such)
            row.pop()
        return row
    return item if isinstance(item, list) else [item]


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
