"""Section 5.1 and D.1: how the time of the kernel matrices grows with the number of nodes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torelli.datasets import line_plus_random
from torelli.distances import pairwise_distances
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import best_seconds, exponent
from torelli.experiments._pages import curve, markdown_table, panels, reflow
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Rows

N_GRAPHS = 10
REPEATS = 10
LONG = 1.0
CLOSE = 0.5
METRICS = ("tte", "ttw", "tts")
CLASSES: dict[str, tuple[float, ...]] = {
    "sparse": (5, 10, 20),
    "semi-sparse": (1.0, 1.5, 2.0),
    "dense": (0.1, 0.2, 0.3),
}
GENUS: dict[str, Callable[[int, float], int]] = {
    "sparse": lambda _n, c: int(c),
    "semi-sparse": lambda n, c: int(c * n),
    "dense": lambda n, c: int(n ** (1 + c)),
}
FORMULA = {"sparse": "g = {c:g}", "semi-sparse": "g = {c:g} n", "dense": "g = n^{p:g}"}
# the work of one pair in powers of the genus (section 4.3 of the paper)
WORK = {"tte": 2.0, "ttw": 3.0}


def n_nodes(settings: Settings) -> list[int]:
    """Return the numbers of nodes."""
    return [50, 80, 110, 140] if settings.quick else list(range(50, 141, 10))


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each setting of sparsity and number of nodes."""
    return [
        Cell({"sparsity": name, "c": c, "n": n}, cost=1.0 + (GENUS[name](n, c) / 60) ** 3)
        for name, constants in CLASSES.items()
        for c in (constants[:2] if settings.quick else constants)
        for n in n_nodes(settings)
    ]


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Time the matrices and the distances of ten graphs."""
    genus = GENUS[key["sparsity"]](key["n"], key["c"])
    graphs = [line_plus_random(key["n"], genus, seed=settings.seed + i) for i in range(N_GRAPHS)]
    repeats = 3 if settings.quick else REPEATS
    # compiles the code and fills the processor's cache before anything is timed
    matrices = torelli_matrices(graphs, n_jobs=1)
    row: dict[str, Any] = {"genus": genus}
    row["map_s"] = best_seconds(lambda: torelli_matrices(graphs, n_jobs=1), repeats)
    for metric in METRICS:
        pairwise_distances(matrices[:2], metric=metric, n_jobs=1)
        row[f"{metric}_s"] = best_seconds(
            partial(pairwise_distances, matrices, metric=metric, n_jobs=1), repeats, long=LONG
        )
    return [row]


def label(sparsity: str, c: float) -> str:
    """Return the setting as the paper writes it."""
    return FORMULA[sparsity].format(c=c, p=1 + c)


def by_setting(rows: Rows) -> dict[tuple[str, float], Rows]:
    """Return the rows of each setting of sparsity, in order."""
    settings: dict[tuple[str, float], Rows] = {}
    for row in rows:
        settings.setdefault((row["sparsity"], row["c"]), []).append(row)
    return settings


def total(row: Mapping[str, Any], metric: str) -> float:
    """Return the time of a kernel matrix: matrices of the graphs, then distances."""
    return float(row["map_s"]) + float(row[f"{metric}_s"])


def theory(sparsity: str, c: float, metric: str) -> float:
    """Return the exponent of n in the work of the distances."""
    return WORK[metric] * {"sparse": 0.0, "semi-sparse": 1.0, "dense": 1.0 + c}[sparsity]


def page(rows: Rows) -> str:
    """Return the page."""
    settings = by_setting(rows)
    lines = []
    for (sparsity, c), part in settings.items():
        n = [row["n"] for row in part]
        fits = [exponent(n, [total(row, metric) for row in part]) for metric in METRICS]
        lines.append(
            [
                sparsity,
                label(sparsity, c),
                f"{part[0]['genus']} to {part[-1]['genus']}",
                f"{exponent(n, [row['map_s'] for row in part]):.2f}",
                f"{fits[0]:.2f}",
                f"{theory(sparsity, c, 'tte'):.1f}",
                f"{fits[1]:.2f}",
                f"{theory(sparsity, c, 'ttw'):.1f}",
                f"{fits[2]:.2f}",
                *[_milliseconds(total(part[-1], metric)) for metric in METRICS],
            ]
        )
    n_low, n_high = min(row["n"] for row in rows), max(row["n"] for row in rows)
    header = [
        "class", "setting", f"genus at n = {n_low}, {n_high}", "map", "TTE", "theory", "TTW", "theory", "TTS",
        "TTE, ms", "TTW, ms", "TTS, ms",
    ]  # fmt: skip
    sparse = [total(row, metric) for row in rows if row["sparsity"] == "sparse" for metric in METRICS]
    dense = [row for row in rows if row["sparsity"] == "dense"]
    largest = max(dense, key=lambda row: row["genus"])
    by_genus = genus_exponents(dense)
    off = deviations(rows)
    worst = max(off, key=lambda name: abs(off[name]))
    n_close = sum(abs(value) <= CLOSE for value in off.values())
    return reflow(f"""
Each set has {N_GRAPHS} graphs: lines of n nodes with random edges added up to the required genus, and
lengths Unif(0, 1). A time is the processor time of a whole kernel matrix on one thread: the Torelli
matrices ("map"), then the distances. It is the best of {REPEATS} repeats (3 where one takes over
{LONG:g} s, and in a quick run). The paper shows curves without numbers, so the middle columns compare
exponents of n: those fitted by least squares on logarithms, and those of the theory for the distances
(a pair takes g² for TTE and g³ for TTW). The last three columns are the times at n = {n_high}.

{markdown_table(header, lines)}

![Genus and time against the number of nodes](runtime.png)

**What agrees.** On sparse sets the time hardly depends on n: all {len(sparse)} kernel matrices took
between {_milliseconds(min(sparse))} and {_milliseconds(max(sparse))} ms. Over all dense sets, the time
of the distances grows with the genus with exponent {by_genus["tte"]:.2f} for TTE (theory 2) and
{by_genus["ttw"]:.2f} for TTW (theory 3). TTW grows faster with density, as the paper says. TTS, which
is not in the paper, has exponent {by_genus["tts"]:.2f} (theory 3: one spectrum for each graph).

**What differs.** On semi-sparse and dense sets, {n_close} of the {len(off)} exponents of n of TTE and TTW lie
within {CLOSE:g} of the theory; the largest deviation is {off[worst]:+.2f}, for {worst}. At these sizes the
fixed cost of a call is a part of the time, which lowers an exponent. TTW is computed in different ways for
small and large matrices, which can raise it. The largest set (genus {largest["genus"]}) takes
{_milliseconds(total(largest, "tte"))} ms for TTE, {_milliseconds(total(largest, "ttw"))} ms for TTW and
{_milliseconds(total(largest, "tts"))} ms for TTS.
""")


def genus_exponents(rows: Rows) -> dict[str, float]:
    """Return the exponent of the genus in the time of the distances."""
    genus = [row["genus"] for row in rows]
    return {metric: exponent(genus, [row[f"{metric}_s"] for row in rows]) for metric in METRICS}


def deviations(rows: Rows) -> dict[str, float]:
    """Return fitted minus theoretical exponent of n, for TTE and TTW where the genus grows."""
    return {
        f"{metric.upper()} with {label(sparsity, c)}": exponent(
            [row["n"] for row in part], [total(row, metric) for row in part]
        )
        - theory(sparsity, c, metric)
        for (sparsity, c), part in by_setting(rows).items()
        if sparsity != "sparse"
        for metric in WORK
    }


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Return the figure of D.1, with a panel for each kernel."""
    figure, axes = panels(2, 2, size=(4.6, 3.6))
    axes = axes.ravel()
    for i, ((sparsity, c), part) in enumerate(by_setting(rows).items()):
        n = [row["n"] for row in part]
        style = {"sparse": "-", "semi-sparse": "--", "dense": ":"}[sparsity]
        name = label(sparsity, c)
        curve(axes[0], n, [row["genus"] for row in part], i, name, linestyle=style)
        for ax, metric in zip(axes[1:], METRICS, strict=True):
            times = [1e3 * total(row, metric) for row in part]
            curve(ax, n, times, i, name, linestyle=style)
    for ax, title in zip(axes, ("genus", *(f"{metric.upper()}, ms" for metric in METRICS)), strict=True):
        ax.set(title=title, xlabel="nodes n", xscale="log", yscale="log")
        ticks = sorted({row["n"] for row in rows})[::3]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    return {"runtime": figure}


def outcome(rows: Rows) -> str:
    """Return the exponents of the genus."""
    dense = [row for row in rows if row["sparsity"] == "dense"]
    fits = genus_exponents(dense)
    return f"""On dense sets the time of distances grows as g^{fits["tte"]:.1f} (TTE, theory 2) and
    g^{fits["ttw"]:.1f} (TTW, theory 3). On sparse sets it hardly depends on n."""


EXPERIMENT = Experiment(
    name="runtime",
    title="Time of the kernel matrices",
    section="5.1 and D.1",
    shows="How genus and time grow with the number of nodes, for nine settings of sparsity.",
    minutes=15,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    outcome=outcome,
)
