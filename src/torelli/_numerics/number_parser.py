"""Tables of numbers from text: the lines of a TU file as arrays.

Gain over `numpy.loadtxt` on 200,000 lines of two integers: 3.4 to 8.4 times as fast in five runs
(``make bench CASES=numerics``, on a machine busy with other work).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torelli._errors import FormatError
from torelli._numerics.compile import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli._types import Floats, Ints


_OK, _NO_INTEGER, _COLUMNS, _EMPTY_LINE = range(4)
_NEWLINE, _RETURN, _SPACE, _TAB, _COMMA, _PLUS, _MINUS, _ZERO = (ord(c) for c in "\n\r \t,+-0")
_MAX_DIGITS = 18  # an int64 holds every number of 18 digits
_SHOWN = 40
_MAX_COLUMNS, _MAX_LINE = 1000, 2**20
_BLOCK = 2**18  # bytes whose numbers are read together


def integer_table(text: bytes, n_columns: int, name: str) -> Ints:
    """Read lines of integers, separated by commas or blanks; `name` is the file, for messages.

    Lines may end in LF or CRLF, and empty lines may stand at the end. Anything else is an error
    with the number of its line.
    """
    data = np.frombuffer(text, dtype=np.uint8)
    n_lines = int(np.count_nonzero(data == _NEWLINE)) + 1
    # a number and what separates it take two bytes: a file of empty lines does not ask for memory
    out = np.empty((min(n_lines, len(text) // (2 * n_columns) + 1), n_columns), dtype=np.int64)
    code, at = _parse(data, out)
    if code != _OK:
        line = text.split(b"\n", at)[at - 1]
        shown = line.strip()[:_SHOWN].decode("ascii", "backslashreplace")
        problem = {
            _NO_INTEGER: f"{shown!r} has something that is no integer",
            _COLUMNS: f"{shown!r} has not {n_columns} number{'s' if n_columns > 1 else ''}",
            _EMPTY_LINE: "an empty line before the end",
        }[code]
        raise FormatError(f"{name}, line {at}: {problem}")
    return out[:at]


@compiled
def _parse(data: NDArray[np.uint8], out: Ints) -> tuple[int, int]:
    """Fill `out`; return (_OK, number of rows) or (what is wrong, number of the line)."""
    n_columns = out.shape[1]
    size = len(data)
    row, column, line, at = 0, 0, 1, 0
    ended = 0  # the first line after which only empty lines came
    while at <= size:
        char = data[at] if at < size else _NEWLINE
        if char == _NEWLINE:
            if column == n_columns:
                row += 1
            elif column == 0:
                ended = line if ended == 0 else ended
            else:
                return _COLUMNS, line
            column = 0
            line += 1
            at += 1
        elif char in (_SPACE, _TAB, _RETURN, _COMMA):
            at += 1
        else:
            if ended:
                return _EMPTY_LINE, ended
            if column == n_columns:
                return _COLUMNS, line
            negative = char == _MINUS
            if char in (_MINUS, _PLUS):
                at += 1
            value, digits = 0, 0
            while at < size and _ZERO <= data[at] < _ZERO + 10:
                value = 10 * value + data[at] - _ZERO
                digits += 1
                at += 1
            follower = data[at] if at < size else _NEWLINE
            separated = follower in (_SPACE, _TAB, _RETURN, _COMMA, _NEWLINE)
            if digits == 0 or digits > _MAX_DIGITS or not separated:
                return _NO_INTEGER, line
            out[row, column] = -value if negative else value
            column += 1
    return _OK, row


def float_table(text: bytes, name: str) -> Floats:
    """Read lines of floating-point numbers, as many on each line as on the first.

    Python's own conversion: it rounds correctly, which lengths that must tie or differ need.
    """
    rest = text.replace(b",", b" ").rstrip()
    if b"\r" in rest:
        rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not rest:
        return np.empty((0, 0))
    # a table of numbers has no more, and a file that is one line takes no memory to refuse
    n_columns = len(rest.partition(b"\n")[0].split(None, _MAX_COLUMNS))
    parts: list[Floats] = []
    start, n_lines = 0, 0
    while start < len(rest):
        stop = rest.find(b"\n", start + _BLOCK) + 1 or len(rest)
        lines = rest[start:stop].splitlines()
        try:
            if n_columns > _MAX_COLUMNS or b"_" in rest[start:stop] or max(map(len, lines)) > _MAX_LINE:
                raise ValueError  # noqa: TRY301  (one search for the line to blame)
            words = b" ".join(lines).split()
            if len(words) != n_columns * len(lines):
                raise ValueError  # noqa: TRY301
            parts.append(np.array(list(map(float, words)), dtype=np.float64))
        except ValueError:
            raise _blame(lines, n_columns, name, n_lines + 1) from None
        start, n_lines = stop, n_lines + len(lines)
    return np.concatenate(parts).reshape(n_lines, n_columns)


def _blame(lines: list[bytes], n_columns: int, name: str, first: int) -> FormatError:
    """Return the error for the first line that is wrong; `first` is the number of the first one."""
    for at, line in enumerate(lines, first):
        words = line.split(None, n_columns)
        shown = line.strip()[:_SHOWN].decode("ascii", "backslashreplace")
        if len(words) != n_columns:
            return FormatError(f"{name}, line {at}: {shown!r} has not {n_columns} numbers, as line 1 has")
        for word in words:
            try:
                number = b"_" not in word and float(word) is not None
            except ValueError:
                number = False
            if not number:
                return FormatError(f"{name}, line {at}: {shown!r} has something that is no number")
    return FormatError(f"{name}: more than {_MAX_COLUMNS:,} numbers or {_MAX_LINE:,} characters on a line")
