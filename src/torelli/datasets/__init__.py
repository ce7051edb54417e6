"""Data sets: benchmarks, street networks, and the shared data of the project."""

from torelli.datasets.paper import paper_table
from torelli.datasets.resistance import edge_resistances
from torelli.datasets.tu import TU_NAMES, load_tu, read_tu

__all__ = ["TU_NAMES", "edge_resistances", "load_tu", "paper_table", "read_tu"]
