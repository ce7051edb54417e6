"""The paper's Algorithm 1 written plainly with networkx and numpy: what one would write from the paper."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def torelli_matrix(graph: nx.Graph[Any]) -> NDArray[np.float64]:
    """Return Q of a simple networkx graph with the edge attribute ``length``."""
    blocks = []
    for nodes in nx.connected_components(graph):
        part = graph.subgraph(nodes)
        tree = nx.minimum_spanning_tree(part, weight="length")
        index = {frozenset(edge): i for i, edge in enumerate(tree.edges)}
        chords = sorted(
            (data["length"], u, v) for u, v, data in part.edges(data=True) if frozenset((u, v)) not in index
        )
        M = np.zeros((len(chords), len(index)))
        for i, (_, u, v) in enumerate(chords):
            path = nx.shortest_path(tree, v, u)
            for a, b in itertools.pairwise(path):
                M[i, index[frozenset((a, b))]] = 1.0 if a < b else -1.0
        lengths = np.array([data["length"] for *_, data in tree.edges(data=True)])
        blocks.append((M * lengths) @ M.T + np.diag([x for x, *_ in chords]))
    size = sum(len(block) for block in blocks)
    Q = np.zeros((size, size))
    start = 0
    for block in blocks:
        Q[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    return Q


def torelli_matrices(graphs: list[nx.Graph[Any]]) -> list[NDArray[np.float64]]:
    """Return the matrices of many graphs, one after the other."""
    return [torelli_matrix(graph) for graph in graphs]
