"""Raw OpenStreetMap: XML and PBF by pyosmium, and the JSON of the Overpass API.

Every node of every way that is kept is a node of the graph, and every step between two nodes of a
way is an edge: the canonical model does not depend on points along a street, so there is nothing
to simplify. A step that a way takes twice, there and back or again, is one piece of street. Lengths
are great-circle metres, as in OSMnx; one-way streets are streets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from torelli._errors import FormatError, shortened, unknown_option
from torelli.graph import MetricGraph
from torelli.io.edges import contract_points, warn
from torelli.io.files import foreign_errors, measure, require
from torelli.io.places import LONLAT, check_places, great_circle, measured_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

NetworkType = Literal["drive", "drive_service", "all"]

_NO_ROADS = "abandoned|construction|no|planned|platform|proposed|raceway|razed|rest_area|services"
_NOT_DRIVABLE = (
    _NO_ROADS
    + "|bridleway|bus_guideway|corridor|cycleway|elevator|escalator|footway|path|pedestrian|steps|track"
)
_PUBLIC = {"access": "private", "motor_vehicle": "no", "motorcar": "no"}

# what a tag's value must not contain, as OSMnx asks the Overpass API for each type of network
_EXCLUDED: dict[str, dict[str, str]] = {
    "all": {"area": "yes", "highway": _NO_ROADS},
    "drive": {
        "area": "yes",
        "highway": _NOT_DRIVABLE + "|service",
        **_PUBLIC,
        "service": "alley|driveway|emergency_access|parking|parking_aisle|private",
    },
    "drive_service": {
        "area": "yes",
        "highway": _NOT_DRIVABLE,
        **_PUBLIC,
        "service": "emergency_access|parking|parking_aisle|private",
    },
}
_SHOWN = 10
_UNDEFINED = 2**31 - 1  # libosmium's coordinate of a node that is not known


def read_osm(path: Path, *, network_type: NetworkType | None, max_bytes: int, **about: Any) -> MetricGraph:  # noqa: ANN401
    """Read the roads of an OSM file: .osm, .osm.gz, .osm.bz2 or .osm.pbf."""
    keep = road_filter(network_type)
    osmium = require("osmium", "osm", f"reading {''.join(path.suffixes[-2:])}")
    if path.suffix.lower() != ".pbf":
        measure(path, max_bytes)
    ways: dict[int, list[int]] = {}
    places: dict[int, tuple[float, float]] = {}
    n_ways, repeated = 0, 0
    with foreign_errors(path.name, "pyosmium"):
        found = osmium.FileProcessor(str(path), osmium.osm.NODE | osmium.osm.WAY)
        # 16 bytes for each node of the file, whatever its id
        found = found.with_locations("sparse_mem_array")
        for way in found.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY)):
            n_ways += 1
            if keep(way.tags):
                repeated += way.id in ways
                ways[way.id] = [node.ref for node in way.nodes]
                places.update(
                    (node.ref, (node.location.lon_without_check(), node.location.lat_without_check()))
                    for node in way.nodes
                    if node.location.x != _UNDEFINED
                )
        missing = {ref for refs in ways.values() for ref in refs} - places.keys()
        if missing and (not places or min(missing) < 0):
            # pyosmium's index has no negative ids (of JOSM), and none of nodes that follow the ways
            for node in osmium.FileProcessor(str(path), osmium.osm.NODE):
                if node.id in missing:
                    places[node.id] = node.location.lon_without_check(), node.location.lat_without_check()
        moved = _moved_nodes(osmium, path)
    if moved:
        raise _more_than_one_place(path.name, moved)
    _check_ways(path.name, n_ways, len(ways), repeated, network_type)
    lon, lat = [lon for lon, _ in places.values()], [lat for _, lat in places.values()]
    return graph_of_ways(list(ways.values()), list(places), lon, lat, **about)


def _moved_nodes(osmium: Any, path: Path) -> list[int]:  # noqa: ANN401  (a module)
    """Return the node ids that a file lists in more than one place.

    Files that say they are sorted by id were made by tools that let no id come twice; others are read
    once more, which takes some microseconds a node.
    """
    with osmium.io.Reader(str(path)) as reader:
        if reader.header().get("sorting") == "Type_then_ID":
            return []
    ids = np.fromiter((node.id for node in osmium.FileProcessor(str(path), osmium.osm.NODE)), dtype=np.int64)
    unique, count = np.unique(ids, return_counts=True)
    places: dict[int, set[tuple[int, int]]] = {identity: set() for identity in unique[count > 1].tolist()}
    if places:
        for node in osmium.FileProcessor(str(path), osmium.osm.NODE):
            if node.id in places:
                places[node.id].add((node.location.x, node.location.y))
    return [identity for identity, found in places.items() if len(found) > 1]


def _more_than_one_place(source: str, moved: list[int]) -> FormatError:
    shown = ", ".join(map(str, moved[:_SHOWN]))
    return FormatError(f"{source}: {len(moved):,} node ids appear in more than one place ({shown})")


def from_overpass(answer: Any, network_type: NetworkType | None, *, source: str, **about: Any) -> MetricGraph:  # noqa: ANN401
    """Convert an answer of the Overpass API: its ways and nodes (or the geometry of its ways)."""
    keep = road_filter(network_type)
    elements = answer.get("elements") if isinstance(answer, dict) else None
    if not isinstance(elements, list):
        raise FormatError(f"{source}: no list of 'elements'; it is JSON, but no answer of the Overpass API")
    remark = str(answer.get("remark", ""))
    if remark.startswith("runtime error"):
        raise FormatError(
            f"{source}: the answer is cut off, as the Overpass API remarks: {remark!r:.300}; ask for a "
            "smaller area, or allow more with [timeout:...] and [maxsize:...]"
        )
    if not elements:
        raise FormatError(
            f"{source}: the answer is empty, it has no 'elements'; check the area and tags asked for"
        )
    ways: dict[int, list[int]] = {}
    ids: list[int] = []
    lon: list[float] = []
    lat: list[float] = []
    n_ways, repeated = 0, 0
    try:
        for element in elements:
            if element["type"] == "node":
                places = [(element["id"], element)]
            elif element["type"] == "way":
                n_ways += 1
                if not keep(element.get("tags", {})):
                    continue
                repeated += element["id"] in ways
                ways[element["id"]] = [int(ref) for ref in element["nodes"]]
                places = list(zip(element["nodes"], element.get("geometry", ()), strict=False))
            else:
                continue
            for identity, place in places:
                if place is not None:
                    ids.append(int(identity))
                    lon.append(float(place["lon"]))
                    lat.append(float(place["lat"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = (
            f"an element lacks {shortened(str(error))}"
            if isinstance(error, KeyError)
            else f"an element is malformed ({shortened(str(error))})"
        )
        raise FormatError(
            f"{source}: {problem}; ask the Overpass API for 'out body' of ways and nodes"
        ) from error
    _check_ways(source, n_ways, len(ways), repeated, network_type)
    return graph_of_ways(list(ways.values()), ids, lon, lat, source=source, **about)


def road_filter(network_type: NetworkType | None) -> Callable[[Mapping[str, str]], bool]:
    """Return the test of a way's tags; with None every way passes, whatever it is."""
    if network_type is None:
        return lambda _: True
    if network_type not in _EXCLUDED:
        raise unknown_option("network_type", network_type, [*_EXCLUDED, None])  # type: ignore[list-item]
    rules = [(key, re.compile(values)) for key, values in _EXCLUDED[network_type].items()]

    def keep(tags: Mapping[str, str]) -> bool:
        if tags.get("highway") is None:
            return False
        return not any(pattern.search(str(tags.get(key, ""))) for key, pattern in rules)

    return keep


def _check_ways(file: str, n_ways: int, n_kept: int, repeated: int, network_type: str | None) -> None:
    if repeated:
        raise FormatError(
            f"{file}: {repeated:,} ways appear more than once; merge the file's parts first (osmium merge)"
        )
    if not n_kept:
        raise FormatError(
            f"{file}: none of its {n_ways:,} ways is a road of network_type={network_type!r}; try 'all', "
            "or None for every way"
        )


def graph_of_ways(
    ways: list[list[int]],
    ids: list[int],
    lon: list[float],
    lat: list[float],
    *,
    source: str,
    **about: Any,  # noqa: ANN401
) -> MetricGraph:
    """Make a graph of ways, each a list of node ids, and the places of nodes."""
    known, places = _unique_places(ids, np.array([lon, lat], dtype=np.float64).T, source)
    refs = _as_ids([ref for way in ways for ref in way], source)
    way = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
    step = way[1:] == way[:-1]
    tail, head = refs[:-1][step], refs[1:][step]
    used = known[np.isin(known, refs)]
    places = places[np.isin(known, refs)]
    there = np.isin(tail, used) & np.isin(head, used)
    if not there.all():
        absent = len(np.setdiff1d(refs, used))
        warn(
            f"{absent:,} nodes of its ways are not in the file, as where an extract is cut; "
            f"{(~there).sum():,} steps of {len(there):,} that touch them were left out",
            name=source,
        )
    tail, head, way = (
        np.searchsorted(used, tail[there]),
        np.searchsorted(used, head[there]),
        way[1:][step][there],
    )
    check_places(places, LONLAT, source, fatal=True)
    # a node that a way repeats in a row is one point of it
    moves = tail != head
    tail, head, way = tail[moves], head[moves], way[moves]
    steps = np.column_stack([way, np.minimum(tail, head), np.maximum(tail, head)])
    _, once = np.unique(steps, axis=0, return_index=True)
    if len(once) < len(steps):
        warn(
            f"{len(steps) - len(once):,} steps are taken twice by their own way and were kept once",
            name=source,
        )
        once.sort()
        tail, head = tail[once], head[once]
    lengths = great_circle(*places[tail].T, *places[head].T)
    tail, head, lengths, kept, contracted = contract_points(tail, head, lengths, len(used))
    if contracted:
        warn(f"{contracted:,} steps have length 0 (two nodes in one place) and were contracted", name=source)
    return MetricGraph(
        tail,
        head,
        lengths,
        len(kept),
        source=source,
        coordinates=places[kept],
        crs=LONLAT,
        node_ids=used[kept].tolist(),
        **{**about, "unit": measured_unit(about.get("unit"), "m", source)},
    )


def _unique_places(
    ids: list[int], places: NDArray[np.float64], source: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort nodes by id; a node may be listed again only in the same place."""
    identity = _as_ids(ids, source)
    known, first, inverse = np.unique(identity, return_index=True, return_inverse=True)
    moved = np.unique(identity[(places != places[first][inverse]).any(axis=1)]) if len(identity) else identity
    if len(moved):
        raise _more_than_one_place(source, moved.tolist())
    return known, places[first]


def _as_ids(ids: list[int], source: str) -> NDArray[np.int64]:
    try:
        return np.array(ids, dtype=np.int64)
    except OverflowError as error:
        raise FormatError(f"{source}: a node id is out of range ({shortened(str(error))})") from error
