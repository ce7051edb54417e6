"""Street networks: the paper's eight sets with stand-in cities, and two sets of third parties."""

from __future__ import annotations

import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import KernelPCA

from torelli import _cache
from torelli.datasets.statistics import set_statistics
from torelli.experiments import _urn_page
from torelli.experiments._experiment import Cell, Experiment
from torelli.experiments._folds import FixedKernel, cross_validate
from torelli.experiments._isolated import again_with_more, call
from torelli.experiments._urn_data import (
    BASELINES,
    LINES,
    OURS,
    SETS,
    StreetSet,
    family_of,
    load,
)
from torelli.experiments._urn_transfer import RADII, TRANSFER_METHODS, transfer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torelli.experiments._experiment import Row, Rows, Settings
    from torelli.experiments._folds import Family

_DESCRIBE = "set"
_SYNTHETIC = "synthetic, "
_DRAWN = {"URN2-1S", "URN3-S"}  # the paper's two examples of kernel PCA
_DRAWN_METHODS = {"TTE", "TTW"}
_QUICK_SETS = ("URN2-1S", "URN3-S")
_FOLDS, _QUICK_FOLDS = 10, 4
_JOBS = 2


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for what each set is, and for each method on it."""
    sets = _QUICK_SETS if settings.quick else SETS
    size = {name: 3.0 if name.endswith("M") or name == "cells" else 1.0 for name in sets}
    found = [Cell({"set": name, "method": _DESCRIBE}, 0.1 * size[name]) for name in sets]
    for methods, cost in (((*LINES, *OURS), 2.0), (BASELINES, 10.0)):
        found += [
            Cell({"set": name, "method": method}, cost * size[name]) for name in sets for method in methods
        ]
        if methods is not BASELINES:
            found += [
                Cell({"set": f"{_SYNTHETIC}{radius} m", "method": method}, 10.0)
                for radius in RADII
                for method in TRANSFER_METHODS
            ]
    return found


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
            "torelli.experiments._urn_baselines:kernel_matrix",
            arguments,
            seconds=settings.seconds,
            gigabytes=settings.gigabytes,
        )
        if outcome.status != "ok":
            caps = {"cap_seconds": settings.seconds, "cap_gigabytes": settings.gigabytes}
            return [{"kind": "failed", "status": outcome.status, "message": outcome.message[-200:], **caps}]
        matrix, seconds = outcome.value
        return _scores(FixedKernel(matrix), data, seconds, settings)
    # times are those of a first computation
    _cache.distance_cache.clear()
    family, seconds = family_of({**OURS, **LINES}[method], data, n_jobs=_JOBS)
    rows = _scores(family, data, seconds, settings)
    if name in _DRAWN and method in _DRAWN_METHODS:
        rows += _kernel_pca(family, data)
    return rows


@cache
def _loaded(name: str, *, quick: bool, seed: int) -> StreetSet:
    return load(name, quick=quick, seed=seed)


def _description(data: StreetSet) -> Row:
    found = set_statistics(data.graphs)
    repeated = len(data.graphs) - len({graph.digest for graph in data.graphs})
    return {
        "kind": "set",
        "graphs": len(data.graphs),
        "classes": len(np.unique(data.y)),
        "majority": 100 * float(np.unique(data.y, return_counts=True)[1].max()) / len(data.y),
        "nodes": found.nodes,
        "nodes_std": found.nodes_std,
        "genus": found.genus,
        "genus_std": found.genus_std,
        "repeated": repeated,
    }


def _scores(family: Family, data: StreetSet, seconds: float, settings: Settings) -> Rows:
    """Return accuracies by the paper's protocol and with chosen parameters, and the latter's confusions."""
    rows: Rows = []
    kinds: list[tuple[str, str, Any]] = [("paper", "random", None), ("chosen", "random", None)]
    if data.groups is not None:
        kinds.append(("chosen", "blocked", data.groups))
    for protocol, folds, groups in kinds:
        before = time.perf_counter()
        found = cross_validate(
            family,
            data.y,
            groups,
            tuned=protocol == "chosen",
            n_folds=_QUICK_FOLDS if settings.quick else _FOLDS,
            seed=settings.seed,
            n_jobs=_JOBS,
        )
        rows.append(
            {
                "kind": "score",
                "protocol": protocol,
                "folds": folds,
                "accuracy": 100 * float(found.accuracies.mean()),
                "std": 100 * float(found.accuracies.std()),
                "seconds": seconds,
                "classify_seconds": time.perf_counter() - before,
            }
        )
        if protocol == "chosen":
            names, numbers = np.unique(
                np.concatenate([data.y, found.labels]).astype(str), return_inverse=True
            )
            pairs = numbers.reshape(2, -1).T
            for (true, predicted), count in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
                row = {"true": str(names[true]), "predicted": str(names[predicted]), "count": int(count)}
                rows.append({"kind": "confusion", "folds": folds, **row})
    return rows


def _kernel_pca(family: Family, data: StreetSet) -> Rows:
    K = family.kernels(np.arange(len(data.y)))[family.scales.index(1.0)]
    places = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(K)
    # an eigenvector has no direction of its own
    places *= np.sign(places[np.abs(places).argmax(axis=0), [0, 1]])
    return [
        {"kind": "pca", "true": str(label), "x": float(x), "y": float(y)}
        for label, (x, y) in zip(data.y, places, strict=True)
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
