"""Why two graphs are similar or different: similarity and distance as sums over their edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import InvalidOptionError
from torelli._waves import SEGMENTS
from torelli.features import MeasureFeatures
from torelli.io import as_metric_graph
from torelli.measure import canonical_measure

if TYPE_CHECKING:
    from torelli._types import Floats, GraphLike
    from torelli.graph import MetricGraph


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


def explain(one: GraphLike, other: GraphLike, features: MeasureFeatures | None = None) -> Explanation:
    """Return the contribution of each edge to the similarity and to the distance of two graphs.

    Parameters
    ----------
    one, other
        Two graphs: `MetricGraph`, or anything that `as_metric_graph` takes, with the attribute for lengths
        that `features` has.
    features
        Fitted `MeasureFeatures`, such as those of a whole collection. By default, new features are fitted
        to the two graphs.

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
    if features is not None and not isinstance(features, MeasureFeatures):
        raise InvalidOptionError(
            f"features is a {type(features).__name__}: give fitted MeasureFeatures, or None for new ones"
        )
    length = "length" if features is None else features.length
    graphs = as_metric_graph(one, length), as_metric_graph(other, length)
    if features is None:
        features = MeasureFeatures().fit(list(graphs))
    x, y = features.transform(list(graphs)).astype(np.float64)
    difference = x - y
    parts = [
        (_by_edge(features, graph, direction), _by_edge(features, graph, sign * difference))
        for graph, direction, sign in ((graphs[0], y, 1.0), (graphs[1], x, -1.0))
    ]
    (alike, apart), (other_alike, other_apart) = parts
    return Explanation(
        graphs,
        float(x @ y),
        float(difference @ difference),
        float(x @ y / max(np.linalg.norm(x) * np.linalg.norm(y), np.finfo(float).tiny)),
        (alike[0], other_alike[0]),
        (apart[0], other_apart[0]),
        ((alike[1], apart[1]), (other_alike[1], other_apart[1])),
    )


def _by_edge(features: MeasureFeatures, graph: MetricGraph, direction: Floats) -> tuple[Floats, float]:
    """Return the contribution of each edge to an inner product, and the contribution of isolated nodes."""
    blocks = features.place_contributions(graph, direction)
    measure = canonical_measure(graph)
    if features.along == "currents":
        on_cycle = measure.edge_class >= 0
        by_edge = np.zeros(graph.n_edges)
        of_class = measure.edge_class[on_cycle]
        by_edge[on_cycle] = graph.length[on_cycle] / measure.class_length[of_class] * blocks[0][of_class]
        return by_edge, 0.0
    share = graph.length / measure.length[measure.segment]
    if features.along != "junctions":
        return blocks[0][measure.segment] * share, 0.0
    by_segment = blocks[SEGMENTS].copy()
    by_point: Floats = np.sum(blocks[:SEGMENTS] + blocks[SEGMENTS + 1 :], axis=0)
    # essential points come first, in node order, then one point for each circle
    circles = np.flatnonzero(measure.ends[:, 0] < 0)
    n_essential = len(measure.points)
    by_segment[circles] += by_point[n_essential:]
    at_node = np.zeros(graph.n_nodes)
    at_node[measure.points] = by_point[:n_essential] / np.maximum(measure.degree, 1)
    between = measure.ends[:, 0] >= 0
    by_segment[between] += at_node[measure.ends[between]].sum(axis=1)
    isolated = float(by_point[:n_essential][measure.degree == 0].sum())
    return by_segment[measure.segment] * share, isolated
