"""Sums and products of kernels on graphs, and a kernel on plain features to join them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_array, check_is_fitted

from torelli._errors import InvalidMatrixError, InvalidOptionError, quoted, unknown_option
from torelli._estimators import CheckedState, check_stored, is_array
from torelli._registry import get_kernel
from torelli._validate import is_positive
from torelli.kernel_matrix import rbf, resolve_gamma, spectral_repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._types import Estimator, Floats, Labels, MatrixLike

    Named = list[tuple[str, Any]]

Combination = Literal["sum", "product"]
COMBINATIONS: tuple[Combination, ...] = ("sum", "product")
_WEIGHTS = ("uniform", "alignment")
_REPAIRS = ("clip", "flip")


class CombinedKernel(CheckedState, TransformerMixin, _BaseComposition):
    """A weighted sum or product of kernels on graphs, itself a kernel on graphs.

    Chain it like its members with an estimator that takes a precomputed kernel, such as
    ``SVC(kernel="precomputed")``.

    Parameters
    ----------
    kernels
        The members, or pairs (name, member). A member is a kernel such as ``TTWKernel()``, its name in
        `KERNELS` (``"ttw"``), or a pipeline that ends in a kernel, such as
        ``make_pipeline(StreetStatistics(), StandardScaler(), FeatureKernel())``. A member given without a
        name is named after its class, in lower case, with a number if there are several of that class.
    combine
        ``"sum"``: the weighted mean of the kernels. ``"product"``: the product of their powers
        ``k ** weight``, which for members exp(-gamma d²) is the kernel of the weighted sum of the
        squared distances gamma d².
    weights
        ``"uniform"``; ``"alignment"``, in proportion to the centred kernel-target alignment of each
        training matrix (0 if it is negative), which needs ``y``; or nonnegative numbers, one for each
        member, which are divided by their sum.
    psd
        ``"clip"`` or ``"flip"``, as for `TorelliKernel`, for the combined matrix.

    Attributes
    ----------
    kernels_
        The fitted members by name.
    weights_
        Their weights, which add up to 1.

    Notes
    -----
    Sums of positive definite members are positive definite for all weights. So are products of
    exp(-gamma d²) kernels that are positive definite for every gamma (TTE, TTS, `FeatureKernel`).

    Everything is learned from the training graphs of `fit`; distances are kept in
    `torelli.distance_cache` like those of the members alone, so that a grid search over weights,
    combination or any member's gamma computes them once for each fold.

    References
    ----------
    Centred alignment: Cortes, Mohri and Rostamizadeh, Algorithms for learning kernels based on centered
    alignment, JMLR 13 (2012).

    Examples
    --------
    >>> from torelli import CombinedKernel, TTSKernel, TTWKernel
    >>> kernel = CombinedKernel([TTWKernel(), TTSKernel(bridges="double")], combine="product")
    >>> sorted(name for name in kernel.get_params() if name.endswith("gamma"))
    ['ttskernel__gamma', 'ttwkernel__gamma']
    """

    def __init__(
        self,
        kernels: Sequence[Any],
        *,
        combine: Combination = "sum",
        weights: Literal["uniform", "alignment"] | Sequence[float] = "uniform",
        psd: Literal["clip", "flip"] | None = None,
    ) -> None:
        self.kernels = kernels
        self.combine = combine
        self.weights = weights
        self.psd = psd

    @property
    def _named(self) -> Named:
        """The members with their names, as scikit-learn's composition wants them."""
        members = [_with_name(member) for member in self.kernels]
        names = [name for name, _ in members]
        seen: dict[str, int] = {}
        named: Named = []
        for name, member in members:
            seen[name] = seen.get(name, 0) + 1
            named.append((name if names.count(name) == 1 else f"{name}-{seen[name]}", member))
        return named

    @_named.setter
    def _named(self, members: Named) -> None:
        self.kernels = members

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002  (scikit-learn's signature)
        """Return the parameters; with `deep` the members and theirs too, as ``name__parameter``."""
        parameters: dict[str, Any] = self._get_params("_named", deep=deep)
        return parameters

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; ``name`` replaces a member, and ``name__parameter`` sets one of a member."""
        self.kernels = [_made(member) for member in self.kernels]  # named kernels keep what is set here
        self._set_params("_named", **parameters)
        return self

    def fit(self, X: Sequence[Any], y: Labels = None) -> Self:
        """Fit the members, the weights and the repair to the training graphs."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Sequence[Any], y: Labels = None) -> Floats:
        """Fit and return the training kernel matrix."""
        self._check()
        self.kernels_: Named = [(name, clone(member)) for name, member in self._named]
        matrices = [member.fit_transform(X, y) for _, member in self.kernels_]
        self._check_shapes(matrices, len(X), len(X))
        self.weights_ = self._weights(matrices, y)
        self.combine_, self.psd_ = self.combine, self.psd
        K = self._combined(matrices)
        if self.psd_ is None:
            return K
        self.projection_, _ = spectral_repair(K, self.psd_)
        K = K @ self.projection_
        return (K + K.T) / 2.0

    def transform(self, X: Sequence[Any]) -> Floats:
        """Return the kernel between graphs (rows) and the training graphs (columns)."""
        check_is_fitted(self)
        matrices = [member.transform(X) for _, member in self.kernels_]
        self._check_shapes(matrices, len(X), None)
        K = self._combined(matrices)
        if self.psd_ is None:
            return K
        if self.projection_.shape != (K.shape[1],) * 2:
            raise InvalidMatrixError(
                f"the repair has shape {self.projection_.shape}, and the members have {K.shape[1]} training "
                "graphs: fit them together"
            )
        return K @ self.projection_

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
        members, psd = fitted.get("kernels_"), fitted.get("psd_")
        pairs = isinstance(members, list) and all(map(_is_named_kernel, members))
        check_stored(self, "kernels_", "a list of pairs (name, kernel)", ok=pairs and bool(members))
        size = len(self.kernels_)
        numbers = is_array(fitted.get("weights_"), size) and bool((self.weights_ >= 0.0).all())
        check_stored(self, "weights_", f"{size} numbers of 0 or more", ok=numbers)
        check_stored(self, "combine_", f"one of {COMBINATIONS}", ok=fitted.get("combine_") in COMBINATIONS)
        check_stored(self, "psd_", f"one of {_REPAIRS} or None", ok=psd is None or psd in _REPAIRS)
        if psd is not None:
            matrix = is_array(fitted.get("projection_"), None, None)
            check_stored(self, "projection_", "a matrix of numbers", ok=matrix)

    def _check(self) -> None:
        if self.combine not in COMBINATIONS:
            raise unknown_option("combine", self.combine, COMBINATIONS)
        if self.psd is not None and self.psd not in _REPAIRS:
            raise unknown_option("psd", self.psd, [*_REPAIRS, None])
        if not self.kernels:
            raise InvalidOptionError(
                "kernels is empty: give at least one, such as [TTWKernel(), TTSKernel()]"
            )
        self._validate_names([name for name, _ in self._named])
        for name, member in self._named:
            if not hasattr(member, "fit_transform"):
                raise InvalidOptionError(
                    f"kernel {quoted(name)} is {quoted(member)}: give a transformer that returns kernel "
                    "matrices, such as TTWKernel()"
                )

    def _check_shapes(self, matrices: list[Floats], n_rows: int, n_columns: int | None) -> None:
        columns = matrices[0].shape[1] if n_columns is None else n_columns
        for (name, _), K in zip(self.kernels_, matrices, strict=True):
            if K.shape != (n_rows, columns):
                raise InvalidMatrixError(
                    f"kernel {quoted(name)} gave a matrix of shape {K.shape} for {n_rows} graphs, not "
                    f"{(n_rows, columns)}: end it with a kernel, such as FeatureKernel()"
                )

    def _weights(self, matrices: list[Floats], y: Labels) -> Floats:
        if isinstance(self.weights, str):
            if self.weights not in _WEIGHTS:
                raise unknown_option("weights", self.weights, [*_WEIGHTS, "numbers"])
            weights = np.ones(len(matrices))
            if self.weights == "alignment":
                if y is None:
                    raise InvalidOptionError("weights='alignment' needs the labels: fit(X, y)")
                weights = np.array([max(alignment(K, y), 0.0) for K in matrices])
                if not weights.any():
                    weights[:] = 1.0
        else:
            weights = np.asarray(self.weights, dtype=np.float64)
            if weights.shape != (len(matrices),) or not np.isfinite(weights).all():
                raise InvalidOptionError(
                    f"weights is {quoted(self.weights)}: give {len(matrices)} numbers, one per kernel"
                )
            if (weights < 0).any() or not weights.any():
                raise InvalidOptionError(
                    f"weights is {quoted(self.weights)}: none may be negative, one must be positive"
                )
        shares: Floats = weights / weights.sum()
        return shares

    def _combined(self, matrices: list[Floats]) -> Floats:
        if self.combine_ == "sum":
            total: Floats = np.zeros_like(matrices[0])
            for weight, K in zip(self.weights_, matrices, strict=True):
                total += weight * K
            return total
        product: Floats = np.ones_like(matrices[0])
        for (name, _), weight, K in zip(self.kernels_, self.weights_, matrices, strict=True):
            if weight == 0.0:
                continue
            if K.min(initial=0.0) < 0.0:
                raise InvalidMatrixError(
                    f"kernel {quoted(name)} has negative values, whose powers are undefined: use "
                    "combine='sum', or set psd on the combination instead of the member"
                )
            product *= K**weight
        return product


def _with_name(member: Estimator) -> tuple[str, Any]:
    made = _made(member)
    return (str(made[0]), made[1]) if isinstance(made, tuple) else (type(made).__name__.lower(), made)


def _made(member: Estimator) -> Estimator:
    """Return a member; the name of a kernel is replaced by the kernel."""
    match member:
        case str():
            return get_kernel(member)()
        case tuple((name, str() as kernel)):
            return name, get_kernel(kernel)()
    return member


def _is_named_kernel(member: object) -> bool:
    match member:
        case tuple((_, kernel)):
            return hasattr(kernel, "transform")
    return False


class FeatureKernel(CheckedState, TransformerMixin, BaseEstimator):
    """``exp(-gamma ‖x - y‖²)`` between rows of features: numbers to kernel matrix against the training rows.

    It turns a pipeline of plain features into a kernel that `CombinedKernel` takes.

    Parameters
    ----------
    gamma
        A positive number, or ``"median"`` as for `TorelliKernel`.

    Attributes
    ----------
    gamma_
        The gamma in use.
    rows_
        The training rows.

    Examples
    --------
    >>> from torelli import FeatureKernel
    >>> FeatureKernel(gamma=1.0).fit([[0.0], [1.0]]).transform([[1.0]]).round(3)
    array([[0.368, 1.   ]])
    """

    def __init__(self, *, gamma: float | Literal["median"] = "median") -> None:
        self.gamma = gamma

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Keep the rows and learn gamma; labels are not used."""
        del y
        self.rows_: Floats = check_array(X, dtype=np.float64)
        self.gamma_ = resolve_gamma(self.gamma, self._squared(self.rows_))
        return self

    def transform(self, X: MatrixLike) -> Floats:
        """Return the kernel between rows and the training rows (columns)."""
        check_is_fitted(self)
        return rbf(self.gamma_, self._squared(check_array(X, dtype=np.float64)))

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
        check_stored(self, "rows_", "a table of numbers", ok=is_array(fitted.get("rows_"), None, None))
        check_stored(self, "gamma_", "a positive number", ok=is_positive(fitted.get("gamma_")))

    def _squared(self, rows: Floats) -> Floats:
        # by differences, not products: exactly 0 for equal rows and exactly symmetric
        squared: Floats = cdist(rows, self.rows_, "sqeuclidean")
        return squared


def alignment(K: Floats, y: Labels) -> float:
    """Return the centred alignment of a kernel matrix with labels, from -1 to 1.

    The cosine between K and the ideal kernel, both centred (Cortes, Mohri and Rostamizadeh, 2012). The
    ideal kernel is 1 within a class and 0 between classes or, for a continuous `y`, the products of y.
    0 if either is constant.
    """
    labels = np.asarray(y)
    if labels.shape != (len(K),):
        raise InvalidOptionError(f"y has shape {labels.shape} for {len(K)} graphs")
    if type_of_target(labels).startswith("continuous"):
        ideal = np.multiply.outer(labels, labels).astype(np.float64)
    else:
        ideal = np.equal.outer(labels, labels).astype(np.float64)
    ours, theirs = _centred(K), _centred(ideal)
    norms = float(np.linalg.norm(ours) * np.linalg.norm(theirs))
    rounding = len(K) * np.finfo(float).eps * float(np.linalg.norm(K) * np.linalg.norm(ideal))
    return float(np.vdot(ours, theirs)) / norms if norms > rounding else 0.0


def _centred(K: Floats) -> Floats:
    means = K.mean(axis=0)
    centred: Floats = K - means - K.mean(axis=1)[:, None] + means.mean()
    return centred
