"""``torelli demo``: generate, classify, draw and report synthetic street patterns."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from torelli._cache import distance_cache
from torelli._errors import MissingExtraError
from torelli.commands._inputs import at_least
from torelli.commands.classify import about_run, finish, score_table
from torelli.commands.warmup import compile_kernel, compiled_beside
from torelli.commands.wording import tell, telling_time
from torelli.datasets.streets import PATTERNS, street_patterns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from torelli._types import Dataset
    from torelli.classification import Classification

KERNELS = ("ttm", "ttw")
"""The kernel to start with, and the paper's; all four would take twice as long to compile."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    *others, last = [name.upper() for name in KERNELS]
    listed = f"{', '.join(others)} and {last}" if others else last
    parser = subparsers.add_parser(
        "demo",
        help="classify synthetic street patterns; needs no data",
        description=(
            "Generates windows of four street patterns (gridiron, linear, chaotic, tributary),\n"
            f"classifies them with a support vector machine on the {listed} kernels and on\n"
            "the genus alone (10 stratified folds), prints the accuracies, draws a kernel PCA and a\n"
            "network of each pattern with its basis cycles coloured, and writes a report, one HTML\n"
            "file to open in a browser."
        ),
        epilog="Example: torelli demo --windows 30 --out /tmp/demo",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--windows",
        type=at_least(2),
        default=60,
        metavar="N",
        help="number of windows of each pattern (default 60)",
    )
    parser.add_argument(
        "--radius", type=float, default=300.0, metavar="M", help="half the side of a window, in metres"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of patterns and folds (default 0)")
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder for the pictures and the report"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    started = time.perf_counter()
    require_extras()
    arguments.out.mkdir(parents=True, exist_ok=True)
    patterns = f"{', '.join(PATTERNS[:-1])} and {PATTERNS[-1]}"
    tell(f"drawing {arguments.windows} windows of each street pattern: {patterns}")
    first, *others = KERNELS
    with telling_time("drawing windows, and compiling code if this is the first time"):
        with compiled_beside(others):
            seconds = prepare(first)
            data = street_patterns(arguments.windows, radius=arguments.radius, seed=arguments.seed)
        seconds += sum(map(prepare, others))
        genus = [graph.genus for graph in data.graphs]
    tell(f"compiled code ready after {seconds:.0f} s (kept on disk; `torelli warmup` compiles it in advance)")
    size = f"{len(data.graphs)} windows of half side {arguments.radius:g} m"
    tell(f"{size}, genus {min(genus)} to {max(genus)}")
    with telling_time("drawing"):
        tell(f"picture: {draw_cycles(data, arguments.out / 'cycles.png')}")
    with telling_time("classifying"):
        outcome = _classify(data, arguments)
    tell(score_table(outcome))
    with telling_time("drawing"):
        tell(f"\npicture: {draw_kernel_pca(outcome, arguments.out / 'kernel_pca.png')}")
    with telling_time("writing the report"):
        finish(outcome, about_run(arguments, "street patterns"), None, arguments.out / "report.html")
    tell(f"done in {time.perf_counter() - started:.0f} s")
    return 0


def _classify(data: Dataset, arguments: argparse.Namespace) -> Classification:
    from torelli.classification import classify

    y = np.asarray(data.target_names)[data.y]
    folds = min(10, arguments.windows)
    return classify(data.graphs, y, metrics=KERNELS, folds=folds, seed=arguments.seed, n_jobs=-1)


def require_extras() -> None:
    """Raise an error at the start if an extra for the pictures or the report is missing."""
    for package in ("matplotlib", "plotly"):
        if find_spec(package) is None:
            raise MissingExtraError(f"the demo needs {package}: pip install 'torelli[report]'")


def prepare(kernel: str) -> float:
    """Compile or load what a kernel needs, to keep it out of its time; return the seconds it took."""
    before = time.perf_counter()
    compile_kernel(kernel)
    distance_cache.clear()
    return time.perf_counter() - before


def draw_cycles(data: Dataset, path: Path) -> Path:
    """Draw a network of each pattern, that of median genus, with its basis cycles coloured."""
    from torelli import plot

    figure, axes = _figure(len(data.target_names), 4.0, 4.2)
    for label, (ax, pattern) in enumerate(zip(axes, data.target_names, strict=True)):
        members = [data.graphs[index] for index in np.flatnonzero(data.y == label)]
        typical = sorted(members, key=lambda graph: graph.genus)[len(members) // 2]
        plot.graph(typical, ax=ax)
        ax.set_title(f"{pattern}: genus {typical.genus}")
    figure.savefig(path, dpi=110)
    return path


def draw_kernel_pca(outcome: Classification, path: Path) -> Path:
    """Draw the first two kernel principal components of each kernel."""
    from torelli import plot

    y = [outcome.classes[label] for label in outcome.y]
    figure, axes = _figure(len(outcome.kernels), 4.2, 3.8)
    for ax, (name, K) in zip(axes, outcome.kernels.items(), strict=True):
        plot.kernel_pca(K, y, ax=ax, title=f"{name.upper()}, kernel PCA")
    figure.savefig(path, dpi=110)
    return path


def _figure(n_axes: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure that needs no display, with axes side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_axes, height), layout="constrained")
    return figure, list(np.atleast_1d(figure.subplots(1, n_axes)))
