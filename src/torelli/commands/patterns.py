"""``torelli patterns``: compare the synthetic street patterns with real cities."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import DataNotFoundError, InvalidOptionError, MissingExtraError
from torelli.commands._inputs import at_least
from torelli.datasets.calibration import Comparison, compare, read_cities
from torelli.datasets.streets import LARGEST_RADIUS, PATTERNS, SMALLEST_RADIUS, street_pattern

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EXAMPLES = 5


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "patterns",
        help="compare the synthetic street patterns with real cities",
        description="Compare the synthetic street patterns with the real cities of the shared data. For each "
        "pattern and figure, the table has the range of the means of the cities, and the synthetic mean. "
        "TORELLI_DATA names the folder of the shared data; without it, only synthetic means are shown.",
    )
    parser.add_argument(
        "--radius",
        type=metres,
        nargs="+",
        default=[150.0, 300.0],
        metavar="METRES",
        help="half the side of a window (default: 150 300, as in the paper)",
    )
    parser.add_argument(
        "--windows",
        type=at_least(1),
        default=60,
        metavar="N",
        help="number of windows of each pattern and city (default: 60)",
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of all windows (default: 0)")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.png", help="file for a figure with examples of each pattern"
    )
    parser.set_defaults(run=run)


def metres(text: str) -> float:
    """Return half the side of a window, if the generator can make windows of that size."""
    radius = float(text)
    if not SMALLEST_RADIUS <= radius <= LARGEST_RADIUS:
        possible = f"from {SMALLEST_RADIUS:g} to {LARGEST_RADIUS:g}"
        raise argparse.ArgumentTypeError(f"{text} is out of range: give half the side in metres, {possible}")
    return radius


def run(arguments: argparse.Namespace) -> int:
    """Print the table and draw examples; return 1 if a figure is outside the range of the cities."""
    figure = None if arguments.plot is None else figure_for(arguments.plot)
    try:
        cities = read_cities()
        counts = ", ".join(f"{len(cities[pattern])} {pattern}" for pattern in PATTERNS)
        print(f"real cities: {counts}; {arguments.windows} windows each")
    except DataNotFoundError as error:
        cities = {pattern: [] for pattern in PATTERNS}
        print(f"no real cities: {error}")
    outside = 0
    for radius in arguments.radius:
        rows = compare(cities, radius=radius, n_windows=arguments.windows, seed=arguments.seed)
        side = f"{2 * radius:g} m"
        print(f"\nwindows of {side} x {side}")
        print(format_table(rows))
        outside += sum(not (row.is_inside or np.isnan(row.low)) for row in rows)
    if figure is not None:
        draw_examples(figure, radius=arguments.radius[-1], seed=arguments.seed)
        figure.savefig(arguments.plot, dpi=80)
        print(f"\nexamples drawn to {arguments.plot}")
    return 1 if outside else 0


def format_table(rows: list[Comparison]) -> str:
    """Return the comparison as a table; without real cities, with the synthetic means only."""
    lines = [f"{'pattern':<11}{'figure':<21}{'real cities':>19}{'synthetic':>11}"]
    for row in rows:
        real, verdict = "", ""
        if not np.isnan(row.low):
            real = f"{row.low:.4g} .. {row.high:.4g}"
            verdict = "inside" if row.is_inside else "OUTSIDE"
        line = f"{row.pattern:<11}{row.figure:<21}{real:>19}{row.synthetic:>11.4g}  {verdict}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def figure_for(path: Path) -> Figure:
    """Return an empty figure if it can be saved to a path, else raise an error."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("drawing needs matplotlib: pip install 'torelli[plot]'") from error
    figure = Figure(figsize=(2.2 * _EXAMPLES, 2.3 * len(PATTERNS)), layout="constrained")
    suffixes = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".").lower() not in suffixes:
        possible = ", ".join(f".{suffix}" for suffix in sorted(suffixes))
        raise InvalidOptionError(f"--plot {path}: the name of the file must end in one of {possible}")
    if not path.parent.is_dir():
        raise InvalidOptionError(f"--plot {path}: there is no folder {path.parent}, create it first")
    if path.is_dir():
        raise InvalidOptionError(f"--plot {path}: this is a folder, give a file")
    return figure


def draw_examples(figure: Figure, *, radius: float, seed: int) -> None:
    """Draw a row of windows for each pattern."""
    from matplotlib.collections import LineCollection

    axes = figure.subplots(len(PATTERNS), _EXAMPLES)
    for row, pattern in zip(axes, PATTERNS, strict=True):
        for position, axis in enumerate(row):
            graph = street_pattern(pattern, radius=radius, seed=seed + position)
            places = np.asarray(graph.coordinates)
            segments = np.stack([places[graph.tail], places[graph.head]], axis=1)
            axis.add_collection(LineCollection(list(segments), colors="black", linewidths=0.8))
            axis.set(aspect="equal", xlim=(-radius, radius), ylim=(-radius, radius))
            axis.set_title(f"{pattern}: genus {graph.genus}", fontsize=8)
            axis.set_axis_off()
