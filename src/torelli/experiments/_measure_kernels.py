"""The kernel TTM as a family for cross-validation: vectors are learned from the training graphs alone."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from torelli.features import MeasureFeatures
from torelli.kernel_matrix import resolve_gamma

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torelli._spaces import Classes, Junctions
    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

SETTINGS: dict[str, dict[str, Any]] = {
    "TTM": {},
    "TTM, diffusion": {"along": "diffusion"},
    "TTM, currents": {"along": "currents"},
}
"""Options of `MeasureFeatures` by name. The first is the default of the library."""
CHOICES: tuple[tuple[dict[str, Any], ...], ...] = (
    ({},),
    ({"frequency": 2.0, "size": 1.0},),
    ({"along": "diffusion"},),
    ({"along": "currents"},),
    ({"frequency": 2.0, "size": 1.0}, {"along": "diffusion"}, {"along": "currents"}),
)
"""Kernels to choose from where a choice is made inside the training graphs: options, products of several."""
TUNED = "TTM, tuned"
"""TTM with one of `STREET_CHOICES`, picked inside the training graphs."""
STREET_CHOICES: tuple[tuple[dict[str, Any], ...], ...] = (
    ({},),
    ({"size": 0.0},),
    ({"frequency": 1.5},),
    ({"depth": 4},),
)
"""Kernels to choose from on street networks: those along junctions that told unseen cities apart best."""
_ROUNDING = 1e-12  # squared distances relative to squared norms
_KEPT = 24  # sets of vectors: inner folds, draws and threads come back to a few
_STEP = 0.05  # of rounded scales


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
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        """Return the number of kernels."""
        return len(self.choices) * len(self.factors)

    def kernel(self, i: int, rows: Ints, columns: Ints, /) -> Floats:
        """Return a part of the kernel matrix for the i-th pair of choice and factor."""
        choice, factor = divmod(i, len(self.factors))
        step = max(1, len(columns) // self.median_sample) if self.median_sample else 1
        members = np.union1d(rows, columns)
        row_positions, column_positions = np.searchsorted(members, rows), np.searchsorted(members, columns)
        K = np.zeros((len(rows), len(columns)))
        for draw in range(len(self.draws)):
            exponent = np.zeros_like(K)
            for options in self.choices[choice]:
                X = self._vectors_of(draw, options, members, columns)
                sample = X[column_positions[::step]]
                gamma = self.factors[factor] * resolve_gamma("median", squared_distances(sample, sample))
                exponent -= gamma * squared_distances(X[row_positions], X[column_positions])
            K += np.exp(exponent / len(self.choices[choice]))
        K /= len(self.draws)
        return K

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


def squared_distances(X: Floats, Y: Floats) -> Floats:
    """Return squared distances of rows by products, ten times as fast as by differences.

    What rounding of products explains is 0.
    """
    norms = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1)
    squared: Floats = norms - 2.0 * (X @ Y.T)
    squared[squared <= _ROUNDING * norms] = 0.0
    return squared


def measured_times(graphs: list[MetricGraph], **options: Any) -> tuple[float, float]:
    """Return the processor seconds of the vectors and of all squared distances."""
    MeasureFeatures(**options, n_jobs=1).fit_transform(graphs[:2])
    before = time.process_time()
    X = MeasureFeatures(**options, n_jobs=1).fit_transform(graphs)
    between = time.process_time()
    squared_distances(X, X)
    return between - before, time.process_time() - between
