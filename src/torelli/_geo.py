"""Longitude and latitude: which reference systems have them, and distances on the earth."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import DataWarning, FormatError, shortened, warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats


EARTH_RADIUS = 6_371_009.0
"""Mean radius of the earth in metres. OSMnx uses the same value, so lengths of a city agree."""
METRES_PER_DEGREE = np.pi / 180 * EARTH_RADIUS
"""Length of one degree of latitude, and of one degree of longitude at the equator."""
LONLAT = "EPSG:4326"
"""The reference system of longitude and latitude that files without one are taken to have."""

_MAX_LONGITUDE, _MAX_LATITUDE = 180.0, 90.0
# known without pyproj; spaces, underscores and case do not matter
_GEOGRAPHIC = {
    *("EPSG:4326", "EPSG:4979", "OGC:CRS84", "CRS84", "WGS84"),
    *("EPSG:4269", "OGC:CRS83", "CRS83", "NAD83"),
    *("EPSG:4267", "OGC:CRS27", "CRS27", "NAD27"),
    *("EPSG:4258", "ETRS89"),
}
_URN = re.compile(
    r"(?:URN:(?:X-)?OGC:DEF:CRS:|HTTPS?://WWW\.OPENGIS\.NET/DEF/CRS/)(?P<authority>\w+)[:/][\d.]*[:/](?P<code>\w+)"
)
_AUTHORITY = re.compile(r"(?P<authority>[A-Z]{3,8}):(?P<code>\w{1,12})")
_PROJ_OR_WKT = re.compile(r"\+PROJ=(LONGLAT|LATLONG)\b|GEOGCRS\[|GEOGCS\[")


def is_geographic(crs: str | None) -> bool:
    """Return whether a coordinate reference system has longitude and latitude in degrees.

    Known are WGS 84, NAD83, NAD27 and ETRS89 by name, by code (``EPSG:4326``, ``OGC:CRS84``) and by
    the URN or web address of that code; PROJ strings with ``+proj=longlat``; and well-known text. Other
    codes are looked up in pyproj if it is installed. None, the system of a graph that does not state
    one, is not geographic.
    """
    return crs is not None and _is_geographic(re.sub(r"[\s_]", "", crs).upper())


@lru_cache(maxsize=256)
def _is_geographic(crs: str) -> bool:
    crs = crs.removeprefix("+INIT=")
    urn = _URN.fullmatch(crs)
    if urn is not None:
        crs = f"{urn['authority']}:{urn['code']}"
    elif crs.isdecimal():
        crs = f"EPSG:{crs}"
    if crs in _GEOGRAPHIC or _PROJ_OR_WKT.match(crs):
        return True
    reference = _AUTHORITY.fullmatch(crs)
    if reference is None or find_spec("pyproj") is None:
        return False
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return bool(CRS.from_authority(reference["authority"], reference["code"]).is_geographic)
    except CRSError:
        return False


def out_of_range(points: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each point (x, y) whether it is not a longitude and a latitude; NaN is not."""
    outside: NDArray[np.bool_] = ~(
        (np.abs(points[:, 0]) <= _MAX_LONGITUDE) & (np.abs(points[:, 1]) <= _MAX_LATITUDE)
    )
    return outside


def check_lonlat(points: NDArray[Any] | None, crs: str | None, file: str, *, fatal: bool) -> None:
    """Check that points of a geographic system are longitudes and latitudes.

    Points outside the range are an error if `fatal`, which means that lengths are computed from them,
    else a warning. Points of other systems, and of none, are not checked.
    """
    if points is None or not is_geographic(crs):
        return
    outside = points[out_of_range(points)]
    if not len(outside):
        return
    swapped = not out_of_range(outside[:, 1::-1]).any()
    remedy = "they seem to be swapped: x is the longitude" if swapped else "check the reference system"
    count = f"{len(outside):,} of {len(points):,}"
    problem = f"{count} points lie outside longitude ±180 and latitude ±90; {remedy}"
    if fatal:
        raise FormatError(f"{file}: {problem}")
    warn(f"{shortened(file)}: {problem} (pictures depend on them, lengths do not)", DataWarning)


def great_circle(lon1: Floats, lat1: Floats, lon2: Floats, lat2: Floats) -> Floats:
    """Return distances in metres on a sphere of radius `EARTH_RADIUS`, from degrees (haversine formula)."""
    x1, y1, x2, y2 = (np.deg2rad(degrees) for degrees in (lon1, lat1, lon2, lat2))
    h = np.sin((y2 - y1) / 2) ** 2 + np.cos(y1) * np.cos(y2) * np.sin((x2 - x1) / 2) ** 2
    lengths: Floats = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(h, 1.0)))
    return lengths


def east_north(lonlat: Floats, centre: tuple[float, float]) -> Floats:
    """Return points (longitude, latitude) in metres east and north of a centre given as (lat, lon).

    Equirectangular with true scale at the centre: within 3 km, off by less than 1 in 1,000 below
    latitude 60.
    """
    lon, lat = lonlat.T
    east = (lon - centre[1] + _MAX_LONGITUDE) % (2 * _MAX_LONGITUDE) - _MAX_LONGITUDE
    return np.stack(
        [
            east * METRES_PER_DEGREE * np.cos(np.radians(centre[0])),
            (lat - centre[0]) * METRES_PER_DEGREE,
        ],
        axis=1,
    )
