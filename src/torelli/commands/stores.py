"""``torelli features`` and ``torelli kernel`` write stores, and ``torelli plan`` says what that will take."""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from torelli._errors import DataNotFoundError, InvalidOptionError
from torelli._provenance import describe
from torelli._registry import KERNELS
from torelli._types import Along, Bridges, Model, Precision, Scale, StoredFeatures, Truncation, Weights
from torelli.commands._inputs import add_reading_options, add_tu_argument, at_least, expand, read_options
from torelli.commands.wording import say, with_notes
from torelli.datasets.tu import Lengths

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torelli._types import Subparsers
    from torelli.scale.plan import Plan

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
        "help": "measure: along junctions (default), diffusion, returns or currents",
    },
    "depth": {
        "type": int,
        "metavar": "N",
        "help": "measure: steps or scales that features reach (default: 3; returns: 9; currents: 1)",
    },
    "n_features": {
        "type": int,
        "metavar": "N",
        "help": "measure: features in each block (default: 128; returns: 512; otherwise 256)",
    },
    "scale": {
        "choices": get_args(Scale),
        "help": "measure: lengths as they are (absolute, default) or relative",
    },
    "weights": {"choices": get_args(Weights), "help": "measure: weights of points and segments"},
    "size": {"type": float, "metavar": "PART", "help": "measure: influence of size, 0 to 1 (default: 0.5)"},
    "frequency": {
        "type": float,
        "metavar": "FACTOR",
        "help": "measure: factor for the frequencies of random features (default: 1)",
    },
    "seed": {"type": int, "metavar": "N", "help": "seed of random weights or rows (default: 0)"},
}

_FEATURES = """\
Write one row of features for each graph. Graphs are read as a stream, so memory does not grow with their
number. The same command continues a run that was stopped or killed, and the result is the same to the last
byte. Names and labels are stored beside the numbers.

measure: features of the canonical measure (MeasureFeatures). They are fitted to the first graphs of the input
or to those of --fit; what was learned is stored, so that appended graphs get the same features.
tts: square roots of the eigenvalues of the Torelli matrix; their Euclidean distance is TTS.
"""
_FEATURES_EPILOG = """\
examples:
  torelli features windows/*.jsonl.gz -o features.zarr --dtype float32
  torelli features more.jsonl -o features.zarr --dtype float32 --append
  torelli features germany.osm.pbf --window 300 -o germany.zarr
  torelli features cities.tar.gz -o features.parquet --features tts
  torelli features windows.jsonl -o features.zarr --dask tcp://node1:8786

Open a store with torelli.open_features("features.zarr"), or with zarr or dask.
"""
_KERNEL = """\
Write the kernel matrix exp(-gamma d²) of all pairs of graphs, or with --gamma none their distances d. The
matrix is computed tile by tile. The same command continues a run that was stopped or killed, and the result
is the same to the last byte. Names and labels are stored beside the numbers.

N graphs have N²/2 pairs: `torelli plan` estimates how long they take. The time for features
(`torelli features`) is linear in N.
"""
_KERNEL_EPILOG = """\
examples:
  torelli kernel cities/*.graphml --kernel ttw -o K.zarr
  torelli kernel --tu MUTAG --kernel tte -o K.csv --gamma 0.5
  torelli kernel windows.jsonl --kernel tts -o distances.npy --gamma none
  torelli kernel more.jsonl --kernel ttw -o K.zarr --append
  torelli kernel windows.jsonl --kernel ttw -o K.zarr --dask tcp://node1:8786

Open a store with torelli.open_kernel("K.zarr"), or with zarr or dask.
"""
_PLAN = """\
Estimate how many seconds and bytes a kernel matrix or features will take, and how the work is divided. All
graphs of the input are counted, and 400 of them are read. Seconds are processor time on one core of the
machine that the cost model was calibrated on; `make bench CASES=scale` calibrates it on yours.
"""
_PLAN_EPILOG = """\
examples:
  torelli plan windows.jsonl.gz --kernel ttw
  torelli plan windows.jsonl.gz --features measure --dtype float32
  torelli plan "cities/*.graphml" --kernel ttw --max-genus 200 --json
  torelli plan --graphs 1e6 --genus 50 --features measure
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the three commands."""
    _add_features(subparsers)
    _add_kernel(subparsers)
    _add_plan(subparsers)


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
        help="cut OpenStreetMap extracts of any size, such as a country, into windows: half the side of one",
    )
    parser.add_argument(
        "--step",
        type=float,
        metavar="METRES",
        help="distance between neighbouring windows (default: --window)",
    )


def check_step(arguments: argparse.Namespace) -> None:
    """Raise if there is a distance between windows, but there are no windows."""
    if arguments.step is not None and arguments.window is None:
        raise InvalidOptionError("--step is the distance between windows: give their size with --window too")


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
        help=f"result to write, ending in {', '.join(endings)}; graphs can be appended to a .zarr store",
    )
    parser.add_argument("--dtype", choices=get_args(Precision), default="float64", help="type of the numbers")
    parser.add_argument(
        "--fit",
        nargs="+",
        metavar="FILE",
        help="graphs that measure features are fitted to (default: the first of the inputs)",
    )
    parser.add_argument(
        "--fit-size",
        type=at_least(1),
        default=1000,
        metavar="N",
        help="number of graphs to fit to (default: 1000)",
    )
    work = parser.add_argument_group("how the work is done")
    work.add_argument("--append", action="store_true", help="add the graphs of INPUT to a complete store")
    work.add_argument("--fresh", action="store_true", help="delete an existing result and start over")
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
    check_step(arguments)
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
    try:
        return int(float(match[1]) * _UNITS[(match[2] or "").upper()])
    except (ValueError, OverflowError) as error:  # several points, or more than the largest number
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes, such as 4GB") from error


def _cluster(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _add_features(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "features",
        help="write features of any number of graphs to disk",
        description=_FEATURES,
        epilog=_FEATURES_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--features",
        choices=get_args(StoredFeatures),
        default="measure",
        help="which features (default: measure)",
    )
    add_graph_arguments(parser)
    add_store_arguments(parser, (".zarr", ".npy", ".csv", ".parquet"))
    add_representation_arguments(parser)
    parser.set_defaults(run=_features)


def _features(arguments: argparse.Namespace) -> int:
    from torelli.scale import FeatureStore, write_features

    options = store_options(arguments)
    written = with_notes(str(arguments.out), lambda _: write_features(features=arguments.features, **options))
    if isinstance(written, FeatureStore):
        rows, columns = written.shape
        say(f"torelli: {arguments.out}: {rows:,} graphs, {columns:,} features")
    else:
        say(f"torelli: wrote {written}")
    return 0


def _add_kernel(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "kernel",
        help="write the kernel matrix of many graphs to disk",
        description=_KERNEL,
        epilog=_KERNEL_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kernel", choices=list(KERNELS), default="ttw", help="kernel (default: ttw)")
    parser.add_argument(
        "--gamma",
        type=_gamma,
        default="median",
        help="a positive number, median (default; over the pairs of at most 1,000 graphs), or none for "
        "distances",
    )
    parser.add_argument(
        "--tile",
        type=int,
        metavar="N",
        help="graphs on each side of a tile (default: by their size, up to 256)",
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="threads in this process, -1 for all cores (default: 1)"
    )
    add_graph_arguments(parser)
    add_store_arguments(parser, (".zarr", ".npy", ".csv"))
    add_representation_arguments(parser)
    parser.set_defaults(run=_kernel)


def _gamma(text: str) -> float | str | None:
    if text in {"none", "median"}:
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number, median or none") from error


def _kernel(arguments: argparse.Namespace) -> int:
    from torelli.scale import KernelStore, write_kernel

    options = store_options(arguments)
    own = {"gamma": arguments.gamma, "tile": arguments.tile, "n_jobs": arguments.jobs}
    written = with_notes(
        str(arguments.out), lambda _: write_kernel(kernel=arguments.kernel, **own, **options)
    )
    if isinstance(written, KernelStore):
        content = "distances" if written.gamma is None else f"gamma {written.gamma:.6g}"
        say(f"torelli: {arguments.out}: {len(written):,} graphs, {content}")
    else:
        say(f"torelli: wrote {written}")
    return 0


def _add_plan(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "plan",
        help="estimate the time and memory of features or a kernel matrix",
        description=_PLAN,
        epilog=_PLAN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    computed = parser.add_mutually_exclusive_group()
    computed.add_argument("--kernel", choices=list(KERNELS), default="ttw", help="kernel (default: ttw)")
    computed.add_argument("--features", choices=get_args(StoredFeatures), help="features instead of a kernel")
    parser.add_argument("--dtype", choices=get_args(Precision), default="float64", help="type of the numbers")
    parser.add_argument(
        "--graphs",
        type=_count,
        metavar="N",
        help="plan for N graphs that do not exist yet, instead of INPUT; requires --genus",
    )
    parser.add_argument(
        "--genus",
        type=_count,
        metavar="G",
        help="genus of these N graphs, which have 2.4 edges per cycle, as in a grid",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_graph_arguments(parser)
    add_representation_arguments(parser)
    parser.set_defaults(run=_plan)


def _plan(arguments: argparse.Namespace) -> int:
    from torelli.scale.costs import calibration

    plan = with_notes("input", lambda _: _planned(arguments))
    if arguments.json:
        print(json.dumps(plan.as_dict(), indent=1))
        return 0
    print(plan)
    print(f"\nCalibrated by `{calibration()['command']}`: {describe(calibration()['machine'])}")
    return 0


def _count(text: str) -> int:
    """Return a whole number, which may be written as 1e6."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < math.inf or value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1, such as 1e6")
    return int(value)


def _planned(arguments: argparse.Namespace) -> Plan:
    from torelli.scale.plan import Sample, plan_features, plan_kernel

    if (arguments.graphs is None) != (arguments.genus is None):
        raise InvalidOptionError("--graphs and --genus belong together: give both, or files")
    given = {"dtype": arguments.dtype, "representation": representation_options(arguments)}
    inputs: Any
    if arguments.graphs is not None:
        if arguments.files or arguments.tu:
            raise InvalidOptionError(
                "--graphs is for graphs that are not there yet: leave out files and --tu"
            )
        inputs = Sample.alike(arguments.graphs, arguments.genus)
    else:
        given |= {**graph_options(arguments), "read_options": read_options(arguments)}
        inputs = given.pop("inputs")
    if arguments.features is None:
        return plan_kernel(inputs, arguments.kernel, **given)
    return plan_features(inputs, arguments.features, **given)
