"""Explicit features from distances to few landmark graphs: kernels on any number of graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._errors import InvalidOptionError, quoted, unknown_option
from torelli._estimators import GraphFeatures, check_stored, is_array
from torelli._numerics import threads
from torelli._registry import get_kernel
from torelli._units import check_units
from torelli._validate import is_positive
from torelli.distances import Metric, squared_matrix_distances
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs
from torelli.kernel_matrix import rbf, resolve_gamma
from torelli.kernels import GraphKernel, options_of
from torelli.matrix import parts_by_size, warn_of_trees

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints, Represented

Choice = Literal["uniform", "kmeans++", "leverage"]
CHOICES: tuple[Choice, ...] = ("uniform", "kmeans++", "leverage")

_POOL = 10
"""Graphs for each landmark among which landmarks are chosen."""

_FOR_GAMMA = 300
_ROUNDING = 1e-10
"""Eigenvalues below this fraction of the largest are rounding."""


class LandmarkFeatures(GraphFeatures):
    """Explicit features whose inner products approximate a kernel: graphs to vectors, by Nyström's method.

    A few graphs are the landmarks. A graph is described by its kernel values to them, multiplied by the
    inverse root of the landmarks' own kernel matrix. The cost is linear in the number of graphs, and linear
    models on these features approximate kernel machines: n graphs take n times `n_landmarks` distances.

    Parameters
    ----------
    kernel
        ``"ttw"``, ``"tte"``, ``"tts"``, ``"ttm"`` or any name in `KERNELS`, or a kernel with options, such as
        ``TTWKernel(gamma=0.01, bridges="double")``. Its psd has no effect.
    n_landmarks
        Number of landmarks; all training graphs if there are fewer.
    landmarks
        How they are chosen among the training graphs. ``"uniform"``: at random. ``"kmeans++"``: one at a
        time, with probabilities proportional to the squared distance, in the space of the kernel, to the
        nearest landmark so far. ``"leverage"``: with probabilities proportional to ridge leverage scores,
        which are estimated from a uniform sample. The last two choose from a sample of at most ten times as
        many graphs.
    seed
        Seed of the choice.
    n_jobs
        Number of threads; the result does not depend on it.
    verbose
        As for `pairwise_distances`.

    Attributes
    ----------
    landmarks_
        The landmarks.
    landmark_indices_
        Their positions among the training graphs, ascending.
    gamma_
        The gamma in use; ``"median"`` refers to a sample of the training graphs.
    projection_
        Matrix that kernel values to the landmarks are multiplied by. TTW is not positive definite:
        eigenvalues that are negative, or no larger than the most negative one, are left out.

    Notes
    -----
    With all training graphs as landmarks and a positive definite kernel, inner products of features of the
    training graphs are the kernel. `kernel_error` measures how far they are from it otherwise.

    References
    ----------
    Williams and Seeger (2001), Using the Nyström method to speed up kernel machines. Musco and Musco (2017),
    Recursive sampling for the Nyström method.

    Examples
    --------
    >>> from torelli import LandmarkFeatures, MetricGraph
    >>> rings = [MetricGraph([0], [0], [length]) for length in (1.0, 2.0, 4.0, 8.0)]
    >>> features = LandmarkFeatures("tts", n_landmarks=4)
    >>> features.fit_transform(rings).shape, features.kernel_error(rings) < 1e-12
    ((4, 4), True)
    """

    def __init__(
        self,
        kernel: str | GraphKernel = "ttw",
        *,
        n_landmarks: int = 256,
        landmarks: Choice = "kmeans++",
        seed: int = 0,
        n_jobs: int | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.seed = seed
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fit(self, X: Sequence[Any]) -> None:
        """Choose gamma and the landmarks."""
        self._check_parameters()
        kernel = self._kernel()
        graphs = as_metric_graphs(X, kernel.length)
        check_units(graphs)
        options = options_of(kernel)
        if options.get("bridges") == "ignore":
            warn_of_trees([graph.genus for graph in graphs], "features")
        self.transformer_ = kernel.entry.representation(**options).fit(graphs)
        rng = np.random.default_rng(self.seed)
        order = rng.permutation(len(graphs))
        count = min(self.n_landmarks, len(graphs))
        sample = [graphs[i] for i in order[:_FOR_GAMMA].tolist()] if isinstance(kernel.gamma, str) else []
        self.gamma_: float = resolve_gamma(kernel.gamma, self._squared(sample))
        pool = order[: _POOL * count]
        chosen = pool[self._choose([graphs[i] for i in pool.tolist()], count, rng)]
        self.landmark_indices_: Ints = np.sort(chosen)
        self.landmarks_: list[MetricGraph] = [graphs[i] for i in self.landmark_indices_.tolist()]
        self._represented = self._represent(self.landmarks_)
        values, vectors = np.linalg.eigh(rbf(self.gamma_, self._between(self._represented, None)))
        kept = values > max(_ROUNDING * float(values[-1]), -float(values[0]))
        self.projection_: Floats = np.ascontiguousarray((vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1])

    def _choose(self, pool: list[MetricGraph], count: int, rng: np.random.Generator) -> Ints:
        """Return the positions of the landmarks in a pool that is in random order."""
        if self.landmarks == "uniform" or count == len(pool):
            return np.arange(count)
        made = self._represent(pool)
        if self.landmarks == "kmeans++":
            return self._spread(made, count, rng)
        K = rbf(self.gamma_, self._between(made, made[:count]))
        values, vectors = np.linalg.eigh((K[:count] + K[:count].T) / 2.0)
        kept = values > _ROUNDING * float(values[-1])
        rows = K @ (vectors[:, kept] / np.sqrt(values[kept]))
        # with this ridge the scores add up to at most `count`, because k(x, x) = 1
        ridge = len(pool) / count
        inverse = np.linalg.inv(rows.T @ rows + ridge * np.eye(rows.shape[1]))
        rest = np.maximum(1.0 - np.einsum("ij,ij->i", rows, rows), 0.0) / ridge
        scores = np.clip(np.einsum("ij,ij->i", rows @ inverse, rows) + rest, _ROUNDING, 1.0)
        return rng.choice(len(pool), count, replace=False, p=scores / scores.sum())

    def _spread(self, pool: Represented, count: int, rng: np.random.Generator) -> Ints:
        """Return graphs far from each other: each is drawn by its squared distance to those before."""
        show = threads.progress_of(self.verbose, "landmarks")
        chosen = [0]
        nearest = np.full(len(pool), np.inf)
        while True:
            one = chosen[-1]
            squared = self._between(pool, pool[one : one + 1])[:, 0]
            np.minimum(nearest, 1.0 - rbf(self.gamma_, squared), out=nearest)
            nearest[chosen] = 0.0
            if show is not None:
                show(len(chosen) / count)
            if len(chosen) == count:
                return np.array(chosen)
            if (total := nearest.sum()) > 0.0:
                chosen.append(int(rng.choice(len(pool), p=nearest / total)))
            else:  # all others are equal to a landmark
                chosen.append(int(np.setdiff1d(np.arange(len(pool)), chosen)[0]))

    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the vector of each graph, as an array of shape (n_graphs, n_columns)."""
        check_is_fitted(self)
        graphs = as_metric_graphs(X, self._kernel().length)
        check_units(graphs, self.landmarks_)
        shape = (len(graphs), self.projection_.shape[1])
        _memory.require(8 * shape[0] * shape[1], f"features of shape {shape}", "pass fewer graphs at a time")
        features = np.empty(shape)
        show = threads.progress_of(self.verbose, "features")
        for start, stop in parts_by_size(graphs):
            squared = self._between(self._represent(graphs[start:stop]), self._represented)
            features[start:stop] = rbf(self.gamma_, squared) @ self.projection_
            if show is not None:
                show(stop / len(graphs))
        return features

    def kernel_error(self, X: Sequence[Any]) -> float:
        """Return the error of the kernel between some graphs that features give, relative to its norm.

        It is the Frobenius norm of the difference between the full kernel matrix and the inner products,
        divided by that of the kernel matrix. All pairs are computed: give a sample of a few hundred graphs.
        """
        features = self.transform(X)
        K = rbf(self.gamma_, self._squared(as_metric_graphs(X, self._kernel().length)))
        return float(np.linalg.norm(K - features @ features.T) / np.linalg.norm(K))

    def _squared(self, graphs: list[MetricGraph]) -> Floats:
        """Return the squared distances of all pairs."""
        return self._between(self._represent(graphs), None) if graphs else np.empty((0, 0))

    def _represent(self, graphs: list[MetricGraph]) -> Represented:
        if "n_jobs" in self.transformer_.get_params(deep=False):
            self.transformer_.set_params(n_jobs=self.n_jobs)
        return self.transformer_.transform(graphs)

    def _between(self, X: Represented, Y: Represented) -> Floats:
        """Return the squared distances between representations."""
        distance = self._kernel().entry.distance
        if isinstance(distance, Metric):
            return squared_matrix_distances(distance, X, Y, n_jobs=self.n_jobs)[0]
        return distance(X, Y)

    def _feature_names(self) -> list[str]:
        check_is_fitted(self)
        return [f"landmarkfeatures{column}" for column in range(self.projection_.shape[1])]

    def _kernel(self) -> GraphKernel:
        return self.kernel if isinstance(self.kernel, GraphKernel) else get_kernel(self.kernel)()

    def _check_parameters(self) -> None:
        self._kernel()
        if self.landmarks not in CHOICES:
            raise unknown_option("landmarks", self.landmarks, CHOICES)
        for name, least in (("n_landmarks", 1), ("seed", 0)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise InvalidOptionError(f"{name} is {quoted(value)}: use a whole number of at least {least}")

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_represented"}

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
        landmarks, transformer = fitted.get("landmarks_"), fitted.get("transformer_")
        listed = isinstance(landmarks, list) and all(isinstance(one, MetricGraph) for one in landmarks)
        check_stored(self, "landmarks_", "a list of metric graphs", ok=listed and bool(landmarks))
        check_stored(self, "gamma_", "a positive number", ok=is_positive(fitted.get("gamma_")))
        count = len(self.landmarks_)
        right = is_array(fitted.get("projection_"), count, None)
        check_stored(self, "projection_", f"{count} rows of numbers", ok=right)
        indices = fitted.get("landmark_indices_")
        whole = isinstance(indices, np.ndarray) and indices.shape == (count,) and indices.dtype.kind == "i"
        check_stored(self, "landmark_indices_", f"{count} positions", ok=whole)
        kind = self._kernel().entry.representation
        check_stored(self, "transformer_", f"a {kind.__name__}", ok=isinstance(transformer, kind))
        # always computed again: matrices from a file are never used
        self._represented = self._represent(self.landmarks_)
