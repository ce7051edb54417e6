"""What commands have in common: naming files and benchmark sets, reading them, and their labels."""

from __future__ import annotations

import argparse
import csv
import glob
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, listed, quoted, shortened
from torelli._registry import KERNELS, default_kernels
from torelli._types import Along, Bridges
from torelli.commands.wording import say, with_notes
from torelli.datasets.tu import Lengths, load_tu
from torelli.io.edges import Zero
from torelli.io.files import Budget, read_text
from torelli.io.read import find_files, read_records
from torelli.io.readers import COMMON_OPTIONS, READERS, Record, own_options
from torelli.io.tu import TU

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._types import Dataset
    from torelli.graph import MetricGraph

_LABEL, _GROUP, _NO_GROUPS = "label", "group", "none"
_TABLE = 150  # bytes for each character of a table of labels, at most
_SHOWN = 5


@dataclass(frozen=True)
class Inputs:
    """Graphs of the inputs in their order.

    Attributes
    ----------
    graphs, names
        The graphs and their names.
    labels
        The class of each graph as text, None if the inputs have none.
    fields
        Everything else that the inputs say about each graph.
    groups
        The group of each graph, which folds must not divide; None if the inputs have none.
    groups_key
        The column or key of the groups.
    title
        Title of the whole collection.
    """

    graphs: list[MetricGraph]
    names: list[str]
    labels: NDArray[np.str_] | None
    fields: list[Mapping[str, Any]]
    title: str
    groups: list[str] | None = None
    groups_key: str | None = None

    def column(self, key: str) -> list[str] | None:
        """Return a field of every graph as text, None if not every graph has it."""
        values = [fields.get(key) for fields in self.fields]
        return None if None in values else [str(value) for value in values]


def add_reading_options(parser: argparse.ArgumentParser, *, leave_out: Sequence[str] = ()) -> None:
    """Declare the options of `torelli.read`, but not those to leave out, which a command declares itself."""
    reading = parser.add_argument_group(
        "how files are read, as in torelli.read", argument_default=argparse.SUPPRESS
    )
    reading.add_argument(
        "--length",
        type=_name_or_number,
        metavar="NAME",
        help="attribute or column with the edge lengths, or a number, which is the length of every edge",
    )
    reading.add_argument(
        "--unit",
        help="unit of the lengths, such as m or km; lengths that a file states in another unit are converted",
    )
    reading.add_argument(
        "--direction-tolerance",
        type=float,
        metavar="PART",
        help="opposite edges of a directed graph are one street if their lengths differ by at most this part",
    )
    reading.add_argument(
        "--zero",
        choices=get_args(Zero),
        help="edges of length zero: raise an error (default), or contract each to a point",
    )
    reading.add_argument(
        "--max-bytes",
        type=_whole_number,
        metavar="BYTES",
        help="memory limit for reading one file, in bytes, such as 8e9 (default: half of the free memory)",
    )
    for option in own_options().values():
        if option.name in leave_out:
            continue
        formats = ", ".join(reader.name for reader in READERS.values() if option in reader.options)
        if option.default is False:
            text = f"{formats}: {option.help}".replace("%", "%%")
            reading.add_argument(option.flag, action="store_true", default=argparse.SUPPRESS, help=text)
            continue
        choices = option.choices and ["none" if choice is None else choice for choice in option.choices]
        reading.add_argument(
            option.flag,
            type=option.type,
            choices=choices,
            metavar=option.metavar,
            help=f"{formats}: {option.help}".replace("%", "%%"),
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


def add_bridges_argument(parser: argparse.ArgumentParser) -> None:
    """Declare whether edges on no cycle count."""
    parser.add_argument(
        "--bridges",
        choices=get_args(Bridges),
        default="ignore",
        help="edges on no cycle: ignore them (default; all trees are then equal), or double each chain of "
        "them into a cycle, so that culs-de-sac and trees are compared",
    )


def add_along_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the variant of the kernel between vectors of the canonical measure."""
    parser.add_argument(
        "--along",
        choices=get_args(Along),
        help="ttm: along junctions (default), diffusion, returns (the same place prepared in two ways) or "
        "currents (cycles alone)",
    )


def add_jobs_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the number of threads."""
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="number of threads (default: all cores)"
    )


def add_tu_argument(parser: argparse.ArgumentParser) -> None:
    """Declare the benchmark sets to read."""
    parser.add_argument(
        "--tu", nargs="+", default=[], metavar="NAME", help="benchmark sets of the TU site, such as MUTAG"
    )


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the files and sets to read, and where their labels come from."""
    parser.add_argument(
        "files", nargs="*", metavar="INPUT", help="anything that torelli reads; patterns and folders too"
    )
    add_tu_argument(parser)
    parser.add_argument(
        "--lengths",
        choices=get_args(Lengths),
        default="uniform",
        help="edge lengths of TU sets: drawn from Unif(0, 1) as in the paper (the default), the set's own "
        "attribute, all 1, or effective resistances",
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE.csv",
        help="table with the class of each graph, matched by the graph's name or its file's; by default "
        "labels are those of the input (TU sets, JSON lines, GraphML, GML)",
    )
    parser.add_argument(
        "--label",
        metavar="NAME",
        help="column of the table, key of JSON lines, or attribute of the graphs in GraphML and GML, that "
        f"holds the class (default: {_LABEL})",
    )
    add_reading_options(parser)


def add_groups_argument(parser: argparse.ArgumentParser) -> None:
    """Declare which graphs folds keep together."""
    parser.add_argument(
        "--groups",
        metavar="COLUMN",
        help="column of the table, or field as for --label, with the group of each graph, such as its city "
        "or spatial block: no fold divides a group (default: 'group', if there is one; 'none': random folds)",
    )


def read_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `torelli.read` that were given."""
    given = vars(arguments)
    own = own_options()
    options = {name: given[name] for name in (*COMMON_OPTIONS, *own) if name in given}
    for name in own.keys() & options.keys():
        if options[name] == "none" and None in (own[name].choices or ()):
            options[name] = None
    return options


def load_inputs(arguments: argparse.Namespace, *, seed: int = 0) -> Inputs:
    """Read every graph that `add_input_arguments` names, with its label if there is one."""
    if not arguments.files and not arguments.tu:
        raise DataNotFoundError("no input: give files, or --tu with the name of a benchmark set")
    if arguments.labels is not None and not arguments.labels.is_file():
        raise DataNotFoundError(f"no table of labels {quoted(str(arguments.labels), 400)}; check the path")
    load_tu = tu_loader(lengths=arguments.lengths, seed=seed)
    label = arguments.label or _LABEL

    def load_set(name: str) -> list[Record]:
        data = load_tu(name)
        labels = data.y.tolist()
        return [Record(graph, {label: y}) for graph, y in zip(data.graphs, labels, strict=True)]

    parts = [_read_part(file, arguments, load_set) for file in arguments.files]
    parts += [with_notes(name, load_set) for name in arguments.tu]
    records = [record for part in parts for record in part]
    graphs, fields = [record.graph for record in records], [record.fields for record in records]
    title = ", ".join([Path(file).name or file for file in arguments.files] + arguments.tu)
    names = [graph.name or f"{graph.source or 'graph'}[{i}]" for i, graph in enumerate(graphs)]
    if arguments.labels is not None:
        labels: NDArray[np.str_] | None = labels_of_table(arguments.labels, label, graphs)
    else:
        labels = _labels(parts, label)
        if arguments.label is None and labels is not None and 1 < len(labels) == len({*labels.tolist()}):
            # programs that draw graphs call the name of a graph its label
            labels = None
    inputs = Inputs(graphs, names, labels, fields, title)
    return _with_groups(inputs, arguments)


def _with_groups(inputs: Inputs, arguments: argparse.Namespace) -> Inputs:
    """Return inputs with the groups that the arguments name, or else those that the files state."""
    asked = vars(arguments).get("groups", _NO_GROUPS)  # commands without folds have no such option
    if asked == _NO_GROUPS:
        return inputs
    key = asked or _GROUP
    if arguments.labels is not None and key in columns_of_table(arguments.labels):
        column = labels_of_table(arguments.labels, key, inputs.graphs)
        return replace(inputs, groups=column.tolist(), groups_key=key)
    groups = inputs.column(key)
    n_without = sum(fields.get(key) is None for fields in inputs.fields)
    if groups is None and asked is not None:
        known = listed(dict.fromkeys(name for fields in inputs.fields for name in fields))
        has = f"the inputs have {known}" if known else "the inputs have no fields besides the graphs"
        raise FormatError(
            f"--groups {shortened(asked)}: {n_without:,} of {len(inputs.graphs):,} graphs have no such "
            f"field; {has}"
        )
    if groups is None and n_without < len(inputs.graphs):
        missing = f"{n_without:,} of {len(inputs.graphs):,} graphs have no {quoted(key)}"
        say(f"torelli: note: {shortened(inputs.title)}: {missing}; folds are random")
    return inputs if groups is None else replace(inputs, groups=groups, groups_key=key)


def _read_part(
    file: str, arguments: argparse.Namespace, load_set: Callable[[str], list[Record]]
) -> list[Record]:
    """Return the records of one input."""
    paths = find_files(file, leave_out=arguments.labels)
    if all(path.is_dir() or TU.matches(path) for path in paths):
        return [record for path in paths for record in with_notes(str(path), load_set)]
    records: list[Record] = with_notes(
        file, lambda _: read_records(paths, values=False, **read_options(arguments))
    )
    return records


def _labels(parts: list[list[Record]], key: str) -> NDArray[np.str_] | None:
    """Return the class of each graph, None if an input has no classes; raise if only some graphs have one."""
    labels: list[str] = []
    for part in parts:
        values = [record.fields.get(key) for record in part]
        missing = [i for i, value in enumerate(values) if value is None]
        if len(missing) == len(values):
            return None
        if missing:
            shown = ", ".join(map(str, missing[:_SHOWN]))
            raise FormatError(
                f"{len(missing):,} of {len(values):,} graphs have no {quoted(key)} (graphs {shown}, ...)"
            )
        labels += map(str, values)
    return np.array(labels, dtype=np.str_)


def columns_of_table(path: Path) -> list[str]:
    """Return the names of the columns of a CSV table."""
    rows = _rows_of_table(path)
    return [name for name in (rows[0] if rows else {}) if name]


def _rows_of_table(path: Path) -> list[dict[str, str]]:
    budget = Budget(path)
    text = read_text(path, budget)
    header, _, body = text.partition("\n")
    budget.check(_TABLE * len(text) + 16 * header.count(",") * body.count("\n"))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def labels_of_table(path: Path, column: str, graphs: Sequence[MetricGraph]) -> NDArray[np.str_]:
    """Return the label of each graph from a CSV table.

    The table has a header. A row belongs to a graph if one of its columns, the same for all rows,
    holds the graph's name or the name of its file, with or without the ending.
    """
    rows = _rows_of_table(path)
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
        matches = [next((table[name] for name in _names(graph) if name in table), []) for graph in graphs]
        problems = [
            f"{quoted(_names(graph)[0])} "
            + ("is missing" if not labels else f"is listed {len(labels)} times")
            if len(labels) != 1
            else f"{quoted(_names(graph)[0])} has no {shortened(column)}"
            for graph, labels in zip(graphs, matches, strict=True)
            if len(labels) != 1 or not labels[0]
        ]
        if not problems:
            return np.array([labels[0] for labels in matches], dtype=np.str_)
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


def tu_loader(**options: Any) -> Callable[[str], Any]:
    """Return a function that loads a set, and that gives up downloading after the first failure."""
    offline = False

    def load(name: str) -> Dataset:
        nonlocal offline
        try:
            return load_tu(name, download_if_missing=not offline, **options)
        except DataNotFoundError:
            offline = True
            raise

    return load


def _name_or_number(text: str) -> str | float:
    """Return a positive number if the text is one, and otherwise the text, which is a name."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if 0 < value < float("inf") else text


def _whole_number(text: str) -> int:
    """Return a whole number, which may be written as 8e9."""
    value = float(text)
    if not value.is_integer():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    return int(value)


def at_least(least: int) -> Callable[[str], int]:
    """Return a type for integers of at least some number."""

    def integer(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is too small, give {least} or more")
        return value

    return integer
