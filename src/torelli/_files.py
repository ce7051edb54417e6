"""Atomic writing of files: they appear complete or not at all, even if the process is killed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torelli._errors import FormatError, InvalidOptionError, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WRITING, _WRITTEN = ".torelli-writing-", ".torelli-written"
_MOST_OF_A_PATH = 400


def write_whole(target: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically: `write` fills a temporary file, which replaces `target` once complete.

    A link stays a link, to the new file. A target that is not a regular file, such as a pipe, is written
    directly.
    """
    if target.exists() and not target.is_file():
        write(target)
        return
    target = Path(os.path.realpath(target))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_WRITING) as folder:
        part = Path(folder, target.name)
        write(part)
        _sync(part)
        _move(part, target)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder to write files to; all of them replace their namesakes in `folder` at once.

    Other files in `folder` do not change. The temporary folder lies in `folder`, and the new files are
    valid from the moment it is renamed to its final name. If the process is killed before that, the old
    files stay. If it is killed later, while it moves the new files to their places, `settle` continues.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settle(folder)
    for left in folder.glob(f"{_WRITING}*"):
        shutil.rmtree(left, ignore_errors=True)
    part = Path(tempfile.mkdtemp(dir=folder, prefix=_WRITING))
    try:
        yield part
        for file in part.iterdir():
            _sync(file)
        part.rename(folder / _WRITTEN)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    settle(folder)


def settle(folder: Path) -> None:
    """Move the new files to their places if `whole_folder` was killed while it moved them."""
    written = folder / _WRITTEN
    if written.is_dir():
        for file in sorted(written.iterdir()):
            _move(file, folder / file.name)
        written.rmdir()


def require_folder(folder: Path) -> None:
    """Create a folder, and raise an error if it is not writable: before hours of computing, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        name = shortened(str(folder), _MOST_OF_A_PATH)
        raise InvalidOptionError(
            f"cannot write to the folder {name} ({error.strerror}): choose another one"
        ) from error


def parse_object(text: str | bytes, where: str) -> dict[str, Any]:
    """Return a JSON object, or raise a `FormatError` that names `where` the text comes from."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not valid JSON ({shortened(str(error))})") from error
    if not isinstance(value, dict):
        raise FormatError(f"{where}: not a JSON object")
    return value


def _sync(file: Path) -> None:
    """Force the content of a file to disk, so that a power cut does not leave an empty file."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


def _move(part: Path, target: Path) -> None:
    """Move a file to its place, with the permissions of the file that it replaces."""
    with suppress(FileNotFoundError):
        shutil.copymode(target, part)
    part.replace(target)
