"""What a user waits for first: imports, help, compilation, and searches in several processes."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from functools import partial

from benchmarks.measure import REPEATS, Row, compared, in_fresh_process, limited
from torelli.cli import COMMANDS

_SEARCH = """
import os, time
import torelli as tt
from joblib.externals.loky import reusable_executor
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

if {folder!r}:
    tt.distance_cache.share({folder!r})
data = tt.datasets.street_patterns(60)
pipeline = make_pipeline(tt.{Kernel}(), SVC(kernel="precomputed"))
grid = {{"{step}__gamma": ["median", 1e-7, 1e-6, 1e-5, 1e-4], "svc__C": [0.1, 1.0, 10.0, 100.0]}}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
tt.{Kernel}().fit(data.graphs[::20])  # compiled code is on disk
tt.distance_cache.clear()

def of_workers():
    workers = getattr(reusable_executor._executor, "_processes", None) or ()
    fields = [open(f"/proc/{{worker}}/stat").read().rpartition(")")[2].split() for worker in workers]
    return [(int(one[11]) + int(one[12])) / os.sysconf("SC_CLK_TCK") for one in fields]

seconds, before = [], [0.0, 0.0]
for _ in range(4):
    start = time.process_time()
    GridSearchCV(pipeline, grid, cv=folds, n_jobs={n_jobs}).fit(data.graphs, data.y)
    after = of_workers() or before
    busiest = max(late - early for early, late in zip(before, after))
    seconds.append(time.process_time() - start + busiest)
    before = after
print(json.dumps({{"first": seconds[0], "later": min(seconds[1:])}}))
"""

_COMPILE = """
import contextlib, io, os, resource
os.environ["NUMBA_CACHE_DIR"] = {folder!r}
import numpy as np
import torelli as tt

def graph(length):
    random = np.random.default_rng(0)
    return tt.MetricGraph(*random.integers(40, size=(2, 80)), length, 40)

{work}
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({{"seconds": sum(one.ru_utime + one.ru_stime for one in used)}}))
"""
_WORK = {
    "matrix": "tt.torelli_matrix(graph(1.0 + np.random.default_rng(1).random(80)))",
    "ties": "tt.torelli_matrix(graph(np.ones(80)))",
    "demo": """
from torelli.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    assert main(["demo", "--out", {folder!r}]) == 0
""",
}


def start() -> list[Row]:
    """Processor time of imports and of the command line, best of five new processes."""
    numpy = _processor_seconds("-c", "import numpy")
    rows = [limited("import numpy, for comparison", numpy)]
    graph = "import torelli as tt; tt.MetricGraph([0], [0], [1.0])"
    rows += [
        limited(f"{what}, beyond numpy", max(0.0, _processor_seconds("-c", code) - numpy), 0.3)
        for what, code in (
            ("import torelli", "import numpy, torelli"),
            ("a first MetricGraph", graph),
            ("from torelli import read", "from torelli import read"),
        )
    ]
    rows.append(
        limited("from torelli import TTWKernel", _processor_seconds("-c", "from torelli import TTWKernel"))
    )
    rows.append(limited("torelli --version", _processor_seconds("-m", "torelli", "--version"), 0.4))
    slowest = max(_processor_seconds("-m", "torelli", command, "--help") for command in COMMANDS)
    rows.append(limited("torelli COMMAND --help, the slowest", slowest, 0.4))
    return rows


def compilation() -> list[Row]:
    """Processor time of a first use, whose machine code is not on disk yet; best of three new processes.

    Every process has an empty cache. Its time counts from its start, imports included, and that of
    processes which help it to compile counts too. What the demo
    compiles is the difference between a run with an empty cache and a second run with that cache.
    """
    matrix, matrix_again = _first_and_second("matrix")
    ties, _ = _first_and_second("ties")
    demo, demo_again = _first_and_second("demo")
    return [
        limited("a first torelli_matrix", matrix, 6),
        limited("a first torelli_matrix of a graph with ties", ties),
        limited("the same without ties, machine code on disk", matrix_again),
        limited("what torelli demo compiles", demo - demo_again, 14),
        limited("torelli demo, all of it", demo),
        limited("torelli demo, machine code on disk", demo_again),
    ]


def grid_search() -> list[Row]:
    """Grid searches over gamma and C with two worker processes, compared with one process.

    240 street windows, 5 folds, 20 candidates, compiled code on disk, each row in a new process.
    The first search starts the workers; later ones find them and the distances. "share" is
    `torelli.distance_cache.share` with an empty folder, and then with that folder in a second
    process. Seconds are processor time of the process plus that of its busiest worker, which a
    busy machine does not change much.
    """
    rows = []
    for Kernel in ("TTWKernel", "TTEKernel"):
        run = partial(_search, Kernel)
        with tempfile.TemporaryDirectory() as folder:
            one, two, shared, again = run(1), run(2), run(2, folder), run(2, folder)
        name = Kernel[:3]
        for what, found in (("", two), (", share", shared), (", share, in a second process", again)):
            more = found["first"] - one["first"]
            rows += [
                limited(f"{name}, n_jobs=2{what}: first search, beyond n_jobs=1", more, 5),
                compared(
                    f"{name}, n_jobs=2{what}: later searches", "n_jobs=1", found["later"], one["later"], 1
                ),
            ]
    return rows


def _search(Kernel: str, n_jobs: int, folder: str = "") -> dict[str, float]:
    return in_fresh_process(_SEARCH.format(Kernel=Kernel, step=Kernel.lower(), n_jobs=n_jobs, folder=folder))


def _first_and_second(work: str) -> tuple[float, float]:
    """Return the processor time of some work with an empty cache, and again with that cache."""
    first, second = [], []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            code = _COMPILE.format(folder=folder, work=_WORK[work].format(folder=folder))
            first.append(in_fresh_process(code)["seconds"])
            second.append(in_fresh_process(code)["seconds"])
    return min(first), min(second)


def _processor_seconds(*arguments: str) -> float:
    """Return the processor time of Python with some arguments, the best of five."""
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)  # noqa: S603  (ours)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)
