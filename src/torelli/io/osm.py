"""Raw OpenStreetMap: XML and PBF by pyosmium, and the JSON of the Overpass API.

Every node of every way that is kept is a node of the graph, and every step between two nodes of a
way is an edge: the canonical model does not depend on points along a street, so there is nothing
to simplify. A step that a way takes twice, there and back or again, is one piece of street. Lengths
are great-circle metres, as in OSMnx; one-way streets are streets. Values on the edges are the way's id,
``osmid``, and the tags in `TAGS`, or those that the caller names.
"""

from __future__ import annotations

import re
from array import array
from itertools import islice
from sys import getsizeof
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from torelli._errors import FormatError, shortened, unknown_option
from torelli._geo import LONLAT, check_lonlat, great_circle
from torelli.graph import MetricGraph
from torelli.io.edges import contract_points, warn
from torelli.io.files import foreign_errors, measure, require
from torelli.io.readers import Option, Reader
from torelli.io.values import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from types import ModuleType

    from numpy.typing import NDArray

    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile

TAGS = (
    "access", "area", "bridge", "est_width", "highway", "junction", "landuse", "lanes", "layer", "maxspeed",
    "name", "oneway", "ref", "service", "surface", "tunnel", "width",
)  # fmt: skip
"""Tags that are kept as values on edges: those that OSMnx keeps, with the level and the surface."""

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
_MORE = 0x80  # bit of a protobuf integer: another byte follows
_SOME = 4096  # nodes of a way that are looked at together
_UNDEFINED = 2**31 - 1  # libosmium's coordinate of a node that is not known
# bytes of a node in pyosmium's index as it grows, in a list of all ids, and of one that is looked up
_INDEXED, _LISTED, _PLACES = 32, 32, 400
# bytes of a way, of a node in it and of a node's place, with those of the graph
_WAY, _REF, _PLACE = 200, 300, 100
_TAG = 60  # bytes of a tag that is kept
_DECODED, _QUEUE = 26, 22  # bytes for each byte of a block of .osm.pbf, and blocks that are decoded ahead


def read_osm(file: SourceFile, *, network_type: NetworkType | None) -> MetricGraph:
    """Return the roads of an OSM file: .osm, .osm.gz, .osm.bz2 or .osm.pbf."""
    path, budget = file.path, file.budget
    keep = road_filter(network_type)
    osmium = require("osmium", "osm", f"reading {''.join(path.suffixes[-2:])}")
    roads = _Roads(file)
    n_ways = 0
    if path.suffix.lower() == ".pbf":
        _check_blocks(path, budget)
    else:
        (n_nodes,) = measure(path, budget, b"<node")
        budget.take(_INDEXED * n_nodes)
    with foreign_errors(path.name, "pyosmium"):
        objects = osmium.FileProcessor(str(path), osmium.osm.NODE | osmium.osm.WAY)
        # 16 bytes for each node of the file, whatever its id
        objects = objects.with_locations("sparse_mem_array")
        for way in objects.with_filter(osmium.filter.EntityFilter(osmium.osm.WAY)):
            n_ways += 1
            if keep(way.tags):
                budget.take(_WAY + _REF * len(way.nodes))
                roads.begin(way.id, way.tags)
                nodes = iter(way.nodes)
                while some := [(node.ref, node.location) for node in islice(nodes, _SOME)]:
                    roads.extend([ref for ref, _ in some])
                    known = [(ref, place) for ref, place in some if place.x != _UNDEFINED]
                    roads.place(
                        [ref for ref, _ in known],
                        [place.lon_without_check() for _, place in known],
                        [place.lat_without_check() for _, place in known],
                    )
        del objects  # with its index
        missing = roads.missing()
        if missing and (not roads.ids or min(missing) < 0):
            # pyosmium's index has no negative ids (of JOSM), and none of nodes that follow the ways
            for node in osmium.FileProcessor(str(path), osmium.osm.NODE):
                if node.id in missing:
                    place = node.location
                    roads.place([node.id], [place.lon_without_check()], [place.lat_without_check()])
        moved = _moved_nodes(osmium, path, budget)
    if moved:
        raise _more_than_one_place(path.name, moved)
    _check_ways(path.name, n_ways, roads, network_type)
    return roads.graph()


def _check_blocks(path: Path, budget: Budget) -> None:
    """Count the memory of the blocks of a .osm.pbf, by the size after decompression that each block states.

    A block that inflates to another size is an error of libosmium. A node has at least three bytes there.
    Blocks are decoded ahead of their use, as many as libosmium's queue holds.
    """
    sizes = []
    try:
        with path.open("rb") as file:
            while start := file.read(4):
                header = dict(_fields(file.read(int.from_bytes(start, "big"))))
                block = dict(_fields(file.read(header[3])))
                sizes.append(block.get(2, 0) or block.get(1, 0))
    except (IndexError, KeyError, ValueError, OSError) as error:
        raise FormatError(f"{path.name}: not a valid .osm.pbf file ({error}); get the file again") from error
    total = sum(sizes)
    budget.take(_INDEXED * (total // 3))
    budget.check(_DECODED * min(total, _QUEUE * max(sizes, default=0)))


def _fields(message: bytes) -> Iterator[tuple[int, int]]:
    """Yield the number of each field of a protobuf message and its value, or its size if it is bytes."""
    position = 0

    def integer() -> int:
        nonlocal position
        value, shift = 0, 0
        while True:
            byte = message[position]
            position += 1
            value |= (byte & ~_MORE) << shift
            shift += 7
            if not byte & _MORE:
                return value

    while position < len(message):
        field, kind = divmod(integer(), 8)
        value = integer()
        if kind not in {0, 2}:
            raise ValueError(f"a field of the kind {kind}")
        position += value if kind else 0
        yield field, value


def _moved_nodes(osmium: ModuleType, path: Path, budget: Budget) -> list[int]:
    """Return the node ids that a file lists in more than one place.

    Files that say they are sorted by id were made by tools that list each id once. Others are read once
    more, which takes some microseconds a node.
    """
    with osmium.io.Reader(str(path)) as reader:
        if reader.header().get("sorting") == "Type_then_ID":
            return []

    def listed() -> Iterator[int]:
        for n, node in enumerate(osmium.FileProcessor(str(path), osmium.osm.NODE)):
            if not n % 2**16:
                budget.check(_LISTED * n)
            yield node.id

    ids = np.fromiter(listed(), dtype=np.int64)
    ids.sort()
    places: dict[int, set[tuple[int, int]]] = {
        identity: set() for identity in np.unique(ids[1:][ids[1:] == ids[:-1]]).tolist()
    }
    budget.check(_PLACES * len(places))
    if places:
        for node in osmium.FileProcessor(str(path), osmium.osm.NODE):
            if node.id in places:
                places[node.id].add((node.location.x, node.location.y))
    return [identity for identity, where in places.items() if len(where) > 1]


def _more_than_one_place(source: str, moved: list[int]) -> FormatError:
    shown = ", ".join(map(str, moved[:_SHOWN]))
    return FormatError(f"{source}: {len(moved):,} node ids appear in more than one place ({shown})")


def is_overpass(file: SourceFile) -> bool:
    """Whether a JSON file is a response of the Overpass API."""
    content = file.json()
    return isinstance(content, dict) and "elements" in content


def read_overpass(file: SourceFile, *, network_type: NetworkType | None) -> MetricGraph:
    """Return the roads in a response of the Overpass API, from its nodes or the geometry of its ways."""
    answer, source, budget = file.json(), file.name, file.budget
    keep = road_filter(network_type)
    elements = answer.get("elements") if isinstance(answer, dict) else None
    if not isinstance(elements, list):
        raise FormatError(f"{source}: not a response of the Overpass API (no list of 'elements')")
    remark = str(answer.get("remark", ""))
    if remark.startswith("runtime error"):
        raise FormatError(
            f"{source}: the response is incomplete, according to the Overpass API: {remark!r:.300}; ask for "
            "a smaller area, or allow more with [timeout:...] and [maxsize:...]"
        )
    if not elements:
        raise FormatError(
            f"{source}: the response is empty (no 'elements'); check the area and tags asked for"
        )
    roads = _Roads(file)
    n_ways = 0
    try:
        nodes = [element for element in elements if element["type"] == "node"]
        budget.take(_PLACE * len(nodes))
        roads.place(_whole([node["id"] for node in nodes]), *_lon_lat(nodes))
        for way in elements:
            n_ways += way["type"] == "way"
            if way["type"] == "way" and keep(way.get("tags", {})):
                refs = _whole(way["nodes"])
                budget.take(_WAY + _REF * len(refs))
                [identity] = _whole([way["id"]])
                roads.begin(identity, way.get("tags", {}))
                roads.extend(refs)
                known = [
                    (ref, place)
                    for ref, place in zip(refs, way.get("geometry", ()), strict=False)
                    if place is not None
                ]
                roads.place([ref for ref, _ in known], *_lon_lat([place for _, place in known]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        problem = (
            f"an element lacks {shortened(str(error))}"
            if isinstance(error, KeyError)
            else f"an element is malformed ({shortened(str(error))})"
        )
        raise FormatError(
            f"{source}: {problem}; ask the Overpass API for 'out body' of ways and nodes"
        ) from error
    _check_ways(source, n_ways, roads, network_type)
    return roads.graph()


def _whole(ids: list[Any]) -> list[int]:
    """Return ids as integers; raise for others, which Python would truncate, and for truth values."""
    if {*map(type, ids)} <= {int}:
        return ids
    wrong = [one for one in ids if isinstance(one, bool) or not isinstance(one, (int, float)) or one % 1]
    if wrong:
        raise TypeError(f"the id {wrong[0]!r:.40} is not a whole number")
    return [int(one) for one in ids]


def _lon_lat(places: list[Any]) -> tuple[list[float], list[float]]:
    return [float(place["lon"]) for place in places], [float(place["lat"]) for place in places]


def road_filter(network_type: NetworkType | None) -> Callable[[Mapping[str, str]], bool]:
    """Return the test of a way's tags; with None every way passes, whatever it is."""
    if network_type is None:
        return lambda _: True
    if network_type not in _EXCLUDED:
        raise unknown_option("network_type", network_type, [*_EXCLUDED, None])
    rules = [(key, re.compile(values)) for key, values in _EXCLUDED[network_type].items()]

    def keep(tags: Mapping[str, str]) -> bool:
        if tags.get("highway") is None:
            return False
        return not any(pattern.search(str(tags.get(key, ""))) for key, pattern in rules)

    return keep


def _check_ways(file: str, n_ways: int, roads: _Roads, network_type: str | None) -> None:
    if roads.n_repeated:
        raise FormatError(
            f"{file}: {roads.n_repeated:,} ways appear more than once; merge the file's parts first "
            "(osmium merge)"
        )
    if not roads.way_ids:
        raise FormatError(
            f"{file}: none of its {n_ways:,} ways is a road of network_type={network_type!r}; try 'all', "
            "or None for every way"
        )


class _Roads:
    """Ways and places of nodes as they are read, in compact arrays.

    Attributes
    ----------
    way_ids, n_repeated
        The ids of the ways, and the number of repeated ways.
    refs, sizes
        The nodes of all ways, one way after the other, and how many each has.
    ids, lon, lat
        Nodes and their places; a node may occur several times.
    values
        Values of each way: its id and tags.
    """

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.kept = file.edge_values()
        wanted = TAGS if isinstance(file.values, bool) else file.values
        self.values: dict[str, list[Any]] = {key: [] for key in ("osmid", *wanted) if self.kept.keeps(key)}
        self.way_ids: set[int] = set()
        self.n_repeated = 0
        self.refs, self.sizes = array("q"), array("q")
        self.ids, self.lon, self.lat = array("q"), array("d"), array("d")

    def begin(self, identity: int, tags: Mapping[str, str]) -> None:
        """Begin a way."""
        for key, column in self.values.items():
            value = identity if key == "osmid" else tags.get(key)
            column.append(value)
            if value is not None:
                self.file.budget.take(_TAG + getsizeof(value))
        self.n_repeated += identity in self.way_ids
        self.way_ids.add(identity)
        self.sizes.append(0)

    def extend(self, refs: list[int]) -> None:
        """Add nodes to the last way."""
        self.refs.extend(refs)
        self.sizes[-1] += len(refs)

    def place(self, ids: list[int], lon: list[float], lat: list[float]) -> None:
        """Add the places of nodes."""
        self.ids.extend(ids)
        self.lon.extend(lon)
        self.lat.extend(lat)

    def missing(self) -> set[int]:
        """Return the nodes of ways whose place is not known."""
        return set(np.setdiff1d(np.array(self.refs), np.array(self.ids)).tolist())

    def graph(self) -> MetricGraph:
        """Return the graph of the ways."""
        places = np.column_stack([np.array(self.lon), np.array(self.lat)])
        way = np.repeat(np.arange(len(self.sizes)), np.array(self.sizes))
        stated = {key: column for key, column in self.values.items() if {*column} - {None}}
        values = self.kept.arrays(stated, dict.fromkeys(TAGS, TEXT))
        n_bytes = sum(array.dtype.itemsize for array in values.values())
        self.file.budget.take(n_bytes * len(self.refs))
        return graph_of_ways(
            np.array(self.refs), way, np.array(self.ids), places, values, **self.file.about()
        )


def graph_of_ways(
    refs: NDArray[np.int64],
    way: NDArray[np.int64],
    ids: NDArray[np.int64],
    places: NDArray[np.float64],
    values: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    *,
    source: str,
    **about: Any,
) -> MetricGraph:
    """Return the graph of ways.

    Parameters
    ----------
    refs, way
        The nodes of all ways in turn, and the way of each.
    ids, places
        Nodes and their places.
    values
        Values of each way, which its steps share.
    source, about
        Further arguments of `MetricGraph`.
    """
    known, places = _unique_places(ids, places, source)
    step = way[1:] == way[:-1]
    tail, head = refs[:-1][step], refs[1:][step]
    used = known[np.isin(known, refs)]
    places = places[np.isin(known, refs)]
    there = np.isin(tail, used) & np.isin(head, used)
    if not there.all():
        absent = len(np.setdiff1d(refs, used))
        warn(
            f"{absent:,} nodes of its ways are not in the file, as at the border of an extract; "
            f"{(~there).sum():,} of {len(there):,} steps, those to or from these nodes, were left out",
            name=source,
        )
    tail, head, way = (
        np.searchsorted(used, tail[there]),
        np.searchsorted(used, head[there]),
        way[1:][step][there],
    )
    check_lonlat(places, LONLAT, source, fatal=True)
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
        tail, head, way = tail[once], head[once], way[once]
    lengths = great_circle(*places[tail].T, *places[head].T)
    way = way[lengths > 0]
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
        edge_values={name: column[way] for name, column in values.items()},
        **{**about, "unit": "m"},
    )


def _unique_places(
    ids: NDArray[np.int64], places: NDArray[np.float64], source: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Sort nodes by id; a node may be listed again only in the same place."""
    known, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    moved = np.unique(ids[(places != places[first][inverse]).any(axis=1)]) if len(ids) else ids
    if len(moved):
        raise _more_than_one_place(source, moved.tolist())
    return known, places[first]


_NETWORK_TYPE = Option(
    "network_type",
    "which ways to read, by the same tags and with the same default as in OSMnx: drive (public drivable "
    "streets), drive_service (with service roads), all (every road and path, the default), or none (every "
    "way, whatever it is)",
    default="all",
    choices=(*_EXCLUDED, None),
)

OSM = Reader(
    "osm",
    (".osm", ".pbf"),
    read_osm,
    options=(_NETWORK_TYPE,),
    extra="osm",
    example="""<?xml version='1.0'?><osm version="0.6"><node id="1" lat="50.0" lon="8.0"/>
<node id="2" lat="50.001" lon="8.0"/><node id="3" lat="50.001" lon="8.001"/>
<way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/><tag k="highway" v="residential"/></way>
<way id="11"><nd ref="3"/><nd ref="1"/><tag k="highway" v="primary"/></way></osm>""",
)

OVERPASS = Reader(
    "overpass",
    (".json",),
    read_overpass,
    options=(_NETWORK_TYPE,),
    content="a response of the Overpass API ('elements')",
    recognises=is_overpass,
    example="""{"elements": [{"type": "node", "id": 1, "lat": 50.0, "lon": 8.0},
 {"type": "node", "id": 2, "lat": 50.001, "lon": 8.0},
 {"type": "way", "id": 9, "nodes": [1, 2], "tags": {"highway": "primary"}}]}""",
)
