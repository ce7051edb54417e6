"""The report of a classification: accuracies, kernels and graphs on one page.

To add a section, write a function that takes a `ClassificationReport` and returns `Html`, and add it to
`SECTIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._drawing import NOT_DRAWN, PALETTE, class_colour, pair_arrays, thumbnail_arrays, thumbnails
from torelli._errors import shortened
from torelli._numerics.threads import ProgressLine
from torelli.classification import GENUS, MAJORITY
from torelli.explanation import explain_pairs, shades
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import definiteness, principal_components
from torelli.webpage import Html, asset, element, pack, page, section, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from torelli._drawing import Thumbnail
    from torelli._types import Floats, Ints
    from torelli.classification import Classification, Score


_HEAT_MAP_SIDE = 300
_MAX_SEGMENTS, _MAX_TOTAL_SEGMENTS = 20_000, 400_000  # of one thumbnail, and of all of them
_MAX_SHADES = 1_600_000  # of all pairs that are explained
_EXPLAINED = "ttm"  # the kernel whose vectors are sums over edges
_N_NEAREST = 6
_EVEN = 1.25  # largest ratio of the largest to the smallest class for classes that count as equally large
_BELOW = 0.01  # gap between the accuracy and the share of the largest class that needs an explanation
_N_CONFUSED = 12
_MAX_EIGENVALUES = 2000
_MAX_GALLERY_CLASSES = 24
_TYPICAL = (
    (6, 6),
    (12, 2),
    (_MAX_GALLERY_CLASSES, 1),
)  # pairs: number of classes up to which this many graphs of each are shown


@dataclass(frozen=True)
class ClassificationReport:
    """What the sections of a report show.

    Attributes
    ----------
    outcome
        The classification.
    about
        Title, command, seed, machine and versions of the run.
    kernels
        Figures of each kernel by name, as `_kernel_figures` returns them.
    drawn
        The thumbnail of each graph.
    """

    outcome: Classification
    about: dict[str, Any]
    kernels: dict[str, dict[str, Any]]
    drawn: list[Thumbnail]


def classification_page(outcome: Classification, about: dict[str, Any], *, verbose: bool = False) -> str:
    """Return the page of a classification.

    Parameters
    ----------
    outcome, about
        The classification and its record, as `torelli.report.results.load` returns them.
    verbose
        Whether to show progress on standard error.
    """
    kernels = {
        score.name: _kernel_figures(outcome, score)
        for score in outcome.scores
        if score.name in outcome.kernels
    }
    drawn = thumbnails(
        outcome.graphs,
        max_segments=_MAX_SEGMENTS,
        order=_drawing_order(outcome, kernels),
        max_total=_MAX_TOTAL_SEGMENTS,
        progress=ProgressLine("drawing graphs") if verbose else None,
    )
    report = ClassificationReport(outcome, about, kernels, drawn)
    return page(
        f"Classification of {about.get('title') or 'graphs'}",
        *(make_section(report) for make_section in SECTIONS),
        data=_script_data(report),
        scripts=[asset("torelli.report", "report.js")],
        styles=[asset("torelli.report", "report.css")],
    )


def _script_data(report: ClassificationReport) -> dict[str, Any]:
    """Return what the page's script draws."""
    outcome = report.outcome
    n_classes = len(outcome.classes)
    beyond_palette = n_classes > len(PALETTE)
    return {
        "classes": outcome.classes,
        "colours": [class_colour(index, n_classes) for index in range(n_classes)] if beyond_palette else None,
        "names": outcome.names,
        "y": outcome.y,
        "class_ends": np.cumsum(np.bincount(outcome.y)),
        "fold": outcome.fold,
        "figures": [
            [g.genus, g.n_nodes, g.n_edges, float(f"{g.total_length:.6g}"), g.unit or ""]
            for g in outcome.graphs
        ],
        "kernels": report.kernels,
        "scores": [_bar(outcome, score) for score in outcome.scores],
        "arrays": pack(
            {
                **thumbnail_arrays(report.drawn),
                **{f"heat.{name}": _heat_map(K, outcome.y) for name, K in outcome.kernels.items()},
                **_explained(report),
            }
        ),
    }


def _explained(report: ClassificationReport) -> dict[str, Any]:
    """Return what makes each graph and the one most similar to it by TTM alike, and what sets them apart."""
    if _EXPLAINED not in report.kernels:
        return {}
    graphs, drawn = report.outcome.graphs, report.drawn
    features = MeasureFeatures(along=report.outcome.about.get("along", "junctions"))
    pairs, total = [], 0
    for i, near in enumerate(report.kernels[_EXPLAINED]["nearest"]):
        total += 2 * sum(len(drawn[j].tail) for j in (i, *near[:1]))
        if total > _MAX_SHADES:
            break
        pairs += [(i, j) for j in near[:1] if NOT_DRAWN is not drawn[i] and NOT_DRAWN is not drawn[j]]
    explanations = explain_pairs(graphs, pairs, features.fit(graphs)) if pairs else []
    return pair_arrays(drawn, pairs, map(shades, explanations))


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _key_figures(report: ClassificationReport) -> Html:
    outcome = report.outcome
    best = max(
        (s for s in outcome.scores if s.name in outcome.kernels), key=lambda s: outcome.right(s).mean()
    )
    low, high = outcome.interval(best)
    genus = [graph.genus for graph in outcome.graphs]
    facts = [
        (
            f"{_percent(outcome.right(best).mean())} %",
            f"best kernel, {outcome.label(best.name)} ({_percent(low)} to {_percent(high)})",
        ),
        (f"{len(outcome.graphs):,}", "graphs"),
        (f"{len(outcome.classes):,}", "classes"),
        (f"{min(genus):,} to {max(genus):,}", f"genus (median {np.median(genus):g})"),
    ]
    cards = [
        element("div", element("strong", value), element("span", name), class_="fact")
        for value, name in facts
    ]
    return element("div", *cards, class_="facts")


def _accuracy(report: ClassificationReport) -> Html:
    outcome = report.outcome
    rows = []
    for score in outcome.scores:
        low, high = outcome.interval(score)
        rows.append(
            [
                outcome.label(score.name),
                _percent(outcome.right(score).mean()),
                f"{_percent(low)} to {_percent(high)}",
                f"{_percent(score.fold_accuracies.mean())} ± {_percent(score.fold_accuracies.std())}",
            ]
        )
    caption = (
        f"Accuracy in percent over {outcome.folds}. Every graph is predicted once, "
        "by a support vector machine that was not trained on it. The interval is the 95 % Wilson interval of "
        "all predictions together. The last column has the mean and standard deviation of the accuracy over "
        "folds. Folds share training graphs, so neither accounts for the choice of folds."
    )
    header = ["classifier", "accuracy", "interval", "over folds"]
    chart = element(
        "div",
        id="accuracy",
        class_="chart short",
        role="img",
        aria_label="Accuracies with intervals; the table has the same numbers",
    )
    both = element("div", element("div", chart), table(header, rows), class_="split text")
    overlap = outcome.overlap and element("p", element("strong", "Caution: "), f"{outcome.overlap}.")
    notes = [element("p", text, class_="muted") for text in (caption, _baselines(outcome))]
    return section("Accuracy", both, overlap, *notes, anchor="accuracy-section")


def _baselines(outcome: Classification) -> str:
    """Return what the baselines are, and what the largest class means for these classes."""
    counts = np.bincount(outcome.y)
    largest, even = counts.max() / counts.sum(), 1 / len(counts)
    score = next(score for score in outcome.scores if score.name == MAJORITY)
    accuracy = float(outcome.right(score).mean())
    text = (
        f"'{GENUS}' knows only the genus of a graph. '{MAJORITY}' predicts the most frequent class of the "
        "training graphs; "
    )
    if counts.max() <= _EVEN * counts.min():
        text += (
            f"the classes are about equally large, so it guesses one of {len(counts):,}, and "
            f"{_percent(even)} % are expected"
        )
    else:
        name = shortened(outcome.classes[int(counts.argmax())])
        text += f"the largest class, {name}, has {_percent(largest)} % of the graphs"
    if accuracy < largest - _BELOW:
        text += (
            f". Its accuracy, {_percent(accuracy)} %, is below that because a class with many training "
            "graphs has few in the fold that is tested"
        )
    return f"{text}."


def _kernel_switch(report: ClassificationReport) -> Html:
    buttons = [
        element(
            "label",
            element("input", type="radio", name="kernel", value=name, checked=index == 0),
            element("span", report.outcome.label(name)),
        )
        for index, name in enumerate(report.outcome.kernels)
    ]
    return element("fieldset", element("legend", "Kernel"), *buttons, class_="switch", id="kernel")


def _similarity(report: ClassificationReport) -> Html:
    n_missing = sum(one is NOT_DRAWN for one in report.drawn)
    nearest = f"the nearest by {report.outcome.label(_EXPLAINED)}"
    explained = f", and which edges make it and {nearest} alike" if _EXPLAINED in report.kernels else ""
    note = (
        f"{n_missing:,} of {len(report.drawn):,} graphs are not drawn: they have no edges, are too large for "
        "a layout, or would make this page too large."
    )
    panel = element("div", id="panel", class_="panel", aria_live="polite")
    finder = element(
        "div",
        element("button", "Previous", type="button", id="previous"),
        element("label", "Graph ", element("select", id="graph")),
        element("button", "Next", type="button", id="next"),
        class_="finder",
    )
    return section(
        "Graphs by similarity",
        element(
            "p",
            "Kernel principal components: graphs close together are similar. Click a point or select a "
            "graph by its name to see it with its basis cycles coloured, and the graphs most similar to it"
            f"{explained}. "
            "Graphs with a ring were misclassified.",
            class_="muted",
        ),
        element(
            "div",
            element("div", element("div", id="pca", class_="chart")),
            element("div", finder, panel),
            class_="split",
        ),
        element("div", id="why"),
        element("p", note, class_="muted") if n_missing else None,
        anchor="graphs",
    )


def _kernel_charts(_: ClassificationReport) -> Html:
    figures = [
        ("Confusion matrix", "confusion", "Rows: true class; columns: class predicted out of fold."),
        ("Kernel matrix, sorted by class", "heat", None),
        ("Eigenvalues of the kernel matrix", "spectrum", None),
    ]
    cards = [
        element(
            "figure",
            element("h3", title),
            element("div", id=name, class_="chart"),
            element("figcaption", text, id=f"{name}-note"),
            class_="full" if name == "spectrum" else None,
        )
        for title, name, text in figures
    ]
    return section("Kernel", element("div", *cards, class_="cards wide"), anchor="kernel-section")


def _gallery(_: ClassificationReport) -> Html:
    return section(
        "Typical and misclassified graphs",
        element("h3", "Most typical of their class"),
        element("p", "Graphs with the largest mean kernel value within their class.", class_="muted"),
        element("div", id="typical"),
        element("h3", "Furthest from their class"),
        element(
            "p", "Graphs with the smallest margin of their own class over the best other.", class_="muted"
        ),
        element("div", id="confused", class_="cards"),
        anchor="examples",
    )


def _timings(report: ClassificationReport) -> Html:
    outcome = report.outcome
    pairs = len(outcome.graphs) * (len(outcome.graphs) - 1) // 2
    rows = [
        [
            outcome.label(score.name),
            f"{score.seconds_distances:.2f}" if score.name in outcome.kernels else "",
            f"{1e6 * score.seconds_distances / max(pairs, 1):.1f}" if score.name in outcome.kernels else "",
            f"{score.seconds_svm:.2f}",
        ]
        for score in outcome.scores
        if score.name != MAJORITY
    ]
    header = ["classifier", "matrices and distances, s", "µs per pair", "training and prediction, s"]
    caption = f"The distances of all {pairs:,} pairs are computed once, for all folds."
    return section("Time", table(header, rows, caption=caption), anchor="time")


def _run(report: ClassificationReport) -> Html:
    about = report.about
    versions = ", ".join(
        f"{name} {version}" for name, version in about.get("versions", {}).items() if version
    )
    facts = [
        ("date", about.get("date")),
        ("seed", about.get("seed")),
        ("versions", f"Python {about.get('python')}, {versions}"),
        ("machine", f"{about.get('cpu')}, {about.get('cores')} cores, {about.get('system')}"),
        *((key, _plain(value)) for key, value in about.get("options", {}).items() if key != "seed"),
    ]
    rows = [(name, value) for name, value in facts if value not in (None, "")]
    return section(
        "How to run this again",
        element("pre", element("code", about.get("command", "")), tabindex="0"),
        table([], rows),
        anchor="run",
    )


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


SECTIONS: tuple[Callable[[ClassificationReport], Html | None], ...] = (
    _key_figures,
    _accuracy,
    _kernel_switch,
    _similarity,
    _kernel_charts,
    _gallery,
    _timings,
    _run,
)
"""The sections of the page, in order."""


def _bar(outcome: Classification, score: Score) -> dict[str, Any]:
    low, high = outcome.interval(score)
    return {
        "name": outcome.label(score.name),
        "accuracy": round(100 * float(outcome.right(score).mean()), 2),
        "low": round(100 * low, 2),
        "high": round(100 * high, 2),
        "kernel": score.name in outcome.kernels,
    }


def _kernel_figures(outcome: Classification, score: Score) -> dict[str, Any]:
    """Return what the page shows of one kernel."""
    K = outcome.kernels[score.name]
    XY, share = principal_components(K)
    signs = definiteness(K)
    eigenvalues = np.asarray(np.linalg.eigvalsh(K)[::-1], dtype=np.float64)
    n_classes = len(outcome.classes)
    return {
        "label": outcome.label(score.name),
        "x": np.round(XY[:, 0], 4),
        "y": np.round(XY[:, 1], 4),
        "share": np.round(100 * share, 1),
        "predicted": score.predicted,
        "margin": np.round(score.margin, 3),
        "confusion": outcome.confusion(score),
        "gamma": score.gamma,
        "spectrum": [float(f"{value:.4g}") for value in _thinned(eigenvalues)],
        "definiteness": [signs.n_positive, signs.n_zero, signs.n_negative, signs.smallest, signs.tolerance],
        "typical": _typical(K, outcome.y, n_classes),
        "confused": np.argsort(score.margin, kind="stable")[:_N_CONFUSED],
        "nearest": _nearest(K),
    }


def _heat_map(K: Floats, labels: Ints) -> NDArray[np.uint8]:
    """Return the kernel matrix sorted by class, in 1/255; a large one as means over blocks."""
    order = np.argsort(labels, kind="stable")
    side = min(len(K), _HEAT_MAP_SIDE)
    starts = np.arange(side) * len(K) // side
    sizes = np.diff([*starts, len(K)])
    sums = np.add.reduceat(np.add.reduceat(K[np.ix_(order, order)], starts, axis=0), starts, axis=1)
    cells: NDArray[np.uint8] = np.rint(255 * sums / np.outer(sizes, sizes)).astype(np.uint8)
    return cells


def _thinned(values: Floats) -> Floats:
    """Return some of many values at even steps, the first and last among them."""
    if len(values) <= _MAX_EIGENVALUES:
        return values
    kept: Floats = values[np.linspace(0, len(values) - 1, _MAX_EIGENVALUES).astype(int)]
    return kept


def _typical(K: Floats, labels: Ints, n_classes: int) -> list[list[int]]:
    """Return for each class the graphs with the largest mean kernel value to the others of the class."""
    n_shown = next((count for limit, count in _TYPICAL if n_classes <= limit), 1)
    typical = []
    for label in range(min(n_classes, _MAX_GALLERY_CLASSES)):
        members = np.flatnonzero(labels == label)
        within = K[np.ix_(members, members)]
        mean = (within.sum(axis=1) - np.diagonal(within)) / max(len(members) - 1, 1)
        typical.append(members[np.argsort(-mean, kind="stable")[:n_shown]].tolist())
    return typical


def _nearest(K: Floats) -> list[list[int]]:
    """Return the graphs with the largest kernel values to each, itself left out."""
    others = K.copy()
    np.fill_diagonal(others, -np.inf)
    order = np.argsort(-others, axis=1, kind="stable")[:, : min(_N_NEAREST, len(K) - 1)]
    nearest: list[list[int]] = order.tolist()
    return nearest


def _drawing_order(outcome: Classification, kernels: dict[str, Any]) -> list[int]:
    """Return the indices of the graphs: those of the gallery first, then one of each class in turn."""
    order: list[int] = []
    for kernel in kernels.values():
        order += [index for members in kernel["typical"] for index in members] + kernel["confused"].tolist()
    rank = np.zeros(len(outcome.y), dtype=int)
    for label in range(len(outcome.classes)):
        members = np.flatnonzero(outcome.y == label)
        rank[members] = np.arange(len(members))
    order += np.argsort(rank, kind="stable").tolist()
    return order
