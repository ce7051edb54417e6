"""Names for types that several modules share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Flags: TypeAlias = NDArray[np.bool_]

GraphLike: TypeAlias = Any
"""A `MetricGraph`, or an object of another library that `as_metric_graph` converts."""

Json: TypeAlias = Any
"""What a JSON document holds: None, a number, text, a list or a dictionary."""
