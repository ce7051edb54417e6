"""Street networks of cities: from files, or downloaded once from OpenStreetMap through OSMnx."""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from torelli._errors import (
    DataNotFoundError,
    FormatError,
    InvalidOptionError,
    MissingExtraError,
    quoted,
    shortened,
    unknown_option,
)
from torelli._files import write_whole
from torelli._geo import LONLAT
from torelli.datasets.paper import paper_table
from torelli.datasets.storage import cache_folder
from torelli.io.osm import NetworkType
from torelli.io.read import read

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from types import ModuleType

    from torelli._types import GraphLike
    from torelli.graph import MetricGraph

NETWORK_TYPES = ("all", "all_public", "bike", "drive", "drive_service", "walk")
PAUSE = 2.0  # seconds between cities, and before the second attempt, on top of OSMnx's own rate limit
ATTEMPTS = 4
_PROBE_SECONDS = 10.0
_BUSY = re.compile(r"responded: (429|5\d\d)\b")  # what OSMnx says of such an answer
_SHOWN = 200

_last_request: dict[str, float] = {}


class City(NamedTuple):
    """A city: its name, its streets, and its centre as (lat, lon), None if it comes from a file."""

    name: str
    streets: MetricGraph
    centre: tuple[float, float] | None


def load_city(
    place: str,
    *,
    reach: float = 2000.0,
    network_type: str = "all",
    data_home: str | os.PathLike[str] | None = None,
    **options: Any,
) -> City:
    """Return the streets of a city from a file or from OpenStreetMap.

    Parameters
    ----------
    place
        A file that `torelli.read` reads, ``"lat,lon"``, or a name that OpenStreetMap's geocoder finds.
    reach
        Half the side of the square to download around a place, in metres.
    network_type
        Which roads, one of `NETWORK_TYPES`; for a file, ``"drive"`` or ``"all"``.
    data_home
        Folder for downloads; by default the user's cache.
    **options
        Further options of `torelli.read`, such as ``split=True`` or ``zero="contract"``.

    Notes
    -----
    A file that does not state its reference system is taken to have longitude and latitude. Values on edges
    are read only if `values` asks for them.
    """
    options = {"values": False, **options}
    path = Path(place)
    if path.exists():
        if network_type not in get_args(NetworkType):
            possible = ", ".join(get_args(NetworkType))
            raise InvalidOptionError(
                f"network type {quoted(network_type)}: for a file ({path.name}) use {possible}"
            )
        name, centre = path.name.partition(".")[0], None
        graphs = read(path, network_type=network_type, **options)
    elif path.suffix[1:].isalpha() and coordinates_of(place) is None:
        raise DataNotFoundError(
            f"there is no file {shortened(place, 400)}; names of places have no ending such as {path.suffix}"
        )
    else:
        name = place
        home = cache_folder(data_home) / "urn" / "places"
        path, centre = place_from_osm(place, home, reach=reach, network_type=network_type)
        graphs = read(path, **options)
    if len(graphs) != 1:
        raise FormatError(f"{path.name} has {len(graphs)} graphs: give a file with one city")
    return City(name, graphs[0].replace(name=name, crs=graphs[0].crs or LONLAT), centre)


def city_from_osm(row: dict[str, str], home: Path, *, network_type: str) -> Path:
    """Return the GraphML file of a city of the paper, downloaded if it is not there yet.

    The cut is as large as the largest of the paper's sets needs that use the city, so that each
    city is downloaded once for all of them.

    Parameters
    ----------
    row
        A row of the paper's table ``urn_construction``.
    home
        Folder of the files.
    network_type
        Which roads, one of `NETWORK_TYPES`.
    """
    if network_type not in NETWORK_TYPES:
        raise unknown_option("network_type", network_type, NETWORK_TYPES)
    place = (row["city"], row["lat"], row["lon"])
    reach = max(
        int(other["global_radius_m"]) + int(other["local_radius_m"])
        for other in paper_table("urn_construction")
        if (other["city"], other["lat"], other["lon"]) == place
    )
    target = home / f"{'_'.join(place)}_{reach}m_{network_type}.graphml"
    _get_streets(row["city"], (float(row["lat"]), float(row["lon"])), reach, network_type, target)
    return target


def place_from_osm(
    place: str, home: Path, *, reach: float, network_type: str
) -> tuple[Path, tuple[float, float]]:
    """Return the GraphML file of the streets around a place, and its centre as (lat, lon).

    Parameters
    ----------
    place
        ``"lat,lon"``, or a name that OpenStreetMap's geocoder finds.
    home
        Folder of the files; a place that is already there is not requested again.
    reach
        Half the side of the square around the centre, in metres.
    network_type
        Which roads, one of `NETWORK_TYPES`.
    """
    if network_type not in NETWORK_TYPES:
        raise unknown_option("network_type", network_type, NETWORK_TYPES)
    stem = re.sub(r"[^\w.,-]+", "_", place)
    centre = coordinates_of(place)
    if centre is None:
        record = home / f"{stem}.place.json"
        if not record.is_file():
            centre_found = _ask_often(f"the place {quoted(place)}", home, lambda ox: ox.geocode(place))

            def write(part: Path) -> None:
                part.write_text(json.dumps([float(degrees) for degrees in centre_found]), encoding="ascii")

            write_whole(record, write)
        lat, lon = json.loads(record.read_text(encoding="ascii"))
        centre = float(lat), float(lon)
    target = home / f"{stem}_{reach:g}m_{network_type}.graphml"
    _get_streets(place, centre, reach, network_type, target)
    return target, centre


def coordinates_of(text: str) -> tuple[float, float] | None:
    """Return "lat,lon" as numbers, or None if the text is something else."""
    match = re.fullmatch(r"\s*(-?\d+(?:\.\d*)?)\s*,\s*(-?\d+(?:\.\d*)?)\s*", text)
    return (float(match[1]), float(match[2])) if match else None


def _get_streets(
    city: str, centre: tuple[float, float], reach: float, network_type: str, target: Path
) -> None:
    """Download the streets around a centre to a file, unless it is there."""
    if target.is_file():
        return
    home = target.parent
    request = f"the streets of {city}"
    graph = _ask_often(request, home, lambda ox: _ask(ox, centre, reach, network_type, home))
    import osmnx as ox

    write_whole(target, lambda part: ox.save_graphml(graph, part))


def _ask_often(request: str, home: Path, ask: Callable[[ModuleType], GraphLike]) -> GraphLike:
    """Return what `ask` gets from OSMnx; retry where that may help, and raise with every attempt."""
    try:
        import osmnx as ox
    except ImportError as error:
        raise MissingExtraError(
            "downloading street networks needs OSMnx: pip install 'torelli[osm]' "
            "(or use the shared data: source='standins')"
        ) from error

    sys.stderr.write(f"asking OpenStreetMap for {request}\n")
    sys.stderr.flush()
    failures: list[str] = []
    for attempt in range(ATTEMPTS):
        _wait(PAUSE * 2 ** max(attempt - 1, 0))
        try:
            _probe(ox)
            return ask(ox)
        # OSMnx's own errors are ValueErrors, those of the connection OSErrors
        except (OSError, ValueError) as error:
            failures.append(_reason(error))
            if not _may_pass(error):
                break
    tried = "; ".join(f"attempt {i}: {failure}" for i, failure in enumerate(failures, 1))
    raise DataNotFoundError(
        f"could not get {request} from OpenStreetMap ({tried}). Without a network connection, "
        "use source='standins', or build_urn with your own graphs. Cities that were downloaded are kept in "
        f"{home}; the same call then continues from there"
    )


def _probe(ox: ModuleType) -> None:
    """Raise at once if the server cannot be reached, where OSMnx would pause for a minute first."""
    import requests

    address = f"{ox.settings.overpass_url.rstrip('/')}/status"
    requests.get(address, timeout=_PROBE_SECONDS, **ox.settings.requests_kwargs).close()


def _may_pass(error: Exception) -> bool:
    """Return whether another attempt may succeed: after a time-out, or if the server is busy or broken."""
    import requests

    return isinstance(error, (TimeoutError, requests.Timeout)) or bool(_BUSY.search(str(error)))


def _reason(error: Exception) -> str:
    """Return what the system says of an error, which requests wraps several times, or its own words."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return str(error)[:_SHOWN]


def _ask(
    ox: ModuleType, centre: tuple[float, float], reach: float, network_type: str, home: Path
) -> GraphLike:
    """Ask OSMnx, with its cache of answers beside the graphs and not in the current folder."""
    before = ox.settings.use_cache, ox.settings.cache_folder
    ox.settings.use_cache, ox.settings.cache_folder = True, str(home / "overpass")
    try:
        return ox.graph_from_point(centre, reach, dist_type="bbox", network_type=network_type)
    finally:
        ox.settings.use_cache, ox.settings.cache_folder = before


def _wait(pause: float) -> None:
    """Wait until `pause` seconds have passed since the last request."""
    since = time.monotonic() - _last_request.get("overpass", -pause)
    if since < pause:
        time.sleep(pause - since)
    _last_request["overpass"] = time.monotonic()
