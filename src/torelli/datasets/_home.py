"""Where data lies: folders that the user names, a checkout's neighbour, the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from torelli._errors import DataNotFoundError

_HERE = Path(__file__).resolve()


def data_folders() -> list[Path]:
    """Return the folders that may hold the shared data, first the one to be preferred.

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
        With every place that was looked at.
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
