"""Data of the explorer's page: thumbnails, matrices, the map, and similarities by each kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from torelli._drawing import NOT_DRAWN, pair_arrays, starts, thumbnail_arrays, thumbnails
from torelli._errors import InvalidOptionError
from torelli._geo import METRES_PER_DEGREE, is_geographic
from torelli._registry import default_kernels, get_kernel
from torelli.explanation import explain_pairs, shades
from torelli.explore.map_layout import GRID, MapLayout, lay_out_map
from torelli.explore.networks import of_one_place, same_for_kernel, same_point
from torelli.features import MeasureFeatures
from torelli.kernel_matrix import principal_components, resolve_gamma
from torelli.kernels import TTEKernel
from torelli.representation import Representation, options_by_kernel, squared_graph_distances
from torelli.webpage import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli._drawing import Thumbnail
    from torelli._numerics.threads import Progress
    from torelli._types import Along, Bridges, Floats, Ints
    from torelli.explore.map_layout import Frame
    from torelli.explore.networks import NetworkSet
    from torelli.graph import MetricGraph

    Arrays = dict[str, NDArray[Any]]

N_NEIGHBOURS = 10
"""Number of similar places shown for each network."""
MAX_ROWS = 40
"""Number of rows of Q shown."""
N_COMPONENTS = 16
"""Number of kernel principal components, for clusters and for estimates of similarity."""
MAX_EXACT = 1_200
"""Largest number of networks for which the page has all similarities; above, it estimates them."""

_DEFAULT_CLUSTERS = 5
_MAX_CLUSTERS = 8
_SEGMENTS = 600_000  # of all thumbnails, shared evenly
_MIN_SEGMENTS, _MAX_SEGMENTS = 300, 20_000  # of one thumbnail
_MEASURED = (0.99, 3.0)  # ratios of length to straight line where both are in one unit
_PLACE_DIGITS = 7  # of longitude and latitude: a centimetre
_LEVELS = 255
_Q_LEVELS = 127
_NO_NEIGHBOUR = 2**32 - 1
_EXPLAINED = "ttm"  # the kernel whose vectors are sums over edges
_SHADES = 1_200_000  # of all pairs that are explained
_PAIRS = 200  # explained at a time


def page_data(
    networks: NetworkSet,
    *,
    kernels: Sequence[str] | None = None,
    bridges: Bridges = "ignore",
    along: Along | None = None,
    max_genus: int | None = None,
    clusters: int | None = None,
    command: str | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> dict[str, Any]:
    """Return the data for the page's script; its arrays are packed into one text.

    The parameters are those of `torelli.explore.explorer_page`.
    """
    n = len(networks)
    variant: dict[str, Any] = {} if along is None else {"along": along}
    options_of = options_by_kernel(default_kernels() if kernels is None else kernels, variant)
    drawn = thumbnails(
        networks.graphs,
        max_segments=int(np.clip(_SEGMENTS // n, _MIN_SEGMENTS, _MAX_SEGMENTS)),
        progress=None if progress is None else progress(f"drawing {n:,} networks"),
    )
    frames = _frames(networks, drawn)
    layout = lay_out_map(networks, frames)
    arrays: Arrays = {
        "place": layout.xy.astype(np.float32),
        "place.same": same_point(layout.xy).astype(np.uint32),
        "frame": layout.frames.astype(np.float32),
        **thumbnail_arrays(drawn),
    }
    one_place = of_one_place(networks.graphs)
    options = {"bridges": bridges, "max_genus": max_genus, "truncation": "leading"}
    matrices = Representation(TTEKernel.entry, networks.graphs, options, n_jobs)
    arrays |= _matrix_arrays(matrices(networks.graphs))
    n_clusters = _n_clusters(networks, clusters)
    views = []
    for kernel, own in options_of.items():
        entry = get_kernel(kernel).entry
        show = None if progress is None else progress(f"{kernel.upper()} distances of {n:,} networks")
        squared = squared_graph_distances(
            networks.graphs,
            None,
            kernel,
            n_jobs=n_jobs,
            verbose=show or False,
            representation=matrices if entry.representation is TTEKernel.entry.representation else None,
            **own,
        )
        view = kernel_view(squared, networks.cities, n_clusters, one_place)
        arrays |= {f"{kernel}.{name}": array for name, array in view.arrays(exact=n <= MAX_EXACT).items()}
        if kernel == _EXPLAINED:
            arrays |= _explained(networks.graphs, drawn, view.near, MeasureFeatures(**own), progress)
        views.append(
            {
                "key": kernel,
                "label": kernel.upper() + entry.variant(own),
                "title": entry.title,
                "description": entry.description,
                "share": view.share[:2].tolist(),
            }
        )
    summaries = [graph.summary() for graph in networks.graphs]
    return {
        "names": networks.names,
        "classes": _categories(networks.classes),
        "cities": _categories(networks.cities),
        "clusters": n_clusters,
        "bridges": bridges,
        "kernels": views,
        "exact": n <= MAX_EXACT,
        "figures": {
            "nodes": [summary.n_nodes for summary in summaries],
            "edges": [summary.n_edges for summary in summaries],
            "genus": [summary.genus for summary in summaries],
            "bridges": [summary.n_bridges for summary in summaries],
            "ties": [summary.n_ties for summary in summaries],
            "length": [float(f"{summary.total_length:.6g}") for summary in summaries],
            "unit": [summary.unit or "" for summary in summaries],
        },
        "lonlat": _rounded_places(networks),
        "frames": frames if networks.geographic else None,
        "sides": _sides(networks, frames),
        "rows": networks.rows,
        "command": command,
        "simplified": [index for index, one in enumerate(drawn) if one.simplified],
        "panels": _panels(layout, arrays, geographic=networks.geographic),
        "note": layout.note,
        "grid": GRID,
        "arrays": pack(arrays),
    }


@dataclass(frozen=True)
class KernelView:
    """Similarities, components and clusters of networks by one kernel.

    Attributes
    ----------
    near, elsewhere
        The networks most similar to each, among all and among those of other cities.
    same
        For each network, the first network that this kernel cannot tell apart from it.
    components
        Kernel principal components.
    share
        Each component's share of the total variance.
    cluster
        The cluster of each network; 0 is the largest.
    kernel
        The kernel matrix.
    """

    near: Neighbours
    elsewhere: Neighbours
    same: Ints
    components: Floats
    share: Floats
    cluster: NDArray[np.uint8]
    kernel: Floats

    @property
    def residual(self) -> Floats:
        """Squared distance of each network from the span of the components, in the feature space."""
        K = self.kernel
        norms = np.diag(K) - 2 * K.mean(axis=1) + K.mean()
        rest: Floats = norms - np.square(self.components).sum(axis=1)
        return rest

    def arrays(self, *, exact: bool) -> Arrays:
        """Return the arrays of the page: with the similarity of every pair if `exact`, else for estimates."""
        arrays: Arrays = {
            "same": self.same.astype(np.uint32),
            "cluster": self.cluster,
        }
        for kind, neighbours in (("near", self.near), ("elsewhere", self.elsewhere)):
            arrays |= {
                kind: neighbours.rows,
                f"{kind}_distance": neighbours.distances,
                f"{kind}_count": neighbours.counts,
            }
        if exact:
            arrays["xy"] = self.components[:, :2].astype(np.float32)
            upper = self.kernel[np.triu_indices_from(self.kernel, 1)]
            arrays["similarity"] = np.rint(upper * _LEVELS).astype(np.uint8)
        else:
            arrays["xy"] = self.components.astype(np.float32)
            arrays["residual"] = self.residual.astype(np.float32)
        return arrays


@dataclass(frozen=True)
class Neighbours:
    """The networks most similar to each network, nearest first; networks that belong together count once.

    Attributes
    ----------
    rows
        The nearest network of each entry; 4294967295 where there are fewer entries than columns.
    distances
        Their distances; 0 where there is no entry.
    counts
        How many networks each entry stands for; 0 where there is no entry.
    """

    rows: NDArray[np.uint32]
    distances: NDArray[np.float32]
    counts: NDArray[np.uint32]


def kernel_view(
    squared: Floats, cities: list[str] | None, n_clusters: int, one_place: NDArray[np.bool_]
) -> KernelView:
    """Return how a kernel compares networks, from their squared distances.

    Parameters
    ----------
    squared
        The squared distances of all pairs.
    cities
        The city of each network, if they have any.
    n_clusters
        Number of clusters.
    one_place
        For each pair, whether the networks are of one place, as `of_one_place` returns it.
    """
    kernel = np.exp(-resolve_gamma("median", squared) * squared)
    # the problems are small, and threads of BLAS and OpenMP would only wait for each other
    with threadpool_limits(1):
        components, share = principal_components(kernel, N_COMPONENTS)
        cluster = _clusters(components, n_clusters)
    other_city = None if cities is None else np.array(cities)[:, None] != np.array(cities)
    same = same_for_kernel(squared)
    together = one_place | (same[:, None] == same)
    return KernelView(
        nearest(squared, None, together),
        nearest(squared, other_city, together),
        same,
        components,
        share,
        cluster,
        kernel,
    )


def nearest(squared: Floats, allowed: NDArray[np.bool_] | None, together: NDArray[np.bool_]) -> Neighbours:
    """Return the other networks that are most similar to each, nearest first.

    The nearest network stands for itself and for all that are together with it, and so on with the rest. If
    it is together with the network itself, it stands for all that are. Of equal distances, the network with
    the lower index comes first.

    Parameters
    ----------
    squared
        The squared distances of all pairs.
    allowed
        For each pair, whether the second may be a neighbour of the first; by default all may.
    together
        For each pair, whether they are shown as one entry.
    """
    n = len(squared)
    candidates = squared.copy()
    np.fill_diagonal(candidates, np.inf)
    if allowed is not None:
        candidates[~allowed] = np.inf
    order = np.argsort(candidates, axis=1, kind="stable")
    shape = (n, min(N_NEIGHBOURS, n - 1))
    rows = np.full(shape, _NO_NEIGHBOUR, np.uint32)
    distances, counts = np.zeros(shape, np.float32), np.zeros(shape, np.uint32)
    for i in range(n):
        left = order[i, : int(np.isfinite(candidates[i]).sum())]
        for k in range(shape[1]):
            if not len(left):
                break
            first = int(left[0])
            members = together[first, left]
            if together[i, first]:
                members = members | together[i, left]
            members[0] = True
            rows[i, k], counts[i, k] = first, members.sum()
            distances[i, k] = np.sqrt(candidates[i, first])
            left = left[~members]
    return Neighbours(rows, distances, counts)


def _explained(
    graphs: list[MetricGraph],
    drawn: Sequence[Thumbnail],
    near: Neighbours,
    features: MeasureFeatures,
    progress: Callable[[str], Progress] | None,
) -> Arrays:
    """Return what makes each network and those most similar to it alike, and what sets them apart.

    As many of the most similar networks are explained as fit on the page, the same number for each.
    """
    size = np.array([len(one.tail) for one in drawn])
    chosen: list[tuple[int, int]] = []
    for count in range(1, near.rows.shape[1] + 1):
        pairs = [
            (i, int(j))
            for i, row in enumerate(near.rows[:, :count])
            for j in row
            if j != _NO_NEIGHBOUR and NOT_DRAWN is not drawn[i] and NOT_DRAWN is not drawn[j]
        ]
        if 2 * sum(int(size[i] + size[j]) for i, j in pairs) > _SHADES:
            break
        chosen = pairs
    if not chosen:
        return {}
    show = None if progress is None else progress(f"explaining {len(chosen):,} pairs")
    features.fit(graphs)
    parts = []
    for i in range(0, len(chosen), _PAIRS):
        parts += [shades(one) for one in explain_pairs(graphs, chosen[i : i + _PAIRS], features)]
        if show is not None:
            show(len(parts) / len(chosen))
    return dict(pair_arrays(drawn, chosen, parts))


def _n_clusters(networks: NetworkSet, clusters: int | None) -> int:
    largest = min(_MAX_CLUSTERS, len(networks))
    if clusters is None:
        n_classes = len(set(networks.classes or ()))
        return min(n_classes if 1 < n_classes <= _MAX_CLUSTERS else _DEFAULT_CLUSTERS, largest)
    if not 1 <= clusters <= largest:
        raise InvalidOptionError(f"clusters is {clusters}: use 1 to {largest}")
    return clusters


def _clusters(components: Floats, n_clusters: int) -> NDArray[np.uint8]:
    """Return the k-means cluster of each network by its components, numbered by decreasing size."""
    # equal networks have equal components up to about 1e-8, a root of the rounding error of eigenvalues
    points = components.round(6)
    k = min(n_clusters, len(np.unique(points, axis=0)))
    labels = KMeans(k, n_init=4, random_state=0).fit_predict(points)
    order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")
    rank = np.empty(k, np.uint8)
    rank[order] = np.arange(k)
    clusters: NDArray[np.uint8] = rank[labels]
    return clusters


def _matrix_arrays(matrices: list[Floats]) -> Arrays:
    """Return the leading rows of each Torelli matrix: its lower triangle in 1/127 of the largest entry."""
    parts, scales = [], []
    for Q in matrices:
        lower = Q[:MAX_ROWS, :MAX_ROWS][np.tril_indices(min(len(Q), MAX_ROWS))]
        scale = float(np.abs(lower).max(initial=0.0))
        scales.append(scale)
        parts.append(np.rint(lower * (_Q_LEVELS / (scale or 1.0))).astype(np.int8))
    return {
        "q": np.concatenate(parts),
        "q.starts": starts([len(part) for part in parts]),
        "q.rows": np.array([len(Q) for Q in matrices], np.uint32),
        "q.scale": np.array(scales, np.float32),
    }


def _categories(labels: list[str] | None) -> dict[str, Any] | None:
    """Return the distinct labels, sorted (as numbers if all of them are), and the index of each entry's."""
    if labels is None:
        return None
    all_whole = all(re.fullmatch(r"-?[0-9]{1,18}", label) for label in labels)
    names = sorted(set(labels), key=int if all_whole else None)
    index = {name: position for position, name in enumerate(names)}
    return {"names": names, "of": [index[label] for label in labels]}


def _rounded_places(networks: NetworkSet) -> list[list[float] | None] | None:
    if not networks.geographic or not np.isfinite(networks.places).any():
        return None
    return [[round(x, 5), round(y, 5)] if np.isfinite(x + y) else None for x, y in networks.places.tolist()]


def _frames(networks: NetworkSet, drawn: Sequence[Thumbnail]) -> list[Frame | None]:
    """Return the corners of each drawing in the coordinates of the map; None if it has others."""
    frames: list[Frame | None] = []
    for graph, one in zip(networks.graphs, drawn, strict=True):
        if one.frame is None or (networks.geographic and not is_geographic(graph.crs)):
            frames.append(None)
        else:
            west, south, east, north = np.round(one.frame, _PLACE_DIGITS).tolist()
            frames.append((west, south, east, north))
    return frames


def _sides(networks: NetworkSet, frames: Sequence[Frame | None]) -> list[tuple[float, str] | None]:
    """Return the length of the side of each drawing and its unit; None if it is not known.

    Coordinates that are not longitude and latitude have the unit of the lengths if the edges are about as
    long as the straight lines between their ends.
    """
    sides: list[tuple[float, str] | None] = []
    for graph, frame in zip(networks.graphs, frames, strict=True):
        if frame is None or graph.coordinates is None:
            sides.append(None)
            continue
        height = frame[3] - frame[1]
        if networks.geographic:
            sides.append((float(f"{height * METRES_PER_DEGREE:.4g}"), "m"))
            continue
        points = graph.coordinates
        straight = float(np.linalg.norm(points[graph.tail] - points[graph.head], axis=1).sum())
        measured = straight > 0 and _MEASURED[0] < graph.total_length / straight < _MEASURED[1]
        sides.append((float(f"{height:.4g}"), graph.unit or "") if measured else None)
    return sides


def _panels(layout: MapLayout, arrays: Arrays, *, geographic: bool) -> list[dict[str, Any]]:
    """Return name, corner and side of each panel, and add its streets to the arrays."""
    panels = []
    for index, panel in enumerate(layout.panels):
        arrays[f"streets.{index}"] = panel.streets.ravel()
        side = float(f"{panel.side:.6g}")
        unit = "m" if geographic else ""
        panels.append({"name": panel.name, "corner": panel.corner, "side": side, "unit": unit})
    return panels
