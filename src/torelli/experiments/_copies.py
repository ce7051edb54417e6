"""Windows of cities, and the same windows drawn, measured or prepared in another way."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import DataWarning, MissingExtraError
from torelli._numerics.threads import ProgressLine
from torelli.datasets.local import read_city
from torelli.datasets.storage import shared_data
from torelli.datasets.windows import cover, in_lonlat, metres_from, middle_of, windows_at
from torelli.experiments.invariance import refine
from torelli.io import as_metric_graph
from torelli.io.read import read
from torelli.io.values import GEOMETRY
from torelli.measure import canonical_measure

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

CITIES = (
    "Al_Qadarif", "Argenteuil", "Barcelona", "Boston", "Bristol", "Cambridge", "Conakry", "Lyon",
    "Milton_Keynes", "Mombasa", "Mushin", "NDjamena", "Nottingham", "Saint-Denis", "Varanasi",
)  # fmt: skip
"""Cities of the shared data that are in no URN set, and that no option was chosen on."""
EXTRACTS = (
    "baltimore.osm.pbf", "harrisburg.osm.pbf", "chicago-logan-square.osm.gz", "paris-16e-7e-overpass.json.gz",
    "barcelona-eixample.osm.gz", "monaco.osm.gz",
)  # fmt: skip
"""Raw OpenStreetMap of the shared data, in which service roads are marked."""
RADIUS = 250.0
"""Half side of a window in metres; their centres are on a lattice of twice that."""
N_WINDOWS = 1000
MIN_EDGES = 10
TOLERANCE = 10.0
"""Tolerance in metres of OSMnx's consolidation of intersections."""
_QUICK_CITIES, _QUICK_WINDOWS = ("Conakry", "Mushin"), 40
_QUICK_EXTRACTS = ("chicago-logan-square.osm.gz", "monaco.osm.gz")
_POINTS = 10  # per ten edges, for a subdivision


class Windows(NamedTuple):
    """Windows with their city, and the quarter of the city that folds must not divide."""

    graphs: list[MetricGraph]
    y: NDArray[Any]
    groups: Ints


class _City(NamedTuple):
    """A city, its nodes in metres from its middle, and the centres of its windows."""

    graph: MetricGraph
    points: Floats
    places: Floats
    middle: tuple[float, float]


def reordered(graph: MetricGraph, rng: np.random.Generator) -> MetricGraph:
    """Return the graph with edges in another order, nodes renumbered and half of the edges reversed."""
    name, order = rng.permutation(graph.n_nodes), rng.permutation(graph.n_edges)
    ends = name[np.stack([graph.tail, graph.head])[:, order]]
    turned = rng.random(graph.n_edges) < 1 / 2
    tail, head = np.where(turned, ends[::-1], ends)
    places = None if graph.coordinates is None else graph.coordinates[np.argsort(name)]
    length = graph.length[order]
    return graph.replace(
        tail=tail, head=head, length=length, coordinates=places, node_ids=None, edge_values=None
    )


def subdivided(graph: MetricGraph, rng: np.random.Generator) -> MetricGraph:
    """Return the graph with as many new points as it has edges, in a random order."""
    (finer,) = refine([graph], _POINTS, int(rng.integers(2**31)))
    return reordered(finer, rng)


def simplified(graph: MetricGraph, _rng: np.random.Generator) -> MetricGraph:
    """Return the graph after OSMnx's `simplify_graph`."""
    import osmnx as ox

    simple = ox.simplify_graph(_for_osmnx(graph), remove_rings=False)
    return as_metric_graph(ox.convert.to_undirected(simple))


def noisy_lengths(share: float) -> Callable[[MetricGraph, np.random.Generator], MetricGraph]:
    """Return a function that multiplies each length by exp(share * a standard normal number)."""

    def change(graph: MetricGraph, rng: np.random.Generator) -> MetricGraph:
        return graph.replace(length=graph.length * np.exp(share * rng.standard_normal(graph.n_edges)))

    return change


def noisy_places(metres: float) -> Callable[[MetricGraph, np.random.Generator], MetricGraph]:
    """Return a function that moves each node, and stretches each street like the line between its ends."""

    def change(graph: MetricGraph, rng: np.random.Generator) -> MetricGraph:
        points = metres_from(graph, middle_of(graph))
        moved = points + metres * rng.standard_normal(points.shape)
        before, after = (
            np.linalg.norm(place[graph.head] - place[graph.tail], axis=1) for place in (points, moved)
        )
        stretch = np.where((before > 0.0) & (after > 0.0), after / np.where(before > 0.0, before, 1.0), 1.0)
        # at least a centimetre, because moved ends may meet
        return graph.replace(length=np.maximum(graph.length * stretch, 0.01))

    return change


def missing_streets(share: float) -> Callable[[MetricGraph, np.random.Generator], MetricGraph]:
    """Return a function that drops each street between two junctions with a probability.

    Of what is left, the largest component by edges is kept.
    """

    def change(graph: MetricGraph, rng: np.random.Generator) -> MetricGraph:
        measure = canonical_measure(graph)
        kept = (rng.random(measure.n_segments) >= share)[measure.segment]
        left = graph.edge_subgraph(kept)
        if left.n_components <= 1:
            return left
        component = _components(left)
        return left.edge_subgraph(component == np.bincount(component).argmax())

    return change


def _components(graph: MetricGraph) -> Ints:
    """Return the component of each edge."""
    import scipy.sparse as sp

    joined = sp.coo_array(
        (np.ones(graph.n_edges), (graph.tail, graph.head)), shape=(graph.n_nodes, graph.n_nodes)
    )
    labels = sp.csgraph.connected_components(joined, directed=False)[1]
    return labels[graph.tail].astype(np.int64)


def _for_osmnx(graph: MetricGraph) -> nx.MultiDiGraph[Any]:
    """Return a graph as OSMnx downloads it: both directions of each street, and the counts of streets.

    Streets have the lines of ``edge_values["geometry"]``, if there are any.
    """
    import networkx as nx
    import osmnx as ox

    network: nx.MultiDiGraph[Any] = nx.MultiDiGraph(crs="epsg:4326")
    places = np.asarray(graph.coordinates)[:, :2]
    network.add_nodes_from((i, {"x": x, "y": y}) for i, (x, y) in enumerate(places.tolist()))
    streets = zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
    lines = _lines(graph, places)
    for street, (u, v, length) in enumerate(streets):
        there, back = ({"geometry": line} if line else {} for line in lines[street])
        network.add_edge(u, v, length=length, osmid=street, **there)
        if u != v:
            network.add_edge(v, u, length=length, osmid=street, **back)
    nx.set_node_attributes(network, ox.stats.count_streets_per_node(network), "street_count")
    return network


def _lines(graph: MetricGraph, places: Floats) -> list[tuple[Any, Any]]:
    """Return the line of each edge from its tail to its head, and the one back; None for a straight one."""
    import shapely

    texts = (graph.edge_values or {}).get(GEOMETRY)
    if texts is None:
        return [(None, None)] * graph.n_edges
    lines = []
    for text, tail, head in zip(texts, graph.tail, graph.head, strict=True):
        line = shapely.from_wkt(text) if text else None
        if line is None:
            lines.append((None, None))
            continue
        first = np.asarray(line.coords[0])
        # a file of an undirected graph may draw a street from either end
        drawn_back = np.hypot(*(first - places[head])) < np.hypot(*(first - places[tail]))
        back = shapely.reverse(line)
        lines.append((back, line) if drawn_back else (line, back))
    return lines


def streets_of(city: str, *, lines: bool = False) -> MetricGraph:
    """Return the streets of a city; with `lines`, their geometry is kept as a value of edges."""
    return read_city(f"{city}_r3000.graphml.gz", lines=lines).replace(name=city)


def consolidated(city: MetricGraph, *, dead_ends: bool) -> MetricGraph:
    """Return a city after OSMnx's `consolidate_intersections`, with longitude and latitude."""
    import osmnx as ox

    projected = ox.projection.project_graph(_for_osmnx(city))
    merged = ox.consolidate_intersections(
        projected, tolerance=TOLERANCE, rebuild_graph=True, dead_ends=dead_ends
    )
    graph = as_metric_graph(ox.convert.to_undirected(merged), zero="contract").replace(
        unit="m", node_ids=None
    )
    return in_lonlat([graph])[0].replace(name=city.name)


OF_WINDOWS: dict[str, Callable[[MetricGraph, np.random.Generator], MetricGraph]] = {
    "reordered": reordered,
    "subdivided": subdivided,
    "simplified": simplified,
    "lengths 0.1 %": noisy_lengths(0.001),
    "lengths 1 %": noisy_lengths(0.01),
    "lengths 5 %": noisy_lengths(0.05),
    "places 1 m": noisy_places(1.0),
    "places 3 m": noisy_places(3.0),
    "places 10 m": noisy_places(10.0),
    "1 % missing": missing_streets(0.01),
    "5 % missing": missing_streets(0.05),
}
"""Changes that are made to each window on its own."""
SHIFTED, CONSOLIDATED, WITH_DEAD_ENDS, WITHOUT_SERVICE = (
    "shifted 10 m", "consolidated", "consolidated, dead ends kept", "without service roads",
)  # fmt: skip
CHANGES = (*OF_WINDOWS, SHIFTED, CONSOLIDATED, WITH_DEAD_ENDS, WITHOUT_SERVICE)
"""All changes: of a window, of the city before it is cut into windows, and of the ways that are read."""
_SHIFT = 10.0


class Copies:
    """The windows and their copies, each made when it is first asked for and kept in a temporary folder.

    Parameters
    ----------
    quick, seed
        As in `Settings`.
    """

    def __init__(self, *, quick: bool, seed: int) -> None:
        self.quick, self.seed = quick, seed
        self._folder = TemporaryDirectory(prefix="torelli-")
        self._lock = Lock()

    def files(self, change: str) -> tuple[str, str]:
        """Return the files with the pickled `Windows` of the originals, and with the list of copies."""
        with self._lock:
            folder = Path(self._folder.name)
            kind = "extracts" if change == WITHOUT_SERVICE else "cities"
            originals, copies = folder / f"{kind}.pkl", folder / f"{CHANGES.index(change)}.pkl"
            if not copies.exists():
                with warnings.catch_warnings():
                    # rounded lengths, contracted points and converted coordinates are intended
                    warnings.simplefilter("ignore", DataWarning)
                    warnings.simplefilter("ignore", FutureWarning)
                    windows, changed = self._extracts() if kind == "extracts" else self._changed(change)
                if not originals.exists():
                    originals.write_bytes(pickle.dumps(windows))
                copies.write_bytes(pickle.dumps(changed))
            return str(originals), str(copies)

    def _changed(self, change: str) -> tuple[Windows, list[MetricGraph]]:
        windows, chosen = self._windows()
        rng = np.random.default_rng([self.seed, CHANGES.index(change)])
        if change in OF_WINDOWS:
            if change == "simplified":
                _require_osmnx()
            return windows, [OF_WINDOWS[change](graph, rng) for graph in windows.graphs]
        changed: list[MetricGraph] = []
        show = ProgressLine(f"cities, {change}")
        cities = self._cities()
        for done, city in enumerate(cities, 1):
            graph, points, places = city.graph, city.points, city.places
            if change == SHIFTED:
                angle = rng.uniform(0.0, 2.0 * np.pi, len(places))
                places = places + _SHIFT * np.column_stack([np.cos(angle), np.sin(angle)])
            else:
                _require_osmnx()
                drawn = streets_of(str(graph.name), lines=True)
                graph = consolidated(drawn, dead_ends=change == WITH_DEAD_ENDS)
                points = metres_from(graph, city.middle)
            changed += windows_at(graph, points, places, RADIUS)
            show(done / len(cities))
        return windows, [changed[i] for i in chosen]

    @cache  # noqa: B019  (there is one object of a run)
    def _cities(self) -> list[_City]:
        return [with_places(streets_of(name)) for name in (_QUICK_CITIES if self.quick else CITIES)]

    @cache  # noqa: B019  (the same)
    def _windows(self) -> tuple[Windows, list[int]]:
        """Return the windows, and their positions among those of all places."""
        cities = self._cities()
        every = [window for city in cities for window in windows_at(*city[:3], RADIUS)]
        return _chosen(every, cities, _QUICK_WINDOWS if self.quick else N_WINDOWS, self.seed)

    def _extracts(self) -> tuple[Windows, list[MetricGraph]]:
        every: list[MetricGraph] = []
        changed: list[MetricGraph] = []
        cities = []
        for file in _QUICK_EXTRACTS if self.quick else EXTRACTS:
            path = shared_data("osm", file)
            service, without = (read(path, network_type=kind)[0] for kind in ("drive_service", "drive"))
            city = with_places(service.replace(name=file.partition(".")[0]))
            cities.append(city)
            every += windows_at(*city[:3], RADIUS)
            changed += windows_at(without, metres_from(without, city.middle), city.places, RADIUS)
        windows, chosen = _chosen(every, cities, _QUICK_WINDOWS if self.quick else N_WINDOWS, self.seed)
        return windows, [changed[i] for i in chosen]


def with_places(graph: MetricGraph) -> _City:
    """Return a city with the centres of windows on a lattice, such that no window reaches beyond it."""
    middle = middle_of(graph)
    points = metres_from(graph, middle)
    landmarks = cover(graph, points, 2.0 * RADIUS)
    # cuts are discs or boxes: within this distance of the middle, a window lies inside either
    reach = np.ptp(points, axis=0).min() / 2.0 - RADIUS
    inside = np.hypot(points[landmarks, 0], points[landmarks, 1]) <= max(reach, 2.0 * RADIUS)
    return _City(graph, points, points[landmarks[inside]], middle)


def _chosen(
    every: list[MetricGraph], cities: list[_City], count: int, seed: int
) -> tuple[Windows, list[int]]:
    """Return a random choice of the windows that have enough edges, in their order."""
    city = np.repeat(np.arange(len(cities)), [len(one.places) for one in cities])
    quarter = np.concatenate([2 * (one.places[:, 0] > 0) + (one.places[:, 1] > 0) for one in cities])
    large = [i for i, graph in enumerate(every) if graph.n_edges >= MIN_EDGES]
    chosen = sorted(np.random.default_rng(seed).permutation(large)[:count].tolist())
    names = np.array([str(one.graph.name) for one in cities])
    return Windows(
        [every[i] for i in chosen], names[city[chosen]], 4 * city[chosen] + quarter[chosen]
    ), chosen


def _require_osmnx() -> None:
    if find_spec("osmnx") is None:
        raise MissingExtraError("copies prepared by OSMnx need osmnx: pip install 'torelli[osm]'")
