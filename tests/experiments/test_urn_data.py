"""Sets, kernels and models of the street experiment."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli import DataNotFoundError
from torelli.datasets.storage import shared_data
from torelli.experiments import _urn_data
from torelli.experiments._urn_data import LINES, OURS, Method, StreetSet


@pytest.fixture(scope="module")
def data():
    """Return windows of four patterns as a set."""
    patterns = tt.datasets.street_patterns(3, radius=150, seed=0)
    return StreetSet(patterns.graphs, np.asarray(patterns.y), None, 300.0**2)


@pytest.mark.parametrize("method", [*OURS, *LINES])
def test_every_method_is_a_kernel_on_the_graphs(data, method):
    """Values are between 0 and 1, symmetric, with 1 on the diagonal, for each multiple of the median rule."""
    definition = {**OURS, **LINES}[method]
    family, _ = _urn_data.family_of(definition, data, n_jobs=1)
    assert len(family) == len(_urn_data.FACTORS) * max(1, len(definition.measure))
    rows = np.arange(12)
    kernels = [family.kernel(i, rows, rows) for i in range(len(family))]
    for K in kernels:
        np.testing.assert_allclose(K, K.T, rtol=1e-12)
        assert np.allclose(K.diagonal(), 1.0)
        assert K.min() >= 0.0
    # a larger factor is a larger gamma, which brings every value down
    assert (kernels[0] >= kernels[1]).all()
    assert (kernels[1] >= kernels[2]).all()


def test_the_kernel_of_one_metric_is_that_of_the_estimator(data):
    """With the factor 1 the kernel is the one that a user gets by the median rule."""
    family, _ = _urn_data.family_of(Method((("tts", "double"),)), data)
    rows = np.arange(12)
    expected = tt.TTSKernel(bridges="double").fit_transform(data.graphs)
    np.testing.assert_allclose(family.kernel(_urn_data.FACTORS.index(1.0), rows, rows), expected, rtol=1e-9)


def test_street_statistics_are_those_of_the_area_of_a_window(data):
    """Densities are by the area that the set states, and the genus alone is one column."""
    table = _urn_data._table("street", data)
    expected = tt.StreetStatistics(area=data.area).fit_transform(data.graphs)
    np.testing.assert_array_equal(table, expected)
    assert _urn_data._table("genus", data).ravel().tolist() == [graph.genus for graph in data.graphs]


def test_a_quick_set_is_a_part_of_the_whole_in_its_order():
    """The seed decides which networks are kept; labels stay with them."""
    try:
        shared_data("urn", "city120", "index.csv")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_urn_data, "_QUICK", 5)
        whole, part, other = (
            _urn_data.load("city120", quick=quick, seed=seed)
            for quick, seed in ((False, 0), (True, 0), (True, 1))
        )
    place = [whole.graphs.index(graph) for graph in part.graphs]
    assert len(place) == 5
    assert place == sorted(place)
    assert part.y.tolist() == whole.y[place].tolist()
    assert part.graphs != other.graphs
    assert (whole.groups, part.groups, part.area) == (None, None, 1e6)
