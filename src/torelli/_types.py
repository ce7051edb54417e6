"""Names for types that several modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import argparse

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]
Signs: TypeAlias = NDArray[np.int8]

GraphLike: TypeAlias = Any
"""A `MetricGraph`, or an object of another library that `as_metric_graph` converts."""

MatrixLike: TypeAlias = Any
"""A dense or sparse matrix of any library."""

ForeignObject: TypeAlias = Any
"""An object of a package that has no types, such as a tree of shapely or an ellipsoid of pyproj."""

Bridges: TypeAlias = Literal["ignore", "double"]
"""What becomes of edges on no cycle."""

Model: TypeAlias = Literal["canonical", "literal"]
"""The canonical model, or the paper's Algorithm 1."""

Truncation: TypeAlias = Literal["random", "leading", "greedy"]
"""Which rows of a large matrix are kept."""

Along: TypeAlias = Literal["junctions", "diffusion", "returns", "currents"]
Scale: TypeAlias = Literal["absolute", "relative"]
Weights: TypeAlias = Literal["count", "length"]

StoredFeatures: TypeAlias = Literal["measure", "tts"]
Precision: TypeAlias = Literal["float64", "float32"]

Represented: TypeAlias = Any
"""What a transformer makes of a list of graphs: matrices, the rows of an array, or objects of its own."""

Labels: TypeAlias = ArrayLike | None
"""The class of each graph, or None where it does not matter."""

Dataset: TypeAlias = Any
"""A `sklearn.utils.Bunch`, or the pair (graphs, y), as scikit-learn's loaders return."""

Estimator: TypeAlias = Any
"""An estimator of scikit-learn, which has no types."""

Json: TypeAlias = Any
"""What a JSON document holds: None, a number, text, a list or a dictionary."""

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001  (has no public name)
"""Where a command adds its parser."""
