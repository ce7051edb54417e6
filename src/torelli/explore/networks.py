"""Networks to explore together: graphs with their names, classes, cities and places, and their duplicates.

Windows around random places of a city overlap, and some contain the same streets. Listed one by one, they
would fill the list of similar networks with copies of one place. Networks of one place, and those that a
kernel cannot tell apart, are therefore grouped.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from torelli._errors import InvalidGraphError, InvalidOptionError, MissingExtraError
from torelli._geo import is_geographic
from torelli.datasets.urn import build_urn
from torelli.datasets.windows import in_lonlat, metres_from, middle_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.datasets.windows import Cut
    from torelli.graph import MetricGraph

    Pairs = NDArray[np.bool_]

_T = TypeVar("_T")
_SHOWN = 5

_SHARED = 0.5  # share of common street length from which two networks are of one place
_ROUNDING = 1e-12  # squared distance that counts as 0, relative to the median
_DIGITS = 9  # of a place on the map, whose side is 1


@dataclass(frozen=True)
class NetworkSet:
    """Networks to explore together; entry i of each attribute belongs to network i.

    Make one with `from_graphs`, `from_dataset` or `from_cities`.

    Attributes
    ----------
    graphs
        The networks.
    names
        The name of each network.
    title
        The title of the page.
    classes
        The class of each network, or None if they have no classes.
    cities
        The city of each network, or None if they do not come from cities.
    places
        The place of each network: longitude and latitude, or x and y of its own reference system. NaN for
        a network without coordinates.
    geographic
        Whether places are longitudes and latitudes.
    note
        What a reader of the page should know about the data.
    streets
        The whole network of each city, in the reference system of the places, for the map; empty if only
        the networks themselves are known.
    rows
        The index of each network in the set that it was taken from; None for a whole set.

    Examples
    --------
    >>> from torelli import MetricGraph
    >>> from torelli.explore import NetworkSet
    >>> triangle = MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 2.5], name="triangle")
    >>> networks = NetworkSet.from_graphs([triangle], title="one triangle", classes=["cycle"])
    >>> networks.names, networks.classes
    (['triangle'], ['cycle'])
    """

    graphs: list[MetricGraph]
    names: list[str]
    title: str
    classes: list[str] | None
    cities: list[str] | None
    places: Floats
    geographic: bool
    note: str = ""
    streets: Mapping[str, MetricGraph] = field(default_factory=dict)
    rows: list[int] | None = None

    def __len__(self) -> int:
        return len(self.graphs)

    def take(self, rows: Sequence[int]) -> Self:
        """Return some of the networks, in the order given.

        Parameters
        ----------
        rows
            Their indices, from 0.

        Examples
        --------
        >>> from torelli import MetricGraph
        >>> from torelli.explore import NetworkSet
        >>> rings = [MetricGraph([0], [0], [length]) for length in (1.0, 2.0, 3.0)]
        >>> networks = NetworkSet.from_graphs(rings, title="rings", names=["a", "b", "c"])
        >>> networks.take([2, 0]).names
        ['c', 'a']
        """
        wrong = [row for row in rows if not 0 <= row < len(self)]
        if wrong or not len(rows):
            there = f"there are {len(self):,}, numbered from 0 to {len(self) - 1:,}"
            raise InvalidOptionError(
                f"there is no network {', '.join(map(str, wrong[:_SHOWN]))}: {there}"
                if wrong
                else f"no network was chosen: {there}"
            )

        def chosen(values: list[_T] | None) -> list[_T] | None:
            return None if values is None else [values[row] for row in rows]

        return replace(
            self,
            graphs=[self.graphs[row] for row in rows],
            names=[self.names[row] for row in rows],
            classes=chosen(self.classes),
            cities=chosen(self.cities),
            places=self.places[list(rows)],
            rows=[row if self.rows is None else self.rows[row] for row in rows],
        )

    @classmethod
    def from_graphs(
        cls,
        graphs: Sequence[MetricGraph],
        *,
        title: str,
        names: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        cities: Sequence[Any] | None = None,
        places: Floats | None = None,
        note: str = "",
        streets: Mapping[str, MetricGraph] | None = None,
    ) -> Self:
        """Return a set of graphs.

        Projected coordinates are converted to longitude and latitude if pyproj can do it, for the map alone:
        lengths stay as they are.

        Parameters
        ----------
        graphs, title, classes, cities, note, streets
            As for `NetworkSet`. A class that is None, NaN or empty is shown as "no label".
        names
            The name of each network; by default that of the graph. A network without a name is numbered.
        places
            Longitude and latitude of each network; by default the middle of its nodes, in its own
            reference system.
        """
        if not graphs:
            raise InvalidOptionError("there is nothing to explore: give at least one network")
        options = {"names": names, "classes": classes, "cities": cities, "places": places}
        for option, values in options.items():
            if values is not None and len(values) != len(graphs):
                raise InvalidOptionError(f"{option} has {len(values)} entries for {len(graphs)} networks")
        if places is None:
            graphs = _in_degrees(graphs)
        if names is None:
            names = [graph.name or "" for graph in graphs]
        return cls(
            list(graphs),
            [name or f"network {index}" for index, name in enumerate(names)],
            title,
            None if classes is None else [_label(label) for label in classes],
            None if cities is None else [str(city) for city in cities],
            np.array([_middle(graph) for graph in graphs]) if places is None else np.asarray(places, float),
            places is not None
            or all(graph.coordinates is None or is_geographic(graph.crs) for graph in graphs),
            note,
            dict(streets or {}),
        )

    @classmethod
    def from_dataset(cls, data: Mapping[str, Any], title: str) -> Self:
        """Return the networks of a data set of `torelli.datasets`: TU, URN or local."""
        centres = data.get("centres")
        return cls.from_graphs(
            data["graphs"],
            title=title,
            names=data.get("names"),
            classes=_class_names(data),
            cities=_cities(data),
            places=None if centres is None else np.asarray(centres)[:, ::-1],
            note=str(data.get("DESCR", "")).strip().partition("\n")[0],
            streets=data.get("streets"),
        )

    @classmethod
    def from_cities(
        cls,
        cities: Mapping[str, MetricGraph],
        *,
        window: float,
        count: int,
        radius: float | None = None,
        cut: Cut = "bbox",
        seed: int = 0,
        title: str | None = None,
    ) -> Self:
        """Return windows cut out of cities by `torelli.datasets.build_urn`.

        Parameters
        ----------
        cities
            Street networks with coordinates, by name, as for `build_urn`.
        window
            How far a window extends from its landmark, in metres.
        count
            Total number of windows, shared evenly among the cities.
        radius
            Largest distance of a landmark from the middle of its city, in metres. By default the largest
            for which all windows lie within the smallest city.
        cut, seed
            As for `build_urn`.
        title
            By default the names of the cities.
        """
        streets = in_lonlat(city.replace(name=name) for name, city in cities.items())
        placed = dict(zip(cities, streets, strict=True))
        if radius is None:
            radius = max(window, min(map(_half_width, streets)) - window)
        data = build_urn(placed, R=radius, r=window, n=count, cut=cut, seed=seed)
        return cls.from_dataset(data, title or f"Windows of {', '.join(cities)}")


def _cities(data: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the city of each network, if the data set says it and has several networks of some city."""
    index = data.get("index")
    if data.get("city") is not None or not index or "city" not in index[0]:
        return data.get("city")
    cities = [row["city"] for row in index]
    return cities if len(set(cities)) < len(cities) else None


def _class_names(data: Mapping[str, Any]) -> list[str] | None:
    """Return the class of each network, by name if the data set numbers its classes and names them."""
    if data.get("y") is None:
        return None
    y = np.asarray(data["y"])
    names = data.get("target_names")
    if names is not None and y.dtype.kind in "iu" and np.asarray(names).dtype.kind == "U":
        return [str(names[label]) for label in y.tolist()]
    return [_label(label) for label in y.tolist()]


def _label(label: object) -> str:
    """Return the name of a class."""
    missing = label is None or label == "" or (isinstance(label, float) and np.isnan(label))
    return "no label" if missing else str(label)


def _in_degrees(graphs: Sequence[MetricGraph]) -> Sequence[MetricGraph]:
    """Return graphs of known reference systems with longitude and latitude, else the graphs themselves."""
    placed = [graph for graph in graphs if graph.coordinates is not None]
    if any(graph.crs is None for graph in placed) or all(is_geographic(graph.crs) for graph in placed):
        return graphs
    try:
        converted = in_lonlat(graphs)
    except (InvalidGraphError, MissingExtraError):  # the map is then in the plane of the coordinates
        return graphs
    return [
        graph if graph.coordinates is None else graph.replace(coordinates=new.coordinates, crs=new.crs)
        for graph, new in zip(graphs, converted, strict=True)
    ]


def _half_width(city: MetricGraph) -> float:
    """Return half the shorter side of the box around a city, in metres."""
    points = metres_from(city, middle_of(city))
    return float(np.ptp(points, axis=0).min() / 2)


def _middle(graph: MetricGraph) -> tuple[float, float]:
    """Return the middle of the box around the nodes that have coordinates."""
    if graph.coordinates is None:
        return np.nan, np.nan
    points = graph.coordinates[np.isfinite(graph.coordinates[:, :2]).all(axis=1), :2]
    if not len(points):
        return np.nan, np.nan
    x, y = (points.min(axis=0) + points.max(axis=0)) / 2
    return float(x), float(y)


def of_one_place(graphs: Sequence[MetricGraph]) -> Pairs:
    """Return for each pair of networks whether they have more than half of their streets in common.

    That is, if the streets that both have are longer than half of the streets that one of them has. A
    street is an edge between the same two points of a reference system. Coordinates without a reference
    system say nothing of places, so that such networks have no place in common.
    """
    n = len(graphs)
    owners, keys, lengths = [], [], []
    systems: dict[str, int] = {}
    for i, graph in enumerate(graphs):
        if graph.coordinates is None or graph.crs is None or not graph.n_edges:
            continue
        points = graph.coordinates[:, :2]
        system = np.full(graph.n_edges, systems.setdefault(graph.crs, len(systems)), dtype=np.float64)
        ends = np.concatenate([points[graph.tail], points[graph.head]], axis=1)
        swapped = (ends[:, 0] > ends[:, 2]) | ((ends[:, 0] == ends[:, 2]) & (ends[:, 1] > ends[:, 3]))
        ends[swapped] = ends[swapped][:, [2, 3, 0, 1]]
        keys.append(np.column_stack([ends, graph.length, system]))
        lengths.append(graph.length)
        owners.append(np.full(graph.n_edges, i))
    if not keys:
        return np.eye(n, dtype=np.bool_)
    street = _numbered(np.concatenate(keys))
    length = np.zeros(int(street.max()) + 1)
    length[street] = np.concatenate(lengths)
    # a network that has a street twice, as two parallel edges, has it once here
    has = sp.csr_array((np.ones(len(street)), (np.concatenate(owners), street)), shape=(n, len(length)))
    has.data = np.sqrt(length[has.indices])
    common = (has @ has.T).toarray()
    total = np.diagonal(common)
    together: Pairs = common > _SHARED * (total[:, None] + total - common)
    np.fill_diagonal(together, val=True)
    return together


def _numbered(rows: Floats) -> Ints:
    """Return a number for each row, the same for equal rows."""
    order = np.lexsort(rows.T)
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    numbers = np.empty(len(rows), dtype=np.int64)
    numbers[order] = np.cumsum(new) - 1
    return numbers


def same_for_kernel(squared: Floats) -> Ints:
    """Return for each network the first one at distance 0 from it, which a kernel cannot tell from it.

    Parameters
    ----------
    squared
        The squared distances of all pairs.
    """
    positive = squared[squared > 0]
    limit = _ROUNDING * float(np.median(positive)) if positive.size else 0.0
    near = sp.csr_array((squared <= limit).astype(np.int8))
    return _first(connected_components(near, directed=False)[1].astype(np.int64))


def same_point(places: Floats) -> Ints:
    """Return for each network the first one at the same point of the map; those without a place are alone."""
    known = np.isfinite(places).all(axis=1)
    numbers = np.arange(len(places)) + len(places)
    numbers[known] = _numbered(places[known].round(_DIGITS))
    return _first(numbers)


def _first(numbers: Ints) -> Ints:
    """Return for each entry the index of the first equal one."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    representative: Ints = first[inverse]
    return representative
