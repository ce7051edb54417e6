from torelli import datasets, plot
from torelli._cache import distance_cache
from torelli._errors import (
    CacheWarning,
    DataNotFoundError,
    DataWarning,
    FormatError,
    InvalidGraphError,
    InvalidMatrixError,
    InvalidOptionError,
    MissingExtraError,
    NonGenericWarning,
    RequestTooLargeError,
    ScaleWarning,
    StoreError,
    TorelliError,
)
from torelli._registry import KERNELS
from torelli._version import __version__
from torelli.combine import CombinedKernel, FeatureKernel
from torelli.distances import METRICS, distance, pairwise_distances, pairwise_distances_chunked
from torelli.explanation import Explanation, explain
from torelli.features import MeasureFeatures
from torelli.gp import GraphRBF
from torelli.graph import GraphSummary, MetricGraph
from torelli.io import as_metric_graph, as_metric_graphs, read, read_records
from torelli.kernel_matrix import Definiteness, definiteness
from torelli.kernels import (
    GraphKernel,
    TorelliKernel,
    TorelliMap,
    TTEKernel,
    TTMKernel,
    TTSKernel,
    TTWKernel,
)
from torelli.landmarks import LandmarkFeatures
from torelli.matrix import torelli_matrices, torelli_matrix
from torelli.measure import CanonicalMeasure, canonical_measure
from torelli.model import CanonicalModel, canonical_model
from torelli.representation import KernelEntry
from torelli.scale import (
    FeatureStore,
    KernelStore,
    open_features,
    open_kernel,
    write_features,
    write_kernel,
)
from torelli.search import GraphIndex
from torelli.statistics import STREET_FEATURES, MetricStatistics, StreetStatistics

__all__ = [
    "KERNELS",
    "METRICS",
    "STREET_FEATURES",
    "CacheWarning",
    "CanonicalMeasure",
    "CanonicalModel",
    "CombinedKernel",
    "DataNotFoundError",
    "DataWarning",
    "Definiteness",
    "Explanation",
    "FeatureKernel",
    "FeatureStore",
    "FormatError",
    "GraphIndex",
    "GraphKernel",
    "GraphRBF",
    "GraphSummary",
    "InvalidGraphError",
    "InvalidMatrixError",
    "InvalidOptionError",
    "KernelEntry",
    "KernelStore",
    "LandmarkFeatures",
    "MeasureFeatures",
    "MetricGraph",
    "MetricStatistics",
    "MissingExtraError",
    "NonGenericWarning",
    "RequestTooLargeError",
    "ScaleWarning",
    "StoreError",
    "StreetStatistics",
    "TTEKernel",
    "TTMKernel",
    "TTSKernel",
    "TTWKernel",
    "TorelliError",
    "TorelliKernel",
    "TorelliMap",
    "__version__",
    "as_metric_graph",
    "as_metric_graphs",
    "canonical_measure",
    "canonical_model",
    "datasets",
    "definiteness",
    "distance",
    "distance_cache",
    "explain",
    "open_features",
    "open_kernel",
    "pairwise_distances",
    "pairwise_distances_chunked",
    "plot",
    "read",
    "read_records",
    "torelli_matrices",
    "torelli_matrix",
    "write_features",
    "write_kernel",
]
