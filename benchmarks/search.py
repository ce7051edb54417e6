"""Search among windows of real cities, and approximate search among a million vectors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

import torelli as tt
from benchmarks.measure import Row, compared, limited
from torelli.datasets import load_tu
from torelli.datasets.calibration import city_windows
from torelli.datasets.local import city_index, read_city

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WINDOWS = 20_000
QUERIES = 50
K = 10
RADIUS = 300.0
PIVOTS = 32
LARGEST = 300
MILLION = 1_000_000


def real_windows(count: int = WINDOWS + QUERIES, *, seed: int = 0) -> list[tt.MetricGraph]:
    """Return windows around random junctions of the cities in the shared data, in random order."""
    cities = [read_city(row["file"]) for row in city_index()]
    # small cities have fewer junctions than their share
    each = 2 * count // len(cities)
    windows = [one for city in cities for one in city_windows(city, radius=RADIUS, n_windows=each, seed=seed)]
    order = np.random.default_rng(seed).permutation(len(windows))
    return [windows[i] for i in order[:count].tolist()]


def search(n_windows: int = WINDOWS) -> Iterator[Row]:
    """Nearest of 20,000 windows of 600 m from 64 real cities.

    Queries are 50 other windows, for the ten nearest (all random choices by seed 0). Times are processor time
    of one thread, the mean over the queries. "Distances" are those computed for a query: ours by the search,
    theirs by going through all. Rows of single bounds count the distances that a search with that bound alone
    would compute. TU sets have 50 of their graphs as queries among the others, with at most 300 rows of each
    matrix.
    """
    windows = real_windows(n_windows + QUERIES)
    queries, indexed = windows[:QUERIES], windows[QUERIES:]
    for kernel in ("ttw", "tte", "tts", "ttm"):
        index = tt.GraphIndex(kernel).fit(indexed)
        index.query(queries[0], K)
        seconds, computed, reach = [], [], []
        for query in queries:
            taken, distances, _ = timed_query(index, query)
            seconds.append(taken)
            computed.append(index.n_distances_)
            reach.append(float(distances[-1]))
        name = f"{kernel.upper()}, {len(indexed):,} windows"
        main = kernel == "ttw"
        yield limited(f"{name}, a query", float(np.mean(seconds)), 0.2 if main else None)
        yield limited(f"{name}, the slowest query", max(seconds))
        n = index.n_distinct_
        yield compared(f"{name}, distances", "all", float(np.mean(computed)), n, 20 if main else None, "")
        if main:
            yield from _single_bounds(queries, indexed, np.array(reach))
            yield from _sets()


def timed_query(index: tt.GraphIndex, query: tt.MetricGraph | Floats) -> tuple[float, Floats, set[int]]:
    """Return the processor time of a query, its distances and the set of its indices."""
    start = time.process_time()
    distances, indices = index.query(query, K)
    return time.process_time() - start, distances, set(indices.tolist())


def _single_bounds(
    queries: Sequence[tt.MetricGraph], indexed: Sequence[tt.MetricGraph], reach: Floats
) -> list[Row]:
    """Return how many distances each bound of TTW alone would leave to compute."""
    Q, B = tt.torelli_matrices(queries), tt.torelli_matrices(indexed)
    pivots = B[:PIVOTS]
    to_queries, to_indexed = tt.pairwise_distances(Q, pivots), tt.pairwise_distances(B, pivots)
    spectral = tt.pairwise_distances(Q, B, "tts")
    roots = [np.sqrt([float(np.trace(one)) for one in part])[:, None] for part in (Q, B)]
    diagonals = [_padded([np.sqrt(np.diagonal(one)) for one in part], 400) for part in (Q, B)]
    bounds: dict[str, Callable[[int], Floats]] = {
        "difference of the roots of traces": lambda i: np.abs(roots[0][i] - roots[1][:, 0]),
        f"triangle inequality, {PIVOTS} pivots": lambda i: np.abs(to_queries[i] - to_indexed).max(axis=1),
        "roots of eigenvalues (TTS)": lambda i: spectral[i],
        "roots of the diagonal": lambda i: np.linalg.norm(diagonals[0][i] - diagonals[1], axis=1),
    }
    return [
        compared(
            f"TTW, distances by one bound: {name}",
            "all",
            float(np.mean([np.count_nonzero(bound(i) <= reach[i]) for i in range(len(Q))])),
            len(B),
            unit="",
        )
        for name, bound in bounds.items()
    ]


def _sets() -> Iterator[Row]:
    """Return how many distances a query by TTW computes among the graphs of some TU sets."""
    for name in ("NCI1", "PROTEINS", "ENZYMES", "IMDB-BINARY", "DD"):
        graphs = load_tu(name).graphs
        order = np.random.default_rng(0).permutation(len(graphs))
        queries, rest = ([graphs[i] for i in part.tolist()] for part in (order[:QUERIES], order[QUERIES:]))
        index = tt.GraphIndex(tt.TTWKernel(max_genus=LARGEST, truncation="leading")).fit(rest)
        index.query(queries, K)
        computed = index.n_distances_ / len(queries)
        yield compared(f"TTW, {name}, distances", "all", computed, index.n_distinct_, unit="")


def _padded(vectors: Sequence[Floats], width: int) -> Floats:
    rows = np.zeros((len(vectors), width))
    for vector, row in zip(vectors, rows, strict=True):
        row[: min(len(vector), width - 1)] = vector[: width - 1]
        row[-1] = np.linalg.norm(vector[width - 1 :])
    return rows


def million(count: int = MILLION, n_windows: int = WINDOWS) -> Iterator[Row]:
    """Nearest of a million TTM vectors, by hnswlib and exactly.

    The vectors are resampled from those of the 20,000 real windows of the case above: x + 0.3 (y - z) for
    three random windows (seed 0). Queries are 50 vectors of the same kind, for the ten nearest. Times are
    processor time of one thread, the mean over the queries. Missed neighbours are those of the exact search
    that hnswlib does not find.
    """
    vectors = tt.MeasureFeatures().fit_transform(real_windows(n_windows))
    rng = np.random.default_rng(0)
    X = np.empty((count, vectors.shape[1]), np.float32)
    for start in range(0, count, 50_000):
        x, y, z = rng.integers(len(vectors), size=(3, min(50_000, count - start)))
        X[start : start + len(x)] = vectors[x] + 0.3 * (vectors[y] - vectors[z])
    queries, X = X[:QUERIES].astype(np.float64), X[QUERIES:]
    index = tt.GraphIndex.from_vectors(X)
    exact = [timed_query(index, x) for x in queries]
    name = f"{len(X):,} TTM vectors"
    yield limited(f"{name}, exact query", float(np.mean([one[0] for one in exact])))
    before = time.process_time()
    index = tt.GraphIndex.from_vectors(X, method="hnsw")
    build = time.process_time() - before
    near = [timed_query(index, x) for x in queries]
    hits = [len(a[2] & b[2]) for a, b in zip(exact, near, strict=True)]
    recall = float(np.sum(hits)) / (K * len(queries))
    yield limited(f"{name}, approximate query", 1e3 * float(np.mean([one[0] for one in near])), 5, "ms")
    yield limited(f"{name}, neighbours missed by the approximate search", 100 * (1 - recall), 1, "%")
    yield limited(f"{name}, building the approximate index", build)
