"""Tables with one edge a row: pandas DataFrames and CSV files.

The columns are found by name, in any case: the ends of an edge as one of `SOURCES` and `TARGETS`,
its length as the name asked for or, where there is none of that name, one of `LENGTHS`; a column
``unit`` must have one value throughout. Each row is an edge, and (u, v) and (v, u) are two.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from torelli._errors import Fault, FormatError, InvalidGraphError, listed, quoted
from torelli.io.edges import build_graph, number_nodes
from torelli.io.files import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torelli.graph import MetricGraph

SOURCES = ("source", "u", "from", "tail", "start")
TARGETS = ("target", "v", "to", "head", "end")
LENGTHS = ("length", "distance", "weight")

_NEEDED = {"source", "target", "length"}
_DELIMITERS = (",", ";", "\t", " ")
_SHOWN = 10


def from_dataframe(frame: Any, length: str, **about: Any) -> MetricGraph:  # noqa: ANN401
    """Convert a pandas DataFrame with one edge a row."""
    columns = _find_columns(list(frame.columns), length)
    if not columns.keys() >= _NEEDED:
        problem, remedy = _missing_columns(list(frame.columns), columns, length)
        raise InvalidGraphError([Fault(problem, remedy, name=about.get("name"))])
    values = [frame.iloc[:, column].tolist() for column in columns.values()]
    return _from_columns(dict(zip(columns, values, strict=True)), length, **about)


def read_csv(path: Path, *, length: str, max_bytes: int, **about: Any) -> MetricGraph:  # noqa: ANN401
    """Read a CSV edge list, with a header, or without one and with the columns u, v, length.

    The delimiter is the comma, semicolon, tab or blank that the first line has most of.
    """
    lines = read_text(path, max_bytes).splitlines()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    if not lines:
        raise FormatError(f"{path.name}: there is no row in the file")
    delimiter = max(_DELIMITERS, key=lines[0].count)
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error as error:
        raise FormatError(f"{path.name}: not valid CSV ({error})") from error
    width = len(rows[0])
    names = [name.strip() for name in rows[0]]
    columns = _find_columns(names, length)
    if not columns.keys() >= _NEEDED:
        if len(rows[0]) != 3 or not _is_number(rows[0][2]):  # noqa: PLR2004
            problem, remedy = _missing_columns(names, columns, length)
            raise FormatError(f"{path.name}: {problem}; {remedy}")
        columns = {"source": 0, "target": 1, "length": 2}
    else:
        del rows[0]
    ragged = [i for i, row in enumerate(rows) if len(row) != width]
    if ragged:
        shown = ", ".join(map(str, ragged[:_SHOWN]))
        raise FormatError(
            f"{path.name}: {len(ragged):,} rows do not have {width} fields (rows {shown}); the file is cut?"
        )
    values = {key: [row[column].strip() or None for row in rows] for key, column in columns.items()}
    return _from_columns(values, length, **about)


def _synonyms(length: str) -> dict[str, tuple[str, ...]]:
    """Return the names that each column may have."""
    lengths = LENGTHS if length == "length" else (length,)
    return {"source": SOURCES, "target": TARGETS, "length": lengths, "unit": ("unit",)}


def _find_columns(names: Sequence[Any], length: str) -> dict[str, int]:
    """Return the positions of source, target, length and unit, where they are found."""
    lower = [str(name).lower() for name in names]
    found: dict[str, int] = {}
    for key, synonyms in _synonyms(length).items():
        for name in synonyms:
            if name.lower() in lower:
                found[key] = lower.index(name.lower())
                break
    return found


def _missing_columns(names: Sequence[Any], found: dict[str, int], length: str) -> tuple[str, str]:
    """Return which columns are missing among those that are there, and the names that are taken."""
    taken = {key: names for key, names in _synonyms(length).items() if key in _NEEDED - found.keys()}
    have = listed(names)
    problem = f"there is no column for {', '.join(taken)}; the columns are {have or '(none)'}"
    remedy = "; ".join(f"name the {key} {' or '.join(map(quoted, names))}" for key, names in taken.items())
    return problem, remedy + (", or give its name with length=..." if "length" in taken else "")


def _from_columns(values: dict[str, list[Any]], length: str, **about: Any) -> MetricGraph:  # noqa: ANN401
    units = sorted({str(unit) for unit in values.get("unit", ()) if unit is not None})
    if len(units) > 1:
        problem = f"the lengths have {len(units)} units: {listed(units)}"
        raise InvalidGraphError([Fault(problem, "convert them to one unit", name=about.get("name"))])
    if units and not about.get("unit"):
        about["unit"] = units[0]
    tail, head, nodes = number_nodes(values["source"], values["target"], name=about.get("name"))
    return build_graph(tail, head, values["length"], nodes, length=length, **about)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
