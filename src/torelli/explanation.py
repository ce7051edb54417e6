"""Why two graphs are similar or different: similarity and distance as sums over their edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import InvalidOptionError
from torelli._waves import SEGMENTS
from torelli.features import MeasureFeatures
from torelli.io import as_metric_graph
from torelli.kernels import TTMKernel
from torelli.measure import canonical_measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._types import Floats, GraphLike
    from torelli.graph import MetricGraph

_SATURATED = 0.98  # quantile of the parts of segments that has the strongest shade


@dataclass(frozen=True, eq=False)
class Explanation:
    """The similarity and the distance of two graphs, by edges.

    Let x and y be the vectors of the graphs. The similarity is their inner product, and the distance is
    ``‖x - y‖``. Each vector is a sum over points and segments, or over C1-sets. Their contributions are
    divided among edges, so that the similarity and the squared distance are sums over edges.

    Attributes
    ----------
    graphs
        The two graphs.
    similarity
        The inner product of their vectors.
    squared_distance
        The squared distance between their vectors.
    cosine
        The cosine of the angle between the vectors; 1 if they have the same direction.
    alike
        The contribution of each edge to the similarity, for each graph. The other graph has many edges
        similar to those with large contributions. With `isolated`, the sum over each graph is `similarity`.
    apart
        The contribution of each edge to the squared distance, for each graph. It is positive where this
        graph has more edges of a kind than the other, and negative where it has fewer. With `isolated`,
        the sum over both graphs is `squared_distance`.
    isolated
        The contributions of isolated nodes, which have no edge, to the similarity and to the squared
        distance: one pair for each graph.

    Examples
    --------
    >>> import torelli as tt
    >>> ring, longer = tt.MetricGraph([0], [0], [1.0]), tt.MetricGraph([0], [0], [2.0])
    >>> explanation = tt.explain(ring, longer)
    >>> bool(abs(sum(part.sum() for part in explanation.apart) - explanation.squared_distance) < 1e-9)
    True
    """

    graphs: tuple[MetricGraph, MetricGraph]
    similarity: float
    squared_distance: float
    cosine: float
    alike: tuple[Floats, Floats]
    apart: tuple[Floats, Floats]
    isolated: tuple[tuple[float, float], tuple[float, float]]

    def __str__(self) -> str:
        names = [graph.name or f"graph {i}" for i, graph in enumerate(self.graphs, start=1)]
        return (
            f"{names[0]} and {names[1]}: squared distance {self.squared_distance:.4g}, "
            f"cosine of their vectors {self.cosine:.3f}"
        )


def explain(
    one: GraphLike, other: GraphLike, features: MeasureFeatures | TTMKernel | None = None
) -> Explanation:
    """Return the contribution of each edge to the similarity and to the distance of two graphs.

    Parameters
    ----------
    one, other
        Two graphs: `MetricGraph`, or anything that `as_metric_graph` takes, with the attribute for lengths
        that `features` has.
    features
        Fitted `MeasureFeatures`, such as those of a whole collection, or a fitted `TTMKernel`, whose features
        are taken. By default, new features are fitted to the two graphs.

    Notes
    -----
    If the vectors are sums over edges, ``x = Σ x_e`` and ``y = Σ y_f``, then::

        ⟨x, y⟩ = Σ_e ⟨x_e, y⟩
        ‖x - y‖² = Σ_e ⟨x_e, x - y⟩ + Σ_f ⟨y_f, y - x⟩

    The contribution of a segment is divided among its edges in proportion to length. That of an essential
    point is divided equally among the segment ends there. Isolated points do not contribute to vectors along
    diffusion and returns. Along currents, the contribution of a C1-set is divided among its edges in
    proportion to length.

    Examples
    --------
    >>> from torelli import MetricGraph, explain
    >>> theta = MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> longer = MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 30.0])
    >>> explanation = explain(theta, longer)
    >>> int(explanation.apart[1].argmax())
    2
    """
    if features is not None and not isinstance(features, (MeasureFeatures, TTMKernel)):
        given = features.__name__ if isinstance(features, type) else type(features).__name__
        raise InvalidOptionError(
            f"features is a {given}: give fitted MeasureFeatures or a fitted TTMKernel, such as "
            "TTMKernel().fit(graphs), or None for new features"
        )
    length = "length" if features is None else features.length
    graphs = [as_metric_graph(one, length), as_metric_graph(other, length)]
    if features is None:
        features = MeasureFeatures().fit(graphs)
    elif isinstance(features, TTMKernel):
        features = features.features_
    return explain_pairs(graphs, [(0, 1)], features)[0]


def explain_pairs(
    graphs: Sequence[MetricGraph], pairs: Sequence[tuple[int, int]], features: MeasureFeatures
) -> list[Explanation]:
    """Return the explanation of each pair of graphs, given by their positions; the features are fitted."""
    used = sorted({i for pair in pairs for i in pair})
    vectors = features.transform([graphs[i] for i in used]).astype(np.float64)
    X = dict(zip(used, vectors, strict=True))
    others: dict[int, list[int]] = {}
    for i, j in pairs:
        others.setdefault(i, []).append(j)
        others.setdefault(j, []).append(i)
    # for each graph, the parts of its edges in the products with itself, then with the others
    parts = {
        i: _by_edge(features, graphs[i], np.stack([X[i], *(X[j] for j in near)]))
        for i, near in others.items()
    }
    explanations = []
    for pair in pairs:
        x, y = (X[i] for i in pair)
        alike, apart, isolated = [], [], []
        for i, j in (pair, pair[::-1]):
            by_edge, of_isolated = parts[i]
            k = 1 + others[i].index(j)
            alike.append(by_edge[k])
            apart.append(by_edge[0] - by_edge[k])
            isolated.append((float(of_isolated[k]), float(of_isolated[0] - of_isolated[k])))
        explanations.append(
            Explanation(
                (graphs[pair[0]], graphs[pair[1]]),
                float(x @ y),
                float((x - y) @ (x - y)),
                float(x @ y / max(np.linalg.norm(x) * np.linalg.norm(y), np.finfo(float).tiny)),
                (alike[0], alike[1]),
                (apart[0], apart[1]),
                (isolated[0], isolated[1]),
            )
        )
    return explanations


def shades(explanation: Explanation) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """Return what makes two graphs alike, and what sets them apart, as shades from -1 to 1 for drawings.

    Every edge has the sum over its segment, so that the shade does not depend on how the segment is cut. The
    largest sums have shade 1.
    """

    def of_both(parts: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        one, other = (
            _of_segments(graph, part) for graph, part in zip(explanation.graphs, parts, strict=True)
        )
        limit = float(np.quantile(np.abs(np.concatenate([one, other, [0.0]])), _SATURATED)) or 1.0
        return np.clip(one / limit, -1.0, 1.0), np.clip(other / limit, -1.0, 1.0)

    return of_both(explanation.alike), of_both(explanation.apart)


def _of_segments(graph: MetricGraph, part: Floats) -> Floats:
    """Return for each edge the sum over its segment."""
    segment = canonical_measure(graph).segment
    total: Floats = np.bincount(segment, part, minlength=1).astype(np.float64)
    return total[segment]


def _by_edge(features: MeasureFeatures, graph: MetricGraph, directions: Floats) -> tuple[Floats, Floats]:
    """Return the contribution of each edge to inner products, and those of isolated nodes, by direction."""
    blocks = features.place_contributions(graph, directions)
    measure = canonical_measure(graph)
    nothing = np.zeros(len(directions))
    if features.along == "currents":
        on_cycle = measure.edge_class >= 0
        by_edge = np.zeros((len(directions), graph.n_edges))
        of_class = measure.edge_class[on_cycle]
        by_edge[:, on_cycle] = (
            graph.length[on_cycle] / measure.class_length[of_class] * blocks[0][:, of_class]
        )
        return by_edge, nothing
    share = graph.length / measure.length[measure.segment]
    if features.along != "junctions":
        return blocks[0][:, measure.segment] * share, nothing
    by_segment = blocks[SEGMENTS].copy()
    by_point: Floats = np.sum(blocks[:SEGMENTS] + blocks[SEGMENTS + 1 :], axis=0)
    # essential points come first, in node order, then one point for each circle
    circles = np.flatnonzero(measure.ends[:, 0] < 0)
    n_essential = len(measure.points)
    by_segment[:, circles] += by_point[:, n_essential:]
    at_node = np.zeros((len(directions), graph.n_nodes))
    at_node[:, measure.points] = by_point[:, :n_essential] / np.maximum(measure.degree, 1)
    between = measure.ends[:, 0] >= 0
    by_segment[:, between] += at_node[:, measure.ends[between]].sum(axis=2)
    isolated: Floats = by_point[:, :n_essential][:, measure.degree == 0].sum(axis=1)
    return by_segment[:, measure.segment] * share, isolated
