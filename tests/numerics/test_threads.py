"""Threads, and what they share."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

import torelli as tt
from strategies import random_psd
from torelli._numerics import threads


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_blas_limit_holds_while_anybody_needs_it_and_ends_with_the_last():
    """Two users that overlap in time: one thread until both have left, then what was before."""
    before = blas_threads()
    first, second = threads.one_blas_thread(), threads.one_blas_thread()
    with first:
        with second:
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    one, two = threads.one_blas_thread(), threads.one_blas_thread()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    two.__exit__(None, None, None)
    assert blas_threads() == before


def test_concurrent_calls_give_the_same_bits():
    """What another thread computes at the same time does not change a result."""
    rng = np.random.default_rng(0)
    Qs = [random_psd(rng, 120) for _ in range(12)]
    alone = tt.pairwise_distances(Qs)
    stop = threading.Event()

    def disturb():
        while not stop.is_set():
            tt.pairwise_distances(Qs[:3])

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(disturb)
        try:
            together = [tt.pairwise_distances(Qs) for _ in range(4)]
        finally:
            stop.set()
        other.result()
    assert all(np.array_equal(alone, D) for D in together)


def test_an_error_in_a_thread_is_the_callers():
    """The first exception is raised, and tasks that have not begun never do."""
    done = []

    def work(number):
        if number == 3:
            raise RuntimeError("three")
        done.append(number)

    with pytest.raises(RuntimeError, match="three"):
        threads.run(work, [(number,) for number in range(10_000)], 2)
    assert len(done) < 10_000


STEPS = st.lists(
    st.tuples(
        st.floats(0, 1e12) | st.just(0.0),
        st.floats(0, 1) | st.sampled_from([0.0, 5e-324, 1e-310, 1e-17]),
    ),
    max_size=8,
)


@given(STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_progress_line_never_promises_an_endless_time(capsys, steps):
    """Whatever was done so far, and however slowly, the time left is a number or is not shown."""
    now = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads.time, "monotonic", lambda: now)
        line = threads.ProgressLine("ttw")
        for seconds, part in sorted(steps, key=lambda step: step[1]):
            now += seconds
            line(part)
    shown = capsys.readouterr().err
    assert "inf" not in shown
    assert "nan" not in shown
