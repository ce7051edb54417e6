"""Zip archives from anywhere: their members, within limits that no honest archive of graphs exceeds."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from torelli._errors import FormatError, quoted, shortened

if TYPE_CHECKING:
    from pathlib import Path

MAX_MEMBERS = 10_000
MAX_INFLATED = 1024**3  # the largest of the paper's sets has a tenth of this
MAX_RATIO = 200  # the sets of the TU site shrink 5 to 10 times
_SMALL = 16 * 1024**2  # below this any ratio is harmless


def zip_sizes(path: Path) -> dict[str, int]:
    """Return the inflated size of each member, after refusing what no honest zip has."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise FormatError(f"{path} is not a valid zip: {shortened(str(error), 300)}") from error
    if len(members) > MAX_MEMBERS:
        raise FormatError(f"{path} has {len(members):,} members: that is not a data set")
    for member in members:
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if name.is_absolute() or ".." in name.parts or ":" in member.filename.partition("/")[0]:
            raise FormatError(f"{path}: the member {quoted(member.filename)} points outside its folder")
        too_dense = member.file_size > MAX_RATIO * max(member.compress_size, 1)
        if member.file_size > _SMALL and too_dense:
            raise FormatError(
                f"{path}: the member {quoted(member.filename)} would inflate {member.compress_size:,} to "
                f"{member.file_size:,} bytes: that is not a data set"
            )
    total = sum(member.file_size for member in members)
    if total > MAX_INFLATED:
        raise FormatError(f"{path} would inflate to {total:,} bytes: that is not a data set")
    return {member.filename: member.file_size for member in members}


def read_member(path: Path, name: str) -> bytes:
    """Return the content of one member."""
    # read(size) rather than read(): a member that inflates to more than it declares is stopped there
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            return file.read(archive.getinfo(name).file_size)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, OSError) as error:
        raise FormatError(
            f"{path}: the member {quoted(name)} cannot be read: {shortened(str(error), 300)}"
        ) from error
