"""The index of a collection of graphs: nearest graphs by a kernel's distance, saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._errors import FormatError, InvalidOptionError, quoted, unknown_option
from torelli._numerics import threads
from torelli._registry import get_kernel
from torelli._units import check_units
from torelli.distances import Metric, squared_vector_distances
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs
from torelli.io.convert import is_graph
from torelli.kernels import GraphKernel, options_of
from torelli.matrix import warn_of_trees
from torelli.search._collections import (
    MatrixCollection,
    VectorCollection,
    check_vectors,
    collection_of_matrices,
    collection_of_vectors,
)
from torelli.search._hnsw import NeighbourGraph
from torelli.search._nearest import Found, nearest, nearest_of, within
from torelli.search._storage import IndexParts, Records, check_folder, read_index, set_jobs, write_index

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, GraphLike, Ints

Method = Literal["exact", "hnsw"]
METHODS: tuple[Method, ...] = ("exact", "hnsw")

_RECALL_QUERIES, _RECALL_K = 100, 10


class GraphIndex(BaseEstimator):
    """The nearest of many graphs by the distance of a kernel, without computing every distance.

    Lower bounds of all distances come from short vectors (sketches). Distances are computed in ascending
    order of the bounds, until the next bound is above the k-th distance. The result is that of computing all
    distances: `n_distances_` and `spared_` say how few it took.

    Parameters
    ----------
    kernel
        ``"ttw"``, ``"tte"``, ``"tts"``, ``"ttm"`` or any name in `KERNELS`, or a kernel with options, such as
        ``TTWKernel(bridges="double")``. Its gamma and psd have no effect: they do not change which graphs are
        nearest.
    method
        ``"exact"``, or ``"hnsw"``: candidates by sketches from hnswlib (``torelli[search]``), sorted by their
        exact distances. It is faster from a few hundred thousand graphs on, and may miss some neighbours: see
        `recall_`.
    ef
        Number of candidates of an approximate search.
    seed
        Seed of the approximate search.
    n_jobs
        Number of threads, each for one query at a time; an exact result does not depend on it.
    verbose
        True to show progress on standard error, or a function that is called with the fraction done.

    Attributes
    ----------
    n_graphs_, n_distinct_
        Number of graphs, and of those with different matrices or vectors.
    kernel_
        The kernel, even if the parameter is a name.
    ids_
        The name of each graph.
    n_distances_, spared_
        Number of distances that the latest query computed, and the share of all distances to different
        matrices or vectors that it did not compute.
    recall_
        For ``"hnsw"``: the share of the ten nearest neighbours of a sample of the graphs that a search finds.

    Notes
    -----
    A distance that rounding explains (1e-12 of the norms for matrices, 1e-9 for vectors) is 0: the same space
    drawn in another way is at distance 0. Of graphs at equal distance, the one with the smallest index comes
    first. Graphs with equal matrices or vectors are at equal distance, to the last bit.

    For TTW, one of the bounds is TTS, the distance of the square roots of the eigenvalues::

        |√tr Q₁ - √tr Q₂| ≤ TTS(Q₁, Q₂) ≤ TTW(Q₁, Q₂)

    The guide to similarity search has the others.

    References
    ----------
    The second inequality is von Neumann's trace inequality: Mirsky, A trace inequality of John von Neumann,
    Monatshefte für Mathematik 79 (1975).

    Examples
    --------
    >>> from torelli import GraphIndex, MetricGraph
    >>> rings = [MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0, 16.0)]
    >>> GraphIndex("ttw").fit(rings).query(MetricGraph([0], [0], [4.0]), 2)
    (array([0., 1.]), array([1, 0]))
    """

    def __init__(
        self,
        kernel: str | GraphKernel = "ttw",
        *,
        method: Method = "exact",
        ef: int = 200,
        seed: int = 0,
        n_jobs: int | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.kernel = kernel
        self.method = method
        self.ef = ef
        self.seed = seed
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_memory.refused_if_too_large("the index", "take fewer graphs, or a kernel with max_genus")
    def fit(
        self,
        X: Sequence[Any],
        y: object = None,
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
    ) -> Self:
        """Index graphs.

        Parameters
        ----------
        X
            The graphs, each a `MetricGraph` or anything that `as_metric_graph` takes.
        y
            Not used.
        ids
            The name of each graph; by default its own name, or its position.
        metadata
            Plain values of each graph, such as ``{"city": "Ufa"}``, which `record` returns and `save` stores.
        """
        del y
        self._check_parameters()
        kernel = self.kernel_
        entry = kernel.entry
        graphs = as_metric_graphs(X, kernel.length)
        check_units(graphs)
        options = options_of(kernel)
        if options.get("bridges") == "ignore":
            warn_of_trees([graph.genus for graph in graphs], "distances")
        self.transformer_ = entry.representation(**options)
        set_jobs(self.transformer_, self.n_jobs)
        if isinstance(entry.distance, Metric):
            self.transformer_.fit(graphs)
            made = collection_of_matrices(
                entry.distance, self.transformer_, graphs, n_jobs=self.n_jobs, verbose=self.verbose
            )
        elif entry.distance is squared_vector_distances:
            made = collection_of_vectors(self.transformer_.fit_transform(graphs))
        else:
            raise InvalidOptionError(
                f"the kernel {quoted(entry.name)} has a distance of its own, which an index cannot bound: "
                "use a kernel between matrices, or one whose distance is that of vectors"
            )
        self.collection_: MatrixCollection | VectorCollection = made[0]
        self.group_: Ints = made[1]
        names = [graph.name or str(position) for position, graph in enumerate(graphs)] if ids is None else ids
        self._finish(names, metadata, graphs)
        self.unit_: str | None = next((graph.unit for graph in graphs if graph.unit is not None), None)
        return self

    @classmethod
    def from_vectors(
        cls,
        vectors: ArrayLike,
        *,
        ids: Sequence[str] | None = None,
        metadata: Sequence[Mapping[str, Any]] | None = None,
        kernel: str | GraphKernel = "ttm",
        transformer: object = None,
        **parameters: Any,
    ) -> GraphIndex:
        """Return the index of feature vectors, one in each row, such as those of `MeasureFeatures`.

        Parameters
        ----------
        vectors
            Any two-dimensional array of floats, which may be memory-mapped; it is not copied unless rows
            repeat.
        ids, metadata
            As for `fit`; by default the positions.
        kernel
            The kernel whose representation the vectors are.
        transformer
            The fitted transformer that made the vectors, with which `query` takes graphs. Without it, `query`
            takes vectors.
        parameters
            Other parameters of `GraphIndex`.
        """
        index = cls(kernel, **parameters)
        index._check_parameters()
        entry = index.kernel_.entry
        if entry.distance is not squared_vector_distances:
            raise InvalidOptionError(f"the kernel {quoted(entry.name)} compares no vectors: use kernel='ttm'")
        if transformer is not None:
            if not isinstance(transformer, entry.representation):
                wanted = entry.representation.__name__
                raise InvalidOptionError(f"transformer is a {type(transformer).__name__}: give a {wanted}")
            check_is_fitted(transformer)
        rows = check_vectors(vectors)
        index.transformer_ = transformer
        index.collection_, index.group_ = collection_of_vectors(rows)
        names = list(map(str, range(len(rows)))) if ids is None else ids
        index._finish(names, metadata, None)
        index.unit_ = None
        return index

    def _finish(
        self,
        ids: Sequence[str],
        metadata: Sequence[Mapping[str, Any]] | None,
        graphs: list[MetricGraph] | None,
    ) -> None:
        """Keep names and graphs, and build the graph of an approximate search."""
        n = len(self.group_)
        for name, values in (("ids", ids), ("metadata", metadata)):
            if values is not None and len(values) != n:
                raise InvalidOptionError(f"{len(values):,} {name} for {n:,} graphs: give one for each")
        for position, facts in enumerate(() if metadata is None else metadata):
            if not isinstance(facts, Mapping):
                raise InvalidOptionError(
                    f"metadata of graph {position} is {quoted(facts)}: give a dictionary, such as "
                    "{'city': 'Ufa'}"
                )
        self.records_: Records = Records([str(one) for one in ids], metadata, graphs)
        self._set_groups()
        self._neighbours: NeighbourGraph | None = None
        if self.method == "hnsw":
            rows = self.collection_.tables[0].rows
            self._neighbours = NeighbourGraph.of(rows, self.seed, self.n_jobs)
            self.recall_: float = self.measure_recall()

    def _set_groups(self) -> None:
        self.n_graphs_, self.n_distinct_ = len(self.group_), len(self.collection_)
        self._members = np.argsort(self.group_, kind="stable")
        self._counts: Ints = np.bincount(self.group_, minlength=self.n_distinct_)
        self._starts: Ints = np.cumsum(self._counts) - self._counts

    @property
    def ids_(self) -> list[str]:
        """The name of each graph."""
        check_is_fitted(self, "group_")
        return self.records_.names()

    def record(self, position: int) -> dict[str, Any]:
        """Return the name (``"id"``) and the metadata of a graph by its position."""
        self._check_position(position)
        return {"id": self.records_.name(position), **self.records_.facts(position)}

    def graph(self, position: int) -> MetricGraph:
        """Return a graph by its position; ids of its nodes and values on its edges are not stored."""
        self._check_position(position)
        return self.records_.graph(position)

    def _check_position(self, position: int) -> None:
        check_is_fitted(self, "group_")
        if not _is_whole(position) or not 0 <= position < self.n_graphs_:
            raise InvalidOptionError(f"there is no graph {quoted(position)}: use 0 to {self.n_graphs_ - 1:,}")

    def query(self, X: GraphLike | Sequence[Any] | ArrayLike, k: int = 10) -> tuple[Floats, Ints]:
        """Return the distances and indices of the nearest graphs, nearest first.

        Parameters
        ----------
        X
            A list of graphs, or one graph. For an index of vectors, also rows of an array, or one row.
        k
            Number of neighbours, at most the number of graphs.

        Returns
        -------
        distances, indices
            Arrays of shape (len(X), k); of shape (k,) for one graph. Equal distances are in the order of
            indices.
        """
        check_is_fitted(self, "group_")
        if not _is_whole(k) or not 1 <= k <= self.n_graphs_:
            raise InvalidOptionError(f"k is {quoted(k)}: use a whole number from 1 to {self.n_graphs_:,}")
        queries, single = self._queries(X)
        distances, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)

        def search(position: int) -> int:
            closest = self._nearest(queries[position], k)
            distances[position], indices[position] = self._expanded(closest, k)
            return closest.n_computed

        self._run(search, len(queries))
        return (distances[0], indices[0]) if single else (distances, indices)

    def query_radius(
        self, X: GraphLike | Sequence[Any] | ArrayLike, radius: float
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the distances and indices of all graphs up to a distance, nearest first.

        The search is exact, also with ``method="hnsw"``.

        Parameters
        ----------
        X
            As for `query`.
        radius
            The largest distance.

        Returns
        -------
        distances, indices
            Two arrays for one graph. For a list, arrays of such arrays, one for each graph.
        """
        check_is_fitted(self, "group_")
        if not isinstance(radius, (int, float, np.number)) or isinstance(radius, bool) or not radius >= 0:
            raise InvalidOptionError(f"radius is {quoted(radius)}: use a number of 0 or more")
        queries, single = self._queries(X)
        distances, indices = np.empty(len(queries), dtype=object), np.empty(len(queries), dtype=object)

        def search(position: int) -> int:
            inside = within(self.collection_, queries[position], float(radius))
            distances[position], indices[position] = self._expanded(inside, self.n_graphs_)
            return inside.n_computed

        self._run(search, len(queries))
        return (distances[0], indices[0]) if single else (distances, indices)

    def neighbours(self, position: int, k: int = 10) -> tuple[Floats, Ints]:
        """Return the distances and indices of the graphs nearest to one of the index, without itself.

        Parameters
        ----------
        position
            The index of the graph.
        k
            Number of neighbours, less than the number of graphs.
        """
        self._check_position(position)
        if not _is_whole(k) or not 0 <= k < self.n_graphs_:
            raise InvalidOptionError(f"k is {quoted(k)}: use a whole number up to {self.n_graphs_ - 1:,}")
        (query,) = self.collection_.queries(self._representations(int(self.group_[position])))
        closest = self._nearest(query, k + 1)
        self.n_distances_ = closest.n_computed
        self.spared_ = 1.0 - closest.n_computed / self.n_distinct_
        # the graph itself is at distance 0, but copies of it may come before
        distances, indices = self._expanded(closest, k + 1)
        others = indices != position if position in indices else np.arange(k + 1) < k
        return distances[others], indices[others]

    def measure_recall(self, n_queries: int = _RECALL_QUERIES, k: int = _RECALL_K) -> float:
        """Return the share of the k nearest others that a search finds, for a sample of the graphs."""
        check_is_fitted(self, "group_")
        k, neighbours = min(k, self.n_distinct_ - 1), self._neighbours
        if k < 1 or neighbours is None:
            return 1.0
        rng = np.random.default_rng(self.seed)
        chosen = np.sort(rng.permutation(self.n_distinct_)[:n_queries])
        counts = np.ones(self.n_distinct_, dtype=np.int64)
        hits: list[int] = []

        def compare(item: int) -> None:
            (query,) = self.collection_.queries(self._representations(item))
            exact = nearest(self.collection_, query, k + 1, counts)
            approximate = self._approximate(neighbours, query, k + 1, counts)
            near = [_first(one, k + 1) for one in (exact, approximate)]
            hits.append(len((set(near[0].tolist()) & set(near[1].tolist())) - {item}))

        threads.run(compare, [(item,) for item in chosen.tolist()], self.n_jobs)
        # the graph itself is found at distance 0, and does not count
        return min(1.0, sum(hits) / (k * len(chosen)))

    def _representations(self, item: int) -> list[Floats]:
        if isinstance(self.collection_, MatrixCollection):
            return self.collection_.matrices(np.array([item]))
        return [self.collection_.vectors[item].astype(np.float64)]

    def _queries(self, X: Any) -> tuple[list[Any], bool]:
        """Return what the search needs of each query, and whether there is only one."""
        if isinstance(self.collection_, VectorCollection) and isinstance(X, np.ndarray):
            single = X.ndim == 1
            rows = check_vectors(X[None] if single else X)
            width = self.collection_.vectors.shape[1]
            if rows.shape[1] != width:
                raise InvalidOptionError(f"vectors have {rows.shape[1]:,} columns: the index has {width:,}")
            return self.collection_.queries(list(rows.astype(np.float64))), single
        if self.transformer_ is None:
            raise InvalidOptionError(
                "the index was made from vectors: query it with an array of vectors, or give from_vectors "
                "the transformer that made them"
            )
        single = is_graph(X)
        kernel = self.kernel_
        graphs = as_metric_graphs([X] if single else X, kernel.length)
        if self.records_.has_graphs:
            check_units(graphs, [MetricGraph([0], [0], [1.0], name="the index", unit=self.unit_)])
        made = self.transformer_.transform(graphs)
        metric = kernel.entry.distance
        if isinstance(metric, Metric) and metric.vectors is not None:
            made = metric.vectors(made, self.n_jobs)
        return self.collection_.queries(made), single

    def _nearest(self, query: Any, k: int) -> Found:
        neighbours = self._neighbours
        if neighbours is None:
            return nearest(self.collection_, query, k, self._counts)
        return self._approximate(neighbours, query, k, self._counts)

    def _approximate(self, neighbours: NeighbourGraph, query: Any, k: int, counts: Ints) -> Found:
        try:
            candidates = self._candidates(neighbours, query, k)
        except RuntimeError:  # hnswlib reached fewer rows than it was asked for
            return nearest(self.collection_, query, k, counts)
        return nearest_of(self.collection_, query, k, counts, candidates)

    def _candidates(self, neighbours: NeighbourGraph, query: Any, k: int) -> Ints:
        table = self.collection_.tables[0]
        sketch = query.sketches[0] if isinstance(self.collection_, MatrixCollection) else query.sketch
        scaled = np.ldexp(sketch, int(query.exponent) - table.exponent)
        return neighbours.candidates(scaled, max(self.ef, k))

    def _expanded(self, found: Found, most: int) -> tuple[Floats, Ints]:
        """Return the graphs of items in the order of distance and index, at most `most` of them."""
        counts = np.minimum(self._counts[found.items], most)
        starts = self._starts[found.items]
        before = np.cumsum(counts) - counts
        chosen = np.arange(int(counts.sum())) - np.repeat(before - starts, counts)
        indices, distances = self._members[chosen], np.repeat(found.distances, counts)
        order = np.lexsort((indices, distances))[:most]
        return distances[order], indices[order]

    def _run(self, search: Callable[[int], int], n_queries: int) -> None:
        """Search for every query, and keep the number of distances that it took."""
        computed: list[int] = []
        threads.run(
            lambda position: computed.append(search(position)),
            [(position,) for position in range(n_queries)],
            self.n_jobs,
            progress=threads.progress_of(self.verbose, "search"),
        )
        self.n_distances_ = sum(computed)
        self.spared_ = 1.0 - self.n_distances_ / max(n_queries * self.n_distinct_, 1)

    @staticmethod
    def check_folder(folder: str | os.PathLike[str]) -> None:
        """Raise an `InvalidOptionError` if `save` would refuse a folder, as one that has other files."""
        check_folder(Path(folder))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the index to a folder, and return its path.

        The folder has arrays (``.npy``), records (JSON lines) and a manifest with checksums. It appears whole
        or not at all, and holds no code. Graphs are stored without ids of nodes and values on edges. An index
        that is there is replaced; a folder with any other file is refused.
        """
        check_is_fitted(self, "group_")
        parts = IndexParts(
            kernel=self.kernel_,
            method=self.method,
            ef=int(self.ef),
            seed=int(self.seed),
            unit=self.unit_,
            transformer=self.transformer_,
            collection=self.collection_,
            group=self.group_,
            records=self.records_,
            neighbours=self._neighbours,
            recall=getattr(self, "recall_", None),
        )
        return write_index(Path(folder), parts)

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        verify: bool = True,
        n_jobs: int | None = None,
        verbose: bool | Progress = False,
    ) -> GraphIndex:
        """Return the index of a folder; its arrays are memory-mapped.

        Parameters
        ----------
        folder
            What `save` wrote.
        verify
            Compare every file with its checksum, which reads all of them once. Without it, sizes, shapes and
            references are checked, and matrices when they are used.
        n_jobs, verbose
            As for `GraphIndex`.

        Raises
        ------
        FormatError
            If a file is missing, damaged or invalid.
        """
        parts = read_index(Path(folder), verify=verify)
        index = cls(parts.kernel, method=parts.method, ef=parts.ef, seed=parts.seed)
        try:
            index._check_parameters()
        except InvalidOptionError as error:
            raise FormatError(f"this is not a valid index: {error}") from error
        index.set_params(n_jobs=n_jobs, verbose=verbose)
        index.unit_, index.transformer_ = parts.unit, parts.transformer
        if parts.transformer is not None:
            set_jobs(parts.transformer, n_jobs)
        index.collection_, index.group_, index.records_ = parts.collection, parts.group, parts.records
        index._neighbours = parts.neighbours
        if parts.recall is not None:
            index.recall_ = parts.recall
        index._set_groups()
        return index

    @property
    def kernel_(self) -> GraphKernel:
        """The kernel, even if the parameter is a name."""
        return self.kernel if isinstance(self.kernel, GraphKernel) else get_kernel(self.kernel)()

    def _check_parameters(self) -> None:
        if isinstance(self.kernel, str):
            get_kernel(self.kernel)
        if self.method not in METHODS:
            raise unknown_option("method", self.method, METHODS)
        for name, least in (("ef", 1), ("seed", 0)):
            if not _is_whole(getattr(self, name)) or getattr(self, name) < least:
                raise InvalidOptionError(
                    f"{name} is {quoted(getattr(self, name))}: use a whole number of at least {least}"
                )


def _first(found: Found, k: int) -> Ints:
    return found.items[np.lexsort((found.items, found.distances))[:k]]


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
