"""Plans of eliminations by fronts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli._numerics.front_tree import plan_fronts


@st.composite
def multigraphs(draw):
    """Draw the arrays of a multigraph of up to 300 nodes: mostly near ones are joined, some to hubs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 300))
    tail = rng.integers(n, size=draw(st.integers(0, 3 * n)))
    head = np.clip(tail + rng.integers(-9, 10, size=len(tail)), 0, n - 1)
    if draw(st.booleans()):
        head[::3] = rng.integers(min(n, 3), size=len(head[::3]))
    return tail, head, n


def borders(plan):
    """Return the positions of the nodes of each border, from the last front to the first."""
    found = {}
    for front in range(len(plan.parent) - 1, -1, -1):
        into = plan.into[plan.border_first[front] : plan.border_first[front + 1]]
        up = plan.parent[front]
        if up < 0:
            found[front] = np.empty(0, dtype=int)
        else:
            pivots = np.arange(plan.first[up], plan.first[up + 1])
            found[front] = np.append(pivots, found[up])[into]
    return found


@given(multigraphs())
def test_fronts_are_a_postordered_forest(graph):
    """Parents come after their subtrees, which have no gaps, and `eldest` is the first child."""
    plan, _ = plan_fronts(*graph)
    n_fronts = len(plan.parent)
    assert plan.first[0] == 0
    assert plan.first[-1] == graph[2]
    assert (np.diff(plan.first) > 0).all()
    lowest = np.arange(n_fronts)
    eldest = np.full(n_fronts, -1)
    for front in range(n_fronts):
        up = plan.parent[front]
        if up >= 0:
            assert up > front
            lowest[up] = min(lowest[up], lowest[front])
            eldest[up] = front if eldest[up] < 0 else eldest[up]
    np.testing.assert_array_equal(plan.eldest, eldest)
    size = np.ones(n_fronts, dtype=int)
    for front in range(n_fronts):
        assert front - lowest[front] + 1 == size[front]
        if plan.parent[front] >= 0:
            size[plan.parent[front]] += size[front]


@given(multigraphs())
def test_borders_lie_within_parents_and_increase(graph):
    """A border has increasing positions after the pivots, its first node among the parent's pivots."""
    plan, _ = plan_fronts(*graph)
    for front, border in borders(plan).items():
        assert (np.diff(border) > 0).all()
        if len(border):
            assert border[0] >= plan.first[front + 1]
        else:
            assert plan.parent[front] < 0
    widths = np.diff(plan.first) + np.diff(plan.border_first)
    np.testing.assert_array_equal(np.diff(plan.panel_first), np.diff(plan.first) * widths)


@given(multigraphs())
def test_edges_have_entries_between_their_ends(graph):
    """Entries of edges stand for pairs of positions that belong to the same graph, renumbered."""
    tail, head, n_nodes = graph
    plan, _ = plan_fronts(*graph)
    found = borders(plan)
    assert ((plan.entry < 0) == (tail == head)).all()
    pairs = np.empty((len(tail), 2), dtype=int)
    for edge in np.flatnonzero(tail != head):
        front = int(np.searchsorted(plan.panel_first, plan.entry[edge], side="right")) - 1
        members = np.append(np.arange(plan.first[front], plan.first[front + 1]), found[front])
        row, column = divmod(plan.entry[edge] - plan.panel_first[front], len(members))
        pairs[edge] = members[row], members[column]
        assert row < column
    # each node has one position: the ends of all its edges have it in common
    proper = tail != head
    for node in range(n_nodes):
        at_node = pairs[proper & ((tail == node) | (head == node))]
        if len(at_node):
            common = set(at_node[0].tolist()).intersection(*(set(pair.tolist()) for pair in at_node))
            assert common
    degrees = np.bincount(np.append(tail[proper], head[proper]), minlength=n_nodes)
    np.testing.assert_array_equal(
        np.sort(np.bincount(pairs[proper].ravel(), minlength=n_nodes)), np.sort(degrees)
    )


@given(multigraphs())
def test_the_stack_is_as_large_as_needed(graph):
    """The entries of the stack are the most that are used on the way back, and suffice on the way there."""
    plan, n_stack = plan_fronts(*graph)
    n_border = np.diff(plan.border_first)
    widths = np.diff(plan.first) + n_border
    top = most = 0
    for front in range(len(plan.parent) - 1, -1, -1):
        most = max(most, top + widths[front] ** 2)
        up = plan.parent[front]
        top += widths[front] ** 2 if plan.eldest[front] >= 0 else 0
        top -= widths[up] ** 2 if up >= 0 and plan.eldest[up] == front else 0
    assert (top, most) == (0, n_stack)
    top = most = 0
    for front, up in enumerate(plan.parent):
        top += n_border[front] ** 2 if plan.eldest[front] < 0 else 0
        begun = up >= 0 and plan.eldest[up] == front
        most = max(most, top + (n_border[up] ** 2 if begun else 0))
        top += (n_border[up] ** 2 if begun else 0) - n_border[front] ** 2
    assert top == 0
    assert most <= n_stack


@pytest.mark.parametrize("kind", ["city", "path"])
def test_small_fronts_are_merged(kind):
    """Fronts of sparse networks have several pivots on average, at little cost in entries."""
    tail = np.arange(1999)
    head = tail + 1
    if kind == "city":
        city = tt.datasets.voronoi(1000, seed=0)
        tail, head = city.tail.copy(), city.head.copy()
    n_nodes = int(max(tail.max(), head.max())) + 1
    plan, n_stack = plan_fronts(tail, head, n_nodes)
    assert n_nodes / len(plan.parent) > 3
    assert plan.panel_first[-1] + n_stack < 40 * n_nodes
