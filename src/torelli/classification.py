"""Cross-validated classification of graphs: out-of-fold predictions, accuracies with intervals, kernels."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from torelli._errors import InvalidOptionError, quoted
from torelli._numerics.threads import ProgressLine
from torelli.io import as_metric_graphs
from torelli.kernels import default_kernels, distances_by_training, get_kernel, resolve_gamma

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Gamma = float | Literal["median"]

GENUS, MAJORITY = "genus alone", "majority class"
_INNER_FOLDS = 5
_Z = 1.959963984540054  # two sides of 95 % of the normal distribution


@dataclass(frozen=True)
class Score:
    """What one classifier reached.

    Attributes
    ----------
    name
        The metric of the kernel, or what the line beside the kernels is.
    predicted
        For each graph the number of the class that was predicted while its fold was left out.
    margin
        For each graph how far its own class was ahead of the best other one, negative where it was
        not; NaN for the majority class, which has no such value.
    fold_accuracies
        Accuracy in each fold, from 0 to 1.
    gamma
        The kernel's gamma on all graphs; NaN for the lines beside the kernels.
    chosen
        The pairs (C, gamma) taken in the folds, as text.
    seconds_distances, seconds_svm
        Time for the matrices and distances of all pairs, and for training and predicting in all folds.
    """

    name: str
    predicted: Ints
    margin: Floats
    fold_accuracies: Floats
    gamma: float = float("nan")
    chosen: tuple[str, ...] = ()
    seconds_distances: float = 0.0
    seconds_svm: float = 0.0


@dataclass(frozen=True)
class Classification:
    """The outcome of `classify`; row i belongs to graph i.

    Attributes
    ----------
    graphs, names
        What was classified.
    classes
        The distinct classes, as text, sorted.
    number
        The number of each graph's class.
    fold
        The fold in which each graph was left out.
    scores
        One for each kernel, then the genus alone and the majority class.
    kernels
        The kernel matrix of all graphs by metric.
    about
        What was asked for: C, gamma, folds, seed; and what `save` adds.
    """

    graphs: list[MetricGraph]
    names: list[str]
    classes: list[str]
    number: Ints
    fold: Ints
    scores: list[Score]
    kernels: dict[str, Floats]
    about: dict[str, Any] = field(default_factory=dict)

    def right(self, score: Score) -> NDArray[np.bool_]:
        """Return for each graph whether its class was predicted."""
        right: NDArray[np.bool_] = score.predicted == self.number
        return right

    def interval(self, score: Score) -> tuple[float, float]:
        """Return the 95 % Wilson interval of the accuracy over all out-of-fold predictions."""
        right = self.right(score)
        return wilson(int(right.sum()), len(right))

    def confusion(self, score: Score) -> Ints:
        """Return how often each class (row) was taken for each class (column)."""
        counts = np.zeros((len(self.classes),) * 2, dtype=np.int64)
        np.add.at(counts, (self.number, score.predicted), 1)
        return counts


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """Return the 95 % score interval of Wilson for a share, which is inside 0 to 1 also near the ends."""
    share, z2 = n_right / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * np.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def classify(
    graphs: Sequence[Any],
    y: Sequence[Any] | NDArray[Any],
    *,
    names: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    folds: int = 10,
    C: float | Sequence[float] = 1.0,
    gamma: Gamma | Sequence[Gamma] = "median",
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Classification:
    """Classify graphs by support vector machines, each in the fold where it was left out.

    Distances are computed once for all pairs. In each fold everything learned (gamma by the median
    rule, C and gamma where several are given, the machine) comes from the training graphs alone.

    Parameters
    ----------
    graphs
        Anything that `as_metric_graphs` takes.
    y
        The class of each graph.
    names
        What to call the graphs; by default their own names.
    metrics
        Names of the kernels to try, from `KERNELS`; by default `default_kernels`.
    folds
        Number of stratified, shuffled folds.
    C, gamma
        Parameters of the machine and of the kernel. Of several, the pair is chosen in each fold by a
        cross-validation inside the training graphs.
    seed
        Seed of the folds.
    n_jobs
        Number of threads for the distances.
    verbose
        Whether to show progress on standard error.

    Returns
    -------
    outcome
        Predictions, accuracies and kernel matrices; with the genus alone and the majority class
        as lines to hold the kernels against.

    Raises
    ------
    InvalidOptionError
        If there are fewer than two classes, or a class with fewer graphs than folds.
    """
    found = as_metric_graphs(graphs)
    classes, number = np.unique([_text(label) for label in np.asarray(y).tolist()], return_inverse=True)
    Cs, gammas = _several(C, "C"), _several(gamma, "gamma")
    metrics = default_kernels() if metrics is None else metrics
    for metric in metrics:
        get_kernel(metric)
    _check(found, classes, number, folds)
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(found)), number))
    fold = np.zeros(len(found), dtype=np.int64)
    for at, (_, test) in enumerate(splits):
        fold[test] = at
    scores, kernels = [], {}
    for metric in dict.fromkeys(metrics):
        before = time.perf_counter()
        show = ProgressLine(f"{metric} distances") if verbose else False
        distances = distances_by_training(found, metric, n_jobs=n_jobs, verbose=show)
        squared = distances(np.arange(len(found)))
        middle = time.perf_counter()
        predicted, margin, chosen = _validate_kernel(distances, number, splits, Cs, gammas, seed)
        usual = max(chosen, key=chosen.count)[1]
        kernels[metric] = np.exp(-resolve_gamma(usual, squared) * squared)
        scores.append(
            Score(
                metric,
                predicted,
                margin,
                _fold_accuracies(predicted == number, splits),
                resolve_gamma(usual, squared),
                tuple(f"C={c:g} gamma={g}" for c, g in chosen),
                middle - before,
                time.perf_counter() - middle,
            )
        )
    scores += _lines_beside(found, number, splits)
    own = [graph.name or f"graph {at}" for at, graph in enumerate(found)]
    labels = [_text(name) for name in (own if names is None else names)]
    about = {"C": Cs, "gamma": gammas, "folds": folds, "seed": seed, "metrics": list(kernels)}
    return Classification(found, labels, classes.tolist(), number, fold, scores, kernels, about)


def _several(values: Any, name: str) -> list[Any]:  # noqa: ANN401  (one or several)
    found = list(values) if isinstance(values, (list, tuple)) else [values]
    if name == "C" and (not found or not all(np.isfinite(c) and c > 0 for c in found)):
        raise InvalidOptionError(f"C is {quoted(values)}: use positive numbers")
    for value in found if name == "gamma" else ():
        resolve_gamma(value, np.zeros((1, 1)))
    return found


def _check(graphs: list[MetricGraph], classes: NDArray[Any], number: Ints, folds: int) -> None:
    if len(number) != len(graphs):
        raise InvalidOptionError(f"{len(number):,} labels for {len(graphs):,} graphs: give one for each")
    if len(classes) < 2:  # noqa: PLR2004  (nothing to tell apart)
        raise InvalidOptionError(
            f"all {len(graphs):,} graphs are of one class: classifying needs two or more"
        )
    counts = np.bincount(number)
    least = int(counts.argmin())
    if folds < 2 or counts[least] < folds:  # noqa: PLR2004  (one to train, one to test)
        remedy = (
            f"use 2 to {counts[least]} folds"
            if counts[least] > 1
            else "join it with another, or leave it out"
        )
        raise InvalidOptionError(
            f"{folds} folds, but class {quoted(str(classes[least]))} has {counts[least]} graph(s): {remedy}"
        )


def _validate_kernel(
    distances: Callable[[Ints], Floats],
    number: Ints,
    splits: list[Any],
    Cs: list[float],
    gammas: list[Gamma],
    seed: int,
) -> tuple[Ints, Floats, list[tuple[float, Gamma]]]:
    """Return predictions and margins of each graph's left-out fold, and what was chosen in the folds.

    `distances` returns squared distances between all graphs by a kernel fitted to the training graphs.
    """
    predicted, margin = np.zeros(len(number), dtype=np.int64), np.zeros(len(number))
    chosen = []
    for train, test in splits:
        squared = distances(train)
        inner = squared[np.ix_(train, train)]
        pair = _choose(inner, number[train], Cs, gammas, seed)
        rate = resolve_gamma(pair[1], inner)
        machine = SVC(C=pair[0], kernel="precomputed").fit(np.exp(-rate * inner), number[train])
        K = np.exp(-rate * squared[np.ix_(test, train)])
        predicted[test] = machine.predict(K)
        margin[test] = _margins(machine.decision_function(K), number[test])
        chosen.append(pair)
    return predicted, margin, chosen


def _choose(
    squared: Floats, number: Ints, Cs: list[float], gammas: list[Gamma], seed: int
) -> tuple[float, Gamma]:
    """Return the pair (C, gamma) of the highest accuracy within the training graphs, the first of equals."""
    pairs = [(c, g) for c in Cs for g in gammas]
    if len(pairs) == 1:
        return pairs[0]
    inner_folds = max(2, min(_INNER_FOLDS, int(np.bincount(number)[np.unique(number)].min())))
    splits = list(
        StratifiedKFold(inner_folds, shuffle=True, random_state=seed).split(np.zeros(len(number)), number)
    )
    right = []
    for c, g in pairs:
        predicted, _, _ = _validate_kernel(lambda _: squared, number, splits, [c], [g], seed)
        right.append(int((predicted == number).sum()))
    return pairs[int(np.argmax(right))]


def _margins(decision: Floats, number: Ints) -> Floats:
    """Return how far the own class is ahead of the best other one."""
    if decision.ndim == 1:
        return np.where(number == 1, decision, -decision)
    own = decision[np.arange(len(number)), number]
    others = decision.copy()
    others[np.arange(len(number)), number] = -np.inf
    margins: Floats = own - others.max(axis=1)
    return margins


def _lines_beside(graphs: list[MetricGraph], number: Ints, splits: list[Any]) -> list[Score]:
    """Return what the genus alone and always saying the most frequent class reach in the same folds."""
    genus = np.array([[graph.genus] for graph in graphs], dtype=np.float64)
    by_genus, majority = np.zeros(len(number), dtype=np.int64), np.zeros(len(number), dtype=np.int64)
    margin = np.zeros(len(number))
    before = time.perf_counter()
    for train, test in splits:
        machine = make_pipeline(StandardScaler(), SVC()).fit(genus[train], number[train])
        by_genus[test] = machine.predict(genus[test])
        margin[test] = _margins(machine.decision_function(genus[test]), number[test])
        majority[test] = np.bincount(number[train]).argmax()
    seconds = time.perf_counter() - before
    return [
        Score(GENUS, by_genus, margin, _fold_accuracies(by_genus == number, splits), seconds_svm=seconds),
        Score(MAJORITY, majority, np.full(len(number), np.nan), _fold_accuracies(majority == number, splits)),
    ]


def _fold_accuracies(right: NDArray[np.bool_], splits: list[Any]) -> Floats:
    return np.array([right[test].mean() for _, test in splits])


def _text(value: object) -> str:
    """Return text that a file can hold: half a surrogate pair becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
