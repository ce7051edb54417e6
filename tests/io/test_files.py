"""What readers share: text in parts, and the memory that a file may take."""

from __future__ import annotations

from pathlib import Path

import pytest

import torelli as tt
from torelli.io.files import Budget


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["a.csv", "a.swc"])
def test_lines_end_in_any_way_wherever_a_part_of_the_file_ends(tmp_path, monkeypatch, name, end) -> None:
    """A file is read in parts, and where a part ends makes no difference to lines and letters."""
    rows = {
        "a.csv": ["u,v,length", "ä,b,1", "b,漢,2", "漢,ä,3"],
        "a.swc": ["1 0 0 0 0 0 -1", "2 0 1 1 1 0 1 # ä"],
    }[name]
    (tmp_path / name).write_bytes("\ufeff".encode() + end.join(rows).encode())
    (whole,) = tt.read(tmp_path / name)
    for size in (1, 2, 3, 5, 7):
        monkeypatch.setattr("torelli.io.files._CHUNK", size)
        (parts,) = tt.read(tmp_path / name)
        assert parts == whole
        assert parts.node_ids == whole.node_ids


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_text_in_another_encoding_is_refused_at_its_place(tmp_path, monkeypatch, size) -> None:
    """The position of the first byte that is not UTF-8 is that in the file, however it is read."""
    (tmp_path / "a.net").write_bytes(b'*Vertices 2\n1 "\xe4"\n2 "b"\n*Edges\n1 2 1\n')
    monkeypatch.setattr("torelli.io.files._CHUNK", size)
    with pytest.raises(tt.FormatError, match=r"^a.net: not UTF-8 text \(byte 0xe4 at position 15\)"):
        tt.read(tmp_path / "a.net")


@pytest.mark.parametrize("size", [4, 1000])
def test_a_table_that_excel_saved_is_read_in_its_encoding(tmp_path, monkeypatch, size) -> None:
    """Excel writes Windows-1252, which is told, and UTF-16 with a mark; the names of nodes come out right."""
    text = "u,v,length\nä,b,1\nb,Œ,2\nŒ,ä,3\n"
    (tmp_path / "a.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "b.csv").write_bytes(text.encode("utf-16"))
    monkeypatch.setattr("torelli.io.files._CHUNK", size)
    with pytest.warns(tt.DataWarning, match=r"^a.csv: the text is not UTF-8 and is read as Windows-1252"):
        (windows,) = tt.read(tmp_path / "a.csv")
    (utf16,) = tt.read(tmp_path / "b.csv")
    assert windows.node_ids == utf16.node_ids == ("ä", "b", "Œ")


@pytest.mark.parametrize("size", [1, 20, 1000])
def test_a_table_that_is_utf8_at_first_is_not_read_in_another_encoding(tmp_path, monkeypatch, size) -> None:
    """A text that mixes encodings is damaged: none of them would give all names."""
    (tmp_path / "a.csv").write_bytes("u,v,length\nä,b,1\n".encode() + b"b,\xe4,2\n")
    monkeypatch.setattr("torelli.io.files._CHUNK", size)
    with pytest.raises(tt.FormatError, match=r"^a.csv: not UTF-8 text"):
        tt.read(tmp_path / "a.csv")


def test_what_is_counted_is_given_up_with_the_file(tmp_path) -> None:
    """The limit is one for each file: many small ones are no large one."""
    for i in range(20):
        (tmp_path / f"{i}.csv").write_text("u,v,length\n" + "a,b,1\n" * 5000)
    assert len(tt.read(tmp_path, max_bytes=10**6)) == 20


def test_a_budget_tells_what_is_held_from_what_passes() -> None:
    """What is held adds up; what passes does not."""
    budget = Budget(Path("a"), 100)
    for _ in range(3):
        budget.check(90)
    budget.take(60)
    with pytest.raises(tt.RequestTooLargeError, match="100 bytes"):
        budget.check(50)
    with pytest.raises(tt.RequestTooLargeError):
        budget.take(60)
