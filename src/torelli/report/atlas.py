"""Where the places of a collection go on a map: one panel, or one for each city if they are far apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from torelli._drawing import is_placed, positions
from torelli._geo import METRES_PER_DEGREE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.report.collection import Collection

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Words = NDArray[np.uint16]

GRID = 2047
_FAR = 4.0
_GAP = 0.22
_MARGIN = 0.04
_MOST_STREETS = 60_000
_COARSEST = 255
_STACKED = "The networks lie on top of each other, not at places of their own: there is no map."


@dataclass(frozen=True)
class Panel:
    """A square of the map: its name, lower left corner, side in metres (or the data's unit) and streets."""

    name: str
    corner: tuple[float, float]
    side: float
    streets: Words


@dataclass(frozen=True)
class Atlas:
    """The map of a collection.

    Attributes
    ----------
    xy
        Place of each network on the map, where a panel is a unit square; NaN if it has none.
    panels
        The squares of the map; none if there is no map.
    note
        Why there is no map, or what it leaves out.
    """

    xy: Floats
    panels: list[Panel] = field(default_factory=list)
    note: str = ""


def lay_out(collection: Collection) -> Atlas:
    """Return the map of a collection; its streets are those of the networks themselves."""
    nowhere = np.full((len(collection), 2), np.nan)
    known = np.isfinite(collection.places[:, 0]) & np.isfinite(collection.places[:, 1])
    if not known.any():
        return Atlas(nowhere, note="The networks have no coordinates: there is no map.")
    members = _panels(collection, known)
    boxes = {name: _Box(collection, rows) for name, rows in members.items()}
    if all(box.stacked for box in boxes.values()) and known.sum() > 1:
        return Atlas(nowhere, note=_STACKED)
    columns = int(np.ceil(np.sqrt(len(members))))
    xy = nowhere
    panels = []
    grid = GRID
    while sum(len(box.streets(grid)) for box in boxes.values()) > _MOST_STREETS and grid > _COARSEST:
        grid //= 2
    for at, (name, box) in enumerate(boxes.items()):
        row, column = divmod(at, columns)
        corner = (column * (1 + _GAP), -row * (1 + _GAP))
        xy[members[name]] = box.unit(box.points) + corner
        panels.append(Panel(name, corner, box.side, box.streets(grid) * np.uint16(GRID // grid)))
    missing = int((~known).sum())
    note = f"{missing:,} networks have no coordinates and are not on the map." if missing else ""
    return Atlas(xy, panels, note)


def _panels(collection: Collection, known: NDArray[np.bool_]) -> dict[str, Ints]:
    """Return the rows of each panel: those of a city if cities are small beside what lies between them."""
    rows = np.flatnonzero(known)
    if collection.cities is None:
        return {"": rows}
    cities = np.array(collection.cities)[rows]
    by_city = {str(city): rows[cities == city] for city in dict.fromkeys(cities.tolist())}
    places = collection.places
    largest = max(float(np.ptp(places[chosen], axis=0).max()) for chosen in by_city.values())
    whole = float(np.ptp(places[rows], axis=0).max())
    return by_city if len(by_city) > 1 and whole > _FAR * largest else {"": rows}


class _Box:
    """The square around some networks, with everything in it in units of its side."""

    def __init__(self, collection: Collection, rows: Ints) -> None:
        places = collection.places[rows]
        self.origin = places.mean(axis=0)
        self.scale = np.ones(2)
        if collection.geographic:
            self.scale = METRES_PER_DEGREE * np.array([np.cos(np.radians(self.origin[1])), 1.0])
        self.points = (places - self.origin) * self.scale
        self.lines = [self._lines(collection, row) for row in rows.tolist()]
        extents = [np.ptp(lines.reshape(-1, 2), axis=0).max() for lines in self.lines if len(lines)]
        typical = float(np.median(extents)) if extents else 0.0
        spread = float(np.ptp(self.points, axis=0).max())
        self.stacked = spread < typical / 2
        everything = np.concatenate([self.points, *(lines.reshape(-1, 2) for lines in self.lines)])
        low, high = everything.min(axis=0), everything.max(axis=0)
        self.middle = (low + high) / 2
        self.side = float((high - low).max()) * (1 + 2 * _MARGIN) or 1.0

    def _lines(self, collection: Collection, row: int) -> Floats:
        graph = collection.graphs[row]
        if not is_placed(graph):
            return np.zeros((0, 2, 2))
        placed = (positions(graph) - self.origin) * self.scale
        return np.stack([placed[graph.tail], placed[graph.head]], axis=1)

    def unit(self, points: Floats) -> Floats:
        """Return points in units of the square."""
        inside: Floats = (points - self.middle) / self.side + 0.5
        return inside

    def streets(self, grid: int) -> Words:
        """Return the distinct segments on a grid as rows (x0, y0, x1, y1)."""
        cells = np.rint(self.unit(np.concatenate(self.lines).reshape(-1, 2)) * grid).astype(np.int64)
        ends = np.sort((cells[:, 0] * (grid + 1) + cells[:, 1]).reshape(-1, 2), axis=1)
        ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
        found: Words = np.stack(np.divmod(ends, grid + 1), axis=2).reshape(-1, 4).astype(np.uint16)
        return found
