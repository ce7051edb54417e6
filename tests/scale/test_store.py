"""Stores on disk: journal, files that are finished one by one, and every kind of damage."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
from collections import Counter
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torelli as tt
from stores import check_damaged, content, damage, served, write_lines
from torelli.scale import write_features, write_kernel
from torelli.scale._store import INSIDE, Entry, Journal, Store, checksum, write_part, writing

A, B = Entry(3, "aa"), Entry(4, "bb")
MANIFEST = {"kind": "test", "dtype": "float64", "options": {"seed": 0, "depth": None}}


def test_what_is_noted_is_read_back(tmp_path):
    """Files, marks and segments are those that were noted last."""
    journal = Journal(tmp_path / "journal")
    journal.begin(0, ["one.jsonl", "two.jsonl"])
    journal.finish({"a": A, "b": A}, ["a:full"])
    journal.redo(["a"])
    journal.finish({"b": B})
    journal.end(12)
    again = Journal(tmp_path / "journal")
    assert again.files == {"b": B}
    assert again.marks == {"a:full"}
    assert [(one.start, one.stop, str(one)) for one in again.segments] == [(0, 12, "one.jsonl, two.jsonl")]


def test_a_reader_follows_a_writer(tmp_path):
    """A journal that is open sees lines that another process adds."""
    writer, reader = Journal(tmp_path / "journal"), Journal(tmp_path / "journal")
    writer.finish({"a": A})
    assert not reader.files
    reader.refresh()
    assert reader.files == {"a": A}


@settings(max_examples=25)
@given(st.integers(0, 200))
def test_a_torn_last_line_does_not_count(tmp_path_factory, cut):
    """Wherever the file is cut, all whole lines count, and the next line is sound again."""
    path = tmp_path_factory.mktemp("journal") / "journal"
    journal = Journal(path)
    for i in range(3):
        journal.finish({f"file{i}": A})
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    again = Journal(path)
    n_whole = path.read_bytes().count(b"\n")
    assert list(again.files) == [f"file{i}" for i in range(n_whole)]
    again.drop_torn_line()
    again.finish({"new": B})
    assert list(Journal(path).files) == [*again.files]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_flipped_bit_is_found(tmp_path_factory, byte, bit):
    """No bit of a line before the last can change what the journal says; most changes are an error."""
    path = tmp_path_factory.mktemp("journal") / "journal"
    journal = Journal(path)
    journal.finish({"one": A})
    n_first = path.stat().st_size
    journal.finish({"two": B})
    text = bytearray(path.read_bytes())
    text[byte % n_first] ^= 1 << bit
    path.write_bytes(text)
    try:
        files = Journal(path).files
    except tt.FormatError:
        return
    # the first line ends elsewhere and both are torn, or a digit of its checksum is now a capital
    assert files in ({}, {"one": A, "two": B})


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    """A line that cannot be written is not in the file."""
    journal = Journal(tmp_path / "journal")
    journal.finish({"one": A})

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        journal.finish({"two": B})
    monkeypatch.undo()
    assert journal.files == {"one": A}
    assert Journal(tmp_path / "journal").files == {"one": A}


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
    make(tmp_path / "s", {"a": b"a"})
    other = {**MANIFEST, "dtype": "float32", "options": {"seed": 0, "depth": 3}}
    with (
        pytest.raises(
            tt.StoreError, match="dtype is float64 there and float32 here; depth is none there and 3"
        ),
        writing(tmp_path / "s", other),
    ):
        pass


def test_options_of_a_call_that_failed_at_once_bind_nobody(tmp_path):
    """A store in which nothing was computed takes other options, without --fresh, and keeps other files."""
    make(tmp_path / "s", {})
    (tmp_path / "s" / "notes.txt").write_text("mine")
    with writing(tmp_path / "s", {**MANIFEST, "dtype": "float32"}) as (store, _):
        store.put("a", b"a")
    assert (tmp_path / "s" / "notes.txt").read_text() == "mine"
    with pytest.raises(tt.StoreError, match="dtype is float32 there"), writing(tmp_path / "s", MANIFEST):
        pass


def test_other_versions_are_refused_by_name(tmp_path, monkeypatch):
    """Numbers of two versions of a library are not mixed."""
    make(tmp_path / "s", {"a": b"a"})
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


@pytest.mark.parametrize("lost", ["manifest.json", "journal.jsonl"])
def test_a_store_that_lost_its_description_is_refused(graphs, tmp_path, lost):
    """Without manifest or journal nobody knows how the numbers were made: only starting over helps."""
    write_features(graphs[:9], tmp_path / "f.zarr", n_features=2, depth=1)
    (tmp_path / "f.zarr" / INSIDE / lost).unlink()
    for seed, refused in ((0, rf"its {lost.partition('.')[0]} is lost; .*--fresh"), (7, "--fresh")):
        with pytest.raises(tt.TorelliError, match=refused):
            write_features(graphs[:9], tmp_path / "f.zarr", n_features=2, depth=1, seed=seed)
    with pytest.raises(tt.FormatError, match=r"is lost; .*--fresh"):
        tt.open_features(tmp_path / "f.zarr")
    write_features(graphs[:9], tmp_path / "f.zarr", n_features=2, depth=1, seed=7, fresh=True)
    write_features(graphs[:9], tmp_path / "once.zarr", n_features=2, depth=1, seed=7)
    assert content(tmp_path / "f.zarr") == content(tmp_path / "once.zarr")


def test_a_stop_while_starting_over_mixes_no_numbers(graphs, tmp_path, monkeypatch):
    """Wherever fresh is stopped, the same options without fresh give their own numbers or an error."""
    new, root = {"n_features": 2, "depth": 1, "seed": 7}, tmp_path / "f.zarr"
    write_features(graphs[:9], tmp_path / "old.zarr", n_features=2, depth=1)
    write_features(graphs[:9], tmp_path / "new.zarr", **new)
    told, made = [], 0
    for step in range(30):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(tmp_path / "old.zarr", root)
        left = [step]

        def stopping(act, left):
            def step_or_stop(*arguments, **options):
                if not left[0]:
                    raise KeyboardInterrupt
                left[0] -= 1
                return act(*arguments, **options)

            return step_or_stop

        with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
            for name in ("unlink", "rmdir"):  # each step by which something is removed
                patch.setattr(os, name, stopping(getattr(os, name), left))
            write_features(graphs[:9], root, fresh=True, **new)
        try:
            write_features(graphs[:9], root, **new)
        except tt.TorelliError as error:
            told.append(str(error))
        else:
            assert content(root) == content(tmp_path / "new.zarr")
            made += 1
    assert made
    assert told
    assert all("--fresh" in text for text in told)


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


MAKERS = {
    "measure": ("features", lambda *a, **o: write_features(*a, n_features=2, depth=1, **o)),
    "tts": ("features", lambda *a, **o: write_features(*a, features="tts", **o)),
    "ttw": ("kernel", lambda *a, **o: write_kernel(*a, "ttw", tile=16, **o)),
    "distances": ("kernel", lambda *a, **o: write_kernel(*a, "tts", tile=16, gamma=None, **o)),
}


@pytest.mark.filterwarnings("ignore:.*are missing or damaged and are made again")
@pytest.mark.parametrize("name", MAKERS)
def test_no_damage_serves_a_wrong_number(graphs, tmp_path, name):
    """Whatever happens to a file, a reader gets the numbers of the clean store or an error with a remedy.

    The command with --verify then makes the same bytes again, or says that only --fresh can.
    """
    kind, write = MAKERS[name]
    inputs = write_lines(tmp_path / "graphs.jsonl", graphs[:40], ["a", "b"] * 20)
    clean = tmp_path / "clean.zarr"
    write(inputs, clean)
    expected, sound = content(clean), served(clean, kind)
    rng = random.Random(name)  # noqa: S311  (no secret)
    outcomes = Counter()
    for turn in range(60):
        store = tmp_path / "damaged.zarr"
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(clean, store)
        done = [damage(store, rng) for _ in range(rng.choice([1, 1, 1, 3]))]
        outcomes["served" if check_damaged(store, kind, sound) else "refused"] += 1
        if turn % 3:
            continue
        try:
            write(inputs, store, verify=True)
        except tt.TorelliError as error:
            if "--fresh" not in str(error):
                raise AssertionError(done) from error
            write(inputs, store, fresh=True)
            outcomes["made again"] += 1
        assert content(store) == expected, done
        assert check_damaged(store, kind, sound), done
    assert min(outcomes["served"], outcomes["refused"], outcomes["made again"]) > 0, outcomes
