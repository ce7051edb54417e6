"""Kernels on metric graphs as scikit-learn estimators.

A kernel is exp(-gamma d²), where d is a distance between *representations* of graphs: Torelli matrices,
vectors, or anything else that a transformer makes of a list of graphs. Its `KernelEntry` names both, and
`torelli.KERNELS` lists the kernels by name. Command line, report, explorer, Gaussian processes,
combinations and stored models take them from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc, signature
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._cache import distance_cache, fingerprint
from torelli._errors import quoted, unknown_option
from torelli._estimators import GraphTransformer, check_stored, is_array, with_parameters_of
from torelli._registry import get_kernel
from torelli._units import check_units
from torelli._validate import is_positive
from torelli.distances import METRICS, Metric, squared_matrix_distances, squared_vector_distances
from torelli.features import MeasureFeatures
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs
from torelli.kernel_matrix import REPAIRS, rbf, resolve_gamma, spectral_repair
from torelli.matrix import torelli_matrices, torelli_matrix, warn_of_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import (
        Along,
        Bridges,
        Floats,
        Ints,
        Model,
        Represented,
        Scale,
        Truncation,
        Weights,
    )
    from torelli.kernel_matrix import Gamma, Repair

UNDERFLOW = 750.0
"""exp(-x) is exactly 0 from x = 745.2 on; beyond this, rounding of x does not matter."""

_refuse_if_too_large = _memory.refused_if_too_large(
    "the kernel matrix", "take fewer graphs, use max_genus, or pairwise_distances with out=numpy.memmap(...)"
)


@dataclass(frozen=True)
class KernelEntry:
    """What the library needs to know of a kernel exp(-gamma d²).

    Attributes
    ----------
    name
        Name in options and on the command line; ``name.upper()`` is shown in tables.
    title
        Full name.
    description
        One line on what is compared.
    representation
        Class of a transformer from graphs to matrices or to the rows of an array, between which distances
        are taken. Its parameters, apart from ``length`` and ``n_jobs``, are options of the kernel.
    distance
        A `Metric` between matrices, or a function of two arrays (the second is None for all pairs of the
        first) that returns the squared distances between their rows.
    learns
        Whether the representation is fitted to the training graphs, so that distances depend on them.
    positive_definite
        Whether the kernel is positive definite for every gamma.
    default
        Whether commands use the kernel by default.

    Examples
    --------
    >>> import torelli as tt
    >>> entry = tt.KERNELS["ttm"].entry
    >>> entry.name, entry.learns, entry.positive_definite
    ('ttm', True, True)
    """

    name: str
    title: str
    description: str
    representation: type[Any]
    distance: Metric | Callable[[Floats, Floats | None], Floats] = squared_vector_distances
    learns: bool = False
    positive_definite: bool = True
    default: bool = False

    @property
    def defaults(self) -> dict[str, Any]:
        """The options of the representation, with their defaults."""
        parameters = signature(self.representation).parameters.values()
        return {one.name: one.default for one in parameters if one.name not in {"length", "n_jobs"}}

    def options(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return all options of the representation; raise if it does not take one that is given."""
        defaults = self.defaults
        for name in given:
            if name not in defaults:
                raise unknown_option(f"option of the kernel {quoted(self.name)}:", name, defaults)
        return defaults | given


class Representation:
    """Makes representations of graphs, fitted to training graphs whose representations are kept.

    Nothing is computed before it is needed, because distances often come from the cache.

    Parameters
    ----------
    entry
        The kernel.
    graphs
        The training graphs.
    options
        Options of the representation.
    n_jobs
        Number of threads.
    """

    def __init__(
        self,
        entry: KernelEntry,
        graphs: list[MetricGraph],
        options: dict[str, Any],
        n_jobs: int | None = None,
    ) -> None:
        self.graphs = graphs
        self.learns = entry.learns
        self.options = entry.options(options)
        self.transformer = entry.representation(**self.options)
        if "n_jobs" in signature(entry.representation).parameters:
            self.transformer.n_jobs = n_jobs
        self._of_training: Any = None
        self._fitted = False

    def __call__(self, graphs: list[MetricGraph]) -> Represented:
        """Return the representations of graphs, in their order."""
        if graphs is self.graphs:
            if self._of_training is None:
                self._of_training = self.transformer.fit_transform(self.graphs)
                self._fitted = True
            return self._of_training
        if self.learns and not self._fitted:
            self.transformer.fit(self.graphs)
            self._fitted = True
        return self.transformer.transform(graphs)

    def warn_of_trees(self) -> None:
        """Warn if most training graphs have no cycles and nothing else of them is represented."""
        if self.options.get("bridges") == "ignore":
            warn_of_trees([graph.genus for graph in self.graphs], "kernels")

    @property
    def key(self) -> tuple[Any, ...]:
        """What the representation of a graph depends on besides the graph, for the cache."""
        return (*self.options.values(), fingerprint(self.graphs) if self.learns else None)


@with_parameters_of(torelli_matrix)
class TorelliMap(GraphTransformer):
    """The tropical Torelli map as a transformer: graphs to Torelli matrices.

    Parameters
    ----------
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads; the result does not depend on it.

    References
    ----------
    Section 3.2 of the paper.

    Examples
    --------
    >>> import torelli as tt
    >>> theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> tt.TorelliMap().fit_transform([theta])[0].tolist()
    [[3.0, 1.0], [1.0, 4.0]]
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

    def _fit(self, X: Sequence[Any]) -> None:
        as_metric_graphs(X, self.length)

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


class GraphKernel(GraphTransformer):
    """exp(-gamma d²) between graphs: graphs to kernel matrix against the training graphs.

    The base class of all kernels. A subclass sets `entry`; if its representation has options, it takes
    them as parameters of the same names.

    Parameters
    ----------
    gamma
        A positive number, or ``"median"``: ln 2 / median of the nonzero squared training
        distances, so that the median kernel value is 1/2.
    psd
        How to repair negative eigenvalues of the training kernel matrix, if at all: ``"clip"``
        sets them to 0, ``"flip"`` to their absolute values, ``"shift"`` adds the largest of those
        to k(x, x). New graphs are treated consistently: transforming a training graph gives its
        row of the repaired training matrix.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads; the result does not depend on it.
    verbose
        True to show the fraction done and the time left on standard error, or a function that is
        called with the fraction done.

    Attributes
    ----------
    gamma_
        The gamma in use.
    graphs_
        The training graphs, in the order given.

    Examples
    --------
    A kernel on the genus. Once it is registered, its name works wherever a kernel can be named:

    >>> from torelli import KERNELS, GraphKernel, KernelEntry, StreetStatistics
    >>> class GenusVectors(StreetStatistics):
    ...     def __init__(self):
    ...         super().__init__(["genus"])
    >>> class GenusKernel(GraphKernel):
    ...     entry = KernelEntry("genus", "genus", "number of independent cycles", GenusVectors)
    >>> KERNELS["genus"] = GenusKernel
    >>> del KERNELS["genus"]
    """

    entry: ClassVar[KernelEntry]

    def __init__(
        self,
        *,
        gamma: Gamma = "median",
        psd: Repair | None = None,
        length: str = "length",
        n_jobs: int | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        self.gamma = gamma
        self.psd = psd
        self.length = length
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_refuse_if_too_large
    def _fit(self, X: Sequence[Any]) -> Floats:
        """Learn the representation, gamma and the repair; return the squared training distances."""
        if self.psd is not None and self.psd not in REPAIRS:
            raise unknown_option("psd", self.psd, [*REPAIRS, "None"])
        self.graphs_: list[MetricGraph] = as_metric_graphs(X, self.length)
        self.psd_ = self.psd
        self._representation = self._new_representation()
        self._representation.warn_of_trees()
        if isinstance(self.gamma, str):
            squared = self._squared(self.graphs_, None, np.inf)
            self.gamma_ = resolve_gamma(self.gamma, squared)
        else:
            self.gamma_ = resolve_gamma(self.gamma, np.empty((0, 0)))
            squared = self._squared(self.graphs_, None, UNDERFLOW / self.gamma_)
        if self.psd is not None:
            self.projection_, self.shift_ = spectral_repair(rbf(self.gamma_, squared), self.psd)
        return squared

    @_refuse_if_too_large
    def _fit_transform(self, X: Sequence[Any]) -> Floats:
        squared = self._fit(X)
        K = rbf(self.gamma_, squared)
        if self.psd_ == "shift":
            K += self.shift_ * (squared == 0.0)
        if self.psd_ in {None, "shift"}:
            return K
        K = K @ self.projection_
        return (K + K.T) / 2.0

    @_refuse_if_too_large
    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the kernel between graphs (rows) and the training graphs (columns)."""
        check_is_fitted(self)
        squared = self._squared(as_metric_graphs(X, self.length), self.graphs_, UNDERFLOW / self.gamma_)
        K = rbf(self.gamma_, squared)
        if self.psd_ == "shift":
            K += self.shift_ * (squared == 0.0)
        return K if self.psd_ in {None, "shift"} else K @ self.projection_

    def _new_representation(self) -> Representation:
        return Representation(self.entry, self.graphs_, options_of(self), self.n_jobs)

    def _squared(self, X: list[MetricGraph], Y: list[MetricGraph] | None, cutoff: float) -> Floats:
        return _squared_distances(
            self.entry, self._representation, X, Y, n_jobs=self.n_jobs, verbose=self.verbose, cutoff=cutoff
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_representation"}

    def _check_parameters(self) -> None:
        check_stored(self, "n_jobs", "None or an integer", ok=isinstance(self.n_jobs, (int, NoneType)))
        for name in set(self.get_params(deep=False)) - {"gamma", "psd", "n_jobs", "verbose"}:
            plain = isinstance(getattr(self, name), (str, int, float, NoneType))
            check_stored(self, name, "text, a number or None", ok=plain)

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
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
        # always computed again: matrices from a file are never used
        self._representation = self._new_representation()


@with_parameters_of(TorelliMap)
class TorelliKernel(GraphKernel):
    """exp(-gamma d²) between Torelli matrices: graphs to kernel matrix against the training graphs.

    The base class of `TTWKernel`, `TTEKernel` and `TTSKernel`, which differ in the distance d.

    Attributes
    ----------
    gamma_
        The gamma in use.
    graphs_
        The training graphs, in the order given.

    Notes
    -----
    Chain the kernel with an estimator that takes a precomputed one, such as ``SVC(kernel="precomputed")``.

    Distances do not depend on gamma and are kept in `torelli.distance_cache` by the content of the
    graphs, so that a grid search computes them once for each fold. Wasserstein distances are not computed
    where the traces alone show that the kernel underflows to 0; the result is the same, bit for bit.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> tt.TTSKernel().fit(rings[:2]).transform(rings).round(2)  # TTWKernel and TTEKernel likewise
    array([[1.  , 0.5 ],
           [0.5 , 1.  ],
           [0.06, 0.5 ]])
    """

    def __init_subclass__(cls, metric: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if metric is not None:
            entry = METRICS[metric]
            cls.entry = KernelEntry(
                entry.name,
                entry.title,
                entry.description,
                representation=TorelliMap,
                distance=entry,
                positive_definite=entry.positive_definite,
                default=True,
            )
            # the parameters of the base class stand between a kernel's own summary and its own references
            _, title, shared = cleandoc(TorelliKernel.__doc__ or "").partition("Parameters\n")
            summary, own_title, own = cleandoc(cls.__doc__ or "").partition("References\n")
            sections = shared.partition("Examples\n")[0] if own else shared
            cls.__doc__ = f"{summary.rstrip()}\n\n{title}{sections}{own_title}{own}\n"

    def __init__(
        self,
        *,
        gamma: Gamma = "median",
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
        super().__init__(gamma=gamma, psd=psd, length=length, n_jobs=n_jobs, verbose=verbose)
        self.model = model
        self.bridges = bridges
        self.max_genus = max_genus
        self.truncation = truncation
        self.seed = seed


class TTWKernel(TorelliKernel, metric="ttw"):
    """The tropical Torelli-Wasserstein kernel of the paper: graphs to kernel matrix.

    It compares Torelli matrices A and B by the Bures-Wasserstein distance (section 4.2 of the paper),
    ``d² = tr A + tr B - 2 tr (√A B √A)^(1/2)``. It is not positive definite for every gamma: see
    `definiteness` and the option ``psd``.

    References
    ----------
    Section 4.2 of the paper, Theorem 4.2 and appendix C.2; Bhatia, Jain and Lim (2019) for the distance.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> tt.TTWKernel().fit(rings[:2]).transform(rings).round(2)
    array([[1.  , 0.5 ],
           [0.5 , 1.  ],
           [0.06, 0.5 ]])
    """


class TTEKernel(TorelliKernel, metric="tte"):
    """The tropical Torelli-Euclidean kernel of the paper: graphs to kernel matrix.

    It compares Torelli matrices A and B by the Frobenius norm of their difference (section 4.2 of the
    paper), ``d² = ‖A - B‖²``. It is positive definite.

    References
    ----------
    Section 4.2 of the paper, Theorem 4.3.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> tt.TTEKernel().fit(rings[:2]).transform(rings).round(2)
    array([[1.  , 0.5 ],
           [0.5 , 1.  ],
           [0.01, 0.15]])
    """


class TTSKernel(TorelliKernel, metric="tts"):
    """The tropical Torelli-spectral kernel: graphs to kernel matrix.

    It compares the sorted square roots of the eigenvalues of Torelli matrices,
    ``d² = Σ (√λᵢ - √μᵢ)²``. It is positive definite, and not in the paper.

    References
    ----------
    The least TTW distance over all rotations of one of the matrices, by von Neumann's trace inequality.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> tt.TTSKernel().fit(rings[:2]).transform(rings).round(2)
    array([[1.  , 0.5 ],
           [0.5 , 1.  ],
           [0.06, 0.5 ]])
    """


@with_parameters_of(MeasureFeatures)
class TTMKernel(GraphKernel):
    """The tropical Torelli-measure kernel: graphs to kernel matrix.

    ``exp(-gamma ‖x - y‖²)`` between the vectors of `MeasureFeatures`. It is positive definite for every
    gamma. Apart from the matrix itself, its cost is linear in the number of graphs.

    Parameters
    ----------
    psd
        As for `TorelliKernel`. It only affects eigenvalues that rounding made negative.

    Attributes
    ----------
    gamma_
        The gamma in use.
    graphs_
        The training graphs, in the order given, to which the vectors are fitted.

    References
    ----------
    The canonical measure is Zhang's (1993), in the electrical form of Baker and Faber (2006); the vectors are
    random features (Rahimi and Recht, 2007). See the guide to the canonical measure.

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.street_patterns(2, radius=150, seed=0)
    >>> K = tt.TTMKernel().fit_transform(data.graphs)
    >>> K.shape, bool((K.diagonal() == 1.0).all())
    ((8, 8), True)
    """

    entry = KernelEntry(
        name="ttm",
        title="tropical Torelli-measure",
        description="Euclidean distance between vectors of the canonical measure",
        representation=MeasureFeatures,
        default=True,
        learns=True,
    )

    def __init__(
        self,
        *,
        gamma: Gamma = "median",
        psd: Repair | None = None,
        along: Along = "junctions",
        depth: int | None = None,
        n_features: int = 256,
        scale: Scale = "absolute",
        weights: Weights | None = None,
        size: float = 0.5,
        frequency: float = 1.0,
        seed: int = 0,
        length: str = "length",
        n_jobs: int | None = None,
        verbose: bool | Progress = False,
    ) -> None:
        super().__init__(gamma=gamma, psd=psd, length=length, n_jobs=n_jobs, verbose=verbose)
        self.along = along
        self.depth = depth
        self.n_features = n_features
        self.scale = scale
        self.weights = weights
        self.size = size
        self.frequency = frequency
        self.seed = seed


def options_of(kernel: GraphKernel) -> dict[str, Any]:
    """Return the options of a kernel's representation."""
    return {name: getattr(kernel, name) for name in kernel.entry.defaults if hasattr(kernel, name)}


def squared_graph_distances(
    X: list[MetricGraph],
    Y: list[MetricGraph] | None,
    kernel: str,
    *,
    training: list[MetricGraph] | None = None,
    representation: Representation | None = None,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
    **options: Any,
) -> Floats:
    """Return the squared distances between graphs by a kernel, from the cache if it has them.

    Distances that rounding explains are 0: the same space drawn in another way is at distance 0.

    Parameters
    ----------
    X, Y
        Graphs; if Y is None, all pairs of X.
    kernel
        Name of a kernel.
    training
        Graphs that a kernel which learns its representation is fitted to; by default Y, or X without Y.
    representation
        Kept representations to use instead of `training` and `options`, if several kernels share them.
    n_jobs, verbose
        As for `pairwise_distances`.
    options
        Options of the kernel's representation.
    """
    entry = get_kernel(kernel).entry
    if representation is None:
        fitted_to = training if training is not None else X if Y is None else Y
        representation = Representation(entry, fitted_to, options, n_jobs)
    if Y is None:
        representation.warn_of_trees()
    return _squared_distances(entry, representation, X, Y, n_jobs=n_jobs, verbose=verbose)


def distances_by_training(
    graphs: list[MetricGraph],
    kernel: str,
    *,
    n_jobs: int | None = None,
    verbose: bool | Progress = False,
    **options: Any,
) -> Callable[[Ints], Floats]:
    """Return a function from the indices of training graphs to the squared distances of all graphs.

    A kernel that learns its representation has other distances for other training graphs; the distances of
    the others are computed once.
    """
    if not get_kernel(kernel).entry.learns:
        squared = squared_graph_distances(graphs, None, kernel, n_jobs=n_jobs, verbose=verbose, **options)
        return lambda _: squared

    latest: dict[bytes, Floats] = {}  # one fold is asked for again and again, with another gamma or C

    def fitted(training: Ints) -> Floats:
        key = training.tobytes()
        if key not in latest:
            latest.clear()
            chosen = [graphs[i] for i in training.tolist()]
            latest[key] = squared_graph_distances(
                graphs, None, kernel, training=chosen, n_jobs=n_jobs, verbose=verbose, **options
            )
        return latest[key]

    return fitted


def _squared_distances(
    entry: KernelEntry,
    representation: Representation,
    X: list[MetricGraph],
    Y: list[MetricGraph] | None,
    *,
    n_jobs: int | None,
    verbose: bool | Progress,
    cutoff: float = np.inf,
) -> Floats:
    """Return squared distances; those above `cutoff` may be lower bounds that are above it too."""
    check_units(X, Y or ())
    if Y is not None and len(X) == len(Y) and all(a == b for a, b in zip(X, Y, strict=True)):
        X, Y = Y, None

    def compute() -> tuple[Floats, float]:
        shape = (len(X), len(X if Y is None else Y))
        remedy = "take fewer graphs, or pairwise_distances with out=numpy.memmap(...)"
        _memory.require(3 * 8 * shape[0] * shape[1], f"a kernel matrix of shape {shape}", remedy)
        columns = None if Y is None else representation(Y)
        rows = representation(X)
        if isinstance(entry.distance, Metric):
            return squared_matrix_distances(
                entry.distance, rows, columns, n_jobs=n_jobs, verbose=verbose, cutoff=cutoff
            )
        return entry.distance(rows, columns), np.inf

    key = (entry.name, *representation.key)
    return distance_cache.squared(key, X, Y, compute, cutoff, shared=_is_ours(entry))


def _is_ours(entry: KernelEntry) -> bool:
    """Whether code of this package computes the distances of a kernel."""
    distance = entry.distance.write_pairs if isinstance(entry.distance, Metric) else entry.distance
    modules = [getattr(part, "__module__", "") for part in (entry.representation, distance)]
    return all(module.partition(".")[0] == "torelli" for module in modules)
