"""The one way in which functions are compiled here, and how their machine code is kept on disk."""

from __future__ import annotations

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

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

F = TypeVar("F", bound="Callable[..., Any]")

_DIGEST = 32  # bytes
_PLAIN = (bool, int, float, str, tuple, np.generic)
_told: set[str] = set()


def compiled(function: F) -> F:
    """Compile on first call, keep the machine code on disk, and release the GIL while it runs.

    Parallelism is by Python threads over chunks of work: that needs no threading layer of
    numba's, is safe under fork and inside other thread pools, and stops on Ctrl-C between chunks.
    """
    return cast("F", _kept_on_disk(numba.njit(function, nogil=True, error_model="numpy")))


def compiled_with_fma(function: F) -> F:
    """Compile as `compiled`; products may be added without rounding, and sums taken in another order."""
    options = {"contract", "reassoc"}
    return cast("F", _kept_on_disk(numba.njit(function, nogil=True, error_model="numpy", fastmath=options)))


def _kept_on_disk(dispatcher: Any) -> Any:
    if isinstance(dispatcher, Dispatcher):  # a plain function where NUMBA_DISABLE_JIT is set
        dispatcher._cache = CodeCache(dispatcher.py_func)  # type: ignore[attr-defined]  # noqa: SLF001
    return dispatcher


class CodeCache:
    """Machine code on disk as numba asks for it; what fails here never stops a computation.

    Numba's own cache raises on a full disk, a file that cannot be read, and where no folder can be
    written. Here the function is compiled all the same, and a `CacheWarning` says so once.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.failure: Exception | None = None
        self.cache: Any = NullCache()
        try:
            self.cache = FunctionCache(function)  # type: ignore[no-untyped-call]
            self.cache._cache_file = CodeFiles(self.cache, function)  # noqa: SLF001  (numba has no other way)
        except (OSError, RuntimeError) as failure:
            self.failure = failure

    @property
    def cache_path(self) -> str | None:
        """The folder, None if there is none."""
        path: str | None = self.cache.cache_path
        return path

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, None if it has to be compiled."""
        try:
            return self.cache.load_overload(signature, target)
        except Exception as failure:  # noqa: BLE001  (whatever a broken file leads to)
            _tell("read", failure)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature."""
        try:
            if self.failure is not None:
                raise self.failure  # noqa: TRY301  (one place to say it)
            self.cache.save_overload(signature, result)
        except Exception as failure:  # noqa: BLE001  (as above)
            _tell("write", failure)

    def enable(self) -> None:
        """Use the cache."""
        self.cache.enable()

    def disable(self) -> None:
        """Do not use the cache."""
        self.cache.disable()

    def flush(self) -> None:
        """Compile what has been kept anew; a file is overwritten when its function is compiled."""


def _tell(what: str, failure: Exception) -> None:
    """Warn of the first failure to read, and of the first to write."""
    if what in _told:
        return
    _told.add(what)
    reason = f"{type(failure).__name__}: {failure}"
    if what == "read":
        message = f"compiled code on disk cannot be read and is compiled again ({reason})"
    else:
        message = (
            f"compiled code cannot be kept on disk ({reason}): every new process compiles it again. Free "
            "disk space, or set NUMBA_CACHE_DIR to a folder that can be written"
        )
    warn(message, CacheWarning)


class CodeFiles(IndexDataCacheFile):
    """The machine code of one function: a file for each signature, which is whole or not used.

    A file begins with the digest of the rest, and goes on with that of the sources it was compiled
    from. Numba keeps an index beside its files and looks at the source of the function alone: it runs
    a damaged file, the file of an older version if a write failed half-way, and old code of functions in
    other modules that were compiled into this one.
    """

    def __init__(self, cache: Any, function: Callable[..., Any]) -> None:
        self.function = function
        self.base: Path = Path(cache.cache_path) / cache._impl.filename_base  # noqa: SLF001

    def load(self, key: Any) -> Any:
        """Return what was saved for a key, None if nothing was or if sources have changed."""
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
        return pickle.loads(rest[_DIGEST:])  # noqa: S301  (our own file, and whole)

    def save(self, key: Any, data: Any) -> None:
        """Write the file for a key; it appears whole or not at all."""
        rest = self._sources() + self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(str(self._path(key))) as file:
            file.write(_digest(rest) + rest)

    def _path(self, key: Any) -> Path:
        return self.base.with_name(f"{self.base.name}.{_digest(repr(key).encode()).hex()[:16]}.nbc")

    def _sources(self) -> bytes:
        """Return a digest of all that decides the code: files of functions that are called, and constants."""
        state = hashlib.sha256(numba.__version__.encode() + _digest_of_file(__file__))
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


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:  # noqa: ARG001  (numba asks for this form)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(address), generate


@compiled
def matrix_at(address: int, size: int) -> NDArray[np.float64]:
    """Return the matrix in C order at an address, in compiled code, which takes no lists of arrays."""
    return numba.carray(_pointer(address), (size, size), np.float64)  # type: ignore[attr-defined, call-arg]
