"""Synthetic families of metric graphs, seeded: the paper's and those whose genus is known.

Planar families have their Euclidean lengths; the others have lengths from Unif(0, 1), as in the
paper, and coordinates for pictures only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import InvalidOptionError, quoted
from torelli.datasets._street_plans import Plan, node_components, straight_lengths
from torelli.graph import MetricGraph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats

    Integers = NDArray[np.int64]

# mirrored cells meet the border of the unit square in points that differ by rounding only
_SAME_POINT = 1e-9
_HALF_SPACING = 0.5  # moved by this much, neighbours in a grid could meet


def line_plus_random(n_nodes: int, genus: int, *, seed: int = 0) -> MetricGraph:
    """Return a line of nodes with random edges added: the paper's synthetic graphs (section 5.1).

    The paper connects random pairs of nodes until there are genus + n_nodes - 1 edges and does not
    say whether a pair may come twice. Here the added pairs are distinct and not neighbours on the
    line, so that the graph is simple, and every such choice is equally likely.

    Parameters
    ----------
    n_nodes
        Number of nodes, at least 1.
    genus
        Number of edges added, at most (n_nodes - 1)(n_nodes - 2) / 2.
    seed
        Seed of the pairs and of the lengths, which are Unif(0, 1).

    Raises
    ------
    InvalidOptionError
        If there are not enough pairs of nodes for this genus.

    Examples
    --------
    >>> line_plus_random(50, 10, seed=1).genus
    10
    """
    _at_least("n_nodes", n_nodes, 1)
    _at_least("genus", genus, 0)
    n_pairs = (n_nodes - 1) * (n_nodes - 2) // 2
    if genus > n_pairs:
        raise InvalidOptionError(
            f"genus {genus} is too large for {n_nodes} nodes: "
            f"only {n_pairs} pairs of nodes are not neighbours on the line"
        )
    rng = np.random.default_rng(seed)
    first, second = _pair_at(rng.choice(n_pairs, size=genus, replace=False) if genus else np.empty(0))
    line = np.arange(n_nodes - 1)
    # the line is drawn as an arc, so that the added edges are chords that can be told apart
    angle = np.pi * (1.25 - 1.5 * (np.arange(n_nodes) + 0.5) / n_nodes)
    return _with_uniform_lengths(
        np.concatenate([line, first]),
        np.concatenate([line + 1, second]),
        np.column_stack([np.cos(angle), np.sin(angle)]),
        rng,
        name=f"line_plus_random({n_nodes}, {genus}, seed={seed})",
    )


def delaunay(n_nodes: int, *, seed: int = 0) -> MetricGraph:
    """Return the Delaunay triangulation of random points in the unit square.

    With h of the points on the convex hull the genus is 2 n_nodes - 2 - h, the number of triangles.

    Parameters
    ----------
    n_nodes
        Number of points, at least 3.
    seed
        Seed of the points.

    Examples
    --------
    >>> import torelli as tt
    >>> graph = tt.datasets.delaunay(10, seed=0)
    >>> graph.n_nodes, graph.genus == graph.n_edges - graph.n_nodes + 1
    (10, True)
    """
    _at_least("n_nodes", n_nodes, 3)
    points = np.random.default_rng(seed).random((n_nodes, 2))
    from scipy.spatial import Delaunay

    triangles = Delaunay(points).simplices
    sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    return _planar(points, np.unique(sides, axis=0), name=f"delaunay({n_nodes}, seed={seed})")


def voronoi(n_cells: int, *, seed: int = 0) -> MetricGraph:
    """Return the borders of the Voronoi cells of random points in the unit square.

    The sides of the square belong to the borders, so each cell is a face and the genus is `n_cells`.

    Parameters
    ----------
    n_cells
        Number of cells, at least 1.
    seed
        Seed of the points.

    Examples
    --------
    >>> import torelli as tt
    >>> tt.datasets.voronoi(12, seed=0).genus
    12
    """
    _at_least("n_cells", n_cells, 1)
    centres = np.random.default_rng(seed).random((n_cells, 2))
    # mirror images in the four sides make the sides themselves borders of the cells inside
    mirrored = [centres]
    for axis in (0, 1):
        for side in (0.0, 1.0):
            image = centres.copy()
            image[:, axis] = 2.0 * side - image[:, axis]
            mirrored.append(image)
    from scipy.spatial import Voronoi

    diagram = Voronoi(np.concatenate(mirrored))
    is_border = (diagram.ridge_points < n_cells).any(axis=1)
    ends = np.asarray(diagram.ridge_vertices, dtype=np.int64)[is_border]
    used, ends = np.unique(ends, return_inverse=True)
    plan = _merge_same_points(Plan(diagram.vertices[used], ends.reshape(-1, 2)))
    return _planar(plan.points, plan.ends, name=f"voronoi({n_cells}, seed={seed})")


def grid(n_rows: int, n_columns: int, *, jitter: float = 0.2, seed: int = 0) -> MetricGraph:
    """Return a grid of n_rows by n_columns nodes; its genus is (n_rows - 1)(n_columns - 1).

    Parameters
    ----------
    n_rows, n_columns
        Number of nodes in each direction, at least 1.
    jitter
        Largest displacement of a node along each axis, in grid spacings; below 0.5. With 0 all lengths are 1:
        such a grid is not generic.
    seed
        Seed of the displacements.

    Examples
    --------
    >>> import torelli as tt
    >>> tt.datasets.grid(3, 4).genus
    6
    """
    _at_least("n_rows", n_rows, 1)
    _at_least("n_columns", n_columns, 1)
    if not 0.0 <= jitter < _HALF_SPACING:
        raise InvalidOptionError(f"jitter must be at least 0 and below 0.5, got {quoted(jitter)}")
    node = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    rows, columns = np.divmod(np.arange(node.size), n_columns)
    moves = np.random.default_rng(seed).uniform(-jitter, jitter, size=(node.size, 2))
    ends = np.concatenate(
        [
            np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()]),
            np.column_stack([node[:-1].ravel(), node[1:].ravel()]),
        ]
    )
    name = f"grid({n_rows}, {n_columns}, jitter={jitter:g}, seed={seed})"
    return _planar(np.column_stack([columns, rows]) + moves, ends, name=name)


def random_geometric(n_nodes: int, radius: float, *, seed: int = 0) -> MetricGraph:
    """Return random points in the unit square, joined wherever they are at most `radius` apart.

    The graph keeps all its components: isolated points too.

    Parameters
    ----------
    n_nodes
        Number of points, at least 1.
    radius
        Longest edge.
    seed
        Seed of the points.

    Examples
    --------
    >>> import torelli as tt
    >>> graph = tt.datasets.random_geometric(30, 0.2, seed=0)
    >>> graph.n_nodes, bool(graph.length.max() <= 0.2)
    (30, True)
    """
    _at_least("n_nodes", n_nodes, 1)
    if not 0.0 < radius < np.inf:
        raise InvalidOptionError(f"radius must be positive and finite, got {quoted(radius)}")
    points = np.random.default_rng(seed).random((n_nodes, 2))
    from scipy.spatial import KDTree

    pairs = KDTree(points).query_pairs(radius, output_type="ndarray")
    ends = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int64)
    return _planar(points, ends, name=f"random_geometric({n_nodes}, {radius:g}, seed={seed})")


def cactus(n_cycles: int, *, cycle_nodes: int = 5, seed: int = 0) -> MetricGraph:
    """Return a random cactus: cycles of which any two share at most one node; its genus is `n_cycles`.

    Cycles are added one by one, each at a node chosen uniformly among those there are.

    Parameters
    ----------
    n_cycles
        Number of cycles, at least 1.
    cycle_nodes
        Number of nodes on each cycle, at least 1: with 1 the cycles are loops, with 2 pairs of
        parallel edges.
    seed
        Seed of the places and of the lengths, which are Unif(0, 1).

    Examples
    --------
    >>> import torelli as tt
    >>> graph = tt.datasets.cactus(3, seed=0)
    >>> graph.genus, tt.torelli_matrix(graph).astype(bool).sum()  # cycles share no edge: Q is diagonal
    (3, np.int64(3))
    """
    _at_least("n_cycles", n_cycles, 1)
    _at_least("cycle_nodes", cycle_nodes, 1)
    rng = np.random.default_rng(seed)
    n_new = cycle_nodes - 1
    # cycle k brings the nodes 1 + k n_new ... (k + 1) n_new and starts and ends at its root
    roots = np.array([rng.integers(1 + cycle * n_new) for cycle in range(n_cycles)])
    new_nodes = 1 + np.arange(n_cycles * n_new).reshape(n_cycles, n_new)
    stops = np.column_stack([roots, new_nodes, roots])
    return _with_uniform_lengths(
        stops[:, :-1].ravel(),
        stops[:, 1:].ravel(),
        _cactus_picture(roots, new_nodes),
        rng,
        name=f"cactus({n_cycles}, cycle_nodes={cycle_nodes}, seed={seed})",
    )


def theta(n_strands: int, *, inner_nodes: int = 1, seed: int = 0) -> MetricGraph:
    """Return two nodes joined by strands; its genus is n_strands - 1.

    Parameters
    ----------
    n_strands
        Number of strands, at least 1.
    inner_nodes
        Number of nodes on each strand; with 0 the strands are parallel edges.
    seed
        Seed of the lengths, which are Unif(0, 1) for each edge.

    Examples
    --------
    >>> import torelli as tt
    >>> tt.datasets.theta(3).genus
    2
    """
    _at_least("n_strands", n_strands, 1)
    _at_least("inner_nodes", inner_nodes, 0)
    inner = 2 + np.arange(n_strands * inner_nodes).reshape(n_strands, inner_nodes)
    stops = np.column_stack([np.zeros(n_strands, np.int64), inner, np.ones(n_strands, np.int64)])
    across = np.linspace(-1.0, 1.0, inner_nodes + 2)[1:-1]
    bow = np.linspace(-0.8, 0.8, n_strands) if n_strands > 1 else np.zeros(1)
    points = np.column_stack([np.tile(across, n_strands), np.outer(bow, 1.0 - across**2).ravel()])
    return _with_uniform_lengths(
        stops[:, :-1].ravel(),
        stops[:, 1:].ravel(),
        np.concatenate([[[-1.0, 0.0], [1.0, 0.0]], points]),
        np.random.default_rng(seed),
        name=f"theta({n_strands}, inner_nodes={inner_nodes}, seed={seed})",
    )


def necklace(n_beads: int, *, seed: int = 0) -> MetricGraph:
    """Return a ring of cycles, each linked to the next by one edge; its genus is n_beads + 1.

    Parameters
    ----------
    n_beads
        Number of cycles, at least 1; each has four nodes, two of them on the ring's thread.
    seed
        Seed of the lengths, which are Unif(0, 1).

    Examples
    --------
    >>> import torelli as tt
    >>> tt.datasets.necklace(4).genus
    5
    """
    _at_least("n_beads", n_beads, 1)
    first = 4 * np.arange(n_beads)
    # a bead is in, outer, out, inner; the thread leads from out to the next bead's in
    bead = first[:, None] + np.array([[0, 1, 2, 3]])
    turn = 2.0 * np.pi / n_beads
    angle = turn * (np.arange(n_beads)[:, None] + np.array([[-0.3, 0.0, 0.3, 0.0]]))
    size = min(0.45, 0.3 * turn)
    radius = 1.0 + size * np.array([[0.0, 1.0, 0.0, -1.0]])
    return _with_uniform_lengths(
        np.concatenate([bead.ravel(), bead[:, 2]]),
        np.concatenate([np.roll(bead, -1, axis=1).ravel(), np.roll(first, -1)]),
        np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1, 2),
        np.random.default_rng(seed),
        name=f"necklace({n_beads}, seed={seed})",
    )


def _at_least(option: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidOptionError(f"{option} must be an integer of {least} or more, got {quoted(value)}")


def _pair_at(index: NDArray[np.generic]) -> tuple[Integers, Integers]:
    """Return the pairs of nodes at least two apart at some places of their list (0,2), (0,3), (1,3), ...

    The second node is k + 2 for the places from k(k+1)/2 to (k+1)(k+2)/2 - 1.
    """
    place = index.astype(np.int64)
    k = ((np.sqrt(8.0 * place + 1.0) - 1.0) / 2.0).astype(np.int64)
    # the root may be rounded across a whole number
    k -= k * (k + 1) // 2 > place
    k += (k + 1) * (k + 2) // 2 <= place
    return place - k * (k + 1) // 2, k + 2


def _planar(points: Floats, ends: Integers, *, name: str) -> MetricGraph:
    length = straight_lengths(Plan(points, ends))
    return MetricGraph(ends[:, 0], ends[:, 1], length, len(points), name=name, coordinates=points)


def _with_uniform_lengths(
    tail: Integers, head: Integers, points: Floats, rng: np.random.Generator, *, name: str
) -> MetricGraph:
    # 1 - U: the generator may return 0 but never 1
    length = 1.0 - rng.random(len(tail))
    return MetricGraph(tail, head, length, len(points), name=name, coordinates=points)


def _merge_same_points(plan: Plan) -> Plan:
    """Merge the points that are the same up to rounding, and drop the edges between them."""
    from scipy.spatial import KDTree

    pairs = KDTree(plan.points).query_pairs(_SAME_POINT, output_type="ndarray").astype(np.int64)
    place = node_components(len(plan.points), pairs)
    _, first = np.unique(place, return_index=True)
    ends = np.sort(place[plan.ends], axis=1)
    return Plan(plan.points[first], np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0))


def _cactus_picture(roots: Integers, new_nodes: Integers) -> Floats:
    """Place the cycles on rings around the first node, each in a wedge as wide as what hangs on it."""
    n_cycles, n_new = new_nodes.shape
    parent = np.where(roots > 0, (roots - 1) // max(n_new, 1), -1)
    weight = np.ones(n_cycles)
    for cycle in range(n_cycles - 1, -1, -1):
        if parent[cycle] >= 0:
            weight[parent[cycle]] += weight[cycle]
    share = 2.0 * np.pi / n_cycles
    # in each wedge, cycles follow each other as their roots do; the last entry, at -1, is the first node's
    taken, offset = np.zeros(n_cycles + 1), np.zeros(n_cycles)
    for cycle in np.lexsort((roots, parent)):
        offset[cycle] = taken[parent[cycle]]
        taken[parent[cycle]] += share * weight[cycle]
    points = np.zeros((1 + n_cycles * n_new, 2))
    start, depth = np.zeros(n_cycles + 1), np.zeros(n_cycles + 1)
    for cycle in range(n_cycles):
        start[cycle] = start[parent[cycle]] + offset[cycle]
        depth[cycle] = depth[parent[cycle]] + 1.0
        middle = start[cycle] + share * weight[cycle] / 2.0
        centre = 2.0 * depth[cycle] * np.array([np.cos(middle), np.sin(middle)])
        inwards = np.arctan2(*(points[roots[cycle]] - centre)[::-1])
        angle = inwards + 2.0 * np.pi * np.arange(1, n_new + 1) / (n_new + 1)
        radius = min(0.8, 2.0 * depth[cycle] * np.sin(min(share * weight[cycle], np.pi) / 2.0))
        points[new_nodes[cycle]] = centre + radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return points
