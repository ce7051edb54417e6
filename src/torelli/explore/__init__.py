"""The explorer: many networks on one HTML page, by similarity and on a map.

>>> from torelli import datasets
>>> from torelli.explore import NetworkSet, explorer_page
>>> networks = NetworkSet.from_dataset(datasets.street_patterns(5, radius=150), "patterns")
>>> page = explorer_page(networks)  # doctest: +SKIP
"""

from torelli.explore.explorer import explorer_page
from torelli.explore.networks import NetworkSet

__all__ = ["NetworkSet", "explorer_page"]
