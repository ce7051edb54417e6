"""Collections: many networks with their names, classes, cities and places, whatever they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import InvalidOptionError
from torelli._geo import LONLAT, is_geographic
from torelli.datasets.windows import metres_from, middle_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torelli.datasets.windows import Cut
    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Collection:
    """Networks to look at together; entry i of every part belongs to network i.

    Attributes
    ----------
    graphs
        The networks.
    names
        What each is called.
    title
        What the collection is called.
    classes
        The class of each, or None where there are none.
    cities
        The city of each, or None where they do not come from cities.
    places
        Where each lies: longitude and latitude, or x and y of its own reference system; NaN where a
        network has no coordinates.
    geographic
        Whether places are longitudes and latitudes.
    note
        What a reader of the page should know about the data.
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


def collect(
    graphs: Sequence[MetricGraph],
    *,
    title: str,
    names: Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    cities: Sequence[Any] | None = None,
    places: Floats | None = None,
    note: str = "",
) -> Collection:
    """Return a collection; places are the middles of the networks unless they are given.

    Parameters
    ----------
    graphs, title, names, classes, cities, note
        As in `Collection`; names are the graphs' own by default.
    places
        Longitude and latitude of each network.
    """
    if not graphs:
        raise InvalidOptionError("there is nothing to explore: give at least one network")
    for option, values in (("names", names), ("classes", classes), ("cities", cities), ("places", places)):
        if values is not None and len(values) != len(graphs):
            raise InvalidOptionError(f"{option} has {len(values)} entries for {len(graphs)} networks")
    geographic = places is not None or all(
        graph.coordinates is None or is_geographic(graph.crs) for graph in graphs
    )
    return Collection(
        list(graphs),
        [graph.name or f"network {at}" for at, graph in enumerate(graphs)] if names is None else list(names),
        title,
        None if classes is None else [str(label) for label in classes],
        None if cities is None else [str(city) for city in cities],
        np.array([_middle(graph) for graph in graphs]) if places is None else np.asarray(places, float),
        geographic,
        note,
    )


def from_bunch(data: Mapping[str, Any], title: str) -> Collection:
    """Return the collection of a data set of `torelli.datasets`: TU, URN or local."""
    cities = data.get("city")
    index = data.get("index")
    if cities is None and index and "city" in index[0]:
        found = [row["city"] for row in index]
        cities = found if len(set(found)) < len(found) else None
    centres = data.get("centres")
    return collect(
        data["graphs"],
        title=title,
        names=data.get("names"),
        classes=_class_names(data),
        cities=cities,
        places=None if centres is None else np.asarray(centres)[:, ::-1],
        note=str(data.get("DESCR", "")).strip().partition("\n")[0],
    )


def _class_names(data: Mapping[str, Any]) -> list[str] | None:
    """Return the class of each network by name, where the set numbers its classes and names them."""
    if data.get("y") is None:
        return None
    y = np.asarray(data["y"])
    names = data.get("target_names")
    if names is not None and y.dtype.kind in "iu" and np.asarray(names).dtype.kind == "U":
        return [str(names[label]) for label in y.tolist()]
    return [str(label) or "none" for label in y.tolist()]


def windows(
    cities: Mapping[str, MetricGraph],
    *,
    window: float,
    count: int,
    radius: float | None = None,
    cut: Cut = "bbox",
    seed: int = 0,
    title: str | None = None,
) -> Collection:
    """Cut windows out of cities, as `torelli.datasets.build_urn` does.

    Parameters
    ----------
    cities
        Street networks with longitude and latitude, by name.
    window
        How far a window reaches from its landmark, in metres.
    count
        Number of windows in all, shared evenly among the cities.
    radius
        How far from the middle of a city landmarks may lie, in metres; by default so far that the
        windows stay within the smallest city.
    cut, seed
        As for `build_urn`.
    title
        By default, the names of the cities.
    """
    from torelli.datasets.urn import build_urn  # noqa: PLC0415  (only collections of windows need it)

    if radius is None:
        radius = max(window, min(_half_side(city) for city in cities.values()) - window)
    placed = {name: city.replace(crs=city.crs or LONLAT) for name, city in cities.items()}
    data = build_urn(placed, R=radius, r=window, n=count, cut=cut, seed=seed)
    return from_bunch(data, title or f"Windows of {', '.join(cities)}")


def _half_side(city: MetricGraph) -> float:
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
