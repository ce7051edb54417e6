"""Networks to explore together: graphs with their names, classes, cities and places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from torelli._errors import InvalidOptionError
from torelli._geo import is_geographic
from torelli.datasets.urn import build_urn
from torelli.datasets.windows import in_lonlat, metres_from, middle_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torelli._types import Floats
    from torelli.datasets.windows import Cut
    from torelli.graph import MetricGraph


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

    def __len__(self) -> int:
        return len(self.graphs)

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
    ) -> Self:
        """Return a set of graphs.

        Parameters
        ----------
        graphs, title, classes, cities, note
            As for `NetworkSet`.
        names
            The name of each network; by default that of the graph.
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
        if names is None:
            names = [graph.name or f"network {index}" for index, graph in enumerate(graphs)]
        return cls(
            list(graphs),
            list(names),
            title,
            None if classes is None else [str(label) for label in classes],
            None if cities is None else [str(city) for city in cities],
            np.array([_middle(graph) for graph in graphs]) if places is None else np.asarray(places, float),
            places is not None
            or all(graph.coordinates is None or is_geographic(graph.crs) for graph in graphs),
            note,
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
    return [str(label) or "none" for label in y.tolist()]


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
