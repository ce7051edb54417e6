"""``torelli explore``: many networks on one page, by similarity and on a map."""

from __future__ import annotations

import argparse
import re
import shlex
import time
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from torelli._errors import InvalidOptionError, listed, shortened
from torelli._registry import default_kernels
from torelli.commands._inputs import (
    add_along_argument,
    add_bridges_argument,
    add_input_arguments,
    add_jobs_argument,
    add_kernel_argument,
    at_least,
    load_inputs,
    read_options,
)
from torelli.commands.wording import say, with_notes
from torelli.datasets.local import LOCAL_NAMES
from torelli.datasets.urn import URN_NAMES, Source
from torelli.datasets.windows import Cut

if TYPE_CHECKING:
    from torelli._types import Subparsers
    from torelli.explore import NetworkSet

_WINDOWS_PER_CITY = 100
_MEGABYTE = 1e6
_LARGE_PAGE = 10.0  # megabytes
_MAX_ROWS = 1_000_000
_WINDOW_OPTIONS = ("radius", "count", "cut")

_DESCRIPTION = """\
Write one HTML page to explore many networks.

It has a map (if the networks have places), a chart of the networks by similarity (kernel PCA), and for the
selected network a drawing with the basis cycles coloured, the Torelli matrix and the ten most similar
networks. Draw around points in one chart to highlight them in the other, and export them; switch between
kernels; colour by class, city, cluster, similarity or genus. The address of the page records the current
view, so that it can be sent as a link. The page needs no network connection, works with the keyboard, and
has a light and a dark theme.
"""

_EPILOG = """\
examples:
  torelli explore --urn URN4-S                      800 windows of four cities with their patterns
  torelli explore Ufa.graphml Nanjing.graphml --window 300 --count 200
                                                    windows cut out of two cities
  torelli explore cells.jsonl.gz --label city       every graph of a file, with its city as its class
  torelli explore streets/ --labels streets/index.csv --label pattern --out streets.html
  torelli explore --tu MUTAG                        no places: similarity only
  torelli explore --serve windows.index --open      an index of any size

Time and size: the page of 1,034 cells of 1 km takes about a minute on two cores and has 8.7 MB, of which
Plotly takes 4.8. If the networks have many cycles, --max-genus 100 makes the distances much faster.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "explore",
        help="explore many networks on one page",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input_arguments(parser)
    parser.add_argument(
        "--urn", choices=URN_NAMES, metavar="NAME", help="data set of the paper, such as URN4-S"
    )
    parser.add_argument(
        "--urn-source",
        choices=get_args(Source),
        help="source of --urn: the shared data (default) or OpenStreetMap",
    )
    parser.add_argument(
        "--local", choices=LOCAL_NAMES, metavar="NAME", help=f"shared data: {', '.join(LOCAL_NAMES)}"
    )
    cutting = parser.add_argument_group("windows of cities")
    cutting.add_argument(
        "--window",
        type=float,
        metavar="M",
        help="cut windows out of the INPUTs that extend M metres from their landmark",
    )
    cutting.add_argument(
        "--count",
        type=at_least(1),
        metavar="N",
        help=f"total number of windows (default {_WINDOWS_PER_CITY} for each city)",
    )
    cutting.add_argument(
        "--radius",
        type=float,
        metavar="M",
        help="largest distance of a landmark from the middle of its city, in metres (default: as far as the "
        "smallest city allows)",
    )
    cutting.add_argument("--cut", choices=get_args(Cut), help="shape of a window (default bbox)")
    parser.add_argument(
        "--seed", type=at_least(0), default=0, help="seed of windows and of random lengths (default 0)"
    )
    add_kernel_argument(parser)
    add_bridges_argument(parser)
    add_along_argument(parser)
    parser.add_argument(
        "--clusters",
        type=at_least(1),
        metavar="K",
        help="number of clusters, 1 to 8 (default: the number of classes, or 5)",
    )
    parser.add_argument(
        "--max-genus",
        type=at_least(1),
        metavar="G",
        help="compare only the first G rows of each Torelli matrix",
    )
    parser.add_argument(
        "--rows",
        type=rows_of,
        metavar="ROWS",
        help="explore only these networks, numbered from 0, such as 0-9,17; the page exports this option for "
        "selected networks",
    )
    parser.add_argument("--title", help="title of the page")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("explore.html"),
        metavar="FILE.html",
        help="file to write (default explore.html)",
    )
    add_jobs_argument(parser)
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    serving = parser.add_argument_group("an index of many networks")
    serving.add_argument(
        "--serve",
        type=Path,
        metavar="INDEX",
        help="explore an index that `torelli index` wrote, served on this machine until Ctrl-C; networks and "
        "their nearest ones are looked up on demand, so 100,000 of them are no problem",
    )
    serving.add_argument("--port", type=at_least(0), default=0, help="port of --serve (default: a free one)")
    parser.set_defaults(run=run)


def rows_of(text: str) -> list[int]:
    """Return the numbers of a list such as 0-9,17."""
    if not re.fullmatch(r"\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*", text):
        raise argparse.ArgumentTypeError(f"{shortened(text)!r} is not a list of numbers such as 0-9,17")
    rows: dict[int, None] = {}
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) - int(first) >= _MAX_ROWS:
            raise argparse.ArgumentTypeError(f"{part} has more than {_MAX_ROWS:,} numbers")
        rows |= dict.fromkeys(range(int(first), int(last or first) + 1))
    return list(rows)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from torelli._numerics.threads import ProgressLine
    from torelli.explore import explorer_page
    from torelli.webpage import require_plotly, write

    if arguments.serve is not None:
        return _serve(arguments)
    started = time.perf_counter()
    require_plotly()
    if arguments.out.is_dir():
        raise InvalidOptionError(f"--out {arguments.out}: this is a folder, give a file")
    networks = networks_of(arguments)
    if arguments.rows is not None:
        networks = networks.take(arguments.rows)
    text = with_notes(
        networks.title,
        lambda _: explorer_page(
            networks,
            kernels=arguments.kernel,
            bridges=arguments.bridges,
            along=arguments.along,
            max_genus=arguments.max_genus,
            clusters=arguments.clusters,
            command=shlex.join(["torelli", *arguments.argv]),
            n_jobs=arguments.jobs,
            progress=ProgressLine,
        ),
    )
    write(arguments.out, text)
    size = len(text) / _MEGABYTE
    seconds = time.perf_counter() - started
    counted = f"{len(networks):,} network{'' if len(networks) == 1 else 's'}"
    print(f"{counted}, {size:.1f} MB, {seconds:.0f} s: {arguments.out}")
    if size > _LARGE_PAGE:
        say(f"torelli: note: pages above {_LARGE_PAGE:g} MB open slowly; explore fewer networks")
    if arguments.open:
        webbrowser.open(arguments.out.resolve().as_uri())
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    """Serve the explorer of an index until Ctrl-C."""
    from torelli.explore.index_site import IndexSite, serve
    from torelli.search import GraphIndex

    if arguments.files or arguments.tu or arguments.urn or arguments.local:
        raise InvalidOptionError("--serve takes an index alone: make one of INPUTs with `torelli index`")
    chosen = {
        "--kernel": arguments.kernel != default_kernels(),
        "--bridges": arguments.bridges != "ignore",
        "--along": arguments.along is not None,
        "--max-genus": arguments.max_genus is not None,
        "--clusters": arguments.clusters is not None,
        "--rows": arguments.rows is not None,
    }
    for option, is_given in chosen.items():
        if is_given:
            raise InvalidOptionError(
                f"{option} does not go with --serve: an index has the graphs and the kernel it was made with"
            )
    index = GraphIndex.load(arguments.serve, n_jobs=arguments.jobs)
    site = IndexSite(index, arguments.title or arguments.serve.name)
    with serve(site, arguments.port) as server:
        address = f"http://{server.server_address[0]!s}:{server.server_port}/"
        print(f"{index.n_graphs_:,} networks at {address} (Ctrl-C ends)", flush=True)
        if arguments.open:
            webbrowser.open(address)
        server.serve_forever()
    return 0


def networks_of(arguments: argparse.Namespace) -> NetworkSet:
    """Return the networks that the arguments name."""
    from torelli.explore import NetworkSet
    from torelli.search import is_index

    files = bool(arguments.files or arguments.tu)
    if files + bool(arguments.urn) + bool(arguments.local) != 1:
        raise InvalidOptionError("give either INPUTs (files, --tu), or one of --urn and --local")
    if arguments.urn_source is not None and not arguments.urn:
        raise InvalidOptionError("--urn-source goes with --urn")
    for file in filter(is_index, map(Path, arguments.files)):
        command = f"torelli explore --serve {shlex.quote(str(file))}"
        raise InvalidOptionError(f"{shortened(str(file))} is an index of `torelli index`: use {command}")
    if arguments.window is not None:
        return _windows(arguments)
    given = [f"--{option}" for option in _WINDOW_OPTIONS if getattr(arguments, option) is not None]
    if given:
        raise InvalidOptionError(f"{', '.join(given)}: only with --window, which cuts cities into windows")
    if arguments.urn:
        from torelli.datasets.urn import load_urn

        name = arguments.urn
        data = with_notes(
            name, lambda _: load_urn(name, source=arguments.urn_source or "standins", seed=arguments.seed)
        )
        return NetworkSet.from_dataset(data, arguments.title or name)
    if arguments.local:
        from torelli.datasets.local import load_local

        data = with_notes(arguments.local, load_local)
        return NetworkSet.from_dataset(data, arguments.title or arguments.local)
    inputs = load_inputs(arguments, seed=arguments.seed)
    return with_notes(
        inputs.title,
        lambda _: NetworkSet.from_graphs(
            inputs.graphs,
            title=arguments.title or inputs.title,
            names=inputs.names,
            classes=None if inputs.labels is None else inputs.labels.tolist(),
            cities=inputs.column("city"),
        ),
    )


def _windows(arguments: argparse.Namespace) -> NetworkSet:
    """Return windows cut out of the cities that the arguments name."""
    from torelli.explore import NetworkSet
    from torelli.io.read import read

    if not arguments.files or arguments.tu or arguments.labels:
        raise InvalidOptionError("--window cuts the cities of INPUT files, without --tu or --labels")
    graphs = with_notes("cities", lambda _: read(arguments.files, values=False, **read_options(arguments)))
    names = [(graph.name or graph.source or f"city {index}") for index, graph in enumerate(graphs)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidOptionError(f"--window: several cities are called {listed(repeated)}")
    count = arguments.count if arguments.count is not None else _WINDOWS_PER_CITY * len(graphs)
    networks: NetworkSet = with_notes(
        "windows",
        lambda _: NetworkSet.from_cities(
            dict(zip(names, graphs, strict=True)),
            window=arguments.window,
            count=count,
            radius=arguments.radius,
            cut=arguments.cut or "bbox",
            seed=arguments.seed,
            title=arguments.title,
        ),
    )
    return networks
