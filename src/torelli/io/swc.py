"""SWC: a neuron as a tree, one point on each line: id, type, x, y, z, radius, parent.

Edges are straight from each point to its parent, with the ``type`` and ``radius`` of the point as values.
The format states no unit (micrometres by
convention): say ``unit="um"`` where that holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import FormatError, counted, shortened
from torelli.graph import MetricGraph
from torelli.io.edges import contract_points, warn
from torelli.io.files import lines
from torelli.io.readers import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Floats
    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile


_FIELDS = 7
_SHOWN = 10
_LARGEST_ID = 2.0**53
_BATCH = 2**18  # characters of points that are looked at together
_WORK = 10  # bytes for each character of a long line
_POINT = 500  # bytes of a point, with those of the graph


def read_swc(file: SourceFile) -> MetricGraph:
    """Return the neuron of an SWC file; several roots are several trees."""
    path = file.path
    table = _points(path, file.budget)
    ids, parents, places = table[:, 0], table[:, 6], table[:, 2:5]
    known, counts = np.unique(ids, return_counts=True)
    if len(known) < len(ids):
        raise FormatError(
            f"{path.name}: {_shown('id', known[counts > 1])} more than once; give each point its own id"
        )
    child = np.flatnonzero(parents >= 0)
    orphans = np.setdiff1d(parents[child], known)
    if len(orphans):
        raise FormatError(f"{path.name}: {_shown('parent', orphans)} not in the file; it is incomplete")
    order = np.argsort(ids)
    parent = order[np.searchsorted(known, parents[child])]
    lengths = np.linalg.norm(places[child] - places[parent], axis=1)
    tree = MetricGraph(child, parent, np.ones(len(child)), len(ids))
    if tree.genus:
        raise FormatError(f"{path.name}: {tree.genus:,} points are their own ancestors; SWC is for trees")
    edge = child[lengths > 0]
    tail, head, lengths, kept, contracted = contract_points(child, parent, lengths, len(ids))
    if contracted:
        warn(f"{contracted:,} points lie at the place of their parent and were contracted", name=path.name)
    return MetricGraph(
        tail,
        head,
        lengths,
        len(kept),
        coordinates=places[kept],
        node_ids=ids[kept].astype(np.int64).tolist(),
        edge_values=file.edge_values().arrays({"type": _whole(table[edge, 1]), "radius": table[edge, 5]}),
        **file.about(),
    )


def _whole(numbers: Floats) -> NDArray[Any]:
    """Return numbers as integers, if they are."""
    whole = np.isfinite(numbers).all() and (numbers == np.floor(numbers)).all()
    return numbers.astype(np.int64) if whole and np.abs(numbers).max(initial=0) < _LARGEST_ID else numbers


def _points(path: Path, budget: Budget) -> Floats:
    """Return the points as rows of id, type, x, y, z, radius and parent."""
    rows: list[list[str]] = []
    parts: list[Floats] = []
    held = 0  # characters of the rows
    for line_number, line in enumerate(lines(path, budget, any_newline=True), 1):
        held += len(line)
        if held > _BATCH:
            budget.check(_WORK * held)
        text = line.partition("#")[0]
        if text.strip():
            fields = text.replace(",", " ").split(None, _FIELDS)
            if len(fields) < _FIELDS:
                raise FormatError(
                    f"{path.name}, line {line_number:,}: {len(fields)} fields instead of {_FIELDS}"
                )
            rows.append(fields[:_FIELDS])
            if held > _BATCH:
                parts.append(_table(path, rows, budget))
                rows, held = [], 0
    if rows:
        parts.append(_table(path, rows, budget))
    if not parts:
        raise FormatError(f"{path.name}: the file has no points")
    table = np.concatenate(parts)
    if not np.isfinite(table[:, [0, 2, 3, 4, 6]]).all():
        bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
        raise FormatError(f"{path.name}: {len(bad):,} points have an id, place or parent that is not finite")
    identities = table[:, [0, 6]]
    if (identities != np.floor(identities)).any() or (np.abs(identities) > _LARGEST_ID).any():
        raise FormatError(f"{path.name}: an id or parent is not a whole number below 2^53")
    return table


def _table(path: Path, rows: list[list[str]], budget: Budget) -> Floats:
    budget.take(_POINT * len(rows))
    try:
        return np.array(rows, dtype=np.float64)
    except ValueError as error:
        raise FormatError(f"{path.name}: a field is not a number ({shortened(str(error))})") from error


def _shown(noun: str, ids: Floats) -> str:
    """Return the number of some ids, the first of them, and the verb that agrees."""
    shown = ", ".join(str(int(identity)) for identity in ids[:_SHOWN])
    more = ", ..." if len(ids) > _SHOWN else ""
    return f"{counted(len(ids), noun)} ({shown}{more}) {'is' if len(ids) == 1 else 'are'}"


SWC = Reader(
    "swc",
    (".swc",),
    read_swc,
    example="# neuron\n1 1 0 0 0 2.0 -1\n2 3 3 4 0 1.0 1\n7 3 3 4 12 1.0 2\n",
)
