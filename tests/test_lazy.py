"""Names of a package that are imported when they are first used, and what each way to start loads."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import torelli as tt
from torelli import datasets
from torelli.cli import COMMANDS

HEAVY = {
    "geopandas", "igraph", "joblib", "matplotlib", "networkx", "numba", "osmium", "osmnx", "pandas", "plotly",
    "scipy", "shapely", "sklearn",
}  # fmt: skip
PACKAGES = [tt, datasets]


def loaded(code: str) -> set[str]:
    """Return the modules in memory after some code has run in a process of its own."""
    script = f"{code}\nimport sys\nprint('loaded:', *sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)  # noqa: S603
    assert run.returncode == 0, run.stderr
    return set(run.stdout.rpartition("loaded:")[2].split())


def heavy(code: str) -> set[str]:
    """Return the heavy libraries that some code loads."""
    return {name.partition(".")[0] for name in loaded(code)} & HEAVY


def test_a_bare_import_loads_nothing():
    """`import torelli` loads its version and what finds names, not even numpy, and neither does `dir`."""
    ours = {"torelli", "torelli._lazy", "torelli._version"}
    for code in ("import torelli", "import torelli; assert 'TTWKernel' in dir(torelli)"):
        modules = loaded(code)
        assert {name for name in modules if name.startswith("torelli")} == ours
        assert not {"numpy", *HEAVY} & modules


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_no_heavy_library(arguments):
    """The version and the help of every command need numpy and our own light modules alone."""
    code = (
        f"import sys; sys.argv[1:] = {arguments}\nfrom torelli.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0"
    )
    assert heavy(code) == set()


RING = "import torelli as tt; ring = tt.MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 2.0, 3.0])"


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        (RING, set()),
        (f"{RING}; assert ring.total_length == 6.0; assert ring == ring.replace(name='ring')", set()),
        ("from torelli import InvalidGraphError, DataWarning", set()),
        ("from torelli import as_metric_graph; as_metric_graph([(0, 1, 2.0), (1, 0, 1.0)])", set()),
        ("from torelli import read; read({graphml!r})", set()),
        ("from torelli import KERNELS; assert 'ttw' in KERNELS; assert len(KERNELS) > 3", set()),
        ("from torelli import distance_cache; distance_cache.clear()", set()),
        ("from torelli.datasets import TU_NAMES, URN_NAMES, grid; grid(3, 3)", {"scipy"}),
        (
            "from torelli import torelli_matrix, canonical_model, canonical_measure",
            {"scipy", "numba", "joblib"},
        ),
        ("from torelli import TTWKernel", {"scipy", "numba", "joblib", "sklearn", "pandas"}),
    ],
)
def test_a_name_loads_what_it_needs(code, allowed, tmp_path):
    """Graphs and readers need numpy alone, matrices need numba, and estimators need scikit-learn."""
    graphml = tmp_path / "a.graphml"
    graphml.write_text(
        '<graphml><key id="l" for="edge" attr.name="length" attr.type="double"/>'
        '<graph edgedefault="undirected"><node id="a"/><node id="b"/>'
        '<edge source="a" target="b"><data key="l">2</data></edge></graph></graphml>'
    )
    assert heavy(code.replace("{graphml!r}", repr(str(graphml)))) <= allowed


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_names_are_those_of_the_stub(package):
    """`__all__`, `dir`, the stub that type checkers read, and attributes agree."""
    stub = ast.parse(Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    (listed,) = [ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign)]
    imported = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(imported) == sorted(listed) == sorted(package.__all__)
    assert set(listed) <= set(dir(package))
    for name in listed:
        assert getattr(package, name) is getattr(package, name)


def test_a_star_import_brings_every_name():
    """``from torelli import *`` works as for a package that imports everything."""
    names = {}
    exec("from torelli import *", names)  # noqa: S102  (a star import stands at the top of a module only)
    assert set(tt.__all__) <= set(names)


def test_submodules_are_found():
    """A module of the package is an attribute without an import of its own."""
    assert (
        heavy("import torelli; assert torelli.io.read; assert torelli.datasets.storage.shared_data") == set()
    )


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_is_missing_is_an_attribute_error(package):
    """The message is Python's own, for public and private names."""
    for name in ("unheard_of", "_unheard_of", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute '{name}'"):
            getattr(package, name)
    with pytest.raises(ImportError, match="cannot import name 'unheard_of'"):
        exec(f"from {package.__name__} import unheard_of")  # noqa: S102  (the package is a parameter)


TYPED = """
import torelli as tt
from torelli import datasets
from torelli.datasets import grid

graph: tt.MetricGraph = grid(3, 3)
kernel = tt.TTWKernel(gamma=1.0)
reveal_type(tt.read("a.graphml"))
reveal_type(tt.distance_cache.n_bytes)
reveal_type(datasets.load_tu)
tt.unheard_of
tt.TTWKernel(gama=1.0)
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is a tool of developers")
def test_type_checkers_see_every_name(tmp_path):
    """Mypy knows the types behind lazy names, and reports a name that is not there."""
    pytest.importorskip("mypy")
    (tmp_path / "user.py").write_text(TYPED)
    source = Path(tt.__file__).parent.parent
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "user.py"]
    # mypy finds what is installed by itself, and refuses to be told where that is
    path = {} if source.name == "site-packages" else {"MYPYPATH": str(source)}
    environment = {**os.environ, **path, "MYPY_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    told = [line.partition(": ")[2] for line in run.stdout.splitlines()]
    assert told[:5] == [
        'note: Revealed type is "list[torelli.graph.MetricGraph]"',
        'note: Revealed type is "int"',
        told[2],
        'error: Module has no attribute "unheard_of"  [attr-defined]',
        'error: Unexpected keyword argument "gama" for "TTWKernel"; did you mean "gamma"?  [call-arg]',
    ]
    assert "def (name: str" in told[2]
