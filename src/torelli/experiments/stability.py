"""How far each method moves when the same place is drawn, measured or prepared in another way."""

from __future__ import annotations

import pickle
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.evaluation import Tuning, cross_validate, stratified_folds
from torelli.experiments import _stability_page
from torelli.experiments._copies import CHANGES, Copies
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measure_kernels import SETTINGS
from torelli.experiments._measurement import again_with_more, call
from torelli.experiments.methods import distance_kernels, get_method, squared_between, standardised
from torelli.experiments.rivals import RIVALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints
    from torelli.experiments._copies import Windows
    from torelli.experiments._experiment import Rows
    from torelli.experiments.rivals import Method
    from torelli.graph import MetricGraph

COMPARED = (
    *SETTINGS, "TTW", "TTE", "TTS", "TTW, bridges", "TTS, bridges", "TTW literal", "TTE literal",
    "TTS literal", "WL", "SP", "street statistics", "metric statistics", "genus", *RIVALS,
)  # fmt: skip
"""Methods in the order of the tables."""
QUICK = (*SETTINGS, "TTW", "TTS", "TTW literal", "WL", "metric statistics", "persistence")
FEWER = {"GW": 100, "SP": 200, "SP, lengths": 200, "NetLSD, Kirchhoff": 300}
"""Number of windows for methods that are too slow for all of them."""
N_FOLDS = 4
FACTORS = (0.25, 1.0, 4.0)
TUNING = Tuning((1.0, 10.0, 100.0), inner_folds=3, refit_inner=False)
_TIE = 1e-9  # relative to the largest squared distance
_COST = {"GW": 600.0, "SP": 400.0, "SP, lengths": 400.0, "NetLSD, Kirchhoff": 500.0, "persistence": 500.0}
_MIN_EDGES = 2


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each method, with all changes."""
    names = QUICK if settings.quick else COMPARED
    return [Cell({"method": name}, cost=_COST.get(name, 300.0 if "TTW" in name else 100.0)) for name in names]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Compare the copies of windows with the originals, in a process of its own."""
    name = key["method"]
    get_method(name)
    copies = _copies(quick=settings.quick, seed=settings.seed)
    files = {change: copies.files(change) for change in CHANGES}
    caps = {"cap_seconds": settings.seconds, "cap_gigabytes": settings.gigabytes}
    outcome = call(
        f"{__name__}:compare",
        {"name": name, "files": files, "most": FEWER.get(name), "seed": settings.seed},
        seconds=settings.seconds * len(CHANGES),
        gigabytes=settings.gigabytes,
        threads=1,
    )
    if outcome.status == "ok":
        rows: Rows = [{**row, "status": "ok"} for row in outcome.value]
        return rows
    failed = {"status": outcome.status, "message": outcome.message[-300:], **caps}
    return [{"change": change, **failed} for change in CHANGES]


@cache
def _copies(*, quick: bool, seed: int) -> Copies:
    return Copies(quick=quick, seed=seed)


def compare(name: str, files: Mapping[str, tuple[str, str]], most: int | None, seed: int) -> Rows:
    """Return a row for each change: how far copies are, whether they are found, and what classifiers say.

    Parameters
    ----------
    name
        The method.
    files
        The files of originals and of copies, by change.
    most
        Largest number of windows, chosen evenly; None for all.
    seed
        Seed of the folds.
    """
    method = get_method(name)
    known: dict[str, _Originals] = {}
    rows = []
    for change, (originals_file, copies_file) in files.items():
        if originals_file not in known:
            known[originals_file] = _Originals(method, _load(originals_file), most, seed)
        originals = known[originals_file]
        every: list[MetricGraph] = _load(copies_file)
        copies = [every[i] for i in originals.chosen]
        whole = np.array([graph.n_edges >= _MIN_EDGES for graph in copies])
        before = time.process_time()
        squared = originals.squared_from([graph for graph, yes in zip(copies, whole, strict=True) if yes])
        seconds = time.process_time() - before
        own = np.sqrt(squared[np.arange(len(squared)), np.flatnonzero(whole)])
        moved = own / originals.median
        rows.append(
            {
                "change": change,
                "windows": len(squared),
                "left_out": int(np.count_nonzero(~whole)),
                "among": len(copies),
                "cities": len(np.unique(originals.y)),
                "moved": 100.0 * float(moved.mean()),
                "moved_95": 100.0 * float(np.quantile(moved, 0.95)),
                "found": 100.0 * float(found(squared, np.flatnonzero(whole)).mean()),
                "accuracy": originals.accuracy(squared, np.flatnonzero(whole)),
                "accuracy_before": originals.accuracy_before,
                "seconds": seconds,
            }
        )
    return rows


def _load(file: str) -> Any:  # noqa: ANN401  (what was pickled)
    return pickle.loads(Path(file).read_bytes())  # noqa: S301  (written by us)


def found(squared: Floats, own: Ints) -> Floats:
    """Return for each copy whether its own original is the nearest; one of k that tie counts 1 / k.

    Parameters
    ----------
    squared
        Squared distances of copies (rows) to originals.
    own
        The column of each copy's own original.
    """
    tie = _TIE * float(squared.max(initial=0.0))
    mine = squared[np.arange(len(own)), own]
    nearest = squared.min(axis=1)
    n_tied = np.count_nonzero(squared <= nearest[:, None] + tie, axis=1)
    hits: Floats = np.where(mine <= nearest + tie, 1.0 / n_tied, 0.0)
    return hits


class _Originals:
    """What a method makes of the original windows, their distances, and classifiers trained on them."""

    def __init__(self, method: Method, windows: Windows, most: int | None, seed: int) -> None:
        n = len(windows.graphs)
        count = min(n, most or n)
        self.chosen = np.unique(np.linspace(0, n - 1, count).round().astype(np.int64)).tolist()
        self.graphs = [windows.graphs[i] for i in self.chosen]
        self.y: NDArray[Any] = windows.y[self.chosen]
        self.groups: Ints = windows.groups[self.chosen]
        self.method, self.seed = method, seed
        self.raw = method.represent(self.graphs, self.graphs)
        self.represented = standardised(method, self.raw, self.raw)
        self.squared = squared_between(method, self.represented, self.represented)
        pairs = np.sqrt(self.squared[np.triu_indices(len(self.graphs), 1)])
        self.median = float(np.median(pairs)) or 1.0
        folds = min(N_FOLDS, len(np.unique(self.groups)))
        self.folds = stratified_folds(self.y, folds, groups=self.groups, seed=seed)
        self.accuracy_before = self.accuracy(self.squared, np.arange(len(self.graphs)))

    def squared_from(self, copies: list[MetricGraph]) -> Floats:
        """Return the squared distances of copies to the originals."""
        raw = self.method.represent(copies, self.graphs)
        return squared_between(self.method, standardised(self.method, raw, self.raw), self.represented)

    def accuracy(self, squared: Floats, own: Ints) -> float:
        """Return the percentage of copies whose city is predicted by a classifier of the other originals.

        A copy is tested in the fold in which its original, of index `own`, is.
        """
        n = len(self.graphs)
        row = np.full(n, -1, dtype=np.int64)
        row[own] = n + np.arange(len(own))
        folds = [(train, tests) for train, test in self.folds if len(tests := row[test][row[test] >= 0])]
        family = distance_kernels(self.method, np.vstack([self.squared, squared]), FACTORS)
        y, groups = np.concatenate([self.y, self.y[own]]), np.concatenate([self.groups, self.groups[own]])
        result = cross_validate(family, y, folds, groups=groups, tuning=TUNING, seed=self.seed)
        right = sum(float(np.sum(fold.predicted == y[fold.test])) for fold in result.folds)
        return 100.0 * right / sum(len(fold.test) for fold in result.folds)


EXPERIMENT = Experiment(
    name="stability",
    title="Stability when a place is drawn again",
    section="",
    shows="How each method reacts when windows are reordered, subdivided, noisy, incomplete or prepared in "
    "another way: how far they move, whether the original is still the nearest, and how accurate a "
    "classifier trained on the originals remains.",
    minutes=150,
    cells=cells,
    measure=measure,
    page=_stability_page.page,
    figures=_stability_page.figures,
    isolated=True,
    again=again_with_more,
    outcome=_stability_page.outcome,
)
