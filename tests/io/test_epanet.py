"""EPANET's files of water networks."""

from __future__ import annotations

import re
import zipfile

import numpy as np
import pytest

import torelli as tt
from torelli.cli import main
from torelli.io.epanet import EPANET

QUIET = "ignore::torelli.DataWarning"


@pytest.fixture
def town(tmp_path):
    """Return the example of the reader: two pipes, a pump and a valve between two junctions and a tank."""
    file = tmp_path / "town.inp"
    file.write_text(EPANET.example)
    return file


def test_pipes_pumps_and_valves_are_edges(town) -> None:
    """Pumps and valves are edges of length 1, which a warning says, with the option that changes it."""
    with pytest.warns(
        tt.DataWarning, match=r"town\.inp: 1 pump and 1 valve .* length 1 ft; .*device_length="
    ):
        (graph,) = tt.read(town)
    assert graph.node_ids == ("a", "b", "t")
    assert list(zip(graph.tail.tolist(), graph.head.tolist(), strict=True)) == [
        (0, 1),
        (0, 1),
        (2, 0),
        (2, 1),
    ]
    assert graph.length.tolist() == [1200, 900, 1, 1]
    assert graph.edge_values["kind"].tolist() == ["pipe", "pipe", "pump", "valve"]
    np.testing.assert_array_equal(graph.edge_values["diameter"], [16, 12, np.nan, 12])
    assert graph.coordinates.tolist() == [[1.5, 2.5], [3, 4], [0, 0]]
    assert (graph.name, graph.source, graph.unit, graph.genus) == ("town", "town.inp", "ft", 2)


def test_pumps_and_valves_are_left_out(town, capsys) -> None:
    """With None, or `none` on the command line, pumps and valves are left out, and all nodes stay."""
    with pytest.warns(tt.DataWarning, match="1 pump and 1 valve without a length are left out"):
        (graph,) = tt.read(town, device_length=None)
    assert (graph.n_nodes, graph.n_edges, graph.n_components) == (3, 2, 2)
    assert graph.edge_values["diameter"].tolist() == [16, 12]
    assert main(["info", str(town), "--device-length", "none", "--json"]) == 0
    output = capsys.readouterr()
    assert '"edges": 2' in output.out
    assert "left out" in output.err


def test_pumps_and_valves_are_points(town) -> None:
    """With length 0 the nodes that a pump or valve joins are one, and the pipes keep their lengths."""
    with pytest.warns(tt.DataWarning, match="1 pump and 1 valve without a length are points"):
        (graph,) = tt.read(town, device_length=0)
    assert (graph.n_nodes, graph.n_loops, graph.length.tolist()) == (1, 2, [1200, 900])
    assert graph.node_ids == ("a",)
    assert graph.edge_values["kind"].tolist() == ["pipe", "pipe"]
    assert graph.coordinates.tolist() == [[1.5, 2.5]]


@pytest.mark.parametrize("length", [-1, float("nan"), float("inf")])
def test_impossible_lengths_of_pumps_are_refused(town, length) -> None:
    """A negative or infinite length of pumps and valves is an error."""
    with pytest.raises(tt.InvalidOptionError, match="device_length"):
        tt.read(town, device_length=length)


@pytest.mark.parametrize(
    ("units", "unit"),
    [("GPM", "ft"), ("cfs", "ft"), ("IMGD", "ft"), ("LPS", "m"), ("cmh", "m"), ("SI", "m")],
)
@pytest.mark.filterwarnings(QUIET)
def test_units_follow_from_the_flow(town, units, unit) -> None:
    """Lengths are in feet where flow is in US units, else in metres."""
    town.write_text(EPANET.example.replace("GPM", units))
    assert tt.read(town)[0].unit == unit
    assert tt.read(town, unit="m")[0].length[0] == pytest.approx(1200 * (0.3048 if unit == "ft" else 1))


def test_without_units_lengths_are_in_feet(town) -> None:
    """A file without UNITS is in feet, as in EPANET, with a warning unless the caller knows the unit."""
    town.write_text(EPANET.example.replace(" Units  GPM", "").replace(" 3  t", ";").replace(" 4  t", ";"))
    with pytest.warns(tt.DataWarning, match="no UNITS"):
        assert tt.read(town)[0].unit == "ft"
    assert tt.read(town, unit="m")[0].unit == "m"
    assert tt.read(town, unit="m")[0].length.tolist() == [1200, 900]


@pytest.mark.filterwarnings(QUIET)
def test_any_encoding_and_what_follows_the_end(town) -> None:
    """Bytes that are not UTF-8 keep ids apart, and null bytes after the end are not read."""
    content = EPANET.example.encode().replace(b" a ", b" \xe9 ").replace(b" b ", b" \xe8 ")
    town.write_bytes(content + b"\0" * 100)
    assert tt.read(town)[0].node_ids == (r"\xe9", r"\xe8", "t")


@pytest.mark.filterwarnings(QUIET)
def test_places_of_all_nodes_or_none(town) -> None:
    """A graph has coordinates if every node has a place; places of other nodes do not matter."""
    town.write_text(EPANET.example.replace(" t  0    0", " other  0  0"))
    assert tt.read(town)[0].coordinates is None
    town.write_text(EPANET.example.replace(" t  0    0", " t 5 6\n other  0  0"))
    assert tt.read(town)[0].coordinates[2].tolist() == [5, 6]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1200", "0", "zero"),
        ("1200", "long", "not a number"),
        ("1  a  b  1200  16  70  0  OPEN", "1  a  b  1200", "line 10: a pipe has 4 fields instead of 5"),
        (" 900   12", " 900   wide", "line 11: 'wide' is not a number"),
        (" t  0    0", " t  0", "line 19: a place has 2 fields"),
        (" 2  a  b", " 2  a  z", "1 link end is not a node of the file .'z'."),
        (" b   50", " a   50", "1 node ids appear more than once .'a'."),
        ("GPM", "furlongs", "the UNITS 'FURLONGS' are not one of"),
        ("[PIPES]", "[CONDUITS]", "a file of SWMM"),
        ("a town\n", "a town\0\n", "line 2: the text contains null bytes"),
        (EPANET.example, "*NODE\n1, 0, 0\n", "not a file of EPANET"),
    ],
)
@pytest.mark.filterwarnings(QUIET)
def test_broken_files(town, old, new, message) -> None:
    """Each fault is an error that names the file, and the line or the nodes."""
    town.write_text(EPANET.example.replace(old, new))
    with pytest.raises((tt.FormatError, tt.InvalidGraphError), match=rf"(?s)town\.inp.*{message}"):
        tt.read(town)


def count_rows(text: str, section: str) -> int:
    """Return the number of rows in the sections of a name."""
    parts = re.findall(rf"(?ims)^\s*\[{section}\][^\n]*\n(.*?)(?=^\s*\[)", text)
    return sum(bool(line.partition(";")[0].strip()) for part in parts for line in part.splitlines())


@pytest.mark.filterwarnings(QUIET)
def test_real_networks(data, tmp_path) -> None:
    """All water networks of the shared data are read, with as many nodes and links as their sections have."""
    archive = data / "water" / "inp.zip"
    if not archive.is_file():
        pytest.skip(f"no {archive}")
    with zipfile.ZipFile(archive) as files:
        files.extractall(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 71
    for name in names:
        (graph,) = tt.read(tmp_path / name)
        text = (tmp_path / name).read_text(encoding="latin-1")
        nodes = [count_rows(text, section) for section in ("JUNCTIONS", "RESERVOIRS", "TANKS")]
        links = [count_rows(text, section) for section in ("PIPES", "PUMPS", "VALVES")]
        assert (graph.n_nodes, graph.n_edges) == (sum(nodes), sum(links)), name
        assert graph.unit in {"m", "ft"}
