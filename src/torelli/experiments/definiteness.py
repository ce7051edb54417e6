"""Section D.3: the smallest eigenvalues of the kernel matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli.distances import pairwise_distances, squared_vector_products
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import N_NODES, random_graphs
from torelli.experiments._pages import curve, markdown_table, panels, reflow
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import resolve_gamma
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from torelli._types import Floats
    from torelli.experiments._experiment import Rows
    from torelli.graph import MetricGraph

METRICS = ("tte", "ttw", "tts")
"""Distances between matrices, whose kernels are measured together in both sweeps of the paper."""
MEASURE = "measure"
"""The sweep of TTM, over the points of both."""
KERNELS = (*METRICS, "ttm")
GAMMAS: tuple[float | str, ...] = ("median", 0.001, 0.01, 0.1)
TOLERANCE = 1e-6
GENUS_SWEEP = {"N": (30, 50, 70), "genus_bound": tuple(range(20, 126, 15))}
GRAPHS_SWEEP = {"genus_bound": (20, 40, 60), "N": tuple(range(50, 191, 20))}


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each point of the two sweeps, and for TTM at each of their points."""
    first = {"N": (30,), "genus_bound": (20, 65, 125)} if settings.quick else GENUS_SWEEP
    second = {"genus_bound": (20,), "N": (50, 120, 190)} if settings.quick else GRAPHS_SWEEP
    keys: list[dict[str, Any]] = [
        {"sweep": "genus", "N": N, "genus_bound": bound} for N in first["N"] for bound in first["genus_bound"]
    ]
    keys += [
        {"sweep": "graphs", "N": N, "genus_bound": bound}
        for bound in second["genus_bound"]
        for N in second["N"]
    ]
    points = dict.fromkeys((key["N"], key["genus_bound"]) for key in keys)
    keys += [{"sweep": MEASURE, "N": N, "genus_bound": bound} for N, bound in points]
    return [Cell(key, cost=key["N"] ** 2 * (100 + key["genus_bound"] ** 1.5)) for key in keys]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Return the smallest nonzero eigenvalues over sets of random graphs."""
    n_sets = 3 if settings.quick else 20
    spectra: dict[tuple[str, float | str], list[tuple[float, float, float]]] = {}
    for i in range(n_sets):
        graphs = random_graphs(key["N"], key["genus_bound"], [settings.seed, key["N"], key["genus_bound"], i])
        for metric, squared in squared_distances(graphs, key["sweep"]).items():
            for rule in GAMMAS:
                gamma = resolve_gamma(rule, squared)  # type: ignore[arg-type]
                values = np.linalg.eigvalsh(np.exp(-gamma * squared))
                spectra.setdefault((metric, rule), []).append(
                    (gamma, float(values[0]), smallest_nonzero(values))
                )
    rows: Rows = []
    for (metric, rule), triples in spectra.items():
        gamma, lowest, nonzero = np.array(triples).T
        rows.append(
            {
                "metric": metric,
                "gamma": rule,
                "mean_gamma": float(gamma.mean()),
                "smallest_nonzero": float(nonzero.mean()),
                "std": float(nonzero.std()),
                "lowest": float(lowest.min()),
                "n_sets": n_sets,
                "n_indefinite": int((lowest < -TOLERANCE).sum()),
            }
        )
    return rows


def squared_distances(graphs: list[MetricGraph], sweep: str) -> dict[str, Floats]:
    """Return the squared distances of the kernels of a sweep; the vectors of TTM are fitted to the graphs."""
    if sweep == MEASURE:
        return {"ttm": squared_vector_products(MeasureFeatures(n_jobs=-1).fit_transform(graphs), None, -1)}
    matrices = torelli_matrices(graphs)
    return {
        metric: pairwise_distances(matrices, metric=metric, squared=True, n_jobs=-1) for metric in METRICS
    }


def smallest_nonzero(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the smallest eigenvalue that is not within the tolerance of 0."""
    return float(values[np.abs(values) > TOLERANCE].min())


def page(rows: Rows) -> str:
    """Return the page."""
    n_sets = rows[0]["n_sets"]
    counts = markdown_table(
        ["γ", *(metric.upper() for metric in KERNELS), *(f"{metric.upper()}, lowest" for metric in KERNELS)],
        [
            [_name(rule), *(cell(rows, metric, rule) for cell in (_share, _lowest) for metric in KERNELS)]
            for rule in GAMMAS
        ],
    )
    lowest = {metric: min(row["lowest"] for row in rows if row["metric"] == metric) for metric in KERNELS}
    never = ", ".join(metric.upper() for metric, value in lowest.items() if value >= -TOLERANCE)
    indefinite = "; ".join(
        f"{metric.upper()} has eigenvalues down to {value:.1e}"
        for metric, value in lowest.items()
        if value < -TOLERANCE
    )
    large = max(row["genus_bound"] for row in rows if row["sweep"] == "genus")
    at_large = [
        row
        for metric in ("tte", "ttw")
        for row in _part(rows, metric, "median")
        if row["genus_bound"] == large
    ]
    n_positive = sum(row["smallest_nonzero"] > 0 for row in at_large)
    return reflow(f"""
Each point is measured on {n_sets} sets of N random graphs of genus at most g0. A graph is a line of
{N_NODES} nodes with random edges added; its genus is uniform from 1 to g0, and lengths are Unif(0, 1).
An eigenvalue counts as nonzero if its absolute value exceeds {TOLERANCE:g}, as in the paper. The paper
does not state γ, and the outcome for TTW depends on it. So there are four choices: the median rule, for
which the median kernel value is 1/2, and three fixed numbers. A large γ makes every kernel matrix
nearly the identity, and so definite.

## Which kernels are positive definite

Number of kernel matrices with an eigenvalue below -{TOLERANCE:g}, over all points of both sweeps, and the
lowest eigenvalue of all. TTM is the kernel of the canonical measure with its default options. It is
Gaussian between vectors, so it is positive definite by construction. The paper has no such kernel.
A point that lies in both sweeps is measured once for TTM.

{counts}

## Smallest nonzero eigenvalue, by the genus bound

Mean over the sets, with γ by the median rule. Standard deviations are in the CSV file.

{_table(rows, "genus", "N", "genus_bound")}

![Smallest nonzero eigenvalue against the genus bound](by_genus.png)

## Smallest nonzero eigenvalue, by the number of graphs

Mean over the sets, with γ by the median rule.

{_table(rows, "graphs", "genus_bound", "N")}

![Smallest nonzero eigenvalue against the number of graphs](by_graphs.png)

**What agrees.** {_growth(rows, "genus", "N", "genus_bound", 1)}
{_growth(rows, "graphs", "genus_bound", "N", -1)} The paper shows curves without numbers, so only
directions can be compared. For the largest bound, {large}, {n_positive} of {len(at_large)} means of TTE
and TTW are positive. Kernels that were not indefinite for any γ: {never or "none"}.

**What differs.** {indefinite or "No kernel matrix was indefinite"}. Whether TTW has the paper's "small
negative eigenvalues" for a small genus and many graphs depends on γ: the table above shows how often
they occur for each.
""")


def _name(rule: float | str) -> str:
    return "median rule" if rule == "median" else f"{rule:g}"


def _part(rows: Rows, metric: str, rule: float | str) -> Rows:
    return [row for row in rows if row["metric"] == metric and row["gamma"] == rule]


def _share(rows: Rows, metric: str, rule: float | str) -> str:
    part = _part(rows, metric, rule)
    return f"{sum(row['n_indefinite'] for row in part)} of {sum(row['n_sets'] for row in part)}"


def _lowest(rows: Rows, metric: str, rule: float | str) -> str:
    return f"{min(row['lowest'] for row in _part(rows, metric, rule)):.1e}"


def _lines(rows: Rows, sweep: str, fixed: str, metric: str) -> dict[int, Rows]:
    """Return the rows of a sweep with the median rule, by the value that is fixed."""
    lines: dict[int, Rows] = {}
    for row in _part(rows, metric, "median"):
        if row["sweep"] == sweep:
            lines.setdefault(row[fixed], []).append(row)
    return lines


def _table(rows: Rows, sweep: str, fixed: str, varied: str) -> str:
    lines = []
    for metric in METRICS:
        for value, part in _lines(rows, sweep, fixed, metric).items():
            name = f"{metric.upper()}, {_symbol(fixed)} = {value}"
            lines.append([name, *(f"{row['smallest_nonzero']:.1e}" for row in part)])
    header = [str(row[varied]) for row in next(iter(_lines(rows, sweep, fixed, "tte").values()))]
    return markdown_table([_symbol(varied), *header], lines)


def _symbol(name: str) -> str:
    return {"genus_bound": "g0"}.get(name, name)


def _growth(rows: Rows, sweep: str, fixed: str, varied: str, sign: int) -> str:
    """Return for how many curves of TTE and TTW the last and the first value compare as in the paper."""
    curves = [part for metric in ("tte", "ttw") for part in _lines(rows, sweep, fixed, metric).values()]
    n_agree = sum(sign * (part[-1]["smallest_nonzero"] - part[0]["smallest_nonzero"]) > 0 for part in curves)
    low, high = curves[0][0][varied], curves[0][-1][varied]
    word = "larger" if sign > 0 else "smaller"
    return f"""In {n_agree} of {len(curves)} curves of TTE and TTW, the smallest nonzero eigenvalue is {word}
at {_symbol(varied)} = {high} than at {low}, as the paper says."""


def figures(rows: Rows) -> dict[str, Figure]:
    """Return a figure for each sweep: a row for the median rule and one for a fixed gamma."""
    figures = {}
    shown: tuple[float | str, ...] = ("median", 0.01)
    sweeps = {"by_genus": ("genus", "N", "genus_bound"), "by_graphs": ("graphs", "genus_bound", "N")}
    for name, (sweep, fixed, varied) in sweeps.items():
        figure, axes = panels(len(shown), len(METRICS), size=(4.0, 3.0))
        for line, rule in zip(axes, shown, strict=True):
            for ax, metric in zip(line, METRICS, strict=True):
                part = [row for row in _part(rows, metric, rule) if row["sweep"] == sweep]
                for i, value in enumerate(dict.fromkeys(row[fixed] for row in part)):
                    own = [row for row in part if row[fixed] == value]
                    curve(
                        ax,
                        [row[varied] for row in own],
                        [row["smallest_nonzero"] for row in own],
                        i,
                        f"{_symbol(fixed)} = {value}",
                    )
                ax.axhline(0, color="#888888", linewidth=0.8)
                ax.set_yscale("symlog", linthresh=1e-5)
                ax.set(title=f"{metric.upper()}, γ: {_name(rule)}", xlabel=_symbol(varied))
        axes[0][0].legend(fontsize=7)
        axes[0][0].set_ylabel("smallest nonzero eigenvalue")
        figures[name] = figure
    return figures


def outcome(rows: Rows) -> str:
    """Return how many kernel matrices were indefinite."""
    parts = [f"{metric.upper()} {_share(rows, metric, 'median')}" for metric in KERNELS]
    return f"Indefinite kernel matrices, γ by the median rule: {', '.join(parts)}."


EXPERIMENT = Experiment(
    name="definiteness",
    title="Positive definiteness",
    section="D.3",
    shows="The smallest nonzero eigenvalue against the genus bound and the number of graphs, "
    "for several gamma.",
    minutes=8,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    outcome=outcome,
)
