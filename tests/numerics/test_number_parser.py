"""Tables of numbers from text."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torelli import FormatError
from torelli._numerics.number_parser import float_table, integer_table

integers = st.integers(-(10**18) + 1, 10**18 - 1)


@settings(deadline=None)
@given(
    st.lists(st.tuples(integers, integers), max_size=20),
    st.sampled_from([",", ", ", " ", "\t", " , "]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n", "\r\n \n"]),
)
def test_integers_round_trip(rows, separator, newline, end) -> None:
    """Every table of integers is read back, whatever separates and ends its lines."""
    text = newline.join(f"{a}{separator}{b}" for a, b in rows) + end
    table = integer_table(text.encode(), 2, "file")
    assert table.tolist() == [list(row) for row in rows]


@settings(deadline=None)
@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=30), st.integers(1, 3))
def test_floats_round_trip_exactly(values, n_columns) -> None:
    """Every float that repr prints is read back bit for bit."""
    rows = [values[at : at + n_columns] for at in range(0, len(values) // n_columns * n_columns, n_columns)]
    text = "\n".join(", ".join(map(repr, row)) for row in rows)
    table = float_table(text.encode(), "file")
    assert table.ravel().tolist() == [value for row in rows for value in row]


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_a_table_or_a_format_error(text) -> None:
    """No input makes a parser fail in any way but a FormatError."""
    for parse in (lambda: integer_table(text, 2, "file"), lambda: float_table(text, "file")):
        with suppress(FormatError):
            assert parse().ndim == 2


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (b"1, 2\n3, x\n", 2, "not an integer"),
        (b"1, 2\n3, 4.5\n", 2, "not an integer"),
        (b"1, 2\n3\n", 2, "does not have 2 numbers"),
        (b"1, 2\n3, 4\n5, 6, 7", 3, "does not have 2 numbers"),
        (b"1, 2\n\n3, 4\n", 2, "empty line"),
        (b"1, 9999999999999999999\n", 1, "not an integer"),
        (b"1, -\n", 1, "not an integer"),
        (b"1, 2\n3-4 5\n", 2, "not an integer"),
        ("1, 2\n".encode("utf-16"), 1, "not an integer"),
        (b"\x00\x00", 1, "not an integer"),
    ],
)
def test_a_wrong_line_is_named(text, line, problem) -> None:
    """The error has the file, the number of the line and what is wrong with it."""
    with pytest.raises(FormatError, match=rf"^DS_A\.txt, line {line}: .*{problem}"):
        integer_table(text, 2, "DS_A.txt")


@pytest.mark.parametrize(
    ("text", "line"), [(b"1.5\nabc\n", 2), (b"1.5, 2\n1\n", 2), (b"1.5\n\n2\n", 2), (b"1_0\n", 1)]
)
def test_a_wrong_line_of_floats_is_named(text, line) -> None:
    """Float tables name the line too; digits with underscores are no number in a data file."""
    with pytest.raises(FormatError, match=f"line {line}:"):
        float_table(text, "file")


def test_plus_signs_and_a_missing_last_newline_are_read() -> None:
    """The TU site writes labels as +1 and -1."""
    assert integer_table(b"+1\n-1", 1, "file").tolist() == [[1], [-1]]
    assert integer_table(b"", 1, "file").shape == (0, 1)
    assert float_table(b"\n", "file").size == 0


def test_the_table_is_int64() -> None:
    """Node numbers are int64 on every platform."""
    assert integer_table(b"1\n", 1, "file").dtype == np.int64


def test_empty_lines_do_not_ask_for_memory() -> None:
    """Ten million empty lines are an empty table in little more than the memory of the text."""
    text = b"\n" * 10_000_000
    tracemalloc.start()
    try:
        assert integer_table(text, 2, "file").shape == (0, 2)
        assert tracemalloc.get_traced_memory()[1] < 60e6
    finally:
        tracemalloc.stop()
