"""Collections that are many files of a public repository: their download, and the index made of it.

Each file is taken at a fixed commit and compared with its checksum in ``checksums/NAME.sha256``, which is
in the format of ``sha256sum``. An archive of the repository would be one download, but its bytes may change.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import zipfile
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from torelli._errors import FormatError
from torelli._files import write_whole
from torelli._numerics.threads import ProgressLine
from torelli.datasets.storage import download, verify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    Rows = Sequence[Mapping[str, str]]

RAW = "https://raw.githubusercontent.com"
CHECKSUMS: Traversable = files("torelli.datasets") / "checksums"

_HEAD = re.compile(r"# Files of https://github\.com/(\S+) \(\w+\) at the commit ([0-9a-f]{40})")
_CLASSES = re.compile(
    r"classified as ([\w-]+ [\w-]+) by Hw\w+ & Lansey(?: et al\.)? \(2017\) and (?:(\w+) by )?Hoagland"
)
_PICTURES = re.compile(r"static/benchmarks/([\w.-]+)/")
_COLUMNS = ("file", "hoagland", "hwang_lansey")
_SPECIMENS = "cell_types_specimen_details.csv"


class _Repository(NamedTuple):
    """Where the files of a collection are, and the checksum of each by its path there."""

    address: str
    sha256: dict[str, str]


def download_collection(name: str, folder: Path) -> Path:
    """Download the files of a collection, and write its archive and index; return the archive.

    Files that were downloaded before an interruption are not downloaded again. The archive is written
    last: where it is, all of the collection is.
    """
    source = _source(name)
    parts = folder / "parts"
    show = ProgressLine(f"downloading {name}")
    contents: dict[str, bytes] = {}
    for done, (path, sha256) in enumerate(source.sha256.items(), 1):
        part = parts / path.replace("/", "_")
        if part.is_file():
            verify(part, sha256)
        else:
            download(f"{source.address}/{quote(path)}", part, check=lambda _: None, sha256=sha256)
        contents[path] = part.read_bytes()
        show(done / len(source.sha256))
    rows, suffix = {"water": (water_index, ".inp"), "neurons": (neuron_index, ".swc")}[name]
    index = rows(contents)

    def write_index(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(index[0]))
            table.writeheader()
            table.writerows(index)

    def write_archive(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in contents.items():
                if member.lower().endswith(suffix):
                    archive.writestr(PurePosixPath(member).name, content)

    write_whole(folder / "index.csv", write_index)
    archive = folder / f"{suffix[1:]}.zip"
    write_whole(archive, write_archive)
    shutil.rmtree(parts)
    return archive


def water_index(contents: Mapping[str, bytes]) -> Rows:
    """Return a row for each network of the Water Benchmark Hub, with the classes that its page states.

    A page belongs to the networks in the folders of its pictures.
    """
    classes: dict[str, tuple[str, str]] = {}
    for path, content in contents.items():
        if path.endswith(".md"):
            text = content.decode("utf-8")
            stated = _CLASSES.search(" ".join(text.split()))
            if stated:
                classes |= dict.fromkeys(_PICTURES.findall(text), (stated[2] or "", stated[1]))
    networks = [PurePosixPath(path) for path in contents if path.lower().endswith(".inp")]
    return [
        dict(zip(_COLUMNS, (path.name, *classes.get(path.parent.name, ("", ""))), strict=True))
        for path in sorted(networks, key=lambda path: path.name)
    ]


def neuron_index(contents: Mapping[str, bytes]) -> Rows:
    """Return the row of each neuron in the table of specimens of the Allen Institute."""
    table = next(content for path, content in contents.items() if path.endswith(_SPECIMENS))
    rows = {row["specimen__id"]: row for row in csv.DictReader(io.StringIO(table.decode("utf-8")))}
    return [rows[PurePosixPath(path).stem] for path in sorted(contents) if path.endswith(".swc")]


def _source(name: str) -> _Repository:
    """Return what the list of checksums of a collection says."""
    head, *lines = (CHECKSUMS / f"{name}.sha256").read_text(encoding="utf-8").splitlines()
    stated = _HEAD.fullmatch(head)
    if stated is None:
        raise FormatError(f"{name}.sha256: the first line does not name a repository and a commit")
    sha256 = {path: checksum for checksum, _, path in (line.partition("  ") for line in lines)}
    return _Repository(f"{RAW}/{stated[1]}/{stated[2]}", sha256)
