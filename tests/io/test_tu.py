"""The TU format: what is in folders and zips, and which of them are refused."""

from __future__ import annotations

import struct
import zipfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torelli import DataWarning, FormatError, TorelliError, read
from torelli.datasets import read_tu
from torelli.io import files as archive_module


@pytest.mark.parametrize(
    ("part", "text", "problem"),
    [
        ("A", "1, 2\n2, x\n", r"TINY_A.txt, line 2: '2, x'"),
        ("A", "1, 2\n2, 8\n", r"TINY_A.txt, line 2: an end point is not one of the 7 nodes"),
        ("A", "0, 1\n", r"line 1: an end point is not"),
        ("A", "4, 5\n", r"line 1: the edge joins two graphs"),
        ("A", "1, 99999999999999999\n", r"line 1: an end point"),
        ("graph_indicator", "1\n1\n1\n1\n2\n2\n4\n", r"line 7: the graph is not one of the 3"),
        ("graph_indicator", "0\n1\n1\n1\n2\n2\n3\n", r"line 1: the graph is not"),
        ("graph_indicator", "1\n1\n", r"lines 3, 4, 5, 6, 7 and 3 more: an end point is not one of the 2"),
        ("graph_labels", "", r"the set has no graphs"),
        ("graph_labels", "yes\nno\nno\n", r"line 1: 'yes'"),
    ],
)
def test_files_that_contradict_each_other_are_named(tu_zip, tiny, part, text, problem) -> None:
    """The error has the file, the lines and what is wrong."""
    tiny[part] = text
    with pytest.raises(FormatError, match=problem):
        read_tu(tu_zip(tiny))


@pytest.mark.parametrize("part", ["A", "graph_indicator", "graph_labels"])
def test_a_missing_file_is_named(tu_zip, tiny, part) -> None:
    """Each of the three files is needed."""
    del tiny[part]
    with pytest.raises(FormatError, match=f"no file (NAME|TINY)_{part}.txt"):
        read_tu(tu_zip(tiny))


@pytest.mark.parametrize(
    "member", ["../evil_A.txt", "/evil_A.txt", "a/../../evil_A.txt", "..\\evil_A.txt", "C:/x_A.txt"]
)
def test_a_zip_that_escapes_its_folder_is_refused(tmp_path, member) -> None:
    """A member whose name points outside makes the whole zip suspect."""
    path = tmp_path / "evil.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(member), "1, 2\n")
    with pytest.raises(FormatError, match="points outside its folder"):
        read_tu(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["evil.zip"]


def test_a_zip_that_inflates_without_bound_is_refused(tu_zip, tiny, monkeypatch) -> None:
    """A bomb is refused by what its directory declares, before anything is inflated."""
    tiny["A"] = "1, 2\n" * 4_000_000
    path = tu_zip(tiny)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("a member was opened"))
    with pytest.raises(FormatError, match=r"would inflate .* to 20,000,000 bytes"):
        read_tu(path)
    monkeypatch.setattr(archive_module, "MAX_RATIO", 10**9)
    monkeypatch.setattr(archive_module, "MAX_INFLATED", 10**7)
    with pytest.raises(FormatError, match="would inflate to"):
        read_tu(path)


def test_a_zip_that_lies_about_its_size_is_refused(tu_zip, tiny) -> None:
    """A member that inflates to more than its directory declares is stopped there and refused."""
    tiny["A"] = "1, 2\n" * 4_000_000
    path = tu_zip(tiny)
    content = bytearray(path.read_bytes())
    declared = struct.pack("<I", 20_000_000)
    assert content.count(declared) == 2
    path.write_bytes(content.replace(declared, struct.pack("<I", 50)))
    with pytest.raises(FormatError, match="cannot be read: Bad CRC"):
        read_tu(path)


def test_absurd_numbers_of_members_are_refused(tmp_path, monkeypatch) -> None:
    """A zip with more members than any data set has is refused."""
    monkeypatch.setattr(archive_module, "MAX_MEMBERS", 100)
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for at in range(101):
            archive.writestr(f"{at}.txt", "")
    with pytest.raises(FormatError, match="101 members"):
        read_tu(path)


def test_two_sets_in_one_zip_are_refused(tmp_path) -> None:
    """It must be clear which set is meant."""
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X/X_A.txt", "")
        archive.writestr("Y/Y_A.txt", "")
    with pytest.raises(FormatError, match="2 files named"):
        read_tu(path)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_zip_gives_graphs_or_an_error_of_ours(tu_zip, data) -> None:
    """Bytes changed or cut off anywhere in a zip never end in a crash or a foreign exception."""
    files = {"A": "1, 2\n2, 3\n3, 1\n", "graph_indicator": "1\n1\n1\n", "graph_labels": "1\n"}
    path = tu_zip(files, name="D")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(TorelliError):
        assert len(read_tu(path).graphs) == 1


def test_labels_and_attributes_of_edges_are_values(tiny, tu_zip) -> None:
    """Bond types stay with their edges; attributes that are lengths are not repeated as values."""
    tiny["edge_labels"] = "0\n0\n1\n1\n2\n2\n3\n3\n1\n1\n"
    tiny["edge_attributes"] = "".join(f"{row // 2 + 0.5}, {row // 2}\n" for row in range(10))
    with pytest.warns(DataWarning, match="the edge attributes are not lengths"):
        first, second, alone = read(tu_zip(tiny))
    ends = {(u, v): i for i, (u, v) in enumerate(zip(first.tail.tolist(), first.head.tolist(), strict=True))}
    order = [ends[pair] for pair in ((0, 1), (1, 2), (0, 2), (2, 3))]
    assert first.edge_values["label"][order].tolist() == [0, 1, 2, 3]
    assert first.edge_values["attribute_1"][order].tolist() == [0.5, 1.5, 2.5, 3.5]
    assert second.edge_values["label"].tolist() == [1]
    assert alone.n_edges == 0
    tiny["edge_attributes"] = "".join(f"{row // 2 + 0.5}\n" for row in range(10))
    (first, *_) = read(tu_zip(tiny), values=["label"])
    assert [*first.edge_values] == ["label"]
    assert first.length[order].tolist() == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    ("labels", "problem"),
    [("0\n1\n" * 5, "differs between the two directions"), ("0\n", "1 rows"), ("x\n" * 10, "'x'")],
)
def test_labels_of_edges_that_cannot_be_kept_are_left_out(tiny, tu_zip, labels, problem) -> None:
    """A set is read whatever its labels of edges are; what is left out is told."""
    tiny["edge_labels"] = labels
    tiny["edge_attributes"] = "1\n" * 10
    with pytest.warns(DataWarning, match=rf"TINY_edge_labels.txt.*{problem}.*left out as values"):
        graphs = read(tu_zip(tiny))
    assert not graphs[0].edge_values
