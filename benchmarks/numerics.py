"""The compiled code of ``torelli._numerics`` against the library function that it replaces."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, compared, side_by_side
from torelli._numerics import threads
from torelli._numerics.eigenvalues import eigenvalues
from torelli._numerics.nuclear_norms import congruent, cross_nuclear_norms
from torelli._numerics.number_parser import integer_table
from torelli._numerics.sparse_products import Squeezed, add_products, lists_of, squeeze

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CORES = 2
REPEATS = 15
DENSITY = 0.08  # share of nonzeros in the Torelli matrices of DD


def numerics() -> list[Row]:
    """Compare compiled functions with the library functions they replace, on one thread and in one run."""
    with threadpool_limits(1):
        return [
            *_eigenvalues(),
            *_congruence(),
            *_nuclear_norms(),
            _sparse_products(),
            _number_parser(),
            _threads(),
        ]


def _row(what: str, against: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> Row:
    ours()  # compiled, or loaded
    return compared(what, against, *side_by_side(ours, theirs, REPEATS))


def _stack(size: int) -> Floats:
    """Return some megabytes of positive definite matrices."""
    A = np.random.default_rng(0).standard_normal((max(40, 2**19 // size**2), size, size))
    stack: Floats = A @ A.transpose(0, 2, 1) + 0.1 * np.eye(size)
    return stack


def _eigenvalues() -> list[Row]:
    return [
        _row(
            f"eigenvalues, {size} x {size}",
            "numpy.linalg.eigvalsh",
            partial(eigenvalues, stack),
            partial(np.linalg.eigvalsh, stack),
        )
        for size in (16, 32, 80, 200, 256)
        for stack in [_stack(size)]
    ]


def _products(L: Floats, stack: Floats) -> Floats:
    products: Floats = L.T @ stack @ L
    return products


def _congruence() -> list[Row]:
    rows = []
    for size in (16, 32, 80, 200, 256):
        stack = _stack(size)
        L = np.linalg.cholesky(stack[0])
        rows.append(
            _row(
                f"LᵀQL, {size} x {size}",
                "numpy matmul",
                partial(congruent, L, stack),
                partial(_products, L, stack),
            )
        )
    return rows


def _nuclear_norms() -> list[Row]:
    first, second = (index.astype(np.int64) for index in np.triu_indices(400, 1))
    out = np.empty(len(first))

    def norms(factors: Floats) -> Floats:
        products = factors[first].transpose(0, 2, 1) @ factors[second]
        sums: Floats = np.linalg.svd(products, compute_uv=False).sum(axis=1)
        return sums

    rows = []
    for size in (2, 5, 10):
        factors = np.zeros((400, 10, 10))
        factors[:, :size, :size] = np.linalg.cholesky(_stack(size)[:400])
        ours = partial(cross_nuclear_norms, factors, first, second, size, out)
        theirs = partial(norms, factors[:, :size, :size])
        rows.append(_row(f"nuclear norms of products, {size} x {size}", "numpy.linalg.svd", ours, theirs))
    return rows


def _sparse_products() -> Row:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((800, 10_000)) * (rng.random((800, 10_000)) < DENSITY)

    def ours() -> Floats:
        packed = rows.copy()
        length, column = np.empty(len(rows), np.int64), np.empty(rows.shape, np.uint32)
        squeeze(packed, length, column)
        lists = lists_of(Squeezed(length, column, packed), 0, rows.shape[1])
        total = np.zeros((len(rows), len(rows)))
        add_products(lists, lists, total, (0, 0), slice(0, len(rows)), slice(0, len(rows)))
        return total

    def theirs() -> Floats:
        listed = sparse.csr_array(rows)
        products: Floats = (listed @ listed.T).toarray()
        return products

    return _row("products of 800 rows, 8 % nonzeros", "scipy.sparse", ours, theirs)


def _number_parser() -> Row:
    pairs = np.random.default_rng(0).integers(1, 10**6, (200_000, 2))
    text = "\n".join(f"{a}, {b}" for a, b in pairs.tolist()).encode()
    return _row(
        "200,000 lines of two integers",
        "numpy.loadtxt",
        partial(integer_table, text, 2, "pairs.txt"),
        lambda: np.loadtxt(text.decode().splitlines(), dtype=np.int64, delimiter=","),
    )


def _threads() -> Row:
    tasks = [(position,) for position in range(20_000)]
    written = np.zeros(len(tasks))

    def work(position: int) -> None:
        written[position] = position

    def theirs() -> None:
        Parallel(CORES, prefer="threads")(delayed(work)(*task) for task in tasks)

    return _row("20,000 empty tasks, 2 threads", "joblib", partial(threads.run, work, tasks, CORES), theirs)
