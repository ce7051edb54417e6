"""Arrays and files of an index as a folder with a manifest of checksums; nothing in it is run when loaded."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, quoted, shortened
from torelli._files import parse_object, settle, whole_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MANIFEST = "index.json"
_FORMAT, _VERSION = "torelli index", 1
_MOST_BYTES = 2**24  # of a manifest
_BLOCK = 2**22
_REMEDY = "copy it again, or make it again with `torelli index`"


def write_folder(
    folder: Path,
    about: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    files: Mapping[str, Callable[[Path], object]],
) -> None:
    """Write arrays, files and facts to a folder; all of them appear at once, or none.

    Parameters
    ----------
    folder
        The folder.
    about
        Plain values.
    arrays
        Arrays by name.
    files
        Functions that write a file of the name they have here.
    """
    with whole_folder(folder) as part:
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", np.ascontiguousarray(array), allow_pickle=False)
        for name, write in files.items():
            write(part / name)
        sums = {
            file.name: {"bytes": file.stat().st_size, "sha256": _sha256(file)}
            for file in sorted(part.iterdir())
        }
        manifest = {"format": _FORMAT, "version": _VERSION, **about, "files": sums}
        manifest["checksum"] = _checksum(manifest)
        (part / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    for old in folder.glob("*.npy"):
        if old.name not in sums:
            old.unlink()


class StoredFolder:
    """A folder that `write_folder` wrote; its manifest is checked, its files are checked when asked for.

    Parameters
    ----------
    folder
        The folder.
    verify
        Whether to compare the content of files with their checksums, which reads them whole.
    """

    def __init__(self, folder: Path, *, verify: bool) -> None:
        self.folder, self.verify = folder, verify
        if not (folder / MANIFEST).is_file() and not folder.is_dir():
            raise DataNotFoundError(f"there is no index {shortened(str(folder), 400)}; check the path")
        settle(folder)
        source = folder / MANIFEST
        if not source.is_file():
            raise DataNotFoundError(
                f"{shortened(str(folder), 400)} is not an index: it has no {MANIFEST}; "
                "make one with `torelli index`"
            )
        if source.stat().st_size > _MOST_BYTES:
            raise FormatError(f"{MANIFEST}: larger than the manifest of any index; {_REMEDY}")
        self.about = parse_object(source.read_bytes(), MANIFEST)
        if self.about.get("format") != _FORMAT:
            raise FormatError(f"{MANIFEST}: not the manifest of an index; {_REMEDY}")
        if self.about.get("version") != _VERSION:
            raise FormatError(
                f"{MANIFEST}: version {shortened(str(self.about.get('version')))} of the format, and this "
                f"version of torelli reads version {_VERSION}; make the index again"
            )
        if self.about.get("checksum") != _checksum(self.about):
            raise FormatError(f"{MANIFEST}: its checksum is wrong; {_REMEDY}")
        if not isinstance(self.about.get("files"), dict):
            raise FormatError(f"{MANIFEST}: it lists no files; {_REMEDY}")

    def __contains__(self, name: str) -> bool:
        return name in self.about["files"]

    def file(self, name: str) -> Path:
        """Return the path of a file of the manifest, once its size and checksum are right."""
        path, facts = self.folder / name, self.about["files"].get(name)
        if not isinstance(facts, dict):
            raise FormatError(f"{MANIFEST}: it lists no {name}; {_REMEDY}")
        if not path.is_file():
            raise FormatError(f"{name}: missing from the index; {_REMEDY}")
        n_bytes = path.stat().st_size
        if n_bytes != facts.get("bytes"):
            listed = quoted(facts.get("bytes"))
            raise FormatError(f"{name}: it has {n_bytes} bytes, and the manifest lists {listed}; {_REMEDY}")
        if self.verify and _sha256(path) != facts.get("sha256"):
            raise FormatError(f"{name}: its checksum is wrong; {_REMEDY}")
        return path

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, memory-mapped and read-only."""
        path = self.file(f"{name}.npy")
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError, SyntaxError) as error:
            # an array without entries cannot be mapped
            array = _read_empty(path, error)
        if not array.flags.c_contiguous or array.dtype.kind not in "fi" or not array.dtype.isnative:
            raise FormatError(f"{path.name}: not an array of numbers that torelli wrote; {_REMEDY}")
        # indexing a numpy.memmap makes a new one each time, which is slow
        return np.asarray(array)


def _read_empty(path: Path, error: Exception) -> NDArray[Any]:
    """Return an array without entries; raise what stopped the mapping for any other."""
    try:
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    except (ValueError, OSError, EOFError, SyntaxError):
        shape, dtype = (1,), np.dtype(float)
    if 0 not in shape or dtype.hasobject:
        raise FormatError(f"{path.name}: {shortened(str(error))}; {_REMEDY}") from error
    return np.empty(shape, dtype)


def _sha256(path: Path) -> str:
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def _checksum(manifest: Mapping[str, Any]) -> str:
    facts = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
