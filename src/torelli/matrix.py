"""The Torelli matrix Q: the Gram matrix of a cycle basis under the edge lengths."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from torelli import _memory
from torelli._errors import DataWarning, InvalidOptionError, NonGenericWarning, quoted, unknown_option, warn
from torelli._numerics import threads
from torelli._numerics.batch import Batch, offsets_of
from torelli._numerics.compile import compiled
from torelli._numerics.core import bridge_chains, empty_cores
from torelli._numerics.forest import (
    argsort,
    ints,
    kruskal,
    members_by_label,
    rooted_tree,
    taken,
    write_matrices,
)
from torelli._types import Bridges, Model, Truncation
from torelli.io import as_metric_graphs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    from torelli._numerics.core import Cores
    from torelli._types import Flags, Floats, GraphLike, Ints
    from torelli.graph import MetricGraph

    _Shape = TypeVar("_Shape", bound=tuple[int, ...])
    _DType = TypeVar("_DType", bound=np.dtype[Any])

MODELS: tuple[Model, ...] = get_args(Model)
TRUNCATIONS: tuple[Truncation, ...] = get_args(Truncation)
BRIDGES: tuple[Bridges, ...] = get_args(Bridges)

ENTRIES_AT_ONCE = 2**25
"""Entries of matrices to hold in memory at a time, for code that goes through many graphs."""

_GAIN_TIE = 1e-9  # relative difference below which the gains of two rows count as equal


class TorelliMatrix(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """A Torelli matrix: an array that a notebook shows as a picture with its figures.

    It prints as a plain array, and what numpy computes from it is a plain array.
    """

    def __array_wrap__(
        self, array: np.ndarray[_Shape, _DType], context: object = None, return_scalar: object = None, /
    ) -> np.ndarray[_Shape, _DType]:
        return cast("np.ndarray[_Shape, _DType]", array[()]) if return_scalar else array

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def _repr_html_(self) -> str | None:
        if not self.shape or self.shape != self.shape[:1] * 2:
            return None
        from torelli._layout import matrix_html

        Q = np.asarray(self)
        overlaps = np.count_nonzero(np.triu(Q, 1))
        rows = [
            ("genus", f"{len(Q):,}"),
            ("length of all cycles", f"{np.trace(Q):,.6g}"),
            ("longest cycle", f"{Q.diagonal().max(initial=0.0):,.6g}"),
            ("pairs of cycles that overlap", f"{overlaps:,} of {len(Q) * (len(Q) - 1) // 2:,}"),
        ]
        return matrix_html(Q, "Torelli matrix: darker where cycles share more length", rows)


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

    ``Q = M diag(length) Mᵀ``, where the rows of M are the basis cycles with entries 0, 1 and -1. Q[i, i] is
    the length of cycle i, and Q[i, j] the length that cycles i and j share, negative where they run in
    opposite directions.

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
        count towards g. In a notebook, the array is shown as a picture with its main figures.

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

    References
    ----------
    Section 3.2 of the paper (Algorithm 1, ``model="literal"``) and section 4.1 (principal submatrices). The
    canonical model repairs Theorem 3.2: see the guide to what the space determines.

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
    return torelli_matrices([graph], model, **options)[0].view(TorelliMatrix)


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
        Number of threads, as in scikit-learn. The result does not depend on it. More threads do not help
        below a few thousand edges.

    Warns
    -----
    NonGenericWarning
        Once, if the matrix of a graph depends on the order of its edges; the message gives the number of such
        graphs and the remedy.

    References
    ----------
    Section 3.2 of the paper.

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
    batch = Batch(as_metric_graphs(graphs, length))
    limit = None if truncation == "greedy" else max_genus
    cores = batch.cores(n_jobs) if model == "canonical" else _literal_cores(batch, n_jobs)
    genus = cores.genus
    doubled = _doubled_bridges(batch, cores, n_jobs) if bridges == "double" else None
    size = genus if doubled is None else genus + [len(diagonal) for diagonal in doubled]
    kept = {g: choose_rows(g, limit, truncation, seed) for g in np.unique(size).tolist()}
    rows = [kept[g] for g in size.tolist()]
    largest = int(size.max())
    remedy = f"use max_genus (the largest genus is {largest:,}), or pass fewer graphs at a time"
    n_entries = int((np.minimum(size, largest if limit is None else min(limit, largest)) ** 2).sum())
    _memory.require(8 * n_entries, "the Torelli matrices", remedy)
    ties = batch.break_ties(cores, n_jobs) if model == "canonical" else cores.n_ties
    if doubled is None:
        matrices = _matrices(batch, cores, rows, n_jobs, signed=model == "canonical")
    else:
        n_cycles = map(np.searchsorted, rows, genus)
        on_cycles = [chosen[:n] for chosen, n in zip(rows, n_cycles, strict=True)]
        cycles = _matrices(batch, cores, on_cycles, n_jobs, signed=True)
        parts = zip(cycles, doubled, rows, genus.tolist(), strict=True)
        matrices = [_with_diagonal(Q, diagonal[chosen[len(Q) :] - g]) for Q, diagonal, chosen, g in parts]
    if ties.any():
        _warn_of_ties(ties, model)
    if truncation == "greedy" and max_genus is not None:
        chosen = [greedy_rows(Q, max_genus) for Q in matrices]
        return [Q[np.ix_(rows, rows)] for Q, rows in zip(matrices, chosen, strict=True)]
    return matrices


def parts_by_size(graphs: Sequence[MetricGraph]) -> list[tuple[int, int]]:
    """Return ranges of graphs whose matrices together take a few hundred megabytes."""
    part_of = np.cumsum([graph.genus**2 for graph in graphs]) // ENTRIES_AT_ONCE
    starts = [0, *(np.flatnonzero(np.diff(part_of)) + 1).tolist(), len(graphs)]
    return list(itertools.pairwise(starts))


def warn_of_trees(genera: Sequence[int], comparison: str) -> None:
    """Warn if most of two or more graphs have no cycles: what compares cycles takes them for equal."""
    n_trees = sum(genus == 0 for genus in genera)
    if n_trees > 1 and 2 * n_trees > len(genera):
        which = f"all {n_trees:,}" if n_trees == len(genera) else f"{n_trees:,} of {len(genera):,}"
        warn(
            f"{which} graphs have no cycles (genus 0): {comparison} of cycles alone cannot tell them apart; "
            "use bridges='double', or kernel='ttm' for the canonical measure",
            DataWarning,
        )


def _is_count(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and int(value) >= 0


def _literal_cores(batch: Batch, n_jobs: int | None) -> Cores:
    """Return the graphs themselves with the bases of the paper's Algorithm 1, in the form of cores."""
    cores = empty_cores(len(batch.tail), len(batch.n_nodes))._replace(
        total=batch.length, n_classes=np.diff(batch.edge_offsets), n_nodes=batch.n_nodes
    )
    arrays = (
        batch.tail, batch.head, batch.length, batch.edge_offsets, batch.n_nodes,
        cores.tail, cores.head, cores.in_tree, cores.basis, cores.genus, cores.n_ties,
    )  # fmt: skip
    threads.run(lambda start, stop: _write_literal(*arrays, start, stop), batch.chunks(), n_jobs)
    return cores


def _doubled_bridges(batch: Batch, cores: Cores, n_jobs: int | None) -> list[Floats]:
    """Return twice the length of each maximal chain of bridges, longest first, for each graph."""
    chains = np.empty(len(batch.n_nodes), dtype=np.int64)
    total = np.empty(len(batch.length))
    arrays = (batch.tail, batch.head, batch.length, batch.edge_offsets, batch.n_nodes, cores.edge_class)

    def work(start: int, stop: int) -> None:
        _write_doubled(*arrays, total, chains, start, stop)

    threads.run(work, batch.chunks(), n_jobs)
    return [total[a : a + n] for a, n in zip(batch.edge_offsets[:-1].tolist(), chains.tolist(), strict=True)]


def _matrices(
    batch: Batch, cores: Cores, rows: list[Ints], n_jobs: int | None, *, signed: bool
) -> list[Floats]:
    """Return the chosen rows and columns of each matrix."""
    size = np.array([len(chosen) for chosen in rows], dtype=np.int64)
    row_offsets, row, out_offsets = offsets_of(size), np.concatenate(rows), offsets_of(size**2)
    out, signs = np.empty(out_offsets[-1]), np.empty(row_offsets[-1])
    arrays = (
        cores.tail, cores.head, cores.total, batch.edge_offsets, cores.n_classes, cores.n_nodes,
        cores.in_tree, cores.basis, row, row_offsets, out, out_offsets, signs, signed,
    )  # fmt: skip
    chunks = batch.chunks(size**2)
    threads.run(lambda start, stop: write_matrices(*arrays, start, stop), chunks, n_jobs)
    ends = zip(out_offsets[:-1].tolist(), out_offsets[1:].tolist(), size.tolist(), strict=True)
    return [out[a:b].reshape(g, g) for a, b, g in ends]


def _with_diagonal(Q: Floats, diagonal: Floats) -> Floats:
    """Return the direct sum of a matrix and a diagonal matrix."""
    whole = np.zeros((len(Q) + len(diagonal),) * 2)
    whole[: len(Q), : len(Q)] = Q
    np.fill_diagonal(whole[len(Q) :, len(Q) :], diagonal)
    return whole


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
def _write_doubled(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints, edge_class: Ints,
    total: Floats, chains: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    for i in range(start, stop):
        a, b = edge_offsets[i], edge_offsets[i + 1]
        _, totals = bridge_chains(tail[a:b], head[a:b], length[a:b], n_nodes[i], edge_class[a:b])
        count = chains[i] = len(totals)
        order = argsort(totals)
        for place in range(count):
            total[a + place] = 2.0 * totals[order[count - 1 - place]]


@compiled
def _write_literal(
    tail: Ints, head: Ints, length: Floats, edge_offsets: Ints, n_nodes: Ints, new_tail: Ints, new_head: Ints,
    in_tree: Flags, basis: Ints, genus: Ints, n_ties: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    for i in range(start, stop):
        a, b = edge_offsets[i], edge_offsets[i + 1]
        for edge in range(a, b):
            new_tail[edge], new_head[edge] = tail[edge], head[edge]
        by_length = argsort(length[a:b])
        n_tied = 0
        for k in range(1, len(by_length)):
            n_tied += length[a + by_length[k]] == length[a + by_length[k - 1]]
        count = kruskal(tail[a:b], head[a:b], n_nodes[i], by_length, in_tree[a:b], basis[a:b])
        orient_chords(
            new_tail[a:b], new_head[a:b], length[a:b], n_nodes[i], in_tree[a:b], basis[a : a + count]
        )
        genus[i], n_ties[i] = count, n_tied if count else 0


@compiled
def orient_chords(tail: Ints, head: Ints, length: Floats, n_nodes: int, in_tree: Flags, chords: Ints) -> None:
    """Sort the chords and turn them around as the paper's Algorithm 1 and its proof do, in place.

    The chords come by ascending length, and are sorted by component, in the order of the first nodes. The
    tree path between the ends of a chord has a first and a last edge; the chord runs from the end at the
    shorter of these two to the other end (proof of Theorem 3.2). If the path has one edge or none, the
    proof gives no direction, and the chord runs from the smaller node number to the larger.
    """
    order, parent, parent_edge = rooted_tree(tail, head, n_nodes, in_tree)
    depth, component = ints(n_nodes, 0), np.empty(n_nodes, np.int64)
    count = -1
    for i in range(n_nodes):
        node = order[i]
        if parent[node] < 0:
            count += 1
        else:
            depth[node] = depth[parent[node]] + 1
        component[node] = count
    label = np.empty(len(chords), np.int64)
    for i in range(len(chords)):
        label[i] = component[tail[chords[i]]]
    _, by_component = members_by_label(label, n_nodes)
    sorted_chords = taken(chords, by_component)
    for i in range(len(chords)):
        edge = chords[i] = sorted_chords[i]
        u, v = tail[edge], head[edge]
        first_u = last_u = first_v = last_v = 0.0
        while u != v:
            if depth[u] >= depth[v]:
                last_u = length[parent_edge[u]]
                first_u = last_u if first_u == 0.0 else first_u
                u = parent[u]
            else:
                last_v = length[parent_edge[v]]
                first_v = last_v if first_v == 0.0 else first_v
                v = parent[v]
        # if the climb never left one end, the path's edge there is the last one climbed from the other end
        omega_tail = first_u if first_u > 0.0 else last_v
        omega_head = first_v if first_v > 0.0 else last_u
        if omega_tail > omega_head or (omega_tail == omega_head and tail[edge] > head[edge]):
            tail[edge], head[edge] = head[edge], tail[edge]
