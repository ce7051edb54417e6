"""Explicit feature vectors from the canonical measure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._errors import InvalidOptionError, unknown_option
from torelli._estimators import GraphFeatures, check_stored, is_array
from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli._spaces import Classes, Junctions, chunks, classes, junctions
from torelli.io import as_metric_graphs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph


Along = Literal["junctions", "currents"]
Scale = Literal["absolute", "relative"]
Weights = Literal["count", "length"]
ALONG: tuple[Along, ...] = ("junctions", "currents")
SCALES: tuple[Scale, ...] = ("absolute", "relative")
WEIGHTS: tuple[Weights, ...] = ("count", "length")
_DEPTH = {"junctions": 3, "currents": 1}
_DTYPES = ("float64", "float32")
_LEAST_SPREAD = 0.1  # added to the spread of log lengths, which is 0 for equal lengths
_MASS = 2.0  # weight of the mass relative to the logarithm of the length
_ISOLATED = 0.5  # degree used for an isolated point, because the logarithm of 0 is infinite
_POINTS, _SEGMENTS = 0, 1  # blocks along junctions, followed by one for each step
_OCTAVES = (0.5, 1.0, 2.0)  # frequencies along currents


class Places(NamedTuple):
    """Features of the points, segments or C1-sets of some graphs, for one block of the vector.

    Attributes
    ----------
    block
        The index of the block.
    rows
        One row of features for each place (point, segment or C1-set); columns beyond the number of
        features are not used.
    weight
        The weight of each place.
    offsets
        Start of the places of each graph, and the end of the last.
    """

    block: int
    rows: NDArray[Any]
    weight: Floats
    offsets: Ints


class MeasureFeatures(GraphFeatures):
    """Explicit feature vectors from the canonical measure, one row for each graph.

    Along junctions, the vector of a graph depends only on the metric space. Random Fourier features describe
    the segments by their length and canonical mass, and the essential points (degree other than 2) by their
    degree. Each point then passes its features to its neighbours through the segments between them, `depth`
    times. Each block of the vector is a sum of features over points or segments.

    Along currents, the vector depends only on the tropical Jacobian: bridges, trees and twists do not change
    it. Random Fourier features describe each C1-set by its length and mass, and by the averages of both
    along the Markov chain of squared currents (see `CanonicalMeasure.currents`).

    Neither needs a basis, an order or an orientation. So ties between lengths do not matter, and small
    changes of lengths change the vector little.

    Parameters
    ----------
    along
        ``"junctions"`` or ``"currents"``.
    depth
        Number of steps by which the features of a point (or C1-set) reach its surroundings. None: 3 along
        junctions, 1 along currents.
    n_features
        Number of features in each block. There are ``depth + 2`` blocks along junctions (points,
        segments, one for each step), and one along currents.
    scale
        ``"absolute"``: lengths as given. ``"relative"``: lengths in units of the length-weighted mean
        length of the segments (C1-sets) of the same graph, so that the unit of length does not matter.
    weights
        Weights of points and segments (C1-sets). ``"count"``: 1 along junctions, the mass along currents.
        ``"length"``: proportional to length; a point has half the length of each segment that ends there.
        With weights by length, short segments have little influence, so that merging short segments in
        the preparation of a network changes its vector little. None: ``"count"`` along junctions,
        ``"length"`` along currents.
    size
        Influence of the size of a graph, from 0 to 1: each block is divided by its norm to the power of
        ``1 - size``. With 1 blocks are plain sums, with 0 they have unit norm.
    seed
        Seed of the random weights. They come from the raw words of the Philox generator and do not
        depend on the version of numpy.
    dtype
        ``"float64"``, or ``"float32"`` for half the memory.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    location_, spread_
        Location and spread by which inputs are scaled: mean and standard deviation of the logarithm of
        length over the segments of the training graphs or, along currents, of each column over the C1-sets.

    Notes
    -----
    Along junctions, let l be the length and F the mass of a segment, d the degree of a point, and let W, A
    and B be random weights and b random phases:

    - segments: phi = sqrt(2) cos(W (log(1 + l / l_0) / spread, 2 F) + b), with l_0 = exp(location - 1);
    - points: h_0 = sqrt(2) cos(W log d + b);
    - step k: h_k(v) = sqrt(2) cos(A h_(k-1)(v) + B m(v) + b), where m(v) is the sum of
      phi(s) * h_(k-1)(other end of s) over the segments s at v, divided by the square root of d.

    The inner product of two vectors is a kernel between graphs, positive definite by construction. It is a
    sum over pairs of places, so that every similarity can be traced to places (`place_contributions`).

    With weights by count, the vector jumps when a segment shrinks to a point, because two points become
    one. Along currents with weights by length it is continuous, even when a loop shrinks to a point.

    Examples
    --------
    >>> from torelli import MeasureFeatures, MetricGraph
    >>> theta = MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> finer = theta.subdivide(5, seed=1)
    >>> X = MeasureFeatures(n_features=16).fit_transform([theta, finer])
    >>> X.shape, bool(abs(X[0] - X[1]).max() < 1e-12)
    ((2, 80), True)
    """

    def __init__(
        self,
        *,
        along: Along = "junctions",
        depth: int | None = None,
        n_features: int = 128,
        scale: Scale = "absolute",
        weights: Weights | None = None,
        size: float = 0.5,
        seed: int = 0,
        dtype: Literal["float64", "float32"] = "float64",
        length: str = "length",
        n_jobs: int | None = None,
    ) -> None:
        self.along = along
        self.depth = depth
        self.n_features = n_features
        self.scale = scale
        self.weights = weights
        self.size = size
        self.seed = seed
        self.dtype = dtype
        self.length = length
        self.n_jobs = n_jobs

    def _fit(self, X: Sequence[Any]) -> None:
        """Learn the location and spread of the inputs."""
        self._learn(self._spaces(X))

    def _fit_transform(self, X: Sequence[Any]) -> NDArray[Any]:
        spaces = self._spaces(X)
        self._learn(spaces)
        return self._embed(spaces)

    def transform(self, X: Sequence[Any]) -> NDArray[Any]:
        """Return the vector of each graph, as an array of shape (n_graphs, n_columns)."""
        check_is_fitted(self)
        return self._embed(self._spaces(X))

    def _feature_names(self) -> list[str]:
        """Return the name of each column: its block and its position in the block."""
        self._check_parameters()
        return [f"{block}_{column}" for block in self._blocks() for column in range(self.n_features)]

    @property
    def _depth(self) -> int:
        return _DEPTH[self.along] if self.depth is None else self.depth

    def _blocks(self) -> list[str]:
        if self.along == "currents":
            return ["currents"]
        return ["points", "segments", *(f"step{step}" for step in range(1, self._depth + 1))]

    def _check_parameters(self) -> None:
        if self.along not in ALONG:
            raise unknown_option("along", self.along, ALONG)
        if self.scale not in SCALES:
            raise unknown_option("scale", self.scale, SCALES)
        if self.weights is not None and self.weights not in WEIGHTS:
            raise unknown_option("weights", self.weights, [*WEIGHTS, "None"])
        if str(self.dtype) not in _DTYPES:
            raise unknown_option("dtype", self.dtype, _DTYPES)
        values = {"depth": (self._depth, 0), "n_features": (self.n_features, 1), "seed": (self.seed, 0)}
        for name, (value, least) in values.items():
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise InvalidOptionError(f"{name} is {value!r}: use a whole number of at least {least}")
        if not 0.0 <= self.size <= 1.0:
            raise InvalidOptionError(f"size is {self.size!r}: use a number from 0 to 1")

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
        width = 1 if self.along == "junctions" else 2 * self._depth + 2
        for name in ("location_", "spread_"):
            check_stored(self, name, f"{width} numbers", ok=is_array(fitted.get(name), width))
        check_stored(self, "spread_", "positive", ok=bool((self.spread_ > 0.0).all()))

    def _spaces(self, X: Sequence[Any]) -> Junctions | Classes:
        self._check_parameters()
        graphs = as_metric_graphs(X, self.length)
        if self.along == "junctions":
            return junctions(graphs, self.n_jobs)
        return classes(graphs, self._depth, self.n_jobs)

    def _learn(self, spaces: Junctions | Classes) -> None:
        if isinstance(spaces, Junctions):
            logs = np.log(spaces.length) - np.repeat(*self._units(spaces.length, spaces.segment_offsets))
            columns, weight = logs[:, None], np.ones(len(logs))
        else:
            columns, weight = self._columns(spaces)
        if not len(columns):
            columns, weight = np.zeros((1, columns.shape[1])), np.ones(1)
        self.location_: Floats = np.average(columns, axis=0, weights=weight)
        variance = np.average((columns - self.location_) ** 2, axis=0, weights=weight)
        self.spread_: Floats = np.sqrt(variance) + _LEAST_SPREAD

    def _units(self, length: Floats, offsets: Ints) -> tuple[Floats, Ints]:
        """Return the logarithm of each graph's unit of length, and its number of lengths."""
        counts = np.diff(offsets)
        unit = np.zeros(len(counts))
        if self.scale == "relative":
            graph = np.repeat(np.arange(len(counts)), counts)
            largest = np.zeros(len(counts))
            np.maximum.at(largest, graph, length)  # so that squares of lengths neither overflow nor underflow
            part = length / largest[graph]
            total = np.bincount(graph, part, len(counts))
            mean = np.bincount(graph, part**2, len(counts))[counts > 0] / total[counts > 0]
            unit[counts > 0] = np.log(mean) + np.log(largest[counts > 0])
        return unit, counts

    def _columns(self, spaces: Classes) -> tuple[Floats, Floats]:
        """Return the columns of C1-sets in the units of their graphs, and the weights of C1-sets."""
        unit = np.repeat(*self._units(spaces.length, spaces.offsets))
        columns = spaces.columns.copy()
        columns[:, ::2] -= unit[
            :, None
        ]  # every second column is an average of logarithms, so all shift by the same amount
        return columns, columns[:, 1] if self.weights == "count" else np.exp(columns[:, 0])

    def _embed(self, spaces: Junctions | Classes) -> NDArray[Any]:
        blocks = self._blocks()
        offsets = spaces.segment_offsets if isinstance(spaces, Junctions) else spaces.offsets
        n_graphs, width = len(offsets) - 1, len(blocks) * self.n_features
        largest = int(np.diff(offsets).max(initial=0))
        bytes_each = np.dtype(self.dtype).itemsize
        _memory.require(
            bytes_each * (n_graphs * width + 6 * largest * self.n_features),
            f"features of {n_graphs:,} graphs in {width:,} columns",
            "pass fewer graphs at a time, or use a smaller n_features or dtype='float32'",
        )
        out = np.zeros((n_graphs, width), self.dtype)
        places = self._places(spaces)

        def work(start: int, stop: int) -> None:
            for part in places(start, stop):
                columns = slice(part.block * self.n_features, (part.block + 1) * self.n_features)
                _add_rows(part.rows, part.weight, part.offsets, out[start:stop, columns])

        with threads.one_blas_thread():
            threads.run(work, self._ranges(offsets), self.n_jobs)
        if self.size < 1.0:
            _shrink(out, self.n_features, 1.0 - self.size)
        return out

    def _ranges(self, offsets: Ints) -> list[tuple[int, int]]:
        """Return the ranges of graphs that are processed together; `offsets` are those of their parts."""
        return chunks(offsets)

    def _places(self, spaces: Junctions | Classes) -> Callable[[int, int], Iterator[Places]]:
        """Return a function that yields the features of places in a range of graphs, block by block."""
        if isinstance(spaces, Junctions):
            layers = _Layers(self.seed, self._depth, self.n_features, np.dtype(self.dtype))
            unit, counts = self._units(spaces.length, spaces.segment_offsets)
            relative = np.exp(np.log(spaces.length) - np.repeat(unit, counts) - (self.location_[0] - 1.0))
            inputs = np.column_stack([np.log1p(relative) / self.spread_[0], _MASS * spaces.mass])
            weight = relative if self.weights == "length" else None
            return partial(layers.places, spaces, inputs, weight)
        columns, by_class = self._columns(spaces)
        columns = (columns - self.location_) / self.spread_
        if self.weights != "count":
            by_class = by_class / np.exp(self.location_[0])
        octaves = np.resize(np.repeat(_OCTAVES, -(-self.n_features // len(_OCTAVES))), self.n_features)
        normal, uniform = _random_numbers(self.seed)
        W = normal(columns.shape[1], self.n_features) * octaves / np.sqrt(columns.shape[1])
        phase = uniform(self.n_features)
        W, phase = W.astype(self.dtype), phase.astype(self.dtype)

        def classes_of(start: int, stop: int) -> Iterator[Places]:
            a, b = spaces.offsets[start], spaces.offsets[stop]
            waves = _waves(columns[a:b].astype(self.dtype) @ W + phase)
            yield Places(0, waves, by_class[a:b], spaces.offsets[start : stop + 1] - a)

        return classes_of

    def place_contributions(self, graph: MetricGraph, direction: Floats) -> list[Floats]:
        """Return the contribution of each place of a graph to the inner product of its vector with another.

        Parameters
        ----------
        graph
            The graph.
        direction
            A vector with as many entries as a row of `transform`.

        Returns
        -------
        list of arrays
            One for each block of the vector: the contributions of the essential points (for points and
            for steps), of the segments or, along currents, of the C1-sets. All contributions add up to the
            inner product.
        """
        check_is_fitted(self)
        spaces = self._spaces([graph])
        parts = direction.reshape(-1, self.n_features)
        contributions: dict[int, Floats] = {}
        for part in self._places(spaces)(0, 1):
            rows = part.rows[:, : self.n_features].astype(np.float64)
            vector = (part.weight @ rows) / np.sqrt(self.n_features)
            norm = np.sqrt(vector @ vector)
            scale = norm ** (self.size - 1.0) if norm > 0.0 else 1.0
            values = rows @ parts[part.block] * part.weight
            contributions[part.block] = values * scale / np.sqrt(self.n_features)
        return [contributions[block] for block in sorted(contributions)]


class _Layers:
    """The random weights along junctions, and the features that they give."""

    def __init__(self, seed: int, depth: int, n_features: int, dtype: np.dtype[Any]) -> None:
        normal, uniform = _random_numbers(seed)

        def drawn(n_inputs: int, scale: float) -> tuple[NDArray[Any], NDArray[Any]]:
            weights = (scale * normal(n_inputs, n_features)).astype(dtype)
            return weights, uniform(n_features).astype(dtype)

        self.dtype, self.width = dtype, n_features
        self.segment, self.point = drawn(2, 1.0), drawn(1, 1.0)
        # one product for both halves: a point's own features, then the sum from its neighbours
        self.steps = [drawn(2 * n_features, n_features**-0.5) for _ in range(depth)]

    def places(
        self, spaces: Junctions, inputs: Floats, weight: Floats | None, start: int, stop: int
    ) -> Iterator[Places]:
        """Yield the segments, the points, and the points after each step; without `weight`, weights are 1.

        Each step overwrites the rows of points yielded before.
        """
        p, q = spaces.point_offsets[start], spaces.point_offsets[stop]
        a, b = spaces.segment_offsets[start], spaces.segment_offsets[stop]
        tail, head, degree = spaces.tail[a:b] - p, spaces.head[a:b] - p, spaces.degree[p:q]
        point_offsets = spaces.point_offsets[start : stop + 1] - p
        segment_offsets = spaces.segment_offsets[start : stop + 1] - a
        point_weight, segment_weight = np.ones(q - p), np.ones(b - a)
        if weight is not None:
            segment_weight = weight[a:b]
            half = segment_weight / 2.0
            point_weight = np.bincount(tail, half, q - p) + np.bincount(head, half, q - p)
        phi = _waves(inputs[a:b].astype(self.dtype) @ self.segment[0] + self.segment[1])
        yield Places(_SEGMENTS, phi, segment_weight, segment_offsets)
        logs = np.log(np.maximum(degree, _ISOLATED))[:, None].astype(self.dtype)
        both = np.empty((q - p, 2 * self.width), self.dtype)
        both[:, : self.width] = _waves(logs @ self.point[0] + self.point[1])
        yield Places(_POINTS, both, point_weight, point_offsets)
        for step, (W, phase) in enumerate(self.steps, start=_SEGMENTS + 1):
            _send(tail, head, phi, degree, both)
            both[:, : self.width] = _waves(both @ W + phase)
            yield Places(step, both, point_weight, point_offsets)


def _waves(phase: NDArray[Any]) -> NDArray[Any]:
    """Return sqrt(2) cos(phase), computed in place."""
    np.cos(phase, out=phase)
    phase *= phase.dtype.type(np.sqrt(2.0))
    return phase


@compiled
def _send(tail: Ints, head: Ints, phi: Floats, degree: Floats, both: Floats) -> None:
    """Write the sum that each point receives from its neighbours into the second half of its row."""
    width = phi.shape[1]
    both[:, width:] = 0.0
    for segment in range(len(tail)):
        u, v = tail[segment], head[segment]
        to_u, to_v = 1.0 / np.sqrt(degree[u]), 1.0 / np.sqrt(degree[v])
        for column in range(width):
            both[u, width + column] += to_u * (phi[segment, column] * both[v, column])
            both[v, width + column] += to_v * (phi[segment, column] * both[u, column])


@compiled
def _add_rows(rows: Floats, weight: Floats, offsets: Ints, out: Floats) -> None:
    """Write the weighted sum of the rows of each graph, divided by the square root of the row width."""
    width = out.shape[1]
    total = np.empty(width, np.float64)
    for graph in range(len(out)):
        total[:] = 0.0
        for row in range(offsets[graph], offsets[graph + 1]):
            for column in range(width):
                total[column] += weight[row] * rows[row, column]
        for column in range(width):
            out[graph, column] = total[column] / np.sqrt(width)


def _shrink(out: NDArray[Any], width: int, power: float) -> None:
    """Divide each block of each row by a power of its norm; zero blocks do not change."""
    blocks = out.reshape(len(out), -1, width)
    norm = np.sqrt((blocks.astype(np.float64) ** 2).sum(axis=2, keepdims=True))
    norm[norm == 0.0] = 1.0
    blocks /= (norm**power).astype(out.dtype)


def _random_numbers(seed: int) -> tuple[Any, Any]:
    """Return functions that draw standard normal numbers and phases from 0 to 2 pi.

    They use the raw words of the generator, which numpy never changes, unlike its distributions.
    """
    stream = np.random.Philox(key=seed)

    def uniform(*shape: int) -> Floats:
        words = stream.random_raw(int(np.prod(shape))) >> np.uint64(11)
        numbers: Floats = (words.astype(np.float64) + 0.5) * 2.0**-53
        return numbers.reshape(shape)

    def normal(*shape: int) -> Floats:
        one, two = uniform(*shape), uniform(*shape)  # Box and Muller
        return np.asarray(np.sqrt(-2.0 * np.log(one)) * np.cos(2.0 * np.pi * two))

    def phases(*shape: int) -> Floats:
        return 2.0 * np.pi * uniform(*shape)

    return normal, phases
