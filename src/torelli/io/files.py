"""Opening files that are not trusted: decompression within a limit, text within its encoding."""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from torelli._errors import FormatError, MissingExtraError, TorelliError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 2 * 2**30
"""Default limit on the size of one file after decompression."""

_CHUNK = 2**20
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
COMPRESSIONS = tuple(_OPENERS)


def chunks(path: Path, max_bytes: int) -> Iterator[bytes]:
    """Yield the decompressed content piece by piece; stop with an error once it exceeds the limit."""
    total = 0
    try:
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                total += len(chunk)
                if total > max_bytes:
                    raise FormatError(
                        f"{path.name}: more than {max_bytes:,} bytes after decompression; if the file is to "
                        "be trusted, raise the limit with max_bytes=..."
                    )
                yield chunk
    except (EOFError, zlib.error, OSError) as error:
        what = "truncated or corrupt" if path.suffix.lower() in _OPENERS else "not to be read"
        raise FormatError(f"{path.name}: {what} ({error}); get the file again") from error
    if not total:
        raise FormatError(f"{path.name}: the file is empty; get it again")


def measure(path: Path, max_bytes: int) -> int:
    """Return the decompressed size, or raise if it exceeds the limit; nothing is kept in memory."""
    return sum(map(len, chunks(path, max_bytes)))


def read_text(path: Path, max_bytes: int) -> str:
    """Return the decompressed text, which must be UTF-8."""
    data = b"".join(chunks(path, max_bytes))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path.name}: not UTF-8 text (byte {data[error.start]:#04x} at position {error.start:,}); "
            "convert it, such as with: iconv -f latin1 -t utf-8"
        ) from error
    if "\0" in text:
        raise FormatError(f"{path.name}: the text contains null bytes; it is binary, or in another encoding")
    return text


def parse_json(text: str, where: str) -> Any:  # noqa: ANN401  (JSON)
    """Parse JSON; whatever is wrong with it is a `FormatError`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not valid JSON ({error}); get the file again") from error


def require(module: str, extra: str, purpose: str) -> Any:  # noqa: ANN401  (a module)
    """Import an optional dependency, or name the extra that brings it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = {"osmium": "pyosmium"}.get(module, module.partition(".")[0])
        raise MissingExtraError(f"{purpose} needs {package}: pip install 'torelli[{extra}]'") from error


@contextmanager
def foreign_errors(name: str, reader: str) -> Iterator[None]:
    """Turn whatever another library raises on a broken file into a `FormatError`."""
    try:
        yield
    except (TorelliError, Warning):  # warnings too may be errors, if the user says so
        raise
    except Exception as error:
        message = " ".join(str(error).split())[:300]
        raise FormatError(
            f"{name}: {reader} cannot read it ({type(error).__name__}: {message}); it is damaged or "
            "not what its name says"
        ) from error
