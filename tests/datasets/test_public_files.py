"""Collections downloaded file by file, from a server that a test starts."""

from __future__ import annotations

import hashlib

import pytest

from torelli import DataNotFoundError
from torelli.datasets import load_neurons, load_water, public_files

INP = """[JUNCTIONS]
a 0
b 0
[PIPES]
1 a b {length} 8 100 0 Open
2 a b 20 8 100 0 Open
[OPTIONS]
Units LPS
"""
SWC = "1 1 0 0 0 1 -1\n2 3 3 4 0 1 1\n3 3 3 4 {z} 1 2\n"
PAGE = """It has 256 miles of
pipe. It is classified as {lansey} by Hwang & Lansey (2017) and {hoagland}
by Hoagland et al. (2015).
<img src="../static/benchmarks/{folder}/plot.png"/>
"""
SPECIMENS = "line_name,specimen__id,tag__dendrite_type\nx,9,aspiny\ny,8,spiny\nz,7,NA\n"


def publish(folder, server, monkeypatch, name, contents):
    """Let a server answer with files, in the order of a list of their checksums."""
    monkeypatch.setattr(public_files, "CHECKSUMS", folder)
    monkeypatch.setattr(public_files, "RAW", server.address)
    head = f"# Files of https://github.com/a/b (MIT) at the commit {'0' * 40}"
    lines = [f"{hashlib.sha256(text.encode()).hexdigest()}  {path}" for path, text in contents.items()]
    (folder / f"{name}.sha256").write_text("\n".join([head, *lines]) + "\n")
    for text in contents.values():
        server.answer(text.encode())


def test_water_is_downloaded_with_the_classes_of_its_pages(home, server, monkeypatch, tmp_path):
    """Every file is fetched once; a page labels the networks of its folder; the others have no label."""
    contents = {
        "docs/a.md": PAGE.format(lansey="distribution branch", hoagland="looped", folder="network-a"),
        "docs/b.md": "A page of a network that nobody classified.",
        "docs/static/benchmarks/network-a/Net A.inp": INP.format(length=10),
        "docs/static/benchmarks/network-b/b.INP": INP.format(length=11),
    }
    publish(tmp_path, server, monkeypatch, "water", contents)
    data = load_water(unlabelled="keep")
    assert (data.names, data.y.tolist()) == (["Net A", "b"], ["looped", ""])
    assert [row["hwang_lansey"] for row in data.index] == ["distribution branch", ""]
    assert sorted(data.graphs[0].length) == [10, 20]
    assert load_water().names == ["Net A"]
    commit = f"/a/b/{'0' * 40}/"
    assert server.paths == [commit + path.replace(" ", "%20") for path in contents]
    cache = tmp_path / "cache" / "torelli" / "water"
    assert sorted(path.name for path in cache.iterdir()) == ["index.csv", "inp.zip"]


def test_neurons_are_downloaded_with_their_rows_of_the_table(home, server, monkeypatch, tmp_path):
    """The index has the specimens that have a reconstruction, in the order of their numbers."""
    contents = {
        "data/cell_types_specimen_details.csv": SPECIMENS,
        "data/swc/8.swc": SWC.format(z=12),
        "data/swc/7.swc": SWC.format(z=1),
    }
    publish(tmp_path, server, monkeypatch, "neurons", contents)
    data = load_neurons("line_name")
    assert (data.names, data.y.tolist()) == (["7", "8"], ["z", "y"])
    assert load_neurons().names == ["8"]
    assert len(server.paths) == len(contents)


def test_an_interrupted_download_goes_on_where_it_was(home, server, monkeypatch, tmp_path):
    """A file with a wrong checksum stops the download; those before it are kept and not fetched again."""
    contents = {
        "data/cell_types_specimen_details.csv": SPECIMENS,
        "data/swc/7.swc": SWC.format(z=1),
        "data/swc/8.swc": SWC.format(z=12),
    }
    publish(tmp_path, server, monkeypatch, "neurons", contents)
    right = server.answers.pop()
    server.answer(b"not that")
    with pytest.raises(DataNotFoundError, match=r"8\.swc\n.*SHA-256"):
        load_neurons()
    assert not (tmp_path / "cache" / "torelli" / "neurons" / "swc.zip").exists()
    server.answers[:] = [right]
    server.paths.clear()
    assert load_neurons().names == ["8"]
    assert [path.rpartition("/")[2] for path in server.paths] == ["8.swc"]


@pytest.mark.parametrize(("name", "count"), [("water", 71), ("neurons", 100)])
def test_the_lists_of_checksums_are_whole(name, count):
    """Each names a repository at a commit, and every network of the collection once."""
    repository = public_files._source(name)
    networks = [path for path in repository.sha256 if path.lower().endswith((".inp", ".swc"))]
    assert len({path.rpartition("/")[2] for path in networks}) == len(networks) == count
    assert all(len(checksum) == 64 for checksum in repository.sha256.values())
