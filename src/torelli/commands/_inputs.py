"""What commands have in common: naming files and benchmark sets, reading them, and their labels."""

from __future__ import annotations

import argparse
import csv
import glob
import io
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, listed, quoted, shortened
from torelli.kernels import KERNELS, default_kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

READ_OPTIONS = ("length", "unit", "network_type", "tolerance", "layer", "direction_tolerance", "max_bytes")
_TABLE = 150  # bytes for each character of a table of labels, at most
LENGTHS = ("uniform", "attribute", "unit", "resistance")
_SHOWN = 5


@dataclass(frozen=True)
class Collection:
    """Graphs of the inputs in their order.

    Attributes
    ----------
    graphs, names
        The graphs, and what to call each of them.
    labels
        The class of each graph as text, None if the inputs have none.
    title
        What to call the whole.
    """

    graphs: list[MetricGraph]
    names: list[str]
    labels: NDArray[np.str_] | None
    title: str


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `torelli.read`."""
    reading = parser.add_argument_group(
        "how files are read, as in torelli.read", argument_default=argparse.SUPPRESS
    )
    reading.add_argument("--length", metavar="NAME", help="attribute or column with the edge lengths")
    reading.add_argument(
        "--unit",
        help="unit to have lengths in, such as m or km: where a file states another, they are converted",
    )
    reading.add_argument(
        "--network-type",
        choices=("drive", "drive_service", "all", "none"),
        help="which ways of OpenStreetMap are taken ('none': every way, whatever it is)",
    )
    reading.add_argument(
        "--tolerance", type=float, metavar="DISTANCE", help="within which end points of lines are one node"
    )
    reading.add_argument("--layer", metavar="NAME", help="layer of a file of lines that has several")
    reading.add_argument(
        "--direction-tolerance",
        type=float,
        metavar="PART",
        help="relative difference of lengths up to which opposite edges of a directed graph are one street",
    )
    reading.add_argument(
        "--max-bytes",
        type=_whole_number,
        metavar="BYTES",
        help="most memory that reading a file may take, such as 8e9 (default: half of what is free)",
    )


def add_kernel_argument(parser: argparse.ArgumentParser) -> None:
    """Declare which kernels to use, from all that there are."""
    parser.add_argument(
        "--kernel",
        nargs="+",
        choices=list(KERNELS),
        default=default_kernels(),
        help=f"kernels to use (default: {' '.join(default_kernels())})",
    )


def add_collection_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what names a collection of graphs and their labels."""
    parser.add_argument(
        "files", nargs="*", metavar="INPUT", help="anything that torelli reads; patterns and folders too"
    )
    parser.add_argument(
        "--tu", nargs="+", default=[], metavar="NAME", help="benchmark sets of the TU site, such as MUTAG"
    )
    parser.add_argument(
        "--lengths",
        choices=LENGTHS,
        default="uniform",
        help="edge lengths of TU sets: drawn from Unif(0, 1) as in the paper (the default), the set's own "
        "attribute, all 1, or effective resistances",
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE.csv",
        help="table with the class of each graph, matched by the graph's name or its file's; by default "
        "labels are those of the input (TU sets, JSON lines)",
    )
    parser.add_argument(
        "--label",
        default="label",
        metavar="NAME",
        help="column of the table, or key of JSON lines, that holds the class (default: label)",
    )
    add_reading_options(parser)


def read_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `torelli.read` that were given."""
    given = vars(arguments)
    options = {key: given[key] for key in READ_OPTIONS if key in given}
    if options.get("network_type") == "none":
        options["network_type"] = None
    return options


def load_collection(arguments: argparse.Namespace, *, seed: int = 0) -> Collection:
    """Read every graph that `add_collection_arguments` names, with its label if there is one."""
    if not arguments.files and not arguments.tu:
        raise DataNotFoundError("no input: give files, or --tu with the name of a benchmark set")
    if arguments.labels is not None and not arguments.labels.is_file():
        raise DataNotFoundError(f"no table of labels {quoted(str(arguments.labels), 400)}; check the path")
    load_tu = tu_loader(lengths=arguments.lengths, seed=seed)
    parts = [_read_part(file, arguments, load_tu) for file in arguments.files]
    parts += [with_notes(name, lambda name: _tu_part(load_tu(name))) for name in arguments.tu]
    graphs = [graph for found, _ in parts for graph in found]
    title = ", ".join([Path(file).name or file for file in arguments.files] + arguments.tu)
    names = [graph.name or f"{graph.source or 'graph'}[{at}]" for at, graph in enumerate(graphs)]
    labels = None
    if arguments.labels is not None:
        labels = labels_of_table(arguments.labels, arguments.label, graphs)
    elif all(found is not None for _, found in parts):
        labels = np.concatenate([np.asarray(found, dtype=np.str_) for _, found in parts])
    return Collection(graphs, names, labels, title)


Part = tuple[list["MetricGraph"], "Sequence[str] | None"]


def _read_part(file: str, arguments: argparse.Namespace, load_tu: Callable[[str], Any]) -> Part:
    """Return the graphs of one input, and their labels if it has them."""
    from torelli.io.read import find_files, read  # noqa: PLC0415  (starting the command line stays fast)

    paths = find_files(file, leave_out=arguments.labels)
    if all(path.is_dir() or path.suffix.lower() == ".zip" for path in paths):
        parts = [with_notes(str(path), lambda name: _tu_part(load_tu(name))) for path in paths]
        return [g for graphs, _ in parts for g in graphs], [y for _, labels in parts for y in labels or ()]
    graphs = with_notes(file, lambda _: read(paths, **read_options(arguments)))
    if arguments.labels is None and all(is_json_lines(path) for path in paths):
        return graphs, json_values(paths, arguments.label)
    return graphs, None


def _tu_part(data: Any) -> Part:  # noqa: ANN401  (a Bunch)
    return data.graphs, [str(label) for label in data.y.tolist()]


def is_json_lines(path: Path) -> bool:
    return any(suffix in {".jsonl", ".ndjson"} for suffix in path.suffixes)


def json_values(paths: Sequence[Path], key: str) -> list[str] | None:
    """Return the value of a key in each line of JSON lines, None if no line has it."""
    from torelli.io.files import Budget, lines, parse_json  # noqa: PLC0415  (as above)

    labels: list[object] = []
    for path in paths:
        budget = Budget(path)
        found = (line for line in lines(path, budget) if line and not line.isspace())
        labels += [parse_json(line, path.name, budget).get(key) for line in found]
    missing = [at for at, label in enumerate(labels) if label is None]
    if len(missing) == len(labels):
        return None
    if missing:
        shown = ", ".join(map(str, missing[:_SHOWN]))
        raise FormatError(
            f"{len(missing):,} of {len(labels):,} graphs have no {quoted(key)} (graphs {shown}, ...)"
        )
    return [str(label) for label in labels]


def labels_of_table(path: Path, column: str, graphs: Sequence[MetricGraph]) -> NDArray[np.str_]:
    """Return the label of each graph from a CSV table.

    The table has a header. A row belongs to a graph if one of its columns, the same for all rows,
    holds the graph's name or the name of its file, with or without the ending.
    """
    from torelli.io.files import Budget, read_text  # noqa: PLC0415  (starting the command line stays fast)

    budget = Budget(path)
    text = read_text(path, budget)
    header, _, body = text.partition("\n")
    budget.check(_TABLE * len(text) + 16 * header.count(",") * body.count("\n"))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    columns = [name for name in (rows[0] if rows else {}) if name]
    if column not in columns:
        raise FormatError(
            f"{path.name}: there is no column {quoted(column)}: choose one of {listed(columns)} with --label"
        )
    best: list[str] | None = None
    for key in columns:
        table: dict[str, list[str]] = {}
        for row in rows:
            table.setdefault(row[key] or "", []).append(row[column] or "")
        found = [next((table[name] for name in _names(graph) if name in table), []) for graph in graphs]
        problems = [
            f"{quoted(_names(graph)[0])} "
            + ("is missing" if not labels else f"stands there {len(labels)} times")
            if len(labels) != 1
            else f"{quoted(_names(graph)[0])} has no {shortened(column)}"
            for graph, labels in zip(graphs, found, strict=True)
            if len(labels) != 1 or not labels[0]
        ]
        if not problems:
            return np.array([labels[0] for labels in found], dtype=np.str_)
        best = problems if best is None or len(problems) < len(best) else best
    problems = best or []
    count, shown = f"{len(problems):,} of {len(graphs):,}", ", ".join(problems[:_SHOWN])
    raise FormatError(
        f"{path.name}: {count} graphs have no label ({shown}); add their rows, or leave them out of the input"
    )


def _names(graph: MetricGraph) -> list[str]:
    """Return what a table may call a graph, its own name first."""
    source = graph.source or ""
    return [name for name in (graph.name, source, source.partition(".")[0]) if name] or [
        "a graph without name"
    ]


def expand(files: Sequence[str]) -> list[str]:
    """Expand patterns, which not every shell does."""
    paths: list[str] = []
    for file in files:
        pattern = glob.has_magic(file) and not Path(file).exists()
        matches = sorted(glob.glob(file)) if pattern else []  # noqa: PTH207  (Path.glob takes no absolute pattern)
        paths += matches or [file]
    return paths


def tu_loader(**options: Any) -> Callable[[str], Any]:  # noqa: ANN401  (those of `load_tu`)
    """Return a function that loads a set, and that gives up downloading after the first failure."""
    from torelli.datasets.tu import load_tu  # noqa: PLC0415  (starting the command line stays fast)

    offline = False

    def load(name: str) -> Any:  # noqa: ANN401  (a Bunch)
        nonlocal offline
        try:
            return load_tu(name, download_if_missing=not offline, **options)
        except DataNotFoundError:
            offline = True
            raise

    return load


def with_notes(name: str, load: Callable[[str], Any]) -> Any:  # noqa: ANN401  (what `load` returns)
    """Load, and say on standard error what was resolved by a rule."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graphs = load(name)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"torelli: note: {name}: {message}")
    return graphs


def _whole_number(text: str) -> int:
    """Return a whole number, which may be written as 8e9."""
    number = float(text)
    if not number.is_integer():
        raise argparse.ArgumentTypeError(f"{text} is no whole number")
    return int(number)


def at_least(least: int) -> Callable[[str], int]:
    """Return a type for integers of at least some number."""

    def integer(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is too small, give {least} or more")
        return number

    return integer


def say(text: str) -> None:
    """Print on standard error, where it is no part of the result."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  (a command prints)
