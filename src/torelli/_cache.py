"""Cache of the squared distances computed in this process."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from torelli._types import Floats
    from torelli.graph import MetricGraph


class DistanceCache:
    """Squared distances between lists of graphs; the least recently used are dropped first.

    A grid search over gamma and C, or the optimiser of a Gaussian process, asks for the same
    distances many times. The key is the content of the graphs, so that copies made by scikit-learn hit as
    well. A hit is bit for bit what would be computed.

    Parameters
    ----------
    limit_bytes
        Largest size of the cache; 0 turns it off.
    """

    def __init__(self, limit_bytes: int = 2**30) -> None:
        self.limit_bytes = limit_bytes
        self._kept: OrderedDict[Hashable, tuple[Floats, float]] = OrderedDict()
        self._lock = Lock()

    @property
    def n_bytes(self) -> int:
        """Bytes in use."""
        return sum(values.nbytes for values, _ in self._kept.values())

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()

    def squared(
        self,
        options: Hashable,
        X: Sequence[MetricGraph],
        Y: Sequence[MetricGraph] | None,
        compute: Callable[[], tuple[Floats, float]],
        cutoff: float = np.inf,
    ) -> Floats:
        """Return squared distances from memory, or compute and keep them.

        `compute` returns squared distances and up to which square they are exact; those above may be lower
        bounds. They serve later calls with a `cutoff` up to there.
        """
        from scipy.spatial.distance import squareform

        key = (options, fingerprint(X), None if Y is None else fingerprint(Y))
        with self._lock:
            kept, exact_to = self._kept.get(key, (None, 0.0))
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and cutoff <= exact_to:
            return squareform(kept) if Y is None and len(X) > 1 else kept.copy()
        squared, exact_to = compute()
        compact = squareform(squared, checks=False) if Y is None and len(X) > 1 else squared.copy()
        if compact.nbytes <= self.limit_bytes:
            with self._lock:
                self._kept[key] = compact, exact_to
                while self.n_bytes > self.limit_bytes:
                    self._kept.popitem(last=False)
        return squared


def fingerprint(graphs: Sequence[MetricGraph]) -> bytes:
    """Return a digest of the content of graphs, in their order."""
    return blake2b(b"".join(graph.digest for graph in graphs), digest_size=16).digest()


distance_cache = DistanceCache()
"""The cache that the kernels of this process share."""
