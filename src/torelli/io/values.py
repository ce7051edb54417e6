"""Values on edges that a file states beside their lengths: which are kept, and as which arrays."""

from __future__ import annotations

import re
from math import isfinite, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import InvalidOptionError, listed, quoted
from torelli._validate import is_missing
from torelli.io.edges import LENGTH, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from torelli._types import GraphLike

    Column = Sequence[Any] | NDArray[Any]

GEOMETRY = "geometry"
"""The course of an edge as text, which may be longer than all the rest: kept only if it is named."""

TRUTH = {"true": True, "false": False, "1": True, "0": False}
TEXT, NUMBER, TRUTH_VALUE = "text", "number", "truth value"
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DIGITS = re.compile(r"[+-]?\d+")
_NAN = "nan"
_INTEGERS, _FLOATS = (np.int32, np.int64, np.uint8), (np.float32, np.float64)
_LARGEST = 2**63
_PER_CHARACTER, _SMALL = 100, 2**20  # bytes of an array of texts for each character, and in any case
_WIDE = 4  # bytes of a character in an array


def check_values(values: object) -> bool | tuple[str, ...]:
    """Return which values to keep: all, none, or those of some names."""
    if isinstance(values, bool):
        return values
    if not isinstance(values, str) and hasattr(values, "__iter__"):
        names = tuple(values)
        if all(isinstance(name, str) for name in names):
            return names
    raise InvalidOptionError(
        f"values is {quoted(values)}: use True, False, or a list of names such as ['diameter']"
    )


class EdgeValues:
    """Which values on edges are kept of one graph, and the arrays that they become.

    Parameters
    ----------
    wanted
        True for all but the geometry, False for none, or the names to keep.
    length
        Name of the attribute with the lengths, which is not kept as a value.
    take
        Counts bytes of memory before they are used.
    file
        Name of the file, for messages.
    """

    def __init__(
        self,
        *,
        wanted: bool | tuple[str, ...],
        length: object = LENGTH,
        take: Callable[[int], None] = lambda _: None,
        file: str | None = None,
    ) -> None:
        self.wanted = wanted
        self.length = length
        self.take = take
        self.file = file

    def keeps(self, name: str) -> bool:
        """Whether values of a name are kept."""
        if name == self.length:
            return False
        if isinstance(self.wanted, bool):
            return self.wanted and name != GEOMETRY
        return name in self.wanted

    def arrays(
        self, columns: Mapping[str, Column], kinds: Mapping[str, str] | None = None
    ) -> dict[str, NDArray[Any]]:
        """Return arrays of values; a missing one is NaN in a column of numbers, and an empty text.

        Parameters
        ----------
        columns
            For each name, the value of every edge; None for an edge without one.
        kinds
            The type that the file declares for each name; by default, it is inferred from the values.
        """
        kinds = kinds or {}
        arrays: dict[str, NDArray[Any]] = {}
        too_long: list[str] = []
        for name, values in columns.items():
            if not self.keeps(name):
                continue
            column = _numbers(values, kinds.get(name))
            if column is None:
                texts = ["" if is_missing(value) else str(value) for value in values]
                n_characters, width = sum(map(len, texts)), max(map(len, texts), default=0)
                n_bytes = _WIDE * len(texts) * width
                if not width:
                    continue
                if self.wanted is True and n_bytes > _PER_CHARACTER * (n_characters + len(texts)) + _SMALL:
                    too_long.append(name)
                    continue
                self.take(n_bytes)
                column = np.array(texts, dtype=np.str_)
            arrays[free_name(name, arrays)] = column
        if too_long:
            warn(
                f"values on edges are left out because some texts are very long: {listed(too_long)}; keep "
                f"them with values=[{quoted(too_long[0])}]",
                name=self.file,
            )
        if not isinstance(self.wanted, bool):
            absent = [name for name in self.wanted if name not in columns and name != self.length]
            if absent:
                warn(f"no edge has a value {listed(absent)}; check the name", name=self.file)
        return arrays


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that values on edges can have, and that is not taken."""
    name = {"": "unnamed", LENGTH: "length_in_file"}.get(name, name)
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}_{count}"
    return free


def _numbers(values: Column, kind: str | None) -> NDArray[Any] | None:
    """Return values as numbers or truth values if all of them are; None if they are texts, or missing.

    Text of digits that would not come back, such as 007, is no number.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return None if values.dtype.kind == "f" and np.isnan(values).all() else values
    present = [value for value in values if not is_missing(value) and value != ""]
    types = {*map(type, present)}
    if types == {str} and kind != TEXT:
        return _parsed(values, present, kind)
    complete = 0 < len(present) == len(values)
    if types <= {bool, np.bool_}:
        return np.array(values, dtype=np.bool_) if complete else None
    if complete and types <= {int, *_INTEGERS}:
        return np.array(values, dtype=np.int64) if max(map(abs, present)) < _LARGEST else None
    if types and types <= {int, float, *_INTEGERS, *_FLOATS}:
        return np.array([nan if is_missing(value) else float(value) for value in values])
    return None


def _parsed(values: Column, texts: list[str], kind: str | None) -> NDArray[Any] | None:
    """Return texts as truth values where the file calls them that, or as numbers."""
    lower = {text.strip().lower() for text in texts}
    if kind == TRUTH_VALUE:
        if len(texts) < len(values) or not lower <= TRUTH.keys():
            return None
        return np.array([TRUTH[value.strip().lower()] for value in values])
    stripped = [text.strip() for text in texts]
    if len(texts) == len(values) and all(map(_INTEGER.fullmatch, stripped)):
        return np.array([int(value) for value in values], dtype=np.int64)
    numbers = [text for text in stripped if text.lower() != _NAN]
    if not numbers or not all(map(_DECIMAL.fullmatch, numbers)):
        return None
    if any(_DIGITS.fullmatch(text) and not _INTEGER.fullmatch(text) for text in numbers):
        return None
    floats = np.array([float(value) if value and not is_missing(value) else nan for value in values])
    return floats if all(isfinite(float(text)) for text in numbers) else None


def column_of_frame(frame: GraphLike, position: int) -> Column:
    """Return a column of a DataFrame, with None for what pandas calls missing."""
    series = frame.iloc[:, position]
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        column: NDArray[Any] = series.to_numpy()
        return column
    # GDAL and GeoParquet have columns of lists, which come as arrays
    return [
        None if missing else value.tolist() if isinstance(value, np.ndarray) else value
        for value, missing in zip(series.tolist(), series.isna().tolist(), strict=True)
    ]
