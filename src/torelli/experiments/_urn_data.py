"""Sets, kernels and models of the street experiment."""

from __future__ import annotations

import time
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from torelli._errors import DataWarning, NonGenericWarning
from torelli.cities import train_pattern_model
from torelli.datasets.calibration import city_windows, read_cities
from torelli.datasets.local import load_local
from torelli.datasets.streets import street_patterns
from torelli.datasets.urn import URN_NAMES, load_urn
from torelli.evaluation import RBFKernels
from torelli.experiments import rivals
from torelli.experiments._comparison import essential
from torelli.experiments.methods import SETTINGS, STREET_CHOICES, TUNED, MeasureKernels
from torelli.representation import squared_graph_distances
from torelli.statistics import MetricStatistics, StreetStatistics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.experiments._experiment import Rows
    from torelli.graph import MetricGraph

OTHER_SETS = ("city120", "cells")
SETS = (*URN_NAMES, *OTHER_SETS)
RADII = (150, 300)
"""Half sides in metres of the synthetic windows."""
TRANSFER_METHODS = ("combined", "statistics")
FACTORS = (0.25, 1.0, 4.0)
"""Multiples of the median rule's gamma to choose from."""
_QUICK = 120  # graphs
_SYNTHETIC, _REAL = 100, 20  # windows of each pattern, and of each city
_QUICK_SYNTHETIC, _QUICK_REAL = 30, 4
_QUICK_NODES = 3000
_TRANSFER_FOLDS = 5


class StreetSet(NamedTuple):
    """Graphs with labels, spatial blocks if windows overlap, and the area of a window in square metres."""

    graphs: list[MetricGraph]
    y: NDArray[Any]
    groups: Ints | None
    area: float


class Method(NamedTuple):
    """A product of kernels: metrics, each with its treatment of bridges, and tables of features.

    Or, with choices of options of `MeasureFeatures`, the kernel TTM.
    """

    metrics: tuple[tuple[str, str], ...] = ()
    features: tuple[str, ...] = ()
    measure: Sequence[Sequence[Mapping[str, Any]]] = ()


OURS: dict[str, Method] = {
    "TTE": Method((("tte", "ignore"),)),
    "TTW": Method((("ttw", "ignore"),)),
    "TTS": Method((("tts", "ignore"),)),
    "TTW, bridges": Method((("ttw", "double"),)),
    "TTS, bridges": Method((("tts", "double"),)),
    **{name: Method(measure=[[options]]) for name, options in SETTINGS.items()},
    TUNED: Method(measure=STREET_CHOICES),
    "combined": Method((("tts", "double"),), ("metric",)),
    "combined + statistics": Method((("tts", "double"),), ("metric", "street")),
}
"""Our kernels. The combinations were chosen on other cities than those of the sets."""
LINES: dict[str, Method] = {"genus": Method(features=("genus",)), "statistics": Method(features=("street",))}
"""Simple baselines: RBF kernels of the genus alone and of plain street statistics."""
_SPACE = ", space"
BASELINES = ("OS", "SP", "WL", f"SP{_SPACE}", f"WL{_SPACE}")
"""GraKeL's kernels on graphs without lengths and labels; *space*: and without points of degree 2."""


def load(name: str, *, quick: bool, seed: int) -> StreetSet:
    """Return one of the paper's sets with stand-in cities, or one of the shared data; part of it if quick."""
    with warnings.catch_warnings():
        # some stand-in cities have fewer nodes than landmarks, which the page states
        warnings.simplefilter("ignore", DataWarning)
        data = load_urn(name, source="standins", seed=seed) if name in URN_NAMES else load_local(name)
    graphs, y = list(data.graphs), np.asarray(data.y)
    groups = data.groups if name in URN_NAMES else None
    area = (2 * data.r) ** 2 if name in URN_NAMES else 1e6
    if quick:
        keep = np.sort(np.random.default_rng(seed).permutation(len(y))[:_QUICK])
        graphs, y = [graphs[i] for i in keep], y[keep]
        groups = None if groups is None else groups[keep]
    return StreetSet(graphs, y, groups, area)


def family_of(
    method: Method, data: StreetSet, *, n_jobs: int | None = None
) -> tuple[RBFKernels | MeasureKernels, float]:
    """Return the kernels of a method on a set, one for each factor, and the seconds to compute them."""
    before = time.perf_counter()
    if method.measure:
        for options in chain.from_iterable(method.measure):
            squared_graph_distances(data.graphs, None, "ttm", n_jobs=n_jobs, **options)
        seconds = time.perf_counter() - before
        tuned = len(method.measure) > 1
        family = MeasureKernels([data.graphs], method.measure, FACTORS, rounded=tuned)
        return family, seconds
    with warnings.catch_warnings():
        # lengths of the shared data are rounded to millimetres, so that sums of lengths are equal
        warnings.simplefilter("ignore", NonGenericWarning)
        squared = [
            squared_graph_distances(data.graphs, None, metric, bridges=bridges, n_jobs=n_jobs)
            for metric, bridges in method.metrics
        ]
        features = [_table(kind, data) for kind in method.features]
    product = RBFKernels(squared, features, factors=FACTORS, combine="product")
    return product, time.perf_counter() - before


def _table(kind: str, data: StreetSet) -> Floats:
    tables: dict[str, Any] = {
        "genus": StreetStatistics(("genus",)),
        "street": StreetStatistics(area=data.area),
        "metric": MetricStatistics(),
    }
    table: Floats = tables[kind].fit_transform(data.graphs)
    return table


def baseline_matrix(name: str, kernel: str, *, quick: bool, seed: int) -> tuple[Floats, float]:
    """Return the normalised matrix of a GraKeL kernel on a set, and the seconds it took.

    All lengths are 1: real lengths are all different, and GraKeL's kernels would find no similarity.

    Parameters
    ----------
    name
        The set.
    kernel
        One of `BASELINES`.
    quick, seed
        As for `load`.
    """
    graphs = load(name, quick=quick, seed=seed).graphs
    if kernel.endswith(_SPACE):
        graphs = [essential(graph) for graph in graphs]
    plain = [graph.replace(length=np.ones(graph.n_edges)) for graph in graphs]
    K, fit, transform = rivals.grakel_kernel_matrix(plain, kernel.removesuffix(_SPACE), seed=seed)
    return rivals.normalised(K), fit + transform


def transfer(radius: int, method: str, *, quick: bool, seed: int) -> Rows:
    """Return the accuracy of a model on synthetic windows, and what it predicts in real cities."""
    data = street_patterns(_QUICK_SYNTHETIC if quick else _SYNTHETIC, radius=radius, seed=seed)
    y = np.asarray(data.target_names)[data.y]
    cities = read_cities(max_nodes=_QUICK_NODES if quick else None)
    with warnings.catch_warnings():
        # rounded lengths, as above
        warnings.simplefilter("ignore", NonGenericWarning)
        if method == "combined":
            model, _, accuracy = train_pattern_model(data.graphs, y, seed=seed)
        else:
            model, accuracy = _statistics_model(data.graphs, y, radius, seed)
        rows: Rows = [{"kind": "synthetic", "accuracy": 100 * accuracy}]
        for pattern, towns in cities.items():
            for city in towns:
                n_windows = _QUICK_REAL if quick else _REAL
                windows = city_windows(city, radius=float(radius), n_windows=n_windows, seed=seed)
                if not windows:
                    continue
                predicted, counts = np.unique(model.predict(windows), return_counts=True)
                rows += [
                    {
                        "kind": "transfer",
                        "city": city.name,
                        "true": pattern,
                        "predicted": str(label),
                        "count": int(n),
                    }
                    for label, n in zip(predicted, counts, strict=True)
                ]
    return rows


def _statistics_model(
    graphs: list[MetricGraph], y: NDArray[Any], radius: int, seed: int
) -> tuple[Any, float]:
    pipeline = make_pipeline(StreetStatistics(area=(2.0 * radius) ** 2), StandardScaler(), SVC())
    folds = StratifiedKFold(_TRANSFER_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(pipeline, {"svc__C": [1.0, 10.0, 100.0]}, cv=folds).fit(graphs, y)
    return search.best_estimator_, float(search.best_score_)
