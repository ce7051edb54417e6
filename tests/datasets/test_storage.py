"""Downloads: whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import io
import socket
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from torelli import DataNotFoundError, FormatError, InvalidOptionError
from torelli.datasets import load_tu
from torelli.datasets import storage as module
from torelli.datasets.storage import download

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def good(tu_zip, tiny, tmp_path) -> bytes:
    """Return the bytes of a sound data set."""
    return tu_zip(tiny, folder=tmp_path / "origin").read_bytes()


def left_in(folder: Path) -> list[str]:
    """Return the names of all files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_set_is_downloaded_once_and_its_checksum_recorded(no_data, server, good) -> None:
    """The second load reads the cache; the record beside the file is its SHA-256."""
    server.answer(good)
    first = load_tu("TINY", mirror=server.address + "/sets/", lengths="unit")
    second = load_tu("TINY", mirror=server.address + "/sets/", lengths="unit")
    assert server.paths == ["/sets/TINY.zip"]
    assert first.graphs == second.graphs
    assert left_in(no_data) == ["TINY.zip", "TINY.zip.sha256"]
    record = (no_data / "tu" / "TINY.zip.sha256").read_text().strip()
    assert record == hashlib.sha256(good).hexdigest()


def test_a_cached_file_that_changed_is_refused(no_data, server, good) -> None:
    """Every read from the cache compares the checksum; the error says to delete the file."""
    server.answer(good)
    load_tu("TINY", mirror=server.address)
    path = no_data / "tu" / "TINY.zip"
    path.write_bytes(good[:-1] + b"x")
    with pytest.raises(FormatError, match=r"SHA-256 is .* expected .* delete it"):
        load_tu("TINY", mirror=server.address)


def test_a_file_put_into_the_cache_by_hand_is_read(no_data, tu_zip, tiny) -> None:
    """The remedy that the offline error names works: no record, no comparison."""
    tu_zip(tiny, folder=no_data / "tu")
    assert len(load_tu("TINY").graphs) == 3


def test_data_home_replaces_the_cache(no_data, server, good, tmp_path) -> None:
    """With data_home nothing is written to the user's cache."""
    server.answer(good)
    load_tu("TINY", mirror=server.address, data_home=tmp_path / "home")
    assert (tmp_path / "home" / "tu" / "TINY.zip").is_file()
    assert not no_data.exists()


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_server_that_recovers_is_asked_again(server, good, status) -> None:
    """Errors of the server are retried."""
    server.answer(b"busy", status=status)
    server.answer(b"busy", status=status)
    server.answer(good)
    assert len(load_tu("TINY", mirror=server.address).graphs) == 3
    assert len(server.paths) == 3


def test_pauses_grow(server, good, tmp_path, monkeypatch) -> None:
    """The pause before each attempt is twice the one before."""
    pauses: list[float] = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)
    server.answer(good, status=500)
    with pytest.raises(DataNotFoundError, match="attempt 4"):
        download(server.address + "/x.zip", tmp_path / "x.zip", check=lambda _: None)
    assert pauses == [1.0, 2.0, 4.0]


def test_a_file_that_the_server_does_not_have_is_asked_for_once(no_data, server) -> None:
    """A 404 ends at once, and the error tells what was tried and what to do by hand."""
    server.answer(b"no", status=404)
    with pytest.raises(DataNotFoundError) as caught:
        load_tu("NO-SUCH-SET", mirror=server.address)
    message = str(caught.value)
    assert len(server.paths) == 1
    for part in ("404", server.address, "by hand", str(no_data / "tu" / "NO-SUCH-SET.zip"), "looked at"):
        assert part in message
    assert left_in(no_data) == []


def broken(kind: str, good: bytes) -> tuple[bytes, int]:
    """Return the body of a broken answer, and the length that its header announces."""
    if kind == "truncated":
        return good[: len(good) // 2], len(good)
    if kind == "short":
        return good[: len(good) // 2], len(good) // 2
    if kind == "corrupted":
        middle = len(good) // 3
        body = good[:middle] + bytes(255 - byte for byte in good[middle : middle + 8]) + good[middle + 8 :]
        return body, len(body)
    if kind == "page":
        return b"<html>Sign in to the wireless network</html>", 44
    if kind == "other zip":
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("notes.txt", "no data set")
        return buffer.getvalue(), len(buffer.getvalue())
    return b"", 0


@pytest.mark.parametrize("kind", ["truncated", "short", "corrupted", "page", "other zip", "empty"])
def test_a_broken_answer_is_retried_and_never_kept(no_data, server, good, kind) -> None:
    """Whatever is wrong with a file, another attempt may succeed; if none does, nothing is left."""
    body, announced = broken(kind, good)
    server.answer(body, announced=announced)
    with pytest.raises(DataNotFoundError, match=r"attempt 1: .*\n  attempt 2: "):
        load_tu("TINY", mirror=server.address)
    assert left_in(no_data) == []
    assert len(server.paths) == 4
    server.answers.clear()
    server.answer(body, announced=announced)
    server.answer(good)
    assert len(load_tu("TINY", mirror=server.address).graphs) == 3
    assert left_in(no_data) == ["TINY.zip", "TINY.zip.sha256"]


def test_a_given_checksum_must_be_that_of_the_file(no_data, server, good) -> None:
    """A file with another checksum than the one given is not kept."""
    server.answer(good)
    with pytest.raises(DataNotFoundError, match="SHA-256 is"):
        load_tu("TINY", mirror=server.address, sha256="0" * 64)
    assert left_in(no_data) == []
    right = hashlib.sha256(good).hexdigest().upper()
    assert len(load_tu("TINY", mirror=server.address, sha256=right).graphs) == 3
    with pytest.raises(FormatError, match="SHA-256"):
        load_tu("TINY", mirror=server.address, sha256="0" * 64)


def test_without_a_network_the_error_is_clear(no_data, monkeypatch) -> None:
    """Nobody listens: each attempt is listed, and the address and place for doing it by hand."""
    monkeypatch.setattr(module.time, "sleep", lambda _: None)
    with pytest.raises(
        DataNotFoundError, match=r"(?s)could not download http://127.0.0.1:9/TINY.zip.*refused.*by hand"
    ):
        load_tu("TINY", mirror="http://127.0.0.1:9")
    assert left_in(no_data) == []


def test_a_server_whose_name_cannot_be_resolved_is_asked_once(no_data, monkeypatch) -> None:
    """Another attempt would not help, and the error has neither pauses nor a second copy of itself."""

    def unresolved(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(module.time, "sleep", pytest.fail)
    monkeypatch.setattr(socket, "getaddrinfo", unresolved)
    with pytest.raises(DataNotFoundError, match=r"attempt 1: .*Name or service not known") as caught:
        load_tu("TINY")
    assert "attempt 2" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert left_in(no_data) == []


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize(
    ("name", "meant"),
    [("MUTGA", "'MUTAG'"), ("imdb_binary", "'IMDB-BINARY'"), ("Protiens", "'PROTEINS'"), ("NCI-1", "'NCI1'")],
)
def test_a_misspelt_name_is_not_downloaded(name, meant, monkeypatch) -> None:
    """A name that is nearly one of the 23 is answered with it, and nobody is asked."""
    monkeypatch.setattr("torelli.datasets.tu.download", pytest.fail)
    with pytest.raises(InvalidOptionError, match=f"{name!r} is not .*: did you mean {meant}.*mirror="):
        load_tu(name)


@pytest.mark.usefixtures("no_data")
@pytest.mark.parametrize("name", ["REDDIT-MULTI-12K", "PROTEINS_full", "Mutagenicity", "COIL-RAG", "NCI-H23"])
def test_other_sets_of_the_site_are_not_taken_for_misspelt_ones(name, monkeypatch) -> None:
    """Sets of the TU site that the paper did not use are asked for under their own name."""

    def none(address: str, *_: object, **__: object) -> None:
        raise DataNotFoundError(f"asked for {address}")

    monkeypatch.setattr("torelli.datasets.tu.download", none)
    with pytest.raises(DataNotFoundError, match=f"asked for .*/{name}.zip"):
        load_tu(name)


def test_a_mirror_may_have_any_name(no_data, server, tu_zip, tiny, tmp_path) -> None:
    """With a mirror the name is taken as it stands, even if it resembles a known one."""
    server.answer(tu_zip(tiny, name="MUTAG2", folder=tmp_path / "origin").read_bytes())
    assert len(load_tu("MUTAG2", mirror=server.address).graphs) == 3
    assert server.paths == ["/MUTAG2.zip"]


def test_the_case_of_a_known_name_does_not_matter(no_data, tu_zip, tiny) -> None:
    """Lower case finds the set, but a set that is called so comes first."""
    tu_zip(tiny, name="MUTAG", folder=no_data / "tu")
    assert load_tu("mutag").name == "MUTAG"
    tu_zip(tiny, name="mutag", folder=no_data / "tu")
    assert load_tu("mutag").name == "mutag"


@pytest.mark.usefixtures("no_data")
def test_no_download_if_not_wanted(server) -> None:
    """download_if_missing=False asks nobody, and says where it looked."""
    with pytest.raises(DataNotFoundError, match="not on this machine"):
        load_tu("TINY", mirror=server.address, download_if_missing=False)
    assert server.paths == []


@pytest.mark.usefixtures("no_data")
def test_only_web_addresses_are_downloaded_from(tmp_path) -> None:
    """A mirror is http or https: file addresses are refused."""
    with pytest.raises(InvalidOptionError, match="http or https"):
        load_tu("TINY", mirror=tmp_path.as_uri())


def test_a_file_without_end_is_given_up(server, good, tmp_path, monkeypatch) -> None:
    """A download larger than any data set is stopped at once and not tried again."""
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    server.answer(good)
    with pytest.raises(DataNotFoundError, match="larger than 100 bytes"):
        download(server.address + "/x.zip", tmp_path / "x" / "x.zip", check=lambda _: None)
    assert len(server.paths) == 1
    assert left_in(tmp_path / "x") == []


def archives(tmp_path):
    """Return a zip and a tar archive with the same files."""
    files = {"b.inp": b"two", "deep/A.INP": b"one", "notes.txt": b"x", "__MACOSX/._b.inp": b"junk"}
    packed, rolled = tmp_path / "all.zip", tmp_path / "all.tar.gz"
    with zipfile.ZipFile(packed, "w") as out:
        for name, content in files.items():
            out.writestr(name, content)
    with tarfile.open(rolled, "w:gz") as out:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            out.addfile(member, io.BytesIO(content))
    return packed, rolled


def test_archives_are_unpacked_by_suffix_into_a_folder_that_goes_away(tmp_path):
    """Zip and tar give the same files: folders and hidden files do not count, any case of the suffix does."""
    for archive in archives(tmp_path):
        with module.unpacked(archive, ".inp") as files:
            assert {name: path.read_bytes() for name, path in files.items()} == {
                "A.INP": b"one",
                "b.inp": b"two",
            }
            assert list(files) == ["A.INP", "b.inp"]
        assert not any(path.exists() for path in files.values())


def test_names_in_an_archive_never_lead_out_of_the_folder(tmp_path):
    """Only the last part of a name counts."""
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("../../evil.inp", "x")
    with module.unpacked(path, ".inp") as files:
        assert files["evil.inp"].parent.name.startswith("torelli-")


def test_archives_that_are_damaged_empty_ambiguous_or_too_large_are_refused(tmp_path, monkeypatch):
    """Each with the name of the archive."""
    packed, rolled = archives(tmp_path)
    with pytest.raises(FormatError, match=r"no \.swc files"), module.unpacked(packed, ".swc"):
        pass
    monkeypatch.setattr(module, "MAX_BYTES", 4)
    with pytest.raises(FormatError, match="more than 4 bytes"), module.unpacked(rolled, ".inp"):
        pass
    monkeypatch.undo()
    rolled.write_bytes(rolled.read_bytes()[:30])
    with pytest.raises(FormatError, match="not a complete archive"), module.unpacked(rolled, ".inp"):
        pass
    with zipfile.ZipFile(packed, "a") as out:
        out.writestr("again/b.inp", "x")
    with pytest.raises(FormatError, match=r"two files 'b\.inp'"), module.unpacked(packed, ".inp"):
        pass
