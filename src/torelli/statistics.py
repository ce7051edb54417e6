"""Plain figures of street networks: the lines to hold the kernels against."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from torelli._errors import Fault, InvalidGraphError, InvalidOptionError, unknown_option
from torelli.datasets._windows import GEOGRAPHIC, metres_from
from torelli.io import as_metric_graphs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

    Floats = NDArray[np.float64]

_IMPLAUSIBLE = 1000.0  # streets this many times longer than the straight line: units do not agree


class StreetStatistics(TransformerMixin, BaseEstimator):
    """Plain statistics of street networks: one row a graph, one column a feature.

    What a street network says without its cycles, and what an urban scientist would try first. Chain
    it with `sklearn.preprocessing.StandardScaler` and a classifier.

    Parameters
    ----------
    features
        Columns, of `STREET_FEATURES`; by default all but the genus. ``("genus",)`` is the genus alone.
    area
        Area of each network in squares of the unit of length, for the densities: a number for all of
        them (a window's own, such as ``(2 * r) ** 2``), or ``"box"``, the bounding box of the nodes.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.

    Notes
    -----
    - ``node_density``: nodes per area; ``edge_density``: length per area;
    - ``mean_length``, ``length_spread``: mean and standard deviation of the lengths of edges;
    - ``dead_end_share``: part of the nodes with one edge end; ``mean_degree``: edge ends per node;
    - ``circuity``: total length over the total of the straight lines between the ends;
    - ``genus``: independent cycles.

    Nodes with two edge ends count like others: unlike the kernels, all but the genus, the length per area
    and (nearly) the circuity change if an edge is cut in two. A graph without edges has lengths of 0 and a
    circuity of 1. Box, straight lines and so three of the features need coordinates: in degrees if
    the reference system is geographic (lengths are then in metres), else in the unit of the lengths.

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

    def fit(self, X: Sequence[Any], y: object = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Check the options; there is nothing to learn."""
        self._chosen()
        return self

    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the features of each graph."""
        functions = [_FEATURES[name] for name in self._chosen()]
        networks = [
            _Network(graph, self.area, at) for at, graph in enumerate(as_metric_graphs(X, self.length))
        ]
        return np.array([[function(network) for function in functions] for network in networks])

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:  # noqa: ARG002
        """Return the names of the columns."""
        return np.array(self._chosen(), dtype=object)

    def _chosen(self) -> list[str]:
        if isinstance(self.area, str) and self.area != "box":
            raise unknown_option("area", self.area, ["box", "a number"])
        if not isinstance(self.area, str) and not 0 < self.area < np.inf:
            raise InvalidOptionError(f"area is {self.area!r}: use a positive number or 'box'")
        if isinstance(self.features, str):
            raise InvalidOptionError(
                f"features is {self.features!r}: give a list, such as [{self.features!r}]"
            )
        chosen = list(STREET_FEATURES[:-1] if self.features is None else self.features)
        if not chosen:
            raise InvalidOptionError(f"features is empty: give some of {', '.join(STREET_FEATURES)}")
        for name in chosen:
            if name not in _FEATURES:
                raise unknown_option("feature", name, STREET_FEATURES)
        return chosen

    def __sklearn_is_fitted__(self) -> bool:
        return True


class _Network:
    """A graph with what several features need, and its position for messages."""

    def __init__(self, graph: MetricGraph, area: float | Literal["box"], at: int) -> None:
        self.graph = graph
        self.at = at
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
        if graph.crs is None or graph.crs.upper() not in GEOGRAPHIC or not graph.n_nodes:
            return graph.coordinates[:, :2]
        lon, lat = graph.coordinates[0, :2].tolist()
        return metres_from(graph, (lat, lon))

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
        """Return total length over the total of straight lines; edges whose ends coincide have none."""
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
        return InvalidGraphError([Fault(problem, remedy, graph=self.at, name=self.graph.name)])


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
"""The features that `StreetStatistics` knows."""
