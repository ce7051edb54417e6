"""The table of appendix G: measured and theoretical growth of the time of every kernel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from torelli.datasets import line_plus_random
from torelli.distances import pairwise_distances
from torelli.experiments import rivals
from torelli.experiments._experiment import Cell, Experiment, Settings
from torelli.experiments._measurement import again_with_more, best_seconds, call, exponent
from torelli.experiments._pages import curve, markdown_table, panels, reflow
from torelli.matrix import torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Rows
    from torelli.graph import MetricGraph

METRICS = ("TTE", "TTW", "TTS")
MAP = "Torelli map"
SWEEPS: dict[tuple[str, str], tuple[int, ...]] = {
    (MAP, "n"): tuple(2**k for k in range(12, 19)),
    (MAP, "g"): tuple(2**k for k in range(6, 12)),
    (MAP, "N"): tuple(100 * 2**k for k in range(6)),
    ("TTE", "g"): tuple(2**k for k in range(6, 11)),
    ("TTW", "g"): tuple(2**k for k in range(6, 10)),
    ("TTS", "g"): tuple(2**k for k in range(6, 10)),
    ("TTE", "N"): tuple(200 * 2**k for k in range(6)),
    ("TTW", "N"): tuple(50 * 2**k for k in range(5)),
    ("TTS", "N"): tuple(200 * 2**k for k in range(6)),
    **{(name, "n"): tuple(2**k for k in range(4, 10)) for name in rivals.BASELINES},
    **{(name, "N"): tuple(10 * 2**k for k in range(6)) for name in rivals.BASELINES},
}
"""The size that is varied for each kernel, and its values."""
FIXED = {
    MAP: {"n": 2000, "g": 20, "N": 4},
    "TTE": {"n": 500, "g": 20, "N": 20},
    "TTW": {"n": 500, "g": 20, "N": 6},
    "TTS": {"n": 500, "g": 20, "N": 20},
}
"""The sizes that are not varied."""
THEORY: dict[tuple[str, str, str], str] = {
    (MAP, "fit", "n"): "1",
    (MAP, "fit", "g"): "2",
    (MAP, "fit", "N"): "1",
    ("TTE", "transform", "g"): "2",
    ("TTW", "transform", "g"): "3",
    ("TTS", "transform", "g"): "3",
    **{(metric, "transform", "N"): "2" for metric in METRICS},
    ("EH", "fit", "n"): "1",
    ("EH", "transform", "n"): "1",
    ("GS", "fit", "n"): "0",
    ("GS", "transform", "n"): "0",
    ("OS", "fit", "n"): "1",
    ("OS", "transform", "n"): "number of tree types",
    ("SP", "fit", "n"): "2",
    ("SP", "transform", "n"): "2 to 4",
    ("WL", "fit", "n"): "1",
    ("WL", "transform", "n"): "number of labels",
    ("kCD", "fit", "n"): "1",
    ("kCD", "transform", "n"): "largest core",
    **{(name, "fit", "N"): "1" for name in rivals.BASELINES},
    **{(name, "transform", "N"): "2" for name in rivals.BASELINES},
}
"""Exponents of the paper's table; TTS, and n for the map without its factor g², are ours."""
CLOSE = 0.5
_SMALL = 20
_ENOUGH = 3
"""Least number of sizes from which an exponent is fitted."""


def cells(settings: Settings) -> list[Cell]:
    """Return a cell for each kernel and what is varied."""
    cells = []
    for (kernel, against), sizes in SWEEPS.items():
        if settings.quick and kernel in rivals.BASELINES and kernel not in {"SP", "WL"}:
            continue
        cost = 30.0 if kernel in rivals.BASELINES else 8.0 * len(sizes)
        cells.append(Cell({"kernel": kernel, "against": against}, cost=cost))
    return cells


def measure(key: Mapping[str, Any], settings: Settings) -> Rows:
    """Time a kernel over a sweep; a baseline in its own process."""
    kernel, against = key["kernel"], key["against"]
    sizes = SWEEPS[kernel, against]
    if settings.quick:
        sizes = sizes[: 3 if kernel in rivals.BASELINES else 4]
    repeats = 2 if settings.quick else 5
    if kernel not in rivals.BASELINES:
        step = "fit" if kernel == MAP else "transform"
        return [
            {"step": step, "size": size, "seconds": time_ours(kernel, against, size, repeats, settings.seed)}
            | {"status": "ok"}
            for size in sizes
        ]
    arguments = {"name": kernel, "against": against, "sizes": sizes, "seed": settings.seed}
    caps = {"seconds": settings.seconds, "gigabytes": settings.gigabytes}
    outcome = call(
        f"{__name__}:time_baseline",
        {**arguments, "enough": settings.seconds / 10},
        seconds=settings.seconds,
        gigabytes=settings.gigabytes,
        threads=1,
    )
    if outcome.status != "ok":
        return [{"step": "fit", "size": sizes[0], "status": outcome.status, **caps}]
    return [
        {"step": step, "size": size, "seconds": seconds, "status": "ok"}
        for size, *times in outcome.value
        for step, seconds in zip(("fit", "transform"), times, strict=True)
    ]


def sample(n_graphs: int, n_nodes: int, genus: int, seed: int) -> list[MetricGraph]:
    """Return lines of nodes with random edges added."""
    return [line_plus_random(n_nodes, genus, seed=seed + i) for i in range(n_graphs)]


def time_ours(kernel: str, against: str, size: int, repeats: int, seed: int) -> float:
    """Return the best time of the map, or of the distances alone, on one thread."""
    sizes = {**FIXED[kernel], against: size}
    if against == "N":
        sizes["n"] = 100
    graphs = sample(sizes["N"], sizes["n"], sizes["g"], seed)
    matrices = torelli_matrices(graphs, n_jobs=1)
    if kernel == MAP:
        return best_seconds(partial(torelli_matrices, graphs, n_jobs=1), repeats, long=1.0)
    pairwise_distances(matrices[:2], metric=kernel.lower(), n_jobs=1)
    distances = partial(pairwise_distances, matrices, metric=kernel.lower(), n_jobs=1)
    return best_seconds(distances, repeats, long=1.0)


def time_baseline(
    name: str, against: str, sizes: list[int], seed: int, enough: float
) -> list[tuple[int, float, float]]:
    """Return sizes with the best times of fit and of transform of a kernel of GraKeL.

    The sweep ends after the first size that takes more than `enough` seconds, since the next would
    take several times as long.
    """
    timed = []
    for size in sizes:
        n_graphs, n_nodes = (10, size) if against == "n" else (size, _SMALL)
        graphs = [
            graph.replace(length=[1.0] * graph.n_edges)
            for graph in sample(n_graphs, n_nodes, n_nodes // 2, seed)
        ]
        times = [rivals.grakel_kernel_matrix(graphs, name, seed=seed)[1:] for _ in range(2)]
        timed.append((size, min(fit for fit, _ in times), min(transform for _, transform in times)))
        if sum(map(sum, times)) > enough:
            break
    return timed


def sweeps(rows: Rows) -> dict[tuple[str, str, str], Rows]:
    """Return the finished rows of each kernel, step and varied size, of which the clock saw anything."""
    by_sweep: dict[tuple[str, str, str], Rows] = {}
    for row in rows:
        if row["status"] == "ok" and row["seconds"] > 0:
            by_sweep.setdefault((row["kernel"], row["step"], row["against"]), []).append(row)
    return by_sweep


def growth(part: Rows) -> float:
    """Return the exponent over the upper half of the sizes, where fixed costs count least."""
    upper = part[-max(3, (len(part) + 1) // 2) :]
    return exponent([row["size"] for row in upper], [row["seconds"] for row in upper])


def our_deviations(rows: Rows) -> dict[tuple[str, str, str], float]:
    """Return measured minus theoretical exponent of our kernels."""
    return {
        key: growth(part) - float(THEORY[key])
        for key, part in sweeps(rows).items()
        if key[0] not in rivals.BASELINES and len(part) >= _ENOUGH
    }


def page(rows: Rows) -> str:
    """Return the page."""
    measured = sweeps(rows)
    lines = [
        [
            kernel,
            step,
            against,
            f"{part[0]['size']} to {part[-1]['size']}",
            f"{growth(part):.2f}" if len(part) >= _ENOUGH else "too few sizes",
            THEORY[kernel, step, against],
            *(_seconds(row["seconds"]) for row in (part[0], part[-1])),
        ]
        for (kernel, step, against), part in measured.items()
    ]
    header = ["kernel", "step", "against", "from, to", "exponent", "theory", "first, s", "last, s"]
    off = our_deviations(rows)
    theirs = {
        key: growth(part) - float(THEORY[key])
        for key, part in measured.items()
        if key[0] in rivals.BASELINES and THEORY[key].isdigit() and len(part) >= _ENOUGH
    }
    stopped = [
        f"{row['kernel']} against {row['against']} ({row['status']})" for row in rows if row["status"] != "ok"
    ]
    text = f"""
Each kernel is timed while one size grows and the others are fixed: the number of nodes n, the genus g,
or the number of graphs N. Times are processor times, the best of several repeats. The exponent is
fitted by least squares on logarithms over the upper half of the sizes, where fixed costs matter least.
"Torelli map" is what the paper calls `.fit` of TTE and TTW. `.transform` of our three kernels is the
distances alone, on one thread. The paper's map takes O(g² n), with exponents 1 for n and 2 for g; ours
takes O(n + m log m + g²). TTS, which is not in the paper, needs one spectrum per graph, O(g³), and then
O(N² g). GraKeL's kernels have default options and unweighted graphs of genus n/2 (10 graphs for n,
{_SMALL} nodes for N). They run in their own process with a limit on time and memory, and a sweep ends
at the first size that takes a tenth of the time limit.

{markdown_table(header, lines)}

![Time against size](complexity.png)

**Our kernels.** {_agreement(measured, off)} Fixed costs lower an exponent. The exponent of TTW can be above
the theory, because small and large matrices are computed in different ways.

**Classical kernels.** Where the paper's table gives a power, {_agreement(measured, theirs)} GraKeL's
`transform` computes the features of its argument again, so a part of its time grows as N and not as N².
"""
    if stopped:
        text += f"\nNot timed (T out of time, M out of memory, E failed): {', '.join(stopped)}.\n"
    return reflow(text)


def _agreement(
    measured: Mapping[tuple[str, str, str], Rows], off: Mapping[tuple[str, str, str], float]
) -> str:
    """Return how many exponents are close to the theory, and which are not."""
    far = [
        f"{', '.join(key[:2])} against {key[2]} ({growth(measured[key]):.2f} instead of {THEORY[key]})"
        for key, value in off.items()
        if abs(value) > CLOSE
    ]
    text = f"{len(off) - len(far)} of {len(off)} exponents are within {CLOSE:g} of the theory."
    return f"{text} The others: {'; '.join(far)}." if far else text


def _seconds(value: float) -> str:
    return f"{value:.2g}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Return our kernels above and the classical ones below, a panel for each size that is varied."""
    figure, axes = panels(2, 3, size=(4.6, 3.8))
    measured = {key: part for key, part in sweeps(rows).items() if len(part) > 1}
    for ax, against in zip(axes[0], ("n", "g", "N"), strict=True):
        ours = {key: part for key, part in measured.items() if key[2] == against}
        _draw(ax, {key[0]: part for key, part in ours.items() if key[0] not in rivals.BASELINES})
        ax.set(title=f"ours against {against}", xlabel=against)
    below = (("fit", "n"), ("transform", "n"), ("transform", "N"))
    for ax, (step, against) in zip(axes[1], below, strict=True):
        theirs = {name: measured.get((name, step, against)) for name in rivals.BASELINES}
        _draw(ax, {name: part for name, part in theirs.items() if part})
        ax.set(title=f"classical, {step} against {against}", xlabel=against)
    return {"complexity": figure}


def _draw(ax: Axes, parts: Mapping[str, Rows]) -> None:
    for i, (name, part) in enumerate(parts.items()):
        sizes, seconds = [row["size"] for row in part], [row["seconds"] for row in part]
        label = f"{name}: {growth(part):.2f}" if len(part) >= _ENOUGH else name
        curve(ax, sizes, seconds, i, label)
    ax.set(xscale="log", yscale="log", ylabel="seconds")
    if parts:
        ticks = sorted({row["size"] for part in parts.values() for row in part})
        ticks = ticks[:: 1 + len(ticks) // 5]
        ax.set_xticks(ticks, map(str, ticks))
        ax.minorticks_off()
        ax.legend(fontsize=7, title="exponent", title_fontsize=7)


def outcome(rows: Rows) -> str:
    """Return how many of our exponents are close to the theory."""
    off = our_deviations(rows)
    n_close = sum(abs(value) <= CLOSE for value in off.values())
    return f"{n_close} of {len(off)} exponents of our kernels are within {CLOSE:g} of the theory."


EXPERIMENT = Experiment(
    name="complexity",
    title="How computing time grows",
    section="G",
    shows="How the time of each kernel grows with nodes, genus and number of graphs, "
    "compared with the theory.",
    minutes=15,
    cells=cells,
    measure=measure,
    page=page,
    figures=figures,
    outcome=outcome,
    again=again_with_more,
)
