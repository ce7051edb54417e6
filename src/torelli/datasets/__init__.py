"""Data sets: benchmarks, street networks, labelled collections, shared data, and generators."""

from torelli._lazy import names_of_stub

__getattr__, __dir__ = names_of_stub(__name__)
del names_of_stub
