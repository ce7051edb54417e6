"""Kernels on metric graphs for scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process.kernels import GenericKernelMixin, Hyperparameter, Kernel

from torelli import _memory
from torelli._errors import ScaleWarning, warn
from torelli._validate import CheckedState, check_stored, is_positive
from torelli.io import as_metric_graphs
from torelli.kernels import rbf, resolve_gamma, squared_graph_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph
    from torelli.matrix import Bridges, Model, Truncation

    Floats = NDArray[np.float64]

_ALL_UNLIKE = 1e-12


class GraphRBF(CheckedState, GenericKernelMixin, Kernel):
    """exp(-gamma d²) between the Torelli matrices of graphs, with gamma as a hyperparameter.

    Start from `GraphRBF.median`, which finds the scale of the data: from a gamma that is far off, the
    kernel matrix is that of all graphs alike, or all unlike, and an optimiser cannot move.

    Add and multiply it with other kernels of `sklearn.gaussian_process.kernels`. Give the Gaussian
    process a list of `MetricGraph` (networkx graphs confuse numpy: convert them with
    `as_metric_graphs` first).

    Parameters
    ----------
    metric
        ``"tts"`` or ``"tte"``, which are positive definite, or ``"ttw"``, which needs a
        `WhiteKernel` or a larger ``alpha`` where its matrix has negative eigenvalues.
    gamma
        Scale, in units of one over squared length.
    gamma_bounds
        Lower and upper bound of gamma when it is optimised, or ``"fixed"``.
    model, bridges, max_genus, truncation, seed
        As for `torelli_matrix`.
    n_jobs
        Number of threads; the result does not depend on it.
    """

    def __init__(
        self,
        metric: str = "tts",
        *,
        gamma: float = 1.0,
        gamma_bounds: tuple[float, float] | str = (1e-5, 1e5),
        model: Model = "canonical",
        bridges: Bridges = "ignore",
        max_genus: int | None = None,
        truncation: Truncation = "random",
        seed: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds
        self.model = model
        self.bridges = bridges
        self.max_genus = max_genus
        self.truncation = truncation
        self.seed = seed
        self.n_jobs = n_jobs

    @classmethod
    def median(cls, graphs: Sequence[Any], metric: str = "tts", **options: Any) -> GraphRBF:  # noqa: ANN401
        """Return a kernel whose gamma puts the median kernel value of some graphs at 1/2.

        Parameters
        ----------
        graphs
            The training graphs, or some of them.
        metric
            As for the class.
        options
            Other parameters of the class; bounds are a factor of 1,000 either way unless given.
        """
        kernel = cls(metric, **options)
        gamma = resolve_gamma("median", kernel._squared(as_metric_graphs(graphs), None))
        return cls(metric, **{"gamma_bounds": (gamma / 1e3, gamma * 1e3), **options, "gamma": gamma})

    @property
    def hyperparameter_gamma(self) -> Hyperparameter:
        """Gamma, on a logarithmic scale."""
        return Hyperparameter("gamma", "numeric", self.gamma_bounds)

    @_memory.refused_if_too_large("the kernel matrix", "take fewer graphs, or use max_genus")
    def __call__(
        self,
        X: Sequence[Any],
        Y: Sequence[Any] | None = None,
        eval_gradient: bool = False,  # noqa: FBT001, FBT002  (scikit-learn's signature)
    ) -> Floats | tuple[Floats, Floats]:
        """Return the kernel matrix and, if asked for, its gradient with respect to log gamma."""
        if eval_gradient and Y is not None:
            raise ValueError("the gradient can only be evaluated when Y is None")
        squared = self._squared(as_metric_graphs(X), None if Y is None else as_metric_graphs(Y))
        K = rbf(self.gamma, squared)
        if Y is None and len(K) > 1 and K.sum() - len(K) < _ALL_UNLIKE:
            warn("gamma is so large that all graphs are unlike: see GraphRBF.median", ScaleWarning)
        if not eval_gradient:
            return K
        if self.hyperparameter_gamma.fixed:
            return K, np.empty((*K.shape, 0))
        return K, (-self.gamma * squared * K)[:, :, np.newaxis]

    def _check_state(self, fitted: dict[str, Any]) -> None:  # noqa: ARG002  (nothing is fitted)
        check_stored(self, "gamma", "a positive number", ok=is_positive(self.gamma))

    def _squared(self, X: list[MetricGraph], Y: list[MetricGraph] | None) -> Floats:
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
        )

    def diag(self, X: Sequence[Any]) -> Floats:
        """Return k(x, x), which is 1."""
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        """Return whether the kernel depends on differences of vectors only, which graphs do not have."""
        return False

    def __repr__(self) -> str:
        return f"GraphRBF({self.metric!r}, gamma={self.gamma:.3g})"
