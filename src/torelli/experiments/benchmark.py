"""The paper's comparison with other kernels on 23 benchmark sets (section 5.2, appendix E.4)."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.datasets.paper import paper_table
from torelli.datasets.tu import TU_NAMES, load_tu
from torelli.distances import pairwise_distances
from torelli.evaluation import (
    FixedKernel,
    NoKernel,
    RBFKernels,
    Tuning,
    cross_validate,
    shuffled_folds,
    stratified_folds,
)
from torelli.experiments._benchmark_page import FOLDS, OURS, SUM, TTM, figures, outcome, page
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import again_with_more, call
from torelli.experiments.methods import CHOICES, MeasureKernels, measured_times
from torelli.experiments.rivals import (
    BASELINES,
    SEES_LENGTHS,
    grakel_kernel_matrix,
    normalised,
    require_grakel,
)
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torelli._types import Floats
    from torelli.datasets.tu import Lengths
    from torelli.evaluation import KernelFamily
    from torelli.experiments._experiment import Row, Rows

QUICK_SETS = ("MUTAG",)
LITERAL = ("TTE literal", "TTW literal")
DRAWS = 5
"""Number of draws of uniform lengths whose kernels the fair protocol averages."""
TTW_BLOCKS = {100: 1000, 50: 3000, 25: 10**9}
"""Rows that TTW keeps, and the number of graphs below which it keeps them."""
SUM_BLOCK = 300
REPEATS = 3
GAMMA_FACTORS = (0.1, 1.0, 10.0)
MEDIAN_SAMPLE = 1000
PAPER = Tuning(max_iter=10_000)
"""The paper's protocol: nothing is chosen, in shuffled folds."""
FAIR = Tuning((1.0, 10.0, 100.0, 1000.0), inner_folds=3, max_inner=500, sum_percent=True, max_iter=10_000)
"""The fair protocol: C and gamma are chosen inside the training graphs, in repeated stratified folds."""
FAIR_TTM = replace(FAIR, refit_inner=False)
"""The same for TTM, whose vectors are learned once for all inner folds."""
_UNCAPPED = 7 * 24 * 3600.0
_GIGABYTES = 16.0


def largest_block(method: str, n_graphs: int) -> int | None:
    """Return `max_genus` for a set: TTE and TTS are not truncated.

    TTW is truncated because its time is cubic. The sum is truncated because matrices with doubled bridges
    are about as large as graphs.
    """
    if method == SUM:
        return SUM_BLOCK
    if not method.startswith("TTW"):
        return None
    return next(limit for limit, most in TTW_BLOCKS.items() if n_graphs < most)


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each data set, kernel and kind of length."""
    cells = []
    for dataset in QUICK_SETS if settings.quick else TU_NAMES:
        cells += [
            Cell({"dataset": dataset, "method": method, "lengths": "unit"}, 2.0 + _n_graphs(dataset) / 50.0)
            for method in ("majority", "genus")
        ]
        for method in BASELINES:
            for lengths in ("uniform", "unit") if method in SEES_LENGTHS else ("unit",):
                key = {"dataset": dataset, "method": method, "lengths": lengths}
                cells.append(Cell(key, _baseline_cost(dataset, method)))
        for method in (*LITERAL, *OURS):
            for lengths in ("uniform",) if method in LITERAL else _lengths(dataset, method):
                key = {"dataset": dataset, "method": method, "lengths": lengths}
                cells.append(Cell(key, _our_cost(dataset, method, lengths)))
        cells.append(
            Cell({"dataset": dataset, "method": SUM, "lengths": "all"}, _our_cost(dataset, SUM, "all"))
        )
    return cells


def _lengths(dataset: str, method: str = "") -> tuple[Lengths, ...]:
    """Return the kinds of length that a method takes on a set.

    The ``*_MD`` sets hold distances between atoms. TTM is not given resistances, because
    masses are computed from them.
    """
    own: tuple[Lengths, ...] = ("attribute",) if dataset.endswith("_MD") else ()
    return ("uniform", "unit", *(() if method == TTM else ("resistance",)), *own)


def _statistics(dataset: str) -> dict[str, str]:
    return next(row for row in paper_table("dataset_statistics") if row["dataset"] == dataset)


def _n_graphs(dataset: str) -> int:
    return int(_statistics(dataset)["N"])


def _baseline_cost(dataset: str, method: str) -> float:
    """Return an estimate of a baseline's seconds: the time in the paper, up to the default cap."""
    n = _n_graphs(dataset)
    evaluation = 10.0 + n / 50.0
    seconds = 0.0
    for table in ("fit_seconds", "transform_seconds"):
        row = next(row for row in paper_table(table) if row["dataset"] == dataset)
        try:
            seconds += float(row.get(method, "0"))
        except ValueError:
            seconds = 300.0
    return min(seconds, 300.0) + evaluation


def _our_cost(dataset: str, method: str, lengths: str) -> float:
    n = _n_graphs(dataset)
    draws = DRAWS if lengths == "uniform" and method in OURS else 1
    if method == TTM:
        edges = float(_statistics(dataset)["m"])
        # most folds share their vectors, so that support vector machines take most of the time
        choices, folds = (1, FOLDS) if lengths == "uniform" else (len(CHOICES), REPEATS * FOLDS)
        return 10.0 + 3e-5 * edges * n * choices + folds * (0.01 * choices + 3e-7 * n * n)
    pair = 3e-6 if method.startswith("TTW") else 1e-6
    return 10.0 + n / 50.0 + draws * n * n * pair


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Compute one kernel on one set in a process of its own, and evaluate it."""
    dataset, method, lengths = key["dataset"], key["method"], key["lengths"]
    protocols = _protocols(method, lengths)
    if method in {"majority", "genus"}:
        return _evaluate(_plain(dataset, method), dataset, protocols, settings, {})
    arguments = {"dataset": dataset, "method": method, "lengths": lengths, "seed": settings.seed}
    caps = {"seconds": _UNCAPPED, "gigabytes": _GIGABYTES}
    facts: Row = {}
    if method in BASELINES:
        require_grakel()
        caps = {"seconds": settings.seconds, "gigabytes": settings.gigabytes}
    elif method != TTM:
        facts["max_genus"] = arguments["max_genus"] = largest_block(method, _n_graphs(dataset))
        if method == SUM or lengths != "uniform":
            facts["ties"] = "by the space"
    function = "baseline" if method in BASELINES else "vectors" if method == TTM else "ours"
    called = call(f"{__name__}:{function}", arguments, threads=1, **caps)
    if called.status != "ok":
        failed = {"status": called.status, **caps, "message": called.message[-300:]}
        return [{"protocol": protocol, **failed} for protocol in protocols]
    values, facts["fit_seconds"], facts["transform_seconds"] = called.value
    facts["peak_mb"] = called.peak_mb
    families: dict[str, KernelFamily]
    if method in BASELINES:
        families = {"paper": FixedKernel(values), "fair": FixedKernel(normalised(values))}
    elif method == TTM:
        families = _measure_kernels(dataset, lengths, settings.seed)
    else:
        families = {"paper": _rbf(values[:1]), "fair": _rbf(values, GAMMA_FACTORS)}
    return _evaluate(families, dataset, protocols, settings, facts)


def _rbf(squared: list[Floats], factors: tuple[float, ...] = (1.0,)) -> RBFKernels:
    return RBFKernels(squared, factors=factors, median_sample=MEDIAN_SAMPLE)


def _protocols(method: str, lengths: str) -> tuple[str, ...]:
    """Return the protocols a cell takes part in.

    The paper's protocol has random lengths; the fair one gives the baselines and TTM graphs without them.
    """
    if method in LITERAL or (method in {TTM, *SEES_LENGTHS} and lengths == "uniform"):
        return ("paper",)
    if (method in OURS and lengths != "uniform") or method in {*SEES_LENGTHS, SUM}:
        return ("fair",)
    return ("paper", "fair")


def _evaluate(
    families: Mapping[str, KernelFamily],
    dataset: str,
    protocols: tuple[str, ...],
    settings: Settings,
    facts: Row,
) -> Rows:
    y = load_tu(dataset, lengths="unit").y
    rows = []
    for protocol in protocols:
        if protocol == "paper":
            tuning, folds = PAPER, shuffled_folds(len(y), FOLDS, seed=settings.seed)
        else:
            repeats = 1 if settings.quick else REPEATS
            tuning = FAIR_TTM if isinstance(families[protocol], MeasureKernels) else FAIR
            folds = stratified_folds(y, FOLDS, repeats=repeats, seed=settings.seed)
        result = cross_validate(families[protocol], y, folds, tuning=tuning, seed=settings.seed)
        percent = 100.0 * result.accuracies
        inner = "" if protocol == "paper" else _text(100.0 * result.inner_accuracies)
        row = {
            "protocol": protocol,
            "status": "ok",
            "accuracy": float(np.mean(percent)),
            "std": _std(percent),
        }
        rows.append({**row, "folds": _text(percent), "inner": inner, **facts})
    return rows


def _std(folds: Floats) -> float:
    """Return the standard deviation over the folds of a repeat, averaged over the repeats."""
    return float(np.mean([np.std(folds[i : i + FOLDS]) for i in range(0, len(folds), FOLDS)]))


def _text(values: Floats) -> str:
    return " ".join(f"{value:.4f}" for value in values)


def _plain(dataset: str, method: str) -> dict[str, KernelFamily]:
    """Return the two simplest baselines, which every kernel should beat: no kernel, and the genus alone."""
    data = load_tu(dataset, lengths="unit")
    if method == "majority":
        return {"paper": NoKernel(), "fair": NoKernel()}
    genus = np.array([graph.genus for graph in data.graphs], dtype=np.float64)
    squared = [(genus[:, None] - genus[None, :]) ** 2]
    return {"paper": _rbf(squared), "fair": _rbf(squared, GAMMA_FACTORS)}


def _measure_kernels(dataset: str, lengths: Lengths, seed: int) -> dict[str, KernelFamily]:
    """Return TTM with its defaults, and the kernels that the fair protocol chooses from."""
    kernels = partial(
        MeasureKernels,
        [load_tu(dataset, lengths=lengths, seed=seed).graphs],
        median_sample=MEDIAN_SAMPLE,
        dtype="float32",
        rounded=True,
    )
    return {"paper": kernels([[{}]]), "fair": kernels(CHOICES, GAMMA_FACTORS)}


def vectors(dataset: str, method: str, lengths: Lengths, seed: int) -> tuple[None, float, float]:
    """Return nothing, and the seconds for the vectors of TTM and for their distances."""
    del method
    return None, *measured_times(load_tu(dataset, lengths=lengths, seed=seed).graphs)


def baseline(dataset: str, method: str, lengths: Lengths, seed: int) -> tuple[Floats, float, float]:
    """Return a baseline's kernel matrix and the seconds for fit and transform."""
    return grakel_kernel_matrix(load_tu(dataset, lengths=lengths, seed=seed).graphs, method, seed=seed)


def ours(
    dataset: str, method: str, lengths: Lengths, seed: int, max_genus: int | None
) -> tuple[list[Floats], float, float]:
    """Return squared distances, and the seconds for matrices and for distances.

    There is one array for each draw of uniform lengths, of which the times are those of one, and for
    the sum one for each of its kernels.
    """
    metric, _, model = method.lower().partition(" ")
    metrics = ("tte", "tts") if method == SUM else (metric,)
    draws = DRAWS if lengths == "uniform" and not model else 1
    kinds = _lengths(dataset)[1:] if method == SUM else (lengths,) * draws
    options = {"bridges": "double" if method == SUM else "ignore", "max_genus": max_genus, "seed": seed}
    squared, fit, transform = [], 0.0, 0.0
    for draw, kind in enumerate(kinds):
        graphs = load_tu(dataset, lengths=kind, seed=seed + draw).graphs
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torelli_matrices(graphs[:2], n_jobs=1)
            before = time.process_time()
            Q = torelli_matrices(graphs, model or "canonical", n_jobs=1, **options)  # type: ignore[arg-type]
        between = time.process_time()
        squared += [pairwise_distances(Q, metric=name, squared=True, n_jobs=1) for name in metrics]
        fit += (between - before) / draws
        transform += (time.process_time() - between) / draws
    return squared, fit, transform


EXPERIMENT = Experiment(
    name="benchmark",
    title="Classification of 23 benchmark sets",
    section="5.2, E.4",
    shows="Accuracy, time and memory of six classical kernels and ours: the paper's protocol and a fair one.",
    minutes=400,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    isolated=True,
    outcome=outcome,
    again=again_with_more,
)
