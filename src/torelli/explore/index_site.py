"""The explorer of an index, served to a browser on this machine: parts of the index are read when needed.

The page has the places of all networks. Drawings, figures and the nearest networks of a selected one are
asked for when it is selected, so that 100,000 networks open like a hundred.
"""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import numpy as np

from torelli._drawing import thumbnail, thumbnail_arrays
from torelli._errors import InvalidOptionError, TorelliError
from torelli._geo import is_geographic
from torelli.kernels import options_of
from torelli.webpage import Html, asset, chart_row, chart_section, element, embed, pack, page

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats
    from torelli.search import GraphIndex

_LOOPBACK = "127.0.0.1"
_NEAREST = 12
_MOST_NEAREST = 100
_FOUND = 30
_SEGMENTS = 2_000
_MOST_DIGITS = 12
_MOST_CLASSES = 64
_HOW_TO_USE = """\
Every point is a network. On the map it is where the network is; by similarity, networks with similar cycles \
are close together (principal components of the sketches by which the index searches). Click a point, or \
search for a name, to see the network and the nearest ones. Drag to move, turn the wheel to zoom; with the \
keyboard, use plus, minus, 0 and the arrow keys on a chart."""


class Answer(NamedTuple):
    """What is sent to the browser."""

    status: HTTPStatus
    kind: str
    content: bytes


class IndexSite:
    """The pages of an index: what `answer` returns for each path.

    Parameters
    ----------
    index
        An index with graphs.
    title
        Title of the page.
    """

    def __init__(self, index: GraphIndex, title: str) -> None:
        if not index.records_.has_graphs:
            raise InvalidOptionError("an index of vectors has nothing to draw: make it from graphs, by fit")
        self.index = index
        records = list(index.records_)
        self.names = [record.name for record in records]
        self._lower = [name.lower() for name in self.names]
        labels = [record.facts.get("label") for record in records]
        kinds = sorted({str(label) for label in labels if label is not None})
        self.classes = kinds if 1 < len(kinds) <= _MOST_CLASSES else []
        code = {name: position for position, name in enumerate(self.classes)}
        unlabelled = len(self.classes)
        arrays: dict[str, NDArray[Any]] = {
            "similarity": _scaled(_components(index.collection_.tables[0].rows)[index.group_]),
            "class": np.array([code.get(str(label), unlabelled) for label in labels], np.uint8),
        }
        places = index.records_.middles()
        geographic = all(record.crs is None or is_geographic(record.crs) for record in records)
        if geographic and np.isfinite(places).any():
            places = places * (np.cos(np.radians(np.nanmean(places[:, 1]))), 1.0)
        if np.isfinite(places).any() and float(np.nanmax(np.ptp(_known(places), axis=0))) > 0:
            arrays["map"] = _scaled(places)
        self._page = self._whole_page(title, arrays).encode("utf-8", "replace")

    def _whole_page(self, title: str, arrays: dict[str, NDArray[Any]]) -> str:
        index = self.index
        kernel = index.kernel_.entry
        distance = kernel.title + kernel.variant(options_of(index.kernel_))
        charts = [("map", "Map")] if "map" in arrays else []
        charts.append(("similarity", "By similarity"))
        n_placed = int(np.isfinite(arrays["map"]).all(axis=1).sum()) if "map" in arrays else 0
        missing = index.n_graphs_ - n_placed
        note = f"{missing:,} networks have no coordinates and are not on the map" if missing else ""
        lede = " · ".join(filter(None, [f"{index.n_graphs_:,} networks", f"distance: {distance}", note]))
        body = [
            element("p", lede, class_="muted lede"),
            _toolbar(),
            element(
                "div",
                element("div", _charts(charts), element("ul", id="legend"), _nearest(), class_="left"),
                _selected(),
                class_="stage",
            ),
            element("details", element("summary", "How to use this page"), element("p", _HOW_TO_USE)),
            element("p", id="live", class_="unseen", aria_live="polite"),
        ]
        return page(
            title,
            *body,
            data={
                "n": index.n_graphs_,
                "classes": self.classes,
                "charts": [name for name, _ in charts],
                "arrays": pack(arrays),
            },
            scripts=[asset("torelli.explore", "index.js")],
            styles=[asset("torelli.explore", name) for name in ("explore.css", "index.css")],
            plotly=False,
            connect=True,
        )

    def answer(self, target: str) -> Answer:
        """Return the answer to a request for a path with its query."""
        try:
            parts = urlsplit(target)
            asked = parse_qs(parts.query, max_num_fields=8)
        except ValueError as error:
            return _json({"error": f"the address cannot be read: {error}"}, HTTPStatus.BAD_REQUEST)
        try:
            if parts.path == "/":
                return Answer(HTTPStatus.OK, "text/html; charset=utf-8", self._page)
            if parts.path == "/find":
                return _json(self._found(asked.get("text", [""])[0]))
            answers = {"network": self._network, "near": self._near}
            subject, *which = parts.path.strip("/").split("/")
            if subject in answers and len(which) == 1:
                position = self._position(which[0])
                if position is not None:
                    return _json(answers[subject](position))
        except TorelliError as error:
            return _json({"error": str(error)}, HTTPStatus.INTERNAL_SERVER_ERROR)
        return _json({"error": "there is nothing here"}, HTTPStatus.NOT_FOUND)

    def _position(self, text: str) -> int | None:
        if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
            return None
        return int(text) if int(text) < self.index.n_graphs_ else None

    def _network(self, position: int) -> dict[str, Any]:
        """Return the figures and the drawing of a network."""
        graph = self.index.graph(position)
        summary = graph.summary()
        record = self.index.record(position)
        return {
            "name": record.pop("id"),
            "facts": {key: str(value) for key, value in record.items()},
            "figures": {
                "nodes": summary.n_nodes,
                "edges": summary.n_edges,
                "genus": summary.genus,
                "bridges": summary.n_bridges,
                "length": float(f"{summary.total_length:.6g}"),
                "unit": summary.unit or "",
            },
            "drawing": pack(thumbnail_arrays([thumbnail(graph, max_segments=_SEGMENTS)])),
        }

    def _near(self, position: int) -> dict[str, Any]:
        """Return the nearest other networks, and how many distances it took."""
        k = min(_NEAREST, self.index.n_graphs_ - 1)
        distances, indices = self.index.neighbours(position, k)
        return {
            "rows": indices.tolist(),
            "distances": [distance if np.isfinite(distance) else None for distance in distances.tolist()],
            "computed": self.index.n_distances_,
            "distinct": self.index.n_distinct_,
        }

    def _found(self, text: str) -> list[dict[str, Any]]:
        """Return networks whose name contains a text; those that begin with it come first."""
        wanted = text.strip().lower()
        if not wanted:
            return []
        rows = [row for row, name in enumerate(self._lower) if wanted in name]
        rows.sort(key=lambda row: (not self._lower[row].startswith(wanted), row))
        return [{"row": row, "name": self.names[row]} for row in rows[:_FOUND]]


def serve(site: IndexSite, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of the pages on this machine's own address; call its `serve_forever`.

    Only requests that name this machine are answered, so that no page of another site can read the index
    through a name that it has made point here.

    Parameters
    ----------
    site
        The pages.
    port
        Port number; 0 picks a free port.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            own = {f"{name}:{server.server_port}" for name in (_LOOPBACK, "localhost")}
            if self.headers.get("Host") in own:
                answer = site.answer(self.path)
            else:
                answer = _json({"error": "not for other hosts"}, HTTPStatus.FORBIDDEN)
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.content)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.send_header("Cross-Origin-Resource-Policy", "same-origin")
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            """Keep the terminal quiet."""

    try:
        server = ThreadingHTTPServer((_LOOPBACK, port), Handler)
    except (OSError, OverflowError) as error:
        raise InvalidOptionError(
            f"port {port} cannot be used ({error}): use a free one from 1024 to 65535, or 0 for any"
        ) from error
    server.daemon_threads = True
    return server


def _json(value: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    return Answer(status, "application/json", embed(value).encode())


def _components(rows: NDArray[Any]) -> Floats:
    """Return the first two principal components of sketches, from a sample if there are many."""
    step = max(1, len(rows) // 20_000)
    sample = np.asarray(rows[::step], dtype=np.float64)
    centre = sample.mean(axis=0)
    spread = sample - centre  # a new array: the sample may be the index's own
    _, axes = np.linalg.eigh(spread.T @ spread)
    along = (np.asarray(rows, dtype=np.float64) - centre) @ axes[:, ::-1][:, :2]
    return np.pad(along, ((0, 0), (0, 2 - along.shape[1])))


def _known(points: Floats) -> Floats:
    return points[np.isfinite(points).all(axis=1)]


def _scaled(points: Floats) -> NDArray[np.float32]:
    """Return points in a unit square, with one scale for both axes; NaN where there is none."""
    known = _known(points)
    low = known.min(axis=0)
    side = float((known.max(axis=0) - low).max()) or 1.0
    scaled: NDArray[np.float32] = ((points - low) / side).astype(np.float32)
    return scaled


def _toolbar() -> Html:
    search = element("input", type="search", id="find", autocomplete="off", placeholder="name")
    field = element("label", element("span", "Find a network"), search, class_="field")
    return element(
        "form", field, element("ol", id="found"), class_="toolbar", id="toolbar", aria_label="Search by name"
    )


def _charts(charts: list[tuple[str, str]]) -> Html:
    keys = "Plus and minus zoom, 0 shows everything, arrow keys move."
    return chart_row(
        [chart_section(name, title, f"{title}. {keys}", element("canvas")) for name, title in charts]
    )


def _nearest() -> Html:
    heading = element("h2", "Nearest ", element("small", id="near-note"))
    return element("section", heading, element("ol", id="near", class_="cards"), id="similar")


def _selected() -> Html:
    return element(
        "section",
        element("h2", id="name", tabindex="-1"),
        element("div", id="network", class_="network"),
        element("dl", id="figures"),
        id="detail",
        aria_label="The selected network",
    )
