"""What a measured figure depends on: the machine and the versions."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

PACKAGES = ("torelli", "numpy", "scipy", "scikit-learn", "numba", "networkx", "grakel", "pyriemann", "POT")


def machine() -> dict[str, Any]:
    """Return processor, cores, system, versions and the time now, for storing beside figures."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def is_described(found: object) -> bool:
    """Whether something that was read from a file is what `machine` returns, as far as `describe` uses it."""
    if not isinstance(found, dict) or not isinstance(found.get("versions"), dict):
        return False
    texts = [found.get(key) for key in ("date", "cpu", "python")]
    return all(isinstance(text, str) for text in texts) and "cores" in found


def describe(found: dict[str, Any]) -> str:
    """Return what `machine` found as one sentence."""
    versions = [f"{name} {number}" for name, number in found["versions"].items() if number]
    parts = [found["date"], found["cpu"], f"{found['cores']} cores", f"Python {found['python']}", *versions]
    return ", ".join(parts) + "."


def three_digits(figure: float) -> str:
    """Return a measured figure as a person would write it: 0.0123, 12.3, 12,345."""
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.3g}"  # noqa: PLR2004


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
