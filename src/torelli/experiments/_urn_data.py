"""The sets of the street experiment, and the kernels and lines that are held against each other."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._errors import DataWarning, NonGenericWarning
from torelli.datasets.local import load_local
from torelli.datasets.urn import URN_NAMES, load_urn
from torelli.experiments._folds import DistanceFamily, Family
from torelli.kernels import squared_graph_distances
from torelli.statistics import MetricStatistics, StreetStatistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

OTHER_SETS = ("city120", "cells")
SETS = (*URN_NAMES, *OTHER_SETS)
_QUICK = 120  # graphs


class StreetSet(NamedTuple):
    """Graphs with labels and, where windows overlap, spatial blocks; the area of a window if it is one."""

    graphs: list[MetricGraph]
    y: NDArray[Any]
    groups: NDArray[np.int64] | None
    area: float


class Method(NamedTuple):
    """A combination of metrics, each with what it does with bridges, and of tables of features."""

    metrics: tuple[tuple[str, str], ...] = ()
    features: tuple[str, ...] = ()


OURS: dict[str, Method] = {
    "TTE": Method((("tte", "ignore"),)),
    "TTW": Method((("ttw", "ignore"),)),
    "TTS": Method((("tts", "ignore"),)),
    "TTW, bridges": Method((("ttw", "double"),)),
    "TTS, bridges": Method((("tts", "double"),)),
    "combined": Method((("tts", "double"),), ("metric",)),
    "combined + statistics": Method((("tts", "double"),), ("metric", "street")),
}
"""Our kernels; combinations are products with equal weights, chosen on other cities than these sets have."""
LINES: dict[str, Method] = {"genus": Method(features=("genus",)), "statistics": Method(features=("street",))}
"""The genus alone, and an RBF kernel on plain street statistics."""
BASELINES = ("OS", "SP", "WL")
"""Kernels of GraKeL, on graphs without lengths and labels."""


def load(name: str, *, quick: bool, seed: int) -> StreetSet:
    """Return a set: of the paper's eight with stand-in cities, or of the shared data; part of it if quick."""
    with warnings.catch_warnings():
        # some stand-ins have fewer nodes than landmarks, which the page says
        warnings.simplefilter("ignore", DataWarning)
        data = load_urn(name, source="standins", seed=seed) if name in URN_NAMES else load_local(name)
    graphs, y = list(data.graphs), np.asarray(data.y)
    groups = data.groups if name in URN_NAMES else None
    area = (2 * data.r) ** 2 if name in URN_NAMES else 1e6
    if quick:
        keep = np.sort(np.random.default_rng(seed).permutation(len(y))[:_QUICK])
        graphs, y = [graphs[at] for at in keep], y[keep]
        groups = None if groups is None else groups[keep]
    return StreetSet(graphs, y, groups, area)


def family_of(method: Method, data: StreetSet, *, n_jobs: int | None = None) -> tuple[Family, float]:
    """Return the kernels of a method on a set, and the seconds that distances and features took."""
    before = time.perf_counter()
    with warnings.catch_warnings():
        # lengths of the shared data are rounded to millimetres: totals tie
        warnings.simplefilter("ignore", NonGenericWarning)
        squared = [
            squared_graph_distances(data.graphs, None, metric, bridges=bridges, n_jobs=n_jobs)
            for metric, bridges in method.metrics
        ]
        features = [_table(kind, data) for kind in method.features]
    return DistanceFamily(squared, features), time.perf_counter() - before


def _table(kind: str, data: StreetSet) -> NDArray[np.float64]:
    tables: dict[str, Any] = {
        "genus": StreetStatistics(("genus",)),
        "street": StreetStatistics(area=data.area),
        "metric": MetricStatistics(),
    }
    found: NDArray[np.float64] = tables[kind].fit_transform(data.graphs)
    return found
