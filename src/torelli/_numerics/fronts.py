"""Resistances along the edges of large networks, by eliminating groups of nodes in dense fronts.

The formulas are those of `torelli._numerics.resistance`: conductances are only added, multiplied and
divided, so resistances of all magnitudes keep their digits. Here the nodes of a front are eliminated
together, and almost all work is in products of dense matrices that fit into the cache (the multifrontal
method of Duff and Reid, 1983). The products are sums of positive terms, computed here rather than by BLAS.
So the result does not depend on a library or on its number of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from torelli import _memory
from torelli._numerics.compile import compiled, compiled_with_fma
from torelli._numerics.forest import floats, room
from torelli._numerics.front_tree import plan_fronts

if TYPE_CHECKING:
    from torelli._numerics.front_tree import Plan
    from torelli._numerics.ordering import Nodes
    from torelli._types import Floats, Ints

_PIVOTS = 32  # pivots eliminated before their products are added to all other rows
_SIDE = 4  # rows and terms that are multiplied at once
_DEPTH = 64  # terms of a tile
_WIDTH = 64  # columns of a tile
_1, _2, _3, _4 = (np.uint64(i) for i in range(1, 5))
_ROW = np.uint64(_WIDTH)


class Tile(NamedTuple):
    """Room for a part of a product of matrices that fits into the cache.

    Attributes
    ----------
    terms
        Rows that are added up, `_WIDTH` apart.
    factors
        Their factors for four rows of the product, those of each term together.
    sums
        Four rows of the product, `_WIDTH` apart.
    """

    terms: Floats
    factors: Floats
    sums: Floats


def front_resistances(tail: Ints, head: Ints, length: Floats, n_nodes: int) -> Floats:
    """Return the same as `torelli._numerics.resistance.resistances`, for large multigraphs.

    Parameters
    ----------
    tail, head, length, n_nodes
        The multigraph. It may have loops, parallel edges and several components.

    Examples
    --------
    >>> ends = np.array([0, 0, 0, 1]), np.array([1, 1, 0, 2])
    >>> front_resistances(*ends, np.array([1.0, 3.0, 2.0, 1.0]), 3).round(12).tolist()
    [0.75, 0.75, 0.0, 1.0]
    """
    plan, n_stack = plan_fronts(tail, head, n_nodes)
    n_panels = int(plan.panel_first[-1])
    widest = int((np.diff(plan.first) + np.diff(plan.border_first)).max(initial=0))
    what = f"the resistances of a network whose elimination leaves {widest:,} nodes joined to each other"
    _memory.require(8 * (n_panels + int(n_stack)), what, "take a sparser network")
    return resistances_along(length, plan, np.zeros(n_panels), np.empty(n_stack))


@compiled
def resistances_along(length: Floats, plan: Plan, panels: Floats, stack: Floats) -> Floats:
    """Return the resistance between the ends of each edge.

    `panels` has zeros for all panels of the plan, `stack` has room.
    """
    for edge in range(len(length)):
        if plan.entry[edge] >= 0:
            panels[plan.entry[edge]] += 1.0 / length[edge]
    resistance = floats(plan.first[len(plan.parent)])
    tile = Tile(room(_DEPTH * _WIDTH), room(_DEPTH * _SIDE), room(_SIDE * _WIDTH))
    eliminate_fronts(plan, panels, resistance, stack, tile)
    substitute_back(plan, panels, resistance, stack, tile)
    between = np.empty(len(length), np.float64)
    for edge in range(len(length)):
        between[edge] = panels[plan.entry[edge]] if plan.entry[edge] >= 0 else 0.0
    return between


@compiled
def eliminate_fronts(plan: Plan, panels: Floats, resistance: Floats, stack: Floats, tile: Tile) -> None:
    """Eliminate all nodes: conductances in the panels become shares, `resistance` that of each star.

    The stack has a matrix for each front that has been begun: the conductances between the nodes of its
    border, right of the diagonal. Each front adds its own to the panel and the matrix of its parent.
    """
    top = 0  # end of the stack
    for front in range(len(plan.parent)):
        first, n_pivots = plan.first[front], plan.first[front + 1] - plan.first[front]
        begin = plan.border_first[front]
        n_border = plan.border_first[front + 1] - begin
        if plan.eldest[front] < 0:
            _clear(stack, top, n_border * n_border)
            top += n_border * n_border
        own = top - n_border * n_border
        _eliminate_pivots(
            panels, plan.panel_first[front], n_pivots, n_pivots + n_border, resistance[first:],
            stack[own:top], tile,
        )  # fmt: skip
        up = plan.parent[front]
        if up < 0:
            continue  # its border is empty
        up_pivots = plan.first[up + 1] - plan.first[up]
        up_border = plan.border_first[up + 1] - plan.border_first[up]
        square = up_border * up_border
        eldest = plan.eldest[up] == front
        if eldest:  # the first child begins its parent
            target = top
            _clear(stack, target, square)
        else:
            target = own - square
        _add_to_parent(
            stack, own, plan.into[begin : begin + n_border], panels, plan.panel_first[up], up_pivots,
            target, up_border,
        )  # fmt: skip
        top = own
        if eldest:
            _move_down(stack, target, own, square)
            top = own + square


@compiled_with_fma
def _eliminate_pivots(
    panels: Floats,
    panel: int,
    n_pivots: int,
    width: int,
    resistance: Floats,
    mesh: Floats,
    tile: Tile,
) -> None:
    """Eliminate the pivots of a front; add the mesh that replaces them to that between its border."""
    for begin in range(0, n_pivots, _PIVOTS):
        end = min(begin + _PIVOTS, n_pivots)
        for pivot in range(begin, end):
            row = panels[panel + pivot * width : panel + (pivot + 1) * width]
            total = 0.0
            for column in range(pivot + 1, width):
                total += row[column]
            # the last node of a component has no conductance left
            resistance[pivot] = 1.0 / total if total > 0.0 else 0.0
            for other in range(pivot + 1, end):
                weight = row[other] * resistance[pivot]
                start = panel + other * width
                if weight > 0.0:
                    _add_row(panels[start + other + 1 : start + width], weight, row[other + 1 :])
        corner = panel + begin * width + end
        add_products(
            panels, panel + end * width + end, width, n_pivots - end,
            panels, corner, 1, width, panels, corner, width, resistance[begin:end],
            end - begin, width - end, upper=True, tile=tile,
        )  # fmt: skip
    n_border = width - n_pivots
    corner = panel + n_pivots
    add_products(
        mesh, 0, n_border, n_border,
        panels, corner, 1, width, panels, corner, width, resistance,
        n_pivots, n_border, upper=True, tile=tile,
    )  # fmt: skip
    for pivot in range(n_pivots):
        row = panels[panel + pivot * width : panel + (pivot + 1) * width]
        for column in range(width):
            row[column] *= resistance[pivot]


@compiled
def _add_to_parent(
    stack: Floats,
    own: int,
    into: Nodes,
    panels: Floats,
    panel: int,
    n_pivots: int,
    target: int,
    n_border: int,
) -> None:
    """Add the conductances between the nodes of a border to the panel and the matrix of the parent."""
    size, width = len(into), n_pivots + n_border
    for i in range(size):
        row = stack[own + i * size : own + (i + 1) * size]
        place = into[i]
        if place < n_pivots:
            start = panel + place * width
            for j in range(i + 1, size):
                panels[start + into[j]] += row[j]
        else:
            start = target + (place - n_pivots) * n_border - n_pivots
            for j in range(i + 1, size):
                stack[start + into[j]] += row[j]


@compiled
def substitute_back(plan: Plan, panels: Floats, resistance: Floats, stack: Floats, tile: Tile) -> None:
    """Replace the shares in the panels by resistances, from the last front to the first.

    The stack has the resistances between all nodes of each front whose children have not all been visited.
    """
    top = 0
    for front in range(len(plan.parent) - 1, -1, -1):
        first, n_pivots = plan.first[front], plan.first[front + 1] - plan.first[front]
        begin = plan.border_first[front]
        n_border = plan.border_first[front + 1] - begin
        width = n_pivots + n_border
        between = stack[top : top + width * width]
        up = plan.parent[front]
        above = 0
        if up >= 0:
            up_width = plan.first[up + 1] - plan.first[up]
            up_width += plan.border_first[up + 1] - plan.border_first[up]
            above = up_width * up_width
            _take_from_parent(
                stack[top - above : top], up_width, plan.into[begin : begin + n_border], between, n_pivots
            )
        panel = panels[plan.panel_first[front] : plan.panel_first[front + 1]]
        _find_resistances(panel, n_pivots, width, resistance[first:], between, tile)
        for i in range(n_pivots * width):
            panel[i] = between[i]
        if plan.eldest[front] >= 0:
            top += width * width
        if up >= 0 and plan.eldest[up] == front:
            # the first child is the last to be visited
            if plan.eldest[front] >= 0:
                _move_down(stack, top - width * width, top - width * width - above, width * width)
            top -= above


@compiled
def _take_from_parent(above: Floats, up_width: int, into: Nodes, between: Floats, n_pivots: int) -> None:
    """Copy the resistances between the nodes of a border from those between the nodes of the parent."""
    size = len(into)
    width = n_pivots + size
    for i in range(size):
        start = (n_pivots + i) * width + n_pivots
        target = between[start : start + size]
        source = above[into[i] * up_width : (into[i] + 1) * up_width]
        for j in range(size):
            target[j] = source[into[j]]


@compiled_with_fma
def _find_resistances(
    share: Floats,
    n_pivots: int,
    width: int,
    resistance: Floats,
    between: Floats,
    tile: Tile,
) -> None:
    """Write the resistances between the pivots of a front, and from them to its border.

    Those between the nodes of the border are given. The formula is that of
    `torelli._numerics.resistance._resistances`.
    """
    end = n_pivots
    while end > 0:
        begin = max(0, end - _PIVOTS)
        for pivot in range(begin, end):
            _clear(between, pivot * width, width)
        add_products(
            between, begin * width + end, width, end - begin,
            share, begin * width + end, width, 1, between, end * width + end, width, resistance[:0],
            width - end, width - end, upper=False, tile=tile,
        )  # fmt: skip
        for pivot in range(end - 1, begin - 1, -1):
            part = share[pivot * width : (pivot + 1) * width]
            mean = between[pivot * width : (pivot + 1) * width]
            for other in range(pivot + 1, end):
                row = between[other * width : (other + 1) * width]
                _add_row(mean[pivot + 1 :], part[other], row[pivot + 1 :])
                total = 0.0
                for column in range(end, width):
                    total += part[column] * row[column]
                mean[other] += total
            overall = 0.0
            for column in range(pivot + 1, width):
                overall += part[column] * mean[column]
            for column in range(pivot + 1, width):
                mean[column] = resistance[pivot] + (mean[column] - 0.5 * overall)
            for other in range(pivot + 1, end):
                between[other * width + pivot] = mean[other]
        for column in range(end, width):
            for pivot in range(begin, end):
                between[column * width + pivot] = between[pivot * width + column]
        end = begin


@compiled_with_fma
def add_products(
    out: Floats,
    out_first: int,
    out_row: int,
    n_rows: int,
    left: Floats,
    left_first: int,
    left_row: int,
    left_term: int,
    right: Floats,
    right_first: int,
    right_row: int,
    scale: Floats,
    n_terms: int,
    width: int,
    upper: bool,
    tile: Tile,
) -> None:
    """Add to each row i of a matrix the sum over k of left[i, k] * scale[k] * right[k].

    Parameters
    ----------
    out, out_first, out_row, n_rows, width
        The matrix: an array, its first entry, the distance between rows, and the numbers of rows and
        columns.
    left, left_first, left_row, left_term
        The factors: an array, its first entry, and the distances between rows and between terms.
    right, right_first, right_row
        The rows that are added up: an array, its first entry, and the distance between rows.
    scale
        A factor of each term; empty for 1.
    n_terms
        Number of terms k.
    upper
        Only the entries right of the diagonal and on it matter, and others may be left out.
    tile
        Room for parts of the matrices.
    """
    terms, factors, sums = tile
    for low in range(0, width, _WIDTH):
        n_columns = min(_WIDTH, width - low)
        padded = (n_columns + _SIDE - 1) // _SIDE * _SIDE
        last = min(n_rows, low + n_columns) if upper else n_rows
        for term in range(0, n_terms, _DEPTH):
            depth = min(_DEPTH, n_terms - term)
            _copy_tile(right, right_first + term * right_row + low, right_row, depth, n_columns, terms)
            if len(scale) > 0:
                for k in range(depth):
                    for column in range(n_columns):
                        terms[k * _WIDTH + column] *= scale[term + k]
            for row in range(0, last, _SIDE):
                skip = max(0, row - low) if upper else 0
                skip -= skip % _SIDE
                count = min(_SIDE, n_rows - row)
                for i in range(_SIDE):
                    for column in range(skip, padded):
                        sums[i * _WIDTH + column] = 0.0
                _copy_factors(
                    left, left_first + row * left_row + term * left_term, left_row, left_term,
                    count, depth, factors,
                )  # fmt: skip
                for k in range(0, depth, _SIDE):
                    _add_four(tile, k, skip, padded)
                for i in range(count):
                    start = out_first + (row + i) * out_row + low
                    target, source = out[start : start + n_columns], sums[i * _WIDTH : (i + 1) * _WIDTH]
                    for column in range(skip, n_columns):
                        target[column] += source[column]


@compiled_with_fma
def _copy_tile(right: Floats, first: int, row: int, depth: int, n_columns: int, terms: Floats) -> None:
    """Copy a part of a matrix, with zeros up to a multiple of four rows and columns."""
    padded = (n_columns + _SIDE - 1) // _SIDE * _SIDE
    for k in range((depth + _SIDE - 1) // _SIDE * _SIDE):
        target = terms[k * _WIDTH : (k + 1) * _WIDTH]
        if k < depth:
            source = right[first + k * row : first + k * row + n_columns]
            for column in range(n_columns):
                target[column] = source[column]
            for column in range(n_columns, padded):
                target[column] = 0.0
        else:
            for column in range(padded):
                target[column] = 0.0


@compiled_with_fma
def _copy_factors(
    left: Floats, first: int, left_row: int, left_term: int, n_rows: int, depth: int, factors: Floats
) -> None:
    """Copy the factors of four rows, those of each term together, with zeros up to four rows and terms."""
    for k in range((depth + _SIDE - 1) // _SIDE * _SIDE):
        for i in range(_SIDE):
            inside = i < n_rows and k < depth
            factors[k * _SIDE + i] = left[first + i * left_row + k * left_term] if inside else 0.0


@compiled_with_fma
def _add_four(tile: Tile, term: int, skip: int, end: int) -> None:
    """Add four terms to four rows of sums, from column `skip` to `end`."""
    terms, factors, sums = tile
    f = np.uint64(4 * term)
    a0, b0, c0, d0 = factors[f], factors[f + _1], factors[f + _2], factors[f + _3]
    f += _4
    a1, b1, c1, d1 = factors[f], factors[f + _1], factors[f + _2], factors[f + _3]
    f += _4
    a2, b2, c2, d2 = factors[f], factors[f + _1], factors[f + _2], factors[f + _3]
    f += _4
    a3, b3, c3, d3 = factors[f], factors[f + _1], factors[f + _2], factors[f + _3]
    # unsigned indices and constant distances let the compiler use vector instructions
    start = np.uint64(term) * _ROW
    for column in range(np.uint64(skip), np.uint64(end)):
        s = start + column
        r0, r1, r2, r3 = terms[s], terms[s + _ROW], terms[s + _2 * _ROW], terms[s + _3 * _ROW]
        sums[column] += a0 * r0 + a1 * r1 + a2 * r2 + a3 * r3
        sums[column + _ROW] += b0 * r0 + b1 * r1 + b2 * r2 + b3 * r3
        sums[column + _2 * _ROW] += c0 * r0 + c1 * r1 + c2 * r2 + c3 * r3
        sums[column + _3 * _ROW] += d0 * r0 + d1 * r1 + d2 * r2 + d3 * r3


@compiled_with_fma
def _add_row(target: Floats, weight: float, source: Floats) -> None:
    for i in range(len(target)):
        target[i] += weight * source[i]


@compiled
def _clear(values: Floats, start: int, count: int) -> None:
    for i in range(start, start + count):
        values[i] = 0.0


@compiled
def _move_down(values: Floats, source: int, target: int, count: int) -> None:
    """Copy a part of an array to an earlier place, which may overlap with it."""
    for i in range(count):
        values[target + i] = values[source + i]
