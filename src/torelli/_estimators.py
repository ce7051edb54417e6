"""Base classes of the estimators on graphs: scikit-learn's signatures, and checks of restored state."""

from __future__ import annotations

import re
from inspect import cleandoc, signature
from textwrap import indent
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from torelli._errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from torelli._types import Represented

STORED_REMEDY = "fit the model again and save it"

Class = TypeVar("Class", bound=type)
_PARAMETERS = re.compile(
    r"^Parameters\n-+\n(?P<entries>.*?)(?=\n\n\S[^\n]*\n--|\Z)", re.MULTILINE | re.DOTALL
)
_ENTRY = re.compile(r"^(?P<names>\S.*)(?P<text>(?:\n(?: .*)?)*)", re.MULTILINE)
_SECTION = re.compile(r"^[A-Z]\w+\n---", re.MULTILINE)


class CheckedState:
    """A mixin for estimators: what is restored from a pickle or a model file is checked like input."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        missing = sorted(set(signature(type(self)).parameters) - set(state))
        hidden = sorted(key for key in state if hasattr(type(self), key))
        if missing or hidden:
            problem = f"has no {', '.join(missing)}" if missing else f"hides {', '.join(hidden)} of its class"
            raise FormatError(f"a stored {type(self).__name__} {problem}; {STORED_REMEDY}")
        self.__dict__.update(state)
        self._check_parameters()
        fitted = {key: value for key, value in state.items() if key.endswith("_")}
        if fitted:
            self._check_fitted(fitted)

    def _check_parameters(self) -> None:
        """Raise if a parameter is not what it has to be."""

    def _check_fitted(self, fitted: dict[str, Any]) -> None:
        """Raise if an attribute that fitting sets is not what it has to be."""


def check_stored(estimator: object, attribute: str, expected: str, *, ok: bool) -> None:
    """Raise if an attribute of a restored estimator is not of the right kind."""
    if not ok:
        kind = type(estimator).__name__
        raise FormatError(f"{attribute} of a stored {kind} is not {expected}; {STORED_REMEDY}")


def is_array(values: object, *shape: int | None) -> bool:
    """Whether something is an array of finite floats of a shape, in which None stands for any number."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.float64
        and values.ndim == len(shape)
        and all(size in (None, actual) for size, actual in zip(shape, values.shape, strict=True))
        and bool(np.isfinite(values).all())
    )


def parameter_texts(source: object) -> dict[str, str]:
    """Return the descriptions of parameters in the numpydoc docstring of a class or function, by name."""
    section = _PARAMETERS.search(cleandoc(source.__doc__ or ""))
    entries = _ENTRY.finditer(section["entries"]) if section else ()
    return {name: cleandoc(entry["text"]) for entry in entries for name in entry["names"].split(", ")}


def with_parameters_of(*sources: object) -> Callable[[Class], Class]:
    """Return a class decorator that completes the section "Parameters" of the docstring.

    A parameter that the class does not describe is described as by its base classes, or by the `sources`.
    """

    def complete(cls: Class) -> Class:
        if cls.__doc__ is None:  # python -OO
            return cls
        known: dict[str, str] = {}
        for source in (cls, *cls.__mro__[1:], *sources):
            known = parameter_texts(source) | known
        entries = [
            f"{name}\n{indent(known[name], '    ')}" for name in signature(cls).parameters if name in known
        ]
        text = _PARAMETERS.sub("", cleandoc(cls.__doc__)).replace("\n\n\n", "\n")
        section = _SECTION.search(text)
        end = section.start() if section else len(text)
        parts = [text[:end].strip(), "\n".join(["Parameters", "----------", *entries]), text[end:].strip()]
        cls.__doc__ = "\n\n".join(part for part in parts if part) + "\n"
        return cls

    return complete


class GraphTransformer(CheckedState, TransformerMixin, BaseEstimator):
    """A transformer of graphs that learns without labels; a subclass has `_fit` and `transform`."""

    def fit(self, X: Sequence[Any], y: object = None) -> Self:
        """Check the options and learn from the training graphs; labels are not used."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: Sequence[Any], y: object = None) -> Represented:
        """Fit to the training graphs and return what `transform` returns for them; labels are not used."""
        del y
        return self._fit_transform(X)

    def _fit(self, X: Sequence[Any]) -> object:
        raise NotImplementedError

    def _fit_transform(self, X: Sequence[Any]) -> Represented:
        self._fit(X)
        return self.transform(X)


class GraphFeatures(GraphTransformer):
    """A transformer of graphs to vectors with named columns, which `_feature_names` returns."""

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the columns."""
        del input_features
        return np.array(self._feature_names(), dtype=object)

    def _feature_names(self) -> list[str]:
        raise NotImplementedError
