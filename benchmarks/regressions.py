"""For asv: what must not become slower or larger, each time with its memory.

``asv run --python=same`` measures this checkout; ``make regressions`` does so quickly.
"""

from __future__ import annotations

import numpy as np

import torelli as tt


class Map:
    """Torelli matrices: many small graphs, one large one, one of which few rows are asked for."""

    def setup(self) -> None:
        """Make the graphs and load the compiled code."""
        self.small = [tt.datasets.line_plus_random(30, 5, seed=seed) for seed in range(2000)]
        self.large = tt.datasets.line_plus_random(200_000, 1000, seed=0)
        tt.torelli_matrices(self.small[:2])

    def time_many_small(self) -> None:
        """Time two thousand graphs of genus 5."""
        tt.torelli_matrices(self.small)

    def peakmem_many_small(self) -> None:
        """Measure the memory of the same."""
        tt.torelli_matrices(self.small)

    def time_one_large(self) -> None:
        """Time one graph of genus 1000."""
        tt.torelli_matrix(self.large)

    def peakmem_one_large(self) -> None:
        """Measure the memory of the same."""
        tt.torelli_matrix(self.large)

    def time_few_rows(self) -> None:
        """Time a hundred rows of the large graph."""
        tt.torelli_matrix(self.large, max_genus=100)

    def peakmem_few_rows(self) -> None:
        """Measure the memory of the same."""
        tt.torelli_matrix(self.large, max_genus=100)


class Distances:
    """All pairs, for each metric and size."""

    params = (sorted(tt.METRICS), [5, 30, 120])
    param_names = ("metric", "size")

    def setup(self, metric: str, size: int) -> None:
        """Make the matrices and load the compiled code."""
        A = np.random.default_rng(0).standard_normal((1200 // size, size, size))
        self.matrices = list(A @ A.transpose(0, 2, 1) + np.eye(size))
        tt.pairwise_distances(self.matrices[:2], metric=metric)

    def time_all_pairs(self, metric: str, size: int) -> None:  # noqa: ARG002  (asv passes both)
        """Time all pairs."""
        tt.pairwise_distances(self.matrices, metric=metric)

    def peakmem_all_pairs(self, metric: str, size: int) -> None:  # noqa: ARG002
        """Measure the memory of the same."""
        tt.pairwise_distances(self.matrices, metric=metric)
