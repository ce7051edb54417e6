"""The base classes of estimators on graphs, by a little one of each."""

from __future__ import annotations

import pickle
from inspect import signature

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

import torelli as tt
from torelli._estimators import (
    CheckedState,
    GraphFeatures,
    check_stored,
    is_array,
    parameter_texts,
    with_parameters_of,
)
from torelli._validate import is_positive

GRAPHS = [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0 + i]) for i in range(4)]


class Lengths(GraphFeatures):
    """Total lengths, relative to the longest of the training graphs, to a power."""

    def __init__(self, power=1.0):
        self.power = power

    def _fit(self, X):
        self.longest_ = float(max(graph.length.sum() for graph in X))

    def transform(self, X):
        """Return one column."""
        check_is_fitted(self)
        return np.array([[(graph.length.sum() / self.longest_) ** self.power] for graph in X])

    def _feature_names(self):
        return ["length"]

    def _check_fitted(self, fitted):
        if not isinstance(fitted["longest_"], float):
            raise tt.FormatError("longest_ is not a number")


def test_fitting_returns_the_estimator_and_ignores_labels():
    """`fit` takes labels as every step of a pipeline does, and does not look at them."""
    features = Lengths()
    assert features.fit(GRAPHS, object()) is features
    assert features.longest_ == 6.0


def test_fit_transform_is_fit_and_transform():
    """Both ways give the same rows, and leave the same fitted state."""
    one, two = Lengths(2.0), Lengths(2.0)
    assert np.array_equal(one.fit_transform(GRAPHS, [0, 1, 0, 1]), two.fit(GRAPHS).transform(GRAPHS))
    assert vars(one) == vars(two)


def test_a_clone_has_the_parameters_and_nothing_fitted():
    """Scikit-learn clones by parameters; what was fitted stays behind."""
    copy = clone(Lengths(3.0).fit(GRAPHS)).set_params(power=2.0)
    assert copy.get_params() == {"power": 2.0}
    with pytest.raises(NotFittedError):
        copy.transform(GRAPHS)


def test_columns_have_names_through_a_pipeline():
    """Names are an array of strings, whatever names the input has, and later steps pass them on."""
    features = Lengths().fit(GRAPHS)
    assert features.get_feature_names_out(["ignored"]).tolist() == ["length"]
    assert features.get_feature_names_out().dtype == object
    pipeline = make_pipeline(Lengths(), StandardScaler()).fit(GRAPHS)
    assert pipeline.get_feature_names_out().tolist() == ["length"]


def test_what_is_loaded_is_checked():
    """A copy restored from its state works as before, and state of another kind is refused."""
    features = Lengths().fit(GRAPHS)
    copy = pickle.loads(pickle.dumps(features))  # noqa: S301
    assert np.array_equal(copy.transform(GRAPHS), features.transform(GRAPHS))
    features.longest_ = "long"
    with pytest.raises(tt.FormatError, match="longest_ is not a number"):
        pickle.loads(pickle.dumps(features))  # noqa: S301


class Scale(CheckedState):
    """A little estimator."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def _check_parameters(self):
        check_stored(self, "factor", "positive", ok=is_positive(self.factor))

    def _check_fitted(self, fitted):
        check_stored(self, "mean_", "a vector", ok=is_array(fitted.get("mean_"), None))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({}, "a stored Scale has no factor; fit the model again"),
        ({"factor": 1.0, "_check_fitted": 3}, "a stored Scale hides _check_fitted of its class"),
        ({"factor": -1.0}, "factor of a stored Scale is not positive"),
        ({"factor": 1.0, "mean_": [1.0]}, "mean_ of a stored Scale is not a vector"),
        ({"factor": 1.0, "mean_": np.array([np.nan])}, "mean_ of a stored Scale is not a vector"),
    ],
)
def test_what_is_restored_is_checked(state, message):
    """State that lacks a parameter, hides a method or has other values than fitting gives is refused."""
    with pytest.raises(tt.FormatError, match=message):
        Scale().__setstate__(state)


def test_sound_state_is_restored():
    """Parameters, fitted or not, come back as they were."""
    scale = Scale(2.0)
    scale.mean_ = np.array([1.0, 2.0])
    copy = pickle.loads(pickle.dumps(scale))  # noqa: S301
    assert copy.factor == 2.0
    assert copy.mean_.tolist() == [1.0, 2.0]


def test_kinds_of_arrays():
    """Arrays are finite floats of the shape, in which None stands for any size."""
    assert is_array(np.zeros((2, 3)), 2, None)
    for other in (np.zeros((3, 2)), np.zeros(2), np.zeros((2, 3), int), np.full((2, 3), np.inf), [[0.0]]):
        assert not is_array(other, 2, 3)


@pytest.mark.parametrize("kernel", [*tt.KERNELS.values(), tt.TorelliKernel, tt.TorelliMap])
def test_help_describes_every_parameter(kernel):
    """The docstring has a text for each parameter, in the order of the signature."""
    texts = parameter_texts(kernel)
    assert list(texts) == list(signature(kernel).parameters)
    assert all(len(text) > 10 for text in texts.values())


def test_own_texts_come_before_those_of_other_classes():
    """A class that describes a parameter itself keeps its text, and other sections stay where they were."""

    @with_parameters_of(tt.TorelliMap)
    class Own(Lengths):
        """A summary.

        Parameters
        ----------
        seed
            Its own seed.

        Notes
        -----
        A note.
        """

        def __init__(self, *, model="canonical", seed=0):
            self.model, self.seed = model, seed

    texts = parameter_texts(Own)
    assert list(texts) == ["model", "seed"]
    assert texts["seed"] == "Its own seed."
    assert texts["model"] == parameter_texts(tt.torelli_matrix)["model"]
    assert Own.__doc__.startswith("A summary.\n\nParameters\n")
    assert Own.__doc__.endswith("\n\nNotes\n-----\nA note.\n")
