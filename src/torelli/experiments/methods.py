"""All methods that experiments compare: ours, classical kernels, plain statistics and rivals."""

from __future__ import annotations

import warnings
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import cdist

from torelli._errors import InvalidOptionError, MissingExtraError, NonGenericWarning, unknown_option
from torelli.distances import pairwise_distances
from torelli.evaluation import FixedKernel, NoKernel, RBFKernels
from torelli.experiments import _measure_kernels, baselines
from torelli.experiments._measure_kernels import MeasureKernels
from torelli.experiments.rivals import RIVALS, Method
from torelli.features import MeasureFeatures
from torelli.matrix import torelli_matrices
from torelli.statistics import STREET_FEATURES, MetricStatistics, StreetStatistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._types import Floats, Represented
    from torelli.evaluation import KernelFamily
    from torelli.graph import MetricGraph

MAJORITY = "majority"
"""The largest class of the training graphs, which is no method of comparison."""
_AREA = 1.0  # one for all: columns are standardised


def torelli(metric: str, **options: Any) -> Method:
    """Return a distance between Torelli matrices as a method."""
    words = ", ".join(f"`{name}={value!r}`" for name, value in options.items())

    def represent(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> list[Floats]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NonGenericWarning)  # ties are part of what is compared
            return torelli_matrices(graphs, n_jobs=1, **options)

    def squared(rows: list[Floats], columns: list[Floats]) -> Floats:
        others = None if rows is columns else columns
        return pairwise_distances(rows, others, metric, squared=True, n_jobs=1)

    return Method(f"{metric.upper()}{f' with {words}' if words else ''}", represent, squared)


def measure(**options: Any) -> Method:
    """Return TTM with some options as a method."""
    words = ", ".join(f"`{name}={value!r}`" for name, value in options.items())

    def represent(graphs: Sequence[MetricGraph], reference: Sequence[MetricGraph]) -> Floats:
        X: Floats = MeasureFeatures(**options, n_jobs=1).fit(reference).transform(graphs)
        return X

    what = f"TTM with {words or 'its defaults'}: vectors of the canonical measure"
    return Method(what, represent, _measure_kernels.squared_distances)


def _by_hops(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> list[MetricGraph]:
    return [graph.replace(length=np.ones(graph.n_edges)) for graph in graphs]


def classical(name: str) -> Method:
    """Return a kernel of GraKeL on graphs without lengths as a method."""
    what = f"GraKeL's {baselines.BASELINES[name]} without lengths, normalised"
    compare = partial(baselines.squared_distances, name=name)
    return Method(what, _by_hops, compare, is_kernel=True, module="grakel")


def statistics(features: StreetStatistics | MetricStatistics, description: str) -> Method:
    """Return a table of plain features as a method."""

    def represent(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> Floats:
        table: Floats = features.fit_transform(graphs)
        return table

    return Method(description, represent)


OURS: dict[str, Method] = {
    **{name: measure(**options) for name, options in _measure_kernels.SETTINGS.items()},
    "TTW": torelli("ttw"),
    "TTE": torelli("tte"),
    "TTS": torelli("tts"),
    "TTW, bridges": torelli("ttw", bridges="double"),
    "TTE, bridges": torelli("tte", bridges="double"),
    "TTS, bridges": torelli("tts", bridges="double"),
    "TTW literal": torelli("ttw", model="literal"),
    "TTE literal": torelli("tte", model="literal"),
    "TTS literal": torelli("tts", model="literal"),
}
"""Our methods; the literal ones are the paper's algorithm as printed."""
CLASSICAL: dict[str, Method] = {name: classical(name) for name in ("WL", "SP")}
"""Kernels of GraKeL that are fast enough for street networks."""
SIMPLE: dict[str, Method] = {
    "street statistics": statistics(
        StreetStatistics([name for name in STREET_FEATURES if name not in {"genus", "circuity"}], area=_AREA),
        "`StreetStatistics`: density of nodes and of streets, mean and spread of lengths, dead ends, degree",
    ),
    "metric statistics": statistics(
        MetricStatistics(), "`MetricStatistics`: counts of points and cycles, deciles of lengths"
    ),
    "genus": statistics(StreetStatistics(["genus"]), "the genus alone"),
}
"""Plain statistics, and what every method should beat."""
METHODS: dict[str, Method] = {**OURS, **CLASSICAL, **SIMPLE, **RIVALS}
"""All methods by name."""


def get_method(name: str) -> Method:
    """Return a method by its name, if its library is installed.

    Raises
    ------
    InvalidOptionError, MissingExtraError
        If there is no method of that name, or its library is missing.
    """
    if name not in METHODS:
        raise unknown_option("method", name, METHODS)
    method = METHODS[name]
    if method.module is not None and find_spec(method.module) is None:
        raise MissingExtraError(f"{name} needs the library {method.module}: pip install 'torelli[peers]'")
    return method


def standardised(method: Method, represented: Represented, reference: Represented) -> Represented:
    """Return vectors divided by the spread of the reference's columns; anything else as it is."""
    if method.squared is not None:
        return represented
    spread = reference.std(axis=0)
    return represented / np.where(spread > 0.0, spread, 1.0)


def squared_between(method: Method, rows: Represented, columns: Represented) -> Floats:
    """Return the squared distances between what a method made of graphs."""
    if method.squared is not None:
        return method.squared(rows, columns)
    squared: Floats = cdist(rows, columns, "sqeuclidean")
    return squared


def squared_distances(
    name: str,
    graphs: Sequence[MetricGraph],
    others: Sequence[MetricGraph] | None = None,
    *,
    reference: Sequence[MetricGraph] | None = None,
) -> Floats:
    """Return the squared distances of graphs (rows) to others (columns), by default to each other.

    Scales are learned from the reference graphs, by default `graphs`.
    """
    method = get_method(name)
    known = graphs if reference is None else reference
    scale = method.represent(known, known)
    rows = scale if known is graphs else method.represent(graphs, known)
    rows = standardised(method, rows, scale)
    columns = rows if others is None else standardised(method, method.represent(others, known), scale)
    return squared_between(method, rows, columns)


def values_of(name: str, graphs: Sequence[MetricGraph]) -> Floats | None:
    """Return what `kernels` needs of a method: vectors, or squared distances; None for what learns."""
    if name == MAJORITY or name in _measure_kernels.SETTINGS:
        return None
    method = get_method(name)
    represented = method.represent(graphs, graphs)
    if method.squared is None:
        table: Floats = represented
        return table
    return method.squared(represented, represented)


def kernels(
    name: str, values: Floats | None, graphs: list[MetricGraph], factors: Sequence[float]
) -> KernelFamily:
    """Return the kernels of a method to choose from, one for each multiple of the median rule's gamma.

    Whatever is learned (vectors of TTM, the spread of columns, gamma) is learned from the training graphs.
    Kernels of GraKeL are used as they are.
    """
    if name == MAJORITY:
        return NoKernel()
    if name in _measure_kernels.SETTINGS:
        return MeasureKernels([graphs], [_measure_kernels.SETTINGS[name]], factors)
    if values is None:
        raise InvalidOptionError(f"{name} has no values: give those of `values_of`")
    method = METHODS[name]
    if method.squared is None:
        return RBFKernels(features=[values], factors=factors)
    return distance_kernels(method, values, factors)


def distance_kernels(method: Method, squared: Floats, factors: Sequence[float]) -> KernelFamily:
    """Return the kernels of squared distances, or the kernel itself of a method that is one."""
    if method.is_kernel:
        return FixedKernel(1.0 - squared / 2.0)
    return RBFKernels([squared], factors=factors)
