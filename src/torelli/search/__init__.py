"""Nearest graphs of a large collection, exact: filter by sketches, refine by distances."""

from torelli.search._storage import is_index
from torelli.search.index import GraphIndex

__all__ = ["GraphIndex", "is_index"]
