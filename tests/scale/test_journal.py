"""The journal and the lock of a store."""

from __future__ import annotations

import json
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import torelli as tt
from torelli.scale._journal import Entry, Journal, locked

A, B = Entry(3, "aa"), Entry(4, "bb")


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
    for number in range(3):
        journal.finish({f"file{number}": A})
    whole = path.read_bytes()
    path.write_bytes(whole[: max(0, len(whole) - cut)])
    again = Journal(path)
    n_whole = path.read_bytes().count(b"\n")
    assert list(again.files) == [f"file{number}" for number in range(n_whole)]
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


def in_another_process(act):
    """Return what another process reports of an act: an error, or nothing; it may end itself."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  (the child ends here, whatever happens)
            os.write(into, str(error).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as report:
        text = report.read()
    os.waitpid(child, 0)
    return text


def take(path):
    """Hold the lock for a moment."""
    with locked(path, "the store"):
        pass


def test_two_writers_are_refused_with_the_owner(tmp_path):
    """The second of two writers is told the process, the machine and the age of the lock."""
    path = tmp_path / "lock"
    with locked(path, "the store"):
        told = in_another_process(lambda: take(path))
    assert told.startswith(f"the store is being written by process {os.getpid()} on ")
    assert told.endswith("for 0 minutes; wait until it ends")
    assert not in_another_process(lambda: take(path))


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    """A process that was killed on this machine leaves nothing that has to be removed by hand."""
    path = tmp_path / "lock"

    def die():
        with locked(path, "the store"):
            os.kill(os.getpid(), signal.SIGKILL)

    in_another_process(die)
    assert path.stat().st_size
    take(path)
    assert not path.stat().st_size


def test_the_lock_of_another_machine_is_respected(tmp_path):
    """A lock that another machine has not released is an error, with what to do."""
    owner = {"host": "node7", "pid": 12, "since": 0}
    (tmp_path / "lock").write_text(json.dumps(owner))
    with (
        pytest.raises(tt.StoreError, match=r"process 12 on 'node7', for .* hours; if .* remove"),
        locked(tmp_path / "lock", "the store"),
    ):
        pass
    assert json.loads((tmp_path / "lock").read_text()) == owner
