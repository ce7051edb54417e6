"""What the cost model of `torelli plan` is made of: seconds of each step by size, measured here."""

from __future__ import annotations

import json
import os
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np

import torelli as tt
from benchmarks.measure import Row, limited
from torelli._numerics.threads import one_blas_thread
from torelli._provenance import machine
from torelli._types import Along, Precision
from torelli.distances import METRICS, squared_matrix_distances, squared_vector_distances
from torelli.io.jsonlines import json_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import NDArray

CALIBRATIONS = [
    Path(tt.__file__).parent / "scale" / "calibration.json",
    Path(__file__).parents[1] / "src" / "torelli" / "scale" / "calibration.json",
]
"""The table of the package that is installed, which the case `plan` uses, and that of the checkout."""
GENERA = (2, 5, 10, 20, 40, 80, 160, 320, 640, 1000)
WIDTHS = (10, 50, 200, 640, 1280)
EDGES = (20, 100, 500, 2500, 12500)
LEAST = 0.3  # seconds of processor time that a figure is the mean of
MEGABYTE = 2**20


def used(work: Callable[[], Any]) -> float:
    """Return the processor time of a call: the mean of as many as take a third of a second."""
    work()
    start, calls = time.process_time(), 0
    while (took := time.process_time() - start) < LEAST:
        work()
        calls += 1
    return took / calls


def random_street_graph(n_edges: int, seed: int) -> tt.MetricGraph:
    """Return a grid with random lengths, some streets left out: about as many edges as asked."""
    rng = np.random.default_rng(seed)
    side = max(2, int(np.sqrt(n_edges / 1.7)))
    node = np.arange(side * side).reshape(side, side)
    ends = np.concatenate(
        [
            np.column_stack([node[:-1].ravel(), node[1:].ravel()]),
            np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()]),
        ]
    )
    ends = ends[rng.random(len(ends)) < 0.85]  # noqa: PLR2004
    length = rng.uniform(20.0, 200.0, len(ends))
    return tt.MetricGraph(ends[:, 0], ends[:, 1], length, side * side, unit="m")


def of_genus(genus: int, count: int) -> list[tt.MetricGraph]:
    """Return grids of about a genus."""
    return [random_street_graph(int(genus / 0.42) + 4, seed) for seed in range(count)]


def pairs() -> dict[str, dict[str, float]]:
    """Return the seconds of a pair of matrices of a size, for each metric, and of vectors of a width."""
    tables: dict[str, dict[str, float]] = {}
    rng = np.random.default_rng(0)
    for name in ("ttw", "tte"):
        table: dict[str, float] = {}
        for size in GENERA:
            side = 128 if size <= 40 else 32 if size <= 160 else 6  # noqa: PLR2004
            A = rng.standard_normal((2 * side, size, size))
            matrices: list[NDArray[np.float64]] = list(A @ A.transpose(0, 2, 1) + 0.1 * np.eye(size))
            rows, columns = matrices[:side], matrices[side:]

            def tile(name: str = name, rows: Any = rows, columns: Any = columns) -> None:  # noqa: ANN401
                squared_matrix_distances(METRICS[name], rows, columns)

            table[str(size)] = used(tile) / side**2
        tables[f"pair {name}"] = table
    table = {}
    for width in WIDTHS:
        X, Y = rng.standard_normal((2, 256, width))
        table[str(width)] = used(lambda X=X, Y=Y: squared_vector_distances(X, Y)) / 256**2  # type: ignore[misc]
    tables["pair of vectors"] = table
    return tables


def graphs() -> dict[str, dict[str, float]]:
    """Return the seconds of a graph: matrix and spectrum by genus, features by edges, reading by bytes."""
    tables: dict[str, dict[str, float]] = {name: {} for name in ("matrix", "spectrum")}
    spectra = METRICS["tts"].vectors
    assert spectra is not None  # noqa: S101  (for the type checker)
    for genus in GENERA:
        some = of_genus(genus, 16 if genus < 100 else 2)  # noqa: PLR2004
        matrices = tt.torelli_matrices(some)
        mean = str(max(1, round(float(np.mean([len(Q) for Q in matrices])))))
        tables["matrix"][mean] = used(lambda some=some: tt.torelli_matrices(some)) / len(some)  # type: ignore[misc]
        tables["spectrum"][mean] = used(lambda Qs=matrices: spectra(Qs, None)) / len(some)  # type: ignore[misc]
    for along, dtype in product(get_args(Along), get_args(Precision)):
        table = tables[f"features {along} {dtype}"] = {}
        for edges in EDGES:
            some = [random_street_graph(edges, seed) for seed in range(max(4, 2000 // edges))]
            transformer = tt.MeasureFeatures(along=along, dtype=dtype).fit(some)
            mean = str(round(float(np.mean([graph.n_edges for graph in some]))))
            table[mean] = used(lambda t=transformer, some=some: t.transform(some)) / len(some)  # type: ignore[misc]
    tables["byte of JSON lines"] = {"1": _read_byte()}
    tables["byte on disk"] = {"1": _write_byte()}
    for name in ("byte of JSON lines", "byte on disk"):
        tables[name]["1e12"] = 1e12 * tables[name]["1"]
    return tables


def _read_byte() -> float:
    # without coordinates, so that most bytes are those of edges, which take longer
    some = [random_street_graph(100, seed) for seed in range(400)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "windows.jsonl")
        path.write_text("".join(json_line(graph) + "\n" for graph in some), encoding="ascii")
        return used(lambda: tt.read(path)) / path.stat().st_size


def _write_byte() -> float:
    content = np.random.default_rng(0).bytes(MEGABYTE)

    def write() -> None:
        with tempfile.NamedTemporaryFile(dir=Path.cwd()) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    return used(write) / MEGABYTE


def scale() -> Iterator[Row]:
    """Processor time of one core for each step of stores of features and kernels, by size.

    The figures are the tables in ``src/torelli/scale/calibration.json``, from which `torelli plan` and the
    tiles of distributed runs take their costs (`docs/scale.md`).
    """
    tables: dict[str, dict[str, float]] = {}
    for measure in (pairs, graphs):
        with one_blas_thread():
            measured = measure()
        tables |= measured
        for step, table in measured.items():
            for size, value in table.items():
                if size != "1e12":
                    yield limited(f"{step}, size {size}", 1e6 * value, unit="µs")
    columns = {
        along: len(tt.MeasureFeatures(along=along).get_feature_names_out()) for along in get_args(Along)
    }
    content = {
        "command": "make bench CASES=scale",
        "machine": machine(),
        "columns": columns,
        "seconds": tables,
    }
    for path in CALIBRATIONS:
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
