"""Self-contained HTML pages: escaped text, embedded data, scripts allowed by their hash, two themes.

Build the body from `element`, `table`, `figure` and `section`. They escape everything that is not
`Html`, so a name from a file cannot become markup. Pass what scripts need as ``data``, which is
embedded as JSON; large arrays go through `pack`. `page` returns the whole page, with a content
security policy that allows the page's own scripts and no access to the network.

Scripts of a page can use (``static/page.js``):

- ``torelli.data``: the ``data`` of the page;
- ``torelli.unpack(packed)``: a promise of the arrays that `pack` packed, by name;
- ``torelli.chart(element, traces, layout, buttons)``: a Plotly chart in the colours of the theme, which is
  drawn again when the theme changes; ``traces`` and ``layout`` may be functions of the colours, an object
  ``{ink, muted, line, surface, accent, dark, classes}``; ``buttons`` has the options of ``controls``;
- ``torelli.controls(name, shown, options)``: buttons for the chart that the function ``shown`` returns;
- ``torelli.redraw(element)``: draws such a chart again and calls its functions again;
- ``torelli.thumbnail(arrays, index, options)``: an SVG element with one of the thumbnails in ``arrays``
  (see `torelli._drawing.thumbnail_arrays`);
- ``torelli.plain(text)``: text as a Plotly label, in which Plotly would otherwise read some markup;
- ``torelli.number(value)`` and ``torelli.length(value, unit)``: figures with as many digits as they mean;
- ``torelli.colours()``: the colours of the theme; ``torelli.onTheme(callback)``: calls a function with
  them whenever the theme changes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._drawing import PALETTE
from torelli._errors import MissingExtraError
from torelli._files import write_whole
from torelli._version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

DARK_PALETTE = (*PALETTE[:-1], "#F2F2F2")
"""Colours of classes on a dark background, where black would not be visible."""

_LONG = 24  # characters of a cell above which it is wrapped
_DENSE, _DENSEST = 14, 20  # columns of a table above which its text is smaller, and its header is turned
_VOID = {"img", "meta", "br", "hr", "input", "wbr"}
_IMAGES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


class Html(str):
    """Text that already is HTML; all other text is escaped before it enters a page."""

    __slots__ = ()


def markup(content: object) -> Html:
    """Return content as HTML: unchanged if it is `Html`, empty for None, else escaped."""
    if isinstance(content, Html):
        return content
    return Html("" if content is None else html.escape(str(content)))


def join(contents: Iterable[object]) -> Html:
    """Return the concatenation of contents as HTML."""
    return Html("".join(map(markup, contents)))


def element(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element; children and attribute values are escaped unless they are `Html`.

    Parameters
    ----------
    name
        Name of the element.
    children
        Contents, in order.
    attributes
        A trailing underscore is dropped and the others become hyphens (``class_``, ``data_index``). True
        gives an attribute without a value; None and False leave it out.
    """
    opening = name
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        opening += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            opening += f'="{html.escape(str(value))}"'
    return Html(f"<{opening}>" if name in _VOID else f"<{opening}>{join(children)}</{name}>")


def section(title: str, *children: object, anchor: str | None = None) -> Html:
    """Return a section with a heading; links within the page use `anchor`."""
    return element("section", element("h2", title), *children, id=anchor)


def chart_section(
    name: str, title: str, label: str, content: Html | None = None, *, head: str | None = None
) -> Html:
    """Return the section of a chart that the keyboard reaches; `label` describes it to screen readers."""
    return element(
        "section",
        element("div", element("h2", title), id=head, class_="row"),
        element("div", content, id=name, class_="chart", tabindex="0", role="application", aria_label=label),
        class_="plot",
    )


def chart_row(sections: Sequence[Html]) -> Html:
    """Return the sections of charts side by side."""
    return element("div", *sections, class_="plots" if len(sections) > 1 else "plots alone")


def table(header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: object = None) -> Html:
    """Return a table; long text in its cells is wrapped, and what is still too wide scrolls sideways.

    Parameters
    ----------
    header, rows
        The cells; the first cell of a row is its header. An empty header is left out.
    caption
        Text below the table.
    """
    head = [element("thead", element("tr", *(element("th", cell, scope="col") for cell in header)))]
    body = [
        element("tr", _cell("th", row[0], scope="row"), *(_cell("td", cell) for cell in row[1:]))
        for row in rows
    ]
    whole = element(
        "table",
        *(head if header else ()),
        element("tbody", *body),
        class_="dense turned" if len(header) > _DENSEST else "dense" if len(header) > _DENSE else None,
    )
    note = None if caption is None else element("figcaption", caption)
    scrolling = element("div", whole, class_="scroll", tabindex="0", role="group", aria_label="Table")
    return element("figure", scrolling, note)


def _cell(name: str, content: object, **attributes: object) -> Html:
    """Return a cell of a table, whose text may be wrapped if it is long."""
    text = re.sub(r"<[^>]*>", "", markup(content))
    return element(name, content, class_="long" if len(text) > _LONG else None, **attributes)


def data_uri(image: bytes) -> str:
    """Return a PNG, JPEG, WebP or SVG image as a data URI."""
    kind = next((mime for start, mime in _IMAGES.items() if image.startswith(start)), "image/svg+xml")
    return f"data:{kind};base64,{base64.b64encode(image).decode('ascii')}"


def figure(image: bytes, *, alt: str, caption: object = None) -> Html:
    """Return an embedded image with its description and caption."""
    picture = element("img", src=data_uri(image), alt=alt)
    return element("figure", picture, None if caption is None else element("figcaption", caption))


def embed(value: object) -> Html:
    """Return a value as JSON that is safe in a script element: ASCII without ``<``, ``>`` and ``&``.

    NumPy arrays and scalars become lists and numbers. NaN and infinity raise an error: JSON has neither.
    """
    text = json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


def _plain(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def pack(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return arrays as one compressed text, with the type, offset and length of each.

    ``torelli.unpack`` reads them in a page, and `unpack` in Python.
    """
    content = bytearray()
    directory = {}
    for name, array in arrays.items():
        little_endian = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        content.extend(b"\0" * (-len(content) % 8))
        directory[name] = [array.dtype.name, len(content), array.size]
        content.extend(little_endian.tobytes())
    packed = gzip.compress(bytes(content), compresslevel=9, mtime=0)
    return {"directory": directory, "gzip": base64.b64encode(packed).decode("ascii")}


def unpack(packed: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` packed, flattened."""
    content = gzip.decompress(base64.b64decode(packed["gzip"]))
    return {
        name: np.frombuffer(content, np.dtype(kind).newbyteorder("<"), count, offset)
        for name, (kind, offset, count) in packed["directory"].items()
    }


def page(
    title: str,
    *children: object,
    data: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    plotly: bool = True,
    connect: bool = False,
) -> str:
    """Return the whole page as text.

    Parameters
    ----------
    title
        Title of the page and its first heading.
    children
        The body, built from `element` and the other functions; plain text is escaped.
    data
        Data for the scripts, as ``torelli.data``.
    scripts
        JavaScript to run after the page is built, in order. Never put text from users here.
    styles
        CSS that follows the common style.
    plotly
        Whether to include Plotly (4.8 MB), which ``torelli.chart`` needs.
    connect
        Whether scripts may ask the server that the page comes from.
    """
    code = [_plotly()] if plotly else []
    code += [asset("torelli", "page.js"), *scripts]
    code = [script.replace("\r\n", "\n").replace("\r", "\n") for script in code]
    if any(re.search(r"</script|<!--", script, re.IGNORECASE) for script in code):
        raise ValueError("a script contains '</script' or '<!--', which would end it: write '<\\/script'")
    sources = " ".join(f"'sha256-{_hash(script)}'" for script in code)
    connections = "connect-src 'self'; " if connect else ""
    policy = (
        f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {sources}; "
        f"{connections}base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"torelli {__version__}"),
        element("title", title),
        element("style", Html("\n".join([_palette_css(), asset("torelli", "page.css"), *styles]))),
    )
    toggle = element("button", "Dark", id="theme", type="button", aria_pressed="false")
    body = element(
        "body",
        element("a", "Skip to content", href="#main", class_="skip"),
        element("header", element("h1", title), toggle, class_="top"),
        element("main", *children, id="main"),
        element("script", embed(data or {}), type="application/json", id="torelli-data"),
        *(element("script", Html(script)) for script in code),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def write(path: Path, text: str) -> None:
    """Write a page, completely or not at all; lone surrogates, which UTF-8 cannot encode, become ``?``."""
    content = text.encode("utf-8", "replace")
    write_whole(path, lambda part: part.write_bytes(content))


def asset(package: str, name: str) -> str:
    """Return a script or style sheet from the folder ``static`` of a package."""
    return (files(package) / "static" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _palette_css() -> str:
    """Return the colours of classes in both themes as CSS variables."""
    light, dark = (
        "".join(f"--class-{index}:{colour};" for index, colour in enumerate(colours))
        for colours in (PALETTE, DARK_PALETTE)
    )
    return f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}"


def require_plotly() -> None:
    """Raise an error if Plotly is not installed; call this before a long computation."""
    if find_spec("plotly") is None:
        raise MissingExtraError("pages with charts need plotly: pip install 'torelli[report]'")


@cache
def _plotly() -> str:
    require_plotly()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
