"""Cross-validation on distances that were computed once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import torelli as tt
from torelli.experiments._folds import DistanceFamily, FixedKernel, cross_validate, split
from torelli.kernels import squared_graph_distances


def patterns(n=12):
    """Return synthetic windows and their labels as text."""
    data = tt.datasets.street_patterns(n, radius=200, seed=0)
    return data.graphs, np.array(data.target_names)[data.y]


def test_sliced_distances_give_the_kernel_that_the_estimators_give():
    """On training and test graphs they are those of CombinedKernel fitted to the training graphs."""
    graphs, _ = patterns()
    train, test = np.arange(0, 48, 2), np.arange(1, 48, 2)
    squared = [squared_graph_distances(graphs, None, metric, bridges="double") for metric in ("ttw", "tts")]
    table = tt.MetricStatistics().fit_transform(graphs)
    K = DistanceFamily(squared, [table], scales=(1.0,)).kernels(train)[0]
    features = make_pipeline(tt.MetricStatistics(), StandardScaler(), tt.FeatureKernel())
    kernel = tt.CombinedKernel(
        [tt.TTWKernel(bridges="double"), tt.TTSKernel(bridges="double"), features], combine="product"
    )
    expected = kernel.fit_transform([graphs[at] for at in train])
    assert np.allclose(K[np.ix_(train, train)], expected, rtol=1e-8)
    assert np.allclose(K[np.ix_(test, train)], kernel.transform([graphs[at] for at in test]), rtol=1e-8)


def test_no_fold_divides_a_block():
    """Blocks are in the training or in the test part, inside the training folds too."""
    y, groups = np.arange(90) % 2, np.arange(90) // 6
    for train, test in split(np.arange(90), y, groups, 5, 0):
        assert not set(groups[train]) & set(groups[test])
        for fit, check in split(train, y, groups, 3, 0):
            assert set(fit) | set(check) == set(train)
            assert not set(groups[fit]) & set(groups[check])


def test_random_labels_are_not_learned():
    """With labels that mean nothing the accuracy is that of chance, parameters chosen or not."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    family = DistanceFamily(features=[rng.standard_normal((200, 5))])
    for tuned in (False, True):
        assert cross_validate(family, y, None, tuned=tuned).accuracies.mean() == pytest.approx(0.5, abs=0.12)


def test_parameters_are_chosen_in_the_training_folds():
    """Where the median rule's gamma is far off, the choice finds a better one; folds say how good it is."""
    rng = np.random.default_rng(1)
    # a chessboard: neighbours count, and the median distance is that of the whole board
    points = rng.uniform(0, 4, size=(300, 2))
    y = np.array(["white", "black"])[np.floor(points).sum(axis=1).astype(int) % 2]
    family = DistanceFamily(features=[points], scales=(1.0, 30.0))
    plain, chosen = (cross_validate(family, y, None, tuned=tuned, n_jobs=2) for tuned in (False, True))
    assert chosen.accuracies.mean() > plain.accuracies.mean() + 0.1
    assert np.mean(chosen.labels == y) == pytest.approx(chosen.accuracies.mean(), abs=0.01)


def test_a_kernel_matrix_as_it_is():
    """The ideal kernel makes no mistake, blocked or not."""
    y = np.arange(60) % 3
    family = FixedKernel(np.equal.outer(y, y).astype(float))
    for groups in (None, np.arange(60) // 5):
        assert cross_validate(family, y, groups, tuned=True, n_folds=4).labels.tolist() == y.tolist()
