"""Methods on labelled sets: accuracy in nested folds, time, memory, and drift under subdivision."""

from __future__ import annotations

import time
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli.evaluation import Tuning, cross_validate, stratified_folds
from torelli.experiments._copies import reordered, subdivided
from torelli.experiments._measurement import call
from torelli.experiments.methods import MAJORITY, get_method, kernels, squared_distances, values_of
from torelli.graph import MetricGraph
from torelli.measure import canonical_measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.experiments._experiment import Row, Rows, Settings

TUNING = Tuning((1.0, 10.0, 100.0, 1000.0), inner_folds=3, max_inner=500, max_iter=10_000)
"""C and gamma are chosen inside the training folds, on at most 500 of their graphs."""
FACTORS = (0.1, 1.0, 10.0)
"""Multiples of the median rule's gamma to choose from."""
_DRIFT_SAMPLE = 60  # graphs for the drift


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
        Of the experiment; time and memory are capped.
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
    family = kernels(method, values, data.graphs, FACTORS)
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
        squared_distances(method, data.graphs[:3])  # compiles, imports
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
