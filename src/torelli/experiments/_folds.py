"""Cross-validation on distances that were computed once for a whole set."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.svm import SVC

from torelli._numerics import threads
from torelli.kernels import resolve_gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

SCALES = (0.25, 1.0, 4.0)
"""Multiples of the median rule's gamma to choose from."""
COSTS = (1.0, 10.0, 100.0)
"""Values of C to choose from."""
_INNER = 3


class Family(Protocol):
    """Kernels to choose from: what has been learned from the training graphs, by scale."""

    @property
    def scales(self) -> Sequence[float]:
        """The scales, of which 1 is one."""

    def kernels(self, train: Ints) -> list[Floats]:
        """Return the kernel matrix of all graphs for each scale, with parameters learned from `train`."""


@dataclass(frozen=True)
class DistanceFamily:
    """exp(-scale x mean of gamma_i d_i²): one metric, or the product of several with equal weights.

    Parameters
    ----------
    squared
        Squared distances between all graphs, by metric.
    features
        Tables of features, which become squared distances once they are scaled to the training rows.
    """

    squared: Sequence[Floats] = ()
    features: Sequence[Floats] = ()
    scales: Sequence[float] = SCALES

    def kernels(self, train: Ints) -> list[Floats]:
        """Return the kernel matrices; gammas, means and deviations are those of the training graphs."""
        members = [*self.squared, *(_distances_of(table, train) for table in self.features)]
        total = np.zeros_like(members[0])
        for member in members:
            total += resolve_gamma("median", member[np.ix_(train, train)]) * member / len(members)
        return [np.exp(-scale * total) for scale in self.scales]


@dataclass(frozen=True)
class FixedKernel:
    """A kernel matrix with nothing to learn but C."""

    matrix: Floats
    scales: Sequence[float] = (1.0,)

    def kernels(self, train: Ints) -> list[Floats]:  # noqa: ARG002  (nothing depends on it)
        """Return the matrix."""
        return [self.matrix]


@dataclass(frozen=True)
class Prediction:
    """What a cross-validation found: the predicted label of each graph, and the accuracy of each fold."""

    labels: NDArray[Any]
    accuracies: Floats


def cross_validate(
    family: Family,
    y: NDArray[Any],
    groups: Ints | None,
    *,
    tuned: bool,
    n_folds: int = 10,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Prediction:
    """Predict each graph by a support vector machine that has not seen its fold.

    Parameters
    ----------
    family
        The kernels to choose from.
    y, groups
        Labels, and spatial blocks if folds are not to divide them.
    tuned
        Whether the scale of gamma and C are chosen inside the training folds; else both are 1.
    n_folds, seed
        Number of folds and seed of their choice.
    n_jobs
        Number of threads.
    """
    folds = split(np.arange(len(y)), y, groups, n_folds, seed)
    labels = np.empty_like(y)
    accuracies = np.empty(len(folds))

    def work(at: int) -> None:
        train, test = folds[at]
        kernels = family.kernels(train)
        scale, cost = _choose(kernels, train, y, groups, seed) if tuned else (family.scales.index(1.0), 1.0)
        labels[test] = _fit(kernels[scale], train, y, cost).predict(kernels[scale][np.ix_(test, train)])
        accuracies[at] = np.mean(labels[test] == y[test])

    threads.run(work, [(at,) for at in range(len(folds))], n_jobs)
    return Prediction(labels, accuracies)


def split(
    members: Ints, y: NDArray[Any], groups: Ints | None, n_folds: int, seed: int
) -> list[tuple[Ints, Ints]]:
    """Return shuffled stratified folds of some graphs as (train, test); no fold divides a group."""
    if groups is None:
        parts = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(members, y[members])
    else:
        folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
        parts = folds.split(members, y[members], groups[members])
    return [(members[train], members[test]) for train, test in parts]


def _choose(
    kernels: list[Floats], train: Ints, y: NDArray[Any], groups: Ints | None, seed: int
) -> tuple[int, float]:
    """Return the position of the scale and the C that are best on folds of the training graphs.

    The first of equally good ones wins: the smallest scale, then the smallest C.
    """
    inner = split(train, y, groups, _INNER, seed)
    scores = {
        (scale, cost): np.mean(
            [
                _fit(K, fit, y, cost).score(K[np.ix_(check, fit)], y[check])
                for fit, check in inner
                if len(check)
            ]
        )
        for (scale, K), cost in itertools.product(enumerate(kernels), COSTS)
    }
    return max(scores, key=lambda choice: scores[choice])


def _fit(K: Floats, train: Ints, y: NDArray[Any], cost: float) -> Any:  # noqa: ANN401  (scikit-learn is untyped)
    return SVC(kernel="precomputed", C=cost).fit(K[np.ix_(train, train)], y[train])


def _distances_of(table: Floats, train: Ints) -> Floats:
    """Return squared distances of rows, each column scaled to the deviation of the training rows."""
    spread = table[train].std(axis=0)
    scaled = (table - table[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    squared: Floats = cdist(scaled, scaled, "sqeuclidean")
    return squared
