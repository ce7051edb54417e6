"""Section D.2: the error of the kernel matrix when random rows and columns are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.datasets import line_plus_random, paper_table
from torelli.distances import get_metric, pairwise_distances
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._pages import curve, markdown_table, panels, reflow
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from torelli._types import Floats
    from torelli.experiments._experiment import Rows


GENERA = (100, 200, 300)
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
METRICS = ("ttw", "tte")
N_GRAPHS = 20
N_NODES = 50
"""The paper does not state it; this is the smallest number of its section 5.1."""
READINGS = {
    "inner": "inner products",
    "whole": "exp(-γ d²), γ by the whole matrix",
    "pairs": "exp(-γ d²), γ by the pairs",
}
"""Possible meanings of the kernel matrix in the paper's tables."""
READING = "inner"
WANTED = 0.05


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each genus and set of graphs."""
    genera = GENERA[:1] if settings.quick else GENERA
    n_sets = 1 if settings.quick else 2
    return [Cell({"g": g, "set": i}, cost=float(g) ** 3) for g in genera for i in range(n_sets)]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Draw index sets for the graphs of one set and compare kernel matrices, several times."""
    g = key["g"]
    seed = settings.seed + 1000 * key["set"]
    graphs = [line_plus_random(N_NODES, g, seed=seed + i) for i in range(N_GRAPHS)]
    matrices = torelli_matrices(graphs, "literal")
    rng = np.random.default_rng([settings.seed, g, key["set"]])
    n_repeats = 3 if settings.quick else 10
    gammas = {metric: median_rules(distances(metric, matrices)) for metric in METRICS}
    full = {metric: kernels(metric, matrices, gammas[metric]) for metric in METRICS}
    errors: dict[tuple[str, str, float], list[float]] = {}
    for _ in range(n_repeats):
        for ratio in RATIOS:
            kept = [random_submatrix(Q, round(ratio * g), rng) for Q in matrices]
            for metric in METRICS:
                for reading, K in kernels(metric, kept, gammas[metric]).items():
                    error = relative_error(full[metric][reading], K)
                    errors.setdefault((metric, reading, ratio), []).append(error)
    return [
        {
            "metric": metric,
            "reading": reading,
            "ratio": ratio,
            "error": float(np.mean(values)),
            "std": float(np.std(values)),
            "squared_error": float(np.mean(np.square(values))),
        }
        for (metric, reading, ratio), values in errors.items()
    ]


def distances(metric: str, matrices: list[Floats]) -> Floats:
    """Return the squared distances of all pairs."""
    return pairwise_distances(matrices, metric=metric, squared=True, n_jobs=-1)


def median_rules(squared: Floats) -> dict[str, float]:
    """Return gamma = ln 2 / median of the squared distances, all of them or those of different graphs."""
    pairs = squared[np.triu_indices_from(squared, 1)]
    return {"whole": np.log(2.0) / float(np.median(squared)), "pairs": np.log(2.0) / float(np.median(pairs))}


def kernels(metric: str, matrices: list[Floats], gammas: Mapping[str, float]) -> dict[str, Floats]:
    """Return the kernel matrix by each reading.

    The inner product is (|x|² + |y|² - d²) / 2 with the distances to the empty matrix for norms: for TTE
    that of the matrices, for TTW their fidelity tr (√Q1 Q2 √Q1)^½.
    """
    squared = distances(metric, matrices)
    square = np.array([get_metric(metric).squared_norm(Q) for Q in matrices])
    inner = {"inner": (square[:, None] + square - squared) / 2.0}
    return inner | {rule: np.exp(-gamma * squared) for rule, gamma in gammas.items()}


def random_submatrix(Q: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return a random principal submatrix, rows in their order."""
    rows = np.sort(rng.choice(len(Q), size=size, replace=False))
    return Q[np.ix_(rows, rows)]


def relative_error(K: Floats, K_hat: Floats) -> float:
    """Return the distance of two kernel matrices over the norm of the first."""
    return float(np.linalg.norm(K_hat - K) / np.linalg.norm(K))


def paper(metric: str) -> dict[tuple[int, float], tuple[float, float]]:
    """Return the paper's mean and standard deviation by genus and ratio."""
    return {
        (int(row["g"]), ratio): (float(row[f"alpha_{ratio}"]), float(row[f"std_{ratio}"]))
        for row in paper_table(f"truncation_{metric}")
        for ratio in RATIOS
    }


def averages(rows: Rows, column: str = "error") -> dict[tuple[str, str, int, float], float]:
    """Return the mean of a column over the sets, by kernel, reading, genus and ratio."""
    by_key: dict[tuple[str, str, int, float], list[float]] = {}
    for row in rows:
        by_key.setdefault((row["metric"], row["reading"], row["g"], row["ratio"]), []).append(row[column])
    return {key: float(np.mean(values)) for key, values in by_key.items()}


def deviations(
    rows: Rows, metric: str, reading: str, column: str = "error"
) -> dict[tuple[int, float], float]:
    """Return ours minus the paper's, by genus and ratio."""
    printed = paper(metric)
    return {
        (g, ratio): value - printed[g, ratio][0]
        for (kernel, read, g, ratio), value in averages(rows, column).items()
        if (kernel, read) == (metric, reading)
    }


def page(rows: Rows) -> str:
    """Return the page."""
    tables = "\n\n".join(f"### {metric.upper()}\n\n{_table(rows, metric)}" for metric in METRICS)
    summary = markdown_table(
        ["reading", "TTW, largest", "TTW, cells within", "TTE, largest", "TTE, cells within"],
        [
            [
                f"{name}, {how}",
                *(text for metric in METRICS for text in _summary(rows, metric, reading, column)),
            ]
            for reading, name in READINGS.items()
            for how, column in (("no squares", "error"), ("squares as printed", "squared_error"))
        ],
    )
    ours = averages(rows)
    n_smaller = sum(
        ours["ttw", READING, g, ratio] < ours["tte", READING, g, ratio]
        for metric, reading, g, ratio in ours
        if (metric, reading) == ("ttw", READING)
    )
    off = {
        (metric, *cell): value
        for metric in METRICS
        for cell, value in deviations(rows, metric, READING).items()
    }
    outside = [cell for cell, value in off.items() if abs(value) > WANTED]
    worst = max(off, key=lambda cell: abs(off[cell]))
    verdict = (
        f"Every cell is within {WANTED:g} of the paper."
        if not outside
        else f"""{len(off) - len(outside)} of {len(off)} cells are within {WANTED:g} of the paper,
        {len(outside)} are not ({sum(cell[0] == "tte" for cell in outside)} of them TTE); the largest
        deviation is {off[worst]:+.3f}, for {worst[0].upper()} at g = {worst[1]}, α = {worst[2]}."""
    )
    n_sets = len({row["set"] for row in rows})
    spread = [value for key, value in averages(rows, "std").items() if key[:2] == ("tte", READING)]
    printed = [std for (g, _), (_, std) in paper("tte").items() if g in {row["g"] for row in rows}]
    return reflow(f"""
There are {N_GRAPHS} graphs of genus g: lines of {N_NODES} nodes with random edges added, and lengths
Unif(0, 1). Q follows Algorithm 1 exactly as printed. From each Q, a random principal submatrix of
round(α g) rows is drawn for every graph and repeat; rows keep their order. K and K̂ are the kernel
matrices of the full and of the smaller matrices. Our figures are means over {n_sets} sets of graphs. As
in the paper, the standard deviation is over the repeats on one set.

## Which kernel matrix the paper compares

The paper defines the error with squares, ‖K̂-K‖²/‖K‖², and does not state γ, the number of nodes or the
lengths. Its numbers are reproduced by the error **without** squares, for the kernel **before the
exponential**, which has no γ. For TTE, K then contains the inner products ⟨Q₁, Q₂⟩; for TTW, the
fidelities tr (√Q₁ Q₂ √Q₁)^½. Both equal (|x|² + |y|² - d²(x, y)) / 2, where the norm is the distance to
the empty matrix. Both tend to 0 with α, so the errors tend to 1, as printed. The exponential kernels
were tried with γ = ln 2 / median of the squared distances of the full matrices. The median is over the
whole distance matrix, with the zeros on its diagonal, or over the pairs. The table has the largest
deviation from the paper and the number of cells within {WANTED:g}, for each reading:

{summary}

## Comparison with the paper's tables

{tables}

![Error against the share of rows kept](truncation.png)

**Outcome.** {verdict} The error of TTW is smaller than that of TTE in {n_smaller} of
{sum(key[:2] == ("ttw", READING) for key in ours)} cells, as in the paper.

The standard deviation of TTE over the repeats is {np.mean(spread):.3f} on average; the paper has
{np.mean(printed):.3f}.
""")


def _summary(rows: Rows, metric: str, reading: str, column: str) -> tuple[str, str]:
    off = deviations(rows, metric, reading, column)
    worst = max(off.values(), key=abs)
    return f"{worst:+.3f}", f"{sum(abs(value) <= WANTED for value in off.values())} of {len(off)}"


def _table(rows: Rows, metric: str) -> str:
    ours, spread = averages(rows), averages(rows, "std")
    printed, off = paper(metric), deviations(rows, metric, READING)
    lines = []
    for g in sorted({row["g"] for row in rows}):
        cells = [(metric, READING, g, ratio) for ratio in RATIOS]
        lines.append([f"g = {g}, ours", *(f"{ours[cell]:.3f} ({spread[cell]:.3f})" for cell in cells)])
        lines.append(["paper", *("{:.3f} ({:.3f})".format(*printed[g, ratio]) for ratio in RATIOS)])
        lines.append(["deviation", *(_marked(off[g, ratio]) for ratio in RATIOS)])
    return markdown_table(["α", *map(str, RATIOS)], lines)


def _marked(value: float) -> str:
    return f"**{value:+.3f}**" if abs(value) > WANTED else f"{value:+.3f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Return the curves of both tables, ours and the paper's."""
    figure, axes = panels(1, len(METRICS), size=(4.8, 3.8))
    ours, spread = averages(rows), averages(rows, "std")
    for ax, metric in zip(axes[0], METRICS, strict=True):
        printed = paper(metric)
        for i, g in enumerate(sorted({row["g"] for row in rows})):
            cells = [(metric, READING, g, ratio) for ratio in RATIOS]
            curve(
                ax,
                RATIOS,
                [ours[cell] for cell in cells],
                i,
                f"g = {g}, ours",
                spread=[spread[cell] for cell in cells],
            )
            theirs = [printed[g, ratio][0] for ratio in RATIOS]
            curve(ax, RATIOS, theirs, i, f"g = {g}, paper", linestyle=":")
        ax.set(title=metric.upper(), xlabel="part of the rows kept, α", ylabel="relative error of K")
    axes[0][0].legend(fontsize=7)
    return {"truncation": figure}


def outcome(rows: Rows) -> str:
    """Return how many cells of each table are within 0.05 of the paper."""
    parts = []
    for metric in METRICS:
        worst, within = _summary(rows, metric, READING, "error")
        parts.append(f"{metric.upper()} {within} cells, largest {worst}")
    return f"Within {WANTED:g} of the paper: {'; '.join(parts)}."


EXPERIMENT = Experiment(
    name="truncation",
    title="Random principal submatrices",
    section="D.2",
    shows="The error of the kernel matrix when only some rows of every Torelli matrix are kept.",
    minutes=10,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    outcome=outcome,
    version=2,
)
