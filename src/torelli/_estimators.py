"""Base classes of the estimators on graphs: scikit-learn's signatures, and checks of what is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from torelli._validate import CheckedState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class GraphTransformer(CheckedState, TransformerMixin, BaseEstimator):
    """A transformer of graphs that learns without labels; a subclass has `_fit` and `transform`."""

    def fit(self, X: Sequence[Any], y: object = None) -> Self:
        """Check the options and learn from the training graphs; labels are not used."""
        del y
        self._fit(X)
        return self

    def fit_transform(self, X: Sequence[Any], y: object = None) -> Any:  # noqa: ANN401
        """Fit to the training graphs and return what `transform` returns for them; labels are not used."""
        del y
        return self._fit_transform(X)

    def _fit(self, X: Sequence[Any]) -> object:
        raise NotImplementedError

    def _fit_transform(self, X: Sequence[Any]) -> Any:  # noqa: ANN401
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
