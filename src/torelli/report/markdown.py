"""The Markdown that experiments write, as HTML: headings, paragraphs, lists, tables, pictures, code.

Text is escaped; a picture is embedded if its file lies in the folder of the page, a link is kept only if it
leads to a place on the web, since the page is a file by itself.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from torelli.report.page import Html, data_uri, element, join, markup, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_SVG_BYTES = 400_000
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)\s]+)\)"
    r"|\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)"
)
_BLOCK = re.compile(r"#|\||- |```")


def render(text: str, folder: Path) -> Html:
    """Return a page of Markdown as HTML, each chapter a section; pictures are looked for in `folder`."""
    chapters: list[list[Html]] = [[]]
    for block in _blocks(text.splitlines(), folder):
        if block.startswith(("<h1>", "<h2>")):
            chapters.append([])
        chapters[-1].append(block)
    return join(element("section", *chapter) for chapter in chapters if chapter)


def _blocks(lines: list[str], folder: Path) -> Iterator[Html]:
    """Yield the blocks of a page in order."""
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if line.startswith("```"):
            while at < len(lines) and not lines[at].startswith("```"):
                at += 1
            yield element("pre", element("code", "\n".join(lines[start + 1 : at])), tabindex="0")
            at += 1
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            yield element(f"h{min(level, 4)}", _inline(line.lstrip("# "), folder))
        elif line.startswith("|"):
            at = _end(lines, at, lambda found: found.startswith("|"))
            yield _table(lines[start:at], folder)
        elif line.startswith("- "):
            at = _end(lines, at, lambda found: found.startswith(("- ", "  ")))
            items = re.split(r"^- ", "\n".join(lines[start:at]), flags=re.MULTILINE)[1:]
            yield element("ul", *(element("li", _inline(item, folder)) for item in items))
        elif line.strip():
            at = _end(lines, at, lambda found: bool(found.strip()) and not _BLOCK.match(found))
            yield element("p", _inline("\n".join(lines[start:at]), folder))


def _end(lines: list[str], at: int, goes_on: Callable[[str], bool]) -> int:
    """Return where a block ends that began before `at`."""
    while at < len(lines) and goes_on(lines[at]):
        at += 1
    return at


def _table(lines: list[str], folder: Path) -> Html:
    """Return a table; the line of rules below its header is not one of the rows."""
    rows = [[_inline(cell.strip(), folder) for cell in line.strip().strip("|").split("|")] for line in lines]
    is_rule = len(lines) > 1 and not lines[1].strip("|-: ")
    return table(rows[0], rows[2:]) if is_rule else table([], rows)


def _inline(text: str, folder: Path) -> Html:
    """Return text with code, bold words, pictures and links."""
    parts: list[Html] = []
    at = 0
    for found in _INLINE.finditer(text):
        parts += [markup(text[at : found.start()]), _piece(found, folder)]
        at = found.end()
    return join([*parts, markup(text[at:])])


def _piece(found: re.Match[str], folder: Path) -> Html:
    kind = found.lastgroup
    if kind == "code":
        return element("code", found["code"])
    if kind == "bold":
        return element("strong", _inline(found["bold"], folder))
    if kind == "picture":
        return picture(folder, found["picture"], found["alt"])
    if re.match(r"https?://", found["target"]):
        return element("a", _inline(found["text"], folder), href=found["target"], rel="noreferrer")
    return _inline(found["text"], folder)


def picture(folder: Path, name: str, alt: str) -> Html:
    """Return an embedded picture: the SVG beside a PNG if it is small; text where there is no such file."""
    file = folder / Path(name).name
    drawing = file.with_suffix(".svg")
    if drawing.is_file() and drawing.stat().st_size <= _MAX_SVG_BYTES:
        file = drawing
    if not file.is_file():
        return element("em", f"(picture {name} is missing)")
    return element("img", src=data_uri(file.read_bytes()), alt=alt, class_="picture")
