"""Kernels on metric graphs as scikit-learn transformers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._cache import distance_cache
from torelli._errors import InvalidMatrixError, InvalidOptionError, quoted, unknown_option
from torelli._units import check_units
from torelli._validate import CheckedState, check_stored, is_array, is_positive
from torelli.distances import get_metric
from torelli.distances._pairwise import compute
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs
from torelli.matrix import Bridges, Model, Truncation, torelli_matrices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli._numerics.threads import Progress
    from torelli.distances import Metric

    Floats = NDArray[np.float64]

Repair = Literal["clip", "flip", "shift"]
REPAIRS: tuple[Repair, ...] = ("clip", "flip", "shift")

_ROUNDING = 1e-12
"""Two drawings of one space give matrices that differ by rounding; a distance below this part of their norms
is taken for that."""


_LEAST, _MOST = 1e-284, 1e300
"""Squared norms whose sums, and those times `_ROUNDING` squared, are within the range of floats."""

_refused_if_too_large = _memory.refused_if_too_large(
    "the kernel matrix", "take fewer graphs, use max_genus, or pairwise_distances with out=numpy.memmap(...)"
)

_UNDERFLOW = 750.0
"""exp(-x) is exactly 0 from x = 745.2 on; beyond this, rounding of x does not matter."""


class TorelliMap(CheckedState, TransformerMixin, BaseEstimator):
    """The tropical Torelli map as a transformer: graphs to Torelli matrices.

    Parameters
    ----------
    model, bridges, max_genus, truncation, seed
        As for `torelli_matrix`.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads.
    """

    def __init__(
        self,
        *,
        model: Model = "canonical",
        bridges: Bridges = "ignore",
        max_genus: int | None = None,
        truncation: Truncation = "random",
        seed: int = 0,
        length: str = "length",
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.bridges = bridges
        self.max_genus = max_genus
        self.truncation = truncation
        self.seed = seed
        self.length = length
        self.n_jobs = n_jobs

    def fit(self, X: Sequence[Any], y: object = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Check the graphs; there is nothing to learn."""
        as_metric_graphs(X, self.length)
        return self

    def transform(self, X: Sequence[Any]) -> list[Floats]:
        """Return the Torelli matrix of each graph."""
        return torelli_matrices(
            X,
            self.model,
            bridges=self.bridges,
            max_genus=self.max_genus,
            truncation=self.truncation,
            seed=self.seed,
            length=self.length,
            n_jobs=self.n_jobs,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return True


class TorelliKernel(CheckedState, TransformerMixin, BaseEstimator):
    """exp(-gamma d²) between Torelli matrices: graphs to kernel matrix against the training graphs.

    The base of `TTWKernel`, `TTEKernel` and `TTSKernel`. Chain it with an estimator that takes a
    precomputed kernel, such as ``SVC(kernel="precomputed")``.

    Parameters
    ----------
    gamma
        A positive number, or ``"median"``: ln 2 / median of the nonzero squared training
        distances, so that the median kernel value is 1/2.
    psd
        What to do with negative eigenvalues of the training kernel matrix, if anything: ``"clip"``
        sets them to 0, ``"flip"`` to their absolute values, ``"shift"`` adds the largest of those
        to k(x, x). New graphs are treated consistently: transforming a training graph gives its
        row of the repaired training matrix.
    model, bridges, max_genus, truncation, seed
        As for `torelli_matrix`.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads; the result does not depend on it.
    verbose
        As for `pairwise_distances`.

    Attributes
    ----------
    gamma_
        The gamma in use.
    graphs_
        The training graphs, in the order given.

    Notes
    -----
    Distances do not depend on gamma and are kept in `torelli.distance_cache` by the content of the
    graphs, so that a grid search computes them once for each fold. Wasserstein distances are spared
    where the traces alone tell that the kernel underflows to 0; it is the same, bit for bit.
    """

    metric: ClassVar[str]

    def __init__(
        self,
        *,
        gamma: float | Literal["median"] = "median",
        psd: Repair | None = None,
        model: Model = "canonical",
        bridges: Bridges = "ignore",
        max_genus: int | None = None,
        truncation: Truncation = "random",
        seed: int = 0,
        length: str = "length",
        n_jobs: int | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.gamma = gamma
        self.psd = psd
        self.model = model
        self.bridges = bridges
        self.max_genus = max_genus
        self.truncation = truncation
        self.seed = seed
        self.length = length
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_refused_if_too_large
    def fit(self, X: Sequence[Any], y: object = None) -> Self:  # noqa: ARG002  (scikit-learn's signature)
        """Learn gamma and the repair from the training graphs."""
        self._fit(X)
        return self

    @_refused_if_too_large
    def fit_transform(self, X: Sequence[Any], y: object = None) -> Floats:  # noqa: ARG002
        """Fit and return the training kernel matrix."""
        squared = self._fit(X)
        K = rbf(self.gamma_, squared)
        if self.psd_ == "shift":
            K += self.shift_ * (squared == 0.0)
        if self.psd_ in {None, "shift"}:
            return K
        K = K @ self.projection_
        return (K + K.T) / 2.0

    @_refused_if_too_large
    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the kernel between graphs (rows) and the training graphs (columns)."""
        check_is_fitted(self)
        squared = self._squared(as_metric_graphs(X, self.length), self.graphs_, _UNDERFLOW / self.gamma_)
        K = rbf(self.gamma_, squared)
        if self.psd_ == "shift":
            K += self.shift_ * (squared == 0.0)
        return K if self.psd_ in {None, "shift"} else K @ self.projection_

    def _fit(self, X: Sequence[Any]) -> Floats:
        if self.psd is not None and self.psd not in REPAIRS:
            raise unknown_option("psd", self.psd, [*REPAIRS, "None"])
        self.graphs_: list[MetricGraph] = as_metric_graphs(X, self.length)
        self.psd_ = self.psd
        self._matrices = MatrixKeeper()
        if isinstance(self.gamma, str):
            squared = self._squared(self.graphs_, None, np.inf)
            self.gamma_ = resolve_gamma(self.gamma, squared)
        else:
            self.gamma_ = resolve_gamma(self.gamma, np.empty((0, 0)))
            squared = self._squared(self.graphs_, None, _UNDERFLOW / self.gamma_)
        if self.psd is not None:
            self.projection_, self.shift_ = spectral_repair(rbf(self.gamma_, squared), self.psd)
        return squared

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_matrices"}

    def _check_state(self, fitted: dict[str, Any]) -> None:
        check_stored(self, "n_jobs", "None or an integer", ok=isinstance(self.n_jobs, (int, NoneType)))
        for name in ("model", "bridges", "max_genus", "truncation", "seed", "length"):
            plain = isinstance(getattr(self, name), (str, int, NoneType))
            check_stored(self, name, "text, an integer or None", ok=plain)
        self._matrices = MatrixKeeper()
        if not fitted:
            return
        graphs, psd = fitted.get("graphs_"), fitted.get("psd_")
        listed = isinstance(graphs, list) and all(isinstance(graph, MetricGraph) for graph in graphs)
        check_stored(self, "graphs_", "a list of metric graphs", ok=listed and bool(graphs))
        check_stored(self, "gamma_", "a positive number", ok=is_positive(fitted.get("gamma_")))
        check_stored(self, "psd_", f"one of {REPAIRS} or None", ok=psd is None or psd in REPAIRS)
        if psd is not None:
            size, shift = len(self.graphs_), fitted.get("shift_")
            square = is_array(fitted.get("projection_"), size, size)
            check_stored(self, "projection_", f"a {size} by {size} matrix of numbers", ok=square)
            check_stored(self, "shift_", "0 or more", ok=shift == 0.0 or is_positive(shift))

    def _squared(self, X: list[MetricGraph], Y: list[MetricGraph] | None, beyond: float) -> Floats:
        return squared_graph_distances(
            X,
            Y,
            self.metric,
            model=self.model,
            bridges=self.bridges,
            max_genus=self.max_genus,
            truncation=self.truncation,
            seed=self.seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            matrices=self._matrices,
            beyond=beyond,
        )


class TTWKernel(TorelliKernel):
    """The tropical Torelli-Wasserstein kernel of the paper; see `TorelliKernel` for the parameters.

    It is not positive definite for every gamma: see `definiteness` and the option ``psd``.
    """

    metric = "ttw"


class TTEKernel(TorelliKernel):
    """The tropical Torelli-Euclidean kernel of the paper; see `TorelliKernel` for the parameters."""

    metric = "tte"


class TTSKernel(TorelliKernel):
    """The tropical Torelli-spectral kernel: positive definite, and the fastest; see `TorelliKernel`."""

    metric = "tts"


def squared_graph_distances(
    X: list[MetricGraph],
    Y: list[MetricGraph] | None,
    metric: str,
    *,
    model: Model = "canonical",
    bridges: Bridges = "ignore",
    max_genus: int | None = None,
    truncation: Truncation = "random",
    seed: int = 0,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
    matrices: MatrixKeeper | None = None,
    beyond: float = np.inf,
) -> Floats:
    """Return the squared distances between the Torelli matrices of graphs, from the cache if it has them.

    What rounding explains, 1e-12 of the norms, is 0: the same space drawn in another way is at
    distance 0. `matrices` computes, or already has, the matrices of Y (of X if Y is None). Of pairs
    above `beyond`, a lower bound above it may be returned.
    """
    chosen = get_metric(metric)
    check_units(X, Y or ())
    if Y is not None and len(X) == len(Y) and all(a == b for a, b in zip(X, Y, strict=True)):
        Y = None
    options = {
        "model": model,
        "bridges": bridges,
        "max_genus": max_genus,
        "truncation": truncation,
        "seed": seed,
    }

    def compute_squared() -> tuple[Floats, float]:
        other = (matrices or MatrixKeeper())(X if Y is None else Y, n_jobs=n_jobs, **options)
        here = other if Y is None else torelli_matrices(X, n_jobs=n_jobs, **options)  # type: ignore[arg-type]
        shape = (len(here), len(other))
        remedy = "take fewer graphs, or pairwise_distances with out=numpy.memmap(...)"
        _memory.require(3 * 8 * shape[0] * shape[1], f"a kernel matrix of shape {shape}", remedy)
        out = np.zeros(shape)
        there = None if Y is None else other
        write = partial(compute, chosen, here, there, out, n_jobs=n_jobs, verbose=verbose, beyond=beyond)
        rows, columns = _squared_norms(chosen, here), _squared_norms(chosen, other)
        if rows is None or columns is None:
            return out, _square_at_any_scale(chosen, here, other, out, write(squared=False), beyond)
        exact_to = write(squared=True)
        for row, square in zip(out, rows, strict=True):
            row[row <= _ROUNDING**2 * (square + columns)] = 0.0
        return out, exact_to

    return distance_cache.squared((metric, *options.values()), X, Y, compute_squared, beyond)


def _squared_norms(metric: Metric, matrices: list[Floats]) -> Floats | None:
    """Return d² to the empty matrix, None if some are too large or too small to tell rounding by them."""
    with np.errstate(over="ignore"):
        squares = np.array([metric.square(Q) for Q in matrices])
    in_range = (squares > _LEAST) & (squares < _MOST) | np.array([len(Q) == 0 for Q in matrices])
    return squares if in_range.all() else None


def _square_at_any_scale(
    metric: Metric, here: list[Floats], other: list[Floats], out: Floats, exact_to: float, beyond: float
) -> float:
    """Square distances in place, with 0 for what rounding explains; return up to what number they are exact.

    Squares that overflow or vanish are infinite or 0. That is an error where all squares are asked
    for. If those above a finite `beyond` are not, exp(-gamma d²) is right all the same: it is 0
    for what overflows, and 1 to rounding for what vanishes.
    """
    rows, columns = np.zeros((len(here), 1)), np.zeros((1, out.shape[1]))
    empty = [np.empty((0, 0))]
    compute(metric, here, empty, rows, squared=False, n_jobs=None, verbose=False)
    compute(metric, empty, other, columns, squared=False, n_jobs=None, verbose=False)
    out[out <= np.hypot(_ROUNDING * rows, _ROUNDING * columns)] = 0.0
    distinct = out > 0.0
    with np.errstate(over="ignore"):
        np.square(out, out=out)
    overflow, vanish = bool(np.isinf(out).any()), bool((distinct & (out < np.finfo(float).tiny)).any())
    if np.isinf(beyond) and overflow:
        raise InvalidMatrixError("squared distances overflow: measure lengths in a larger unit")
    if np.isinf(beyond) and vanish:
        raise InvalidMatrixError("squared distances vanish: measure lengths in a smaller unit")
    return min(exact_to, float(np.finfo(float).max)) if overflow or vanish else exact_to


class MatrixKeeper:
    """Computes the Torelli matrices of a list of graphs when they are first asked for, and keeps them."""

    def __init__(self) -> None:
        self.kept: list[Floats] | None = None

    def __call__(self, graphs: list[MetricGraph], **options: Any) -> list[Floats]:  # noqa: ANN401
        """Return the matrices."""
        if self.kept is None:
            self.kept = torelli_matrices(graphs, **options)
        return self.kept


def rbf(gamma: float, squared: Floats) -> Floats:
    """Return exp(-gamma d²) of squared distances, which may be infinite."""
    with np.errstate(over="ignore"):
        K: Floats = np.exp(-gamma * squared)
    return K


def spectral_repair(K: Floats, repair: Repair) -> tuple[Floats, float]:
    """Return P such that K P is the repaired matrix (for clip and flip), and what shift adds to k(x, x).

    Rows of new graphs are repaired by the same P: a row that K has is then one that K P has.
    """
    values, vectors = np.linalg.eigh(K)
    keep = np.where(values > 0, 1.0, 0.0 if repair == "clip" else -1.0)
    return (vectors * keep) @ vectors.T, max(0.0, -float(values[0]))


def resolve_gamma(gamma: float | Literal["median"], squared: Floats) -> float:
    """Return gamma as a number; the median rule gives 1 where all distances are 0."""
    if isinstance(gamma, str) and gamma == "median":
        upper = squared[np.triu_indices_from(squared, 1)]
        nonzero = upper[upper > 0]
        if not len(nonzero):
            return 1.0
        median = float(np.median(nonzero))
        if np.isinf(median):
            raise InvalidMatrixError("squared distances overflow: measure lengths in a larger unit")
        if median < np.finfo(float).tiny:
            raise InvalidMatrixError("squared distances vanish: measure lengths in a smaller unit")
        return float(np.log(2.0)) / median
    if not is_positive(gamma):
        raise InvalidOptionError(f"gamma is {quoted(gamma)}: use a positive number or 'median'")
    return float(gamma)


@dataclass(frozen=True)
class Definiteness:
    """The signs of the spectrum of a kernel matrix.

    Attributes
    ----------
    n_positive, n_zero, n_negative
        Numbers of eigenvalues above, within and below the tolerance.
    smallest, largest
        Extreme eigenvalues.
    tolerance
        What counts as zero.
    """

    n_positive: int
    n_zero: int
    n_negative: int
    smallest: float
    largest: float
    tolerance: float

    @property
    def is_psd(self) -> bool:
        """Whether no eigenvalue is negative beyond the tolerance."""
        return self.n_negative == 0


def definiteness(K: NDArray[np.floating[Any]], *, tolerance: float | None = None) -> Definiteness:
    """Count the positive, zero and negative eigenvalues of a kernel matrix.

    Parameters
    ----------
    K
        Symmetric matrix.
    tolerance
        Largest absolute value that counts as zero; by default what rounding explains, the size
        times machine epsilon times the largest eigenvalue.
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not np.isfinite(K).all():  # noqa: PLR2004
        raise InvalidMatrixError(f"a kernel matrix must be square and finite, this one has shape {K.shape}")
    if not np.allclose(K, K.T, rtol=1e-8, atol=1e-12 * np.abs(K).max(initial=0.0)):
        raise InvalidMatrixError("a kernel matrix must be symmetric")
    values = np.linalg.eigvalsh(K)
    if tolerance is None:
        tolerance = len(K) * float(np.finfo(float).eps) * float(np.abs(values).max(initial=0.0))
    positive = int(np.count_nonzero(values > tolerance))
    negative = int(np.count_nonzero(values < -tolerance))
    extremes = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
    return Definiteness(positive, len(values) - positive - negative, negative, *extremes, float(tolerance))


def principal_components(K: Floats, n_components: int = 2) -> tuple[Floats, Floats]:
    """Return the first kernel principal components and their shares of the variance.

    Parameters
    ----------
    K
        Symmetric matrix of kernel values.
    n_components
        How many; those that the matrix does not have are 0.

    Returns
    -------
    scores
        Array of shape (n_graphs, n_components). Signs are fixed by the entry of largest absolute
        value, which is positive: the same kernel gives the same picture.
    share
        Each component's part of the sum of the positive eigenvalues of the centred matrix.
    """
    K = np.asarray(K, dtype=np.float64)
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean() if len(K) else K
    values, vectors = np.linalg.eigh(centred)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    kept = min(n_components, len(K))
    scores, share = np.zeros((len(K), n_components)), np.zeros(n_components)
    scores[:, :kept] = vectors[:, :kept] * np.sqrt(values[:kept])
    share[:kept] = values[:kept] / max(values.sum(), np.finfo(float).tiny)
    if len(K):
        scores *= np.where(scores[np.abs(scores).argmax(axis=0), np.arange(n_components)] < 0, -1.0, 1.0)
    return scores, share
