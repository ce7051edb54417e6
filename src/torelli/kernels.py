"""Kernels on metric graphs as scikit-learn estimators.

A kernel is exp(-gamma d²), where d is a distance between *representations* of graphs: Torelli matrices,
vectors, or anything else that a transformer makes of a list of graphs. Its `KernelEntry` names both, and
`torelli.KERNELS` lists the kernels by name. Command line, report, explorer, Gaussian processes,
combinations and stored models take them from there.
"""

from __future__ import annotations

from inspect import cleandoc
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from torelli import _memory
from torelli._errors import unknown_option
from torelli._estimators import GraphTransformer, check_stored, is_array, with_parameters_of
from torelli._validate import is_positive
from torelli.distances import METRICS
from torelli.features import MeasureFeatures
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs
from torelli.kernel_matrix import REPAIRS, rbf, resolve_gamma, spectral_repair
from torelli.matrix import torelli_matrices, torelli_matrix
from torelli.representation import KernelEntry, Representation, squared_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import (
        Along,
        Bridges,
        Floats,
        Model,
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
            raise unknown_option("psd", self.psd, [*REPAIRS, None])
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
        return squared_distances(
            self.entry, self._representation, X, Y, n_jobs=self.n_jobs, verbose=self.verbose, cutoff=cutoff
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {key: value for key, value in state.items() if key != "_representation"}

    def _check_parameters(self) -> None:
        whole = isinstance(self.n_jobs, (int, np.integer, NoneType))
        check_stored(self, "n_jobs", "None or an integer", ok=whole)
        for name in set(self.get_params(deep=False)) - {"gamma", "psd", "n_jobs", "verbose"}:
            plain = isinstance(getattr(self, name), (str, int, float, np.integer, np.floating, NoneType))
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
    features_
        The fitted `MeasureFeatures`, between whose vectors the distances are.

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
        n_features: int | None = None,
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

    @property
    def features_(self) -> MeasureFeatures:
        """The fitted features, between whose vectors the distances are."""
        check_is_fitted(self)
        features: MeasureFeatures = self._representation.fitted()
        return features


def options_of(kernel: GraphKernel) -> dict[str, Any]:
    """Return the options of a kernel's representation."""
    return {name: getattr(kernel, name) for name in kernel.entry.defaults if hasattr(kernel, name)}
