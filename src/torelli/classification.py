"""Cross-validated classification of graphs: out-of-fold predictions, accuracies with intervals, kernels."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix

from torelli._errors import DataWarning, InvalidOptionError, listed, quoted, warn
from torelli._numerics.threads import ProgressLine
from torelli._registry import KERNELS, default_kernels
from torelli._validate import is_positive
from torelli.evaluation import (
    NoKernel,
    RBFKernels,
    Tuning,
    cross_validate,
    stratified_folds,
    wilson_interval,
)
from torelli.io import as_metric_graphs
from torelli.kernel_matrix import resolve_gamma
from torelli.representation import distances_by_training, options_by_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._types import Along, Bridges, Floats, Ints
    from torelli.evaluation import CrossValidation, KernelFamily
    from torelli.graph import MetricGraph
    from torelli.kernel_matrix import Gamma

GENUS, MAJORITY = "genus alone", "majority class"
_INNER_FOLDS = 5
_SHARED = 0.1  # graphs overlap if one has at least this share of its nodes at places of the other


@dataclass(frozen=True)
class Score:
    """The out-of-fold predictions and accuracies of one classifier.

    Attributes
    ----------
    name
        The metric of the kernel, or the name of the baseline.
    predicted
        Class predicted for each graph while its fold was left out, as an index into the classes.
    margin
        Decision value of each graph's own class minus the largest of the other classes; NaN for the majority
        class, which has no decision values.
    fold_accuracies
        Accuracy in each fold, from 0 to 1.
    gamma
        The kernel's gamma on all graphs; NaN for the baselines.
    chosen
        The pairs (C, gamma) picked in the folds, as text.
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
    """The result of `classify`; row i belongs to graph i.

    Attributes
    ----------
    graphs, names
        The graphs and their names.
    classes
        The distinct classes, as text, sorted.
    y
        Class of each graph, as an index into `classes`.
    fold
        The fold in which each graph was left out.
    scores
        One for each kernel, then the baselines: the genus alone and the majority class.
    kernels
        The kernel matrix of all graphs, by metric.
    about
        The options: C, gamma, folds, bridges, seed, metrics, and along if it was given. ``groups`` is the
        number of groups that folds keep together, None if folds are random; ``overlapping`` is the number of
        graphs that share places with another graph, which random folds ignore.
    """

    graphs: list[MetricGraph]
    names: list[str]
    classes: list[str]
    y: Ints
    fold: Ints
    scores: list[Score]
    kernels: dict[str, Floats]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def folds(self) -> str:
        """The folds in words: how many, and whether they are random or keep groups together."""
        n_folds, n_groups = int(self.fold.max()) + 1, self.about.get("groups")
        if isinstance(n_groups, int):
            return f"{n_folds} blocked folds, which divide none of {n_groups:,} groups"
        return f"{n_folds} random stratified folds"

    @property
    def overlap(self) -> str | None:
        """Why accuracies of random folds are doubtful, as text; None if there is no known reason."""
        n_shared = self.about.get("overlapping")
        if not isinstance(n_shared, int) or not n_shared or self.about.get("groups") is not None:
            return None
        return overlap_in_words(n_shared, len(self.graphs))

    def label(self, name: str) -> str:
        """Return the name of a classifier for tables: a kernel in capitals, and its variant."""
        if name not in self.kernels:
            return name
        # a stored result may have a kernel that is not registered here
        return name.upper() + (KERNELS[name].entry.variant(self.about) if name in KERNELS else "")

    def right(self, score: Score) -> NDArray[np.bool_]:
        """Return for each graph whether its class was predicted."""
        right: NDArray[np.bool_] = score.predicted == self.y
        return right

    def interval(self, score: Score) -> tuple[float, float]:
        """Return the 95 % Wilson interval of the accuracy over all out-of-fold predictions."""
        right = self.right(score)
        return wilson_interval(int(right.sum()), len(right))

    def confusion(self, score: Score) -> Ints:
        """Return the number of graphs of each true class (rows) by predicted class (columns)."""
        counts: Ints = confusion_matrix(self.y, score.predicted, labels=range(len(self.classes)))
        return counts


def classify(
    graphs: Sequence[Any],
    y: Sequence[Any] | NDArray[Any],
    *,
    names: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    folds: int = 10,
    groups: Sequence[Any] | NDArray[Any] | None = None,
    bridges: Bridges = "ignore",
    along: Along | None = None,
    C: float | Sequence[float] = 1.0,
    gamma: Gamma | Sequence[Gamma] = "median",
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Classification:
    """Return cross-validated predictions of support vector machines on the kernels of graphs.

    Distances are computed once for all pairs. In each fold everything that is learned (gamma by the
    median rule, C and gamma if several are given, the support vector machine) comes from the training
    graphs alone.

    Parameters
    ----------
    graphs
        Anything that `as_metric_graphs` takes.
    y
        The class of each graph.
    names
        Names for the graphs; by default their own.
    metrics
        Names of the kernels to try, from `KERNELS`; by default `default_kernels`.
    folds
        Number of stratified, shuffled folds.
    groups
        Group of each graph, such as the city or the spatial block of a window. Neither the folds nor the
        inner folds divide a group, so no graph is predicted from others of its group.
    bridges
        As for `torelli_matrix`, for the kernels that take it; ``"double"`` lets them see trees.
    along
        As for `MeasureFeatures`, for the kernels that take it (TTM).
    C, gamma
        Penalty of the support vector machine and parameter of the kernel. If several are given,
        cross-validation inside the training graphs picks a pair in each fold.
    seed
        Seed of the folds.
    n_jobs
        Number of threads for the distances.
    verbose
        Whether to show progress on standard error.

    Returns
    -------
    outcome
        Predictions, accuracies and kernel matrices, with the genus alone and the majority class as
        baselines for the kernels.

    Raises
    ------
    InvalidOptionError
        If there are fewer than two classes, if a class has fewer graphs than there are folds, or if groups
        leave a fold without graphs, or its training graphs without one of the classes.

    Warns
    -----
    DataWarning
        If graphs share places and there are no groups: with random folds, test graphs then overlap with
        training graphs.

    Examples
    --------
    >>> import torelli as tt
    >>> from torelli.classification import classify
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 1.1, 1.2, 9.0, 9.1, 9.2)]
    >>> outcome = classify(rings, ["short"] * 3 + ["long"] * 3, metrics=["tts"], folds=3)
    >>> [(score.name, float(score.fold_accuracies.mean())) for score in outcome.scores[:1]]
    [('tts', 1.0)]
    """
    checked = as_metric_graphs(graphs)
    classes, labels = np.unique([_text(label) for label in np.asarray(y).tolist()], return_inverse=True)
    metrics = default_kernels() if metrics is None else metrics
    costs, gammas = _several(C), _several(gamma)
    _check_options(costs, gammas)
    variant = {} if along is None else {"along": along}
    options = options_by_kernel(metrics, variant | ({} if bridges == "ignore" else {"bridges": bridges}))
    _check_classes(checked, classes, labels, folds)
    blocks = None if groups is None else _blocks(groups, len(checked), folds)
    n_overlapping = 0 if blocks is not None else count_overlapping(checked)
    if n_overlapping:
        warn(
            f"{overlap_in_words(n_overlapping, len(checked))}: keep them together with groups=...",
            DataWarning,
        )
    splits = stratified_folds(labels, folds, groups=blocks, seed=seed)
    if blocks is not None:
        _check_blocked_folds(splits, labels, classes, blocks)
    fold = np.zeros(len(checked), dtype=np.int64)
    for i, (_, test) in enumerate(splits):
        fold[test] = i
    tuning = Tuning(costs=costs, inner_folds=_INNER_FOLDS)
    everything = np.arange(len(checked))
    scores, kernels = [], {}
    for metric in options:
        start = time.perf_counter()
        progress = ProgressLine(f"{metric} distances") if verbose else False
        distances = distances_by_training(checked, metric, n_jobs=n_jobs, verbose=progress, **options[metric])
        squared = distances(everything)
        seconds_distances = time.perf_counter() - start
        family = RBFKernels([distances], gammas=gammas)
        start = time.perf_counter()
        result = cross_validate(family, labels, splits, groups=blocks, tuning=tuning, seed=seed)
        choices = [fold_result.choice for fold_result in result.folds]
        pairs = [(choice.kernel, choice.C) for choice in choices]
        usual, _ = max(pairs, key=pairs.count)
        kernels[metric] = family.kernel(usual, everything, everything)
        scores.append(
            replace(
                _score(metric, result),
                gamma=resolve_gamma(gammas[usual], squared),
                chosen=tuple(f"C={choice.C:g} gamma={gammas[choice.kernel]}" for choice in choices),
                seconds_distances=seconds_distances,
                seconds_svm=time.perf_counter() - start,
            )
        )
    genus = np.array([[graph.genus] for graph in checked], dtype=np.float64)
    baselines: dict[str, KernelFamily] = {
        GENUS: RBFKernels(features=[genus], gammas=(1.0,)),
        MAJORITY: NoKernel(),
    }
    for name, baseline in baselines.items():
        start = time.perf_counter()
        result = cross_validate(baseline, labels, splits)
        scores.append(replace(_score(name, result), seconds_svm=time.perf_counter() - start))
    own_names = [graph.name or f"graph {i}" for i, graph in enumerate(checked)]
    texts = [_text(name) for name in (own_names if names is None else names)]
    about = {
        "C": costs,
        "gamma": gammas,
        "folds": folds,
        "groups": None if blocks is None else int(blocks.max()) + 1,
        "overlapping": n_overlapping,
        "bridges": bridges,
        **variant,
        "seed": seed,
        "metrics": list(kernels),
    }
    return Classification(checked, texts, classes.tolist(), labels, fold, scores, kernels, about)


def count_overlapping(graphs: Sequence[MetricGraph]) -> int:
    """Return how many graphs share places with another one: a tenth of their nodes, in one reference system.

    Coordinates without a reference system say nothing of places, and are left out.
    """
    placed = [
        (i, graph.crs, np.unique(graph.coordinates[:, :2], axis=0))
        for i, graph in enumerate(graphs)
        if graph.coordinates is not None and graph.crs is not None and graph.n_nodes
    ]
    n_overlapping = 0
    for crs in {crs for _, crs, _ in placed}:
        points = [own for _, of, own in placed if of == crs]
        owner = np.repeat(np.arange(len(points)), [len(own) for own in points])
        _, place, count = np.unique(np.concatenate(points), axis=0, return_inverse=True, return_counts=True)
        shared = np.bincount(owner, weights=count[place.reshape(-1)] > 1)
        n_overlapping += int(np.count_nonzero(shared > _SHARED * np.bincount(owner)))
    return n_overlapping


def overlap_in_words(n_overlapping: int, n_graphs: int) -> str:
    """Return what is wrong with random folds of graphs that share places."""
    return (
        f"{n_overlapping:,} of {n_graphs:,} graphs share nodes with another graph. Random folds train on "
        "parts of what they test, so accuracies are too high"
    )


def _blocks(groups: Sequence[Any] | NDArray[Any], n_graphs: int, folds: int) -> Ints:
    """Return the group of each graph as a number from 0."""
    texts = [_text(group) for group in np.asarray(groups).tolist()]
    if len(texts) != n_graphs:
        raise InvalidOptionError(
            f"there are {len(texts):,} groups for {n_graphs:,} graphs: give the group of each graph"
        )
    names, blocks = np.unique(texts, return_inverse=True)
    if len(names) < folds:
        raise InvalidOptionError(
            f"there are {folds} folds, but {len(names)} group{'' if len(names) == 1 else 's'}: use as many "
            "folds as groups or fewer, or other groups"
        )
    return blocks


def _check_blocked_folds(
    splits: list[tuple[Ints, Ints]], labels: Ints, classes: NDArray[Any], blocks: Ints
) -> None:
    """Raise where groups leave a fold without graphs, or a class that the training graphs do not have."""
    n_groups = int(blocks.max()) + 1
    remedy = "choose other groups, or groups=None for random folds"
    alone = [str(classes[i]) for i in range(len(classes)) if len(set(blocks[labels == i].tolist())) == 1]
    if alone:
        raise InvalidOptionError(
            f"all graphs of class {listed(alone, 5)} are in one group, so none is left to train on when that "
            f"group is tested: {remedy}"
        )
    if any(not len(test) for _, test in splits):
        raise InvalidOptionError(f"the {n_groups} groups do not fill {len(splits)} folds: use fewer folds")
    for train, test in splits:
        missing = set(labels[test].tolist()) - set(labels[train].tolist())
        if missing:
            names = listed((str(classes[i]) for i in sorted(missing)), 5)
            raise InvalidOptionError(
                f"one fold of the {n_groups} groups has all graphs of class {names}: use more folds, {remedy}"
            )


def _score(name: str, result: CrossValidation) -> Score:
    return Score(name, result.predicted, result.margins, result.accuracies)


def _several(values: object) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _check_options(costs: list[float], gammas: list[Gamma]) -> None:
    if not costs or not gammas:
        raise InvalidOptionError("C and gamma need at least one value each")
    for C in costs:
        if not is_positive(C):
            raise InvalidOptionError(f"C is {quoted(C)}: use a positive number")
    for gamma in gammas:
        resolve_gamma(gamma, np.zeros((1, 1)))


def _check_classes(graphs: list[MetricGraph], classes: NDArray[Any], labels: Ints, folds: int) -> None:
    if len(labels) != len(graphs):
        raise InvalidOptionError(
            f"there are {len(labels):,} labels for {len(graphs):,} graphs: give one label per graph"
        )
    if len(classes) <= 1:
        raise InvalidOptionError(
            f"all {len(graphs):,} graphs are of one class: classification needs at least two classes"
        )
    counts = np.bincount(labels)
    fewest = int(counts.min())
    if not 1 < folds <= fewest:
        smallest = quoted(str(classes[counts.argmin()]))
        merge = "merge it with another class, or leave it out"
        remedy = f"use 2 to {fewest} folds" if fewest > 1 else merge
        raise InvalidOptionError(f"{folds} folds, but class {smallest} has {fewest} graph(s): {remedy}")


def _text(value: object) -> str:
    """Return text that a file can hold: half a surrogate pair becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
