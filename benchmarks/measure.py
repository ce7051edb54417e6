"""Timing, peak memory, and what machine it was."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REPEATS = 3


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    what, against
        What was measured, and the other side.
    ours, theirs
        Seconds, or what `unit` says.
    figure
        How many times better ours is, or the figure itself where there is no other side.
    target
        What was asked for, in words; empty if nothing was.
    met
        Whether it was reached.
    unit
        Unit of `ours` and `theirs`.
    at_least
        The target of a ratio as a number.
    series
        Points (size, seconds) behind a slope.
    """

    what: str
    against: str
    ours: float
    theirs: float | None
    figure: float
    target: str
    met: bool
    unit: str = "s"
    at_least: float | None = None
    series: list[tuple[int, float]] | None = None


def compared(
    what: str, against: str, ours: float, theirs: float, at_least: float | None = None, unit: str = "s"
) -> Row:
    """Return the row of a ratio, theirs over ours."""
    ratio = theirs / max(ours, 1e-12)
    target = "" if at_least is None else f"at least {at_least:.3g}x"
    return Row(
        what, against, ours, theirs, ratio, target, at_least is None or ratio >= at_least, unit, at_least
    )


def limited(
    what: str,
    value: float,
    at_most: float | None = None,
    unit: str = "s",
    series: list[tuple[int, float]] | None = None,
) -> Row:
    """Return the row of a figure of our own."""
    target = "" if at_most is None else f"at most {at_most:g} {unit}".strip()
    return Row(what, "", value, None, value, target, at_most is None or value <= at_most, unit, series=series)


def best(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the shortest time of some repeats."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def side_by_side(
    ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int = REPEATS, each: int = 1
) -> tuple[float, float]:
    """Return the shortest times of two things done in turn, so that a busy moment hits both.

    Ours are done `each` times a turn: where they are far shorter, a disturbance would hit one side only.
    """
    mine, other = [], []
    for _ in range(repeats):
        mine.append(best(ours, each))
        other.append(best(theirs, 1))
    return min(mine), min(other)


def in_fresh_process(code: str) -> dict[str, float]:
    """Run code in a new process and return the JSON object that its last line prints.

    The code sees ``peak_mb()``: the most memory the process has had, in megabytes, from Linux's own count
    (``ru_maxrss`` would begin with that of this process). Nothing is imported before the code but json.
    """
    script = (
        "import json\n"
        "def peak_mb():\n"
        "    return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 1024\n"
        f"{code}\n"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (our own script)
    if run.returncode:
        raise RuntimeError(run.stderr[-2000:])
    figures: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    return figures


def as_json(rows: list[Row]) -> list[dict[str, Any]]:
    """Return rows as plain objects."""
    return [asdict(row) for row in rows]
