"""The canonical measure of a metric graph: how much each part of the graph takes part in cycles.

It needs no choice of a basis, an orientation or an order. So it does not depend on how the graph is
subdivided or numbered, even if lengths tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from torelli import _memory
from torelli._errors import InvalidOptionError, quoted
from torelli._numerics.compile import compiled
from torelli._numerics.core import class_totals, core_of, segments
from torelli._numerics.forest import ints
from torelli._numerics.resistance import Projection, conductive, masses, resistance_rows
from torelli.io import as_metric_graph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from torelli._types import Floats, GraphLike, Ints
    from torelli.graph import MetricGraph


_ORDINARY = 2  # degree of a point that only subdivides an edge
_EXACT = 20_000  # C1-sets up to which products with the currents are exact by default
_AT_ONCE = 64  # fields projected together
_SEEDS = 2**128  # of the Philox generator
_PROBES = 64
_TINY = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class CanonicalMeasure:
    """The canonical measure of a metric graph, by edges, segments and C1-sets.

    A segment is a maximal chain of edges through points of degree 2. Its ends are essential points,
    whose degree is not 2. A circle is a segment without ends.

    Attributes
    ----------
    graph
        The input graph.
    edge_mass
        Mass of each edge, in [0, 1]. The masses add up to the genus.
    segment
        The index of each edge's segment.
    points
        The essential points, as nodes of the input graph, isolated nodes included.
    degree
        The degree of each essential point.
    ends
        Array of shape (n_segments, 2): the essential points at the ends of each segment, as nodes of
        the input graph, the smaller first; -1 for a circle.
    length, mass
        Length and mass of each segment.
    edge_class
        The index of each edge's C1-set, or -1 for a bridge.
    class_length, class_mass
        Total length and mass of each C1-set.

    References
    ----------
    See `canonical_measure`.

    Examples
    --------
    >>> import torelli as tt
    >>> measure = tt.canonical_measure(tt.MetricGraph([0, 0, 1], [1, 1, 2], [1.0, 1.0, 5.0]))
    >>> measure.edge_mass.tolist(), measure.n_segments, measure.length.tolist()
    ([0.5, 0.5, 0.0], 2, [2.0, 5.0])
    """

    graph: MetricGraph
    edge_mass: Floats
    segment: Ints
    points: Ints
    degree: Ints
    ends: Ints
    length: Floats
    mass: Floats
    edge_class: Ints
    class_length: Floats
    class_mass: Floats
    _core: tuple[Ints, Ints, int]

    @property
    def n_segments(self) -> int:
        """Number of segments."""
        return len(self.length)

    @property
    def n_classes(self) -> int:
        """Number of C1-sets."""
        return len(self.class_length)

    def __repr__(self) -> str:
        return (
            f"CanonicalMeasure({self.graph!r}: {self.n_segments:,} segments between {len(self.points):,} "
            f"points, {self.n_classes:,} C1-sets, total mass {self.edge_mass.sum():.6g})"
        )

    def _repr_html_(self) -> str:
        from torelli._layout import notebook_html

        rows = [
            ("segments", f"{self.n_segments:,}"),
            ("essential points", f"{len(self.points):,}"),
            ("C1-sets", f"{self.n_classes:,}"),
            ("total mass (genus)", f"{self.edge_mass.sum():.6g}"),
            ("length without mass", f"{self.graph.length[self.edge_mass == 0.0].sum():,.6g}"),
        ]
        # mass of the whole segment, so that cuts do not change the picture
        mass = self.mass[self.segment] if self.n_segments else self.edge_mass
        colours = [
            "#b8b8b8" if m == 0.0 else f"hsl({240 - round(240 * min(m, 1.0))},75%,45%)" for m in mass.tolist()
        ]
        return notebook_html(self.graph, "mass: blue (little) to red (much); bridges grey", rows, colours)

    @cached_property
    def segments(self) -> list[Ints]:
        """The segments, each as an array of edges of the input graph."""
        order = np.argsort(self.segment, kind="stable")
        counts = np.bincount(self.segment, minlength=self.n_segments)
        return np.split(order, np.cumsum(counts)[:-1]) if len(counts) else []

    def currents(self) -> Floats:
        """Return the squared projection T∘T onto the cycle space, as a matrix between C1-sets.

        T projects onto the cycle space in the inner product of the lengths: T_cd is the part of a unit
        source in C1-set c that flows through d, and T_cd² does not depend on orientations. The matrix is
        symmetric, and its row sums are the masses of the C1-sets. Divided by its row sums, it is the
        transition matrix of a reversible Markov chain whose stationary measure is the canonical measure.

        Raises
        ------
        RequestTooLargeError
            If the matrix does not fit in memory; `along_currents` needs no matrix.
        """
        shape = (self.n_classes, self.n_classes)
        request = f"the currents between {shape[0]:,} C1-sets"
        _memory.require(16 * shape[0] ** 2, request, "use along_currents with n_probes")
        tail, head, n_nodes = self._core
        lengths = conductive(self.class_length)
        squared = resistance_rows(tail, head, lengths, n_nodes, np.arange(shape[0]))
        scale = np.sqrt(lengths)
        squared /= scale[:, None]
        squared /= scale
        squared[np.diag_indices(shape[0])] -= 1.0
        squared *= squared
        return (squared + squared.T) / 2.0

    def along_currents(
        self, values: ArrayLike, *, n_probes: int | None = None, seed: int = 0
    ) -> tuple[Floats, Floats]:
        """Return the product of the squared projection T∘T with values on C1-sets, and its error.

        Parameters
        ----------
        values
            Array of shape (n_classes,).
        n_probes
            Number of random vectors for an estimate that needs no matrix: the mean of
            (T z)∘(T (values∘z)) over random signs z. None: exact up to 20,000 C1-sets, 64 vectors above.
        seed
            Seed of the random signs.

        Returns
        -------
        product, error
            The product, and the standard error of each entry; 0 if the product is exact.
        """
        try:
            x = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            x = np.full(1, np.nan)
        if x.shape != (self.n_classes,) or not np.isfinite(x).all():
            raise InvalidOptionError(f"values: give a finite number for each of {self.n_classes:,} C1-sets")
        exact = n_probes is None and self.n_classes <= _EXACT
        count = _PROBES if n_probes is None else n_probes
        if not isinstance(count, (int, np.integer)) or count < _ORDINARY:
            raise InvalidOptionError(
                f"n_probes is {quoted(count)}: use a whole number of at least 2, so that the error can be "
                "estimated"
            )
        if not isinstance(seed, (int, np.integer)) or not 0 <= seed < _SEEDS:
            raise InvalidOptionError(f"seed is {quoted(seed)}: use a whole number from 0 to below 2**128")
        project = self._projection()
        if exact:
            product = np.empty(self.n_classes)
            for part, squared in self._squared_rows(project):
                product[part] = squared @ x
            return product, np.zeros(self.n_classes)
        total, squares = np.zeros(self.n_classes), np.zeros(self.n_classes)
        for signs in self._probes(count, seed):
            products = project(signs) * project(signs * x)
            total += products.sum(axis=0)
            squares += (products**2).sum(axis=0)
        mean = total / count
        return mean, np.sqrt(np.maximum(squares / count - mean**2, 0.0) / (count - 1))

    def _projection(self) -> Projection:
        tail, head, n_nodes = self._core
        return Projection(tail, head, conductive(self.class_length), n_nodes)

    def _squared_rows(self, project: Projection) -> Iterator[tuple[slice, Floats]]:
        """Yield the rows of T∘T, some at a time, with their positions."""
        for start in range(0, self.n_classes, _AT_ONCE):
            rows = np.eye(min(_AT_ONCE, self.n_classes - start), self.n_classes, start)
            yield slice(start, start + len(rows)), project(rows) ** 2

    def _probes(self, count: int, seed: int) -> Iterator[Floats]:
        """Yield random signs on the C1-sets, some rows at a time."""
        stream = np.random.Philox(key=seed)
        for start in range(0, count, _AT_ONCE):
            shape = (min(_AT_ONCE, count - start), self.n_classes)
            # the top bit of each word is the sign
            words = stream.random_raw(shape[0] * shape[1]).reshape(shape)
            yield np.where(words >> np.uint64(63), 1.0, -1.0)


def average_along_currents(measure: CanonicalMeasure, values: Floats) -> tuple[Floats, Floats]:
    """Return the averages of columns over a step of the chain of currents, and their standard errors.

    Rows of T∘T are divided by their own sums, which keep their digits where a mass is tiny. Above 20,000
    C1-sets, sums over random signs z stand for both: of (T z)∘(T (values∘z)) and of (T z)∘(T z). Their
    quotient shifts with the values, so its error does not depend on the unit of length.

    Parameters
    ----------
    measure
        The measure whose currents are followed.
    values
        Array of shape (n_classes, n_columns).
    """
    project = measure._projection()  # noqa: SLF001  (one module)
    averages, error = np.zeros(values.shape), np.zeros(values.shape)
    if measure.n_classes <= _EXACT:
        for part, squared in measure._squared_rows(project):  # noqa: SLF001
            averages[part] = squared @ values / np.maximum(squared.sum(axis=1), _TINY)[:, None]
        return averages, error
    signs = np.concatenate(list(measure._probes(_PROBES, 0)))  # noqa: SLF001
    base = project(signs)
    total = np.maximum((base**2).sum(axis=0), _TINY)
    for column in range(values.shape[1]):
        moved = project(signs * values[:, column])
        averages[:, column] = (base * moved).sum(axis=0) / total
        rest = moved - base * averages[:, column]
        error[:, column] = np.sqrt(((base * rest) ** 2).sum(axis=0)) / total
    return averages, error


def canonical_measure(graph: GraphLike, length: str = "length") -> CanonicalMeasure:
    """Return the canonical measure of a metric graph.

    Let every edge be a resistor of its length, and let R_e be the effective resistance between the ends
    of edge e. The mass of e is F_e = 1 - R_e / length_e = length_e / (length_e + R'_e), where R'_e is the
    resistance between the same points without the edge. It is the probability that a random spanning
    forest, weighted by the product of the lengths of the edges outside it, does not contain e. Spread
    evenly along each edge, the masses form a measure on the metric space, which does not depend on
    subdivision or numbering. Bridges have mass 0, loops have mass 1, and the total is the genus.

    Parameters
    ----------
    graph
        A `MetricGraph`, or anything that `as_metric_graph` takes.
    length
        Name of the edge attribute with the length, for a graph that is not a `MetricGraph`.

    Notes
    -----
    The masses are exact even for networks of a million edges: see `torelli._numerics.resistance`.

    Baker and Faber's canonical measure has total mass 1. It is the sum of this
    measure and the point masses 1 - degree / 2 at the nodes.

    References
    ----------
    R. M. Foster, The average impedance of an electrical network, Contributions to Applied Mechanics
    (1949) 333-340.

    S. Zhang, Admissible pairing on a curve, Inventiones mathematicae 112 (1993) 171-193.

    M. Baker and X. Faber, Metrized graphs, Laplacian operators, and electrical networks, Contemporary
    Mathematics 415 (2006) 15-33.

    Examples
    --------
    Two parallel edges and a dead end:

    >>> from torelli import MetricGraph, canonical_measure
    >>> measure = canonical_measure(MetricGraph([0, 0, 1], [1, 1, 2], [1.0, 3.0, 2.0]))
    >>> measure.edge_mass.round(12).tolist(), float(measure.mass.sum())
    ([0.25, 0.75, 0.0], 1.0)
    """
    graph = as_metric_graph(graph, length)
    tail, head, lengths = graph.tail.copy(), graph.head.copy(), graph.length.copy()
    edge_class, _, core_tail, core_head, total, n_core, *_ = core_of(tail, head, lengths, graph.n_nodes)
    class_mass = masses(core_tail, core_head, total, n_core)
    edge_mass = spread_masses(edge_class, lengths, total, class_mass)
    segment, ends, degree = segment_ends(tail, head, graph.n_nodes)
    points = np.flatnonzero(degree != _ORDINARY)
    return CanonicalMeasure(
        graph=graph,
        edge_mass=edge_mass,
        segment=segment,
        points=points,
        degree=degree[points],
        ends=ends.reshape(-1, 2),
        length=class_totals(segment, lengths, len(ends) // 2),
        mass=class_totals(segment, edge_mass, len(ends) // 2),
        edge_class=edge_class,
        class_length=total,
        class_mass=class_mass,
        _core=(core_tail, core_head, int(n_core)),
    )


@compiled
def spread_masses(edge_class: Ints, length: Floats, total: Floats, class_mass: Floats) -> Floats:
    """Return the mass of each edge: its share, by length, of the mass of its C1-set."""
    edge_mass = np.empty(len(length), np.float64)
    for edge in range(len(length)):
        c1_set = edge_class[edge]
        edge_mass[edge] = class_mass[c1_set] * (length[edge] / total[c1_set]) if c1_set >= 0 else 0.0
    return edge_mass


@compiled
def segment_ends(tail: Ints, head: Ints, n_nodes: int) -> tuple[Ints, Ints, Ints]:
    """Return the segment of each edge, the two end nodes of each segment (-1: circle), and all degrees.

    The ends are in a flat array, those of each segment next to each other.
    """
    segment, n_segments = segments(tail, head, n_nodes)
    degree = ints(n_nodes, 0)
    for edge in range(len(tail)):
        degree[tail[edge]] += 1
        degree[head[edge]] += 1
    ends = ints(2 * n_segments, -1)
    for edge in range(len(tail)):
        for side in range(2):
            node = head[edge] if side else tail[edge]
            if degree[node] != _ORDINARY:
                low = 2 * segment[edge]
                one = ends[low]
                ends[low] = node if one < 0 else min(one, node)
                if one >= 0:
                    ends[low + 1] = max(one, node)
    return segment, ends, degree
