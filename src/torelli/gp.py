"""Kernels on metric graphs for scikit-learn's Gaussian processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.gaussian_process.kernels import GenericKernelMixin, Hyperparameter, Kernel

from torelli import _memory
from torelli._errors import InvalidOptionError, ScaleWarning, quoted, warn
from torelli._estimators import CheckedState, check_stored
from torelli._registry import get_kernel
from torelli._validate import is_positive
from torelli.graph import MetricGraph
from torelli.io import as_metric_graphs
from torelli.kernel_matrix import rbf, resolve_gamma
from torelli.representation import squared_graph_distances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._types import Floats


_ALL_UNLIKE = 1e-12  # sum of the kernel values off the diagonal


class GraphRBF(CheckedState, GenericKernelMixin, Kernel):
    """exp(-gamma d²) between graphs, with gamma as a hyperparameter.

    Start from `GraphRBF.median`, which finds the scale of the data. With a gamma that is far off, the kernel
    matrix says that all graphs are alike, or all unlike, and an optimiser cannot move.

    Add and multiply it with other kernels of `sklearn.gaussian_process.kernels`. Give the Gaussian
    process a list of `MetricGraph` (networkx graphs confuse numpy: convert them with
    `as_metric_graphs` first).

    Parameters
    ----------
    metric
        Name of a kernel in `KERNELS`. ``"tts"``, ``"tte"`` and ``"ttm"`` are positive definite;
        ``"ttw"`` needs a `WhiteKernel` or a larger ``alpha`` if its matrix has negative eigenvalues.
    gamma
        Scale, in units of one over squared distance.
    gamma_bounds
        Lower and upper bound of gamma when it is optimised, or ``"fixed"``.
    training
        The training graphs, for a kernel that learns its representation from them (``"ttm"``).
        `GraphRBF.median` sets it. The other kernels do not need it.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads; the result does not depend on it.
    options
        Options of the kernel: ``model``, ``bridges``, ``max_genus``, ``truncation`` and ``seed`` as for
        `torelli_matrix`, or for ``"ttm"`` those of `MeasureFeatures`.

    References
    ----------
    Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), chapter 2.

    Examples
    --------
    >>> import torelli as tt
    >>> rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 4.0, 9.0)]
    >>> kernel = tt.GraphRBF.median(rings, "tts")
    >>> kernel(rings).round(2)
    array([[1.  , 0.5 , 0.06],
           [0.5 , 1.  , 0.5 ],
           [0.06, 0.5 , 1.  ]])
    """

    def __init__(
        self,
        metric: str = "tts",
        *,
        gamma: float = 1.0,
        gamma_bounds: tuple[float, float] | str = (1e-5, 1e5),
        training: list[MetricGraph] | None = None,
        length: str = "length",
        n_jobs: int | None = None,
        **options: Any,
    ) -> None:
        self.metric = metric
        self.gamma = gamma
        self.gamma_bounds = gamma_bounds
        self.training = training
        self.length = length
        self.n_jobs = n_jobs
        self.options = options

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  (scikit-learn's signature)
        """Return the parameters, with the options of the kernel that were given."""
        parameters: dict[str, Any] = super().get_params(deep)
        return parameters | self.options

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, or options of the kernel."""
        own = super().get_params()
        self.options = self.options | {name: value for name, value in parameters.items() if name not in own}
        super().set_params(**{name: value for name, value in parameters.items() if name in own})
        return self

    @classmethod
    def median(cls, graphs: Sequence[Any], metric: str = "tts", **options: Any) -> GraphRBF:
        """Return a kernel whose gamma makes the median kernel value of some graphs 1/2.

        Parameters
        ----------
        graphs
            The training graphs, or some of them.
        metric
            As for the class.
        options
            Other parameters of the class. By default, the bounds are gamma / 1,000 and gamma * 1,000, and a
            kernel that learns its representation is fitted to `graphs`.
        """
        converted = as_metric_graphs(graphs, options.get("length", "length"))
        if get_kernel(metric).entry.learns:
            options = {"training": converted} | options
        kernel = cls(metric, **options)
        gamma = resolve_gamma("median", kernel._squared(converted, None))
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
        columns = None if Y is None else as_metric_graphs(Y, self.length)
        squared = self._squared(as_metric_graphs(X, self.length), columns)
        K = rbf(self.gamma, squared)
        if Y is None and len(K) > 1 and K.sum() - len(K) < _ALL_UNLIKE:
            warn("gamma is so large that no two graphs are similar: see GraphRBF.median", ScaleWarning)
        if not eval_gradient:
            return K
        if self.hyperparameter_gamma.fixed:
            return K, np.empty((*K.shape, 0))
        return K, (-self.gamma * squared * K)[:, :, np.newaxis]

    def _check_parameters(self) -> None:
        check_stored(self, "gamma", "a positive number", ok=is_positive(self.gamma))
        check_stored(self, "length", "text", ok=isinstance(self.length, str))
        graphs = self.training
        listed = isinstance(graphs, list) and all(isinstance(graph, MetricGraph) for graph in graphs)
        check_stored(self, "training", "a list of metric graphs or None", ok=listed or graphs is None)
        named = isinstance(self.options, dict) and all(isinstance(name, str) for name in self.options)
        check_stored(self, "options", "a dictionary of options", ok=named)

    def _squared(self, X: list[MetricGraph], Y: list[MetricGraph] | None) -> Floats:
        if "kernel" in self.options:
            raise InvalidOptionError(
                f"GraphRBF has no parameter 'kernel': give metric={quoted(self.options['kernel'])}"
            )
        if get_kernel(self.metric).entry.learns and self.training is None:
            raise InvalidOptionError(
                f"the kernel {quoted(self.metric)} learns from graphs: give training=graphs, or use "
                "GraphRBF.median"
            )
        return squared_graph_distances(
            X, Y, self.metric, training=self.training, n_jobs=self.n_jobs, **self.options
        )

    def diag(self, X: Sequence[Any]) -> Floats:
        """Return k(x, x), which is 1."""
        return np.ones(len(X))

    def is_stationary(self) -> bool:
        """Return False: a stationary kernel depends on differences of vectors, and graphs have none."""
        return False

    def __repr__(self) -> str:
        return f"GraphRBF({self.metric!r}, gamma={self.gamma:.3g})"
