"""Untrusted files: reading within a limit of memory, decompression, decoding of text, and zip archives."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import os
import zipfile
import zlib
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

from torelli import _memory
from torelli._errors import (
    DataWarning,
    FormatError,
    InvalidOptionError,
    MissingExtraError,
    RequestTooLargeError,
    TorelliError,
    quoted,
    shortened,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from torelli._types import Json

UNKNOWN_MEMORY = 2 * 2**30
"""Memory limit for one file, if the caller gives none and the free memory is unknown."""

_CHUNK = 2**20
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
COMPRESSIONS = tuple(_OPENERS)

# bytes that Python's objects for JSON take, at most, by the character that announces them
_JSON = {"[": 90, "{": 80, ":": 40, ",": 45, '"': 32}
_WIDE = 4  # bytes of a character in a string that is not ASCII

# limits of zip archives, which no honest archive of graphs exceeds
MAX_MEMBERS = 10_000
MAX_INFLATED = 1024**3  # the largest of the paper's sets has a tenth of this
MAX_RATIO = 200  # the sets of the TU site shrink 5 to 10 times
_SMALL = 16 * 1024**2  # below this any ratio is harmless


class Budget:
    """The memory that reading one file may take; readers count memory before they use it.

    Parameters
    ----------
    path
        The file.
    max_bytes
        The limit; by default half of the free memory.
    """

    def __init__(self, path: Path, max_bytes: int | None = None) -> None:
        check_limit(max_bytes)
        self.file = path.name
        self.is_default = max_bytes is None
        free = _memory.available_bytes() if max_bytes is None else None
        self.allowed = max_bytes or (UNKNOWN_MEMORY if free is None else free // 2)
        self.taken = 0
        self.part = 1.0  # of the file that has been read

    def take(self, n_bytes: int) -> None:
        """Count memory that is held until the graph is complete."""
        self.taken += n_bytes
        self.check(0)

    def check(self, n_bytes: int) -> None:
        """Raise an error if memory that is needed for a moment would exceed the limit."""
        if self.taken + n_bytes > self.allowed:
            raise self.refusal("reading it takes", self.taken, "of memory", n_bytes)

    def refusal(self, verb: str, so_far: int, kind: str, once: int = 0) -> RequestTooLargeError:
        """Return the error, with an estimate for the whole file from the part read so far."""
        figure = _memory.size(so_far / max(self.part, 1e-9) + once)
        rule = ", half of what is free" if self.is_default else ""
        return RequestTooLargeError(
            f"{self.file}: {verb} about {figure} {kind}, more than the {_memory.size(self.allowed)} that are "
            f"allowed{rule}; if you trust the file, raise the limit with max_bytes=... "
            "(on the command line: --max-bytes)"
        )


def check_limit(max_bytes: object) -> None:
    """Raise an error unless a limit is a number of bytes, or None."""
    right = isinstance(max_bytes, int) and not isinstance(max_bytes, bool) and max_bytes > 0
    if max_bytes is not None and not right:
        raise InvalidOptionError(f"max_bytes is {max_bytes!r}: use a number of bytes, or None")


def chunks(path: Path, budget: Budget) -> Iterator[bytes]:
    """Yield the decompressed content piece by piece; stop with an error once it exceeds the limit."""
    total = 0
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as raw, _OPENERS.get(suffix, _uncompressed)(raw) as file:
            size = max(os.fstat(raw.fileno()).st_size, 1)
            while chunk := file.read(_CHUNK):
                total += len(chunk)
                budget.part = min(raw.tell() / size, 1.0)
                if total > budget.allowed:
                    raise budget.refusal("it has", total, "after decompression")
                yield chunk
    except (EOFError, zlib.error, OSError) as error:
        problem = "truncated or corrupt" if suffix in _OPENERS else "cannot be read"
        raise FormatError(f"{path.name}: {problem} ({error}); get the file again") from error
    if not total:
        raise FormatError(f"{path.name}: the file is empty; get it again")


@contextmanager
def _uncompressed(file: BinaryIO) -> Iterator[BinaryIO]:
    yield file


def measure(path: Path, budget: Budget, *marks: bytes) -> list[int]:
    """Return upper bounds on how often byte strings occur in the content; nothing is kept in memory."""
    counts = [0] * len(marks)
    overlap = max(map(len, marks)) - 1
    end = b""
    for chunk in chunks(path, budget):
        seam = end + chunk[:overlap]
        counts = [n + chunk.count(mark) + seam.count(mark) for n, mark in zip(counts, marks, strict=True)]
        end = chunk[len(chunk) - overlap :]
    return counts


def texts(
    path: Path,
    budget: Budget,
    *,
    any_newline: bool = False,
    any_byte: bool = False,
    or_windows: bool = False,
) -> Iterator[str]:
    r"""Yield the decompressed text piece by piece; it must be UTF-8, or UTF-16 with a byte order mark.

    With `any_newline` every line ends in a line feed, whatever ends it in the file. With `any_byte` null
    bytes are kept, and what is not UTF-8 is written out, such as ``\xe9``. With `or_windows` a text that is
    not UTF-8 is read as Windows-1252, with a warning.
    """
    decoder: Any = codecs.getincrementaldecoder("utf-8-sig")("backslashreplace" if any_byte else "strict")
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    total, is_ascii = 0, True

    def finished(text: str, *, final: bool = False) -> str:
        if any_newline:
            text = newlines.decode(text, final=final)
        return text if any_byte else _without_nulls(text, path)

    try:
        for chunk in chunks(path, budget):
            if not total and chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                decoder = codecs.getincrementaldecoder("utf-16")()
            total += len(chunk)
            begun = decoder.getstate()[0]
            try:
                text = decoder.decode(chunk)
            except UnicodeDecodeError as error:
                # a text that has been UTF-8 up to here is damaged, and not in another encoding
                if not (or_windows and is_ascii and error.object[: error.start].isascii()):
                    raise
                warn(
                    f"{path.name}: the text is not UTF-8 and is read as Windows-1252; if names look wrong, "
                    "save it as UTF-8",
                    DataWarning,
                )
                decoder = codecs.getincrementaldecoder("cp1252")("replace")
                text = decoder.decode(begun + chunk)
            is_ascii = is_ascii and text.isascii()
            yield finished(text)
        yield finished(decoder.decode(b"", final=True), final=True)
    except UnicodeDecodeError as error:
        # the decoder's input ends at the current position in the file
        position = total - len(error.object) + error.start
        raise FormatError(
            f"{path.name}: not UTF-8 text (byte {error.object[error.start]:#04x} at position {position:,}); "
            "convert it, for example with iconv -f latin1 -t utf-8"
        ) from error


def _without_nulls(text: str, path: Path) -> str:
    if "\0" in text:
        raise FormatError(f"{path.name}: the text contains null bytes; it is binary, or in another encoding")
    return text


def lines(path: Path, budget: Budget, **how: bool) -> Iterator[str]:
    """Yield the lines of the decompressed text, without their ends; one of any length is held at a time.

    How the text is read, `how` says as for `texts`.
    """
    begun: list[str] = []
    for text in texts(path, budget, **how):
        first, *others = text.split("\n")
        begun.append(first)
        if not others:
            budget.check(2 * sum(map(string_bytes, begun)))
            continue
        yield "".join(begun)
        begun = [others.pop()]
        yield from others
    yield "".join(begun)


def read_text(path: Path, budget: Budget) -> str:
    """Return the whole of the decompressed text, which is counted as taken."""
    parts: list[str] = []
    for text in texts(path, budget):
        budget.take(string_bytes(text))
        budget.check(budget.taken)  # to join them
        parts.append(text)
    return "".join(parts)


def string_bytes(text: str) -> int:
    """Return an upper bound on the memory of the characters of a string."""
    return len(text) if text.isascii() else _WIDE * len(text)


def parse_json(text: str, where: str, budget: Budget, *, work: int = 1, item: int = 0) -> Json:
    """Parse JSON; whatever is wrong with it is a `FormatError`.

    Further work takes `work` times the memory of its objects, and `item` bytes for each item.
    """
    budget.check(json_bytes(text, budget, work=work, item=item))
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not valid JSON ({error}); get the file again") from error


def json_bytes(text: str, budget: Budget, *, work: int = 1, item: int = 0) -> int:
    """Return an upper bound on the memory of the objects of a JSON text; see `parse_json` for the others."""
    most = (work * (max(_JSON.values()) + _WIDE) + item) * len(text)
    if most < budget.allowed // 16:  # a coarse bound is enough
        return most
    objects = sum(size * text.count(mark) for mark, size in _JSON.items()) + string_bytes(text)
    return work * objects + item * text.count(",")


def require(module: str, extra: str, purpose: str) -> ModuleType:
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
    except (TorelliError, Warning, MemoryError):  # warnings too may be errors, if the user says so
        raise
    except Exception as error:
        message = " ".join(str(error).split())[:300]
        raise FormatError(
            f"{name}: {reader} cannot read it ({type(error).__name__}: {message}); it is damaged or "
            "not what its name says"
        ) from error


def zip_sizes(path: Path) -> dict[str, int]:
    """Return the inflated size of each member, after refusing what no honest zip has."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise FormatError(f"{path} is not a valid zip: {shortened(str(error), 300)}") from error
    if len(members) > MAX_MEMBERS:
        raise FormatError(f"{path} has {len(members):,} members: that is not a data set")
    for member in members:
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in member.filename.partition("/")[0]:
            raise FormatError(f"{path}: the member {quoted(member.filename)} points outside its folder")
        too_dense = member.file_size > MAX_RATIO * max(member.compress_size, 1)
        if member.file_size > _SMALL and too_dense:
            raise FormatError(
                f"{path}: the member {quoted(member.filename)} would inflate {member.compress_size:,} to "
                f"{member.file_size:,} bytes: that is not a data set"
            )
    total = sum(member.file_size for member in members)
    if total > MAX_INFLATED:
        raise FormatError(f"{path} would inflate to {total:,} bytes: that is not a data set")
    return {member.filename: member.file_size for member in members}


def read_member(path: Path, name: str) -> bytes:
    """Return the content of one member."""
    # read(size) rather than read(): a member that inflates to more than it declares is stopped there
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            return file.read(archive.getinfo(name).file_size)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError) as error:
        raise FormatError(
            f"{path}: the member {quoted(name)} cannot be read: {shortened(str(error), 300)}"
        ) from error
