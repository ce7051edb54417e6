"""The page and the figures of the stability experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli.experiments._copies import (
    CITIES,
    CONSOLIDATED,
    MIN_EDGES,
    RADIUS,
    TOLERANCE,
    WITH_DEAD_ENDS,
)
from torelli.experiments._measure_kernels import SETTINGS
from torelli.experiments._pages import markdown_table, panels, reflow
from torelli.experiments.methods import METHODS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Row, Rows

SMALL = ("reordered", "subdivided", "simplified", "lengths 0.1 %", "lengths 1 %")
"""Changes up to 1 % of noise, after which the original should be the nearest window to its copy."""
NOISE = "lengths 1 %"
MOST_MOVED, LEAST_FOUND, LEAST_FOUND_PREPARED = 0.5, 99.0, 80.0
"""Goals: percentage of the median distance, percentage of copies, and the same after consolidation."""

_METHOD = """
Each window is compared with a changed copy of itself. Three figures are measured for each method and
each change. First, the distance between the copy and its original, in percent of the median distance
between different windows. Second, how often the original is the nearest of all windows to the copy (if
k windows tie, each counts 1/k). Third, how often a support vector machine predicts the city of a copy.
It is trained on the originals in other quarters of the cities, with C and gamma chosen inside the
training folds. All methods learn their scales from the originals, without labels.
"""
_CHANGES = f"""
- **reordered**: edges in another order, nodes renumbered, half of the edges reversed.
  **subdivided**: one point added per edge on average, then reordered. **simplified**:
  `osmnx.simplify_graph`. None of the three changes the metric space.
- **lengths**: each length multiplied by exp(s z), where z is standard normal and s is 0.1 %, 1 % or
  5 %. **places**: each node moved by 1, 3 or 10 m (standard deviation in each direction). Each
  street is stretched like the straight line between its ends.
- **missing**: each street between two junctions is dropped with probability 1 %, 5 %; the largest
  component is kept. **shifted 10 m**: the window is cut 10 m away, in a random direction.
- **consolidated**: the city after `osmnx.consolidate_intersections(tolerance={TOLERANCE:g})`, then cut
  around the same places; by default dead ends are dropped. **dead ends kept**: the same with
  `dead_ends=True`.
- **without service roads**: windows of extracts of OpenStreetMap with service roads
  (`network_type="drive_service"`) against the same windows without them (`"drive"`). The originals
  are other windows than above, and fewer.
"""


class Table:
    """Rows by method and change."""

    def __init__(self, rows: Rows) -> None:
        self.rows = {(row["method"], row["change"]): row for row in rows}
        self.methods = list(dict.fromkeys(row["method"] for row in rows))
        self.changes = list(dict.fromkeys(row["change"] for row in rows))

    def get(self, method: str, change: str) -> Row | None:
        """Return a row that was computed."""
        row = self.rows.get((method, change))
        return row if row is not None and row["status"] == "ok" else None

    def text(self, method: str, change: str, column: str, form: str = ".1f") -> str:
        """Return a figure as text, or the status of a row that was not computed."""
        row = self.rows.get((method, change))
        if row is None:
            return ""
        return str(row["status"]) if row["status"] != "ok" else format(row[column], form)


def page(rows: Rows) -> str:
    """Return the page."""
    table = Table(rows)
    parts = [
        _introduction(table),
        reflow(_METHOD),
        _CHANGES.strip(),
        "## Goals",
        _goals(table),
        "![How often the original is the nearest window, and how far copies move](stability.png)",
        "## Distance of a copy from its original",
        "Mean over the windows, in percent of the median distance between different windows.",
        _table(table, "moved", ".3g"),
        "The 95th percentile of these distances:",
        _table(table, "moved_95", ".3g"),
        "## How often the original is the nearest window",
        "Percentage of copies. The last column is the number of windows that are compared.",
        _table(table, "found", ".1f", windows=True),
        "## Accuracy of a classifier trained on the originals",
        "Percentage of copies whose city is predicted. The first column is the accuracy on the originals.",
        _accuracies(table),
        "## What is compared",
        "\n".join(f"- **{name}**: {METHODS[name].description}." for name in table.methods if name in METHODS),
        _lost(table),
    ]
    return "\n\n".join(part for part in parts if part)


def _introduction(table: Table) -> str:
    row = max((row for row in table.rows.values() if row["status"] == "ok"), key=lambda row: row["among"])
    names = ", ".join(name.replace("_", " ") for name in CITIES)
    return reflow(
        f"{row['among']:,} squares of {2 * RADIUS:g} m of {row['cities']} cities (from {names}). No other "
        "page of results uses these cities. The centres lie on a lattice, so that windows hardly "
        f"overlap, and each window has at least {MIN_EDGES} edges."
    )


def _table(table: Table, column: str, form: str, *, windows: bool = False) -> str:
    lines = []
    for method in table.methods:
        texts = [table.text(method, change, column, form) for change in table.changes]
        extra = [_windows(table, method)] if windows else []
        lines.append([method, *texts, *extra])
    return markdown_table(["method", *table.changes, *(["windows"] if windows else [])], lines)


def _windows(table: Table, method: str) -> str:
    counts = [row["among"] for change in table.changes if (row := table.get(method, change))]
    return f"{max(counts):,}" if counts else ""


def _accuracies(table: Table) -> str:
    lines = []
    for method in table.methods:
        row = table.get(method, table.changes[0])
        before = f"{row['accuracy_before']:.1f}" if row else ""
        lines.append([method, before, *(table.text(method, change, "accuracy") for change in table.changes)])
    return markdown_table(["method", "originals", *table.changes], lines)


def _goals(table: Table) -> str:
    lines = []
    for method in table.methods:
        line = [method]
        for change, column, goal in (
            (NOISE, "moved", MOST_MOVED),
            (None, "found", LEAST_FOUND),
            (CONSOLIDATED, "found", LEAST_FOUND_PREPARED),
            (WITH_DEAD_ENDS, "found", LEAST_FOUND_PREPARED),
        ):
            rows = [table.get(method, one) for one in ([change] if change else SMALL)]
            figures = [row[column] for row in rows if row is not None]
            if len(figures) < len(rows):
                line.append("not measured")
                continue
            figure = min(figures)
            met = figure <= goal if column == "moved" else figure >= goal
            line.append(f"{figure:.3g} %, {'met' if met else 'not met'}")
        lines.append(line)
    header = [
        "method",
        f"distance after 1 % of noise (goal: at most {MOST_MOVED:g} %)",
        f"nearest, worst case up to 1 % of noise (goal: at least {LEAST_FOUND:g} %)",
        f"nearest, {CONSOLIDATED} (goal: at least {LEAST_FOUND_PREPARED:g} %)",
        f"nearest, {WITH_DEAD_ENDS} (same goal)",
    ]
    return markdown_table(header, lines)


def _lost(table: Table) -> str:
    lost = {row["method"]: row for row in table.rows.values() if row["status"] != "ok"}
    dropped = {
        change: row["left_out"]
        for change in table.changes
        if (row := table.get(table.methods[0], change)) and row["left_out"]
    }
    texts = []
    if dropped:
        counts = ", ".join(f"{change} {count}" for change, count in dropped.items())
        texts.append(f"Copies with fewer than two edges are left out: {counts}.")
    for method, row in lost.items():
        caps = f"{row['cap_seconds']:g} s a change, {row['cap_gigabytes']:g} GB"
        reason = row.get("message", "").splitlines()[-1:] if row["status"] == "E" else [caps]
        texts.append(f"{method}: {row['status']} ({'; '.join(reason)}).")
    return "\n".join(f"- {text}" for text in texts)


def outcome(rows: Rows) -> str:
    """Return how far TTM moves and how often it finds the original, with the best other method."""
    table = Table(rows)
    name = next(iter(SETTINGS))
    noise, prepared = table.get(name, NOISE), table.get(name, CONSOLIDATED)
    if noise is None or prepared is None:
        return ""
    others = {
        method: row["found"]
        for method in table.methods
        if method not in SETTINGS and (row := table.get(method, CONSOLIDATED))
    }
    best = max(others, key=lambda method: others[method], default="")
    beside = f" ({best} {others[best]:.0f} %)" if best else ""
    return (
        f"Noise of 1 % moves {name} by {noise['moved']:.2g} % of the median distance, and the original is "
        f"the nearest window for {noise['found']:.1f} % of copies. After intersections are consolidated, it "
        f"is the nearest for {prepared['found']:.0f} %{beside}."
    )


def figures(rows: Rows) -> dict[str, Figure]:
    """Return a heat map of both figures, methods by changes."""
    table = Table(rows)
    size = (0.5 * len(table.changes) + 2.5, 0.28 * len(table.methods) + 2.2)
    figure, axes = panels(1, 2, size=size)
    for ax, column, title in zip(
        axes[0],
        ("found", "moved"),
        ("own original is the nearest (%)", "moved (% of the median)"),
        strict=True,
    ):
        values = np.array(
            [
                [row[column] if (row := table.get(method, change)) else np.nan for change in table.changes]
                for method in table.methods
            ]
        )
        shown = values if column == "found" else -np.log10(np.maximum(values, 0.01))
        image = ax.imshow(shown, cmap="viridis", aspect="auto")
        low, high = image.get_clim()
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                dark = shown[i, j] < (low + high) / 2
                text = f"{value:.0f}" if value >= 10 or column == "found" else f"{value:.2g}"  # noqa: PLR2004
                ax.text(j, i, text, ha="center", va="center", size=6, color="white" if dark else "black")
        ax.set_xticks(range(len(table.changes)), table.changes, rotation=60, ha="right", size=7)
        ax.set_yticks(range(len(table.methods)), table.methods, size=7)
        ax.set_title(title, size=9)
    return {"stability": figure}
