"""What commands that take files share: their options, the files, and what is said of them."""

from __future__ import annotations

import argparse
import glob
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from torelli.graph import MetricGraph

    Loaded = TypeVar("Loaded")

READ_OPTIONS = ("length", "network_type", "tolerance", "layer")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `torelli.read`."""
    reading = parser.add_argument_group(
        "how files are read, as in torelli.read", argument_default=argparse.SUPPRESS
    )
    reading.add_argument("--length", metavar="NAME", help="attribute or column with the edge lengths")
    reading.add_argument(
        "--network-type",
        choices=("drive", "drive_service", "all", "none"),
        help="which ways of OpenStreetMap are taken ('none': every way, whatever it is)",
    )
    reading.add_argument(
        "--tolerance", type=float, metavar="DISTANCE", help="within which end points of lines are one node"
    )
    reading.add_argument("--layer", metavar="NAME", help="layer of a file of lines that has several")


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of `torelli.read` that were given."""
    given = vars(arguments)
    options = {key: given[key] for key in READ_OPTIONS if key in given}
    if options.get("network_type") == "none":
        options["network_type"] = None
    return options


def expand(files: Sequence[str]) -> list[str]:
    """Expand patterns, which not every shell does."""
    paths: list[str] = []
    for file in files:
        pattern = glob.has_magic(file) and not Path(file).exists()
        matches = sorted(glob.glob(file)) if pattern else []  # noqa: PTH207  (Path.glob takes no absolute pattern)
        paths += matches or [file]
    return paths


def read_file(path: str, **options: Any) -> list[MetricGraph]:  # noqa: ANN401  (those of `read`)
    """Return the graphs of a file, pattern or folder."""
    from torelli.io.read import read  # noqa: PLC0415  (starting the command line stays fast)

    return read(path, **options)


def with_notes(name: str, load: Callable[[str], Loaded]) -> Loaded:
    """Load, and say on standard error what was resolved by a rule."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load(name)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        say(f"torelli: note: {name}: {message}")
    return loaded


def say(text: str) -> None:
    """Print a line on standard error."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  (a command prints)
