"""Fitted models as files: skops, which loads nothing but known types, or joblib for one's own."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib

from torelli._errors import DataWarning, FormatError, InvalidOptionError, MissingExtraError, shortened, warn
from torelli._files import write_whole
from torelli._version import __version__
from torelli.io.files import foreign_errors

if TYPE_CHECKING:
    import os

_ENDINGS = (".skops", ".joblib")
_TRUSTED = (
    "torelli.combine.CombinedKernel",
    "torelli.combine.FeatureKernel",
    "torelli.graph.MetricGraph",
    "torelli.kernels.MatrixKeeper",
    "torelli.kernels.TTEKernel",
    "torelli.kernels.TTSKernel",
    "torelli.kernels.TTWKernel",
    "torelli.statistics.MetricStatistics",
    "torelli.statistics.StreetStatistics",
)
"""What a model of ours is made of, beside the types of numpy and scikit-learn that skops knows."""


def save_model(model: Any, path: str | os.PathLike[str], about: dict[str, Any] | None = None) -> Path:  # noqa: ANN401
    """Write a fitted model, with what should be known to use it.

    Parameters
    ----------
    model
        A fitted estimator or pipeline on graphs.
    path
        File ending in ``.skops`` (needs ``torelli[skops]``) or ``.joblib``. It appears whole or not at all.
    about
        Plain values to keep with the model.
    """
    target = check_model_name(path)
    content = {"model": model, "about": {"torelli": __version__, **(about or {})}}
    store = _skops() if target.suffix == ".skops" else joblib
    write_whole(target, lambda part: store.dump(content, part))
    return target


def load_model(path: str | os.PathLike[str]) -> tuple[Any, dict[str, Any]]:
    """Return a model that `save_model` wrote, and what is known of it.

    Parameters
    ----------
    path
        The file. One that ends in ``.skops`` is safe to load from anybody: it may only hold our own
        types and those of numpy and scikit-learn that skops trusts, and any other is an error that
        names it. One that ends in ``.joblib`` can run any code when loaded, and a `DataWarning` says so.
    """
    source = check_model_name(path)
    if not source.is_file():
        raise FileNotFoundError(f"there is no model {source}; make one with `torelli urn train`")
    content = _load_skops(source) if source.suffix == ".skops" else _load_joblib(source)
    if not isinstance(content, dict) or set(content) != {"model", "about"}:
        raise FormatError(f"{source.name}: not a model of ours; make one with `torelli urn train`")
    return content["model"], content["about"]


def check_model_name(path: str | os.PathLike[str]) -> Path:
    """Return the path of a model, or raise if its name does not say how it is stored."""
    target = Path(path)
    if target.suffix not in _ENDINGS:
        raise InvalidOptionError(f"{target.name}: give a name that ends in {' or '.join(_ENDINGS)}")
    return target


def _load_skops(source: Path) -> Any:  # noqa: ANN401
    skops = _skops()
    with foreign_errors(source.name, "skops"):
        unknown = sorted(set(skops.get_untrusted_types(file=source)) - set(_TRUSTED))
    if unknown:
        raise FormatError(
            f"{source.name}: holds {shortened(', '.join(unknown), 400)}, which is no part of a model of "
            "ours; do not load it"
        )
    with foreign_errors(source.name, "skops"):
        return skops.load(source, trusted=list(_TRUSTED))


def _load_joblib(source: Path) -> Any:  # noqa: ANN401
    warn(
        f"{source.name}: a joblib file can run any code when it is loaded; load only those of people you "
        "trust, and prefer .skops",
        DataWarning,
    )
    with foreign_errors(source.name, "joblib"):
        return joblib.load(source)


def _skops() -> Any:  # noqa: ANN401  (a module)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import skops.io  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise MissingExtraError("models as .skops need skops: pip install 'torelli[skops]'") from error
    return skops.io
