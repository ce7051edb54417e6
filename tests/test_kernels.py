"""Kernels as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt
from torelli.distances import _ttw
from torelli.representation import squared_graph_distances

KERNELS = list(tt.KERNELS.values())
MATRIX_KERNELS = [Kernel for Kernel in KERNELS if issubclass(Kernel, tt.TorelliKernel)]
every_kernel = pytest.mark.parametrize("Kernel", KERNELS)
every_matrix_kernel = pytest.mark.parametrize("Kernel", MATRIX_KERNELS)


def data(n=40, seed=0):
    """Return two classes of graphs that differ in scale, with genera from 2 to 9."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(n):
        extra, nodes = int(rng.integers(2, 10)), 15
        tail = np.concatenate([np.arange(nodes - 1), rng.integers(nodes, size=extra)])
        head = np.concatenate([np.arange(1, nodes), rng.integers(nodes, size=extra)])
        scale = 1.0 + 2 * (i % 2)
        graphs.append(tt.MetricGraph(tail, head, rng.uniform(0.1, scale, size=len(tail)), nodes))
    return graphs, np.arange(n) % 2


@every_kernel
def test_works_in_a_pipeline_with_cross_validation(Kernel):
    """A support vector machine on the kernel finds the classes."""
    graphs, y = data()
    assert cross_val_score(make_pipeline(Kernel(), SVC(kernel="precomputed")), graphs, y, cv=4).mean() > 0.8


@every_matrix_kernel
def test_the_kernel_is_the_formula(Kernel):
    """K = exp(-gamma d²) with the distances that pairwise_distances gives."""
    graphs, _ = data(12)
    squared = tt.pairwise_distances(tt.torelli_matrices(graphs), metric=Kernel.entry.name, squared=True)
    kernel = Kernel(gamma=0.3)
    assert np.allclose(kernel.fit_transform(graphs), np.exp(-0.3 * squared), rtol=1e-12)
    assert np.allclose(kernel.transform(graphs[:3]), np.exp(-0.3 * squared[:3]), rtol=1e-9)


@every_kernel
def test_the_median_rule_puts_the_median_at_one_half(Kernel):
    """gamma="median" is ln 2 over the median nonzero squared distance."""
    graphs, _ = data(15)
    K = Kernel().fit_transform([*graphs, graphs[0]])
    upper = K[np.triu_indices_from(K, 1)]
    assert np.median(upper[upper < 1]) == pytest.approx(0.5)


def test_all_trees_are_alike():
    """With nothing but trees every kernel value is 1, and gamma is finite."""
    trees = [tt.MetricGraph([0, 1], [1, 2], [1.0, float(i + 1)]) for i in range(3)]
    for Kernel in MATRIX_KERNELS:
        kernel = Kernel()
        with pytest.warns(tt.DataWarning, match="no cycles"):
            assert kernel.fit_transform(trees).tolist() == np.ones((3, 3)).tolist()
        assert kernel.gamma_ == 1.0


@every_matrix_kernel
def test_doubled_bridges_tell_trees_apart(Kernel):
    """With bridges="double" trees of other lengths are unlike, and a refinement is alike."""
    trees = [tt.MetricGraph([0, 1, 1], [1, 2, 3], [1.0, 2.0, float(i + 1)]) for i in range(3)]
    kernel = Kernel(bridges="double")
    K = kernel.fit_transform(trees)
    assert K[np.triu_indices(3, 1)].max() < 0.9
    assert np.array_equal(kernel.transform([trees[0].subdivide(9)]), K[:1])


@every_matrix_kernel
def test_unseen_graphs_may_have_a_larger_genus(Kernel):
    """Nothing about the training graphs limits what can be transformed."""
    graphs, _ = data(8)
    large = tt.MetricGraph([0] * 60, [1] * 60, np.linspace(0.1, 2.0, 60))
    kernel = Kernel(gamma=1e-3).fit(graphs)
    K = kernel.transform([large, graphs[2]])
    squared = tt.pairwise_distances(
        tt.torelli_matrices([large]), tt.torelli_matrices(graphs), Kernel.entry.name, squared=True
    )
    assert K.shape == (2, 8)
    assert np.allclose(K[0], np.exp(-1e-3 * squared[0]))
    assert K[1, 2] == 1.0


def test_subdividing_the_input_does_not_move_the_kernel():
    """The point of it all."""
    graphs, _ = data(10)
    finer = [graph.subdivide(25, seed=i) for i, graph in enumerate(graphs)]
    for Kernel in KERNELS:
        kernel = Kernel()
        K = kernel.fit_transform(graphs)
        assert np.allclose(kernel.transform(finer), K, atol=1e-9)
        assert np.allclose(kernel.transform(finer).diagonal(), 1.0, atol=1e-12)


def test_clone_and_parameters():
    """Parameters survive clone, get_params and set_params; fitted state does not."""
    kernel = tt.TTWKernel(gamma=2.0, psd="clip", max_genus=5, seed=3, model="literal", truncation="leading")
    kernel.fit(data(6)[0])
    copy = clone(kernel)
    assert copy.get_params() == kernel.get_params()
    assert not hasattr(copy, "gamma_")
    assert copy.set_params(gamma=1.0).gamma == 1.0
    with pytest.raises(Exception, match="not fitted"):
        copy.transform(data(2)[0])


def test_networkx_graphs_go_straight_in():
    """Lists of networkx graphs need no conversion by the caller."""
    graphs = []
    for seed in range(12):
        G = nx.gnm_random_graph(8, 12, seed=seed)
        nx.set_edge_attributes(G, {e: 2.0**i for i, e in enumerate(G.edges)}, "metres")
        graphs.append(G)
    pipeline = make_pipeline(tt.TTSKernel(length="metres"), SVC(kernel="precomputed"))
    assert pipeline.fit(graphs, [0, 1] * 6).predict(graphs).shape == (12,)


@pytest.fixture
def counted(monkeypatch):
    """Count the calls that compute TTW distances, by their shapes."""
    calls = []

    def write_pairs(X, Y, out, n_jobs, progress):
        calls.append((len(X), None if Y is None else len(Y)))
        entry.distance.write_pairs(X, Y, out, n_jobs, progress)

    entry = tt.TTWKernel.entry
    counting = replace(entry, distance=replace(entry.distance, write_pairs=write_pairs))
    monkeypatch.setattr(tt.TTWKernel, "entry", counting)
    return calls


def test_a_grid_search_computes_distances_once_for_each_fold(counted):
    """Nine settings of gamma and C on four folds need four training and four test computations."""
    graphs, y = data(40)
    search = GridSearchCV(
        make_pipeline(tt.TTWKernel(), SVC(kernel="precomputed")),
        {"ttwkernel__gamma": [0.1, 1.0, "median"], "svc__C": [0.1, 1.0, 10.0]},
        cv=4,
        refit=False,
    )
    search.fit(graphs, y)
    assert sorted(counted, key=str) == sorted([(30, None)] * 4 + [(10, 30)] * 4, key=str)


@pytest.fixture
def of_two_scales():
    """Return graphs of genus 17 to 22, half of them ten thousand times as large."""
    small = [tt.datasets.line_plus_random(30, 17 + seed, seed=seed) for seed in range(6)]
    return [*small, *(graph.replace(length=1e4 * graph.length) for graph in small)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pairs_that_underflow_are_spared_and_no_bit_changes(of_two_scales, n_jobs, monkeypatch):
    """Where the traces tell that a kernel value is 0 no eigenvalues are found; the matrix is the same."""
    train, new = of_two_scales[1:], of_two_scales[::3]
    full = squared_graph_distances(train, None, "ttw")
    across = squared_graph_distances(new, train, "ttw")
    gamma = 20.0 / np.median(full[:5, :5])
    tt.distance_cache.clear()
    n_found = []

    def counted_norms(gram):
        n_found.append(len(gram))
        return gram_norms(gram)

    gram_norms = _ttw.gram_norms
    monkeypatch.setattr(_ttw, "gram_norms", counted_norms)
    for psd in (None, "clip"):
        tt.distance_cache.clear()
        n_found.clear()
        kernel = tt.TTWKernel(gamma=gamma, psd=psd, n_jobs=n_jobs)
        K = kernel.fit_transform(train)
        assert 0 < sum(n_found) < 55
        cross = kernel.transform(new)
        if psd is None:
            assert np.array_equal(K, np.exp(-gamma * full))
            assert np.array_equal(cross, np.exp(-gamma * across))
    assert (K == 0).any()


def test_spared_pairs_are_not_mistaken_for_distances(of_two_scales, counted):
    """A kernel with a smaller gamma, or the median rule, computes what a larger one left out, once."""
    graphs = of_two_scales
    full = squared_graph_distances(graphs, None, "ttw")
    tt.distance_cache.clear()
    counted.clear()
    for gamma in (1e3, 1e4, 1e-9, 1e-6, 1.0):
        assert np.array_equal(tt.TTWKernel(gamma=gamma).fit_transform(graphs), np.exp(-gamma * full))
    assert len(counted) == 2
    assert np.array_equal(squared_graph_distances(graphs, None, "ttw"), full)
    assert len(counted) == 2


def indefinite(n=60):
    """Return small graphs on which the Wasserstein kernel is not positive definite."""
    rng = np.random.default_rng(1)
    return [tt.MetricGraph([0, 0, 0], [1, 1, 1], rng.uniform(0.001, 1.0, 3) ** 3) for _ in range(n)]


@pytest.mark.parametrize("psd", ["clip", "flip", "shift"])
def test_repairs_remove_negative_eigenvalues_also_out_of_sample(psd):
    """A training graph is transformed to its row of the repaired matrix, which is positive semi-definite."""
    graphs = indefinite()
    raw = tt.TTWKernel(gamma=0.3).fit_transform(graphs)
    assert tt.definiteness(raw, tolerance=1e-9).n_negative > 0
    kernel = tt.TTWKernel(gamma=0.3, psd=psd)
    K = kernel.fit_transform([*graphs, graphs[0]])
    assert tt.definiteness(K, tolerance=1e-9).is_psd
    assert np.allclose(K, K.T, atol=1e-12)
    assert np.allclose(kernel.transform([*graphs, graphs[0]]), K, atol=1e-8)
    finer = [graph.subdivide(7, seed=i) for i, graph in enumerate(graphs)]
    assert np.allclose(kernel.transform(finer), K[:-1], atol=1e-6)
    values = np.linalg.eigvalsh(tt.TTWKernel(gamma=0.3).fit_transform([*graphs, graphs[0]]))
    if psd == "shift":
        assert K[1, 1] == pytest.approx(1.0 - values[0])
        assert K[1, 2] == pytest.approx(tt.TTWKernel(gamma=0.3).fit_transform(graphs)[1, 2])
    else:
        expected = {"clip": np.maximum(values, 0), "flip": np.sort(np.abs(values))}[psd]
        assert np.allclose(np.linalg.eigvalsh(K), expected, atol=1e-9)


def test_bad_parameters_are_named():
    """Values of gamma and psd that cannot be are refused when fitting."""
    graphs, _ = data(4)
    for gamma in (0.0, -1.0, np.nan, "mean"):
        with pytest.raises(tt.InvalidOptionError, match="gamma"):
            tt.TTWKernel(gamma=gamma).fit(graphs)
    with pytest.raises(tt.InvalidOptionError, match="'clip', 'flip', 'shift'"):
        tt.TTWKernel(psd="cut").fit(graphs)


def test_the_map_is_a_transformer():
    """TorelliMap gives what torelli_matrices gives."""
    graphs, _ = data(5)
    assert all(
        np.array_equal(a, b)
        for a, b in zip(
            tt.TorelliMap(max_genus=3, bridges="double").fit_transform(graphs),
            tt.torelli_matrices(graphs, max_genus=3, bridges="double"),
            strict=True,
        )
    )


@pytest.fixture
def undetermined(monkeypatch):
    """Return graphs whose symmetries are more than the budget allows to look for."""
    monkeypatch.setattr("torelli._numerics.ties.BUDGET", 1)
    complete = np.triu_indices(5, 1)
    return [tt.MetricGraph(*complete, np.full(10, x)) for x in (1.0, 2.0, 3.0)]


def test_ties_warn_once_for_a_kernel(undetermined):
    """One warning for a fit, not one for each graph or step."""
    with pytest.warns(tt.NonGenericWarning) as caught:
        tt.TTWKernel().fit(undetermined)
    assert len(caught) == 1


@every_kernel
def test_the_same_space_in_many_drawings_is_one_point(Kernel):
    """Refinements of one graph are at distance 0 and kernel value 1, also when gamma is learned from them."""
    G = tt.MetricGraph([0] * 5, [1] * 5, [1.1, 2.3, 3.7, 5.2, 7.9])
    other = tt.MetricGraph([0] * 4, [1] * 4, [2.1, 2.7, 4.4, 8.1])
    drawings = [G, *(G.subdivide(8, seed=seed) for seed in range(5))]
    assert np.array_equal(Kernel().fit_transform(drawings), np.ones((6, 6)))
    K = Kernel().fit_transform([*drawings, other])
    assert np.array_equal(K[:6, :6], np.ones((6, 6)))
    assert np.allclose(K[:6, 6], 0.5)


def test_the_cache_tells_options_apart():
    """Every option that changes distances changes them, whatever was computed before."""
    graphs, _ = data(10)
    settings = [
        {},
        {"model": "literal"},
        {"bridges": "double"},
        {"max_genus": 2},
        {"max_genus": 2, "seed": 1},
        {"max_genus": 2, "truncation": "leading"},
    ]
    makers = [(Kernel, options) for Kernel in MATRIX_KERNELS for options in settings]
    warm = [Kernel(gamma=0.1, **options).fit_transform(graphs) for Kernel, options in makers]
    for (Kernel, options), K in zip(makers, warm, strict=True):
        tt.distance_cache.clear()
        assert np.array_equal(Kernel(gamma=0.1, **options).fit_transform(graphs), K)
    assert len({K.tobytes() for K in warm}) == len(warm)


def test_training_scores_need_no_distances_anew(counted):
    """Scoring the training graphs as well costs no further computation."""
    graphs, y = data(40)
    pipeline = make_pipeline(tt.TTWKernel(), SVC(kernel="precomputed"))
    GridSearchCV(pipeline, {"svc__C": [1.0, 10.0]}, cv=4, refit=False, return_train_score=True).fit(graphs, y)
    assert len(counted) == 8


def test_transform_keeps_to_what_was_fitted():
    """Parameters changed after fitting do not change how new graphs are treated."""
    graphs, _ = data(8)
    kernel = tt.TTWKernel(gamma=0.1).fit(graphs)
    before = kernel.transform(graphs[:2])
    kernel.set_params(psd="clip")
    assert np.array_equal(kernel.transform(graphs[:2]), before)


def test_ties_of_training_graphs_are_not_told_again(undetermined):
    """Transforming a clean graph says nothing about the training graphs, which fitting spoke of."""
    kernel = tt.TTWKernel()
    with pytest.warns(tt.NonGenericWarning):
        kernel.fit(undetermined)
    assert kernel.transform([tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])]).shape == (1, 3)


def test_lengths_beyond_floats_are_an_error_not_nan():
    """Squares that overflow or vanish are named, with the unit as the remedy."""
    for scale, message in ((1e160, "overflow"), (1e-160, "vanish")):
        graphs = [tt.MetricGraph([0, 0], [1, 1], [scale, scale * x]) for x in (2.0, 3.0, 4.0)]
        with pytest.raises(tt.InvalidMatrixError, match=message):
            tt.TTEKernel().fit(graphs)


def test_kernels_of_cycles_warn_of_trees():
    """Fitting to trees warns at the caller's line, unless bridges count or some graphs have cycles."""
    trees = [tt.MetricGraph([0], [1], [float(n)]) for n in (1, 2, 3)]
    with pytest.warns(tt.DataWarning, match="all 3 graphs have no cycles") as caught:
        tt.TTSKernel().fit(trees)
    assert [one.filename for one in caught] == [__file__]
    tt.TTSKernel(bridges="double").fit(trees)
    tt.TTMKernel().fit(trees)
    loops = [tt.MetricGraph([0], [0], [float(n)]) for n in (1, 2, 3)]
    tt.TTSKernel().fit([*trees, *loops])
