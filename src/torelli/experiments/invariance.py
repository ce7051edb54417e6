"""Invariance under refinement: the drift of each kernel when points are added to edges."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import NonGenericWarning
from torelli.datasets import load_tu, street_patterns
from torelli.distances import pairwise_distances, squared_vector_products
from torelli.evaluation import FixedKernel, cross_validate, stratified_folds
from torelli.experiments import rivals
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import again_with_more, call
from torelli.experiments._pages import curve, markdown_table, panels, reflow
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import resolve_gamma
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from torelli._types import Floats
    from torelli.experiments._experiment import Rows
    from torelli.graph import MetricGraph


POINTS = (0, 1, 2, 5, 10, 50)
"""Points added per ten edges, each on a random place of a random edge."""
OURS: dict[str, tuple[str, str]] = {
    "TTE": ("tte", "canonical"),
    "TTW": ("ttw", "canonical"),
    "TTS": ("tts", "canonical"),
    "TTM": ("ttm", "canonical"),
    "TTE literal": ("tte", "literal"),
    "TTW literal": ("ttw", "literal"),
    "TTS literal": ("tts", "literal"),
    "genus alone": ("genus", ""),
}
"""Distance and model of our kernels (TTM takes no model, and follows the canonical ones in not moving).

The kernel of the genus alone is their baseline.
"""
INVARIANT = tuple(name for name, (_, model) in OURS.items() if model == "canonical")
HOPS = " by hops"
"""Suffix of baselines that see weights, run with all weights 1."""
CLASSICAL = (
    *rivals.BASELINES,
    *(name + HOPS for name in rivals.BASELINES if name in rivals.SEES_LENGTHS),
)
SETS = ("MUTAG", "streets")
TIED = ("MUTAG of unit lengths", "IMDB-BINARY of unit lengths", "streets in whole metres")
"""Sets with equal lengths, where the order of edges could change the result."""
REORDERED = "reordered"
"""Takes the place of the number of points where edges are reordered instead."""
_EVERY = 5  # of the graphs of IMDB-BINARY, the share that is compared
N_FOLDS = 10
_ROUNDING = 1e-9


def load(name: str, *, quick: bool) -> tuple[list[MetricGraph], NDArray[np.int64]]:
    """Return the graphs and classes of a set."""
    if name in {"streets", TIED[2]}:
        data = street_patterns(10 if quick else 30, radius=150)
    else:
        data = load_tu(name.split(maxsplit=1)[0], lengths="unit" if name in TIED else "uniform")
    graphs, y = data.graphs, np.unique(data.y, return_inverse=True)[1]
    if name == TIED[1]:
        graphs, y = graphs[::_EVERY], y[::_EVERY]
    if name == TIED[2]:
        graphs = [graph.replace(length=np.maximum(np.round(graph.length), 1.0)) for graph in graphs]
    return graphs, y


def levels(settings: Settings) -> list[int]:
    """Return the numbers of points per ten edges."""
    return [0, 1, 10] if settings.quick else list(POINTS)


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each set and kernel."""
    quick = (*OURS, "SP by hops", "WL")
    kernels = quick if settings.quick else (*OURS, *CLASSICAL)
    sets = (SETS[1], TIED[2]) if settings.quick else (*SETS, *TIED)
    return [
        Cell({"dataset": name, "kernel": kernel}, cost=1.0 if kernel in OURS else 10.0)
        for name in sets
        for kernel in kernels
    ]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Compare a kernel before and after refinement or reordering, a baseline in a process of its own."""
    rows: Rows = []
    for points in [REORDERED] if key["dataset"] in TIED else levels(settings):
        arguments = {**key, "points": points, "quick": settings.quick, "seed": settings.seed}
        if key["kernel"] in OURS:
            rows.append({"points": points, "status": "ok", **compare(**arguments)})
            continue
        caps = {"seconds": settings.seconds, "gigabytes": settings.gigabytes}
        # a finer graph needs even more of the time or memory that a coarser one ran out of
        if rows and rows[-1]["status"] in {"T", "M"}:
            rows.append({"points": points, "status": rows[-1]["status"], **caps})
            continue
        outcome = call(
            f"{__name__}:compare", arguments, seconds=settings.seconds, gigabytes=settings.gigabytes
        )
        result = outcome.value if outcome.status == "ok" else {**caps, "message": last_line(outcome.message)}
        rows.append({"points": points, "status": outcome.status, **result})
    return rows


def last_line(message: str) -> str:
    """Return the last line of a traceback, which is the error itself."""
    return message.splitlines()[-1] if message else ""


def compare(dataset: str, kernel: str, points: int | str, *, quick: bool, seed: int) -> dict[str, Any]:
    """Return the drift of the kernel matrix and the accuracy on refined or reordered graphs."""
    graphs, y = load(dataset, quick=quick)
    refined = reorder(graphs, seed) if isinstance(points, str) else refine(graphs, points, seed)
    if kernel in OURS:
        before, after, across = torelli_kernels(graphs, refined, *OURS[kernel])
    else:
        before, after, across = baseline_kernels(graphs, refined, kernel, seed)
    return {
        "drift": float(np.linalg.norm(after - before) / np.linalg.norm(before)),
        "accuracy": accuracy(before, across, y, seed),
        **({"accuracy_before": accuracy(before, before, y, seed)} if points == REORDERED else {}),
        "largest_class": float(np.bincount(y).max() / len(y)),
        "n_graphs": len(graphs),
        "mean_nodes": float(np.mean([graph.n_nodes for graph in refined])),
    }


def refine(graphs: Sequence[MetricGraph], points: int, seed: int) -> list[MetricGraph]:
    """Return each graph with `points` random points per ten edges added."""
    return [
        graph.subdivide(round(points * graph.n_edges / 10), seed=seed + i) for i, graph in enumerate(graphs)
    ]


def reorder(graphs: Sequence[MetricGraph], seed: int) -> list[MetricGraph]:
    """Return each graph with its edges in another order, nodes renumbered and half of the edges reversed."""
    rng = np.random.default_rng(seed)
    reordered = []
    for graph in graphs:
        name, order = rng.permutation(graph.n_nodes), rng.permutation(graph.n_edges)
        ends = name[np.stack([graph.tail, graph.head])[:, order]]
        turned = rng.random(graph.n_edges) < 1 / 2
        tail, head = np.where(turned, ends[::-1], ends)
        length = graph.length[order]
        reordered.append(graph.replace(tail=tail, head=head, length=length, node_ids=None, coordinates=None))
    return reordered


def torelli_kernels(
    graphs: list[MetricGraph], refined: list[MetricGraph], metric: str, model: str
) -> tuple[Floats, Floats, Floats]:
    """Return the kernel of the originals, of the refined, and of refined (rows) against originals."""
    if metric == "ttm":
        features = MeasureFeatures(n_jobs=-1).fit(graphs)
        here, there = features.transform(graphs), features.transform(refined)
        squared, among, across = (
            squared_vector_products(rows, columns, -1)
            for rows, columns in ((here, None), (there, None), (there, here))
        )
    else:
        squared, among, across = _squared_by_matrices(graphs, refined, metric, model)
    gamma = resolve_gamma("median", squared)
    return np.exp(-gamma * squared), np.exp(-gamma * among), np.exp(-gamma * across)


def _squared_by_matrices(
    graphs: list[MetricGraph], refined: list[MetricGraph], metric: str, model: str
) -> tuple[Floats, Floats, Floats]:
    """Return squared distances of the originals, of the refined, and of refined against originals."""
    if metric == "genus":
        here, there = ([np.array([[float(graph.genus)]]) for graph in part] for part in (graphs, refined))
        metric = "tte"
    else:
        here, there = _matrices(graphs, model), _matrices(refined, model)
    squared = pairwise_distances(here, metric=metric, squared=True, n_jobs=-1)
    among = pairwise_distances(there, metric=metric, squared=True, n_jobs=-1)
    across = pairwise_distances(there, here, metric=metric, squared=True, n_jobs=-1)
    return squared, among, across


def _matrices(graphs: list[MetricGraph], model: str) -> list[Floats]:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", NonGenericWarning
        )  # ties of the literal model are what the experiment shows
        return torelli_matrices(graphs, model)  # type: ignore[arg-type]


def baseline_kernels(
    graphs: list[MetricGraph], refined: list[MetricGraph], name: str, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Return the same three for a kernel of GraKeL, scaled to k(x, x) = 1."""
    if name.endswith(HOPS):
        name = name.removesuffix(HOPS)
        graphs, refined = (
            [graph.replace(length=np.ones(graph.n_edges)) for graph in part] for part in (graphs, refined)
        )
    before, _, _ = rivals.grakel_kernel_matrix(graphs, name, seed=seed)
    after = across = before
    if refined != graphs:
        after, _, _ = rivals.grakel_kernel_matrix(refined, name, seed=seed)
        across, _, _ = rivals.grakel_kernel_matrix(graphs, name, seed=seed, others=refined)
    own, new = (np.sqrt(np.maximum(np.diag(K), np.finfo(float).tiny)) for K in (before, after))
    return before / np.outer(own, own), after / np.outer(new, new), across / np.outer(new, own)


def accuracy(K: Floats, across: Floats, y: NDArray[np.int64], seed: int) -> float:
    """Return the mean accuracy, in percent, on refined graphs of a classifier trained on originals."""
    # the refined graphs follow the originals: row i + len(y) is graph i, refined
    folds = [(train, test + len(y)) for train, test in stratified_folds(y, N_FOLDS, seed=seed)]
    result = cross_validate(FixedKernel(np.vstack([K, across])), np.tile(y, 2), folds)
    return 100.0 * float(result.accuracies.mean())


def by_kernel(rows: Rows, name: str) -> dict[str, Rows]:
    """Return the rows of each kernel on one set."""
    kernels: dict[str, Rows] = {}
    for row in rows:
        if row["dataset"] == name:
            kernels.setdefault(row["kernel"], []).append(row)
    return kernels


def page(rows: Rows) -> str:
    """Return the page."""
    reordered = [row for row in rows if row["points"] == REORDERED]
    refined = [row for row in rows if row["points"] != REORDERED]
    parts = [reflow(_INTRODUCTION)]
    parts += [reflow(_section(refined, name)) for name in dict.fromkeys(row["dataset"] for row in refined)]
    parts.append("![Drift and accuracy against the number of points](invariance.png)")
    parts.append(reflow(_reordered_section(reordered)))
    done = [row for row in refined if row["status"] == "ok"]
    kinds = {
        "canonical": [row for row in done if row["kernel"] in INVARIANT],
        "literal": [row for row in done if row["kernel"].endswith("literal")],
        "classical": [row for row in done if row["kernel"] not in OURS],
    }
    parts.append(
        reflow(f"""
**Outcome.** The canonical kernels ({", ".join(INVARIANT)}) {_moves(kinds["canonical"])}. The literal
kernels, which follow the paper's Algorithm 1 as printed, {_moves(kinds["literal"])}. The kernel "genus
alone" uses only
the number of independent cycles.""")
    )
    if kinds["classical"]:
        parts.append(
            reflow(f"The classical kernels, where they could be computed, {_moves(kinds['classical'])}.")
        )
    moved = [row for row in kinds["classical"] if row["points"]]
    steady = sorted({row["kernel"] for row in moved if row["drift"] < _ROUNDING})
    if steady:
        parts.append(
            reflow(f"""
A kernel that gives the same value to every pair of different graphs does not move, and does not separate
the classes either. Without labels, and scaled to k(x, x) = 1, {", ".join(steady)} can do this; the accuracy
shows whether they do.""")
        )
    lost = [row for row in rows if row["status"] != "ok"]
    if lost:
        seconds = ", ".join(f"{value:g}" for value in sorted({row["seconds"] for row in lost}))
        reasons = sorted({f"{row['kernel']}: {row['message']}" for row in lost if row["status"] == "E"})
        parts.append(
            reflow(f"""
{len(lost)} of {len(rows)} cells of the tables were not computed: T is out of time ({seconds} s per
cell; finer graphs are then not tried), M out of memory, E failed. The summary leaves these cells out.
{"Failed: " + "; ".join(reasons) + "." if reasons else ""}""")
        )
    return "\n\n".join(parts)


_INTRODUCTION = f"""
Theorem 3.2 of the paper says that the Torelli matrix does not change under refinement; the paper has no
experiment on it. Here points are added at random places of random edges of every graph, which does not
change the metric space. Two figures are measured for each kernel: the **drift**, which is the distance
between the kernel matrices of the refined and the original graphs, divided by the norm of the latter; and the
**accuracy** on refined graphs of a support vector machine trained on originals (C = 1, {N_FOLDS} stratified
folds). γ is learned from the originals. GraKeL's kernels have default options, constant labels and the
lengths as weights (1 where the name ends in "by hops"), and are scaled to k(x, x) = 1. TTM is the kernel of
the canonical measure with its default options, fitted to the originals.
"""


def _section(rows: Rows, name: str) -> str:
    kernels = by_kernel(rows, name)
    points = [row["points"] for row in next(iter(kernels.values()))]
    first = next(row for row in rows if row["dataset"] == name and row["status"] == "ok")
    nodes = {
        row["points"]: row["mean_nodes"] for row in rows if row["dataset"] == name and row["status"] == "ok"
    }
    graphs_text = "street patterns in windows of 300 m" if name == "streets" else "lengths Unif(0, 1)"
    header = ["points per 10 edges", *map(str, points)]
    drift = [[kernel, *(_cell(row, "drift", ".1e") for row in part)] for kernel, part in kernels.items()]
    scores = [[kernel, *(_cell(row, "accuracy", ".1f") for row in part)] for kernel, part in kernels.items()]
    scores.append(["largest class", *[f"{100 * first['largest_class']:.1f}"] * len(points)])
    return f"""
## {name}

{first["n_graphs"]} graphs ({graphs_text}) with {nodes[min(nodes)]:.0f} nodes on average, and
{nodes[max(nodes)]:.0f} after the most points are added. Drift of the kernel matrix:

{markdown_table(header, drift)}

Accuracy in percent, trained on originals and tested on refined graphs:

{markdown_table(header, scores)}
"""


def _reordered_section(rows: Rows) -> str:
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    kernels: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        kernels.setdefault(row["kernel"], {})[row["dataset"]] = row
    drift = [[name, *(_cell(part[one], "drift", ".1e") for one in sets)] for name, part in kernels.items()]
    scores = [
        [
            name,
            *(
                f"{_cell(part[one], 'accuracy_before', '.1f')} → {_cell(part[one], 'accuracy', '.1f')}"
                for one in sets
            ),
        ]
        for name, part in kernels.items()
    ]
    header = [REORDERED, *sets]
    return f"""
## Reordered

Where lengths tie, the result of an algorithm that sorts edges by length can depend on their order in the
file. Here the edges of each graph are reordered, its nodes are renumbered, and half of its edges are
reversed. Every {_EVERY}th graph of IMDB-BINARY is used. Drift of the kernel matrix:

{markdown_table(header, drift)}

Accuracy in percent, trained on originals and tested on originals → on reordered graphs:

{markdown_table(header, scores)}
"""


def _cell(row: Mapping[str, Any], column: str, form: str) -> str:
    return format(row[column], form) if row["status"] == "ok" else str(row["status"])


def _moves(rows: Rows) -> str:
    """Return how far kernels move, and by how much their accuracy differs from that on the originals."""
    first = {(row["dataset"], row["kernel"]): row["accuracy"] for row in rows if not row["points"]}
    changes = [abs(row["accuracy"] - first[row["dataset"], row["kernel"]]) for row in rows]
    drifts = [row["drift"] for row in rows if row["points"]]
    return (
        f"move by {min(drifts):.1e} to {max(drifts):.1e} of the norm of K, "
        f"and their accuracy by at most {max(changes):.1f} points"
    )


def figures(rows: Rows) -> dict[str, Figure]:
    """Return drift and accuracy against the number of points, a row for each set."""
    rows = [row for row in rows if row["points"] != REORDERED]
    sets = list(dict.fromkeys(row["dataset"] for row in rows))
    figure, axes = panels(len(sets), 2, size=(5.2, 3.8))
    for line, name in zip(axes, sets, strict=True):
        for i, (kernel, part) in enumerate(by_kernel(rows, name).items()):
            done = [row for row in part if row["status"] == "ok"]
            style = "-" if kernel in INVARIANT else "--" if kernel in OURS else ":"
            moved = [row for row in done if row["points"]]
            drift = [max(row["drift"], 1e-16) for row in moved]
            curve(line[0], [row["points"] for row in moved], drift, i, kernel, linestyle=style)
            scores = [row["accuracy"] for row in done]
            curve(line[1], [row["points"] for row in done], scores, i, kernel, linestyle=style)
        line[0].set(title=f"{name}: drift of K", xscale="log", yscale="log", xlabel="points per 10 edges")
        line[1].set(title=f"{name}: accuracy, %", xlabel="points per 10 edges")
        line[1].set_xscale("symlog", linthresh=1)
    figure.legend(*axes[0][1].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    return {"invariance": figure}


def outcome(rows: Rows) -> str:
    """Return the largest drift of each kind of kernel."""
    largest: dict[str, float] = {}
    for row in rows:
        if row["status"] == "ok":
            name = row["kernel"]
            kind = "canonical" if name in INVARIANT else "literal" if name in OURS else "classical"
            largest[kind] = max(row["drift"], largest.get(kind, 0.0))
    return "Largest drift of K: " + ", ".join(f"{kind} {value:.2g}" for kind, value in largest.items()) + "."


EXPERIMENT = Experiment(
    name="invariance",
    title="Invariance under refinement",
    section="",
    shows="How far each kernel moves when points are added to edges, "
    "and how accurate a trained classifier stays.",
    minutes=15,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    outcome=outcome,
    again=again_with_more,
)
