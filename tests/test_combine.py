"""Sums and products of kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import torelli as tt
from test_kernels import counted, data, indefinite
from torelli.combine import alignment

__all__ = ["counted"]  # a fixture

GAMMAS = (0.02, 0.05, 0.3)


def members(**options):
    """Return three kernels with fixed gammas."""
    kinds = (tt.TTWKernel, tt.TTEKernel, tt.TTSKernel)
    return [Kernel(gamma=gamma, **options) for Kernel, gamma in zip(kinds, GAMMAS, strict=True)]


def test_a_sum_is_the_weighted_mean_and_a_product_the_kernel_of_summed_distances():
    """Weights are divided by their sum; a product of exp(-gamma d²) adds gamma d² with the weights."""
    graphs, _ = data(10)
    parts = [member.fit_transform(graphs) for member in members()]
    total = tt.CombinedKernel(members(), weights=[2.0, 1.0, 1.0])
    assert np.allclose(total.fit_transform(graphs), 0.5 * parts[0] + 0.25 * parts[1] + 0.25 * parts[2])
    assert total.weights_.tolist() == [0.5, 0.25, 0.25]
    product = tt.CombinedKernel(members(), combine="product")
    Q = tt.torelli_matrices(graphs)
    squared = [tt.pairwise_distances(Q, metric=metric, squared=True) for metric in ("ttw", "tte", "tts")]
    exponent = sum(gamma * d for gamma, d in zip(GAMMAS, squared, strict=True)) / 3
    assert np.allclose(product.fit_transform(graphs), np.exp(-exponent))


@pytest.mark.parametrize("combine", ["sum", "product"])
@pytest.mark.parametrize("weights", ["uniform", "alignment", (3.0, 1.0, 0.5)])
def test_training_graphs_keep_their_rows_and_the_order_of_members_does_not_matter(combine, weights):
    """Transforming what was fitted gives the same matrix; turning the list of members around too."""
    graphs, y = data(20)
    kernel = tt.CombinedKernel(members(bridges="double"), combine=combine, weights=weights)
    K = kernel.fit_transform(graphs, y)
    assert np.allclose(kernel.transform(graphs[3:7]), K[3:7], rtol=1e-9)
    backwards = weights if isinstance(weights, str) else weights[::-1]
    turned = tt.CombinedKernel(members(bridges="double")[::-1], combine=combine, weights=backwards)
    assert np.allclose(turned.fit_transform(graphs, y), K, rtol=1e-12)
    assert kernel.weights_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("combine", ["sum", "product"])
def test_positive_definite_members_stay_so_together(combine):
    """TTE and TTS and plain features give a positive definite sum and product with any weights."""
    graphs = tt.datasets.street_patterns(8, seed=0).graphs
    features = make_pipeline(tt.StreetStatistics(), StandardScaler(), tt.FeatureKernel())
    for weights in ("uniform", [0.0, 1.0, 5.0], [7.0, 0.1, 0.2]):
        kernel = tt.CombinedKernel(
            [tt.TTEKernel(), tt.TTSKernel(), features], combine=combine, weights=weights
        )
        assert tt.definiteness(kernel.fit_transform(graphs), tolerance=1e-9).is_psd


def test_alignment_weights_follow_the_labels():
    """A member that knows the classes gets the weight, one that is constant gets none."""
    graphs, y = data(30)
    blind = tt.TTSKernel(max_genus=0)  # all graphs alike
    kernel = tt.CombinedKernel([blind, tt.TTSKernel()], weights="alignment").fit(graphs, y)
    assert kernel.weights_.tolist() == [0.0, 1.0]
    nothing = tt.CombinedKernel([blind, blind], weights="alignment").fit(graphs, y)
    assert nothing.weights_.tolist() == [0.5, 0.5]
    with pytest.raises(tt.InvalidOptionError, match="needs the labels"):
        tt.CombinedKernel([tt.TTSKernel()], weights="alignment").fit(graphs)


def test_alignment_of_a_matrix_with_labels():
    """1 for the ideal kernel of classes or numbers, and the sign of their relation."""
    y = np.array(["a", "b", "a", "c"])
    ideal = np.equal.outer(y, y).astype(float)
    assert alignment(ideal, y) == pytest.approx(1.0)
    assert alignment(2.0 - ideal, y) == pytest.approx(-1.0)
    numbers = np.array([0.5, -1.2, 3.3])
    assert alignment(np.outer(numbers, numbers), numbers) == pytest.approx(1.0)


def test_grid_search_over_members_pays_distances_once_for_each_fold(counted):
    """Gamma of a member, weights, combination and C: four folds, four training and four test computations."""
    graphs, y = data(40)
    pipeline = make_pipeline(tt.CombinedKernel([tt.TTWKernel(), tt.TTSKernel()]), SVC(kernel="precomputed"))
    grid = {
        "combinedkernel__ttwkernel__gamma": [0.1, "median"],
        "combinedkernel__weights": ["uniform", "alignment", (3, 1)],
        "combinedkernel__combine": ["sum", "product"],
        "svc__C": [1.0, 10.0],
    }
    search = GridSearchCV(pipeline, grid, cv=4, refit=False).fit(graphs, y)
    assert sorted(counted, key=str) == sorted([(30, None)] * 4 + [(10, 30)] * 4, key=str)
    assert search.best_score_ > 0.8


def test_names_clone_and_nested_parameters():
    """Members are reached by name; a name that comes twice is numbered; clone leaves fitted state behind."""
    kernel = tt.CombinedKernel([tt.TTSKernel(), tt.TTWKernel(), tt.TTSKernel(bridges="double")])
    assert kernel.get_params()["ttskernel-2__bridges"] == "double"
    kernel.set_params(ttwkernel__gamma=3.0, combine="product")
    assert (kernel.kernels[1].gamma, kernel.combine) == (3.0, "product")
    copy = clone(kernel.fit(data(6)[0]))
    assert not hasattr(copy, "kernels_")
    assert copy.kernels[1] is not kernel.kernels[1]
    assert copy.get_params(deep=False).keys() == kernel.get_params(deep=False).keys()
    named = tt.CombinedKernel([("cycles", tt.TTWKernel()), ("bridges", tt.TTSKernel(bridges="double"))])
    named.set_params(cycles=tt.TTEKernel(gamma=1.0), bridges__max_genus=4)
    assert [name for name, _ in named.kernels] == ["cycles", "bridges"]
    assert named.get_params()["cycles__gamma"] == 1.0
    assert named.kernels[1][1].max_genus == 4
    with pytest.raises(Exception, match="not fitted"):
        copy.transform(data(2)[0])


def test_fitting_leaves_the_members_of_the_caller_alone():
    """Members are cloned: what was given is not fitted, and changing it later changes nothing."""
    graphs, _ = data(8)
    member = tt.TTSKernel(gamma=0.3)
    kernel = tt.CombinedKernel([member]).fit(graphs)
    before = kernel.transform(graphs[:2])
    kernel.set_params(ttskernel__gamma=9.0, combine="product", psd="clip")
    assert not hasattr(member, "gamma_")
    assert np.array_equal(kernel.transform(graphs[:2]), before)


@pytest.mark.parametrize("psd", ["clip", "flip"])
def test_repairs_hold_out_of_sample(psd):
    """Negative eigenvalues of the combination go, and a training graph keeps its repaired row."""
    graphs = indefinite()
    parts = [tt.TTWKernel(gamma=0.3), tt.TTWKernel(gamma=0.3, bridges="double")]
    assert not tt.definiteness(tt.CombinedKernel(parts).fit_transform(graphs), tolerance=1e-9).is_psd
    kernel = tt.CombinedKernel(parts, psd=psd)
    K = kernel.fit_transform(graphs)
    assert tt.definiteness(K, tolerance=1e-9).is_psd
    assert np.allclose(kernel.transform(graphs), K, atol=1e-8)


def test_a_pipeline_of_statistics_is_a_member():
    """Plain features join through FeatureKernel, learned from the training graphs alone."""
    graphs = tt.datasets.street_patterns(6, seed=1).graphs
    streets = make_pipeline(tt.StreetStatistics(area=600.0**2), StandardScaler(), tt.FeatureKernel())
    kernel = tt.CombinedKernel([tt.TTSKernel(), ("streets", streets)])
    K = kernel.fit_transform(graphs)
    assert np.allclose(kernel.transform(graphs[:2]), K[:2], rtol=1e-9)
    assert "streets__featurekernel__gamma" in kernel.get_params()
    upper = streets.fit_transform(graphs)[np.triu_indices(len(graphs), 1)]
    assert np.median(upper) == pytest.approx(0.5, abs=0.01)


def test_what_cannot_be_combined_is_named():
    """Wrong options, members and matrices are errors that say which and what to do."""
    graphs, y = data(6)
    for options, message in (
        ({"combine": "max"}, "'sum', 'product'"),
        ({"weights": "best"}, "'uniform', 'alignment'"),
        ({"weights": [1.0]}, "3 numbers"),
        ({"weights": [1.0, -1.0, 1.0]}, "negative"),
        ({"weights": [0.0, 0.0, 0.0]}, "positive"),
        ({"psd": "shift"}, "'clip', 'flip'"),
    ):
        with pytest.raises(tt.InvalidOptionError, match=message):
            tt.CombinedKernel(members(), **options).fit(graphs, y)
    with pytest.raises(tt.InvalidOptionError, match="kernels is empty"):
        tt.CombinedKernel([]).fit(graphs)
    with pytest.raises(tt.InvalidOptionError, match="unknown kernel 'wl'"):
        tt.CombinedKernel(["wl"]).fit(graphs)
    with pytest.raises(tt.InvalidOptionError, match="kernel 'int' is 7"):
        tt.CombinedKernel([7]).fit(graphs)
    with pytest.raises(tt.InvalidMatrixError, match=r"'streetstatistics' gave a matrix of shape \(6, 1\)"):
        tt.CombinedKernel([tt.StreetStatistics(("genus",))]).fit(graphs)
    negative = tt.TTWKernel(gamma=0.3, psd="clip")
    with pytest.raises(tt.InvalidMatrixError, match="'ttwkernel' has negative values"):
        tt.CombinedKernel([negative], combine="product").fit([*indefinite(), *spread()])


def spread():
    """Return graphs so large that their kernel with small ones vanishes, and repairs reach below 0."""
    return [tt.MetricGraph([0, 0, 0], [1, 1, 1], [100.0 + i, 200.0, 300.0]) for i in range(5)]
