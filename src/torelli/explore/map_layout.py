"""Layout of the map: where networks go, in one panel or in one panel for each city if they are far apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from torelli._geo import METRES_PER_DEGREE, is_geographic
from torelli._layout import is_placed, positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.explore.networks import NetworkSet
    from torelli.graph import MetricGraph

    Words = NDArray[np.uint16]
    Frame = tuple[float, float, float, float]

GRID = 2047
"""Largest coordinate of a street's end within a panel."""
_FAR_APART = 4.0  # extent of all cities together, in extents of the largest
_GAP = 0.22  # between panels, in sides of a panel
_MARGIN = 0.04
_MAX_STREETS = 60_000
_COARSEST_GRID = 255
_NO_COORDINATES = "The networks have no coordinates, so there is no map."
_OVERLAP = "The networks all lie at the same place, so there is no map."


@dataclass(frozen=True)
class Panel:
    """A square part of the map.

    Attributes
    ----------
    name
        The city, or "" if the map is one panel.
    corner
        Lower left corner on the map, where the side of a panel is 1.
    side
        Length of a side in metres, or in the unit of the coordinates.
    streets
        Segments of the city's streets as rows (x0, y0, x1, y1), from 0 to `GRID`.
    """

    name: str
    corner: tuple[float, float]
    side: float
    streets: Words


@dataclass(frozen=True)
class MapLayout:
    """The map of some networks.

    Attributes
    ----------
    xy
        Place of each network on the map, where a panel is a unit square; NaN if it has none.
    frames
        West, south, east and north of each network's drawing, on the map; NaN if it has none.
    panels
        The squares of the map; none if there is no map.
    note
        Why there is no map, or what it leaves out.
    """

    xy: Floats
    frames: Floats
    panels: list[Panel] = field(default_factory=list)
    note: str = ""


def lay_out_map(networks: NetworkSet, frames: Sequence[Frame | None]) -> MapLayout:
    """Return the layout of the map of some networks.

    Its streets are those of the cities where they are known, and the edges of the networks elsewhere.

    Parameters
    ----------
    networks
        What to show.
    frames
        West, south, east and north of the drawing of each network, in the coordinates of its graph.
    """
    xy = np.full((len(networks), 2), np.nan)
    corners = np.array([(np.nan,) * 4 if frame is None else frame for frame in frames]).reshape(-1, 2, 2)
    framed = np.full(corners.shape, np.nan)
    has_place = np.isfinite(networks.places).all(axis=1)
    if not has_place.any():
        return MapLayout(xy, framed.reshape(-1, 4), note=_NO_COORDINATES)
    members = _members_of_panels(networks, np.flatnonzero(has_place))
    boxes = {name: _Box(networks, rows) for name, rows in members.items()}
    if has_place.sum() > 1 and all(box.overlaps for box in boxes.values()):
        return MapLayout(xy, framed.reshape(-1, 4), note=_OVERLAP)
    grid = GRID
    while grid > _COARSEST_GRID and sum(len(box.streets(grid)) for box in boxes.values()) > _MAX_STREETS:
        grid //= 2
    n_columns = int(np.ceil(np.sqrt(len(members))))
    panels = []
    for index, (name, box) in enumerate(boxes.items()):
        row, column = divmod(index, n_columns)
        corner = (column * (1 + _GAP), -row * (1 + _GAP))
        rows = members[name]
        xy[rows] = box.unit(box.points) + corner
        framed[rows] = box.unit((corners[rows] - box.origin) * box.scale) + corner
        panels.append(Panel(name, corner, box.side, box.streets(grid) * np.uint16(GRID // grid)))
    n_missing = int((~has_place).sum())
    note = f"{n_missing:,} networks have no coordinates and are not on the map." if n_missing else ""
    return MapLayout(xy, framed.reshape(-1, 4), panels, note)


def _members_of_panels(networks: NetworkSet, rows: Ints) -> dict[str, Ints]:
    """Return the rows of each panel: one for each city if the cities are far apart, else one."""
    if networks.cities is None:
        return {"": rows}
    cities = np.array(networks.cities)[rows]
    by_city = {str(city): rows[cities == city] for city in dict.fromkeys(cities.tolist())}
    places = networks.places
    largest = max(float(np.ptp(places[members], axis=0).max()) for members in by_city.values())
    whole = float(np.ptp(places[rows], axis=0).max())
    return by_city if len(by_city) > 1 and whole > _FAR_APART * largest else {"": rows}


class _Box:
    """The square around some networks: its side, their places and their edges in metres.

    Without longitudes and latitudes, all of them are in the unit of the coordinates.
    """

    def __init__(self, networks: NetworkSet, rows: Ints) -> None:
        places = networks.places[rows]
        self.origin = places.mean(axis=0)
        self.scale = np.ones(2)
        self.geographic = networks.geographic
        if self.geographic:
            self.scale = METRES_PER_DEGREE * np.array([np.cos(np.radians(self.origin[1])), 1.0])
        self.points = (places - self.origin) * self.scale
        own = [self._lines(networks.graphs[row]) for row in rows.tolist()]
        extents = [np.ptp(lines.reshape(-1, 2), axis=0).max() for lines in own if len(lines)]
        typical = float(np.median(extents)) if extents else 0.0
        spread = float(np.ptp(self.points, axis=0).max())
        self.overlaps = spread < typical / 2
        everything = np.concatenate([self.points, *(lines.reshape(-1, 2) for lines in own)])
        low, high = everything.min(axis=0), everything.max(axis=0)
        self.middle = (low + high) / 2
        self.side = float((high - low).max()) * (1 + 2 * _MARGIN) or 1.0

        cities = set() if networks.cities is None else {networks.cities[row] for row in rows.tolist()}
        whole = [self._lines(networks.streets[city]) for city in cities if city in networks.streets]
        lines = np.concatenate([*whole, *own])
        inside = (np.abs(lines - self.middle) <= self.side / 2).all(axis=(1, 2))
        self.lines = lines[inside]

    def _lines(self, graph: MetricGraph) -> Floats:
        """Return the two ends of each edge of a network; none if its coordinates are not those of the map."""
        if not is_placed(graph) or (self.geographic and not is_geographic(graph.crs)):
            return np.zeros((0, 2, 2))
        placed = (positions(graph) - self.origin) * self.scale
        return np.stack([placed[graph.tail], placed[graph.head]], axis=1)

    def unit(self, points: Floats) -> Floats:
        """Return points in units of the side, from the lower left corner."""
        inside: Floats = (points - self.middle) / self.side + 0.5
        return inside

    def streets(self, grid: int) -> Words:
        """Return the distinct segments between points of a grid, as rows (x0, y0, x1, y1)."""
        cells = np.rint(self.unit(self.lines.reshape(-1, 2)) * grid).astype(np.int64)
        ends = np.sort((cells[:, 0] * (grid + 1) + cells[:, 1]).reshape(-1, 2), axis=1)
        ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
        segments: Words = np.stack(np.divmod(ends, grid + 1), axis=2).reshape(-1, 4).astype(np.uint16)
        return segments
