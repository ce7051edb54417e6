"""The explorer: one page to look at many networks, what is similar to what, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torelli.report.page import Html, element, page, static
from torelli.report.payload import COMPONENTS, MOST_EXACT, payload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torelli._numerics.threads import Progress
    from torelli.report.collection import Collection

_READ = """\
Every point is a network. Networks with similar cycles lie near each other in the picture by similarity \
(the first two kernel principal components), wherever they are on the map. Click a point, find it by \
name, or go from point to point with the arrow keys. Draw a box or a lasso in one picture, or press an \
entry of the legend, to highlight the same places in both; a double click or Escape ends it."""
_DRAWN = """\
In drawings each edge has the colour of the first basis cycle that runs over it; grey edges (bridges) \
lie on no cycle and do not count. Entry (i, j) of the Torelli matrix Q is the length that cycles i and j \
share, negative where they run in opposite senses; the diagonal is the length of each cycle. Entries are \
rounded to 1/127 of the largest."""
_SIMILARITY = f"""\
The kernel is exp(-gamma d²), where gamma is such that the median similarity is 1/2. Clusters come from \
k-means in the first {COMPONENTS} kernel principal components."""
_EXACT = "Distances of the most similar places are exact; similarity as a colour is rounded to 1/255."
_ESTIMATED = f"""\
Distances of the most similar places are exact; similarity as a colour is estimated from {COMPONENTS} \
kernel principal components, because there are more than {MOST_EXACT:,} networks."""
_KEYS = (
    "Arrow keys go to the next place in that direction, Enter to the most similar, Escape ends a highlight."
)


def explorer(
    collection: Collection,
    *,
    kernels: Sequence[str] | None = None,
    max_genus: int | None = None,
    clusters: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> str:
    """Return the page for a collection.

    Parameters
    ----------
    collection
        What to look at.
    kernels
        Names of the kernels to show; by default `default_kernels`.
    max_genus
        Compare at most this many rows of each Torelli matrix, those of the shortest chords.
    clusters
        Number of clusters, 1 to 8; by default that of the classes, or 5.
    n_jobs
        Number of threads.
    progress
        Called with the name of each step; returns what is called with the part done.
    """
    data = payload(
        collection, kernels=kernels, max_genus=max_genus, clusters=clusters, n_jobs=n_jobs, progress=progress
    )
    return page(
        collection.title,
        *_body(collection, data),
        data=data,
        scripts=[static("explore.js")],
        styles=[static("explore.css")],
    )


def _body(collection: Collection, data: Mapping[str, Any]) -> list[Html]:
    """Return the page's elements; the script fills them."""
    n = len(collection)
    genus = data["figures"]["genus"]
    cities = data["cities"]
    parts = [f"{n:,} networks" + (f" of {len(cities['names'])} cities" if cities else "")]
    parts.append(f"genus {min(genus):,} to {max(genus):,}")
    parts += [data["note"]] if data["note"] else []
    kernels = [
        element(
            "label",
            element("input", type="radio", name="kernel", value=kernel["key"], checked=not at),
            element("span", kernel["key"].upper(), title=kernel["title"]),
        )
        for at, kernel in enumerate(data["kernels"])
    ]
    colours = [
        ("class", "class", data["classes"] is not None),
        ("city", "city", cities is not None and cities["of"] != (data["classes"] or {}).get("of")),
        ("cluster", "cluster", True),
        ("similarity", "similarity", True),
        ("genus", "genus", True),
    ]
    towns = [panel["name"] for panel in data["panels"]] if len(data["panels"]) > 1 else []
    toolbar = element(
        "form",
        element("fieldset", element("legend", "Kernel"), element("div", *kernels, class_="switch")),
        _field(
            "Colour by",
            element(
                "select",
                *(element("option", text, value=key) for key, text, there in colours if there),
                id="colour",
            ),
        ),
        _field(
            "Map of",
            element(
                "select",
                element("option", "all cities", value=""),
                *(element("option", name, value=at) for at, name in enumerate(towns)),
                id="city",
            ),
        )
        if towns
        else None,
        _field(
            "Find a place",
            element("input", type="search", id="find", list="names", autocomplete="off", placeholder="name"),
        ),
        element("datalist", id="names"),
        class_="toolbar",
        id="toolbar",
        aria_label="Kernel, colours and search",
    )
    plots = [
        ("map", "Map", "Map of the places") if data["panels"] else None,
        ("scatter", "By similarity", "Kernel principal components"),
    ]
    charts = [
        element(
            "section",
            element("h2", title, element("small", id=f"{name}-note")),
            element(
                "div",
                id=name,
                class_="chart",
                tabindex="0",
                role="application",
                aria_label=f"{label}. {_KEYS}",
            ),
            class_="plot",
        )
        for name, title, label in filter(None, plots)
    ]
    distances = [f"{kernel['key'].upper()}: {kernel['description']}." for kernel in data["kernels"]]
    notes = [" ".join([*distances, _SIMILARITY]), collection.note, _EXACT if data["exact"] else _ESTIMATED]
    similar = element(
        "section",
        element(
            "div",
            element("h2", "Most similar ", element("small", id="near-note")),
            element("label", element("input", type="checkbox", id="elsewhere"), " other cities only")
            if cities and len(cities["names"]) > 1
            else None,
            class_="row",
        ),
        element("ol", id="near", class_="cards"),
        id="similar",
    )
    return [
        element("p", " · ".join(parts), class_="muted lede"),
        toolbar,
        element(
            "div",
            element(
                "div",
                element("div", *charts, class_="plots" if len(charts) > 1 else "plots alone"),
                element(
                    "div", element("ul", id="legend"), element("p", id="status", role="status"), class_="key"
                ),
                similar,
                class_="left",
            ),
            element(
                "section",
                element("h2", id="name", tabindex="-1"),
                element("div", id="network", class_="network"),
                element("dl", id="figures"),
                element("h3", "Torelli matrix Q ", element("small", id="q-note")),
                element("div", id="q", role="img"),
                id="detail",
                aria_label="The selected place",
            ),
            class_="stage",
        ),
        element(
            "details",
            element("summary", "How to read and use this page"),
            *(element("p", text) for text in (_READ, _DRAWN, *notes) if text),
        ),
        element("p", id="live", class_="unseen", aria_live="polite"),
    ]


def _field(label: str, control: Html) -> Html:
    return element("label", element("span", label), control, class_="field")
