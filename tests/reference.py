"""Slow, plain second routes to what the package computes; nothing here uses its algorithms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath as mp
import networkx as nx
import numpy as np


def as_networkx(graph):
    """Return a keyed multigraph: the key of an edge is its position."""
    G = nx.MultiGraph()
    G.add_nodes_from(range(graph.n_nodes))
    for e, (u, v, x) in enumerate(zip(graph.tail, graph.head, graph.length, strict=True)):
        G.add_edge(int(u), int(v), key=e, length=float(x))
    return G


def literal(graph):
    """Return Q and the cycle-edge matrix M of the paper's Algorithm 1 with the orientation of its proof."""
    G = as_networkx(graph)
    rows = []
    for nodes in sorted(nx.connected_components(G), key=min):
        part = G.subgraph(nodes)
        edges = sorted((d["length"], e, u, v) for u, v, e, d in part.edges(keys=True, data=True))
        tree = nx.MultiGraph()
        tree.add_nodes_from(nodes)
        chords = []
        for x, e, u, v in edges:
            if nx.has_path(tree, u, v):
                chords.append((x, e))
            else:
                tree.add_edge(u, v, key=e, length=x)
        for _, e in chords:
            rows.append(_cycle(graph, tree, e))
    M = np.array(rows).reshape(len(rows), graph.n_edges)
    return M @ np.diag(graph.length) @ M.T, M


def _cycle(graph, tree, e):
    row = np.zeros(graph.n_edges)
    u, v = int(graph.tail[e]), int(graph.head[e])
    row[e] = 1.0
    path = nx.shortest_path(tree, u, v)
    if len(path) > 1:
        first = next(iter(tree[path[0]][path[1]].values()))["length"]
        last = next(iter(tree[path[-1]][path[-2]].values()))["length"]
        turn = first > last or (first == last and u > v)
    else:
        turn = False
    # orient e from low to high, then walk from its head back to its tail through the tree
    start, path = (v, path) if turn else (u, path[::-1])
    row[e] = 1.0 if start == int(graph.tail[e]) else -1.0
    for a, b in itertools.pairwise(path):
        (key,) = tree[a][b]
        row[key] += 1.0 if int(graph.tail[key]) == a else -1.0
    return row


def spanning_forest_polynomial(graph):
    """Return the sum over spanning forests of the product of the lengths of all edges outside."""
    G = as_networkx(graph)
    size = graph.n_nodes - nx.number_connected_components(G)
    edges = list(G.edges(keys=True, data="length"))
    total = []
    for chosen in itertools.combinations(range(len(edges)), size):
        forest = nx.MultiGraph()
        forest.add_nodes_from(G)
        forest.add_edges_from((edges[i][0], edges[i][1]) for i in chosen)
        if nx.number_connected_components(forest) == graph.n_nodes - size:
            inside = set(chosen)
            total.append(math.prod(x for i, (*_, x) in enumerate(edges) if i not in inside))
    return math.fsum(total)


def exact_masses(tail, head, length, n_nodes):
    """Return the masses as fractions, from the definition by spanning forests."""
    everything = nx.MultiGraph()
    everything.add_nodes_from(range(n_nodes))
    everything.add_edges_from(zip(tail, head, strict=True))
    n_parts = nx.number_connected_components(everything)
    total, out = Fraction(0), [Fraction(0)] * len(tail)
    for chosen in itertools.combinations(range(len(tail)), n_nodes - n_parts):
        forest = nx.MultiGraph()
        forest.add_nodes_from(range(n_nodes))
        forest.add_edges_from((tail[edge], head[edge]) for edge in chosen)
        if nx.number_connected_components(forest) == n_parts:
            left = set(range(len(tail))) - set(chosen)
            weight = Fraction(1)
            for edge in left:
                weight *= length[edge]
            total += weight
            for edge in left:
                out[edge] += weight
    return [mass / total for mass in out]


def exact_laplacian_masses(tail, head, length, n_nodes):
    """Return the masses of a connected graph as fractions, by elimination in exact arithmetic."""
    size = n_nodes - 1
    matrix = [[Fraction(0)] * (2 * size) for _ in range(size)]
    for u, v, x in zip(tail, head, length, strict=True):
        for a, b in ((u, v), (v, u)):
            if a < size and u != v:
                matrix[a][a] += 1 / Fraction(x)
                if b < size:
                    matrix[a][b] -= 1 / Fraction(x)
    for row in range(size):
        matrix[row][size + row] = Fraction(1)
    for row in range(size):
        pivot = matrix[row][row]
        matrix[row] = [entry / pivot for entry in matrix[row]]
        for other in range(size):
            if other != row and matrix[other][row]:
                factor = matrix[other][row]
                matrix[other] = [a - factor * b for a, b in zip(matrix[other], matrix[row], strict=True)]

    def green(a, b):
        return matrix[a][size + b] if a < size and b < size else Fraction(0)

    return [
        1 - (green(u, u) + green(v, v) - 2 * green(u, v)) / Fraction(x)
        for u, v, x in zip(tail, head, length, strict=True)
    ]


def bridges(graph):
    """Return the edges whose removal disconnects something, by trying each."""
    G = as_networkx(graph)
    count = nx.number_connected_components(G)
    bridges = []
    for u, v, e in list(G.edges(keys=True)):
        x = G.edges[u, v, e]["length"]
        G.remove_edge(u, v, e)
        if nx.number_connected_components(G) > count:
            bridges.append(e)
        G.add_edge(u, v, key=e, length=x)
    return sorted(bridges)


def c1_sets(graph):
    """Return the first edge of the C1-set of each edge, or -1 for a bridge.

    Two edges are a C1-set exactly when removing one makes the other a bridge.
    """
    incident = [[] for _ in range(graph.n_nodes)]
    for e, (u, v) in enumerate(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)):
        incident[u].append((e, v))
        incident[v].append((e, u))
    first = np.full(graph.n_edges, -1)
    bridges = _bridges_without(incident, -1)
    for e in range(graph.n_edges):
        if e not in bridges and first[e] < 0:
            first[[e, *(_bridges_without(incident, e) - bridges)]] = e
    return first


def _bridges_without(incident, removed):
    """Return the bridges after one edge is removed: depth first, those that no later edge passes by."""
    bridges, preorder = set(), {}
    low = [0] * len(incident)
    for root in range(len(incident)):
        stack = [] if root in preorder else [(root, removed, iter(incident[root]))]
        while stack:
            node, entered, edges = stack[-1]
            if node not in preorder:
                low[node] = preorder[node] = len(preorder)
            for e, other in edges:
                if e in (entered, removed):
                    continue
                if other not in preorder:
                    stack.append((other, e, iter(incident[other])))
                    break
                low[node] = min(low[node], preorder[other])
            else:
                stack.pop()
                if stack:
                    above = stack[-1][0]
                    low[above] = min(low[above], low[node])
                    if low[node] == preorder[node]:
                        bridges.add(entered)
    return bridges


def _padded(Q1, Q2):
    size = max(len(Q1), len(Q2))
    out = []
    for Q in (Q1, Q2):
        P = mp.zeros(size)
        for i, j in np.ndindex(*np.shape(Q)):
            P[i, j] = mp.mpf(float(Q[i][j]))
        out.append(P)
    return out


def _root(P):
    values, vectors = mp.eigsy(P)
    return vectors * mp.diag([mp.sqrt(max(x, 0)) for x in values]) * vectors.T


def _spectrum(P):
    return sorted((mp.sqrt(max(x, 0)) for x in mp.eigsy(P, eigvals_only=True)), reverse=True)


def distance(Q1, Q2, metric):
    """Return a distance by the padded formula of the paper in 40 digits."""
    size = max(len(Q1), len(Q2))
    if size == 0:
        return 0.0
    with mp.workdps(40):
        A, B = _padded(Q1, Q2)
        if metric == "tte":
            return float(mp.sqrt(sum((A[i, j] - B[i, j]) ** 2 for i in range(size) for j in range(size))))
        if metric == "tts":
            return float(mp.sqrt(sum((a - b) ** 2 for a, b in zip(_spectrum(A), _spectrum(B), strict=True))))
        root = _root(A)
        middle = sum(_spectrum(root * B * root))
        trace = sum(A[i, i] + B[i, i] for i in range(size))
        return float(mp.sqrt(max(trace - 2 * middle, 0)))
