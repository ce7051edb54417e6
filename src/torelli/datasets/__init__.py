"""Data sets: benchmarks, street networks, the shared data of the project, and generators."""

from torelli._lazy import names_of_stub

__getattr__, __dir__ = names_of_stub(__name__)
