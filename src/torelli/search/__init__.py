"""Nearest graphs of a large collection, exact: filter by sketches, refine by distances."""

from torelli.search.index import GraphIndex

__all__ = ["GraphIndex"]
