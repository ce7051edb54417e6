"""Graphs as concatenated arrays, so that compiled code can process all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._numerics import threads
from torelli._numerics.core import empty_cores, write_cores
from torelli._numerics.forest import kruskal
from torelli._numerics.ties import RESOLVED, canonical_order, order_by_masses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torelli._numerics.core import Cores
    from torelli._types import Ints
    from torelli.graph import MetricGraph


_CHUNK = 20_000  # work per task, in edges: a few milliseconds
_ENTRIES_PER_EDGE = 50  # matrix entries written in the time that an edge takes
_EVEN = 4  # the number of tasks is a multiple of four, so that two or four threads finish together


class Batch:
    """Graphs as concatenated arrays.

    Attributes
    ----------
    tail, head, length
        The edges of all graphs.
    edge_offsets
        Position of the first edge of each graph, followed by the number of all edges.
    n_nodes
        Number of nodes of each graph.
    """

    def __init__(self, graphs: Sequence[MetricGraph]) -> None:
        # the empty arrays allow an empty list
        self.tail = np.concatenate([np.empty(0, np.int64), *(graph.tail for graph in graphs)])
        self.head = np.concatenate([np.empty(0, np.int64), *(graph.head for graph in graphs)])
        self.length = np.concatenate([np.empty(0), *(graph.length for graph in graphs)])
        self.n_nodes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
        self.edge_offsets = offsets_of(np.array([len(graph.length) for graph in graphs], dtype=np.int64))

    def chunks(self, n_entries: Ints | int = 0) -> list[tuple[int, int]]:
        """Return ranges of graphs of about equal cost; each graph has `n_entries` matrix entries."""
        if not len(self.n_nodes):
            return []
        cost = np.diff(self.edge_offsets) + n_entries // _ENTRIES_PER_EDGE
        end = np.cumsum(cost)
        count = -(-int(end[-1]) // (_EVEN * _CHUNK)) * _EVEN
        part = (end - cost // 2) * count // max(int(end[-1]), 1)
        starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
        return list(zip(starts, [*starts[1:], len(part)], strict=True))

    def cores(self, n_jobs: int | None) -> Cores:
        """Return the cores of the graphs; the bases of cores with ties are not canonical."""
        cores = empty_cores(len(self.tail), len(self.n_nodes))
        arrays = (self.tail, self.head, self.length, self.edge_offsets, self.n_nodes, *cores)
        threads.run(lambda start, stop: write_cores(*arrays, start, stop), self.chunks(), n_jobs)
        return cores

    def break_ties(self, cores: Cores, n_jobs: int | None) -> Ints:
        """Make all bases canonical; return 1 for each graph whose basis depends on the order of its edges."""
        undetermined = np.zeros(len(self.n_nodes), dtype=np.int64)
        if not cores.n_ties.any():
            return undetermined
        state = np.full(len(self.n_nodes), RESOLVED)
        arrays = (
            cores.tail, cores.head, cores.total, self.edge_offsets,
            cores.n_classes, cores.n_nodes, cores.n_ties, cores.in_tree, cores.basis, state,
        )  # fmt: skip
        threads.run(lambda start, stop: order_by_masses(*arrays, start, stop), self.chunks(), n_jobs)

        def work(graph: int) -> None:
            core = cores.of(graph, *self.edge_offsets[graph : graph + 2].tolist())
            order, determined = canonical_order(core.tail, core.head, core.total, core.n_nodes)
            kruskal(core.tail, core.head, core.n_nodes, order, core.in_tree, core.basis)
            undetermined[graph] = not determined

        threads.run(work, [(graph,) for graph in np.flatnonzero(state != RESOLVED).tolist()], n_jobs)
        return undetermined


def offsets_of(sizes: Ints) -> Ints:
    """Return the start of each part in a concatenation, followed by the total size."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
