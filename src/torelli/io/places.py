"""Where nodes are, by the names of their attributes, and lengths that are measured between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import Fault, InvalidGraphError
from torelli._geo import LONLAT, great_circle, is_geographic, out_of_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torelli._types import Floats, Ints

AXES = {
    "x": "x",
    "y": "y",
    "z": "z",
    **dict.fromkeys(("lon", "long", "lng", "longitude"), "lon"),
    **dict.fromkeys(("lat", "latitude"), "lat"),
}
"""The coordinate that an attribute of a node, in lower case, stands for."""

_XY, _LONLAT = (("x", "y", "z"), ("x", "y")), (("lon", "lat"),)


class Places(NamedTuple):
    """Coordinates of all nodes, and their reference system."""

    coordinates: list[list[float]]
    crs: str | None


def find_places(nodes: Sequence[Mapping[Any, Any]], crs: object = None) -> Places | None:
    """Return the places of nodes from their attributes, if every node has them: x, y (z), or lon, lat.

    `crs` is the reference system that is stated for x and y. If there is none and nodes have longitude and
    latitude too, x and y are places in a drawing.
    """
    names = axes_of(nodes[0]) if nodes else {}
    for axes in (*_LONLAT, *_XY) if crs is None else (*_XY, *_LONLAT):
        if not names.keys() >= {*axes}:
            continue
        keys = [names[axis] for axis in axes]
        try:
            points = [[float(node[key]) for key in keys] for node in nodes]
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        stated = None if crs is None else str(crs)
        return Places(points, stated if axes[0] == "x" or is_geographic(stated) else LONLAT)
    return None


def axes_of(node: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the attribute of a node that is each coordinate; a name in lower case goes first."""
    attribute_of: dict[str, Any] = {}
    for key in node:
        axis = AXES.get(key.lower()) if isinstance(key, str) else None
        if axis is not None and (axis not in attribute_of or key == axis):
            attribute_of[axis] = key
    return attribute_of


def how_to_measure(nodes: Sequence[Mapping[Any, Any]]) -> str:
    """Return what to say where lengths are missing and only some of the nodes have places; else nothing."""
    missing = sum(find_places([node]) is None for node in nodes)
    if missing == len(nodes):
        return ""
    return (
        f", or give every node coordinates to measure by ({missing:,} of {len(nodes):,} nodes have no "
        "longitude and latitude, or x and y)"
    )


def measure(tail: Ints, head: Ints, points: Floats, crs: str | None, name: str | None) -> tuple[Floats, str]:
    """Return straight lengths between the places of nodes, and how they are measured, in words.

    On the sphere and in metres for longitude and latitude; else in the plane, and in space where there are
    three coordinates and no reference system.
    """
    if is_geographic(crs):
        outside = int(np.count_nonzero(out_of_range(points)))
        if outside:
            problem = f"{outside:,} of {len(points):,} nodes lie outside longitude ±180 and latitude ±90"
            remedy = "check the coordinates, from which the lengths are computed: x is the longitude"
            raise InvalidGraphError([Fault(problem, remedy, name=name)])
        (lon1, lat1), (lon2, lat2) = points[tail, :2].T, points[head, :2].T
        return great_circle(lon1, lat1, lon2, lat2), "on the great circle, in metres"
    used = points if crs is None else points[:, :2]
    with np.errstate(over="ignore"):
        lengths: Floats = np.linalg.norm(used[tail] - used[head], axis=1)
    return lengths, "in a straight line, in the unit of the coordinates"
