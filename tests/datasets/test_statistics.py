"""The figures of the paper's table of data sets, and the paper's tables themselves."""

from __future__ import annotations

import math

import pytest

from torelli import InvalidOptionError, MetricGraph
from torelli.datasets import paper_table, set_statistics, sparsity_class
from torelli.datasets.paper import paper_table_names


def test_means_leave_isolated_nodes_out_and_deviations_are_of_the_population() -> None:
    """Two graphs by hand: a triangle with an isolated node, and an edge."""
    triangle = MetricGraph([0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.0], 4)
    edge = MetricGraph([0], [1], [1.0])
    found = set_statistics([triangle, edge])
    assert (found.nodes, found.nodes_std) == (2.5, 0.5)
    assert (found.edges, found.edges_std) == (2.0, 1.0)
    assert (found.genus, found.genus_std) == (0.5, 0.5)
    assert found.n_isolated == 1
    assert found.matrix_bytes == 8
    assert found.log_ratio == pytest.approx(math.log(0.2))


@pytest.mark.parametrize(
    ("genus", "n_nodes", "expected"),
    [(0, 0, "S"), (0, 5, "S"), (9.9, 10, "S"), (10, 10, "SS"), (27.1, 10, "SS"), (27.2, 10, "D")],
)
def test_sparsity_classes_have_the_bounds_of_the_paper(genus, n_nodes, expected) -> None:
    """Sparse below log(g/n) = 0, semi-sparse below 1, dense from there; trees are sparse."""
    assert sparsity_class(genus, n_nodes) == expected


def test_every_table_of_the_paper_can_be_read() -> None:
    """All tables are there, with as many values in each row as their header has names."""
    assert len(paper_table_names()) == 9
    for name in paper_table_names():
        rows = paper_table(name)
        assert rows
        assert all(None not in row and None not in row.values() for row in rows)


def test_data_sets_have_one_name_in_all_tables() -> None:
    """FRANKEN-STEIN of the printed tables is FRANKENSTEIN."""
    tables = ("dataset_statistics", "accuracy", "fit_seconds", "transform_seconds")
    names = [{row["dataset"] for row in paper_table(table)} for table in tables]
    assert all(name == names[0] for name in names)
    assert "FRANKENSTEIN" in names[0]


def test_a_table_that_is_not_in_the_paper_is_an_error() -> None:
    """The error lists the tables."""
    with pytest.raises(InvalidOptionError, match="unknown table 'runtime': use one of 'accuracy'"):
        paper_table("runtime")
