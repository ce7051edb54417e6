"""Check wheel and source archive: size, and what they must and must not contain.

Run with ``python docs/check_release.py dist``.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

MOST_BYTES = 1_000_000


def faults(folder: Path) -> list[str]:
    """Return what is wrong with the files of a release, one line each."""
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    found = []
    if wheel.stat().st_size > MOST_BYTES:
        found.append(f"{wheel.name} has {wheel.stat().st_size:,} bytes, more than {MOST_BYTES:,}")
    inside = zipfile.ZipFile(wheel).namelist()
    found += [f"{wheel.name} lacks {name}" for name in ("torelli/py.typed",) if name not in inside]
    found += [f"{wheel.name} has {name}" for name in inside if not name.startswith("torelli")]
    with tarfile.open(source) as archive:
        names = archive.getnames()
    top = source.name.removesuffix(".tar.gz")
    wanted = ("README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "tests/test_package.py")
    found += [f"{source.name} lacks {name}" for name in wanted if f"{top}/{name}" not in names]
    return found


if __name__ == "__main__":
    dist = Path(sys.argv[1])
    problems = faults(dist)
    sizes = [f"{path.name}: {path.stat().st_size:,} bytes" for path in sorted(dist.iterdir())]
    print("\n".join(problems or sizes))
    sys.exit(bool(problems))
