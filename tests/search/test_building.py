"""Collections of the different matrices and vectors of graphs."""

from __future__ import annotations

import numpy as np

import torelli as tt
from torelli import matrix
from torelli.distances import METRICS
from torelli.search._building import Groups, collection_of_matrices, collection_of_vectors


def test_equal_arrays_are_one_group():
    """Arrays that are equal bit for bit share a group, also across calls."""
    groups = Groups()
    assert groups.add([np.zeros(2), np.ones(2), np.zeros(2)]) == [0, 1]
    assert groups.add([np.ones(2), np.full(2, 3.0)]) == [1]
    assert groups.array().tolist() == [0, 1, 0, 1, 2]


def test_parts_do_not_matter(monkeypatch):
    """Matrices that are made part by part are those that are made at once."""
    rings = [tt.MetricGraph([0] * n, [0] * n, np.arange(1.0, n + 1)) for n in (1, 3, 2, 3, 5, 1)]
    whole, group = collection_of_matrices(METRICS["ttw"], tt.TorelliMap(), rings, n_jobs=None, verbose=False)
    shown = []
    monkeypatch.setattr(matrix, "ENTRIES_AT_ONCE", 8)
    parts, same = collection_of_matrices(
        METRICS["ttw"], tt.TorelliMap(), rings, n_jobs=None, verbose=shown.append
    )
    assert group.tolist() == same.tolist() == [0, 1, 2, 1, 3, 0]
    assert whole.entries.tolist() == parts.entries.tolist()
    assert len(shown) > 1
    assert shown[-1] == 1.0


def test_different_vectors_are_not_copied():
    """Rows without repeats are used as they are."""
    X = np.arange(6.0).reshape(3, 2)
    assert collection_of_vectors(X)[0].vectors is X
    collection, group = collection_of_vectors(X[[0, 1, 0]])
    assert collection.vectors.tolist() == X[:2].tolist()
    assert group.tolist() == [0, 1, 0]
