"""``torelli demo``: generate, classify, draw and report synthetic street patterns, in under a minute."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from torelli._cache import distance_cache
from torelli._errors import MissingExtraError
from torelli._registry import default_kernels, get_kernel
from torelli.commands._inputs import at_least
from torelli.commands.classify import about_run, finish, score_table
from torelli.datasets.streets import street_patterns

if TYPE_CHECKING:
    from torelli.classification import Classification
    from torelli.graph import MetricGraph


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    *others, last = [name.upper() for name in default_kernels()]
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
    from torelli.classification import classify

    started = time.perf_counter()
    require_extras()
    arguments.out.mkdir(parents=True, exist_ok=True)
    data = street_patterns(arguments.windows, radius=arguments.radius, seed=arguments.seed)
    y = np.asarray(data.target_names)[data.y]
    genus = [graph.genus for graph in data.graphs]
    size = f"{len(data.graphs)} windows of half side {arguments.radius:g} m"
    print(f"{size}, genus {min(genus)} to {max(genus)}")
    seconds = prepare(data.graphs)
    print(f"compiled code ready after {seconds:.0f} s (it is kept on disk for the next time)")
    outcome = classify(data.graphs, y, folds=min(10, arguments.windows), seed=arguments.seed, n_jobs=-1)
    print(score_table(outcome))
    files = draw(outcome, arguments.out)
    print(f"\npictures: {', '.join(map(str, files))}")
    finish(outcome, about_run(arguments, "street patterns"), None, arguments.out / "report.html")
    print(f"done in {time.perf_counter() - started:.0f} s")
    return 0


def require_extras() -> None:
    """Raise an error at the start if an extra for the pictures or the report is missing."""
    for package in ("matplotlib", "plotly"):
        if find_spec(package) is None:
            raise MissingExtraError(f"the demo needs {package}: pip install 'torelli[report]'")


def prepare(graphs: list[MetricGraph]) -> float:
    """Compile or load what the kernels need, so that their times are theirs; return the seconds it took."""
    before = time.perf_counter()
    for kernel in default_kernels():
        get_kernel(kernel)().fit(graphs)
    distance_cache.clear()
    return time.perf_counter() - before


def draw(outcome: Classification, folder: Path) -> list[Path]:
    """Write two pictures and return their paths."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from torelli import plot

    n_classes = len(outcome.classes)
    figure, axes = plt.subplots(1, n_classes, figsize=(4 * n_classes, 4.2), layout="constrained")
    for label, (ax, pattern) in enumerate(zip(np.atleast_1d(axes), outcome.classes, strict=True)):
        members = [outcome.graphs[index] for index in np.flatnonzero(outcome.y == label)]
        typical = sorted(members, key=lambda graph: graph.genus)[len(members) // 2]
        plot.graph(typical, ax=ax)
        ax.set_title(f"{pattern}: genus {typical.genus}")
    cycles = folder / "cycles.png"
    figure.savefig(cycles, dpi=110)
    plt.close(figure)

    kernels = outcome.kernels
    y = [outcome.classes[label] for label in outcome.y]
    figure, axes = plt.subplots(1, len(kernels), figsize=(4.2 * len(kernels), 3.8), layout="constrained")
    for ax, (name, K) in zip(axes, kernels.items(), strict=True):
        plot.kernel_pca(K, y, ax=ax, title=f"{name.upper()}, kernel PCA")
    pca = folder / "kernel_pca.png"
    figure.savefig(pca, dpi=110)
    plt.close(figure)
    return [cycles, pca]
