"""Finding files, choosing readers, and files that attack."""

from __future__ import annotations

import bz2
import gzip
import shutil
import tracemalloc
from pathlib import Path

import pytest

import torelli as tt

EDGE = "u,v,length\n1,2,3\n"


def test_a_pattern_a_folder_a_list_and_a_file(tmp_path) -> None:
    """Files of a pattern or folder come sorted by path; those of a list in its order; always a list."""
    for name in ("b.csv", "a.csv", "c.csv"):
        (tmp_path / name).write_text(EDGE)
    (tmp_path / "README.txt").write_text("not a graph")
    names = ["a", "b", "c"]
    assert [graph.name for graph in tt.read(tmp_path / "*.csv")] == names
    assert [graph.name for graph in tt.read(str(tmp_path))] == names
    assert [graph.name for graph in tt.read([tmp_path / "c.csv", tmp_path / "a.csv"])] == ["c", "a"]
    assert [graph.name for graph in tt.read(tmp_path / "b.csv")] == ["b"]


def test_a_name_with_brackets_is_a_file_first(tmp_path) -> None:
    """A file whose name looks like a pattern is read as that file."""
    (tmp_path / "roads[1].csv").write_text(EDGE)
    assert tt.read(tmp_path / "roads[1].csv")[0].name == "roads[1]"


@pytest.mark.parametrize("path", ["nowhere.csv", "no*.csv", "a\0b", "x" * 5000])
def test_no_such_file(tmp_path, path) -> None:
    """What is not there is an error that names it."""
    with pytest.raises(tt.DataNotFoundError, match="no file"):
        tt.read(str(tmp_path / path))


def test_an_empty_folder(tmp_path) -> None:
    """A folder without graphs is an error."""
    with pytest.raises(tt.DataNotFoundError, match="no file of a known format"):
        tt.read(tmp_path)


def test_a_folder_of_several_formats_is_in_doubt(tmp_path) -> None:
    """Which files are meant is asked for, not guessed."""
    (tmp_path / "index.csv").write_text(EDGE)
    (tmp_path / "a.graphml").write_text("<graphml/>")
    with pytest.raises(tt.FormatError, match=r"1 graphml \(such as a.graphml\), 1 csv \(such as index.csv\)"):
        tt.read(tmp_path)


@pytest.mark.parametrize("name", ["a.abc", "a", "a.npz"])
def test_unknown_formats_are_refused(tmp_path, name) -> None:
    """A format that is not known is never opened."""
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(tt.FormatError, match=r"not known.*csv.*graphml"):
        tt.read(tmp_path / name)


def test_all_bad_files_are_in_one_error(tmp_path) -> None:
    """Every file that cannot be read is named, whatever is wrong with it."""
    (tmp_path / "a.csv").write_text("u,v,length\n1,2,-3\n")
    (tmp_path / "b.csv").write_text("")
    (tmp_path / "c.csv").write_text(EDGE)
    (tmp_path / "d.csv").write_text("u,v,length\n1,2,0\n")
    with pytest.raises(tt.FormatError, match=r"(?s)3 files.*a\.csv.*negative.*b\.csv.*empty.*d\.csv.*zero"):
        tt.read(tmp_path / "*.csv")
    with pytest.raises(tt.InvalidGraphError, match=r"(?s)2 faults.*a\.csv.*d\.csv"):
        tt.read(tmp_path / "[ad].csv")


def test_mixed_units_are_warned_of(tmp_path) -> None:
    """Graphs in several units are counted by unit."""
    (tmp_path / "a.csv").write_text("u,v,length,unit\n1,2,3,m\n")
    (tmp_path / "b.csv").write_text("u,v,length,unit\n1,2,3,km\n")
    with pytest.warns(tt.DataWarning, match="2 units: 1 in 'km', 1 in 'm'"):
        tt.read(tmp_path)


TU = {"A": "1,2\n2,1\n2,3\n3,2\n", "graph_indicator": "1\n1\n1\n", "graph_labels": "0\n"}


@pytest.mark.parametrize("packed", [False, True])
def test_tu_sets_have_the_lengths_that_they_state(tmp_path, packed) -> None:
    """The edge attribute of a TU folder or zip is the length, without a warning."""
    file = write_tu(tmp_path, {**TU, "edge_attributes": "1.5\n1.5\n2.5\n2.5\n"}, packed=packed)
    (graph,) = tt.read(file)
    assert (graph.name, graph.length.tolist()) == ("SET[0]", [1.5, 2.5])


def test_tu_sets_have_their_labels(tmp_path) -> None:
    """The label of each graph is a field of its record."""
    file = write_tu(tmp_path, {**TU, "edge_attributes": "1\n1\n2\n2\n", "graph_labels": "-1\n"}, packed=True)
    assert [record.fields for record in tt.read_records(file)] == [{"label": -1}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}', "neither a response of the Overpass API .* nor GeoJSON"),
        ('{"elements": [], "type": "FeatureCollection"}', "the response is empty"),
        ('{"type": "FeatureCollection", "features": []}', "no edges, and no nodes either"),
        ("{", "not valid JSON"),
    ],
)
def test_json_is_told_by_its_content(tmp_path, content, message) -> None:
    """A .json file is Overpass or GeoJSON by what it holds, and refused if it is neither."""
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(tt.FormatError, match=rf"^a\.json: .*{message}"):
        tt.read(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({}, "has no edge attributes"),
        ({"edge_attributes": "1\n2\n3\n3\n"}, "not lengths .*contradicts another row"),
        ({"edge_attributes": "1\n1\n0\n0\n"}, "not lengths .*greater than 0"),
        ({"edge_attributes": "1,2\n1,2\n1,2\n1,2\n"}, "not lengths .*rows of 2 numbers"),
    ],
)
def test_tu_sets_without_lengths_are_warned_of(tmp_path, attributes, why) -> None:
    """Where a TU set states no lengths they are 1, and one warning names the loader that has others."""
    file = write_tu(tmp_path, {**TU, **attributes}, packed=True)
    with pytest.warns(tt.DataWarning, match=rf"{why}.*load_tu\(path, lengths=") as caught:
        (graph,) = tt.read(file)
    assert graph.length.tolist() == [1, 1]
    assert len(caught) == 1


def write_tu(tmp_path, files, *, packed) -> Path:
    folder = tmp_path / "SET"
    folder.mkdir()
    for part, text in files.items():
        (folder / f"SET_{part}.txt").write_text(text)
    return Path(shutil.make_archive(str(folder), "zip", tmp_path, "SET")) if packed else folder


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "u,v,length\n"),
        ("a.geojson", '{"type": "FeatureCollection", "features": []}'),
        ("a.json", '{"type": "FeatureCollection", "features": []}'),
        ("a.jsonl", '{"edges": []}\n'),
        ("a.graphml", "<graphml><graph/></graphml>"),
    ],
)
def test_files_of_nothing_are_refused(tmp_path, name, text) -> None:
    """A file with neither edges nor nodes, such as a lone header, is an error."""
    (tmp_path / name).write_text(text)
    with pytest.raises(tt.FormatError, match=rf"^{name}: the file has no edges"):
        tt.read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", '{"edges": [], "nodes": [1, 2]}\n'),
        ("a.graphml", "<graphml><graph><node id='1'/><node id='2'/></graph></graphml>"),
    ],
)
def test_files_of_nodes_alone_are_warned_of(tmp_path, name, text) -> None:
    """Nodes without an edge are a graph, but hardly the one that is meant."""
    (tmp_path / name).write_text(text)
    with pytest.warns(tt.DataWarning, match=f"{name}: the file has no edges"):
        assert tt.read(tmp_path / name)[0].n_nodes == 2


BOMBS = {
    "bomb.graphml.gz": gzip.compress,
    "bomb.csv.bz2": bz2.compress,
    "bomb.osm.gz": gzip.compress,
    "bomb.osm.bz2": bz2.compress,
    "bomb.jsonl.gz": gzip.compress,
    "bomb.swc.gz": gzip.compress,
    "bomb.json.gz": gzip.compress,
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_decompression_bombs_stop_at_the_limit(tmp_path, name) -> None:
    """A file that inflates without bound is refused at the limit, in bounded memory."""
    block = BOMBS[name](b" " * 2**22)
    (tmp_path / name).write_bytes(block * 64)
    tracemalloc.start()
    with pytest.raises(tt.RequestTooLargeError, match=rf"^{name}: .* 67\.1 MB that are allowed; .*max_bytes"):
        tt.read(tmp_path / name, max_bytes=2**26)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**26


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "1"])
def test_bad_limits(limit) -> None:
    """The limit is a number of bytes."""
    with pytest.raises(tt.InvalidOptionError, match="max_bytes"):
        tt.read("a.csv", max_bytes=limit)


@pytest.mark.parametrize("name", ["a.graphml.gz", "a.csv.bz2", "a.osm.gz", "a.osm.bz2"])
def test_truncated_archives(tmp_path, name) -> None:
    """An archive that ends too early, or is none, is an error that says so."""
    pack = gzip.compress if name.endswith("gz") else bz2.compress
    packed = pack(b"u,v,length\n" + b"".join(b"%d,%d,1\n" % (i, i * 7919) for i in range(5000)))
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    with pytest.raises(tt.FormatError, match="truncated or corrupt"):
        tt.read(tmp_path / name)
    (tmp_path / name).write_bytes(b"no archive")
    with pytest.raises(tt.FormatError, match="truncated or corrupt"):
        tt.read(tmp_path / name)


@pytest.mark.parametrize("name", ["city.pickle", "city.pkl.gz", "CITY.GPICKLE"])
def test_pickles_are_never_loaded(tmp_path, name) -> None:
    """The error of a pickle says why, and how to convert it."""
    (tmp_path / name).write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(tt.FormatError, match=rf"(?i){name}: pickles are never loaded.*osmnx\.save_graphml"):
        tt.read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.kml", "ogr2ogr a.gpkg a.kml"),
        ("a.dbf", r"give a\.shp"),
        ("a.gexf", r"networkx.read_gexf\('a.gexf'\)"),
        ("a.txt", r"rename it to a\.csv"),
        ("a.xlsx", r"save the sheet as a\.csv"),
    ],
)
def test_formats_that_many_have_are_refused_with_the_way_to_convert(tmp_path, name, remedy) -> None:
    """A user of another program is told what to do with the file."""
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(tt.FormatError, match=rf"^{name}: \{name[1:]} files are not read; .*{remedy}"):
        tt.read(tmp_path / name)


def test_suffixes_are_listed_once(tmp_path) -> None:
    """Two readers have .json; the list of what can be read has it once."""
    (tmp_path / "a.abc").write_bytes(b"x")
    with pytest.raises(tt.FormatError) as caught:
        tt.read(tmp_path / "a.abc")
    assert str(caught.value).count(".json,") == 1


def test_geography_markup_is_told_from_gml_of_graphs(tmp_path) -> None:
    """Both have the suffix .gml; the geographic one is XML."""
    (tmp_path / "a.gml").write_text('\n<?xml version="1.0"?><ogr:FeatureCollection/>')
    with pytest.raises(tt.FormatError, match=r"^a.gml: this is Geography Markup.*ogr2ogr a.gpkg a.gml"):
        tt.read(tmp_path / "a.gml")
