"""The metric graph: what every other step of the package starts from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from torelli import _units, _validate
from torelli._errors import InvalidOptionError, quoted

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import networkx as nx
    from numpy.typing import ArrayLike, NDArray

    from torelli._types import Floats, Ints


_JITTER_STEP = 1e-11  # relative spacing of factors: ten times what counts as a tie
_PLAIN_IDS = ((), (int,), (str,))  # types of node ids of graphs that are pickled in the quick way
_SMALL = 2**15  # bytes; a larger graph takes longer to transfer than to check
_STATE = (
    "tail", "head", "length", "n_nodes", "name", "source", "unit", "coordinates", "crs", "node_ids",
    "edge_values",
)  # fmt: skip


class MetricGraph:
    """A graph whose edges are line segments: a frozen multigraph with edge lengths.

    Loops and parallel edges are ordinary edges, direction means nothing, isolated nodes and
    several components are welcome. Arrays are copied and made read-only.

    Parameters
    ----------
    tail, head
        End points of each edge, as integers in ``range(n_nodes)``.
    length
        Length of each edge: finite and positive.
    n_nodes
        Number of nodes; by default one more than the largest end point.
    name
        Name of the graph in messages and pictures.
    source
        The file or data set that the graph comes from.
    unit
        Unit of the lengths, such as ``"m"``.
    coordinates
        Array of shape (n_nodes, 2) or (n_nodes, 3), for pictures.
    crs
        Coordinate reference system of `coordinates`, such as ``"EPSG:4326"``.
    node_ids
        The caller's own name for each node, in node order.
    edge_values
        Named values on the edges, such as ``{"diameter": [0.3, 0.1]}``: for each name one number, truth
        value or string per edge. They do not enter the Torelli matrix.

    Raises
    ------
    InvalidGraphError
        If the input is invalid; the message lists every fault with its edges and a remedy.

    Notes
    -----
    Two graphs are equal if the number of nodes, `tail`, `head`, `length` and `edge_values` are equal bit
    for bit; name, source, unit, coordinates, reference system and node ids do not matter. A pickle keeps
    everything, and is checked like any other input when it is loaded. `edge_subgraph` keeps the values of
    the chosen edges, `subdivide` gives each piece the values of its edge, and `replace` keeps all values
    unless it is given others.

    References
    ----------
    Section 2 of the paper: a graph with lengths, as a metric space. Genus m - n + c: section 3.1.

    Examples
    --------
    >>> theta = MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> theta.genus, theta.total_length
    (2, 6.0)
    """

    __slots__ = (*_STATE, "_memo")

    tail: Ints
    head: Ints
    length: Floats
    n_nodes: int
    name: str | None
    source: str | None
    unit: str | None
    coordinates: Floats | None
    crs: str | None
    node_ids: tuple[Hashable, ...] | None
    edge_values: Mapping[str, NDArray[Any]]
    _memo: dict[str, Any]

    def __init__(
        self,
        tail: ArrayLike,
        head: ArrayLike,
        length: ArrayLike,
        n_nodes: int | None = None,
        *,
        name: str | None = None,
        source: str | None = None,
        unit: str | None = None,
        coordinates: ArrayLike | None = None,
        crs: str | None = None,
        node_ids: Sequence[Hashable] | None = None,
        edge_values: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        ids = None if node_ids is None else tuple(node_ids)
        arrays = _validate.graph_arrays(tail, head, length, n_nodes, name=name, node_ids=ids)
        points = None
        if coordinates is not None:
            points = _validate.coordinates(coordinates, arrays.n_nodes, name=name)
        values = _validate.edge_values(edge_values or {}, len(arrays.length), name=name)
        self._freeze(*arrays, name, source, unit, points, crs, ids, values)

    @classmethod
    def from_checked(
        cls,
        tail: Ints,
        head: Ints,
        length: Floats,
        n_nodes: int,
        *,
        name: str | None = None,
        source: str | None = None,
        unit: str | None = None,
        coordinates: Floats | None = None,
        crs: str | None = None,
        node_ids: tuple[Hashable, ...] | None = None,
        edge_values: Mapping[str, NDArray[Any]] | None = None,
    ) -> MetricGraph:
        """Return a graph of arrays that are known to be sound, without checking or copying them.

        For code of this package that has checked the arrays, or cut them out of a graph; never for what a
        user or a file gives, because compiled code trusts the arrays of a graph. The graph takes the arrays
        over and makes them read-only.
        """
        graph = cls.__new__(cls)
        values = dict(edge_values or {})
        cls._freeze(
            graph, tail, head, length, n_nodes, name, source, unit, coordinates, crs, node_ids, values
        )
        return graph

    def _freeze(self, *state: Any) -> None:
        """Take over arrays that are checked and the graph's own."""
        *others, values = state
        put = object.__setattr__
        for key, value in zip(_STATE, (*others, MappingProxyType(values)), strict=True):
            put(self, key, value)
        put(self, "_memo", {})
        for array in (self.tail, self.head, self.length, self.coordinates, *values.values()):
            if array is not None:
                array.setflags(write=False)

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"MetricGraph is frozen: make a new one to change {attribute!r} (see `replace`)")

    def __delattr__(self, attribute: str) -> None:
        raise AttributeError(f"MetricGraph is frozen: {attribute!r} cannot be deleted")

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        words = (self.name, self.source, self.unit, self.crs)
        types = tuple({type(value) for value in self.node_ids or ()})
        if (
            self.edge_values
            or types not in _PLAIN_IDS
            or any(type(word) not in {str, NoneType} for word in words)
        ):
            return super().__reduce_ex__(protocol)
        points = np.empty((0, 0)) if self.coordinates is None else self.coordinates
        packed = b"".join([array.tobytes() for array in (self.tail, self.head, self.length, points)])
        return _restored, (packed, self.n_edges, self.n_nodes, points.shape[1], *words, types, self.node_ids)

    def __getstate__(self) -> dict[str, Any]:
        state = {key: getattr(self, key) for key in _STATE}
        values = state.pop("edge_values")
        return {**state, "edge_values": dict(values)} if values else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        # a pickle or a model file may come from anybody, and compiled code trusts what a graph holds
        MetricGraph.__init__(self, **state)

    def __eq__(self, other: object) -> bool:
        """Whether two graphs have the same arrays, bit for bit; names and sources do not matter."""
        if not isinstance(other, MetricGraph):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        label = f"{self.name!r}: " if self.name else ""
        unit = f" {self.unit}" if self.unit else ""
        return (
            f"MetricGraph({label}{self.n_nodes:,} nodes, {self.n_edges:,} edges, genus {self.genus:,}, "
            f"total length {self.total_length:.6g}{unit})"
        )

    def _repr_html_(self) -> str:
        from torelli._layout import notebook_html

        rows = [
            ("nodes", f"{self.n_nodes:,}"),
            ("edges", f"{self.n_edges:,}"),
            ("components", f"{self.n_components:,}"),
            ("genus", f"{self.genus:,}"),
            ("total length", f"{self.total_length:,.6g} {self.unit or ''}".rstrip()),
        ]
        return notebook_html(self, self.name or "MetricGraph", rows)

    @property
    def digest(self) -> bytes:
        """Fingerprint of the arrays: the same for equal graphs, in every process."""
        if "digest" not in self._memo:
            state = hashlib.blake2b(str(self.n_nodes).encode(), digest_size=16)
            for array in (self.tail, self.head, self.length):
                state.update(array.tobytes())
            for name, values in sorted(self.edge_values.items()):
                # texts are equal in arrays of any width
                texts = values.dtype.kind == "U"
                content = repr(values.tolist()).encode() if texts else values.tobytes()
                state.update(f"{name!r}{'U' if texts else values.dtype.str}".encode() + content)
            self._memo["digest"] = state.digest()
        digest: bytes = self._memo["digest"]
        return digest

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.length)

    @property
    def n_components(self) -> int:
        """Number of connected components; an isolated node is one."""
        if "components" not in self._memo:
            from torelli._numerics.forest import count_components

            self._memo["components"] = int(count_components(self.tail.copy(), self.head.copy(), self.n_nodes))
        components: int = self._memo["components"]
        return components

    @property
    def genus(self) -> int:
        """Number of independent cycles, edges - nodes + components."""
        return self.n_edges - self.n_nodes + self.n_components

    @property
    def total_length(self) -> float:
        """Sum of the edge lengths."""
        return float(self.length.sum())

    @property
    def n_loops(self) -> int:
        """Number of edges whose end points coincide."""
        return int(np.count_nonzero(self.tail == self.head))

    @property
    def n_parallel(self) -> int:
        """Number of edges beyond the first between the same two nodes (loops included)."""
        low, high = np.minimum(self.tail, self.head), np.maximum(self.tail, self.head)
        return self.n_edges - len(np.unique(low * np.int64(max(self.n_nodes, 1)) + high))

    @property
    def is_generic(self) -> bool:
        """Whether the totals of the C1-sets are pairwise distinct."""
        return self._facts_of_core()[1] == 0

    @property
    def is_determined(self) -> bool:
        """Whether the metric space determines the Torelli matrix, ties included (see `CanonicalModel`)."""
        return self._facts_of_core()[2]

    def _facts_of_core(self) -> tuple[int, int, bool]:
        """Return the number of bridges, the number of ties, and whether the matrix is determined."""
        if "core" not in self._memo:
            from torelli._numerics.core import canonical_core

            core = canonical_core(self.tail, self.head, self.length, self.n_nodes)
            n_bridges = int(np.count_nonzero(core.edge_class < 0))
            self._memo["core"] = n_bridges, int(core.n_ties), core.is_determined
        facts: tuple[int, int, bool] = self._memo["core"]
        return facts

    def summary(self) -> GraphSummary:
        """Return the figures that describe the graph; printing them gives a small table."""
        bridges, ties, is_determined = self._facts_of_core()
        return GraphSummary(
            name=self.name,
            n_nodes=self.n_nodes,
            n_edges=self.n_edges,
            n_components=self.n_components,
            n_loops=self.n_loops,
            n_parallel=self.n_parallel,
            genus=self.genus,
            n_bridges=bridges,
            total_length=self.total_length,
            unit=self.unit,
            n_ties=ties,
            is_determined=is_determined,
        )

    def replace(self, **changes: Any) -> MetricGraph:
        """Return a copy with some of the constructor's arguments changed.

        Values on edges stay with the position of their edge: give `edge_values` too where edges are
        reordered, and ``edge_values=None`` to remove them.
        """
        return MetricGraph(**{**self.__getstate__(), **changes})

    def edge_subgraph(self, edges: ArrayLike, *, nodes: ArrayLike = ()) -> MetricGraph:
        """Return the graph of some of the edges and their end points.

        Name, source, unit, coordinates, reference system and the values of the edges are kept. Nodes are
        renumbered in their order; ids tell them apart, which are the old numbers if there were no ids.

        Parameters
        ----------
        edges
            Positions of the edges, without repeats, in the order of the result; or a mask of the edges.
        nodes
            Positions of further nodes to keep, with or without edges.

        Raises
        ------
        InvalidOptionError
            If a position is out of range, or an edge is named twice.

        Examples
        --------
        >>> theta = MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 1.0])
        >>> theta.edge_subgraph([0, 2])
        MetricGraph(2 nodes, 2 edges, genus 1, total length 4)
        """
        chosen = _validate.positions(edges, self.n_edges, "edges")
        kept = np.zeros(self.n_nodes, dtype=np.bool_)
        kept[self.tail[chosen]] = kept[self.head[chosen]] = True
        kept[_validate.positions(nodes, self.n_nodes, "nodes")] = True
        old = np.flatnonzero(kept)
        new = np.cumsum(kept) - 1
        ids = self.node_ids
        return MetricGraph.from_checked(
            new[self.tail[chosen]],
            new[self.head[chosen]],
            self.length[chosen],
            len(old),
            name=self.name,
            source=self.source,
            unit=self.unit,
            coordinates=None if self.coordinates is None else self.coordinates[old],
            crs=self.crs,
            node_ids=tuple(old.tolist()) if ids is None else tuple(ids[node] for node in old.tolist()),
            edge_values={name: values[chosen] for name, values in self.edge_values.items()},
        )

    def to_unit(self, unit: str) -> MetricGraph:
        """Return the graph with its lengths in another unit; coordinates stay as they are.

        Parameters
        ----------
        unit
            The unit of the new lengths: nm, um, mm, cm, m, km, in, ft, us-ft, yd, mi, nmi, or their names.

        Raises
        ------
        InvalidOptionError
            If either unit is not one of these, or if the graph states none (``graph.replace(unit="m")`` sets
            one).

        Examples
        --------
        >>> MetricGraph([0, 0], [1, 1], [1.0, 2.0], unit="km").to_unit("m")
        MetricGraph(2 nodes, 2 edges, genus 1, total length 3000 m)
        """
        factor = _units.factor(self.unit, unit, name=self.name)
        return self if unit == self.unit else self.replace(length=self.length * factor, unit=unit)

    def subdivide(self, n_points: int, *, seed: int = 0) -> MetricGraph:
        """Return a random refinement: the same metric space with more points on its edges.

        Parameters
        ----------
        n_points
            Number of points to add, each on an edge chosen uniformly at random.
        seed
            Seed of the choice of edges and positions.
        """
        if not isinstance(n_points, (int, np.integer)) or n_points < 0:
            raise InvalidOptionError(f"n_points is {quoted(n_points)}: use an integer of 0 or more")
        if n_points and not self.n_edges:
            raise InvalidOptionError("a graph without edges cannot be subdivided")
        rng = np.random.default_rng(seed)
        cuts = (
            np.bincount(rng.integers(self.n_edges, size=n_points), minlength=self.n_edges)
            if n_points
            else None
        )
        if cuts is None:
            return self
        pieces = cuts + 1
        edge = np.repeat(np.arange(self.n_edges), pieces)
        first = np.cumsum(pieces) - pieces
        step = np.arange(len(edge)) - first[edge]
        # gaps bounded away from 0: no piece is much shorter than its share
        gap = rng.uniform(0.05, 1.0, size=len(edge))
        share = gap / np.add.reduceat(gap, first)[edge]
        new_node = self.n_nodes + np.arange(len(edge)) - edge
        tail = np.where(step == 0, self.tail[edge], new_node - 1)
        head = np.where(step == cuts[edge], self.head[edge], new_node)
        coordinates = None
        if self.coordinates is not None:
            inner = step < cuts[edge]
            running = np.cumsum(share)
            fraction = (running - (running[first] - share[first])[edge])[inner][:, None]
            start, stop = self.coordinates[self.tail[edge[inner]]], self.coordinates[self.head[edge[inner]]]
            coordinates = np.concatenate([self.coordinates, start + fraction * (stop - start)])
        return self.replace(
            tail=tail,
            head=head,
            length=self.length[edge] * share,
            n_nodes=self.n_nodes + n_points,
            coordinates=coordinates,
            node_ids=None,
            edge_values={name: values[edge] for name, values in self.edge_values.items()},
        )

    def jitter(self, relative: float = 1e-6, *, seed: int = 0) -> MetricGraph:
        """Return the graph with each length scaled by its own factor between 1 and 1 + relative.

        No two edges of one length stay tied: the factors are evenly spaced and dealt out at random, by
        the position of the edges. So the result belongs to this list of edges and not to the metric
        space. Ties need no jitter: the space determines how they are broken (see `is_determined`).

        Parameters
        ----------
        relative
            Largest relative change of a length, at most 1. Graphs with many edges need a larger value.
        seed
            Seed of the order of the factors.
        """
        if not 0 < relative <= 1:
            raise InvalidOptionError(f"relative is {relative}: use a number above 0 and up to 1")
        if relative < _JITTER_STEP * self.n_edges:
            least = _JITTER_STEP * self.n_edges
            problem = f"relative is {relative}: too small to keep {self.n_edges:,} edges apart"
            raise InvalidOptionError(f"{problem}, use at least {least:.1g}")
        rank = np.random.default_rng(seed).permutation(self.n_edges)
        return self.replace(length=self.length * (1.0 + relative * (rank + 0.5) / max(self.n_edges, 1)))

    def to_networkx(self) -> nx.MultiGraph[Any]:
        """Return a `networkx.MultiGraph` with the edge attribute ``length`` and the values on edges.

        Nodes carry the caller's ids where they are known, and ``x``, ``y`` (and ``z``) where
        coordinates are; the graph has ``name``, and ``unit`` and ``crs`` where they are known.
        """
        import networkx as nx

        ids = self.node_ids if self.node_ids is not None else range(self.n_nodes)
        graph: nx.MultiGraph[Any] = nx.MultiGraph(name=self.name or "")
        known = {"unit": self.unit, "crs": self.crs}
        graph.graph.update({key: value for key, value in known.items() if value is not None})
        graph.add_nodes_from(ids)
        if self.coordinates is not None:
            for node, point in zip(ids, self.coordinates.tolist(), strict=True):
                graph.nodes[node].update(zip("xyz", point, strict=False))
        columns = {"length": self.length, **self.edge_values}
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        graph.add_edges_from(
            (ids[u], ids[v], dict(zip(columns, row, strict=True)))
            for u, v, row in zip(self.tail.tolist(), self.head.tolist(), rows, strict=True)
        )
        return graph


@dataclass(frozen=True)
class GraphSummary:
    """The figures that describe a metric graph; ``print`` shows them as a table.

    Examples
    --------
    >>> import torelli as tt
    >>> summary = tt.MetricGraph([0, 0, 1], [0, 1, 2], [1.0, 2.0, 3.0], unit="m").summary()
    >>> summary.genus, summary.n_bridges, summary.total_length
    (1, 2, 6.0)
    """

    name: str | None
    n_nodes: int
    n_edges: int
    n_components: int
    n_loops: int
    n_parallel: int
    genus: int
    n_bridges: int
    total_length: float
    unit: str | None
    n_ties: int
    is_determined: bool

    @property
    def is_generic(self) -> bool:
        """Whether no two class totals tie."""
        return self.n_ties == 0

    @property
    def matrix_bytes(self) -> int:
        """Memory of the Torelli matrix in bytes."""
        return 8 * self.genus**2

    def __str__(self) -> str:
        generic = "yes" if self.is_generic else f"no ({self.n_ties:,} ties)"
        determined = "yes" if self.is_determined else "no (by edge order)"
        rows = [
            ("nodes", f"{self.n_nodes:,}"),
            ("edges", f"{self.n_edges:,}"),
            ("components", f"{self.n_components:,}"),
            ("loops", f"{self.n_loops:,}"),
            ("parallel edges", f"{self.n_parallel:,}"),
            ("genus", f"{self.genus:,}"),
            ("bridges", f"{self.n_bridges:,}"),
            ("total length", f"{self.total_length:,.6g}" + (f" {self.unit}" if self.unit else "")),
            ("generic", generic),
            ("determined", determined),
        ]
        lines = [f"{label:<15}{value:>16}" for label, value in rows]
        return "\n".join([self.name, *lines] if self.name else lines)


def _restored(packed: bytes, *state: Any) -> MetricGraph:
    """Return a pickled graph.

    A search sends the same graphs to its workers with every task. Graphs are frozen, so that a worker
    can use those that it has.
    """
    return (_recent if len(packed) <= _SMALL else _unpacked)(packed, *state)


def _unpacked(
    packed: bytes,
    n_edges: int,
    n_nodes: int,
    n_axes: int,
    name: str | None,
    source: str | None,
    unit: str | None,
    crs: str | None,
    _types: tuple[type, ...],  # of the ids, because 1 and True are equal and would be taken for each other
    node_ids: tuple[Hashable, ...] | None,
) -> MetricGraph:
    words = np.frombuffer(packed, dtype=np.int64)
    tail, head, length, points = np.split(words, [n_edges, 2 * n_edges, 3 * n_edges])
    return MetricGraph(
        tail,
        head,
        length.view(np.float64),
        n_nodes,
        name=name,
        source=source,
        unit=unit,
        coordinates=points.view(np.float64).reshape(n_nodes, n_axes) if n_axes else None,
        crs=crs,
        node_ids=node_ids,
    )


_recent = lru_cache(maxsize=4096)(_unpacked)
