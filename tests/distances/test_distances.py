"""Every metric of the registry passes the same checks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import torelli as tt
from strategies import random_psd

METRICS = sorted(tt.METRICS)
pytestmark = pytest.mark.parametrize("metric", METRICS)


def exact(Qs, metric):
    """Return all pairs by the padded formula in high precision."""
    D = np.zeros((len(Qs), len(Qs)))
    for i in range(len(Qs)):
        for j in range(i):
            D[i, j] = D[j, i] = reference.distance(Qs[i], Qs[j], metric)
    return D


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=2, max_size=4),
    seed=st.integers(0, 2**32 - 1),
    low_rank=st.booleans(),
)
def test_agrees_with_the_padded_formula(metric, sizes, seed, low_rank):
    """Small matrices of mixed sizes and ranks agree with 40-digit arithmetic to 1e-9."""
    rng = np.random.default_rng(seed)
    Qs = [random_psd(rng, size, rng.integers(0, size) if low_rank and size else None) for size in sizes]
    D = tt.pairwise_distances(Qs, metric=metric)
    assert np.allclose(
        D,
        exact(Qs, metric),
        rtol=1e-9,
        atol=1e-9 * np.sqrt(max((np.trace(Q) for Q in Qs), default=0)) * low_rank,
    )


def test_agrees_with_the_padded_formula_at_larger_sizes(metric):
    """So do the sizes on both sides of the switch between compiled code and LAPACK."""
    rng = np.random.default_rng(0)
    Qs = [random_psd(rng, size) for size in (0, 1, 2, 3, 15, 16, 17, 24)]
    assert np.allclose(tt.pairwise_distances(Qs, metric=metric), exact(Qs, metric), rtol=1e-9, atol=0)


def test_agrees_with_the_padded_formula_for_torelli_matrices(metric):
    """So do matrices as graphs give them."""
    rng = np.random.default_rng(1)
    graphs = [
        tt.MetricGraph(rng.integers(9, size=m), rng.integers(9, size=m), rng.uniform(0, 1, m), 9)
        for m in (4, 12, 20, 28)
    ]
    Qs = tt.torelli_matrices(graphs)
    assert np.allclose(tt.pairwise_distances(Qs, metric=metric), exact(Qs, metric), rtol=1e-9, atol=0)


@pytest.mark.parametrize("size", [1, 2, 5, 12, 20])
def test_nearly_equal_matrices(metric, size):
    """A relative perturbation of 1e-9 gives a distance that is right to one per cent, not 0 and not noise."""
    rng = np.random.default_rng(size)
    Q = random_psd(rng, size)
    E = rng.standard_normal((size, size))
    near = Q + 1e-9 * np.abs(Q).max() * (E + E.T) / 2
    expected = reference.distance(Q, near, metric)
    assert 0 < expected < 1e-6 * np.sqrt(np.abs(Q).max()) + 1e-6 * np.abs(Q).max()
    for pair in ((Q, near), (near, Q)):
        assert tt.distance(*pair, metric=metric) == pytest.approx(expected, rel=0.01)
        assert tt.pairwise_distances([Q, near, np.eye(3)], metric=metric)[0, 1] == pytest.approx(
            expected, rel=0.01
        )


def test_nearly_equal_up_to_a_small_extra_cycle(metric):
    """A matrix and itself with a tiny extra row are as far apart as the row says."""
    rng = np.random.default_rng(3)
    Q = random_psd(rng, 6)
    larger = np.zeros((7, 7))
    larger[:6, :6], larger[6, 6] = Q, 1e-8
    assert tt.distance(Q, larger, metric) == pytest.approx(reference.distance(Q, larger, metric), rel=1e-6)


@pytest.mark.parametrize(("size", "rank"), [(3, 1), (9, 3), (16, 5), (18, 7), (30, 4)])
def test_rank_deficient_matrices(metric, size, rank):
    """Exactly singular matrices, also 0 itself, agree to 1e-9 with high precision."""
    rng = np.random.default_rng(size)
    Qs = [
        random_psd(rng, size, rank),
        random_psd(rng, size, max(1, rank // 2)),
        np.zeros((2, 2)),
        random_psd(rng, min(size, 12)),
    ]
    assert np.allclose(tt.pairwise_distances(Qs, metric=metric), exact(Qs, metric), rtol=1e-9, atol=0)


def test_empty_matrices(metric):
    """Trees are at distance 0 from each other and at the norm of Q from Q."""
    Q = np.array([[2.0, 1.0], [1.0, 3.0]])
    D = tt.pairwise_distances([np.zeros((0, 0)), Q, np.zeros((0, 0)), np.zeros((4, 4))], metric=metric)
    norm = np.linalg.norm(Q) if metric == "tte" else np.sqrt(np.trace(Q))
    assert D[0, 2] == D[0, 3] == 0.0
    assert D[0, 1] == pytest.approx(norm)
    assert tt.pairwise_distances([np.zeros((0, 0))], metric=metric).tolist() == [[0.0]]


def test_a_mix_of_genera_up_to_300(metric):
    """Zero diagonal and symmetry are exact, the triangle inequality holds, nothing is NaN."""
    rng = np.random.default_rng(4)
    Qs = [random_psd(rng, int(size)) for size in [*rng.integers(1, 301, size=24), 0, 1, 300]]
    Qs[3] = Qs[7].copy()
    Qs[5] = np.pad(Qs[9], (0, 2))
    D = tt.pairwise_distances(Qs, metric=metric)
    assert np.all(np.isfinite(D))
    assert np.array_equal(D, D.T)
    assert np.all(D.diagonal() == 0.0)
    assert D[3, 7] == 0.0
    assert D[5, 9] <= 1e-6 * D.max()
    assert np.all(D[:, :, None] <= (D[:, None, :] + D[None, :, :].transpose(0, 2, 1)) * (1 + 1e-12) + 1e-9)
    for rows in (slice(0, 9), slice(9, None)):
        assert np.allclose(
            tt.pairwise_distances(Qs[rows], Qs, metric=metric), D[rows], rtol=1e-9, atol=1e-9 * D.max()
        )
    assert np.allclose(tt.pairwise_distances(Qs, metric=metric, squared=True), D**2, rtol=1e-12)


def test_large_matrices_agree_with_a_direct_computation(metric):
    """At genus 150 the numbers agree with numpy's square root formula to what that formula can give."""
    rng = np.random.default_rng(8)
    A, B = random_psd(rng, 150), random_psd(rng, 120)
    P = np.pad(B, (0, 30))
    if metric == "tte":
        expected = np.linalg.norm(A - P)
    elif metric == "tts":
        root = [np.sqrt(np.maximum(np.linalg.eigvalsh(Q), 0)) for Q in (A, P)]
        expected = np.linalg.norm(root[0] - root[1])
    else:
        w, v = np.linalg.eigh(A)
        half = (v * np.sqrt(w)) @ v.T
        middle = np.sqrt(np.maximum(np.linalg.eigvalsh(half @ P @ half), 0)).sum()
        expected = np.sqrt(np.trace(A) + np.trace(P) - 2 * middle)
    assert tt.distance(A, B, metric) == pytest.approx(expected, rel=1e-6)


def test_identical_matrices_are_at_exactly_zero(metric):
    """Also when they come in two lists, and one pair at a time."""
    rng = np.random.default_rng(5)
    for size in (1, 4, 40):
        Q = random_psd(rng, size)
        assert tt.distance(Q, Q.copy(), metric) == 0.0
        assert tt.pairwise_distances([Q, np.eye(2)], [np.eye(3), Q.copy()], metric=metric)[0, 1] == 0.0


def test_a_pair_has_one_distance_whichever_comes_first(metric):
    """d(a, b) and d(b, a) are the same bits."""
    rng = np.random.default_rng(6)
    for sizes in ((5, 5), (3, 8), (20, 20), (17, 40)):
        A, B = (random_psd(rng, size) for size in sizes)
        assert tt.distance(A, B, metric) == tt.distance(B, A, metric)


def test_threads_do_not_change_a_bit(metric):
    """The result is the same for every n_jobs."""
    rng = np.random.default_rng(7)
    Qs = [random_psd(rng, int(size)) for size in rng.integers(0, 60, size=150)]
    one = tt.pairwise_distances(Qs, metric=metric, n_jobs=1)
    for n_jobs in (None, 2, 3, -1):
        assert np.array_equal(one, tt.pairwise_distances(Qs, metric=metric, n_jobs=n_jobs))


def test_scaling_and_positions(metric):
    """d(cA, cB) scales as the metric says, and permuting the list permutes the matrix."""
    rng = np.random.default_rng(9)
    Qs = [random_psd(rng, int(size)) for size in rng.integers(1, 30, size=12)]
    D = tt.pairwise_distances(Qs, metric=metric)
    power = 1.0 if metric == "tte" else 0.5
    assert np.allclose(
        tt.pairwise_distances([1e12 * Q for Q in Qs], metric=metric), D * 1e12**power, rtol=1e-8
    )
    assert np.allclose(
        tt.pairwise_distances([1e-12 * Q for Q in Qs], metric=metric), D * 1e-12**power, rtol=1e-8
    )
    order = rng.permutation(len(Qs))
    assert np.allclose(
        tt.pairwise_distances([Qs[i] for i in order], metric=metric), D[np.ix_(order, order)], rtol=1e-9
    )


def test_the_registry_says_what_is_positive_definite(metric):
    """RBF matrices of metrics that claim it have no negative eigenvalue, for small and large gamma."""
    rng = np.random.default_rng(10)
    Qs = [random_psd(rng, int(size)) for size in rng.integers(1, 6, size=60)]
    squared = tt.pairwise_distances(Qs, metric=metric, squared=True)
    smallest = min(tt.definiteness(np.exp(-gamma * squared)).smallest for gamma in (1e-3, 1e-2, 0.1, 1.0))
    if tt.METRICS[metric].positive_definite:
        assert smallest > -1e-12
    else:
        assert smallest < -1e-9


@pytest.mark.parametrize("exponent", [-250, -160, -100, -76, 76, 100, 150])
@pytest.mark.parametrize("size", [2, 10, 20])
def test_any_scale_within_the_range_of_floats(metric, size, exponent):
    """Distances of tiny and huge matrices are those of ordinary ones, scaled; also beside ordinary ones."""
    rng = np.random.default_rng(size)
    A, B = random_psd(rng, size), random_psd(rng, size)
    scale = 10.0**exponent
    power = 1.0 if metric == "tte" else 0.5
    expected = tt.distance(A, B, metric)
    near = pytest.approx(expected * scale**power, rel=1e-9, abs=0)
    assert tt.distance(A * scale, B * scale, metric) == near
    assert tt.pairwise_distances([A * scale, B * scale, np.eye(3)], metric=metric)[0, 1] == near


def test_known_values_at_genus_300(metric):
    """Matrices with common eigenvectors have distances in closed form, here at sizes 300 and 120."""
    rng = np.random.default_rng(300)
    V, W = (np.linalg.qr(rng.standard_normal((size, size)))[0] for size in (120, 180))
    a, b, c = rng.uniform(1, 9, 120), rng.uniform(1, 9, 120), rng.uniform(1, 9, 180)
    small = (V * b) @ V.T
    large = np.zeros((300, 300))
    large[:120, :120], large[120:, 120:] = (V * a) @ V.T, (W * c) @ W.T
    roots = np.sort(np.concatenate([a, c]))[::-1] ** 0.5
    expected = {
        "tte": np.sum((a - b) ** 2) + np.sum(c**2),
        "ttw": np.sum((np.sqrt(a) - np.sqrt(b)) ** 2) + np.sum(c),
        "tts": np.sum((roots[:120] - np.sort(b)[::-1] ** 0.5) ** 2) + np.sum(roots[120:] ** 2),
    }[metric]
    small, large = ((Q + Q.T) / 2 for Q in (small, large))
    assert tt.distance(small, large, metric, squared=True) == pytest.approx(expected, rel=1e-9)


def test_a_zero_matrix_of_any_size_is_no_warning(metric):
    """Zero matrices larger than the switch to LAPACK are as good as the empty one."""
    Q = np.diag(np.arange(1.0, 26.0))
    assert tt.distance(np.zeros((20, 20)), Q, metric) == pytest.approx(
        tt.distance(np.zeros((0, 0)), Q, metric)
    )
