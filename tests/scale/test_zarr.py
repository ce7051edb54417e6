"""Chunks and metadata in the format of Zarr."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import torelli as tt
from torelli.scale import _zarr

numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=numbers))
def test_a_chunk_is_decoded_to_the_same_bits(block):
    """Encoding and decoding keeps every bit, also of NaN and of zeros."""
    for dtype in ("float32", "float64"):
        values = block.astype(dtype)
        decoded = _zarr.decode(_zarr.encode(values), values.shape, dtype)
        assert decoded.tobytes() == values.tobytes()


def test_a_chunk_of_another_size_is_refused():
    """A chunk of too few bytes is no array."""
    with pytest.raises(tt.FormatError, match="bytes instead of"):
        _zarr.decode(_zarr.encode(np.zeros((2, 2))), (3, 2), "float64")


def test_zarr_reads_what_is_encoded(tmp_path):
    """Metadata and chunks are an array and an array of text for zarr itself."""
    values = np.arange(12.0).reshape(4, 3)
    (tmp_path / "x/c/0").mkdir(parents=True)
    (tmp_path / "x/c/1").mkdir(parents=True)
    (tmp_path / "zarr.json").write_bytes(_zarr.group())
    (tmp_path / "x/zarr.json").write_bytes(_zarr.array((4, 3), (2, 3), "float64", {"unit": "m"}))
    for row in (0, 1):
        (tmp_path / f"x/c/{row}/0").write_bytes(_zarr.encode(values[2 * row : 2 * row + 2]))
    names = ["ü", "", "graph 7"]
    for path, content in _zarr.strings(names).items():
        (tmp_path / "id" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "id" / path).write_bytes(content)
    group = zarr.open_group(tmp_path, mode="r")
    assert np.array_equal(group["x"][:], values)
    assert group["x"].attrs["unit"] == "m"
    assert group["id"][:].tolist() == names
