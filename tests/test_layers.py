"""The package is built in layers: imports, also those inside functions, point downwards only."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import torelli

PACKAGE = Path(torelli.__file__).parent

LAYERS = (
    ("_version", "_lazy"),
    (
        "_errors",
        "_types",
        "_files",
        "_memory",
        "_units",
        "_geo",
        "_layout",
        "_provenance",
        "_validate",
        "_registry",
    ),
    ("_numerics",),
    ("graph",),
    ("io",),
    ("model", "measure"),
    ("matrix", "_spaces", "_drawing"),
    ("distances", "_cache"),
    ("_estimators", "kernel_matrix", "representation"),
    ("_waves", "kernels", "features", "explanation", "combine", "gp", "statistics", "persist", "landmarks"),
    ("search",),
    ("datasets",),
    ("scale",),
    ("evaluation", "classification", "plot", "webpage"),
    ("cities",),
    ("experiments", "report", "explore"),
    ("commands",),
    ("cli",),
    ("__init__", "__main__"),
)
"""From the ground up. A module imports from its own layer and from those above it in this list."""


def modules() -> dict[str, Path]:
    """Return the source of each module by its dotted name; of a package with a stub, the stub."""
    names = {}
    stubs = list(PACKAGE.rglob("__init__.pyi"))
    for path in [*(path for path in PACKAGE.rglob("*.py") if path.with_suffix(".pyi") not in stubs), *stubs]:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)] = path
    return names


MODULES = modules()


def is_for_types(node: ast.AST) -> bool:
    """Return whether a statement is the block of imports that only type checkers read."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a source imports at run time, in functions too."""
    targets: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import name` imports a module if there is one, and the package otherwise
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                targets.add(full if full in MODULES else node.module)
        nodes += [child for child in ast.iter_child_nodes(node) if not is_for_types(child)]
    return {"torelli.__init__" if name == "torelli" else name for name in targets} & set(MODULES)


IMPORTS = {name: imports(path) - {name} for name, path in MODULES.items()}


def layer(module: str) -> int:
    """Return the number of a module's layer."""
    part = module.split(".")[1]
    return next(i for i, names in enumerate(LAYERS) if part in names)


def test_every_module_has_a_layer():
    """A new module or package is given a place in the order of the data."""
    known = {name for names in LAYERS for name in names}
    assert {module.split(".")[1] for module in MODULES} <= known


def test_imports_form_no_cycle():
    """Modules can be read from the ground up, each after those that it uses."""
    TopologicalSorter(IMPORTS).prepare()  # raises CycleError, which names the cycle


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    """No module uses one of a higher layer."""
    assert [name for name in sorted(IMPORTS[module]) if layer(name) > layer(module)] == []


@pytest.mark.parametrize("module", MODULES)
def test_private_modules_stay_in_their_package(module):
    """A module with a leading underscore is imported only within the package that it is in."""
    package = module if MODULES[module].stem == "__init__" else module.rpartition(".")[0]
    foreign = [
        name
        for name in sorted(IMPORTS[module])
        for parts in [name.split(".")]
        for i, part in enumerate(parts)
        if part.startswith("_") and i > 1 and not package.startswith(".".join(parts[:i]))
    ]
    assert foreign == []
