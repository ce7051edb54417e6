"""The text files of a TU data set, from a folder or a zip: bounded, and nothing is ever unpacked to disk."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from torelli._errors import DataNotFoundError, FormatError, quoted, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from torelli.io.files import Budget

MAX_MEMBERS = 10_000
MAX_INFLATED = 1024**3  # the largest of the paper's sets has a tenth of this
MAX_RATIO = 200  # the sets of the TU site shrink 5 to 10 times
_SMALL = 16 * 1024**2  # below this any ratio is harmless
_PARSED = 12  # bytes for each byte of text while its numbers are read, at most
_ADJACENCY = "_A.txt"


class Archive:
    """A TU data set on disk.

    Attributes
    ----------
    path
        The folder or zip.
    name
        Name of the data set: what stands before ``_A.txt``.
    """

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        self.path = path
        self._budget = budget
        if path.is_dir():
            sizes = {entry.name: entry.stat().st_size for entry in path.iterdir() if entry.is_file()}
            inner = path / path.name
            if inner.is_dir() and not any(name.endswith(_ADJACENCY) for name in sizes):
                self.path = path = inner
                sizes = {entry.name: entry.stat().st_size for entry in path.iterdir() if entry.is_file()}
            self._read: Callable[[str], bytes] = lambda name: (path / name).read_bytes()
        elif path.is_file():
            sizes = _zip_sizes(path)
            self._read = lambda name: _read_member(path, name)
        else:
            raise DataNotFoundError(f"there is no TU data set at {path}: give a folder or a zip")
        self._sizes = sizes
        found = [name for name in sizes if name.endswith(_ADJACENCY)]
        if len(found) != 1:
            problem = f"has {len(found)} files named ..._A.txt" if found else "has no file NAME_A.txt"
            raise FormatError(f"{path} {problem}, so it is not one data set in the TU format")
        self._prefix = found[0].removesuffix(_ADJACENCY)
        self.name = PurePosixPath(self._prefix).name

    def __contains__(self, part: str) -> bool:
        return self._member(part) in self._sizes

    def text(self, part: str) -> bytes:
        """Return the content of one part, such as ``"A"`` or ``"graph_labels"``."""
        member = self._member(part)
        if member not in self._sizes:
            raise FormatError(
                f"{self.path} has no file {shortened(PurePosixPath(member).name)}, which the TU format needs"
            )
        if self._sizes[member] > MAX_INFLATED:
            raise FormatError(
                f"{self.path}: {shortened(member)} has more than {MAX_INFLATED:,} bytes: that is no data set"
            )
        if self._budget is not None:
            self._budget.check(_PARSED * self._sizes[member])
        return self._read(member)

    def label(self, part: str) -> str:
        """Return how to name a part in messages."""
        return f"{self.path}: {shortened(PurePosixPath(self._member(part)).name)}"

    def description(self) -> str | None:
        """Return the text of the set's README, if it has one."""
        folder = PurePosixPath(self._prefix).parent
        for name in self._sizes:
            at = PurePosixPath(name)
            if at.parent == folder and at.name.lower() == "readme.txt":
                return self._read(name).decode("utf-8", "replace")
        return None

    def _member(self, part: str) -> str:
        return f"{self._prefix}_{part}.txt"


def check_zip(path: Path) -> None:
    """Raise `FormatError` unless a file is a sound zip of a TU data set; every checksum in it is tried."""
    archive = Archive(path)
    for part in ("A", "graph_indicator", "graph_labels"):
        archive.text(part)


def _zip_sizes(path: Path) -> dict[str, int]:
    """Return the inflated size of each member, after looking for what no honest zip has."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise FormatError(f"{path} is not a sound zip: {shortened(str(error), 300)}") from error
    if len(members) > MAX_MEMBERS:
        raise FormatError(f"{path} has {len(members):,} members: that is no data set")
    for member in members:
        at = PurePosixPath(member.filename.replace("\\", "/"))
        if at.is_absolute() or ".." in at.parts or ":" in member.filename.partition("/")[0]:
            raise FormatError(f"{path}: the member {quoted(member.filename)} points outside of its folder")
        too_dense = member.file_size > MAX_RATIO * max(member.compress_size, 1)
        if member.file_size > _SMALL and too_dense:
            raise FormatError(
                f"{path}: the member {quoted(member.filename)} would inflate {member.compress_size:,} to "
                f"{member.file_size:,} bytes: that is no data set"
            )
    total = sum(member.file_size for member in members)
    if total > MAX_INFLATED:
        raise FormatError(f"{path} would inflate to {total:,} bytes: that is no data set")
    return {member.filename: member.file_size for member in members}


def _read_member(path: Path, name: str) -> bytes:
    # read(size) rather than read(): a member that inflates to more than it declares is stopped there
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            return file.read(archive.getinfo(name).file_size)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError) as error:
        raise FormatError(
            f"{path}: the member {quoted(name)} cannot be read: {shortened(str(error), 300)}"
        ) from error
