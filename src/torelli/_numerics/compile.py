"""Decorators that compile functions with numba, and the cache of their machine code on disk."""

from __future__ import annotations

import ctypes
import hashlib
import pickle
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from torelli._errors import CacheWarning, warn
from torelli._numerics import linking
from torelli._numerics.linking import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

F = TypeVar("F", bound="Callable[..., Any]")

_DIGEST = 32  # bytes
_PLAIN = (bool, int, float, str, tuple, np.generic)
_warned: set[str] = set()


_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy"}


def compiled(function: F) -> F:
    """Return a function compiled on its first call, cached on disk, that releases the GIL.

    Python threads run the chunks of work in parallel. This needs none of numba's threading layers, is
    safe under fork and inside other thread pools, and stops on Ctrl-C between chunks.
    """
    return _entry(function, _OPTIONS)


def compiled_with_fma(function: F) -> F:
    """Return the same as `compiled`, but let the compiler use fused multiply-add and reorder sums."""
    return _entry(function, {**_OPTIONS, "fastmath": {"contract", "reassoc"}})


def _entry(function: F, options: dict[str, Any]) -> F:
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return np.errstate(all="ignore")(function)  # compiled code does not warn of overflow
    entry = Entry(function, {}, options)
    entry._cache = CodeCache(function)  # type: ignore[attr-defined]
    return cast("F", entry)


class CodeCache:
    """A cache of machine code with numba's interface, whose failures never stop a computation.

    Numba's own cache raises if the disk is full, if a file cannot be read, and if no folder is writable.
    Here the function is compiled anyway, and one `CacheWarning` gives the reason.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.failure: Exception | None = None
        self.cache: Any = NullCache()
        try:
            self.cache = FunctionCache(function)
            self.cache._cache_file = CodeFiles(self.cache, function)
        except (OSError, RuntimeError) as failure:
            self.failure = failure

    @property
    def cache_path(self) -> str | None:
        """The cache folder, or None if there is none."""
        path: str | None = self.cache.cache_path
        return path

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, or None if it must be compiled."""
        try:
            return self.cache.load_overload(signature, target)
        except Exception as failure:  # noqa: BLE001  (a broken file may raise anything)
            _warn_once("read", failure)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save the code for a signature."""
        try:
            if self.failure is not None:
                raise self.failure  # noqa: TRY301  (one place that warns)
            self.cache.save_overload(signature, result)
        except Exception as failure:  # noqa: BLE001  (as above)
            _warn_once("write", failure)

    def enable(self) -> None:
        """Enable the cache."""
        self.cache.enable()

    def disable(self) -> None:
        """Disable the cache."""
        self.cache.disable()

    def flush(self) -> None:
        """Do nothing: compiling a function overwrites its file."""


def _warn_once(action: str, failure: Exception) -> None:
    """Warn about the first failure to read and the first failure to write."""
    if action in _warned:
        return
    _warned.add(action)
    reason = f"{type(failure).__name__}: {failure}"
    if action == "read":
        message = f"cached machine code cannot be read, so it is compiled again ({reason})"
    else:
        message = (
            f"machine code cannot be cached on disk ({reason}): every new process compiles it again. Free "
            "disk space, or set NUMBA_CACHE_DIR to a writable folder"
        )
    warn(message, CacheWarning)


class CodeFiles(IndexDataCacheFile):
    """The machine code of one function, in one file for each signature; a damaged file is not used.

    A file starts with a digest of its content, followed by a digest of the sources it was compiled from.
    Numba keeps an index beside its files and checks only the source of the function itself. So it would
    run a damaged file, a file of an older version after an incomplete write, and outdated code of
    functions in other modules that were inlined into this one.
    """

    def __init__(self, cache: Any, function: Callable[..., Any]) -> None:
        self.function = function
        self.base: Path = Path(cache.cache_path) / cache._impl.filename_base

    def load(self, key: Any) -> Any:
        """Return the data saved for a key, or None if there is none or the sources have changed."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        rest = content[_DIGEST:]
        if content[:_DIGEST] != _digest(rest):
            raise OSError(f"{path} is damaged")
        if rest[:_DIGEST] != self._sources():
            return None
        return pickle.loads(rest[_DIGEST:])  # noqa: S301  (our own file, checked above)

    def save(self, key: Any, data: Any) -> None:
        """Write the file for a key atomically."""
        rest = self._sources() + self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(str(self._path(key))) as file:
            file.write(_digest(rest) + rest)

    def _path(self, key: Any) -> Path:
        return self.base.with_name(f"{self.base.name}.{_digest(repr(key).encode()).hex()[:16]}.nbc")

    def _sources(self) -> bytes:
        """Return a digest of everything the code depends on: the files of called functions, and constants."""
        state = hashlib.sha256(numba.__version__.encode())
        for own in (__file__, linking.__file__):
            state.update(_digest_of_file(own))
        seen = {self.function}
        waiting = [self.function]
        while waiting:
            function = waiting.pop()
            state.update(_digest_of_file(function.__code__.co_filename))
            for name in function.__code__.co_names:
                value = function.__globals__.get(name)
                if isinstance(value, _PLAIN):
                    state.update(f"{name} {value!r}".encode())
                elif isinstance(value, Dispatcher) and value.py_func not in seen:
                    seen.add(value.py_func)
                    waiting.append(value.py_func)
        return state.digest()


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


@cache
def _digest_of_file(path: str) -> bytes:
    return _digest(Path(path).read_bytes())


def _typed_pointer(_typing_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(address), generate


def _plain_pointer(address: int) -> Any:
    return ctypes.cast(int(address), ctypes.POINTER(ctypes.c_double))


_pointer = _plain_pointer if numba.config.DISABLE_JIT else intrinsic(_typed_pointer)  # type: ignore[attr-defined]


@compiled
def matrix_at(address: int, size: int) -> NDArray[np.float64]:
    """Return the C-ordered matrix at an address; compiled code takes addresses instead of lists of arrays."""
    return numba.carray(_pointer(address), (size, size), np.float64)  # type: ignore[attr-defined, call-arg]
