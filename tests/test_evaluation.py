"""Cross-validation of kernels."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import torelli as tt
from torelli.evaluation import (
    FixedKernel,
    NoKernel,
    RBFKernels,
    Tuning,
    choose,
    cross_validate,
    paired_test,
    shuffled_folds,
    stratified_folds,
    wilson_interval,
)
from torelli.representation import squared_graph_distances

COSTS = Tuning((1.0, 10.0, 100.0))


@pytest.fixture(scope="module")
def blobs():
    """Return squared distances of three clusters of points, and the clusters."""
    points, y = make_blobs(120, centers=3, cluster_std=0.5, random_state=0)
    return euclidean_distances(points, squared=True), y


@pytest.fixture(scope="module")
def graphs():
    """Return synthetic windows."""
    return tt.datasets.street_patterns(12, radius=200, seed=0).graphs


TRAIN, TEST = np.arange(0, 48, 2), np.arange(1, 48, 2)


def test_distances_computed_once_give_the_kernel_of_the_estimators(graphs):
    """On training and test graphs it is that of CombinedKernel fitted to the training graphs."""
    squared = [squared_graph_distances(graphs, None, metric, bridges="double") for metric in ("ttw", "tts")]
    table = tt.MetricStatistics().fit_transform(graphs)
    family = RBFKernels(squared, [table], combine="product")
    features = make_pipeline(tt.MetricStatistics(), StandardScaler(), tt.FeatureKernel())
    kernel = tt.CombinedKernel(
        [tt.TTWKernel(bridges="double"), tt.TTSKernel(bridges="double"), features], combine="product"
    )
    expected = kernel.fit_transform([graphs[i] for i in TRAIN])
    assert np.allclose(family.kernel(0, TRAIN, TRAIN), expected, rtol=1e-8)
    expected = kernel.transform([graphs[i] for i in TEST])
    assert np.allclose(family.kernel(0, TEST, TRAIN), expected, rtol=1e-8)


class Estimators:
    """The least that a family needs: how many kernels there are, and a part of each."""

    def __init__(self, estimators, graphs):
        self.estimators, self.graphs = estimators, graphs

    def __len__(self):
        return len(self.estimators)

    def kernel(self, i, rows, columns, /):
        """Return the kernel of an estimator that is fitted to the graphs in the columns."""
        estimator = clone(self.estimators[i]).fit([self.graphs[j] for j in columns])
        return estimator.transform([self.graphs[j] for j in rows])


def test_any_kernel_can_be_evaluated(graphs):
    """Kernels without a Torelli matrix fit too: all that counts is K[rows, columns]."""
    y = np.arange(48) // 12
    family = Estimators([tt.TTEKernel(), tt.TTMKernel()], graphs)
    squared = squared_graph_distances(graphs, None, "tte")
    assert np.allclose(family.kernel(0, TEST, TRAIN), RBFKernels([squared]).kernel(0, TEST, TRAIN))
    result = cross_validate(family, y, stratified_folds(y, 3), tuning=COSTS)
    assert result.accuracies.mean() > 0.5
    assert {fold.choice.kernel for fold in result.folds} <= {0, 1}


def test_distances_can_be_learned_from_the_training_graphs():
    """A function gets the columns of the kernel and returns the distances of all graphs."""
    points = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 10.0, 100.0, 1000.0]

    def learned(training):
        scaled = points / points[training].std(axis=0)
        return euclidean_distances(scaled, squared=True)

    train, test = np.arange(20), np.arange(20, 30)
    by_function = RBFKernels([learned]).kernel(0, test, train)
    assert np.allclose(by_function, RBFKernels(features=[points]).kernel(0, test, train))


def test_a_family_has_a_kernel_for_each_gamma_and_factor(blobs):
    """They are in order of gammas, then factors; the mean of several sets of distances is that of kernels."""
    D, _ = blobs
    rows, columns = np.array([5, 100, 3]), np.arange(50)
    family = RBFKernels([D, 2 * D], gammas=(0.5, "median"), factors=(1.0, 3.0))
    assert len(family) == 4
    part = D[np.ix_(rows, columns)]
    assert np.allclose(family.kernel(1, rows, columns), (np.exp(-1.5 * part) + np.exp(-3 * part)) / 2)
    within = D[np.ix_(columns, columns)]
    gamma = np.log(2) / np.median(within[within > 0])
    assert np.allclose(family.kernel(3, rows, columns), np.exp(-3 * gamma * part))


def test_the_median_rule_can_use_a_sample(blobs):
    """An evenly spaced sample of the columns decides, so that large sets take little time."""
    D, _ = blobs
    columns = np.arange(120)
    sampled = RBFKernels([D], median_sample=40).kernel(0, columns, columns)
    gamma = np.log(2) / np.median(D[::3, ::3][np.triu_indices(40, 1)])
    assert np.allclose(sampled, np.exp(-gamma * D))


def test_no_fold_divides_a_block():
    """Blocks are in the training or in the test part."""
    y, groups = np.arange(90) % 2, np.arange(90) // 6
    for train, test in stratified_folds(y, 5, groups=groups):
        assert not set(groups[train]) & set(groups[test])
        assert set(train) | set(test) == set(range(90))


def test_inner_folds_do_not_divide_a_block():
    """Two graphs of a block are alike; a choice that sees one while it predicts the other overfits."""
    rng = np.random.default_rng(0)
    groups = np.arange(120) // 2
    y = rng.integers(2, size=60)[groups]
    points = rng.standard_normal((60, 3))[groups]
    family = RBFKernels(features=[points], factors=(1.0, 1000.0))
    leaking = choose(family, y, np.arange(120), tuning=COSTS)
    honest = choose(family, y, np.arange(120), groups=groups, tuning=COSTS)
    assert leaking.accuracy > 0.8
    assert honest.accuracy < 0.7


def test_repeats_are_shuffled_anew():
    """Each repeat tests every graph once, in other folds."""
    y = np.arange(30) % 3
    folds = stratified_folds(y, 5, repeats=2, seed=3)
    first, second = folds[:5], folds[5:]
    for repeat in (first, second):
        assert sorted(np.concatenate([test for _, test in repeat])) == list(range(30))
    assert any(not np.array_equal(a[1], b[1]) for a, b in zip(first, second, strict=True))
    again = stratified_folds(y, 5, seed=4)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(second, again, strict=True))


def test_separated_classes_are_told_apart(blobs):
    """With fixed parameters in plain folds, and with chosen ones in stratified folds."""
    D, y = blobs
    plain = cross_validate(RBFKernels([D]), y, shuffled_folds(len(y), 10))
    assert plain.accuracies.mean() > 0.95
    assert np.isnan(plain.inner_accuracies).all()
    family = RBFKernels([D], factors=(0.1, 1.0, 10.0))
    chosen = cross_validate(family, y, stratified_folds(y, 10, repeats=2), tuning=COSTS)
    assert len(chosen.folds) == 20
    assert chosen.accuracies.mean() > 0.95
    assert chosen.inner_accuracies.mean() > 0.95


def test_predictions_and_margins_belong_to_their_graphs(blobs):
    """Row i is graph i, and a graph is predicted right where its margin is positive."""
    D, y = blobs
    names = np.array(["x", "y", "z"])[y]
    result = cross_validate(RBFKernels([D]), names, stratified_folds(names, 4), n_jobs=2)
    right = result.predicted == names
    assert right.mean() == pytest.approx(result.accuracies.mean())
    assert right.mean() > 0.95
    assert (result.margins[right] > 0).all()


def test_labels_of_the_test_folds_are_not_seen(blobs):
    """Wrong labels in a test fold change neither what is chosen nor the inner accuracy."""
    D, y = blobs
    train, test = np.arange(0, 100), np.arange(100, 120)
    wrong = y.copy()
    wrong[test] = (y[test] + 1) % 3
    family = RBFKernels([D], factors=(0.1, 1.0))
    assert choose(family, y, train, tuning=COSTS) == choose(family, wrong, train, tuning=COSTS)


@pytest.mark.parametrize(
    "tuning", [Tuning(), COSTS, Tuning(COSTS.costs, refit_inner=False), Tuning(COSTS.costs, max_inner=60)]
)
def test_random_labels_are_not_learned(tuning):
    """With labels that mean nothing the accuracy is that of chance, parameters chosen or not."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    family = RBFKernels(features=[rng.standard_normal((200, 5))], factors=(0.25, 1.0, 4.0))
    result = cross_validate(family, y, stratified_folds(y, 10), tuning=tuning)
    assert result.accuracies.mean() == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("refit", [True, False])
def test_parameters_are_chosen_in_the_training_folds(refit):
    """Where the median rule's gamma is far off, the choice finds a better one."""
    rng = np.random.default_rng(1)
    # a chessboard: neighbours count, and the median distance is that of the whole board
    points = rng.uniform(0, 4, size=(300, 2))
    y = np.array(["white", "black"])[np.floor(points).sum(axis=1).astype(int) % 2]
    folds = stratified_folds(y, 10)
    plain = cross_validate(RBFKernels(features=[points]), y, folds)
    family = RBFKernels(features=[points], factors=(1.0, 30.0))
    tuning = Tuning((1.0, 10.0, 100.0), refit_inner=refit)
    chosen = cross_validate(family, y, folds, tuning=tuning, n_jobs=2)
    assert chosen.accuracies.mean() > plain.accuracies.mean() + 0.1
    assert {fold.choice.kernel for fold in chosen.folds} == {1}


def test_kernels_of_inner_folds_are_learned_where_the_tuning_says():
    """From the inner training part, or from all training graphs of the outer fold."""

    class Recorder(FixedKernel):
        """A kernel matrix that notes how many graphs it could learn from."""

        def kernel(self, i, rows, columns, /):
            learned_from.append(len(columns))
            return super().kernel(i, rows, columns)

    y = np.arange(60) % 2
    for refit, expected in ((True, {40}), (False, {60})):
        learned_from = []
        choose(Recorder(np.eye(60)), y, np.arange(60), tuning=Tuning((1.0, 2.0), refit_inner=refit))
        assert set(learned_from) == expected


def test_the_scale_of_distances_does_not_matter(blobs):
    """The median rule makes metres and kilometres the same."""
    D, y = blobs
    folds = stratified_folds(y, 5)
    metres, kilometres = (
        cross_validate(RBFKernels([scale * D], factors=(0.1, 1.0)), y, folds, tuning=COSTS)
        for scale in (1e6, 1.0)
    )
    assert np.array_equal(metres.predicted, kilometres.predicted)


def test_without_a_kernel_the_largest_class_is_predicted():
    """So it is if the training graphs have one class, and no margin is claimed."""
    y = np.array([0] * 70 + [1] * 30)
    result = cross_validate(NoKernel(), y, stratified_folds(y, 10), tuning=COSTS)
    assert result.accuracies.mean() == pytest.approx(0.7)
    assert np.isnan(result.margins).all()
    one_class = cross_validate(
        FixedKernel(np.eye(4)), np.array([1, 1, 1, 0]), [(np.arange(3), np.array([3]))]
    )
    assert one_class.folds[0].predicted.tolist() == [1]


def test_a_kernel_matrix_as_it_is():
    """The ideal kernel makes no mistake, blocked or not."""
    y = np.arange(60) % 3
    family = FixedKernel(np.equal.outer(y, y).astype(float))
    for groups in (None, np.arange(60) // 5):
        folds = stratified_folds(y, 4, groups=groups)
        assert cross_validate(family, y, folds, groups=groups, tuning=COSTS).predicted.tolist() == y.tolist()


def test_small_classes_and_stopped_machines_give_no_warning(blobs):
    """A class smaller than the number of folds, and a limit of iterations, are part of the protocol."""
    D, y = blobs
    few = np.r_[y[:118], 7, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folds = stratified_folds(few, 5)
        result = cross_validate(RBFKernels([D]), few, folds, tuning=Tuning((1.0, 2.0), max_iter=1), n_jobs=2)
    assert len(result.folds) == 5


def test_wilsons_interval_is_that_of_the_books():
    """Values of the literature, and the ends stay inside 0 to 1."""
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
    assert wilson_interval(20, 20)[1] == 1.0


def test_the_paired_test_knows_that_folds_share_graphs():
    """Equal accuracies are no difference, a steady one is; the correction makes a p-value larger."""
    rng = np.random.default_rng(0)
    a = 80 + rng.normal(size=30)
    assert paired_test(a, a, test_share=0.1) == 1.0
    assert paired_test(a, a - 3 + 0.5 * rng.normal(size=30), test_share=0.1) < 1e-4
    b = a - 0.5 + rng.normal(size=30)
    assert paired_test(a, b, test_share=0.1) > paired_test(a, b, test_share=0.0)
