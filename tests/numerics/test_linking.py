"""Functions that compiled code calls: linked, and executable only where Python calls them."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys

import numpy as np

from torelli._numerics.compile import compiled


@compiled
def _square(x):
    return x * x


@compiled
def _total(values):
    total = 0.0
    for i in range(len(values)):
        total += _square(values[i])
    return total


def test_a_function_can_be_called_from_compiled_code_and_from_python():
    """Both give the same value, whichever comes first."""
    values = np.array([1.5, 2.0, 3.0])
    assert _total(values) == 15.25
    assert _square.signatures == []  # no machine code of its own yet
    assert _square(1.5) == 2.25
    assert len(_square.signatures) == 1
    assert _total(values[:2]) == 6.25


def test_callers_compiled_later_link_the_same_code():
    """A function that Python has called is linked as any other."""

    @compiled
    def twice(x):
        return 2.0 * _square(x)

    assert _square(3.0) == 9.0
    assert twice(3.0) == 18.0


_COUNT = """
import json
import torelli as tt
from numba.core import event
from torelli.commands.demo import KERNELS
from torelli.commands.warmup import compile_kernel

class Counter(event.Listener):
    names = []
    def on_start(self, one):
        function = one.data["dispatcher"].py_func
        self.names.append(f"{{function.__module__}}.{{function.__qualname__}}")
    def on_end(self, one):
        pass

graph = tt.MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 4.0])
with event.install_listener("numba:compile", Counter()):
    {work}
print(json.dumps(Counter.names))
"""


def _compiled(work, folder):
    """Return the functions of this package and of numba that some work compiles, once for each signature."""
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", _COUNT.format(work=work)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    names = json.loads(run.stdout)
    ours = [name for name in names if name.startswith("torelli.")]
    return ours, [name for name in names if name not in ours]


def test_a_first_matrix_compiles_few_functions(tmp_path):
    """A graph without ties needs none of the code for ties, and each function for one set of types."""
    ours, of_numba = _compiled("tt.torelli_matrix(graph)", tmp_path)
    assert len(ours) <= 33, ours
    assert len(of_numba) <= 12, of_numba
    modules = {name.split(".")[2] for name in ours}
    assert not {"symmetry", "currents", "resistance"} & modules


def test_the_demo_compiles_few_functions(tmp_path):
    """Its kernels need each function for one set of types or two, and none of numba's messages and sums."""
    ours, of_numba = _compiled("[compile_kernel(name) for name in KERNELS]", tmp_path)
    assert len(set(ours)) <= 75, ours
    assert len(ours) - len(set(ours)) <= 12, ours
    assert len(of_numba) <= 21, of_numba
    assert not any("raise_with_shape_context" in name for name in of_numba)


def test_a_function_can_be_sent_to_another_process():
    """Pickling gives the function itself, as numba's own functions do."""
    assert pickle.loads(pickle.dumps(_square)) is _square  # noqa: S301  (our own bytes)
