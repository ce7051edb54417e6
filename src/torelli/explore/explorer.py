"""The explorer's page: many networks by similarity and on a map, with details of the selected one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torelli._registry import get_kernel
from torelli.explore.page_data import MAX_EXACT, N_COMPONENTS, page_data
from torelli.webpage import Html, asset, chart_row, chart_section, element, page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import Along, Bridges
    from torelli.explore.networks import NetworkSet

_HOW_TO_USE = """\
Every point is a network. Networks with similar cycles are close together in the chart by similarity (the \
first two kernel principal components), wherever they are on the map. To select a network, click its \
point, search for its name, or move from point to point with the arrow keys. The address of the page \
contains the selected network, the kernel and the colours, so that it can be sent as a link."""
_HIGHLIGHT = """\
To highlight networks in both charts, draw a lasso or a box around them, click an entry of the legend, or \
add the selected network (space bar); a double click or Escape clears the highlight. The highlighted \
networks, or all if none is, can be exported as GeoJSON or CSV, or as the command that makes a page of \
them."""
_SAME = """\
Networks at the same point are one marker with their number, which has a stripe for each class; a second \
click selects the next of them. Among the most similar, networks that the kernel takes for the same or \
that have more than half of their streets in common are one entry with their number."""
_DRAWINGS = """\
In drawings, each edge has the colour of the first basis cycle that contains it. Grey edges (bridges) \
lie on no cycle{bridges}. Entry (i, j) of the Torelli matrix Q is the length that \
cycles i and j share, negative if they run in opposite directions; the diagonal has the length of each \
cycle. Entries are rounded to 1/127 of the largest. Each drawing has its own scale, which its bar shows."""
_BRIDGES = {
    "ignore": " and do not enter the comparison",
    "double": "; each chain of them is doubled into a cycle",
}
_SIMILARITY = f"""\
The kernel is exp(-gamma d²), with gamma such that the median similarity is 1/2. Clusters come from k-means \
on the first {N_COMPONENTS} kernel principal components."""
_EXACT = "Distances to the most similar networks are exact; similarity as a colour is rounded to 1/255."
_ESTIMATED = f"""\
Distances to the most similar networks are exact. Similarity as a colour is estimated from {N_COMPONENTS} \
kernel principal components, because there are more than {MAX_EXACT:,} networks."""
_KEYS = (
    "Arrow keys select the next network in that direction, Enter goes to the most similar one, space adds "
    "the network to the highlight, Escape clears the highlight, plus and minus zoom, 0 shows everything."
)


def explorer_page(
    networks: NetworkSet,
    *,
    kernels: Sequence[str] | None = None,
    bridges: Bridges = "ignore",
    along: Along | None = None,
    max_genus: int | None = None,
    clusters: int | None = None,
    command: str | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> str:
    """Return the page of some networks.

    Parameters
    ----------
    networks
        What to explore.
    kernels
        Names of the kernels; by default `torelli.kernels.default_kernels`.
    bridges
        As for `torelli_matrix`, for the kernels that take it.
    along
        As for `MeasureFeatures`, for the kernels that take it (TTM).
    max_genus
        Compare at most this many rows of each Torelli matrix, those of the shortest chords.
    clusters
        Number of clusters, from 1 to 8; by default the number of classes, or 5.
    command
        The command that makes the page, from which the page derives the command for a selection. By default
        the page shows how to make the selection in Python.
    n_jobs
        Number of threads.
    progress
        Called with the name of each step; returns a function that is called with the fraction done.

    Examples
    --------
    >>> import torelli as tt
    >>> from torelli.explore import NetworkSet, explorer_page
    >>> graphs = tt.datasets.street_patterns(2, radius=150, seed=0).graphs
    >>> networks = NetworkSet.from_graphs(graphs, title="eight windows")
    >>> html = explorer_page(networks, kernels=["tts"])  # one page without references to the network
    >>> html.lower().startswith("<!doctype html>")
    True
    """
    data = page_data(
        networks,
        kernels=kernels,
        bridges=bridges,
        along=along,
        max_genus=max_genus,
        clusters=clusters,
        command=command,
        n_jobs=n_jobs,
        progress=progress,
    )
    return page(
        networks.title,
        *_body(networks, data),
        data=data,
        scripts=[asset("torelli.explore", name) for name in ("export.js", "streets.js", "explore.js")],
        styles=[asset("torelli.explore", "explore.css")],
    )


def _body(networks: NetworkSet, data: Mapping[str, Any]) -> list[Html]:
    """Return the elements of the page, which its script fills."""
    return [
        _summary(networks, data),
        _toolbar(data),
        element(
            "div",
            element("div", _charts(data), _legend(), _most_similar(data), _why(data), class_="left"),
            _selected_network(),
            class_="stage",
        ),
        _help(networks, data),
        element("p", id="live", class_="unseen", aria_live="polite"),
    ]


def _summary(networks: NetworkSet, data: Mapping[str, Any]) -> Html:
    genus, cities = data["figures"]["genus"], data["cities"]
    counted = _counted(len(networks), "network", "networks")
    parts = [
        counted + (f" of {_counted(len(cities['names']), 'city', 'cities')}" if cities else ""),
        f"genus {min(genus):,}" + (f" to {max(genus):,}" if max(genus) > min(genus) else ""),
        data["note"],
    ]
    n_trees = genus.count(0)
    of_cycles = [
        key for kernel in data["kernels"] if "bridges" in get_kernel(key := kernel["key"]).entry.defaults
    ]
    if data["bridges"] == "ignore" and of_cycles and 2 * n_trees > len(networks) > 1:
        parts.append(
            f"{n_trees:,} networks have no cycles, and {', '.join(of_cycles).upper()} cannot tell them apart"
        )
    return element("p", " · ".join(filter(None, parts)), class_="muted lede")


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _toolbar(data: Mapping[str, Any]) -> Html:
    """Return the choice of kernel, colours and city, and the search."""
    classes, cities = data["classes"], data["cities"]
    kernels = [
        element(
            "label",
            element(
                "input",
                type="radio",
                name="kernel",
                value=kernel["key"],
                checked=not index,
                aria_describedby="kernel-note",
            ),
            element("span", kernel["label"]),
        )
        for index, kernel in enumerate(data["kernels"])
    ]
    colours = ["cluster", "similarity", "genus"]
    kinds = {
        "city": cities if cities is None or cities["of"] != (classes or {}).get("of") else None,
        "class": classes,
    }
    for name, kind in kinds.items():
        if kind is not None:
            # a figure that is the same for all networks is not shown at the top
            colours.insert(0 if len(kind["names"]) > 1 else 1, name)
    colour_choice = element("select", *(element("option", key, value=key) for key in colours), id="colour")
    panels = [panel["name"] for panel in data["panels"]]
    city_choice = element(
        "select",
        element("option", "all cities", value=""),
        *(element("option", name, value=index) for index, name in enumerate(panels)),
        id="city",
    )
    search = element("input", type="search", id="find", list="names", autocomplete="off", placeholder="name")
    return element(
        "form",
        element("fieldset", element("legend", "Kernel"), element("div", *kernels, class_="switch")),
        _field("Colour by", colour_choice),
        _field("Map of", city_choice) if len(panels) > 1 else None,
        _field("Find a network", search),
        element("datalist", id="names"),
        element("p", id="kernel-note", class_="muted"),
        class_="toolbar",
        id="toolbar",
        aria_label="Kernel, colours and search",
    )


def _field(label: str, control: Html) -> Html:
    return element("label", element("span", label), control, class_="field")


def _charts(data: Mapping[str, Any]) -> Html:
    charts = [("scatter", "By similarity", "Kernel principal components")]
    if data["panels"]:
        charts.insert(0, ("map", "Map", "Map of the networks"))
    return chart_row(
        [
            chart_section(name, title, f"{label}. {_KEYS}", head=f"{name}-head")
            for name, title, label in charts
        ]
    )


def _legend() -> Html:
    buttons = [
        element("button", name, type="button", id=f"export-{name.lower()}")
        for name in ("GeoJSON", "CSV", "Command")
    ]
    copied = element("button", "Copy", type="button", id="copy")
    return element(
        "div",
        element("ul", id="legend", aria_label="Legend"),
        element("p", id="status", role="status"),
        element(
            "div",
            element("span", "Export", id="export-note", class_="muted"),
            *buttons,
            id="export",
            class_="controls",
            role="group",
            aria_labelledby="export-note",
        ),
        element(
            "div", element("pre", element("code", id="command"), tabindex="0"), copied, id="made", hidden=True
        ),
        class_="key",
    )


def _most_similar(data: Mapping[str, Any]) -> Html:
    several_cities = data["cities"] is not None and len(data["cities"]["names"]) > 1
    elsewhere = element("label", element("input", type="checkbox", id="elsewhere"), " other cities only")
    return element(
        "section",
        element(
            "div",
            element("h2", "Most similar ", element("small", id="near-note")),
            elsewhere if several_cities else None,
            class_="row",
        ),
        element("ol", id="near", class_="cards"),
        id="similar",
    )


def _why(data: Mapping[str, Any]) -> Html | None:
    """Return the place for what makes the selected network and a similar one alike."""
    if "pair.first" not in data["arrays"]["directory"]:
        return None
    return element(
        "section",
        element(
            "div",
            element("h2", "Why they are alike ", element("small", id="why-note")),
            _field("Compare with", element("select", id="other")),
            class_="row",
        ),
        element("div", id="comparison", class_="comparisons"),
        id="why",
    )


def _selected_network() -> Html:
    return element(
        "section",
        element("h2", id="name", tabindex="-1"),
        element("div", id="network", class_="network"),
        element(
            "div",
            element("button", "Add to the highlight", type="button", id="mark", aria_pressed="false"),
            class_="row",
        ),
        element("div", id="same"),
        element("dl", id="figures"),
        element("h3", "Torelli matrix Q ", element("small", id="q-note")),
        element("div", id="q", role="img"),
        id="detail",
        aria_label="The selected network",
    )


def _help(networks: NetworkSet, data: Mapping[str, Any]) -> Html:
    distances = [f"{kernel['label']}: {kernel['description']}." for kernel in data["kernels"]]
    texts = [
        _HOW_TO_USE,
        _HIGHLIGHT,
        _SAME,
        _DRAWINGS.format(bridges=_BRIDGES[data["bridges"]]),
        " ".join([*distances, _SIMILARITY]),
        networks.note,
        _EXACT if data["exact"] else _ESTIMATED,
    ]
    return element(
        "details",
        element("summary", "How to read and use this page"),
        *(element("p", text) for text in texts if text),
    )
