"""All methods that experiments compare: ours, classical kernels, plain statistics and rivals.

`MeasureKernels` is TTM for cross-validation: its vectors are learned from the training graphs alone.
"""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from torelli._errors import InvalidOptionError, MissingExtraError, NonGenericWarning, unknown_option
from torelli.distances import pairwise_distances, squared_vector_products
from torelli.evaluation import FixedKernel, NoKernel, RBFKernels
from torelli.experiments import rivals
from torelli.experiments.rivals import RIVALS, Method
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import resolve_gamma
from torelli.matrix import torelli_matrices
from torelli.statistics import STREET_FEATURES, MetricStatistics, StreetStatistics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torelli._spaces import Classes, Junctions
    from torelli._types import Floats, Ints, Represented
    from torelli.evaluation import KernelFamily
    from torelli.graph import MetricGraph

SETTINGS: dict[str, dict[str, Any]] = {
    "TTM": {},
    "TTM, diffusion": {"along": "diffusion"},
    "TTM, returns": {"along": "returns"},
    "TTM, currents": {"along": "currents"},
}
"""Options of `MeasureFeatures` by name. The first is the default of the library."""
FINE = "TTM, returns, fine"
"""TTM along returns with twice the frequency, which recognises more places and is moved further by noise."""
_MORE: dict[str, Any] = {"n_features": 512}  # describes molecules better than the default, and takes longer
_FAST: dict[str, Any] = {"frequency": 2.0, "size": 1.0, **_MORE}
CHOICES: tuple[tuple[dict[str, Any], ...], ...] = (
    (_MORE,),
    (_FAST,),
    ({"along": "diffusion"},),
    ({"along": "currents"},),
    (_FAST, {"along": "diffusion"}, {"along": "currents"}),
)
"""Kernels to choose from inside the training graphs: options of a kernel, or of the factors of a product."""
TUNED = "TTM, tuned"
"""TTM with one of `STREET_CHOICES`, picked inside the training graphs."""
STREET_CHOICES: tuple[tuple[dict[str, Any], ...], ...] = (
    (_MORE,),
    ({"size": 0.0, **_MORE},),
    ({"frequency": 1.5, **_MORE},),
    ({"depth": 4, **_MORE},),
)
"""Kernels to choose from on street networks: those along junctions that told unseen cities apart best."""
_KEPT = 24  # sets of vectors that are kept: inner folds, draws and threads use the same few again
_KEPT_SQUARED = 6  # squared distances that are kept: training and test, for a product of three
_STEP = 0.05  # of rounded scales

MAJORITY = "majority"
"""The baseline that predicts the largest class of the training graphs."""
_AREA = 1.0  # one for all: columns are standardised


@dataclass(frozen=True)
class MeasureKernels:
    """Gaussian kernels of the vectors of `MeasureFeatures`, fitted to the graphs in the columns.

    Attributes
    ----------
    draws
        Lists of the same graphs with different lengths. The kernel is the mean over the lists.
    choices
        Options of `MeasureFeatures`. Several make a product with equal weights, each with its own gamma.
        There is a kernel for each choice and each factor, choice by choice.
    factors
        Multiples of the gamma of the median rule.
    median_sample
        Number of graphs above which the median rule uses an evenly spaced sample of about this size.
    dtype
        Precision of the vectors.
    rounded
        Whether the learned location and spread are rounded to multiples of 0.05. Most folds then share the
        vectors of all graphs, which saves time in large sets.
    """

    draws: Sequence[list[MetricGraph]]
    choices: Sequence[Sequence[Mapping[str, Any]]] = CHOICES
    factors: Sequence[float] = (1.0,)
    median_sample: int | None = None
    dtype: Literal["float64", "float32"] = "float64"
    rounded: bool = False
    _prepared: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    _scales: dict[Any, tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)
    _vectors: OrderedDict[Any, Floats] = field(default_factory=OrderedDict, init=False, repr=False)
    _squared: OrderedDict[Any, tuple[float, Floats]] = field(
        default_factory=OrderedDict, init=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        """Return the number of kernels."""
        return len(self.choices) * len(self.factors)

    def kernel(self, i: int, rows: Ints, columns: Ints, /) -> Floats:
        """Return a part of the kernel matrix for the i-th pair of choice and factor."""
        choice, factor = divmod(i, len(self.factors))
        K = np.zeros((len(rows), len(columns)))
        for draw in range(len(self.draws)):
            exponent = np.zeros_like(K)
            for options in self.choices[choice]:
                gamma, squared = self._between(draw, options, rows, columns)
                exponent -= self.factors[factor] * gamma * squared
            K += np.exp(exponent / len(self.choices[choice]))
        K /= len(self.draws)
        return K

    def _between(
        self, draw: int, options: Mapping[str, Any], rows: Ints, columns: Ints
    ) -> tuple[float, Floats]:
        """Return the gamma of the median rule and the squared distances; kept while other factors ask."""
        key = (draw, tuple(options.items()), rows.tobytes(), columns.tobytes())
        with self._lock:
            known = self._squared.get(key)
        if known is not None:
            return known
        step = max(1, len(columns) // self.median_sample) if self.median_sample else 1
        members = np.union1d(rows, columns)
        row_positions, column_positions = np.searchsorted(members, rows), np.searchsorted(members, columns)
        X = self._vectors_of(draw, options, members, columns)
        sample = X[column_positions[::step]]
        gamma = resolve_gamma("median", squared_vector_products(sample, sample))
        found = gamma, squared_vector_products(X[row_positions], X[column_positions])
        with self._lock:
            self._squared[key] = found
            while len(self._squared) > _KEPT_SQUARED:
                self._squared.popitem(last=False)
        return found

    def _vectors_of(self, draw: int, options: Mapping[str, Any], members: Ints, training: Ints) -> Floats:
        """Return the vectors of some graphs, fitted to others; kept while other factors ask for them."""
        space = (draw, options.get("along"), options.get("depth"))
        features = MeasureFeatures(**options, dtype=self.dtype, n_jobs=1)
        fit = (draw, tuple(options.items()), training.tobytes())
        with self._lock:
            if space not in self._prepared:
                self._prepared[space] = features.prepare(self.draws[draw])
            prepared = self._prepared[space]
            if fit not in self._scales:
                self._scales[fit] = self._learned(features, prepared.take(training))
            features.location_, features.spread_ = self._scales[fit]
            scale = (features.location_.tobytes(), features.spread_.tobytes())
            if self.rounded:
                X = self._kept((*fit[:2], scale), lambda: features.transform(prepared))
                return X[members].astype(np.float64)
            return self._kept(
                (*fit, members.tobytes()),
                lambda: features.transform(prepared.take(members)).astype(np.float64),
            )

    def _learned(self, features: MeasureFeatures, training: Junctions | Classes) -> tuple[Floats, Floats]:
        """Return location and spread of the inputs."""
        features.fit(training)
        if not self.rounded:
            return features.location_, features.spread_
        steps = np.round(features.location_ / _STEP), np.maximum(np.round(features.spread_ / _STEP), 1.0)
        return _STEP * steps[0], _STEP * steps[1]

    def _kept(self, key: object, compute: Callable[[], Floats]) -> Floats:
        """Return stored vectors, or compute and store them in place of the oldest."""
        if key not in self._vectors:
            self._vectors[key] = compute()
            while len(self._vectors) > _KEPT:
                self._vectors.popitem(last=False)
        self._vectors.move_to_end(key)
        return self._vectors[key]


def measured_times(graphs: list[MetricGraph], **options: Any) -> tuple[float, float]:
    """Return the processor seconds of the vectors and of all squared distances."""
    MeasureFeatures(**options, n_jobs=1).fit_transform(graphs[:2])
    before = time.process_time()
    X = MeasureFeatures(**options, n_jobs=1).fit_transform(graphs)
    between = time.process_time()
    squared_vector_products(X, None)
    return between - before, time.process_time() - between


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

    description = f"TTM with {words or 'its defaults'}: vectors of the canonical measure"
    return Method(description, represent, squared_vector_products)


def _by_hops(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> list[MetricGraph]:
    return [graph.replace(length=np.ones(graph.n_edges)) for graph in graphs]


def classical(name: str) -> Method:
    """Return a kernel of GraKeL on graphs without lengths as a method."""
    description = f"GraKeL's {rivals.BASELINES[name]} without lengths, normalised"
    compare = partial(rivals.grakel_distances, name=name)
    return Method(description, _by_hops, compare, is_kernel=True, module="grakel")


def statistics(features: StreetStatistics | MetricStatistics, description: str) -> Method:
    """Return a table of plain features as a method."""

    def represent(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> Floats:
        table: Floats = features.fit_transform(graphs)
        return table

    return Method(description, represent)


OURS: dict[str, Method] = {
    **{name: measure(**options) for name, options in SETTINGS.items()},
    FINE: measure(along="returns", frequency=2.0),
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
    """Return the squared distances between representations of graphs by a method."""
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
    """Return what `kernels` needs of a method: vectors or squared distances; None for one that learns."""
    if name == MAJORITY or name in SETTINGS:
        return None
    method = get_method(name)
    represented = method.represent(graphs, graphs)
    if method.squared is None:
        table: Floats = represented
        return table
    return method.squared(represented, represented)


def kernels(
    name: str,
    values: Floats | None,
    graphs: list[MetricGraph],
    factors: Sequence[float],
    *,
    rounded: bool = False,
) -> KernelFamily:
    """Return the kernels of a method to choose from, one for each multiple of the median rule's gamma.

    Whatever is learned (vectors of TTM, the spread of columns, gamma) is learned from the training graphs.
    Kernels of GraKeL are used as they are. `rounded` is that of `MeasureKernels`.
    """
    if name == MAJORITY:
        return NoKernel()
    if name in SETTINGS:
        return MeasureKernels([graphs], [[SETTINGS[name]]], factors, rounded=rounded)
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
