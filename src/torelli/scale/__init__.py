"""Past memory and past one machine: features and kernel matrices of any number of graphs, on disk."""

from torelli.scale.country import country_windows
from torelli.scale.features import write_features
from torelli.scale.kernel import write_kernel
from torelli.scale.stores import FeatureStore, KernelStore, open_features, open_kernel

__all__ = [
    "FeatureStore",
    "KernelStore",
    "country_windows",
    "open_features",
    "open_kernel",
    "write_features",
    "write_kernel",
]
