"""What the explorer's page holds: drawings, matrices, and how each kernel sees a collection."""

from __future__ import annotations

import base64
import gzip
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from torelli._errors import InvalidOptionError
from torelli.kernels import (
    Representation,
    TTEKernel,
    default_kernels,
    get_kernel,
    principal_components,
    resolve_gamma,
    squared_graph_distances,
)
from torelli.report.atlas import GRID, Atlas, lay_out
from torelli.report.drawing import FULL, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli.report.collection import Collection

    Floats = NDArray[np.float64]
    Arrays = dict[str, NDArray[Any]]

NEIGHBOURS = 10
"""How many similar networks are shown."""
MOST_ROWS = 40
"""How many rows of Q are shown."""
COMPONENTS = 16
"""Kernel principal components in which clusters are found and similarity is estimated."""
MOST_EXACT = 1_200
"""Up to this many networks the similarity of every pair is in the page; beyond, it is estimated."""

_CLUSTERS = 5
_MOST_CLUSTERS = 8
_SEGMENTS = 600_000
_FEWEST, _MOST = 300, 20_000
_LEVELS = 255
_Q_LEVELS = 127
_NONE = 2**32 - 1


def payload(
    collection: Collection,
    *,
    kernels: Sequence[str] | None = None,
    max_genus: int | None = None,
    clusters: int | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str], Progress] | None = None,
) -> dict[str, Any]:
    """Return what the page's script needs: names and figures as they are, arrays packed into one text."""
    n = len(collection)
    atlas = lay_out(collection)
    arrays: Arrays = {"place": atlas.xy.astype(np.float32)}
    simplified = _drawings(collection, arrays, progress)
    options = {"max_genus": max_genus, "truncation": "leading"}
    matrices = Representation(TTEKernel.entry, collection.graphs, options, n_jobs)
    _matrices(matrices(collection.graphs), arrays)
    k = _n_clusters(collection, clusters)
    views = []
    for kernel in default_kernels() if kernels is None else kernels:
        entry = get_kernel(kernel).entry
        show = None if progress is None else progress(f"{kernel.upper()} distances of {n:,} networks")
        squared = squared_graph_distances(
            collection.graphs,
            None,
            kernel,
            n_jobs=n_jobs,
            verbose=show or False,
            representation=matrices if entry.representation is TTEKernel.entry.representation else None,
        )
        view = view_of(squared, collection.cities, k)
        arrays |= {f"{kernel}.{name}": array for name, array in view.arrays(exact=n <= MOST_EXACT).items()}
        views.append(
            {
                "key": kernel,
                "title": entry.title,
                "description": entry.description,
                "share": view.share[:2].tolist(),
            }
        )
    summaries = [graph.summary() for graph in collection.graphs]
    return {
        "names": collection.names,
        "classes": _numbered(collection.classes),
        "cities": _numbered(collection.cities),
        "clusters": k,
        "kernels": views,
        "exact": n <= MOST_EXACT,
        "figures": {
            "nodes": [one.n_nodes for one in summaries],
            "edges": [one.n_edges for one in summaries],
            "genus": [one.genus for one in summaries],
            "bridges": [one.n_bridges for one in summaries],
            "ties": [one.n_ties for one in summaries],
            "length": [float(f"{one.total_length:.6g}") for one in summaries],
            "unit": [one.unit or "" for one in summaries],
        },
        "lonlat": _rounded_places(collection),
        "simplified": simplified,
        "panels": _panels(atlas, arrays, geographic=collection.geographic),
        "note": atlas.note,
        "full": FULL,
        "grid": GRID,
        "arrays": pack(arrays),
    }


@dataclass(frozen=True)
class View:
    """A collection as one kernel sees it.

    Attributes
    ----------
    near, near_distance
        The most similar networks of each, nearest first, and their distances.
    elsewhere, elsewhere_distance
        The same among networks of other cities; 4294967295 and 0 where there are fewer.
    components
        Kernel principal components.
    share
        The share of each component.
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
        """What the components leave of the squared norm of each network, centred."""
        K = self.kernel
        norms = np.diag(K) - 2 * K.mean(axis=1) + K.mean()
        rest: Floats = norms - np.square(self.components).sum(axis=1)
        return rest

    def arrays(self, *, exact: bool) -> Arrays:
        """Return what the page keeps of it."""
        found: Arrays = {
            "near": self.near,
            "near_distance": self.near_distance,
            "elsewhere": self.elsewhere,
            "elsewhere_distance": self.elsewhere_distance,
            "cluster": self.cluster,
        }
        if exact:
            found["xy"] = self.components[:, :2].astype(np.float32)
            upper = self.kernel[np.triu_indices_from(self.kernel, 1)]
            found["similarity"] = np.rint(upper * _LEVELS).astype(np.uint8)
        else:
            found["xy"] = self.components.astype(np.float32)
            found["residual"] = self.residual.astype(np.float32)
        return found


def view_of(squared: Floats, cities: list[str] | None, clusters: int) -> View:
    """Return how a kernel sees a collection, from the squared distances."""
    kernel = np.exp(-resolve_gamma("median", squared) * squared)
    # small problems, for which threads of BLAS and OpenMP only wait for each other
    with threadpool_limits(1):
        components, share = principal_components(kernel, COMPONENTS)
        cluster = _clusters(components, clusters)
    other = None if cities is None else np.array(cities)[:, None] != np.array(cities)
    return View(
        *nearest(squared, None),
        *nearest(squared, other),
        components,
        share,
        cluster,
        kernel,
    )


def nearest(
    squared: Floats, allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Return the most similar networks of each but itself, nearest first, and their distances.

    Of equal distances the first in the collection comes first. Where fewer are allowed, the rest is
    4294967295 at distance 0.
    """
    n = len(squared)
    width = min(NEIGHBOURS, n - 1)
    found = squared.copy()
    np.fill_diagonal(found, np.inf)
    if allowed is not None:
        found[~allowed] = np.inf
    order = np.argsort(found, axis=1, kind="stable")[:, :width]
    distances = np.take_along_axis(found, order, axis=1)
    missing = np.isinf(distances)
    rows = np.where(missing, _NONE, order).astype(np.uint32)
    return rows, np.sqrt(np.where(missing, 0.0, distances)).astype(np.float32)


def pack(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return arrays as one compressed text and a directory: for each its type, offset and length."""
    blob = bytearray()
    directory = {}
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        blob.extend(b"\0" * (-len(blob) % 8))
        directory[name] = [array.dtype.name, len(blob), array.size]
        blob.extend(little.tobytes())
    packed = gzip.compress(bytes(blob), compresslevel=9, mtime=0)
    return {"directory": directory, "gzip": base64.b64encode(packed).decode("ascii")}


def unpack(packed: Mapping[str, Any]) -> Arrays:
    """Return the arrays, flat."""
    blob = gzip.decompress(base64.b64decode(packed["gzip"]))
    return {
        name: np.frombuffer(blob, np.dtype(kind).newbyteorder("<"), count, offset)
        for name, (kind, offset, count) in packed["directory"].items()
    }


def _n_clusters(collection: Collection, clusters: int | None) -> int:
    if clusters is None:
        known = len(set(collection.classes or ()))
        clusters = known if 2 <= known <= _MOST_CLUSTERS else _CLUSTERS  # noqa: PLR2004  (one class says nothing)
        return min(clusters, len(collection))
    most = min(_MOST_CLUSTERS, len(collection))
    if not 1 <= clusters <= most:
        raise InvalidOptionError(f"clusters is {clusters}: use 1 to {most}")
    return clusters


def _clusters(components: Floats, k: int) -> NDArray[np.uint8]:
    """Return the clusters of k-means in the leading kernel principal components, the largest first."""
    k = min(k, len(np.unique(components.round(9), axis=0)))
    found = KMeans(k, n_init=4, random_state=0).fit_predict(components)
    order = np.argsort(-np.bincount(found, minlength=k), kind="stable")
    rank = np.empty(k, np.uint8)
    rank[order] = np.arange(k)
    clusters: NDArray[np.uint8] = rank[found]
    return clusters


def _drawings(
    collection: Collection, arrays: Arrays, progress: Callable[[str], Progress] | None
) -> list[int]:
    """Add the drawings, one after the other, and return which are simplified."""
    most = int(np.clip(_SEGMENTS // len(collection), _FEWEST, _MOST))
    show = None if progress is None else progress(f"drawing {len(collection):,} networks")
    drawings = []
    for at, graph in enumerate(collection.graphs, 1):
        drawings.append(draw(graph, most=most))
        if show is not None:
            show(at / len(collection))
    for part in ("x", "y", "tail", "head", "cycle"):
        arrays[f"draw.{part}"] = np.concatenate([getattr(drawing, part) for drawing in drawings])
    arrays["draw.points"] = _starts([len(drawing.x) for drawing in drawings])
    arrays["draw.segments"] = _starts([len(drawing.tail) for drawing in drawings])
    return [at for at, drawing in enumerate(drawings) if drawing.simplified]


def _matrices(matrices: list[Floats], arrays: Arrays) -> None:
    """Add the leading rows of each Torelli matrix: the lower triangle, in parts of its largest entry."""
    parts, scales = [], []
    for Q in matrices:
        lower = Q[:MOST_ROWS, :MOST_ROWS][np.tril_indices(min(len(Q), MOST_ROWS))]
        scale = float(np.abs(lower).max(initial=0.0))
        scales.append(scale)
        parts.append(np.rint(lower * (_Q_LEVELS / (scale or 1.0))).astype(np.int8))
    arrays["q"] = np.concatenate(parts)
    arrays["q.starts"] = _starts([len(part) for part in parts])
    arrays["q.rows"] = np.array([len(Q) for Q in matrices], np.uint32)
    arrays["q.scale"] = np.array(scales, np.float32)


def _starts(counts: list[int]) -> NDArray[np.uint32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def _numbered(labels: list[str] | None) -> dict[str, Any] | None:
    """Return the distinct labels, sorted (as numbers if all are), and the number of each entry's."""
    if labels is None:
        return None
    whole = all(re.fullmatch(r"-?[0-9]{1,18}", label) for label in labels)
    names = sorted(set(labels), key=int if whole else None)
    number = {name: at for at, name in enumerate(names)}
    return {"names": names, "of": [number[label] for label in labels]}


def _rounded_places(collection: Collection) -> list[list[float] | None] | None:
    if not collection.geographic or not np.isfinite(collection.places).any():
        return None
    return [[round(x, 5), round(y, 5)] if np.isfinite(x + y) else None for x, y in collection.places.tolist()]


def _panels(atlas: Atlas, arrays: Arrays, *, geographic: bool) -> list[dict[str, Any]]:
    panels = []
    for at, panel in enumerate(atlas.panels):
        arrays[f"streets.{at}"] = panel.streets.ravel()
        size = float(f"{panel.side / 1000 if geographic else panel.side:.3g}")
        width = f"{size:,g}{' km' if geographic else ''}"
        panels.append({"name": panel.name, "corner": panel.corner, "width": width})
    return panels
