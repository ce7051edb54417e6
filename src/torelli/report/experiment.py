"""The report of an experiment: its Markdown page, figures and rows as one HTML page.

Experiments write a small part of Markdown: headings, paragraphs, lists, tables, pictures and code. Text is
escaped. A picture is embedded if its file is in the folder of the page. A link is kept if it leads
to the web, since the page is a file by itself.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torelli._errors import FormatError, shortened
from torelli._provenance import describe, is_described
from torelli.webpage import Html, data_uri, element, join, markup, page, section, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_ROWS = 500
_DIGITS = 4
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?")
_REMEDY = "run torelli reproduce {} again: it measures what is missing, and writes all files"
_MAX_SVG_BYTES = 400_000
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>(?s:.+?))\*\*|\*(?P<slanted>[^*\s](?:[^*]*[^*\s])?)\*|!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)\s]+)\)"
    r"|\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)"
)
_BLOCK = re.compile(r"#|\||- |```")


def experiment_page(folder: Path, about: dict[str, Any]) -> str:
    """Return the page of an experiment.

    Parameters
    ----------
    folder
        A folder that ``torelli reproduce`` wrote, with ``README.md``, ``NAME.csv`` and figures.
    about
        The contents of ``run.json``.
    """
    name = about["experiment"]
    sittings = about.get("sittings")
    if not isinstance(name, str) or name != Path(name).name:
        raise FormatError(f"{folder.name}: run.json does not name an experiment; {_REMEDY.format('NAME')}")
    remedy = _REMEDY.format(shortened(name))
    if not isinstance(sittings, list) or not all(map(is_described, sittings)):
        raise FormatError(f"{folder.name}: run.json has no list of sittings; {remedy}")
    text = _text(folder / "README.md", remedy).replace("\r\n", "\n")
    if sittings and describe(sittings[-1]) not in text:
        raise FormatError(f"{folder.name}: README.md and run.json are from different runs; {remedy}")
    first, _, rest = text.partition("\n")
    # the first line is the title, which the page already has at its top
    title, body = (first.removeprefix("# "), rest) if first.startswith("# ") else (name, text)
    in_text = {part.partition(")")[0] for part in body.split("](")}
    others = [file.name for file in sorted(folder.glob("*.png")) if file.name not in in_text]
    pictures = section("Figures", *(_picture(folder, file, file) for file in others)) if others else None
    return page(
        title,
        render_markdown(body, folder),
        pictures,
        _rows(folder / f"{name}.csv", remedy),
        _sittings(about),
        plotly=False,
        styles=[".top, main { max-width: 1440px; }"],  # tables of many methods side by side
    )


def _text(path: Path, remedy: str) -> str:
    """Return the text of a file of the run."""
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        name = f"{path.parent.name}/{shortened(path.name)}"
        problem = error.strerror if isinstance(error, OSError) else error
        raise FormatError(f"{name} cannot be read ({problem}); {remedy}") from error


def _rows(path: Path, remedy: str) -> Html:
    try:
        lines = [row for row in csv.reader(io.StringIO(_text(path, remedy), newline="")) if row]
    except csv.Error as error:
        raise FormatError(f"{path.parent.name}/{path.name}: not valid CSV ({error}); {remedy}") from error
    header, *rows = lines or [[]]
    if len(rows) > _MAX_ROWS:
        caption = f"The first {_MAX_ROWS:,} of {len(rows):,} rows; {path.name} has all of them, unrounded."
    else:
        count = f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"
        caption = f"{count}, rounded to {_DIGITS} digits; {path.name} has all digits."
    # names of columns may be divided at their underscores
    names = [Html(markup(name).replace("_", "_<wbr>")) for name in header]
    whole = table(names, [list(map(_rounded, row)) for row in rows[:_MAX_ROWS]], caption=caption)
    return section("All rows", element("details", element("summary", "Show the table"), whole), anchor="rows")


def _rounded(cell: str) -> str:
    """Return a cell of a table of measurements with as many digits as a reader needs."""
    if not _DECIMAL.fullmatch(cell):
        return cell
    value = float(cell)
    return f"{value:.{_DIGITS}g}" if abs(value) < 10**_DIGITS else f"{value:.0f}"


def _sittings(about: dict[str, Any]) -> Html:
    """Return the commands of the run, with time and machine; a run that was interrupted has several."""
    sittings = about["sittings"]
    rows = [
        [sitting.get(key) for key in ("date", "command", "cells", "cpu", "cores", "python")]
        + [", ".join(f"{name} {version}" for name, version in sitting["versions"].items() if version)]
        for sitting in sittings
    ]
    command = sittings[-1].get("command") if sittings else f"torelli reproduce {about['experiment']}"
    return section(
        "How to run this again",
        element("pre", element("code", command), tabindex="0"),
        element("p", f"Seed {about.get('seed')}.", class_="muted"),
        table(["date", "command", "cells measured", "processor", "cores", "Python", "versions"], rows),
        anchor="run",
    )


def render_markdown(text: str, folder: Path) -> Html:
    """Return Markdown as HTML, with a section for each chapter; `folder` has the pictures."""
    chapters: list[list[Html]] = [[]]
    for block in _blocks(text.splitlines(), folder):
        if block.startswith(("<h1>", "<h2>")):
            chapters.append([])
        chapters[-1].append(block)
    return join(element("section", *chapter) for chapter in chapters if chapter)


def _blocks(lines: list[str], folder: Path) -> Iterator[Html]:
    """Yield the blocks of a page in order."""
    end = 0
    while end < len(lines):
        start, line = end, lines[end]
        end += 1
        if line.startswith("```"):
            end = _end_of_block(lines, end, lambda line: not line.startswith("```"))
            yield element("pre", element("code", "\n".join(lines[start + 1 : end])), tabindex="0")
            end += 1
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            yield element(f"h{min(level, 4)}", _inline(line.lstrip("# "), folder))
        elif line.startswith("|"):
            end = _end_of_block(lines, end, lambda line: line.startswith("|"))
            yield _table(lines[start:end], folder)
        elif line.startswith("- "):
            end = _end_of_block(lines, end, lambda line: line.startswith(("- ", "  ")))
            items = re.split(r"^- ", "\n".join(lines[start:end]), flags=re.MULTILINE)[1:]
            yield element("ul", *(element("li", _inline(item, folder)) for item in items))
        elif line.strip():
            end = _end_of_block(lines, end, lambda line: bool(line.strip()) and not _BLOCK.match(line))
            yield element("p", _inline("\n".join(lines[start:end]), folder))


def _end_of_block(lines: list[str], start: int, belongs: Callable[[str], bool]) -> int:
    """Return the index of the first line from `start` on that does not belong to the block."""
    return next((index for index in range(start, len(lines)) if not belongs(lines[index])), len(lines))


def _table(lines: list[str], folder: Path) -> Html:
    """Return a table; the line of dashes below the header is not a row."""
    rows = [[_inline(cell.strip(), folder) for cell in line.strip().strip("|").split("|")] for line in lines]
    has_header = len(lines) > 1 and not lines[1].strip("|-: ")
    return table(rows[0], rows[2:]) if has_header else table([], rows)


def _inline(text: str, folder: Path) -> Html:
    """Return text with code, bold words, pictures and links."""
    parts: list[Html] = []
    end = 0
    for match in _INLINE.finditer(text):
        parts += [markup(text[end : match.start()]), _inline_element(match, folder)]
        end = match.end()
    return join([*parts, markup(text[end:])])


def _inline_element(match: re.Match[str], folder: Path) -> Html:
    kind = match.lastgroup
    if kind == "code":
        return element("code", match["code"])
    if kind == "bold":
        return element("strong", _inline(match["bold"], folder))
    if kind == "slanted":
        return element("em", _inline(match["slanted"], folder))
    if kind == "picture":
        return _picture(folder, match["picture"], match["alt"])
    if re.match(r"https?://", match["target"]):
        return element("a", _inline(match["text"], folder), href=match["target"], rel="noreferrer")
    return _inline(match["text"], folder)


def _picture(folder: Path, name: str, alt: str) -> Html:
    """Return an embedded picture, as SVG if there is a small one; if the file is missing, say so."""
    file = folder / Path(name).name
    svg = file.with_suffix(".svg")
    if svg.is_file() and svg.stat().st_size <= _MAX_SVG_BYTES:
        file = svg
    if not file.is_file():
        return element("em", f"(picture {name} is missing)")
    return element("img", src=data_uri(file.read_bytes()), alt=alt, class_="picture")
