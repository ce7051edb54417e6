"""The provenance of a measured figure: the machine and the package versions."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_WHOLE_FROM = 1000  # figures from here on are rounded to whole numbers
PACKAGES = ("torelli", "numpy", "scipy", "scikit-learn", "numba", "networkx", "grakel", "pyriemann", "POT")


def machine() -> dict[str, Any]:
    """Return processor, cores, system, versions and current time, to be stored with measured figures."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def is_described(record: object) -> bool:
    """Return whether a value read from a file has the entries of `machine` that `describe` uses."""
    if not isinstance(record, dict) or not isinstance(record.get("versions"), dict):
        return False
    texts = [record.get(key) for key in ("date", "cpu", "python")]
    return all(isinstance(text, str) for text in texts) and "cores" in record


def describe(record: dict[str, Any]) -> str:
    """Return the result of `machine` as one sentence."""
    versions = [f"{name} {release}" for name, release in record["versions"].items() if release]
    parts = [
        record["date"],
        record["cpu"],
        f"{record['cores']} cores",
        f"Python {record['python']}",
        *versions,
    ]
    return ", ".join(parts) + "."


def three_digits(figure: float) -> str:
    """Return a measured figure as a person would write it: 0.0123, 12.3, 12,345."""
    return f"{figure:,.0f}" if abs(figure) >= _WHOLE_FROM else f"{figure:.3g}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
