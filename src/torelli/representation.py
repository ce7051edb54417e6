"""Representations of graphs, and the squared distances between them by which a kernel compares graphs.

A `KernelEntry` names the representation of a kernel, such as the Torelli matrix, and the distance between
two of them. Squared distances are kept in `torelli.distance_cache`.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _memory
from torelli._cache import distance_cache, fingerprint
from torelli._errors import InvalidOptionError, listed, quoted, unknown_option
from torelli._registry import KERNELS, get_kernel
from torelli._units import check_units
from torelli.distances import (
    Metric,
    squared_matrix_distances,
    squared_vector_distances,
    squared_vector_products,
)
from torelli.matrix import warn_of_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torelli._numerics.threads import Progress
    from torelli._types import Floats, Ints, Represented
    from torelli.graph import MetricGraph


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

    def variant(self, options: Mapping[str, Any]) -> str:
        """Return what follows the name in tables: `` along returns``, or nothing for the default."""
        along = options.get("along")
        return "" if along in (None, self.defaults.get("along", along)) else f" along {along}"


def options_by_kernel(kernels: Sequence[str], given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return for each kernel those of the given options that it takes; raise if none of them takes one."""
    defaults = {kernel: get_kernel(kernel).entry.defaults for kernel in kernels}
    for name, value in given.items():
        if not any(name in own for own in defaults.values()):
            takers = " or ".join(map(repr, (one for one in KERNELS if name in KERNELS[one].entry.defaults)))
            raise InvalidOptionError(
                f"{name}={quoted(value)}: no kernel of {listed(kernels)} has this option; use {takers}, or "
                "leave it out"
            )
    return {
        kernel: {name: value for name, value in given.items() if name in own}
        for kernel, own in defaults.items()
    }


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
        return (self.fitted() if self.learns else self.transformer).transform(graphs)

    def fitted(self) -> Any:  # noqa: ANN401  (a transformer of any kernel)
        """Return the transformer, fitted to the training graphs."""
        if not self._fitted:
            self.transformer.fit(self.graphs)
            self._fitted = True
        return self.transformer

    def warn_of_trees(self) -> None:
        """Warn if most training graphs have no cycles and nothing else of them is represented."""
        if self.options.get("bridges") == "ignore":
            warn_of_trees([graph.genus for graph in self.graphs], "kernels")

    @property
    def key(self) -> tuple[Any, ...]:
        """What the representation of a graph depends on besides the graph, for the cache."""
        return (*self.options.values(), fingerprint(self.graphs) if self.learns else None)


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
        The training graphs, for a kernel that learns its representation from them; by default Y, or X if Y is
        None.
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
    return squared_distances(entry, representation, X, Y, n_jobs=n_jobs, verbose=verbose)


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


def squared_distances(
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
        if entry.distance is squared_vector_distances:
            return squared_vector_products(rows, columns, n_jobs), np.inf
        return entry.distance(rows, columns), np.inf

    key = (entry.name, *representation.key)
    for value in key:
        if not isinstance(value, Hashable):
            raise InvalidOptionError(f"an option of the kernel is {quoted(value)}: give a single value")
    return distance_cache.squared(key, X, Y, compute, cutoff, shared=_is_ours(entry))


def _is_ours(entry: KernelEntry) -> bool:
    """Whether code of this package computes the distances of a kernel."""
    distance = entry.distance.write_pairs if isinstance(entry.distance, Metric) else entry.distance
    modules = [getattr(part, "__module__", "") for part in (entry.representation, distance)]
    return all(module.partition(".")[0] == "torelli" for module in modules)
