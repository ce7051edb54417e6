"""Methods of other libraries: the classical kernels of GraKeL, and alternatives to ours that use lengths.

Scales are learned from a list of reference graphs, without labels.
"""

from __future__ import annotations

import math
import time
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from torelli._errors import MissingExtraError, unknown_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torelli._types import Floats, GraphLike, Ints
    from torelli.graph import MetricGraph

BASELINES: dict[str, str] = {
    "EH": "EdgeHistogram",
    "GS": "GraphletSampling",
    "OS": "OddSth",
    "SP": "ShortestPath",
    "WL": "WeisfeilerLehman",
    "kCD": "CoreFramework",
}
"""The paper's six kernels, with the names of their classes in GraKeL."""

SEES_LENGTHS = frozenset({"SP", "kCD"})
"""Kernels whose values depend on the weights of edges; the others see edges and labels only."""

N_POINTS = 50
"""Points along the edges that Gromov-Wasserstein compares."""
N_BASE_POINTS = 16
"""Points along the edges from which extended persistence measures distances."""
N_ELEMENTS = 512
"""Least number of finite elements of a graph."""
N_EIGENVALUES = 128
"""Number of eigenvalues from finite elements; Weyl's law continues them."""
_WEYL = 4096  # eigenvalues in all
_DENSE = 1500  # nodes up to which all eigenvalues are computed
_PIXELS = 10  # of each side of a persistence image
_BINS = 4  # whole units of length in the median length of an edge, for GraKeL


def require_grakel() -> None:
    """Raise an error at the start of a run, not after hours, if GraKeL is missing."""
    if find_spec("grakel") is None:
        raise MissingExtraError("the baselines need GraKeL: pip install 'torelli[bench]'")


def grakel_kernel_matrix(
    graphs: Sequence[MetricGraph], name: str, *, seed: int = 0, others: Sequence[MetricGraph] | None = None
) -> tuple[Floats, float, float]:
    """Return a kernel matrix of GraKeL with default parameters, and the processor time of fit and transform.

    Parameters
    ----------
    graphs
        Graphs to fit. Node and edge labels are constant, weights are the lengths.
    name
        One of `BASELINES`.
    seed
        Seed of graphlet sampling.
    others
        Graphs for the rows of the matrix; by default those of the columns, which are fitted.

    Notes
    -----
    GraKeL represents neither loops nor parallel edges: it gets the shortest of parallel edges and no
    loops. EH refuses a graph without edges, whose histogram is empty; its kernel with any graph is 0.
    The matrix comes from ``transform``. Without `others` it is made symmetric, since graphlet
    sampling draws again.
    """
    if name not in BASELINES:
        raise unknown_option("baseline", name, list(BASELINES))
    require_grakel()
    from grakel import kernels

    columns = _accepted(graphs, name)
    rows = columns if others is None else _accepted(others, name)
    fitted = [for_grakel(graphs[i]) for i in columns]
    transformed = fitted if others is None else [for_grakel(others[i]) for i in rows]
    options = {"random_state": seed} if name == "GS" else {}
    kernel = getattr(kernels, BASELINES[name])(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = time.process_time()
        kernel.fit(fitted)
        between = time.process_time()
        part = np.asarray(kernel.transform(transformed), dtype=np.float64)
        after = time.process_time()
    K = np.zeros((len(graphs if others is None else others), len(graphs)))
    K[np.ix_(rows, columns)] = part
    if others is None:
        K = (K + K.T) / 2.0
    return K, between - before, after - between


def _accepted(graphs: Sequence[MetricGraph], name: str) -> list[int]:
    """Return the positions of the graphs that GraKeL accepts."""
    return [i for i, graph in enumerate(graphs) if name != "EH" or (graph.tail != graph.head).any()]


def for_grakel(graph: MetricGraph) -> GraphLike:
    """Return a graph of GraKeL with constant labels and the lengths as weights."""
    from grakel import Graph

    edges: dict[int, dict[int, float]] = {node: {} for node in range(graph.n_nodes)}
    for a, b, length in zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True):
        if a != b:
            shortest = min(length, edges[a].get(b, np.inf))
            edges[a][b] = edges[b][a] = shortest
    edge_labels = {(a, b): 0 for a, ends in edges.items() for b in ends}
    return Graph(edges, node_labels=dict.fromkeys(edges, 0), edge_labels=edge_labels)


def normalised(K: Floats) -> Floats:
    """Return K(x, y) / sqrt(K(x, x) K(y, y)); a graph without features is similar only to itself."""
    scale = np.sqrt(np.maximum(np.diag(K), 0.0))
    scale[scale == 0.0] = 1.0
    cosine: Floats = K / np.outer(scale, scale)
    np.fill_diagonal(cosine, 1.0)
    return cosine


def grakel_distances(rows: Sequence[MetricGraph], columns: Sequence[MetricGraph], name: str) -> Floats:
    """Return 2 - 2 k between graphs, for a normalised kernel k of GraKeL."""
    both = rows if rows is columns else [*rows, *columns]
    K = normalised(grakel_kernel_matrix(both, name)[0])
    part = K if rows is columns else K[: len(rows), len(rows) :]
    squared: Floats = np.maximum(2.0 - 2.0 * part, 0.0)
    return squared


class Method(NamedTuple):
    """A way to compare graphs.

    Attributes
    ----------
    description
        What it is, for the page.
    represent
        Function of graphs and reference graphs that returns a table of vectors, one row for each graph, or
        a list of other objects.
    squared
        Function of two such lists that returns squared distances. None for vectors whose columns are
        standardised before Euclidean distances are taken.
    is_kernel
        Whether the squared distance is 2 - 2 k, where k is a normalised kernel.
    module
        Library that must be installed, if any.
    """

    description: str
    represent: Callable[[Sequence[MetricGraph], Sequence[MetricGraph]], Any]
    squared: Callable[[Any, Any], Floats] | None = None
    is_kernel: bool = False
    module: str | None = None


class _Refined(NamedTuple):
    """A graph with points added on its edges: the arrays of a `MetricGraph`, and the nodes of the points."""

    tail: Ints
    head: Ints
    length: Floats
    n_nodes: int
    points: Ints

    def distances_from(self, nodes: Ints) -> Floats:
        """Return the distances along edges from some nodes to all; infinite between components."""
        low, high = np.minimum(self.tail, self.head), np.maximum(self.tail, self.head)
        order = np.lexsort((self.length, high, low))
        # of parallel edges the shortest comes first
        first = np.unique(np.stack([low, high])[:, order], axis=1, return_index=True)[1]
        kept = order[first]
        kept = kept[low[kept] != high[kept]]
        ends = low[kept].astype(np.int32), high[kept].astype(np.int32)  # scipy 1.13 takes no wider indices
        streets = sp.csr_array((self.length[kept], ends), shape=(self.n_nodes, self.n_nodes))
        distances: Floats = dijkstra(streets, directed=False, indices=nodes)
        return distances


def refined(graph: MetricGraph, edge: Ints, offset: Floats) -> _Refined:
    """Return a graph with points on its edges, at offsets from their tails strictly inside of them."""
    order = np.lexsort((offset, edge))
    points = np.empty(len(edge), dtype=np.int64)
    points[order] = graph.n_nodes + np.arange(len(edge))
    ends = np.concatenate([edge, np.arange(graph.n_edges), np.arange(graph.n_edges)])
    position = np.concatenate([offset, np.zeros(graph.n_edges), graph.length])
    node = np.concatenate([points, graph.tail, graph.head])
    # stops along each edge, from its tail to its head
    stops = np.lexsort((position, ends))
    same = ends[stops][1:] == ends[stops][:-1]
    tail, head = node[stops][:-1][same], node[stops][1:][same]
    length = (position[stops][1:] - position[stops][:-1])[same]
    return _Refined(tail, head, length, graph.n_nodes + len(edge), points)


def spread_points(graph: MetricGraph, count: int) -> tuple[Ints, Floats]:
    """Return edges and offsets of points that are evenly spread along all edges, one after the other."""
    ends = np.cumsum(graph.length)
    places = (np.arange(count) + 0.5) * (graph.total_length / count)
    edge = np.minimum(np.searchsorted(ends, places, side="right"), graph.n_edges - 1)
    offset = places - (ends[edge] - graph.length[edge])
    inside = np.clip(offset, 1e-9 * graph.length[edge], (1.0 - 1e-9) * graph.length[edge])
    return edge, inside


def metric_spaces(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> list[Floats]:
    """Return the distances between points spread along the edges of each graph.

    Components are as far apart as the graph is long. A graph without edges is one point.
    """
    spaces = []
    for graph in graphs:
        if not graph.n_edges:
            spaces.append(np.zeros((1, 1)))
            continue
        finer = refined(graph, *spread_points(graph, N_POINTS))
        C = finer.distances_from(finer.points)[:, finer.points]
        C[np.isinf(C)] = graph.total_length
        spaces.append((C + C.T) / 2.0)
    return spaces


def gromov_wasserstein(rows: list[Floats], columns: list[Floats]) -> Floats:
    """Return squared Gromov-Wasserstein distances by POT, with equal weights and its defaults."""
    from ot.gromov import gromov_wasserstein2

    weights = {len(C): np.full(len(C), 1.0 / len(C)) for C in (*rows, *columns)}
    squared = np.zeros((len(rows), len(columns)))
    for i, one in enumerate(rows):
        for j, other in enumerate(columns):
            if rows is columns and j <= i:
                squared[i, j] = squared[j, i]
                continue
            value = gromov_wasserstein2(one, other, weights[len(one)], weights[len(other)], "square_loss")
            squared[i, j] = max(float(value), 0.0)
    return squared


def netlsd_shipped(graphs: Sequence[MetricGraph], _reference: Sequence[MetricGraph]) -> Floats:
    """Return NetLSD's heat traces of the graphs, which ignore lengths and parallel edges."""
    import netlsd
    import networkx as nx

    rows = []
    for graph in graphs:
        simple: nx.Graph[int] = nx.Graph()
        simple.add_nodes_from(range(graph.n_nodes))
        simple.add_edges_from(zip(graph.tail.tolist(), graph.head.tolist(), strict=True))
        rows.append(netlsd.heat(simple))
    return np.array(rows)


def netlsd_kirchhoff(graphs: Sequence[MetricGraph], reference: Sequence[MetricGraph]) -> Floats:
    """Return logarithms of NetLSD's heat traces of the Kirchhoff eigenvalues of the metric graphs.

    Lengths are in units of the median length of an edge of the reference graphs.
    """
    import netlsd

    unit = _median_length(reference)
    rows = [netlsd.heat(kirchhoff_eigenvalues(graph) * unit**2, normalization=None) for graph in graphs]
    logarithms: Floats = np.log(np.array(rows))
    return logarithms


def kirchhoff_eigenvalues(graph: MetricGraph) -> Floats:
    """Return eigenvalues of -f'' on the edges, with Kirchhoff's condition at the nodes, ascending.

    Linear finite elements, at least two on each edge and `N_ELEMENTS` in all, give the first
    `N_EIGENVALUES`. Those after them follow Weyl's law, (pi k / total length)². A graph without edges has
    the eigenvalue 0 for each node.
    """
    if not graph.n_edges:
        return np.zeros(max(graph.n_nodes, 1))
    pieces = np.maximum(np.ceil(graph.length / (graph.total_length / N_ELEMENTS)), 2.0).astype(np.int64)
    pieces[graph.tail == graph.head] = np.maximum(pieces[graph.tail == graph.head], 3)
    edge = np.repeat(np.arange(graph.n_edges), pieces - 1)
    step = np.concatenate([np.arange(1, count) / count for count in pieces.tolist()])
    finer = refined(graph, edge, step * graph.length[edge])
    n = finer.n_nodes
    both = np.concatenate([finer.tail, finer.head])
    other = np.concatenate([finer.head, finer.tail])

    def assembled(diagonal: Floats, off: Floats) -> sp.csr_array:
        values = np.concatenate([diagonal, diagonal, off, off])
        places = (np.concatenate([both, both]), np.concatenate([both, other]))
        return sp.csr_array(sp.coo_array((values, places), shape=(n, n)))

    stiffness = assembled(1.0 / finer.length, -1.0 / finer.length)
    mass = assembled(finer.length / 3.0, finer.length / 6.0)
    isolated = np.flatnonzero(mass.diagonal() == 0.0)
    if len(isolated):
        mass = mass + sp.csr_array((np.ones(len(isolated)), (isolated, isolated)), shape=(n, n))
    count = min(N_EIGENVALUES, n)
    if n <= _DENSE:
        values = scipy.linalg.eigh(
            stiffness.toarray(), mass.toarray(), eigvals_only=True, subset_by_index=[0, count - 1]
        )
    else:
        shift = -((math.pi / graph.total_length) ** 2)
        values = np.sort(
            sp.linalg.eigsh(stiffness, count, mass, sigma=shift, return_eigenvectors=False, tol=1e-6)
        )
    # the law holds up to a constant: continue from where the computed ones end
    law = (math.pi / graph.total_length * np.arange(count, _WEYL)) ** 2
    return np.concatenate([np.maximum(values, 0.0), np.maximum(law, values[-1])])


def _median_length(graphs: Sequence[MetricGraph]) -> float:
    lengths = np.concatenate([graph.length for graph in graphs]) if graphs else np.empty(0)
    return float(np.median(lengths)) if len(lengths) else 1.0


def persistence_images(graphs: Sequence[MetricGraph], reference: Sequence[MetricGraph]) -> Floats:
    """Return images of the extended persistence of the distance to base points, averaged over these.

    The distance to a point has no other minima, so two kinds of pairs say everything: cycles (extended)
    and branches (relative). The third entry is the largest distance. Images have the size of the largest
    distances in the reference graphs.
    """
    from gudhi.representations import PersistenceImage

    reach = float(np.median([_reach(graph) for graph in reference])) or 1.0
    image = PersistenceImage(
        bandwidth=0.2 * reach,
        weight=lambda pair: pair[1] / reach,
        resolution=[_PIXELS, _PIXELS],
        im_range=[0.0, 2.0 * reach, 0.0, 2.0 * reach],
    )
    rows = []
    for cycles, branches, largest in map(extended_persistence, graphs):
        images = [
            image(pairs) / N_BASE_POINTS if len(pairs) else np.zeros(_PIXELS**2)
            for pairs in (cycles, branches)
        ]
        rows.append(np.concatenate([*images, [largest / reach]]))
    return np.array(rows)


def extended_persistence(graph: MetricGraph) -> tuple[Floats, Floats, float]:
    """Return pairs (lower, upper) of cycles and of branches, over all base points, and the mean reach.

    Each base point sees its own component.
    """
    import gudhi

    cycles: list[Any] = []
    branches: list[Any] = []
    reaches: list[float] = []
    if not graph.n_edges:
        return np.empty((0, 2)), np.empty((0, 2)), 0.0
    base_edge, base_offset = spread_points(graph, N_BASE_POINTS)
    # two more points on every edge: a simplicial complex has neither loops nor parallel edges
    edge = np.concatenate([base_edge, np.repeat(np.arange(graph.n_edges), 2)])
    thirds = np.tile([1.0 / 3.0, 2.0 / 3.0], graph.n_edges) * np.repeat(graph.length, 2)
    finer = refined(graph, edge, np.concatenate([base_offset, thirds]))
    for distance in finer.distances_from(finer.points[: len(base_edge)]):
        here = np.isfinite(distance[finer.tail])
        tail, head, length = finer.tail[here], finer.head[here], finer.length[here]
        # the farthest point of an edge may lie inside of it
        inside = (distance[head] - distance[tail] + length) / 2.0
        top = (inside > 0.0) & (inside < length) & (length > 0.0)
        tops = finer.n_nodes + np.arange(np.count_nonzero(top))
        value = np.concatenate([distance, (distance[tail] + inside)[top]])
        ends = np.concatenate(
            [
                np.stack([tail[~top], head[~top]]),
                np.stack([tail[top], tops]),
                np.stack([tops, head[top]]),
            ],
            axis=1,
        )
        ends = ends[:, ends[0] != ends[1]]
        nodes = np.unique(ends)
        tree = gudhi.SimplexTree()
        tree.insert_batch(nodes[None, :], value[nodes])
        tree.insert_batch(ends, value[ends].max(axis=0))
        tree.extend_filtration()
        _, relative, _, extended = tree.extended_persistence(min_persistence=0.0)
        branches += [pair for _, pair in relative]
        cycles += [pair for dimension, pair in extended if dimension == 1]
        reaches.append(float(value[nodes].max()))
    return _pairs(cycles), _pairs(branches), float(np.mean(reaches))


def _reach(graph: MetricGraph) -> float:
    """Return the largest distance of a node from a base point, averaged over the base points."""
    if not graph.n_edges:
        return 0.0
    finer = refined(graph, *spread_points(graph, N_BASE_POINTS))
    distances = finer.distances_from(finer.points)
    return float(np.where(np.isfinite(distances), distances, 0.0).max(axis=1).mean())


def _pairs(pairs: list[tuple[float, float]]) -> Floats:
    return np.sort(np.array(pairs, dtype=np.float64).reshape(-1, 2), axis=1)


def in_whole_units(graphs: Sequence[MetricGraph], reference: Sequence[MetricGraph]) -> list[MetricGraph]:
    """Return graphs with lengths in whole units, a quarter of the median length of an edge."""
    unit = _median_length(reference) / _BINS
    return [graph.replace(length=np.maximum(np.round(graph.length / unit), 1.0)) for graph in graphs]


def shortest_paths(rows: list[MetricGraph], columns: list[MetricGraph]) -> Floats:
    """Return 2 - 2 k for GraKeL's kernel k of shortest paths, normalised."""
    return grakel_distances(rows, columns, "SP")


RIVALS: dict[str, Method] = {
    "GW": Method(
        f"Gromov-Wasserstein distance (POT) between {N_POINTS} points spread evenly along the edges of each "
        "graph, with shortest paths between them",
        metric_spaces,
        gromov_wasserstein,
        module="ot",
    ),
    "NetLSD": Method(
        "NetLSD as shipped: heat trace of the normalised Laplacian, without lengths",
        netlsd_shipped,
        module="netlsd",
    ),
    "NetLSD, Kirchhoff": Method(
        "NetLSD's heat trace of the Kirchhoff eigenvalues of the metric graph: "
        f"{N_EIGENVALUES} from at least {N_ELEMENTS} linear finite elements, continued by Weyl's law",
        netlsd_kirchhoff,
        module="netlsd",
    ),
    "persistence": Method(
        f"extended persistence (gudhi) of the distance to each of {N_BASE_POINTS} base points spread evenly "
        "along the edges, as persistence images of cycles and of branches",
        persistence_images,
        module="gudhi",
    ),
    "SP, lengths": Method(
        "GraKeL's shortest-path kernel with lengths in whole units, a quarter of the median length of an "
        "edge, because exact lengths never agree",
        in_whole_units,
        shortest_paths,
        is_kernel=True,
        module="grakel",
    ),
}
"""The methods by name."""
