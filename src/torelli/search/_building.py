"""Collections of the different matrices or vectors of graphs."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _memory
from torelli._numerics import threads
from torelli.distances import MATRIX_ROUNDING, VECTOR_ROUNDING, Metric
from torelli.matrix import parts_by_size
from torelli.search._matrix_collection import MatrixCollection
from torelli.search._vector_collection import VectorCollection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph


class Groups:
    """Which arrays are equal, bit for bit; the matrices of trees, for one, are all equal."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}
        self.of: list[int] = []

    def add(self, arrays: Sequence[NDArray[Any]] | NDArray[Any]) -> list[int]:
        """Take in more arrays; return the positions among them of those that are new."""
        new = []
        for position, array in enumerate(arrays):
            digest = blake2b(array.tobytes(), digest_size=16).digest()
            if digest not in self.known:
                self.known[digest] = len(self.known)
                new.append(position)
            self.of.append(self.known[digest])
        return new

    def array(self) -> Ints:
        """Return the group of each array."""
        return np.array(self.of, dtype=np.int64)


def collection_of_matrices(
    metric: Metric,
    transformer: Any,
    graphs: list[MetricGraph],
    *,
    n_jobs: int | None,
    verbose: bool | Progress,
) -> tuple[MatrixCollection | VectorCollection, Ints]:
    """Return the different matrices of graphs, or vectors that a metric takes of them, and each graph's."""
    groups = Groups()
    show = threads.progress_of(verbose, "matrices")

    def distinct() -> Iterator[list[Floats]]:
        for start, stop in parts_by_size(graphs):
            made = transformer.transform(graphs[start:stop])
            if metric.vectors is not None:
                made = metric.vectors(made, n_jobs)
            if new := groups.add(made):
                yield [made[i] for i in new]
            if show is not None:
                show(stop / len(graphs))

    if metric.vectors is None:
        return MatrixCollection.of(metric, distinct()), groups.array()
    rows = [row for part in distinct() for row in part]
    width = max(map(len, rows), default=0)
    _memory.require(8 * len(rows) * width, "the vectors of the index", "use a kernel with max_genus")
    padded = np.zeros((len(rows), width))
    for row, target in zip(rows, padded, strict=True):
        target[: len(row)] = row
    return VectorCollection.of(padded, MATRIX_ROUNDING), groups.array()


def collection_of_vectors(vectors: NDArray[Any]) -> tuple[VectorCollection, Ints]:
    """Return the different rows of an array, and each row's."""
    groups = Groups()
    first = groups.add(vectors)
    rows = vectors if len(first) == len(vectors) else vectors[first]
    return VectorCollection.of(rows, VECTOR_ROUNDING), groups.array()
