"""A pair of matrices has the same distance alone and in every list, whatever the magnitudes in it."""

from __future__ import annotations

import numpy as np
import pytest

import reference
import torelli as tt
from strategies import random_psd

METRICS = sorted(tt.METRICS)
MAGNITUDES = (1e-320, 1e-300, 1e-200, 1e-160, 1e-61, 1e-59, 1.0, 1e59, 1e61, 1e160, 1e200, 1e300)
TINY = 5e-324  # the smallest number, and the spacing of numbers below 1e-308


def matrices(seed=0, sizes=(2, 12)):
    """Return pairs of like and of nearly equal matrices of every magnitude, with empty and zero ones."""
    rng = np.random.default_rng(seed)
    Qs = [np.zeros((0, 0)), np.zeros((3, 3)), np.zeros((14, 14))]
    for magnitude in MAGNITUDES:
        for size in sizes:
            Q = random_psd(rng, size)
            Qs.append(Q / Q.max() * magnitude)
        Qs += [Qs[-1] * (1 + 1e-6), Qs[-len(sizes)] * 2.0]
    Qs += [TINY * np.array(Q, dtype=float) for Q in ([[1]], [[3, 1], [1, 2]], [[7, 2], [2, 4]])]
    Qs += [np.array([[1.7e308]]), np.diag([1e308, 1e-308])]
    # in whole multiples of the smallest number, so that the smallest ones stay positive semi-definite
    return [Q if Q.max(initial=1.0) > 1e-300 else np.diag(Q.diagonal()) for Q in Qs]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("squared", [False, True])
def test_a_pair_alone_is_as_in_a_list(metric, squared):
    """One list, two lists and a pair alone agree to the ten digits that cancellation may leave."""
    Qs = matrices()
    D = tt.pairwise_distances(Qs, metric=metric, squared=squared)
    alone = np.zeros_like(D)
    for i, j in zip(*np.triu_indices(len(Qs), 1), strict=True):
        alone[i, j] = alone[j, i] = tt.distance(Qs[i], Qs[j], metric, squared=squared)
    assert np.allclose(D, alone, rtol=1e-9, atol=TINY)
    assert np.array_equal(D, D.T)
    across = tt.pairwise_distances(Qs[::2], Qs[1::2], metric, squared=squared)
    assert np.allclose(across, alone[::2, 1::2], rtol=1e-9, atol=TINY)
    blocks = tt.pairwise_distances_chunked(Qs, metric=metric, squared=squared, working_memory=0.01)
    assert np.allclose(np.concatenate(list(blocks)), alone, rtol=1e-9, atol=TINY)


@pytest.mark.parametrize("metric", METRICS)
def test_any_mix_of_magnitudes_is_right(metric):
    """Distances agree with 40-digit arithmetic: none overflows, and none but those of equal matrices is 0."""
    Qs = matrices(1, sizes=(1, 2))
    D = tt.pairwise_distances(Qs, metric=metric)
    for i, j in zip(*np.triu_indices(len(Qs), 1), strict=True):
        expected = reference.distance(Qs[i], Qs[j], metric)
        assert D[i, j] == pytest.approx(expected, rel=1e-7, abs=TINY)
        assert (D[i, j] > 0) == (expected > 0)
    single = tt.pairwise_distances(Qs, metric=metric, dtype="float32")
    in_range = (D < 1e38) & ((D > 1e-37) | (D == 0.0))
    assert np.allclose(single[in_range], D[in_range], rtol=1e-5, atol=0)


@pytest.mark.parametrize("metric", METRICS)
def test_squares_are_squares(metric):
    """Squared distances are those of the distances, infinite or 0 only where a float holds no other."""
    Qs = matrices(2)
    D = tt.pairwise_distances(Qs, metric=metric)
    with np.errstate(over="ignore"):
        expected = D**2
    assert np.allclose(tt.pairwise_distances(Qs, metric=metric, squared=True), expected, rtol=1e-9, atol=TINY)


@pytest.mark.parametrize("metric", METRICS)
def test_entries_beyond_the_diagonal_are_refused(metric):
    """A matrix whose largest entry is off its diagonal is no positive semi-definite one, at any scale."""
    for scale in (1e-200, 1.0, 1e200):
        for bad in ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]):
            with pytest.raises(
                tt.InvalidMatrixError, match="matrix 1 has an entry larger than all of its diag"
            ):
                tt.pairwise_distances([np.eye(2), np.array(bad) * scale], metric=metric)
        with pytest.raises(tt.InvalidMatrixError, match="matrix 0 is not symmetric"):
            tt.pairwise_distances([np.array([[1.0, 0.1], [0.2, 1.0]]) * scale], metric=metric)


@pytest.mark.parametrize(
    "Kernel", [Kernel for Kernel in tt.KERNELS.values() if issubclass(Kernel, tt.TorelliKernel)]
)
@pytest.mark.parametrize("gamma", [1e-300, 1.0, 1e300])
def test_kernels_of_any_mix_of_lengths(Kernel, gamma):
    """A kernel value depends on its two graphs only, also where squared distances overflow or vanish."""
    rng = np.random.default_rng(0)
    scales = np.repeat([1e-310, 1e-200, 1e-100, 1.0, 1e100, 1e200, 1e300], 2)
    graphs = [tt.MetricGraph([0] * 4, [1] * 4, rng.uniform(1, 2, 4) * scale) for scale in scales]
    graphs += [
        graphs[0].replace(length=graphs[0].length.copy()),
        graphs[-1].subdivide(5),
        graphs[6].subdivide(5),
    ]
    K = Kernel(gamma=gamma).fit_transform(graphs)
    for i, j in zip(*np.triu_indices(len(graphs), 1), strict=True):
        tt.distance_cache.clear()
        alone = Kernel(gamma=gamma).fit_transform([graphs[i], graphs[j]])[0, 1]
        assert K[i, j] == pytest.approx(alone, rel=1e-9, abs=1e-15)
    assert K[-3, 0] == K[-2, 13] == K[-1, 6] == 1.0
    assert np.allclose(Kernel(gamma=gamma).fit(graphs[:5]).transform(graphs), K[:, :5], rtol=1e-9, atol=1e-15)


def test_exact_squares_that_floats_cannot_hold_are_an_error():
    """The median rule and Gaussian processes need squares, also of pairs that a given gamma does without."""
    for scale, what in ((1e-200, "vanish.*smaller unit"), (1e200, "overflow.*larger unit")):
        graphs = [tt.MetricGraph([0, 0], [1, 1], [scale, scale * x]) for x in (2.0, 3.0, 4.0)]
        tt.TTEKernel(gamma=1.0).fit(graphs)
        with pytest.raises(tt.InvalidMatrixError, match=what):
            tt.TTEKernel().fit(graphs)
        with pytest.raises(tt.InvalidMatrixError, match=what):
            tt.GraphRBF("tte")(graphs)
        with pytest.raises(tt.InvalidMatrixError, match=what):
            tt.GraphRBF.median([*graphs, tt.MetricGraph([0], [0], [1.0])], "tte")
