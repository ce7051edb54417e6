"""Cells that are done, one line each, so that a run can be stopped at any point and goes on later."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from torelli._errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torelli.experiments._experiment import Rows


class Ledger:
    """A file of JSON lines: what is being run, then each finished cell with its rows.

    Parameters
    ----------
    path
        The file; made if it is missing.
    configuration
        What the stored cells must have been measured with.

    Notes
    -----
    A cell is written in one go and forced to disk. A line torn by a kill or a full disk is dropped,
    and its cell measured again; a cell written twice counts as it was written last.
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        self.path = path
        self.done: dict[str, Rows] = {}
        lines = self._read()
        if not lines:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
            self._append({"configuration": dict(configuration)})
            return
        found = lines[0].get("configuration")
        if found != configuration:
            raise InvalidOptionError(
                f"{path} was measured with {found}, not with {dict(configuration)}: "
                "use --fresh to begin anew, or another --out"
            )
        for line in lines[1:]:
            self.done[name(line["cell"])] = line["rows"]

    def add(self, key: Mapping[str, Any], rows: Rows) -> None:
        """Store the rows of a finished cell."""
        self._append({"cell": dict(key), "rows": rows})
        self.done[name(key)] = rows

    def _read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        lines, whole = [], 0
        text = self.path.read_bytes()
        for line in text.splitlines(keepends=True):
            try:
                lines.append(json.loads(line))
            except ValueError:
                break
            if not line.endswith(b"\n"):
                lines.pop()
                break
            whole += len(line)
        if whole < len(text):
            with self.path.open("r+b") as file:
                file.truncate(whole)
        return lines

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


def name(key: Mapping[str, Any]) -> str:
    """Return a cell's key as text."""
    return json.dumps(dict(key), sort_keys=True)
