"""Requests that cannot fit are refused before they start."""

from __future__ import annotations

import os
from pathlib import Path

from torelli._errors import RequestTooLargeError

_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_bytes() -> int | None:
    """Return the memory that can still be had on this machine, or None where that is not known."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        try:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
        except (AttributeError, ValueError, OSError):
            return None
    for limit, used in _LIMITS:
        try:
            found.append(
                int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text(encoding="ascii"))
            )
        except (OSError, ValueError):
            continue
    return min(found, default=None)


def require(n_bytes: int, what: str, remedy: str) -> None:
    """Raise an error if `n_bytes` are not to be had, with the figure and the option that helps."""
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise RequestTooLargeError(f"{what} would take {size(n_bytes)}, {size(available)} are free: {remedy}")


def size(n_bytes: float) -> str:
    """Return a number of bytes for a person."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:  # noqa: PLR2004  (the next unit)
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} TB"
