"""JSON lines: one graph on each line, as an object with ``nodes`` and ``edges``.

``edges`` is a list of [u, v, length], or of objects with source, target and length, whose other keys are
values on the edges; ``nodes``
(optional) a list of [id, x, y] or [id, x, y, z], of ids, or of objects with id, x and y.
``id`` or ``name`` names the graph; ``unit``, ``crs`` and ``edge_values`` (an object of lists, one value for
each edge) are kept, and all other keys are fields of the record. Ids of nodes are strings or numbers: ``1``
and ``1.0`` are one number in JSON and so one node, ``"1"`` is another, and ``true`` is an error.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from itertools import chain
from math import isfinite, isinf, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _validate
from torelli._errors import Fault, FormatError, InvalidGraphError, InvalidOptionError, listed, shortened
from torelli._files import write_whole
from torelli._geo import check_lonlat
from torelli.io.edges import FAULT_BYTES, build_graph, graph_bytes, number_nodes
from torelli.io.files import json_bytes, lines, parse_json, string_bytes
from torelli.io.readers import Reader, Record
from torelli.io.values import EdgeValues

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Json
    from torelli.graph import MetricGraph
    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile

_WORK, _ITEM = 2, 200  # while a graph is made: times the memory of its JSON, and bytes for each item
_OWN_KEYS = {"nodes", "edges", "id", "name", "unit", "crs", "edge_values"}
_EDGE, _NODE = ("source", "target"), ("id", "x", "y", "z")
_LARGEST_ID = 2**63
SUFFIXES = (".jsonl", ".ndjson")


def read_json_lines(file: SourceFile) -> list[Record]:
    """Return every graph of a JSON lines file with its other fields; all faults are in one error."""
    records: list[Record] = []
    faults: list[Fault] = []
    budget, about = file.budget, file.about()
    for line_number, line in enumerate(lines(file.path, budget), 1):
        if not line or line.isspace():
            continue
        try:
            where = f"{file.name}, line {line_number:,}"
            record = record_of_line(line, where, file.length, about, budget, values=file.values)
        except InvalidGraphError as error:
            faults += error.faults
            budget.take(sum(FAULT_BYTES * (len(fault.edges) + 4) for fault in error.faults))
            continue
        budget.take(graph_bytes(record.graph) + string_bytes(line))
        if record.fields:
            budget.take(json_bytes(json.dumps(record.fields), budget))
        records.append(record)
    if faults:
        raise InvalidGraphError(faults)
    if not records:
        raise FormatError(f"{file.name}: there is no graph in the file")
    return records


def record_of_line(
    line: str,
    where: str,
    length: str | float,
    about: dict[str, Any],
    budget: Budget,
    *,
    values: bool | tuple[str, ...] = True,
) -> Record:
    """Return the graph of a line with its other fields; `where` names the line in messages."""
    content = parse_json(line, where, budget, work=_WORK, item=_ITEM)
    try:
        kept = EdgeValues(wanted=values, length=length, take=budget.take, file=where)
        graph = _graph(content, length, where, about, kept)
    except InvalidGraphError as error:
        raise InvalidGraphError([replace(fault, name=where) for fault in error.faults]) from error
    return Record(graph, {key: value for key, value in content.items() if key not in _OWN_KEYS})


def _graph(
    record: Json, length: str | float, where: str, about: dict[str, Any], kept: EdgeValues
) -> MetricGraph:
    if not isinstance(record, dict) or not isinstance(record.get("edges"), list):
        raise FormatError(f"{where}: not an object with a list of 'edges'")
    nodes = record.get("nodes", [])
    if not isinstance(nodes, list):
        raise FormatError(f"{where}: 'nodes' is not a list")
    rows = [_row(node, _NODE, needed=len(_NODE) - 1) for node in nodes]
    edges = [_row(edge, (*_EDGE, str(length)), needed=len(_EDGE) + 1) for edge in record["edges"]]
    if not isinstance(length, str):
        edges = [[*edge, None] if len(edge) == len(_EDGE) else edge for edge in edges]
    if any(len(edge) != len(_EDGE) + 1 for edge in edges):
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
        edge_values=_edge_values(record, where, kept),
    )
    check_lonlat(graph.coordinates, graph.crs, where, fatal=False)
    return graph


def _edge_values(record: Json, where: str, kept: EdgeValues) -> dict[str, Any]:
    """Return the values of ``edge_values``, and the other keys of edges that are objects."""
    given, n_edges = record.get("edge_values") or {}, len(record["edges"])
    if not isinstance(given, dict):
        raise FormatError(f"{where}: 'edge_values' is not an object")
    stated = {name: _with_nan(column) for name, column in given.items() if kept.keeps(name)}
    objects = [edge for edge in record["edges"] if isinstance(edge, dict)]
    names = dict.fromkeys(name for edge in objects for name in edge if name not in _EDGE)
    columns = {
        name: [_scalar(edge.get(name)) if isinstance(edge, dict) else None for edge in record["edges"]]
        for name in names
        if name not in stated
    }
    return _validate.edge_values(stated, n_edges) | kept.arrays(columns)


def _with_nan(column: Json) -> Json:
    """Return a column of numbers with NaN for null, which is how JSON writes it."""
    if not isinstance(column, list) or None not in column:
        return column
    present = [value for value in column if value is not None]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present)
    return [nan if value is None else value for value in column] if numbers else column


def _scalar(value: Json) -> Json:
    """Return a value as it is, and a list or an object as text."""
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def _row(item: Json, keys: tuple[str, ...], *, needed: int) -> list[Any]:
    """Return a node or an edge as a list: it may be one, or an object, or a bare id.

    Of an object, what is missing after the first `needed` keys is left out, and what is missing before is
    None: an edge without length is reported as such.
    """
    if isinstance(item, dict):
        row = [item.get(key) for key in keys]
        while row and row[-1] is None and len(row) != needed:
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
        raise FormatError(f"{where}: {len(ids) - len(set(ids)):,} nodes have the id of another node")
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


def write_json_lines(path: Path, records: Iterable[Record]) -> None:
    """Write graphs with their fields to a file, which appears whole or not at all; .gz is compressed.

    Equal records give equal files: no time of writing is in them.
    """

    def write(part: Path) -> None:
        with part.open("wb") as raw:
            is_compressed = path.name.lower().endswith(".gz")
            file: Any = gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) if is_compressed else raw
            for graph, fields in records:
                file.write(json_line(graph, **fields).encode("ascii") + b"\n")
            file.close()

    write_whole(path, write)


def check_name(path: Path) -> None:
    """Raise unless a file to write has a name of JSON lines."""
    if not path.name.lower().removesuffix(".gz").endswith(SUFFIXES):
        raise InvalidOptionError(f"{path.name}: give a name that ends in .jsonl or .jsonl.gz")


def json_line(graph: MetricGraph, **fields: Any) -> str:
    """Return a graph and its fields as a line that `read_json_lines` reads back to an equal graph.

    Nodes have their ids if all are strings or integers, and their numbers otherwise. Coordinates that are
    not all finite are left out, because JSON has no such numbers; values on edges are null there.
    """
    ids = graph.node_ids
    names: Any = range(graph.n_nodes) if ids is None or not all(map(_is_json_id, ids)) else ids
    points = graph.coordinates
    nodes = list(names)
    if points is not None and np.isfinite(points).all():
        nodes = [[node, *point] for node, point in zip(names, points.tolist(), strict=True)]
    rows = zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
    known = {"id": graph.name, "unit": graph.unit, "crs": graph.crs}
    record = {key: value for key, value in known.items() if value is not None} | fields
    record |= {"nodes": nodes, "edges": [[names[u], names[v], length] for u, v, length in rows]}
    if graph.edge_values:
        record["edge_values"] = {name: _listed(values) for name, values in graph.edge_values.items()}
    return json.dumps(record, separators=(",", ":"))


def _listed(values: NDArray[Any]) -> list[Any]:
    """Return values for JSON, which has no number that is not finite."""
    rows: list[Any] = values.tolist()
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return [value if isfinite(value) else None for value in rows]
    return rows


def _is_json_id(node: object) -> bool:
    return type(node) is str or (type(node) is int and abs(node) < _LARGEST_ID)


JSON_LINES = Reader(
    "json lines",
    SUFFIXES,
    read_json_lines,
    several=True,
    example='{"id": "c1", "crs": "EPSG:4326", "label": "a", "nodes": [[1, 8.5, 50], [2, 8.6, 51.5]], '
    '"edges": [[1, 2, 3.25]], "edge_values": {"lanes": [2]}}\n',
)
