"""Random Fourier features of places in a space, and their sums over graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._spaces import Junctions
    from torelli._types import Floats, Ints

POINTS, SEGMENTS = 0, 1
"""Blocks along junctions, followed by one for each step."""
_ISOLATED = 0.5  # degree used for an isolated point, because the logarithm of 0 is infinite


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
        Position of the first place of each graph, followed by the number of all places.
    """

    block: int
    rows: NDArray[Any]
    weight: Floats
    offsets: Ints


class Waves:
    """Random Fourier features sqrt(2) cos(W x + b) of rows of numbers.

    Parameters
    ----------
    seed
        Seed of W and b.
    n_inputs, n_features
        Length of a row, and number of features.
    frequencies
        Frequencies of W, each for an equal share of the features. A frequency is the standard deviation of
        W x if the entries of a row x are independent with variance 1.
    dtype
        Type of the features.
    """

    def __init__(
        self, seed: int, n_inputs: int, n_features: int, frequencies: Sequence[float], dtype: np.dtype[Any]
    ) -> None:
        normal, phases = random_numbers(seed)
        share = -(-n_features // len(frequencies))
        scale = np.resize(np.repeat(frequencies, share), n_features) / np.sqrt(n_inputs)
        self.W = (normal(n_inputs, n_features) * scale).astype(dtype)
        self.phase = phases(n_features).astype(dtype)

    def __call__(self, rows: Floats) -> NDArray[Any]:
        """Return the features of each row."""
        return _cosines(rows.astype(self.W.dtype) @ self.W + self.phase)


class Layers:
    """The random weights along junctions, and the features that they give.

    Parameters
    ----------
    seed
        Seed of the weights.
    depth, n_features
        Number of steps, and of features in each.
    frequency
        Frequency of the cosines of the steps.
    dtype
        Type of the features.
    """

    def __init__(
        self, seed: int, depth: int, n_features: int, frequency: float, dtype: np.dtype[Any]
    ) -> None:
        normal, phases = random_numbers(seed)

        def drawn(n_inputs: int, scale: float) -> tuple[NDArray[Any], NDArray[Any]]:
            weights = (scale * normal(n_inputs, n_features)).astype(dtype)
            return weights, phases(n_features).astype(dtype)

        self.dtype, self.width = dtype, n_features
        self.segment, self.point = drawn(2, 1.0), drawn(1, 1.0)
        # one product for both halves: a point's own features, then the sum from its neighbours
        self.steps = [drawn(2 * n_features, frequency * n_features**-0.5) for _ in range(depth)]

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
        phi = _cosines(inputs[a:b].astype(self.dtype) @ self.segment[0] + self.segment[1])
        yield Places(SEGMENTS, phi, segment_weight, segment_offsets)
        # there are far fewer degrees than points
        degrees, which = np.unique(degree, return_inverse=True)
        logs = np.log(np.maximum(degrees, _ISOLATED))[:, None].astype(self.dtype)
        both = np.empty((q - p, 2 * self.width), self.dtype)
        both[:, : self.width] = _cosines(logs @ self.point[0] + self.point[1])[which]
        yield Places(POINTS, both, point_weight, point_offsets)
        for step, (W, phase) in enumerate(self.steps, start=SEGMENTS + 1):
            _send(tail, head, phi, degree, both)
            both[:, : self.width] = _cosines(both @ W + phase)
            yield Places(step, both, point_weight, point_offsets)


def _cosines(phase: NDArray[Any]) -> NDArray[Any]:
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
def add_rows(rows: Floats, weight: Floats, offsets: Ints, out: Floats) -> None:
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


def shrink(out: NDArray[Any], width: int, power: float) -> None:
    """Divide each block of each row by a power of its norm; zero blocks do not change."""
    blocks = out.reshape(len(out), -1, width)
    norm = np.sqrt((blocks.astype(np.float64) ** 2).sum(axis=2, keepdims=True))
    norm[norm == 0.0] = 1.0
    blocks /= (norm**power).astype(out.dtype)


def random_numbers(seed: int) -> tuple[Any, Any]:
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
