"""The report of a classification: accuracies, kernels and graphs on one page."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._drawing import class_colour
from torelli._numerics.threads import ProgressLine
from torelli.classification import GENUS, MAJORITY
from torelli.kernels import definiteness, principal_components
from torelli.report.page import Html, element, page, section, static, table
from torelli.report.sketch import sketches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.classification import Classification, Score

    Floats = NDArray[np.float64]

_HEAT_SIDE = 300
_SKETCH_BYTES = 3_000_000
_NEAREST = 6
_CONFUSED = 12
_MAX_SPECTRUM = 2000
_GALLERY_CLASSES = 24


def classification_page(outcome: Classification, about: dict[str, Any], *, verbose: bool = False) -> str:
    """Return the page of a result.

    Parameters
    ----------
    outcome, about
        The result and what it says of itself, as `torelli.report.results.load` returns them.
    verbose
        Whether to show progress on standard error.
    """
    kernels = {
        score.name: _kernel(outcome, score) for score in outcome.scores if score.name in outcome.kernels
    }
    drawn = sketches(
        outcome.graphs,
        _drawing_order(outcome, kernels),
        max_bytes=_SKETCH_BYTES,
        progress=ProgressLine("drawing graphs") if verbose else None,
    )
    many = len(outcome.classes) > 8  # noqa: PLR2004  (the palette has eight colours)
    data = {
        "classes": outcome.classes,
        "colours": [class_colour(at, len(outcome.classes)) for at in range(len(outcome.classes))]
        if many
        else None,
        "names": outcome.names,
        "y": outcome.y,
        "fold": outcome.fold,
        "figures": [
            [g.genus, g.n_nodes, g.n_edges, float(f"{g.total_length:.6g}"), g.unit or ""]
            for g in outcome.graphs
        ],
        "kernels": kernels,
        "scores": [_bar(outcome, score) for score in outcome.scores],
        "sketches": drawn,
    }
    title = f"Classification of {about.get('title') or 'graphs'}"
    return page(
        title,
        _lead(outcome),
        _accuracy(outcome),
        _switch(outcome),
        _explorer(len(drawn), len(outcome.graphs)),
        _matrices(),
        _gallery(),
        _timings(outcome),
        run_section(about),
        data=data,
        scripts=[static("report.js")],
        styles=[static("report.css")],
    )


def percent(value: float) -> str:
    """Return a share as a person writes it."""
    return f"{100 * value:.1f}"


def label_of(name: str) -> str:
    """Return the name of a kernel as the paper writes it; the other lines stay as they are."""
    return name if name in {GENUS, MAJORITY} else name.upper()


def run_section(about: dict[str, Any]) -> Html:
    """Return what was run, on what, and the command that runs it again."""
    versions = ", ".join(f"{name} {found}" for name, found in about.get("versions", {}).items() if found)
    facts = [
        ("date", about.get("date")),
        ("seed", about.get("seed")),
        ("versions", f"Python {about.get('python')}, {versions}"),
        ("machine", f"{about.get('cpu')}, {about.get('cores')} cores, {about.get('system')}"),
        *((key, _plain(value)) for key, value in about.get("options", {}).items() if key != "seed"),
    ]
    rows = [(name, value) for name, value in facts if value not in (None, "")]
    return section(
        "What was run, and how to run it again",
        element("pre", element("code", about.get("command", "")), tabindex="0"),
        table([], rows, wrap=True),
        anchor="run",
    )


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _lead(outcome: Classification) -> Html:
    best = max(
        (s for s in outcome.scores if s.name in outcome.kernels), key=lambda s: outcome.right(s).mean()
    )
    low, high = outcome.interval(best)
    genus = [graph.genus for graph in outcome.graphs]
    facts = [
        (
            f"{percent(outcome.right(best).mean())} %",
            f"best kernel, {label_of(best.name)} ({percent(low)} to {percent(high)})",
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


def _accuracy(outcome: Classification) -> Html:
    rows = []
    for score in outcome.scores:
        low, high = outcome.interval(score)
        rows.append(
            [
                label_of(score.name),
                percent(outcome.right(score).mean()),
                f"{percent(low)} to {percent(high)}",
                f"{percent(score.fold_accuracies.mean())} ± {percent(score.fold_accuracies.std())}",
            ]
        )
    caption = (
        f"Accuracy in percent over {outcome.fold.max() + 1} stratified folds: every graph is predicted once, "
        "by a support vector machine that has not seen it. Interval: 95 % Wilson interval of the pooled "
        "predictions; over folds: mean and standard deviation of the accuracies of the folds. Folds share "
        "training graphs, so neither covers the choice of folds."
    )
    header = ["classifier", "accuracy", "interval", "over folds"]
    chart = element(
        "div",
        id="accuracy",
        class_="chart short",
        role="img",
        aria_label="Accuracies with intervals; the table has the numbers",
    )
    both = element("div", chart, table(header, rows), class_="split")
    return section("Accuracy", both, element("p", caption, class_="muted"), anchor="accuracy-section")


def _switch(outcome: Classification) -> Html:
    buttons = [
        element(
            "label",
            element("input", type="radio", name="kernel", value=name, checked=at == 0),
            element("span", label_of(name)),
        )
        for at, name in enumerate(outcome.kernels)
    ]
    return element(
        "fieldset", element("legend", "Kernel shown below"), *buttons, class_="switch", id="kernel"
    )


def _explorer(n_drawn: int, n_graphs: int) -> Html:
    missing = n_graphs - n_drawn
    note = (
        f"{missing:,} of {n_graphs:,} graphs are not drawn: they have no edges, are too large, or would make "
        "this page too large."
        if missing
        else None
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
        "Graphs as the kernel sees them",
        element(
            "p",
            "Kernel principal components: graphs that lie together are alike. Click a point, or choose a "
            "graph by its name, to see it with its basis cycles coloured and the graphs most like it. A "
            "ring marks graphs whose class was not predicted.",
            class_="muted",
        ),
        element(
            "div", element("div", id="pca", class_="chart"), element("div", finder, panel), class_="split"
        ),
        element("p", note, class_="muted") if note else None,
        anchor="graphs",
    )


def _matrices() -> Html:
    figures = [
        ("Which class is taken for which", "confusion", "Rows: true class; columns: predicted out of fold."),
        ("Kernel matrix, ordered by class", "heat", None),
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


def _gallery() -> Html:
    return section(
        "Typical and confused graphs",
        element("h3", "Most typical of their class"),
        element("p", "Largest mean kernel value to the graphs of their own class.", class_="muted"),
        element("div", id="typical"),
        element("h3", "Most confused"),
        element("p", "Those for which another class was furthest ahead of their own.", class_="muted"),
        element("div", id="confused", class_="cards"),
        anchor="examples",
    )


def _timings(outcome: Classification) -> Html:
    pairs = len(outcome.graphs) * (len(outcome.graphs) - 1) // 2
    rows = [
        [
            label_of(score.name),
            f"{score.seconds_distances:.2f}" if score.name in outcome.kernels else "",
            f"{1e6 * score.seconds_distances / max(pairs, 1):.1f}" if score.name in outcome.kernels else "",
            f"{score.seconds_svm:.2f}",
        ]
        for score in outcome.scores
        if score.name != MAJORITY
    ]
    header = ["classifier", "matrices and distances, s", "µs a pair", "training and predicting, s"]
    caption = f"All {pairs:,} pairs are computed once for all folds."
    return section("Time", table(header, rows, caption=caption), anchor="time")


def _bar(outcome: Classification, score: Score) -> dict[str, Any]:
    low, high = outcome.interval(score)
    return {
        "name": label_of(score.name),
        "accuracy": round(100 * float(outcome.right(score).mean()), 2),
        "low": round(100 * low, 2),
        "high": round(100 * high, 2),
        "kernel": score.name in outcome.kernels,
    }


def _kernel(outcome: Classification, score: Score) -> dict[str, Any]:
    """Return what the page shows of one kernel."""
    K = outcome.kernels[score.name]
    XY, share = principal_components(K)
    found = definiteness(K)
    values = np.asarray(np.linalg.eigvalsh(K)[::-1], dtype=np.float64)
    return {
        "label": label_of(score.name),
        "x": np.round(XY[:, 0], 4),
        "y": np.round(XY[:, 1], 4),
        "share": np.round(100 * share, 1),
        "predicted": score.predicted,
        "margin": np.round(score.margin, 3),
        "confusion": outcome.confusion(score),
        "gamma": score.gamma,
        "heat": _heat(K, outcome.y),
        "spectrum": [float(f"{value:.4g}") for value in _thinned(values)],
        "definiteness": [found.n_positive, found.n_zero, found.n_negative, found.smallest, found.tolerance],
        "typical": _typical(K, outcome.y, len(outcome.classes)),
        "confused": np.argsort(score.margin, kind="stable")[:_CONFUSED],
        "nearest": _nearest(K),
    }


def _heat(K: Floats, number: NDArray[np.int64]) -> dict[str, Any]:
    """Return the kernel matrix ordered by class, as bytes; blocks of a large one by their mean."""
    order = np.argsort(number, kind="stable")
    side = min(len(K), _HEAT_SIDE)
    starts = np.arange(side) * len(K) // side
    sizes = np.diff([*starts, len(K)])
    sums = np.add.reduceat(np.add.reduceat(K[np.ix_(order, order)], starts, axis=0), starts, axis=1)
    means = sums / np.outer(sizes, sizes)
    low, high = min(0.0, float(means.min())), float(means.max()) or 1.0
    cells = np.rint(255 * (means - low) / (high - low)).astype(np.uint8)
    return {
        "side": side,
        "low": low,
        "high": high,
        "cells": base64.b64encode(cells.tobytes()).decode("ascii"),
        "starts": starts,
        "ends": np.cumsum(np.bincount(number)),
    }


def _thinned(values: Floats) -> Floats:
    """Return at most some thousands of values, the ends always among them."""
    if len(values) <= _MAX_SPECTRUM:
        return values
    kept: Floats = values[np.linspace(0, len(values) - 1, _MAX_SPECTRUM).astype(int)]
    return kept


def _typical(K: Floats, number: NDArray[np.int64], n_classes: int) -> list[list[int]]:
    """Return for each class the graphs of the largest mean kernel value to the others of it."""
    shown = 6 if n_classes <= 6 else 2 if n_classes <= 12 else 1  # noqa: PLR2004  (what fits on a page)
    found = []
    for label in range(min(n_classes, _GALLERY_CLASSES)):
        members = np.flatnonzero(number == label)
        within = K[np.ix_(members, members)]
        mean = (within.sum(axis=1) - np.diagonal(within)) / max(len(members) - 1, 1)
        found.append(members[np.argsort(-mean, kind="stable")[:shown]].tolist())
    return found


def _nearest(K: Floats) -> list[list[int]]:
    others = K.copy()
    np.fill_diagonal(others, -np.inf)
    order = np.argsort(-others, axis=1, kind="stable")[:, : min(_NEAREST, len(K) - 1)]
    nearest: list[list[int]] = order.tolist()
    return nearest


def _drawing_order(outcome: Classification, kernels: dict[str, Any]) -> list[int]:
    """Return the numbers of the graphs, those of the gallery first, then class by class in turn."""
    order: list[int] = []
    for kernel in kernels.values():
        order += [at for members in kernel["typical"] for at in members] + kernel["confused"].tolist()
    rank = np.zeros(len(outcome.y), dtype=int)
    for label in range(len(outcome.classes)):
        members = np.flatnonzero(outcome.y == label)
        rank[members] = np.arange(len(members))
    order += np.argsort(rank, kind="stable").tolist()
    return order
