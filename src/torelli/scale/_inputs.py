"""Inputs as a stream of pieces, one for each graph, that are cheap to make, to compare and to send.

A piece is a line of JSON lines, the path of a file with one graph, or a graph. Whoever needs the graph reads
the piece (`Reading.record`): a worker in a distributed run. Its digest tells whether it is the same as in an
earlier run without reading it.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, Self

from torelli import _memory
from torelli._errors import (
    FormatError,
    InvalidGraphError,
    InvalidOptionError,
    RequestTooLargeError,
    TorelliError,
    listed,
    quoted,
    shortened,
)
from torelli._units import in_unit
from torelli.datasets.tu import load_tu
from torelli.graph import MetricGraph
from torelli.io.convert import as_metric_graph
from torelli.io.directed import Directions
from torelli.io.edges import warn, zero_lengths
from torelli.io.files import UNKNOWN_MEMORY, Budget
from torelli.io.jsonlines import JSON_LINES, record_of_line
from torelli.io.read import find_files, read_records, reader_of
from torelli.io.readers import READERS, Record, SourceFile
from torelli.io.tu import TU
from torelli.scale.country import country_windows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torelli.datasets.tu import Lengths

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_ARCHIVES = (*_TAR, ".zip")
_LARGE = 2**20  # bytes of a line that is kept in a file until it is read
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_COPIED = 2**20
_ZEROS = bytes(tarfile.BLOCKSIZE)


class Piece(NamedTuple):
    """What a graph can be read from.

    Attributes
    ----------
    kind
        What `content` is: a ``"line"`` of JSON lines, the path of a ``"file"``, of a ``"spooled"`` file that
        nobody else needs, or a ``"record"``.
    name
        Name of a graph that has none of its own.
    where
        What messages call the piece.
    content
        A line, a path or a record.
    digest
        Digest of the content: equal contents have equal digests.
    """

    kind: Literal["line", "file", "spooled", "record"]
    name: str
    where: str
    content: Any
    digest: str


def digest_of(*parts: bytes) -> str:
    """Return a digest of byte strings."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def paths_of(given: Any) -> list[Path]:
    """Return the files that inputs are read from; none if they are graphs."""
    first = given[0] if isinstance(given, (list, tuple)) and given else given
    return find_files(given, archives=_ARCHIVES) if isinstance(first, (str, os.PathLike)) else []


def _encoded(text: str) -> bytes:
    """Return text as bytes, also a name that is not valid text; where it becomes an id, it is refused."""
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Reading:
    """How pieces become graphs.

    Attributes
    ----------
    options
        Options of `torelli.read`.
    label
        The field that holds the label of a graph.
    memory
        Largest amount of memory to use for reading one graph, in bytes, unless the options say otherwise.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = "label"
    memory: int | None = None

    @property
    def max_bytes(self) -> int | None:
        """Most bytes that reading one graph may take."""
        limit: int | None = self.options.get("max_bytes") or self.memory
        return limit

    @property
    def most(self) -> int:
        """Most bytes that a line or a member of an archive may have."""
        return self.max_bytes or _memory.available_bytes() or UNKNOWN_MEMORY

    @property
    def reader_options(self) -> dict[str, Any]:
        """Options of `torelli.read_records`; values on edges, which no kernel uses, are not read."""
        return {**self.options, "max_bytes": self.max_bytes, "values": False}

    def record(self, piece: Piece) -> Record:
        """Return the graph of a piece, with its fields."""
        if piece.kind == "record":
            record: Record = piece.content
            return record
        if piece.kind == "line":
            return self._of_line(piece)
        path = Path(piece.content)
        if piece.kind == "spooled" and JSON_LINES.matches(path):
            return self._of_line(piece._replace(content=path.read_bytes()))
        with _named(path.name, piece.where):
            (record,) = read_records(path, **self.reader_options)
        return record

    def _of_line(self, piece: Piece) -> Record:
        try:
            line = piece.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"{piece.where}: not UTF-8 text ({error}); convert the file") from error
        unit = self.options.get("unit")
        source = piece.where.rpartition(", line ")[0]
        about = {"name": piece.name, "source": source, "unit": unit}
        budget = Budget(Path(source), self.max_bytes)
        with zero_lengths(self.options.get("zero", "error")):
            length = self.options.get("length", "length")
            record = record_of_line(line, piece.where, length, about, budget, values=False)
        return record if unit is None else record._replace(graph=in_unit(record.graph, unit))

    def label_of(self, record: Record) -> str | None:
        """Return the label of a graph as text, None if it has none."""
        label = record.fields.get(self.label)
        return None if label is None else str(label)


@dataclass
class Inputs:
    """The graphs of one call.

    Attributes
    ----------
    given
        Paths and patterns of files, folders or archives, or graphs.
    reading
        How they are read.
    tu, lengths
        Names of TU sets, and the lengths of the edges in all TU sets.
    window, step
        If `window` is given, inputs are OpenStreetMap extracts from which windows are taken: half the side of
        a window, and the distance between neighbouring windows (by default the same), in metres.
    """

    given: Any
    reading: Reading = field(default_factory=Reading)
    tu: tuple[str, ...] = ()
    lengths: Lengths = "uniform"
    window: float | None = None
    step: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.given, (str, os.PathLike)):
            self.given = [self.given]
        if isinstance(self.given, MetricGraph) or not isinstance(self.given, Iterable):
            raise InvalidOptionError(
                f"inputs is {quoted(self.given)}: give a path, a list of paths, or a list of graphs"
            )
        given = iter(self.given)
        first = next(given, None)
        rest = [] if first is None else chain([first], given)
        self.of_files = first is None or isinstance(first, (str, os.PathLike))
        self.given = list(rest) if self.of_files else rest
        # before hours of computing, not after: every path has to name something
        self.files: list[Path] = find_files(self.given, archives=_ARCHIVES) if self.of_files else []

    @property
    def names(self) -> list[str]:
        """What to call the inputs."""
        return [path.name for path in self.files] + list(self.tu) if self.of_files else ["graphs"]

    def description(self) -> dict[str, Any]:
        """Return what the graphs depend on besides the content of the inputs."""
        options = {name: value for name, value in self.reading.options.items() if name != "max_bytes"}
        return {
            **dict(sorted(options.items())),
            "label": self.reading.label,
            "lengths": self.lengths,
            "window": self.window,
            "step": self.step,
        }

    def pieces(self, spool: Path) -> Iterator[Piece]:
        """Yield the pieces in order; `spool` is a folder for members of archives."""
        spool_numbers = count()
        if not self.of_files:
            for position, graph in enumerate(self.given):
                length = self.reading.options.get("length", "length")
                record = graph if isinstance(graph, Record) else Record(as_metric_graph(graph, length))
                yield self._of_record(record, f"graph {position}", str(position))
            return
        for path in self.files:
            if self.window is not None:
                step = self.window if self.step is None else self.step
                records: Iterable[Record] = country_windows(
                    path, spool, self.window, step, self.reading.options, self.reading.max_bytes
                )
                yield from (self._of_record(record, path.name) for record in records)
            elif path.name.lower().endswith(_TAR):
                yield from self._of_tar(path, spool, spool_numbers)
            elif path.suffix.lower() == ".zip" and not _is_tu(path):
                yield from self._of_zip(path, spool, spool_numbers)
            elif path.is_dir() or TU.matches(path):
                yield from self._of_tu(str(path))
            elif JSON_LINES.matches(path):
                with _explain_damage(path.name), _opened(path, self.reading.most) as stream:
                    yield from self._of_lines(stream, path.name, spool, spool_numbers)
            elif reader_of(self._source(path)).several:
                options = self.reading.reader_options
                yield from (self._of_record(record, path.name) for record in read_records(path, **options))
            else:
                digest = digest_of(_encoded(path.name), _digest_of_file(path))
                yield Piece("file", path.name, path.name, str(path.absolute()), digest)
        for name in self.tu:
            yield from self._of_tu(name)

    def _source(self, path: Path) -> SourceFile:
        return SourceFile(path, "length", None, Directions(None), self.reading.max_bytes)

    def _of_record(self, record: Record, where: str, name: str | None = None) -> Piece:
        graph = record.graph
        name = graph.name or name or where
        label = self.reading.label_of(record)
        about = [name, graph.unit or "", label or "", "" if label is None else "labelled"]
        digest = digest_of(graph.digest, *map(_encoded, about))
        return Piece("record", name, f"{where}: {name}", record, digest)

    def _of_tu(self, name: str) -> Iterator[Piece]:
        data = load_tu(name, lengths=self.lengths)
        for graph, y in zip(data.graphs, data.y.tolist(), strict=True):
            yield self._of_record(Record(graph, {self.reading.label: y}), data.name)

    def _of_lines(
        self, stream: IO[bytes], name: str, spool: Path, spool_numbers: Iterator[int]
    ) -> Iterator[Piece]:
        most = self.reading.most
        stem = SourceFile(Path(name), "length", None, Directions(None), most).about()["name"]
        line_number = 0
        while line := stream.readline(most + 1):
            line_number += 1
            where = f"{name}, line {line_number:,}"
            if len(line) > most:
                raise RequestTooLargeError(
                    f"{where}: has more than {_memory.size(most)}; raise the limit with max_bytes=..."
                )
            if line.isspace():
                continue
            graph_name = f"{stem}[{line_number}]"
            digest = digest_of(_encoded(graph_name), line.strip())
            if len(line) < _LARGE:
                yield Piece("line", graph_name, where, line, digest)
            else:
                path = _spooled(spool, spool_numbers, "line.jsonl")
                path.write_bytes(line)
                yield Piece("spooled", graph_name, where, str(path), digest)

    def _of_tar(self, path: Path, spool: Path, spool_numbers: Iterator[int]) -> Iterator[Piece]:
        left_out: list[str] = []
        with _explain_damage(path.name), _unpacked(path, self.reading.most) as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None:
                    yield from self._of_member(path, member.name, stream, spool, spool_numbers, left_out)
        _warn_of_left_out(path, left_out)

    def _of_zip(self, path: Path, spool: Path, spool_numbers: Iterator[int]) -> Iterator[Piece]:
        left_out: list[str] = []
        with _explain_damage(path.name), zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                name = member.filename
                if member.is_dir():
                    continue
                if JSON_LINES.matches(Path(name)):  # other formats are copied before they are used
                    with _member(archive, member, path) as stream:
                        _read_through(stream, self.reading.most)
                with _member(archive, member, path) as stream:
                    yield from self._of_member(path, name, stream, spool, spool_numbers, left_out)
        _warn_of_left_out(path, left_out)

    def _of_member(
        self,
        archive: Path,
        member: str,
        stream: IO[bytes],
        spool: Path,
        spool_numbers: Iterator[int],
        left_out: list[str],
    ) -> Iterator[Piece]:
        name = PurePosixPath(member.replace("\\", "/")).name
        where = f"{archive.name}/{member}"
        file = Path(name)
        if name.startswith(".") or not any(reader.matches(file) for reader in READERS.values()):
            left_out.append(member)
        elif JSON_LINES.matches(file):
            opener = _OPENERS.get(file.suffix.lower())
            with _explain_damage(where):
                lines = stream if opener is None else opener(stream)
                yield from self._of_lines(lines, where, spool, spool_numbers)
        else:
            path = _spooled(spool, spool_numbers, name)
            with _explain_damage(where):
                digest = digest_of(_encoded(name), self._copied(stream, path, where))
            with _named(name, where):
                several = reader_of(self._source(path)).several
                records = read_records(path, **self.reading.reader_options) if several else []
            if several:
                yield from (self._of_record(record, where) for record in records)
                path.unlink()
                path.parent.rmdir()
            else:
                yield Piece("spooled", name, where, str(path), digest)

    def _copied(self, stream: IO[bytes], path: Path, where: str) -> bytes:
        """Copy a member of an archive to a file; return a digest of its content."""
        most = self.reading.most
        state, total = blake2b(digest_size=16), 0
        try:
            file = path.open("wb")
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            raise FormatError(
                f"{shortened(where, 160)}: the name is longer than that of a file may be; unpack the "
                "archive, and give the file a shorter name"
            ) from error
        with file:
            while block := stream.read(_COPIED):
                total += len(block)
                if total > most:
                    raise RequestTooLargeError(
                        f"{where}: inflates to more than {_memory.size(most)}; raise the limit with "
                        "max_bytes=..."
                    )
                state.update(block)
                file.write(block)
        return state.digest()


def _is_tu(path: Path) -> bool:
    """Return whether a zip is a TU set; what is not a sound zip is left to the reader to refuse."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("_A.txt") for name in archive.namelist())
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return True


def _warn_of_left_out(path: Path, names: list[str]) -> None:
    if names:
        warn(
            f"{len(names):,} members of no known format were left out: {listed(names, 3)}",
            name=path.name,
        )


def _spooled(spool: Path, spool_numbers: Iterator[int], name: str) -> Path:
    folder = spool / f"{next(spool_numbers):09d}"
    folder.mkdir(parents=True)
    return folder / name


def _digest_of_file(path: Path) -> bytes:
    state = blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(_COPIED):
            state.update(block)
    return state.digest()


@contextmanager
def _opened(path: Path, most: int, *, tar: bool = False) -> Iterator[IO[bytes]]:
    """Yield the content of a file; one that is compressed is read to its end once before.

    Checksums stand behind what they cover: without that, features would be fitted to graphs that turn out to
    be damaged later. A line or a member may have `most` bytes.
    """
    with path.open("rb") as file:
        opener = _opener_of_tar(file.peek()) if tar else _OPENERS.get(path.suffix.lower())
        if opener is None:
            yield file
            return
        if path.is_file():  # and not a pipe
            with opener(path, "rb") as stream:
                _read_through(stream, most)
        with opener(file, "rb") as stream:
            yield stream


def _read_through(stream: IO[bytes], most: int) -> None:
    """Read a stream to its end, or to a line of more than `most` bytes, which whoever reads it refuses."""
    begun = 0
    while block := stream.read(_COPIED):
        end = block.rfind(b"\n") + 1
        begun = len(block) - end + (0 if end else begun)
        if begun > most:
            return


def _opener_of_tar(start: bytes) -> Any:
    """Return what decompresses an archive that starts so, None if it is not compressed."""
    if start.startswith(b"\x1f\x8b\x08"):
        return gzip.open
    if start.startswith(b"BZh") and start[4:10] == b"1AY&SY":
        return bz2.open
    return lzma.open if start.startswith((b"\xfd7zXZ\0", b"\x5d\0\0\x80")) else None


class _Header(tarfile.TarInfo):
    """A header of a tar archive; one that is damaged is an error, and not the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if not buf or bytes(buf) == _ZEROS:
                raise
            raise tarfile.ReadError(f"bad header: {error}") from error


class _Ending:
    """A stream that remembers the last block that was read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.last = stream, b""

    def read(self, size: int) -> bytes:
        block = self.stream.read(size)
        self.last = (self.last + block)[-len(_ZEROS) :]
        return block


@contextmanager
def _unpacked(path: Path, most: int) -> Iterator[tarfile.TarFile]:
    """Yield a tar archive to iterate over, and raise if what was read to its end is not whole.

    By itself, tarfile takes a damaged header and the end of the file for the end of the archive. Archives
    that follow one another in the file are read as one.
    """
    with _opened(path, most, tar=True) as stream:
        ending = _Ending(stream)
        with tarfile.open(fileobj=ending, mode="r|", tarinfo=_Header, ignore_zeros=True) as archive:  # type: ignore[call-overload]
            yield archive
        if ending.last != _ZEROS:
            raise tarfile.ReadError("the end of the archive is missing")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> IO[bytes]:
    """Return the content of a member of a zip."""
    where = f"{path.name}/{member.filename}"
    try:
        return archive.open(member)
    except NotImplementedError as error:
        raise FormatError(
            f"{where}: it is compressed in a way that is not known here ({quoted(str(error))}); unpack the "
            "archive, and give the files"
        ) from error
    except RuntimeError as error:
        raise FormatError(f"{where}: it is encrypted; unpack the archive, and give the files") from error


@contextmanager
def _named(name: str, where: str) -> Iterator[None]:
    """Let errors that name a file by its last part name the archive too."""

    def longer(text: str | None) -> str:
        if text is None:
            return where
        if text.startswith(where):
            return text
        if text.startswith(name):
            return where + text.removeprefix(name)
        return text.replace(f" in {name}", f" in {where}") if f" in {name}" in text else f"{where}: {text}"

    try:
        yield
    except InvalidGraphError as error:
        raise InvalidGraphError(
            [replace(fault, name=longer(fault.name)) for fault in error.faults]
        ) from error
    except (FormatError, RequestTooLargeError) as error:
        raise type(error)(longer(str(error))) from error


@contextmanager
def _explain_damage(name: str) -> Iterator[None]:
    """Turn errors of a damaged compressed file or archive into one that names it."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise _damaged(name, error) from error
    except OSError as error:
        if isinstance(error, TorelliError) or error.errno is not None:  # not of a decompressor
            raise
        raise _damaged(name, error) from error


def _damaged(name: str, error: Exception) -> FormatError:
    return FormatError(f"{name}: truncated or corrupt ({quoted(str(error))}); get the file again")
