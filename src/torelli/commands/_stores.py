"""Options that the commands writing stores share, and their translation to arguments of the library."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from torelli._errors import DataNotFoundError
from torelli._types import Along, Bridges, Model, Precision, Scale, Truncation, Weights
from torelli.commands._inputs import add_reading_options, add_tu_argument, at_least, expand, read_options
from torelli.datasets.tu import Lengths

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNITS = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZE = re.compile(r"([\d.]+(?:e\d+)?)\s*([kmgt]?b)?", re.IGNORECASE)

_REPRESENTATION: dict[str, dict[str, Any]] = {
    "model": {
        "choices": get_args(Model),
        "help": "matrices: canonical (default), or literal as in the paper",
    },
    "bridges": {
        "choices": get_args(Bridges),
        "help": "matrices: ignore edges on no cycle (default), or double each chain of them to a cycle",
    },
    "max_genus": {"type": int, "metavar": "G", "help": "matrices: keep at most this many rows and columns"},
    "truncation": {"choices": get_args(Truncation), "help": "matrices: which rows to keep (default: random)"},
    "along": {
        "choices": get_args(Along),
        "help": "measure: along junctions (default), diffusion or currents",
    },
    "depth": {
        "type": int,
        "metavar": "N",
        "help": "measure: steps or scales that features reach (default: 3; currents: 1)",
    },
    "n_features": {"type": int, "metavar": "N", "help": "measure: features in each block (default: 256)"},
    "scale": {
        "choices": get_args(Scale),
        "help": "measure: lengths as they are (absolute, default) or relative",
    },
    "weights": {"choices": get_args(Weights), "help": "measure: weights of points and segments"},
    "size": {"type": float, "metavar": "PART", "help": "measure: influence of size, 0 to 1 (default: 0.5)"},
    "seed": {"type": int, "metavar": "N", "help": "seed of random weights or rows (default: 0)"},
}


def add_graph_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what names the graphs and how they are read."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="INPUT",
        help="files that torelli reads, patterns, folders, or archives of files (.tar, .tar.gz, .zip)",
    )
    add_tu_argument(parser)
    parser.add_argument(
        "--lengths", choices=get_args(Lengths), default="uniform", help="edge lengths of TU sets"
    )
    parser.add_argument(
        "--label", default="label", metavar="KEY", help="key of JSON lines with the label (default: label)"
    )
    add_window_arguments(parser)
    add_reading_options(parser)


def add_window_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how windows are taken of large OpenStreetMap extracts."""
    parser.add_argument(
        "--window",
        type=float,
        metavar="METRES",
        help="take windows of OpenStreetMap extracts of any size, such as a country: half the side of each",
    )
    parser.add_argument(
        "--step", type=float, metavar="METRES", help="distance of neighbouring windows (default: --window)"
    )


def add_representation_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of matrices and of measure features."""
    group = parser.add_argument_group("representation of a graph", argument_default=argparse.SUPPRESS)
    for name, settings in _REPRESENTATION.items():
        group.add_argument("--" + name.replace("_", "-"), **settings)


def add_store_arguments(parser: argparse.ArgumentParser, endings: Iterable[str]) -> None:
    """Declare where a result goes and how the work is done."""
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        required=True,
        metavar="OUT",
        help=f"what to write, ending in {', '.join(endings)}; .zarr is a store, which can be appended to",
    )
    parser.add_argument("--dtype", choices=get_args(Precision), default="float64", help="type of the numbers")
    parser.add_argument(
        "--fit",
        nargs="+",
        metavar="FILE",
        help="graphs that measure features are fitted to (default: the first of the inputs)",
    )
    parser.add_argument(
        "--fit-size", type=at_least(1), default=1000, metavar="N", help="how many of them (default: 1000)"
    )
    work = parser.add_argument_group("how the work is done")
    work.add_argument("--append", action="store_true", help="add the graphs of INPUT to a complete store")
    work.add_argument("--fresh", action="store_true", help="remove what is there and start over")
    work.add_argument(
        "--verify",
        action="store_true",
        help="check finished files against their checksums first, and make damaged ones again",
    )
    work.add_argument(
        "--memory",
        type=byte_count,
        metavar="BYTES",
        help="memory limit, such as 4GB (default: half of the free memory)",
    )
    work.add_argument(
        "--dask",
        type=_cluster,
        metavar="ADDRESS",
        help="run on a Dask cluster: the scheduler's address, such as tcp://node1:8786, or a number of "
        "processes to start on this machine; the result is the same",
    )


def graph_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that name the graphs."""
    if not arguments.files and not arguments.tu:
        raise DataNotFoundError("no input: give files, or --tu with the name of a benchmark set")
    return {
        "inputs": expand(arguments.files),
        "tu": tuple(arguments.tu),
        "lengths": arguments.lengths,
        "window": arguments.window,
        "step": arguments.step,
    }


def store_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `write_features` and `write_kernel` that were given."""
    return {
        **graph_options(arguments),
        "path": arguments.out,
        "dtype": arguments.dtype,
        "fit": arguments.fit,
        "n_fit": arguments.fit_size,
        "append": arguments.append,
        "fresh": arguments.fresh,
        "verify": arguments.verify,
        "memory": arguments.memory,
        "dask": arguments.dask,
        "label": arguments.label,
        "read_options": read_options(arguments),
        "verbose": True,
        **representation_options(arguments),
    }


def representation_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of matrices and measure features that were given."""
    given = vars(arguments)
    return {name: given[name] for name in _REPRESENTATION if name in given}


def byte_count(text: str) -> int:
    """Return a number of bytes, which may be written as 4GB or 8e9."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes, such as 4GB")
    return int(float(match[1]) * _UNITS[(match[2] or "").upper()])


def _cluster(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
