"""A store: a folder whose files are finished one by one, by any number of workers, and never half.

A worker writes a file under a temporary name (`write_part`) and reports its size and checksum. The owner of
the store alone renames it and notes it in the journal (`Store.commit`). So a kill at any moment, of worker or
owner, leaves finished files and rubbish that the next owner removes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from contextlib import contextmanager
from hashlib import blake2b
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from torelli._errors import FormatError, StoreError, shortened
from torelli._files import parse_object
from torelli._version import __version__
from torelli.scale import _zarr
from torelli.scale._journal import Entry, Journal, locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

INSIDE = "_torelli"
"""Folder of a store with what is not part of the result: the manifest, the journal and representations."""

_FORMAT = 1
_FULL = {errno.ENOSPC, errno.EFBIG, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
_ATTEMPTS, _PAUSE = 20, 0.1  # of a reader while a file is replaced
_SHOWN = 5
_PARTS = f"{INSIDE}/parts"
SPOOL = f"{INSIDE}/spool"


class Part(NamedTuple):
    """A file that is written and not yet in its place: its path in the store and its temporary name."""

    path: str
    temporary: str
    entry: Entry


def manifest_of(root: Path) -> Path:
    """Return the file that says how a store was made."""
    return root / INSIDE / "manifest.json"


def checksum(content: bytes) -> str:
    """Return the checksum of bytes as text."""
    return blake2b(content, digest_size=16).hexdigest()


def entry_of(content: bytes) -> Entry:
    """Return what the journal says of a finished file."""
    return Entry(len(content), checksum(content))


def write_part(root: Path, path: str, content: bytes) -> Part:
    """Write a file of a store under a temporary name; the owner of the store puts it in its place."""
    temporary = root / _PARTS / uuid4().hex
    with told(root), temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return Part(path, temporary.name, entry_of(content))


@contextmanager
def told(root: Path) -> Iterator[None]:
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
            problem = "is not a store of torelli" if root.exists() else "does not exist"
            raise StoreError(f"{shortened(str(root), 400)} {problem}")
        self.manifest = _read_manifest(path)
        if self.manifest.get("format") != _FORMAT:
            raise FormatError(
                f"{path}: format {self.manifest.get('format')}, and this version reads {_FORMAT}"
            )
        self.journal = Journal(root / INSIDE / "journal.jsonl")

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
        raise FormatError(
            f"{shortened(str(self.root), 400)}: {path} {problem}; run the command that made the store again, "
            "with --verify"
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
        with told(self.root):
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
            with told(self.root):
                self.journal.redo(paths)
                for path in paths:
                    (self.root / path).unlink(missing_ok=True)

    def settle(self) -> None:
        """Find out which of two contents each file has that a dead owner was replacing; for the owner."""
        for path in list(self.journal.replacing):
            try:
                found = entry_of((self.root / path).read_bytes())
            except FileNotFoundError:
                found = None
            if found is not None and found in {self.journal.files.get(path), self.journal.replacing[path]}:
                self.journal.finish({path: found})
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
    with told(root):
        if root.exists() and not root.is_dir():
            raise StoreError(f"{name} is a file; choose another name")
        if root.is_dir() and not inside.is_dir() and any(root.iterdir()):
            raise StoreError(f"{name} is a folder of something else; choose another name")
        inside.mkdir(parents=True, exist_ok=True)
    with told(root), locked(inside / "lock", name):
        if fresh:
            _clear(root)
        _remove_rubbish(root)
        for folder in (_PARTS, SPOOL):
            (root / folder).mkdir(parents=True)
        stored = manifest_of(root)
        asked = {"format": _FORMAT, **manifest, "versions": versions()}
        if stored.exists():
            _check_same(_read_manifest(stored), asked, name)
        else:
            # zarr warns of files that it does not know in a group, and does not look for any in an array
            metadata = _zarr.array((0,), (1,), "float64", {"is": "work of torelli"})
            place(root, root / "zarr.json", lambda part: part.write_bytes(_zarr.group()))
            place(root, inside / "zarr.json", lambda part: part.write_bytes(metadata))
            sealed = {**asked, "checksum": _checksum(asked)}
            place(root, stored, lambda part: part.write_text(json.dumps(sealed, indent=1) + "\n"))
        store = Store(root)
        store.journal.drop_torn_line()
        store.settle()
        lost = store.damaged(thorough=verify)
        if lost:
            store.journal.redo(lost)
        yield store, lost
        _remove_rubbish(root)


def _remove_rubbish(root: Path) -> None:
    """Remove what dead workers have left."""
    for folder in (_PARTS, SPOOL):
        shutil.rmtree(root / folder, ignore_errors=True)


def versions() -> dict[str, str]:
    """Return the versions that the last bits of numbers depend on."""
    found = {"torelli": __version__, "numpy": version("numpy"), "scipy": version("scipy")}
    return {name: ".".join(release.split(".")[:2]) for name, release in found.items()}


def place(root: Path, target: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all; what a kill leaves of it, the next owner of the store removes."""
    temporary = root / _PARTS / uuid4().hex
    with told(target):
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)


def _clear(root: Path) -> None:
    """Remove everything but the lock, the manifest first, so that a kill leaves no store with lost tiles."""
    manifest_of(root).unlink(missing_ok=True)
    for path in (*root.iterdir(), *(root / INSIDE).iterdir()):
        if path.name in {INSIDE, "lock"}:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def _checksum(manifest: Mapping[str, Any]) -> str:
    return checksum(json.dumps(manifest, sort_keys=True).encode())


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a manifest, or raise if it has changed since it was written."""
    manifest = parse_object(path.read_bytes(), str(path))
    if manifest.pop("checksum", None) != _checksum(manifest):
        raise FormatError(
            f"{path}: its checksum is wrong; restore it from a copy, or start over with --fresh"
        )
    return manifest


def _check_same(stored: Mapping[str, Any], asked: Mapping[str, Any], name: str) -> None:
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
