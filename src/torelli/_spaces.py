"""Batches of metric graphs as arrays: essential points, segments and densities, or C1-sets."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli._errors import DataWarning, warn
from torelli._numerics import threads
from torelli._numerics.batch import Batch, offsets_of
from torelli._numerics.compile import compiled
from torelli._numerics.core import class_totals
from torelli._numerics.diffusion import POSITIONS, diffuse, diffuse_large, sources
from torelli._numerics.forest import each, ints
from torelli._numerics.resistance import LARGE, conductive, edge_masses, eliminate, eliminate_rest, write_rows
from torelli._numerics.resistance import masses as network_masses
from torelli._numerics.returns import returns, returns_large, thicknesses
from torelli._validate import positions
from torelli.measure import average_along_currents, canonical_measure, segment_ends, spread_masses

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from torelli._types import Flags, Floats, Ints
    from torelli.graph import MetricGraph


_CHUNK = 4096  # edges processed by one task
_IN_MATRIX = 1500  # largest number of edges for which a graph's currents are computed as a matrix
_IN_STARS = 1500  # largest number of points for which stars around the ground are eliminated
_CIRCLE = 2.0  # degree of the point that represents a circle without essential points
_TINY = 1e-300
_EQUAL = 1e-9  # relative differences between numbers that count as none, in warnings
_SHORT = (
    10.0**-0.5
)  # the smallest scale of diffusion, in units of length; each next is 10**0.5 times as large
SOURCES = ("branching", "mass", "dead ends")
_SHORTEST, _THIN = 1.0 / 4.0, 0.05  # the smallest scale of returns, in units of length; thickness of trees


class Junctions(NamedTuple):
    """Essential points and segments of all graphs, concatenated.

    Attributes
    ----------
    point_offsets, segment_offsets
        Position of the first point and the first segment of each graph, followed by the totals.
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

    def take(self, graphs: ArrayLike) -> Junctions:
        """Return some of the graphs, in the given order: positions from 0 on, or a mask."""
        graphs = _positions(graphs, self.point_offsets)
        point_offsets, points = _selected(self.point_offsets, graphs)
        segment_offsets, segments = _selected(self.segment_offsets, graphs)
        shift = np.repeat(point_offsets[:-1] - self.point_offsets[graphs], np.diff(segment_offsets))
        ends = (self.tail[segments] + shift, self.head[segments] + shift)
        values = (self.length[segments], self.mass[segments])
        return Junctions(point_offsets, segment_offsets, self.degree[points], *ends, *values)


class Classes(NamedTuple):
    """C1-sets of all graphs, concatenated.

    Attributes
    ----------
    offsets
        Position of the first C1-set of each graph, followed by the number of all C1-sets.
    length
        Total length of each C1-set.
    columns
        Logarithm of the length, and mass; then both averaged along currents once, twice, and so on.
    """

    offsets: Ints
    length: Floats
    columns: Floats

    def take(self, graphs: ArrayLike) -> Classes:
        """Return some of the graphs, in the given order: positions from 0 on, or a mask."""
        offsets, parts = _selected(self.offsets, _positions(graphs, self.offsets))
        return Classes(offsets, self.length[parts], self.columns[parts])


def _positions(graphs: ArrayLike, offsets: Ints) -> Ints:
    return positions(graphs, len(offsets) - 1, "take", repeats=True)


def _selected(offsets: Ints, graphs: Ints) -> tuple[Ints, Ints]:
    """Return the offsets of the parts of some graphs, and the positions of these parts among all."""
    counts = np.diff(offsets)[graphs]
    selected = offsets_of(counts)
    return selected, np.arange(selected[-1]) + np.repeat(offsets[graphs] - selected[:-1], counts)


def chunks(offsets: Ints) -> list[tuple[int, int]]:
    """Return ranges of graphs with about equal numbers of parts; `offsets` are those of the parts."""
    part = (offsets[:-1] + offsets[1:]) // (2 * _CHUNK)
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    return list(pairwise([*starts, len(part)]))


def _filled(offsets: Ints, counts: Ints) -> Flags:
    """Return which entries are in use, if each graph has filled its range from the start."""
    sizes = np.diff(offsets)
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    filled: Flags = position < np.repeat(counts, sizes)
    return filled


def junctions(graphs: list[MetricGraph], n_jobs: int | None) -> Junctions:
    """Return the essential points and the segments of graphs."""
    batch = Batch(graphs)
    cores = batch.cores(n_jobs)
    edge_offsets, node_offsets = batch.edge_offsets, offsets_of(batch.n_nodes)
    n_points, n_segments = np.zeros(len(graphs), np.int64), np.zeros(len(graphs), np.int64)
    ends = np.empty((edge_offsets[-1], 2), np.int64)
    degree, lengths, masses = (
        np.empty(node_offsets[-1]),
        np.empty(edge_offsets[-1]),
        np.empty(edge_offsets[-1]),
    )

    # each large network by itself, in a way that pays off only for these
    large = cores.n_nodes >= LARGE
    known = np.empty(edge_offsets[-1] if large.any() else 0)
    for i in np.flatnonzero(large).tolist():
        part = slice(edge_offsets[i], edge_offsets[i] + cores.n_classes[i])
        core = cores.tail[part], cores.head[part], cores.total[part], int(cores.n_nodes[i])
        known[part] = network_masses(*core)

    arrays = (
        batch.tail, batch.head, batch.length, edge_offsets, node_offsets,
        cores.edge_class, cores.tail, cores.head, cores.total, cores.n_classes, cores.n_nodes, large, known,
        degree, ends.reshape(-1), lengths, masses, n_points, n_segments,
    )  # fmt: skip
    threads.run(lambda start, stop: _fill_junctions(*arrays, start, stop), chunks(edge_offsets), n_jobs)
    points, used = _filled(node_offsets, n_points), _filled(edge_offsets, n_segments)
    point_offsets = offsets_of(n_points)
    ends = ends[used] + np.repeat(point_offsets[:-1], n_segments)[:, None]
    one, two = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    return Junctions(
        point_offsets, offsets_of(n_segments), degree[points], one, two, lengths[used], masses[used]
    )


@compiled
def _fill_junctions(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, node_offsets: Ints,
    edge_class: Ints, core_tail: Ints, core_head: Ints, total: Floats, n_classes: Ints, n_core: Ints,
    large: Flags, known: Floats,
    degree: Floats, ends: Ints, lengths: Floats, masses: Floats, n_points: Ints, n_segments: Ints,
    start: int, stop: int,
) -> None:  # fmt: skip
    for graph in range(start, stop):
        a, b, first = edge_offsets[graph], edge_offsets[graph + 1], node_offsets[graph]
        n_nodes, c = node_offsets[graph + 1] - first, a + n_classes[graph]
        if large[graph]:
            class_mass = known[a:c]
        else:
            class_mass = edge_masses(core_tail[a:c], core_head[a:c], total[a:c], n_core[graph])
        edge_mass = spread_masses(edge_class[a:b], length[a:b], total[a:c], class_mass)
        segment, nodes, degrees = segment_ends(tail[a:b], head[a:b], n_nodes)
        point = ints(n_nodes, -1)
        count = 0
        for node in range(n_nodes):
            if degrees[node] != _CIRCLE:
                point[node] = count
                degree[first + count] = degrees[node]
                count += 1
        size = len(nodes) // 2
        segment_length = class_totals(segment, length[a:b], size)
        segment_mass = class_totals(segment, edge_mass, size)
        for one in range(size):
            lengths[a + one], masses[a + one] = segment_length[one], segment_mass[one]
            if nodes[2 * one] < 0:
                ends[2 * (a + one)] = ends[2 * (a + one) + 1] = count
                degree[first + count] = _CIRCLE
                count += 1
            else:
                ends[2 * (a + one)] = point[nodes[2 * one]]
                ends[2 * (a + one) + 1] = point[nodes[2 * one + 1]]
        n_points[graph] = count
        n_segments[graph] = size


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
        tail, head = spaces.tail[part] - p, spaces.head[part] - p
        length = _in_units(spaces.length[part], unit[graph])
        given = sources(tail, head, length, spaces.mass[part], spaces.degree[p:q], _SHORT)
        for step in range(n_scales):
            columns = slice(step * len(SOURCES), (step + 1) * len(SOURCES))
            out[a:b, :, columns] = diffuse_large(tail, head, length, *given, _SHORT * 10.0 ** (step / 2.0))
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
    large: Flags,
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
        one, two, lengths = tail[a:b] - p, head[a:b] - p, _in_units(length[a:b], unit[graph])
        at_points, on_segments = sources(one, two, lengths, mass[a:b], degree[p:q], _SHORT)
        for step in range(n_scales):
            spread = diffuse(one, two, lengths, at_points, on_segments, _SHORT * 10.0 ** (step / 2.0))
            n_sources = at_points.shape[1]
            out[a - first : b - first, :, step * n_sources : (step + 1) * n_sources] = spread


@compiled
def _in_units(length: Floats, unit: float) -> Floats:
    # of a graph with lengths from 1e-300 to 1e300, quotients may underflow
    lengths: Floats = np.maximum(length / unit, _TINY)
    return lengths


def thickness_of(spaces: Junctions) -> Floats:
    """Return the thickness of each segment: 1 in the 2-core of its graph, 0.05 on trees attached to it."""
    return thicknesses(spaces.tail, spaces.head, len(spaces.degree), _THIN)


def return_changes(
    spaces: Junctions, thickness: Floats, unit: Floats, n_scales: int, start: int, stop: int
) -> Floats:
    """Return how the logarithm of returns changes from scale to scale, on the segments of graphs.

    Parameters
    ----------
    spaces, thickness
        Graphs, and the thickness of their segments.
    unit
        The unit of length for each graph. The scales are 1/4, sqrt(2)/4, 1/2, ... units.
    n_scales
        Number of scales, at least 2.
    start, stop
        The range of graphs.

    Returns
    -------
    changes
        Array of shape (n_segments, 3, 2 * n_scales - 3), at the `POSITIONS` on each segment: the first
        differences from scale to scale, then the second differences.
    """
    first = spaces.segment_offsets[start]
    count = spaces.segment_offsets[stop] - first
    out = np.empty((count, len(POSITIONS), n_scales))
    large = np.diff(spaces.point_offsets[start : stop + 1]) > _IN_STARS
    tail, head, length = spaces.tail, spaces.head, spaces.length
    _fill_returns(
        spaces.point_offsets, spaces.segment_offsets, tail, head, length, thickness, unit, large, start, out
    )
    for graph in (start + np.flatnonzero(large)).tolist():
        a, b = spaces.segment_offsets[graph : graph + 2]
        p, q = spaces.point_offsets[graph : graph + 2]
        part = (tail[a:b] - p, head[a:b] - p, length[a:b] / unit[graph], thickness[a:b], int(q - p))
        for step in range(n_scales):
            out[a - first : b - first, :, step] = returns_large(*part, _SHORTEST * 2.0 ** (step / 2.0))
    # rounding must not take the logarithm of 0
    np.log(np.maximum(out, _TINY, out=out), out=out)
    return np.concatenate([np.diff(out, axis=2), np.diff(out, 2, axis=2)], axis=2)


@compiled
def _fill_returns(
    point_offsets: Ints,
    segment_offsets: Ints,
    tail: Ints,
    head: Ints,
    length: Floats,
    thickness: Floats,
    unit: Floats,
    large: Flags,
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
        for step in range(out.shape[2]):
            at_scale = returns(one, two, lengths, thickness[a:b], q - p, _SHORTEST * 2.0 ** (step / 2.0))
            out[a - first : b - first, :, step] = at_scale


def classes(graphs: list[MetricGraph], depth: int, n_jobs: int | None, first_graph: int = 0) -> Classes:
    """Return the C1-sets of graphs, with the averages of length and mass along currents.

    Warnings count the graphs from `first_graph` on.
    """
    batch = Batch(graphs)
    cores = batch.cores(n_jobs)
    edge_offsets, n_classes = batch.edge_offsets, cores.n_classes
    lengths, columns = np.empty(edge_offsets[-1]), np.empty((edge_offsets[-1], 2 * depth + 2))
    large = np.diff(edge_offsets) > _IN_MATRIX

    arrays = (
        cores.tail, cores.head, cores.total, edge_offsets, n_classes, cores.n_nodes, large, lengths, columns
    )  # fmt: skip
    threads.run(lambda start, stop: _fill_classes(*arrays, start, stop), chunks(edge_offsets), n_jobs)
    for i in np.flatnonzero(large).tolist():
        measure, first = canonical_measure(graphs[i]), edge_offsets[i]
        stop = first + measure.n_classes
        lengths[first:stop] = measure.class_length
        columns[first:stop, 0] = np.log(measure.class_length)
        columns[first:stop, 1] = measure.class_mass
        for column in range(2, 2 * depth + 2, 2):
            values = columns[first:stop, column - 2 : column]
            averages, error = average_along_currents(measure, values)
            columns[first:stop, column : column + 2] = averages
            largest = np.abs(values).max(axis=0, initial=0.0)
            if (error > _EQUAL * largest).any():
                share = np.median(error, axis=0) / np.maximum(values.std(axis=0), _EQUAL * largest)
                warn(
                    f"graph {first_graph + i:,}: averages along currents of {measure.n_classes:,} C1-sets "
                    f"are estimated by random probes, with a standard error of {share[0]:.1%} of the spread "
                    f"of log lengths and {share[1]:.1%} of that of masses (median)",
                    DataWarning,
                )
    used = _filled(edge_offsets, n_classes)
    return Classes(offsets_of(n_classes), lengths[used], columns[used])


@compiled
def _fill_classes(
    core_tail: Ints, core_head: Ints, core_total: Floats, edge_offsets: Ints, n_classes: Ints, n_core: Ints,
    large: Flags, lengths: Floats, columns: Floats, start: int, stop: int,
) -> None:  # fmt: skip
    for graph in range(start, stop):
        if large[graph]:
            continue
        a, size = edge_offsets[graph], n_classes[graph]
        tail, head, total = core_tail[a : a + size], core_head[a : a + size], core_total[a : a + size]
        conducted = conductive(total)
        factor, _ = eliminate(tail, head, conducted, n_core[graph])
        eliminate_rest(factor)
        chain = np.empty((size, size), np.float64)
        write_rows(tail, head, each(size), factor, chain)
        for one in range(size):
            mass = 0.0
            for two in range(size):
                # root by root: a product of lengths may overflow
                share = chain[one, two] / np.sqrt(conducted[one]) / np.sqrt(conducted[two])
                current = (1.0 if one == two else 0.0) - share
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
