"""Coordinates on the earth: checks of range, and lengths along great circles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import FormatError
from torelli.io.edges import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

EARTH_RADIUS = 6_371_009.0
"""Mean radius of the earth in metres, the value of OSMnx: the same city has the same lengths here."""

LONLAT = "EPSG:4326"
_MAX_LONGITUDE, _MAX_LATITUDE = 180.0, 90.0


def great_circle(
    lon1: NDArray[np.float64], lat1: NDArray[np.float64], lon2: NDArray[np.float64], lat2: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return lengths in metres on a sphere of radius `EARTH_RADIUS`, from degrees (haversine formula)."""
    x1, y1, x2, y2 = (np.deg2rad(degrees) for degrees in (lon1, lat1, lon2, lat2))
    h = np.sin((y2 - y1) / 2) ** 2 + np.cos(y1) * np.cos(y2) * np.sin((x2 - x1) / 2) ** 2
    lengths: NDArray[np.float64] = 2 * EARTH_RADIUS * np.arcsin(np.sqrt(np.minimum(h, 1.0)))
    return lengths


def check_places(points: NDArray[Any] | None, crs: str | None, file: str, *, fatal: bool) -> None:
    """Check the range of longitudes and latitudes; `fatal` where lengths come from them, else a warning."""
    if points is None or crs is None or crs.upper() not in {LONLAT, "OGC:CRS84"}:
        return
    x, y = np.abs(points[:, 0]), np.abs(points[:, 1])
    outside = (x > _MAX_LONGITUDE) | (y > _MAX_LATITUDE) | ~np.isfinite(x + y)
    if not outside.any():
        return
    swapped = x[outside].max() <= _MAX_LATITUDE and y[outside].max() <= _MAX_LONGITUDE
    remedy = "they seem to be swapped: x is the longitude" if swapped else "check the reference system"
    count = f"{np.count_nonzero(outside):,} of {len(points):,}"
    message = f"{count} places lie outside longitude ±180 and latitude ±90; {remedy}"
    if fatal:
        raise FormatError(f"{file}: {message}")
    warn(message + " (lengths do not depend on it, pictures do)", name=file)
