"""How long things take: seconds from tables that were measured on one machine.

``calibration.json`` has the seconds of each step for some sizes, with the machine and the date.
``make bench CASES=scale`` measures them again. Between two sizes, the logarithm of the seconds is linear in
that of the size, and beyond the largest size it continues with the last slope.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._registry import get_kernel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from torelli._types import Floats, Ints


@cache
def calibration() -> dict[str, Any]:
    """Return the measured tables, with the machine that they were measured on."""
    text = files("torelli.scale").joinpath("calibration.json").read_text(encoding="utf-8")
    costs: dict[str, Any] = json.loads(text)
    return costs


def seconds(step: str, size: ArrayLike) -> Floats:
    """Return the expected seconds of a step for some sizes; `step` is a name in the calibration."""
    table = calibration()["seconds"][step]
    x = np.log([float(known) for known in table])
    y = np.maximum.accumulate(np.log([float(value) for value in table.values()]))  # whatever noise says
    log_size = np.log(np.maximum(np.asarray(size, dtype=np.float64), 1.0))
    slope = (y[-1] - y[-2]) / (x[-1] - x[-2])
    extrapolated = y[-1] + slope * (log_size - x[-1])
    result: Floats = np.exp(np.where(log_size > x[-1], extrapolated, np.interp(log_size, x, y)))
    return result


def largest_measured(step: str) -> int:
    """Return the largest size that a step was measured for."""
    return int(max(map(float, calibration()["seconds"][step])))


def pair_step(kernel: str) -> str:
    """Return the step of the calibration that a pair of a kernel is; vectors of any kernel are alike."""
    name = f"pair {get_kernel(kernel).entry.name}"
    return name if name in calibration()["seconds"] else "pair of vectors"


def tile_seconds(kernel: str, size: Ints, side: int) -> Floats:
    """Return the expected seconds of all tiles, from the sizes of graphs in their order.

    A pair costs what its smaller matrix says. The number of pairs in a tile whose smaller size is at least s
    is a product of two counts, so that the costs of all tiles are one matrix product.
    """
    step = pair_step(kernel)
    n_blocks = -(-len(size) // side)
    known = np.unique(size)
    if step == "pair of vectors":
        width = seconds(step, size.max(initial=1))
        count = np.bincount(np.arange(len(size)) // side, minlength=n_blocks)
        costs: Floats = width * np.outer(count, count)
    else:
        block = np.arange(len(size)) // side
        at_least = np.zeros((n_blocks, len(known)))
        np.add.at(at_least, (block, np.searchsorted(known, size)), 1.0)
        at_least = at_least[:, ::-1].cumsum(axis=1)[:, ::-1]
        steps = np.diff(seconds(step, known), prepend=0.0)
        costs = (at_least * steps) @ at_least.T
    costs[np.diag_indices(n_blocks)] /= 2.0
    return costs
