"""Inputs as a stream of pieces, one for each graph, that are cheap to make, to compare and to send.

A piece is a line of JSON lines, the path of a file with one graph, or a graph. Whoever needs the graph reads
the piece (`Reading.record`): a worker in a distributed run. Its digest tells whether it is the same as in an
earlier run without reading it.
"""

from __future__ import annotations

import bz2
import gzip
import os
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple

from torelli import _memory
from torelli._errors import FormatError, RequestTooLargeError, listed, quoted
from torelli._units import in_unit
from torelli.datasets.tu import load_tu
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
    from collections.abc import Iterable, Iterator, Mapping

    from torelli.datasets.tu import Lengths

_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_LARGE = 2**20  # bytes of a line that is kept in a file until it is read
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
_COPIED = 2**20


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
        given = iter(self.given)
        first = next(given, None)
        rest = [] if first is None else chain([first], given)
        self.of_files = first is None or isinstance(first, (str, os.PathLike))
        self.given = list(rest) if self.of_files else rest
        # before hours of computing, not after: every path has to name something
        self.files: list[Path] = find_files(self.given) if self.of_files else []

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
                with _explain_damage(path.name), _opened(path, path.name) as stream:
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
        most = self.reading.max_bytes or _memory.available_bytes() or UNKNOWN_MEMORY
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
                path = _spooled(spool, spool_numbers, f"{graph_name}.jsonl")
                path.write_bytes(line)
                yield Piece("spooled", graph_name, where, str(path), digest)

    def _of_tar(self, path: Path, spool: Path, spool_numbers: Iterator[int]) -> Iterator[Piece]:
        left_out: list[str] = []
        with _explain_damage(path.name), tarfile.open(path, "r|*") as archive:
            for member in archive:
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is not None:
                    yield from self._of_member(path, member.name, stream, spool, spool_numbers, left_out)
        _warn_of_left_out(path, left_out)

    def _of_zip(self, path: Path, spool: Path, spool_numbers: Iterator[int]) -> Iterator[Piece]:
        left_out: list[str] = []
        with _explain_damage(path.name), zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    with archive.open(member) as stream:
                        yield from self._of_member(
                            path, member.filename, stream, spool, spool_numbers, left_out
                        )
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
            yield from self._of_lines(
                stream if opener is None else opener(stream), where, spool, spool_numbers
            )
        else:
            path = _spooled(spool, spool_numbers, name)
            digest = digest_of(_encoded(name), self._copied(stream, path, where))
            if reader_of(self._source(path)).several:
                options = self.reading.reader_options
                yield from (self._of_record(record, where) for record in read_records(path, **options))
                path.unlink()
                path.parent.rmdir()
            else:
                yield Piece("spooled", name, where, str(path), digest)

    def _copied(self, stream: IO[bytes], path: Path, where: str) -> bytes:
        """Copy a member of an archive to a file; return a digest of its content."""
        most = self.reading.max_bytes or _memory.available_bytes() or UNKNOWN_MEMORY
        state, total = blake2b(digest_size=16), 0
        with path.open("wb") as file:
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
    except (zipfile.BadZipFile, OSError, ValueError):
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
def _opened(path: Path, name: str) -> Iterator[IO[bytes]]:
    opener = _OPENERS.get(Path(name).suffix.lower(), open)
    with opener(path, "rb") as stream:
        yield stream


@contextmanager
def _explain_damage(name: str) -> Iterator[None]:
    """Turn errors of a damaged compressed file or archive into one that names it."""
    try:
        yield
    except (EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile) as error:
        raise FormatError(
            f"{name}: truncated or corrupt ({quoted(str(error))}); get the file again"
        ) from error
