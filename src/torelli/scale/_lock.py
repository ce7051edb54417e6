"""The lock of a store: one process writes to it, and others are told which."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from torelli._errors import StoreError, quoted

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def locked(path: Path, store_name: str) -> Iterator[None]:
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
            raise StoreError(f"{store_name} is being written by {_described(owner)}; wait until it ends")
        if owner is not None and owner.get("host") != here["host"]:
            raise StoreError(
                f"{store_name} is locked by {_described(owner)}; if that process has ended, remove {path}"
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
    seconds = max(0.0, time.time() - float(owner.get("since", 0.0)))
    age = next(
        f"{seconds / unit:.0f} {name}"
        for unit, name in ((3600, "hours"), (60, "minutes"), (1, "seconds"))
        if seconds >= 2 * unit or unit == 1
    )
    return f"process {owner.get('pid')} on {quoted(owner.get('host'))}, for {age}"
