"""``python -m benchmarks.choose_measure``: the variants among which `MeasureFeatures` was chosen.

Each line is one variant: accuracies on data that no reported table contains, then how it bears
changes of the same place. The data are windows of 14 cities that stand in no URN set (which city is
it? folds blocked by quarter), synthetic street patterns, and random parts of TU sets; the copies of the
city windows have 1 % noise in the lengths, or segments below 12 m contracted and dead ends below
15 m dropped besides. Accuracies are the best over gamma and C by 4 or 5 folds, alike for all variants.

``python -m benchmarks.choose_measure cities`` compares options of `MeasureFeatures` on windows of these
cities with radii of 250 m and 500 m, by three divisions into folds.

``python -m benchmarks.choose_measure consolidated`` consolidates the intersections of these cities by OSMnx,
cuts windows around the same places, and counts those whose own original is the nearest of all.

A whole table is stored in ``docs/benchmarks/choices.json``, with machine, versions, date and seed. The tables
of ``docs/measure.md`` have its figures, which a test compares.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.svm import SVC

from torelli import MeasureFeatures, MetricGraph, canonical_measure
from torelli._provenance import machine
from torelli._spaces import classes, junctions
from torelli.datasets import load_tu, street_patterns
from torelli.datasets.calibration import city_windows
from torelli.datasets.windows import metres_from, windows_at
from torelli.experiments._copies import MIN_EDGES, RADIUS, consolidated, streets_of, with_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._spaces import Classes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CITIES = [
    "Florence",
    "Miami",
    "Irvine",
    "Lille",
    "Luton",
    "Damascus",
    "Bamako",
    "Harbin",
    "La_Plata",
    "Flint",
    "Niamey",
    "Samara",
    "Oxford",
    "Manchester",
]
PARTS = {"ENZYMES": 300, "DHFR": 350, "NCI1": 500, "IMDB-BINARY": 400, "MSRC_9": 110, "PROTEINS": 400}
STORE = Path(__file__).parent.parent / "docs" / "benchmarks" / "choices.json"
_SHORT, _DEAD_END, _NOISE = 12.0, 15.0, 0.01


@dataclass(frozen=True)
class AlongJunctions:
    """A variant along junctions; the defaults are those of `MeasureFeatures`, apart from the random matrices.

    With `hadamard`, the weights of a step are signs and Hadamard matrices, as in the library.
    """

    depth: int = 3
    factor: float = 1.0  # inside the cosine of each step
    divide: float = 0.5  # messages are divided by the degree to this power
    size: float = 0.5
    by_length: float = 0.0  # points and segments weigh their length to this power
    squash: bool = True  # log(1 + l / l_0), not log l
    mass: float = 2.0
    degree: float = 1.0
    width: int = 128
    hadamard: bool = False
    seed: int = 0

    def __call__(self, training: list[MetricGraph], graphs: list[MetricGraph]) -> Floats:
        """Return the vectors of graphs."""
        logs = np.log(junctions(training, 1).length)
        centre, spread = float(logs.mean()), float(logs.std()) + 0.1
        spaces = junctions(graphs, 1)
        rng = np.random.default_rng(self.seed)
        x = np.log(spaces.length) - centre
        x = (np.logaddexp(0.0, x + 1.0) if self.squash else x) / spread
        phi = self._waves(rng, np.column_stack([x, self.mass * spaces.mass]), 1.0)
        h = self._waves(rng, np.log(np.maximum(spaces.degree, 0.5))[:, None], self.degree)
        halves = spaces.length / 2.0
        weight = np.zeros(len(h))
        np.add.at(weight, spaces.tail, halves)
        np.add.at(weight, spaces.head, halves)
        blocks = [_sums(phi, spaces.length**self.by_length, spaces.segment_offsets)]
        blocks.append(_sums(h, weight**self.by_length, spaces.point_offsets))
        scale = np.maximum(spaces.degree, 1.0)[:, None] ** -self.divide
        for _ in range(self.depth):
            sent = np.zeros_like(h)
            np.add.at(sent, spaces.tail, phi * h[spaces.head])
            np.add.at(sent, spaces.head, phi * h[spaces.tail])
            if self.hadamard:
                h = self._mixed(rng, h, scale * sent)
            else:
                h = self._waves(rng, np.hstack([h, scale * sent]), self.factor * self.width**-0.5)
            blocks.append(_sums(h, weight**self.by_length, spaces.point_offsets))
        return np.hstack([_shrink(block, self.size) for block in blocks])

    def _mixed(self, rng: np.random.Generator, h: Floats, sent: Floats) -> Floats:
        signs = rng.choice([-1.0, 1.0], (3, self.width))
        H = scipy.linalg.hadamard(self.width) / np.sqrt(self.width)
        x = (h + signs[0] * sent) * signs[1] @ H * signs[2] @ H
        waves: Floats = np.sqrt(2.0) * np.cos(self.factor * x + rng.uniform(0.0, 2.0 * np.pi, self.width))
        return waves

    def _waves(self, rng: np.random.Generator, x: Floats, scale: float) -> Floats:
        W = scale * rng.standard_normal((x.shape[1], self.width))
        waves: Floats = np.sqrt(2.0) * np.cos(x @ W + rng.uniform(0.0, 2.0 * np.pi, self.width))
        return waves


@dataclass(frozen=True)
class AlongCurrents:
    """A variant along currents; the defaults are those of `MeasureFeatures`."""

    depth: int = 1
    weights: str = "length"
    size: float = 0.5
    log_mass: bool = False
    width: int = 128
    seed: int = 0

    def __call__(self, training: list[MetricGraph], graphs: list[MetricGraph]) -> Floats:
        """Return the vectors of graphs."""
        known, known_weight = self._columns(classes(training, self.depth, 1))
        mean = np.average(known, axis=0, weights=known_weight)
        spread = np.sqrt(np.average((known - mean) ** 2, axis=0, weights=known_weight)) + 0.1
        spaces = classes(graphs, self.depth, 1)
        columns, weight = self._columns(spaces)
        rng = np.random.default_rng(self.seed)
        octaves = np.resize(np.repeat([0.5, 1.0, 2.0], -(-self.width // 3)), self.width)
        W = rng.standard_normal((columns.shape[1], self.width)) * octaves / np.sqrt(columns.shape[1])
        waves = np.cos((columns - mean) / spread @ W + rng.uniform(0.0, 2.0 * np.pi, self.width))
        return _shrink(_sums(waves, weight, spaces.offsets), self.size)

    def _columns(self, spaces: Classes) -> tuple[Floats, Floats]:
        columns = spaces.columns.copy()
        weight = spaces.length if self.weights == "length" else columns[:, 1].copy()
        if self.log_mass:
            columns[:, 1::2] = np.log(np.maximum(columns[:, 1::2], 1e-300))
        return columns, weight


VARIANTS: dict[str, AlongJunctions | AlongCurrents] = {
    "junctions, random matrices": AlongJunctions(),
    "another seed": AlongJunctions(seed=1),
    "Hadamard matrices, the default": AlongJunctions(hadamard=True),
    "Hadamard matrices, another seed": AlongJunctions(hadamard=True, seed=1),
    "Hadamard matrices, 64 features": AlongJunctions(hadamard=True, width=64),
    "Hadamard matrices, 256 features": AlongJunctions(hadamard=True, width=256),
    "depth 1": AlongJunctions(depth=1),
    "depth 4": AlongJunctions(depth=4),
    "factor 2": AlongJunctions(factor=2.0),
    "messages as sums, factor 2, plain sums": AlongJunctions(divide=0.0, factor=2.0, size=1.0, squash=False),
    "messages as means": AlongJunctions(divide=1.0),
    "unit vectors": AlongJunctions(size=0.0),
    "plain sums": AlongJunctions(size=1.0),
    "weights by length": AlongJunctions(by_length=1.0),
    "weights by root of length": AlongJunctions(by_length=0.5),
    "log l": AlongJunctions(squash=False),
    "without mass": AlongJunctions(mass=0.0),
    "currents, the default": AlongCurrents(),
    "currents, depth 0": AlongCurrents(depth=0),
    "currents, depth 2": AlongCurrents(depth=2),
    "currents, log F": AlongCurrents(log_mass=True),
    "currents, weights by mass": AlongCurrents(weights="mass"),
}


def _sums(rows: Floats, weight: Floats, offsets: Ints) -> Floats:
    graph = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    totals: Floats = np.zeros((len(offsets) - 1, rows.shape[1]))
    np.add.at(totals, graph, weight[:, None] * rows / np.sqrt(rows.shape[1]))
    return totals


def _shrink(block: Floats, size: float) -> Floats:
    norm = np.linalg.norm(block, axis=1, keepdims=True)
    norm[norm == 0.0] = 1.0
    shrunk: Floats = block / norm ** (1.0 - size)
    return shrunk


def _noisy(graph: MetricGraph, rng: np.random.Generator) -> MetricGraph:
    return graph.replace(length=graph.length * np.exp(_NOISE * rng.standard_normal(graph.n_edges)))


def _prepared(graph: MetricGraph) -> MetricGraph:
    """Return a window with short segments contracted and short dead ends dropped."""
    measure = canonical_measure(graph)
    degree = np.bincount(graph.tail, minlength=graph.n_nodes) + np.bincount(
        graph.head, minlength=graph.n_nodes
    )
    one, two = measure.ends.T
    inner = one >= 0
    dead = inner & (measure.length < _DEAD_END) & ((degree[one] == 1) | (degree[two] == 1))
    short = inner & ~dead & (one != two) & (measure.length < _SHORT)
    joined = sp.coo_array((np.ones(short.sum()), (one[short], two[short])), shape=(graph.n_nodes,) * 2)
    _, name = sp.csgraph.connected_components(joined, directed=False)
    kept = ~(dead | short)[measure.segment]
    tail, head = name[graph.tail[kept]], name[graph.head[kept]]
    nodes, index = np.unique(np.concatenate([tail, head]), return_inverse=True)
    return MetricGraph(index[: len(tail)], index[len(tail) :], graph.length[kept], len(nodes))


OPTIONS: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "seed=1": {"seed": 1},
    "n_features=512": {"n_features": 512},
    "depth=2": {"depth": 2},
    "depth=4": {"depth": 4},
    "size=0": {"size": 0.0},
    "size=1": {"size": 1.0},
    "frequency=0.7": {"frequency": 0.7},
    "frequency=1.5": {"frequency": 1.5},
    "weights='length'": {"weights": "length"},
    "along='diffusion'": {"along": "diffusion"},
    "along='returns'": {"along": "returns"},
    "along='currents'": {"along": "currents"},
}
"""Options of `MeasureFeatures` that are compared on windows of cities."""


class Table:
    """A table that is printed line by line, and stored once it is complete."""

    def __init__(self, command: str, *columns: str) -> None:
        self.command, self.rows = command, [list(columns)]
        print(" | ".join(columns), flush=True)

    def add(self, *cells: str) -> None:
        """Print a line."""
        self.rows.append(list(cells))
        print(" | ".join(cells), flush=True)

    def store(self) -> None:
        """Write the table, with how it was made, beside those of the other commands."""
        tables = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}
        tables[self.command] = {"machine": machine(), "seed": 0, "rows": self.rows}
        STORE.write_text(json.dumps(tables, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _windows(radius: float = 250.0) -> tuple[list[MetricGraph], Ints, Ints]:
    graphs: list[MetricGraph] = []
    city_of, quarter = [], []
    for i, name in enumerate(CITIES):
        city = streets_of(name)
        middle = np.median(np.asarray(city.coordinates), axis=0)
        for window in city_windows(city, radius=radius, n_windows=30):
            side = np.asarray(window.coordinates).mean(axis=0) > middle
            graphs.append(window)
            city_of.append(i)
            quarter.append(4 * i + 2 * int(side[0]) + int(side[1]))
    return graphs, np.array(city_of), np.array(quarter)


def _accuracy(X: Floats, y: NDArray[Any], groups: Ints | None, seed: int = 0) -> float:
    squared = cdist(X, X, "sqeuclidean")
    upper = squared[np.triu_indices_from(squared, 1)]
    median = np.median(upper[upper > np.finfo(float).eps])
    folds: Any = StratifiedKFold(5, shuffle=True, random_state=seed)
    if groups is not None:
        folds = StratifiedGroupKFold(4, shuffle=True, random_state=seed)
    splits = list(folds.split(y, y, groups))
    best = 0.0
    for factor in (0.25, 1.0, 4.0):
        K = np.exp(-factor * np.log(2.0) / median * squared)
        for C in (1.0, 10.0, 100.0, 1000.0):
            scores = [
                SVC(C=C, kernel="precomputed", max_iter=20_000)
                .fit(K[np.ix_(train, train)], y[train])
                .score(K[np.ix_(test, train)], y[test])
                for train, test in splits
            ]
            best = max(best, float(np.mean(scores)))
    return 100.0 * best


def _compare_options() -> int:
    """Print the mean accuracy of each option on windows of cities by radius, and how it bears changes."""
    sets = [_windows(radius) for radius in (250.0, 500.0)]
    copies = [_copies(graphs) for graphs, _, _ in sets]
    borne = ("moves", "noise", "prepared")
    table = Table("python -m benchmarks.choose_measure cities", "options", "250 m", "500 m", *borne, *borne)
    for label, options in OPTIONS.items():
        scores, changes = [], []
        for (graphs, y, groups), others in zip(sets, copies, strict=True):
            features = MeasureFeatures(**options).fit(graphs)
            X = features.transform(graphs)
            scores.append(f"{np.mean([_accuracy(X, y, groups, seed) for seed in range(3)]):.1f}")
            moved, *shares = _borne(X, *(features.transform(copy) for copy in others))
            changes += [f"{moved:.2%}", *(f"{share:.0%}" for share in shares)]
        table.add(label, *scores, *changes)
    table.store()
    return 0


RECOGNISED: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "weights='length'": {"weights": "length"},
    "along='diffusion'": {"along": "diffusion"},
    "along='currents'": {"along": "currents"},
    "along='returns'": {"along": "returns"},
    "along='returns', seed=1": {"along": "returns", "seed": 1},
    "along='returns', n_features=256": {"along": "returns", "n_features": 256},
    "along='returns', depth=7": {"along": "returns", "depth": 7},
    "along='returns', frequency=2": {"along": "returns", "frequency": 2.0},
}
"""Options that are compared on consolidated cities."""


def _compare_consolidated() -> int:
    """Print the shares of windows of consolidated cities whose own original is the nearest of all."""
    originals: list[MetricGraph] = []
    dropped: list[MetricGraph] = []
    kept: list[MetricGraph] = []
    for name in CITIES:
        city = with_places(streets_of(name))
        windows = list(windows_at(*city[:3], RADIUS))
        large = [i for i, window in enumerate(windows) if window.n_edges >= MIN_EDGES]
        originals += [windows[i] for i in large]
        for copies, dead_ends in ((dropped, False), (kept, True)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # zero lengths are contracted, as they should be
                merged = consolidated(streets_of(name, lines=True), dead_ends=dead_ends)
            others = list(windows_at(merged, metres_from(merged, city.middle), city.places, RADIUS))
            copies += [others[i] for i in large]
        print(f"{name}: {len(large)} windows", file=sys.stderr, flush=True)
    rng = np.random.default_rng(0)
    noisy = [_noisy(graph, rng) for graph in originals]
    print(f"{len(originals):,} windows", file=sys.stderr, flush=True)
    columns = ("options", "moves", "noise", "dead ends dropped", "dead ends kept")
    table = Table("python -m benchmarks.choose_measure consolidated", *columns)
    for label, options in RECOGNISED.items():
        features = MeasureFeatures(**options).fit(originals)
        X, noise, drop, keep = (features.transform(part) for part in (originals, noisy, dropped, kept))
        moved, *shares = _borne(X, noise, drop, keep)
        table.add(label, f"{moved:.2%}", *(f"{share:.1%}" for share in shares))
    table.store()
    return 0


def _copies(graphs: list[MetricGraph]) -> tuple[list[MetricGraph], list[MetricGraph]]:
    """Return copies of windows with noise, and copies that are prepared in another way besides."""
    rng = np.random.default_rng(0)
    noisy = [_noisy(graph, rng) for graph in graphs]
    return noisy, [_noisy(_prepared(graph), rng) for graph in graphs]


def _borne(X: Floats, noisy: Floats, *others: Floats) -> list[float]:
    """Return how far noise moves vectors, and the shares of copies whose own original is the nearest."""
    median = float(np.median(cdist(X, X)[np.triu_indices(len(X), 1)]))
    moved = float(np.linalg.norm(noisy - X, axis=1).mean()) / median
    own = np.arange(len(X))
    return [moved, *(float(np.mean(cdist(copy, X).argmin(axis=1) == own)) for copy in (noisy, *others))]


def main(names: Sequence[str]) -> int:
    """Print a line for each variant named, or for all; with "cities" or "consolidated", compare options."""
    if list(names) == ["cities"]:
        return _compare_options()
    if list(names) == ["consolidated"]:
        return _compare_consolidated()
    windows, city_of, quarter = _windows()
    copies = _copies(windows)
    patterns = street_patterns(40)
    sets: dict[str, tuple[list[MetricGraph], NDArray[Any], Ints | None]] = {
        "cities": (windows, city_of, quarter),
        "patterns": (list(patterns.graphs), np.asarray(patterns.y), None),
    }
    for name, count in PARTS.items():
        data = load_tu(name, lengths="unit")
        some = np.random.default_rng(1).permutation(len(data.y))[:count]
        sets[name] = ([data.graphs[i] for i in some], np.asarray(data.y)[some], None)
    table = Table(
        "python -m benchmarks.choose_measure", "variant", *sets, "mean", "moves", "noise", "prepared"
    )
    for label, variant in VARIANTS.items():
        if names and label not in names:
            continue
        scores = [_accuracy(variant(graphs, graphs), y, groups) for graphs, y, groups in sets.values()]
        moved, *shares = _borne(*(variant(windows, graphs) for graphs in (windows, *copies)))
        cells = [f"{score:.1f}" for score in [*scores, np.mean(scores)]]
        table.add(label, *cells, f"{moved:.2%}", *(f"{share:.0%}" for share in shares))
    if not names:
        table.store()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
