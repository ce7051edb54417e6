"""City graphs from OpenStreetMap, through OSMnx, each once."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Any

from torelli._errors import DataNotFoundError, MissingExtraError, unknown_option
from torelli.datasets._download import write_whole
from torelli.datasets.paper import paper_table

if TYPE_CHECKING:
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
    if not target.is_file():
        _download_city(row, reach, network_type, target)
    return target


def _download_city(row: dict[str, str], reach: int, network_type: str, target: Path) -> None:
    try:
        import osmnx as ox  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtraError(
            "downloading street networks needs OSMnx: pip install 'torelli[osm]' "
            "(or use the shared data: source='standins')"
        ) from error

    sys.stderr.write(f"asking OpenStreetMap for the streets of {row['city']}\n")
    sys.stderr.flush()
    failures: list[str] = []
    for attempt in range(ATTEMPTS):
        _wait(PAUSE * 2 ** max(attempt - 1, 0))
        try:
            _probe(ox)
            graph = _ask(ox, (float(row["lat"]), float(row["lon"])), reach, network_type, target.parent)
            write_whole(target, lambda part: ox.save_graphml(graph, part))  # noqa: B023  (called at once)
        # OSMnx's own errors are ValueErrors, those of the connection OSErrors
        except (OSError, ValueError) as error:
            failures.append(_reason(error))
            if not _may_pass(error):
                break
        else:
            return
    tried = "; ".join(f"attempt {at}: {failure}" for at, failure in enumerate(failures, 1))
    raise DataNotFoundError(
        f"could not get the streets of {row['city']} from OpenStreetMap ({tried}). Without a network use "
        "source='standins', or build_urn with graphs of your own. Cities that were downloaded are kept in "
        f"{target.parent}: calling again goes on from here"
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


def _ask(ox: Any, centre: tuple[float, float], reach: int, network_type: str, home: Path) -> Any:  # noqa: ANN401
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
