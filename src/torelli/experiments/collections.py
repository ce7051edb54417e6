"""Labelled collections of real networks: water, telecommunication, ant trails and neurons."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli.datasets.labelled import LABELLED
from torelli.experiments import _comparison
from torelli.experiments._comparison import LabelledSet, essential, measure_method
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import again_with_more
from torelli.experiments._pages import markdown_table, reflow
from torelli.experiments.methods import MAJORITY, SETTINGS
from torelli.experiments.rivals import RIVALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Rows


class _Set(NamedTuple):
    """A collection, and the options of its loader."""

    collection: str
    options: dict[str, str]
    question: str


SETS: dict[str, _Set] = {
    "water": _Set("water", {"label": "hoagland"}, "which layout, by Hoagland"),
    "water, types": _Set("water", {"label": "hwang_lansey"}, "which type, by Hwang and Lansey"),
    "zoo": _Set("zoo", {}, "research or commercial; great-circle lengths"),
    "zoo, unit": _Set("zoo", {"lengths": "unit"}, "research or commercial; every link of length 1"),
    "ants": _Set("ants", {}, "control or exclusion"),
    "neurons": _Set("neurons", {}, "type of dendrite"),
    "neurons, layers": _Set("neurons", {"label": "structure__layer"}, "layer of the cortex"),
}
"""The sets by name."""
COMPARED = (
    *SETTINGS, "TTW, bridges", "TTE, bridges", "TTS, bridges", *RIVALS, "WL", "SP", "metric statistics",
    "genus", MAJORITY,
)  # fmt: skip
QUICK_SETS = ("ants",)
QUICK_METHODS = (
    *SETTINGS,
    "TTS, bridges",
    "NetLSD",
    "persistence",
    "WL",
    "metric statistics",
    "genus",
    MAJORITY,
)
N_FOLDS, REPEATS = 5, 5


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each set and method."""
    sets, methods = (QUICK_SETS, QUICK_METHODS) if settings.quick else (tuple(SETS), COMPARED)
    return [
        Cell({"dataset": name, "method": method}, cost=20.0 + (100.0 if method in RIVALS else 0.0))
        for name in sets
        for method in methods
    ]


@cache
def load(name: str) -> LabelledSet:
    """Return a set, its graphs without the points of degree 2."""
    chosen = SETS[name]
    data: Any = LABELLED[chosen.collection](**chosen.options)
    return LabelledSet([essential(graph) for graph in data.graphs], np.asarray(data.y), data.groups)


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Compute a method on a set in a process of its own, and cross-validate it."""
    data = load(key["dataset"])
    rows = measure_method(
        key["method"],
        f"{__name__}:load",
        {"name": key["dataset"]},
        data,
        n_folds=N_FOLDS,
        repeats=1 if settings.quick else REPEATS,
        settings=settings,
    )
    if key["method"] == MAJORITY:
        rows[0] |= _description(data)
    return rows


def _description(data: LabelledSet) -> dict[str, Any]:
    return {
        "groups": 0 if data.groups is None else len(np.unique(data.groups)),
        "mean_edges": float(np.mean([graph.n_edges for graph in data.graphs])),
        "mean_genus": float(np.mean([graph.genus for graph in data.graphs])),
        "trees": int(np.count_nonzero([graph.genus == 0 for graph in data.graphs])),
    }


_INTRODUCTION = f"""
Networks that others collected and labelled
([descriptions](../../datasets.md#labelled-collections)). Points of degree 2 are removed from all
graphs, because they affect methods that count nodes; they do not affect ours. Folds are stratified and
repeated ({N_FOLDS} folds, {REPEATS} times), and never divide a group: a colony, an operator, or the
versions of one water network. C and the multiple of the median rule's gamma are chosen inside the
training folds. The sets are small, so differences of a few points mean little: p is from the corrected
resampled t-test.
"""


def page(rows: Rows) -> str:
    """Return the page."""
    table = _comparison.Table(rows)
    sections = _comparison.sections(table, "collections")
    return "\n\n".join([reflow(_INTRODUCTION), "## The sets", _sets(table), *sections])


def _sets(table: _comparison.Table) -> str:
    lines = []
    for name in table.datasets:
        row = table.get(name, MAJORITY)
        if row is not None:
            figures = [row["graphs"], row["classes"], row["groups"] or "", row["trees"]]
            means = [f"{row['mean_edges']:.0f}", f"{row['mean_genus']:.1f}"]
            lines.append([name, SETS[name].question, *figures, *means, f"{row['accuracy']:.1f}"])
    header = ["set", "question", "graphs", "classes", "groups", "trees", "edges", "genus", "majority (%)"]
    return markdown_table(header, lines)


def figures(rows: Rows) -> dict[str, Figure]:
    """Return the figure of accuracies."""
    return {"collections": _comparison.dots(_comparison.Table(rows), "accuracy (%)")}


def outcome(rows: Rows) -> str:
    """Return on how many sets our methods beat every other method."""
    table = _comparison.Table(rows)
    return f"Better than every other method: {_comparison.win_counts(table, table.ours)}."


EXPERIMENT = Experiment(
    name="collections",
    title="Water, telecommunication, ants and neurons",
    section="",
    shows="Our kernels and other methods on labelled collections of real networks, with grouped folds.",
    minutes=60,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    isolated=True,
    again=again_with_more,
    outcome=outcome,
)
