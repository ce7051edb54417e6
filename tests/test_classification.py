"""Cross-validated classification."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt
from torelli.classification import GENUS, MAJORITY, classify


@pytest.fixture(scope="module")
def data():
    """Return small windows of four street patterns."""
    return tt.datasets.street_patterns(8, radius=150, seed=0)


@pytest.fixture(scope="module")
def outcome(data):
    """Return their classification."""
    return classify(data.graphs, np.asarray(data.target_names)[data.y], folds=4)


def test_predictions_are_those_of_scikit_learn(data, outcome):
    """Distances computed once for all folds give what the kernels give fold by fold."""
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    for Kernel, score in zip((tt.TTWKernel, tt.TTEKernel, tt.TTSKernel), outcome.scores, strict=False):
        model = make_pipeline(Kernel(), SVC(kernel="precomputed"))
        assert np.array_equal(cross_val_predict(model, data.graphs, outcome.y, cv=folds), score.predicted)


def test_the_outcome_is_about_the_graphs_given(data, outcome):
    """Rows keep their order; counts, accuracies and margins agree with the predictions."""
    assert outcome.classes == sorted(map(str, data.target_names))
    assert [outcome.classes[n] for n in outcome.y] == [str(data.target_names[n]) for n in data.y]
    assert outcome.names == [graph.name for graph in data.graphs]
    assert [score.name for score in outcome.scores] == ["ttw", "tte", "tts", GENUS, MAJORITY]
    for score in outcome.scores[:4]:
        right = outcome.right(score)
        assert outcome.confusion(score).trace() == right.sum()
        assert score.fold_accuracies.mean() == pytest.approx(right.mean())
        low, high = outcome.interval(score)
        assert low < right.mean() < high
        assert (score.margin[~right] < 0.5).all()
    assert outcome.right(outcome.scores[-1]).mean() == 0.25
    for K in outcome.kernels.values():
        assert np.median(K[np.triu_indices_from(K, 1)]) == pytest.approx(0.5, abs=0.01)


def test_of_several_parameters_the_training_graphs_choose(data):
    """A gamma that sees nothing is not taken where the median rule is offered beside it."""
    chosen = classify(data.graphs, data.y, metrics=["tte"], folds=4, C=[1.0, 10.0], gamma=[1e-12, "median"])
    assert all("median" in pair for pair in chosen.scores[0].chosen)
    assert len(chosen.scores[0].chosen) == 4


def test_two_classes_have_signed_margins():
    """For two classes a margin is positive where the own class is ahead."""
    graphs = [
        tt.MetricGraph([0] * (2 + n % 2), [1] * (2 + n % 2), np.linspace(1, 2, 2 + n % 2) + n / 99)
        for n in range(12)
    ]
    found = classify(graphs, ["a", "b"] * 6, metrics=["tts"], folds=3)
    assert found.right(found.scores[0]).all()
    assert (found.scores[0].margin > 0).all()


@pytest.mark.parametrize(
    ("y", "options", "words"),
    [
        (["a"] * 8, {}, "one class"),
        (["a"] * 7, {}, "7 labels for 8 graphs"),
        (["a"] * 6 + ["b"] * 2, {"folds": 3}, "class 'b' has 2 graph.*use 2 to 2 folds"),
        (["a"] * 7 + ["b"], {"folds": 2}, "class 'b' has 1 graph.*leave it out"),
        (["a", "b"] * 4, {"folds": 2, "C": 0.0}, "C is 0.0"),
        (["a", "b"] * 4, {"folds": 2, "gamma": -1.0}, "gamma is -1.0"),
        (["a", "b"] * 4, {"folds": 2, "metrics": ["xyz"]}, "xyz"),
    ],
)
def test_what_cannot_be_classified_is_refused_with_the_remedy(data, y, options, words):
    """The message names the class, the option and what to do."""
    with pytest.raises(tt.InvalidOptionError, match=words):
        classify(data.graphs[:8], y, **options)
