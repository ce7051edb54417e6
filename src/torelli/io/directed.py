"""Directed input: the two directions of one street are one edge, true parallels stay."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import DataWarning, InvalidOptionError, warn
from torelli._validate import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints, Json


SAME_LENGTH = 1e-9
"""Relative difference up to which the lengths of the two directions count as equal: sums along a
street in both directions differ by rounding."""

NEARLY = 0.01
"""Relative difference up to which a warning says that two opposite edges may be one street."""


class Directions:
    """The rule by which two opposite edges are one street, and the pairs that nearly match in some graphs.

    Parameters
    ----------
    tolerance
        Relative difference of lengths up to which two opposite edges are one street; if they differ by more
        than `SAME_LENGTH`, the street has their mean. The default is `SAME_LENGTH`, and pairs that differ by
        at most `NEARLY` are counted for a warning.
    """

    def __init__(self, tolerance: float | None = None) -> None:
        if tolerance is not None and (isinstance(tolerance, bool) or not 0 <= tolerance < 1):
            raise InvalidOptionError(
                f"direction_tolerance is {tolerance!r}: use a number from 0 to less than 1, or None"
            )
        self.tolerance = tolerance
        self.n_graphs = 0
        self.n_pairs: dict[str | None, int] = {}

    def merge(
        self, tail: Ints, head: Ints, length: Floats, way: Sequence[Any] | None, name: str | None
    ) -> tuple[Ints, Floats]:
        """Return the positions of the directed edges to keep, in input order, and their lengths.

        `name` is that of the graph, for the warning; the others are as for `merge_directions`.
        """
        self.n_graphs += 1
        tolerance = NEARLY if self.tolerance is None else self.tolerance
        kept, pairs = merge_directions(tail, head, length, way, tolerance)
        if pairs:
            self.n_pairs[name] = self.n_pairs.get(name, 0) + len(pairs)
            if self.tolerance is not None:
                first, second = np.sort(np.array(pairs), axis=1).T
                length = length.copy()
                length[first] = (length[first] + length[second]) / 2
                kept = kept[~np.isin(kept, second)]
        return kept, length[kept]

    def tell(self) -> None:
        """Warn, once for all graphs, of the pairs that were merged or may have to be."""
        if not self.n_pairs:
            return
        count = sum(self.n_pairs.values())
        if self.n_graphs > 1:
            named = next((f", such as {name!r}" for name in self.n_pairs if name), "")
            where = f" in {len(self.n_pairs):,} of {self.n_graphs:,} graphs{named}"
        else:
            where = "".join(f" in {name!r}" for name in self.n_pairs if name)
        if self.tolerance is None:
            message = (
                f"{count:,} pairs of opposite edges{where} differ in length by at most {NEARLY:.0%} and stay "
                f"two parallel edges each. If they are the two directions of one street, merge them with "
                f"direction_tolerance={NEARLY} (on the command line: --direction-tolerance {NEARLY}); "
                "direction_tolerance=0 keeps them without this warning"
            )
        else:
            message = (
                f"{count:,} pairs of opposite edges{where} differ in length by at most {self.tolerance:g} of "
                "the longer and were merged, as direction_tolerance asks; a street has the mean of the two"
            )
        warn(message, DataWarning)


def merge_directions(
    tail: Ints,
    head: Ints,
    length: Floats,
    way: Sequence[Any] | None = None,
    tolerance: float = 0.0,
) -> tuple[Ints, list[tuple[int, int]]]:
    """Return the positions of the directed edges to keep, in input order, and pairs that nearly match.

    Edges between the same two nodes with the same length (and the same way, if ways are known)
    form a group. Of a group with f edges one way and b the other, max(f, b) are kept: an edge and
    its reverse are one street, two edges in one direction are two. Loops look alike in both
    directions: of k loops of one known way and one length, half (rounded up) are kept; where no
    way is known all are, since nothing tells a reversed copy from a second loop.

    Of the edges without an exact counterpart, opposite ones between the same two nodes (of the same
    way, if ways are known) whose lengths differ by at most the tolerance are paired one to one, the
    shortest first. Which lengths are paired does not depend on the order of edges or nodes.

    Parameters
    ----------
    tail, head, length
        The directed edges.
    way
        Identity of the street behind each edge (OpenStreetMap's ``osmid``: a number, or a list of numbers in
        any order, also as text), or None or NaN where it is not known. An edge of a known way and one of an
        unknown way are never merged.
    tolerance
        Largest relative difference of the lengths of a pair. Both edges of a pair are kept.
    """
    if not len(tail):
        return np.empty(0, dtype=np.int64), []
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    code = _way_codes(way, len(tail))
    order = np.lexsort((length, code, high, low))
    low_s, high_s, code_s, length_s = low[order], high[order], code[order], length[order]
    ends = (low_s[1:] == low_s[:-1]) & (high_s[1:] == high_s[:-1]) & (code_s[1:] == code_s[:-1])
    same = ends & (length_s[1:] - length_s[:-1] <= SAME_LENGTH * length_s[1:])
    group = np.concatenate([[0], np.cumsum(~same)])

    forward = tail[order] < head[order]
    backward = tail[order] > head[order]
    n_forward = np.bincount(group, forward)[group]
    n_backward = np.bincount(group, backward)[group]
    keep = np.where(n_forward >= n_backward, forward, backward)

    loop = ~(forward | backward)
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    rank = np.arange(len(order)) - starts[group]
    size = np.bincount(group)[group]
    keep |= loop & ((code_s < 0) | (rank < (size + 1) // 2))
    pairs: list[tuple[int, int]] = []
    if tolerance > SAME_LENGTH:
        # the kept edges of a group that have a counterpart are as many as its edges in the other direction
        rank_kept = np.cumsum(keep) - 1
        rank_kept -= rank_kept[starts][group] - keep[starts][group] + 1
        paired = np.where(loop, size // 2, np.minimum(n_forward, n_backward))
        alone = np.flatnonzero(keep & (rank_kept >= paired) & ~(loop & (code_s < 0)))
        cluster = np.concatenate([[0], np.cumsum(~ends)])
        side = forward.astype(np.int64) - backward
        near = _near_pairs(cluster[alone], side[alone], length_s[alone], tolerance)
        pairs = [(int(order[alone[i]]), int(order[alone[j]])) for i, j in near]
    return np.sort(order[keep]), pairs


def _near_pairs(cluster: Ints, side: Ints, length: Floats, tolerance: float) -> Iterator[tuple[int, int]]:
    """Yield pairs of opposite edges of one cluster whose lengths differ by at most the tolerance.

    Edges are sorted by cluster and length; `side` is 1 or -1 by direction, and 0 for loops, each of
    which may be the other direction of any.
    """
    near = (cluster[1:] == cluster[:-1]) & (length[1:] - length[:-1] <= tolerance * length[1:])
    near &= (side[1:] != side[:-1]) | (side[1:] == 0)
    # if any two edges of a cluster match, two neighbours by length do: most clusters need no closer look
    for one in np.unique(cluster[1:][near]).tolist():
        waiting: deque[int] = deque()
        for i in range(*np.searchsorted(cluster, [one, one + 1]).tolist()):
            while waiting and length[i] - length[waiting[0]] > tolerance * length[i]:
                waiting.popleft()
            if waiting and (side[i] == 0 or side[waiting[0]] != side[i]):
                yield waiting.popleft(), i
            else:
                waiting.append(i)


def _way_codes(way: Sequence[Any] | None, size: int) -> NDArray[np.int64]:
    """Return a number for each distinct way; -1 where a way is not known."""
    codes = np.full(size, -1, dtype=np.int64)
    if way is None:
        return codes
    seen: dict[str, int] = {}
    for position, value in enumerate(way):
        parts = _way_parts(value)
        if parts:
            codes[position] = seen.setdefault(",".join(sorted(parts)), len(seen))
    return codes


def _way_parts(value: Json) -> frozenset[str]:
    """Return the ids of a way as text: from a number, a list, an array, or a list that became a string."""
    if isinstance(value, str):
        return frozenset(part.strip(" '\"") for part in value.strip("[](){} ").split(",")) - {
            "",
            "nan",
            "None",
        }
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        return frozenset(part for item in value for part in _way_parts(item))
    return frozenset() if is_missing(value) else frozenset([str(value)])
