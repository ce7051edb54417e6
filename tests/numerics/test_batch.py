"""Batches: many graphs in common arrays, each as it would be alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import metric_graphs
from torelli._numerics import batch as batches
from torelli._numerics.batch import Batch, offsets_of
from torelli._numerics.core import canonical_core

GRAPHS = st.lists(metric_graphs(), min_size=1, max_size=6)


@given(GRAPHS, st.sampled_from([1, 3]))
@settings(max_examples=40)
def test_a_core_does_not_depend_on_the_other_graphs_of_a_batch(graphs, n_jobs):
    """Each graph has the core, the ties and the basis that it has alone."""
    batch = Batch(graphs)
    cores = batch.cores(n_jobs)
    undetermined = batch.break_ties(cores, n_jobs)
    for i, graph in enumerate(graphs):
        first, last = batch.edge_offsets[i : i + 2].tolist()
        alone = canonical_core(graph.tail, graph.head, graph.length, graph.n_nodes)
        together = cores.of(i, first, last)
        assert bool(undetermined[i]) != alone.is_determined
        for name in ("edge_class", "edge_sign", "tail", "head", "total", "in_tree", "basis", "n_ties"):
            assert np.array_equal(getattr(alone, name), getattr(together, name)), name


@given(GRAPHS, st.integers(1, 30))
@settings(max_examples=40)
def test_chunks_cover_every_graph_once_in_order(graphs, size):
    """Ranges of graphs follow each other without gaps, whatever the size of a chunk."""
    chunk, batches._CHUNK = batches._CHUNK, size
    try:
        runs = Batch(graphs).chunks()
    finally:
        batches._CHUNK = chunk
    assert [i for start, stop in runs for i in range(start, stop)] == list(range(len(graphs)))


def test_a_batch_may_be_empty():
    """Nothing is computed for no graphs."""
    batch = Batch([])
    assert batch.chunks() == []
    assert len(batch.cores(1).total) == 0


@given(st.lists(st.integers(0, 9000), max_size=30))
def test_offsets_are_starts_and_the_end(sizes):
    """Part i of a concatenation goes from offset i to the next."""
    assert offsets_of(np.array(sizes, dtype=np.int64)).tolist() == [0, *np.cumsum(sizes).tolist()]
