"""The cases; each returns rows of the table. Data sets come from TORELLI_DATA."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from threadpoolctl import threadpool_limits

import torelli as tt
from benchmarks import plain
from benchmarks.explorer import explorer, map_of_windows
from benchmarks.first_minute import compilation, grid_search, start
from benchmarks.learning import learning
from benchmarks.masses import masses
from benchmarks.measure import Row, best, compared, in_fresh_process, limited, side_by_side
from benchmarks.numerics import numerics
from benchmarks.peers import measure
from benchmarks.plans import plan
from benchmarks.scale import scale
from benchmarks.search import million, search
from benchmarks.stores import country, memory
from torelli._numerics.eigenvalues import eigenvalues
from torelli.datasets import line_plus_random, load_tu
from torelli.datasets.local import city_index, read_city

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CORES = 2
CITY_ROWS = 400
LARGEST_CITY = 6000
SMALL, LARGE = 8, 30


def random_psd(count: int, size: int) -> list[Floats]:
    """Return well-conditioned random matrices."""
    A = np.random.default_rng(0).standard_normal((count, size, size))
    return list(A @ A.transpose(0, 2, 1) + 0.1 * np.eye(size))


def torelli_map() -> list[Row]:
    """Canonical Torelli matrices of whole data sets, compared with a plain version of Algorithm 1."""
    rows = []
    against = "Algorithm 1 with networkx and numpy"
    # a few seconds may all fall into a slow phase of the machine: many repeats, for both sides
    for name, repeats in (("NCI1", 10), ("PROTEINS", 15), ("REDDIT-BINARY", 3)):
        graphs = load_tu(name).graphs
        objects: list[nx.Graph[Any]] = [nx.Graph(graph.to_networkx()) for graph in graphs]
        tt.torelli_matrices(graphs[:10])
        theirs = partial(plain.torelli_matrices, objects)
        ours = partial(tt.torelli_matrices, graphs, n_jobs=CORES)
        whole = partial(tt.torelli_matrices, objects, n_jobs=CORES)
        rows += [
            compared(
                f"{name}, arrays in, matrices out",
                against,
                *side_by_side(ours, theirs, repeats, each=10),
                100,
            ),
            compared(
                f"{name}, from networkx objects", against, *side_by_side(whole, theirs, repeats, each=3), 20
            ),
        ]
    return rows


def ties() -> list[Row]:
    """Torelli matrices of graphs with tied lengths, compared with the same graphs without ties."""
    rows = []
    against = "the same graphs without ties"
    for name, at_least, seconds in (
        ("MUTAG", 1 / 5, None),
        ("NCI1", 1 / 5, None),
        ("PROTEINS", None, 2),
        ("IMDB-BINARY", None, 60),
    ):
        tied, untied = load_tu(name, lengths="unit").graphs, load_tu(name).graphs
        times = _with_and_without_ties(tied, untied, 1 if name == "IMDB-BINARY" else 5)
        rows.append(compared(f"{name}, unit lengths", against, *times, at_least))
        if seconds is not None:
            rows.append(limited(f"{name}, unit lengths", times[0], seconds))
    rows += _tied_cities(None, 1 / 3) + _tied_cities(CITY_ROWS, None)
    file = next(entry["file"] for entry in city_index() if "Qadarif" in entry["file"])
    graph = read_city(file)
    rounded = graph.replace(length=np.maximum(np.round(graph.length), 1.0))
    rows.append(limited("Al Qadarif rounded to a metre", best(partial(tt.torelli_matrix, rounded)), 2))
    return rows


def _tied_cities(max_genus: int | None, at_least: float | None) -> list[Row]:
    """Compare the cities that have ties by accident, all of them and the slowest by ratio."""
    times = {}
    for entry in city_index():
        graph = read_city(entry["file"])
        if not graph.is_generic and graph.genus <= LARGEST_CITY:
            name = entry["file"].partition("_")[0]
            times[name] = _with_and_without_ties([graph], [graph.jitter(1e-6)], 3, max_genus)
    ours, theirs = np.array([*times.values()]).T.tolist()
    worst = int(np.argmin(np.divide(theirs, ours)))
    what = f"{len(times)} cities with accidental ties, max_genus={max_genus}"
    against = "the same graphs without ties"
    return [
        compared(what, against, sum(ours), sum(theirs), at_least),
        compared(f"the slowest of these by ratio, {[*times][worst]}", against, ours[worst], theirs[worst]),
    ]


def _with_and_without_ties(
    tied: list[tt.MetricGraph], untied: list[tt.MetricGraph], repeats: int, max_genus: int | None = None
) -> tuple[float, float]:
    """Return the times of the Torelli matrices of both lists."""
    tt.torelli_matrices(tied[:10], max_genus=max_genus)
    work = partial(tt.torelli_matrices, max_genus=max_genus, n_jobs=CORES)
    return side_by_side(partial(work, tied), partial(work, untied), repeats, each=3)


def ttw_peers() -> list[Row]:
    """All pairwise TTW distances between matrices of the same size.

    The comparison is with pyRiemann, with a loop over pairs in POT, and with one thread.
    """
    from ot.gaussian import bures_wasserstein_distance
    from pyriemann.utils.distance import pairwise_distance

    rows = []
    for count, size, target in ((400, 5, 100), (200, 30, 12), (100, 80, 8)):
        Qs = random_psd(count, size)
        stack, zero = np.stack(Qs), np.zeros(size)

        def ours(n_jobs: int = CORES, Qs: list[Floats] = Qs) -> None:
            tt.pairwise_distances(Qs, n_jobs=n_jobs)

        def pyriemann(stack: Floats = stack) -> None:
            pairwise_distance(stack, metric="wasserstein")

        def pot(Qs: list[Floats] = Qs, zero: Floats = zero) -> None:
            for i in range(len(Qs)):
                for j in range(i):
                    bures_wasserstein_distance(zero, zero, Qs[i], Qs[j])

        ours()
        what = f"{count} matrices of {size} x {size}"
        rows.append(compared(what, "pyRiemann", *side_by_side(ours, pyriemann, each=3), target))
        rows.append(compared(what, "POT", *side_by_side(ours, pot, each=3), target))
        threads = 1.7 if size == LARGE else None
        rows.append(compared(what, "one thread", *side_by_side(ours, partial(ours, 1), 5), threads))
    return rows


def lapack_floor(sizes: NDArray[np.int64]) -> Callable[[], None]:
    """Return the work of batched eigvalsh, a thread per core, on blocks as all pairs of these sizes need."""
    order = np.sort(sizes)
    jobs = []
    for size in np.unique(order[order > 0]).tolist():
        positions = np.flatnonzero(order == size)
        count = int((len(order) - 1 - positions).sum())
        block = np.stack(random_psd(max(1, min(count, 2**21 // size**2)), size))
        full, rest = divmod(count, len(block))
        jobs += [block] * full + ([block[:rest]] if rest else [])

    def work() -> None:
        with threadpool_limits(1), ThreadPoolExecutor(CORES) as pool:
            list(pool.map(np.linalg.eigvalsh, jobs))

    return work


def ttw_floor() -> list[Row]:
    """All pairwise TTW distances of real data sets.

    The comparison is with bare LAPACK calls on blocks that are prepared in advance.
    """
    rows = []
    for name, count in (("PROTEINS", None), ("COIL-DEL", 1000)):
        Qs = tt.torelli_matrices(load_tu(name).graphs[:count])
        genus = np.array([len(Q) for Q in Qs])
        for label, chosen, target, repeats in (
            (f"genus at most {SMALL}", genus <= SMALL, 2.0, 40),  # both sides take milliseconds
            (f"genus above {LARGE}", genus > LARGE, 1 / 1.3, 5),
        ):
            part = [Q for Q, yes in zip(Qs, chosen.tolist(), strict=True) if yes]
            tt.pairwise_distances(part[:5])

            def ours(part: list[Floats] = part) -> None:
                tt.pairwise_distances(part, n_jobs=CORES)

            what = f"{name}, {label}: {len(part)} matrices"
            times = side_by_side(ours, lapack_floor(genus[chosen]), repeats)
            rows.append(compared(what, "batched eigvalsh", *times, target))
    return rows


_TTE = """
import time, numpy as np, torelli as tt
from concurrent.futures import ThreadPoolExecutor
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits
Qs = tt.torelli_matrices(tt.datasets.load_tu({name!r}).graphs, max_genus={limit}, n_jobs=2)
def ours(dtype="float64"):
    return np.exp(-0.1 * tt.pairwise_distances(Qs, metric="tte", squared=True, n_jobs=2, dtype=dtype))
def single():
    return ours("float32")
def theirs():
    size = max(len(Q) for Q in Qs)
    X = np.zeros((len(Qs), size, size))
    for row, Q in zip(X, Qs):
        row[: len(Q), : len(Q)] = Q
    return rbf_kernel(X.reshape(len(Qs), -1), gamma=0.1)
genus = np.sort([len(Q) for Q in Qs])
flops = (genus * (genus + 1) * np.arange(len(genus))[::-1]).sum()
A = np.random.default_rng(0).standard_normal((1000, 1000))
def read_and_pack(Q):
    return Q.sum(), Q[: len(Q) // 2].copy()
def limit():
    with threadpool_limits(1), ThreadPoolExecutor(2) as pool:
        list(pool.map(read_and_pack, Qs))
        list(pool.map(lambda _: A @ A, range(int(flops // (2 * len(A) ** 3)))))
for dtype in ("float64", "float32"):
    tt.pairwise_distances(Qs[:3], metric="tte", dtype=dtype)
base, times = peak_mb(), []
for _ in range(3):
    start = time.perf_counter()
    {side}()
    times.append(time.perf_counter() - start)
print(json.dumps({{"seconds": min(times), "mb": peak_mb() - base}}))
"""


def tte_padded() -> list[Row]:
    """TTE kernel matrix, compared with scikit-learn's on zero-padded rows, in time and memory.

    On DD, scikit-learn takes 347 GFlop, half of a symmetric product of padded rows. Products of packed
    triangles would take 58 GFlop, so they could gain at most 6x. But 92 % of the entries are zero, and
    99 % of the products (case `roofline`). The implementation therefore lists the nonzero entries and
    adds their products one by one. The dense limit is the least work without such lists: reading each
    matrix once, copying half of it, and doing the flops of the packed triangles as products of
    1000 x 1000 matrices, on both cores.
    """
    rows = []
    for name, limit in (("IMDB-MULTI", 900), ("DD", 500)):
        sides = ("ours", "theirs", "single", "limit")
        scripts = [_TTE.format(name=name, limit=limit, side=side) for side in sides]
        ours, theirs, single, least = map(in_fresh_process, scripts)
        what, against = f"{name}, max_genus={limit}", "rbf_kernel on padded rows"
        rows += [
            compared(f"{what}, time", against, ours["seconds"], theirs["seconds"], 5),
            compared(f"{what}, memory", against, max(ours["mb"], 1.0), theirs["mb"], 5, "MB"),
            compared(f"{what}, dtype='float32', time", against, single["seconds"], theirs["seconds"]),
            compared(f"{what}, the dense limit", against, least["seconds"], theirs["seconds"]),
        ]
    return rows


def end_to_end() -> list[Row]:
    """Time from graphs to kernel matrix, compared with GraKeL's WL and SP kernels.

    GraKeL gets the same graphs, with constant labels.
    """
    from grakel.kernels import ShortestPath, VertexHistogram, WeisfeilerLehman

    peers: dict[str, Callable[[], Any]] = {
        "GraKeL WL": lambda: WeisfeilerLehman(base_graph_kernel=VertexHistogram),
        "GraKeL SP": ShortestPath,
    }
    rows = []
    for name in ("MUTAG", "NCI1", "PROTEINS"):
        graphs = load_tu(name).graphs
        theirs = {}
        inputs = [_for_grakel(graph) for graph in graphs]
        for peer, make in peers.items():
            theirs[peer] = best(partial(_fit, make, inputs))
        for Kernel in (tt.TTEKernel, tt.TTSKernel):

            def ours(Kernel: Any = Kernel, graphs: Any = graphs) -> None:  # noqa: ANN401
                tt.distance_cache.clear()
                Kernel(n_jobs=CORES).fit_transform(graphs)

            ours()
            mine = best(ours)
            rows += [
                compared(f"{name}: {Kernel.__name__[:3]}", peer, mine, theirs[peer], 1) for peer in peers
            ]
    return rows


def _fit(make: Callable[[], Any], inputs: list[Any]) -> None:
    make().fit_transform(inputs)


def _for_grakel(graph: tt.MetricGraph) -> list[Any]:
    ends = list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
    return [{*ends, *((v, u) for u, v in ends)}, dict.fromkeys(range(graph.n_nodes), 0), {}]


def growth() -> list[Row]:
    """Growth of the time for one Torelli matrix with the number of nodes and with the genus."""
    rows = []
    for what, sizes, at_most in (
        ("genus 100, n = 1e3 to 1e6", [(10**k, 100) for k in (3, 4, 5, 6)], 1.1),
        ("genus 100 to 5000, n = genus", [(g, g) for g in (100, 200, 500, 1000, 2000, 5000)], 2.2),
    ):
        times = []
        for n, g in sizes:
            graph = line_plus_random(n, g, seed=0)
            times.append(best(partial(tt.torelli_matrix, graph), 5))
        slope = np.polyfit(np.log([n for n, _ in sizes]), np.log(times), 1)[0]
        series = list(zip([n for n, _ in sizes], times, strict=True))
        rows.append(limited(f"{what}: log-log slope", float(slope), at_most, "", series))
    measured = in_fresh_process(
        "import time, torelli as tt\n"
        "G = tt.datasets.line_plus_random(10**6, 100, seed=0)\n"
        "tt.torelli_matrix(tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0]))\n"
        "start = time.perf_counter(); tt.torelli_matrix(G)\n"
        "print(json.dumps({'seconds': time.perf_counter() - start, 'mb': peak_mb()}))"
    )
    return [
        *rows,
        limited("n = 1e6, genus 100: time", measured["seconds"], 3),
        limited("n = 1e6, genus 100: memory of the whole process", measured["mb"], 1000, "MB"),
    ]


def city() -> list[Row]:
    """Five hundred cycles of a city with a million edges.

    The city is a grid with random deletions and the street lengths of Ufa.
    """
    measured = in_fresh_process(
        "import time, numpy as np, torelli as tt\n"
        "rng = np.random.default_rng(0); n = 720; at = np.arange(n * n).reshape(n, n)\n"
        "tail = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])\n"
        "head = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])\n"
        "kept = rng.random(len(tail)) < 0.97\n"
        "from torelli.datasets.local import read_city\n"
        "streets = read_city('Ufa_r3000.graphml.gz').length\n"
        "length = rng.choice(streets, kept.sum()) * rng.uniform(0.99, 1.01, kept.sum())\n"
        "G = tt.MetricGraph(tail[kept], head[kept], length, n * n)\n"
        "tt.torelli_matrix(tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0]))\n"
        "start = time.perf_counter(); Q = tt.torelli_matrix(G, max_genus=500)\n"
        "print(json.dumps({'seconds': time.perf_counter() - start, 'mb': peak_mb(), 'edges': G.n_edges}))"
    )
    return [
        limited(f"{measured['edges']:,} edges, max_genus=500: time", measured["seconds"], 10),
        limited("the same: memory of the whole process", measured["mb"], 2000, "MB"),
    ]


def cold_start() -> list[Row]:
    """Time from import to the kernel matrix of MUTAG in a new process, with compiled code on disk."""
    rows = []
    for Kernel in ("TTWKernel", "TTEKernel", "TTSKernel"):
        code = (
            "import time; start = time.perf_counter()\n"
            "import torelli as tt\n"
            f"tt.{Kernel}().fit_transform(tt.datasets.load_tu('MUTAG').graphs)\n"
            "print(json.dumps({'seconds': time.perf_counter() - start}))"
        )
        seconds = min(in_fresh_process(code)["seconds"] for _ in range(3))
        rows.append(limited(f"MUTAG, import to {Kernel[:3]} matrix", seconds, 3))
    return rows


def roofline() -> list[Row]:
    """Rates of GEMM and LAPACK, which limit our code, and how close it comes to or exceeds them."""
    rows = []
    A = np.random.default_rng(0).standard_normal((1000, 1000))
    with threadpool_limits(1):
        one = 2e-9 * len(A) ** 3 / best(lambda: A @ A, 9)
        both = (
            2e-9 * len(A) ** 3 * 2 * CORES / best(lambda: _in_threads(lambda _: A @ A, range(2 * CORES)), 9)
        )
        rows.append(limited("GEMM, 1000 x 1000, one core", one, unit="GFlop/s"))
        rows.append(limited(f"GEMM, 1000 x 1000, {CORES} cores", both, unit="GFlop/s"))
        for size in (32, 80, 200):
            Q = np.stack(random_psd(max(40, 2**20 // size**2), size))
            call = best(partial(np.linalg.eigvalsh, Q)) / len(Q)
            rows.append(limited(f"eigvalsh, {size} x {size}", 4e-9 / 3 * size**3 / call, unit="GFlop/s"))
            values = best(partial(eigenvalues, Q)) / len(Q)
            rows.append(compared(f"our eigenvalues, {size} x {size}", "eigvalsh", values, call))
            few = list(Q[:60])
            pair = best(partial(tt.pairwise_distances, few)) / (len(few) * (len(few) - 1) / 2)
            rows.append(compared(f"one TTW pair, {size} x {size}", "its eigvalsh call", pair, call))
    return rows + _tte_roofline(both) + _networkx_roofline()


def _in_threads(work: Callable[[Any], Any], items: Iterable[Any]) -> None:
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(work, items))


def _tte_roofline(gemm: float) -> list[Row]:
    """Compare TTE of DD with dense products at the rate of GEMM, and count what is not zero."""
    Qs = tt.torelli_matrices(load_tu("DD").graphs, max_genus=500, n_jobs=CORES)
    genus = np.sort([len(Q) for Q in Qs])
    # a pair needs the packed triangle of the smaller matrix; a product and a sum for each entry
    flops = float((genus * (genus + 1) * np.arange(len(genus))[::-1]).sum())
    ours = best(partial(tt.pairwise_distances, Qs, metric="tte", n_jobs=CORES))
    reach, filled = np.zeros((2, genus[-1], genus[-1]))
    for Q in Qs:
        reach[: len(Q), : len(Q)] += 1
        filled[: len(Q), : len(Q)] += Q != 0
    what = f"TTE of DD, max_genus=500: {1e-9 * flops:.0f} GFlop"
    return [
        compared(what, "the same at the rate of GEMM", ours, 1e-9 * flops / gemm),
        limited("TTE of DD: entries that are not zero", 100 * filled.sum() / reach.sum(), unit="%"),
        limited("TTE of DD: products of entries", 100 * (filled**2).sum() / (reach**2).sum(), unit="%"),
    ]


def _networkx_roofline() -> list[Row]:
    """Compare the conversion from networkx with reading each of its dictionaries once."""
    rows = []
    for name in ("NCI1", "PROTEINS"):
        objects: list[nx.Graph[Any]] = [nx.Graph(graph.to_networkx()) for graph in load_tu(name).graphs]

        def read(objects: list[nx.Graph[Any]] = objects) -> None:
            for graph in objects:
                [data.get("length") for _, neighbours in graph.adjacency() for data in neighbours.values()]

        times = side_by_side(partial(tt.as_metric_graphs, objects), read, 9)
        rows.append(compared(f"{name}: networkx to arrays", "reading its dictionaries once", *times))
    return rows


CASES: dict[str, Callable[[], Iterable[Row]]] = {
    "map": torelli_map,
    "ties": ties,
    "ttw": ttw_peers,
    "floor": ttw_floor,
    "tte": tte_padded,
    "end-to-end": end_to_end,
    "measure": measure,
    "masses": masses,
    "growth": growth,
    "city": city,
    "start": start,
    "cold-start": cold_start,
    "compile": compilation,
    "grid-search": grid_search,
    "roofline": roofline,
    "numerics": numerics,
    "explorer": explorer,
    "search": search,
    "million": million,
    "learning": learning,
    "scale": scale,
    "plan": plan,
    "memory": memory,
    "country": country,
    "map-of-windows": map_of_windows,
}
