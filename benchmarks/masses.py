"""Canonical masses of whole cities, and vectors of many windows: time, memory and accuracy."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import torelli as tt
from benchmarks.measure import Row, best, compared, in_fresh_process, limited
from benchmarks.scale import random_street_graph
from torelli._numerics import threads
from torelli._spaces import junctions
from torelli.datasets.local import city_index, read_city
from torelli.experiments._measurement import exponent

if TYPE_CHECKING:
    from collections.abc import Callable

    from torelli import MetricGraph

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Edges of the cities whose masses are timed."""
WINDOWS = 100_000
WINDOW_EDGES = 85  # on 49 crossings
LOADING = (1000, 10_000)  # edges of cities that load the code of both eliminations before the time is taken
CHECKED = 200  # edges whose mass is computed again, from a solution of their own
_AT_ONCE = 20  # of these are solved for together
CORES = 2

_CITY = """
import time, torelli as tt
from benchmarks.masses import CITIES
for small in {loading}: tt.canonical_measure(CITIES[{name!r}](small))
G = CITIES[{name!r}]({n_edges})
start = time.process_time(); measure = tt.canonical_measure(G); seconds = time.process_time() - start
print(json.dumps({{"seconds": seconds, "mb": peak_mb(), "edges": G.n_edges}}))
"""

_WINDOWS = """
import time, numpy as np, torelli as tt
from benchmarks.masses import WINDOW_EDGES
from benchmarks.scale import random_street_graph
one = [random_street_graph(WINDOW_EDGES, seed) for seed in range(1000)]
factor = 1.0 + np.arange({windows}) / {windows}
graphs = [one[i % 1000].replace(length=one[i % 1000].length * factor[i]) for i in range({windows})]
features = tt.MeasureFeatures(dtype="float32", n_jobs={cores}).fit(graphs[:1000])
features.transform(graphs[:10])
start = time.perf_counter(); X = features.transform(graphs); seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "mb": peak_mb(), "nodes": np.mean([g.n_nodes for g in one]),
    "columns": X.shape[1]}}))
"""


def _voronoi(n_edges: int) -> MetricGraph:
    return tt.datasets.voronoi(n_edges // 3, seed=0)


CITIES: dict[str, Callable[[int], MetricGraph]] = {
    "Voronoi city": _voronoi,
    "grid with gaps": partial(random_street_graph, seed=0),
}
"""Planar cities by number of edges."""


def masses() -> list[Row]:
    """Canonical masses of all streets, and TTM vectors of 100,000 windows of about 50 nodes.

    Cities are Voronoi cells of random points and a grid without 15 % of its streets. Time of a city is
    processor time of one thread, and memory that of a whole process, the city included. The error is the
    largest of 200 streets, compared with sparse LU of the Kirchhoff matrix (scipy). "Real cities" has a
    point for each of the 64 street networks. The last row compares the vectors with the matrix products alone
    that they would need if the weights of the steps were random matrices: one GEMM for each step and task.
    """
    barcelona = read_city("Barcelona_r3000.graphml.gz")
    tt.canonical_measure(random_street_graph(100, 0))
    rows = [
        limited(
            f"Barcelona, {barcelona.n_edges:,} streets: masses",
            best(lambda: tt.canonical_measure(barcelona)),
            3,
        ),
        limited("Barcelona: error of single masses", error_of_masses(barcelona), 1e-9, ""),
    ]
    series = sorted(_times_of_real_cities())
    slope = exponent(*np.array(series).T)
    what = f"real cities, {series[0][0]:,} to {series[-1][0]:,} streets: exponent of the time"
    rows.append(limited(what, slope, 1.3, "", series))
    for name in CITIES:
        rows += _growth(name)
    return [*rows, *_windows()]


def _times_of_real_cities() -> list[tuple[int, float]]:
    """Return the number of streets of each city, and the time of their masses."""
    times = []
    for city in city_index():
        streets = read_city(city["file"])
        times.append((streets.n_edges, best(partial(tt.canonical_measure, streets))))
    return times


def _growth(name: str) -> list[Row]:
    """Return the time of the largest city, its memory and error, and how time grows."""
    figures = []
    for n_edges in SIZES:
        figures.append(in_fresh_process(_CITY.format(name=name, n_edges=n_edges, loading=LOADING)))
        print(json.dumps({"city": name, **figures[-1]}), flush=True)
    series = [(int(one["edges"]), one["seconds"]) for one in figures]
    slope = exponent(*np.array(series).T)
    largest = figures[-1]
    what = f"{name}, {int(largest['edges']):,} streets"
    return [
        limited(f"{what}: masses", largest["seconds"], 60),
        limited(f"{what}: memory", largest["mb"] / 1000, 4, "GB"),
        limited(
            f"{what}: error of single masses",
            error_of_masses(CITIES[name](SIZES[-1])),
            1e-9,
            "",
        ),
        limited(
            f"{name}, {SIZES[0]:,} to {SIZES[-1]:,} streets: exponent of the time", slope, 1.3, "", series
        ),
    ]


def error_of_masses(graph: MetricGraph, seed: int = 0) -> float:
    """Return the largest error of the masses of some edges, compared with sparse LU.

    The mass of an edge is 1 - r / length, where r is the effective resistance between its ends.
    """
    mass = tt.canonical_measure(graph).edge_mass
    conductance, n = 1.0 / graph.length, graph.n_nodes
    ends = np.concatenate([graph.tail, graph.head]), np.concatenate([graph.head, graph.tail])
    adjacency = sp.coo_array((np.tile(conductance, 2), ends), shape=(n, n)).tocsr()
    labels = sp.csgraph.connected_components(adjacency)[1]
    # a conductance to the ground at one node of each component keeps all resistances as they are
    grounded = np.zeros(n)
    grounded[np.unique(labels, return_index=True)[1]] = conductance.mean()
    kirchhoff = sp.diags_array(adjacency.sum(axis=1) + grounded) - adjacency
    solver = splu(kirchhoff.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    chosen = np.random.default_rng(seed).choice(graph.n_edges, CHECKED, replace=False)
    error = 0.0
    for edges in np.split(chosen, range(_AT_ONCE, CHECKED, _AT_ONCE)):
        u, v, column = graph.tail[edges], graph.head[edges], np.arange(len(edges))
        currents = np.zeros((n, len(edges)))
        np.add.at(currents, (u, column), 1.0)
        np.add.at(currents, (v, column), -1.0)
        potentials = solver.solve(currents)
        resistances = potentials[u, column] - potentials[v, column]
        error = max(error, np.abs(mass[edges] - (1.0 - resistances / graph.length[edges])).max())
    return float(error)


def _windows() -> list[Row]:
    figures = in_fresh_process(_WINDOWS.format(windows=WINDOWS, cores=CORES))
    what = f"{WINDOWS:,} windows of {figures['nodes']:.0f} nodes, {int(figures['columns']):,} columns"
    graphs = [random_street_graph(WINDOW_EDGES, seed) for seed in range(5000)]
    features = tt.MeasureFeatures(n_jobs=1).fit(graphs)
    spaces = junctions(graphs, 1)
    features.transform(spaces)
    vectors = best(lambda: features.transform(spaces))
    n_points, width, depth = len(spaces.degree), features._width, features._depth  # noqa: SLF001
    n_tasks = max(1, len(spaces.length) // 4096)
    rng = np.random.default_rng(0)
    points = rng.random((n_points // n_tasks, 2 * width))
    weights = rng.random((2 * width, width))

    def products() -> None:
        with threads.one_blas_thread():
            for _ in range(n_tasks * depth):
                points @ weights

    return [
        limited(f"{what}: time in two threads", figures["seconds"], 300),
        limited(f"{what}: memory", figures["mb"] / 1000, 2, "GB"),
        compared(
            "5,000 windows, one thread: vectors from masses",
            "GEMMs by random matrices alone",
            vectors,
            best(products),
        ),
    ]
