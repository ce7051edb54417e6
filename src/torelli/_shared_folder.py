"""Arrays in a folder that several processes share."""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from torelli._errors import CacheWarning, warn
from torelli._provenance import machine

if TYPE_CHECKING:
    from torelli._types import Floats

_ABOUT = struct.Struct("<8s32sdq")  # format, key, up to where the values are exact, and how many there are
_FORMAT = b"torelli1"
_DIGEST = 32  # bytes before, of the digest of everything that follows
_HEADER = _DIGEST + _ABOUT.size
_SUFFIX, _PART = ".distances", ".part"
_LEFT_BEHIND = 3600.0  # seconds after which a file that a killed process did not finish is removed


class SharedFolder:
    """Arrays by key in a folder, for any number of processes at once; no failure stops a computation.

    An array is a file that appears whole or not at all, so that no locks are needed. A file begins with a
    digest of its content: one that is damaged is not used, and removed. If a file cannot be written or
    read, one `CacheWarning` in each process gives the reason.

    Parameters
    ----------
    folder
        The folder; it is created with the first file.
    limit_bytes
        Most bytes of all files; those that were not used for longest are removed first. Processes that
        write at the same moment may exceed it, each by one file.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes
        self._warned: set[str] = set()

    def load(self, key: bytes, n_values: int) -> tuple[Floats, float] | None:
        """Return the values of a key, and up to where they are exact, or None if they must be computed."""
        path = self._path(key)
        try:
            with path.open("rb") as file:
                stored = _read(file, key, n_values)
            if stored is None:
                path.unlink(missing_ok=True)
                self._warn_once("damaged", f"{path} is damaged")
            else:
                with suppress(OSError):  # only the order of removal depends on it
                    os.utime(path)
        except FileNotFoundError:
            return None
        except OSError as failure:
            self._warn_once("read", str(failure))
            return None
        return stored

    def save(self, key: bytes, values: Floats, exact_to: float) -> None:
        """Write the values of a key, up to where they are exact, unless the folder has better ones."""
        path = self._path(key)
        body = np.ascontiguousarray(values, dtype="<f8").reshape(-1)
        size = _HEADER + body.nbytes
        if size > self.limit_bytes:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if _exact_to(path) < exact_to:
                self._make_room(size)
                part = path.with_name(f"{path.stem}.{os.getpid()}.{os.urandom(4).hex()}{_PART}")
                try:
                    with part.open("xb") as file:
                        about = _ABOUT.pack(_FORMAT, key, exact_to, body.size)
                        file.write(_digest(about, body) + about)
                        file.write(body.data)
                    part.replace(path)
                finally:
                    part.unlink(missing_ok=True)
        except OSError as failure:
            self._warn_once("write", str(failure))

    def _path(self, key: bytes) -> Path:
        return self.folder / f"{key.hex()}{_SUFFIX}"

    def _make_room(self, size: int) -> None:
        """Remove what was not used for longest until a file of some size fits, and what was left behind."""
        kept = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):  # another process may be removing files, too
                if entry.name.endswith(_SUFFIX):
                    about = entry.stat()
                    kept.append((about.st_mtime_ns, about.st_size, entry.path))
                elif entry.name.endswith(_PART) and entry.stat().st_mtime < time.time() - _LEFT_BEHIND:
                    Path(entry.path).unlink(missing_ok=True)
        size += sum(of_one for _, of_one, _ in kept)
        for _, of_one, path in sorted(kept):
            if size <= self.limit_bytes:
                return
            Path(path).unlink(missing_ok=True)
            size -= of_one

    def _warn_once(self, action: str, reason: str) -> None:
        if action not in self._warned:
            self._warned.add(action)
            verb = "written to" if action == "write" else "read from"
            warn(
                f"distances cannot be {verb} the shared folder ({reason}): they are computed instead",
                CacheWarning,
            )


def _digest(about: bytes, body: Floats) -> bytes:
    state = blake2b(about, digest_size=_DIGEST)
    state.update(body.data)
    return state.digest()


def _read(file: BinaryIO, key: bytes, n_values: int) -> tuple[Floats, float] | None:
    """Return the values in a file and up to where they are exact, or None if the file is damaged."""
    body: Floats = np.empty(n_values, dtype="<f8")
    if os.fstat(file.fileno()).st_size != _HEADER + body.nbytes:
        return None
    digest, about = file.read(_DIGEST), file.read(_ABOUT.size)
    if file.readinto(body.data) != body.nbytes or digest != _digest(about, body):  # type: ignore[attr-defined]
        return None
    of_format, of_key, exact_to, count = _ABOUT.unpack(about)
    if (of_format, of_key, count) != (_FORMAT, key, n_values):
        return None
    return body.astype(np.float64, copy=False), exact_to


def _exact_to(path: Path) -> float:
    """Return up to where the values in a file are exact, by its header alone; -1 if there is no file."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        return -1.0
    return float(_ABOUT.unpack(header[_DIGEST:])[2]) if len(header) == _HEADER else -1.0


@cache
def environment() -> bytes:
    """Return a digest of what distances depend on besides graphs and options, to the last bit.

    That is the source of this package, the libraries it computes with, and the processor.
    """
    about = machine()
    state = blake2b(about["cpu"].encode(), digest_size=16)
    for package in ("numpy", "scipy", "numba"):
        state.update(f" {package} {about['versions'][package]}".encode())
    package_folder = Path(__file__).parent
    for source in sorted(package_folder.rglob("*.py")):
        state.update(str(source.relative_to(package_folder)).encode() + source.read_bytes())
    return state.digest()
