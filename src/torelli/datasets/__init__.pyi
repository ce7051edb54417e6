from torelli._numerics.unit_resistances import edge_resistances
from torelli.datasets.labelled import load_ants, load_neurons, load_water, load_zoo
from torelli.datasets.local import LOCAL_NAMES, load_local
from torelli.datasets.paper import paper_table
from torelli.datasets.streets import street_pattern, street_patterns
from torelli.datasets.synthetic import (
    cactus,
    delaunay,
    grid,
    line_plus_random,
    necklace,
    random_geometric,
    theta,
    voronoi,
)
from torelli.datasets.tu import TU_NAMES, load_tu, read_tu
from torelli.datasets.urn import URN_NAMES, build_urn, load_urn, read_urn, save_urn
from torelli.statistics import set_statistics, sparsity_class

__all__ = [
    "LOCAL_NAMES",
    "TU_NAMES",
    "URN_NAMES",
    "build_urn",
    "cactus",
    "delaunay",
    "edge_resistances",
    "grid",
    "line_plus_random",
    "load_ants",
    "load_local",
    "load_neurons",
    "load_tu",
    "load_urn",
    "load_water",
    "load_zoo",
    "necklace",
    "paper_table",
    "random_geometric",
    "read_tu",
    "read_urn",
    "save_urn",
    "set_statistics",
    "sparsity_class",
    "street_pattern",
    "street_patterns",
    "theta",
    "voronoi",
]
