"""Representations of graphs, and squared distances between them."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.datasets import line_plus_random
from torelli.representation import Representation, distances_by_training, squared_graph_distances


@pytest.fixture(scope="module")
def graphs():
    return [line_plus_random(12, 3 + seed % 4, seed=seed) for seed in range(10)]


class CountedVectors:
    """A transformer to the genus of each graph that counts its calls."""

    def __init__(self, *, factor: float = 1.0) -> None:
        self.factor = factor
        self.calls: list[tuple[str, int]] = []

    def fit(self, X):
        """Learn nothing."""
        self.calls.append(("fit", len(X)))
        return self

    def transform(self, X):
        """Return the genus of each graph, times the factor."""
        self.calls.append(("transform", len(X)))
        return self.factor * np.array([[graph.genus] for graph in X], dtype=float)

    def fit_transform(self, X):
        """Return the vectors of the training graphs."""
        return self.fit(X).transform(X)


def test_an_entry_completes_options_and_refuses_others():
    """Options are those of the representation; an unknown one is an error with the known ones."""
    entry = tt.KERNELS["ttw"].entry
    assert entry.options({"max_genus": 3}) == entry.defaults | {"max_genus": 3}
    assert "n_jobs" not in entry.defaults
    with pytest.raises(
        tt.InvalidOptionError, match="option of the kernel 'ttw': 'depth': use one of 'model'"
    ):
        entry.options({"depth": 2})


def test_a_representation_is_computed_when_it_is_needed_and_kept(graphs):
    """The training graphs are represented once; others are transformed by the fitted transformer."""
    entry = tt.KernelEntry("counted", "counted", "counted", CountedVectors, learns=True)
    represent = Representation(entry, graphs, {"factor": 2.0})
    calls = represent.transformer.calls
    assert calls == []
    assert represent(graphs[:3]).tolist() == [[2.0 * graph.genus] for graph in graphs[:3]]
    assert calls == [("fit", 10), ("transform", 3)]
    calls.clear()
    assert represent(graphs) is represent(graphs)
    assert calls == [("fit", 10), ("transform", 10)]


@pytest.mark.parametrize("kernel", ["ttm", "ttw", "tte", "tts"])
def test_the_same_space_drawn_in_another_way_is_at_distance_zero(graphs, kernel):
    """Rounding of subdivided lengths gives no distance; distances do not depend on the order of a pair."""
    finer = [graph.subdivide(5, seed=i) for i, graph in enumerate(graphs)]
    across = squared_graph_distances(finer, graphs, kernel)
    assert (across.diagonal() == 0.0).all()
    np.testing.assert_allclose(across, squared_graph_distances(graphs, None, kernel), rtol=1e-6)


@pytest.mark.parametrize(("kernel", "learns"), [("ttm", True), ("ttw", False), ("tts", False)])
def test_only_kernels_that_learn_depend_on_the_training_graphs(graphs, kernel, learns):
    """Distances by a kernel that learns its representation change with the training graphs."""
    distances = distances_by_training(graphs, kernel)
    one, two = distances(np.arange(5)), distances(np.arange(5, 10))
    assert np.array_equal(one, two) != learns
    training = [graphs[i] for i in range(5)] if learns else None
    assert np.array_equal(one, squared_graph_distances(graphs, None, kernel, training=training))
