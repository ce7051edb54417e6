"""Raw OpenStreetMap, and that the same city is the same by every way."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import sys
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np
import osmnx as ox
import pytest
from osmnx import _overpass

import torelli as tt
from torelli._geo import great_circle
from torelli.datasets.osm import load_city
from torelli.datasets.urn import load_urn
from torelli.io.osm import _EXCLUDED, road_filter

if TYPE_CHECKING:
    from pathlib import Path

    import networkx as nx

OSM = """<?xml version='1.0'?><osm version="0.6">
<node id="1" lat="50.0" lon="8.0"/><node id="2" lat="50.001" lon="8.0"/>
<node id="3" lat="50.001" lon="8.001"/><node id="4" lat="50.0" lon="8.001"/>{nodes}
<way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/><tag k="highway" v="residential"/></way>
<way id="11"><nd ref="3"/><nd ref="4"/><nd ref="1"/><tag k="highway" v="primary"/>
<tag k="oneway" v="yes"/></way>
<way id="12"><nd ref="1"/><nd ref="3"/><tag k="highway" v="footway"/></way>
<way id="13"><nd ref="2"/><nd ref="4"/><tag k="building" v="yes"/></way>
{ways}</osm>"""


def way(identity, refs) -> str:
    steps = "".join(f'<nd ref="{ref}"/>' for ref in refs)
    return f'<way id="{identity}">{steps}<tag k="highway" v="primary"/></way>'


def write(tmp_path, nodes="", ways="", name="town.osm") -> Path:
    file = tmp_path / name
    text = OSM.format(nodes=nodes, ways=ways).encode()
    opener = {".gz": gzip.open, ".bz2": bz2.open}.get(file.suffix, open)
    with opener(file, "wb") as stream:
        stream.write(text)
    return file


@pytest.mark.parametrize("name", ["town.osm", "town.osm.gz", "town.osm.bz2"])
def test_roads_are_read_with_every_node(tmp_path, name) -> None:
    """All nodes of the ways that are taken are nodes, and lengths are metres on the sphere."""
    (graph,) = tt.read(write(tmp_path, name=name), network_type="drive")
    assert (graph.name, graph.source, graph.unit, graph.crs) == ("town", name, "m", "EPSG:4326")
    assert graph.node_ids == (1, 2, 3, 4)
    assert (graph.n_edges, graph.genus) == (4, 1)
    assert graph.length[0] == pytest.approx(np.deg2rad(0.001) * 6_371_009)
    np.testing.assert_array_equal(graph.coordinates[2], [8.001, 50.001])


@pytest.mark.parametrize(("network_type", "n_edges"), [("drive", 4), ("all", 5), (None, 6)])
def test_network_types(tmp_path, network_type, n_edges) -> None:
    """Footways are in "all", and None takes whatever is a way."""
    assert tt.read(write(tmp_path), network_type=network_type)[0].n_edges == n_edges


def test_the_default_is_that_of_osmnx_wherever_streets_are_taken(tmp_path) -> None:
    """Files, places and the paper's sets take every road and path if nothing else is asked for."""
    assert tt.read(write(tmp_path))[0].n_edges == 5
    assert load_city(str(write(tmp_path))).streets.n_edges == 5
    for function in (load_city, load_urn, ox.graph_from_point):
        assert signature(function).parameters["network_type"].default == "all"


def test_unknown_network_type(tmp_path) -> None:
    """An unknown type is an error that lists the possible ones."""
    with pytest.raises(tt.InvalidOptionError, match="'drive_service'"):
        tt.read(write(tmp_path), network_type="fly")


@pytest.mark.parametrize("network_type", list(_EXCLUDED))
def test_the_road_filter_is_that_of_osmnx(network_type) -> None:
    """Our filter and OSMnx's query agree on every value that either of them names, and on others."""
    query = _overpass._get_network_filter(network_type)
    rules = re.findall(r'\["(\w+)"!~"([^"]*)"\]', query)
    keep = road_filter(network_type)
    values = {value for rule in _EXCLUDED.values() for text in rule.values() for value in text.split("|")}
    values |= {value for _, text in rules for value in text.split("|")}
    values |= {"residential", "motorway", "track_2", "yes", "private", "permissive", "living_street"}
    for key in {"highway", *(key for key, _ in rules), *_EXCLUDED[network_type]}:
        for value in values:
            tags = {"highway": "residential", key: value}
            theirs = not any(re.search(pattern, tags.get(name, "")) for name, pattern in rules)
            assert keep(tags) == theirs, tags
    assert not keep({"building": "yes"})


def osmnx_graph(file, tmp_path, network_type) -> nx.MultiDiGraph:
    """Read the ways of a file by OSMnx, unsimplified, chosen by OSMnx's own query for a type of network."""
    plain = tmp_path / "plain.osm"
    opener = gzip.open if file.suffix == ".gz" else bz2.open
    with opener(file) as stream:
        plain.write_bytes(stream.read())
    graph = ox.graph_from_xml(plain, simplify=False, retain_all=True)
    if network_type is not None:
        rules = re.findall(r'\["(\w+)"!~"([^"]*)"\]', _overpass._get_network_filter(network_type))
        graph.remove_edges_from(
            [
                (u, v, key)
                for u, v, key, tags in graph.edges(keys=True, data=True)
                if "highway" not in tags or any(re.search(p, str(tags.get(tag, ""))) for tag, p in rules)
            ]
        )
        graph.remove_nodes_from([node for node, degree in dict(graph.degree).items() if not degree])
    return graph


@pytest.mark.parametrize("network_type", ["drive", "all", None])
@pytest.mark.parametrize("name", ["monaco.osm.gz", "west-oakland.osm.bz2", "chicago-logan-square.osm.gz"])
def test_the_same_city_by_every_way(data, tmp_path, monkeypatch, name, network_type) -> None:
    """Our reader, OSMnx unsimplified and OSMnx simplified give the same Torelli matrix to 1e-6."""
    monkeypatch.setattr(
        ox.settings, "useful_tags_way", [*ox.settings.useful_tags_way, "motor_vehicle", "motorcar"]
    )
    file = data / "osm" / name
    (ours,) = tt.read(file, network_type=network_type)
    raw = osmnx_graph(file, tmp_path, network_type)
    simplified = ox.simplification.simplify_graph(raw, remove_rings=False)
    graphs = [ours, *map(tt.as_metric_graph, (raw, simplified))]
    assert graphs[2].n_nodes < graphs[0].n_nodes
    matrices = tt.torelli_matrices(graphs)
    assert ours.genus > 0
    for matrix in matrices[1:]:
        np.testing.assert_allclose(matrix, matrices[0], rtol=0, atol=1e-6 * np.abs(matrices[0]).max())


def test_real_files_are_read(data) -> None:
    """PBF extracts and the Overpass answer are read without a warning."""
    names = ["andorra.osm.pbf", "baltimore.osm.pbf", "harrisburg.osm.pbf", "paris-16e-7e-overpass.json.gz"]
    graphs = tt.read([data / "osm" / name for name in names], network_type="drive")
    assert [graph.name for graph in graphs] == ["andorra", "baltimore", "harrisburg", "paris-16e-7e-overpass"]
    assert [graph.genus for graph in graphs] == [265, 1288, 1489, 578]


def test_missing_nodes_are_counted(tmp_path) -> None:
    """Steps to nodes that an extract lacks are left out with a warning that counts them."""
    ways = way(20, [4, 77, 78])
    with pytest.warns(tt.DataWarning, match="2 nodes.*2 of 6 steps"):
        (graph,) = tt.read(write(tmp_path, ways=ways), network_type="drive")
    assert graph.n_edges == 4


def test_two_nodes_in_one_place_are_contracted(tmp_path) -> None:
    """A step of length 0 is contracted with a warning, and the genus stays."""
    ways = way(20, [4, 5, 6, 2])
    nodes = '<node id="5" lat="50.0" lon="8.001"/><node id="6" lat="50.0005" lon="8.0005"/>'
    with pytest.warns(tt.DataWarning, match="1 steps have length 0"):
        (graph,) = tt.read(write(tmp_path, nodes, ways), network_type="drive")
    assert (graph.n_nodes, graph.n_edges, graph.genus) == (5, 6, 2)


def test_a_node_in_two_places_is_an_error(tmp_path) -> None:
    """A node id may come again in the same place, not in another: the file is two states of the map."""
    again = '<node id="4" lat="50.0" lon="8.001"/>'
    first = tt.read(write(tmp_path))[0].n_nodes
    assert tt.read(write(tmp_path, again))[0].n_nodes == first
    with pytest.raises(tt.FormatError, match=r"1 node ids appear in more than one place \(4\)"):
        tt.read(write(tmp_path, again.replace("8.001", "8.002")))


def test_negative_ids_and_nodes_after_ways(tmp_path) -> None:
    """New objects of JOSM have negative ids; a file may list nodes last."""
    nodes = '<node id="-1" lat="50.0005" lon="8.0005"/>'
    assert -1 in tt.read(write(tmp_path, nodes, way(-20, [4, -1, 2])))[0].node_ids
    file = tmp_path / "late.osm"
    nodes = '<node id="1" lat="50.0" lon="8.0"/><node id="2" lat="50.001" lon="8.0"/>'
    file.write_text(f'<osm version="0.6">{way(9, [1, 2])}{nodes}</osm>')
    assert tt.read(file)[0].n_edges == 1


def test_ids_without_bound_cost_no_memory(tmp_path) -> None:
    """Ids that are far apart, as in a file that attacks, are read like any other."""
    resource = pytest.importorskip("resource", reason="memory is measured by Unix")
    nodes = "".join(f'<node id="{1 + i * 2**40}" lat="50.{i:04}" lon="9"/>' for i in range(1, 5000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (graph,) = tt.read(
        write(tmp_path, nodes, way(20, [1 + i * 2**40 for i in range(1, 2000)])), network_type="drive"
    )
    assert graph.n_edges == 4 + 1998
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_a_step_taken_twice_is_one_piece_of_street(tmp_path) -> None:
    """A way that goes there and back has the step once, with a warning; repeated nodes are one."""
    ways = way(20, [2, 4, 4, 2])
    with pytest.warns(tt.DataWarning, match="1 steps are taken twice"):
        (graph,) = tt.read(write(tmp_path, ways=ways), network_type="drive")
    assert graph.n_edges == 5


@pytest.mark.parametrize(
    ("nodes", "ways", "message"),
    [
        (
            "",
            '<way id="10"><nd ref="1"/><nd ref="2"/><tag k="highway" v="road"/></way>',
            "1 ways appear more",
        ),
        ('<node id="x" lat="51.0" lon="8.0"/>', "", "pyosmium cannot read"),
        ('<node id="5" lat="99.0" lon="8.0"/>', "", "pyosmium cannot read|points lie outside"),
        ("<node id='7'", "", "pyosmium cannot read"),
    ],
)
def test_broken_osm(tmp_path, nodes, ways, message) -> None:
    """Duplicate ids, places off the earth and broken XML are one clear error."""
    ways += (
        '<way id="30"><nd ref="5"/><nd ref="1"/><tag k="highway" v="road"/></way>' if "99" in nodes else ""
    )
    with pytest.raises(tt.FormatError, match=message):
        tt.read(write(tmp_path, nodes, ways))


def test_entities_in_osm_are_refused(tmp_path) -> None:
    """An entity bomb in OSM XML is an error, at once."""
    texts = ["ha", *(f"&e{i};" * 10 for i in range(11))]
    bomb = "".join(f'<!ENTITY e{i} "{text}">' for i, text in enumerate(texts))
    file = tmp_path / "bomb.osm"
    file.write_text(f'<!DOCTYPE osm [{bomb}]><osm version="0.6">&e11;</osm>')
    with pytest.raises(tt.FormatError, match="pyosmium cannot read"):
        tt.read(file)


def test_no_roads(tmp_path) -> None:
    """A file without roads of the type says how many ways it has and what to try."""
    file = tmp_path / "empty.osm"
    file.write_text('<osm version="0.6"></osm>')
    with pytest.raises(tt.FormatError, match=r"none of its 0 ways.*'all'"):
        tt.read(file)


def overpass(**changes: object) -> dict:
    elements = [
        {"type": "node", "id": 1, "lat": 50.0, "lon": 8.0},
        {"type": "node", "id": 2, "lat": 50.001, "lon": 8.0},
        {"type": "way", "id": 9, "nodes": [1, 2], "tags": {"highway": "primary"}},
        {"type": "relation", "id": 3},
    ]
    elements[2].update(changes)
    return {"version": 0.6, "elements": elements}


def test_overpass_answers(tmp_path) -> None:
    """Nodes listed apart or the geometry of ways: both give the same edge."""
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(overpass()))
    (apart,) = tt.read(file)
    geometry = {
        "elements": [
            {
                **overpass()["elements"][2],
                "geometry": [{"lat": 50.0, "lon": 8.0}, {"lat": 50.001, "lon": 8.0}],
            }
        ]
    }
    file.write_text(json.dumps(geometry))
    (inline,) = tt.read(file)
    assert apart == inline
    assert apart.length == great_circle(*np.array([[8.0], [50.0], [8.0], [50.001]]))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            {"remark": "runtime error: Query timed out", **overpass()},
            "incomplete.*'runtime error: Query timed out'",
        ),
        ({"remark": "runtime error: out of memory", "elements": []}, "incomplete.*out of memory"),
        ({"elements": []}, "the response is empty"),
    ],
)
def test_overpass_answers_that_are_cut_off_or_empty(tmp_path, answer, message) -> None:
    """An answer that the server gave up on is an error with its remark; one without elements says so."""
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(answer))
    with pytest.raises(tt.FormatError, match=rf"^answer\.json: .*{message}"):
        tt.read(file)


def test_overpass_nodes_in_two_places(tmp_path) -> None:
    """A node that is listed again elsewhere is an error; in the same place it is the same node."""
    answer = overpass()
    answer["elements"].append(answer["elements"][0])
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(answer))
    assert tt.read(file)[0].n_nodes == 2
    answer["elements"].append({**answer["elements"][0], "lat": 51})
    file.write_text(json.dumps(answer))
    with pytest.raises(tt.FormatError, match=r"1 node ids appear in more than one place \(1\)"):
        tt.read(file)


@pytest.mark.parametrize(
    "answer",
    [
        {"elements": 5},
        {"elements": [5]},
        {"elements": [{"type": "way", "id": 1, "tags": {"highway": "road"}}]},
        overpass(nodes=[1, "x"]),
        overpass(nodes=[1, 10**30]),
        overpass(nodes=7),
        overpass(tags=5),
        overpass(id=[1]),
        {"type": "something"},
        [],
        7,
    ],
)
def test_broken_overpass_answers(tmp_path, answer) -> None:
    """Whatever else is in the JSON is one clear error."""
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(answer))
    with pytest.raises(tt.FormatError, match=r"^answer\.json: "):
        tt.read(file)


def test_without_pyosmium_the_error_names_the_extra(tmp_path, monkeypatch) -> None:
    """A missing package is an error with the command that installs it."""
    monkeypatch.setitem(sys.modules, "osmium", None)
    with pytest.raises(tt.MissingExtraError, match=r"pyosmium: pip install 'torelli\[osm\]'"):
        tt.read(write(tmp_path))
