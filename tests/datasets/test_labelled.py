"""Labelled collections: tiny ones that a test writes, and the real ones where they are there."""

from __future__ import annotations

import collections
import hashlib
import io
import tarfile
import warnings
import zipfile

import numpy as np
import pytest

from torelli import DataNotFoundError, FormatError, InvalidOptionError
from torelli.datasets import labelled, load_ants, load_neurons, load_water, load_zoo

INP = """[JUNCTIONS]
a 0
b 0
[PIPES]
1 a b {length} 8 100 0 Open
2 a b 20 8 100 0 Open
[VALVES]
3 a b 12 PRV 120
[OPTIONS]
Units {units}
"""
GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="Longitude" attr.type="double" for="node" id="x"/>
<key attr.name="Latitude" attr.type="double" for="node" id="y"/>
<key attr.name="Type" attr.type="string" for="graph" id="t"/>
<key attr.name="Network" attr.type="string" for="graph" id="n"/>
<graph edgedefault="undirected"><data key="t">{kind}</data><data key="n">{network}</data>
<node id="0"><data key="x">0.0</data><data key="y">0.0</data></node>
<node id="1">{place}</node>
<node id="2"><data key="x">0.0</data><data key="y">2.0</data></node>
<edge source="0" target="1"/><edge source="1" target="2"/><edge source="0" target="2"/>
</graph></graphml>"""
PLACE = '<data key="x">0.0</data><data key="y">1.0</data>'
ANTS = """colony,distance,from_ID,to_ID,network_ID,treatment
1,10,1_N1,1_T1,1_2012,control
1,12.5,1_N1,1_T2,1_2012,control
1,9,1_N1,1_T1,1_2013,control
2,7,2_N1,2_T1,2_2012,exclusion
"""
SWC = "1 1 0 0 0 1 -1\n2 3 3 4 0 1 1\n3 3 3 4 {z} 1 2\n"


def pack(path, files):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def water(home):
    files = {
        "inp/ky8.inp": INP.format(length=100, units="GPM"),
        "ky8_v.inp": INP.format(length=101, units="GPM"),
        "other.INP": INP.format(length=100, units="LPS"),
        "new.inp": INP.format(length=50, units="LPS"),
    }
    pack(home / "water" / "inp.zip", files)
    rows = "file,hoagland\nky8.inp,looped\nky8_v.inp,looped\nother.INP,branched\nnew.inp,\n"
    (home / "water" / "index.csv").write_text(rows)


def test_water_is_in_metres_with_devices_as_points(home):
    """Feet are converted, a valve between two nodes makes them one, versions of a network are one group."""
    water(home)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = load_water()
    assert data.names == ["ky8", "ky8_v", "other"]
    assert data.y.tolist() == ["looped", "looped", "branched"]
    assert {graph.unit for graph in data.graphs} == {"m"}
    assert sorted(data.graphs[0].length) == pytest.approx([20 * 0.3048, 100 * 0.3048])
    assert sorted(data.graphs[2].length) == [20, 100]
    assert data.graphs[0].n_nodes == 1
    assert data.group_names[data.groups].tolist() == ["ky8.inp", "ky8.inp", "other.INP"]
    assert data.left_out == ["new"]
    assert "1 without this label are left out" in data.DESCR
    assert all("1 valve" in note for note in data.notes)


def test_networks_without_a_label_can_be_kept(home):
    """They have an empty text in y, which is not one of the target names."""
    water(home)
    data = load_water(unlabelled="keep", device_length=None)
    assert data.y.tolist() == ["looped", "looped", "branched", ""]
    assert data.target_names.tolist() == ["branched", "looped"]
    assert data.left_out == []
    assert data.graphs[3].n_nodes == 2
    graphs, y = load_water(return_X_y=True)
    assert (len(graphs), len(y)) == (3, 3)


def zoo_files():
    return {
        "A2001.graphml": GRAPHML.format(kind="REN", network="A ", place=PLACE),
        "A2002.graphml": GRAPHML.format(kind="REN", network="a", place=""),
        "B.graphml": GRAPHML.format(kind="COM", network="B", place=PLACE),
    }


def test_zoo_has_distances_where_all_places_are_known(home):
    """Great-circle lengths in metres; what has an unknown place is left out by name, or has unit lengths."""
    pack(home / "zoo" / "graphml.zip", zoo_files())
    data = load_zoo()
    assert (data.names, data.left_out) == (["A2001", "B"], ["A2002"])
    degree = np.pi / 180 * 6_371_009
    np.testing.assert_allclose(sorted(data.graphs[0].length), [degree, degree, 2 * degree], rtol=1e-3)
    assert "1 networks with nodes of unknown place" in data.DESCR
    every = load_zoo(lengths="unit")
    assert every.y.tolist() == ["REN", "REN", "COM"]
    assert all((graph.length == 1.0).all() and graph.genus == 1 for graph in every.graphs)
    assert every.group_names[every.groups].tolist() == ["a", "a", "b"]
    with pytest.raises(InvalidOptionError, match="lengths"):
        load_zoo(lengths="hops")


def test_ants_are_grouped_by_colony(home):
    """A network is a colony at a time; folds that respect groups never divide a colony."""
    (home / "ants").mkdir()
    (home / "ants" / "edges.csv").write_text(ANTS)
    data = load_ants()
    assert data.names == ["1_2012", "1_2013", "2_2012"]
    assert data.y.tolist() == ["control", "control", "exclusion"]
    assert data.groups.tolist() == [0, 0, 1]
    assert [graph.total_length for graph in data.graphs] == [22.5, 9.0, 7.0]
    assert data.index[2] == {"colony": "2", "treatment": "exclusion"}


def test_neurons_are_trees_with_labels_of_their_index(home):
    """NA is no label, and lengths are between points in space."""
    pack(home / "neurons" / "swc.zip", {"7.swc": SWC.format(z=12), "8.swc": SWC.format(z=1)})
    (home / "neurons" / "index.csv").write_text("specimen__id,tag__dendrite_type\n8,NA\n7,spiny\n")
    data = load_neurons()
    assert (data.names, data.y.tolist(), data.left_out) == (["7"], ["spiny"], ["8"])
    assert data.graphs[0].total_length == 17.0
    assert data.graphs[0].unit == "um"
    assert data.groups is None


def test_an_unknown_label_is_an_error_that_lists_the_known_ones(home):
    """So is an unknown way to treat networks without one."""
    water(home)
    with pytest.raises(InvalidOptionError, match="hoagland"):
        load_water("hoaglnd")
    with pytest.raises(InvalidOptionError, match="keep"):
        load_water(unlabelled="ignore")


def test_what_has_a_public_source_is_downloaded_once_and_checked(home, server, monkeypatch):
    """A wrong checksum is refused; the right file is kept in the cache and read from there."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w:gz") as archive:
        for name, text in zoo_files().items():
            member = tarfile.TarInfo(f"graphml/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    good = hashlib.sha256(body.getvalue()).hexdigest()
    server.answer(body.getvalue())
    for checksum in ("0" * 64, good):
        source = labelled._Source(f"{server.address}/graphml.tar.gz", checksum)
        monkeypatch.setitem(labelled._SOURCES, "graphml.tar.gz", source)
        if checksum != good:
            with pytest.raises(DataNotFoundError, match="SHA-256"):
                load_zoo()
    assert load_zoo().names == load_zoo().names == ["A2001", "B"]
    assert server.paths.count("/graphml.tar.gz") == 5  # four refused, one kept


def test_an_index_and_an_archive_that_do_not_fit_are_refused(home):
    """A network without a file, an index without its column, XML with a DOCTYPE, and half an archive."""
    water(home)
    index = home / "water" / "index.csv"
    index.write_text("file,hoagland\nmissing.inp,looped\n")
    with pytest.raises(FormatError, match=r"missing\.inp"):
        load_water()
    index.write_text("name,hoagland\nky8.inp,looped\n")
    with pytest.raises(FormatError, match="'file'"):
        load_water()
    index.unlink()
    with pytest.raises(DataNotFoundError, match=r"index\.csv"):
        load_water()
    pack(home / "zoo" / "graphml.zip", {"A.graphml": f"<!DOCTYPE x>{zoo_files()['B.graphml']}"})
    with pytest.raises(FormatError, match="DOCTYPE"):
        load_zoo()
    archive = home / "zoo" / "graphml.zip"
    archive.write_bytes(archive.read_bytes()[:40])
    with pytest.raises(FormatError, match="not a complete archive"):
        load_zoo()


def test_the_water_networks_have_their_classes(shared):
    """71 files of which 40 have each label; lengths in metres."""
    shared("water", "index.csv")
    data = load_water()
    assert collections.Counter(data.y.tolist()) == {"looped": 19, "gridded": 16, "branched": 5}
    assert len(data.left_out) == 31
    assert len(data.group_names) == 36
    modena = data.graphs[data.names.index("modena")]
    assert (modena.n_nodes, modena.n_edges, modena.unit) == (272, 317, "m")


def test_versions_of_a_water_network_are_known(shared):
    """Files share a third of the places of their nodes exactly if they are versions of one network."""
    shared("water", "index.csv")
    data = load_water(unlabelled="keep")
    places = [{tuple(p) for p in np.round(graph.coordinates, 1).tolist()} for graph in data.graphs]
    for i, one in enumerate(places):
        for j, other in enumerate(places[:i]):
            if len(one & other) > min(len(one), len(other)) / 3:
                assert data.groups[i] == data.groups[j], (data.names[i], data.names[j])


def test_the_zoo_has_its_networks(shared):
    """276 networks of 194 operators; of 85 all places are known."""
    shared("zoo", "graphml.zip")
    data = load_zoo()
    assert collections.Counter(data.y.tolist()) == {"COM": 55, "REN": 30}
    assert len(data.left_out) == 191
    every = load_zoo("GeoExtent", lengths="unit")
    assert len(every.graphs) == 276
    assert len(every.group_names) == 194
    assert every.index[0]["Network"] == "AARNET"


def test_the_ants_and_the_neurons_are_there(shared):
    """83 networks of 9 colonies, and 100 trees."""
    shared("ants", "edges.csv")
    ants = load_ants()
    assert collections.Counter(ants.y.tolist()) == {"control": 45, "exclusion": 38}
    assert len(ants.group_names) == 9
    shared("neurons", "swc.zip")
    neurons = load_neurons()
    assert collections.Counter(neurons.y.tolist()) == {"spiny": 50, "aspiny": 47, "sparsely spiny": 3}
    assert {graph.genus for graph in neurons.graphs} == {0}
