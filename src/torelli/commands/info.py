"""``torelli info``: describe the graphs in files and data sets."""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from torelli._errors import TorelliError
from torelli._units import symbol
from torelli.commands._inputs import (
    add_bridges_argument,
    add_reading_options,
    expand,
    read_options,
    tu_loader,
)
from torelli.commands.wording import Notes, about, in_options, say
from torelli.datasets.paper import paper_table
from torelli.io.readers import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torelli._types import Subparsers
    from torelli.graph import MetricGraph
    from torelli.statistics import SetStatistics

    Row = dict[str, Any]

_QUIET_SECONDS = 3.0
_KILO = 1024
_ENTRY = 8  # bytes of an entry of Q
_UNIT_WIDTH = 12
_NAMES_SHOWN, _NAME_WIDTH = 40, 40
_HALF_DECIMAL = 0.005 + 1e-9  # rounding error of a number with two decimals

_DESCRIPTION = """\
Describe graphs and data sets.

For a file with one graph: nodes, edges, components, loops, parallel edges, genus (independent cycles),
bridges (edges on no cycle), total length and its unit, the paper's sparsity class (S: log(g/n) < 0,
SS: < 1, D: all others), whether the graph is generic (no two C1-sets have the same total length), and the
memory of the Torelli matrix Q, which --bridges double makes larger. The metric space determines Q even if
the graph is not generic, unless the table says "Q open". Below the table are the names of further data in
the files: values on edges, such as diameters, and fields of graphs, such as labels. For graphs without
cycles, such as neurons, a note says what can be compared.

For a file with several graphs, and for --tu: mean and standard deviation of nodes, edges and genus, with
the paper's figures below for each set of the paper. As in the paper, nodes without edges do not count.
"""

_EPILOG = """\
examples:
  torelli info city.graphml.gz                one graph
  torelli info streets/*.graphml.gz --csv     a table for a spreadsheet
  torelli info --tu MUTAG                     a benchmark set, with the paper's figures
  torelli info --tu all                       the paper's table of all 23 data sets
  torelli info town.osm.pbf --network-type drive
                                              public drivable streets alone
  torelli info cells.jsonl.gz --each          every graph of a file with several

A file that cannot be read gives a line on standard error; the other files are listed, and the exit code
is 1. TU sets are read from TORELLI_DATA/tu, or downloaded once to the user's cache.
"""

_GRAPH_COLUMNS = (
    "name", "nodes", "edges", "components", "loops", "parallel", "genus", "bridges", "total_length", "unit",
    "sparsity", "generic", "ties", "determined", "matrix_bytes", "values", "fields",
)  # fmt: skip
_MEANS = ("nodes", "nodes_std", "edges", "edges_std", "genus", "genus_std", "log_ratio")
_SET_COLUMNS = (
    "name", "graphs", *_MEANS, "sparsity", "isolated", "matrix_bytes", "values", "fields",
    *(f"paper_{key}" for key in ("graphs", *_MEANS, "sparsity")), "agrees",
)  # fmt: skip
_PAPER_KEYS = {
    "graphs": "N", "nodes": "n", "nodes_std": "n_std", "edges": "m", "edges_std": "m_std", "genus": "g",
    "genus_std": "g_std", "log_ratio": "log_g_over_n", "sparsity": "sparsity",
}  # fmt: skip


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "info",
        help="describe graphs in files and benchmark sets",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="files that torelli reads, or patterns such as *.graphml"
    )
    parser.add_argument(
        "--tu",
        nargs="+",
        default=[],
        metavar="NAME",
        help="benchmark sets of the TU collection, or 'all' for the paper's 23",
    )
    parser.add_argument(
        "--each", action="store_true", help="list every graph of a file instead of their means"
    )
    add_bridges_argument(parser)
    add_reading_options(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--csv", action="store_true", help="print comma-separated values")
    form.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=lambda arguments: _run(arguments, parser))


def _run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if not arguments.files and not arguments.tu:
        parser.error("give files, or --tu with the name of a benchmark set")
    options = read_options(arguments)
    graphs, sets, errors = _gather(
        arguments.files, arguments.tu, options, each=arguments.each, bridges=arguments.bridges
    )
    if arguments.json:
        print(json.dumps({"graphs": graphs, "sets": sets, "errors": errors}, indent=2))
    elif arguments.csv:
        _print_csv(graphs, sets)
    else:
        tables = [_graph_table(graphs)] if graphs else []
        tables += [_set_table(sets)] if sets else []
        print("\n\n".join(tables), end="\n" if tables else "")
        _print_names([*graphs, *sets])
    return 1 if errors else 0


def _gather(
    files: Sequence[str], tu: Sequence[str], options: dict[str, Any], *, each: bool, bridges: str
) -> tuple[list[Row], list[Row], list[dict[str, str]]]:
    """Return rows of single graphs, rows of sets, and errors of files that cannot be read."""
    from torelli.statistics import set_statistics

    graphs: list[Row] = []
    sets: list[Row] = []
    errors: list[dict[str, str]] = []
    load_set = tu_loader(lengths="unit")
    read = partial(_read, **options)
    notes = Notes()
    trees: dict[str, list[int]] = {}

    def load_tu(name: str) -> list[Record]:
        return [Record(graph) for graph in load_set(name).graphs]

    jobs: list[tuple[str, Callable[[str], list[Record]]]] = [(path, read) for path in expand(files)]
    jobs += [(name, load_tu) for name in _tu_names(tu)]
    for name, load in _with_progress(jobs):
        try:
            loaded = notes.while_loading(name, load)
        except (TorelliError, OSError) as error:
            say(f"torelli: {about(name, in_options(str(error)))}")
            errors.append({"name": name, "error": str(error)})
            continue
        several = [record.graph for record in loaded]
        if load is load_tu or (len(loaded) != 1 and not each):
            row = _set_row(name, set_statistics(several), _paper(name) if load is load_tu else None)
            if bridges == "double":
                row["matrix_bytes"] = sum(_doubled_bytes(graph) for graph in several)
            sets.append(row | _names_of(loaded))
        else:
            names = [graph.name or f"{name}[{i}]" for i, graph in enumerate(several)]
            rows = zip([name] if len(loaded) == 1 else names, loaded, strict=True)
            graphs += [_graph_row(one, record.graph, bridges) | _names_of([record]) for one, record in rows]
        if bridges == "ignore" and not any(graph.genus for graph in several):
            trees[name] = [_n_chains(graph) for graph in several if graph.n_edges]
    notes.finish()
    _tell_of_trees(trees)
    return graphs, sets, errors


def _names_of(records: Sequence[Record]) -> Row:
    """Return the names of the values on edges, and those of the fields of graphs."""
    return {
        "values": [*dict.fromkeys(name for record in records for name in record.graph.edge_values)],
        "fields": [*dict.fromkeys(name for record in records for name in record.fields)],
    }


def _print_names(rows: Sequence[Row]) -> None:
    """Print the names of values on edges and of fields of graphs."""
    for key, title in (
        ("values", "values on edges"),
        ("fields", "fields of graphs, for --label and --groups"),
    ):
        names = list(dict.fromkeys(name for row in rows for name in row[key]))
        if names:
            more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
            print(f"{title}: {', '.join(map(_short, names[:_NAMES_SHOWN]))}{more}")


def _tu_names(names: Sequence[str]) -> list[str]:
    from torelli.datasets.tu import TU_NAMES

    return [one for name in names for one in (TU_NAMES if name == "all" else (name,))]


def _read(path: str, **options: Any) -> list[Record]:
    from torelli.io.read import read_records

    return read_records(path, **options)


def _with_progress(jobs: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the jobs, and report progress on standard error every few seconds."""
    last = time.monotonic()
    for position, job in enumerate(jobs, 1):
        if time.monotonic() - last > _QUIET_SECONDS:
            last = time.monotonic()
            say(f"torelli: {position} of {len(jobs)}: {job[0]}")
        yield job


def _tell_of_trees(trees: dict[str, list[int]]) -> None:
    """Say what there is to compare in graphs without cycles; for each input, the chains of each graph."""
    chains = [count for counts in trees.values() for count in counts]
    if not chains:
        return
    first, more = next(iter(trees)), len(trees) - 1
    which = "the graph has" if len(chains) == 1 else f"all {len(chains):,} graphs have"
    where = first if not more else f"{first} and {more:,} other input{'s' if more > 1 else ''}"
    least, most = min(chains), max(chains)
    rows = f"{least:,} to {most:,} rows" if least < most else f"{most:,} row{'s' if most > 1 else ''}"
    say(
        f"torelli: note: {where}: {which} no cycles, and Q is empty; --bridges double gives it a row for "
        f"each chain of edges between branch points ({rows}), and --kernel ttm compares the canonical "
        "measure"
    )


def _doubled_bytes(graph: MetricGraph) -> int:
    """Return the bytes of the matrix in which every chain of bridges is a cycle."""
    return _ENTRY * (graph.genus + _n_chains(graph)) ** 2


def _n_chains(graph: MetricGraph) -> int:
    from torelli.model import canonical_model

    return len(canonical_model(graph).bridge_chains)


def _graph_row(name: str, graph: MetricGraph, bridges: str = "ignore") -> Row:
    from torelli.statistics import n_touched, sparsity_class

    summary = graph.summary()
    values = (
        name,
        summary.n_nodes,
        summary.n_edges,
        summary.n_components,
        summary.n_loops,
        summary.n_parallel,
        summary.genus,
        summary.n_bridges,
        summary.total_length,
        summary.unit,
        sparsity_class(summary.genus, n_touched(graph)),
        summary.is_generic,
        summary.n_ties,
        summary.is_determined,
        summary.matrix_bytes if bridges == "ignore" else _doubled_bytes(graph),
    )
    return dict(zip(_GRAPH_COLUMNS, values, strict=False))  # names are added by the caller


def _set_row(name: str, statistics: SetStatistics, paper: Row | None) -> Row:
    row: Row = {"name": name, "graphs": statistics.n_graphs}
    row |= {key: getattr(statistics, key) for key in _MEANS}
    row["log_ratio"] = statistics.log_ratio if math.isfinite(statistics.log_ratio) else None
    row["sparsity"] = statistics.sparsity
    row |= {"isolated": statistics.n_isolated, "matrix_bytes": statistics.matrix_bytes}
    row |= {f"paper_{key}": None if paper is None else paper[key] for key in _PAPER_KEYS}
    row["agrees"] = None if paper is None else all(_same(row[key], paper[key]) for key in _PAPER_KEYS)
    return row


def _paper(name: str) -> Row | None:
    """Return the paper's figures of a set under our names, None if the paper does not have the set."""
    for row in paper_table("dataset_statistics"):
        if row["dataset"].casefold() == name.casefold():
            figures: Row = {key: row[theirs] for key, theirs in _PAPER_KEYS.items() if key != "sparsity"}
            return {key: float(value) for key, value in figures.items()} | {"sparsity": row["sparsity"]}
    return None


def _same(ours: object, theirs: object) -> bool:
    """Return whether two figures agree to the two decimals that the paper prints."""
    if isinstance(ours, (int, float)) and isinstance(theirs, float):
        return abs(ours - theirs) <= _HALF_DECIMAL
    return ours == theirs


def _print_csv(graphs: list[Row], sets: list[Row]) -> None:
    """Print one table of graphs and sets; its first column says which of them a row is."""
    columns = dict.fromkeys((*(_GRAPH_COLUMNS if graphs else ()), *(_SET_COLUMNS if sets else ())))
    lists = {"graph": graphs, "set": sets}
    rows = [
        {"kind": kind, **row, "values": ";".join(row["values"]), "fields": ";".join(row["fields"])}
        for kind, several in lists.items()
        for row in several
    ]
    if not rows:
        return
    writer = csv.DictWriter(sys.stdout, ["kind", *columns], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _graph_table(rows: list[Row]) -> str:
    head = [
        "file",
        "nodes",
        "edges",
        "comps",
        "loops",
        "parallel",
        "genus",
        "bridges",
        "length",
        "unit",
        "class",
    ]
    body = [
        [
            row["name"],
            *(
                f"{row[key]:,}"
                for key in ("nodes", "edges", "components", "loops", "parallel", "genus", "bridges")
            ),
            f"{row['total_length']:,.1f}",
            _short(symbol(row["unit"] or "-"), _UNIT_WIDTH),
            row["sparsity"],
            _generic(row),
            _bytes(row["matrix_bytes"]),
        ]
        for row in rows
    ]
    return _table([[*head, "generic", "Q in memory"], *body])


def _generic(row: Row) -> str:
    """Return whether a graph is generic; if not, its ties and whether they leave the matrix open."""
    if row["generic"]:
        return "yes"
    ties = f"no, {row['ties']:,} tie{'s' if row['ties'] > 1 else ''}"
    return ties if row["determined"] else f"{ties}, Q open"


def _set_table(rows: list[Row]) -> str:
    lines = [["set", "graphs", "nodes", "edges", "genus", "log(g/n)", "class", "Q in memory", ""]]
    for row in rows:
        lines.append([row["name"], *_figures(row, ""), _bytes(row["matrix_bytes"]), ""])
        if row["agrees"] is not None:
            verdict = "match" if row["agrees"] else "differs"
            lines.append(["  paper", *_figures(row, "paper_"), "", verdict])
    return "\n".join([_table(lines), *_verdict(rows)])


def _figures(row: Row, prefix: str) -> list[str]:
    pairs = [(row[f"{prefix}{key}"], row[f"{prefix}{key}_std"]) for key in ("nodes", "edges", "genus")]
    ratio = row[f"{prefix}log_ratio"]
    return [
        f"{row[f'{prefix}graphs']:,.0f}",
        *(f"{mean:.2f} ± {std:.2f}" for mean, std in pairs),
        "-inf" if ratio is None else f"{ratio:.2f}",
        row[f"{prefix}sparsity"],
    ]


def _verdict(rows: list[Row]) -> list[str]:
    compared = [row for row in rows if row["agrees"] is not None]
    if not compared:
        return []
    agree = sum(row["agrees"] for row in compared)
    return [f"{agree} of {len(compared)} rows match the paper to two decimals, sparsity class included"]


def _table(lines: list[list[str]]) -> str:
    """Return lines with aligned columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            [
                line[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for line in lines
    )


def _short(text: str, width: int = _NAME_WIDTH) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _bytes(size: int) -> str:
    value, unit = float(size), 0
    while value >= _KILO and unit < len("BKMGT") - 1:
        value /= _KILO
        unit += 1
    return f"{value:,.0f} B" if unit == 0 else f"{value:,.1f} {'BKMGT'[unit]}B"
