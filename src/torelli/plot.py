"""Plots of graphs, matrices and kernels; each function draws on ``ax``, or on a new Axes, and returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from torelli._drawing import (
    BRIDGE,
    MARKERS,
    PALETTE,
    class_colour,
    cycle_colour,
    cycle_owners,
)
from torelli._errors import InvalidOptionError, MissingExtraError, listed, quoted
from torelli._layout import aspect, edge_lines, has_degrees, positions
from torelli.io import as_metric_graph, as_metric_graphs
from torelli.kernel_matrix import definiteness, principal_components
from torelli.matrix import torelli_matrix
from torelli.measure import canonical_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from torelli._types import Floats, GraphLike
    from torelli.explanation import Explanation
    from torelli.graph import MetricGraph

    Labels = Sequence[Any] | NDArray[Any]

__all__ = [
    "MARKERS",
    "PALETTE",
    "city_map",
    "confusion",
    "explain",
    "gallery",
    "graph",
    "kernel",
    "kernel_pca",
    "matrix",
    "measure",
    "spectrum",
]

_MAX_CLASSES_WITH_COUNTS = 12
_MAX_CLASSES_IN_LEGEND = 30
_LEAST_COLUMNS = 4
_DARK = 0.5  # share from which the background is too dark for black text
_EXPLAINED = (("alike", "viridis_r"), ("apart", "coolwarm"))  # rows of an explanation with their colours


def _axes(ax: Axes | None, **figure: Any) -> Axes:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingExtraError("plots need matplotlib: pip install 'torelli[plot]'") from error
    _, new = plt.subplots(layout="constrained", **figure)
    return cast("Axes", new)


def graph(
    graph: GraphLike,
    *,
    ax: Axes | None = None,
    cycles: bool = True,
    linewidth: float = 2.0,
) -> Axes:
    """Draw a graph at its coordinates, with the basis cycles coloured.

    Each edge has the colour of the first basis cycle that contains it. Bridges, which lie on no cycle, are
    thin and grey. A graph without coordinates gets a layout, which is always the same.

    Parameters
    ----------
    graph
        A `MetricGraph`, or anything that `as_metric_graph` converts.
    ax
        Axes to draw on.
    cycles
        Whether to colour the cycles.
    linewidth
        Line width of edges on cycles.

    Examples
    --------
    >>> import torelli as tt
    >>> ax = tt.plot.graph(tt.datasets.grid(3, 3))
    >>> ax.get_title()
    'grid(3, 3, jitter=0.2, seed=0): genus 4'
    """
    graph = as_metric_graph(graph)
    ax = _axes(ax, figsize=(5, 5))
    from matplotlib.collections import LineCollection

    points = positions(graph)
    owner = cycle_owners(graph) if cycles else np.full(graph.n_edges, -1)
    colours = [cycle_colour(cycle) if cycle >= 0 else BRIDGE for cycle in owner.tolist()]
    widths = np.where((owner >= 0) | (not cycles), linewidth, linewidth / 2)
    lines = edge_lines(graph, points)
    order = np.argsort(owner >= 0, kind="stable")
    ax.add_collection(
        LineCollection(
            [lines[i] for i in order],
            colors=[colours[i] for i in order],
            linewidths=widths[order].tolist(),
            capstyle="round",
        )
    )
    ax.autoscale_view()
    ax.set_aspect(aspect(graph, points))
    ax.set_axis_off()
    ax.set_title(f"{graph.name or 'graph'}: genus {graph.genus}", fontsize="medium")
    return ax


def gallery(
    graphs: Sequence[GraphLike], titles: Sequence[str] | None = None, *, figure: Figure | None = None
) -> list[Axes]:
    """Draw many graphs in a grid, each as `graph` draws it; return the axes of each.

    Parameters
    ----------
    graphs
        The graphs, row by row.
    titles
        The title of each; by default its name and genus.
    figure
        Figure to draw on, which is cleared; by default a new one.

    Examples
    --------
    >>> import torelli as tt
    >>> len(tt.plot.gallery([tt.datasets.grid(3, n) for n in (2, 3, 4)]))
    3
    """
    drawn = as_metric_graphs(graphs)
    if titles is not None:
        _check_count(len(titles), len(drawn), "graphs")
    n_columns = min(len(drawn), max(_LEAST_COLUMNS, int(np.ceil(np.sqrt(len(drawn))))))
    n_rows = -(-len(drawn) // n_columns)
    whole = _axes(None).figure if figure is None else figure
    whole.clear()
    cast("Figure", whole).set_size_inches(2.2 * n_columns, 2.5 * n_rows)
    grid = np.atleast_1d(whole.subplots(n_rows, n_columns)).ravel().tolist()
    for place, ax in enumerate(grid):
        ax.set_axis_off()
        if place < len(drawn):
            graph(drawn[place], ax=ax, linewidth=1.2)
            ax.set_title(ax.get_title() if titles is None else titles[place], fontsize="x-small")
    return grid[: len(drawn)]


def explain(explanation: Explanation, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Draw two graphs twice: coloured by what makes them alike, and by what sets them apart.

    Every edge has the colour of its segment: of all edges that follow each other through points of
    degree 2, so that the picture does not depend on how they are cut. In the upper row dark segments are of
    a kind that the other graph has too. In the lower row red segments are of a kind that this graph has
    more of, and blue segments of a kind that it has less of.

    Parameters
    ----------
    explanation
        What `torelli.explain` returns.
    axes
        Four axes: both graphs for what is alike, then both for what is apart.

    Examples
    --------
    >>> import torelli as tt
    >>> explanation = tt.explain(tt.datasets.grid(3, 3), tt.datasets.cactus(3))
    >>> [ax.get_title() for ax in tt.plot.explain(explanation)][0]
    'grid(3, 3, jitter=0.2, seed=0): alike'
    """
    from torelli.explanation import Explanation, shades

    if not isinstance(explanation, Explanation):
        raise InvalidOptionError(
            f"{quoted(explanation)} is no explanation: give what torelli.explain returns"
        )
    if axes is None:
        figure = _axes(None, figsize=(9, 8)).figure
        figure.clear()
        axes = figure.subplots(2, 2).ravel().tolist()
    if len(axes) != len(_EXPLAINED) * len(explanation.graphs):
        raise InvalidOptionError(f"{len(axes)} axes: an explanation is drawn on four")
    rows = zip(_EXPLAINED, shades(explanation), strict=True)
    for row, ((title, cmap), both) in enumerate(rows):
        for column, (graph, values) in enumerate(zip(explanation.graphs, both, strict=True)):
            ax = axes[2 * row + column]
            _coloured_edges(ax, graph, values, cmap, 0.0 if row == 0 else -1.0)
            ax.set_title(f"{graph.name or f'graph {column + 1}'}: {title}", fontsize="medium")
    return list(axes)


def _coloured_edges(ax: Axes, graph: MetricGraph, values: Floats, cmap: str, least: float) -> None:
    """Draw the edges of a graph in the colours of values from `least` to 1; NaN is grey."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    points = positions(graph)
    colours = colormaps[cmap].with_extremes(bad=BRIDGE)
    lines = LineCollection(edge_lines(graph, points), cmap=colours, linewidths=2.0, capstyle="round")
    lines.set_array(np.ma.masked_invalid(values))
    lines.set_clim(least, 1.0)
    ax.add_collection(lines)
    ax.autoscale_view()
    ax.set_aspect(aspect(graph, points))
    ax.set_axis_off()
    ax.figure.colorbar(lines, ax=ax, shrink=0.6, ticks=sorted({least, 0.0, 1.0}))


def measure(graph: GraphLike, *, ax: Axes | None = None) -> Axes:
    """Draw a graph at its coordinates, coloured by the canonical measure.

    Every edge has the colour of its segment's mass, from 0 to 1: the probability that a random spanning
    tree leaves the segment out. Bridges have mass 0 and are grey; loops have mass 1.

    Parameters
    ----------
    graph
        What to draw: a `MetricGraph`, or anything that `as_metric_graph` takes.
    ax
        Axes to draw on.

    Examples
    --------
    >>> import torelli as tt
    >>> ax = tt.plot.measure(tt.datasets.street_pattern("linear", seed=0))
    >>> ax.figure.savefig("linear.png")  # doctest: +SKIP
    """
    graph = as_metric_graph(graph)
    ax = _axes(ax, figsize=(5.6, 5))
    masses = canonical_measure(graph)
    values = np.where(masses.edge_class < 0, np.nan, masses.mass[masses.segment])
    _coloured_edges(ax, graph, values, "viridis_r", 0.0)
    ax.set_title(f"{graph.name or 'graph'}: genus {graph.genus}", fontsize="medium")
    return ax


def matrix(graph_or_matrix: MetricGraph | Floats, *, ax: Axes | None = None) -> Axes:
    """Draw a Torelli matrix as a heat map: blue where cycles share a direction, red where they do not.

    Examples
    --------
    >>> import torelli as tt
    >>> tt.plot.matrix(tt.datasets.grid(3, 3)).images[0].get_array().shape
    (4, 4)
    """
    Q = graph_or_matrix if isinstance(graph_or_matrix, np.ndarray) else torelli_matrix(graph_or_matrix)
    ax = _axes(ax, figsize=(4.6, 4))
    limit = float(np.abs(Q).max(initial=0.0)) or 1.0
    image = ax.imshow(Q, cmap="RdBu", vmin=-limit, vmax=limit)
    ax.figure.colorbar(image, ax=ax, shrink=0.8)
    ax.set_title(f"Q, {len(Q)} × {len(Q)}", fontsize="medium")
    return ax


def kernel(K: Floats, y: Labels | None = None, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw a kernel matrix as a heat map, sorted by class, with lines between the classes.

    Parameters
    ----------
    K
        Symmetric matrix of kernel values.
    y
        Class of each graph; without it, graphs keep their order.
    ax, title
        Axes to draw on, and their title.

    Examples
    --------
    >>> import torelli as tt
    >>> graphs = [tt.datasets.grid(3, n) for n in range(2, 6)]
    >>> ax = tt.plot.kernel(tt.TTSKernel().fit_transform(graphs), ["short", "short", "long", "long"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['long', 'short']
    """
    ax = _axes(ax, figsize=(5, 4.2))
    K = np.asarray(K, dtype=np.float64)
    if y is not None:
        classes, codes = _classes(y, len(K), "graphs in the kernel matrix")
        order = np.argsort(codes, kind="stable")
        K = K[np.ix_(order, order)]
    image = ax.imshow(K, cmap="viridis", vmin=min(0.0, float(K.min(initial=0.0))), interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, shrink=0.85, label="k")
    ax.set_xticks([])
    ax.set_yticks([])
    if y is not None:
        ends = np.cumsum(np.bincount(codes, minlength=len(classes)))
        for bound in ends[:-1] - 0.5:
            ax.axhline(bound, color="white", linewidth=0.8)
            ax.axvline(bound, color="white", linewidth=0.8)
        ax.set_yticks((np.r_[0, ends[:-1]] + ends - 1) / 2, [str(label) for label in classes])
        ax.tick_params(length=0)
    ax.set_title(title, fontsize="medium")
    return ax


def kernel_pca(K: Floats, y: Labels | None = None, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the first two kernel principal components, with a colour and a marker for each class.

    Examples
    --------
    >>> import torelli as tt
    >>> graphs = [tt.datasets.grid(3, n) for n in range(2, 6)]
    >>> ax = tt.plot.kernel_pca(tt.TTSKernel().fit_transform(graphs), ["short", "short", "long", "long"])
    >>> len(ax.collections)
    2
    """
    ax = _axes(ax, figsize=(5, 4))
    XY, share = principal_components(K)
    classes, codes = _classes([""] * len(K) if y is None else y, len(K), "graphs in the kernel matrix")
    for code, label in enumerate(classes):
        chosen = codes == code
        ax.scatter(
            XY[chosen, 0],
            XY[chosen, 1],
            s=18,
            marker=MARKERS[code % len(MARKERS)],
            color=class_colour(code, len(classes)),
            alpha=0.75,
            linewidths=0,
            label=None if y is None else str(label),
        )
    if y is not None and len(classes) <= _MAX_CLASSES_IN_LEGEND:
        ax.legend(frameon=False, fontsize="small")
    ax.set_xlabel(f"component 1 ({share[0]:.0%})")
    ax.set_ylabel(f"component 2 ({share[1]:.0%})")
    ax.set_title(title, fontsize="medium")
    return ax


def confusion(y_true: Labels, y_pred: Labels, *, ax: Axes | None = None, title: str = "") -> Axes:
    r"""Draw a confusion matrix: shares of each true class (rows) as colours, counts as text.

    Parameters
    ----------
    y_true, y_pred
        The true and the predicted class of each graph.
    ax, title
        Axes to draw on, and their title.

    Examples
    --------
    >>> import torelli as tt
    >>> ax = tt.plot.confusion(["grid", "grid", "tree"], ["grid", "tree", "tree"])
    >>> [text.get_text() for text in ax.texts]
    ['1\n50%', '1\n50%', '0', '1\n100%']
    """
    from sklearn.metrics import confusion_matrix

    _check_count(len(y_pred), len(y_true), "true classes")
    classes = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)]))
    counts = confusion_matrix(np.asarray(y_true), np.asarray(y_pred), labels=classes)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = _axes(ax, figsize=(1.6 + 0.7 * min(len(classes), _MAX_CLASSES_WITH_COUNTS),) * 2)
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0)
    if len(classes) <= _MAX_CLASSES_WITH_COUNTS:
        for (row, column), share in np.ndenumerate(shares):
            text = f"{counts[row, column]}\n{share:.0%}" if counts[row, column] else "0"
            colour = "white" if share > _DARK else "black"
            ax.text(column, row, text, ha="center", va="center", color=colour, fontsize="small")
    names = [str(label) for label in classes]
    ax.set_xticks(range(len(classes)), names, rotation=45, ha="right")
    ax.set_yticks(range(len(classes)), names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    ax.set_title(title, fontsize="medium")
    return ax


def spectrum(K: Floats, *, ax: Axes | None = None, title: str = "") -> Axes:
    """Draw the eigenvalues of a kernel matrix in descending order, negative ones as crosses.

    The scale is logarithmic and shows absolute values. Eigenvalues that are zero up to rounding
    (`definiteness`) are not drawn, and counted in the legend.

    Examples
    --------
    >>> import torelli as tt
    >>> ax = tt.plot.spectrum([[1.0, 2.0], [2.0, 1.0]])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['1 positive', '1 negative, smallest -1']
    """
    ax = _axes(ax, figsize=(5, 3.6))
    values = np.linalg.eigvalsh(np.asarray(K, dtype=np.float64))[::-1]
    signs = definiteness(K)
    rank = np.arange(1, len(values) + 1)
    positive, negative = values > signs.tolerance, values < -signs.tolerance
    ax.plot(rank[positive], values[positive], ".", color=PALETTE[0], label=f"{signs.n_positive} positive")
    if signs.n_negative:
        label = f"{signs.n_negative} negative, smallest {signs.smallest:.2g}"
        ax.plot(rank[negative], -values[negative], "x", color=PALETTE[5], label=label)
    if signs.n_zero:
        ax.plot([], [], " ", label=f"{signs.n_zero} zero up to rounding")
    ax.set_yscale("log")
    ax.set_xlabel("rank")
    ax.set_ylabel("|eigenvalue|")
    ax.legend(frameon=False, fontsize="small")
    ax.set_title(title, fontsize="medium")
    return ax


def city_map(
    graphs: Sequence[Any],
    values: Labels | None = None,
    *,
    ax: Axes | None = None,
    cmap: str = "viridis",
    linewidth: float = 0.8,
    title: str = "",
) -> Axes:
    """Draw the streets of windows at their coordinates, in a colour for each window.

    Parameters
    ----------
    graphs
        Windows of a city, or of several, with coordinates in one reference system.
    values
        A value for each window. Classes or clusters (text or integers) have a colour each and a legend; other
        numbers have a colour scale. NaN is grey.
    ax
        Axes to draw on.
    cmap
        Name of matplotlib's colour map for numbers.
    linewidth
        Line width of streets.
    title
        Title of the Axes.

    Examples
    --------
    >>> import torelli as tt
    >>> ax = tt.plot.city_map([tt.datasets.grid(3, 3, seed=seed) for seed in (0, 1)], ["old", "new"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['new', 'old']
    """
    windows = as_metric_graphs(graphs)
    _check_places(windows)
    ax = _axes(ax, figsize=(6, 6))
    from matplotlib.collections import LineCollection

    colours = _window_colours(ax, [""] * len(windows) if values is None else values, len(windows), cmap)
    lines: list[Floats] = []
    paint: list[Any] = []
    for window, colour in zip(windows, colours, strict=True):
        drawn = edge_lines(window, positions(window))
        lines += drawn
        paint += [colour] * len(drawn)
    ax.add_collection(LineCollection(lines, colors=paint, linewidths=linewidth, capstyle="round"))
    ax.autoscale_view()
    if windows:
        points = np.concatenate([positions(window) for window in windows])
        ax.set_aspect(aspect(windows[0], points))
        degrees = has_degrees(windows[0], points)
        ax.set_xlabel("longitude" if degrees else "x")
        ax.set_ylabel("latitude" if degrees else "y")
    ax.ticklabel_format(useOffset=False)
    ax.set_title(title, fontsize="medium")
    return ax


def _window_colours(ax: Axes, values: Labels, n_windows: int, cmap: str) -> list[Any]:
    """Return a colour for each window, and add a legend or a colour scale to the Axes."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        _check_count(len(array), n_windows, "windows")
        known = array[np.isfinite(array)]
        scale = Normalize(known.min(), known.max()) if len(known) else Normalize(0.0, 1.0)
        mapped = ScalarMappable(scale, colormaps[cmap])
        ax.figure.colorbar(mapped, ax=ax, shrink=0.7)
        return [mapped.to_rgba(value) if np.isfinite(value) else BRIDGE for value in array.tolist()]
    classes, codes = _classes(values, n_windows, "windows")
    if 1 < len(classes) <= _MAX_CLASSES_IN_LEGEND:
        for code, label in enumerate(classes):
            ax.plot([], [], color=class_colour(code, len(classes)), linewidth=3, label=str(label))
        ax.legend(frameon=False, fontsize="small")
    return [class_colour(code, len(classes)) for code in codes.tolist()]


def _check_places(windows: list[MetricGraph]) -> None:
    """Raise an error if windows cannot be drawn on one map."""
    for index, window in enumerate(windows):
        if window.coordinates is None or not np.isfinite(window.coordinates[:, :2]).all():
            name = f" ({quoted(window.name)})" if window.name else ""
            raise InvalidOptionError(f"graph {index}{name} has no coordinates: a map needs them")
    systems = {window.crs for window in windows}
    if len(systems) > 1:
        shown = listed(sorted(str(crs) for crs in systems))
        raise InvalidOptionError(
            f"the graphs have coordinates in {len(systems)} reference systems ({shown}): use one"
        )


def _classes(y: Labels, n_expected: int, items: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct classes, sorted, and the index of each graph's class."""
    labels = np.asarray(y)
    _check_count(len(labels), n_expected, items)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


def _check_count(count: int, expected: int, items: str) -> None:
    if count != expected:
        raise InvalidOptionError(f"{count:,} values for {expected:,} {items}: give one for each")
