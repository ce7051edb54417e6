"""The rows of the benchmark by set, kernel and lengths, and who is ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli.evaluation import paired_test
from torelli.experiments.baselines import BASELINES, SEES_LENGTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli.experiments._experiment import Row, Rows

TTM = "TTM"
TORELLI = ("TTE", "TTW", "TTS")
"""Our kernels of Torelli matrices, in which ties between lengths have to be broken."""
OURS = (*TORELLI, TTM)
LENGTHS = ("uniform", "unit", "resistance", "attribute")
PAPERS = ("TTE", "TTW")
LEVEL = 0.05
FOLDS = 10
GOALS = {"ahead": 17, "sure": 7, "behind WL": 3.0}
"""Sets on which ours should be ahead, and with p < `LEVEL`; points by which WL may be ahead anywhere."""
SUM = "sum"
"""The mean of the TTE and TTS kernels with doubled bridges, over every kind of length that needs no draw."""
EVERY = (*OURS, SUM)


class Table:
    """Rows by data set, method, lengths and protocol."""

    def __init__(self, rows: Rows) -> None:
        self.rows = {(row["dataset"], row["method"], row["lengths"], row["protocol"]): row for row in rows}
        self.datasets = list(dict.fromkeys(row["dataset"] for row in rows))

    def get(self, dataset: str, method: str, protocol: str, lengths: str | None = None) -> Row | None:
        """Return a row, or None if its cell is not measured yet."""
        if lengths is None:
            lengths = "uniform" if _takes_uniform(method, protocol) else "unit"
        return self.rows.get((dataset, method, lengths, protocol))

    def folds(self, dataset: str, method: str, lengths: str | None = None) -> list[float] | None:
        """Return the accuracy in each fold of the fair protocol, if it was computed."""
        row = self.get(dataset, method, "fair", lengths)
        return None if row is None or row["status"] != "ok" else _numbers(row["folds"])

    def ours(self, dataset: str) -> list[list[float]]:
        """Return the accuracies in each fold of each of our kernels."""
        return [_numbers(row["folds"]) for row in self._our_rows(dataset)]

    def chosen(self, dataset: str, methods: Sequence[str] = EVERY) -> list[float] | None:
        """Return the accuracies of whichever of our kernels did best inside the training folds.

        Parameters
        ----------
        dataset
            The data set.
        methods
            Kernels to choose from, each with every kind of length.
        """
        rows = self._our_rows(dataset, methods)
        if not rows:
            return None
        best = np.argmax([_numbers(row["inner"]) for row in rows], axis=0)
        folds = np.array([_numbers(row["folds"]) for row in rows])
        chosen: list[float] = folds[best, np.arange(folds.shape[1])].tolist()
        return chosen

    def best_baseline(self, dataset: str) -> tuple[str, list[float]] | None:
        """Return the name and the folds of the best of the other kernels."""
        computed = [(m, folds) for m in BASELINES if (folds := self.folds(dataset, m)) is not None]
        return max(computed, key=lambda pair: np.mean(pair[1]), default=None)

    def _our_rows(self, dataset: str, methods: Sequence[str] = EVERY) -> list[Row]:
        rows = [
            self.get(dataset, method, "fair", lengths)
            for method in methods
            for lengths in (("all",) if method == SUM else LENGTHS)
        ]
        return [row for row in rows if row is not None and row["status"] == "ok"]


def _takes_uniform(method: str, protocol: str) -> bool:
    return method.startswith("TT") or (method in SEES_LENGTHS and protocol == "paper")


def _numbers(text: str) -> list[float]:
    return [float(accuracy) for accuracy in text.split()]


class Verdict(NamedTuple):
    """Sets on which ours is ahead of every other kernel, those where it is not, and where p is small."""

    ahead: list[str]
    behind: list[str]
    sure: list[str]


def judged(table: Table, methods: Sequence[str] = EVERY) -> Verdict:
    """Return on which sets the best of some methods, chosen inside, is ahead of the best other kernel."""
    verdict = Verdict([], [], [])
    for dataset in table.datasets:
        chosen, other = table.chosen(dataset, methods), table.best_baseline(dataset)
        if chosen is None or other is None:
            continue
        won = np.mean(chosen) > np.mean(other[1])
        (verdict.ahead if won else verdict.behind).append(dataset)
        if won and paired_test(chosen, other[1], test_share=1 / FOLDS) < LEVEL:
            verdict.sure.append(dataset)
    return verdict


def behind_wl(table: Table, methods: Sequence[str]) -> dict[str, float]:
    """Return the points by which WL is ahead on each set where both were computed."""
    gaps = {}
    for dataset in table.datasets:
        chosen, wl = table.chosen(dataset, methods), table.folds(dataset, "WL")
        if chosen is not None and wl is not None:
            gaps[dataset] = float(np.mean(wl) - np.mean(chosen))
    return gaps
