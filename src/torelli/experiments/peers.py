"""Alternatives to our methods that use lengths, compared on street sets and small TU sets."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.datasets.tu import load_tu
from torelli.experiments import _comparison, _urn_data
from torelli.experiments._comparison import LabelledSet, measure_method
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import again_with_more
from torelli.experiments._pages import reflow
from torelli.experiments.methods import MAJORITY, SETTINGS
from torelli.experiments.rivals import RIVALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Rows

MOLECULES = ("MUTAG", "BZR", "COX2", "DHFR", "ENZYMES", "MSRC_9", "BZR_MD", "COX2_MD")
"""Small TU sets: lengths are distances between atoms where a set has them (``_MD``), 1 otherwise."""
SETS = (*_urn_data.SETS, *MOLECULES)
COMPARED = (
    *SETTINGS, "TTW, bridges", "TTS, bridges", *RIVALS, "WL", "metric statistics", "genus", MAJORITY,
)  # fmt: skip
QUICK_SETS = ("URN3-S", "MUTAG")
QUICK_METHODS = (*SETTINGS, "TTS, bridges", *RIVALS, "genus", MAJORITY)
N_FOLDS, QUICK_FOLDS = 10, 3
_QUICK = 40  # graphs
_SECONDS = {"GW": 1500.0, "NetLSD, Kirchhoff": 100.0, "SP, lengths": 200.0, "persistence": 60.0}


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each set and method."""
    sets, methods = (QUICK_SETS, QUICK_METHODS) if settings.quick else (SETS, COMPARED)
    return [
        Cell({"dataset": name, "method": method}, cost=30.0 + _SECONDS.get(method, 60.0))
        for name in sets
        for method in methods
    ]


@cache
def load(name: str, *, quick: bool, seed: int) -> LabelledSet:
    """Return a set, a part of it if quick."""
    if name in MOLECULES:
        data = load_tu(name, lengths="attribute" if name.endswith("_MD") else "unit")
        whole = LabelledSet(list(data.graphs), np.asarray(data.y), None)
    else:
        streets = _urn_data.load(name, quick=False, seed=seed)
        whole = LabelledSet(streets.graphs, streets.y, streets.groups)
    if not quick:
        return whole
    chosen = np.sort(np.random.default_rng(seed).permutation(len(whole.y))[:_QUICK])
    groups = None if whole.groups is None else whole.groups[chosen]
    return LabelledSet([whole.graphs[i] for i in chosen], whole.y[chosen], groups)


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Compute a method on a set in a process of its own, and cross-validate it."""
    arguments = {"name": key["dataset"], "quick": settings.quick, "seed": settings.seed}
    return measure_method(
        key["method"],
        f"{__name__}:load",
        arguments,
        load(**arguments),
        n_folds=QUICK_FOLDS if settings.quick else N_FOLDS,
        repeats=1,
        settings=settings,
        rounded=True,
    )


_INTRODUCTION = """
The methods are alternatives to ours that use lengths, each from its own library. They are compared on
sets of street networks, with folds that never divide a spatial block where windows overlap, and on
small TU sets (distances between atoms in `_MD` sets, unit lengths in the others). All methods have the
same ten stratified folds. C and the multiple of the median rule's gamma are chosen inside the training
folds; kernels of GraKeL are normalised and have no gamma. Everything that is learned is learned from
training graphs; TTM rounds the scale of its vectors to multiples of 0.05, so that folds can share
vectors. Every method gets the graphs as they are in the files.
"""

_DRIFT = """
Graphs are subdivided (one point per edge on average) and reordered, which does not change the metric space.
The figures are the median distance between a graph and its subdivided copy, in percent of the median distance
between graphs.
"""


def page(rows: Rows) -> str:
    """Return the page."""
    table = _comparison.Table(rows)
    drift = _comparison.costs(table, "drift", lambda value: f"{value:.2g}")
    sections = _comparison.sections(table, "peers", "## Drift", reflow(_DRIFT), drift)
    return "\n\n".join([reflow(_INTRODUCTION), *sections])


def figures(rows: Rows) -> dict[str, Figure]:
    """Return the figure of accuracies."""
    return {"peers": _comparison.dots(_comparison.Table(rows), "accuracy (%)")}


def outcome(rows: Rows) -> str:
    """Return on how many sets our methods beat every other method."""
    counts = _comparison.win_counts(_comparison.Table(rows), SETTINGS)
    return f"Better than every method that uses lengths, than WL and than statistics: {counts}."


EXPERIMENT = Experiment(
    name="peers",
    title="Other methods that use lengths",
    section="",
    shows="Our kernels against Gromov-Wasserstein, NetLSD, extended persistence and shortest paths: "
    "accuracy, time, and drift when a graph is subdivided.",
    minutes=500,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    isolated=True,
    again=again_with_more,
    outcome=outcome,
)
