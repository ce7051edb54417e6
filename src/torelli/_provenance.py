"""What a result must say of itself: versions, machine, date, and the command that makes it again."""

from __future__ import annotations

import os
import platform
import shlex
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torelli._version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "networkx")


def provenance(command: Sequence[str], seed: int) -> dict[str, Any]:
    """Return command, seed, date, versions and machine; nothing that names the user or the host."""
    return {
        "command": shlex.join(command),
        "seed": seed,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "torelli": __version__,
            "Python": platform.python_version(),
            **{name: found for name in _PACKAGES if (found := _version(name))},
        },
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cpu": _cpu(),
            "cores": os.cpu_count(),
        },
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    """Return the name of the processor where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown"
    )
