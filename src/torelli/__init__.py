"""Compare metric graphs through the tropical Torelli map."""

from torelli._errors import (
    DataNotFoundError,
    DataWarning,
    FormatError,
    InvalidGraphError,
    InvalidMatrixError,
    InvalidOptionError,
    MissingExtraError,
    NonGenericWarning,
    TorelliError,
)
from torelli._version import __version__
from torelli.graph import GraphSummary, MetricGraph
from torelli.io import as_metric_graph, as_metric_graphs, read
from torelli.matrix import torelli_matrices, torelli_matrix
from torelli.model import CanonicalModel, canonical_model

__all__ = [
    "CanonicalModel",
    "DataNotFoundError",
    "DataWarning",
    "FormatError",
    "GraphSummary",
    "InvalidGraphError",
    "InvalidMatrixError",
    "InvalidOptionError",
    "MetricGraph",
    "MissingExtraError",
    "NonGenericWarning",
    "TorelliError",
    "__version__",
    "as_metric_graph",
    "as_metric_graphs",
    "canonical_model",
    "read",
    "torelli_matrices",
    "torelli_matrix",
]
