"""``torelli urn``: build data sets of street networks, train models on them, and map new cities."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from torelli._errors import FormatError, InvalidOptionError, quoted
from torelli._files import require_folder, whole_folder
from torelli._registry import KERNELS, get_kernel
from torelli._validate import is_positive
from torelli.commands._inputs import add_along_argument, add_reading_options, at_least, read_options
from torelli.commands.wording import with_notes
from torelli.datasets.osm import NETWORK_TYPES, coordinates_of, load_city
from torelli.datasets.streets import street_patterns
from torelli.datasets.urn import URN_NAMES, Source, build_urn, load_urn, read_urn, save_urn
from torelli.datasets.windows import Cut
from torelli.io.files import require
from torelli.io.jsonlines import check_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torelli._types import Dataset, Subparsers
    from torelli.cities import CityMap

_NEEDS_CITIES = ("labels", "centres", "radius", "window", "count")

_BUILD = """\
Build a data set for classification: windows around random landmarks of cities, each labelled by its city
or by a label that you give. The file has a line for each window, with label, city, centre and spatial
block. torelli.read reads the graphs; torelli.datasets.read_urn reads everything.

Name one of the paper's eight sets (--set), with cities from OpenStreetMap through OSMnx or, with --source
standins, from the shared data. Or give cities of your own (--cities): files (GraphML, an OpenStreetMap
extract, ...), coordinates, or names for OpenStreetMap's geocoder. Downloads are kept in the cache, so
that nothing is downloaded twice.
"""
_BUILD_EPILOG = f"""\
examples:
  torelli urn build urn4.jsonl.gz --set URN4-S --source standins
  torelli urn build mine.jsonl.gz --cities buffalo.graphml ufa.osm.pbf --labels gridiron chaotic \\
      --radius 1000 --window 150 --count 400
  torelli urn build live.jsonl.gz --cities "Detroit, USA" 12.01,8.59 --labels gridiron chaotic \\
      --radius 2000 --window 300 --count 600

sets: {", ".join(URN_NAMES)}

The paper does not say which roads it uses. Its means (55 to 120 nodes and a genus of 22 to 54 in windows
of 150 m) are larger than drivable roads give in any city we tried. 'all' comes closest and is the
default: in Barcelona's Eixample, windows of 300 m have a mean genus of 20.6 with 'drive', 21.3 with
'drive_service' and 31.7 with 'all' (123 to 188 in the paper's sets of that size).
"""
_TRAIN = """\
Train a classifier of street patterns and save it: a support vector machine on the product of two
kernels, the spectrum of the Torelli matrix with bridges and statistics of the metric space. Neither
depends on how streets are divided into edges. Cross-validation chooses C (over spatial blocks for a built
set), and the accuracy is printed.

The windows come from a set that `torelli urn build` wrote (--data), or are synthetic (--patterns):
gridiron, linear, chaotic and tributary, calibrated on real cities.
"""
_TRAIN_EPILOG = """\
examples:
  torelli urn train model.skops --data urn4.jsonl.gz
  torelli urn train model.skops --patterns 100 --window 300
  torelli urn train model.skops --data urn4.jsonl.gz --kernel ttm

A .skops file is checked when it is loaded and runs no code. Load a .joblib file only if you trust it: it
can run any code.
"""
_CLASSIFY = """\
Predict the pattern of every part of a city, from windows of the size that the model was trained on, one
every --step metres. Writes map.png (the streets in the colour of their pattern), windows.csv (centre,
pattern, margin over the second best, genus, ...) and windows.geojson (for a geographic information system).

The city is a file (GraphML, an OpenStreetMap extract, ...), coordinates, or a name for OpenStreetMap's
geocoder. Use the kind of roads that the model was trained on.
"""
_CLASSIFY_EPILOG = """\
examples:
  torelli urn classify city.graphml --model model.skops --out city-map
  torelli urn classify "Kano, Nigeria" --radius 3000 --model model.skops --out kano
"""

# options of readers that this command uses for something else; tables (--source) have no coordinates
_OWN_OPTIONS = ("network_type", "source", "target")


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command and its own commands."""
    parser = subparsers.add_parser(
        "urn",
        help="street networks: build data sets, train a model, map a city",
        description="Urban road networks: build a data set from cities, train a model on it, map a new city.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_build(commands)
    _add_train(commands)
    _add_classify(commands)


def _add_build(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "build",
        help="build a data set of windows of cities",
        description=_BUILD,
        epilog=_BUILD_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="file to write: .jsonl or .jsonl.gz")
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("--set", choices=URN_NAMES, metavar="NAME", help="one of the paper's eight sets")
    origin.add_argument(
        "--cities", nargs="+", metavar="CITY", help="files, coordinates LAT,LON, or names of places"
    )
    parser.add_argument(
        "--source",
        choices=get_args(Source),
        help="source of --set: OpenStreetMap (default) or the shared data",
    )
    own = parser.add_argument_group("for --cities")
    own.add_argument("--labels", nargs="+", metavar="LABEL", help="class of each city (default: its name)")
    own.add_argument(
        "--centres",
        nargs="+",
        metavar="LAT,LON",
        help="centre of each city (default: the middle of a file, or the place itself)",
    )
    own.add_argument(
        "--radius",
        type=float,
        metavar="M",
        help="largest distance of a landmark from the centre, in metres (default 1000)",
    )
    own.add_argument(
        "--window",
        type=float,
        metavar="M",
        help="how far a window extends from its landmark, in metres (default 150)",
    )
    own.add_argument(
        "--count", type=at_least(1), metavar="N", help="total number of windows (default 100 for each city)"
    )
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
        help="which roads of places and raw OpenStreetMap files (default all)",
    )
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="folder for downloads (default: the user's cache)"
    )
    add_reading_options(parser, leave_out=_OWN_OPTIONS)


def _city_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how the file of a city is read."""
    return {name: value for name, value in read_options(arguments).items() if name not in _OWN_OPTIONS}


def _add_train(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "train",
        help="train a model on a built set or on synthetic patterns",
        description=_TRAIN,
        epilog=_TRAIN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="file to write: .skops or .joblib")
    origin = parser.add_mutually_exclusive_group(required=True)
    origin.add_argument("--data", type=Path, metavar="FILE", help="data set from `torelli urn build`")
    origin.add_argument(
        "--patterns",
        type=at_least(2),
        metavar="N",
        help="number of synthetic windows of each of the four patterns",
    )
    parser.add_argument(
        "--window",
        type=float,
        metavar="M",
        help="half the side of synthetic windows, in metres (default 300)",
    )
    parser.add_argument(
        "--kernel", choices=list(KERNELS), help="a single kernel (default: the product described above)"
    )
    add_along_argument(parser)
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of patterns and folds (default 0)")
    parser.set_defaults(run=_train)


def _add_classify(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "classify",
        help="map a city with a trained model",
        description=_CLASSIFY,
        epilog=_CLASSIFY_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("city", metavar="CITY", help="a file, coordinates LAT,LON, or the name of a place")
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FILE", help="model from `torelli urn train`"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("city-map"), metavar="DIR", help="folder to write (default city-map)"
    )
    parser.add_argument(
        "--step",
        type=float,
        metavar="M",
        help="distance between windows, in metres (default: half the side of a window)",
    )
    parser.add_argument(
        "--radius",
        type=float,
        default=2000.0,
        metavar="M",
        help="how far to go around a place, in metres (default 2000)",
    )
    _add_place_options(parser)
    parser.set_defaults(run=_classify)


def _train(arguments: argparse.Namespace) -> int:
    from torelli.cities import train_pattern_model
    from torelli.persist import check_model_name, save_model

    check_model_name(arguments.out)
    if arguments.data is not None:
        if arguments.window is not None:
            raise InvalidOptionError("--window goes with --patterns: a built set has windows of its own size")
        data = read_urn(arguments.data)
        y, groups, r, cut, source = data.y, data.groups, data.r, data.cut, arguments.data.name
    else:
        r, cut, source = 300.0 if arguments.window is None else arguments.window, "bbox", "synthetic patterns"
        data = street_patterns(arguments.patterns, radius=r, seed=arguments.seed)
        y, groups = data.target_names[data.y], None
    model, C, accuracy = with_notes(
        source,
        lambda _: train_pattern_model(
            data.graphs, y, groups, kernel=arguments.kernel, along=arguments.along, seed=arguments.seed
        ),
    )
    about = {
        "r": float(r),
        "cut": str(cut),
        "source": source,
        "windows": len(y),
        "classes": sorted(set(y.tolist())),
    }
    if arguments.kernel is not None:
        about["kernel"] = arguments.kernel.upper() + get_kernel(arguments.kernel).entry.variant(
            vars(arguments)
        )
    path = save_model(model, arguments.out, about)
    folds = "random" if groups is None else "blocked"
    print(f"{len(y):,} windows of radius {r:g} m from {source}: {', '.join(about['classes'])}")
    if "kernel" in about:
        print(f"kernel: {about['kernel']}")
    print(f"C = {C:g}, accuracy {accuracy:.1%} on {folds} folds")
    print(f"written to {path}")
    return 0


def _classify(arguments: argparse.Namespace) -> int:
    from torelli.cities import map_city

    require("matplotlib", "plot", "the map of a city")
    require_folder(arguments.out)
    model, about = with_notes(str(arguments.model), _load_window_model)
    r = float(about["r"])
    step = r if arguments.step is None else arguments.step
    if not step > 0:
        raise InvalidOptionError(f"--step is {step:g}: give a positive number of metres")
    city = load_city(
        arguments.city,
        reach=arguments.radius + r,
        network_type=arguments.network_type,
        data_home=arguments.cache,
        **_city_options(arguments),
    )
    city_map: CityMap = with_notes(
        city.name, lambda _: map_city(model, city.streets, radius=r, cut=about["cut"], step=step)
    )
    with whole_folder(arguments.out) as part:
        city_map.to_csv(part / "windows.csv")
        city_map.to_geojson(part / "windows.geojson")
        _draw_map(city_map, part / "map.png", f"{city.name}, by a model of {about['source']}")
    shares = city_map.shares()
    print(f"{city.name}: {len(city_map.windows):,} windows of radius {r:g} m, one every {step:g} m")
    for pattern in about["classes"]:
        print(f"  {pattern}: {shares.get(pattern, 0.0):.0%}")
    print(f"written to {arguments.out}: map.png, windows.csv, windows.geojson")
    return 0


def _draw_map(city_map: CityMap, path: Path, title: str) -> None:
    """Draw the streets of a city in the colours of their patterns."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from torelli import plot

    figure = Figure(figsize=(8, 8), layout="constrained")
    FigureCanvasAgg(figure)
    shares, streets = city_map.shares(), city_map.streets_by_pattern()
    legend = [f"{pattern} ({shares[pattern]:.0%})" for pattern in streets]
    plot.city_map(list(streets.values()), legend, ax=figure.subplots(), title=title)
    figure.savefig(path, dpi=130)


def _load_window_model(path: str) -> tuple[Any, dict[str, Any]]:
    """Load a model, and check that it states the windows it was trained on."""
    from torelli.persist import load_model

    model, about = load_model(path)
    is_window_model = (
        hasattr(model, "decision_function")
        and is_positive(about.get("r"))
        and about.get("cut") in get_args(Cut)
        and isinstance(about.get("source"), str)
        and isinstance(about.get("classes"), list)
    )
    if not is_window_model:
        problem = f"{Path(path).name}: not a classifier of windows with their radius, cut and classes"
        raise FormatError(f"{problem}; create one with `torelli urn train`")
    return model, about


def _build(arguments: argparse.Namespace) -> int:
    from torelli.statistics import set_statistics

    check_name(arguments.out)
    load = _paper_set if arguments.set else _own_set
    data = with_notes(arguments.out.name, lambda _: load(arguments))
    path = save_urn(data, arguments.out)
    summary, n_blocks = set_statistics(data.graphs), len(set(data.groups.tolist()))
    print(
        f"{len(data.graphs):,} windows, nodes {summary.nodes:.1f} ± {summary.nodes_std:.1f}, "
        f"genus {summary.genus:.1f} ± {summary.genus_std:.1f}, {n_blocks} spatial blocks"
    )
    for label in data.target_names:
        chosen = data.y == label
        print(f"  {label}: {chosen.sum():,} windows of {', '.join(sorted(set(data.city[chosen])))}")
    print(f"written to {path}")
    return 0


def _paper_set(arguments: argparse.Namespace) -> Dataset:
    given = [f"--{option}" for option in _NEEDS_CITIES if getattr(arguments, option) is not None]
    given += [f"--{option.replace('_', '-')}" for option in _city_options(arguments)]
    if given:
        raise InvalidOptionError(
            f"{', '.join(given)}: only with --cities; the sets of the paper have their own"
        )
    return load_urn(
        arguments.set,
        source=arguments.source or "osm",
        cut=arguments.cut,
        seed=arguments.seed,
        network_type=arguments.network_type,
        data_home=arguments.cache,
    )


def _own_set(arguments: argparse.Namespace) -> Dataset:
    if arguments.source is not None:
        raise InvalidOptionError("--source goes with --set, not with --cities")
    radius = 1000.0 if arguments.radius is None else arguments.radius
    window = 150.0 if arguments.window is None else arguments.window
    n = len(arguments.cities)
    for option in ("labels", "centres"):
        values = getattr(arguments, option)
        if values is not None and len(values) != n:
            raise InvalidOptionError(f"--{option} has {len(values)} entries for {n} cities")
    given_centres = [_centre(text) for text in arguments.centres] if arguments.centres else [None] * n
    cities: dict[str, Any] = {}
    centres = []
    for place, given_centre in zip(_with_progress(arguments.cities), given_centres, strict=True):
        city = load_city(
            place,
            reach=radius + window,
            network_type=arguments.network_type,
            data_home=arguments.cache,
            **_city_options(arguments),
        )
        if city.name in cities:
            raise InvalidOptionError(f"two cities are called {quoted(city.name)}: rename a file")
        cities[city.name] = city.streets
        centres.append(given_centre or city.centre)
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


def _centre(text: str) -> tuple[float, float]:
    centre = coordinates_of(text)
    if centre is None:
        raise InvalidOptionError(
            f"--centres has {quoted(text)}: give LAT,LON in degrees, such as 54.73,55.95"
        )
    return centre


def _with_progress(cities: list[str]) -> Iterator[str]:
    """Yield cities, and show progress on standard error if they take more than a second to read."""
    from torelli._numerics.threads import ProgressLine

    show = ProgressLine("reading cities")
    for done, city in enumerate(cities, 1):
        yield city
        show(done / len(cities))
