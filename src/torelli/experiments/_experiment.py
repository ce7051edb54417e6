"""An experiment: its cells, the rows that they give, and the ledger that stores them.

A run stores finished cells in ``cells.jsonl``, and how they were measured in ``run.json``.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from torelli._errors import FormatError, InvalidOptionError, TorelliError, quoted, shortened
from torelli._files import parse_object, write_whole
from torelli._provenance import is_described, machine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure

    Row = dict[str, Any]
    Rows = list[Row]
    from collections.abc import Iterator, Sequence
    from pathlib import Path


_MAX_BYTES = 2**30
_MAX_RECORD = 2**24
_PLAIN = (str, int, float, type(None))


@dataclass(frozen=True)
class Settings:
    """How an experiment is run.

    Attributes
    ----------
    quick
        Whether to run a small version, in under two minutes, that shows the shape of the result.
    seed
        Seed of everything random.
    seconds, gigabytes
        Limits on time and memory for a cell that runs in its own process.
    """

    quick: bool = False
    seed: int = 0
    seconds: float = 300.0
    gigabytes: float = 8.0


@dataclass(frozen=True)
class Cell:
    """The unit of an experiment that is measured and stored as a whole.

    Attributes
    ----------
    key
        Names and plain values that identify the cell; they are the first columns of its rows.
    cost
        Expected time in any unit, for the estimate of the time left.
    """

    key: Mapping[str, str | int | float]
    cost: float = 1.0


def never(_rows: Rows, _settings: Settings) -> bool:
    """Return False: no stored cell is measured again."""
    return False


def no_outcome(_rows: Rows) -> str:
    """Return nothing: the list of results then refers to the page."""
    return ""


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or one of our own.

    Attributes
    ----------
    name, title, section, shows
        Name (that of the module), title, section of the paper (empty if there is none), and what it shows.
    minutes
        About how long the full run takes on two cores.
    cells
        Returns the cells for the settings, in the order of the table.
    measure
        Returns the rows of a cell, given its key and the settings. Values are plain, and the same for the
        same seed, except times.
    page
        Returns the Markdown of the page for all rows, without title. Every number in it comes from the rows.
    figures
        Returns the figures for all rows, by name; the page shows them as ``NAME.png``.
    isolated
        Whether `measure` computes in a process of its own, so that cells can run side by side.
    again
        Returns whether the stored rows of a cell should be measured again under new settings, such as a
        cell that ran out of time and now has more.
    outcome
        Returns the outcome for all rows in a sentence or two, for the list of results.
    version
        To be raised when rows measured by older code are no longer valid.
    """

    name: str
    title: str
    section: str
    shows: str
    minutes: float
    cells: Callable[[Settings], list[Cell]]
    measure: Callable[[Mapping[str, Any], Settings], Rows]
    page: Callable[[Rows], str]
    figures: Callable[[Rows], dict[str, Figure]]
    isolated: bool = False
    again: Callable[[Rows, Settings], bool] = field(default=never)
    outcome: Callable[[Rows], str] = field(default=no_outcome)
    version: int = 1


class Stored(NamedTuple):
    """Content of a ledger: configuration (None if it has none yet), cells, bytes of its complete lines."""

    configuration: dict[str, Any] | None
    done: dict[str, Rows]
    n_bytes: int
    is_torn: bool


class Ledger:
    """A file of JSON lines: the configuration of the run, then each finished cell with its rows.

    Parameters
    ----------
    path
        The file; created if it is missing.
    configuration
        Configuration that the stored cells must have been measured with.

    Attributes
    ----------
    done
        The rows of each stored cell, by `cell_name`.
    was_torn
        Whether the last line was incomplete, because of a kill or a full disk. It was dropped, so its cell
        is measured again.

    Notes
    -----
    A cell is written in one call and forced to disk. If a cell occurs twice, the last one counts.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        self.path = path
        stored = read_ledger(path)
        self.done, self.was_torn = stored.done, stored.is_torn
        if stored.is_torn:
            with path.open("r+b") as file:
                file.truncate(stored.n_bytes)
        if stored.configuration is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"configuration": dict(configuration)})
        elif stored.configuration != configuration:
            raise InvalidOptionError(
                f"{path} was measured with {quoted(stored.configuration, 300)}, not with "
                f"{dict(configuration)}: use --fresh to start over, or choose another --out"
            )

    def add(self, key: Mapping[str, Any], rows: Rows) -> None:
        """Store the rows of a finished cell."""
        self._append({"cell": dict(key), "rows": rows})
        self.done[cell_name(key)] = rows

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_ledger(path: Path) -> Stored:
    """Return the content of a ledger; an incomplete last line is left out.

    Raises
    ------
    FormatError
        If a line before the last is damaged; the message gives its number and the remedy.
    """
    if not path.exists():
        return Stored(None, {}, 0, is_torn=False)
    if path.stat().st_size > _MAX_BYTES:
        raise FormatError(f"{path}: more than {_MAX_BYTES:,} bytes; start over with --fresh")
    whole, end, torn = path.read_bytes().rpartition(b"\n")
    if not end:
        return Stored(None, {}, 0, is_torn=bool(torn))
    first, *others = whole.split(b"\n")
    try:
        configuration = _parse_configuration(first, f"{path}, line 1")
    except FormatError as error:
        raise FormatError(f"{error}; start over with --fresh") from error
    done: dict[str, Rows] = {}
    for line_number, text in enumerate(others, 2):
        try:
            cell, rows = _parse_cell(text, f"{path}, line {line_number:,}")
        except FormatError as error:
            remedy = "remove the line to measure its cell again, or start over with --fresh"
            raise FormatError(f"{error}; {remedy}") from error
        done[cell_name(cell)] = rows
    return Stored(configuration, done, len(whole) + 1, is_torn=bool(torn))


def _parse_configuration(text: bytes, where: str) -> dict[str, Any]:
    configuration = parse_object(text, where).get("configuration")
    if not isinstance(configuration, dict):
        raise FormatError(f"{where}: there is no 'configuration'")
    return configuration


def _parse_cell(text: bytes, where: str) -> tuple[dict[str, Any], Rows]:
    line = parse_object(text, where)
    cell, rows = line.get("cell"), line.get("rows")
    if not _is_row(cell) or not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise FormatError(f"{where}: not a 'cell' with a list of 'rows'")
    return line["cell"], rows


def _is_row(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, _PLAIN) for entry in value.values())


def stored_rows(experiment: Experiment, folder: Path) -> Rows:
    """Return the rows of an experiment that were measured in a folder, in the order of the table."""
    path = folder / "cells.jsonl"
    stored = read_ledger(path)
    if stored.configuration is None:
        raise FormatError(f"{path}: there are no cells; start over with --fresh")
    with blaming(path):
        settings = Settings(quick=stored.configuration["quick"], seed=stored.configuration["seed"])
        return collect(experiment.cells(settings), stored.done)


def collect(cells: Sequence[Cell], done: Mapping[str, Rows]) -> Rows:
    """Return the rows of all measured cells in the order of the table, each with its cell's key."""
    return [{**cell.key, **row} for cell in cells for row in done.get(cell_name(cell.key), ())]


def cell_name(key: Mapping[str, Any]) -> str:
    """Return a cell's key as text."""
    return json.dumps(dict(key), sort_keys=True)


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Turn an error about rows that do not fit the experiment into one with their file and the remedy."""
    try:
        yield
    except TorelliError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = shortened(" ".join(f"{type(error).__name__}: {error}".split()), 300)
        raise FormatError(
            f"{path}: its rows are not those of this experiment ({reason}); start over with --fresh"
        ) from error


def read_record(folder: Path) -> dict[str, Any]:
    """Return ``run.json`` of a folder: the configuration, and the sittings in which cells were measured.

    Raises
    ------
    FormatError
        If the file is missing or damaged.
    """
    path = folder / "run.json"
    if not path.is_file():
        raise FormatError(f"{path}: the file is missing")
    if path.stat().st_size > _MAX_RECORD:
        raise FormatError(f"{path}: more than {_MAX_RECORD:,} bytes")
    record = parse_object(path.read_bytes(), str(path))
    sittings = record.get("sittings")
    if not isinstance(sittings, list) or not all(map(is_described, sittings)):
        raise FormatError(f"{path}: 'sittings' is not a list of sittings with their machine")
    return record


def mend_record(folder: Path, configuration: Mapping[str, Any], ledger: Ledger) -> str | None:
    """Write a new ``run.json`` if it is missing or damaged; return what was wrong with it.

    The ledger holds the configuration too. When and where the cells were measured is only in ``run.json``
    and is lost with it. A damaged file is kept as ``run.json.damaged``.

    Raises
    ------
    FormatError
        If ``run.json`` belongs to another run than the cells.
    """
    path = folder / "run.json"
    if not ledger.done:
        # the sittings of cells that no longer exist mean nothing
        _write_record(folder, {**configuration, "sittings": []})
        return None
    try:
        record = read_record(folder)
    except FormatError as error:
        if path.is_file():
            path.replace(folder / "run.json.damaged")
        _write_record(folder, {**configuration, "sittings": []})
        return f"{error}; it was written again; when and where the stored cells were measured is lost"
    other = [key for key, value in configuration.items() if record.get(key) != value]
    if other:
        raise FormatError(
            f"{path}: of another run than {ledger.path.name} ({', '.join(other)} differs); remove it to keep "
            "the cells, or start over with --fresh"
        )
    return None


def note_sitting(folder: Path, settings: Settings, command: str, n_cells: int) -> None:
    """Add a sitting to ``run.json``: when, where and how cells are measured. A long run has several."""
    record = read_record(folder)
    caps = {"seconds": settings.seconds, "gigabytes": settings.gigabytes}
    record["sittings"].append({"command": command, "cells": n_cells, **caps, **machine()})
    _write_record(folder, record)


def _write_record(folder: Path, record: Mapping[str, Any]) -> None:
    text = json.dumps(record, indent=1) + "\n"
    write_whole(folder / "run.json", lambda part: part.write_text(text, encoding="utf-8"))
