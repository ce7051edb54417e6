"""From edges with names and raw lengths to a metric graph: the last step of every converter and reader."""

from __future__ import annotations

import sys
from array import array
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from math import inf, isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from torelli import _errors, _validate
from torelli._errors import (
    DataWarning,
    Fault,
    InvalidGraphError,
    counted,
    listed,
    quoted,
    shortened,
    unknown_option,
)
from torelli._geo import is_geographic
from torelli._validate import (
    LENGTH_REMEDY,
    ZERO_LENGTH,
    are_lengths,
    describe_edge,
    length_faults,
    parse_lengths,
)
from torelli.graph import MetricGraph
from torelli.io.files import string_bytes
from torelli.io.places import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from torelli._types import Floats, Ints
    from torelli.io.directed import Directions
    from torelli.io.files import Budget


LENGTH = "length"
"""Default name of the attribute with the lengths."""

Zero = Literal["error", "contract"]
"""How edges of length zero are treated: an error names them, or each becomes a point."""

SAME_LENGTHS = "set it, give every edge the same length with length=1.0 (on the command line: --length 1)"
"""What to do about edges without lengths in a file."""

_NOT_LENGTHS = (bool, np.bool_)
_ZERO_REMEDY = (
    f"{LENGTH_REMEDY}, or make points of these edges with zero='contract' "
    "(on the command line: --zero contract)"
)
_contracted: ContextVar[dict[str | None, int] | None] = ContextVar("contracted", default=None)
# bytes of an edge, a node and a fault, including the graph or the error that they become part of
_EDGE, _NODE, FAULT_BYTES = 90, 220, 300
_VALUE = 16  # bytes of a value on an edge, without its characters
_GRAPH, _ID = 1500, 72  # bytes of a graph without edges, and of the id of a node


@contextmanager
def zero_lengths(zero: Zero) -> Iterator[None]:
    """Within the block, treat edges of length zero as `zero` says; warn at its end of those contracted."""
    if zero not in get_args(Zero):
        raise unknown_option("zero", zero, get_args(Zero))
    counts: dict[str | None, int] = {}
    token = _contracted.set(counts if zero == "contract" else None)
    try:
        yield
    finally:
        _contracted.reset(token)
    if counts:
        named = listed([name for name in counts if name is not None])
        where = f" in {named}" if named else ""
        n = sum(counts.values())
        points = "a point" if n == 1 else "points"
        warn(f"{counted(n, 'edge')} of length 0{where} {'was' if n == 1 else 'were'} contracted to {points}")


def contracts_zeros() -> bool:
    """Whether edges of length zero become points, by the block of `zero_lengths` that this runs in."""
    return _contracted.get() is not None


def contract_zeros(
    tail: Ints, head: Ints, length: Floats, n_nodes: int, name: str | None
) -> tuple[Ints, Ints, Floats, Ints]:
    """Contract edges of length zero, and count them for the warning of `zero_lengths`.

    Returns tail, head and length of the edges that stay, in their order, and the first old node in each
    new one.
    """
    tail, head, length, kept, n_contracted = contract_points(tail, head, length, n_nodes)
    counts = _contracted.get()
    if n_contracted and counts is not None:
        counts[name] = counts.get(name, 0) + n_contracted
    return tail, head, length, kept


def build_graph(
    tail: Sequence[int] | Ints,
    head: Sequence[int] | Ints,
    raw: Sequence[object] | Floats,
    nodes: Sequence[Hashable],
    *,
    length: str | float = LENGTH,
    other_attributes: Callable[[], Iterable[object]] = tuple,
    how_to_set: str = "set it",
    directions: Directions | None = None,
    ways: Callable[[], Sequence[Any] | None] = lambda: None,
    **about: Any,
) -> MetricGraph:
    """Return the graph of numbered end points and raw lengths.

    Parameters
    ----------
    tail, head
        End points of the edges, as positions in `nodes`.
    raw
        Lengths as they were read: numbers, numeric strings, or None where there is none.
    nodes
        The caller's name for each node; a range if nodes only have numbers, which are then checked.
    length
        What the input calls the lengths, for messages; or a number, the length of every edge.
    other_attributes
        Returns the other attributes of the edges, for the message about a missing length.
    how_to_set
        How to give edges a length in the input, for the same message.
    directions
        The rule for merging the two directions of a street, if the input has an edge for each.
    ways
        Returns the street behind each edge, if known; called for directed input only.
    about
        Further arguments of `MetricGraph`.

    Notes
    -----
    Where no edge has a length, no other attribute was asked for and all nodes have coordinates, lengths
    are measured between the nodes, with a warning.
    """
    if not isinstance(length, str):
        raw = np.full(len(raw), float(length))
    if length == LENGTH and about.get("coordinates") is not None and _are_missing(raw):
        return _build_measured(tail, head, nodes, directions, ways, about)
    try:
        lengths = np.array(raw, dtype=np.float64)
        clean = lengths.ndim == 1 and _are_clean(raw, lengths)
    except (TypeError, ValueError, OverflowError):
        clean = False
    tail, head = np.array(tail, dtype=np.int64), np.array(head, dtype=np.int64)
    if isinstance(nodes, range):
        _validate.check_end_points(tail, head, nodes.stop, name=about.get("name"))
    if not clean:
        lengths = _checked_lengths(
            list(raw),
            lambda i: describe_edge(i, (int(tail[i]), int(head[i])), nodes),
            str(length),
            other_attributes,
            how_to_set,
            about.get("name"),
        )
    if directions is not None:
        kept, lengths = directions.merge(tail, head, lengths, ways(), about.get("name"))
        tail, head = tail[kept], head[kept]
        if about.get("edge_values"):
            about["edge_values"] = {name: values[kept] for name, values in about["edge_values"].items()}
    if not clean and contracts_zeros():
        positive = lengths > 0
        size = len(nodes)
        tail, head, lengths, kept = contract_zeros(tail, head, lengths, size, about.get("name"))
        if len(lengths) < len(positive):
            if about.get("coordinates") is not None:
                about["coordinates"] = np.asarray(about["coordinates"])[kept]
            if about.get("edge_values"):
                values = about["edge_values"].items()
                about["edge_values"] = {key: np.asarray(column)[positive] for key, column in values}
            nodes = [nodes[i] for i in kept.tolist()]
    if about.get("coordinates") is not None:
        about["coordinates"] = _validate.coordinates(about["coordinates"], len(nodes), name=about.get("name"))
    ids = None if isinstance(nodes, range) else tuple(nodes)
    # checking and copying the arrays again would take a third of the time for a small graph
    return MetricGraph.from_checked(tail, head, lengths, len(nodes), node_ids=ids, **about)


def _are_missing(raw: Sequence[object] | Floats) -> bool:
    """Whether there are edges and none of them has a length."""
    return len(raw) > 0 and raw[0] is None and all(value is None for value in raw)


def _build_measured(
    tail: Sequence[int] | Ints,
    head: Sequence[int] | Ints,
    nodes: Sequence[Hashable],
    directions: Directions | None,
    ways: Callable[[], Sequence[Any] | None],
    about: dict[str, Any],
) -> MetricGraph:
    """Return a graph with lengths that are measured between its nodes."""
    name, crs = about.get("name"), about.get("crs")
    points = _validate.coordinates(about["coordinates"], len(nodes), name=name)
    old_tail, old_head = np.array(tail, dtype=np.int64), np.array(head, dtype=np.int64)
    lengths, how = measure(old_tail, old_head, points, crs, name)
    new_tail, new_head, positive, kept, contracted = contract_points(old_tail, old_head, lengths, len(nodes))
    if contracted:
        warn(
            f"{contracted:,} edge{'s' if contracted > 1 else ''} between nodes at one place "
            f"{'were' if contracted > 1 else 'was'} contracted",
            name=about.get("source") or name,
        )
    edges = np.flatnonzero(lengths)
    known_ways = ways() if directions is not None else None
    about = {
        **about,
        "coordinates": points[kept],
        "unit": "m" if is_geographic(crs) else about.get("unit"),
        "edge_values": {key: values[edges] for key, values in (about.get("edge_values") or {}).items()},
    }
    # one text for all graphs, so that the warning appears once
    warn(f"no edge has a length: lengths are measured between the coordinates of the nodes, {how}")
    return build_graph(
        new_tail,
        new_head,
        positive,
        nodes if isinstance(nodes, range) and not contracted else [nodes[i] for i in kept.tolist()],
        directions=directions,
        ways=lambda: None if known_ways is None else [known_ways[i] for i in edges.tolist()],
        **about,
    )


def _are_clean(raw: Sequence[Any] | Floats, lengths: Floats) -> bool:
    """Whether raw values can be used as lengths; truth values cannot, though numpy converts them."""
    if isinstance(raw, np.ndarray):
        return are_lengths(lengths)
    kinds = {*map(type, raw)}
    if kinds == {float}:
        # numpy would take several times as long for small graphs, which most data sets consist of
        return min(raw) > 0 and isfinite(sum(raw))
    return kinds.isdisjoint(_NOT_LENGTHS) and are_lengths(lengths)


def _checked_lengths(
    raw: Sequence[object],
    describe: Callable[[int], str],
    length: str,
    other_attributes: Callable[[], Iterable[object]],
    how_to_set: str,
    name: str | None,
) -> Floats:
    """Return lengths that are converted one by one; raise with every fault."""
    lengths, not_numbers = parse_lengths(raw)
    missing = [i for i, value in enumerate(raw) if value is None]
    unread = {*missing, *not_numbers}
    faults = []
    if missing:
        others = sorted({str(key) for key in other_attributes() if key != length})
        have = f"; the edges have {listed(others)}" if others else ""
        remedy = f"{how_to_set}, or name another attribute with length=...{have}"
        problem = f"attribute {quoted(length)} is missing"
        if 1 < len(raw) == len(missing):
            faults.append(Fault(f"{problem} on all {len(raw):,} edges", remedy, name=name))
        else:
            faults.append(Fault(problem, remedy, tuple(map(describe, missing)), name=name))
    if not_numbers:
        edges = tuple(f"{describe(i)}: {quoted(raw[i])}" for i in not_numbers)
        has_commas = any("," in str(raw[i]) for i in not_numbers)
        remedy = f"{LENGTH_REMEDY}, written without commas" if has_commas else LENGTH_REMEDY
        faults.append(Fault(f"attribute {quoted(length)} is not a number", remedy, edges, name=name))
    if contracts_zeros():
        unread.update(np.flatnonzero(lengths == 0).tolist())
    readable = np.array([i for i in range(len(raw)) if i not in unread], dtype=np.int64)
    wrong = length_faults(lengths[readable], lambda k: describe(int(readable[k])))
    for fault in wrong:
        remedy = _ZERO_REMEDY if fault.problem == ZERO_LENGTH else fault.remedy
        faults.append(Fault(fault.problem, remedy, fault.edges, name=name))
    if faults:
        raise InvalidGraphError(faults)
    return lengths


def number_nodes(
    sources: Sequence[Any], targets: Sequence[Any], nodes: Iterable[Any] = (), *, name: str | None = None
) -> tuple[list[int], list[int], list[Any]]:
    """Return (tail, head, names), with nodes numbered in order of appearance, `nodes` first."""
    position: dict[Any, int] = {}
    try:
        for node in nodes:
            position.setdefault(node, len(position))
        tail, head = [], []
        for source, target in zip(sources, targets, strict=True):
            tail.append(position.setdefault(source, len(position)))
            head.append(position.setdefault(target, len(position)))
    except TypeError as error:
        remedy = "name nodes by numbers, strings or other hashable values"
        raise InvalidGraphError(
            [Fault(f"a node name cannot be hashed ({shortened(str(error))})", remedy, name=name)]
        ) from None
    if any(map(_validate.is_missing, position)):
        raise missing_ends(zip(sources, targets, strict=True), name)
    return tail, head, list(position)


def missing_ends(pairs: Iterable[tuple[Any, Any]], name: str | None) -> InvalidGraphError:
    """Return the error for edges with a missing end point."""
    edges = tuple(
        f"{i} ({source!r}, {target!r})"
        for i, (source, target) in enumerate(pairs)
        if _validate.is_missing(source) or _validate.is_missing(target)
    )
    return InvalidGraphError(
        [Fault("an end point is missing", "name both ends of every edge", edges, name=name)]
    )


def graph_bytes(graph: MetricGraph) -> int:
    """Return the memory that a graph takes, without the characters of its ids."""
    arrays = (graph.tail, graph.head, graph.length, graph.coordinates)
    return _GRAPH + _ID * len(graph.node_ids or ()) + sum(a.nbytes for a in arrays if a is not None)


class EdgeTable:
    """Edges with named ends and raw lengths, gathered part by part in compact arrays.

    Parameters
    ----------
    budget
        The budget for the memory of the edges and of the graph made from them.
    names
        Names of the other edge values to collect.
    """

    def __init__(self, budget: Budget, names: Iterable[str] = ()) -> None:
        self.budget = budget
        self.values: dict[str, list[str]] = {name: [] for name in names}
        self.position: dict[str | None, int] = {}
        self.ends = array("q")
        self.lengths = array("d")
        self.unread: dict[int, str | None] = {}

    def extend(
        self,
        ends: Sequence[str | None],
        lengths: Sequence[str | None],
        others: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ) -> None:
        """Add edges: the two ends of each edge in turn, its length, None if missing, and other values."""
        for name, column in others.items():
            # most columns repeat few texts
            self.values[name] += map(sys.intern, column)
            self.budget.take(_VALUE * len(column) + sum(map(string_bytes, {*column})))
        position, n_known = self.position, len(self.position)
        self.ends.extend([position.setdefault(end, len(position)) for end in ends])
        try:
            values = np.array(array("d", map(float, lengths)))  # type: ignore[arg-type]  # None is caught
        except (TypeError, ValueError):
            values, not_numbers = parse_lengths(lengths)
            unread = {*not_numbers, *(i for i, raw in enumerate(lengths) if raw is None)}
            self.unread |= {len(self.lengths) + i: lengths[i] for i in unread}
        self.lengths.extend(values)
        n_new = len(position) - n_known
        names = sum(string_bytes(name or "") for name in islice(reversed(position), n_new))
        n_faults = ends.count(None) + np.count_nonzero(~((values > 0) & (values < inf)))
        self.budget.take(_EDGE * len(lengths) + _NODE * n_new + names + FAULT_BYTES * int(n_faults))

    def graph(self, length: str | float, **about: Any) -> MetricGraph:
        """Return the graph of all edges, and release them."""
        names = list(self.position)
        ends = np.array(self.ends).reshape(-1, 2)
        raw: Any = np.array(self.lengths)
        if self.unread:
            raw = [self.unread.get(i, value) for i, value in enumerate(raw.tolist())]
        missing = None in self.position
        del self.position, self.ends, self.lengths, self.values
        if missing:
            raise missing_ends(((names[u], names[v]) for u, v in ends), about.get("name"))
        return build_graph(ends[:, 0], ends[:, 1], raw, names, length=length, **about)


def contract_points(
    tail: Ints, head: Ints, length: Floats, n_nodes: int
) -> tuple[Ints, Ints, Floats, Ints, int]:
    """Contract edges of length zero, which two nodes with the same coordinates give.

    Returns
    -------
    tail, head, length
        The edges of positive length between the new nodes.
    kept
        For each new node, the first old node in it.
    n_contracted
        Number of edges of length zero.
    """
    zero = length == 0
    if not zero.any():
        return tail, head, length, np.arange(n_nodes), 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(np.count_nonzero(zero)), (tail[zero], head[zero])), shape=(n_nodes, n_nodes))
    _, part = connected_components(links, directed=False)
    _, kept, group = np.unique(part, return_index=True, return_inverse=True)
    order = np.argsort(kept)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    new = rank[group]
    return new[tail[~zero]], new[head[~zero]], length[~zero], kept[order], int(np.count_nonzero(zero))


def warn(message: str, *, name: str | None = None) -> None:
    """Warn, at the caller's line outside this package, of something resolved by a stated rule."""
    _errors.warn(f"{shortened(name)}: {message}" if name else message, DataWarning)
