"""Section D.4: how far the kernel matrix moves when noise is added to the lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.distances import pairwise_distances
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import N_NODES, exponent, random_graphs
from torelli.experiments._pages import curve, markdown_table, panels, reflow
from torelli.kernel_matrix import resolve_gamma
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Rows

METRICS = ("tte", "ttw", "tts")
NOISE = tuple(0.01 * 2**k for k in range(10))
SMALL = 0.16
"""Slopes are fitted for noise up to this size, which is small beside the mean length 1/2."""
SETTINGS = (
    *(("number of graphs", N, 30) for N in (60, 70, 100)),
    *(("genus bound", 30, g) for g in (20, 40, 60)),
)


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each of the paper's settings."""
    chosen = SETTINGS[::3] if settings.quick else SETTINGS
    return [
        Cell({"varied": varied, "N": N, "genus_bound": bound}, cost=float(N * N * bound))
        for varied, N, bound in chosen
    ]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Add noise of growing size to one set of graphs, several times."""
    n_repeats = 2 if settings.quick else 10
    graphs = random_graphs(key["N"], key["genus_bound"], [settings.seed, key["N"], key["genus_bound"]])
    matrices = torelli_matrices(graphs)
    true: dict[str, tuple[float, Any]] = {}
    for metric in METRICS:
        squared = pairwise_distances(matrices, metric=metric, squared=True, n_jobs=-1)
        gamma = resolve_gamma("median", squared)
        true[metric] = gamma, np.exp(-gamma * squared)
    rng = np.random.default_rng([settings.seed, 1, key["N"], key["genus_bound"]])
    errors: dict[tuple[str, float], list[float]] = {}
    for _ in range(n_repeats):
        for size in NOISE:
            noisy = torelli_matrices(
                [graph.replace(length=graph.length + rng.uniform(0, size, graph.n_edges)) for graph in graphs]
            )
            for metric, (gamma, K) in true.items():
                K_noisy = np.exp(-gamma * pairwise_distances(noisy, metric=metric, squared=True, n_jobs=-1))
                error = float((np.linalg.norm(K_noisy - K) / np.linalg.norm(K)) ** 2)
                errors.setdefault((metric, size), []).append(error)
    return [
        {"metric": metric, "R": size, "error": float(np.mean(values)), "std": float(np.std(values))}
        for (metric, size), values in errors.items()
    ]


def by_curve(rows: Rows, metric: str) -> dict[tuple[str, int, int], Rows]:
    """Return the rows of a kernel for each setting, in order of the noise."""
    curves: dict[tuple[str, int, int], Rows] = {}
    for row in rows:
        if row["metric"] == metric:
            curves.setdefault((row["varied"], row["N"], row["genus_bound"]), []).append(row)
    return curves


def slope(part: Rows) -> float:
    """Return the exponent of R in the error, for small noise."""
    small = [row for row in part if row["R"] <= SMALL]
    return exponent([row["R"] for row in small], [row["error"] for row in small])


def page(rows: Rows) -> str:
    """Return the page."""
    slopes = {
        (metric, *setting): slope(part)
        for metric in METRICS
        for setting, part in by_curve(rows, metric).items()
    }
    lines = [
        [
            f"{metric.upper()}, N = {N}, g0 = {bound}",
            *(f"{row['error']:.1e}" for row in by_curve(rows, metric)[varied, N, bound]),
            f"{value:.2f}",
        ]
        for (metric, varied, N, bound), value in slopes.items()
    ]
    first = [row for row in rows if row["R"] == NOISE[0]]
    worst = max(row["error"] for row in first)
    largest = {
        metric: max(row["error"] for row in rows if row["metric"] == metric and row["R"] == NOISE[-1])
        for metric in METRICS
    }
    steadiest = min(largest, key=lambda metric: largest[metric])
    return reflow(f"""
A set has N random graphs of genus at most g0: lines of {N_NODES} nodes with random edges added, and
lengths Unif(0, 1). Noise from Unif(0, R) is added to every length, with R from {NOISE[0]:g} to
{NOISE[-1]:g}. The error is ‖K_noisy - K‖²/‖K‖², where γ follows the median rule on the set without
noise; the table has the mean over the repeats. The exponent of R is fitted for R up to {SMALL:g}. The
model is canonical.

{markdown_table(["R", *(f"{size:g}" for size in NOISE), "exponent"], lines)}

![Error against noise](perturbation.png)

**What the theory says.** If noise changes neither the spanning tree nor the order of the basis, Q is
linear in the lengths, so the squared error grows as R² (exponent 2). Where noise reverses the order of
two lengths, Q jumps. The number of such reversals grows as R, and so does their contribution to the
error (exponent 1). Measured exponents: {_ranges(rows)}. A curve that starts flat has two lengths that
differ by less than the smallest noise, so that their order is reversed from the start.

**What agrees.** The paper shows curves without numbers and concludes that the kernels are robust. At R =
{NOISE[0]:g}, which is 2 % of the mean length, no error exceeds {worst:.1e}.

**What differs.** At R = {NOISE[-1]:g}, ten times the mean length, noise dominates the lengths. The
error then reaches
{", ".join(f"{value:.2g} for {metric.upper()}" for metric, value in largest.items())}, so
{steadiest.upper()} moves least. Noise from Unif(0, R) also lengthens every edge by R/2 on average,
which moves all kernel values in the same direction.
""")


def _ranges(rows: Rows) -> str:
    slopes = {metric: [slope(part) for part in by_curve(rows, metric).values()] for metric in METRICS}
    return ", ".join(
        f"{metric.upper()} {min(values):.2f} to {max(values):.2f}" for metric, values in slopes.items()
    )


def figures(rows: Rows) -> dict[str, Figure]:
    """Return the log-log figure, with a row of panels for each parameter that is varied."""
    ways = list(dict.fromkeys(row["varied"] for row in rows))
    figure, axes = panels(len(ways), len(METRICS), size=(4.0, 3.2))
    for line, way in zip(axes, ways, strict=True):
        for ax, metric in zip(line, METRICS, strict=True):
            curves = {key: part for key, part in by_curve(rows, metric).items() if key[0] == way}
            for i, ((_, N, bound), part) in enumerate(curves.items()):
                sizes, errors = [row["R"] for row in part], [row["error"] for row in part]
                name = f"N = {N}" if way == "number of graphs" else f"g0 = {bound}"
                curve(ax, sizes, errors, i, f"{name}, exponent {slope(part):.2f}")
            ax.set(xscale="log", yscale="log", title=f"{metric.upper()}, {way} varied", xlabel="noise R")
            ax.legend(fontsize=7)
        line[0].set_ylabel("squared relative error of K")
    return {"perturbation": figure}


def outcome(rows: Rows) -> str:
    """Return the ranges of the exponents."""
    return f"Exponents of the noise in the squared error: {_ranges(rows)}."


EXPERIMENT = Experiment(
    name="perturbation",
    title="Noise on the lengths",
    section="D.4",
    shows="How far the kernel matrix moves when noise of growing size is added to every length.",
    minutes=3,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    outcome=outcome,
)
