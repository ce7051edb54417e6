"""``torelli kernel``: write a kernel matrix to disk, tile by tile."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torelli._registry import KERNELS
from torelli.commands._stores import (
    add_graph_arguments,
    add_representation_arguments,
    add_store_arguments,
    store_options,
)
from torelli.commands.wording import say, with_notes

if TYPE_CHECKING:
    from torelli._types import Subparsers

_DESCRIPTION = """\
Write the kernel matrix exp(-gamma d²) of all pairs of graphs, or with --gamma none their distances d. The
matrix is computed in tiles that are finished one by one. A run that was stopped, by a kill too, continues
with the same command, and the result is the same to the last byte. Names and labels are stored beside the
numbers.

N graphs have N²/2 pairs: `torelli plan` says before how long that takes. Features (`torelli features`) take a
time that is linear in N.
"""
_EPILOG = """\
examples:
  torelli kernel cities/*.graphml --kernel ttw -o K.zarr
  torelli kernel --tu MUTAG --kernel tte -o K.csv --gamma 0.5
  torelli kernel windows.jsonl --kernel tts -o distances.npy --gamma none
  torelli kernel more.jsonl --kernel ttw -o K.zarr --append
  torelli kernel windows.jsonl --kernel ttw -o K.zarr --dask tcp://node1:8786

Read a store by torelli.open_kernel("K.zarr"), or by zarr, dask or xarray.
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "kernel",
        help="write the kernel matrix of many graphs to disk",
        description=_DESCRIPTION,
        epilog=_EPILOG,
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
    parser.set_defaults(run=_run)


def _gamma(text: str) -> float | str | None:
    return None if text == "none" else text if text == "median" else float(text)


def _run(arguments: argparse.Namespace) -> int:
    from torelli.scale import KernelStore, write_kernel

    options = store_options(arguments)
    own = {"gamma": arguments.gamma, "tile": arguments.tile, "n_jobs": arguments.jobs}
    written = with_notes(
        str(arguments.out), lambda _: write_kernel(kernel=arguments.kernel, **own, **options)
    )
    if isinstance(written, KernelStore):
        what = "distances" if written.gamma is None else f"gamma {written.gamma:.6g}"
        say(f"torelli: {arguments.out}: {len(written):,} graphs, {what}")
    else:
        say(f"torelli: wrote {written}")
    return 0
