"""The tables of the paper."""

from __future__ import annotations

import pytest

from torelli import InvalidOptionError
from torelli.datasets import paper_table
from torelli.datasets.paper import paper_table_names


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
