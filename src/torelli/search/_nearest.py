"""Exact search: lower bounds of all distances, then distances in ascending order of these bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from torelli._errors import FormatError

if TYPE_CHECKING:
    from torelli._types import Floats, Ints

_FIRST = 64
_TIGHTENED = 1024  # items of the least bounds, whose bounds are tightened before any distance is computed


class Collection(Protocol):
    """What is searched; `batch` is how many distances are best computed at a time."""

    batch: int

    def __len__(self) -> int: ...

    def lower_bounds(self, query: Any) -> Floats:
        """Return a lower bound of the distance to each item."""

    def tightened(self, query: Any, items: Ints) -> Floats:
        """Return lower bounds of the distances to some items that may be better, and take longer."""

    def estimates(self, query: Any, items: Ints) -> tuple[Floats, Floats]:
        """Return bounds of the distances to some items, which differ by rounding alone."""

    def distances(self, query: Any, items: Ints) -> Floats:
        """Return the distances to some items."""


class Found(NamedTuple):
    """Items and their distances in no order, and the number of items whose distance was computed."""

    items: Ints
    distances: Floats
    n_computed: int


class _Refined:
    """The items whose distances were computed, with bounds that differ by rounding alone."""

    def __init__(self, collection: Collection, query: Any, bounds: Floats) -> None:
        self.collection, self.query, self.bounds = collection, query, bounds
        self.items: Ints = np.empty(0, dtype=np.int64)
        self.lower, self.upper = np.empty(0), np.empty(0)

    def tighten(self, items: Ints) -> None:
        """Raise the bounds of some items."""
        self.bounds[items] = np.maximum(self.bounds[items], self.collection.tightened(self.query, items))

    def add(self, items: Ints) -> None:
        """Compute the distances of more items."""
        lower, upper = self.collection.estimates(self.query, items)
        false = np.flatnonzero(self.bounds[items] > upper)
        if len(false):
            raise FormatError(
                f"the sketch of item {items[false[0]]} does not belong to it: make the index again"
            )
        self.items = np.concatenate([self.items, items])
        self.lower = np.concatenate([self.lower, lower])
        self.upper = np.concatenate([self.upper, upper])

    def reach(self, k: int, counts: Ints) -> float:
        """Return a distance within which there are k graphs."""
        order = np.argsort(self.upper)
        enough = int(np.searchsorted(np.cumsum(counts[self.items[order]]), k))
        return float(self.upper[order[enough]]) if enough < len(order) else np.inf

    def settled(self, reach: float) -> Found:
        """Return the items that may be within reach, with their distances."""
        near = self.items[self.lower <= reach]
        return Found(near, self.collection.distances(self.query, near), len(self.items))


def nearest(collection: Collection, query: Any, k: int, counts: Ints) -> Found:
    """Return the items that hold the k nearest graphs, and perhaps more.

    Parameters
    ----------
    collection, query
        What to search, and for what.
    k
        Number of graphs.
    counts
        Number of graphs of each item.
    """
    bounds = collection.lower_bounds(query)
    refined = _Refined(collection, query, bounds)
    first = max(_FIRST, 2 * k)
    tight = _smallest(bounds, np.arange(len(bounds)), max(_TIGHTENED, first))
    refined.tighten(tight)
    start = _smallest(bounds, tight, first)
    refined.add(start)
    reach = refined.reach(k, counts)
    rest = np.setdiff1d(np.flatnonzero(bounds <= reach), start)
    refined.tighten(rest)
    rest = rest[bounds[rest] <= reach]
    rest = rest[np.argsort(bounds[rest], kind="stable")]
    for begin in range(0, len(rest), collection.batch):
        batch = rest[begin : begin + collection.batch]
        batch = batch[bounds[batch] <= reach]
        if not len(batch):
            break
        refined.add(batch)
        reach = refined.reach(k, counts)
    return refined.settled(reach)


def _smallest(bounds: Floats, items: Ints, count: int) -> Ints:
    """Return the items with the smallest bounds."""
    if count >= len(items):
        return items
    chosen: Ints = items[np.argpartition(bounds[items], count - 1)[:count]]
    return chosen


def within(collection: Collection, query: Any, radius: float) -> Found:
    """Return the items up to a distance."""
    bounds = collection.lower_bounds(query)
    refined = _Refined(collection, query, bounds)
    close = np.flatnonzero(bounds <= radius)
    refined.tighten(close)
    close = close[bounds[close] <= radius]
    for begin in range(0, len(close), collection.batch):
        refined.add(close[begin : begin + collection.batch])
    items, distances, n_computed = refined.settled(radius)
    inside = distances <= radius
    return Found(items[inside], distances[inside], n_computed)


def nearest_of(collection: Collection, query: Any, k: int, counts: Ints, items: Ints) -> Found:
    """Return what `nearest` returns, of some items only: candidates that come from elsewhere."""
    refined = _Refined(collection, query, np.zeros(len(collection)))
    refined.add(items)
    return refined.settled(refined.reach(k, counts))
