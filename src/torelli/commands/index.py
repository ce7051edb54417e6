"""``torelli index``: store an index of graphs, in which `torelli find` looks for the nearest ones."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from torelli import _memory
from torelli._errors import InvalidOptionError, shortened
from torelli._files import require_folder
from torelli._registry import KERNELS, get_kernel
from torelli.commands._inputs import (
    Inputs,
    add_bridges_argument,
    add_input_arguments,
    add_jobs_argument,
    at_least,
    expand,
    load_inputs,
    read_options,
)
from torelli.commands._stores import add_window_arguments
from torelli.commands.wording import with_notes

if TYPE_CHECKING:
    from torelli._types import Subparsers
    from torelli.io.readers import Record
    from torelli.kernels import GraphKernel

_DESCRIPTION = """\
Store an index of graphs in a folder, in which `torelli find` looks for the nearest ones.

The index holds the matrices or vectors of the graphs, short sketches that bound distances from below, the
graphs themselves, their names, labels and other fields. Searches are exact, unless --method hnsw is given,
which is faster from some hundred thousand graphs on and may miss a few; the share found is printed.
"""

_EPILOG = """\
examples:
  torelli index windows.jsonl.gz -o windows.index
  torelli index streets/ --labels streets/index.csv --label pattern -o streets.index --kernel ttm
  torelli index germany.osm.pbf --window 300 --kernel ttm -o germany.index
  torelli index --tu PROTEINS -o proteins.index --kernel tte
  torelli find windows.index place.graphml
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "index",
        help="store an index of graphs to search",
        description=_DESCRIPTION,
        epilog=_EPILOG,
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
        default=200,
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
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from torelli.search import GraphIndex

    started = time.perf_counter()
    kernel = _kernel(arguments)
    if arguments.out.is_file():
        raise InvalidOptionError(f"--out {shortened(str(arguments.out))}: this is a file, give a folder")
    require_folder(arguments.out)
    data = load_inputs(arguments, seed=arguments.seed) if arguments.window is None else _windows(arguments)
    index = GraphIndex(
        kernel,
        method=arguments.method,
        ef=arguments.ef,
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
    kernel_class = get_kernel(arguments.kernel)
    options: dict[str, Any] = {}
    if arguments.bridges != "ignore":
        options["bridges"] = arguments.bridges
    if arguments.max_genus is not None:
        options |= {"max_genus": arguments.max_genus, "truncation": "leading"}
    kernel_class.entry.options(options)  # names the kernel if it does not take one of them
    return kernel_class(length=getattr(arguments, "length", "length"), **options)


def _metadata(data: Inputs) -> list[dict[str, Any]]:
    """Return the fields of each graph, with its label under that name."""
    rows = []
    for position, fields in enumerate(data.fields):
        row = {key: value.item() if hasattr(value, "item") else value for key, value in fields.items()}
        if data.labels is not None:
            row["label"] = str(data.labels[position])
        rows.append(row)
    return rows
