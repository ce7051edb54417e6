"""Collections for the tests of the explorer: networks of two towns, with names that are markup."""

from __future__ import annotations

import numpy as np

import torelli as tt
from torelli.explore import NetworkSet

_METRE = 1 / 111_195  # degrees of latitude
TOWNS = {"<img src=x onerror=window.hacked=1>": (55.9, 54.7), "Nan & <b>jing</b>": (118.8, 32.0)}


def placed(graph, town, east, north):
    """Return a network that is drawn in metres at a place of a town, in degrees."""
    lon, lat = TOWNS[town]
    points = (graph.coordinates + np.array([east, north])) * _METRE
    points[:, 0] /= np.cos(np.radians(lat))
    return graph.replace(coordinates=points + np.array([lon, lat]), crs="EPSG:4326", unit="m")


def two_towns(n: int, *, radius: float = 150.0, distinct: int | None = None):
    """Return n networks of four patterns on grids of two towns; beyond `distinct` they repeat, stretched."""
    made = distinct or n
    patterns = tt.datasets.street_patterns(-(-made // 4), radius=radius, seed=0)
    order = np.random.default_rng(0).permutation(len(patterns.graphs))[:made]
    graphs, classes, cities = [], [], []
    side = int(np.ceil(np.sqrt(n / 2)))
    for i in range(n):
        source = patterns.graphs[order[i % made]]
        stretched = source.replace(length=source.length * (1 + 0.2 * (i // made)))
        town = list(TOWNS)[i % 2]
        row, column = divmod(i // 2, side)
        place = placed(stretched, town, 400.0 * column, 400.0 * row)
        graphs.append(place.replace(name=f"<script>window.hacked=1</script> {i}"))
        classes.append(str(patterns.target_names[patterns.y[order[i % made]]]))
        cities.append(town)
    return NetworkSet.from_graphs(
        graphs, title="</title><script>window.hacked=1</script>", classes=classes, cities=cities
    )
