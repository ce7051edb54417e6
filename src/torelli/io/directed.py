"""Directed input: the two directions of one street are one edge, true parallels stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SAME_LENGTH = 1e-9
"""Relative difference up to which the lengths of the two directions count as equal: sums along a
street in both directions differ by rounding."""


def merge_directions(
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    length: NDArray[np.float64],
    way: Sequence[Any] | None = None,
) -> NDArray[np.int64]:
    """Return the positions of the directed edges to keep, in input order.

    Edges between the same two nodes with the same length (and the same way, if ways are known)
    form a group. Of a group with f edges one way and b the other, max(f, b) are kept: an edge and
    its reverse are one street, two edges in one direction are two. Loops look alike in both
    directions: of k loops of one known way and one length, half (rounded up) are kept; where no
    way is known all are, since nothing tells a reversed copy from a second loop.

    Parameters
    ----------
    tail, head, length
        The directed edges.
    way
        Identity of the street behind each edge (OpenStreetMap's ``osmid``: a number, or a list of
        numbers in any order, also as text), or None or NaN where it is not known. An edge of a known
        way and one of an unknown way are two.
    """
    if not len(tail):
        return np.empty(0, dtype=np.int64)
    low, high = np.minimum(tail, head), np.maximum(tail, head)
    code = _way_codes(way, len(tail))
    order = np.lexsort((length, code, high, low))
    low_s, high_s, code_s, length_s = low[order], high[order], code[order], length[order]
    same = (low_s[1:] == low_s[:-1]) & (high_s[1:] == high_s[:-1]) & (code_s[1:] == code_s[:-1])
    same &= length_s[1:] - length_s[:-1] <= SAME_LENGTH * length_s[1:]
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
    return np.sort(order[keep])


def _way_codes(way: Sequence[Any] | None, size: int) -> NDArray[np.int64]:
    """Return a number for each distinct way; -1 where a way is not known."""
    codes = np.full(size, -1, dtype=np.int64)
    if way is None:
        return codes
    seen: dict[frozenset[str], int] = {}
    for position, value in enumerate(way):
        parts = _way_parts(value)
        if parts:
            codes[position] = seen.setdefault(parts, len(seen))
    return codes


def _way_parts(value: Any) -> frozenset[str]:  # noqa: ANN401  (whatever a file had)
    """Return the ids of a way as text: of a number, a list, an array, or a list that became a string."""
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
    return frozenset() if value is None or value != value else frozenset([str(value)])  # noqa: PLR0124  (NaN)
