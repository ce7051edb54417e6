"""Street networks: the paper's eight sets with stand-in cities, and two sets of third parties."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix

from torelli import _cache
from torelli.evaluation import FixedKernel, Tuning, cross_validate, stratified_folds
from torelli.experiments import _urn_data, _urn_page
from torelli.experiments._experiment import Cell, Experiment
from torelli.experiments._measurement import again_with_more, call
from torelli.experiments._urn_data import (
    BASELINES,
    LINES,
    OURS,
    RADII,
    SETS,
    TRANSFER_METHODS,
    StreetSet,
    family_of,
    load,
    transfer,
)
from torelli.experiments.methods import MeasureKernels
from torelli.kernel_matrix import principal_components
from torelli.statistics import set_statistics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torelli.evaluation import KernelFamily
    from torelli.experiments._experiment import Row, Rows, Settings

_DESCRIBE = "set"
_SYNTHETIC = "synthetic, "
_DRAWN = {"URN2-1S", "URN3-S"}  # the paper's two examples of kernel PCA
_DRAWN_METHODS = {"TTE", "TTW"}
_QUICK_SETS = ("URN2-1S", "URN3-S")
_FOLDS, _QUICK_FOLDS = 10, 4
_JOBS = 2
_PAPER = Tuning()
_CHOSEN = Tuning((1.0, 10.0, 100.0), inner_folds=3, refit_inner=False)


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for what each set is, and for each method on it."""
    sets = _QUICK_SETS if settings.quick else SETS
    size = {name: 3.0 if name.endswith("M") or name == "cells" else 1.0 for name in sets}
    cells = [Cell({"set": name, "method": _DESCRIBE}, 0.1 * size[name]) for name in sets]
    for methods, cost in (((*LINES, *OURS), 2.0), (BASELINES, 10.0)):
        cells += [
            Cell({"set": name, "method": method}, cost * size[name]) for name in sets for method in methods
        ]
        if methods is not BASELINES:
            cells += [
                Cell({"set": f"{_SYNTHETIC}{radius} m", "method": method}, 10.0)
                for radius in RADII
                for method in TRANSFER_METHODS
            ]
    return cells


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Measure a method on a set: kernel, times, accuracies and confusions for both kinds of folds."""
    name, method = key["set"], key["method"]
    if name.startswith(_SYNTHETIC):
        radius = int(name.removeprefix(_SYNTHETIC).removesuffix(" m"))
        return transfer(radius, method, quick=settings.quick, seed=settings.seed)
    data = _loaded(name, quick=settings.quick, seed=settings.seed)
    if method == _DESCRIBE:
        return [_description(data)]
    if method in BASELINES:
        arguments = {"name": name, "kernel": method, "quick": settings.quick, "seed": settings.seed}
        outcome = call(
            f"{_urn_data.__name__}:baseline_matrix",
            arguments,
            seconds=settings.seconds,
            gigabytes=settings.gigabytes,
        )
        if outcome.status != "ok":
            caps = {"cap_seconds": settings.seconds, "cap_gigabytes": settings.gigabytes}
            return [{"kind": "failed", "status": outcome.status, "message": outcome.message[-200:], **caps}]
        matrix, seconds = outcome.value
        baseline = FixedKernel(matrix)
        return _scores(baseline, baseline, data, seconds, settings)
    # so that times are those of a first computation
    _cache.distance_cache.clear()
    family, seconds = family_of({**OURS, **LINES}[method], data, n_jobs=_JOBS)
    median_rule = replace(family, factors=(1.0,))
    if isinstance(median_rule, MeasureKernels):
        median_rule = replace(median_rule, choices=median_rule.choices[:1])
    rows = _scores(median_rule, family, data, seconds, settings)
    if name in _DRAWN and method in _DRAWN_METHODS:
        rows += _kernel_pca(median_rule, data)
    return rows


@cache
def _loaded(name: str, *, quick: bool, seed: int) -> StreetSet:
    return load(name, quick=quick, seed=seed)


def _description(data: StreetSet) -> Row:
    statistics = set_statistics(data.graphs)
    repeated = len(data.graphs) - len({graph.digest for graph in data.graphs})
    return {
        "kind": "set",
        "graphs": len(data.graphs),
        "classes": len(np.unique(data.y)),
        "majority": 100 * float(np.unique(data.y, return_counts=True)[1].max()) / len(data.y),
        "nodes": statistics.nodes,
        "nodes_std": statistics.nodes_std,
        "genus": statistics.genus,
        "genus_std": statistics.genus_std,
        "repeated": repeated,
    }


def _scores(
    fixed: KernelFamily, family: KernelFamily, data: StreetSet, seconds: float, settings: Settings
) -> Rows:
    """Return accuracies by the paper's protocol and with chosen parameters.

    With the latter there are confusions, and for blocked folds how many windows of each block are right.

    Parameters
    ----------
    fixed, family
        The kernel of the paper's protocol, and those to choose from.
    data, seconds, settings
        The set, the time that the kernels took, and how the experiment is run.
    """
    rows: Rows = []
    n_folds = _QUICK_FOLDS if settings.quick else _FOLDS
    kinds: list[tuple[str, str, Any]] = [("paper", "random", None), ("chosen", "random", None)]
    if data.groups is not None:
        kinds.append(("chosen", "blocked", data.groups))
    for protocol, folds, groups in kinds:
        kernels, tuning = (fixed, _PAPER) if protocol == "paper" else (family, _CHOSEN)
        before = time.perf_counter()
        result = cross_validate(
            kernels,
            data.y,
            stratified_folds(data.y, n_folds, groups=groups, seed=settings.seed),
            groups=groups,
            tuning=tuning,
            seed=settings.seed,
            n_jobs=_JOBS,
        )
        rows.append(
            {
                "kind": "score",
                "protocol": protocol,
                "folds": folds,
                "accuracy": 100 * float(result.accuracies.mean()),
                "std": 100 * float(result.accuracies.std()),
                "seconds": seconds,
                "classify_seconds": time.perf_counter() - before,
            }
        )
        if protocol == "chosen":
            names = np.unique(data.y.astype(str))
            counts = confusion_matrix(data.y.astype(str), result.predicted.astype(str), labels=names)
            for true, predicted in zip(*np.nonzero(counts), strict=True):
                row: Row = {"true": str(names[true]), "predicted": str(names[predicted])}
                row["count"] = int(counts[true, predicted])
                rows.append({"kind": "confusion", "folds": folds, **row})
        if groups is not None:
            right = result.predicted == data.y
            rows += [
                {
                    "kind": "block",
                    "block": int(block),
                    "windows": int((groups == block).sum()),
                    "right": int(right[groups == block].sum()),
                }
                for block in np.unique(groups)
            ]
    return rows


def _kernel_pca(family: KernelFamily, data: StreetSet) -> Rows:
    graphs = np.arange(len(data.y))
    components, _ = principal_components(family.kernel(0, graphs, graphs))
    return [
        {"kind": "pca", "true": str(label), "x": float(x), "y": float(y)}
        for label, (x, y) in zip(data.y, components, strict=True)
    ]


EXPERIMENT = Experiment(
    name="urn",
    title="Street networks",
    section="5.3 and F",
    shows="Which street pattern is it? Our kernels, GraKeL's, the genus alone and plain street statistics.",
    minutes=60,
    cells=cells,
    measure=measure,
    page=_urn_page.page,
    figures=_urn_page.figures,
    again=again_with_more,
    outcome=_urn_page.outcome,
)
