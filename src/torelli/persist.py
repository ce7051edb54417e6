"""Fitted models as files: skops, which loads known types only, or joblib, for models that you trust."""

from __future__ import annotations

import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.base import is_classifier
from sklearn.svm._base import BaseLibSVM

from torelli import _memory
from torelli._errors import (
    DataWarning,
    FormatError,
    InvalidOptionError,
    MissingExtraError,
    TorelliError,
    shortened,
    warn,
)
from torelli._estimators import STORED_REMEDY, CheckedState
from torelli._files import write_whole
from torelli._registry import KERNELS
from torelli._version import __version__
from torelli.graph import MetricGraph
from torelli.io.files import foreign_errors

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from torelli._types import Estimator

_ENDINGS = (".skops", ".joblib")
_TRUSTED = (
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels.CompoundKernel",
    "sklearn.gaussian_process.kernels.ConstantKernel",
    "sklearn.gaussian_process.kernels.Exponentiation",
    "sklearn.gaussian_process.kernels.Product",
    "sklearn.gaussian_process.kernels.Sum",
    "sklearn.gaussian_process.kernels.WhiteKernel",
    "torelli.combine.CombinedKernel",
    "torelli.combine.FeatureKernel",
    "torelli.gp.GraphRBF",
    "torelli.graph.MetricGraph",
    "torelli.landmarks.LandmarkFeatures",
    "torelli.statistics.MetricStatistics",
    "torelli.statistics.StreetStatistics",
)
"""Types that a model may hold besides the kernels, and those of numpy and scikit-learn that skops knows."""

_SVM_KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")


def trusted_types() -> list[str]:
    """Return the types that a model may contain: ours, the kernels and their parts."""
    parts = [part for kernel in KERNELS.values() for part in (kernel, kernel.entry.representation)]
    return sorted({*_TRUSTED, *(f"{part.__module__}.{part.__qualname__}" for part in parts)})


def save_model(model: Estimator, path: str | os.PathLike[str], about: dict[str, Any] | None = None) -> Path:
    """Write a fitted model and facts about it to a file, and return its path.

    Parameters
    ----------
    model
        A fitted estimator or pipeline on graphs.
    path
        File ending in ``.skops`` (needs ``torelli[skops]``) or ``.joblib``. It appears whole or not at all.
    about
        Plain values to store with the model.

    Raises
    ------
    InvalidOptionError
        If a ``.skops`` file would contain a type that `load_model` refuses, such as ``GridSearchCV``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> from torelli.persist import load_model, save_model
    >>> kernel = tt.TTSKernel(gamma=1.0).fit([tt.MetricGraph([0], [0], [1.0])])
    >>> with TemporaryDirectory() as folder:
    ...     path = save_model(kernel, Path(folder, "kernel.skops"), {"made for": "rings"})
    ...     model, about = load_model(path)
    >>> model.gamma_, about["made for"]
    (1.0, 'rings')
    """
    target = check_model_name(path)
    content = {"model": model, "about": {"torelli": __version__, **(about or {})}}
    if target.suffix == ".skops":
        packed: bytes = _skops().dumps(content)
        unknown = _untrusted(data=packed)
        if unknown:
            raise InvalidOptionError(
                f"{target.name}: the model contains {shortened(', '.join(unknown), 400)}, which load_model "
                "refuses; save an estimator or pipeline of torelli and scikit-learn, such as the "
                "best_estimator_ of a search, or write a .joblib file"
            )
        write_whole(target, lambda part: part.write_bytes(packed))
    else:
        write_whole(target, lambda part: joblib.dump(content, part))
    return target


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return a model that `save_model` wrote, and the facts stored with it.

    Parameters
    ----------
    path
        The file. A ``.skops`` file runs no code when loaded, whoever made it: it may hold only our own
        types and those of numpy and scikit-learn that skops trusts, and any other type is an error that
        names it. A ``.joblib`` file can run any code when loaded, and a `DataWarning` says so.

    Raises
    ------
    FormatError
        If the file contains something that no model contains. Graphs, kernels and support vector machines are
        checked, because compiled code trusts them; other estimators of scikit-learn are not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> from torelli.persist import load_model, save_model
    >>> kernel = tt.TTSKernel(gamma=1.0).fit([tt.MetricGraph([0], [0], [1.0])])
    >>> with TemporaryDirectory() as folder:
    ...     model, about = load_model(save_model(kernel, Path(folder, "kernel.skops")))
    >>> type(model).__name__, model.gamma_
    ('TTSKernel', 1.0)
    """
    source = check_model_name(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no model {source}; make one with `torelli urn train`")
    content = _load_skops(source) if source.suffix == ".skops" else _load_joblib(source)
    if (
        not isinstance(content, dict)
        or set(content) != {"model", "about"}
        or not isinstance(content["about"], dict)
    ):
        raise FormatError(f"{source.name}: not a model of torelli; make one with `torelli urn train`")
    for part in _parts_of(content["model"]):
        if isinstance(part, BaseLibSVM) and not _is_sound(part):
            problem = f"the arrays of its {type(part).__name__} do not belong together"
            raise FormatError(f"{source.name}: {problem}; {STORED_REMEDY}")
        # `__setstate__` is not called for an object without state
        empty = not hasattr(part, "tail") and not getattr(part, "__dict__", None)
        if isinstance(part, (MetricGraph, CheckedState)) and empty:
            raise FormatError(f"{source.name}: it has an empty {type(part).__name__}; {STORED_REMEDY}")
    return content["model"], content["about"]


def check_model_name(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model; raise if its name ends in neither ``.skops`` nor ``.joblib``."""
    target = Path(path)
    if target.suffix not in _ENDINGS:
        raise InvalidOptionError(f"{target.name}: give a name that ends in {' or '.join(_ENDINGS)}")
    return target


def _load_skops(source: Path) -> Estimator:
    skops = _skops()
    with foreign_errors(source.name, "skops"):
        with zipfile.ZipFile(source) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        _memory.require(n_bytes, f"{source.name}, unpacked,", "do not load it")
        unknown = _untrusted(file=source)
    if unknown:
        raise FormatError(
            f"{source.name}: contains {shortened(', '.join(unknown), 400)}, which our models never "
            "contain; do not load it"
        )
    with foreign_errors(source.name, "skops"), _our_errors(source):
        return skops.load(source, trusted=trusted_types())


def _load_joblib(source: Path) -> Estimator:
    warn(
        f"{source.name}: a joblib file can run any code when it is loaded; load only those of people you "
        "trust, and prefer .skops",
        DataWarning,
    )
    with foreign_errors(source.name, "joblib"), _our_errors(source):
        return joblib.load(source)


@contextmanager
def _our_errors(source: Path) -> Iterator[None]:
    """Name the file in errors of our own checks."""
    try:
        yield
    except TorelliError as error:
        raise FormatError(f"{source.name}: {error}") from error


def _parts_of(model: Estimator) -> Iterator[Any]:
    """Yield an object and everything it holds."""
    waiting, seen = [model], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        yield thing
        waiting += getattr(thing, "__dict__", {}).values()
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, (list, tuple, set)):
            waiting += thing
        elif isinstance(thing, np.ndarray) and thing.dtype == object:
            waiting += thing.ravel().tolist()


def _is_sound(svm: Estimator) -> bool:
    """Return whether the arrays of a support vector machine fit each other, which libsvm does not check."""
    state = vars(svm)
    if not any(name.endswith("_") for name in state):
        return True
    try:
        support, each = state["support_"], state["_n_support"]
        n_vectors, n_classes = len(support), len(state["classes_"]) if is_classifier(svm) else 2
        n_pairs = n_classes * (n_classes - 1) // 2
        kernels_given = svm.kernel == "precomputed"
        return (
            not state["_sparse"]
            and "_impl" not in state
            and svm.kernel in _SVM_KERNELS
            and (support.shape, each.shape) == ((n_vectors,), (n_classes,))
            and bool((support >= 0).all() and (each >= 0).all())
            and bool((support < state["shape_fit_"][0]).all())
            and bool(not is_classifier(svm) or each.sum(dtype=np.int64) == n_vectors)
            and (kernels_given or state["support_vectors_"].shape == (n_vectors, state["n_features_in_"]))
            and state["_dual_coef_"].shape == (n_classes - 1, n_vectors)
            and state["_intercept_"].shape == (n_pairs,)
            and {state["_probA"].shape, state["_probB"].shape} in ({(0,)}, {(n_pairs,)})
        )
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return False


def _untrusted(**where: Any) -> list[str]:
    """Return the types in a file or in bytes of skops that a model may not contain."""
    return sorted(set(_skops().get_untrusted_types(**where)) - set(trusted_types()))


def _skops() -> Estimator:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import skops.io
    except ImportError as error:
        raise MissingExtraError("models as .skops need skops: pip install 'torelli[skops]'") from error
    return skops.io
