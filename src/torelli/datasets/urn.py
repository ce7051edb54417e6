"""Urban road networks: windows around landmarks of cities, as the paper builds its eight sets."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from torelli._errors import DataWarning, FormatError, InvalidOptionError, listed, unknown_option, warn
from torelli.datasets.local import read_city, read_one, with_progress
from torelli.datasets.osm import city_from_osm
from torelli.datasets.paper import paper_table
from torelli.datasets.storage import cache_folder
from torelli.datasets.windows import Cut, cut_windows, in_lonlat, landmarks_within, metres_from, middle_of
from torelli.graph import MetricGraph
from torelli.io.convert import as_metric_graph
from torelli.io.jsonlines import check_name, write_json_lines
from torelli.io.read import read_records
from torelli.io.readers import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from sklearn.utils import Bunch

    from torelli._types import Dataset, GraphLike, Json

    City = MetricGraph | str | os.PathLike[str]

Source = Literal["osm", "standins"]

URN_NAMES = ("URN2-1S", "URN2-1M", "URN2-2S", "URN2-2M", "URN3-S", "URN3-M", "URN4-S", "URN4-M")
"""The eight sets of the paper."""

_BLOCKS = 4
_PARAMETERS = ("name", "source", "R", "r", "cut", "seed")
_FIELDS = ("label", "city", "group", "centre", "set")


def build_urn(
    cities: Mapping[str, Any] | Sequence[Any],
    *,
    R: float,
    r: float,
    n: int,
    cut: Cut = "bbox",
    seed: int = 0,
    labels: Sequence[str] | None = None,
    centres: Sequence[tuple[float, float] | None] | None = None,
    blocks: int | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """Build a classification set of street networks from city graphs.

    Landmarks are drawn from the nodes within R of the centre of each city, and the window around
    each is cut out with radius r.

    Parameters
    ----------
    cities
        Street networks with coordinates: a list, or a dictionary by name, of graphs (OSMnx's, or anything
        else that `torelli.as_metric_graph` converts) or of paths to files that `torelli.read` reads.
        Coordinates without a reference system are taken to be longitude and latitude; projected ones are
        converted, with a `DataWarning`, which needs pyproj (``torelli[geo]``).
    R
        Global radius in metres: how far from the centre landmarks may lie.
    r
        Local radius in metres: how far from its landmark a window reaches.
    n
        Total number of windows, shared evenly among the cities.
    cut
        Shape of a window. ``"bbox"``: the square of half-side r, as OSMnx cuts; ``"disc"``: within a
        straight-line distance of r; ``"network"``: within r along the streets. R is half the side of a square
        for ``"bbox"``, and a straight-line distance for the others.
    seed
        Seed of the landmarks; a city's landmarks depend on it and on the city's position in `cities`.
    labels
        Class of each city; by default its name.
    centres
        Centre of each city as (lat, lon). By default, or if it is None, the middle of the city's bounding
        box.
    blocks
        Each city is divided into ``blocks`` by ``blocks`` squares that cover the landmarks; by default 4
        by 4, or fewer if they would be smaller than a window.
    return_X_y
        Return ``(graphs, y)`` instead of a Bunch.

    Returns
    -------
    data
        A `sklearn.utils.Bunch` with ``graphs``, ``y`` (labels), ``city``, ``groups`` (the spatial
        block of each window, numbered over all cities), ``centres`` (the landmark of each window as
        lat, lon), ``landmarks`` (its node id), ``streets`` (the whole network of each city, by name),
        ``target_names``, the parameters, and ``DESCR``.
        The coordinates of the graphs are longitude and latitude, and their ``crs`` says so.

    Notes
    -----
    A window is the subgraph induced by the nodes inside it: a street that leaves the window is left out, as
    OSMnx does by default. Of the subgraph only the largest component (by nodes) is kept, which need not
    contain the landmark. Landmarks are nodes of the largest component of the network within R, drawn without
    replacement; a city with fewer nodes than landmarks gets some windows twice, and a `DataWarning` says how
    many. Windows of one city overlap, so random folds leak: use ``groups`` with
    `sklearn.model_selection.StratifiedGroupKFold`. Blocks are at least as wide as a window, so only windows
    of neighbouring blocks can share streets.

    Examples
    --------
    >>> import torelli as tt
    >>> town = tt.datasets.street_pattern("gridiron", radius=400, seed=0)
    >>> town = town.replace(coordinates=town.coordinates / 111_000, crs="EPSG:4326")
    >>> urn = tt.datasets.build_urn({"town": town}, R=250, r=100, n=5, seed=0)
    >>> len(urn.graphs), urn.groups.shape
    (5, (5,))
    """
    named = _named(cities)
    _check(len(named), R, r, n, cut, blocks)
    blocks = min(_BLOCKS, int(R / r)) if blocks is None else blocks
    classes = list(named) if labels is None else list(labels)
    for option, values in (("labels", classes), ("centres", centres)):
        if values is not None and len(values) != len(named):
            raise InvalidOptionError(f"{option} has {len(values)} entries for {len(named)} cities")
    share = [n // len(named) + (i < n % len(named)) for i in range(len(named))]
    graphs: list[MetricGraph] = []
    landmarks: list[Any] = []
    places, groups = [], []
    streets = in_lonlat(
        (city if isinstance(city, MetricGraph) else read_one(city)).replace(name=name)
        for name, city in named.items()
    )
    for i, (name, graph) in enumerate(zip(named, streets, strict=True)):
        given = None if centres is None else centres[i]
        centre = middle_of(graph) if given is None else given
        points = metres_from(graph, centre)
        candidates = landmarks_within(graph, points, R, cut)
        chosen = _choose(candidates, share[i], np.random.default_rng([seed, i]), f"{name} within {R:g} m")
        graphs.extend(cut_windows(graph, points, chosen, r, cut))
        places.append(graph.coordinates[chosen, 1::-1])  # type: ignore[index]  # metres_from has checked them
        landmarks.extend(chosen.tolist() if graph.node_ids is None else [graph.node_ids[k] for k in chosen])
        cell = np.clip(((points[chosen] + R) * (blocks / (2 * R))).astype(np.int64), 0, blocks - 1)
        groups.append(i * blocks**2 + cell[:, 1] * blocks + cell[:, 0])
    y = np.repeat(np.array(classes), share)
    if return_X_y:
        return graphs, y
    from sklearn.utils import Bunch

    return Bunch(
        graphs=graphs,
        y=y,
        city=np.repeat(np.array(list(named)), share),
        groups=np.concatenate(groups),
        centres=np.concatenate(places),
        landmarks=landmarks,
        streets=dict(zip(named, streets, strict=True)),
        target_names=np.unique(y),
        R=R,
        r=r,
        cut=cut,
        seed=seed,
        DESCR=f"{n} windows ({cut}) of radius {r:g} m within {R:g} m of the centres of {', '.join(named)}.",
    )


def load_urn(
    name: str,
    *,
    source: Source = "osm",
    cut: Cut = "bbox",
    seed: int = 0,
    network_type: str = "all",
    blocks: int | None = None,
    return_X_y: bool = False,
    data_home: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Build one of the paper's eight sets of urban road networks, with its cities, radii and counts.

    Parameters
    ----------
    name
        One of `URN_NAMES`.
    source
        ``"osm"``: the paper's cities as OpenStreetMap has them today, through OSMnx (``torelli[osm]``). Each
        city is downloaded once, to the cache, and an interrupted run continues from there. ``"standins"``:
        cities of the shared data (OpenStreetMap of 2020). A city of the paper that is missing from the data
        is replaced by one with the same pattern.
    cut, seed, blocks, return_X_y
        As for `build_urn`.
    network_type
        Which roads, for OSMnx: ``"all"`` (its default, and so presumably the paper's), ``"drive"``, ...
    data_home
        Folder to use instead of the user's cache.

    Returns
    -------
    data
        As for `build_urn`; ``y`` is the pattern, and ``name`` the name of the set.

    Notes
    -----
    Stand-ins are discs with a radius of 3 km: with R = 2 km and r = 300 m, the corners of the outermost
    square windows reach up to 250 m beyond them.

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.load_urn("URN2-1S", source="standins")  # doctest: +SKIP
    """
    if name not in URN_NAMES:
        raise unknown_option("URN set", name, URN_NAMES)
    if source not in get_args(Source):
        raise unknown_option("source", source, get_args(Source))
    rows = [row for row in paper_table("urn_construction") if row["dataset"] == name]
    if source == "osm":
        home = cache_folder(data_home) / "urn"
        cities: dict[str, City] = {
            row["city"]: city_from_osm(row, home, network_type=network_type) for row in rows
        }
        centres = [(float(row["lat"]), float(row["lon"])) for row in rows]
    else:
        by_city = {row["paper_city"]: row for row in paper_table("urn_standins")}
        standins = [by_city[row["city"]] for row in rows]
        reading = with_progress(standins, f"reading the cities of {name}")
        cities = {row["file"].split("_")[0]: read_city(row["file"]) for row in reading}
        centres = [(float(row["centre_lat"]), float(row["centre_lon"])) for row in standins]
    data = build_urn(
        cities,
        R=float(rows[0]["global_radius_m"]),
        r=float(rows[0]["local_radius_m"]),
        n=int(rows[0]["N"]),
        cut=cut,
        seed=seed,
        labels=[row["pattern"] for row in rows],
        centres=centres,
        blocks=blocks,
    )
    data.name = name
    data.source = source
    return (data.graphs, data.y) if return_X_y else data


def save_urn(data: Bunch, path: str | os.PathLike[str]) -> Path:
    """Write a set of `build_urn` or `load_urn` as JSON lines, which `torelli.read` and `read_urn` read.

    Parameters
    ----------
    data
        What `build_urn` or `load_urn` returned.
    path
        File to write, ending in ``.jsonl`` or ``.jsonl.gz``. It appears whole or not at all.

    Notes
    -----
    Each line is an object with ``id``, ``label``, ``city``, ``group`` (spatial block), ``centre``
    (lat, lon), ``landmark``, ``set`` (radii, cut, seed), ``unit``, ``crs``, ``nodes`` as [id, lon, lat]
    and ``edges`` as [from, to, length]. Numbers are written so that they are read back exactly.

    Examples
    --------
    >>> import torelli as tt
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> town = tt.datasets.street_pattern("gridiron", radius=400, seed=0)
    >>> town = town.replace(coordinates=town.coordinates / 111_000, crs="EPSG:4326")
    >>> urn = tt.datasets.build_urn({"town": town}, R=250, r=100, n=5, seed=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = tt.datasets.save_urn(urn, Path(folder, "town.jsonl"))
    ...     again = tt.datasets.read_urn(path)
    >>> again.graphs == urn.graphs
    True
    """
    from torelli._numerics.threads import ProgressLine

    target = Path(path)
    check_name(target)
    about = {key: data[key] for key in _PARAMETERS if key in data}
    show = ProgressLine(f"writing {target.name}")

    def records() -> Iterator[Record]:
        for i, graph in enumerate(data.graphs):
            yield Record(
                graph,
                {
                    "label": str(data.y[i]),
                    "city": str(data.city[i]),
                    "group": int(data.groups[i]),
                    "centre": data.centres[i].tolist(),
                    "landmark": _plain(data.landmarks[i]),
                    "set": about,
                },
            )
            show((i + 1) / len(data.graphs))

    write_json_lines(target, records())
    return target


def read_urn(path: str | os.PathLike[str]) -> Bunch:
    """Return a set that `save_urn` (or ``torelli urn build``) wrote, as `build_urn` returned it.

    The whole networks of the cities (``streets``) are not in the file.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import torelli as tt
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> town = tt.datasets.street_pattern("gridiron", radius=400, seed=0)
    >>> town = town.replace(coordinates=town.coordinates / 111_000, crs="EPSG:4326")
    >>> urn = tt.datasets.build_urn({"town": town}, R=250, r=100, n=5, seed=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = tt.datasets.save_urn(urn, Path(folder, "town.jsonl"))
    ...     tt.datasets.read_urn(path).city.tolist()
    ['town', 'town', 'town', 'town', 'town']
    """
    name = Path(path).name
    records = read_records(path)
    for i, record in enumerate(records):
        missing = [key for key in _FIELDS if key not in record.fields]
        if missing:
            raise FormatError(
                f"{name}, graph {i:,}: there is no {', '.join(missing)}; give a file that save_urn wrote"
            )
    fields = [record.fields for record in records]
    y = np.array([one["label"] for one in fields])
    from sklearn.utils import Bunch

    return Bunch(
        graphs=[record.graph for record in records],
        y=y,
        city=np.array([one["city"] for one in fields]),
        groups=np.array([one["group"] for one in fields], dtype=np.int64),
        centres=np.array([one["centre"] for one in fields], dtype=np.float64).reshape(-1, 2),
        landmarks=[one.get("landmark") for one in fields],
        target_names=np.unique(y),
        DESCR=f"{len(records)} windows read from {name}.",
        **fields[0]["set"],
    )


def _plain(value: Json) -> Json:
    """Return an id as JSON has it; others, such as a pair, as text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)


def _named(cities: Mapping[str, Any] | Sequence[Any]) -> dict[str, City]:
    if isinstance(cities, Mapping):
        return {name: _city(city) for name, city in cities.items()}
    if isinstance(cities, str) or not isinstance(cities, Sequence):
        raise InvalidOptionError("give a list of cities, or a dictionary by name, such as [city]")
    converted = [_city(city) for city in cities]
    names = [
        (city.name or f"city {i}") if isinstance(city, MetricGraph) else Path(city).name.partition(".")[0]
        for i, city in enumerate(converted)
    ]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidOptionError(
            f"two cities are called {listed(repeated)}: give a dictionary with distinct names"
        )
    return dict(zip(names, converted, strict=True))


def _city(city: GraphLike) -> City:
    return city if isinstance(city, (str, os.PathLike)) else as_metric_graph(city)


def _check(n_cities: int, R: float, r: float, n: int, cut: Cut, blocks: int | None) -> None:
    """Raise one error with everything that is wrong with the options."""
    if cut not in get_args(Cut):
        raise unknown_option("cut", cut, get_args(Cut))
    wrong = []
    if not n_cities:
        wrong.append("there are no cities")
    if not 0 < r <= R < np.inf:
        wrong.append(f"r is {r} and R is {R}: use 0 < r <= R, in metres")
    if n < max(n_cities, 1):
        wrong.append(f"n is {n}: use at least one window for each of {n_cities} cities")
    if blocks is not None and (blocks < 1 or R / blocks < r):
        wrong.append(
            f"blocks is {blocks}: use 1 to {int(R / r) if r > 0 else 1}, "
            "so that a block is no smaller than a window"
        )
    if wrong:
        raise InvalidOptionError("; ".join(wrong))


def _choose(candidates: NDArray[np.int64], n: int, rng: np.random.Generator, where: str) -> NDArray[np.int64]:
    """Draw landmarks: no node serves again before all have served equally often."""
    if not len(candidates):
        raise InvalidOptionError(f"{where} of its centre has no streets; take another centre or a larger R")
    if n > len(candidates):
        warn(
            f"{where} of its centre has {len(candidates):,} nodes for {n:,} landmarks: "
            f"{n - len(candidates):,} windows repeat an earlier one (in the same block)",
            DataWarning,
        )
    rounds = -(-n // len(candidates))
    return np.concatenate([rng.permutation(candidates) for _ in range(rounds)])[:n]
