"""TTS: the Euclidean distance between the sorted square roots of the eigenvalues.

It is the smallest TTW distance over all rotations of one of the two matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import InvalidMatrixError
from torelli._numerics import threads
from torelli._numerics.eigenvalues import eigenvalues
from torelli.distances import _padded_euclidean
from torelli.distances._metric import Metric, normalised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats
    from torelli.distances._metric import DistanceWriter, Exponents


class Spectra:
    """The roots of the eigenvalues of positive semi-definite matrices, largest first."""

    scale: Floats | None = None
    norms_known = True

    def __init__(self, matrices: Sequence[Floats], n_jobs: int | None) -> None:
        matrices, self.exponent = normalised(matrices)
        self.size = np.array([len(Q) for Q in matrices], dtype=np.int64)
        self.roots: list[Floats] = [np.empty(0)] * len(matrices)
        by_size = np.argsort(self.size, kind="stable")
        runs = np.split(by_size, np.flatnonzero(np.diff(self.size[by_size])) + 1)
        # one call for a few megabytes of matrices of one size
        tasks = [
            (run[start : start + step],)
            for run in runs
            for step in [_batch(self.size[run[0]])]
            for start in range(0, len(run), step)
        ]

        def solve(items: NDArray[np.int64]) -> None:
            stack = _roots([matrices[i] for i in items], self.exponent[items], items)
            for item, roots in zip(items.tolist(), stack, strict=True):
                self.roots[item] = roots

        with threads.one_blas_thread():
            threads.run(solve, tasks, n_jobs)
        self.squared_norm = np.array([roots @ roots for roots in self.roots])

    def fill(self, items: NDArray[np.int64], start: int, stop: int, rows: Floats) -> None:
        """Write roots `start` to `stop`."""
        for item, row in zip(items.tolist(), rows, strict=True):
            part = self.roots[item][start:stop]
            row[: len(part)] = part
            row[len(part) :] = 0.0

    def difference(self, item: int, others: Spectra, other: int) -> tuple[float, int]:
        """Return s and h such that the distance to another spectrum is 2**h √s, from their difference."""
        a, b = self.roots[item], others.roots[other]
        here, there = int(self.exponent[item]), int(others.exponent[other])
        exponent = max(here, there)
        if here != there:
            a, b = np.ldexp(a, here - exponent), np.ldexp(b, there - exponent)
        k = min(len(a), len(b))
        rest = a[k:] if len(a) > k else b[k:]
        return float(((a[:k] - b[:k]) ** 2).sum() + (rest**2).sum()), exponent


def squared_tts(
    X: Sequence[Floats],
    Y: Sequence[Floats] | None,
    out: DistanceWriter,
    n_jobs: int | None,
    progress: Progress | None,
) -> None:
    """Write the squared TTS distances of all pairs to `out`."""
    _padded_euclidean.squared_distances(
        Spectra(X, n_jobs), None if Y is None else Spectra(Y, n_jobs), out, n_jobs, progress
    )


def roots_of(matrices: Sequence[Floats], n_jobs: int | None = None) -> list[Floats]:
    """Return the square roots of the eigenvalues of each matrix, largest first."""
    spectra = Spectra(matrices, n_jobs)
    return [np.ldexp(roots, h) for roots, h in zip(spectra.roots, spectra.exponent.tolist(), strict=True)]


def _batch(size: int) -> int:
    return max(1, int(2**20 // max(int(size), 1) ** 2))


def _roots(matrices: Sequence[Floats], exponent: Exponents, items: NDArray[np.int64]) -> Floats:
    values = np.sort(eigenvalues(np.stack(matrices)), axis=1)[:, ::-1]
    if not values.shape[1]:
        return values
    noise = values.shape[1] * np.finfo(float).eps * np.abs(values).max(axis=1, keepdims=True)
    negative = np.flatnonzero(values[:, -1] < -10.0 * noise[:, 0])
    if len(negative):
        first = int(negative[0])
        smallest = f"its smallest eigenvalue is {np.ldexp(values[first, -1], 2 * exponent[first]):.3g}"
        raise InvalidMatrixError(f"matrix {items[first]} is not positive semi-definite: {smallest}")
    # an eigenvalue at rounding level counts as 0: its root would be 1e-8 of the largest, not 1e-16
    return np.sqrt(np.where(values <= noise, 0.0, values))


TTS = Metric(
    name="tts",
    title="tropical Torelli-spectral",
    description="Euclidean distance between the spectra of Torelli matrices",
    squared_norm=np.trace,
    write_pairs=squared_tts,
    vectors=roots_of,
)
