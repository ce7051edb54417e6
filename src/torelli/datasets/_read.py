"""Graphs from files, for the loaders of this folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torelli._errors import FormatError

if TYPE_CHECKING:
    from torelli.graph import MetricGraph


def read_all(path: str | os.PathLike[str]) -> list[MetricGraph]:
    """Return the graphs of a file."""
    from torelli.io.read import read  # noqa: PLC0415  (readers are not needed to import the package)

    return read(path)


def read_one(path: str | os.PathLike[str]) -> MetricGraph:
    """Return the graph of a file that must have one."""
    graphs = read_all(path)
    if len(graphs) != 1:
        raise FormatError(f"{os.fspath(path)} has {len(graphs)} graphs, one was expected")
    return graphs[0]
