"""The registry of metrics and the functions that users call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from torelli._compile import compiled
from torelli._errors import InvalidMatrixError, unknown_option
from torelli.distances._tte import squared_tte
from torelli.distances._tts import squared_tts
from torelli.distances._ttw import squared_ttw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

_SYMMETRY = 1e-8


class SquaredDistances(Protocol):
    """Write the squared distances of all pairs of X and Y (X with itself if Y is None) to `out`."""

    def __call__(
        self, X: Sequence[Floats], Y: Sequence[Floats] | None, out: Floats, n_jobs: int | None
    ) -> None: ...


@dataclass(frozen=True)
class Metric:
    """A distance between positive semi-definite matrices.

    Attributes
    ----------
    name
        How it is called in options.
    title
        What it is, for tables and pictures.
    positive_definite
        Whether exp(-gamma d²) is a positive definite kernel for every gamma.
    squared
        Computes all pairs.
    """

    name: str
    title: str
    positive_definite: bool
    squared: SquaredDistances


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ttw", "tropical Torelli-Wasserstein", positive_definite=False, squared=squared_ttw),
        Metric("tte", "tropical Torelli-Euclidean", positive_definite=True, squared=squared_tte),
        Metric("tts", "tropical Torelli-spectral", positive_definite=True, squared=squared_tts),
    )
}


def get_metric(name: str) -> Metric:
    """Return a metric by its name.

    Raises
    ------
    InvalidOptionError
        If there is none of that name; the message lists the names.
    """
    try:
        return METRICS[name]
    except (KeyError, TypeError):
        raise unknown_option("metric", name, METRICS) from None


def distance(Q1: ArrayLike, Q2: ArrayLike, metric: str = "ttw", *, squared: bool = False) -> float:
    """Return the distance between two positive semi-definite matrices, of any sizes.

    Parameters
    ----------
    Q1, Q2
        Matrices; the smaller one counts as padded with zeros.
    metric
        ``"ttw"``, ``"tte"`` or ``"tts"`` (`METRICS`).
    squared
        Return the square.

    Examples
    --------
    >>> distance([[4.0]], [[1.0, 0.0], [0.0, 9.0]], metric="ttw", squared=True)
    10.0
    """
    return float(pairwise_distances([Q1], [Q2], metric, squared=squared)[0, 0])


def pairwise_distances(
    Qs: Sequence[ArrayLike],
    Ys: Sequence[ArrayLike] | None = None,
    metric: str = "ttw",
    *,
    squared: bool = False,
    n_jobs: int | None = None,
) -> Floats:
    """Return the distances of all pairs of matrices, of any mix of sizes.

    Parameters
    ----------
    Qs
        Positive semi-definite matrices; 0x0 ones are welcome.
    Ys
        A second list; by default all pairs within `Qs` are taken.
    metric
        ``"ttw"`` (Bures-Wasserstein), ``"tte"`` (Frobenius) or ``"tts"`` (spectral).
    squared
        Return squared distances.
    n_jobs
        Number of threads, as in scikit-learn; BLAS is kept to one thread in each. The result is
        the same for every number, bit for bit.

    Returns
    -------
    D
        Array of shape (len(Qs), len(Ys)): entry (i, j) belongs to ``Qs[i]`` and ``Ys[j]``. Within
        one list it is exactly symmetric with an exactly zero diagonal. Never NaN.

    Notes
    -----
    Nearly equal matrices are not left to the difference of large numbers: such pairs are computed
    anew in a form without cancellation, so that small distances have small relative errors too.
    """
    chosen = get_metric(metric)
    X = check_matrices(Qs)
    Y = None if Ys is None else check_matrices(Ys)
    out = np.zeros((len(X), len(X if Y is None else Y)))
    chosen.squared(X, Y, out, n_jobs)
    np.maximum(out, 0.0, out=out)
    return out if squared else np.sqrt(out, out=out)


def check_matrices(matrices: Sequence[Any]) -> list[Floats]:
    """Convert to a list of float64 matrices; raise one error with every fault."""
    if isinstance(matrices, np.ndarray) and matrices.ndim == 2:  # noqa: PLR2004
        raise InvalidMatrixError("got a single matrix where a list of matrices is meant: give [Q]")
    if not hasattr(matrices, "__iter__"):
        raise InvalidMatrixError(f"got {type(matrices).__name__} where a list of matrices is meant")
    converted, faults = [], []
    for position, matrix in enumerate(matrices):
        try:
            Q = np.ascontiguousarray(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            faults.append(f"matrix {position} cannot be read as an array of numbers")
            continue
        problem = _shape_fault(Q) or _KINDS[_entry_fault(Q)]
        if problem:
            faults.append(f"matrix {position} {problem}")
        converted.append(Q)
    if not converted and not faults:
        raise InvalidMatrixError("the list of matrices is empty: give at least one matrix")
    if faults:
        raise InvalidMatrixError("; ".join(faults))
    return converted


_KINDS = (
    "",
    "has entries that are NaN or infinite",
    "is not symmetric",
    "has negative entries on its diagonal",
)


def _shape_fault(Q: Floats) -> str:
    if Q.ndim == 2 and Q.shape[0] == Q.shape[1]:  # noqa: PLR2004
        return ""
    return f"has shape {Q.shape}, which is not square"


@compiled
def _entry_fault(Q: Floats) -> int:
    for i in range(len(Q)):
        for j in range(i + 1):
            if not np.isfinite(Q[i, j]) or not np.isfinite(Q[j, i]):
                return 1
    for i in range(len(Q)):
        if Q[i, i] < 0.0:
            return 3
        for j in range(i):
            if abs(Q[i, j] - Q[j, i]) > _SYMMETRY * np.sqrt(abs(Q[i, i] * Q[j, j])):
                return 2
    return 0
