"""Threads over chunks of compiled or BLAS work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def run(work: Callable[..., None], tasks: Iterable[tuple[Any, ...]], n_jobs: int | None) -> None:
    """Call ``work(*task)`` for each task in `n_jobs` threads (as in scikit-learn: None is 1, -1 all cores).

    Tasks must not depend on `n_jobs` nor write to the same place: then the result does not depend
    on it either. An exception or Ctrl-C cancels what has not begun and is passed on.
    """
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        for task in tasks:
            work(*task)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for future in [pool.submit(work, *task) for task in tasks]:
                future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> Any:  # noqa: ANN401  (threadpoolctl's private context manager)
    """Return a context in which BLAS uses one thread, for work that is spread over threads of our own.

    The sums in a product then never depend on the number of cores.
    """
    return _blas().limit(limits=1, user_api="blas")
