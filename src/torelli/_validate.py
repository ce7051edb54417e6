"""Checks of input, in one place: every fault is gathered before one error is raised."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from torelli import _memory
from torelli._errors import Fault, InvalidGraphError, InvalidOptionError, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import ArrayLike, DTypeLike, NDArray

EXACT = 2**53  # floats below this are exact integers
_SPARSE, _SPARSE_FROM = 100, 10**6  # nodes without edges are welcome, but not a hundred for each edge
_MOST_NODES = 2**31
_RESERVED = ("", "length")  # names that values on edges cannot have
_NODE_BYTES = 100  # memory that the Torelli map takes for each node, with or without edges
LENGTH_REMEDY = "give every edge a finite length greater than 0"
ZERO_LENGTH = "length is zero"


class GraphArrays(NamedTuple):
    """The arrays of a metric graph, converted and checked."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    length: NDArray[np.float64]
    n_nodes: int


def graph_arrays(
    tail: ArrayLike,
    head: ArrayLike,
    length: ArrayLike,
    n_nodes: int | None,
    *,
    name: str | None = None,
    node_ids: Sequence[Hashable] | None = None,
) -> GraphArrays:
    """Convert and check the arrays of a metric graph; raise one error with every fault."""
    ends, end_faults = _end_points(tail, head)
    lengths, read_faults = _lengths(length)
    faults = end_faults + read_faults
    sizes = {"tail": _size(tail), "head": _size(head), "length": _size(length)}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{key} {size:,}" for key, size in sizes.items())
        remedy = "give tail, head and length one entry for each edge"
        raise InvalidGraphError([Fault(f"the arrays differ in size ({counts})", remedy, name=name)])
    if ends is None:
        raise InvalidGraphError([_named(fault, name) for fault in faults])
    n_nodes, count_faults = _node_count(ends, n_nodes, node_ids)
    faults += count_faults
    if ends.size and not count_faults and (ends.min() < 0 or ends.max() >= n_nodes):
        faults += _out_of_range(ends, n_nodes)
    if lengths is not None:
        faults += length_faults(lengths, lambda edge: describe_edge(edge, ends[:, edge], node_ids))
    if faults or lengths is None:
        raise InvalidGraphError([_named(fault, name) for fault in faults])
    return GraphArrays(ends[0], ends[1], lengths, n_nodes)


def check_end_points(
    tail: NDArray[np.int64], head: NDArray[np.int64], n_nodes: int, *, name: str | None = None
) -> None:
    """Raise if an end point is not in ``range(n_nodes)``, or if there are more nodes than can be held."""
    ends = np.stack([tail, head])
    faults = _count_faults(n_nodes, len(tail))
    if not faults and ends.size and (ends.min() < 0 or ends.max() >= n_nodes):
        faults = _out_of_range(ends, n_nodes)
    if faults:
        raise InvalidGraphError([_named(fault, name) for fault in faults])


def coordinates(points: ArrayLike, n_nodes: int, *, name: str | None = None) -> NDArray[np.float64]:
    """Convert and check node coordinates; a node whose place is not known has NaN."""
    try:
        array = np.array(points, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape not in {(n_nodes, 2), (n_nodes, 3)}:
        problem = f"coordinates have shape {array.shape}"
        raise InvalidGraphError(
            [Fault(problem, f"give an array of shape ({n_nodes}, 2) or ({n_nodes}, 3)", name=name)]
        )
    return array


def edge_values(
    values: Mapping[str, ArrayLike], n_edges: int, *, name: str | None = None
) -> dict[str, NDArray[Any]]:
    """Convert and check named values on edges: one number, truth value or string for each edge."""
    arrays: dict[str, NDArray[Any]] = {}
    faults = []
    for key, column in values.items():
        array = _column(column)
        if not isinstance(key, str) or key in _RESERVED:
            faults.append(Fault(f"edge_values has the name {quoted(key)}", "use other names, as strings"))
        elif array.shape != (n_edges,):
            problem = f"edge_values[{quoted(key)}] has shape {array.shape}"
            faults.append(Fault(problem, f"give one value for each of the {n_edges:,} edges"))
        elif array.dtype.kind not in "biufU":
            problem = f"edge_values[{quoted(key)}] has type {array.dtype}"
            faults.append(Fault(problem, "give numbers, truth values or strings"))
        else:
            arrays[key] = array
    if faults:
        raise InvalidGraphError([_named(fault, name) for fault in faults])
    return arrays


def _column(values: ArrayLike) -> NDArray[Any]:
    """Return values as an array; those of several kinds, which numpy would make strings, as objects."""
    try:
        array = np.array(values)
    except ValueError:  # ragged lists
        return np.empty(0, dtype=object)
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        mixed = np.array(values, dtype=object)
        return array if all(isinstance(value, str) for value in mixed.ravel()) else mixed
    return array


def positions(chosen: ArrayLike, size: int, name: str, *, repeats: bool = False) -> NDArray[np.int64]:
    """Return positions below `size`, or those where a mask is true; distinct ones unless `repeats`."""
    array = np.asarray(chosen)
    if array.dtype == np.bool_ and array.shape == (size,):
        return np.flatnonzero(array)
    if not array.size:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidOptionError(f"{name}: give positions as a list of integers, or a mask of size {size:,}")
    if array.min() < 0 or array.max() >= size:
        raise InvalidOptionError(f"{name}: a position is out of range; use 0 to {size - 1:,}")
    if not repeats and len(np.unique(array)) < len(array):
        raise InvalidOptionError(f"{name}: a position is listed more than once; list each once")
    return array.astype(np.int64)


def is_missing(value: object) -> bool:
    """Whether a value is None or NaN."""
    return value is None or bool(value != value)  # noqa: PLR0124  (NaN alone differs from itself)


def describe_edge(
    edge: int, ends: Sequence[int] | NDArray[np.int64], node_ids: Sequence[Hashable] | None
) -> str:
    """Name an edge for a person: its position and its end points by the caller's names."""
    names = [node_ids[end] if node_ids is not None and 0 <= end < len(node_ids) else int(end) for end in ends]
    return f"{edge} ({quoted(names[0])}, {quoted(names[1])})"


def _named(fault: Fault, name: str | None) -> Fault:
    return Fault(fault.problem, fault.remedy, fault.edges, fault.graph, name)


def _end_points(tail: ArrayLike, head: ArrayLike) -> tuple[NDArray[np.int64] | None, list[Fault]]:
    remedy = "give end points as integers, one for each edge"
    try:
        raw = np.array([tail, head])
    except ValueError:
        return None, [Fault("tail and head cannot be read as arrays of one size", remedy)]
    if raw[0].ndim != 1:
        return None, [Fault("tail and head must be one-dimensional", remedy)]
    if raw.size == 0:
        return raw.astype(np.int64), []
    if raw.dtype.kind == "f":
        whole = (np.abs(raw) < EXACT) & (raw == np.floor(raw))
        if not whole.all():
            bad = np.flatnonzero(~whole.all(axis=0))
            return None, [Fault("end points are not whole numbers", remedy, tuple(map(str, bad.tolist())))]
    elif raw.dtype.kind not in "iu":
        return None, [Fault(f"end points have type {raw.dtype}", remedy)]
    return raw.astype(np.int64), []


def _lengths(length: ArrayLike) -> tuple[NDArray[np.float64] | None, list[Fault]]:
    try:
        raw = np.asarray(length)
    except ValueError:
        return None, [Fault("length cannot be read as an array", LENGTH_REMEDY)]
    if raw.ndim != 1:
        return None, [Fault("length must be one-dimensional", LENGTH_REMEDY)]
    if raw.dtype.kind in "fiu":
        return np.array(raw, dtype=np.float64), []
    values, not_numbers = parse_lengths(raw.tolist())
    if not_numbers:
        edges = tuple(f"{edge} ({quoted(raw[edge])})" for edge in not_numbers)
        return None, [Fault("length is not a number", LENGTH_REMEDY, edges)]
    return values, []


def parse_lengths(raw: Sequence[object]) -> tuple[NDArray[np.float64], list[int]]:
    """Convert lengths one by one, numeric strings too; return them and the positions of what is not a number.

    A missing value (None) becomes NaN, as does what is not a number.
    """
    values = np.full(len(raw), np.nan)
    not_numbers = []
    for position, value in enumerate(raw):
        if value is None:
            continue
        length = None if isinstance(value, (bool, np.bool_, complex)) else _as_float(value)
        if length is None:
            not_numbers.append(position)
        else:
            values[position] = length
    return values, not_numbers


def _as_float(value: object) -> float | None:
    """Return a value as a number, None if it is not one."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None


def _node_count(
    ends: NDArray[np.int64], n_nodes: int | None, node_ids: Sequence[Hashable] | None
) -> tuple[int, list[Fault]]:
    if n_nodes is None:
        n_nodes = len(node_ids) if node_ids is not None else int(ends.max(initial=-1)) + 1
        if node_ids is None and n_nodes > _SPARSE_FROM + _SPARSE * ends.shape[1]:
            remedy = "number nodes from 0, or give edges with ids: as_metric_graph([(u, v, length), ...])"
            return 0, [Fault(f"{ends.shape[1]} edges have end points up to {n_nodes - 1}", remedy)]
    remedy = "give the number of nodes as an integer of 0 or more"
    if isinstance(n_nodes, bool) or not isinstance(n_nodes, (int, np.integer)) or n_nodes < 0:
        return 0, [Fault(f"n_nodes is {quoted(n_nodes)}", remedy)]
    if faults := _count_faults(int(n_nodes), ends.shape[1]):
        return 0, faults
    if node_ids is not None and len(node_ids) != n_nodes:
        return 0, [
            Fault(f"there are {len(node_ids)} node_ids for {n_nodes} nodes", "give one id for each node")
        ]
    if node_ids is not None and _repeats(node_ids):
        return 0, [Fault("node_ids repeat or cannot be hashed", "give each node an id of its own")]
    return int(n_nodes), []


def _count_faults(n_nodes: int, n_edges: int) -> list[Fault]:
    """Return the faults of a number of nodes that is far above that of edges and does not fit in memory."""
    remedy = "number nodes from 0 without gaps, and leave out those without edges"
    if n_nodes > _MOST_NODES:
        return [Fault(f"there are {n_nodes:,} nodes, more than the limit of {_MOST_NODES:,}", remedy)]
    if n_nodes > _SPARSE_FROM + _SPARSE * n_edges:
        _memory.require(_NODE_BYTES * n_nodes, f"a graph of {n_nodes:,} nodes", remedy)
    return []


def _size(values: ArrayLike) -> int:
    try:
        return np.size(values)
    except ValueError:
        return len(cast("Sequence[object]", values))  # ragged lists have a length too


def _repeats(node_ids: Sequence[Hashable]) -> bool:
    try:
        return len(set(node_ids)) < len(node_ids)
    except TypeError:
        return True


def _out_of_range(ends: NDArray[np.int64], n_nodes: int) -> list[Fault]:
    bad = np.flatnonzero(((ends < 0) | (ends >= n_nodes)).any(axis=0))
    edges = tuple(describe_edge(edge, ends[:, edge], None) for edge in bad.tolist())
    remedy = f"use end points from 0 to {n_nodes - 1}, or give a larger n_nodes"
    return [Fault(f"end point out of range for {n_nodes} nodes", remedy, edges)]


def are_lengths(lengths: NDArray[np.float64]) -> bool:
    """Whether lengths are positive, finite, and cannot overflow when they are added."""
    if not lengths.size:
        return True
    # the ufuncs themselves: the methods of an array take longer, which counts for small graphs
    least, most = np.minimum.reduce(lengths), np.maximum.reduce(lengths)
    return bool(least > 0 and isfinite(float(most) * lengths.size))


def length_faults(lengths: NDArray[np.float64], describe: Callable[[int], str]) -> list[Fault]:
    """Return the faults of an array of lengths; quick where there are none."""
    if are_lengths(lengths):
        return []
    faults = bad_lengths(lengths, describe)
    overflow = Fault("the total length overflows", "measure lengths in a larger unit")
    return faults or [overflow]


def bad_lengths(lengths: NDArray[np.float64], describe: Callable[[int], str]) -> list[Fault]:
    """Return the faults of an array of lengths, one for each kind, with edges named by `describe`."""
    kinds = (
        ("length is NaN", np.isnan(lengths)),
        ("length is infinite", np.isinf(lengths)),
        (ZERO_LENGTH, lengths == 0),
        ("length is negative", (lengths < 0) & ~np.isinf(lengths)),
    )
    return [
        Fault(problem, LENGTH_REMEDY, tuple(describe(edge) for edge in np.flatnonzero(bad).tolist()))
        for problem, bad in kinds
        if bad.any()
    ]


def precision_of(dtype: DTypeLike) -> np.dtype[Any]:
    """Return float64 or float32 as a dtype; raise if it is anything else."""
    try:
        precision = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):  # what numpy raises for texts and lists that are no dtype
        precision = np.dtype(object)
    if precision not in (np.float32, np.float64):
        raise InvalidOptionError(f"dtype is {quoted(dtype)}: use 'float64' or 'float32'")
    return precision


def is_positive(value: object) -> bool:
    """Whether something is a number above 0, and finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return bool(0 < value < np.inf)


def is_number(text: str) -> bool:
    """Whether a text can be read as a number, NaN and infinity among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True
