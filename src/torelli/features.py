"""Explicit feature vectors from the canonical measure."""

from __future__ import annotations

from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._errors import Fault, InvalidGraphError, InvalidOptionError, unknown_option
from torelli._estimators import GraphFeatures, check_stored, is_array
from torelli._numerics import threads
from torelli._numerics.diffusion import SHARES
from torelli._spaces import (
    SOURCES,
    Classes,
    Junctions,
    chunks,
    classes,
    junctions,
    return_changes,
    surroundings,
    thickness_of,
)
from torelli._types import Along, Scale, Weights
from torelli._units import check_units, common_unit
from torelli._validate import is_positive, precision_of
from torelli._waves import Layers, Places, RandomNumbers, Waves, add_rows, shrink
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import DTypeLike, NDArray

    from torelli._types import Floats, Ints


ALONG: tuple[Along, ...] = get_args(Along)
SCALES: tuple[Scale, ...] = get_args(Scale)
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
_DEPTH = {"junctions": 3, "diffusion": 3, "returns": 9, "currents": 1}
_LEAST_DEPTH = {"diffusion": 1, "returns": 2}
_MOST_DEPTH = 100  # far beyond what is of use: scales would overflow
_N_FEATURES = {"junctions": 128, "diffusion": 256, "returns": 512, "currents": 256}
_WEIGHTS: dict[str, Weights] = {
    "junctions": "count", "diffusion": "length", "returns": "length", "currents": "length"
}  # fmt: skip
_PORTION = 4_000_000  # edges of the graphs that are in memory as points and segments at a time
_LEAST_SPREAD = 0.1  # added to the spread of each input, which may be 0
_LEAST_CHANGE = 1e-3  # the same for changes of returns, which are small
_MASS = 2.0  # weight of the mass relative to the logarithm of the length
_FREQUENCIES = {"diffusion": (1.0, 2.0, 4.0), "returns": (1.5,), "currents": (0.5, 1.0, 2.0)}
_SEEDS = 2**128  # of the Philox generator
_FARTHEST = 6.0  # spreads from the mean; densities farther from it do not differ


class MeasureFeatures(GraphFeatures):
    """Explicit feature vectors from the canonical measure, one row for each graph.

    Along junctions, the vector of a graph depends only on the metric space. Random Fourier features describe
    the segments by their length and canonical mass, and the essential points (degree other than 2) by their
    degree. Each point then passes its features to its neighbours through the segments between them, `depth`
    times. Each block of the vector is a sum of features over points or segments.

    Along diffusion, the vector also depends only on the metric space, and continuously: a segment that
    shrinks to a point, as when a network is simplified, takes the vector to that of the contracted graph.
    Random Fourier features describe each place by how much branching, mass and dead ends are near, at several
    scales. The vector is their integral over the whole graph.

    Along returns, the vector also depends only on the metric space. Random Fourier features describe each
    place by how likely a random motion is to return to it, at several scales. Short segments and small cycles
    hardly matter, and trees that are attached to cycles count for 5 %. So these vectors recognise a place
    whose network was prepared in another way better than the others.

    Along currents, the vector depends only on the tropical Jacobian: bridges, trees and twists do not change
    it. Random Fourier features describe each C1-set by its length and mass, and by the averages of both
    along the Markov chain of squared currents (see `CanonicalMeasure.currents`).

    None of them needs a basis, an order or an orientation. So ties between lengths do not matter, and small
    changes of lengths change the vector little.

    Parameters
    ----------
    along
        ``"junctions"``, ``"diffusion"``, ``"returns"`` or ``"currents"``.
    depth
        Number of steps in which a point (or C1-set) takes in features of its surroundings; along diffusion
        and returns, the number of scales. None: 3 along junctions and diffusion, 9 along returns, 1 along
        currents.
    n_features
        Number of features in each block. There are ``depth + 2`` blocks along junctions (points,
        segments, one for each step), and one otherwise. None: 128 along junctions, 512 along returns,
        256 otherwise.
    scale
        ``"absolute"``: lengths as given. ``"relative"``: lengths in units of the length-weighted mean
        length of the segments (C1-sets) of the same graph, so that the unit of length does not matter.
    weights
        Weights of points and segments (C1-sets). ``"count"``: 1, and the mass along currents.
        ``"length"``: proportional to length; a point has half the length of each segment that ends there.
        With weights by length, short segments have little influence, so that merging short segments in
        the preparation of a network changes its vector little. None: ``"count"`` along junctions,
        ``"length"`` otherwise.
    size
        Influence of the size of a graph, from 0 to 1: each block is divided by its norm to the power of
        ``1 - size``. With 1 blocks are plain sums, with 0 they have unit norm.
    frequency
        Factor for the frequencies of the random features; along junctions, for those of the steps. Higher
        frequencies tell more surroundings apart, but noise in the lengths then moves the vector further.
    seed
        Seed of the random weights. They come from the raw words of the Philox generator and do not
        depend on the version of numpy.
    dtype
        ``"float64"``, or ``"float32"`` for half the memory; also as a type of numpy.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads; the result does not depend on it.

    Attributes
    ----------
    location_, spread_
        Location and spread used to scale the inputs: mean and standard deviation of the logarithm of length,
        over the segments of the training graphs (along returns, weighted by length). Along diffusion and
        returns, those of each density follow. Along currents, they are those of each column, over the
        C1-sets.
    unit_
        Unit of the lengths of the training graphs, None if none states it or they were prepared. With
        ``scale="absolute"``, `transform` refuses graphs in another unit.

    Notes
    -----
    Along junctions, let l be the length and F the mass of a segment, d the degree of a point, and let W, A
    and B be random weights and b random phases:

    - segments: phi = sqrt(2) cos(W (log(1 + l / l_0) / spread, 2 F) + b), with l_0 = exp(location - 1);
    - points: h_0 = sqrt(2) cos(W log d + b);
    - step k: h_k(v) = sqrt(2) cos(A (h_(k-1)(v) + B m(v)) + b), where m(v) is the sum of
      phi(s) * h_(k-1)(other end of s) over the segments s at v, divided by the square root of d. B has
      random signs on its diagonal, and A is a product of Hadamard matrices and random signs, which is
      orthogonal if the number of features is a power of two.

    Along diffusion, let u_r be the density of a source that has spread by r: u - r² u'' equals the source on
    every segment, and flows balance at points. The sources are branching (d - 2 at every point), the mass
    (evenly on its segment) and dead ends (1 - exp(-l / r_0) at the tip of one of length l), and
    r = r_0, 10^(1/2) r_0, ..., with r_0 = 10^(-1/2) exp(location). The vector is the integral of
    sqrt(2) cos(W asinh(u) + b) along all segments, by Gauss's rule with 3 points on each, where asinh(u)
    stands for all densities, standardised.

    Along returns, let G_s be the Green's function of a u - s² (a u')', where the thickness a is 1 in the
    2-core of the graph and 0.05 on the trees attached to it, and c_s(x) = 2 s a G_s(x, x). On an infinite
    line c is 1, where d lines meet it is 2 / d. The scales are s = r / 4, sqrt(2) r / 4, r / 2, ..., 4 r,
    with r = exp(location). The vector is the integral of a sqrt(2) cos(W z + b), where z has the
    differences of log c_s from scale to scale and the differences of these, standardised and at most 6
    spreads from their mean.

    The inner product of two vectors is a kernel between graphs, positive definite by construction. It is a
    sum over pairs of places, so that every similarity can be traced to places (`place_contributions`).

    Along junctions, the vector jumps when a segment shrinks to a point, because two points become one. Along
    diffusion with weights by length it is continuous there, with two exceptions: a loop that vanishes takes a
    cycle away from its point, and a dead end that vanishes on another one makes it longer, so that it counts
    more. Along returns it is continuous, unless a cycle vanishes: bridges that led to it then belong to a
    tree. Where two segments become one because a dead end vanishes (along returns also a loop), Gauss's rule
    changes, and the vector jumps by its error. Along currents with weights by length it is continuous
    everywhere.

    With ``scale="relative"``, the unit of a graph is a mean over its segments or C1-sets. It jumps where a
    dead end vanishes and two segments become one, and the vector along junctions, diffusion or returns jumps
    with it. Along currents, there is then no limit where the last cycle vanishes.

    Along currents, a graph with more than 20,000 C1-sets is described by random probes, which depend on the
    order of its edges. A `DataWarning` says how large their error is.

    References
    ----------
    Canonical measure: Zhang (1993), Baker and Faber (2006). Random features: Rahimi and Recht (2007), Yu
    et al. (2016). The guide to the canonical measure has the references in full and says how the defaults
    were chosen.

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
        n_features: int | None = None,
        scale: Scale = "absolute",
        weights: Weights | None = None,
        size: float = 0.5,
        frequency: float = 1.0,
        seed: int = 0,
        dtype: DTypeLike = "float64",
        length: str = "length",
        n_jobs: int | None = None,
    ) -> None:
        self.along = along
        self.depth = depth
        self.n_features = n_features
        self.scale = scale
        self.weights = weights
        self.size = size
        self.frequency = frequency
        self.seed = seed
        self.dtype = dtype
        self.length = length
        self.n_jobs = n_jobs

    def _fit(self, X: Sequence[Any]) -> None:
        """Learn the location and spread of the inputs."""
        self._fit_spaces(X)

    def _fit_transform(self, X: Sequence[Any]) -> NDArray[Any]:
        return _finite(self._embed(self._fit_spaces(X)))

    def _fit_spaces(self, X: Sequence[Any]) -> Junctions | Classes:
        """Learn from graphs, and return their points and segments."""
        self._check_parameters()
        if not isinstance(X, (Junctions, Classes)):
            X = as_metric_graphs(X, self.length)
        spaces = self._spaces(X)
        self._learn(spaces)
        self.unit_ = None if X is spaces else common_unit(cast("Sequence[MetricGraph]", X))
        return spaces

    def transform(self, X: Sequence[Any]) -> NDArray[Any]:
        """Return the vector of each graph, as an array of shape (n_graphs, n_columns)."""
        check_is_fitted(self)
        self._check_parameters()
        if (
            self._learning != vars(self).get("_learned", self._learning)
            or len(self.location_) != self._n_inputs
        ):
            raise InvalidOptionError(
                "along, depth, scale or weights has been changed since fit: call fit again"
            )
        if isinstance(X, (Junctions, Classes)):
            return _finite(self._embed(self._spaces(X)))
        graphs = as_metric_graphs(X, self.length)
        unit = vars(self).get("unit_")
        if self.scale == "absolute" and unit is not None:
            check_units(
                graphs, [MetricGraph([0], [0], [1.0], name="a training graph", unit=unit)], quiet=True
            )
        portions = _portions(graphs)
        if len(portions) == 1:
            return _finite(self._embed(self._spaces(graphs)))
        width = self.n_columns
        self._require_memory(len(graphs), width, 0)
        out = np.empty((len(graphs), width), self.dtype)
        for portion in portions:
            out[portion] = self._embed(self._prepared(graphs[portion], portion.start))
        return _finite(out)

    def _feature_names(self) -> list[str]:
        """Return the name of each column: its block and its position in the block."""
        self._check_parameters()
        return [f"{block}_{column}" for block in self._blocks() for column in range(self._width)]

    @property
    def n_columns(self) -> int:
        """Number of columns of the vectors."""
        self._check_parameters()
        return self._width * (2 + self._depth if self.along == "junctions" else 1)

    @property
    def _depth(self) -> int:
        return _DEPTH[self.along] if self.depth is None else int(self.depth)

    @property
    def _width(self) -> int:
        # of type int: numbers of a few bits overflow in products
        return _N_FEATURES[self.along] if self.n_features is None else int(self.n_features)

    def _blocks(self) -> list[str]:
        if self.along != "junctions":
            return [self.along]
        return ["points", "segments", *(f"step{step}" for step in range(1, self._depth + 1))]

    def _check_parameters(self) -> None:
        if self.along not in ALONG:
            raise unknown_option("along", self.along, ALONG)
        if self.scale not in SCALES:
            raise unknown_option("scale", self.scale, SCALES)
        if self.weights is not None and self.weights not in WEIGHTS:
            raise unknown_option("weights", self.weights, [*WEIGHTS, None])
        precision_of(self.dtype)
        least_depth = _LEAST_DEPTH.get(self.along, 0)
        values = {
            "depth": (self.depth, least_depth),
            "n_features": (self.n_features, 1),
            "seed": (self.seed, 0),
        }
        for name, (value, least) in values.items():
            if value is None and name != "seed":
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise InvalidOptionError(f"{name} is {value!r}: use a whole number of at least {least}")
        if self.depth is not None and self.depth > _MOST_DEPTH:
            raise InvalidOptionError(f"depth is {self.depth!r}: use a whole number of at most {_MOST_DEPTH}")
        if self.seed >= _SEEDS:
            raise InvalidOptionError(f"seed is {self.seed!r}: use a number below 2**128")
        if self.size != 0.0 and not (is_positive(self.size) and self.size <= 1.0):
            raise InvalidOptionError(f"size is {self.size!r}: use a number from 0 to 1")
        if not is_positive(self.frequency):
            raise InvalidOptionError(f"frequency is {self.frequency!r}: use a positive number")

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
        width = self._n_inputs
        for name in ("location_", "spread_"):
            check_stored(self, name, f"{width} numbers", ok=is_array(fitted.get(name), width))
        check_stored(self, "unit_", "text or None", ok=isinstance(fitted.get("unit_"), (str, NoneType)))
        check_stored(self, "spread_", "positive", ok=bool((self.spread_ > 0.0).all()))

    def prepare(self, X: Sequence[Any]) -> Junctions | Classes:
        """Return the points and segments of graphs with their masses (C1-sets along currents).

        `fit` and `transform` take the result in place of the graphs, and its method ``take(indices)``
        selects graphs. Cross-validation then computes masses once, not in every fold. The result depends on
        `along`, along currents also on `depth`, and on no other parameter.

        Examples
        --------
        >>> import numpy as np
        >>> from torelli import MeasureFeatures, MetricGraph
        >>> rings = [MetricGraph([0], [0], [length]) for length in (1.0, 2.0, 3.0)]
        >>> features = MeasureFeatures(n_features=8)
        >>> prepared = features.prepare(rings)
        >>> X = features.fit(prepared.take(np.array([0, 1]))).transform(prepared)
        >>> bool(np.array_equal(X, features.fit(rings[:2]).transform(rings)))
        True
        """
        return self._prepared(X)

    def _prepared(self, X: Sequence[Any], first_graph: int = 0) -> Junctions | Classes:
        self._check_parameters()
        graphs = as_metric_graphs(X, self.length)
        if self.along == "currents":
            return classes(graphs, self._depth, self.n_jobs, first_graph)
        return junctions(graphs, self.n_jobs)

    def _spaces(self, X: Sequence[Any] | Junctions | Classes) -> Junctions | Classes:
        if not isinstance(X, (Junctions, Classes)):
            return self._prepared(X)
        self._check_parameters()
        fits = (
            isinstance(X, Junctions)
            if self.along != "currents"
            else (isinstance(X, Classes) and X.columns.shape[1] == 2 * self._depth + 2)
        )
        if not fits:
            raise InvalidOptionError(
                "the graphs were prepared with another value of along or depth: call prepare again"
            )
        return X

    def _learn(self, spaces: Junctions | Classes) -> None:
        if isinstance(spaces, Junctions):
            logs = np.log(spaces.length) - np.repeat(*self._units(spaces.length, spaces.segment_offsets))
            columns = logs[:, None]
            # lengths in the units of their graphs, so that a graph in other units weighs the same
            weight = np.exp(logs) if self.along == "returns" else np.ones(len(logs))
        else:
            columns, weight = self._columns(spaces)
        if not len(columns):
            columns, weight = np.zeros((1, columns.shape[1])), np.ones(1)
        self.location_: Floats = np.average(columns, axis=0, weights=weight)
        variance = np.average((columns - self.location_) ** 2, axis=0, weights=weight)
        if isinstance(spaces, Junctions) and self.along in {"diffusion", "returns"}:
            location, more = self._moments(spaces)
            self.location_ = np.concatenate([self.location_, location])
            variance = np.concatenate([variance, more])
        self.spread_: Floats = np.sqrt(variance) + _LEAST_SPREAD
        self._learned = self._learning
        if self.along == "returns":
            self.spread_[1:] += _LEAST_CHANGE - _LEAST_SPREAD

    def _moments(self, spaces: Junctions) -> tuple[Floats, Floats]:
        """Return the mean and the variance of each density over the lengths of all graphs."""
        densities, weight = self._densities(spaces)
        tasks = chunks(spaces.segment_offsets)
        sums = np.zeros((len(tasks), 2, self._n_densities))

        def work(task: int, start: int, stop: int) -> None:
            values = densities(start, stop)
            part = weight[spaces.segment_offsets[start] : spaces.segment_offsets[stop]]
            for power in (1, 2):
                sums[task, power - 1] = np.einsum("s,p,spc->c", part, SHARES, values**power)

        threads.run(work, [(task, *part) for task, part in enumerate(tasks)], self.n_jobs)
        mean, square = sums.sum(axis=0) / max(weight.sum(), np.finfo(float).tiny)
        return mean, np.maximum(square - mean**2, 0.0)

    @property
    def _learning(self) -> list[Any]:
        """The options that what is learned depends on."""
        return [self.along, self._depth, self.scale, self.weights or _WEIGHTS[self.along]]

    @property
    def _n_inputs(self) -> int:
        """Number of inputs whose location and spread are learned."""
        return {"junctions": 1, "currents": 2 * self._depth + 2}.get(self.along, 1 + self._n_densities)

    @property
    def _n_densities(self) -> int:
        """Number of densities at each place."""
        return 2 * self._depth - 3 if self.along == "returns" else len(SOURCES) * self._depth

    def _densities(self, spaces: Junctions) -> tuple[Callable[[int, int], Floats], Floats]:
        """Return a function that gives the densities in a range of graphs, and the weight of each segment."""
        unit, weight = self._unit_and_weight(spaces)
        if self.along == "diffusion":
            return lambda start, stop: surroundings(spaces, unit, self._depth, start, stop), weight
        thickness = thickness_of(spaces)
        return (
            lambda start, stop: return_changes(spaces, thickness, unit, self._depth, start, stop),
            weight * thickness,
        )

    def _unit_and_weight(self, spaces: Junctions) -> tuple[Floats, Floats]:
        """Return the unit of length of each graph, and the weight of each segment."""
        unit, counts = self._units(spaces.length, spaces.segment_offsets)
        unit = np.exp(unit + self.location_[0])
        if (self.weights or _WEIGHTS[self.along]) == "count":
            return unit, np.ones(len(spaces.length))
        return unit, spaces.length / np.repeat(unit, counts)

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
        offsets = spaces.segment_offsets if isinstance(spaces, Junctions) else spaces.offsets
        n_graphs, width = len(offsets) - 1, self.n_columns
        largest = int(np.diff(offsets).max(initial=0))
        self._require_memory(n_graphs, width, largest)
        out = np.zeros((n_graphs, width), self.dtype)
        places = self._places(spaces)

        def work(start: int, stop: int) -> None:
            for part in places(start, stop):
                columns = slice(part.block * self._width, (part.block + 1) * self._width)
                add_rows(part.rows, part.weight, part.offsets, out[start:stop, columns])

        with threads.one_blas_thread():
            threads.run(work, self._ranges(offsets), self.n_jobs)
        if self.size < 1.0:
            shrink(out, self._width, 1.0 - self.size)
        return out

    def _require_memory(self, n_graphs: int, width: int, largest: int) -> None:
        """Raise an error if the vectors, and the features of the largest graph's parts, cannot fit."""
        bytes_each = np.dtype(self.dtype).itemsize
        _memory.require(
            bytes_each * (n_graphs * width + 6 * largest * self._width),
            f"features of {n_graphs:,} graphs in {width:,} columns",
            "pass fewer graphs at a time, or use a smaller n_features or dtype='float32'",
        )

    def _ranges(self, offsets: Ints) -> list[tuple[int, int]]:
        """Return the ranges of graphs that are processed together; `offsets` are those of their parts."""
        return chunks(offsets)

    def _places(self, spaces: Junctions | Classes) -> Callable[[int, int], Iterator[Places]]:
        """Return a function that yields the features of places in a range of graphs, block by block."""
        if isinstance(spaces, Classes):
            return self._class_places(spaces)
        if self.along != "junctions":
            return self._density_places(spaces)
        layers = Layers(self.seed, self._depth, self._width, self.frequency, np.dtype(self.dtype))
        unit, counts = self._units(spaces.length, spaces.segment_offsets)
        relative = np.exp(np.log(spaces.length) - np.repeat(unit, counts) - (self.location_[0] - 1.0))
        inputs = np.column_stack([np.log1p(relative) / self.spread_[0], _MASS * spaces.mass])
        weight = relative if self.weights == "length" else None
        return partial(layers.places, spaces, inputs, weight)

    def _density_places(self, spaces: Junctions) -> Callable[[int, int], Iterator[Places]]:
        waves, (densities, weight) = self._waves(self._n_densities), self._densities(spaces)

        def places(start: int, stop: int) -> Iterator[Places]:
            a, b = spaces.segment_offsets[start], spaces.segment_offsets[stop]
            values = densities(start, stop)
            values -= self.location_[1:]
            values /= self.spread_[1:]
            if self.along == "returns":
                np.clip(values, -_FARTHEST, _FARTHEST, out=values)
            rows = np.zeros((b - a, self._width), self.dtype)
            for position, share in enumerate(SHARES.astype(self.dtype)):
                rows += share * waves(values[:, position])
            yield Places(0, rows, weight[a:b], spaces.segment_offsets[start : stop + 1] - a)

        return places

    def _class_places(self, spaces: Classes) -> Callable[[int, int], Iterator[Places]]:
        columns, weight = self._columns(spaces)
        columns = (columns - self.location_) / self.spread_
        if self.weights != "count":
            weight = weight / np.exp(self.location_[0])
        waves = self._waves(columns.shape[1])

        def places(start: int, stop: int) -> Iterator[Places]:
            a, b = spaces.offsets[start], spaces.offsets[stop]
            yield Places(0, waves(columns[a:b]), weight[a:b], spaces.offsets[start : stop + 1] - a)

        return places

    def _waves(self, n_inputs: int) -> Waves:
        frequencies = [self.frequency * one for one in _FREQUENCIES[self.along]]
        return Waves(RandomNumbers(self.seed), n_inputs, self._width, frequencies, np.dtype(self.dtype))

    def place_contributions(self, graph: MetricGraph, direction: Floats) -> list[Floats]:
        """Return the contribution of each place of a graph to the inner product of its vector with another.

        Parameters
        ----------
        graph
            The graph.
        direction
            A vector with as many entries as a row of `transform`, or several of them as rows.

        Returns
        -------
        list of arrays
            One for each block of the vector: the contributions of the essential points (for points and
            for steps), of the segments (also along diffusion) or, along currents, of the C1-sets. All
            contributions add up to the inner product. Several directions have a row each.
        """
        check_is_fitted(self)
        if np.shape(direction)[-1:] != (self.n_columns,):
            raise InvalidOptionError(f"direction: give {self.n_columns:,} numbers, one for each column")
        spaces = self._spaces([graph])
        parts = direction.reshape(*direction.shape[:-1], -1, self._width)
        contributions: dict[int, Floats] = {}
        for part in self._places(spaces)(0, 1):
            rows = part.rows[:, : self._width].astype(np.float64)
            vector = (part.weight @ rows) / np.sqrt(self._width)
            norm = np.sqrt(vector @ vector)
            scale = norm ** (self.size - 1.0) if norm > 0.0 else 1.0
            values = parts[..., part.block, :] @ rows.T * part.weight
            contributions[part.block] = values * scale / np.sqrt(self._width)
        return [contributions[block] for block in sorted(contributions)]


def _portions(graphs: Sequence[MetricGraph]) -> list[slice]:
    """Return ranges of graphs with about `_PORTION` edges each, so that memory is bounded."""
    portion = np.cumsum([graph.n_edges for graph in graphs]) // _PORTION
    starts = [0, *(1 + np.flatnonzero(np.diff(portion))).tolist()]
    return [slice(*ends) for ends in zip(starts, [*starts[1:], len(graphs)], strict=True)]


def _finite(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return vectors, or raise an error that names the graphs whose vectors overflow."""
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        problem = "it is so much larger than the training graphs that its vector overflows"
        remedy = "fit to graphs of its size, or use scale='relative' or dtype='float64'"
        raise InvalidGraphError([Fault(problem, remedy, graph=i) for i in wrong.tolist()])
    return vectors
