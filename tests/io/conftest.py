"""What the tests of readers share: where real data is, and small files of every format."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data; tests that need it are skipped where it is missing."""
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("TORELLI_DATA", root.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}: set TORELLI_DATA")
    return folder
