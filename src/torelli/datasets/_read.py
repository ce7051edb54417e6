"""Graphs from files, for the loaders of this folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torelli._errors import FormatError
from torelli._numerics.threads import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torelli.graph import MetricGraph

    Rows = Sequence[dict[str, str]]


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


def with_progress(rows: Rows, label: str) -> Iterator[dict[str, str]]:
    """Yield rows of an index; what takes more than a second is shown on standard error."""
    show = ProgressLine(label)
    for done, row in enumerate(rows, 1):
        yield row
        show(done / len(rows))
