"""Statistics of graphs: features that serve as baselines for the kernels, and figures of a data set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from torelli._errors import Fault, InvalidGraphError, InvalidOptionError, quoted, unknown_option
from torelli._estimators import GraphFeatures
from torelli._geo import east_north, is_geographic, out_of_range
from torelli._numerics.core import bridge_chains, segments
from torelli._units import metres
from torelli._validate import is_positive
from torelli.io import as_metric_graphs
from torelli.matrix import torelli_matrices
from torelli.model import canonical_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torelli._types import Floats
    from torelli.graph import MetricGraph

Sparsity = Literal["S", "SS", "D"]
_LENGTHS = ("segment", "cycle", "c1_set", "chain")
_COUNTS = ("genus", "components", "c1_sets", "chains", "leaves", "degree_3", "degree_4", "degree_5_or_more")
_DEGREES = (1, 3, 4)  # counted one by one; larger degrees are counted together
_DECILES = (0.1, 0.3, 0.5, 0.7, 0.9)
_IMPLAUSIBLE = 1000.0  # streets this many times longer than the straight line suggest different units


class StreetStatistics(GraphFeatures):
    """Plain statistics of street networks: one row for each graph, one column for each feature.

    What an urban scientist would try first, without looking at cycles. Chain it with
    `sklearn.preprocessing.StandardScaler` and a classifier.

    Parameters
    ----------
    features
        Columns, from `STREET_FEATURES`; by default all but the genus. ``("genus",)`` is the genus alone.
    area
        Area of each network in squared units of length, for the densities: a number for all of
        them (that of a window, such as ``(2 * r) ** 2``), or ``"box"``, the bounding box of the nodes.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.

    Notes
    -----
    - ``node_density``: nodes per area; ``edge_density``: length per area;
    - ``mean_length``, ``length_spread``: mean and standard deviation of the lengths of edges;
    - ``dead_end_share``: share of nodes with one edge end; ``mean_degree``: edge ends per node;
    - ``circuity``: total length divided by the total straight-line distance between the ends of edges;
    - ``genus``: independent cycles.

    Nodes with two edge ends count like others. Unlike the kernels, all features but the genus, the edge
    density and (nearly) the circuity therefore change if an edge is cut in two. A graph without edges has
    lengths of 0 and a circuity of 1. The bounding box and the straight lines need coordinates: in degrees
    if the reference system is geographic (lengths are then in metres, unless the graph states another
    unit), else in the unit of the lengths.

    References
    ----------
    Boeing, OSMnx: new methods for acquiring, constructing, analyzing, and visualizing complex street
    networks (2017), has most of these figures.

    Examples
    --------
    >>> from torelli import MetricGraph
    >>> corners = [[0, 0], [1, 0], [1, 1], [0, 1]]
    >>> square = MetricGraph([0, 1, 2, 3], [1, 2, 3, 0], [1.0] * 4, coordinates=corners)
    >>> StreetStatistics(("genus", "mean_degree", "node_density", "circuity")).fit_transform([square])
    array([[1., 2., 4., 1.]])
    """

    def __init__(
        self,
        features: Sequence[str] | None = None,
        *,
        area: float | Literal["box"] = "box",
        length: str = "length",
    ) -> None:
        self.features = features
        self.area = area
        self.length = length

    def _fit(self, X: Sequence[Any]) -> None:
        del X  # nothing is learned
        self._chosen()

    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the features of each graph."""
        functions = [_FEATURES[name] for name in self._chosen()]
        networks = [
            _Network(graph, self.area, position)
            for position, graph in enumerate(as_metric_graphs(X, self.length))
        ]
        return np.array([[function(network) for function in functions] for network in networks])

    def _feature_names(self) -> list[str]:
        return self._chosen()

    def _check_parameters(self) -> None:
        self._chosen()

    def _chosen(self) -> list[str]:
        if isinstance(self.area, str) and self.area != "box":
            raise unknown_option("area", self.area, ["box", "a number"])
        if not isinstance(self.area, str) and not is_positive(self.area):
            raise InvalidOptionError(f"area is {quoted(self.area)}: use a positive number or 'box'")
        if isinstance(self.features, str):
            raise InvalidOptionError(
                f"features is {quoted(self.features)}: give a list, such as [{quoted(self.features)}]"
            )
        chosen = list(STREET_FEATURES[:-1] if self.features is None else self.features)
        if not chosen:
            raise InvalidOptionError(f"features is empty: give some of {', '.join(STREET_FEATURES)}")
        for name in chosen:
            if name not in STREET_FEATURES:
                raise unknown_option("feature", name, STREET_FEATURES)
        return chosen

    def __sklearn_is_fitted__(self) -> bool:
        return True


class MetricStatistics(GraphFeatures):
    """Statistics of the metric space: one row for each graph, whatever nodes of degree 2 it is drawn with.

    Counts of points and cycles, and the distribution of lengths: the part of `StreetStatistics` that does
    not depend on where edges are cut in two. No coordinates are needed.

    Parameters
    ----------
    scale
        A length that is short for these graphs, in their unit; a length x enters as log(1 + x / scale).
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.

    Notes
    -----
    The columns (`get_feature_names_out`) are log(1 + count) of cycles (the genus), components, C1-sets,
    chains of bridges, leaves, and points where 3, 4, or 5 or more segments end; the share of the total
    length on bridges; deciles 1, 3, 5, 7 and 9 of the lengths of segments (maximal paths through points of
    degree 2), basis cycles, C1-sets and chains of bridges; and the total length of each of these except
    cycles. Lengths are 0 for what a graph does not have.

    Examples
    --------
    >>> from torelli import MetricGraph
    >>> G = MetricGraph([0, 0, 0, 1], [1, 1, 1, 2], [1.0, 2.0, 3.0, 4.0])
    >>> row, finer = MetricStatistics().fit_transform([G, G.subdivide(10)])
    >>> bool(np.allclose(row, finer))
    True
    """

    def __init__(self, *, scale: float = 1.0, length: str = "length") -> None:
        self.scale = scale
        self.length = length

    def _fit(self, X: Sequence[Any]) -> None:
        del X  # nothing is learned
        self._check_parameters()

    def _check_parameters(self) -> None:
        if not is_positive(self.scale):
            raise InvalidOptionError(f"scale is {quoted(self.scale)}: use a positive length")

    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the features of each graph."""
        graphs = as_metric_graphs(X, self.length)
        return np.array(
            [self._row(graph, Q) for graph, Q in zip(graphs, torelli_matrices(graphs), strict=True)]
        )

    def _feature_names(self) -> list[str]:
        deciles = [f"{kind}_decile_{round(10 * decile)}" for kind in _LENGTHS for decile in _DECILES]
        totals = [f"{kind}_total" for kind in _LENGTHS if kind != "cycle"]
        return [*_COUNTS, "bridge_share", *deciles, *totals]

    def _row(self, graph: MetricGraph, Q: Floats) -> list[float]:
        tail, head, length = graph.tail.copy(), graph.head.copy(), graph.length.copy()
        ends = np.bincount(tail, minlength=graph.n_nodes) + np.bincount(head, minlength=graph.n_nodes)
        segment, n_segments = segments(tail, head, graph.n_nodes)
        model = canonical_model(graph)
        chains = bridge_chains(tail, head, length, graph.n_nodes, model.edge_class)[1]
        lengths = {
            "segment": np.bincount(segment, length, minlength=n_segments),
            "cycle": np.diag(Q),
            "c1_set": model.core.length,
            "chain": chains,
        }
        counts = [
            graph.genus,
            graph.n_components,
            model.core.n_edges,
            len(chains),
            *(int(np.count_nonzero(ends == degree)) for degree in _DEGREES),
            int(np.count_nonzero(ends > _DEGREES[-1])),
        ]
        share = float(chains.sum()) / graph.total_length if graph.n_edges else 0.0
        deciles = [
            np.quantile(values, _DECILES) if len(values) else np.zeros(len(_DECILES))
            for values in lengths.values()
        ]
        totals = [values.sum() for kind, values in lengths.items() if kind != "cycle"]
        measured = np.log1p(np.concatenate([*deciles, totals]) / self.scale)
        return [*np.log1p(counts).tolist(), share, *measured.tolist()]

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Network:
    """A graph with what several features need, and its position in the list for messages."""

    def __init__(self, graph: MetricGraph, area: float | Literal["box"], position: int) -> None:
        self.graph = graph
        self.position = position
        self.given_area = area
        self.degree = np.bincount(graph.tail, minlength=graph.n_nodes) + np.bincount(
            graph.head, minlength=graph.n_nodes
        )

    def points(self) -> Floats:
        """Return the nodes on a plane, in the unit of the lengths."""
        graph = self.graph
        if graph.coordinates is None:
            raise self._fault(
                "nodes have no coordinates",
                "give a graph that has them, or features without density and circuity",
            )
        points = graph.coordinates[:, :2]
        if not is_geographic(graph.crs) or not graph.n_nodes:
            return points
        outside = np.count_nonzero(out_of_range(points))
        if outside:
            raise self._fault(
                f"{outside:,} nodes have coordinates that are missing or out of range",
                "give a graph whose nodes have longitude and latitude in degrees",
            )
        lon, lat = points[0].tolist()
        return east_north(points, (lat, lon)) / (metres(graph.unit or "m") or 1.0)

    def area(self) -> float:
        """Return the area that densities refer to."""
        if not isinstance(self.given_area, str):
            return float(self.given_area)
        area = float(np.prod(np.ptp(self.points(), axis=0))) if self.graph.n_nodes else 0.0
        if area <= 0.0:
            raise self._fault(
                "its nodes lie on a line, and the box around them has no area", "give area as a number"
            )
        return area

    def circuity(self) -> float:
        """Return total length over total straight-line distance; loops count in the former only."""
        points, graph = self.points(), self.graph
        straight = float(np.linalg.norm(points[graph.tail] - points[graph.head], axis=1).sum())
        if straight == 0.0:
            return 1.0
        ratio = graph.total_length / straight
        if ratio > _IMPLAUSIBLE:
            raise self._fault(
                f"its edges are {ratio:,.0f} times as long as the straight lines",
                "give coordinates in the unit of the lengths, or crs='EPSG:4326' for degrees",
            )
        return ratio

    def _fault(self, problem: str, remedy: str) -> InvalidGraphError:
        return InvalidGraphError([Fault(problem, remedy, graph=self.position, name=self.graph.name)])


_FEATURES: dict[str, Callable[[_Network], float]] = {
    "node_density": lambda network: network.graph.n_nodes / network.area(),
    "edge_density": lambda network: network.graph.total_length / network.area(),
    "mean_length": lambda network: float(network.graph.length.mean()) if network.graph.n_edges else 0.0,
    "length_spread": lambda network: float(network.graph.length.std()) if network.graph.n_edges else 0.0,
    "dead_end_share": lambda network: float(np.mean(network.degree == 1)) if network.graph.n_nodes else 0.0,
    "mean_degree": lambda network: float(network.degree.mean()) if network.graph.n_nodes else 0.0,
    "circuity": lambda network: network.circuity(),
    "genus": lambda network: float(network.graph.genus),
}
STREET_FEATURES = tuple(_FEATURES)
"""The features of `StreetStatistics`."""


def log_genus_ratio(genus: float, n_nodes: float) -> float:
    """Return log(g / n), the paper's measure of sparsity; minus infinity for trees."""
    return math.log(genus / n_nodes) if genus > 0 else -math.inf


def sparsity_class(genus: float, n_nodes: float) -> Sparsity:
    """Return the paper's class of a graph, or of a data set by its means.

    Sparse (``"S"``) if log(g / n) < 0, semi-sparse (``"SS"``) if it is less than 1, else dense (``"D"``).

    Examples
    --------
    >>> sparsity_class(2.86, 17.93), sparsity_class(33.70, 21.54), sparsity_class(77.76, 19.77)
    ('S', 'SS', 'D')
    """
    ratio = log_genus_ratio(genus, n_nodes)
    if ratio < 0:
        return "S"
    return "SS" if ratio < 1 else "D"


@dataclass(frozen=True)
class SetStatistics:
    """Means and population standard deviations over the graphs of a data set.

    As in the paper's table, nodes without an edge do not count (``n_isolated`` has their number in
    all graphs together), and ``log_ratio`` is the logarithm of the ratio of the means.
    """

    n_graphs: int
    nodes: float
    nodes_std: float
    edges: float
    edges_std: float
    genus: float
    genus_std: float
    n_isolated: int
    matrix_bytes: int

    @property
    def log_ratio(self) -> float:
        """The logarithm of mean genus over mean nodes."""
        return log_genus_ratio(self.genus, self.nodes)

    @property
    def sparsity(self) -> Sparsity:
        """The paper's class of the set."""
        return sparsity_class(self.genus, self.nodes)


def set_statistics(graphs: Sequence[MetricGraph]) -> SetStatistics:
    """Return the figures of the paper's table of data sets for a list of graphs.

    Examples
    --------
    >>> import torelli as tt
    >>> figures = tt.datasets.set_statistics([tt.datasets.grid(2, 2), tt.datasets.grid(3, 3)])
    >>> figures.n_graphs, figures.genus
    (2, 2.5)
    """
    nodes = np.array([n_touched(graph) for graph in graphs], dtype=np.int64)
    edges = np.array([graph.n_edges for graph in graphs], dtype=np.int64)
    genus = np.array([graph.genus for graph in graphs], dtype=np.int64)
    return SetStatistics(
        n_graphs=len(graphs),
        nodes=float(nodes.mean()),
        nodes_std=float(nodes.std()),
        edges=float(edges.mean()),
        edges_std=float(edges.std()),
        genus=float(genus.mean()),
        genus_std=float(genus.std()),
        n_isolated=sum(graph.n_nodes for graph in graphs) - int(nodes.sum()),
        matrix_bytes=8 * int((genus**2).sum()),
    )


def n_touched(graph: MetricGraph) -> int:
    """Return the number of nodes that have an edge."""
    touched = np.zeros(graph.n_nodes, dtype=np.bool_)
    touched[graph.tail] = True
    touched[graph.head] = True
    return int(np.count_nonzero(touched))
