"""Packages that import their public names when they are first used.

The names stand once, in the stub ``__init__.pyi`` of a package, as in SPEC 1 of Scientific Python. Type
checkers and editors read the stub, and so does this module. `lazy_loader` reads it when the package is
imported, which is before the command line answers Ctrl-C, and looks a name up again at every use.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # `typing` takes longer to import than this package
if TYPE_CHECKING:
    from collections.abc import Callable


def names_of_stub(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the functions ``__getattr__`` and ``__dir__`` of a package, which find names through its stub.

    A name that has been used once is an ordinary global of the package. Submodules without an underscore
    are found too.
    """
    homes: dict[str, str] = {}

    def find(name: str) -> object:
        if name == "__all__":
            return _names(package, homes)
        if not name.startswith("_"):
            from importlib.util import find_spec

            if name in _names(package, homes) and homes[name] != package:
                value = getattr(import_module(homes[name]), name)
                setattr(sys.modules[package], name, value)
                return value
            if find_spec(f"{package}.{name}") is not None:
                return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *_names(package, homes)})

    return find, directory


def _names(package: str, homes: dict[str, str]) -> list[str]:
    """Return the public names, and note the module that each comes from; the stub is read once."""
    if not homes:
        import ast
        from pkgutil import get_data

        stub = get_data(package, "__init__.pyi") or b""
        for node in ast.parse(stub).body:
            if isinstance(node, ast.ImportFrom):
                homes.update({alias.name: str(node.module) for alias in node.names})
    return list(homes)
