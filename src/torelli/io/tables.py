"""Tables with one edge in each row: pandas DataFrames and CSV files.

The columns are found by name, in any case: the ends of an edge as one pair of `ENDS`, also with ``node`` or
``id`` as in ``from_node_id``, and its length as ``length`` or else one of `LENGTHS`, also with its unit as
in ``length_km``. Names that the caller gives go first. A table in which several columns would do is
refused. A column ``unit`` must have one value throughout. Each row is an edge, and (u, v) and (v, u) are two.
"""

from __future__ import annotations

import csv
import re
from itertools import chain
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from torelli._errors import Fault, FormatError, InvalidGraphError, counted, listed, quoted
from torelli._units import metres
from torelli._validate import is_number
from torelli.io.edges import EdgeTable, build_graph, number_nodes, warn
from torelli.io.files import lines
from torelli.io.readers import Option, Reader, Record
from torelli.io.values import EdgeValues, column_of_frame, free_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torelli._types import GraphLike
    from torelli.graph import MetricGraph
    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile

ENDS = (
    ("source", "target"), ("u", "v"), ("from", "to"), ("origin", "destination"), ("src", "dst"),
    ("tail", "head"), ("start", "end"),
)  # fmt: skip
LENGTHS = ("length", "distance", "weight")

_NEEDED = ("source", "target", "length")
_COLUMNS_REMEDY = (
    "name the columns with source=..., target=... and length=... (on the command line: --source, --target, "
    f"--length); recognised by name are {', '.join('/'.join(pair) for pair in ENDS)} and "
    f"{' or '.join(LENGTHS)}"
)
_DELIMITERS = (",", ";", "\t", " ")
_WITH_UNIT = re.compile(r"(length|distance)[\s_]*[\[(]?([a-z-]+)[\])]?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_NUMBER_OR_COMMA = re.compile(r"[+-]?\d+(,\d+)?")
_LINE_COLUMNS = {"wkt", "wkt_geom", "geometry", "geom", "the_geom"}
_GRAPH_COLUMNS = ("graph", "network", "graphname", "networkname")
_SHOWN = 10
_BATCH, _ROW = 2**18, 16  # characters of rows that are looked at together, and what a row counts beside
_FIELDS = 60  # bytes for each character of a row, at most, as strings of one letter or two
_UNIT = 200  # bytes of a unit in a set
_TABLE = 3000  # bytes of a graph beside its edges


def from_dataframe(
    frame: GraphLike,
    length: str | float,
    _directions: object = None,
    *,
    source: str | None = None,
    target: str | None = None,
    values: bool | tuple[str, ...] = False,
) -> MetricGraph:
    """Convert a pandas DataFrame with one edge in each row; its other columns are values on the edges."""
    names = list(frame.columns)
    columns, problems = _find_columns(names, source, target, length)
    if problems:
        raise InvalidGraphError([Fault(_columns_problem(problems, names), _COLUMNS_REMEDY)])
    column_of = {key: frame.iloc[:, column].tolist() for key, column in columns.items()}
    units = {str(unit) for unit in column_of.get("unit", ()) if unit is not None}
    units = units or _unit_in_name(names, columns)
    tail, head, nodes = number_nodes(column_of["source"], column_of["target"])
    others = _other_columns(names, columns)
    kept = EdgeValues(wanted=values, length=length)
    return build_graph(
        tail,
        head,
        column_of.get("length", [None] * len(tail)),
        nodes,
        length=length,
        edge_values=kept.arrays({name: column_of_frame(frame, i) for name, i in others.items()}),
        **_with_unit(units, {}),
    )


def _other_columns(names: Sequence[Any], columns: dict[str, int]) -> dict[str, int]:
    """Return the position of each column that is neither an end nor a length nor a unit, by its name."""
    others: dict[str, int] = {}
    for position, name in enumerate(names):
        if position not in columns.values():
            others[free_name(str(name).strip(), others)] = position
    return others


def read_csv(file: SourceFile, *, source: str | None, target: str | None, graph: str | None) -> list[Record]:
    """Return the graphs of a CSV edge list, with a header, or without one and with the columns u, v, length.

    The delimiter is the comma, semicolon, tab or blank that the first line has most of. A column `graph`
    names the graph of each row; columns that have one value in each graph are then fields of its record.
    """
    path, length, budget = file.path, file.length, file.budget
    delimiter, batches = _batches(path, budget)
    rows = next(batches)
    width = len(rows[0])
    names = [name.strip() for name in rows[0]]
    columns, problems = _find_columns(names, source, target, length)
    if problems:
        named = (isinstance(length, str) and length != "length") or not source is target is graph is None
        n_needed = len(_NEEDED) if isinstance(length, str) else len(_NEEDED) - 1
        if named or width != n_needed or not is_number(names[-1]):
            unnamed = None if named else _other_content(names)
            raise FormatError(
                f"{path.name}: {unnamed or f'{_columns_problem(problems, names)}; {_COLUMNS_REMEDY}'}"
            )
        columns = {column: position for position, column in enumerate(_NEEDED[:n_needed])}
    else:
        del rows[0]
    tables = _Tables(file, names, columns, graph, delimiter)
    units = _unit_in_name(names, columns)
    ragged: list[int] = []
    n_rows, n_ragged = 0, 0
    for batch in chain([rows], batches):
        if {*map(len, batch)} - {width}:
            wrong = [i for i, row in enumerate(batch, n_rows) if len(row) != width]
            ragged, n_ragged = (ragged + wrong)[:_SHOWN], n_ragged + len(wrong)
        n_rows += len(batch)
        if n_ragged:
            continue
        tables.extend(batch)
        if "unit" in columns:
            n_known = len(units)
            units |= {row[columns["unit"]].strip() for row in batch} - {""}
            budget.take(_UNIT * (len(units) - n_known))
    if n_ragged:
        rows_do = counted(n_ragged, "row", ("does", "do"))
        shown = ", ".join(map(str, ragged))
        raise FormatError(
            f"{path.name}: {rows_do} not have {width} fields (rows {shown}); the file may be truncated"
        )
    return tables.records(_with_unit(units, file.about()))


class _Tables:
    """The edges of each graph of a file, and the values that all rows of a graph share."""

    def __init__(
        self, file: SourceFile, names: list[str], columns: dict[str, int], graph: str | None, delimiter: str
    ) -> None:
        self.file, self.names, self.columns = file, names, columns
        self.may_have_commas = delimiter != ","
        self.example: str | None = None  # the first length with a decimal comma
        self.not_used = next((i for i, name in enumerate(names) if _bare(name) in _GRAPH_COLUMNS), None)
        self.names_graphs = False  # whether that column has several values
        self.values = file.edge_values()
        self.by_graph: dict[str, EdgeTable] = {}
        self.first: dict[str, list[str]] = {}
        self.graph: int | None = None
        self.shared: set[int] = set()
        others = _other_columns(names, columns)
        self.kept = {name: position for name, position in others.items() if self.values.keeps(name)}
        if graph is None:
            self.by_graph[""] = EdgeTable(file.budget, self.kept)
            return
        matches = _matches(names, graph)
        if len(matches) != 1:
            problem = (
                f"there {'are several columns' if matches else 'is no column'} {quoted(graph)} for the graph"
            )
            raise FormatError(f"{file.name}: {problem} of each row; the columns are {listed(names)}")
        self.graph = matches[0]
        self.kept = {name: position for name, position in self.kept.items() if position != self.graph}
        self.shared = {*range(len(names))} - {*columns.values(), self.graph}

    def extend(self, rows: list[list[str]]) -> None:
        """Add edges to their graphs, which come in the order of their first rows."""
        if self.graph is None:
            if self.not_used is not None and rows:
                name = self.first.setdefault("", rows[0])[self.not_used]
                self.names_graphs = self.names_graphs or any(row[self.not_used] != name for row in rows)
            self._add("", rows)
            return
        groups: dict[str, list[list[str]]] = {}
        for row in rows:
            groups.setdefault(row[self.graph].strip(), []).append(row)
        for name, group in groups.items():
            if not name:
                rows_have = counted(len(group), "row", ("has", "have"))
                problem = f"{rows_have} no {quoted(self.names[self.graph])}"
                raise FormatError(f"{self.file.name}: {problem}; name the graph of every row")
            if name not in self.by_graph:
                self.file.budget.take(_TABLE + sum(map(getsizeof, group[0])))
                self.by_graph[name], self.first[name] = EdgeTable(self.file.budget, self.kept), group[0]
            first = self.first[name]
            self.shared -= {i for row in group for i in self.shared if row[i] != first[i]}
            self._add(name, group)

    def _add(self, name: str, rows: list[list[str]]) -> None:
        columns = self.columns
        ends = [row[columns[end]].strip() or None for row in rows for end in ("source", "target")]
        lengths: list[str | None] = [None] * len(rows)
        if "length" in columns:
            lengths = [row[columns["length"]].strip() or None for row in rows]
        if self.may_have_commas:
            with_comma = [i for i, text in enumerate(lengths) if text and _DECIMAL_COMMA.fullmatch(text)]
            for i in with_comma:
                self.example = self.example or lengths[i]
                lengths[i] = str(lengths[i]).replace(",", ".")
        values = {key: [row[position].strip() for row in rows] for key, position in self.kept.items()}
        self.by_graph[name].extend(ends, lengths, values)

    def records(self, about: dict[str, Any]) -> list[Record]:
        """Return the graphs with what their rows share."""
        length, shared = self.file.length, sorted(self.shared)
        records = []
        if self.example is not None:
            number = self.example.replace(",", ".")
            warn(f"numbers have a decimal comma: {self.example} is read as {number}", name=self.file.name)
        if self.not_used is not None and self.names_graphs:
            name = self.names[self.not_used]
            warn(
                f"all rows are edges of one graph, though the column {quoted(name)} has several values; if "
                f"each is a graph, give graph={quoted(name)}",
                name=self.file.name,
            )
        for name, edges in self.by_graph.items():
            # a value that all edges of each graph share is a field of the graph
            own = {key: column for key, column in edges.values.items() if self.kept[key] not in self.shared}
            if self.example is not None:
                own = {key: _with_points(column) for key, column in own.items()}
            graph = edges.graph(
                length, edge_values=self.values.arrays(own), **{**about, "name": name or about["name"]}
            )
            fields = {self.names[i]: self.first[name][i].strip() for i in shared}
            records.append(Record(graph, fields))
        return records


def _with_points(column: list[str]) -> list[str]:
    """Return texts with decimal points instead of commas, if all of them are numbers."""
    present = [text for text in column if text]
    if all(map(_NUMBER_OR_COMMA.fullmatch, present)):
        return [text.replace(",", ".") for text in column]
    return column


def _other_content(names: Sequence[str]) -> str | None:
    """Return what is wrong with a file that has no columns for edges, if that can be told."""
    if len(names) > len(ENDS[0]) and names[len(ENDS[0])].startswith("{"):
        return (
            "the rows end in attributes as Python writes them; write the lengths alone with "
            "networkx.write_weighted_edgelist, or the graph with networkx.write_graphml"
        )
    if {*map(str.lower, names)} & _LINE_COLUMNS:
        return (
            "the rows have lines with coordinates; convert the file to GeoPackage, in QGIS or with "
            "geopandas, and read that"
        )
    if len(names) == len(ENDS[0]) and all(map(is_number, names)):
        return "the rows have two nodes and no length; give every edge the same length with length=1.0"
    return None


def _batches(path: Path, budget: Budget) -> tuple[str, Iterator[list[list[str]]]]:
    """Return the delimiter of a CSV file, and its rows, some at a time; the first lot has at least one."""
    held = 0  # characters of the rows of a lot

    def feed() -> Iterator[str]:
        nonlocal held
        comments: tuple[str, ...] = ("#", "%")  # a percent sign only before the first row
        for line in lines(path, budget, any_newline=True, or_windows=True):
            if line.strip() and not line.startswith(comments):
                comments = ("#",)
                held += len(line) + _ROW
                if held > 2 * _BATCH:  # a row without end: it may go on in the next line
                    budget.check(_FIELDS * held)
                yield line.strip() if delimiter == " " else line

    delimiter = ""
    fed = feed()
    first = next(fed, None)
    if first is None:
        raise FormatError(f"{path.name}: the file has no rows")
    first = first.strip(" ")
    delimiter = max(_DELIMITERS, key=first.count)

    def batches() -> Iterator[list[list[str]]]:
        nonlocal held
        rows: list[list[str]] = []
        reader = csv.reader(chain([first], fed), delimiter=delimiter, skipinitialspace=True, strict=True)
        try:
            for row in reader:
                rows.append(row)
                if held > _BATCH:
                    yield rows
                    rows, held = [], 0
        except csv.Error as error:
            raise FormatError(f"{path.name}: not valid CSV ({error})") from error
        if rows:
            yield rows

    return delimiter, batches()


def _find_columns(
    names: Sequence[Any], source: str | None, target: str | None, length: str | float
) -> tuple[dict[str, int], list[str]]:
    """Return the positions of the columns for source, target, length and unit, and what is wrong."""
    lower = [str(name).strip().lower() for name in names]
    # plain names first: a table with `from` and `from_id` has one column for the source
    bare = [_bare(name) for name in lower]
    called = bare if _pairs(bare) and not _pairs(lower) else lower
    ends = _pairs(called) or ENDS
    columns: dict[str, int] = {}
    problems: list[str] = []
    needed: list[tuple[str, str | None, list[int]]] = [
        (key, given, [i for i, name in enumerate(called) if name in {pair[end] for pair in ends}])
        for end, (key, given) in enumerate((("source", source), ("target", target)))
    ]
    if isinstance(length, str):
        needed.append(("length", None if length == "length" else length, _length_columns(lower)))
    for key, given, recognised in needed:
        matches = recognised if given is None else _matches(names, given)
        if len(matches) == 1:
            columns[key] = matches[0]
        elif matches:
            problems.append(f"{listed([names[i] for i in matches])} may all be the {key}")
        else:
            expected = "" if given is None else f" ({quoted(given)} was asked for)"
            problems.append(f"there is no column for the {key}{expected}")
    units = _matches(names, "unit")
    return columns | ({"unit": units[0]} if units else {}), problems


def _pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of names for the ends of an edge that a table has."""
    return [pair for pair in ENDS if {*pair} <= {*names}]


def _bare(name: str) -> str:
    """Return a name of a column in lower case without ``node`` and ``id``: ``from`` for ``From_Node_ID``."""
    words = re.split(r"[\s_-]+", name.strip().lower())
    return "".join(word for word in words if word not in {"node", "id"})


def _length_columns(lower: list[str]) -> list[int]:
    """Return the columns that may have the lengths: by the first rule that finds one."""
    for rule in (
        lambda name: name == LENGTHS[0],
        lambda name: name in LENGTHS,
        lambda name: _unit_of(name) is not None,
    ):
        if found := [i for i, name in enumerate(lower) if rule(name)]:
            return found
    return []


def _unit_of(name: str) -> str | None:
    """Return the unit in the name of a column with lengths, such as ``length_km`` or ``Length (ft)``."""
    match = _WITH_UNIT.fullmatch(name.strip().lower())
    return match[2] if match and metres(match[2]) is not None else None


def _unit_in_name(names: Sequence[Any], columns: dict[str, int]) -> set[str]:
    """Return the unit that the name of the column with lengths states, if there is no column of units."""
    unit = _unit_of(str(names[columns["length"]])) if "length" in columns and "unit" not in columns else None
    return set() if unit is None else {unit}


def _matches(names: Sequence[Any], wanted: str) -> list[int]:
    """Return the columns of a name: as it is written, or else in any case."""
    texts = [str(name).strip() for name in names]
    exact = [i for i, text in enumerate(texts) if text == wanted]
    return exact or [i for i, text in enumerate(texts) if text.lower() == wanted.lower()]


def _columns_problem(problems: list[str], names: Sequence[Any]) -> str:
    return f"{'; '.join(problems)}; the columns are {listed(names) or '(none)'}"


def _with_unit(units: set[str], about: dict[str, Any]) -> dict[str, Any]:
    """Add the unit that a table states, which must be one."""
    if len(units) > 1:
        problem = f"the lengths have {len(units):,} units: {listed(sorted(units))}"
        raise InvalidGraphError([Fault(problem, "convert them to one unit", name=about.get("name"))])
    return {**about, "unit": next(iter(units), about.get("unit"))}


CSV = Reader(
    "csv",
    (".csv", ".tsv", ".edges", ".edgelist"),
    read_csv,
    options=(
        Option("source", "column with the first end of each edge", metavar="NAME"),
        Option("target", "column with the second end of each edge", metavar="NAME"),
        Option(
            "graph", "column that names the graph of each row (default: a file is one graph)", metavar="NAME"
        ),
    ),
    several=True,
    example="source,target,length,unit\na,b,1.5,m\nb,c,2.5,m\nc,a,1e1,m\n",
)
