"""``run.json``: with what an experiment was measured, and when, where and by which command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torelli._errors import FormatError
from torelli._files import parse_object, write_whole
from torelli._provenance import is_described, machine

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torelli.experiments._experiment import Settings
    from torelli.experiments._ledger import Ledger

_MAX_BYTES = 2**24


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a folder: the configuration, and the sittings in which cells were measured.

    Raises
    ------
    FormatError
        If there is none, or if it is damaged.
    """
    path = folder / "run.json"
    if not path.is_file():
        raise FormatError(f"{path}: the file is missing")
    if path.stat().st_size > _MAX_BYTES:
        raise FormatError(f"{path}: more than {_MAX_BYTES:,} bytes")
    record = parse_object(path.read_bytes(), str(path))
    sittings = record.get("sittings")
    if not isinstance(sittings, list) or not all(map(is_described, sittings)):
        raise FormatError(f"{path}: 'sittings' is no list of what each was measured on")
    return record


def mend_record(folder: Path, configuration: Mapping[str, Any], ledger: Ledger) -> str | None:
    """Make sure that there is a sound record of what the ledger holds; return what was wrong with it.

    The configuration stands in the ledger too. When and where its cells were measured stands in the
    record alone and is lost with it: a damaged one is kept as ``run.json.damaged``.

    Raises
    ------
    FormatError
        If the record is of another run than the cells.
    """
    path = folder / "run.json"
    if not ledger.done:
        # sittings of cells that are no longer there say nothing
        _write(folder, {**configuration, "sittings": []})
        return None
    try:
        record = read_record(folder)
    except FormatError as error:
        if path.is_file():
            path.replace(folder / "run.json.damaged")
        _write(folder, {**configuration, "sittings": []})
        return f"{error}; it was written anew, without when and where the stored cells were measured"
    other = [key for key, value in configuration.items() if record.get(key) != value]
    if other:
        raise FormatError(
            f"{path}: of another run than {ledger.path.name} ({', '.join(other)} differs); remove it to keep "
            "the cells, or begin anew with --fresh"
        )
    return None


def note_sitting(folder: Path, settings: Settings, command: str, n_cells: int) -> None:
    """Add when, where and how cells are measured: a long run has several sittings."""
    record = read_record(folder)
    caps = {"seconds": settings.seconds, "gigabytes": settings.gigabytes}
    record["sittings"].append({"command": command, "cells": n_cells, **caps, **machine()})
    _write(folder, record)


def _write(folder: Path, record: Mapping[str, Any]) -> None:
    text = json.dumps(record, indent=1) + "\n"
    write_whole(folder / "run.json", lambda part: part.write_text(text, encoding="utf-8"))
