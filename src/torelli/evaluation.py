"""Cross-validation of kernels: folds, choice of parameters inside them, intervals and a paired test.

A *family* is a list of kernels on a fixed list of graphs. `cross_validate` trains a support vector machine in
each fold and, if there is more than one kernel or more than one value of C, picks a pair by a second
cross-validation inside the training graphs. Test graphs have no part in what is learned or chosen.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np
from scipy import stats
from scipy.spatial.distance import cdist
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, StratifiedShuffleSplit
from sklearn.svm import SVC

from torelli._numerics import threads
from torelli.kernel_matrix import resolve_gamma

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.kernel_matrix import Gamma

    Fold = tuple[Ints, Ints]

_ROWS_AT_ONCE = 64


class KernelFamily(Protocol):
    """Kernels on a fixed list of graphs, from which cross-validation picks one."""

    def __len__(self) -> int:
        """Return the number of kernels."""

    def kernel(self, i: int, rows: Ints, columns: Ints, /) -> Floats:
        """Return K[rows, columns] of kernel i; anything it learns comes from the graphs in `columns`."""


@dataclass(frozen=True)
class NoKernel:
    """A family without information: the prediction is the largest class of the training graphs."""

    def __len__(self) -> int:
        """Return 1."""
        return 1

    def kernel(self, _i: int, rows: Ints, _columns: Ints, /) -> Floats:
        """Return a matrix without columns."""
        return np.empty((len(rows), 0))


@dataclass(frozen=True)
class FixedKernel:
    """A family of one kernel matrix, which has nothing to learn."""

    matrix: Floats

    def __len__(self) -> int:
        """Return 1."""
        return 1

    def kernel(self, _i: int, rows: Ints, columns: Ints, /) -> Floats:
        """Return a part of the matrix."""
        return self.matrix[np.ix_(rows, columns)]


@dataclass(frozen=True)
class RBFKernels:
    """Gaussian kernels of distances between all graphs.

    Attributes
    ----------
    squared
        Squared distances between all graphs, one array for each metric or draw. Where distances are
        learned, a function from the indices of the training graphs to such an array.
    features
        Tables of features, one row per graph. Each becomes squared Euclidean distances once its columns are
        standardised to the graphs in the columns of the kernel.
    gammas, factors
        There is a kernel for each gamma and each factor that multiplies it, gamma by gamma. ``"median"`` is
        the median rule on the graphs in the columns, for each set of distances by itself.
    combine
        How several sets of distances D make one kernel: ``"mean"`` is the mean of exp(-gamma_D D),
        ``"product"`` is exp(-mean of gamma_D D). One set alone gives the same kernel either way.
    median_sample
        Number of graphs above which the median rule uses an evenly spaced sample of about this size.
    """

    squared: Sequence[Floats | Callable[[Ints], Floats]] = ()
    features: Sequence[Floats] = ()
    gammas: Sequence[Gamma] = ("median",)
    factors: Sequence[float] = (1.0,)
    combine: Literal["mean", "product"] = "mean"
    median_sample: int | None = None

    def __len__(self) -> int:
        """Return the number of kernels."""
        return len(self.gammas) * len(self.factors)

    def kernel(self, i: int, rows: Ints, columns: Ints, /) -> Floats:
        """Return a part of the kernel matrix for the i-th pair of gamma and factor."""
        gamma, factor = self.gammas[i // len(self.factors)], self.factors[i % len(self.factors)]
        step = max(1, len(columns) // self.median_sample) if self.median_sample else 1
        sample = columns[::step]
        parts: list[Callable[[Ints, Ints], Floats]] = [
            *(partial(_submatrix, D(columns) if callable(D) else D) for D in self.squared),
            *(partial(_feature_distances, _standardised(table, columns)) for table in self.features),
        ]
        members = [(part, resolve_gamma(gamma, part(sample, sample))) for part in parts]
        K = np.zeros((len(rows), len(columns)))
        # a block of rows at a time needs little memory beside the result
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            for part, rate in members:
                D = part(rows[block], columns)
                if self.combine == "mean":
                    D *= -factor * rate
                    K[block] += np.exp(D, out=D)
                else:
                    K[block] += rate * D / len(members)
        if self.combine == "mean":
            K /= len(members)
            return K
        K *= -factor
        return np.exp(K, out=K)


def _submatrix(D: Floats, rows: Ints, columns: Ints) -> Floats:
    return D[np.ix_(rows, columns)]


def _feature_distances(table: Floats, rows: Ints, columns: Ints) -> Floats:
    squared: Floats = cdist(table[rows], table[columns], "sqeuclidean")
    return squared


def _standardised(table: Floats, train: Ints) -> Floats:
    """Return a table whose columns have mean 0 and deviation 1 on the training rows; constant ones are 0."""
    deviation = table[train].std(axis=0)
    scaled: Floats = (table - table[train].mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return scaled


def shuffled_folds(n: int, n_folds: int, *, seed: int = 0) -> list[Fold]:
    """Return folds of n graphs as (train, test), shuffled without regard to classes.

    Examples
    --------
    >>> from torelli.evaluation import shuffled_folds
    >>> [len(test) for train, test in shuffled_folds(10, 3)]
    [4, 3, 3]
    """
    return list(KFold(n_folds, shuffle=True, random_state=seed).split(np.zeros(n)))


def stratified_folds(
    y: NDArray[Any], n_folds: int, *, groups: Ints | None = None, repeats: int = 1, seed: int = 0
) -> list[Fold]:
    """Return shuffled folds as (train, test), in which classes have about their shares of the whole.

    Parameters
    ----------
    y
        Class of each graph. A class smaller than the number of folds is spread over as many as it can fill.
    n_folds
        Number of folds.
    groups
        Group of each graph, such as a spatial block. No fold divides a group.
    repeats
        How many times to go through all graphs; repeat r is shuffled by ``seed + r``.
    seed
        Seed of the shuffling.

    Examples
    --------
    >>> import numpy as np
    >>> from torelli.evaluation import stratified_folds
    >>> y = np.array(["a", "a", "b", "b"])
    >>> [sorted(y[test].tolist()) for train, test in stratified_folds(y, 2)]
    [['a', 'b'], ['a', 'b']]
    """
    with _expected_warnings():
        return [fold for r in range(repeats) for fold in _split(y, n_folds, groups, seed + r)]


def _split(y: NDArray[Any], n_folds: int, groups: Ints | None, seed: int) -> list[Fold]:
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return list(kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y, groups))


@contextmanager
def _expected_warnings() -> Iterator[None]:
    """Silence warnings of classes smaller than the number of folds, and of SVMs stopped by `max_iter`.

    Filters of warnings belong to the process: this must not be entered in a thread.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@dataclass(frozen=True)
class Tuning:
    """How the support vector machines are trained, and how C and the kernel are picked.

    Attributes
    ----------
    costs
        Values of C to pick from. The first kernel and the first C win a tie, kernels before values of C.
    inner_folds
        Number of stratified folds inside the training graphs.
    max_inner
        Largest number of training graphs used for the choice; if there are more, a stratified sample is used.
    refit_inner
        Whether the kernels of an inner fold are learned from its own training part. If False, they are
        learned from all graphs that take part in the choice, which is faster; the choice of C and factor
        then sees the median distance and the standardisation of graphs that it is tested on.
    sum_percent
        Whether the mean inner accuracy is computed as a sum of percentages divided by the number of folds,
        instead of a mean of fractions. The two differ only by rounding, which decides between candidates that
        tie. So stored results can be reproduced only with the setting that they were measured with.
    max_iter
        Limit on the iterations of a support vector machine, -1 for none.
    """

    costs: Sequence[float] = (1.0,)
    inner_folds: int = 3
    max_inner: int | None = None
    refit_inner: bool = True
    sum_percent: bool = False
    max_iter: int = -1


class Choice(NamedTuple):
    """A kernel of a family, a value of C, and their mean accuracy (0 to 1) inside the training graphs.

    The accuracy is NaN if there was nothing to choose.
    """

    kernel: int
    C: float
    accuracy: float


class FoldResult(NamedTuple):
    """Predictions for the test graphs of a fold, margins, the accuracy (0 to 1), and what was chosen.

    A margin is how far the decision value of a graph's own class is ahead of the best other one, NaN
    for predictions without a kernel.
    """

    test: Ints
    predicted: NDArray[Any]
    margins: Floats
    accuracy: float
    choice: Choice


@dataclass(frozen=True)
class CrossValidation:
    """The results of all folds, in their order."""

    folds: list[FoldResult] = field(default_factory=list)

    @property
    def accuracies(self) -> Floats:
        """Accuracy of each fold, from 0 to 1."""
        return np.array([fold.accuracy for fold in self.folds])

    @property
    def inner_accuracies(self) -> Floats:
        """Accuracy of each fold's choice inside its training graphs, from 0 to 1."""
        return np.array([fold.choice.accuracy for fold in self.folds])

    @property
    def predicted(self) -> NDArray[Any]:
        """Predicted class of each graph; folds must test each graph once."""
        return self._by_graph([fold.predicted for fold in self.folds])

    @property
    def margins(self) -> Floats:
        """Margin of each graph; folds must test each graph once."""
        return self._by_graph([fold.margins for fold in self.folds])

    def _by_graph(self, values: list[NDArray[Any]]) -> NDArray[Any]:
        order = np.argsort(np.concatenate([fold.test for fold in self.folds]))
        by_graph: NDArray[Any] = np.concatenate(values)[order]
        return by_graph


def cross_validate(
    family: KernelFamily,
    y: NDArray[Any],
    folds: Sequence[Fold],
    *,
    groups: Ints | None = None,
    tuning: Tuning | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Return predictions for the test graphs of each fold, by an SVM trained on its training graphs.

    Parameters
    ----------
    family
        Kernels to pick from.
    y
        Class of each graph.
    folds
        Training and test indices of each fold.
    groups
        Group of each graph; inner folds do not divide groups either.
    tuning
        How C and the kernel are picked; by default C = 1.
    seed
        Seed of the inner folds.
    n_jobs
        Number of threads; each works on one fold at a time.

    References
    ----------
    Nested cross-validation: Cawley and Talbot, On over-fitting in model selection and subsequent selection
    bias in performance evaluation, JMLR 11 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> import torelli as tt
    >>> from torelli.evaluation import RBFKernels, cross_validate, stratified_folds
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 1.1, 1.2, 9.0, 9.1, 9.2)]
    >>> y = np.repeat(["short", "long"], 3)
    >>> family = RBFKernels(squared=[tt.pairwise_distances(rings, squared=True)])
    >>> cross_validate(family, y, stratified_folds(y, 3)).accuracies.tolist()
    [1.0, 1.0, 1.0]
    """
    how = tuning or Tuning()
    results: list[FoldResult | None] = [None] * len(folds)

    def work(fold: int) -> None:
        train, test = folds[fold]
        choice = _choose(family, y, train, groups, how, seed)
        K = family.kernel(choice.kernel, np.concatenate([train, test]), train)
        classifier = _train(K[: len(train)], y[train], choice.C, how.max_iter)
        K_test = K[len(train) :]
        predicted = classifier.predict(K_test)
        accuracy = float(np.mean(predicted == y[test]))
        results[fold] = FoldResult(test, predicted, _margins(classifier, K_test, y[test]), accuracy, choice)

    with _expected_warnings():
        threads.run(work, [(fold,) for fold in range(len(folds))], n_jobs)
    return CrossValidation([result for result in results if result is not None])


def choose(
    family: KernelFamily,
    y: NDArray[Any],
    train: Ints,
    *,
    groups: Ints | None = None,
    tuning: Tuning,
    seed: int = 0,
) -> Choice:
    """Return the kernel and the C of the highest accuracy in folds of the training graphs.

    Parameters
    ----------
    family, y, groups, tuning, seed
        As for `cross_validate`.
    train
        Indices of the training graphs.
    """
    with _expected_warnings():
        return _choose(family, y, train, groups, tuning, seed)


def _choose(
    family: KernelFamily, y: NDArray[Any], train: Ints, groups: Ints | None, tuning: Tuning, seed: int
) -> Choice:
    if len(family) * len(tuning.costs) == 1:
        return Choice(0, tuning.costs[0], float("nan"))
    inner = _inner_sample(y[train], tuning.max_inner, seed)
    members = train[inner]
    largest_class = int(np.unique(y[members], return_counts=True)[1].max())
    own_groups = None if groups is None else groups[members]
    n_groups = len(members) if own_groups is None else len(np.unique(own_groups))
    n_folds = min(tuning.inner_folds, largest_class, n_groups)
    if n_folds == 1:
        return Choice(0, tuning.costs[0], float("nan"))
    folds = [(fit, check) for fit, check in _split(y[members], n_folds, own_groups, seed) if len(check)]
    best, best_score = Choice(0, tuning.costs[0], float("nan")), -1.0
    for i in range(len(family)):
        shares = np.zeros((len(tuning.costs), len(folds)))
        K_all = None if tuning.refit_inner else family.kernel(i, members, members)
        for f, (fit, check) in enumerate(folds):
            K = family.kernel(i, members, members[fit]) if K_all is None else K_all[:, fit]
            for c, C in enumerate(tuning.costs):
                classifier = _train(K[fit], y[members[fit]], C, tuning.max_iter)
                shares[c, f] = np.mean(classifier.predict(K[check]) == y[members[check]])
        for C, of_folds in zip(tuning.costs, shares, strict=True):
            mean = float(np.mean(of_folds))
            score = float(np.sum(100.0 * of_folds / len(folds))) if tuning.sum_percent else mean
            if score > best_score:
                best, best_score = Choice(i, C, mean), score
    return best


def _inner_sample(y: NDArray[Any], size: int | None, seed: int) -> Ints:
    """Return positions of a stratified sample, of a plain one if a class is too small for that."""
    if size is None or len(y) <= size:
        return np.arange(len(y))
    try:
        split = StratifiedShuffleSplit(1, train_size=size, random_state=seed)
        return np.sort(next(split.split(y, y))[0])
    except ValueError:
        return np.sort(np.random.default_rng(seed).choice(len(y), size, replace=False))


def _train(K: Floats, y: NDArray[Any], C: float, max_iter: int) -> SVC | DummyClassifier:
    """Return a fitted classifier: the largest class if there is one class only, or no kernel."""
    if K.shape[1] == 0 or len(np.unique(y)) == 1:
        return DummyClassifier(strategy="most_frequent").fit(np.zeros((len(y), 1)), y)
    return SVC(C=C, kernel="precomputed", max_iter=max_iter).fit(K, y)


def _margins(classifier: SVC | DummyClassifier, K: Floats, y: NDArray[Any]) -> Floats:
    """Return how far each graph's own class is ahead of the best other one."""
    if not isinstance(classifier, SVC):
        return np.full(len(y), np.nan)
    decision: Floats = classifier.decision_function(K)
    if decision.ndim == 1:
        return np.where(y == classifier.classes_[1], decision, -decision)
    is_own = y[:, None] == classifier.classes_
    own = np.where(is_own, decision, -np.inf).max(axis=1)
    best_other = np.where(is_own, -np.inf, decision).max(axis=1)
    margins: Floats = own - best_other
    return margins


def wilson_interval(n_right: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share, which stays inside 0 to 1.

    References
    ----------
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).

    Examples
    --------
    >>> from torelli.evaluation import wilson_interval
    >>> tuple(round(end, 3) for end in wilson_interval(9, 10))
    (0.596, 0.982)
    """
    interval = stats.binomtest(n_right, n).proportion_ci(confidence_level=0.95, method="wilson")
    return float(interval.low), float(interval.high)


def paired_test(a: Sequence[float], b: Sequence[float], *, test_share: float) -> float:
    """Return the p-value that two kernels are equally good, from their accuracies on the same folds.

    The corrected resampled t-test (Nadeau and Bengio, 2003): folds share training graphs, so the
    variance of the mean difference is 1/J + test/train times that of the differences, not 1/J.

    Parameters
    ----------
    a, b
        Accuracies in each fold.
    test_share
        Share of the graphs in the test part of a fold.

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003).

    Examples
    --------
    >>> from torelli.evaluation import paired_test
    >>> round(paired_test([0.9, 0.8, 0.9], [0.7, 0.7, 0.8], test_share=1 / 3), 2)
    0.13
    """
    difference = np.asarray(a) - np.asarray(b)
    variance = float(np.var(difference, ddof=1))
    if variance == 0.0:
        return 1.0 if difference[0] == 0.0 else 0.0
    J = len(difference)
    t = float(difference.mean()) / np.sqrt((1 / J + test_share / (1 - test_share)) * variance)
    return float(2 * stats.t.sf(abs(t), J - 1))
