"""Folders of arrays with a manifest of checksums."""

from __future__ import annotations

import numpy as np
import pytest

from torelli._errors import FormatError
from torelli.search._storage import StoredFolder, write_folder


def test_arrays_and_files_are_read_back(tmp_path):
    """Arrays of any size, empty ones too, and files are what was written."""
    arrays = {"a": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 4)), "i": np.array([1, 2])}
    write_folder(tmp_path / "x", {"k": 1}, arrays, {"text.txt": lambda path: path.write_text("hello")})
    stored = StoredFolder(tmp_path / "x", verify=True)
    for name, array in arrays.items():
        assert stored.array(name).tolist() == array.tolist()
        assert stored.array(name).shape == array.shape
    assert stored.file("text.txt").read_text() == "hello"
    assert stored.about["k"] == 1
    assert "a.npy" in stored
    assert "b.npy" not in stored


def test_writing_again_leaves_nothing_behind(tmp_path):
    """An index written over another one has no arrays of the old one."""
    write_folder(tmp_path, {}, {"old": np.zeros(2), "both": np.zeros(2)}, {})
    write_folder(tmp_path, {}, {"both": np.ones(3)}, {})
    assert {file.name for file in tmp_path.iterdir()} == {"both.npy", "index.json"}
    assert StoredFolder(tmp_path, verify=True).array("both").tolist() == [1.0] * 3


def test_failed_writing_keeps_the_old(tmp_path):
    """An error while files are written leaves the folder as it was."""
    write_folder(tmp_path, {"k": 1}, {"a": np.zeros(2)}, {})

    def fail(path):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="space"):
        write_folder(tmp_path, {"k": 2}, {"a": np.ones(2)}, {"b": fail})
    stored = StoredFolder(tmp_path, verify=True)
    assert stored.about["k"] == 1
    assert stored.array("a").tolist() == [0.0, 0.0]


def test_checksums_are_compared_if_asked(tmp_path):
    """A changed byte is noticed with verify, and a changed size always."""
    write_folder(tmp_path, {}, {"a": np.zeros(4)}, {})
    path = tmp_path / "a.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\1")
    with pytest.raises(FormatError, match="checksum"):
        StoredFolder(tmp_path, verify=True).array("a")
    assert StoredFolder(tmp_path, verify=False).array("a")[-1] != 0.0
    path.write_bytes(content[:-1])
    with pytest.raises(FormatError, match="bytes"):
        StoredFolder(tmp_path, verify=False).array("a")


def test_objects_are_never_unpickled(tmp_path):
    """An array of objects, which only a pickle holds, is refused."""

    def write(path):
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)

    write_folder(tmp_path, {}, {}, {"a.npy": write})
    with pytest.raises(FormatError, match=r"a\.npy"):
        StoredFolder(tmp_path, verify=True).array("a")


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3.0).astype(">f8"),
        np.array(["a"]),
        np.array([True]),
        np.array([1j]),
    ],
)
def test_arrays_of_other_kinds_are_refused(tmp_path, array):
    """Only C-ordered floats and integers of this machine's byte order are arrays of an index."""
    write_folder(tmp_path, {}, {}, {"a.npy": lambda path: np.save(path, array)})
    with pytest.raises(FormatError, match="not an array of numbers"):
        StoredFolder(tmp_path, verify=True).array("a")


def test_files_outside_the_manifest_are_not_read(tmp_path):
    """A file that the manifest does not list is not part of the index."""
    write_folder(tmp_path, {}, {"a": np.zeros(4)}, {})
    np.save(tmp_path / "b.npy", np.zeros(2))
    with pytest.raises(FormatError, match="lists no b"):
        StoredFolder(tmp_path, verify=True).array("b")
