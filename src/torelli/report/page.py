"""One self-contained HTML page: text escaped by construction, scripts named by their hash, two themes.

Build the body from `element`, `table`, `figure` and `section`: whatever is not `Html` already is
escaped, so a name from a file cannot become markup. Pass what scripts need as ``data``: it is
embedded as JSON that cannot end its element. `page` puts all together with a content security policy
that runs the page's own scripts, by hash, and lets nothing reach the network.

In the page, scripts find (``static/page.js``):

- ``torelli.data``: what was passed as ``data``;
- ``torelli.chart(element, traces, layout)``: a Plotly chart in the colours of the theme, drawn again
  when the theme changes; ``traces`` and ``layout`` may be functions of the colours, an object
  ``{ink, muted, line, surface, accent, dark, classes}``;
- ``torelli.redraw(element)``: draws such a chart again, asking its functions anew;
- ``torelli.draw(sketch, description)``: an SVG element of a drawing made by `torelli.report.sketch`;
- ``torelli.plain(text)``: text of a file for Plotly, which reads some markup in labels;
- ``torelli.colours()``: those colours; ``torelli.onTheme(callback)``: called with them after every change.
"""

from __future__ import annotations

import base64
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

DARK_PALETTE = (*PALETTE[:-1], "#F2F2F2")
"""The colours of classes on a dark ground: black would not be seen there."""

_VOID = {"img", "meta", "br", "hr", "input"}
_IMAGES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


class Html(str):
    """Text that is HTML already; every other text is escaped before it enters a page."""

    __slots__ = ()


def markup(content: object) -> Html:
    """Return content as HTML: as it is if it is `Html`, escaped if not, nothing for None."""
    if isinstance(content, Html):
        return content
    return Html("" if content is None else html.escape(str(content)))


def join(contents: Iterable[object]) -> Html:
    """Return contents one after the other as HTML."""
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
        A trailing underscore is dropped and others become hyphens (``class_``, ``data_index``); True is
        an attribute without a value, None and False leave it out.
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
    """Return a section with a heading; `anchor` names it for links within the page."""
    return element("section", element("h2", title), *children, id=anchor)


def table(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: object = None, wrap: bool = False
) -> Html:
    """Return a table that scrolls where it is too wide.

    Parameters
    ----------
    header, rows
        The cells; the first of a row heads it. An empty header is left out.
    caption
        What stands below.
    wrap
        Whether cells of long text break into lines.
    """
    head = [element("thead", element("tr", *(element("th", cell, scope="col") for cell in header)))]
    body = [
        element("tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:]))
        for row in rows
    ]
    whole = element(
        "table", *(head if header else ()), element("tbody", *body), class_="wrap" if wrap else None
    )
    note = None if caption is None else element("figcaption", caption)
    return element("figure", element("div", whole, class_="scroll", tabindex="0"), note)


def data_uri(image: bytes) -> str:
    """Return a PNG, JPEG, WebP or SVG image as a URI that holds it."""
    kind = next((mime for start, mime in _IMAGES.items() if image.startswith(start)), "image/svg+xml")
    return f"data:{kind};base64,{base64.b64encode(image).decode('ascii')}"


def figure(image: bytes, *, alt: str, caption: object = None) -> Html:
    """Return an embedded image with its description and caption."""
    picture = element("img", src=data_uri(image), alt=alt)
    return element("figure", picture, None if caption is None else element("figcaption", caption))


def embed(value: object) -> Html:
    """Return a value as JSON that is safe within a script element: no ``<``, ``>``, ``&`` and ASCII only.

    Arrays and scalars of NumPy become lists and numbers. NaN and infinity are refused: JSON has none.
    """
    text = json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(text)


def _plain(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(f"no JSON for {type(value).__name__}")


def page(
    title: str,
    *children: object,
    data: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    plotly: bool = True,
) -> str:
    """Return the whole page as text.

    Parameters
    ----------
    title
        Title of the page and its first heading.
    children
        The body, as made by `element` and its kin; plain text is escaped.
    data
        What scripts find in ``torelli.data``.
    scripts
        JavaScript run after the page is built, in order; no text of the user belongs here.
    styles
        CSS after that of the page.
    plotly
        Whether to bundle Plotly (4.8 MB), which ``torelli.chart`` needs.
    """
    code = [_plotly()] if plotly else []
    code += [static("page.js"), *scripts]
    code = [script.replace("\r\n", "\n").replace("\r", "\n") for script in code]
    if any(re.search(r"</script|<!--", script, re.IGNORECASE) for script in code):
        raise ValueError("a script contains '</script' or '<!--', which HTML cannot hold: write '<\\/script'")
    sources = " ".join(f"'sha256-{_hash(script)}'" for script in code)
    policy = (
        f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {sources}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content=f"torelli {__version__}"),
        element("title", title),
        element("style", Html("\n".join([_palette_css(), static("page.css"), *styles]))),
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
    """Write a page, whole or not at all; half a surrogate pair, which no file can hold, becomes a ``?``."""
    content = text.encode("utf-8", "replace")
    write_whole(path, lambda part: part.write_bytes(content))


def static(name: str) -> str:
    """Return a script or style that comes with this package."""
    return (files("torelli.report") / "static" / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _palette_css() -> str:
    """Return the colours of classes as CSS variables, for both themes."""
    light, dark = (
        "".join(f"--class-{number}:{colour};" for number, colour in enumerate(colours))
        for colours in (PALETTE, DARK_PALETTE)
    )
    return f":root{{{light}}}\n:root[data-theme=dark]{{{dark}}}"


def require_plotly() -> None:
    """Say at the start, not after the computing, that pages with charts need an extra."""
    if find_spec("plotly") is None:
        raise MissingExtraError("reports need plotly: pip install 'torelli[report]'")


@cache
def _plotly() -> str:
    require_plotly()
    from plotly.offline import get_plotlyjs  # noqa: PLC0415  (an extra)

    return str(get_plotlyjs())
