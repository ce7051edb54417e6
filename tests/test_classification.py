"""Cross-validated classification."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt
from torelli._registry import default_kernels, get_kernel
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
    for Kernel, score in zip(map(get_kernel, default_kernels()), outcome.scores, strict=False):
        model = make_pipeline(Kernel(), SVC(kernel="precomputed"))
        assert np.array_equal(cross_val_predict(model, data.graphs, outcome.y, cv=folds), score.predicted)


def test_the_outcome_is_about_the_graphs_given(data, outcome):
    """Rows keep their order; counts, accuracies and margins agree with the predictions."""
    assert outcome.classes == sorted(map(str, data.target_names))
    assert [outcome.classes[n] for n in outcome.y] == [str(data.target_names[n]) for n in data.y]
    assert outcome.names == [graph.name for graph in data.graphs]
    assert [score.name for score in outcome.scores] == ["ttm", "ttw", "tte", "tts", GENUS, MAJORITY]
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
    result = classify(graphs, ["a", "b"] * 6, metrics=["tts"], folds=3)
    assert result.right(result.scores[0]).all()
    assert (result.scores[0].margin > 0).all()


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


def test_no_fold_divides_a_group(data):
    """Graphs of one group are left out together, and the outcome says that folds were blocked."""
    groups = np.array([f"block {i % 6}" for i in range(len(data.graphs))])
    result = classify(data.graphs, data.y, metrics=["tte"], folds=3, groups=groups, C=[0.1, 1.0])
    for group in set(groups):
        assert len(set(result.fold[groups == group])) == 1
    assert result.about["groups"] == 6
    assert result.folds == "3 blocked folds, which divide none of 6 groups"
    assert classify(data.graphs, data.y, metrics=["tte"], folds=3).folds == "3 random stratified folds"


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([0, 1, 2], "3 groups for 8 graphs"),
        ([0, 1] * 4, "3 folds, but 2 groups: use as many folds as groups or fewer"),
        ([0, 1, 0, 2, 0, 3, 0, 4], "class 'a' are in one group.*groups=None"),
    ],
)
def test_groups_that_make_no_folds_are_refused_with_the_remedy(data, groups, words):
    """The message says which classes or how many groups are in the way."""
    with pytest.raises(tt.InvalidOptionError, match=words):
        classify(data.graphs[:8], ["a", "b"] * 4, folds=3, groups=groups)


def placed(corner, crs="EPSG:4326"):
    """Return a square of streets at some place."""
    points = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * 0.001 + corner
    return tt.MetricGraph([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 1.0, 2.0], coordinates=points, crs=crs)


def test_random_folds_of_overlapping_windows_are_doubted():
    """Windows that share nodes give a warning without groups; groups, other places or no places give none."""
    apart = [placed((8 + 0.01 * i, 50)) for i in range(8)]
    y = ["a", "b"] * 4
    with pytest.warns(tt.DataWarning, match="4 of 8 graphs share nodes.*groups=") as caught:
        result = classify([*apart[:6], apart[0], apart[1]], y, metrics=["tte"], folds=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "4 of 8" in result.overlap
    groups = [0, 1, 2, 3, 4, 5, 0, 1]
    assert classify([*apart[:6], *apart[:2]], y, metrics=["tte"], folds=2, groups=groups).overlap is None
    assert classify(apart, y, metrics=["tte"], folds=2).overlap is None
    assert classify([placed((0, 0), None)] * 8, y, metrics=["tte"], folds=2).overlap is None


def test_trees_are_told_apart_by_their_bridges_alone():
    """Kernels of cycles say once that trees look alike to them; with doubled bridges they do not."""
    graphs = [tt.MetricGraph([0, 1], [1, 2 + n % 2], [1.0, 1 + n % 2 + n / 99], 4) for n in range(12)]
    y = ["a", "b"] * 6
    with pytest.warns(tt.DataWarning, match="all 12 graphs have no cycles.*bridges='double'.*kernel='ttm'"):
        seen = classify(graphs, y, metrics=["tts"], folds=3)
    assert (seen.kernels["tts"] == 1).all()
    result = classify(graphs, y, metrics=["tts", "ttm"], folds=3, bridges="double")
    assert result.right(result.scores[0]).all()
    assert result.about["bridges"] == "double"


def test_bridges_need_a_kernel_that_has_them():
    """An option that none of the kernels has is an error; beside others, such a kernel does without it."""
    graphs = [tt.MetricGraph([0], [0], [1.0 + n % 2 + n / 99]) for n in range(12)]
    y = ["a", "b"] * 6
    with pytest.raises(tt.InvalidOptionError, match=r"bridges='double': no kernel of 'ttm' has"):
        classify(graphs, y, metrics=["ttm"], folds=3, bridges="double")
    outcome = classify(graphs, y, metrics=["ttm", "tts"], folds=3, bridges="double")
    assert [score.name for score in outcome.scores[:2]] == ["ttm", "tts"]


def test_the_variant_of_ttm_is_used_and_named(data):
    """TTM along returns has the kernel matrix of TTMKernel(along="returns"); other kernels do without it."""
    graphs, y = data.graphs[::2], data.y[::2]
    outcome = classify(graphs, y, metrics=["ttm", "tts"], folds=3, along="returns")
    expected = tt.TTMKernel(along="returns").fit_transform(graphs)
    np.testing.assert_allclose(outcome.kernels["ttm"], expected, atol=1e-12)
    assert outcome.about["along"] == "returns"
    assert [outcome.label(score.name) for score in outcome.scores] == [
        "TTM along returns",
        "TTS",
        "genus alone",
        "majority class",
    ]
    usual = classify(graphs, y, metrics=["ttm"], folds=3)
    assert "along" not in usual.about
    assert usual.label("ttm") == "TTM"
    with pytest.raises(tt.InvalidOptionError, match=r"along='returns': no kernel of 'tts' has.*use 'ttm'"):
        classify(graphs, y, metrics=["tts"], folds=3, along="returns")
