"""The page and the figures of the street experiment, all from its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import confusion_matrix

from torelli.datasets.paper import paper_table
from torelli.datasets.streets import PATTERNS
from torelli.datasets.urn import URN_NAMES
from torelli.experiments._pages import markdown_table
from torelli.experiments._urn_data import BASELINES, LINES, OTHER_SETS, OURS
from torelli.experiments.methods import SETTINGS, TUNED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from torelli.experiments._experiment import Row, Rows

_RIVALS = (*BASELINES, *LINES)
_COMBINED = ("combined", "combined + statistics")
_MEASURE = next(iter(SETTINGS))
_OWN = [name for name, method in OURS.items() if "street" not in method.features]
"""Our kernels without coordinates or plain statistics."""
_CONFUSED = "combined + statistics"
_SWAPS = 100_000
_DARK = 60  # percent from which black text is hard to read

_INTRODUCTION = """\
The graphs are windows of street networks around random landmarks of cities. The class of a window is
the street pattern of its city. Three cities are the paper's own, at its coordinates (Ufa, Nanchang,
Shenyang). Each of the others replaces a city of the paper that has the same pattern, and was chosen
before anything was computed. The paper used all ways in OpenStreetMap today. These data have the
drivable roads and service roads of 2020, and so fewer nodes and cycles. Where lengths tie, as rounded
lengths do, the metric space breaks the ties, not the order of edges in the file
([what this changed](../../invariance.md#what-it-changed-in-our-results)).
"""
_METHODS = """\
- **TTE, TTW, TTS**: our kernels on cycles; **bridges**: with `bridges="double"`.
- **TTM**: our kernel of the canonical measure with its default options; **diffusion**, **returns**
  and **currents**: with `along="diffusion"` and so on. The scale of the vectors is learned
  from the training graphs of each fold. **tuned**: with `n_features=512`, the inner folds pick
  the default options, `size=0`, `frequency=1.5` or `depth=4`, together with C and gamma. These four
  told windows of 14 other cities apart best (`python -m benchmarks.choose_measure cities`).
- **combined**: the product, with equal weights, of TTS with bridges and a kernel on
  `MetricStatistics` (counts of points and cycles, deciles of the lengths of segments, cycles and
  bridges). It is invariant under subdivision and does not use coordinates. **combined +
  statistics**: the same product with the kernel on plain statistics as a third factor. Both were
  chosen on windows of other cities (Flint, La Plata, Miami; Damascus, Al Qadarif, Bamako; Harbin,
  Xining, Anshan; Luton, Argenteuil), not on the sets below. On those windows, TTW as a further
  factor made the product worse.
- **statistics**: an RBF kernel on node and edge density, mean and spread of length, share of dead
  ends, mean degree and circuity. **genus**: an RBF kernel on the genus alone.
- **OS, SP, WL**: GraKeL's ODD-STh, shortest-path and Weisfeiler-Lehman kernels on the graphs
  without lengths, normalised. **space**: the same without points of degree 2, which tell how a
  street was drawn and not where it leads.
- *Random folds*: 10 shuffled stratified folds. Windows of one city overlap, and some windows occur
  twice, so information leaks into the test folds. *Blocked folds*: 10 folds that never divide a
  spatial block of a city (about 500 m or 1 km).
- C (1, 10, 100) and gamma (1/4, 1 and 4 times the median rule) are chosen by 3 folds inside the
  training folds, which are blocked if the outer folds are. GraKeL's kernels have no gamma.
"""
_DIFFERENCES = f"""\
*{TUNED}* and the best other kernel with blocked folds. Windows of one block show the same streets, so
what counts is the number of blocks, not of windows. p is the share of {_SWAPS:,} random exchanges of the
two kernels in whole blocks that make them differ in at least as many windows (seed 0).
"""
_TRANSFER = """\
`torelli urn train --patterns` fits *combined* to the windows of `street_patterns`. Windows around
random junctions of real cities (7 gridiron, 8 linear, 14 chaotic, 15 tributary) are then predicted.
Guessing gives 25 %. Most cities have no published pattern, so theirs is our own judgement. The
generators were calibrated on averages over these cities, not on their windows.
"""


def page(rows: Rows) -> str:
    """Return the Markdown of the page."""
    parts = [
        _INTRODUCTION,
        "## What is compared\n",
        _METHODS,
        "## Accuracy, random folds\n",
        _accuracy_table(rows, "random"),
        "",
        "## Accuracy, blocked folds\n",
        _accuracy_table(rows, "blocked"),
        "",
        "## Wins over the other kernels\n",
        _verdict(rows),
        "",
        "![Accuracy on each set](accuracy.png)\n",
        "## How sure the differences are\n",
        _DIFFERENCES,
        _difference_table(rows),
        "",
        "## The paper's protocol and figures\n",
        "Random folds, C = 1, and gamma by the median rule, as in the paper. The paper's figures are below",
        "ours. `T` and `M` mean out of time or memory; in the paper's rows, `M` means out of 128 GB.\n",
        _paper_accuracy(rows),
        "",
        "## Seconds for the kernel matrix\n",
        _seconds_table(rows),
        "",
        _total_time(rows),
        "",
        "## The sets\n",
        _set_table(rows),
        "",
        "## Trained on synthetic patterns, tested on real cities\n",
        _TRANSFER,
        _transfer_table(rows),
        "",
        "## Kernel PCA and confusion matrices\n",
        "![Kernel PCA of two sets](kernel_pca.png)\n",
        f"Confusion matrices of *{_CONFUSED}* in percent; a row is a true class.\n",
        "![Confusion matrices, blocked folds](confusion.png)",
    ]
    return "\n".join(parts)


def outcome(rows: Rows) -> str:
    """Return on how many of the paper's sets our kernels beat the others."""
    sets = _paper_sets(rows)
    by_folds = {folds: _scores(rows, "chosen", folds) for folds in ("random", "blocked")}

    def wins(method: str) -> str:
        counts = {
            folds: sum(_ahead(scores, name, method, _RIVALS) for name in sets)
            for folds, scores in by_folds.items()
        }
        return " and ".join(f"{n} of {len(sets)} sets with {folds} folds" for folds, n in counts.items())

    measured = [
        method
        for method in (_MEASURE, TUNED)
        if any((name, method) in scores for scores in by_folds.values() for name in sets)
    ]
    alone = sum(_ahead(by_folds["random"], name, "TTW", ["statistics"]) for name in sets)
    combined = (
        "Our combined kernel with plain statistics beats OS, SP, WL, the genus and the statistics alone"
    )
    sentences = [
        f"{combined} on {wins(_COMBINED[-1])}.",
        *(f"{method} alone beats all of these on {wins(method)}." for method in measured),
        f"TTW alone beats the statistics on {alone}.",
    ]
    return " ".join(sentences)


def _scores(rows: Rows, protocol: str, folds: str) -> dict[tuple[str, str], Row]:
    return {
        (row["set"], row["method"]): row
        for row in rows
        if (row["kind"] == "score" and (row["protocol"], row["folds"]) == (protocol, folds))
        or row["kind"] == "failed"
    }


def _sets(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in rows if row["kind"] in {"set", "score"}))


def _cell(row: Row | None, *, best: bool = False) -> str:
    if row is None:
        return ""
    if row["kind"] == "failed":
        return str(row["status"])
    text = f"{row['accuracy']:.1f}"
    return f"**{text}**" if best else text


def _best(scores: dict[tuple[str, str], Row], name: str) -> float:
    return max(
        (round(row["accuracy"], 1) for (a, _), row in scores.items() if a == name and row["kind"] == "score"),
        default=np.nan,
    )


def _accuracy_table(rows: Rows, folds: str) -> str:
    scores = _scores(rows, "chosen", folds)
    methods = [*_RIVALS, *OURS]
    lines = []
    for name in _sets(rows):
        if not any(a == name and row["kind"] == "score" for (a, _), row in scores.items()):
            continue
        best = _best(scores, name)
        cells = [scores.get((name, method)) for method in methods]
        lines.append(
            [
                name,
                *(
                    _cell(
                        row,
                        best=row is not None and row["kind"] == "score" and round(row["accuracy"], 1) == best,
                    )
                    for row in cells
                ),
            ]
        )
    note = (
        ""
        if folds == "blocked"
        else "\n\n`city120` and `cells` have no blocked folds, because their networks do not overlap."
    )
    return markdown_table(["set", *methods], lines) + note


def _verdict(rows: Rows) -> str:
    lines = []
    sets = _paper_sets(rows)
    for folds in ("random", "blocked"):
        scores = _scores(rows, "chosen", folds)
        for method in OURS:
            if not any((name, method) in scores for name in sets):
                continue
            wins = {rival: sum(_ahead(scores, name, method, [rival]) for name in sets) for rival in _RIVALS}
            every = sum(_ahead(scores, name, method, _RIVALS) for name in sets)
            lines.append([f"{method}, {folds} folds", *wins.values(), f"{every} of {len(sets)}"])
    table = markdown_table(["number of the paper's sets with a win over", *_RIVALS, "all of them"], lines)
    parts = [table, _goal(rows)]
    failed = [row for row in rows if row["kind"] == "failed"]
    if failed:
        seconds, gigabytes = (
            sorted({row[f"cap_{limit}"] for row in failed}) for limit in ("seconds", "gigabytes")
        )
        caps = (
            f"{' or '.join(f'{cap:g}' for cap in seconds)} s, "
            f"{' or '.join(f'{cap:g}' for cap in gigabytes)} GB"
        )
        note = (
            f"A baseline that ran out of time or memory ({len(failed)} cells; caps {caps}) counts as beaten"
        )
        parts.append(f"{note}; a tie does not.")
    return "\n\n".join(parts)


def _goal(rows: Rows) -> str:
    """Return the table of our kernels and how close each comes to beating all others on all sets."""
    sets = _paper_sets(rows)
    lines = []
    for method in _OWN:
        random, blocked = (_scores(rows, "chosen", folds) for folds in ("random", "blocked"))
        if not any((name, method) in random for name in sets):
            continue
        wins = [sum(_ahead(scores, name, method, _RIVALS) for name in sets) for scores in (random, blocked)]
        others = [name for name in _sets(rows) if name in OTHER_SETS]
        beaten = [_ahead(random, name, method, ["statistics"]) for name in others]
        texts = [
            f"{_cell(random.get((name, method)))} against {_cell(random.get((name, 'statistics')))}"
            for name in others
        ]
        met = all(n == len(sets) for n in wins) and all(beaten)
        counts = [f"{n} of {len(sets)}" for n in wins]
        lines.append([method, *counts, ", ".join(texts), "met" if met else "not met"])
    return "\n".join(
        [
            "The goal is that one of our kernels, without coordinates or plain statistics, beats all others",
            "on every set of the paper with both kinds of folds, and beats the statistics on `city120` and",
            "`cells`.",
            "",
            markdown_table(
                ["kernel", "wins, random folds", "wins, blocked folds", "city120 and cells", "goal"], lines
            ),
        ]
    )


def _difference_table(rows: Rows) -> str:
    """Return by how many windows and blocks TTM and the best other kernel differ, with a p-value."""
    scores = _scores(rows, "chosen", "blocked")
    lines = []
    for name in _paper_sets(rows):
        blocks = {method: _blocks(rows, name, method) for method in (TUNED, *_RIVALS)}
        rivals = [rival for rival in _RIVALS if blocks[rival] and (name, rival) in scores]
        if not blocks[TUNED] or not rivals:
            continue
        best = rivals[int(np.argmax([scores[name, rival]["accuracy"] for rival in rivals]))]
        more = np.array([right - blocks[best][block] for block, right in blocks[TUNED].items()])
        counts = [int((more > 0).sum()), int((more < 0).sum())]
        accuracies = [_cell(scores[name, method]) for method in (TUNED, best)]
        lines.append(
            [name, best, *accuracies, f"{more.sum():+d}", *counts, len(more), f"{_chance(more):.3f}"]
        )
    header = [
        "set",
        "best other kernel",
        TUNED,
        "the other",
        "windows",
        "blocks ahead",
        "blocks behind",
        "of",
    ]
    return markdown_table([*header, "p"], lines)


def _blocks(rows: Rows, name: str, method: str) -> dict[int, int]:
    """Return the number of windows of each block that a kernel gets right."""
    return {
        row["block"]: row["right"]
        for row in rows
        if row["kind"] == "block" and (row["set"], row["method"]) == (name, method)
    }


def _chance(more: NDArray[np.int64]) -> float:
    """Return the two-sided p-value of a sum when the sign of each term is random."""
    signs = np.random.default_rng(0).choice([-1, 1], (_SWAPS, len(more)))
    return float((1 + (np.abs(signs @ more) >= abs(more.sum())).sum()) / (1 + _SWAPS))


def _paper_sets(rows: Rows) -> list[str]:
    return [name for name in _sets(rows) if name in URN_NAMES]


def _ahead(scores: dict[tuple[str, str], Row], name: str, method: str, rivals: Sequence[str]) -> bool:
    ours = scores.get((name, method))
    others = [scores.get((name, rival)) for rival in rivals]
    return ours is not None and all(
        row is None or row["kind"] == "failed" or ours["accuracy"] > row["accuracy"] for row in others
    )


def _paper_accuracy(rows: Rows) -> str:
    scores = _scores(rows, "paper", "random")
    printed = {row["dataset"]: row for row in paper_table("urn_results")}
    methods = ("OS", "SP", "TTE", "TTW", "TTS")
    lines = []
    for name in _sets(rows):
        if name in printed:
            lines.append([name, *(_with_std(scores.get((name, method))) for method in methods)])
            theirs = printed[name]
            lines.append(["*paper*", *(_printed(theirs, method) for method in methods)])
    return markdown_table(["set", *methods], lines)


def _with_std(row: Row | None) -> str:
    if row is None or row["kind"] == "failed":
        return _cell(row)
    return f"{row['accuracy']:.1f} ± {row['std']:.1f}"


def _printed(theirs: dict[str, str], method: str) -> str:
    value = theirs.get(method, "")
    return (
        f"*{value} ± {theirs[f'{method}_std']}*" if value not in {"", "M"} else f"*{value}*" if value else ""
    )


def _seconds_table(rows: Rows) -> str:
    scores = _scores(rows, "paper", "random")
    printed = {row["dataset"]: row for row in paper_table("urn_results")}
    methods = [*BASELINES, *OURS]
    theirs = ("OS", "SP", "TTE", "TTW")
    lines = []
    for name in _sets(rows):
        cells = [scores.get((name, method)) for method in methods]
        ours = [
            _cell(row) if row is None or row["kind"] == "failed" else f"{row['seconds']:.1f}" for row in cells
        ]
        paper = [f"*{printed[name][f'{method}_seconds']}*" if name in printed else "" for method in theirs]
        lines.append([name, *ours, *paper])
    return markdown_table(["set", *methods, *(f"{method} (paper)" for method in theirs)], lines)


def _total_time(rows: Rows) -> str:
    chosen = [
        row for row in rows if row["kind"] == "score" and row["method"] in OURS and row["set"] in URN_NAMES
    ]
    kernels = sum(row["seconds"] for row in chosen if row["protocol"] == "paper")
    classify = sum(row["classify_seconds"] for row in chosen)
    return (
        f"All our kernels on the paper's sets took {kernels / 60:.1f} minutes, each from the graphs on. "
        f"All cross-validations took {classify / 60:.1f} minutes, including choices in the training folds."
    )


def _set_table(rows: Rows) -> str:
    printed = {row["dataset"]: row for row in paper_table("urn_results")}
    lines = []
    for row in rows:
        if row["kind"] == "set":
            theirs = printed.get(row["set"])
            paper = [f"*{theirs[key]} ± {theirs[f'{key}_std']}*" if theirs else "" for key in ("n", "g")]
            ours = [f"{row[key]:.1f} ± {row[f'{key}_std']:.1f}" for key in ("nodes", "genus")]
            head = [row["set"], row["graphs"], row["classes"], f"{row['majority']:.1f}", row["repeated"]]
            lines.append([*head, *ours, *paper])
    header = ["set", "graphs", "classes", "largest class (%)", "repeated windows", "nodes", "genus"]
    return markdown_table([*header, "nodes (paper)", "genus (paper)"], lines)


def _transfer_table(rows: Rows) -> str:
    lines = []
    for key in dict.fromkeys((row["set"], row["method"]) for row in rows if row["kind"] == "synthetic"):
        chosen = [row for row in rows if (row["set"], row["method"]) == key]
        synthetic = next(row["accuracy"] for row in chosen if row["kind"] == "synthetic")
        moved = [row for row in chosen if row["kind"] == "transfer"]
        right = [_share(moved, pattern) for pattern in PATTERNS]
        mean = sum(right) / len(right)
        lines.append([f"{key[0]}, {key[1]}", f"{synthetic:.1f}", f"{mean:.1f}", *(f"{x:.0f}" for x in right)])
    header = ["windows, model", "synthetic folds (%)", "real, mean of patterns (%)", *PATTERNS]
    return markdown_table(header, lines)


def _share(rows: Rows, pattern: str) -> float:
    """Return the percentage of windows in cities of a pattern that were predicted to have it."""
    of_it = [row for row in rows if row["true"] == pattern]
    right = sum(int(row["count"]) for row in of_it if row["predicted"] == pattern)
    return 100 * right / max(sum(int(row["count"]) for row in of_it), 1)


def figures(rows: Rows) -> dict[str, Figure]:
    """Return the chart of accuracies, the kernel PCA and the confusion matrices."""
    import matplotlib.pyplot as plt

    chart, axes = plt.subplots(2, 1, figsize=(11, 7), layout="constrained", sharex=True, sharey=True)
    for ax, folds in zip(axes, ("random", "blocked"), strict=True):
        _draw_accuracies(ax, rows, folds)
    axes[0].legend(ncols=5, fontsize=8, loc="lower right")

    drawn = list(dict.fromkeys((row["set"], row["method"]) for row in rows if row["kind"] == "pca"))
    places, axes = plt.subplots(
        1, max(len(drawn), 1), figsize=(4 * max(len(drawn), 1), 3.8), layout="constrained"
    )
    for ax, (name, method) in zip(np.atleast_1d(axes), drawn, strict=False):
        chosen = [
            row for row in rows if row["kind"] == "pca" and (row["set"], row["method"]) == (name, method)
        ]
        for label in sorted({row["true"] for row in chosen}):
            points = [(row["x"], row["y"]) for row in chosen if row["true"] == label]
            ax.scatter(*zip(*points, strict=True), s=8, label=label, alpha=0.7)
        ax.set(title=f"{name}: {method}", xticks=[], yticks=[])
        ax.legend(fontsize=8)

    confused, axes = plt.subplots(2, 4, figsize=(13, 6.6), layout="constrained")
    for ax, name in zip(axes.flat, URN_NAMES, strict=True):
        _draw_confusion(ax, rows, name)
    return {"accuracy": chart, "kernel_pca": places, "confusion": confused}


def _draw_accuracies(ax: Axes, rows: Rows, folds: str) -> None:
    from matplotlib import colormaps

    scores = _scores(rows, "chosen", folds)
    sets = _paper_sets(rows)
    known = ("genus", "WL", "SP", "OS", "statistics", "TTE", "TTW", "TTS", *SETTINGS, TUNED, *_COMBINED)
    methods = [method for method in known if any((name, method) in scores for name in sets)]
    width = 0.85 / max(len(methods), 1)
    for i, method in enumerate(methods):
        heights = [
            row["accuracy"] if (row := scores.get((name, method))) and row["kind"] == "score" else 0.0
            for name in sets
        ]
        places = np.arange(len(sets)) + (i - (len(methods) - 1) / 2) * width
        ax.bar(places, heights, 0.95 * width, label=method, color=colormaps["tab20"](known.index(method)))
    ax.set_xticks(np.arange(len(sets)), sets)
    ax.set(ylabel="accuracy (%)", title=f"{folds} folds", ylim=(0, 100))


def _draw_confusion(ax: Axes, rows: Rows, name: str) -> None:
    chosen = [
        row
        for row in rows
        if row["kind"] == "confusion"
        and (row["set"], row["method"], row["folds"]) == (name, _CONFUSED, "blocked")
    ]
    if not chosen:
        ax.axis("off")
        return
    labels = sorted({row["true"] for row in chosen})
    true, predicted, weights = zip(
        *((row["true"], row["predicted"], row["count"]) for row in chosen), strict=True
    )
    counts = confusion_matrix(true, predicted, labels=labels, sample_weight=weights)
    shares = 100 * counts / counts.sum(axis=1, keepdims=True)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=100)
    for (i, j), share in np.ndenumerate(shares):
        ax.text(j, i, f"{share:.0f}", ha="center", va="center", color="white" if share > _DARK else "black")
    ax.set_xticks(range(len(labels)), labels, rotation=30)
    ax.set_yticks(range(len(labels)), labels)
    ax.set_title(name)
