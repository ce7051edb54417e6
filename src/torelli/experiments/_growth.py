"""How a measured quantity grows: times, fitted exponents, and the figures that show them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.plot import MARKERS, PALETTE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def best_seconds(function: Callable[[], object], repeats: int, *, long: float = float("inf")) -> float:
    """Return the least processor time of some calls: what they cost without the machine's other work.

    Of calls that take more than `long` seconds there are three at most.
    """
    times: list[float] = []
    while len(times) < (min(repeats, 3) if times and min(times) > long else repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the exponent b of the power law y = a x^b, by least squares on the logarithms."""
    return float(np.polyfit(np.log(np.asarray(x)), np.log(np.asarray(y)), 1)[0])


def panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.2, 3.6)) -> tuple[Figure, Any]:
    """Return a figure and its axes, row by row."""
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def curve(
    ax: Axes,
    x: Sequence[float],
    y: Sequence[float],
    number: int,
    label: str,
    *,
    spread: Sequence[float] | None = None,
    linestyle: str = "-",
) -> None:
    """Draw curve `number` in its own colour and marker, so that it can be told without colour too."""
    ax.errorbar(
        x,
        y,
        yerr=spread,
        color=PALETTE[number % len(PALETTE)],
        marker=MARKERS[number % len(MARKERS)],
        markersize=4,
        linewidth=1.2,
        linestyle=linestyle,
        capsize=2,
        label=label,
    )
