"""``torelli explore``: many networks on one page, with what is similar to what and where it lies."""

from __future__ import annotations

import argparse
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from torelli._errors import InvalidOptionError, listed
from torelli._numerics.threads import ProgressLine
from torelli.commands._inputs import (
    add_collection_arguments,
    add_kernel_argument,
    at_least,
    load_collection,
    read_options,
    say,
    with_notes,
)
from torelli.datasets.local import LOCAL_NAMES
from torelli.datasets.urn import URN_NAMES, Source
from torelli.datasets.windows import Cut

if TYPE_CHECKING:
    from torelli.report.collection import Collection

_A_CITY = 100
_MEGABYTE = 1e6
_LARGE = 10.0
_FOR_WINDOWS = ("radius", "count", "cut")

_DESCRIPTION = """\
Write one HTML page on which many networks can be looked at together.

It has a map (if the networks lie at places), the same networks arranged by similarity (kernel PCA), and
for the place that you choose its network with the basis cycles coloured, its Torelli matrix, and the ten
most similar places. Draw around points in one picture to find them in the other; switch between kernels;
colour by class, cluster, similarity or genus. The page works without a network
connection and with the keyboard, in light and dark.
"""

_EPILOG = """\
examples:
  torelli explore --urn URN4-S                      800 windows of four cities, beside their patterns
  torelli explore Ufa.graphml Nanjing.graphml --window 300 --count 200
                                                    windows cut out of two cities
  torelli explore cells.jsonl.gz --label city       every graph of a file; the key "city" is also its class
  torelli explore streets/ --labels streets/index.csv --label pattern --out streets.html
  torelli explore --tu MUTAG                        no places: similarity only

Time and size: 1,034 cells of 1 km take about a minute on two cores, and the page has 8.5 MB, of which
Plotly is 4.8. Where cycles are many, --max-genus 100 makes the distances much faster.
"""


def add_parser(subparsers: Any) -> None:  # noqa: ANN401  (argparse keeps this type to itself)
    """Declare the command."""
    parser = subparsers.add_parser(
        "explore",
        help="look at many networks on one page",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_collection_arguments(parser)
    parser.add_argument("--urn", choices=URN_NAMES, metavar="NAME", help="a set of the paper, such as URN4-S")
    parser.add_argument(
        "--source",
        choices=get_args(Source),
        help="of --urn: the shared data (the default) or OpenStreetMap",
    )
    parser.add_argument(
        "--local", choices=LOCAL_NAMES, metavar="NAME", help=f"shared data: {', '.join(LOCAL_NAMES)}"
    )
    cutting = parser.add_argument_group("windows of cities")
    cutting.add_argument(
        "--window",
        type=float,
        metavar="M",
        help="cut windows that reach so far, in metres, out of the INPUTs",
    )
    cutting.add_argument(
        "--count", type=at_least(1), metavar="N", help=f"windows in all (default {_A_CITY} a city)"
    )
    cutting.add_argument(
        "--radius",
        type=float,
        metavar="M",
        help="how far from the middle of a city windows lie (default: all of the smallest city)",
    )
    cutting.add_argument("--cut", choices=get_args(Cut), help="shape of a window (default bbox)")
    parser.add_argument(
        "--seed", type=at_least(0), default=0, help="of windows and of lengths that are drawn (default 0)"
    )
    add_kernel_argument(parser)
    parser.add_argument(
        "--clusters", type=at_least(1), metavar="K", help="1 to 8 (default: as many as classes, or 5)"
    )
    parser.add_argument(
        "--max-genus", type=at_least(1), metavar="G", help="compare the first G rows of each matrix only"
    )
    parser.add_argument("--title", help="title of the page")
    parser.add_argument(
        "--out", type=Path, default=Path("explore.html"), metavar="FILE.html", help="(default explore.html)"
    )
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="threads (default: all cores)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from torelli.report.explore import explorer  # noqa: PLC0415  (starting the command line stays fast)
    from torelli.report.page import require_plotly, write  # noqa: PLC0415

    started = time.perf_counter()
    require_plotly()
    if arguments.out.is_dir():
        raise InvalidOptionError(f"--out {arguments.out}: this is a folder, give a file")
    data = collection_of(arguments)
    text = with_notes(
        data.title,
        lambda _: explorer(
            data,
            kernels=arguments.kernel,
            max_genus=arguments.max_genus,
            clusters=arguments.clusters,
            n_jobs=arguments.jobs,
            progress=ProgressLine,
        ),
    )
    write(arguments.out, text)
    size = len(text) / _MEGABYTE
    seconds = time.perf_counter() - started
    print(f"{len(data):,} networks, {size:.1f} MB, {seconds:.0f} s: {arguments.out}")  # noqa: T201  (a command prints)
    if size > _LARGE:
        say(f"torelli: note: above {_LARGE:g} MB a page opens slowly; fewer networks make it smaller")
    if arguments.open:
        webbrowser.open(arguments.out.resolve().as_uri())
    return 0


def collection_of(arguments: argparse.Namespace) -> Collection:
    """Return what the arguments name."""
    from torelli.report.collection import collect, from_bunch  # noqa: PLC0415  (as above)

    files = bool(arguments.files or arguments.tu)
    if files + bool(arguments.urn) + bool(arguments.local) != 1:
        raise InvalidOptionError("give either INPUTs (files, --tu), or one of --urn and --local")
    if arguments.source is not None and not arguments.urn:
        raise InvalidOptionError("--source goes with --urn")
    if arguments.window is not None:
        return _windows(arguments)
    given = [f"--{option}" for option in _FOR_WINDOWS if getattr(arguments, option) is not None]
    if given:
        raise InvalidOptionError(f"{', '.join(given)}: only with --window, which cuts cities into windows")
    if arguments.urn:
        from torelli.datasets.urn import load_urn  # noqa: PLC0415

        name = arguments.urn
        data = with_notes(
            name, lambda _: load_urn(name, source=arguments.source or "standins", seed=arguments.seed)
        )
        return from_bunch(data, arguments.title or name)
    if arguments.local:
        from torelli.datasets.local import load_local  # noqa: PLC0415

        return from_bunch(with_notes(arguments.local, load_local), arguments.title or arguments.local)
    found = load_collection(arguments, seed=arguments.seed)
    return collect(
        found.graphs,
        title=arguments.title or found.title,
        names=found.names,
        classes=None if found.labels is None else found.labels.tolist(),
        cities=found.column("city"),
    )


def _windows(arguments: argparse.Namespace) -> Collection:
    from torelli.io.read import read  # noqa: PLC0415  (as above)
    from torelli.report.collection import windows  # noqa: PLC0415

    if not arguments.files or arguments.tu or arguments.labels:
        raise InvalidOptionError("--window cuts the cities of INPUT files, without --tu or --labels")
    graphs = with_notes("cities", lambda _: read(arguments.files, **read_options(arguments)))
    names = [(graph.name or graph.source or f"city {at}") for at, graph in enumerate(graphs)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidOptionError(f"--window: several cities are called {listed(repeated)}")
    count = arguments.count if arguments.count is not None else _A_CITY * len(graphs)
    data = with_notes(
        "windows",
        lambda _: windows(
            dict(zip(names, graphs, strict=True)),
            window=arguments.window,
            count=count,
            radius=arguments.radius,
            cut=arguments.cut or "bbox",
            seed=arguments.seed,
            title=arguments.title,
        ),
    )
    found: Collection = data
    return found
