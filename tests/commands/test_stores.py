"""Options that the commands with stores share."""

from __future__ import annotations

import argparse

import pytest

from torelli.commands._stores import add_graph_arguments, add_store_arguments, byte_count, store_options


@pytest.mark.parametrize(
    ("text", "count"),
    [("4GB", 4 * 10**9), ("500 mb", 5 * 10**8), ("8e9", 8 * 10**9), ("1.5TB", 15 * 10**11), ("7", 7)],
)
def test_bytes_are_read_as_people_write_them(text, count):
    """Units of bytes and powers of ten are understood."""
    assert byte_count(text) == count


@pytest.mark.parametrize("text", ["much", "4 XB", "-3", ""])
def test_what_is_no_number_of_bytes_is_refused(text):
    """Other text is an error that shows it."""
    with pytest.raises(argparse.ArgumentTypeError, match="not a number of bytes"):
        byte_count(text)


def test_a_cluster_is_an_address_or_a_number():
    """--dask takes the address of a scheduler, or a number of processes."""
    parser = argparse.ArgumentParser()
    add_graph_arguments(parser)
    add_store_arguments(parser, (".zarr",))
    for text, dask in (("tcp://node1:8786", "tcp://node1:8786"), ("4", 4)):
        arguments = parser.parse_args(["a.jsonl", "-o", "f.zarr", "--dask", text, "--memory", "2GB"])
        options = store_options(arguments)
        assert options["dask"] == dask
        assert options["memory"] == 2 * 10**9
