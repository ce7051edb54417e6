"""Squared distances that were computed once in this process."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import squareform

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]


class DistanceCache:
    """Keeps squared distances between lists of graphs, least recently used first to go.

    A grid search over gamma and C, or the optimiser of a Gaussian process, asks for the same
    distances many times. The key is the content of the graphs, so that copies made by scikit-learn
    hit as well; a hit is bit for bit what would be computed.

    Parameters
    ----------
    limit_bytes
        Most memory to use; 0 turns the cache off.
    """

    def __init__(self, limit_bytes: int = 2**30) -> None:
        self.limit_bytes = limit_bytes
        self._kept: OrderedDict[Hashable, tuple[Floats, float]] = OrderedDict()
        self._lock = Lock()

    @property
    def n_bytes(self) -> int:
        """Memory in use."""
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
        beyond: float = np.inf,
    ) -> Floats:
        """Return squared distances from memory, or compute and keep them.

        Those above `beyond` may be lower bounds. `compute` says up to what number they are exact:
        they serve everybody who asks for no more.
        """
        key = (options, _fingerprint(X), None if Y is None else _fingerprint(Y))
        with self._lock:
            kept, exact_to = self._kept.get(key, (None, 0.0))
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and beyond <= exact_to:
            return squareform(kept) if Y is None and len(X) > 1 else kept.copy()
        squared, exact_to = compute()
        compact = squareform(squared, checks=False) if Y is None and len(X) > 1 else squared.copy()
        if compact.nbytes <= self.limit_bytes:
            with self._lock:
                self._kept[key] = compact, exact_to
                while self.n_bytes > self.limit_bytes:
                    self._kept.popitem(last=False)
        return squared


def _fingerprint(graphs: Sequence[MetricGraph]) -> bytes:
    return blake2b(b"".join(graph.digest for graph in graphs), digest_size=16).digest()


distance_cache = DistanceCache()
"""The cache that the kernels of this process share."""
