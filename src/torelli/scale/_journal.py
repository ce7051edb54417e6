"""The journal of a store: which files are finished, with size and checksum; and who is writing.

Each line has a checksum of its own and is forced to disk before the next step. The last line may be torn by
a kill or a full disk; it then does not count.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from torelli._errors import FormatError, StoreError, quoted

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_SHOWN = 3
_KEPT = 20  # names of inputs that the journal keeps of each segment
_DAMAGED = "start over with --fresh (in Python: fresh=True), or restore the file from a copy"


class Entry(NamedTuple):
    """Size and checksum of a finished file."""

    size: int
    digest: str


class Segment:
    """The rows of one call: from `start` to `stop`, which is None until all of them are finished."""

    def __init__(self, start: int, inputs: list[str]) -> None:
        self.start, self.inputs = start, inputs
        self.stop: int | None = None

    def __str__(self) -> str:
        """Return the names of the inputs, shortened."""
        more = ", ..." if len(self.inputs) > _SHOWN else ""
        return ", ".join(self.inputs[:_SHOWN]) + more


class Journal:
    """The finished files of a store, and the calls that added rows.

    Attributes
    ----------
    files
        Finished files by path relative to the store.
    replacing
        What finished files are about to be replaced by: until the journal says more, either may be there.
    segments
        One for each call that added rows.
    marks
        What else is known of finished files, such as how much of a chunk is filled.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, Entry] = {}
        self.replacing: dict[str, Entry] = {}
        self.segments: list[Segment] = []
        self.marks: set[str] = set()
        self._n_bytes = 0
        self._lock = Lock()
        self.refresh()

    def refresh(self) -> None:
        """Read the lines that a writer has added."""
        with self._lock:
            self._read_on()

    def _read_on(self) -> None:
        try:
            with self.path.open("rb") as file:
                file.seek(self._n_bytes)
                whole, end, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return
        lines = whole.split(b"\n") if end else []
        for number, line in enumerate(lines, 1):
            content = _parse(line)
            if content is None:
                if number == len(lines):
                    return  # torn, though it ends in a line feed
                raise FormatError(f"{self.path}: a line after byte {self._n_bytes:,} is damaged; {_DAMAGED}")
            self._apply(content)
            self._n_bytes += len(line) + 1

    def drop_torn_line(self) -> None:
        """Remove what follows the last whole line; for the writer alone."""
        if self.path.exists() and self.path.stat().st_size > self._n_bytes:
            with self.path.open("r+b") as file:
                file.truncate(self._n_bytes)

    def finish(self, files: Mapping[str, Entry], marks: Iterable[str] = ()) -> None:
        """Note finished files."""
        content: dict[str, Any] = {"files": {path: list(entry) for path, entry in files.items()}}
        self._append({**content, "marks": list(marks)} if marks else content)

    def replace(self, files: Mapping[str, Entry]) -> None:
        """Note finished files that are about to be replaced, and by what."""
        self._append({"replace": {path: list(entry) for path, entry in files.items()}})

    def redo(self, paths: Iterable[str]) -> None:
        """Note files that are about to be removed, or that are damaged."""
        self._append({"redo": sorted(paths)})

    def begin(self, start: int, inputs: Iterable[str]) -> None:
        """Note that rows from `start` on are being added, and from which inputs."""
        names = [name for name, _ in zip(inputs, range(_KEPT), strict=False)]
        self._append({"begin": start, "inputs": names})

    def end(self, stop: int) -> None:
        """Note that all rows up to `stop` are there."""
        self._append({"end": stop})

    def _append(self, content: dict[str, Any]) -> None:
        text = json.dumps(content, separators=(",", ":"))
        line = f"{crc32(text.encode()):08x} {text}\n".encode()
        try:
            with self.path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                os.truncate(self.path, self._n_bytes)
            raise
        self._n_bytes += len(line)
        self._apply(content)

    def _apply(self, content: dict[str, Any]) -> None:
        if "files" in content:
            for path, entry in content["files"].items():
                self.files[path] = Entry(*entry)
                self.replacing.pop(path, None)
            self.marks.update(content.get("marks", ()))
        elif "replace" in content:
            self.replacing.update({path: Entry(*entry) for path, entry in content["replace"].items()})
        elif "redo" in content:
            for path in content["redo"]:
                self.files.pop(path, None)
                self.replacing.pop(path, None)
        elif "begin" in content:
            self.segments.append(Segment(content["begin"], content["inputs"]))
        elif "end" in content and self.segments:
            self.segments[-1].stop = content["end"]


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the content of a line, None if it is damaged."""
    checksum, _, text = line.partition(b" ")
    try:
        if int(checksum, 16) != crc32(text):
            return None
        content = json.loads(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock of a store, or raise an error that names its owner and the age of the lock.

    The system drops the lock of a process that dies, so that nothing has to be cleared by hand on one
    machine. File systems that several machines share may not tell others of a lock: one that another
    machine has not released is therefore respected.
    """
    with path.open("a+b") as file:
        file.seek(0)
        owner = _owner(file.read())
        here = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
        if not _try_lock(file.fileno()):
            raise StoreError(f"{what} is being written by {_described(owner)}; wait until it ends")
        if owner is not None and owner.get("host") != here["host"]:
            raise StoreError(
                f"{what} is locked by {_described(owner)}; if that process has ended, remove {path}"
            )
        _write(file.fileno(), json.dumps(here).encode())
        try:
            yield
        finally:
            # a full disk cannot stop this, and the system drops the lock itself when the file is closed
            with suppress(OSError):
                _write(file.fileno(), b"")


def _try_lock(descriptor: int) -> bool:
    if fcntl is None:
        import msvcrt

        try:
            os.lseek(descriptor, 2**30, os.SEEK_SET)  # beyond the content, which others may read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks: the name of the owner has to do
        return True
    return True


def _write(descriptor: int, content: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, content)


def _owner(content: bytes) -> dict[str, Any] | None:
    try:
        owner = json.loads(content)
    except ValueError:  # empty, or torn
        return None
    return owner if isinstance(owner, dict) else None


def _described(owner: dict[str, Any] | None) -> str:
    if owner is None:
        return "another process"
    hours = max(0.0, time.time() - float(owner.get("since", 0.0))) / 3600
    age = f"{hours:.1f} hours" if hours > 1 else f"{60 * hours:.0f} minutes"
    return f"process {owner.get('pid')} on {quoted(owner.get('host'))}, for {age}"
