"""A store: a folder whose files are finished one by one, by any number of workers, and never half.

A worker writes a file under a temporary name (`write_part`) and reports its size and checksum. Only the owner
of the store renames it and adds it to the journal (`Store.commit`). A kill of a worker or the owner, at any
moment, therefore leaves finished files, and temporary ones that the next owner removes.

Each line of the journal has its own checksum and is forced to disk before the next step. A kill or a full
disk may cut off the last line; it then does not count.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from importlib.metadata import version
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4
from zlib import crc32

import numpy as np

from torelli._errors import FormatError, StoreError, shortened
from torelli._files import parse_object
from torelli._version import __version__
from torelli.scale import _zarr
from torelli.scale._lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

_INPUTS_SHOWN = 3
_INPUTS_KEPT = 20  # names of inputs that the journal keeps of each segment
_DAMAGED = "start over with --fresh (in Python: fresh=True), or restore the file from a copy"
INSIDE = "_torelli"
"""Folder of a store with what is not part of the result: the manifest, the journal and representations."""
_FORMAT = 2
_FULL = {errno.ENOSPC, errno.EFBIG, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
_ATTEMPTS, _PAUSE = 20, 0.1  # of a reader while a file is replaced
_SHOWN = 5
_PARTS = f"{INSIDE}/parts"
SPOOL = f"{INSIDE}/spool"
_NUMBERS = ("features", "kernel", f"{INSIDE}/rows", f"{INSIDE}/data")  # first noted, then made


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
        more = ", ..." if len(self.inputs) > _INPUTS_SHOWN else ""
        return ", ".join(self.inputs[:_INPUTS_SHOWN]) + more


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
        Other facts about finished files, such as how much of a chunk is filled.
    facts
        What was found out once for all files, such as gamma.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, Entry] = {}
        self.replacing: dict[str, Entry] = {}
        self.segments: list[Segment] = []
        self.marks: set[str] = set()
        self.facts: dict[str, Any] = {}
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
                complete, end, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return
        lines = complete.split(b"\n") if end else []
        for line_number, line in enumerate(lines, 1):
            content = _parse(line)
            if content is None:
                if line_number == len(lines):
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

    def note(self, facts: Mapping[str, Any]) -> None:
        """Note what was found out once for all files."""
        self._append({"facts": dict(facts)})

    def begin(self, start: int, inputs: Iterable[str]) -> None:
        """Note that rows from `start` on are being added, and from which inputs."""
        names = [name for name, _ in zip(inputs, range(_INPUTS_KEPT), strict=False)]
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
        elif "facts" in content:
            self.facts.update(content["facts"])
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


class Part(NamedTuple):
    """A file that is written and not yet in its place: its path in the store and its temporary name."""

    path: str
    temporary: str
    entry: Entry


def manifest_of(root: Path) -> Path:
    """Return the file that says how a store was made."""
    return root / INSIDE / "manifest.json"


def journal_of(root: Path) -> Path:
    """Return the file that says which files of a store are finished."""
    return root / INSIDE / "journal.jsonl"


def checksum(content: bytes) -> str:
    """Return the checksum of bytes as text."""
    return blake2b(content, digest_size=16).hexdigest()


def entry_of(content: bytes) -> Entry:
    """Return what the journal says of a finished file."""
    return Entry(len(content), checksum(content))


def write_part(root: Path, path: str, content: bytes) -> Part:
    """Write a file of a store under a temporary name; the owner of the store puts it in its place."""
    temporary = root / _PARTS / uuid4().hex
    with explain_disk_errors(root), temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Part(path, temporary.name, entry_of(content))


@contextmanager
def explain_disk_errors(root: Path) -> Iterator[None]:
    """Turn errors of a full disk or a read-only folder into errors that say what to do."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        name = shortened(str(root), 400)
        if error.errno in _FULL:
            raise StoreError(
                f"{name}: the disk is full ({error.strerror}); finished tiles are kept: make room, then run "
                "the same command again"
            ) from error
        if error.errno in _FORBIDDEN:
            raise StoreError(f"{name}: cannot be written ({error.strerror}); choose another place") from error
        raise


class Store:
    """A store as it is on disk.

    Parameters
    ----------
    root
        The folder.

    Attributes
    ----------
    manifest
        What the numbers depend on besides the graphs.
    journal
        The finished files.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        path = manifest_of(root)
        if not path.is_file():
            _check_described(root)
            problem = "is not a store of torelli" if root.exists() else "does not exist"
            raise StoreError(f"{shortened(str(root), 400)} {problem}")
        self.manifest = _read_manifest(path)
        if self.manifest.get("format") != _FORMAT:
            raise FormatError(
                f"{path}: format {self.manifest.get('format')}, and this version reads {_FORMAT}"
            )
        self.journal = Journal(journal_of(root))

    def __contains__(self, path: str) -> bool:
        return path in self.journal.files

    def read(self, path: str) -> bytes:
        """Return the content of a finished file; raise an error if it is missing, cut off or changed."""
        problem = ""
        for _ in range(_ATTEMPTS):
            self.journal.refresh()
            problem, content = self._checked(path)
            if not problem:
                return content
            if not self._has_writer():  # else it may be about to replace the file
                break
            time.sleep(_PAUSE)
        if path not in self:
            raise self.not_finished(path)
        raise FormatError(
            f"{shortened(str(self.root), 400)}: {path} {problem}; run the command that made the store again, "
            "with --verify"
        )

    def not_finished(self, what: str) -> FormatError:
        """Return the error of who reads what is not there yet, or was damaged and not made again."""
        return FormatError(
            f"{shortened(str(self.root), 400)}: {what} is not finished; if a process is writing the store, "
            "wait for it, else run the command that made the store again"
        )

    def _checked(self, path: str) -> tuple[str, bytes]:
        """Return what is wrong with a file, and its content."""
        entry = self.journal.files.get(path)
        if entry is None:
            return "is not finished", b""
        try:
            content = (self.root / path).read_bytes()
        except FileNotFoundError:
            return "is missing", b""
        if self.journal.replacing.get(path) == entry_of(content):
            return "", content
        if len(content) != entry.size:
            return f"has {len(content):,} bytes instead of {entry.size:,}", b""
        if checksum(content) != entry.digest:
            return "has another content than was written (its checksum differs)", b""
        return "", content

    def _has_writer(self) -> bool:
        lock = self.root / INSIDE / "lock"
        return lock.exists() and lock.stat().st_size > 0

    def read_json(self, path: str) -> dict[str, Any]:
        """Return a finished JSON file."""
        return parse_object(self.read(path), path)

    def commit(self, parts: Iterable[Part], marks: Iterable[str] = ()) -> None:
        """Put written files in their places and note them in the journal, with marks."""
        parts = list(parts)
        with explain_disk_errors(self.root):
            again = {part.path: part.entry for part in parts if part.path in self.journal.files}
            if again:
                self.journal.replace(again)
            for part in parts:
                target = self.root / part.path
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.root / _PARTS / part.temporary).replace(target)
            self.journal.finish({part.path: part.entry for part in parts}, marks)

    def put(self, path: str, content: bytes) -> None:
        """Write a small file and note it; nothing if it is there already with the same content."""
        if self.journal.files.get(path) != entry_of(content):
            self.commit([write_part(self.root, path, content)])

    def put_json(self, path: str, content: Mapping[str, Any]) -> None:
        """Write a JSON file and note it."""
        self.put(path, (json.dumps(content, indent=1) + "\n").encode())

    def forget(self, paths: Iterable[str]) -> None:
        """Remove finished files."""
        paths = [path for path in paths if path in self.journal.files]
        if paths:
            with explain_disk_errors(self.root):
                self.journal.redo(paths)
                for path in paths:
                    (self.root / path).unlink(missing_ok=True)

    def settle(self) -> None:
        """Find out which of two contents each file has that a dead owner was replacing; for the owner."""
        for path in list(self.journal.replacing):
            try:
                present = entry_of((self.root / path).read_bytes())
            except FileNotFoundError:
                present = None
            if present is not None and present in {
                self.journal.files.get(path),
                self.journal.replacing[path],
            }:
                self.journal.finish({path: present})
            else:
                self.journal.redo([path])

    def damaged(self, *, thorough: bool = False) -> list[str]:
        """Return the finished files that are missing or have another size, if `thorough` another content."""
        if thorough:
            return [path for path in self.journal.files if self._checked(path)[0]]
        lost = []
        for path, entry in self.journal.files.items():
            try:
                sound = (self.root / path).stat().st_size == entry.size
            except FileNotFoundError:
                sound = False
            if not sound:
                lost.append(path)
        return lost

    def misdescribed(self) -> list[str]:
        """Return the files that tell zarr what is in the store, if they are missing or changed."""
        return [
            path
            for path, content in _descriptions().items()
            if not (self.root / path).is_file() or (self.root / path).read_bytes() != content
        ]


@contextmanager
def writing(
    root: Path, manifest: Mapping[str, Any], *, fresh: bool = False, verify: bool = False
) -> Iterator[tuple[Store, list[str]]]:
    """Yield a store to write to, made if it is missing, and the damaged files that will be made again.

    Raises
    ------
    StoreError
        If another process writes to it, if it was made with other options, or if it cannot be written.
    """
    name = shortened(str(root), 400)
    inside = root / INSIDE
    # as it is read back: before anything is removed, and with numbers of numpy as numbers
    manifest = json.loads(json.dumps(manifest, default=np.generic.item))
    with explain_disk_errors(root):
        if root.exists() and not root.is_dir():
            raise StoreError(f"{name} is a file; choose another name")
        if root.is_dir() and not inside.is_dir() and any(root.iterdir()):
            raise StoreError(f"{name} is a folder of something else; choose another name")
        inside.mkdir(parents=True, exist_ok=True)
    with explain_disk_errors(root), locked(inside / "lock", name):
        if fresh:
            _clear(root)
        elif _is_bare(root):
            manifest_of(root).unlink()
        _remove_leftovers(root)
        for folder in (_PARTS, SPOOL):
            (root / folder).mkdir(parents=True)
        stored = manifest_of(root)
        asked = {"format": _FORMAT, **manifest, "versions": versions()}
        if stored.exists():
            _check_same(_read_manifest(stored), asked, name)
        else:
            _check_described(root)
            sealed = {**asked, "checksum": _checksum(asked)}
            place(root, stored, lambda part: part.write_text(json.dumps(sealed, indent=1) + "\n"))
        for path, content in _descriptions().items():
            if not (root / path).is_file() or (verify and (root / path).read_bytes() != content):
                place(root, root / path, partial(_write_bytes, content))
        store = Store(root)
        if not store.journal.files and not store.journal.segments:
            _check_described(root)
        store.journal.drop_torn_line()
        store.settle()
        lost = store.damaged(thorough=verify)
        if lost:
            store.journal.redo(lost)
        yield store, lost
        _remove_leftovers(root)


def _descriptions() -> dict[str, bytes]:
    """Return the files that tell zarr what is in a store, by path.

    zarr warns of files that it does not know in a group, and does not look for any in an array.
    """
    hidden = _zarr.array((0,), (1,), "float64", {"is": "work of torelli"})
    return {"zarr.json": _zarr.group(), f"{INSIDE}/zarr.json": hidden}


def _remove_leftovers(root: Path) -> None:
    """Remove temporary files of dead workers."""
    for folder in (_PARTS, SPOOL):
        shutil.rmtree(root / folder, ignore_errors=True)


def versions() -> dict[str, str]:
    """Return the versions that the last bits of numbers depend on."""
    releases = {"torelli": __version__, "numpy": version("numpy"), "scipy": version("scipy")}
    return {name: ".".join(release.split(".")[:2]) for name, release in releases.items()}


def place(root: Path, target: Path, write: Callable[[Path], object]) -> None:
    """Write a file completely or not at all; the next owner of the store removes what a kill leaves."""
    temporary = root / _PARTS / uuid4().hex
    with explain_disk_errors(target):
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)


def _write_bytes(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _clear(root: Path) -> None:
    """Remove everything but the lock.

    The journal goes first and the manifest last: what a kill leaves is never taken for finished files, nor
    for files that were made with other options.
    """
    journal_of(root).unlink(missing_ok=True)
    for path in (*root.iterdir(), *(root / INSIDE).iterdir()):
        if path.name in {INSIDE, "lock", "manifest.json"}:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    manifest_of(root).unlink(missing_ok=True)


def _is_bare(root: Path) -> bool:
    """Return whether nothing was computed, as after a first call that failed: its options bind nobody."""
    journal = journal_of(root)
    noted = journal.is_file() and journal.stat().st_size > 0
    return manifest_of(root).is_file() and not noted and not _has_numbers(root)


def _has_numbers(root: Path) -> bool:
    return any((root / path).exists() for path in _NUMBERS)


def _check_described(root: Path) -> None:
    """Raise if a store that has no manifest, or nothing in its journal, has numbers all the same."""
    journal = journal_of(root)
    lost = "journal" if manifest_of(root).is_file() else "manifest"
    noted = lost == "manifest" and journal.is_file() and journal.stat().st_size > 0
    if noted or ((root / INSIDE).is_dir() and _has_numbers(root)):
        raise FormatError(f"{shortened(str(root), 400)}: its {lost} is lost; {_DAMAGED}")


def _checksum(manifest: Mapping[str, Any]) -> str:
    return checksum(json.dumps(manifest, sort_keys=True).encode())


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a manifest, or raise if it has changed since it was written."""
    try:
        manifest = parse_object(path.read_bytes(), str(path))
    except FormatError as error:
        raise FormatError(f"{error}; {_DAMAGED}") from error
    if manifest.pop("checksum", None) != _checksum(manifest):
        raise FormatError(f"{path}: its checksum is wrong; {_DAMAGED}")
    return manifest


def _check_same(stored: Mapping[str, Any], asked: Mapping[str, Any], name: str) -> None:
    if stored.get("kind") != asked.get("kind"):
        raise StoreError(
            f"{name} is a store of {_plain(stored.get('kind'))}; choose another name, or start over with "
            "--fresh (in Python: fresh=True)"
        )
    different = [
        f"{key} is {_plain(ours)} there and {_plain(theirs)} here"
        for key, ours, theirs in _differences(stored, asked)
    ]
    if different:
        more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
        raise StoreError(
            f"{name} was made in another way: {'; '.join(different[:_SHOWN])}{more}; use the same, choose "
            "another name, or start over with --fresh (in Python: fresh=True)"
        )


def _differences(
    stored: Mapping[str, Any], asked: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    for key in dict.fromkeys((*stored, *asked)):
        ours, theirs = stored.get(key), asked.get(key)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            yield from _differences(ours, theirs, "versions of " if key == "versions" else "")
        elif ours != theirs:
            yield prefix + key, ours, theirs


def _plain(value: object) -> str:
    return shortened("none" if value is None else str(value))
