"""How far each method moves when the same place is drawn, measured or prepared in another way."""

from __future__ import annotations

import pickle
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.evaluation import Tuning, cross_validate, stratified_folds
from torelli.experiments._copies import (
    CHANGES,
    CITIES,
    CONSOLIDATED,
    MIN_EDGES,
    RADIUS,
    TOLERANCE,
    WITH_DEAD_ENDS,
    WITHOUT_SERVICE,
    Copies,
)
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import again_with_more, call
from torelli.experiments._pages import markdown_table, panels, reflow
from torelli.experiments.methods import (
    FINE,
    METHODS,
    SETTINGS,
    distance_kernels,
    get_method,
    squared_between,
    standardised,
)
from torelli.experiments.rivals import RIVALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.experiments._copies import Windows
    from torelli.experiments._experiment import Row, Rows
    from torelli.experiments.rivals import Method
    from torelli.graph import MetricGraph

SMALL = ("reordered", "subdivided", "simplified", "lengths 0.1 %", "lengths 1 %")
"""Changes up to 1 % of noise, after which the original should be the nearest window to its copy."""
_PREPARATION = (CONSOLIDATED, WITH_DEAD_ENDS, WITHOUT_SERVICE)
PARTS = {
    "drawing and noise": tuple(change for change in CHANGES if change not in _PREPARATION),
    "preparation": _PREPARATION,
}
"""Changes that are measured together."""
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
COMPARED = (
    *SETTINGS, FINE, "TTW", "TTE", "TTS", "TTW, bridges", "TTS, bridges", "TTW literal", "TTE literal",
    "TTS literal", "WL", "SP", "street statistics", "metric statistics", "genus", *RIVALS,
)  # fmt: skip
"""Methods in the order of the tables."""
QUICK = (*SETTINGS, "TTW", "TTS", "TTW literal", "WL", "metric statistics", "persistence")
FEWER = {"GW": 100, "SP": 200, "SP, lengths": 200, "NetLSD, Kirchhoff": 300}
"""Number of windows for methods that are too slow for all of them."""
N_FOLDS = 4
FACTORS = (0.25, 1.0, 4.0)
TUNING = Tuning((1.0, 10.0, 100.0), inner_folds=3, refit_inner=False)
_TIE = 1e-9  # relative to the largest squared distance
_COST = {"GW": 600.0, "SP": 400.0, "SP, lengths": 400.0, "NetLSD, Kirchhoff": 500.0, "persistence": 500.0}
_MIN_EDGES = 2


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each method and each part of the changes."""
    names = QUICK if settings.quick else COMPARED
    return [
        Cell(
            {"method": name, "changes": part},
            cost=_COST.get(name, 300.0 if "TTW" in name else 100.0) * len(changes) / len(CHANGES),
        )
        for name in names
        for part, changes in PARTS.items()
    ]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Compare the copies of windows with the originals, in a process of its own."""
    name, changes = key["method"], PARTS[key["changes"]]
    get_method(name)
    copies = _copies(quick=settings.quick, seed=settings.seed)
    files = {change: copies.files(change) for change in changes}
    caps = {"cap_seconds": settings.seconds, "cap_gigabytes": settings.gigabytes}
    outcome = call(
        f"{__name__}:compare",
        {"name": name, "files": files, "most": FEWER.get(name), "seed": settings.seed},
        seconds=settings.seconds * len(changes),
        gigabytes=settings.gigabytes,
        threads=1,
    )
    if outcome.status == "ok":
        rows: Rows = [{**row, "status": "ok"} for row in outcome.value]
        return rows
    failed = {"status": outcome.status, "message": outcome.message[-300:], **caps}
    return [{"change": change, **failed} for change in changes]


@cache
def _copies(*, quick: bool, seed: int) -> Copies:
    return Copies(quick=quick, seed=seed)


def compare(name: str, files: Mapping[str, tuple[str, str]], most: int | None, seed: int) -> Rows:
    """Return a row for each change: how far copies are, whether they are found, and what classifiers say.

    Parameters
    ----------
    name
        The method.
    files
        The files of originals and of copies, by change.
    most
        Largest number of windows, chosen evenly; None for all.
    seed
        Seed of the folds.
    """
    method = get_method(name)
    known: dict[str, _Originals] = {}
    rows = []
    for change, (originals_file, copies_file) in files.items():
        if originals_file not in known:
            known[originals_file] = _Originals(method, _load(originals_file), most, seed)
        originals = known[originals_file]
        every: list[MetricGraph] = _load(copies_file)
        copies = [every[i] for i in originals.chosen]
        whole = np.array([graph.n_edges >= _MIN_EDGES for graph in copies])
        before = time.process_time()
        squared = originals.squared_from([graph for graph, yes in zip(copies, whole, strict=True) if yes])
        seconds = time.process_time() - before
        own = np.sqrt(squared[np.arange(len(squared)), np.flatnonzero(whole)])
        moved = own / originals.median
        rows.append(
            {
                "change": change,
                "windows": len(squared),
                "left_out": int(np.count_nonzero(~whole)),
                "among": len(copies),
                "cities": len(np.unique(originals.y)),
                "moved": 100.0 * float(moved.mean()),
                "moved_95": 100.0 * float(np.quantile(moved, 0.95)),
                "found": 100.0 * float(found(squared, np.flatnonzero(whole)).mean()),
                "accuracy": originals.accuracy(squared, np.flatnonzero(whole)),
                "accuracy_before": originals.accuracy_before,
                "seconds": seconds,
            }
        )
    return rows


def _load(file: str) -> Any:  # noqa: ANN401  (what was pickled)
    return pickle.loads(Path(file).read_bytes())  # noqa: S301  (written by us)


def found(squared: Floats, own: Ints) -> Floats:
    """Return for each copy whether its original is the nearest: 1, 0, or 1 / k if k originals tie.

    Parameters
    ----------
    squared
        Squared distances of copies (rows) to originals.
    own
        The column of each copy's own original.
    """
    tie = _TIE * float(squared.max(initial=0.0))
    mine = squared[np.arange(len(own)), own]
    nearest = squared.min(axis=1)
    n_tied = np.count_nonzero(squared <= nearest[:, None] + tie, axis=1)
    hits: Floats = np.where(mine <= nearest + tie, 1.0 / n_tied, 0.0)
    return hits


class _Originals:
    """What a method makes of the original windows, their distances, and classifiers trained on them."""

    def __init__(self, method: Method, windows: Windows, most: int | None, seed: int) -> None:
        n = len(windows.graphs)
        count = min(n, most or n)
        self.chosen = np.unique(np.linspace(0, n - 1, count).round().astype(np.int64)).tolist()
        self.graphs = [windows.graphs[i] for i in self.chosen]
        self.y: NDArray[Any] = windows.y[self.chosen]
        self.groups: Ints = windows.groups[self.chosen]
        self.method, self.seed = method, seed
        self.raw = method.represent(self.graphs, self.graphs)
        self.represented = standardised(method, self.raw, self.raw)
        self.squared = squared_between(method, self.represented, self.represented)
        pairs = np.sqrt(self.squared[np.triu_indices(len(self.graphs), 1)])
        self.median = float(np.median(pairs)) or 1.0
        folds = min(N_FOLDS, len(np.unique(self.groups)))
        self.folds = stratified_folds(self.y, folds, groups=self.groups, seed=seed)
        self.accuracy_before = self.accuracy(self.squared, np.arange(len(self.graphs)))

    def squared_from(self, copies: list[MetricGraph]) -> Floats:
        """Return the squared distances of copies to the originals."""
        raw = self.method.represent(copies, self.graphs)
        return squared_between(self.method, standardised(self.method, raw, self.raw), self.represented)

    def accuracy(self, squared: Floats, own: Ints) -> float:
        """Return the percentage of copies whose city is predicted by a classifier of the other originals.

        A copy is tested in the fold in which its original, of index `own`, is.
        """
        n = len(self.graphs)
        row = np.full(n, -1, dtype=np.int64)
        row[own] = n + np.arange(len(own))
        folds = [(train, tests) for train, test in self.folds if len(tests := row[test][row[test] >= 0])]
        family = distance_kernels(self.method, np.vstack([self.squared, squared]), FACTORS)
        y, groups = np.concatenate([self.y, self.y[own]]), np.concatenate([self.groups, self.groups[own]])
        result = cross_validate(family, y, folds, groups=groups, tuning=TUNING, seed=self.seed)
        right = sum(float(np.sum(fold.predicted == y[fold.test])) for fold in result.folds)
        return 100.0 * right / sum(len(fold.test) for fold in result.folds)


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
        f"{row['among']:,} squares of {2 * RADIUS:g} m of {row['cities']} cities (from {names}). None of "
        "them had a part in choosing the options of TTM. The centres lie on a lattice, so that windows "
        f"hardly overlap, and each window has at least {MIN_EDGES} edges."
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
    """Return how far TTM moves and how often it finds the original, beside our best option and rival."""
    table = Table(rows)
    name = next(iter(SETTINGS))
    noise, prepared = table.get(name, NOISE), table.get(name, CONSOLIDATED)
    if noise is None or prepared is None:
        return ""
    found = {method: row["found"] for method in table.methods if (row := table.get(method, CONSOLIDATED))}
    options = (*SETTINGS, FINE)
    ours = [method for method in SETTINGS if method in found and method != name]
    others = [method for method in found if method not in options]
    best = [max(group, key=found.__getitem__) for group in (ours, others) if group]
    beside = f" ({'; '.join(f'{method} {found[method]:.0f} %' for method in best)})" if best else ""
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


EXPERIMENT = Experiment(
    name="stability",
    title="Stability when a place is drawn again",
    section="",
    shows="How each method reacts when windows are reordered, subdivided, noisy, incomplete or prepared in "
    "another way: how far they move, whether the original is still the nearest, and how accurate a "
    "classifier trained on the originals remains.",
    minutes=150,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    isolated=True,
    again=again_with_more,
    outcome=outcome,
    version=2,
)
