"""``torelli warmup``: compile every function in advance, for containers and clusters."""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import CacheWarning, InvalidMatrixError, InvalidOptionError, StoreError, warn
from torelli._registry import KERNELS, get_kernel
from torelli.commands.wording import tell, telling_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torelli._types import Subparsers
    from torelli.graph import MetricGraph

_DESCRIPTION = """\
Compile every function of the package and keep the machine code on disk, so that no later process waits for
the compiler. This takes about a minute once. Without it, a function is compiled when it is first used.
With --kernel, only what the default settings of some kernels need is compiled, in a few seconds each.

The code is kept in the folder NUMBA_CACHE_DIR, or beside the package if that is not set. It is valid for
one type of processor and one version of Python, numba and torelli. In a container, run this command in the
last step of the build, on the type of processor that will run it. On a cluster, set NUMBA_CACHE_DIR to a
folder that all nodes see, and run this once on each type of node.
"""
_EPILOG = """\
examples:
  torelli warmup
  torelli warmup --kernel ttm ttw
  NUMBA_CACHE_DIR=/shared/torelli-cache torelli warmup
"""
_SPARSE = 130  # matrices from which on TTE looks for zeros
_LADDER = 351  # rungs of a block that is too large for a matrix of all its currents
_LARGE = 1600  # points or edges of a graph whose measure is computed by sparse solves


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "warmup",
        help="compile every function in advance, for containers and clusters",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--kernel", nargs="+", choices=list(KERNELS), help="compile only what these kernels need"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    import numba

    from torelli._numerics.linking import Entry
    from torelli._numerics.waiting import waiting

    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        raise InvalidOptionError("NUMBA_DISABLE_JIT is set, so nothing is compiled: unset it")
    waiting.said = True  # each stage says what it does
    started = time.perf_counter()
    stages = STAGES
    if arguments.kernel:
        stages = {name.upper(): partial(compile_kernel, name) for name in dict.fromkeys(arguments.kernel)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CacheWarning)
        for name, stage in stages.items():
            before = time.perf_counter()
            with telling_time(f"compiling: {name}"):
                stage()
            tell(f"{name}: {time.perf_counter() - before:.1f} s")
    for one in caught:
        warn(str(one.message), CacheWarning)
    entries = [entry for entry in Entry.made if entry.signatures]
    folders = {path for entry in entries if (path := entry.stats.cache_path) is not None}
    failures = [str(one.message) for one in caught if "cannot be cached" in str(one.message)]
    if failures or not folders:
        reason = failures[0] if failures else "there is no folder for their code"
        raise StoreError(f"all functions work, but a new process compiles them again: {reason}")
    asked: str = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    if asked and not all(Path(folder).is_relative_to(asked) for folder in folders):
        raise StoreError(
            f"NUMBA_CACHE_DIR is {asked}, which cannot be written, so numba keeps the code under "
            f"{os.path.commonpath(folders)}: make the folder writable, or unset NUMBA_CACHE_DIR"
        )
    loaded = sum(entry.stats.cache_hits.total() for entry in entries)
    compiled = sum(entry.stats.cache_misses.total() for entry in entries)
    size = sum(file.stat().st_size for folder in folders for file in Path(folder).glob("*.nbc"))
    tell(
        f"{compiled} functions compiled, {loaded} found on disk, in {time.perf_counter() - started:.0f} s; "
        f"{size / 1e6:.1f} MB under {os.path.commonpath(folders)}"
    )
    return 0


def _graphs() -> list[MetricGraph]:
    """Return graphs of several sizes, all with dead ends, none with ties."""
    from torelli.graph import MetricGraph

    random = np.random.default_rng(0)
    graphs = []
    for n_nodes, n_edges in ((6, 9), (30, 50), (60, 150)):
        tail, head = random.integers(n_nodes, size=(2, n_edges))
        ends = (np.append(tail, [0, n_nodes]), np.append(head, [n_nodes, n_nodes + 1]))
        graphs.append(MetricGraph(*ends, 1.0 + random.random(n_edges + 2)))
    return graphs


def _ladder(n_rungs: int) -> MetricGraph:
    """Return a closed ladder with edges of length 1."""
    from torelli.graph import MetricGraph

    left = np.arange(n_rungs)
    right, up = left + n_rungs, (left + 1) % n_rungs
    tail, head = np.concatenate([left, right, left]), np.concatenate([up, up + n_rungs, right])
    return MetricGraph(tail, head, np.ones(3 * n_rungs))


def compile_matrices() -> None:
    """Compile what Torelli matrices and canonical models need."""
    from torelli.matrix import torelli_matrices
    from torelli.model import canonical_model

    graphs = _graphs()
    torelli_matrices(graphs)
    torelli_matrices(graphs, "literal")
    torelli_matrices(graphs, bridges="double")
    for graph in graphs:
        model = canonical_model(graph)
        repr((graph.n_components, model.cycles, model.bridge_chains))  # computed when they are read


def compile_ties() -> None:
    """Compile what graphs with tied lengths need, of any size."""
    from torelli.matrix import torelli_matrices

    torelli_matrices([_ladder(4), _ladder(_LADDER)])


def compile_distances() -> None:
    """Compile what distances and kernels need."""
    from torelli.distances import METRICS, pairwise_distances
    from torelli.matrix import torelli_matrices

    graphs = _graphs()
    matrices = torelli_matrices(graphs)
    sparse = [np.diag(np.arange(1.0, 61.0) + i) for i in range(_SPARSE)]
    for metric in METRICS:
        for precision in (np.float64, np.float32):
            near = [Q * (1.0 + 1e-9) for Q in matrices]
            pairwise_distances(matrices, near, metric, dtype=precision)
            pairwise_distances(matrices, metric=metric, dtype=precision)
    pairwise_distances(sparse, metric="tte")
    with suppress(InvalidMatrixError):
        pairwise_distances([np.full((1, 1), np.nan)])
    for kernel in KERNELS:
        get_kernel(kernel)().fit_transform(graphs)


def compile_kernel(name: str) -> None:
    """Compile what a kernel needs between any graphs without ties.

    Its distances come first. So two processes that compile two kernels at once do not both compile what
    makes the matrices: it takes as long as the distances, and the second process finds it on disk.
    """
    from torelli.distances import METRICS, squared_matrix_distances
    from torelli.matrix import torelli_matrices

    graphs = _graphs()
    collects = gc.isenabled()
    gc.disable()  # otherwise garbage is collected after every function
    try:
        if name in METRICS:  # without the kernel itself, which imports scikit-learn
            made_up = [np.diag(np.arange(1.0, size + 1.0)) for size in (2, 30, 60)]
            squared_matrix_distances(METRICS[name], made_up, None, n_jobs=1, verbose=False)
            matrices = torelli_matrices(graphs)
            squared_matrix_distances(METRICS[name], matrices, None, n_jobs=1, verbose=False)
            repr([graph.genus for graph in graphs])  # computed when it is read
        else:
            get_kernel(name)().fit_transform(graphs)
    finally:
        if collects:
            gc.enable()


@contextmanager
def compiled_beside(kernels: Sequence[str]) -> Iterator[None]:
    """Compile what kernels need in another process while this one compiles something else, and wait for it.

    Numba compiles in one thread at a time. The process starts when the first function is compiled in this
    one; if all code is on disk, it does not. Its code is found on disk later. Where that fails for whatever
    reason, the code is compiled when it is needed.
    """
    from joblib import effective_n_jobs
    from numba.core import event

    code = "import sys; from torelli.commands.warmup import compile_kernel as c; [*map(c, sys.argv[1:])]"
    command = [sys.executable, "-P", "-c", code, *kernels]
    processes: list[subprocess.Popen[bytes]] = []

    class Starter(event.Listener):
        def on_start(self, _event: object) -> None:
            if not processes and effective_n_jobs(-1) > 1:
                with suppress(OSError):  # a limit on memory or processes may forbid another process
                    nowhere = subprocess.DEVNULL
                    processes.append(subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere))  # noqa: S603  (our own command)

        def on_end(self, _event: object) -> None:
            """Do nothing."""

    try:
        with event.install_listener("numba:compile", Starter()):
            yield
        for process in processes:
            process.wait()
    finally:
        for process in processes:
            process.kill()
            process.wait()


def compile_measures() -> None:
    """Compile what the canonical measure, of networks of any size, and the features from it need."""
    from torelli._numerics.fronts import front_resistances
    from torelli.features import ALONG, MeasureFeatures
    from torelli.graph import MetricGraph
    from torelli.measure import canonical_measure
    from torelli.statistics import MetricStatistics

    graphs = _graphs()
    n = np.arange(_LARGE)
    tail, head = np.append(n, n), np.append((n + 1) % _LARGE, np.full(_LARGE, _LARGE))
    wheel = MetricGraph(tail, head, 2.0 + np.sin(np.arange(2 * _LARGE)))
    front_resistances(tail, head, wheel.length.copy(), wheel.n_nodes)
    measure = canonical_measure(graphs[-1])
    for n_probes in (None, 2):
        measure.along_currents(measure.class_mass, n_probes=n_probes)
    for along in ALONG:
        for precision in ("float64", "float32"):
            MeasureFeatures(along=along, n_features=4, dtype=precision).fit_transform([*graphs, wheel])
    MetricStatistics().fit_transform(graphs)


def compile_searches() -> None:
    """Compile what indexes need."""
    from torelli.search.index import GraphIndex

    graphs = _graphs()
    for kernel in KERNELS:
        GraphIndex(kernel).fit(graphs).query(graphs[:1], k=1)


def compile_readers() -> None:
    """Compile what reading tables of integers and resistances as lengths need."""
    from torelli._numerics.number_parser import integer_table
    from torelli._numerics.unit_resistances import edge_resistances

    integer_table(b"1, 2\n", 2, "an example")
    cycle = np.arange(3)
    edge_resistances(cycle, (cycle + 1) % 3, 3)


STAGES: dict[str, Callable[[], None]] = {
    "Torelli matrices": compile_matrices,
    "ties": compile_ties,
    "distances and kernels": compile_distances,
    "canonical measures": compile_measures,
    "searches": compile_searches,
    "readers": compile_readers,
}
"""What is compiled, in this order; the first is what most programs need first."""
