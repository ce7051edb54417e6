"""The report of an experiment of the paper: its page, its figures and all its rows in one file."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from torelli._errors import FormatError, shortened
from torelli._provenance import describe, is_described
from torelli.report.markdown import picture, render
from torelli.report.page import Html, element, page, section, table

_ROWS_SHOWN = 500
_AGAIN = "run torelli reproduce {} to its end: it writes the page anew, and measures only what is missing"


def experiment_page(folder: Path, about: dict[str, Any]) -> str:
    """Return the page of a folder that ``torelli reproduce`` wrote.

    Parameters
    ----------
    folder
        The folder, with ``README.md``, ``NAME.csv`` and figures.
    about
        What it says of itself in ``run.json``.
    """
    name = about["experiment"]
    sittings = about.get("sittings")
    if not isinstance(name, str) or name != Path(name).name:
        raise FormatError(f"{folder.name}: run.json names no experiment; {_AGAIN.format('NAME')}")
    again = _AGAIN.format(shortened(name))
    if not isinstance(sittings, list) or not all(map(is_described, sittings)):
        raise FormatError(f"{folder.name}: run.json has no list of sittings; {again}")
    text = _text(folder / "README.md", again).replace("\r\n", "\n")
    if sittings and describe(sittings[-1]) not in text:
        raise FormatError(f"{folder.name}: README.md and run.json are not of one run; {again}")
    first, _, rest = text.partition("\n")
    # the first line is the title, which the page has at its top
    title, body = (first.removeprefix("# "), rest) if first.startswith("# ") else (name, text)
    shown = set()
    for line in body.split("]("):
        shown.add(line.partition(")")[0])
    others = [file.name for file in sorted(folder.glob("*.png")) if file.name not in shown]
    pictures = section("Figures", *(picture(folder, file, file) for file in others)) if others else None
    return page(
        title,
        render(body, folder),
        pictures,
        _rows(folder / f"{name}.csv", again),
        _sittings(about),
        plotly=False,
    )


def _text(path: Path, remedy: str) -> str:
    """Return the text of a file that the run must have written."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        name = f"{path.parent.name}/{shortened(path.name)}"
        problem = error.strerror if isinstance(error, OSError) else error
        raise FormatError(f"{name} cannot be read ({problem}); {remedy}") from error


def _rows(path: Path, remedy: str) -> Html:
    try:
        found = [row for row in csv.reader(io.StringIO(_text(path, remedy), newline="")) if row]
    except csv.Error as error:
        raise FormatError(f"{path.parent.name}/{path.name}: not valid CSV ({error}); {remedy}") from error
    header, *rows = found or [[]]
    more = f"The first {_ROWS_SHOWN:,} of {len(rows):,} rows; all are in {path.name}."
    caption = more if len(rows) > _ROWS_SHOWN else f"{len(rows):,} rows, as in {path.name}."
    whole = table(header, rows[:_ROWS_SHOWN], caption=caption)
    return section("All rows", element("details", element("summary", "Show the table"), whole), anchor="rows")


def _sittings(about: dict[str, Any]) -> Html:
    """Return the commands that made the result, with when and where: a long run has several."""
    sittings = about["sittings"]
    rows = [
        [sitting.get(key) for key in ("date", "command", "cells", "cpu", "cores", "python")]
        + [", ".join(f"{name} {found}" for name, found in sitting["versions"].items() if found)]
        for sitting in sittings
    ]
    command = sittings[-1].get("command") if sittings else f"torelli reproduce {about['experiment']}"
    return section(
        "What was run, and how to run it again",
        element("pre", element("code", command), tabindex="0"),
        element("p", f"Seed {about.get('seed')}.", class_="muted"),
        table(["date", "command", "cells measured", "processor", "cores", "Python", "versions"], rows),
        anchor="run",
    )
