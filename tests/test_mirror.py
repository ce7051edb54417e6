"""Every module of the package has a test file of its name, so that a contributor knows where to look."""

from __future__ import annotations

from pathlib import Path

import pytest

import torelli

PACKAGE = Path(torelli.__file__).parent
TESTS = Path(__file__).parent

EXCEPTIONS = {
    "__init__.py": "lists what is public, which test_package.py checks",
    "__main__.py": "answers interrupts before anything is imported, which test_interrupt.py checks",
    "_types.py": "has type aliases alone, which mypy checks",
    "_version.py": "has the version alone, which test_package.py checks",
}
"""Names of modules without a test file, and why."""


def modules() -> list[Path]:
    """Return the source of each module, relative to the package."""
    return [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]


@pytest.mark.parametrize("module", [m for m in modules() if m.name not in EXCEPTIONS], ids=str)
def test_every_module_has_its_test_file(module):
    """The tests of torelli/package/_module.py are in tests/package/test_module.py."""
    folder = TESTS.joinpath(*(part.removeprefix("_") for part in module.parts[:-1]))
    assert (folder / f"test_{module.stem.removeprefix('_')}.py").is_file()


def test_exceptions_are_modules():
    """No exception outlives its module."""
    assert set(EXCEPTIONS) <= {module.name for module in modules()}
