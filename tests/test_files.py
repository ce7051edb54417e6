"""Files that appear whole or not at all."""

from __future__ import annotations

import os

import pytest

import torelli as tt
from torelli._files import parse_object, require_folder, settle, whole_folder, write_whole


def content(folder):
    """Return all files below a folder with what they hold."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    """An interruption while writing leaves what was there before, and no part of the new file."""

    def write(part):
        part.write_text("half")
        raise KeyboardInterrupt

    for before in ({}, {"file": "old"}):
        for name, text in before.items():
            (tmp_path / name).write_text(text)
        with pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "file", write)
        assert content(tmp_path) == before


def test_a_file_that_is_replaced_keeps_its_permissions_and_links(tmp_path):
    """A file that replaces another is as private as that, a new one as open as any; a link stays a link."""
    os.umask(umask := os.umask(0))
    write_whole(tmp_path / "file", lambda part: part.write_text("one"))
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", lambda part: part.write_text("two"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "two"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_what_is_no_file_is_written_to_directly(tmp_path):
    """A device or a pipe stays what it is."""
    (tmp_path / "link").symlink_to(os.devnull)
    write_whole(tmp_path / "link", lambda part: part.write_text("text"))
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path) == ["link"]  # noqa: PTH208  (names)


def write_two(folder, text):
    with whole_folder(folder) as part:
        (part / "a").write_text(text)
        (part / "b").write_text(text)


def test_the_files_of_a_folder_appear_together(tmp_path):
    """New files replace those of their names, through a link too; other files stay as they are."""
    target = tmp_path / "real"
    os.umask(umask := os.umask(0))
    write_two(target, "one")
    assert {(target / name).stat().st_mode & 0o777 for name in "ab"} == {0o666 & ~umask}
    assert target.stat().st_mode & 0o777 == 0o777 & ~umask
    (target / "mine").write_text("mine")
    (target / "a").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    write_two(tmp_path / "link", "two")
    assert content(target) == {"a": "two", "b": "two", "mine": "mine"}
    assert (target / "a").stat().st_mode & 0o777 == 0o600


def test_an_error_leaves_the_files_of_before(tmp_path):
    """What fails between two files leaves the old ones, and nothing else."""

    def fail():
        with whole_folder(tmp_path) as part:
            (part / "a").write_text("two")
            raise KeyboardInterrupt

    write_two(tmp_path, "one")
    with pytest.raises(KeyboardInterrupt):
        fail()
    assert content(tmp_path) == {"a": "one", "b": "one"}


def test_what_a_killed_process_left_is_cleared_away(tmp_path):
    """Half-written files are removed by the next run; complete ones count, and are moved to their places."""
    write_two(tmp_path, "one")
    (tmp_path / ".torelli-writing-x").mkdir()
    (tmp_path / ".torelli-writing-x" / "a").write_text("half")
    (tmp_path / ".torelli-written").mkdir()
    (tmp_path / ".torelli-written" / "b").write_text("two")
    settle(tmp_path)
    assert content(tmp_path) == {"a": "one", "b": "two", ".torelli-writing-x/a": "half"}
    write_two(tmp_path, "three")
    assert content(tmp_path) == {"a": "three", "b": "three"}


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path):
    """A file or a dangling link in its place is an error that names it."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "deep")
    for name in ("file", "link", "file/below"):
        with pytest.raises(tt.InvalidOptionError, match=f"cannot write to the folder .*{name}"):
            require_folder(tmp_path / name)
    require_folder(tmp_path / "new" / "folder")
    assert os.listdir(tmp_path / "new" / "folder") == []  # noqa: PTH208  (names)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "NaN",
        "1" * 10**5,
        '{"a": ' + "1" * 10**5 + "}",
        "[" * 10**5,
        b"\xff\xfe\x00",
        b"\0",
    ],
)
def test_json_that_is_no_object_is_told(text):
    """Whatever is wrong is one error of this package, with the place."""
    with pytest.raises(tt.FormatError, match="file, line 3: not"):
        parse_object(text, "file, line 3")
