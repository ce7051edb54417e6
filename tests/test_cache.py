"""The cache of squared distances."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli._cache import DistanceCache, fingerprint

GRAPHS = [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0 + i]) for i in range(4)]


@pytest.fixture
def counted():
    """Return a function that computes distances through a cache, and the list of what it computed."""
    calls = []

    def squared(cache, X, Y=None, options="tte", cutoff=np.inf, exact_to=np.inf):
        def compute():
            calls.append((options, len(X), None if Y is None else len(Y)))
            values = np.add.outer([g.length.sum() for g in X], [g.length.sum() for g in Y or X])
            return (values if Y else np.where(np.eye(len(X)), 0.0, values)), exact_to

        return cache.squared(options, X, Y, compute, cutoff)

    squared.calls = calls
    return squared


@pytest.mark.parametrize("other", [None, GRAPHS[1:3]])
@pytest.mark.parametrize("n", [1, 3])
def test_what_was_computed_is_returned_bit_for_bit(counted, other, n):
    """A second call computes nothing and returns the same matrix, of one list and of two."""
    cache = DistanceCache()
    first = counted(cache, GRAPHS[:n], other)
    again = counted(cache, GRAPHS[:n], other)
    assert len(counted.calls) == 1
    assert first.shape == again.shape == (n, n if other is None else 2)
    assert np.array_equal(first, again)


def test_results_are_the_callers_to_change(counted):
    """Writing into a result, computed or kept, does not reach the next one."""
    cache = DistanceCache()
    for other in (None, GRAPHS[:2]):
        expected = counted(cache, GRAPHS, other).copy()
        for _ in range(3):
            result = counted(cache, GRAPHS, other)
            assert np.array_equal(result, expected)
            result[:] = 7.0
    fresh = counted(cache, GRAPHS[::-1])
    fresh[:] = 7.0
    assert counted(cache, GRAPHS[::-1])[0, 0] == 0.0


def test_kernel_matrices_are_the_callers_to_change():
    """Writing into a kernel matrix does not reach the next one."""
    K = tt.TTWKernel(gamma=1.0).fit_transform(GRAPHS)
    K[:] = 7.0
    assert tt.TTWKernel(gamma=1.0).fit_transform(GRAPHS)[0, 0] == 1.0


def test_equal_graphs_hit_and_other_graphs_options_and_orders_do_not(counted):
    """Graphs count by content: copies hit, and any difference in graphs, order or options misses."""
    cache = DistanceCache()
    counted(cache, GRAPHS)
    counted(cache, [graph.replace(name="a copy") for graph in GRAPHS])
    assert len(counted.calls) == 1
    others = [
        {"X": GRAPHS[::-1]},
        {"X": GRAPHS, "Y": GRAPHS},
        {"X": GRAPHS, "options": "ttw"},
        {"X": [*GRAPHS[:3], GRAPHS[3].replace(length=GRAPHS[3].length * 2)]},
    ]
    for count, arguments in enumerate(others, 2):
        counted(cache, **arguments)
        assert len(counted.calls) == count


def test_the_limit_holds_and_the_least_recently_used_go_first(counted):
    """With room for two results, the one that was not asked for longest is dropped."""
    cache = DistanceCache(limit_bytes=2 * 6 * 8)  # the triangles of two matrices of four graphs
    for options in ("a", "b", "a", "c"):
        counted(cache, GRAPHS, options=options)
        assert cache.n_bytes <= cache.limit_bytes
    assert [call[0] for call in counted.calls] == ["a", "b", "c"]
    counted(cache, GRAPHS, options="a")
    assert len(counted.calls) == 3
    counted(cache, GRAPHS, options="b")
    assert [call[0] for call in counted.calls] == ["a", "b", "c", "b"]


def test_nothing_is_kept_without_room_or_after_clear(counted):
    """A limit of 0 turns the cache off, a result larger than the limit is not kept, and clear forgets."""
    off = DistanceCache(limit_bytes=0)
    small = DistanceCache(limit_bytes=6 * 8)
    for cache, X in ((off, GRAPHS), (small, GRAPHS + GRAPHS)):
        counted(cache, X)
        counted(cache, X)
        assert cache.n_bytes == 0
    assert len(counted.calls) == 4
    counted(small, GRAPHS)
    assert small.n_bytes == 6 * 8
    small.clear()
    assert small.n_bytes == 0
    counted(small, GRAPHS)
    assert len(counted.calls) == 6


def test_bounds_serve_calls_up_to_where_they_are_exact(counted):
    """A result with bounds above 10 serves a cutoff of 10 and not one of 11, which then replaces it."""
    cache = DistanceCache()
    counted(cache, GRAPHS, cutoff=10.0, exact_to=10.0)
    counted(cache, GRAPHS, cutoff=10.0)
    assert len(counted.calls) == 1
    counted(cache, GRAPHS, cutoff=11.0, exact_to=np.inf)
    counted(cache, GRAPHS)
    assert len(counted.calls) == 2


def test_kernels_share_one_cache_of_the_process():
    """Its limit can be set, to 0 to turn it off, and `n_bytes` says what it holds."""
    cache = tt.distance_cache
    limit = cache.limit_bytes
    try:
        tt.TTWKernel().fit(GRAPHS)
        assert cache.n_bytes == 6 * 8
        cache.clear()
        cache.limit_bytes = 0
        tt.TTWKernel().fit(GRAPHS)
        assert cache.n_bytes == 0
    finally:
        cache.limit_bytes = limit


def test_a_fingerprint_is_that_of_the_content_in_order():
    """Equal lists have one fingerprint; other orders, and lists cut elsewhere, have others."""
    assert fingerprint(GRAPHS) == fingerprint([graph.replace(source="elsewhere") for graph in GRAPHS])
    assert (
        len({fingerprint(graphs) for graphs in (GRAPHS, GRAPHS[::-1], GRAPHS[:3], [], GRAPHS[:1] * 2)}) == 5
    )
