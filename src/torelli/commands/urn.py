"""``torelli urn``: data sets of street networks from cities, models of them, and maps of new cities."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, InvalidOptionError, quoted, shortened
from torelli._files import require_folder, whole_folder
from torelli._numerics.threads import ProgressLine
from torelli._validate import is_positive
from torelli.commands._inputs import at_least, with_notes
from torelli.datasets.osm import NETWORK_TYPES, coordinates_of, place_from_osm
from torelli.datasets.statistics import set_statistics
from torelli.datasets.storage import cache_folder
from torelli.datasets.streets import street_patterns
from torelli.datasets.urn import URN_NAMES, Source, build_urn, load_urn, read_urn, save_urn
from torelli.datasets.windows import Cut, middle_of
from torelli.io.files import require
from torelli.io.jsonlines import check_name
from torelli.io.osm import NetworkType
from torelli.io.read import read
from torelli.kernels import KERNELS
from torelli.persist import check_model_name, load_model, save_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torelli.graph import MetricGraph

_NEEDS_CITIES = ("labels", "centres", "radius", "window", "count")

_BUILD = """\
Build a classification set: windows around random landmarks of cities, each labelled by its city or
by what you say. The file holds one window a line with label, city, centre and spatial block; torelli.read
reads the graphs, torelli.datasets.read_urn all of it.

Either name one of the paper's eight sets (--set), with the paper's cities from OpenStreetMap through OSMnx
or, with --source standins, from the shared data; or give cities of your own (--cities), each a file
(GraphML, an OpenStreetMap extract, ...), coordinates, or a name for OpenStreetMap's geocoder. What is
downloaded is kept in the cache and never asked for again.
"""
_BUILD_EPILOG = f"""\
examples:
  torelli urn build urn4.jsonl.gz --set URN4-S --source standins
  torelli urn build mine.jsonl.gz --cities buffalo.graphml ufa.osm.pbf --labels gridiron chaotic \\
      --radius 1000 --window 150 --count 400
  torelli urn build live.jsonl.gz --cities "Detroit, USA" 12.01,8.59 --labels gridiron chaotic \\
      --radius 2000 --window 300 --count 600

sets: {", ".join(URN_NAMES)}

Which roads: the paper does not say. Its means (55 to 120 nodes and a genus of 22 to 54
in windows of 150 m) are more than drivable roads gave in any city tried, so 'all' comes nearest and is the
default: in Barcelona's Eixample a window of 300 m has a mean genus of 20.6 with 'drive', 21.3 with
'drive_service' and 31.7 with 'all' (the paper's sets of that size: 123 to 188).
"""
_TRAIN = """\
Train a classifier of street patterns and store it: a support vector machine on the product of two
kernels, the spectrum of the Torelli matrix with bridges and statistics of the metric space, which
both do not depend on how streets are cut into edges. C is chosen by cross-validation (by spatial
blocks for a built set) and its accuracy printed.

The windows come from a set that `torelli urn build` wrote (--data), or are synthetic (--patterns):
gridiron, linear, chaotic and tributary, calibrated on real cities.
"""
_TRAIN_EPILOG = """\
examples:
  torelli urn train model.skops --data urn4.jsonl.gz
  torelli urn train model.skops --patterns 100 --window 300
  torelli urn train model.skops --data urn4.jsonl.gz --kernel ttm

A .skops file runs no code when it is loaded, and is checked; a .joblib file is as dangerous as a program.
"""
_CLASSIFY = """\
Predict the pattern of every part of a city: windows of the size that the model was trained on, one
every --step metres, and each part of the map in the colour of its window. Writes map.png,
windows.csv (centre, pattern, margin to the second best, genus, ...) and windows.geojson (for a
geographic information system).

The city is a file (GraphML, an OpenStreetMap extract, ...), coordinates, or a name for
OpenStreetMap's geocoder. Take the kind of roads that the model was trained on.
"""
_CLASSIFY_EPILOG = """\
examples:
  torelli urn classify city.graphml --model model.skops --out city-map
  torelli urn classify "Kano, Nigeria" --radius 3000 --model model.skops --out kano
"""


def add_parser(subparsers: Any) -> None:  # noqa: ANN401  (argparse keeps this type to itself)
    """Declare the command and its own commands."""
    parser = subparsers.add_parser(
        "urn",
        help="street networks: build sets from cities, train a model, map a new city",
        description="Urban road networks, from cities to a data set to a model to a map.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_build(commands)
    _add_train(commands)
    _add_classify(commands)


def _add_build(commands: Any) -> None:  # noqa: ANN401
    parser = commands.add_parser(
        "build",
        help="windows of cities as a data set",
        description=_BUILD,
        epilog=_BUILD_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="file to write: .jsonl or .jsonl.gz")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--set", choices=URN_NAMES, metavar="NAME", help="one of the paper's eight sets")
    what.add_argument("--cities", nargs="+", metavar="CITY", help="files, LAT,LON or names of places")
    parser.add_argument(
        "--source", choices=get_args(Source), help="of --set: OpenStreetMap (the default) or the shared data"
    )
    own = parser.add_argument_group("for --cities")
    own.add_argument("--labels", nargs="+", metavar="LABEL", help="class of each city (default: its name)")
    own.add_argument(
        "--centres",
        nargs="+",
        metavar="LAT,LON",
        help="of each city (default: the middle of a file, the place asked for)",
    )
    own.add_argument(
        "--radius",
        type=float,
        metavar="M",
        help="how far landmarks lie from a centre, in metres (default 1000)",
    )
    own.add_argument(
        "--window", type=float, metavar="M", help="how far a window reaches, in metres (default 150)"
    )
    own.add_argument("--count", type=at_least(1), metavar="N", help="windows in all (default 100 a city)")
    parser.add_argument(
        "--cut", choices=get_args(Cut), default="bbox", help="shape of a window (default bbox)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of the landmarks (default 0)")
    _add_place_options(parser)
    parser.set_defaults(run=_build)


def _add_place_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--network-type",
        choices=NETWORK_TYPES,
        default="all",
        help="which roads, of places and raw OpenStreetMap files (default all)",
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="folder for what is downloaded")


def _add_train(commands: Any) -> None:  # noqa: ANN401
    parser = commands.add_parser(
        "train",
        help="a model of patterns, from a built set or from synthetic patterns",
        description=_TRAIN,
        epilog=_TRAIN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="file to write: .skops or .joblib")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--data", type=Path, metavar="FILE", help="a set that `torelli urn build` wrote")
    what.add_argument(
        "--patterns", type=at_least(2), metavar="N", help="synthetic windows of each of the four patterns"
    )
    parser.add_argument(
        "--window", type=float, metavar="M", help="half side of synthetic windows in metres (default 300)"
    )
    parser.add_argument(
        "--kernel", choices=list(KERNELS), help="a single kernel (default: the product described above)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of patterns and folds (default 0)")
    parser.set_defaults(run=_train)


def _add_classify(commands: Any) -> None:  # noqa: ANN401
    parser = commands.add_parser(
        "classify",
        help="a map of a city by a trained model",
        description=_CLASSIFY,
        epilog=_CLASSIFY_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("city", metavar="CITY", help="a file, LAT,LON or the name of a place")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="a model of `torelli urn train`"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("city-map"), metavar="DIR", help="folder to write to"
    )
    parser.add_argument(
        "--step", type=float, metavar="M", help="metres between windows (default: half the side of a window)"
    )
    parser.add_argument(
        "--radius",
        type=float,
        default=2000.0,
        metavar="M",
        help="how far to go around a place (default 2000)",
    )
    _add_place_options(parser)
    parser.set_defaults(run=_classify)


def _train(arguments: argparse.Namespace) -> int:
    from torelli.commands import _urn_models  # noqa: PLC0415  (its imports are for this alone)

    check_model_name(arguments.out)
    if arguments.data is not None:
        if arguments.window is not None:
            raise InvalidOptionError("--window goes with --patterns: a built set has its own")
        data = read_urn(arguments.data)
        y, groups, r, cut, source = data.y, data.groups, data.r, data.cut, arguments.data.name
    else:
        r, cut, source = 300.0 if arguments.window is None else arguments.window, "bbox", "synthetic patterns"
        data = street_patterns(arguments.patterns, radius=r, seed=arguments.seed)
        y, groups = data.target_names[data.y], None
    model, cost, accuracy = with_notes(
        source,
        lambda _: _urn_models.train(data.graphs, y, groups, kernel=arguments.kernel, seed=arguments.seed),
    )
    about = {
        "r": float(r),
        "cut": str(cut),
        "source": source,
        "windows": len(y),
        "classes": sorted(set(y.tolist())),
    }
    path = save_model(model, arguments.out, about)
    folds = "random" if groups is None else "blocked"
    print(f"{len(y):,} windows of radius {r:g} m from {source}: {', '.join(about['classes'])}")  # noqa: T201
    print(f"C = {cost:g}, accuracy {accuracy:.1%} on {folds} folds")  # noqa: T201
    print(f"written to {path}")  # noqa: T201
    return 0


def _classify(arguments: argparse.Namespace) -> int:
    from torelli.commands import _urn_models  # noqa: PLC0415  (its imports are for this alone)

    require("matplotlib", "plot", "the map of a city")
    require_folder(arguments.out)
    model, about = with_notes(str(arguments.model), _load_window_model)
    r = float(about["r"])
    step = r if arguments.step is None else arguments.step
    if not step > 0:
        raise InvalidOptionError(f"--step is {step:g}: give a positive number of metres")
    name, city, _ = read_place(
        arguments.city,
        reach=arguments.radius + r,
        network_type=arguments.network_type,
        cache=arguments.cache,
    )
    found = with_notes(
        name, lambda _: _urn_models.classify_city(model, city, r=r, cut=about["cut"], step=step)
    )
    with whole_folder(arguments.out) as part:
        _urn_models.write_csv(found, part / "windows.csv")
        _urn_models.write_geojson(found, part / "windows.geojson")
        _urn_models.draw_map(found, part / "map.png", f"{name}, by a model of {about['source']}")
    print(f"{name}: {len(found.windows):,} windows of radius {r:g} m, one every {step:g} m")  # noqa: T201
    for label in about["classes"]:
        print(f"  {label}: {np.mean(found.labels == label):.0%}")  # noqa: T201
    print(f"written to {arguments.out}: map.png, windows.csv, windows.geojson")  # noqa: T201
    return 0


def _load_window_model(path: str) -> tuple[Any, dict[str, Any]]:
    """Load a model, and make sure that it says what windows it is for."""
    model, about = load_model(path)
    known = (
        hasattr(model, "decision_function")
        and is_positive(about.get("r"))
        and about.get("cut") in get_args(Cut)
        and isinstance(about.get("source"), str)
        and isinstance(about.get("classes"), list)
    )
    if not known:
        problem = f"{Path(path).name}: not a classifier of windows, with their radius, cut and classes"
        raise FormatError(f"{problem}; make one with `torelli urn train`")
    return model, about


def _build(arguments: argparse.Namespace) -> int:
    check_name(arguments.out)
    load = _paper_set if arguments.set else _own_set
    data = with_notes(arguments.out.name, lambda _: load(arguments))
    path = save_urn(data, arguments.out)
    found = set_statistics(data.graphs)
    print(  # noqa: T201
        f"{len(data.graphs):,} windows, nodes {found.nodes:.1f} ± {found.nodes_std:.1f}, "
        f"genus {found.genus:.1f} ± {found.genus_std:.1f}, {len(set(data.groups.tolist()))} spatial blocks"
    )
    for label in data.target_names:
        chosen = data.y == label
        print(f"  {label}: {chosen.sum():,} windows of {', '.join(sorted(set(data.city[chosen])))}")  # noqa: T201
    print(f"written to {path}")  # noqa: T201
    return 0


def _paper_set(arguments: argparse.Namespace) -> Any:  # noqa: ANN401  (a Bunch)
    given = [f"--{option}" for option in _NEEDS_CITIES if getattr(arguments, option) is not None]
    if given:
        raise InvalidOptionError(f"{', '.join(given)} go with --cities: the sets of the paper have their own")
    return load_urn(
        arguments.set,
        source=arguments.source or "osm",
        cut=arguments.cut,
        seed=arguments.seed,
        network_type=arguments.network_type,
        data_home=arguments.cache,
    )


def _own_set(arguments: argparse.Namespace) -> Any:  # noqa: ANN401  (a Bunch)
    if arguments.source is not None:
        raise InvalidOptionError("--source goes with --set: what --cities names says where it comes from")
    radius = 1000.0 if arguments.radius is None else arguments.radius
    window = 150.0 if arguments.window is None else arguments.window
    n = len(arguments.cities)
    for option in ("labels", "centres"):
        values = getattr(arguments, option)
        if values is not None and len(values) != n:
            raise InvalidOptionError(f"--{option} has {len(values)} entries for {n} cities")
    given = [_centre(text) for text in arguments.centres] if arguments.centres else [None] * n
    cities: dict[str, Any] = {}
    centres = []
    for city, centre in zip(_shown(arguments.cities), given, strict=True):
        name, graph, found = read_place(
            city, reach=radius + window, network_type=arguments.network_type, cache=arguments.cache
        )
        if name in cities:
            raise InvalidOptionError(f"two cities are called {quoted(name)}: rename a file")
        cities[name] = graph
        centres.append(centre or found or middle_of(graph))
    return build_urn(
        cities,
        R=radius,
        r=window,
        n=100 * n if arguments.count is None else arguments.count,
        cut=arguments.cut,
        seed=arguments.seed,
        labels=arguments.labels,
        centres=centres,
    )


def read_place(
    city: str, *, reach: float, network_type: str, cache: Path | None
) -> tuple[str, MetricGraph, tuple[float, float] | None]:
    """Return the name, the streets and the centre (None for the middle) of a file or a place.

    Parameters
    ----------
    city
        A file that `torelli.read` reads, ``"lat,lon"``, or the name of a place.
    reach
        Half the side of the square to download around a place, in metres.
    network_type
        Which roads, of places and raw OpenStreetMap files.
    cache
        Folder for what is downloaded; by default the user's cache.
    """
    path = Path(city)
    if path.exists():
        if network_type not in get_args(NetworkType):
            possible = ", ".join(get_args(NetworkType))
            raise InvalidOptionError(
                f"--network-type {network_type}: for a file ({path.name}) use {possible}"
            )
        centre, name = None, path.name.partition(".")[0]
        graphs = read(path, network_type=network_type)
    elif path.suffix[1:].isalpha() and coordinates_of(city) is None:
        raise DataNotFoundError(
            f"there is no file {shortened(city, 400)}; a place has no ending such as {path.suffix}"
        )
    else:
        home = cache_folder(cache) / "urn" / "places"
        path, centre = place_from_osm(city, home, reach=reach, network_type=network_type)
        graphs, name = read(path), city
    if len(graphs) != 1:
        raise FormatError(f"{path.name} has {len(graphs)} graphs: give a file with one city")
    # windows are cut by longitude and latitude: a file that does not say what its coordinates are has these
    return name, graphs[0].replace(name=name, crs=graphs[0].crs or "EPSG:4326"), centre


def _centre(text: str) -> tuple[float, float]:
    centre = coordinates_of(text)
    if centre is None:
        raise InvalidOptionError(
            f"--centres has {quoted(text)}: give LAT,LON in degrees, such as 54.73,55.95"
        )
    return centre


def _shown(cities: list[str]) -> Iterator[str]:
    """Yield cities; what takes more than a second to read is shown on standard error."""
    show = ProgressLine("reading cities")
    for done, city in enumerate(cities, 1):
        yield city
        show(done / len(cities))
