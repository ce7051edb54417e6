"""Stores: files that are finished one by one, and what is refused."""

from __future__ import annotations

import os
import resource
import signal
from contextlib import contextmanager

import pytest

import torelli as tt
from stores import content
from torelli.scale._store import INSIDE, Store, checksum, write_part, writing

MANIFEST = {"kind": "test", "dtype": "float64", "options": {"seed": 0, "depth": None}}


def make(root, files):
    """Make a store with some files."""
    with writing(root, MANIFEST) as (store, _):
        for path, text in files.items():
            store.put(path, text)
    return Store(root)


def test_files_are_there_once_they_are_committed(tmp_path):
    """A file that is only written is not part of the store; one that is committed is."""
    with writing(tmp_path / "s", MANIFEST) as (store, lost):
        part = write_part(store.root, "x/y", b"text")
        assert "x/y" not in store
        assert not (store.root / "x").exists()
        store.commit([part])
        assert lost == []
    assert Store(tmp_path / "s").read("x/y") == b"text"


def test_rubbish_of_a_dead_writer_is_removed(tmp_path):
    """What was written and never committed is gone when the next writer begins."""
    make(tmp_path / "s", {"a": b"a"})
    parts = tmp_path / "s" / INSIDE / "parts"
    parts.mkdir()
    write_part(tmp_path / "s", "b", b"b")
    with writing(tmp_path / "s", MANIFEST) as (store, _):
        assert not list(parts.iterdir())
        write_part(store.root, "c", b"c")
    assert not parts.exists()


@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_damage_is_an_error_and_is_found(tmp_path, damage):
    """A file that is cut, changed or missing is never returned; verifying finds it."""
    store = make(tmp_path / "s", {"a": b"some content", "b": b"b"})
    path = tmp_path / "s" / "a"
    text = path.read_bytes()
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes(text[:-1] if damage == "cut" else bytes([text[0] ^ 1]) + text[1:])
    with pytest.raises(tt.FormatError, match=r"s: a (has|is) .*; run the command .* --verify"):
        store.read("a")
    assert store.damaged(thorough=True) == ["a"]
    with writing(tmp_path / "s", MANIFEST, verify=True) as (again, lost):
        assert lost == ["a"]
        assert "a" not in again
        assert again.read("b") == b"b"


def test_other_options_are_refused_by_name(tmp_path):
    """The error names each option that differs, with both values."""
    make(tmp_path / "s", {})
    other = {**MANIFEST, "dtype": "float32", "options": {"seed": 0, "depth": 3}}
    with (
        pytest.raises(
            tt.StoreError, match="dtype is float64 there and float32 here; depth is none there and 3"
        ),
        writing(tmp_path / "s", other),
    ):
        pass


def test_other_versions_are_refused_by_name(tmp_path, monkeypatch):
    """Numbers of two versions of a library are not mixed."""
    make(tmp_path / "s", {})
    monkeypatch.setattr("torelli.scale._store.version", lambda _: "1.0.3")
    with (
        pytest.raises(tt.StoreError, match=r"versions of numpy is .* there and 1\.0 here"),
        writing(tmp_path / "s", MANIFEST),
    ):
        pass


def test_fresh_removes_everything(tmp_path):
    """Starting over leaves nothing of before, and takes other options."""
    make(tmp_path / "s", {"x/a": b"a"})
    with writing(tmp_path / "s", {**MANIFEST, "dtype": "float32"}, fresh=True) as (store, _):
        assert not store.journal.files
    assert set(content(tmp_path / "s")) == {"zarr.json", f"{INSIDE}/zarr.json", f"{INSIDE}/manifest.json"}


def test_what_is_not_a_store_is_left_alone(tmp_path):
    """A folder or file of something else is refused, with fresh too, and does not change."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("folder", "file"):
        refused = pytest.raises(tt.StoreError, match=r"is a (file|folder of something else); choose another")
        with refused, writing(tmp_path / name, MANIFEST, fresh=True):
            pass
    assert (tmp_path / "folder" / "thesis.tex").read_text() == "mine"
    with pytest.raises(tt.StoreError, match="does not exist"):
        Store(tmp_path / "nothing")


@contextmanager
def small_disk(n_bytes):
    """Let no file grow beyond a size, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_is_told_and_keeps_what_is_finished(tmp_path):
    """Where a file cannot be written, the error says so, and the store holds what was committed."""
    with writing(tmp_path / "s", MANIFEST) as (store, _):
        store.put("a", b"a")
        told = pytest.raises(
            tt.StoreError, match=r"the disk is full \(.*\); finished tiles are kept: make room"
        )
        with told, small_disk(20_000):
            store.put("b", bytes(40_000))
        store.put("c", b"c")
    store = Store(tmp_path / "s")
    assert [store.read(path) for path in "ac"] == [b"a", b"c"]
    assert "b" not in store


def test_a_folder_that_is_not_writable_is_told(tmp_path, monkeypatch):
    """A read-only place is an error before anything is computed."""

    def refuse(*_, **__):
        raise PermissionError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.mkdir", refuse)
    with (
        pytest.raises(tt.StoreError, match=r"cannot be written \(Read-only file system\); choose another"),
        writing(tmp_path / "s", MANIFEST),
    ):
        pass


def test_a_reader_waits_while_a_file_is_replaced(tmp_path, monkeypatch):
    """Between a new file and its line in the journal, a reader tries again."""
    with writing(tmp_path / "s", MANIFEST) as (store, _):
        store.put("a", b"old")
        reader = Store(tmp_path / "s")
        part = write_part(store.root, "a", b"new")
        os.replace(store.root / INSIDE / "parts" / part.temporary, store.root / "a")  # noqa: PTH105

        def then_note(_):
            store.journal.finish({"a": part.entry})

        monkeypatch.setattr("torelli.scale._store.time.sleep", then_note)
        assert reader.read("a") == b"new"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_kill_while_a_file_is_replaced_loses_neither_content(tmp_path, replaced):
    """Before and after the new file is in its place, a reader and the next owner have a whole file."""
    make(tmp_path / "s", {"a": b"old"})
    with writing(tmp_path / "s", MANIFEST) as (store, _):  # an owner that stops after these steps
        part = write_part(store.root, "a", b"newer")
        store.journal.replace({"a": part.entry})
        if replaced:
            (store.root / INSIDE / "parts" / part.temporary).replace(store.root / "a")
    expected = b"newer" if replaced else b"old"
    assert Store(tmp_path / "s").read("a") == expected
    assert Store(tmp_path / "s").damaged(thorough=True) == []
    with writing(tmp_path / "s", MANIFEST) as (store, lost):
        assert not lost
        assert store.read("a") == expected
        assert not store.journal.replacing


def test_a_file_that_is_neither_old_nor_new_is_made_again(tmp_path):
    """What is damaged while it is replaced does not count as finished."""
    make(tmp_path / "s", {"a": b"old"})
    with writing(tmp_path / "s", MANIFEST) as (store, _):
        store.journal.replace({"a": write_part(store.root, "a", b"new").entry})
    (tmp_path / "s" / "a").write_bytes(b"bad")
    with writing(tmp_path / "s", MANIFEST) as (store, _):
        assert "a" not in store


def test_every_flipped_bit_of_the_manifest_is_an_error(tmp_path):
    """No damaged option, type or version is ever used."""
    make(tmp_path / "s", {"a": b"a"})
    path = tmp_path / "s" / INSIDE / "manifest.json"
    sound = path.read_bytes()
    for position in range(len(sound)):
        text = bytearray(sound)
        text[position] ^= 1 << position % 8
        path.write_bytes(text)
        if bytes(text).split() != sound.split():  # white space has no meaning
            with pytest.raises((tt.FormatError, tt.StoreError)):
                Store(tmp_path / "s")
    path.write_bytes(sound)
    assert Store(tmp_path / "s").read("a") == b"a"


def test_checksums_tell_contents_apart():
    """Different bytes have different checksums."""
    assert checksum(b"a") != checksum(b"b")
