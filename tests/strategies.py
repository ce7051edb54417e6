"""Metric graphs of many shapes, and the moves that must not change them."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import strategies as st

import reference
import torelli as tt


def from_edges(edges, lengths, n_nodes=None):
    tail, head = (list(ends) for ends in zip(*edges, strict=True)) if edges else ([], [])
    return tt.MetricGraph(tail, head, lengths, n_nodes)


def _theta(rng, size):
    return [(0, 1)] * (size + 2)


def _complete(rng, size):
    return list(nx.complete_graph(min(size + 2, 6)).edges)


def _tree(rng, size):
    return [(int(rng.integers(i)), i) for i in range(1, size + 2)]


def _cactus(rng, size):
    edges, n = [], 1
    for _ in range(size):
        node, k = int(rng.integers(n)), int(rng.integers(0, 4))
        ring = [node, *range(n, n + k)]
        edges += [(ring[i], ring[(i + 1) % len(ring)]) for i in range(len(ring))]
        n += k
    return edges


def _multigraph(rng, size):
    n = int(rng.integers(1, size + 3))
    return [(int(rng.integers(n)), int(rng.integers(n))) for _ in range(int(rng.integers(0, 2 * size + 2)))]


def _cubic(rng, size):
    n = 2 * max(2, size // 2 + 1)
    return list(nx.random_regular_graph(3, n, seed=int(rng.integers(2**31))).edges)


SHAPES = (_theta, _complete, _tree, _cactus, _multigraph, _cubic)


@st.composite
def networkx_graphs(draw, name):
    """Draw a networkx graph of any class with six nodes and up to 15 edges, some of equal length."""
    kind = draw(st.sampled_from([nx.Graph, nx.MultiGraph, nx.DiGraph, nx.MultiDiGraph]))
    edge = st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([1.0, 2.5, 3.25]))
    graph = kind(name=name, unit="km")
    graph.add_nodes_from(range(6))
    graph.add_edges_from((u, v, {"length": x}) for u, v, x in draw(st.lists(edge, min_size=1, max_size=15)))
    return graph


@st.composite
def metric_graphs(draw, max_size=6, max_parts=3):
    """Draw a graph of one to three parts of any shape, with lengths between 0.01 and 10."""
    edges, n = [], 0
    for _ in range(draw(st.integers(1, max_parts))):
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        part = draw(st.sampled_from(SHAPES))(rng, draw(st.integers(1, max_size)))
        edges += [(u + n, v + n) for u, v in part]
        n += max((max(edge) for edge in part), default=0) + 1
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return from_edges(edges, rng.uniform(0.01, 10.0, size=len(edges)), n)


@st.composite
def vanishing_edges(draw):
    """Draw a graph, an edge of it with nearly no length, and the graph with this edge contracted."""
    graph = draw(metric_graphs().filter(lambda graph: graph.n_edges))
    unit = draw(st.sampled_from([1.0, 10.0, 100.0]))
    edge = draw(st.integers(0, graph.n_edges - 1))
    length = unit * graph.length
    length[edge] = 1e-11 * unit
    return _with(graph, length=length), edge, contract(_with(graph, length=length), edge)


def contract(graph, edge):
    """Return the graph in which an edge has become a point; the other edges keep their order."""
    name = np.arange(graph.n_nodes)
    name[graph.tail[edge]] = graph.head[edge]
    tail, head, length = (np.delete(one, edge) for one in (graph.tail, graph.head, graph.length))
    return tt.MetricGraph(name[tail], name[head], length, graph.n_nodes)


@st.composite
def noisy_pairs(draw):
    """Draw a graph, the same with lengths changed by factors from exp(-s) to exp(s), and s.

    Lengths are uniform, equal, or of ratios up to 1,000; all change alike or each by itself.
    """
    graph = draw(metric_graphs().filter(lambda graph: graph.n_edges))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m = graph.n_edges
    lengths = draw(st.sampled_from([graph.length, np.ones(m), 10.0 ** rng.uniform(-1.5, 1.5, m)]))
    lengths = lengths * draw(st.sampled_from([1.0, 10.0, 100.0]))
    size = draw(st.floats(1e-5, 0.03))
    noise = draw(st.sampled_from([np.ones(m), rng.choice([-1.0, 1.0], m), rng.uniform(-1.0, 1.0, m)]))
    return _with(graph, length=lengths), _with(graph, length=lengths * np.exp(size * noise)), size


@st.composite
def tiny_multigraphs(draw):
    """Draw the arrays of a multigraph with at most five nodes and eight edges, of integer lengths."""
    n_nodes = draw(st.integers(1, 5))
    node = st.integers(0, n_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(1, 9)), max_size=8))
    return [u for u, _, _ in edges], [v for _, v, _ in edges], [x for _, _, x in edges], n_nodes


def _with(graph, tail=None, head=None, length=None, n_nodes=None):
    return tt.MetricGraph(
        graph.tail if tail is None else tail,
        graph.head if head is None else head,
        graph.length if length is None else length,
        graph.n_nodes if n_nodes is None else n_nodes,
    )


def subdivide(graph, rng):
    return (
        graph.subdivide(int(rng.integers(0, 12)), seed=int(rng.integers(2**31))) if graph.n_edges else graph
    )


def relabel(graph, rng):
    name = rng.permutation(graph.n_nodes)
    return _with(graph, name[graph.tail], name[graph.head])


def shuffle_edges(graph, rng):
    order = rng.permutation(graph.n_edges)
    return _with(graph, graph.tail[order], graph.head[order], graph.length[order])


def reverse_edges(graph, rng):
    turn = rng.random(graph.n_edges) < 0.5
    return _with(graph, np.where(turn, graph.head, graph.tail), np.where(turn, graph.tail, graph.head))


def grow_trees(graph, rng):
    tail, head, n = list(graph.tail), list(graph.head), graph.n_nodes
    length = list(graph.length)
    for _ in range(int(rng.integers(1, 6))):
        tail.append(int(rng.integers(n)))
        head.append(n)
        length.append(rng.uniform(0.01, 10.0))
        n += 1
    return _with(graph, tail, head, length, n)


def drop_bridges(graph, rng):
    kept = np.setdiff1d(np.arange(graph.n_edges), reference.bridges(graph))
    return _with(graph, graph.tail[kept], graph.head[kept], graph.length[kept])


def _two_components(graph, rng):
    parts = [sorted(part) for part in nx.connected_components(reference.as_networkx(graph))]
    if len(parts) < 2:
        return None
    one, two = rng.permutation(len(parts))[:2]
    return int(rng.choice(parts[one])), int(rng.choice(parts[two]))


def join_at_a_point(graph, rng):
    pair = _two_components(graph, rng)
    if pair is None:
        return graph
    name = np.arange(graph.n_nodes)
    name[pair[1]] = pair[0]
    return _with(graph, name[graph.tail], name[graph.head])  # the other point stays, isolated


def join_by_a_bridge(graph, rng):
    pair = _two_components(graph, rng)
    if pair is None:
        return graph
    tail, head = np.append(graph.tail, pair[0]), np.append(graph.head, pair[1])
    return _with(graph, tail, head, np.append(graph.length, rng.uniform(0.01, 10.0)))


def swap_sides_of_a_cut(graph, rng):
    """Swap two vertices for all edges that reach one piece of what is left without them."""
    if graph.n_nodes < 3:
        return graph
    u, v = (int(node) for node in rng.permutation(graph.n_nodes)[:2])
    rest = reference.as_networkx(graph)
    rest.remove_nodes_from([u, v])
    pieces = [sorted(piece) for piece in nx.connected_components(rest)]
    piece = pieces[int(rng.integers(len(pieces)))]
    name = np.arange(graph.n_nodes)
    name[u], name[v] = v, u
    reaches = np.isin(graph.tail, piece) | np.isin(graph.head, piece)
    return _with(
        graph,
        np.where(reaches, name[graph.tail], graph.tail),
        np.where(reaches, name[graph.head], graph.head),
    )


ISOMETRIES = (subdivide, relabel, shuffle_edges, reverse_edges)
"""Moves that draw the same space in another way, bridges included."""

MOVES = (
    swap_sides_of_a_cut,
    subdivide,
    relabel,
    shuffle_edges,
    reverse_edges,
    grow_trees,
    drop_bridges,
    join_at_a_point,
    join_by_a_bridge,
)


@st.composite
def moves(draw, max_size=8, among=MOVES):
    """Draw a sequence of moves with their random numbers, as one function of a graph."""
    chosen = draw(st.lists(st.sampled_from(among), min_size=1, max_size=max_size))
    seed = draw(st.integers(0, 2**32 - 1))

    def apply(graph):
        rng = np.random.default_rng(seed)
        for move in chosen:
            graph = move(graph, rng)
        return graph

    return apply


@st.composite
def twisted_pairs(draw):
    """Draw two graphs that differ in which side of a 2-vertex cut is which."""
    one, two = draw(metric_graphs(max_parts=1)), draw(metric_graphs(max_parts=1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a, b = rng.integers(one.n_nodes, size=2)
    c, d = rng.integers(two.n_nodes, size=2)
    return _glue(one, two, {c: a, d: b}), _glue(one, two, {c: b, d: a}), a != b and c != d


def _glue(one, two, onto):
    name = np.arange(two.n_nodes) + one.n_nodes
    for node, target in onto.items():
        name[node] = target
    return tt.MetricGraph(
        np.concatenate([one.tail, name[two.tail]]),
        np.concatenate([one.head, name[two.head]]),
        np.concatenate([one.length, two.length]),
        one.n_nodes + two.n_nodes,
    )


def random_psd(rng, size, rank=None):
    """Return a random positive semi-definite matrix; one of lower rank has whole entries and is exact."""
    if rank is not None and rank < size:
        B = rng.integers(-3, 4, size=(size, rank)).astype(float)
        return B @ B.T
    A = rng.standard_normal((size, size))
    return A @ A.T + 0.05 * np.eye(size)
