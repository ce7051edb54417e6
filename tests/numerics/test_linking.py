"""Functions that compiled code calls: linked, and executable only where Python calls them."""

from __future__ import annotations

import numpy as np

from torelli._numerics.compile import compiled


@compiled
def _square(x):
    return x * x


@compiled
def _total(values):
    total = 0.0
    for i in range(len(values)):
        total += _square(values[i])
    return total


def test_a_function_can_be_called_from_compiled_code_and_from_python():
    """Both give the same value, whichever comes first."""
    values = np.array([1.5, 2.0, 3.0])
    assert _total(values) == 15.25
    assert _square.signatures == []  # no machine code of its own yet
    assert _square(1.5) == 2.25
    assert len(_square.signatures) == 1
    assert _total(values[:2]) == 6.25


def test_callers_compiled_later_link_the_same_code():
    """A function that Python has called is linked as any other."""

    @compiled
    def twice(x):
        return 2.0 * _square(x)

    assert _square(3.0) == 9.0
    assert twice(3.0) == 18.0
