"""Inputs as streams of pieces: files, JSON lines, archives, TU sets and graphs."""

from __future__ import annotations

import bz2
import gzip
import io
import pickle
import tarfile
import zipfile

import pytest

import torelli as tt
from samples import texts
from stores import small_graphs, write_lines
from torelli.io.jsonlines import json_line
from torelli.scale import _inputs
from torelli.scale._inputs import Inputs, Reading, digest_of


def read_all(inputs, spool, reading=None):
    """Return the pieces of inputs and their records; a piece may have been sent to another process."""
    inputs = Inputs(inputs, reading or Reading())
    pieces = [pickle.loads(pickle.dumps(piece)) for piece in inputs.pieces(spool)]  # noqa: S301  (our own)
    return pieces, [inputs.reading.record(piece) for piece in pieces]


def test_every_input_gives_the_same_graphs(tmp_path):
    """JSON lines, compressed ones, archives of them and graphs give equal graphs with their names."""
    graphs = small_graphs(5)
    plain = write_lines(tmp_path / "a.jsonl", graphs, labels="abcde")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as archive:
        archive.add(plain, "folder/a.jsonl")
    with zipfile.ZipFile(tmp_path / "d.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "b.jsonl.gz", "folder/b.jsonl.gz")
    for name in ("a.jsonl", "b.jsonl.gz", "c.tar.gz", "d.zip", "a.json*"):
        _, records = read_all(tmp_path / name, tmp_path / "spool")
        assert [record.graph for record in records] == graphs
        assert [record.graph.name for record in records] == [graph.name for graph in graphs]
        assert [Reading().label_of(record) for record in records] == list("abcde")
    assert [record.graph for record in read_all(graphs, tmp_path)[1]] == graphs


def test_members_of_an_archive_are_read_as_files_are(tmp_path):
    """Each file of an archive is read by its format; what has none is told and left out."""
    contents = {name: text for name, text in texts().items() if name not in {"a.jsonl", "a.inp"}}
    with tarfile.open(tmp_path / "all.tar", "w") as archive:
        for name, text in {**contents, "README": b"text"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    for name, text in contents.items():
        (tmp_path / name).write_bytes(text)
    inputs = Inputs(tmp_path / "all.tar")
    with pytest.warns(tt.DataWarning, match="1 members of no known format were left out: 'README'"):
        graphs = [inputs.reading.record(piece).graph for piece in inputs.pieces(tmp_path / "spool")]
    expected = [graph for name in contents for graph in tt.read(tmp_path / name, values=False)]
    assert graphs == expected
    assert [graph.name for graph in graphs] == [graph.name for graph in expected]


def test_a_tu_set_has_its_labels(tu_zip, tiny, tmp_path):
    """A zip of a TU set is that set, with its labels and the lengths that are asked for."""
    inputs = Inputs(tu_zip(tiny), lengths="unit")
    pieces = list(inputs.pieces(tmp_path / "spool"))
    assert [inputs.reading.label_of(piece.content) for piece in pieces] == ["1", "-1", "1"]
    assert [piece.name for piece in pieces] == ["TINY[0]", "TINY[1]", "TINY[2]"]
    assert set(pieces[0].content.graph.length) == {1.0}


def test_digests_follow_content_name_and_label(tmp_path):
    """A piece has another digest if its line, its name or its label is another, and only then."""
    graph = small_graphs(1)[0]
    lines = [
        json_line(graph),
        json_line(graph.replace(name="other")),
        json_line(graph, label="x"),
        json_line(graph.replace(length=graph.length * 2)),
    ]
    digests = set()
    for i, line in enumerate(lines):
        (tmp_path / f"{i}").mkdir()
        path = tmp_path / f"{i}" / "a.jsonl"
        path.write_text(line)
        (piece,) = Inputs(path).pieces(tmp_path)
        digests.add(piece.digest)
        path.write_text(f"\n {line}\r\n\n".replace("\n ", "\n"))
    assert len(digests) == len(lines)
    assert digest_of(b"ab", b"c") != digest_of(b"a", b"bc")


def test_lines_without_a_name_are_numbered(tmp_path):
    """Graphs that have no name of their own are told apart by their line."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"edges": [[0, 0, 1.5]]}\n\n{"edges": [[0, 0, 2.5]]}\n')
    pieces, records = read_all(path, tmp_path)
    assert [record.graph.name for record in records] == ["a[1]", "a[3]"]
    assert [piece.where for piece in pieces] == ["a.jsonl, line 1", "a.jsonl, line 3"]


def test_long_lines_wait_in_a_file(tmp_path, monkeypatch):
    """A line too long to be kept with many others gives the same graph."""
    path = write_lines(tmp_path / "a.jsonl", small_graphs(3))
    expected = [record.graph for record in read_all(path, tmp_path / "spool")[1]]
    monkeypatch.setattr(_inputs, "_LARGE", 10)
    pieces, records = read_all(path, tmp_path / "spool")
    assert {piece.kind for piece in pieces} == {"spooled"}
    assert [record.graph for record in records] == expected
    assert [record.graph.name for record in records] == [graph.name for graph in expected]


def test_units_and_zero_lengths_are_as_in_read(tmp_path):
    """Lines are read with the options of `torelli.read`."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"unit": "km", "edges": [[0, 0, 1.5], [0, 1, 0]]}\n')
    with pytest.raises(tt.InvalidGraphError, match=r"a\.jsonl, line 1"):
        read_all(path, tmp_path)
    reading = Reading({"unit": "m", "zero": "contract"})
    with pytest.warns(tt.DataWarning, match="contracted"):
        (record,) = read_all(path, tmp_path, reading)[1]
    with pytest.warns(tt.DataWarning, match="contracted"):
        (graph,) = tt.read(path, unit="m", zero="contract")
    assert record.graph == graph
    assert record.graph.unit == "m"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "a.jsonl.gz",
            gzip.compress(b'{"edges": [[0, 0, 1]]}\n' * 50, mtime=0)[:-20],
            "truncated or corrupt",
        ),
        ("a.tar.gz", b"not a tar", "truncated or corrupt"),
        ("a.zip", b"not a zip", "not a valid zip"),
        ("a.jsonl", b'{"edges": [[0, 0, "\xff"]]}', "a.jsonl, line 1: not UTF-8"),
        ("a.jsonl", b'{"edges": 3}', "a.jsonl, line 1: not an object"),
    ],
)
def test_broken_inputs_are_named(tmp_path, name, text, problem):
    """A broken file or line is an error that names it."""
    (tmp_path / name).write_bytes(text)
    with pytest.raises(tt.FormatError, match=problem):
        read_all(tmp_path / name, tmp_path / "spool")


TARS = {".tar": "w", ".tar.gz": "w:gz", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}


def write_tar(path, contents, mode="w", **options):
    """Write an archive with the given members."""
    with tarfile.open(path, mode, **options) as archive:
        for name, text in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return path


def lines_of(n_graphs):
    """Return the members of an archive with one graph each."""
    return {f"w{i}.jsonl": json_line(graph).encode() for i, graph in enumerate(small_graphs(n_graphs))}


@pytest.mark.parametrize("ending", TARS)
def test_a_tar_that_is_cut_anywhere_is_an_error(tmp_path, ending):
    """No prefix of an archive gives fewer graphs, even if it ends between two members."""
    path = write_tar(tmp_path / f"a{ending}", lines_of(6), TARS[ending])
    whole = path.read_bytes()
    end = len(whole) if ending != ".tar" else len(whole.rstrip(b"\0")) + 1
    for size in [*range(1, end, max(1, end // 60)), *range(512, end, 512), end - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(tt.FormatError, match=r"a\.tar.*: truncated or corrupt"):
            list(Inputs(path).pieces(tmp_path / "spool"))


@pytest.mark.parametrize("ending", [".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_changed_bit_of_a_compressed_tar_is_found_before_a_graph_is_used(tmp_path, ending):
    """A compressed archive with a wrong bit is an error before its first graph, or is the same archive."""
    path = write_tar(tmp_path / f"a{ending}", lines_of(6), TARS[ending])
    whole = path.read_bytes()
    expected = [piece.digest for piece in Inputs(path).pieces(tmp_path / "spool")]
    refused = 0
    for place in range(0, len(whole), max(1, len(whole) // 80)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        try:
            first = next(Inputs(path).pieces(tmp_path / "spool"))
        except tt.FormatError as error:
            assert "truncated or corrupt" in str(error)  # noqa: PT017
            refused += 1
        else:  # the time or the name in the header of the compressed file
            rest = [piece.digest for piece in Inputs(path).pieces(tmp_path / "spool")]
            assert [first.digest, *rest[1:]] == rest == expected
    assert refused > 50


def test_a_damaged_header_does_not_end_a_tar(tmp_path):
    """A header whose checksum is wrong, or that was overwritten with zeros, is an error."""
    path = write_tar(tmp_path / "a.tar", lines_of(4))
    whole = path.read_bytes()
    place = whole.index(b"w2.jsonl")
    for damage in (b"x2", bytes(512)):
        path.write_bytes(whole[:place] + damage + whole[place + len(damage) :])
        with pytest.raises(tt.FormatError, match="truncated or corrupt"):
            list(Inputs(path).pieces(tmp_path / "spool"))


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_padding_and_joined_archives_are_read(tmp_path, form):
    """Archives of every form are read whole, with long names, more padding, and one after the other."""
    folder = f"{'folder' * 20}/{'b' * 80}/" if form != tarfile.USTAR_FORMAT else "folder/"
    contents = {f"{folder}{name}": text for name, text in lines_of(5).items()}
    names = list(contents)
    path = write_tar(tmp_path / "a.tar", {name: contents[name] for name in names[:3]}, format=form)
    more = write_tar(tmp_path / "b.tar", {name: contents[name] for name in names[3:]}, format=form)
    joined = path.read_bytes() + bytes(4096) + more.read_bytes()
    (tmp_path / "c.tar").write_bytes(joined)
    (tmp_path / "c.tgz").write_bytes(gzip.compress(joined) + bytes(512))
    for name in ("c.tar", "c.tgz"):
        pieces = list(Inputs(tmp_path / name).pieces(tmp_path / "spool"))
        assert [piece.where for piece in pieces] == [f"{name}/{member}, line 1" for member in names]
    assert not list(Inputs(write_tar(tmp_path / "empty.tar", {})).pieces(tmp_path / "spool"))


def test_a_folder_is_read_with_its_archives(tmp_path):
    """A folder gives the graphs of its files and archives in the order of names, as a pattern does."""
    contents = lines_of(7)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "d.jsonl").write_bytes(contents["w0.jsonl"])
    for i, ending in enumerate((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"), 1):
        mode = {".tgz": "w:gz"}.get(ending) or TARS[ending]
        write_tar(folder / f"{'bfaecg'[i]}{ending}", {f"w{i}.jsonl": contents[f"w{i}.jsonl"]}, mode)
    with zipfile.ZipFile(folder / "h.zip", "w") as archive:
        archive.writestr("w6.jsonl", contents["w6.jsonl"])
    (folder / "README").write_text("no graph")
    graphs = [record.graph for record in read_all(folder, tmp_path)[1]]
    assert graphs == [record.graph for record in read_all(folder / "*.*", tmp_path)[1]]
    assert sorted(graph.name for graph in graphs) == sorted(graph.name for graph in small_graphs(7))
    (folder / "d.jsonl").unlink()
    assert len(read_all(folder, tmp_path)[0]) == 6
    (folder / "x.csv").write_text("source,target,length\na,a,1\n")
    (folder / "x.jsonl").write_bytes(contents["w0.jsonl"])
    with pytest.raises(tt.FormatError, match="several formats"):
        Inputs(folder)
    with pytest.raises(tt.FormatError, match="several formats"):
        tt.read(folder)


def zip_of(path, content, compression=zipfile.ZIP_DEFLATED, name="w.jsonl"):
    """Write a zip with one member."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(name, content)
    return path


def changed(path, place, value):
    """Change a byte of a file."""
    content = bytearray(path.read_bytes())
    content[place] = value
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("offset", "value", "problem"),
    [(6, 1, "it is encrypted"), (8, 77, "compressed in a way that is not known")],
)
def test_a_zip_that_cannot_be_unpacked_is_an_error_with_the_remedy(tmp_path, offset, value, problem):
    """Members that are encrypted or compressed in an unknown way are named, with what to do."""
    path = zip_of(tmp_path / "a.zip", b'{"edges": [[0, 0, 1]]}')
    changed(path, offset, value)  # in the header of the member, and in the list of members
    changed(path, path.read_bytes().index(b"PK\1\2") + offset + 2, value)
    with pytest.raises(tt.FormatError, match=rf"a\.zip/w\.jsonl: .*{problem}.*; unpack the archive"):
        read_all(path, tmp_path / "spool")


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("name", ["w.jsonl", "w.csv"])
def test_a_damaged_zip_is_an_error_before_a_graph_is_used(tmp_path, compression, name):
    """Whatever compresses a member, a wrong byte in it is an error that names the archive."""
    text = b"".join(json_line(graph).encode() + b"\n" for graph in small_graphs(20))
    path = zip_of(tmp_path / "a.zip", text, compression, name)
    whole = path.read_bytes()
    start, end = 30 + len(name) + 12, whole.index(b"PK\1\2") - 4  # bits of the last bytes may be padding
    for place in range(start, end, max(1, (end - start) // 20)):
        path.write_bytes(whole)
        changed(path, place, whole[place] ^ 16)
        with pytest.raises(tt.FormatError, match=r"a\.zip.*: truncated or corrupt"):
            next(Inputs(path).pieces(tmp_path / f"spool{place}"))


def test_a_damaged_bz2_is_named(tmp_path):
    """A wrong byte in compressed JSON lines is an error that names the file, before its first graph."""
    path = tmp_path / "a.jsonl.bz2"
    path.write_bytes(bz2.compress(b'{"edges": [[0, 0, 1]]}\n' * 500))
    changed(path, 40, path.read_bytes()[40] ^ 1)
    with pytest.raises(tt.FormatError, match=r"a\.jsonl\.bz2: truncated or corrupt"):
        next(Inputs(path).pieces(tmp_path / "spool"))


def test_a_bomb_is_refused_without_inflating_it(tmp_path):
    """A compressed file with one endless line is refused as soon as the line exceeds the limit."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(bytes(2**24)) + b"not gzip")
    with pytest.raises(tt.RequestTooLargeError, match=r"line 1: has more than"):
        read_all(path, tmp_path / "spool", Reading({"max_bytes": 2**21}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b.csv", b"source,target,length\na,b,1\nb,c,-1\n"),
        ("b.csv", b"source,target,length\na,b,1\nb,c,x\n"),
        ("b.gml", b"graph [ node"),
        ("b.jsonl", b'{"edges": [[0, 0, -1]]}'),
        ("b.jsonl", b'{"edges": 3}'),
    ],
)
def test_a_bad_member_is_named_with_its_archive(tmp_path, name, text):
    """What is wrong with a member of an archive names the archive and the member."""
    path = write_tar(tmp_path / "a.tar", {f"sub/{name}": text})
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"a\.tar/sub/{name}") as caught:
        read_all(path, tmp_path / "spool")
    assert str(tmp_path) not in str(caught.value)


def test_a_bad_long_line_is_named_by_its_number(tmp_path, monkeypatch):
    """A line that waits in a file is named as every other line is."""
    monkeypatch.setattr(_inputs, "_LARGE", 10)
    path = tmp_path / "a.jsonl"
    for line, problem in (('{"edges": [[0, 0, -1]]}', "negative"), ('{"edges": 33333}', "not an object")):
        path.write_text(f'{{"edges": [[0, 0, 1]]}}\n\n{line}\n')
        with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"a\.jsonl, line 3\b.*{problem}"):
            read_all(path, tmp_path / problem)


def test_a_member_whose_name_is_too_long_is_an_error_with_the_remedy(tmp_path):
    """A member that cannot be copied to a file of its name is named, with what to do."""
    path = write_tar(tmp_path / "a.tar", {f"{'n' * 300}.csv": b"source,target,length\na,a,1\n"})
    with pytest.raises(tt.FormatError, match=r"a\.tar/nnn.*give the file a shorter name"):
        read_all(path, tmp_path / "spool")


def test_what_is_too_large_is_refused(tmp_path):
    """A line or a member of an archive that exceeds the limit is an error with the option that helps."""
    path = write_lines(tmp_path / "a.jsonl", small_graphs(1))
    with tarfile.open(tmp_path / "b.tar", "w") as archive:
        (tmp_path / "x.csv").write_text("source,target,length\n" + "a,b,1\n" * 100)
        archive.add(tmp_path / "x.csv", "x.csv")
    for file in (path, tmp_path / "b.tar"):
        with pytest.raises(tt.RequestTooLargeError, match="max_bytes"):
            read_all(file, tmp_path / "spool", Reading({"max_bytes": 100}))


def test_a_path_that_does_not_exist_is_an_error_at_once(tmp_path):
    """Nothing is read before every path was found."""
    with pytest.raises(tt.DataNotFoundError, match="no file matches"):
        Inputs([tmp_path / "missing.jsonl"])
