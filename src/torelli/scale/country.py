"""Windows of a whole country from one OpenStreetMap extract, within bounded memory.

A lattice of squares covers the earth, the same for every file. Each square with a road has one window: around
the node that is nearest to the middle of the square. The first pass over the extract writes each step of a
road to a file for each block of 64 by 64 squares that it may matter to. The second pass reads block after
block, cuts it into quarters until they are small, and cuts their windows. A window depends only on the roads
near it, and windows come in the order of a Z curve, so the result does not depend on the size of the parts.
"""

from __future__ import annotations

import shutil
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from torelli._errors import DataWarning, FormatError, InvalidOptionError
from torelli._geo import EARTH_RADIUS, METRES_PER_DEGREE, east_north
from torelli._units import in_unit
from torelli._validate import is_positive
from torelli.datasets.windows import largest_component
from torelli.io.edges import warn
from torelli.io.files import foreign_errors, require
from torelli.io.osm import OSM, graph_of_ways, road_filter
from torelli.io.readers import Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

    Steps = NDArray[Any]

_STEP = np.dtype(
    [("tail", "<i8"), ("head", "<i8"), ("x1", "<i4"), ("y1", "<i4"), ("x2", "<i4"), ("y2", "<i4")]
)
_UNITS = 1e7  # of libosmium's coordinates in a degree
_UNDEFINED = 2**31 - 1  # libosmium's coordinate of a node that is not known
_BLOCK = 6  # a block of the first pass has 2**6 squares on each side
_LEAF = 3  # windows are cut from graphs of at most 2**3 squares on each side
_BUFFER = 2**16  # steps held in memory before they are written: 300 bytes each, as tuples of numbers
_GRAPH_BYTES = 1000  # memory for each step while a graph is made of it, at most
_MOST_LATITUDE, _TANGENT = 85.0, 12.0


@dataclass(frozen=True)
class Lattice:
    """Squares of `step` metres that cover the earth, in rows along circles of latitude."""

    step: float

    def row(self, lat: Floats) -> Ints:
        """Return the row of each latitude."""
        return np.floor((lat + 90.0) * METRES_PER_DEGREE / self.step).astype(np.int64)

    def across(self, lon: Floats, row: Ints) -> Floats:
        """Return how many squares of a row lie west of each longitude, as a real number."""
        middle = (row + 0.5) * self.step / METRES_PER_DEGREE - 90.0
        squares: Floats = (lon + 180.0) * METRES_PER_DEGREE * np.cos(np.radians(middle)) / self.step
        return squares

    def up(self, lat: Floats) -> Floats:
        """Return how many rows lie south of each latitude, as a real number."""
        return (lat + 90.0) * METRES_PER_DEGREE / self.step


def country_windows(
    path: Path,
    spool: Path,
    radius: float,
    step: float,
    options: Mapping[str, Any],
    max_bytes: int | None = None,
) -> Iterator[Record]:
    """Yield a window of the roads of an extract for each square of a lattice that has a road.

    Parameters
    ----------
    path
        An extract of OpenStreetMap, sorted by type and id as all published ones are.
    spool
        Folder for temporary files: about 20 bytes for each node of the extract and 80 for each node of a
        road.
    radius
        Half the side of a window, in metres.
    step
        Side of the squares of the lattice, in metres.
    options
        Options of `torelli.read`: ``network_type`` and ``unit``.
    max_bytes
        Largest amount of memory for a part of the country, in bytes.

    Raises
    ------
    FormatError
        If the file is not an extract, or not sorted.
    """
    for name, value in (("window", radius), ("step", step)):
        if not is_positive(value):
            raise InvalidOptionError(f"{name} is {value!r}: use a positive number of metres")
    if not OSM.matches(path):
        raise InvalidOptionError(
            f"{path.name}: windows are taken of OpenStreetMap extracts, such as andorra.osm.pbf; for other "
            "files use torelli urn build, or leave out window=..."
        )
    folder = spool / f"country-{path.name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        country = _Country(path, folder, Lattice(float(step)), float(radius), max_bytes)
        country.write_blocks(options.get("network_type", OSM.options[0].default))
        unit = options.get("unit")
        for window, lat, lon in country.windows():
            graph = window if unit is None else in_unit(window, unit)
            yield Record(graph, {"lat": lat, "lon": lon})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Country:
    def __init__(
        self, path: Path, folder: Path, lattice: Lattice, radius: float, max_bytes: int | None
    ) -> None:
        self.path, self.folder, self.lattice, self.radius = path, folder, lattice, radius
        # squares and windows measure longitudes at different latitudes
        self.slack = 1.01 + _TANGENT * (radius + 2**_LEAF * lattice.step) / EARTH_RADIUS
        self.reach = self.slack * radius / lattice.step  # of a window, in squares
        self.most = 2**21 if max_bytes is None else max(max_bytes // _GRAPH_BYTES, 1)
        self.blocks: set[tuple[int, int]] = set()

    def write_blocks(self, network_type: Any) -> None:
        """Read the extract once, and write the steps of roads to the files of their blocks."""
        osmium = require("osmium", "osm", f"reading {self.path.name}")
        keep = road_filter(network_type)
        index = self.folder / "places"
        steps: list[tuple[int, ...]] = []
        n_ways = n_roads = n_missing = n_twice = n_points = 0
        latest = 0
        with foreign_errors(self.path.name, "pyosmium"):
            objects = osmium.FileProcessor(str(self.path), osmium.osm.NODE | osmium.osm.WAY)
            objects = objects.with_locations(f"sparse_file_array,{index}")
            objects = objects.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY))
            if network_type is not None:
                objects = objects.with_filter(osmium.filter.KeyFilter("highway"))
            for way in objects:
                n_ways += 1
                if way.id <= latest:
                    raise FormatError(
                        f"{self.path.name}: way {way.id} comes after way {latest}; sort the file first, such "
                        "as by: osmium sort"
                    )
                latest = way.id
                if not keep(way.tags):
                    continue
                n_roads += 1
                nodes = [(node.ref, node.location.x, node.location.y) for node in way.nodes]
                way_steps, missing, twice = _steps(nodes)
                n_missing += missing
                n_twice += twice
                n_points += sum(step[2:4] == step[4:6] for step in way_steps)
                steps += way_steps
                if len(steps) >= _BUFFER:
                    self._write(np.array(steps, dtype=_STEP))
                    steps.clear()
            if steps:
                self._write(np.array(steps, dtype=_STEP))
        index.unlink(missing_ok=True)
        if not n_roads:
            raise FormatError(
                f"{self.path.name}: none of its {n_ways:,} ways is a road of network_type={network_type!r}; "
                "try 'all', or None for every way"
            )
        if n_missing:
            warn(
                f"{n_missing:,} steps of roads lead to nodes that are not in the file, as where an extract "
                "is cut, and were left out",
                name=self.path.name,
            )
        if n_twice:
            warn(
                f"{n_twice:,} steps are taken twice by their way_steps way and were kept once",
                name=self.path.name,
            )
        if n_points:
            warn(
                f"{n_points:,} steps have length 0 (two nodes in one place) and were contracted",
                name=self.path.name,
            )

    def _write(self, steps: Steps) -> None:
        for (row, column), chosen in self._parts(steps, _BLOCK, None):
            self.blocks.add((row, column))
            with (self.folder / f"{row}-{column}").open("ab") as file:
                file.write(steps[chosen].tobytes())

    def _parts(
        self, steps: Steps, level: int, within: tuple[int, int] | None
    ) -> Iterator[tuple[tuple[int, int], Ints]]:
        """Yield parts of 2**level squares on each side, and which steps may matter to a window of theirs.

        A step matters if one of its ends is within the reach of a square. `within` is the part of the next
        level that the parts are the quarters of, in the order of the Z curve; without it, all parts in
        which steps are.
        """
        keys: dict[tuple[int, int], list[Ints]] = {}
        for x, y in (("x1", "y1"), ("x2", "y2")):
            lon, lat = steps[x] / _UNITS, steps[y] / _UNITS
            up = self.lattice.up(lat)
            low, high = np.floor(up - self.reach).astype(np.int64), np.floor(up + self.reach).astype(np.int64)
            first, last = low >> level, high >> level
            for row in np.arange(first.min(), last.max() + 1) if within is None else _two(within[0]):
                inside = np.flatnonzero((first <= row) & (row <= last))
                ends = (np.full(len(inside), row << level), np.full(len(inside), ((row + 1) << level) - 1))
                places = [self.lattice.across(lon[inside], end) for end in ends]
                west = np.floor(np.minimum(*places) - self.reach).astype(np.int64) >> level
                east = np.floor(np.maximum(*places) + self.reach).astype(np.int64) >> level
                if not len(inside):
                    continue
                if within is None:
                    columns = np.unique(
                        np.concatenate([np.unique(west + i) for i in range(int((east - west).max()) + 1)])
                    )
                else:
                    columns = np.array(_two(within[1]))
                for column in columns.tolist():
                    near = inside[(west <= column) & (column <= east)]
                    if len(near):
                        keys.setdefault((int(row), column), []).append(near)
        for key in sorted(keys):
            yield key, np.unique(np.concatenate(keys[key]))

    def windows(self) -> Iterator[tuple[MetricGraph, float, float]]:
        """Yield the windows along the Z curve, each with its centre."""
        for row, column in sorted(self.blocks, key=lambda block: z_order(*block)):
            file = self.folder / f"{row}-{column}"
            yield from self._of_part(np.memmap(file, dtype=_STEP, mode="r"), _BLOCK, (row, column))
            file.unlink()

    def _of_part(
        self, steps: Steps, level: int, part: tuple[int, int]
    ) -> Iterator[tuple[MetricGraph, float, float]]:
        if level <= _LEAF and (level == 0 or len(steps) <= self.most):
            yield from self._of_leaf(np.array(steps), level, part)
            return
        chosen: dict[tuple[int, int], list[Ints]] = {}
        for start in range(0, len(steps), _BUFFER):
            buffered = np.array(steps[start : start + _BUFFER])
            for key, positions in self._parts(buffered, level - 1, part):
                chosen.setdefault(key, []).append(positions + start)
        for key in sorted(chosen):  # rows first: the Z curve within a part
            yield from self._of_part(steps[np.concatenate(chosen[key])], level - 1, key)

    def _of_leaf(
        self, steps: Steps, level: int, part: tuple[int, int]
    ) -> Iterator[tuple[MetricGraph, float, float]]:
        graph = _graph(steps, self.path.name)
        if not graph.n_edges or graph.coordinates is None:
            return
        lonlat = graph.coordinates
        lon, lat = lonlat.T
        row = self.lattice.row(lat)
        across = self.lattice.across(lon, row)
        column = np.floor(across).astype(np.int64)
        mine = np.flatnonzero((row >> level == part[0]) & (column >> level == part[1]))
        mine = mine[np.abs(lat[mine]) < _MOST_LATITUDE]
        if not len(mine):
            return
        off = np.hypot(self.lattice.up(lat[mine]) - row[mine] - 0.5, across[mine] - column[mine] - 0.5)
        place = np.array(
            [z_order(r, c) for r, c in zip(row[mine].tolist(), column[mine].tolist(), strict=True)]
        )
        order = np.lexsort((mine, off, place))
        landmarks = mine[order][np.flatnonzero(np.diff(place[order], prepend=-1))]
        centre = (float(lat[mine].mean()), float(lon[mine].mean()))
        points = east_north(lonlat, centre)
        near = cKDTree(points).query_ball_point(
            points[landmarks], self.slack * self.radius + 1.0, p=np.inf, return_sorted=True
        )
        for landmark, candidates in zip(landmarks.tolist(), near, strict=True):
            middle = (float(lat[landmark]), float(lon[landmark]))
            candidate_nodes = np.array(candidates, dtype=np.int64)
            inside = candidate_nodes[
                np.abs(east_north(lonlat[candidate_nodes], middle)).max(axis=1) <= self.radius
            ]
            nodes, edges = largest_component(graph, inside)
            window = graph.edge_subgraph(edges, nodes=nodes)
            name = f"{graph.name}[{middle[0]:.5f},{middle[1]:.5f}]"
            yield window.replace(name=name), *middle


def z_order(row: int, column: int) -> int:
    """Return the place of a square on the Z curve: the bits of row and column in turn."""
    place, bit = 0, 0
    while row or column:
        place |= (column & 1) << bit | (row & 1) << (bit + 1)
        row, column, bit = row >> 1, column >> 1, bit + 2
    return place


def _two(part: int) -> tuple[int, int]:
    return 2 * int(part), 2 * int(part) + 1


def _steps(nodes: list[tuple[int, int, int]]) -> tuple[list[tuple[int, ...]], int, int]:
    """Return the steps of a way, and how many were left out: without a place, and taken before."""
    roads: dict[tuple[int, int], tuple[int, ...]] = {}
    missing = twice = 0
    for (tail, x1, y1), (head, x2, y2) in pairwise(nodes):
        if tail == head:
            continue
        if _UNDEFINED in {x1, x2}:
            missing += 1
            continue
        key = (min(tail, head), max(tail, head))
        if key in roads:
            twice += 1
        else:
            roads[key] = (tail, head, x1, y1, x2, y2)
    return list(roads.values()), missing, twice


def _graph(steps: Steps, source: str) -> MetricGraph:
    refs = np.column_stack([steps["tail"], steps["head"]]).ravel()
    places = np.column_stack(
        [np.column_stack([steps[a], steps[b]]).ravel() for a, b in (("x1", "x2"), ("y1", "y2"))]
    )
    way = np.repeat(np.arange(len(steps)), 2)
    name = source.removesuffix(".pbf").removesuffix(".osm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of steps of length 0, which are counted once for all
        return graph_of_ways(refs, way, refs, places / _UNITS, source=source, name=name)
