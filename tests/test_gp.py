"""Gaussian processes on graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import torelli as tt
from test_kernels import data


def test_a_gaussian_process_learns_a_function_of_the_cycles():
    """With optimised gamma the process predicts the trace of Q on new graphs."""
    graphs, _ = data(60)
    y = np.array([np.trace(Q) for Q in tt.torelli_matrices(graphs)])
    y = (y - y.mean()) / y.std()
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * tt.GraphRBF(
        "tts", gamma=0.1, gamma_bounds=(1e-6, 10)
    ) + WhiteKernel(1e-3, "fixed")
    model = GaussianProcessRegressor(kernel, random_state=0).fit(graphs[:40], y[:40])
    assert model.score(graphs[40:], y[40:]) > 0.8
    assert model.kernel_.k1.k2.gamma != 0.1


@pytest.mark.parametrize("metric", list(tt.KERNELS))
def test_values_and_gradient(metric):
    """K is the kernel matrix of the estimator, and its derivative by log gamma a difference quotient."""
    graphs, _ = data(6)
    kernel = tt.GraphRBF(metric, gamma=0.2, training=graphs)
    K, gradient = kernel(graphs, eval_gradient=True)
    assert np.array_equal(K, tt.KERNELS[metric](gamma=0.2).fit_transform(graphs))
    step = 1e-5
    up, down = (kernel.clone_with_theta(kernel.theta + s)(graphs) for s in (step, -step))
    assert np.allclose(gradient[:, :, 0], (up - down) / (2 * step), atol=1e-8)
    assert np.allclose(kernel(graphs[:2], graphs), K[:2], rtol=1e-9)
    assert kernel.diag(graphs).tolist() == [1.0] * 6


def test_doubled_bridges():
    """The process sees bridges where it is told to."""
    trees = [tt.MetricGraph([0], [1], [length]) for length in (1.0, 4.0)]
    with pytest.warns(tt.DataWarning, match="no cycles"):
        assert tt.GraphRBF("tts", gamma=1.0)(trees)[0, 1] == 1.0
    K = tt.GraphRBF("tts", gamma=1.0, bridges="double")(trees)
    assert K[0, 1] == pytest.approx(np.exp(-((np.sqrt(8) - np.sqrt(2)) ** 2)))


def test_sums_and_products():
    """Kernels over metrics are added and multiplied like any other."""
    graphs, _ = data(5)
    a, b = tt.GraphRBF("tts", gamma=0.1), tt.GraphRBF("tte", gamma=0.2)
    assert np.allclose((a + b)(graphs), a(graphs) + b(graphs))
    assert np.allclose((a * b)(graphs), a(graphs) * b(graphs))
    assert not (a + b).requires_vector_input
    assert clone(a) == a
    assert len((a * b).theta) == 2
    fixed = tt.GraphRBF("tts", gamma=0.1, gamma_bounds="fixed")
    assert fixed(graphs, eval_gradient=True)[1].shape == (5, 5, 0)


def test_gamma_from_the_data():
    """The median rule finds a scale from which a classifier learns; a gamma that is far off warns."""
    data = tt.datasets.street_patterns(12, seed=0)
    kernel = tt.GraphRBF.median(data.graphs, "tts")
    assert np.median(kernel(data.graphs)) == pytest.approx(0.5, abs=0.05)
    assert kernel.gamma_bounds == pytest.approx((kernel.gamma / 1e3, kernel.gamma * 1e3))
    assert tt.GraphRBF.median(data.graphs, "tte", gamma_bounds="fixed").gamma_bounds == "fixed"
    with pytest.warns(tt.ScaleWarning, match="GraphRBF.median"):
        tt.GraphRBF("tts", gamma=1e6)(data.graphs)


def test_a_kernel_is_named_by_its_metric():
    """What other functions call kernel is called metric here, and the error says so."""
    rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    with pytest.raises(tt.InvalidOptionError, match="no parameter 'kernel': give metric='ttm'"):
        tt.GraphRBF.median(rings, kernel="ttm")
    with pytest.raises(tt.InvalidOptionError, match="no parameter 'kernel': give metric='tte'"):
        tt.GraphRBF(kernel="tte")(rings)


def test_gradients_are_of_one_list():
    """As in scikit-learn, a gradient between two lists is an error."""
    graphs, _ = data(3)
    with pytest.raises(ValueError, match="when Y is None"):
        tt.GraphRBF()(graphs, graphs, eval_gradient=True)


def test_an_array_that_numpy_made_of_networkx_graphs_is_recognised():
    """The error names the conversion, not a single graph."""
    with pytest.raises(tt.InvalidGraphError, match="as_metric_graphs first"):
        tt.GraphRBF()(np.empty((3, 4), dtype=object))


def test_the_length_of_other_libraries_has_the_name_that_is_given():
    """`length` names the attribute, in calls and for the scale of the data, and survives a clone."""
    graphs = [nx.cycle_graph(3 + n) for n in range(4)]
    for graph in graphs:
        nx.set_edge_attributes(graph, 2.0, "metres")
    expected = tt.GraphRBF.median([tt.as_metric_graph(graph, "metres") for graph in graphs])
    kernel = clone(tt.GraphRBF.median(graphs, length="metres"))
    assert kernel.get_params()["length"] == "metres"
    assert kernel.gamma == expected.gamma
    converted = [tt.as_metric_graph(graph, "metres") for graph in graphs]
    assert np.array_equal(kernel(graphs), expected(converted))
    assert np.array_equal(kernel(graphs, graphs[:2]), expected(converted, converted[:2]))
