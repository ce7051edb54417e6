"""Folders of data on this machine, and downloads: each file is downloaded once, checked and kept.

Downloads are our own code, not pooch: most sets have no checksum that is known in advance. For those, pooch
1.9 stores a file before its content can be checked, and never notices that a stored file has changed.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from torelli._errors import DataNotFoundError, FormatError, InvalidOptionError, quoted
from torelli._files import write_whole
from torelli._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_BYTES = 2 * 1024**3
_CHUNK = 1 << 20
_FIRST_REFUSED, _FIRST_BROKEN, _TOO_MANY = 400, 500, 429
_HERE = Path(__file__).resolve()


def data_folders() -> list[Path]:
    """Return the folders that may hold the shared data, the preferred one first.

    ``TORELLI_DATA`` if it is set, else ``../shared/data`` seen from the checkout and from the current
    folder.
    """
    if os.environ.get("TORELLI_DATA"):
        return [Path(os.environ["TORELLI_DATA"])]
    folders = []
    checkout = _HERE.parents[3]
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout.parent / "shared" / "data")
    folders.append(Path.cwd().parent / "shared" / "data")
    return list(dict.fromkeys(folders))


def shared_data(*parts: str) -> Path:
    """Return a file or folder of the shared data.

    Raises
    ------
    DataNotFoundError
        If it is not found; the message lists every place that was searched.
    """
    tried = [folder.joinpath(*parts) for folder in data_folders()]
    for path in tried:
        if path.exists():
            return path
    places = "\n  ".join(map(str, tried))
    raise DataNotFoundError(
        f"{'/'.join(parts)} was not found, looked at\n  {places}\n"
        "set the environment variable TORELLI_DATA to the folder that holds it"
    )


def cache_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for what is downloaded: `data_home`, or the user's cache; it need not exist."""
    if data_home is not None:
        return Path(data_home).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "torelli"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "torelli"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "torelli"


def download(
    url: str,
    target: Path,
    *,
    check: Callable[[Path], None],
    sha256: str | None = None,
    attempts: int = 4,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """Download a file, and record its SHA-256 beside it.

    Parameters
    ----------
    url
        Address, http or https.
    target
        Where the file goes. It appears there whole and checked, or not at all.
    check
        Called with the path of the downloaded file; raises `FormatError` if the file is not valid.
    sha256
        The checksum that the file must have, if it is known.
    attempts
        Number of attempts. A download is not tried again if the server does not have the file, or if the
        server's name cannot be resolved.
    pause
        Seconds before the second attempt; each later pause is twice as long.
    timeout
        Seconds without an answer after which an attempt is given up.

    Raises
    ------
    DataNotFoundError
        If all attempts fail; the message says what happened in each, and how to get the file by hand.
    """
    import http.client
    import socket
    import urllib.error

    if urlsplit(url).scheme not in {"http", "https"}:
        raise InvalidOptionError(f"cannot download from {quoted(url)}: use an address with http or https")
    target.parent.mkdir(parents=True, exist_ok=True)
    failures: list[str] = []
    for attempt in range(attempts):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            return _attempt(url, target, check, sha256, timeout)
        except DataNotFoundError:
            raise
        except urllib.error.HTTPError as error:
            failures.append(f"the server answered {error.code} {error.reason}")
            if _FIRST_REFUSED <= error.code < _FIRST_BROKEN and error.code != _TOO_MANY:
                break
        except (OSError, http.client.HTTPException, FormatError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            failures.append(str(reason) or type(error).__name__)
            if isinstance(reason, socket.gaierror):
                break
    tried = "\n  ".join(f"attempt {i}: {failure}" for i, failure in enumerate(failures, 1))
    raise DataNotFoundError(
        f"could not download {url}\n  {tried}\n"
        f"without a network: get the file by hand, from there or from a mirror, and put it at {target}"
    )


def verify(path: Path, sha256: str | None = None) -> None:
    """Check a file against a checksum, or else against the one recorded when it was downloaded.

    A file without a record was put there by hand and is trusted.
    """
    record = _record(path)
    expected = sha256 or (record.read_text(encoding="ascii").split()[0] if record.is_file() else None)
    if expected is None:
        return
    actual = _sha256(path)
    if actual != expected.lower():
        raise FormatError(
            f"{path}: SHA-256 is {actual}, expected {expected.lower()}; the file has changed or is damaged, "
            "delete it and load the data set again"
        )


@contextmanager
def unpacked(archive: Path, suffix: str) -> Iterator[dict[str, Path]]:
    """Yield the files of a zip or tar archive with a suffix by their names, sorted, in a temporary folder.

    Folders inside the archive are ignored, and the suffix is matched in any case.

    Raises
    ------
    FormatError
        If the archive is damaged or too large, does not contain the file, or contains a name twice.
    """
    with tempfile.TemporaryDirectory(prefix="torelli-") as folder:
        files: dict[str, Path] = {}
        size = 0
        try:
            for name, stream in _members(archive, suffix):
                if name in files:
                    raise FormatError(f"{archive}: it has two files {quoted(name)}; get it again")
                files[name] = Path(folder, name)
                with stream, files[name].open("wb") as out:
                    while chunk := stream.read(_CHUNK):
                        size += len(chunk)
                        if size > MAX_BYTES:
                            raise FormatError(f"{archive}: it unpacks to more than {MAX_BYTES:,} bytes")
                        out.write(chunk)
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError) as error:
            raise FormatError(f"{archive}: not a complete archive ({error}); get it again") from error
        if not files:
            raise FormatError(f"{archive}: it has no {suffix} files")
        yield dict(sorted(files.items()))


def _members(archive: Path, suffix: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the last part of the name and the content of each file with a suffix."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                name = PurePosixPath(entry.filename).name
                if not entry.is_dir() and name.lower().endswith(suffix) and not name.startswith("."):
                    yield name, packed.open(entry)
        return
    with tarfile.open(archive) as rolled:
        for member in rolled:
            name = PurePosixPath(member.name).name
            stream = rolled.extractfile(member) if member.isfile() else None
            if stream is not None and name.lower().endswith(suffix) and not name.startswith("."):
                yield name, stream


def _attempt(
    url: str, target: Path, check: Callable[[Path], None], sha256: str | None, timeout: float
) -> Path:
    def fill(part: Path) -> None:
        _stream(url, part, timeout)
        actual = _sha256(part)
        if sha256 is not None and actual != sha256.lower():
            raise FormatError(f"SHA-256 is {actual}, expected {sha256.lower()}")
        check(part)

        def fill_record(path: Path) -> None:
            path.write_text(f"{actual}\n", encoding="ascii")

        # the record is written first, because a file without one counts as put there by hand
        write_whole(_record(target), fill_record)

    write_whole(target, fill)
    return target


def _stream(url: str, part: Path, timeout: float) -> None:
    import urllib.request

    request = urllib.request.Request(url, headers={"User-Agent": f"torelli/{__version__}"})  # noqa: S310  (the scheme is checked)
    size = 0
    with urllib.request.urlopen(request, timeout=timeout) as answer, part.open("wb") as file:  # noqa: S310  (the same)
        announced = answer.headers.get("Content-Length")
        while chunk := answer.read(_CHUNK):
            size += len(chunk)
            if size > MAX_BYTES:
                raise DataNotFoundError(f"{url} is larger than {MAX_BYTES:,} bytes: that is not a data set")
            file.write(chunk)
    if announced is not None and announced.isdigit() and size != int(announced):
        raise FormatError(f"the transfer ended after {size:,} of {int(announced):,} bytes")


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
