"""Features from landmarks: how well they give back the kernel, and what is learned with them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import torelli as tt
from torelli.datasets import street_patterns
from torelli.landmarks import CHOICES
from torelli.persist import load_model, save_model

KERNELS = ("ttw", "tte", "tts", "ttm")


@cache
def windows(n_per_pattern, seed=1):
    """Return windows of four patterns and the pattern of each."""
    data = street_patterns(n_per_pattern, radius=120, seed=seed)
    return tuple(data.graphs), data.y


@pytest.mark.parametrize("kernel", ["tte", "tts", "ttm"])
def test_all_graphs_as_landmarks_give_the_kernel(kernel):
    """With every training graph a landmark, inner products of features are the kernel matrix."""
    graphs, _ = windows(4)
    features = tt.LandmarkFeatures(kernel, n_landmarks=100)
    X = features.fit_transform(graphs)
    K = tt.KERNELS[kernel](gamma=features.gamma_).fit_transform(graphs)
    np.testing.assert_allclose(X @ X.T, K, atol=1e-6)
    assert features.landmark_indices_.tolist() == list(range(16))
    assert features.kernel_error(graphs) < 1e-6


def test_an_indefinite_kernel_is_clipped():
    """For TTW with every graph a landmark, features give the matrix without its negative eigenvalues."""
    rng = np.random.default_rng(0)
    graphs = [tt.MetricGraph([0] * 4, [0] * 4, 10.0 ** rng.uniform(-1, 1, 4)) for _ in range(30)]
    graphs += [graph for pattern in windows(4) for graph in pattern if isinstance(graph, tt.MetricGraph)]
    graphs = [graph.replace(unit="m") for graph in graphs]
    features = tt.LandmarkFeatures(tt.TTWKernel(gamma=1e-3), n_landmarks=100)
    X = features.fit_transform(graphs)
    assert np.isfinite(X).all()
    values, vectors = np.linalg.eigh(tt.TTWKernel(gamma=1e-3).fit_transform(graphs))
    assert values[0] < -1e-9
    kept = values > max(1e-10 * values[-1], -values[0])
    clipped = (vectors[:, kept] * values[kept]) @ vectors[:, kept].T
    np.testing.assert_allclose(X @ X.T, clipped, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("choice", CHOICES)
def test_few_landmarks_approximate_the_kernel(kernel, choice):
    """The error falls with the number of landmarks, and is that of the definition."""
    graphs, _ = windows(12)
    errors = []
    for n_landmarks in (3, 12, 40):
        features = tt.LandmarkFeatures(kernel, n_landmarks=n_landmarks, landmarks=choice).fit(graphs)
        assert len(features.landmarks_) == n_landmarks
        assert len(set(features.landmark_indices_.tolist())) == n_landmarks
        for position, landmark in zip(features.landmark_indices_, features.landmarks_, strict=True):
            assert graphs[position] is landmark
        errors.append(features.kernel_error(graphs))
        X = features.transform(graphs)
        K = tt.KERNELS[kernel](gamma=features.gamma_).fit_transform(graphs)
        assert errors[-1] == pytest.approx(np.linalg.norm(K - X @ X.T) / np.linalg.norm(K), rel=1e-6)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1


def test_spread_landmarks_find_rare_graphs():
    """k-means++ takes one of two rare kinds where uniform landmarks take copies of the frequent kind."""
    rings = [tt.MetricGraph([0], [0], [1.0])] * 60
    rare = [tt.MetricGraph([0], [0], [100.0]), tt.MetricGraph([0], [0], [900.0])]
    kernel = tt.TTSKernel(gamma=0.01)
    spread = tt.LandmarkFeatures(kernel, n_landmarks=10, landmarks="kmeans++").fit(rings + rare)
    assert {60, 61} <= set(spread.landmark_indices_.tolist())
    assert spread.kernel_error(rings + rare) < 1e-9
    assert spread.projection_.shape == (10, 3)


@pytest.mark.parametrize("choice", CHOICES)
def test_equal_graphs_need_one_column(choice):
    """Landmarks that are all equal are one feature, which is 1."""
    X = tt.LandmarkFeatures("tts", n_landmarks=3, landmarks=choice).fit_transform(
        [tt.MetricGraph([0], [0], [2.0])] * 40
    )
    np.testing.assert_allclose(np.abs(X), 1.0)
    assert X.shape == (40, 1)


def test_a_pipeline_learns_and_is_cloned():
    """A linear model on the features predicts patterns of new windows, and threads change nothing."""
    graphs, y = windows(16)
    new, truth = windows(5, seed=2)
    model = make_pipeline(tt.LandmarkFeatures("ttw", n_landmarks=30), LogisticRegression(max_iter=1000, C=10))
    predicted = model.fit(graphs, y).predict(new)
    assert np.mean(predicted == truth) > 0.45  # chance is 0.25
    again = clone(model).set_params(landmarkfeatures__n_jobs=2).fit(graphs, y)
    assert again.predict_proba(new).tolist() == model.predict_proba(new).tolist()
    names = model[:-1].get_feature_names_out()
    assert names[0] == "landmarkfeatures0"
    assert len(names) == model[-1].coef_.shape[1]


def test_rows_do_not_depend_on_the_others(monkeypatch):
    """A graph has the same features alone, in a list, and in parts."""
    graphs, _ = windows(4)
    features = tt.LandmarkFeatures("ttw", n_landmarks=6).fit(graphs)
    whole = features.transform(graphs)
    np.testing.assert_allclose(features.transform(graphs[5:6])[0], whole[5], rtol=1e-9, atol=1e-9)
    monkeypatch.setattr("torelli.matrix.ENTRIES_AT_ONCE", 100)
    np.testing.assert_allclose(features.transform(graphs), whole, rtol=1e-9, atol=1e-9)


def test_gamma_is_that_of_the_kernel():
    """A number is used as it is, and the median rule makes the median kernel value of a sample 1/2."""
    graphs, _ = windows(4)
    assert tt.LandmarkFeatures(tt.TTEKernel(gamma=0.25)).fit(graphs).gamma_ == 0.25
    median = tt.TTEKernel().fit(graphs).gamma_
    assert tt.LandmarkFeatures("tte").fit(graphs).gamma_ == pytest.approx(median)


@pytest.mark.parametrize("kernel", ["ttw", "ttm"])
def test_a_stored_model_gives_the_same(tmp_path, kernel):
    """Saved and loaded as skops, features are the same; a file that was changed is refused."""
    graphs, _ = windows(4)
    features = tt.LandmarkFeatures(tt.KERNELS[kernel](), n_landmarks=6).fit(graphs)
    loaded, _ = load_model(save_model(features, tmp_path / "a.skops"))
    assert loaded.transform(graphs).tolist() == features.transform(graphs).tolist()
    for name, wrong in (
        ("projection_", np.full((6, 2), np.nan)),
        ("projection_", np.zeros((5, 2))),
        ("landmarks_", []),
        ("gamma_", -1.0),
        ("landmark_indices_", np.zeros(2)),
        ("transformer_", tt.MetricStatistics()),
    ):
        broken = clone(features).fit(graphs)
        setattr(broken, name, wrong)
        save_model(broken, tmp_path / "b.skops")
        with pytest.raises(tt.FormatError, match=name):
            load_model(tmp_path / "b.skops")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "wl"}, "unknown kernel"),
        ({"landmarks": "best"}, "unknown landmarks"),
        ({"n_landmarks": 0}, "n_landmarks is 0"),
        ({"n_landmarks": 2.5}, "n_landmarks is 2.5"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_unknown_options_are_refused(options, message):
    """A wrong option is named, with what is possible."""
    with pytest.raises(tt.InvalidOptionError, match=message):
        tt.LandmarkFeatures(**options).fit([tt.MetricGraph([0], [0], [1.0])])


def test_trees_warn_and_units_agree():
    """Trees alone warn, and graphs in another unit than the landmarks are refused."""
    trees = [tt.MetricGraph([0], [1], [1.0]), tt.MetricGraph([0], [1], [9.0])]
    with pytest.warns(tt.DataWarning, match="no cycles"):
        tt.LandmarkFeatures("tte").fit(trees)
    rings = [tt.MetricGraph([0], [0], [length], unit="m") for length in (1.0, 2.0)]
    with pytest.raises(tt.InvalidGraphError, match="units"):
        tt.LandmarkFeatures("tte").fit(rings).transform([rings[0].replace(unit="km")])
