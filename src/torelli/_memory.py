"""Checks that refuse a request before it starts if its result cannot fit in memory."""

from __future__ import annotations

import os
from functools import wraps
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from torelli._errors import RequestTooLargeError

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")

# for each version of cgroups: limit, usage, and the part of the usage that is reclaimable cache
_CGROUP_V2 = ("memory.max", "memory.current", "inactive_file")
_CGROUP_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_PREFIX = 1000  # from bytes to kilobytes, and so on
_NO_LIMIT = 2**60  # version 1 writes at least this if there is no limit
_SMALL = 10**6  # bytes; checking free memory takes longer than allocating this


def available_bytes(root: Path = Path("/")) -> int | None:
    """Return the number of bytes that this process can still allocate, or None if it is not known.

    It is the minimum of the machine's free memory, of what each control group of the process and each
    group above it may still use, and of what ``ulimit -v`` and ``ulimit -d`` leave. `root` is the folder
    of the file systems ``proc`` and ``sys``.
    """
    limits = [*_machine(root), *_cgroups(root), *_process_limits(root)]
    return max(0, min(limits)) if limits else None


def _machine(root: Path) -> Iterator[int]:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        yield from (1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except OSError:
        try:
            yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        except (AttributeError, ValueError, OSError):
            return


def _cgroups(root: Path) -> Iterator[int]:
    """Yield the bytes that each control group of this process, and each group above it, may still use."""
    mount = root / "sys/fs/cgroup"
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts, files = [mount, mount / "unified"], _CGROUP_V2
        elif "memory" in controllers.split(","):
            mounts, files = [mount / "memory"], _CGROUP_V1
        else:
            continue
        # in a container the host's path does not exist; its own group is then the root of the mount
        inside = PurePosixPath(path.lstrip("/"))
        for folder in (inside, *inside.parents):
            for base in mounts:
                yield from _left_in(base / folder, *files)


def _left_in(folder: Path, limit: str, usage: str, cache: str) -> Iterator[int]:
    try:
        allowed = int((folder / limit).read_text(encoding="ascii"))
        if allowed >= _NO_LIMIT:
            return
        used = int((folder / usage).read_text(encoding="ascii"))
    except (OSError, ValueError):  # version 2 writes "max" if there is no limit
        return
    try:
        statistics = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        used -= sum(int(line.split()[1]) for line in statistics if line.startswith(cache + " "))
    except (OSError, ValueError):  # then the cache counts as used
        pass
    yield allowed - used


def _process_limits(root: Path) -> Iterator[int]:
    """Yield the bytes that the limits on this process's address space and data segment leave."""
    if resource is None:
        return
    try:
        pages = (root / "proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        allowed = resource.getrlimit(limit)[0]
        if allowed != resource.RLIM_INFINITY:
            yield allowed - int(used) * resource.getpagesize()


def require(n_bytes: int, request: str, remedy: str) -> None:
    """Raise an error if `n_bytes` are not available, with the figure and the option that helps."""
    available = available_bytes() if n_bytes > _SMALL else None
    if available is not None and n_bytes > available:
        raise RequestTooLargeError(
            f"{request} would take {size(n_bytes)}, {size(available)} are free: {remedy}"
        )


def refused_if_too_large(request: str, remedy: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that turns a failed allocation into the error of `require`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*arguments: P.args, **options: P.kwargs) -> R:
            try:
                return function(*arguments, **options)
            except RequestTooLargeError:
                raise
            except MemoryError as error:
                why = " ".join(str(error).split())  # numpy gives the size of its request
                if not why:
                    available = available_bytes()
                    free = "" if available is None else f", {size(available)} are free"
                    why = f"an allocation failed{free}"
                raise RequestTooLargeError(f"{request} cannot fit in memory ({why}): {remedy}") from error

        return call

    return decorate


def size(n_bytes: float) -> str:
    """Return a number of bytes in readable form, such as '1.5 GB'."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < _PREFIX:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= _PREFIX
    return f"{n_bytes:,.3g} TB"
