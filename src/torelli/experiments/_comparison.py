"""Comparisons of methods on labelled sets: measurement of one method, and tables and figures of all.

A method is measured by its accuracy in nested folds, time, memory, and drift under subdivision.
"""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._provenance import three_digits
from torelli.evaluation import Tuning, cross_validate, paired_test, stratified_folds
from torelli.experiments._copies import reordered, subdivided
from torelli.experiments._measurement import call
from torelli.experiments._pages import markdown_table
from torelli.experiments.methods import (
    MAJORITY,
    METHODS,
    OURS,
    SETTINGS,
    SIMPLE,
    get_method,
    kernels,
    squared_distances,
    values_of,
)
from torelli.graph import MetricGraph
from torelli.measure import canonical_measure
from torelli.plot import MARKERS, PALETTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.experiments._experiment import Row, Rows, Settings

TUNING = Tuning((1.0, 10.0, 100.0, 1000.0), inner_folds=3, max_inner=500, max_iter=10_000)
"""C and gamma are chosen inside the training folds, on at most 500 of their graphs."""
FACTORS = (0.1, 1.0, 10.0)
"""Multiples of the median rule's gamma to choose from."""
_DRIFT_SAMPLE = 60  # graphs for the drift

LEVEL = 0.05
_LEAST_FOLDS = 2


class LabelledSet(NamedTuple):
    """Graphs, their classes, and the groups that folds must not divide, if there are any."""

    graphs: list[MetricGraph]
    y: NDArray[Any]
    groups: Ints | None


def measure_method(
    method: str,
    source: str,
    arguments: Mapping[str, Any],
    data: LabelledSet,
    *,
    n_folds: int,
    repeats: int,
    settings: Settings,
    rounded: bool = False,
) -> Rows:
    """Return the row of a method on a set: accuracy of each fold, seconds, memory, and drift.

    Parameters
    ----------
    method
        One of `METHODS`, or `MAJORITY`.
    source, arguments
        Function that returns the set (``"module:function"``) and its arguments, for the process in which the
        method is computed.
    data
        The set.
    n_folds, repeats
        Number of stratified folds, and how many times to go through all graphs.
    settings
        Settings of the experiment, including the limits on time and memory.
    rounded
        Whether what TTM learns is rounded, so that folds share vectors (see `MeasureKernels`).
    """
    facts: Row = {"graphs": len(data.y), "classes": len(np.unique(data.y))}
    values = None
    if method != MAJORITY:
        get_method(method)
        outcome = call(
            f"{__name__}:computed",
            {"method": method, "source": source, "arguments": dict(arguments), "seed": settings.seed},
            seconds=settings.seconds,
            gigabytes=settings.gigabytes,
            threads=1,
        )
        if outcome.status != "ok":
            caps = {"cap_seconds": settings.seconds, "cap_gigabytes": settings.gigabytes}
            return [{"status": outcome.status, **facts, **caps, "message": outcome.message[-300:]}]
        values, facts["compute_seconds"], facts["drift"] = outcome.value
        facts["peak_mb"] = outcome.peak_mb
    n_groups = len(data.y) if data.groups is None else len(np.unique(data.groups))
    folds = stratified_folds(
        data.y, min(n_folds, n_groups), groups=data.groups, repeats=repeats, seed=settings.seed
    )
    family = kernels(method, values, data.graphs, FACTORS, rounded=rounded)
    result = cross_validate(
        family, data.y, folds, groups=data.groups, tuning=TUNING, seed=settings.seed, n_jobs=1
    )
    percent = 100.0 * result.accuracies
    row = {"status": "ok", "accuracy": float(percent.mean()), "std": float(percent.std())}
    texts = {"folds": " ".join(f"{value:.4f}" for value in percent), "n_folds": len(folds) // repeats}
    return [{**row, **texts, **facts}]


def computed(
    method: str, source: str, arguments: dict[str, Any], seed: int
) -> tuple[Floats | None, float, float]:
    """Return the values of a method on a set, the processor seconds, and its drift, in a new process."""
    module, name = source.split(":")
    data: LabelledSet = getattr(import_module(module), name)(**arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        squared_distances(method, data.graphs[:3])  # compiles and imports, before the time is taken
        before = time.process_time()
        values = values_of(method, data.graphs)
        if values is None:
            squared_distances(method, data.graphs)
        seconds = time.process_time() - before
        return values, seconds, drift(method, data.graphs, seed)


def drift(method: str, graphs: list[MetricGraph], seed: int) -> float:
    """Return how far graphs move when they are subdivided and reordered, for at most 60 of them.

    The median distance of a graph to its changed copy, in percent of the median distance between graphs.
    """
    chosen = np.unique(
        np.linspace(0, len(graphs) - 1, min(len(graphs), _DRIFT_SAMPLE)).round().astype(np.int64)
    )
    some = [graphs[i] for i in chosen]
    rng = np.random.default_rng(seed)
    copies = [subdivided(graph, rng) if graph.n_edges else reordered(graph, rng) for graph in some]
    between = np.sqrt(squared_distances(method, some)[np.triu_indices(len(some), 1)])
    own = np.sqrt(squared_distances(method, copies, some, reference=some).diagonal())
    return 100.0 * float(np.median(own)) / (float(np.median(between)) or 1.0)


def essential(graph: MetricGraph) -> MetricGraph:
    """Return a graph without the points of degree 2, which methods that count nodes would see.

    A circle is a node with a loop. Names stay; coordinates and values of edges are dropped.
    """
    measure = canonical_measure(graph)
    is_circle = measure.ends[:, 0] < 0
    n_points = len(measure.points)
    ends = np.searchsorted(measure.points, measure.ends)
    ends[is_circle] = (n_points + np.arange(np.count_nonzero(is_circle)))[:, None]
    return MetricGraph(
        ends[:, 0],
        ends[:, 1],
        measure.length,
        n_points + int(np.count_nonzero(is_circle)),
        name=graph.name,
        unit=graph.unit,
    )


class Table:
    """Rows by set and method."""

    def __init__(self, rows: Rows) -> None:
        self.rows = {(row["dataset"], row["method"]): row for row in rows}
        self.datasets = list(dict.fromkeys(row["dataset"] for row in rows))
        self.methods = list(dict.fromkeys(row["method"] for row in rows))

    def get(self, dataset: str, method: str) -> Row | None:
        """Return a row that was computed."""
        row = self.rows.get((dataset, method))
        return row if row is not None and row["status"] == "ok" else None

    def folds(self, dataset: str, method: str) -> list[float]:
        """Return the accuracies of a row in each fold, none if it was not computed."""
        row = self.get(dataset, method)
        return [] if row is None else [float(text) for text in row["folds"].split()]

    def best(self, dataset: str, methods: Sequence[str]) -> str | None:
        """Return which of some methods has the highest accuracy."""
        accuracy = {method: row["accuracy"] for method in methods if (row := self.get(dataset, method))}
        return max(accuracy, key=lambda method: accuracy[method], default=None)

    @property
    def ours(self) -> list[str]:
        """Our methods in the table."""
        return [method for method in self.methods if method in OURS]

    @property
    def others(self) -> list[str]:
        """The methods of others, including plain statistics, but not the genus and the majority."""
        left_out = {*OURS, "genus", MAJORITY}
        return [method for method in self.methods if method not in left_out]


def accuracies(table: Table) -> str:
    """Return the table of accuracies, with the best of each set in bold."""
    lines = []
    for dataset in table.datasets:
        best = max((row["accuracy"] for m in table.methods if (row := table.get(dataset, m))), default=0.0)
        cells = []
        for method in table.methods:
            text = _text(table, dataset, method, lambda row: f"{row['accuracy']:.1f}")
            row = table.get(dataset, method)
            is_best = row is not None and round(row["accuracy"], 1) == round(best, 1)
            cells.append(f"**{text}**" if is_best else text)
        lines.append([dataset, *cells])
    return markdown_table(["set", *table.methods], lines)


def sections(table: Table, picture: str, *own: str) -> list[str]:
    """Return the sections of every comparison: accuracies, wins, seconds, its `own` ones, and the methods."""
    return [
        "## Accuracy",
        "Mean over all folds, in percent.",
        accuracies(table),
        f"![Accuracy on each set]({picture}.png)",
        "## Wins over other methods",
        *(ahead(table, name) for name in SETTINGS if name in table.methods),
        "## Seconds",
        "Processor time on one core, for the vectors or for the whole matrix.",
        costs(table, "compute_seconds"),
        *own,
        "## What is compared",
        descriptions(table),
    ]


def ahead(table: Table, method: str) -> str:
    """Return a table of one of our methods against the best other method, and the number of its wins."""
    lines = []
    won = lost = sure = 0
    for dataset in table.datasets:
        other = table.best(dataset, table.others)
        mine, theirs = table.folds(dataset, method), table.folds(dataset, other or "")
        if not mine or not theirs:
            continue
        difference = float(np.mean(mine) - np.mean(theirs))
        folds = (table.get(dataset, method) or {}).get("n_folds", len(mine))
        p = paired_test(mine, theirs, test_share=1.0 / max(folds, _LEAST_FOLDS))
        won += difference > 0
        lost += difference <= 0
        sure += difference > 0 and p < LEVEL
        lines.append(
            [
                dataset,
                f"{np.mean(mine):.1f}",
                f"{np.mean(theirs):.1f} ({other})",
                f"{difference:+.1f}",
                f"{p:.2g}",
            ]
        )
    text = (
        f"{method} beats every other method that could be computed on {won} of {won + lost} sets, with "
        f"p < {LEVEL:g} on {sure}. It is behind on {lost}."
    )
    header = ["set", method, "best other", "difference", "p"]
    return f"{markdown_table(header, lines)}\n\n{text}"


def wins(table: Table, method: str) -> tuple[int, int]:
    """Return on how many sets one of our methods beats all others, and how many sets have figures of both."""
    judged = won = 0
    for dataset in table.datasets:
        mine, other = table.get(dataset, method), table.best(dataset, table.others)
        theirs = None if other is None else table.get(dataset, other)
        if mine is not None and theirs is not None:
            judged += 1
            won += mine["accuracy"] > theirs["accuracy"]
    return won, judged


def win_counts(table: Table, methods: Iterable[str]) -> str:
    """Return the wins of some of our methods as text, for an outcome."""
    counts = {name: wins(table, name) for name in methods if name in table.methods}
    return "; ".join(f"{name} on {won} of {judged} sets" for name, (won, judged) in counts.items())


def costs(table: Table, column: str, form: Callable[[float], str] = three_digits) -> str:
    """Return a table of seconds, memory or drift; the majority has none."""
    methods = [method for method in table.methods if method != MAJORITY]
    lines = [
        [dataset, *(_text(table, dataset, method, lambda row: form(row[column])) for method in methods)]
        for dataset in table.datasets
    ]
    return markdown_table(["set", *methods], lines)


def _text(table: Table, dataset: str, method: str, form: Callable[[Row], str]) -> str:
    row = table.rows.get((dataset, method))
    if row is None:
        return ""
    return form(row) if row["status"] == "ok" else str(row["status"])


def descriptions(table: Table) -> str:
    """Return a list of the methods, followed by the cells that were not computed."""
    lines = [f"- **{name}**: {METHODS[name].description}." for name in table.methods if name in METHODS]
    lost = [row for row in table.rows.values() if row["status"] != "ok"]
    if lost:
        seconds = " or ".join(f"{cap:g}" for cap in sorted({row["cap_seconds"] for row in lost}))
        gigabytes = " or ".join(f"{cap:g}" for cap in sorted({row["cap_gigabytes"] for row in lost}))
        lines.append(f"- T and M: out of time ({seconds} s) or memory ({gigabytes} GB). E: failed.")
    for row in lost:
        if row["status"] == "E":
            (reason,) = row["message"].splitlines()[-1:] or [""]
            lines.append(f"- {row['method']} on {row['dataset']} failed: {reason}")
    return "\n".join(lines)


def dots(table: Table, label: str) -> Figure:
    """Return a figure of the accuracies: a line for each set, a mark for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.34 * len(table.datasets) + 2.2), layout="constrained")
    ax = figure.subplots()
    shown = [method for method in table.methods if method not in SIMPLE or method == "metric statistics"]
    for i, method in enumerate(shown):
        values = [row["accuracy"] if (row := table.get(name, method)) else np.nan for name in table.datasets]
        colour = "0.5" if method == MAJORITY else PALETTE[i % len(PALETTE)]
        marker = "|" if method == MAJORITY else MARKERS[i % len(MARKERS)]
        (mark,) = ax.plot(values, range(len(values)), marker, color=colour, label=method, linestyle="none")
        if method not in OURS:
            mark.set_markerfacecolor("none")
    ax.set_yticks(range(len(table.datasets)), table.datasets)
    ax.invert_yaxis()
    ax.set_xlabel(label)
    ax.grid(axis="y", alpha=0.3)
    figure.legend(
        *ax.get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=8, frameon=False
    )
    return figure
