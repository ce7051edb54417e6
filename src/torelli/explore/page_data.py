"""Data of the explorer's page: thumbnails, matrices, the map, and similarities by each kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from torelli._drawing import starts, thumbnail_arrays, thumbnails
from torelli._errors import InvalidOptionError
from torelli._registry import default_kernels, get_kernel
from torelli.explore.map_layout import GRID, MapLayout, lay_out_map
from torelli.kernel_matrix import principal_components, resolve_gamma
from torelli.kernels import Representation, TTEKernel, squared_graph_distances
from torelli.webpage import pack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Bridges, Floats
    from torelli.explore.networks import NetworkSet

    Arrays = dict[str, NDArray[Any]]

N_NEIGHBOURS = 10
"""Number of similar networks shown for each network."""
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
_LEVELS = 255
_Q_LEVELS = 127
_NO_NEIGHBOUR = 2**32 - 1


def page_data(
    networks: NetworkSet,
    *,
    kernels: Sequence[str] | None = None,
    bridges: Bridges = "ignore",
    max_genus: int | None = None,
    clusters: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> dict[str, Any]:
    """Return the data for the page's script; its arrays are packed into one text.

    The parameters are those of `torelli.explore.explorer_page`.
    """
    n = len(networks)
    layout = lay_out_map(networks)
    drawn = thumbnails(
        networks.graphs,
        max_segments=int(np.clip(_SEGMENTS // n, _MIN_SEGMENTS, _MAX_SEGMENTS)),
        progress=None if progress is None else progress(f"drawing {n:,} networks"),
    )
    arrays: Arrays = {"place": layout.xy.astype(np.float32), **thumbnail_arrays(drawn)}
    options = {"bridges": bridges, "max_genus": max_genus, "truncation": "leading"}
    matrices = Representation(TTEKernel.entry, networks.graphs, options, n_jobs)
    arrays |= _matrix_arrays(matrices(networks.graphs))
    n_clusters = _n_clusters(networks, clusters)
    views = []
    for kernel in default_kernels() if kernels is None else kernels:
        entry = get_kernel(kernel).entry
        show = None if progress is None else progress(f"{kernel.upper()} distances of {n:,} networks")
        squared = squared_graph_distances(
            networks.graphs,
            None,
            kernel,
            n_jobs=n_jobs,
            verbose=show or False,
            representation=matrices if entry.representation is TTEKernel.entry.representation else None,
        )
        view = kernel_view(squared, networks.cities, n_clusters)
        arrays |= {f"{kernel}.{name}": array for name, array in view.arrays(exact=n <= MAX_EXACT).items()}
        views.append(
            {
                "key": kernel,
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
    near, near_distance
        The networks most similar to each, nearest first, and their distances.
    elsewhere, elsewhere_distance
        The same among networks of other cities; if there are fewer, 4294967295 and 0.
    components
        Kernel principal components.
    share
        Share of the total variance of each component.
    cluster
        The cluster of each network; 0 is the largest.
    kernel
        The kernel matrix.
    """

    near: NDArray[np.uint32]
    near_distance: NDArray[np.float32]
    elsewhere: NDArray[np.uint32]
    elsewhere_distance: NDArray[np.float32]
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
            "near": self.near,
            "near_distance": self.near_distance,
            "elsewhere": self.elsewhere,
            "elsewhere_distance": self.elsewhere_distance,
            "cluster": self.cluster,
        }
        if exact:
            arrays["xy"] = self.components[:, :2].astype(np.float32)
            upper = self.kernel[np.triu_indices_from(self.kernel, 1)]
            arrays["similarity"] = np.rint(upper * _LEVELS).astype(np.uint8)
        else:
            arrays["xy"] = self.components.astype(np.float32)
            arrays["residual"] = self.residual.astype(np.float32)
        return arrays


def kernel_view(squared: Floats, cities: list[str] | None, n_clusters: int) -> KernelView:
    """Return how a kernel compares networks, from their squared distances."""
    kernel = np.exp(-resolve_gamma("median", squared) * squared)
    # the problems are small, and threads of BLAS and OpenMP would only wait for each other
    with threadpool_limits(1):
        components, share = principal_components(kernel, N_COMPONENTS)
        cluster = _clusters(components, n_clusters)
    other_city = None if cities is None else np.array(cities)[:, None] != np.array(cities)
    return KernelView(
        *nearest(squared, None),
        *nearest(squared, other_city),
        components,
        share,
        cluster,
        kernel,
    )


def nearest(
    squared: Floats, allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Return the other networks that are most similar to each, nearest first, and their distances.

    Of equal distances, the network with the lower index comes first. If fewer networks are allowed than
    a row has entries, the other entries are 4294967295 with distance 0.
    """
    candidates = squared.copy()
    np.fill_diagonal(candidates, np.inf)
    if allowed is not None:
        candidates[~allowed] = np.inf
    order = np.argsort(candidates, axis=1, kind="stable")[:, : min(N_NEIGHBOURS, len(squared) - 1)]
    distances = np.take_along_axis(candidates, order, axis=1)
    missing = np.isinf(distances)
    rows = np.where(missing, _NO_NEIGHBOUR, order).astype(np.uint32)
    return rows, np.sqrt(np.where(missing, 0.0, distances)).astype(np.float32)


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
    k = min(n_clusters, len(np.unique(components.round(9), axis=0)))
    labels = KMeans(k, n_init=4, random_state=0).fit_predict(components)
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


def _panels(layout: MapLayout, arrays: Arrays, *, geographic: bool) -> list[dict[str, Any]]:
    """Return name, corner and width of each panel, and add its streets to the arrays."""
    panels = []
    for index, panel in enumerate(layout.panels):
        arrays[f"streets.{index}"] = panel.streets.ravel()
        size = float(f"{panel.side / 1000 if geographic else panel.side:.3g}")
        width = f"{size:,g}{' km' if geographic else ''}"
        panels.append({"name": panel.name, "corner": panel.corner, "width": width})
    return panels
