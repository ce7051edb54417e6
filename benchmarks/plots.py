"""Pictures of the results: ratios with their targets, and growth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt

if TYPE_CHECKING:
    from pathlib import Path

OURS, MISSED, TARGET = "#0072B2", "#D55E00", "#000000"


def draw(results: dict[str, Any], folder: Path) -> None:
    """Write ``ratios.png`` and ``growth.png``."""
    rows = [row for case in results.values() for row in case["rows"]]
    _ratios([row for row in rows if row["at_least"] is not None], folder / "ratios.png")
    _growth([row for row in rows if row["series"]], folder / "growth.png")


def _ratios(rows: list[dict[str, Any]], path: Path) -> None:
    if not rows:
        return
    figure, ax = plt.subplots(figsize=(9, 0.9 + 0.26 * len(rows)), layout="constrained")
    height = np.arange(len(rows))[::-1]
    ax.barh(
        height,
        [row["figure"] for row in rows],
        color=[OURS if row["met"] else MISSED for row in rows],
        height=0.7,
    )
    ax.scatter(
        [row["at_least"] for row in rows], height, marker="|", s=140, color=TARGET, zorder=3, label="target"
    )
    ax.set_yticks(height, [f"{row['what']} / {row['against']}" for row in rows], fontsize="small")
    ax.set_xscale("log")
    ax.axvline(1.0, color="#808080", linewidth=0.8)
    ax.set_xlabel("theirs / ours (blue: target met)")
    ax.legend(loc="lower right", frameon=False)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def _growth(rows: list[dict[str, Any]], path: Path) -> None:
    if not rows:
        return
    figure, axes = plt.subplots(
        1, len(rows), figsize=(4.6 * len(rows), 3.6), layout="constrained", squeeze=False
    )
    for ax, row in zip(axes[0], rows, strict=True):
        sizes, seconds = zip(*row["series"], strict=True)
        ax.loglog(sizes, seconds, "o-", color=OURS)
        ax.set_title(f"{row['what']} {row['figure']:.2f}", fontsize="small")
        ax.set_xlabel("nodes")
        ax.set_ylabel("seconds")
        ax.grid(visible=True, which="major", linewidth=0.4)
    figure.savefig(path, dpi=90)
    plt.close(figure)
