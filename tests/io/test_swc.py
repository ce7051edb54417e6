"""SWC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import torelli as tt

if TYPE_CHECKING:
    from pathlib import Path

NEURON = """# a neuron
1 1 0 0 0 2.0 -1
2 3 3 4 0 1.0 1
7 3 3 4 12 1.0 2   # a twig
4 3 -1 0 0 0.5 1
"""


def write(tmp_path, text) -> Path:
    file = tmp_path / "cell.swc"
    file.write_text(text)
    return file


def test_a_tree_with_straight_edges(tmp_path) -> None:
    """Each point but the root has an edge to its parent, as long as they are apart."""
    (graph,) = tt.read(write(tmp_path, NEURON), unit="um")
    assert sorted(graph.length.tolist()) == [1, 5, 12]
    assert (graph.genus, graph.n_components, graph.unit, graph.name) == (0, 1, "um", "cell")
    assert graph.node_ids == (1, 2, 7, 4)
    np.testing.assert_array_equal(graph.coordinates[2], [3, 4, 12])


def test_points_in_one_place_are_contracted(tmp_path) -> None:
    """A point at the place of its parent is contracted with a warning; two roots are two trees."""
    with pytest.warns(tt.DataWarning, match="1 points lie at the place of their parent"):
        (graph,) = tt.read(write(tmp_path, NEURON + "9 3 3 4 12 1 7\n10 1 50 50 50 1 -1\n"))
    assert (graph.n_nodes, graph.n_components) == (5, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("# nothing\n", "no point"),
        ("1 1 0 0 0\n", "line 1: 5 fields"),
        (NEURON + "1 1 9 9 9 1 -1\n", r"1 id \(1\) is more than once"),
        (NEURON + "8 1 9 9 9 1 99\n", r"1 parent \(99\)"),
        ("1 1 0 0 0 1 2\n2 1 1 0 0 1 1\n", "own ancestors"),
        ("1 1 0 0 0 1 1\n", "own ancestors"),
        ("1 1 x 0 0 1 -1\n", "not a number"),
        ("1 1 nan 0 0 1 -1\n", "not finite"),
        ("1.5 1 0 0 0 1 -1\n", "whole number"),
        ("1e300 1 0 0 0 1 -1\n", "whole number"),
    ],
)
def test_broken_swc(tmp_path, text, message) -> None:
    """What breaks the format is an error that names the file and the points."""
    with pytest.raises(tt.FormatError, match=rf"cell\.swc.*{message}"):
        tt.read(write(tmp_path, text))
