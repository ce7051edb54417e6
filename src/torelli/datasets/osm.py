"""Street networks of cities from OpenStreetMap: downloaded once by OSMnx, and kept."""

from __future__ import annotations

import json
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from torelli._errors import DataNotFoundError, MissingExtraError, quoted, unknown_option
from torelli._files import write_whole
from torelli.datasets.paper import paper_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NETWORK_TYPES = ("all", "all_public", "bike", "drive", "drive_service", "walk")
PAUSE = 2.0  # seconds between cities, and before the second attempt, on top of OSMnx's own rate limit
ATTEMPTS = 4
_PROBE_SECONDS = 10.0
_BUSY = re.compile(r"responded: (429|5\d\d)\b")  # what OSMnx says of such an answer
_SHOWN = 200

_last_request: dict[str, float] = {}


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
        Folder of the files; what is there is not asked for again.
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
    what = f"the streets of {city}"
    graph = _ask_often(what, home, lambda ox: _ask(ox, centre, reach, network_type, home))
    import osmnx as ox  # noqa: PLC0415  (an extra, which has answered)

    write_whole(target, lambda part: ox.save_graphml(graph, part))


def _ask_often(what: str, home: Path, ask: Callable[[Any], Any]) -> Any:  # noqa: ANN401  (OSMnx and its answers)
    """Return what `ask` gets from OSMnx; retry where that may help, and raise with every attempt."""
    try:
        import osmnx as ox  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtraError(
            "downloading street networks needs OSMnx: pip install 'torelli[osm]' "
            "(or use the shared data: source='standins')"
        ) from error

    sys.stderr.write(f"asking OpenStreetMap for {what}\n")
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
        f"could not get {what} from OpenStreetMap ({tried}). Without a network use "
        "source='standins', or build_urn with graphs of your own. Cities that were downloaded are kept in "
        f"{home}: calling again goes on from here"
    )


def _probe(ox: Any) -> None:  # noqa: ANN401
    """Raise at once if the server cannot be reached, where OSMnx would pause for a minute first."""
    import requests  # noqa: PLC0415  (OSMnx brings it)

    address = f"{ox.settings.overpass_url.rstrip('/')}/status"
    requests.get(address, timeout=_PROBE_SECONDS, **ox.settings.requests_kwargs).close()


def _may_pass(error: Exception) -> bool:
    """Return whether another attempt may succeed: after a time-out, or if the server is busy or broken."""
    import requests  # noqa: PLC0415  (OSMnx brings it)

    return isinstance(error, (TimeoutError, requests.Timeout)) or bool(_BUSY.search(str(error)))


def _reason(error: Exception) -> str:
    """Return what the system says of an error, which requests wraps several times, or its own words."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        inner = inner.__cause__ or inner.__context__
    return str(error)[:_SHOWN]


def _ask(ox: Any, centre: tuple[float, float], reach: float, network_type: str, home: Path) -> Any:  # noqa: ANN401
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
