"""Data sets: benchmarks, street networks, and the shared data of the project."""

from torelli.datasets.local import LOCAL_NAMES, load_local
from torelli.datasets.paper import paper_table
from torelli.datasets.resistance import edge_resistances
from torelli.datasets.statistics import set_statistics, sparsity_class
from torelli.datasets.tu import TU_NAMES, load_tu, read_tu
from torelli.datasets.urn import URN_NAMES, build_urn, load_urn

__all__ = [
    "LOCAL_NAMES",
    "TU_NAMES",
    "URN_NAMES",
    "build_urn",
    "edge_resistances",
    "load_local",
    "load_tu",
    "load_urn",
    "paper_table",
    "read_tu",
    "set_statistics",
    "sparsity_class",
]
