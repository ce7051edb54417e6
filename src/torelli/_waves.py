"""Random Fourier features of places in a space, and their sums over graphs.

Along junctions, the random weights of a step are products of random signs and Hadamard matrices, as in
structured orthogonal random features. They take n log n additions instead of the n² products of a random
matrix, and describe places as well (``python -m benchmarks.choose_measure``).

References
----------
F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar, Orthogonal random features, NIPS
(2016).
"""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torelli._numerics.compile import compiled, compiled_with_fma

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._spaces import Junctions
    from torelli._types import Floats, Ints

POINTS, SEGMENTS = 0, 1
"""Blocks along junctions, followed by one for each step."""
_ISOLATED = 0.5  # degree used for an isolated point, because the logarithm of 0 is infinite
_TURN = 2.0 * np.pi
_EIGHT = 8  # entries of a vector that are transformed together
_ROUNDS = 2  # random signs and Hadamard matrices in the weights of a step
# sqrt(2) sin(2 pi s) = s P(s²) for |s| <= 1/4, to 3e-16: the series of the sine
_SINE = tuple(2.0**0.5 * (-1.0) ** k * _TURN ** (2 * k + 1) / float(factorial(2 * k + 1)) for k in range(10))


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
    numbers
        Source of W and b.
    n_inputs, n_features
        Length of a row, and number of features.
    frequencies
        Frequencies of W, each for an equal share of the features. A frequency is the standard deviation of
        W x if the entries of a row x are independent with variance 1.
    dtype
        Type of the features.
    """

    def __init__(
        self,
        numbers: RandomNumbers,
        n_inputs: int,
        n_features: int,
        frequencies: Sequence[float],
        dtype: np.dtype[Any],
    ) -> None:
        share = -(-n_features // len(frequencies))
        scale = np.resize(np.repeat(frequencies, share), n_features) / np.sqrt(n_inputs)
        # in turns
        self.W = (numbers.normal(n_inputs, n_features) * (scale / _TURN)).astype(dtype)
        self.phase = numbers.uniform(n_features).astype(dtype)

    def __call__(self, rows: Floats) -> NDArray[Any]:
        """Return the features of each row."""
        waves: NDArray[Any] = rows.astype(self.W.dtype) @ self.W
        _write_waves(waves, self.phase)
        return waves


class _Step(NamedTuple):
    """The random weights of a step: signs of messages and before each Hadamard matrix, scale, and phases.

    Phases are in turns, and the scale gives turns.
    """

    message: NDArray[Any]
    signs: NDArray[Any]
    scale: float
    phase: NDArray[Any]


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
        numbers = RandomNumbers(seed)
        self.segment = Waves(numbers, 2, n_features, [np.sqrt(2.0)], dtype)
        self.point = Waves(numbers, 1, n_features, [1.0], dtype)
        # Hadamard matrices have a power of two of rows; rows beyond the features are not used
        rows = 1 << (n_features - 1).bit_length()
        scale = float(frequency * rows ** ((1 - _ROUNDS) / 2) * n_features**-0.5 / _TURN)
        self.steps = [
            _Step(
                numbers.signs(n_features).astype(dtype),
                numbers.signs(_ROUNDS, rows).astype(dtype),
                scale,
                numbers.uniform(n_features).astype(dtype),
            )
            for _ in range(depth)
        ]

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
        phi = self.segment(inputs[a:b])
        yield Places(SEGMENTS, phi, segment_weight, segment_offsets)
        # there are far fewer degrees than points
        degrees, which = np.unique(degree, return_inverse=True)
        features = self.point(np.log(np.maximum(degrees, _ISOLATED))[:, None])[which]
        received = np.empty_like(features)
        yield Places(POINTS, features, point_weight, point_offsets)
        for step, weights in enumerate(self.steps, start=SEGMENTS + 1):
            _send(tail, head, phi, degree, features, received)
            message, signs, scale, phase = weights
            _take_in(received, message, signs, scale, phase, features)
            yield Places(step, features, point_weight, point_offsets)


@compiled_with_fma
def _wave(t: float) -> float:
    """Return sqrt(2) cos(2 pi t), without branches, so that the compiler can use vector instructions."""
    # cos(2 pi t) = sin(2 pi (1/4 - |t|)), after t is brought between -1/2 and 1/2
    s = 0.25 - abs(t - np.floor(t + 0.5))
    z = s * s
    series = _SINE[9]
    series = series * z + _SINE[8]
    series = series * z + _SINE[7]
    series = series * z + _SINE[6]
    series = series * z + _SINE[5]
    series = series * z + _SINE[4]
    series = series * z + _SINE[3]
    series = series * z + _SINE[2]
    series = series * z + _SINE[1]
    wave: float = s * (series * z + _SINE[0])
    return wave


@compiled_with_fma
def _write_waves(turns: Floats, phase: Floats) -> None:
    """Replace turns by their waves, after adding the phase of each column."""
    for row in range(len(turns)):
        waves = turns[row]
        for column in range(len(phase)):
            waves[column] = _wave(waves[column] + phase[column])


@compiled
def _send(tail: Ints, head: Ints, phi: Floats, degree: Floats, features: Floats, received: Floats) -> None:
    """Write the sum that each point receives from its neighbours, divided by the root of its degree."""
    received[:] = 0.0
    for segment in range(len(tail)):
        u, v = tail[segment], head[segment]
        to_u, to_v = 1.0 / np.sqrt(degree[u]), 1.0 / np.sqrt(degree[v])
        for column in range(phi.shape[1]):
            received[u, column] += to_u * (phi[segment, column] * features[v, column])
            received[v, column] += to_v * (phi[segment, column] * features[u, column])


@compiled_with_fma
def _take_in(
    received: Floats, message: Floats, signs: Floats, scale: float, phase: Floats, features: Floats
) -> None:
    """Replace the features of each point by those of its own and the received ones, mixed by a step."""
    n_rounds, n_rows = signs.shape
    mixed = np.empty(n_rows, features.dtype)
    for point in range(len(features)):
        for i in range(len(phase)):
            mixed[i] = features[point, i] + message[i] * received[point, i]
        for i in range(len(phase), n_rows):
            mixed[i] = 0.0
        for one in range(n_rounds):
            for i in range(n_rows):
                mixed[i] *= signs[one, i]
            _hadamard(mixed)
        for i in range(len(phase)):
            features[point, i] = _wave(scale * mixed[i] + phase[i])


@compiled_with_fma
def _hadamard(x: Floats) -> None:
    """Multiply a vector, whose length is a power of two, by the Hadamard matrix of Sylvester, in place."""
    n = len(x)
    half = 1
    if n >= _EIGHT:
        # three steps at once: the loops below need a length of eight for vector instructions
        for i in range(0, n, _EIGHT):
            a, b, c, d = x[i] + x[i + 4], x[i + 1] + x[i + 5], x[i + 2] + x[i + 6], x[i + 3] + x[i + 7]
            e, f, g, h = x[i] - x[i + 4], x[i + 1] - x[i + 5], x[i + 2] - x[i + 6], x[i + 3] - x[i + 7]
            a, b, c, d = a + c, b + d, a - c, b - d
            e, f, g, h = e + g, f + h, e - g, f - h
            x[i], x[i + 1], x[i + 2], x[i + 3] = a + b, a - b, c + d, c - d
            x[i + 4], x[i + 5], x[i + 6], x[i + 7] = e + f, e - f, g + h, g - h
        half = _EIGHT
    while half < n:
        for first in range(0, n, 2 * half):
            # as two arrays, or the compiler uses no vector instructions
            low, high = x[first : first + half], x[first + half : first + 2 * half]
            for i in range(half):
                low[i], high[i] = low[i] + high[i], low[i] - high[i]
        half *= 2


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
    blocks = out.reshape(len(out), out.shape[1] // width, width)
    with np.errstate(over="ignore", invalid="ignore"):
        norm = np.sqrt((blocks.astype(np.float64) ** 2).sum(axis=2, keepdims=True))
        if not np.isfinite(norm).all():  # squares overflow before the norm does
            largest = np.maximum(np.abs(blocks).max(axis=2, keepdims=True).astype(np.float64), 1.0)
            norm = largest * np.sqrt(((blocks / largest) ** 2).sum(axis=2, keepdims=True))
        norm[norm == 0.0] = 1.0
        blocks /= (norm**power).astype(out.dtype)


class RandomNumbers:
    """Random numbers of a seed, from the raw words of the Philox generator.

    numpy never changes these words, unlike its distributions.
    """

    def __init__(self, seed: int) -> None:
        self._stream = np.random.Philox(key=seed)

    def _words(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        return self._stream.random_raw(int(np.prod(shape))).reshape(shape)

    def uniform(self, *shape: int) -> Floats:
        """Return numbers between 0 and 1."""
        numbers: Floats = ((self._words(shape) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return numbers

    def normal(self, *shape: int) -> Floats:
        """Return standard normal numbers."""
        one, two = self.uniform(*shape), self.uniform(*shape)  # Box and Muller
        return np.asarray(np.sqrt(-2.0 * np.log(one)) * np.cos(_TURN * two))

    def signs(self, *shape: int) -> Floats:
        """Return 1 and -1, each half of the time."""
        return np.where(self._words(shape) >> np.uint64(63), 1.0, -1.0)
