"""Cells that are done, one line each, so that a run can be stopped at any point and goes on later."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from torelli._errors import FormatError, InvalidOptionError, TorelliError, quoted, shortened
from torelli._files import parse_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torelli.experiments._experiment import Rows

_MAX_BYTES = 2**30
_PLAIN = (str, int, float, type(None))


class Stored(NamedTuple):
    """What a ledger holds: the configuration (None if it has none yet), cells, size of its whole lines."""

    configuration: dict[str, Any] | None
    done: dict[str, Rows]
    n_bytes: int
    is_torn: bool


class Ledger:
    """A file of JSON lines: what is being run, then each finished cell with its rows.

    Parameters
    ----------
    path
        The file; made if it is missing.
    configuration
        What the stored cells must have been measured with.

    Attributes
    ----------
    done
        The rows of each cell that is stored.
    was_torn
        Whether the last line was torn by a kill or a full disk. It was dropped: its cell is to be measured
        again.

    Notes
    -----
    A cell is written in one go and forced to disk; a cell written twice counts as it was written last.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        self.path = path
        found = read_ledger(path)
        self.done, self.was_torn = found.done, found.is_torn
        if found.is_torn:
            with path.open("r+b") as file:
                file.truncate(found.n_bytes)
        if found.configuration is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._append({"configuration": dict(configuration)})
        elif found.configuration != configuration:
            raise InvalidOptionError(
                f"{path} was measured with {quoted(found.configuration, 300)}, not with "
                f"{dict(configuration)}: use --fresh to begin anew, or another --out"
            )

    def add(self, key: Mapping[str, Any], rows: Rows) -> None:
        """Store the rows of a finished cell."""
        self._append({"cell": dict(key), "rows": rows})
        self.done[name(key)] = rows

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def read_ledger(path: Path) -> Stored:
    """Return what a ledger holds; a last line without an end was torn and is left out.

    Raises
    ------
    FormatError
        If another line is damaged, with its number and the remedy.
    """
    if not path.exists():
        return Stored(None, {}, 0, is_torn=False)
    if path.stat().st_size > _MAX_BYTES:
        raise FormatError(f"{path}: more than {_MAX_BYTES:,} bytes; begin anew with --fresh")
    whole, end, torn = path.read_bytes().rpartition(b"\n")
    if not end:
        return Stored(None, {}, 0, is_torn=bool(torn))
    configuration: dict[str, Any] = {}
    done: dict[str, Rows] = {}
    for number, text in enumerate(whole.split(b"\n"), 1):
        where = f"{path}, line {number:,}"
        try:
            line = parse_object(text, where)
            if number == 1:
                configuration = line.get("configuration")  # type: ignore[assignment]  # checked below
                if not isinstance(configuration, dict):
                    raise FormatError(f"{where}: no 'configuration'")  # noqa: TRY301  (one remedy for all)
            elif not (_is_row(line.get("cell")) and _are_rows(line.get("rows"))):
                raise FormatError(f"{where}: no cell with a list of 'rows'")  # noqa: TRY301  (the same)
            else:
                done[name(line["cell"])] = line["rows"]
        except FormatError as error:
            cell = "" if number == 1 else "remove the line to measure its cell again, or "
            raise FormatError(f"{error}; {cell}begin anew with --fresh") from error
    return Stored(configuration, done, len(whole) + 1, is_torn=bool(torn))


@contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Say of rows that cannot be worked with which file they come from, and how to mend it."""
    try:
        yield
    except TorelliError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = shortened(" ".join(f"{type(error).__name__}: {error}".split()), 300)
        raise FormatError(
            f"{path}: its rows are not those of this experiment ({what}); begin anew with --fresh"
        ) from error


def name(key: Mapping[str, Any]) -> str:
    """Return a cell's key as text."""
    return json.dumps(dict(key), sort_keys=True)


def _is_row(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(value, _PLAIN) for value in found.values())


def _are_rows(found: object) -> bool:
    return isinstance(found, list) and all(map(_is_row, found))
