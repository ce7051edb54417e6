"""Tables with one edge in each row: pandas DataFrames and CSV files.

The columns are found by name, in any case: the ends of an edge as one pair of `ENDS`, its length as
``length`` or else one of `LENGTHS`. Names that the caller gives go first. A table in which several
columns would do is refused. A column ``unit`` must have one value throughout. Each row is an edge, and
(u, v) and (v, u) are two.
"""

from __future__ import annotations

import csv
from itertools import chain
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from torelli._errors import Fault, FormatError, InvalidGraphError, listed, quoted
from torelli._validate import is_number
from torelli.io.edges import EdgeTable, build_graph, number_nodes
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
    batches = _batches(path, budget)
    rows = next(batches)
    width = len(rows[0])
    names = [name.strip() for name in rows[0]]
    columns, problems = _find_columns(names, source, target, length)
    if problems:
        named = (isinstance(length, str) and length != "length") or not source is target is graph is None
        n_needed = len(_NEEDED) if isinstance(length, str) else len(_NEEDED) - 1
        if named or width != n_needed or not is_number(names[-1]):
            raise FormatError(f"{path.name}: {_columns_problem(problems, names)}; {_COLUMNS_REMEDY}")
        columns = {column: position for position, column in enumerate(_NEEDED[:n_needed])}
    else:
        del rows[0]
    tables = _Tables(file, names, columns, graph)
    units: set[str] = set()
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
        shown = ", ".join(map(str, ragged))
        raise FormatError(
            f"{path.name}: {n_ragged:,} rows do not have {width} fields (rows {shown}); "
            "the file may be truncated"
        )
    return tables.records(_with_unit(units, file.about()))


class _Tables:
    """The edges of each graph of a file, and the values that all rows of a graph share."""

    def __init__(
        self, file: SourceFile, names: list[str], columns: dict[str, int], graph: str | None
    ) -> None:
        self.file, self.names, self.columns = file, names, columns
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
            self._add("", rows)
            return
        groups: dict[str, list[list[str]]] = {}
        for row in rows:
            groups.setdefault(row[self.graph].strip(), []).append(row)
        for name, group in groups.items():
            if not name:
                problem = f"{len(group):,} rows have no {quoted(self.names[self.graph])}"
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
        values = {key: [row[position].strip() for row in rows] for key, position in self.kept.items()}
        self.by_graph[name].extend(ends, lengths, values)

    def records(self, about: dict[str, Any]) -> list[Record]:
        """Return the graphs with what their rows share."""
        length, shared = self.file.length, sorted(self.shared)
        records = []
        for name, edges in self.by_graph.items():
            # a value that all edges of each graph share is a field of the graph
            own = {key: column for key, column in edges.values.items() if self.kept[key] not in self.shared}
            graph = edges.graph(
                length, edge_values=self.values.arrays(own), **{**about, "name": name or about["name"]}
            )
            fields = {self.names[i]: self.first[name][i].strip() for i in shared}
            records.append(Record(graph, fields))
        return records


def _batches(path: Path, budget: Budget) -> Iterator[list[list[str]]]:
    """Yield the rows of a CSV file, some at a time; the first lot has at least one."""
    held = 0  # characters of the rows of a lot

    def feed() -> Iterator[str]:
        nonlocal held
        for line in lines(path, budget, any_newline=True):
            if line.strip() and not line.startswith("#"):
                held += len(line) + _ROW
                if held > 2 * _BATCH:  # a row without end: it may go on in the next line
                    budget.check(_FIELDS * held)
                yield line

    fed = feed()
    first = next(fed, None)
    if first is None:
        raise FormatError(f"{path.name}: the file has no rows")
    delimiter = max(_DELIMITERS, key=first.count)
    rows: list[list[str]] = []
    try:
        for row in csv.reader(chain([first], fed), delimiter=delimiter, skipinitialspace=True, strict=True):
            rows.append(row)
            if held > _BATCH:
                yield rows
                rows, held = [], 0
    except csv.Error as error:
        raise FormatError(f"{path.name}: not valid CSV ({error})") from error
    if rows:
        yield rows


def _find_columns(
    names: Sequence[Any], source: str | None, target: str | None, length: str | float
) -> tuple[dict[str, int], list[str]]:
    """Return the positions of the columns for source, target, length and unit, and what is wrong."""
    lower = [str(name).strip().lower() for name in names]
    ends = [pair for pair in ENDS if {*pair} <= {*lower}] or ENDS
    lengths = ("length",) if length != "length" or "length" in lower else LENGTHS
    columns: dict[str, int] = {}
    problems: list[str] = []
    needed: list[tuple[str, str | None, tuple[str, ...]]] = [
        ("source", source, tuple(pair[0] for pair in ends)),
        ("target", target, tuple(pair[1] for pair in ends)),
    ]
    if isinstance(length, str):
        needed.append(("length", None if length == "length" else length, lengths))
    for key, given, synonyms in needed:
        matches = (
            _matches(names, given) if given is not None else [i for i, x in enumerate(lower) if x in synonyms]
        )
        if len(matches) == 1:
            columns[key] = matches[0]
        elif matches:
            problems.append(f"{listed([names[i] for i in matches])} may all be the {key}")
        else:
            expected = "" if given is None else f" ({quoted(given)} was asked for)"
            problems.append(f"there is no column for the {key}{expected}")
    units = _matches(names, "unit")
    return columns | ({"unit": units[0]} if units else {}), problems


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
    (".csv", ".tsv"),
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
