"""The kernel TTM as a family for cross-validation: vectors are learned from the training graphs alone."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.features import MeasureFeatures
from torelli.kernel_matrix import resolve_gamma

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph

SETTINGS: dict[str, dict[str, Any]] = {"TTM": {}, "TTM, currents": {"along": "currents"}}
"""Options of `MeasureFeatures` by name. The first is the default of the library."""
_ROUNDING = 1e-12  # squared distances relative to squared norms
_KEPT = 24  # sets of vectors: inner folds, draws and threads come back to a few


@dataclass(frozen=True)
class MeasureKernels:
    """Gaussian kernels of the vectors of `MeasureFeatures`, fitted to the graphs in the columns.

    Attributes
    ----------
    draws
        Lists of the same graphs with different lengths. The kernel is the mean over the lists.
    settings
        Options of `MeasureFeatures`. There is a kernel for each of them and each factor, setting by setting.
    factors
        Multiples of the gamma of the median rule.
    median_sample
        Number of graphs above which the median rule uses an evenly spaced sample of about this size.
    """

    draws: Sequence[list[MetricGraph]]
    settings: Sequence[Mapping[str, Any]] = tuple(SETTINGS.values())
    factors: Sequence[float] = (1.0,)
    median_sample: int | None = None
    _vectors: OrderedDict[Any, Floats] = field(default_factory=OrderedDict, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        """Return the number of kernels."""
        return len(self.settings) * len(self.factors)

    def kernel(self, i: int, rows: Ints, columns: Ints, /) -> Floats:
        """Return a part of the kernel matrix for the i-th pair of setting and factor."""
        setting, factor = divmod(i, len(self.factors))
        step = max(1, len(columns) // self.median_sample) if self.median_sample else 1
        members = np.union1d(rows, columns)
        at_rows, at_columns = np.searchsorted(members, rows), np.searchsorted(members, columns)
        K = np.zeros((len(rows), len(columns)))
        for draw in range(len(self.draws)):
            X = self._of(draw, setting, members, columns)
            sample = X[at_columns[::step]]
            gamma = self.factors[factor] * resolve_gamma("median", squared_distances(sample, sample))
            K += np.exp(-gamma * squared_distances(X[at_rows], X[at_columns]))
        K /= len(self.draws)
        return K

    def _of(self, draw: int, setting: int, members: Ints, training: Ints) -> Floats:
        """Return the vectors of some graphs, fitted to others; kept while other factors ask for them."""
        key = (draw, setting, members.tobytes(), training.tobytes())
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        graphs = self.draws[draw]
        features = MeasureFeatures(**self.settings[setting], n_jobs=1)
        features.fit([graphs[i] for i in training.tolist()])
        X: Floats = features.transform([graphs[i] for i in members.tolist()])
        with self._lock:
            self._vectors[key] = X
            while len(self._vectors) > _KEPT:
                self._vectors.popitem(last=False)
        return X


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
