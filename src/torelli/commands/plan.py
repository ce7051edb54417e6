"""``torelli plan``: say what features or a kernel matrix will take before it is computed."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, get_args

from torelli._errors import InvalidOptionError
from torelli._provenance import describe
from torelli._registry import KERNELS
from torelli._types import Precision, StoredFeatures
from torelli.commands._inputs import read_options
from torelli.commands._stores import (
    add_graph_arguments,
    add_representation_arguments,
    graph_options,
    representation_options,
)
from torelli.commands.wording import with_notes

if TYPE_CHECKING:
    from torelli._types import Subparsers
    from torelli.scale.plan import Plan

_DESCRIPTION = """\
Say how many seconds and bytes a kernel matrix or features will take, and how the work is cut. All graphs of
the input are counted, and 400 of them are read. Seconds are processor time on one core of the machine that
the cost model was calibrated on; `make bench CASES=scale` calibrates it on yours.
"""
_EPILOG = """\
examples:
  torelli plan windows.jsonl.gz --kernel ttw
  torelli plan windows.jsonl.gz --features measure --dtype float32
  torelli plan "cities/*.graphml" --kernel ttw --max-genus 200 --json
  torelli plan --graphs 1e6 --genus 50 --features measure
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "plan",
        help="say what features or a kernel matrix will take",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--kernel", choices=list(KERNELS), default="ttw", help="kernel (default: ttw)")
    what.add_argument("--features", choices=get_args(StoredFeatures), help="features instead of a kernel")
    parser.add_argument("--dtype", choices=get_args(Precision), default="float64", help="type of the numbers")
    parser.add_argument(
        "--graphs",
        type=_count,
        metavar="N",
        help="plan for N graphs that are not there yet, without INPUT; with --genus",
    )
    parser.add_argument(
        "--genus", type=_count, metavar="G", help="their genus; they have 2.4 edges for each cycle, as a grid"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_graph_arguments(parser)
    add_representation_arguments(parser)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from torelli.scale.costs import calibration

    plan = with_notes("input", lambda _: _plan(arguments))
    if arguments.json:
        print(json.dumps(plan.as_dict(), indent=1))
        return 0
    print(plan)
    print(f"\nCalibrated by `{calibration()['command']}`: {describe(calibration()['machine'])}")
    return 0


def _count(text: str) -> int:
    """Return a whole number, which may be written as 1e6."""
    value = float(text)
    if value < 1 or value != int(value):
        raise ValueError(text)
    return int(value)


def _plan(arguments: argparse.Namespace) -> Plan:
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
