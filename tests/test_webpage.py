"""The HTML pages of reports and of the explorer."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from torelli import webpage

HOSTILE = "</script><script>alert('x')</script>\"&\u2028"


class Elements(HTMLParser):
    """Collects the elements of a page, and the text of its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.scripts = re.findall(r"<script[^>]*>(.*?)</script>", text, flags=re.DOTALL)

    def handle_starttag(self, tag, attrs):
        """Keep an element with its attributes."""
        self.elements.append((tag, dict(attrs)))


def test_text_is_escaped_wherever_it_stands():
    """In titles, cells, captions, attributes and data a hostile name stays text."""
    text = webpage.page(
        HOSTILE,
        HOSTILE,
        webpage.section(HOSTILE, webpage.table([HOSTILE], [[HOSTILE]], caption=HOSTILE), anchor=HOSTILE),
        webpage.figure(b"\x89PNG", alt=HOSTILE, caption=HOSTILE),
        data={HOSTILE: [HOSTILE]},
        plotly=False,
    )
    parsed = Elements(text)
    assert "<script>alert" not in text
    assert [tag for tag, _ in parsed.elements].count("script") == 2  # the data and the page's own
    assert json.loads(parsed.scripts[0]) == {HOSTILE: [HOSTILE]}
    assert ("section", {"id": HOSTILE}) in parsed.elements
    assert dict(parsed.elements)["img"]["alt"] == HOSTILE


def test_scripts_run_by_their_hash_and_nothing_is_fetched():
    """The policy names each script, allows images from the page itself, and no other source."""
    parsed = Elements(webpage.page("p", scripts=["let a = 1;\r\n"], plotly=True))
    policy = next(
        a["content"] for t, a in parsed.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "script-src 'unsafe-inline'" not in policy
    run = parsed.scripts[1:]
    assert len(run) == 3
    for script in run:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in policy
    addresses = [
        a for _, a in parsed.elements if re.match(r"https?:|//", str(a.get("src") or a.get("href") or ""))
    ]
    assert addresses == []


def test_a_script_that_would_end_its_element_is_refused():
    """HTML cannot hold such a script; the message says how to write it."""
    with pytest.raises(ValueError, match=r"<\\/script"):
        webpage.page("p", scripts=["x = '</SCRIPT>'"], plotly=False)


def test_arrays_are_data_and_what_json_lacks_is_refused():
    """NumPy's arrays and numbers are embedded as lists and numbers; NaN and objects are errors."""
    assert json.loads(webpage.embed({"a": np.arange(3), "b": np.float64(0.5)})) == {"a": [0, 1, 2], "b": 0.5}
    with pytest.raises(ValueError, match="JSON"):
        webpage.embed([float("nan")])
    with pytest.raises(TypeError, match="object"):
        webpage.embed([object()])


def test_elements_follow_html():
    """Void elements have no end, attributes are present, absent or named as HTML names them."""
    assert webpage.element("br") == "<br>"
    assert webpage.element("p", "a", None, webpage.element("b", 1), class_="x", hidden=True, id=None) == (
        '<p class="x" hidden>a<b>1</b></p>'
    )


def test_a_page_with_half_a_character_is_written(tmp_path):
    """A name that no file can hold does not stop the report."""
    webpage.write(tmp_path / "new" / "webpage.html", webpage.page("half \ud800", plotly=False))
    assert "half ?" in (tmp_path / "new" / "webpage.html").read_text(encoding="utf-8")
