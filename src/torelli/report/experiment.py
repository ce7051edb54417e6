"""The report of an experiment of the paper: its page, its figures and all its rows in one file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from torelli._errors import FormatError
from torelli.report.markdown import picture, render
from torelli.report.page import Html, element, page, section, table

if TYPE_CHECKING:
    from pathlib import Path

_ROWS_SHOWN = 500


def experiment_page(folder: Path, about: dict[str, Any]) -> str:
    """Return the page of a folder that ``torelli reproduce`` wrote.

    Parameters
    ----------
    folder
        The folder, with ``README.md``, ``NAME.csv`` and figures.
    about
        What it says of itself in ``run.json``.
    """
    name = str(about["experiment"])
    try:
        text = (folder / "README.md").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FormatError(
            f"{folder.name}: there is no README.md; run torelli reproduce {name} to its end"
        ) from error
    first, _, rest = text.partition("\n")
    # the first line is the title, which the page has at its top
    title, body = (first.removeprefix("# "), rest) if first.startswith("# ") else (name, text)
    shown = set()
    for line in body.split("]("):
        shown.add(line.partition(")")[0])
    others = [file.name for file in sorted(folder.glob("*.png")) if file.name not in shown]
    pictures = section("Figures", *(picture(folder, file, file) for file in others)) if others else None
    return page(
        title, render(body, folder), pictures, _rows(folder / f"{name}.csv"), _sittings(about), plotly=False
    )


def _rows(path: Path) -> Html | None:
    if not path.is_file():
        return None
    header, *rows = list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8"), newline=""))) or [[]]
    more = f"The first {_ROWS_SHOWN:,} of {len(rows):,} rows; all are in {path.name}."
    caption = more if len(rows) > _ROWS_SHOWN else f"{len(rows):,} rows, as in {path.name}."
    whole = table(header, rows[:_ROWS_SHOWN], caption=caption)
    return section("All rows", element("details", element("summary", "Show the table"), whole), anchor="rows")


def _sittings(about: dict[str, Any]) -> Html:
    """Return the commands that made the result, with when and where: a long run has several."""
    sittings = about.get("sittings", [])
    rows = [
        [sitting.get(key) for key in ("date", "command", "cells", "cpu", "cores", "python")]
        + [", ".join(f"{name} {found}" for name, found in sitting.get("versions", {}).items() if found)]
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
