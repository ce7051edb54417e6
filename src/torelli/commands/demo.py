"""``torelli demo``: the whole way of the data on synthetic street patterns, in under a minute."""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from torelli import plot
from torelli._errors import MissingExtraError
from torelli.datasets.streets import street_patterns
from torelli.kernels import TTEKernel, TTSKernel, TTWKernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from torelli.graph import MetricGraph

KERNELS = {"TTW": TTWKernel, "TTE": TTEKernel, "TTS": TTSKernel}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "demo",
        help="classify synthetic street patterns; needs no data",
        description=(
            "Generates windows of four street patterns (gridiron, linear, chaotic, tributary),\n"
            "classifies them with a support vector machine on the TTW, TTE and TTS kernels and on\n"
            "the genus alone (10 stratified folds), prints the accuracies, and draws a kernel PCA\n"
            "and a network of each pattern with its basis cycles coloured."
        ),
        epilog="Example: torelli demo --windows 30 --out /tmp/demo",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--windows", type=at_least(2), default=60, metavar="N", help="windows of each pattern (default 60)"
    )
    parser.add_argument(
        "--radius", type=float, default=300.0, metavar="M", help="half side of a window in metres"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of patterns and folds (default 0)")
    parser.add_argument("--out", type=Path, default=Path("demo-output"), help="folder for the pictures")
    parser.set_defaults(run=run)


def at_least(least: int) -> Callable[[str], int]:
    """Return a type for integers of at least some number."""

    def integer(text: str) -> int:
        number = int(text)
        if number < least:
            raise argparse.ArgumentTypeError(f"{number} is too small, give {least} or more")
        return number

    return integer


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    started = time.perf_counter()
    require_matplotlib()
    arguments.out.mkdir(parents=True, exist_ok=True)
    data = street_patterns(arguments.windows, radius=arguments.radius, seed=arguments.seed)
    y = np.asarray(data.target_names)[data.y]
    genus = genera(data.graphs)
    size = f"{len(data.graphs)} windows of half side {arguments.radius:g} m"
    print(f"{size}, genus {genus.min():g} to {genus.max():g}")  # noqa: T201
    seconds = prepare(data.graphs[:: arguments.windows])
    print(f"compiled code ready after {seconds:.0f} s (it is kept on disk for the next time)")  # noqa: T201
    print(f"\n{'kernel':<12}{'accuracy':>16}{'seconds':>10}")  # noqa: T201
    folds = StratifiedKFold(min(10, arguments.windows), shuffle=True, random_state=arguments.seed)
    for name, model in models().items():
        before = time.perf_counter()
        scores = 100 * cross_val_score(model, data.graphs, y, cv=folds)
        seconds = time.perf_counter() - before
        print(f"{name:<12}{scores.mean():>9.1f} ± {scores.std():<4.1f}{seconds:>10.2f}")  # noqa: T201
    print(f"{'chance':<12}{100 / len(data.target_names):>9.1f}")  # noqa: T201
    files = draw(data.graphs, y, arguments.out)
    print(f"\npictures: {', '.join(map(str, files))}")  # noqa: T201
    print(f"done in {time.perf_counter() - started:.0f} s")  # noqa: T201
    return 0


def require_matplotlib() -> None:
    """Say at the start, not after the computing, that pictures need an extra."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("the pictures of the demo need matplotlib: pip install 'torelli[plot]'")


def prepare(graphs: list[MetricGraph]) -> float:
    """Compile or load what the kernels need, so that their times are theirs; return the seconds it took."""
    before = time.perf_counter()
    for Kernel in KERNELS.values():
        Kernel().fit(graphs)
    return time.perf_counter() - before


def models() -> dict[str, Any]:
    """Return the classifiers: three kernels, and the genus alone as the line to hold them against."""
    found = {
        name: make_pipeline(Kernel(n_jobs=-1), SVC(kernel="precomputed")) for name, Kernel in KERNELS.items()
    }
    return {**found, "genus alone": make_pipeline(FunctionTransformer(genera), StandardScaler(), SVC())}


def genera(graphs: list[MetricGraph]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the genus of each graph as a column."""
    return np.array([[graph.genus] for graph in graphs], dtype=np.float64)


def draw(graphs: list[MetricGraph], y: Any, folder: Path) -> list[Path]:  # noqa: ANN401  (labels of any kind)
    """Write the two pictures and return their paths."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415  (an extra)

    patterns = list(dict.fromkeys(np.asarray(y).tolist()))
    figure, axes = plt.subplots(1, len(patterns), figsize=(4 * len(patterns), 4.2), layout="constrained")
    for ax, pattern in zip(np.atleast_1d(axes), patterns, strict=True):
        members = [
            graph for graph, label in zip(graphs, np.asarray(y).tolist(), strict=True) if label == pattern
        ]
        typical = sorted(members, key=lambda graph: graph.genus)[len(members) // 2]
        plot.graph(typical, ax=ax)
        ax.set_title(f"{pattern}: genus {typical.genus}")
    cycles = folder / "cycles.png"
    figure.savefig(cycles, dpi=110)
    plt.close(figure)

    figure, axes = plt.subplots(1, len(KERNELS), figsize=(4.2 * len(KERNELS), 3.8), layout="constrained")
    for ax, (name, Kernel) in zip(axes, KERNELS.items(), strict=True):
        plot.kernel_pca(Kernel(n_jobs=-1).fit_transform(graphs), y, ax=ax, title=f"{name}, kernel PCA")
    pca = folder / "kernel_pca.png"
    figure.savefig(pca, dpi=110)
    plt.close(figure)
    return [cycles, pca]
