"""Check the built site: local links lead somewhere, and no page loads anything from the network.

Run with ``python docs/check_site.py docs/_build/html``.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The targets of a page: what it links to, what it loads, and its own anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Collect the targets of one element."""
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag in {"script", "img", "iframe", "source"} and "src" in values:
            self.loaded.append(values["src"])
        elif tag == "link" and values.get("rel") in {"stylesheet", "preload", "icon"}:
            self.loaded.append(values.get("href", ""))


def faults(site: Path) -> list[str]:
    """Return the dead links and what comes from the network, one line each."""
    files = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in files}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        # viewcode links functions of one module that are public in two packages to one of them
        is_source = name.parts[0] == "_modules"
        for target in page.links + page.loaded:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded and parts.scheme != "data":
                    found.append(f"{name}: loads {target} from the network")
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                found.append(f"{name}: {target} leads nowhere")
            elif file not in pages or not parts.fragment or is_source:
                continue
            elif unquote(parts.fragment) not in pages[file].anchors:
                found.append(f"{name}: {target} has no such anchor")
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1])
    problems = (
        faults(site)
        if (site / "index.html").is_file()
        else [f"{site} has no index.html: build the site first"]
    )
    print("\n".join(problems) or f"{len(list(site.rglob('*.html')))} pages, all links lead somewhere")
    sys.exit(bool(problems))
