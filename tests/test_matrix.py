"""The Torelli matrix: fidelity to the paper, truncation, reproducibility."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import metric_graphs
from test_model import ties_allowed

# the graph of the paper's Figure 5: nodes A..F = 0..5, edge e_i has length i
PAPER_EXAMPLE = tt.MetricGraph([0, 1, 0, 2, 4, 3, 3, 1], [1, 2, 2, 4, 5, 4, 5, 3], range(1, 9))


def test_the_example_of_the_paper():
    """Appendix A.4: cycles {1,2,3}, {5,6,7}, {2,4,6,8} with lengths 1 to 8."""
    assert tt.torelli_matrix(PAPER_EXAMPLE, "literal").tolist() == [[6, 0, 2], [0, 18, 6], [2, 6, 20]]


@settings(max_examples=300)
@given(metric_graphs())
def test_the_literal_model_is_algorithm_1(graph):
    """The fast literal model agrees with a plain re-implementation of the paper's Algorithm 1."""
    expected, _ = reference.literal(graph)
    with ties_allowed():
        Q = tt.torelli_matrix(graph, "literal")
    assert Q.shape == expected.shape
    assert np.allclose(Q, expected, rtol=1e-12, atol=1e-12)


@given(metric_graphs(), st.sampled_from(["canonical", "literal"]))
def test_the_matrix_is_symmetric_and_positive_definite(graph, model):
    """Q is exactly symmetric, its diagonal holds cycle lengths, its eigenvalues are positive."""
    with ties_allowed():
        Q = tt.torelli_matrix(graph, model)
    assert Q.shape == (graph.genus, graph.genus)
    assert np.array_equal(Q, Q.T)
    if graph.genus:
        assert np.linalg.eigvalsh(Q)[0] >= graph.length.min() * (1 - 1e-9)
        assert Q.diagonal().max() <= graph.total_length * (1 + 1e-12)


def test_trees_have_the_empty_matrix():
    """Genus 0 is valid everywhere."""
    for graph in (
        tt.MetricGraph([0, 1], [1, 2], [1.0, 2.0]),
        tt.MetricGraph([], [], [], 0),
        tt.MetricGraph([], [], [], 4),
    ):
        for model in ("canonical", "literal"):
            assert tt.torelli_matrix(graph, model).shape == (0, 0)
            assert tt.torelli_matrix(graph, model, max_genus=3).shape == (0, 0)


def test_known_matrices():
    """Loops are diagonal, a theta has its shared strand off the diagonal, K4 its faces."""
    assert tt.torelli_matrix(tt.MetricGraph([0, 0], [0, 0], [2.0, 1.0])).tolist() == [[1, 0], [0, 2]]
    assert tt.torelli_matrix(tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 5.0, 3.0])).tolist() == [
        [4, 1],
        [1, 6],
    ]
    K4 = tt.MetricGraph([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3], [1, 2, 4, 8, 16, 32])
    assert tt.torelli_matrix(K4).tolist() == [[11, 1, 2], [1, 21, -4], [2, -4, 38]]


def _random_graph(seed, n=60, m=120):
    rng = np.random.default_rng(seed)
    return tt.MetricGraph(rng.integers(n, size=m), rng.integers(n, size=m), rng.uniform(0.1, 1.0, size=m), n)


@pytest.mark.parametrize("model", ["canonical", "literal"])
@pytest.mark.parametrize("truncation", ["random", "leading", "greedy"])
def test_truncation_takes_a_principal_submatrix(model, truncation):
    """The kept rows are rows of the full matrix, in order; canonical signs are fixed within them."""
    G = _random_graph(0)
    full = tt.torelli_matrix(G, model)
    part = tt.torelli_matrix(G, model, max_genus=20, truncation=truncation, seed=5)
    rows = [int(np.flatnonzero(np.isclose(full.diagonal(), x, rtol=1e-14))[0]) for x in part.diagonal()]
    assert rows == sorted(set(rows))
    assert len(rows) == 20
    expected = full[np.ix_(rows, rows)]
    if model == "canonical" and truncation != "greedy":
        assert np.allclose(np.abs(part), np.abs(expected), rtol=1e-12, atol=1e-12)
        assert np.allclose(np.linalg.eigvalsh(part), np.linalg.eigvalsh(expected), rtol=1e-10)
    else:
        assert np.allclose(part, expected, rtol=1e-12, atol=1e-12)
    assert np.array_equal(tt.torelli_matrix(G, model, max_genus=10**6, truncation=truncation), full)


def test_random_rows_depend_on_seed_and_genus_alone():
    """Two graphs of one genus keep the same rows; another seed keeps others."""
    from torelli.matrix import choose_rows

    assert np.array_equal(choose_rows(100, 10, "random", 7), choose_rows(100, 10, "random", 7))
    assert not np.array_equal(choose_rows(100, 10, "random", 7), choose_rows(100, 10, "random", 8))
    assert not np.array_equal(choose_rows(100, 10, "random", 7), choose_rows(101, 10, "random", 7))
    assert set(choose_rows(100, 10, "random", 7)) <= set(choose_rows(100, 20, "random", 7))
    # fixed for good: a stored result must be found again by any later version
    assert choose_rows(10, 4, "random", 0).tolist() == [1, 2, 6, 8]
    counts = np.bincount(
        np.concatenate([choose_rows(20, 5, "random", seed) for seed in range(2000)]), minlength=20
    )
    assert np.all(np.abs(counts - 500) < 120)


def test_refinement_keeps_the_random_rows():
    """A truncated matrix is as invariant as the full one."""
    G = _random_graph(1)
    H = G.subdivide(200, seed=3)
    assert np.allclose(
        tt.torelli_matrix(G, max_genus=15, seed=2), tt.torelli_matrix(H, max_genus=15, seed=2), rtol=1e-9
    )


def test_greedy_beats_random_in_frobenius_norm():
    """The greedy rows hold more of the matrix than random ones and than the shortest chords."""
    G = _random_graph(2)
    norm = {
        rule: np.linalg.norm(tt.torelli_matrix(G, max_genus=15, truncation=rule))
        for rule in ("greedy", "random", "leading")
    }
    assert norm["greedy"] > max(norm["random"], norm["leading"])


def test_a_list_gives_each_graph_its_own_matrix_in_order():
    """Row i belongs to input i, whatever the mix, and for every number of threads bit for bit."""
    graphs = [_random_graph(seed, n=5 + 11 * seed % 97, m=7 * seed % 301) for seed in range(150)]
    together = tt.torelli_matrices(graphs)
    for n_jobs in (2, -1):
        again = tt.torelli_matrices(graphs, n_jobs=n_jobs)
        assert all(np.array_equal(a, b) for a, b in zip(together, again, strict=True))
    alone = [tt.torelli_matrix(graph) for graph in graphs]
    assert all(np.array_equal(a, b) for a, b in zip(together, alone, strict=True))


_SCRIPT = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, torelli as tt
from test_matrix import _random_graph
graphs = [_random_graph(seed) for seed in range(12)]
state = hashlib.sha256()
for Q in tt.torelli_matrices(graphs, max_genus=30, seed=1): state.update(Q.tobytes())
Qs = tt.torelli_matrices(graphs, max_genus=25)
for metric in tt.METRICS:
    state.update(tt.pairwise_distances(Qs, metric=metric, n_jobs=int(sys.argv[2])).tobytes())
print(state.hexdigest())
"""


def test_every_process_gives_the_same_bits(request):
    """Matrices and distances agree bit for bit between processes, hash seeds and numbers of threads."""
    here = str(request.path.parent)
    digests = {
        subprocess.run(  # noqa: S603  (our own script)
            [sys.executable, "-c", _SCRIPT, here, n_jobs],
            env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n_jobs, hash_seed in (("1", "1"), ("2", "2"))
    }
    assert len(digests) == 1


def test_a_long_path_is_no_deep_recursion():
    """A ring of a hundred thousand edges is one cycle."""
    n = 100_000
    ring = tt.MetricGraph(np.arange(n), (np.arange(n) + 1) % n, np.full(n, 0.5))
    for model in ("canonical", "literal"):
        with ties_allowed():
            assert tt.torelli_matrix(ring, model) == pytest.approx(np.array([[n / 2]]))


@pytest.mark.parametrize("truncation", ["random", "leading", "greedy"])
def test_truncation_with_doubled_bridges(truncation):
    """Rows are chosen among cycles and bridges together; the result is a principal submatrix."""
    rng = np.random.default_rng(0)
    cycles, leaves = 12, 9
    graph = tt.MetricGraph(
        [0] * (cycles + 1 + leaves),
        [1] * (cycles + 1) + list(range(2, 2 + leaves)),
        rng.uniform(1.0, 10.0, cycles + 1 + leaves),
    )
    full = tt.torelli_matrix(graph, bridges="double")
    assert full.shape == (cycles + leaves, cycles + leaves)
    part = tt.torelli_matrix(graph, bridges="double", max_genus=15, truncation=truncation, seed=5)
    kept = [int(np.argmin(np.abs(np.diag(full) - value))) for value in np.diag(part)]
    assert len(set(kept)) == 15
    assert np.array_equal(part, full[np.ix_(kept, kept)])
    if truncation == "leading":
        assert kept == list(range(15))


def test_bridges_are_doubled_in_the_canonical_model_only():
    """The paper's model has no bridges, and an option that is not one is named with those that are."""
    tree = tt.MetricGraph([0], [1], [1.0])
    with pytest.raises(tt.InvalidOptionError, match="use model='canonical', or bridges='ignore'"):
        tt.torelli_matrix(tree, "literal", bridges="double")
    with pytest.raises(tt.InvalidOptionError, match="'ignore', 'double'"):
        tt.torelli_matrix(tree, bridges="keep")


def test_doubled_bridges_in_threads():
    """Many graphs in two threads give the same matrices as one by one."""
    rng = np.random.default_rng(1)
    graphs = [
        tt.MetricGraph(np.arange(1, n), rng.integers(0, np.arange(1, n)), rng.uniform(1, 2, n - 1))
        for n in rng.integers(50, 3000, 30)
    ]
    together = tt.torelli_matrices(graphs, bridges="double", max_genus=40, n_jobs=2)
    for graph, Q in zip(graphs, together, strict=True):
        assert np.array_equal(tt.torelli_matrix(graph, bridges="double", max_genus=40), Q)
