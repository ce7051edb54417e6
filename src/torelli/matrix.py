"""The Torelli matrix Q: the Gram matrix of a cycle basis under the edge lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from torelli import _memory
from torelli._errors import DataWarning, InvalidOptionError, NonGenericWarning, quoted, unknown_option, warn
from torelli._numerics import threads
from torelli._numerics.compile import compiled
from torelli._numerics.core import bridge_chains, core_and_basis
from torelli._numerics.forest import (
    argsort,
    chords_in,
    count_components,
    fix_signs,
    gram_of_cycles,
    kruskal,
    rooted_forest,
)
from torelli._numerics.ties import RESOLVED, by_colour, canonical_order, tied_colours
from torelli._types import Bridges
from torelli.io import as_metric_graphs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from torelli._types import Floats, GraphLike, Ints
    from torelli.graph import MetricGraph


Model = Literal["canonical", "literal"]
Truncation = Literal["random", "leading", "greedy"]

MODELS: tuple[Model, ...] = ("canonical", "literal")
TRUNCATIONS: tuple[Truncation, ...] = ("random", "leading", "greedy")
BRIDGES: tuple[Bridges, ...] = get_args(Bridges)

_CHUNK = 20_000  # work per task, in edges: a few milliseconds
_ENTRIES_PER_EDGE = 50  # matrix entries written in the time that an edge takes
_EVEN = 4  # the number of tasks is a multiple of four, so that two or four threads end together
_GAIN_TIE = 1e-9  # relative difference below which the gains of two rows count as equal
_WORTH_THREADS = 500_000  # edges below which counting genera takes less time than starting threads


def torelli_matrix(
    graph: GraphLike,
    model: Model = "canonical",
    *,
    bridges: Bridges = "ignore",
    max_genus: int | None = None,
    truncation: Truncation = "random",
    seed: int = 0,
    length: str = "length",
) -> Floats:
    """Return the Torelli matrix of a metric graph.

    Parameters
    ----------
    graph
        A `MetricGraph`, or anything that `as_metric_graph` takes.
    model
        ``"canonical"``: the basis that the metric space determines (`canonical_model`), with the
        cycles of all components sorted together. ``"literal"``: the paper's Algorithm 1 and the
        orientation of its proof, on the graph as given; this matrix changes under subdivision.
    bridges
        ``"ignore"``: edges on no cycle have no effect, and all trees have the same matrix. ``"double"``:
        every maximal chain of bridges through points of degree 2 is doubled and so becomes a cycle of its
        own. It adds a row and a column with twice its length on the diagonal. These rows follow those of
        the cycles, longest chain first. For the canonical model only.
    max_genus
        Keep at most this many rows and columns.
    truncation
        Which rows and columns to keep: ``"random"`` (as in the paper; the choice depends only on `seed`
        and the genus, so that equal graphs get equal choices), ``"leading"`` (the shortest chords), or
        ``"greedy"``, which maximises the Frobenius norm of the submatrix row by row (the paper's
        equation 3; it needs the full matrix).
    seed
        Seed of the random choice.
    length
        Name of the edge attribute with the length, for a graph that is not a `MetricGraph`.

    Returns
    -------
    Q
        Symmetric positive definite, of shape (g, g) for genus g: (0, 0) for a tree. Doubled bridges
        count towards g.

    Notes
    -----
    The time is O(n + m log m + g²). If ``"random"`` or ``"leading"`` keeps only g0 rows, it is
    O(n + m log m + g0²), because the full matrix is never formed. The signs of the canonical model are
    then fixed within the kept rows.

    Doubled bridges come last, so that the rows of the cycles are the same as without them. Ties between
    bridges, or between bridges and cycles, leave the matrix determined. The longest come first because
    smaller matrices are padded with zeros: as a bridge shrinks to a point, the matrix changes continuously.
    With doubled bridges, Q is an invariant of the metric space, but no longer of its Jacobian: swapping
    the sides of a 2-vertex cut may join or split chains of bridges.

    Examples
    --------
    >>> from torelli import MetricGraph
    >>> torelli_matrix(MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0]))
    array([[3., 1.],
           [1., 4.]])
    >>> torelli_matrix(MetricGraph([0, 0, 1], [1, 1, 2], [1.0, 2.0, 5.0]), bridges="double")
    array([[ 3.,  0.],
           [ 0., 10.]])
    """
    options: dict[str, Any] = {
        "bridges": bridges,
        "max_genus": max_genus,
        "truncation": truncation,
        "seed": seed,
        "length": length,
    }
    return torelli_matrices([graph], model, **options)[0]


@_memory.refused_if_too_large("the Torelli matrices", "use max_genus, or pass fewer graphs at a time")
def torelli_matrices(
    graphs: Sequence[Any],
    model: Model = "canonical",
    *,
    bridges: Bridges = "ignore",
    max_genus: int | None = None,
    truncation: Truncation = "random",
    seed: int = 0,
    length: str = "length",
    n_jobs: int | None = None,
) -> list[Floats]:
    """Return the Torelli matrices of many graphs; entry i belongs to ``graphs[i]``.

    Parameters
    ----------
    graphs
        A list of graphs, each a `MetricGraph` or anything that `as_metric_graph` takes.
    model, bridges, max_genus, truncation, seed
        As for `torelli_matrix`.
    length
        Name of the edge attribute with the length, for graphs that are not a `MetricGraph`.
    n_jobs
        Number of threads, as in scikit-learn. It does not change the result. It does not help below
        some thousand edges.

    Warns
    -----
    NonGenericWarning
        Once, with the number of graphs whose matrix depends on the order of their edges, and the remedy.

    Examples
    --------
    >>> import torelli as tt
    >>> theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 2.0, 3.0])
    >>> [Q.tolist() for Q in tt.torelli_matrices([theta, tt.MetricGraph([0], [0], [5.0])])]
    [[[3.0, 1.0], [1.0, 4.0]], [[5.0]]]
    """
    if model not in MODELS:
        raise unknown_option("model", model, MODELS)
    if bridges not in BRIDGES:
        raise unknown_option("bridges", bridges, BRIDGES)
    if bridges == "double" and model == "literal":
        raise InvalidOptionError(
            "bridges='double' has no meaning in the paper's model: use model='canonical', or bridges='ignore'"
        )
    if truncation not in TRUNCATIONS:
        raise unknown_option("truncation", truncation, TRUNCATIONS)
    if max_genus is not None and not _is_count(max_genus):
        raise InvalidOptionError(f"max_genus is {quoted(max_genus)}: use None or an integer of 0 or more")
    if not _is_count(seed) or seed >= 2**64:
        raise InvalidOptionError(f"seed is {quoted(seed)}: use an integer from 0 to 2**64 - 1")
    batch = _Batch(as_metric_graphs(graphs, length))
    limit = None if truncation == "greedy" else max_genus
    genus = batch.genera(n_jobs)
    doubled = batch.doubled_bridges(n_jobs) if bridges == "double" else None
    size = genus if doubled is None else genus + [len(diagonal) for diagonal in doubled]
    kept = {g: choose_rows(g, limit, truncation, seed) for g in np.unique(size).tolist()}
    rows = [kept[g] for g in size.tolist()]
    largest = int(size.max())
    remedy = f"use max_genus (the largest genus is {largest:,}), or pass fewer graphs at a time"
    n_entries = int((np.minimum(size, largest if limit is None else min(limit, largest)) ** 2).sum())
    _memory.require(8 * n_entries, "the Torelli matrices", remedy)
    if doubled is None:
        matrices, ties = batch.matrices(model, rows, n_jobs)
    else:
        n_cycles = map(np.searchsorted, rows, genus)
        on_cycles = [chosen[:n] for chosen, n in zip(rows, n_cycles, strict=True)]
        cycles, ties = batch.matrices(model, on_cycles, n_jobs)
        parts = zip(cycles, doubled, rows, genus.tolist(), strict=True)
        matrices = [_with_diagonal(Q, diagonal[chosen[len(Q) :] - g]) for Q, diagonal, chosen, g in parts]
    if ties.any():
        _warn_of_ties(ties, model)
    if truncation == "greedy" and max_genus is not None:
        chosen = [greedy_rows(Q, max_genus) for Q in matrices]
        return [Q[np.ix_(rows, rows)] for Q, rows in zip(matrices, chosen, strict=True)]
    return matrices


def warn_of_trees(genera: Sequence[int], what: str) -> None:
    """Warn if most of two or more graphs have no cycles: what compares cycles takes them for equal."""
    n_trees = sum(genus == 0 for genus in genera)
    if n_trees > 1 and 2 * n_trees > len(genera):
        which = f"all {n_trees:,}" if n_trees == len(genera) else f"{n_trees:,} of {len(genera):,}"
        warn(
            f"{which} graphs have no cycles (genus 0): {what} of cycles alone cannot tell them apart; "
            "use bridges='double', or kernel='ttm' for the canonical measure",
            DataWarning,
        )


def _is_count(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 0


class _Batch:
    """Graphs as concatenated arrays, so that compiled code can process all of them."""

    def __init__(self, graphs: Sequence[MetricGraph]) -> None:
        self.tail = np.concatenate([graph.tail for graph in graphs])
        self.head = np.concatenate([graph.head for graph in graphs])
        self.length = np.concatenate([graph.length for graph in graphs])
        self.n_nodes = np.array([graph.n_nodes for graph in graphs], dtype=np.int64)
        self.edge_offsets = _offsets(np.array([len(graph.length) for graph in graphs], dtype=np.int64))

    def genera(self, n_jobs: int | None) -> Ints:
        """Return the genus of each graph."""
        genus = np.empty(len(self.n_nodes), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            _genera(self.tail, self.head, self.edge_offsets, self.n_nodes, genus, start, stop)

        threads.run(work, self._chunks(), n_jobs if len(self.tail) > _WORTH_THREADS else 1)
        return genus

    def doubled_bridges(self, n_jobs: int | None) -> list[Floats]:
        """Return twice the length of each maximal chain of bridges, longest first, for each graph."""
        chains = np.empty(len(self.n_nodes), dtype=np.int64)
        total = np.empty(len(self.length))

        def work(start: int, stop: int) -> None:
            arrays = (self.tail, self.head, self.length, self.edge_offsets, self.n_nodes)
            _fill_doubled(*arrays, total, chains, start, stop)

        threads.run(work, self._chunks(), n_jobs)
        return [
            total[a : a + n] for a, n in zip(self.edge_offsets[:-1].tolist(), chains.tolist(), strict=True)
        ]

    def matrices(self, model: Model, rows: list[Ints], n_jobs: int | None) -> tuple[list[Floats], Ints]:
        """Return the chosen rows and columns of each matrix, and a nonzero count for each that has ties."""
        size = np.array([len(chosen) for chosen in rows], dtype=np.int64)
        row_offsets, row = _offsets(size), np.concatenate(rows)
        out_offsets = _offsets(size**2)
        out = np.empty(out_offsets[-1])
        ties = np.zeros(len(rows), dtype=np.int64)
        arrays = (self.tail, self.head, self.length, self.edge_offsets, self.n_nodes)
        target = (row, row_offsets, out, out_offsets)
        fill = _fill_canonical if model == "canonical" else _fill_literal
        chunks = self._chunks(size**2)
        threads.run(lambda start, stop: fill(*arrays, *target, ties, start, stop), chunks, n_jobs)
        ends = zip(out_offsets[:-1].tolist(), out_offsets[1:].tolist(), size.tolist(), strict=True)
        matrices = [out[a:b].reshape(g, g) for a, b, g in ends]
        if model == "canonical" and ties.any():
            state = np.full(len(rows), RESOLVED)
            threads.run(
                lambda start, stop: _fill_tied(*arrays, *target, ties, state, start, stop), chunks, n_jobs
            )
            ties = self._fill_open(matrices, rows, np.flatnonzero(state != RESOLVED), n_jobs)
        return matrices, ties

    def _fill_open(self, matrices: list[Floats], rows: list[Ints], graphs: Ints, n_jobs: int | None) -> Ints:
        """Write the matrices of graphs whose ties masses do not break; return 1 for each undetermined one."""
        undetermined = np.zeros(len(rows), dtype=np.int64)

        def work(start: int, stop: int) -> None:
            for i in graphs[start:stop].tolist():
                a, b = self.edge_offsets[i], self.edge_offsets[i + 1]
                parts = core_and_basis(self.tail[a:b], self.head[a:b], self.length[a:b], self.n_nodes[i])
                _, _, tail, head, total, n_core, *_ = parts
                order, determined = canonical_order(tail, head, total, n_core)
                _fill_in_order(tail, head, total, n_core, order, rows[i], matrices[i])
                undetermined[i] = not determined

        threads.run(work, [(i, i + 1) for i in range(len(graphs))], n_jobs)
        return undetermined

    def _chunks(self, n_entries: Ints | int = 0) -> list[tuple[int, int]]:
        """Return ranges of graphs of about equal cost; `n_entries` are the matrix entries of each graph."""
        cost = np.diff(self.edge_offsets) + n_entries // _ENTRIES_PER_EDGE
        end = np.cumsum(cost)
        count = -(-int(end[-1]) // (_EVEN * _CHUNK)) * _EVEN
        part = (end - cost // 2) * count // max(int(end[-1]), 1)
        starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
        return list(zip(starts, [*starts[1:], len(part)], strict=True))


def _with_diagonal(Q: Floats, diagonal: Floats) -> Floats:
    """Return the direct sum of a matrix and a diagonal matrix."""
    whole = np.zeros((len(Q) + len(diagonal),) * 2)
    whole[: len(Q), : len(Q)] = Q
    np.fill_diagonal(whole[len(Q) :, len(Q) :], diagonal)
    return whole


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)])


def _warn_of_ties(ties: Ints, model: Model) -> None:
    of = f"{np.count_nonzero(ties):,} of {len(ties):,} graphs" if len(ties) > 1 else "the graph"
    if model == "canonical":
        problem = (
            f"the Torelli matrix of {of} depends on the order of its edges: the tied C1-sets are so many and "
            "so similar that the search for symmetries was given up"
        )
        remedy = "lengths with more digits"
    else:
        problem = f"tied edge lengths in {of}: the paper's algorithm breaks ties by the order of edges"
        remedy = "model='canonical'"
    warn(f"{problem}. Remedy: {remedy}", NonGenericWarning)


def choose_rows(genus: int, max_genus: int | None, truncation: Truncation, seed: int) -> Ints:
    """Return the rows to keep of a matrix of size `genus`, ascending; they depend only on the arguments."""
    if max_genus is None or genus <= max_genus:
        return np.arange(genus)
    if truncation == "leading":
        return np.arange(max_genus)
    # keeps the rows with the smallest random keys; raw words are the same in all versions of numpy
    words = np.random.Philox(key=[seed, genus]).random_raw(genus)
    return np.sort(np.argsort(words, kind="stable")[:max_genus])


def greedy_rows(Q: Floats, max_genus: int) -> Ints:
    """Return rows chosen one by one to maximise the Frobenius norm of the principal submatrix.

    If several rows have the same gain up to rounding, the first is taken.
    """
    if len(Q) <= max_genus:
        return np.arange(len(Q))
    squares = Q**2
    gain = np.diag(squares).copy()
    for _ in range(max_genus):
        best = int(np.argmax(gain >= (1.0 - _GAIN_TIE) * gain.max()))
        gain += 2 * squares[best]
        gain[best] = -np.inf
    return np.flatnonzero(np.isneginf(gain))


@compiled
def _genera(
    tail: Ints, head: Ints, edge_offsets: Ints, n_nodes: Ints, genus: Ints, start: int, stop: int
) -> None:
    for i in range(start, stop):
        a, b = edge_offsets[i], edge_offsets[i + 1]
        genus[i] = b - a - n_nodes[i] + count_components(tail[a:b], head[a:b], n_nodes[i])


@compiled
def _fill_doubled(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints,
    total: Floats, chains: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    for i in range(start, stop):
        a, b = edge_offsets[i], edge_offsets[i + 1]
        _, totals = bridge_chains(tail[a:b], head[a:b], length[a:b], n_nodes[i])
        chains[i] = len(totals)
        total[a : a + len(totals)] = 2.0 * np.sort(totals)[::-1]


@compiled
def _fill_canonical(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints,
    row: Ints, row_offsets: Ints, out: Floats, out_offsets: Ints, ties: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    for i in range(start, stop):
        a, b = edge_offsets[i], edge_offsets[i + 1]
        parts = core_and_basis(tail[a:b], head[a:b], length[a:b], n_nodes[i])
        _, _, core_tail, core_head, total, n_core, in_tree, basis, ties[i] = parts
        if ties[i]:
            continue
        chords = basis[row[row_offsets[i] : row_offsets[i + 1]]]
        Q = out[out_offsets[i] : out_offsets[i + 1]].reshape(len(chords), len(chords))
        gram_of_cycles(core_tail, core_head, total, n_core, in_tree, chords, Q)
        fix_signs(Q)


@compiled
def _fill_tied(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints,
    row: Ints, row_offsets: Ints, out: Floats, out_offsets: Ints,
    ties: Ints, state: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    """Write the matrices of graphs whose ties canonical masses break, and the state of all tied graphs."""
    no_masses = np.empty(0, np.float64)
    for i in range(start, stop):
        if not ties[i]:
            continue
        a, b = edge_offsets[i], edge_offsets[i + 1]
        parts = core_and_basis(tail[a:b], head[a:b], length[a:b], n_nodes[i])
        _, _, core_tail, core_head, total, n_core, _, _, _ = parts
        colour, _, state[i] = tied_colours(core_tail, core_head, total, n_core, no_masses)
        if state[i] == RESOLVED:
            rows = row[row_offsets[i] : row_offsets[i + 1]]
            Q = out[out_offsets[i] : out_offsets[i + 1]].reshape(len(rows), len(rows))
            _fill_in_order(core_tail, core_head, total, n_core, by_colour(colour), rows, Q)


@compiled
def _fill_in_order(
    tail: Ints, head: Ints, total: Floats, n_core: int, order: Ints, rows: Ints, Q: Floats
) -> None:
    """Write the matrix of a core whose spanning forest takes the classes in this order."""
    in_tree = kruskal(tail, head, n_core, order)
    gram_of_cycles(tail, head, total, n_core, in_tree, chords_in(order, in_tree)[rows], Q)
    fix_signs(Q)


@compiled
def _fill_literal(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints,
    row: Ints, row_offsets: Ints, out: Floats, out_offsets: Ints, ties: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    for i in range(start, stop):
        a, b = edge_offsets[i], edge_offsets[i + 1]
        oriented_tail, oriented_head, in_tree, basis, ties[i] = literal_basis(
            tail[a:b], head[a:b], length[a:b], n_nodes[i]
        )
        if len(basis) == 0:
            ties[i] = 0
        chords = basis[row[row_offsets[i] : row_offsets[i + 1]]]
        Q = out[out_offsets[i] : out_offsets[i + 1]].reshape(len(chords), len(chords))
        gram_of_cycles(oriented_tail, oriented_head, length[a:b], n_nodes[i], in_tree, chords, Q)


@compiled
def literal_basis(
    tail: Ints, head: Ints, length: Floats, n_nodes: int
) -> tuple[Ints, Ints, NDArray[np.bool_], Ints, int]:
    """Return (oriented tail, oriented head, in tree, basis, ties) of the paper's Algorithm 1.

    The basis is sorted by component, in the order of their first nodes, and by length within each
    component. The tree path between the ends of a chord has a first and a last edge; the chord runs from
    the end at the shorter of these two to the other end (proof of Theorem 3.2). If the path has one edge
    or none, the proof gives no direction, and the chord runs from the smaller node number to the larger.
    """
    by_length = argsort(length)
    n_ties = 0
    for i in range(1, len(by_length)):
        if length[by_length[i]] == length[by_length[i - 1]]:
            n_ties += 1
    in_tree = kruskal(tail, head, n_nodes, by_length)
    tree = np.flatnonzero(in_tree)
    order, parent_edge = rooted_forest(tail[tree], head[tree], n_nodes)
    parent = np.full(n_nodes, -1, np.int64)
    depth = np.zeros(n_nodes, np.int64)
    component = np.empty(n_nodes, np.int64)
    count = -1
    for node in order:
        edge = parent_edge[node]
        if edge < 0:
            count += 1
        else:
            parent[node] = tail[tree[edge]] + head[tree[edge]] - node
            depth[node] = depth[parent[node]] + 1
        component[node] = count

    basis = chords_in(by_length, in_tree)
    basis = basis[np.argsort(component[tail[basis]], kind="mergesort")]
    new_tail, new_head = tail.copy(), head.copy()
    for edge in basis:
        u, v = tail[edge], head[edge]
        first_u = last_u = first_v = last_v = 0.0
        while u != v:
            if depth[u] >= depth[v]:
                last_u = length[tree[parent_edge[u]]]
                first_u = last_u if first_u == 0.0 else first_u
                u = parent[u]
            else:
                last_v = length[tree[parent_edge[v]]]
                first_v = last_v if first_v == 0.0 else first_v
                v = parent[v]
        # if the climb never left one end, the path's edge there is the last one climbed from the other end
        omega_tail = first_u if first_u > 0.0 else last_v
        omega_head = first_v if first_v > 0.0 else last_u
        if omega_tail > omega_head or (omega_tail == omega_head and tail[edge] > head[edge]):
            new_tail[edge], new_head[edge] = head[edge], tail[edge]
    return new_tail, new_head, in_tree, basis, n_ties
