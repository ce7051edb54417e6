"""The shared data of the project: real street, power, vessel, river and neuron networks on this machine."""

from __future__ import annotations

import csv
import os
from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import FormatError, unknown_option
from torelli.datasets.storage import shared_data
from torelli.io.read import read, read_records
from torelli.io.values import GEOMETRY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sklearn.utils import Bunch

    from torelli._types import Dataset
    from torelli.graph import MetricGraph

_OSM = "ODbL 1.0, (c) OpenStreetMap contributors"
_OTHER = {
    "power": ("power_*.graphml.gz", "Power grids: SciGRID-DE and two of pandapower. CC-BY, BSD-3."),
    "vessel": ("vessel_*.graphml.gz", "Vessels of a mouse brain (VesselVio). CC-BY-NC."),
    "river": ("river_*.graphml.gz", "The Middle Fork river. Public domain."),
    "neurons": ("neuron_*.graphml.gz", "Two neurons, which are trees: genus 0. CC-BY."),
}
# what the data's own description says and its files do not
_STREETS = {"unit": "m", "crs": "EPSG:4326"}
_CITY120_TYPES = ("organic", "grid", "hybrid")

LOCAL_NAMES = ("city120", "cells", "cities", *_OTHER, "osm")
"""What `load_local` loads."""


def load_local(name: str, *, return_X_y: bool = False) -> Dataset:
    """Load networks of the shared data, from ``TORELLI_DATA`` or ``../shared/data``.

    Parameters
    ----------
    name
        - ``"city120"``: 84 city centres, about 500 m around; ``y`` is 0 organic, 1 grid, 2 hybrid.
        - ``"cells"``: 1,034 cells of 1 km in 20 cities; ``y`` is the city, ``groups`` its number.
        - ``"cities"``: 64 cities or districts; ``y`` is the paper's pattern (empty if it is not known),
          ``network`` how roads were chosen: never mix ``"A"`` and ``"D"`` in one classification.
        - ``"power"``, ``"vessel"``, ``"river"``, ``"neurons"``: 3, 1, 1 and 2 networks without labels.
        - ``"osm"``: 9 raw extracts of OpenStreetMap, as users have them; needs ``torelli[osm]``.
    return_X_y
        Return ``(graphs, y)`` instead of a Bunch.

    Returns
    -------
    data
        A `sklearn.utils.Bunch` with ``graphs``, ``y`` (None where there are no labels), ``names``, ``index``
        (what the data's own index says about each graph, as a dictionary), ``name`` and ``DESCR``, and the
        fields named above.

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.load_local("power")  # doctest: +SKIP
    """
    if name not in LOCAL_NAMES:
        raise unknown_option("local data set", name, LOCAL_NAMES)
    load: dict[str, Callable[[], Bunch]] = {
        "city120": _city120,
        "cells": _cells,
        "cities": _cities,
        "osm": lambda: _unlabelled(sorted(shared_data("osm").iterdir()), f"Raw OpenStreetMap. {_OSM}."),
    }
    if name in _OTHER:
        pattern, description = _OTHER[name]
        data = _unlabelled(sorted(shared_data("other").glob(pattern)), description)
    else:
        data = load[name]()
    data.name = name
    return (data.graphs, data.y) if return_X_y else data


def _city120() -> Bunch:
    folder = shared_data("urn", "city120")
    index = _rows(folder / "index.csv")
    graphs = [read_one(folder / f"{row['city']}.graphml.gz") for row in index]
    from sklearn.utils import Bunch

    return Bunch(
        graphs=graphs,
        y=np.array([int(row["label"]) for row in index], dtype=np.int64),
        target_names=np.array(_CITY120_TYPES),
        names=[row["city"] for row in index],
        index=index,
        DESCR=f"Drive networks of about 500 m around the centres of cities, third-party labels. {_OSM}.",
    )


def _cells() -> Bunch:
    path = shared_data("urn", "cells", "cells.jsonl.gz")
    records = read_records(path)
    graphs = [record.graph.replace(**_STREETS) for record in records]
    index = [{"id": record.graph.name, "city": record.fields["city"]} for record in records]
    cities, groups = np.unique([cell["city"] for cell in index], return_inverse=True)
    from sklearn.utils import Bunch

    return Bunch(
        graphs=graphs,
        y=cities[groups],
        target_names=cities,
        groups=groups,
        names=[cell["id"] for cell in index],
        index=index,
        DESCR=f"Cells of 1 km of 20 cities; lengths are straight lines between nodes. {_OSM}.",
    )


def _cities() -> Bunch:
    index = city_index()
    pattern = np.array([row["pattern"] for row in index])
    from sklearn.utils import Bunch

    return Bunch(
        graphs=[read_city(row["file"]) for row in with_progress(index, "reading cities")],
        y=pattern,
        target_names=np.unique(pattern[pattern != ""]),
        network=np.array([row["network"] for row in index]),
        names=[row["city"] for row in index],
        index=index,
        DESCR=f"Street networks of cities or districts, most a disc of 3 km. {_OSM}.",
    )


def city_index() -> list[dict[str, str]]:
    """Return what the shared data says of each street network of ``urn/graphs``."""
    return _rows(shared_data("urn", "graphs", "index.csv"))


def read_city(file: str, *, lines: bool = False) -> MetricGraph:
    """Return a street network of ``urn/graphs`` by its file name; with `lines`, edges keep their geometry."""
    values = [GEOMETRY] if lines else False
    return read_one(shared_data("urn", "graphs", file), values=values).replace(**_STREETS)


def _unlabelled(paths: list[Path], description: str) -> Bunch:
    from sklearn.utils import Bunch

    return Bunch(
        graphs=[read_one(path, values=True) for path in paths],
        y=None,
        names=[path.name.partition(".")[0] for path in paths],
        index=[{"file": path.name} for path in paths],
        DESCR=description,
    )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_one(path: str | os.PathLike[str], *, values: bool | Sequence[str] = False) -> MetricGraph:
    """Return the graph of a file that must have one."""
    graphs = read(path, values=values)
    if len(graphs) != 1:
        raise FormatError(f"{os.fspath(path)} has {len(graphs)} graphs, one was expected")
    return graphs[0]


def with_progress(rows: Sequence[dict[str, str]], label: str) -> Iterator[dict[str, str]]:
    """Yield rows of an index; what takes more than a second is shown on standard error."""
    from torelli._numerics.threads import ProgressLine

    show = ProgressLine(label)
    for done, row in enumerate(rows, 1):
        yield row
        show(done / len(rows))
