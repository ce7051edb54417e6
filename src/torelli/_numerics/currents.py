"""Currents on a connected graph whose edges are resistors, as real numbers and exactly modulo a prime.

The real resistance between the ends of an edge gives its canonical mass. Over a prime field, with a
random conductance for each edge colour, equal currents are exactly equal, so no tolerance is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from torelli._types import Floats, Ints, Words


_BITS = np.uint64(31)
PRIME = np.uint64(2**31 - 1)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROUNDING = 1e-15


@compiled
def mix(word: np.uint64) -> np.uint64:
    """Return a 64-bit hash of a word."""
    for _ in range(2):
        word ^= word >> np.uint64(32)
        word *= np.uint64(0xD6E8FEB86659FD93)
        word += np.uint64(0x2545F4914F6CDD1D)
    return word ^ (word >> np.uint64(29))


@compiled
def _reduce(value: np.uint64) -> np.uint64:
    """Return a value below 2^63 modulo the prime."""
    value = (value & PRIME) + (value >> _BITS)
    value = (value & PRIME) + (value >> _BITS)
    return value - PRIME if value >= PRIME else value


@compiled
def _reciprocal(value: np.uint64) -> np.uint64:
    """Return the inverse of a nonzero value modulo the prime, by Fermat's little theorem."""
    result, exponent = _ONE, PRIME - np.uint64(2)
    while exponent > _ZERO:
        if exponent & _ONE:
            result = _reduce(result * value)
        value = _reduce(value * value)
        exponent >>= _ONE
    return result


@compiled
def potentials(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Floats:
    """Return the inverse of the Laplacian of a connected graph whose last node is grounded.

    Entry (x, y) is the potential of x for a unit current from y to the last node.
    """
    inverse = np.zeros((n_nodes, n_nodes), np.float64)
    for edge in range(len(tail)):
        a, b, weight = tail[edge], head[edge], 1.0 / length[edge]
        inverse[a, a] += weight
        inverse[b, b] += weight
        inverse[a, b] -= weight
        inverse[b, a] -= weight
    last = n_nodes - 1
    for node in range(n_nodes):
        inverse[last, node] = inverse[node, last] = 0.0
    for k in range(last):
        row = inverse[k]
        scale = 1.0 / row[k]
        row[k] = 1.0
        for j in range(last):
            row[j] *= scale
        for i in range(last):
            factor = inverse[i, k]
            if i != k and factor != 0.0:
                other = inverse[i]
                other[k] = 0.0
                for j in range(last):
                    other[j] -= factor * row[j]
    return inverse


@compiled
def potentials_modulo(tail: Ints, head: Ints, conductance: Words, n_nodes: int) -> Words:
    """Return `potentials` exactly, modulo the prime; an empty matrix if there is no inverse."""
    inverse = np.zeros((n_nodes, n_nodes), np.uint64)
    for edge in range(len(tail)):
        a, b, weight = tail[edge], head[edge], conductance[edge]
        inverse[a, a] = _reduce(inverse[a, a] + weight)
        inverse[b, b] = _reduce(inverse[b, b] + weight)
        inverse[a, b] = _reduce(inverse[a, b] + PRIME - weight)
        inverse[b, a] = _reduce(inverse[b, a] + PRIME - weight)
    last = n_nodes - 1
    for node in range(n_nodes):
        inverse[last, node] = inverse[node, last] = _ZERO
    done = np.zeros(n_nodes, np.bool_)
    for _ in range(last):
        # any nonzero pivot works: the inverse does not depend on the order
        k = 0
        while k < last and (done[k] or inverse[k, k] == _ZERO):
            k += 1
        if k == last:
            return np.zeros((0, 0), np.uint64)
        done[k] = True
        row = inverse[k]
        scale = _reciprocal(row[k])
        row[k] = _ONE
        for j in range(last):
            row[j] = _reduce(row[j] * scale)
        for i in range(last):
            factor = inverse[i, k]
            if i != k and factor != _ZERO:
                other = inverse[i]
                other[k] = _ZERO
                _add_multiple(other, PRIME - factor, row)
    return inverse


@compiled
def _add_multiple(target: Words, factor: np.uint64, source: Words) -> None:
    """Add `factor` times a row to another, modulo the prime."""
    for j in range(len(target)):
        value = target[j] + factor * source[j]
        value = (value & PRIME) + (value >> _BITS)
        value = (value & PRIME) + (value >> _BITS)
        target[j] = min(value, value - PRIME)  # unsigned: a value below the prime wraps around


@compiled
def resistance(inverse: Floats, tail: Ints, head: Ints, c: int, d: int) -> float:
    """Return the potential difference over edge d for a unit current along edge c."""
    at_tail = inverse[tail[c], tail[d]] - inverse[tail[c], head[d]]
    at_head = inverse[head[c], tail[d]] - inverse[head[c], head[d]]
    return float(at_tail - at_head)


@compiled
def rounding(length: Floats, n_nodes: int) -> float:
    """Return a bound on the rounding error of `potentials`, relative to the length of any edge."""
    shortest, longest = np.inf, 0.0
    for value in length:
        shortest, longest = min(shortest, value), max(longest, value)
    return n_nodes * _ROUNDING * longest / shortest


@compiled
def resistance_modulo(inverse: Words, tail: Ints, head: Ints, c: int, d: int) -> np.uint64:
    """Return `resistance` exactly, modulo the prime."""
    plus = inverse[tail[c], tail[d]] + inverse[head[c], head[d]]
    minus = inverse[tail[c], head[d]] + inverse[head[c], tail[d]]
    return _reduce(plus + PRIME + PRIME - minus)


@compiled
def pair_words(one: Words, two: Words, tail: Ints, head: Ints) -> Words:
    """Return a hash for each pair of edges, computed from two systems of exact currents.

    Reversing an edge changes the sign of both its currents, so the hash uses products of two currents.
    """
    count = len(tail)
    words = np.empty((count, count), np.uint64)
    for c in range(count):
        for d in range(c + 1):
            x = resistance_modulo(one, tail, head, c, d)
            y = resistance_modulo(two, tail, head, c, d)
            word = (_reduce(x * x) << _BITS) + _reduce(x * y)
            words[c, d] = words[d, c] = mix(word + _reduce(y * y) * np.uint64(0x9E3779B97F4A7C15))
    return words
