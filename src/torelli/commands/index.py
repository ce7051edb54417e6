"""``torelli index`` stores an index of graphs, in which ``torelli find`` looks for the nearest ones."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from torelli import _memory
from torelli._errors import InvalidOptionError, MissingExtraError, shortened
from torelli._files import require_folder
from torelli._registry import KERNELS, get_kernel
from torelli.commands._inputs import (
    Inputs,
    add_along_argument,
    add_bridges_argument,
    add_input_arguments,
    add_jobs_argument,
    add_reading_options,
    at_least,
    expand,
    load_inputs,
    read_options,
)
from torelli.commands.stores import add_window_arguments, check_step
from torelli.commands.wording import say, with_notes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torelli._types import Floats, Ints, Subparsers
    from torelli.graph import MetricGraph
    from torelli.io.readers import Record
    from torelli.kernels import GraphKernel
    from torelli.search import GraphIndex

    Row = dict[str, Any]

_INDEX = """\
Store an index of graphs in a folder, in which `torelli find` looks for the nearest ones.

The index holds the matrices or vectors of the graphs, short sketches that bound distances from below, the
graphs themselves, their names, labels and other fields. Searches are exact, unless --method hnsw is given,
which is faster from a few hundred thousand graphs and may miss some; the share found is printed.
"""

_INDEX_EPILOG = """\
examples:
  torelli index windows.jsonl.gz -o windows.index
  torelli index streets/ --labels streets/index.csv --label pattern -o streets.index --kernel ttm
  torelli index germany.osm.pbf --window 300 --kernel ttm -o germany.index
  torelli index --tu PROTEINS -o proteins.index --kernel tte
  torelli find windows.index place.graphml
"""

_COLUMNS = ("query", "rank", "distance", "index", "id")
_WIDEST = 40
_EF = 200  # candidates of an approximate search
_PICTURES = (".png", ".svg", ".pdf")
_MOST_DRAWN = 60
_FIND = """\
Find the graphs of an index that are nearest to the graphs of files.

The distance is that of the kernel the index was made with. Graphs at equal distance are in the order of the
index. The last line, on standard error, says how many distances were computed.
"""
_FIND_EPILOG = """\
examples:
  torelli find windows.index place.graphml
  torelli find windows.index places.jsonl.gz -k 3 --csv > near.csv
  torelli find windows.index place.graphml --radius 20
  torelli find windows.index place.graphml --picture near.png
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare both commands."""
    _add_index(subparsers)
    _add_find(subparsers)


def _add_index(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "index",
        help="store an index of graphs to search",
        description=_INDEX,
        epilog=_INDEX_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input_arguments(parser)
    add_window_arguments(parser)
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="INDEX", help="folder to write the index to"
    )
    parser.add_argument(
        "--kernel", choices=list(KERNELS), default="ttw", help="kernel whose distance is used (default ttw)"
    )
    add_bridges_argument(parser)
    add_along_argument(parser)
    parser.add_argument(
        "--max-genus",
        type=at_least(1),
        metavar="G",
        help="compare only G rows of each Torelli matrix, those of the shortest chords",
    )
    parser.add_argument(
        "--method",
        choices=("exact", "hnsw"),
        default="exact",
        help="exact (default), or approximate by hnswlib",
    )
    parser.add_argument(
        "--ef",
        type=at_least(1),
        metavar="N",
        help="candidates of an approximate search (default 200): more are slower and find more",
    )
    parser.add_argument(
        "--seed",
        type=at_least(0),
        default=0,
        help="seed of random lengths and of an approximate search (default 0)",
    )
    add_jobs_argument(parser)
    parser.set_defaults(run=_index)


def _index(arguments: argparse.Namespace) -> int:
    from torelli.search import GraphIndex

    started = time.perf_counter()
    if arguments.ef is not None and arguments.method != "hnsw":
        raise InvalidOptionError("--ef is for an approximate search: add --method hnsw, or leave it out")
    check_step(arguments)
    kernel = _kernel(arguments)
    GraphIndex.check_folder(arguments.out)
    require_folder(arguments.out)
    data = load_inputs(arguments, seed=arguments.seed) if arguments.window is None else _windows(arguments)
    index = GraphIndex(
        kernel,
        method=arguments.method,
        ef=_EF if arguments.ef is None else arguments.ef,
        seed=arguments.seed,
        n_jobs=arguments.jobs,
        verbose=True,
    )
    with_notes(data.title, lambda _: index.fit(data.graphs, ids=data.names, metadata=_metadata(data)))
    index.save(arguments.out)
    size = _memory.size(sum(file.stat().st_size for file in arguments.out.iterdir() if file.is_file()))
    seconds = time.perf_counter() - started
    print(f"{index.n_graphs_:,} graphs, {size}, {seconds:.0f} s: {arguments.out}")
    if arguments.method == "hnsw":
        print(f"approximate: finds {index.recall_:.1%} of the ten nearest, measured on a sample")
    return 0


def _windows(arguments: argparse.Namespace) -> Inputs:
    """Return the windows of OpenStreetMap extracts."""
    from torelli.scale.country import country_windows

    files = [Path(file) for file in expand(arguments.files)]
    if not files or arguments.tu or arguments.labels is not None:
        raise InvalidOptionError(
            "--window takes OpenStreetMap extracts: give their files, without --tu or --labels"
        )
    step = arguments.window if arguments.step is None else arguments.step
    options = read_options(arguments)

    def load(_: str) -> list[Record]:
        with TemporaryDirectory(dir=arguments.out.parent) as spool:
            return [
                record
                for file in files
                for record in country_windows(file, Path(spool), arguments.window, step, options)
            ]

    records = with_notes(files[0].name, load)
    return Inputs(
        graphs=[record.graph for record in records],
        names=[record.graph.name or "" for record in records],
        labels=None,
        fields=[record.fields for record in records],
        title=", ".join(file.name for file in files),
    )


def _kernel(arguments: argparse.Namespace) -> GraphKernel:
    """Return the kernel that the arguments name, with the options that it takes."""
    from torelli.representation import options_by_kernel

    options: dict[str, Any] = {}
    if arguments.bridges != "ignore":
        options["bridges"] = arguments.bridges
    if arguments.along is not None:
        options["along"] = arguments.along
    if arguments.max_genus is not None:
        options |= {"max_genus": arguments.max_genus, "truncation": "leading"}
    options_by_kernel([arguments.kernel], options)  # raises if the kernel does not take one of them
    return get_kernel(arguments.kernel)(length=getattr(arguments, "length", "length"), **options)


def _metadata(data: Inputs) -> list[dict[str, Any]]:
    """Return the fields of each graph, with its label under that name."""
    rows = []
    for position, fields in enumerate(data.fields):
        row = {key: value.item() if hasattr(value, "item") else value for key, value in fields.items()}
        if data.labels is not None:
            row["label"] = str(data.labels[position])
        rows.append(row)
    return rows


def _add_find(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "find",
        help="find the nearest graphs of an index",
        description=_FIND,
        epilog=_FIND_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("index", type=Path, metavar="INDEX", help="folder that `torelli index` wrote")
    parser.add_argument("files", nargs="+", metavar="FILE", help="anything that torelli reads")
    parser.add_argument(
        "-k", type=at_least(1), default=10, metavar="K", help="number of graphs to find (default 10)"
    )
    parser.add_argument(
        "--radius", type=float, metavar="R", help="find all graphs up to this distance instead"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print comma-separated values, with all fields")
    form.add_argument("--json", action="store_true", help="print JSON, with all fields")
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE.png",
        help="draw the first query and its nearest graphs (PNG, SVG or PDF)",
    )
    parser.add_argument(
        "--no-verify",
        action="store_true",
        help="skip the check of all files of the index against their checksums",
    )
    add_jobs_argument(parser)
    add_reading_options(parser)
    parser.set_defaults(run=_find)


def _find(arguments: argparse.Namespace) -> int:
    from torelli.io.read import read
    from torelli.search import GraphIndex

    if arguments.radius is not None and not arguments.radius >= 0:
        raise InvalidOptionError(f"--radius {arguments.radius}: use a number of 0 or more")
    if arguments.picture is not None:
        if arguments.picture.suffix.lower() not in _PICTURES:
            name = shortened(str(arguments.picture))
            raise InvalidOptionError(f"--picture {name}: give a name that ends in {', '.join(_PICTURES)}")
        if find_spec("matplotlib") is None:
            raise MissingExtraError("pictures need matplotlib: pip install 'torelli[plot]'")
    index = GraphIndex.load(
        arguments.index, verify=not arguments.no_verify, n_jobs=arguments.jobs, verbose=True
    )
    queries: list[MetricGraph] = with_notes(
        arguments.files[0], lambda _: read(arguments.files, values=False, **read_options(arguments))
    )
    if arguments.radius is not None:
        near = with_notes("index", lambda _: index.query_radius(queries, arguments.radius))
    else:
        k = min(arguments.k, index.n_graphs_)
        if k < arguments.k:
            say(f"torelli: note: the index has {k:,} graphs, fewer than -k {arguments.k:,}: all are listed")
        near = with_notes("index", lambda _: index.query(queries, k))
    rows = _rows(index, queries, *near)
    if arguments.json:
        print(json.dumps(rows, indent=1, default=str))
    elif arguments.csv:
        columns = list(dict.fromkeys([*_COLUMNS, *(key for row in rows for key in row)]))
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        print(_table(rows))
    n_pairs = len(queries) * index.n_distinct_
    computed = f"{index.n_distances_:,} of {n_pairs:,} distances computed ({index.spared_:.1%} spared)"
    recall = getattr(index, "recall_", None)
    exact = "" if recall is None or arguments.radius is not None else f"; approximate, recall {recall:.1%}"
    say(f"torelli: {computed}{exact}")
    if arguments.picture is not None:
        with_notes("picture", lambda _: _draw(index, queries[0], near[0][0], near[1][0], arguments.picture))
    return 0


def _rows(
    index: GraphIndex, queries: list[MetricGraph], distances: Iterable[Floats], indices: Iterable[Ints]
) -> list[Row]:
    """Return a row for each graph that was found, with its metadata."""
    rows = []
    for position, (query, near, where) in enumerate(zip(queries, distances, indices, strict=True)):
        name = query.name or query.source or f"graph {position}"
        for rank, (distance, item) in enumerate(zip(near.tolist(), where.tolist(), strict=True), start=1):
            record = index.record(item)
            own = {"query": name, "rank": rank, "distance": distance, "index": item, "id": record.pop("id")}
            rows.append(own | {key: value for key, value in record.items() if key not in own})
    return rows


def _table(rows: list[Row]) -> str:
    """Return rows as a table: a block for each query, with the label if there is one."""
    lines: list[str] = []
    labelled = any("label" in row for row in rows)
    width = min(max([len(str(row["id"])) for row in rows], default=2), _WIDEST)
    previous = None
    for row in rows:
        if row["rank"] == 1 or row["query"] != previous:
            previous = row["query"]
            heading = f"{'':>4}  {'distance':>12}  {'index':>9}  {'id':<{width}}"
            lines += [""] * bool(lines) + [str(previous), heading + ("  label" if labelled else "")]
        cells = f"{row['rank']:>4}  {row['distance']:>12.6g}  {row['index']:>9}"
        text = f"{cells}  {shortened(str(row['id']), _WIDEST):<{width}}"
        lines.append(f"{text}  {row.get('label', '')}".rstrip())
    return "\n".join(lines) or "nothing within the radius"


def _draw(index: GraphIndex, query: MetricGraph, distances: Floats, indices: Ints, path: Path) -> None:
    """Draw a query and the graphs that were found, and print the path."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from torelli.plot import gallery

    graphs, titles = [query], ["query"]
    for distance, item in zip(distances.tolist()[:_MOST_DRAWN], indices.tolist(), strict=False):
        graphs.append(index.graph(item))
        titles.append(f"{index.record(item)['id']}\n{distance:.4g}")
    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    gallery(graphs, titles, figure=figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    left = len(indices) - _MOST_DRAWN
    print(f"picture: {path}" + (f" (without the last {left:,})" if left > 0 else ""))
