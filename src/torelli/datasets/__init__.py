"""Data sets: benchmarks, street networks, and the shared data of the project."""

from torelli.datasets.paper import paper_table
from torelli.datasets.resistance import edge_resistances
from torelli.datasets.tu import TU_NAMES, load_tu, read_tu
from torelli.datasets.urn import URN_NAMES, build_urn, load_urn

__all__ = [
    "TU_NAMES",
    "URN_NAMES",
    "build_urn",
    "edge_resistances",
    "load_tu",
    "load_urn",
    "paper_table",
    "read_tu",
]
