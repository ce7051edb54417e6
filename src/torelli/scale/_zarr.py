"""Arrays in the format Zarr 3, as zarr itself encodes them: plain numbers and a checksum for each chunk.

Chunks are not compressed: features and kernel values hardly shrink, and the bytes of a compressor may change
with its version.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import FormatError
from torelli.io.files import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_CHECKSUM_BYTES = 4
_STRINGS = 2**16  # rows in a chunk of names
_encoding = Lock()


def group() -> bytes:
    """Return the metadata of a group."""
    zarr = require("zarr", "scale", "a store")
    memory: dict[str, Any] = {}
    zarr.create_group(zarr.storage.MemoryStore(memory), zarr_format=3)
    return bytes(memory["zarr.json"].to_bytes())


def array(shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str, attributes: dict[str, Any]) -> bytes:
    """Return the metadata of an array of numbers; those that are missing are NaN."""
    return bytes(_numbers(shape, chunks, dtype, attributes)[0]["zarr.json"].to_bytes())


def encode(block: NDArray[Any]) -> bytes:
    """Return the content of the file of one chunk."""
    with _encoding:
        memory, chunk = _chunk(block.shape, str(block.dtype))
        chunk[...] = block
        return bytes(memory["/".join(["c", *"0" * block.ndim])].to_bytes())


def decode(content: bytes, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Return the numbers of a chunk, whose checksum the journal has settled; the array is read-only."""
    numbers = np.dtype(dtype).newbyteorder("<")
    size = numbers.itemsize * int(np.prod(shape)) + _CHECKSUM_BYTES
    if len(content) != size:
        raise FormatError(f"a chunk has {len(content):,} bytes instead of {size:,}")
    return np.frombuffer(content, numbers, count=int(np.prod(shape))).reshape(shape)


def strings(values: Sequence[str]) -> dict[str, bytes]:
    """Return the files of an array of text by their paths."""
    zarr = require("zarr", "scale", "a store")
    memory: dict[str, Any] = {}
    names = zarr.create_array(
        zarr.storage.MemoryStore(memory),
        shape=(len(values),),
        chunks=(min(_STRINGS, max(len(values), 1)),),
        dtype=str,
        compressors=[zarr.codecs.Crc32cCodec()],
        config={"write_empty_chunks": True},
    )
    names[...] = np.array(values, dtype=object)
    return {path: bytes(content.to_bytes()) for path, content in sorted(memory.items())}


def _numbers(
    shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str, attributes: dict[str, Any] | None = None
) -> tuple[dict[str, Any], Any]:
    zarr = require("zarr", "scale", "a store")
    memory: dict[str, Any] = {}
    numbers = zarr.create_array(
        zarr.storage.MemoryStore(memory),
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        fill_value=float("nan"),
        compressors=[zarr.codecs.Crc32cCodec()],
        attributes=attributes,
        config={"write_empty_chunks": True},
    )
    return memory, numbers


@lru_cache(maxsize=8)
def _chunk(shape: tuple[int, ...], dtype: str) -> tuple[dict[str, Any], Any]:
    return _numbers(shape, shape, dtype)
