"""Cache of the squared distances that were computed, in this process and in those that share a folder."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from torelli._errors import CacheWarning, InvalidOptionError, shortened, warn
from torelli._provenance import machine

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from torelli._types import Floats
    from torelli.graph import MetricGraph

_ABOUT = struct.Struct("<8s32sdq")  # format, key, up to where the values are exact, and how many there are
_FORMAT = b"torelli1"
_DIGEST = 32  # bytes before, of the digest of everything that follows
_HEADER = _DIGEST + _ABOUT.size
_SUFFIX, _PART = ".distances", ".part"
_LEFT_BEHIND = 3600.0  # seconds after which a file that a killed process did not finish is removed

FOLDER_VARIABLE, LIMIT_VARIABLE = "TORELLI_DISTANCE_CACHE", "TORELLI_DISTANCE_CACHE_BYTES"
_SHARED_BYTES = 2**32
_MOST_OF_A_PATH = 400
_PLAIN = (str, bytes, bool, int, float, type(None))


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
        Largest total size of the files; the least recently used are removed first. Processes that write at
        the same moment may exceed it by one file each.
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
        """Remove unfinished files, and the least recently used files until one of some size fits."""
        kept = []
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):  # another process may be removing files at the same time
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


class DistanceCache:
    """Squared distances between lists of graphs; the least recently used are dropped first.

    A grid search over gamma and C, or the optimiser of a Gaussian process, asks for the same
    distances many times. The key is the content of the graphs, so that copies made by scikit-learn hit as
    well. A hit is bit for bit what would be computed.

    Parameters
    ----------
    limit_bytes
        Largest size of the cache; 0 turns it off.
    """

    def __init__(self, limit_bytes: int = 2**30) -> None:
        self.limit_bytes = limit_bytes
        self._kept: OrderedDict[Hashable, tuple[Floats, float]] = OrderedDict()
        self._lock = Lock()
        self._shared: SharedFolder | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes in use."""
        return sum(values.nbytes for values, _ in self._kept.values())

    def clear(self) -> None:
        """Forget everything; files of a shared folder stay."""
        with self._lock:
            self._kept.clear()

    def share(self, folder: str | os.PathLike[str] | None, *, limit_bytes: int = _SHARED_BYTES) -> None:
        """Keep distances also in a folder, where other processes find them.

        Workers of ``GridSearchCV(n_jobs=2)`` then compute the distances of a fold once among them, and the
        next run computes nothing. Processes that are started later inherit the folder through the
        environment variables ``TORELLI_DISTANCE_CACHE`` and ``TORELLI_DISTANCE_CACHE_BYTES``, which can be
        set in a shell instead. Idle workers of joblib end, because they do not know it yet.

        Only kernels of this package are shared. Results of another version of this package, of numpy, scipy
        or numba, or of another processor are not used: a hit is bit for bit what would be computed.

        Parameters
        ----------
        folder
            A folder that all processes can reach, and that only people you trust can write to; None ends the
            sharing.
        limit_bytes
            Largest total size of the files; the least recently used are removed first. Processes that write
            at the same moment may exceed it by one file each.

        Raises
        ------
        InvalidOptionError
            If there is no such folder and it cannot be created.

        Warns
        -----
        CacheWarning
            Once, when a file cannot be read or written; the distances are then computed.
        """
        for variable in (FOLDER_VARIABLE, LIMIT_VARIABLE):
            os.environ.pop(variable, None)
        if folder is not None:
            path = Path(folder).expanduser().absolute()
            try:
                path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                name = shortened(str(path), _MOST_OF_A_PATH)
                raise InvalidOptionError(f"cannot share the folder {name} ({error.strerror})") from error
            os.environ[FOLDER_VARIABLE], os.environ[LIMIT_VARIABLE] = str(path), str(int(limit_bytes))
        self._share_as_environment_says()
        _end_idle_workers()

    def _share_as_environment_says(self) -> None:
        folder = os.environ.get(FOLDER_VARIABLE)
        self._shared = None
        if folder:
            limit = os.environ.get(LIMIT_VARIABLE, "")
            self._shared = SharedFolder(Path(folder), int(limit) if limit.isdecimal() else _SHARED_BYTES)

    def squared(
        self,
        options: Hashable,
        X: Sequence[MetricGraph],
        Y: Sequence[MetricGraph] | None,
        compute: Callable[[], tuple[Floats, float]],
        cutoff: float = np.inf,
        *,
        shared: bool = False,
    ) -> Floats:
        """Return squared distances from memory or from the shared folder, or compute and keep them.

        `compute` returns squared distances and up to which square they are exact; those above may be lower
        bounds. They serve later calls with a `cutoff` up to there. `shared` says that the code which
        computes them is this package's own, so that its version tells whether a file is outdated.
        """
        from scipy.spatial.distance import squareform

        key = (options, fingerprint(X), None if Y is None else fingerprint(Y))
        is_triangle = Y is None and len(X) > 1
        shape = (len(X), len(X if Y is None else Y))
        with self._lock:
            kept, exact_to = self._kept.get(key, (None, 0.0))
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is not None and cutoff <= exact_to:
            return squareform(kept) if is_triangle else kept.copy()
        folder = self._shared if shared and _is_plain(options) else None
        name = b"" if folder is None else _file_key(key)
        if folder is not None:
            n_values = shape[0] * (shape[0] - 1) // 2 if is_triangle else shape[0] * shape[1]
            stored = folder.load(name, n_values)
            if stored is not None and cutoff <= stored[1]:
                compact = stored[0] if is_triangle else stored[0].reshape(shape)
                self._keep(key, compact, stored[1])
                return squareform(compact) if is_triangle else compact.copy()
        squared, exact_to = compute()
        compact = squareform(squared, checks=False) if is_triangle else squared.copy()
        self._keep(key, compact, exact_to)
        if folder is not None:
            folder.save(name, compact, exact_to)
        return squared

    def _keep(self, key: Hashable, compact: Floats, exact_to: float) -> None:
        if compact.nbytes <= self.limit_bytes:
            with self._lock:
                self._kept[key] = compact, exact_to
                while self.n_bytes > self.limit_bytes:
                    self._kept.popitem(last=False)


def fingerprint(graphs: Sequence[MetricGraph]) -> bytes:
    """Return a digest of the content of graphs, in their order."""
    return blake2b(b"".join(graph.digest for graph in graphs), digest_size=16).digest()


def _file_key(key: Hashable) -> bytes:
    """Return a digest of a key and of the code, for the name of a file."""
    return blake2b(environment() + repr(key).encode(), digest_size=32).digest()


def _is_plain(options: Hashable) -> bool:
    """Whether the text of options tells them apart in every process."""
    if isinstance(options, tuple):
        return all(map(_is_plain, options))
    return isinstance(options, _PLAIN)


def _end_idle_workers() -> None:
    """End the worker processes that joblib keeps for the next call; it then starts new ones."""
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    executor = getattr(loky, "_executor", None)
    if executor is not None:
        executor.shutdown(wait=True)


distance_cache = DistanceCache()
"""The cache that the kernels of this process share."""
distance_cache._share_as_environment_says()  # noqa: SLF001  (a process that another has started)
