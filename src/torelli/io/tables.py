"""Tables with one edge in each row: pandas DataFrames and CSV files.

The columns are found by name, in any case: the ends of an edge as one of `SOURCES` and `TARGETS`,
its length as the name asked for or, where there is none of that name, one of `LENGTHS`; a column
``unit`` must have one value throughout. Each row is an edge, and (u, v) and (v, u) are two.
"""

from __future__ import annotations

import csv
from itertools import chain
from typing import TYPE_CHECKING, Any

from torelli._errors import Fault, FormatError, InvalidGraphError, listed, quoted
from torelli.io.edges import EdgeTable, build_graph, number_nodes
from torelli.io.files import lines
from torelli.io.readers import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from torelli._types import GraphLike
    from torelli.graph import MetricGraph
    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile

SOURCES = ("source", "u", "from", "tail", "start")
TARGETS = ("target", "v", "to", "head", "end")
LENGTHS = ("length", "distance", "weight")

_NEEDED = ("source", "target", "length")
_DELIMITERS = (",", ";", "\t", " ")
_SHOWN = 10
_BATCH, _ROW = 2**18, 16  # characters of rows that are looked at together, and what a row counts beside
_FIELDS = 60  # bytes for each character of a row, at most, as strings of one letter or two
_UNIT = 200  # bytes of a unit in a set


def from_dataframe(frame: GraphLike, length: str, _directions: object = None, **about: Any) -> MetricGraph:
    """Convert a pandas DataFrame with one edge in each row."""
    columns = _find_columns(list(frame.columns), length)
    if not columns.keys() >= {*_NEEDED}:
        problem, remedy = _missing_columns(list(frame.columns), columns, length)
        raise InvalidGraphError([Fault(problem, remedy, name=about.get("name"))])
    values = [frame.iloc[:, column].tolist() for column in columns.values()]
    return _from_columns(dict(zip(columns, values, strict=True)), length, **about)


def read_csv(file: SourceFile) -> MetricGraph:
    """Return the graph of a CSV edge list, with a header, or without one and with the columns u, v, length.

    The delimiter is the comma, semicolon, tab or blank that the first line has most of.
    """
    path, length, budget = file.path, file.length, file.budget
    batches = _batches(path, budget)
    rows = next(batches)
    width = len(rows[0])
    names = [name.strip() for name in rows[0]]
    columns = _find_columns(names, length)
    if not columns.keys() >= {*_NEEDED}:
        if width != len(_NEEDED) or not _is_number(names[-1]):
            problem, remedy = _missing_columns(names, columns, length)
            raise FormatError(f"{path.name}: {problem}; {remedy}")
        columns = {column: position for position, column in enumerate(_NEEDED)}
    else:
        del rows[0]
    edges = EdgeTable(budget)
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
        source, target = columns["source"], columns["target"]
        ends = [row[column].strip() or None for row in batch for column in (source, target)]
        edges.extend(ends, [row[columns["length"]].strip() or None for row in batch])
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
    return edges.graph(length, **_with_unit(units, file.about()))


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


def _synonyms(length: str) -> dict[str, tuple[str, ...]]:
    """Return the names that each column may have."""
    lengths = LENGTHS if length == "length" else (length,)
    return {"source": SOURCES, "target": TARGETS, "length": lengths, "unit": ("unit",)}


def _find_columns(names: Sequence[Any], length: str) -> dict[str, int]:
    """Return the positions of the columns for source, target, length and unit, as far as they exist."""
    lower = [str(name).lower() for name in names]
    columns: dict[str, int] = {}
    for key, synonyms in _synonyms(length).items():
        for name in synonyms:
            if name.lower() in lower:
                columns[key] = lower.index(name.lower())
                break
    return columns


def _missing_columns(names: Sequence[Any], found: dict[str, int], length: str) -> tuple[str, str]:
    """Return which columns are missing, and the names that they may have."""
    taken = {key: names for key, names in _synonyms(length).items() if key in {*_NEEDED} - found.keys()}
    have = listed(names)
    problem = f"there is no column for {', '.join(taken)}; the columns are {have or '(none)'}"
    remedy = "; ".join(f"name the {key} {' or '.join(map(quoted, names))}" for key, names in taken.items())
    return problem, remedy + (", or give its name with length=..." if "length" in taken else "")


def _from_columns(values: dict[str, list[Any]], length: str, **about: Any) -> MetricGraph:
    units = {str(unit) for unit in values.get("unit", ()) if unit is not None}
    tail, head, nodes = number_nodes(values["source"], values["target"], name=about.get("name"))
    return build_graph(tail, head, values["length"], nodes, length=length, **_with_unit(units, about))


def _with_unit(units: set[str], about: dict[str, Any]) -> dict[str, Any]:
    """Add the unit that a table states, which must be one."""
    if len(units) > 1:
        problem = f"the lengths have {len(units):,} units: {listed(sorted(units))}"
        raise InvalidGraphError([Fault(problem, "convert them to one unit", name=about.get("name"))])
    return {**about, "unit": next(iter(units), about.get("unit"))}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


CSV = Reader(
    "csv",
    (".csv", ".tsv"),
    read_csv,
    example="source,target,length,unit\na,b,1.5,m\nb,c,2.5,m\nc,a,1e1,m\n",
)
