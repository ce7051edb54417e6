"""How kernels are judged: the paper's protocol, and a fair one."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy import stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

FOLDS = 10
REPEATS = 3
MAX_ITER = 10_000
COSTS = (1.0, 10.0, 100.0, 1000.0)
GAMMA_FACTORS = (0.1, 1.0, 10.0)
MOST_INNER = 500
"""C and gamma are chosen on at most so many graphs of the training folds, by three folds among them."""
INNER_FOLDS = 3
_ROWS_AT_ONCE = 64


class Family(Protocol):
    """Kernels to choose from, on a fixed list of graphs."""

    def __len__(self) -> int:
        """Return how many there are."""

    def kernel(self, i: int, rows: Ints, columns: Ints) -> Floats:
        """Return a part of the i-th kernel matrix; whatever it learns, it learns from the columns."""


@dataclass(frozen=True)
class NoKernel:
    """Nothing to go by: what is left is the largest class of the training folds."""

    def __len__(self) -> int:
        """Return 1."""
        return 1

    def kernel(self, i: int, rows: Ints, columns: Ints) -> Floats:  # noqa: ARG002
        """Return a matrix without columns."""
        return np.empty((len(rows), 0))


@dataclass(frozen=True)
class OneKernel:
    """A kernel matrix as it is."""

    K: Floats

    def __len__(self) -> int:
        """Return 1."""
        return 1

    def kernel(self, i: int, rows: Ints, columns: Ints) -> Floats:  # noqa: ARG002
        """Return a part of the matrix."""
        return self.K[np.ix_(rows, columns)]


@dataclass(frozen=True)
class RBFs:
    """The mean over squared distances D of exp(-f gamma D), gamma by the median rule, for each factor f."""

    squared: Sequence[Floats]
    factors: Sequence[float] = GAMMA_FACTORS

    def __len__(self) -> int:
        """Return the number of factors."""
        return len(self.factors)

    def kernel(self, i: int, rows: Ints, columns: Ints) -> Floats:
        """Return a part of the matrix for the i-th factor."""
        sample = columns if len(columns) <= 1000 else columns[:: len(columns) // 1000]  # noqa: PLR2004
        out = np.zeros((len(rows), len(columns)))
        for D in self.squared:
            among = D[np.ix_(sample, sample)]
            nonzero = among[among > 0]
            gamma = np.log(2.0) / float(np.median(nonzero)) if len(nonzero) else 1.0
            for at in range(0, len(rows), _ROWS_AT_ONCE):
                part = D[np.ix_(rows[at : at + _ROWS_AT_ONCE], columns)]
                part *= -self.factors[i] * gamma
                out[at : at + _ROWS_AT_ONCE] += np.exp(part, out=part)
        out /= len(self.squared)
        return out


def paper_protocol(family: Family, y: NDArray[np.int64], seed: int) -> list[float]:
    """Return the accuracy (percent) in each of 10 shuffled folds: SVC as it is, at most 10,000 iterations."""
    folds = KFold(FOLDS, shuffle=True, random_state=seed).split(np.zeros(len(y)))
    return [_accuracy(family, 0, 1.0, y, train, test) for train, test in folds]


@dataclass(frozen=True)
class Fair:
    """What the fair protocol found.

    Attributes
    ----------
    accuracy
        Percent, for each repeat and fold in turn.
    inner
        Percent that the chosen C and kernel reached inside the training folds.
    """

    accuracy: list[float]
    inner: list[float]


def fair_protocol(
    family: Family,
    y: NDArray[np.int64],
    seed: int,
    *,
    repeats: int = REPEATS,
    splits: Iterable[tuple[Ints, Ints]] | None = None,
) -> Fair:
    """Return the accuracy by stratified folds, C and the kernel chosen inside the training folds.

    Parameters
    ----------
    family
        Kernels to choose from.
    y
        Classes.
    seed
        Seed of folds and of the choice.
    repeats
        How often to go through ten folds, shuffled anew.
    splits
        Training and test indices to use instead, such as spatial blocks.
    """
    found = Fair([], [])
    for train, test in _stratified(y, seed, repeats) if splits is None else splits:
        best, i, C = choose(family, y, train, seed)
        found.accuracy.append(_accuracy(family, i, C, y, train, test))
        found.inner.append(best)
    return found


def _stratified(y: NDArray[np.int64], seed: int, repeats: int) -> Iterable[tuple[Ints, Ints]]:
    for repeat in range(repeats):
        with warnings.catch_warnings():
            # a class smaller than the number of folds is spread over as many as it has members
            warnings.simplefilter("ignore", UserWarning)
            yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed + repeat).split(y, y)


def choose(family: Family, y: NDArray[np.int64], train: Ints, seed: int) -> tuple[float, int, float]:
    """Return the best inner accuracy with its kernel and C, the first of equals."""
    inner = train
    if len(train) > MOST_INNER:
        inner = train[_draw(y[train], seed)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        splits = list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed).split(inner, y[inner]))
    best = (-1.0, 0, 1.0)
    for i in range(len(family)):
        scores = np.zeros(len(COSTS))
        for a, b in splits:
            K = family.kernel(i, inner, inner[a])
            for c, C in enumerate(COSTS):
                scores[c] += _fit_and_score(K[a], K[b], y[inner[a]], y[inner[b]], C) / len(splits)
        for C, score in zip(COSTS, scores.tolist(), strict=True):
            if score > best[0]:
                best = (score, i, C)
    return best


def _draw(y: NDArray[np.int64], seed: int) -> Ints:
    """Return the indices of a stratified sample, or of a plain one where a class is too small for that."""
    try:
        split = StratifiedShuffleSplit(1, train_size=MOST_INNER, random_state=seed)
        return np.sort(next(split.split(y, y))[0])
    except ValueError:
        return np.sort(np.random.default_rng(seed).choice(len(y), MOST_INNER, replace=False))


def _accuracy(family: Family, i: int, C: float, y: NDArray[np.int64], train: Ints, test: Ints) -> float:
    K = family.kernel(i, np.concatenate([train, test]), train)
    return _fit_and_score(K[: len(train)], K[len(train) :], y[train], y[test], C)


def _fit_and_score(
    K_train: Floats, K_test: Floats, y_train: NDArray[np.int64], y_test: NDArray[np.int64], C: float
) -> float:
    classes, counts = np.unique(y_train, return_counts=True)
    if len(classes) == 1 or K_train.size == 0:
        return 100.0 * float(np.mean(y_test == classes[np.argmax(counts)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine = SVC(C=C, kernel="precomputed", max_iter=MAX_ITER).fit(K_train, y_train)
    return 100.0 * float(np.mean(machine.predict(K_test) == y_test))


def paired_test(a: Sequence[float], b: Sequence[float], test_share: float = 1 / FOLDS) -> float:
    """Return the p-value that two kernels are equally good, from their accuracies on the same folds.

    The corrected resampled t-test (Nadeau and Bengio, 2003): folds share training graphs, so the
    variance of the mean difference is 1/J + test/train times that of the differences, not 1/J.
    """
    difference = np.asarray(a) - np.asarray(b)
    variance = float(np.var(difference, ddof=1))
    if variance == 0.0:
        return 1.0 if difference[0] == 0.0 else 0.0
    J = len(difference)
    t = float(difference.mean()) / np.sqrt((1 / J + test_share / (1 - test_share)) * variance)
    return float(2 * stats.t.sf(abs(t), J - 1))
