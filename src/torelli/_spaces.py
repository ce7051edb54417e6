"""Batches of metric graphs as arrays: essential points, segments and what is near them, or C1-sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli._numerics.core import class_totals, core_and_basis
from torelli._numerics.diffusion import POSITIONS, diffuse, diffuse_large, sources
from torelli._numerics.resistance import edge_masses, eliminate, eliminate_rest, write_rows
from torelli.measure import canonical_measure, segment_ends, spread_masses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph


_CHUNK = 4096  # edges processed by one task
_IN_MATRIX = 1500  # largest number of edges for which a graph's currents are computed as a matrix
_IN_STARS = 1500  # largest number of points for which diffusion is computed by stars around the ground
_CIRCLE = 2.0  # degree of the point that represents a circle without essential points
_TINY = 1e-300
_SHORT = (
    10.0**-0.5
)  # the smallest scale of diffusion, in units of length; each next is 10**0.5 times as large
SOURCES = ("branching", "mass", "dead ends")


class Junctions(NamedTuple):
    """Essential points and segments of all graphs, concatenated.

    Attributes
    ----------
    point_offsets, segment_offsets
        Start of the points and the segments of each graph, and the end of the last.
    degree
        Degree of each point. A circle without essential points has one point, of degree 2.
    tail, head
        The points at the ends of each segment, numbered across all graphs.
    length, mass
        Length and mass of each segment.
    """

    point_offsets: Ints
    segment_offsets: Ints
    degree: Floats
    tail: Ints
    head: Ints
    length: Floats
    mass: Floats


class Classes(NamedTuple):
    """C1-sets of all graphs, concatenated.

    Attributes
    ----------
    offsets
        Start of the C1-sets of each graph, and the end of the last.
    length
        Total length of each C1-set.
    columns
        Logarithm of the length, and mass; then both averaged along currents once, twice, and so on.
    """

    offsets: Ints
    length: Floats
    columns: Floats


def offsets_of(sizes: Ints | list[int]) -> Ints:
    """Return the start of each part in a concatenation, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def chunks(offsets: Ints) -> list[tuple[int, int]]:
    """Return ranges of graphs with about equal numbers of parts; `offsets` are those of the parts."""
    part = (offsets[:-1] + offsets[1:]) // (2 * _CHUNK)
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    return list(zip(starts, [*starts[1:], len(part)], strict=True))


def _arrays(graphs: list[MetricGraph]) -> tuple[Ints, Ints, Floats, Ints, Ints]:
    tail = np.concatenate([np.empty(0, np.int64), *(graph.tail for graph in graphs)])
    head = np.concatenate([np.empty(0, np.int64), *(graph.head for graph in graphs)])
    length = np.concatenate([np.empty(0), *(graph.length for graph in graphs)])
    edge_offsets = offsets_of([graph.n_edges for graph in graphs])
    return tail, head, length, edge_offsets, offsets_of([graph.n_nodes for graph in graphs])


def _filled(offsets: Ints, counts: Ints) -> NDArray[np.bool_]:
    """Return which entries are in use, if each graph has filled its range from the start."""
    sizes = np.diff(offsets)
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    filled: NDArray[np.bool_] = position < np.repeat(counts, sizes)
    return filled


def junctions(graphs: list[MetricGraph], n_jobs: int | None) -> Junctions:
    """Return the essential points and the segments of graphs."""
    arrays = _arrays(graphs)
    edge_offsets, node_offsets = arrays[3:]
    n_points, n_segments = np.zeros(len(graphs), np.int64), np.zeros(len(graphs), np.int64)
    ends = np.empty((edge_offsets[-1], 2), np.int64)
    degree, lengths, masses = (
        np.empty(node_offsets[-1]),
        np.empty(edge_offsets[-1]),
        np.empty(edge_offsets[-1]),
    )

    def work(start: int, stop: int) -> None:
        _fill_junctions(*arrays, degree, ends, lengths, masses, n_points, n_segments, start, stop)

    threads.run(work, chunks(edge_offsets), n_jobs)
    points, used = _filled(node_offsets, n_points), _filled(edge_offsets, n_segments)
    point_offsets = offsets_of(n_points)
    ends = ends[used] + np.repeat(point_offsets[:-1], n_segments)[:, None]
    one, two = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    return Junctions(
        point_offsets, offsets_of(n_segments), degree[points], one, two, lengths[used], masses[used]
    )


@compiled
def _fill_junctions(
    tail: Ints,
    head: Ints,
    length: Floats,
    edge_offsets: Ints,
    node_offsets: Ints,
    degree: Floats,
    ends: Ints,
    lengths: Floats,
    masses: Floats,
    n_points: Ints,
    n_segments: Ints,
    start: int,
    stop: int,
) -> None:
    for graph in range(start, stop):
        a, b, first = edge_offsets[graph], edge_offsets[graph + 1], node_offsets[graph]
        n_nodes = node_offsets[graph + 1] - first
        parts = core_and_basis(tail[a:b], head[a:b], length[a:b], n_nodes)
        class_mass = edge_masses(parts[2], parts[3], parts[4], parts[5])
        edge_mass = spread_masses(parts[0], length[a:b], parts[4], class_mass)
        segment, nodes, degrees = segment_ends(tail[a:b], head[a:b], n_nodes)
        point = np.full(n_nodes, -1, np.int64)
        count = 0
        for node in range(n_nodes):
            if degrees[node] != _CIRCLE:
                point[node] = count
                degree[first + count] = degrees[node]
                count += 1
        for one in range(len(nodes)):
            if nodes[one, 0] < 0:
                ends[a + one] = count
                degree[first + count] = _CIRCLE
                count += 1
            else:
                ends[a + one, 0], ends[a + one, 1] = point[nodes[one, 0]], point[nodes[one, 1]]
        lengths[a : a + len(nodes)] = class_totals(segment, length[a:b], len(nodes))
        masses[a : a + len(nodes)] = class_totals(segment, edge_mass, len(nodes))
        n_points[graph] = count
        n_segments[graph] = len(nodes)


def surroundings(spaces: Junctions, unit: Floats, n_scales: int, start: int, stop: int) -> Floats:
    """Return the densities of branching, mass and dead ends on the segments of graphs, at several scales.

    Parameters
    ----------
    spaces
        Graphs.
    unit
        The unit of length for each graph. The scales are 10**-0.5, 1, 10**0.5, ... units.
    n_scales
        Number of scales.
    start, stop
        The range of graphs.

    Returns
    -------
    densities
        The inverse hyperbolic sine of each density, of shape (n_segments, 3, 3 * n_scales): for each
        segment of the range, at the `POSITIONS` on it, scale by scale.
    """
    first = spaces.segment_offsets[start]
    count = spaces.segment_offsets[stop] - first
    out = np.empty((count, len(POSITIONS), len(SOURCES) * n_scales))
    large = np.diff(spaces.point_offsets[start : stop + 1]) > _IN_STARS
    _fill_surroundings(*spaces, unit, large, n_scales, start, out)
    for graph in (start + np.flatnonzero(large)).tolist():
        a, b = spaces.segment_offsets[graph : graph + 2] - first
        p, q = spaces.point_offsets[graph : graph + 2]
        part = slice(first + a, first + b)
        tail, head, length = spaces.tail[part] - p, spaces.head[part] - p, spaces.length[part] / unit[graph]
        given = sources(tail, head, length, spaces.mass[part], spaces.degree[p:q], _SHORT)
        for at in range(n_scales):
            columns = slice(at * len(SOURCES), (at + 1) * len(SOURCES))
            out[a:b, :, columns] = diffuse_large(tail, head, length, *given, _SHORT * 10.0 ** (at / 2.0))
    return np.arcsinh(out, out=out)


@compiled
def _fill_surroundings(
    point_offsets: Ints,
    segment_offsets: Ints,
    degree: Floats,
    tail: Ints,
    head: Ints,
    length: Floats,
    mass: Floats,
    unit: Floats,
    large: NDArray[np.bool_],
    n_scales: int,
    start: int,
    out: Floats,
) -> None:
    first = segment_offsets[start]
    for graph in range(start, start + len(large)):
        if large[graph - start]:
            continue
        a, b = segment_offsets[graph], segment_offsets[graph + 1]
        p, q = point_offsets[graph], point_offsets[graph + 1]
        one, two, lengths = tail[a:b] - p, head[a:b] - p, length[a:b] / unit[graph]
        at_points, on_segments = sources(one, two, lengths, mass[a:b], degree[p:q], _SHORT)
        for at in range(n_scales):
            spread = diffuse(one, two, lengths, at_points, on_segments, _SHORT * 10.0 ** (at / 2.0))
            n_sources = at_points.shape[1]
            out[a - first : b - first, :, at * n_sources : (at + 1) * n_sources] = spread


def classes(graphs: list[MetricGraph], depth: int, n_jobs: int | None) -> Classes:
    """Return the C1-sets of graphs, with the averages of length and mass along currents."""
    arrays = _arrays(graphs)
    edge_offsets = arrays[3]
    n_classes = np.zeros(len(graphs), np.int64)
    lengths, columns = np.empty(edge_offsets[-1]), np.empty((edge_offsets[-1], 2 * depth + 2))
    large = np.diff(edge_offsets) > _IN_MATRIX

    def work(start: int, stop: int) -> None:
        _fill_classes(*arrays, large, lengths, columns, n_classes, start, stop)

    threads.run(work, chunks(edge_offsets), n_jobs)
    for i in np.flatnonzero(large).tolist():
        measure, first = canonical_measure(graphs[i]), edge_offsets[i]
        stop = first + measure.n_classes
        n_classes[i] = measure.n_classes
        lengths[first:stop] = measure.class_length
        columns[first:stop, 0] = np.log(measure.class_length)
        columns[first:stop, 1] = measure.class_mass
        for column in range(2, 2 * depth + 2):
            product, _ = measure.along_currents(columns[first:stop, column - 2])
            columns[first:stop, column] = product / np.maximum(measure.class_mass, _TINY)
    used = _filled(edge_offsets, n_classes)
    return Classes(offsets_of(n_classes), lengths[used], columns[used])


@compiled
def _fill_classes(
    tail: Ints,
    head: Ints,
    length: Floats,
    edge_offsets: Ints,
    node_offsets: Ints,
    large: NDArray[np.bool_],
    lengths: Floats,
    columns: Floats,
    n_classes: Ints,
    start: int,
    stop: int,
) -> None:
    for graph in range(start, stop):
        a, b, n_nodes = (
            edge_offsets[graph],
            edge_offsets[graph + 1],
            node_offsets[graph + 1] - node_offsets[graph],
        )
        if large[graph]:
            continue
        parts = core_and_basis(tail[a:b], head[a:b], length[a:b], n_nodes)
        core_tail, core_head, total, n_core = parts[2], parts[3], parts[4], parts[5]
        size = len(total)
        factor, _ = eliminate(core_tail, core_head, total, n_core)
        eliminate_rest(factor)
        chain = np.empty((size, size), np.float64)
        write_rows(core_tail, core_head, np.arange(size), factor, chain)
        for one in range(size):
            mass = 0.0
            for two in range(size):
                current = (1.0 if one == two else 0.0) - chain[one, two] / np.sqrt(total[one] * total[two])
                chain[one, two] = current * current
                mass += chain[one, two]
            for two in range(size):
                chain[one, two] /= max(mass, _TINY)
            lengths[a + one] = total[one]
            columns[a + one, 0] = np.log(total[one])
            columns[a + one, 1] = mass
        for column in range(2, columns.shape[1]):
            for one in range(size):
                mean = 0.0
                for two in range(size):
                    mean += chain[one, two] * columns[a + two, column - 2]
                columns[a + one, column] = mean
        n_classes[graph] = size
