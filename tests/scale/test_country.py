"""Windows of whole extracts of OpenStreetMap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli._geo import east_north
from torelli.datasets.storage import shared_data
from torelli.datasets.windows import largest_component
from torelli.scale import country, country_windows
from torelli.scale.country import Lattice, z_order
from towns import grid_extract


@pytest.fixture
def town(tmp_path):
    """Return an extract with a grid of streets, 100 m apart."""
    return grid_extract(tmp_path / "town.osm.pbf")


def test_windows_are_what_a_whole_graph_has(town, tmp_path):
    """Each window is the largest component of the streets of the whole graph around its landmark."""
    (whole,) = tt.read(town)
    points = np.asarray(whole.coordinates)
    place_of = {node: i for i, node in enumerate(whole.node_ids)}
    records = list(country_windows(town, tmp_path / "spool", 250.0, 300.0, {}))
    assert len(records) > 9
    for record in records:
        middle = (record.fields["lat"], record.fields["lon"])
        near = np.abs(east_north(points, middle)).max(axis=1) <= 250.0
        inside = near[whole.tail] & near[whole.head]
        assert {place_of[node] for node in record.graph.node_ids} <= set(np.flatnonzero(near))
        assert record.graph.n_edges == inside.sum()
        assert record.graph.total_length == pytest.approx(whole.length[inside].sum())
        assert record.graph.unit == "m"


def test_each_square_with_a_street_has_one_window(town, tmp_path):
    """Landmarks lie in different squares, and every node lies in the square of some landmark."""
    (whole,) = tt.read(town)
    lattice = Lattice(300.0)

    def square(lat, lon):
        row = lattice.row(np.array([lat]))
        return int(row[0]), int(np.floor(lattice.across(np.array([lon]), row))[0])

    records = list(country_windows(town, tmp_path / "spool", 250.0, 300.0, {}))
    squares = [square(record.fields["lat"], record.fields["lon"]) for record in records]
    assert len(set(squares)) == len(squares)
    assert set(squares) == {square(lat, lon) for lon, lat in np.asarray(whole.coordinates)}
    assert squares == sorted(squares, key=lambda place: z_order(*place))


def test_windows_do_not_depend_on_how_the_country_is_cut(town, tmp_path, monkeypatch):
    """Small blocks, small leaves and little memory give the same windows in the same order."""
    windows = [record.graph for record in country_windows(town, tmp_path / "spool", 250.0, 90.0, {})]
    monkeypatch.setattr(country, "_BLOCK", 2)
    monkeypatch.setattr(country, "_LEAF", 1)
    monkeypatch.setattr(country, "_BUFFER", 50)
    again = [record.graph for record in country_windows(town, tmp_path / "spool", 250.0, 90.0, {}, 20_000)]
    assert again == windows
    assert [window.name for window in again] == [window.name for window in windows]
    assert not list((tmp_path / "spool").iterdir())


@pytest.mark.filterwarnings("ignore::torelli.DataWarning")
def test_real_extracts_are_cut(tmp_path):
    """Windows of Andorra have the streets of its whole network around their landmarks."""
    try:
        path = shared_data("osm", "andorra.osm.pbf")
    except tt.DataNotFoundError:
        pytest.skip("needs the shared data: set TORELLI_DATA")
    records = list(country_windows(path, tmp_path / "spool", 300.0, 3000.0, {}))
    (whole,) = tt.read(path, values=False)
    points = np.asarray(whole.coordinates)
    assert len(records) > 20
    for record in records[::5]:
        near = np.abs(east_north(points, (record.fields["lat"], record.fields["lon"]))).max(axis=1) <= 300.0
        edges = np.flatnonzero(near[whole.tail] & near[whole.head])
        around = whole.edge_subgraph(edges, nodes=np.flatnonzero(near))
        nodes, kept = largest_component(around, np.arange(around.n_nodes))
        assert record.graph == around.edge_subgraph(kept, nodes=nodes)


def test_wrong_files_and_options_are_refused(town, tmp_path):
    """Radii have to be positive, files have to be extracts with roads, sorted by id."""
    (tmp_path / "a.csv").write_text("source,target,length\na,b,1\n")
    unsorted = tmp_path / "unsorted.osm"
    unsorted.write_text(
        '<osm version="0.6"><node id="1" lat="1" lon="1"/><node id="2" lat="1" lon="1.001"/>'
        '<way id="9"><nd ref="1"/><nd ref="2"/><tag k="highway" v="primary"/></way>'
        '<way id="3"><nd ref="1"/><nd ref="2"/><tag k="highway" v="primary"/></way></osm>'
    )
    for path, radius, options, problem in (
        (town, 0.0, {}, "window is 0.0: use a positive number"),
        (tmp_path / "a.csv", 100.0, {}, "windows are taken of OpenStreetMap extracts"),
        (unsorted, 100.0, {}, r"way 3 comes after way 9; sort the file first"),
        (town, 100.0, {"network_type": "tram"}, "unknown network_type"),
    ):
        with pytest.raises(tt.TorelliError, match=problem):
            list(country_windows(path, tmp_path / "spool", radius, 100.0, options))


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_quarters_follow_each_other_on_the_z_curve(row, column):
    """The four quarters of a square come one after the other, and the square before the next one."""
    first = z_order(2 * row, 2 * column)
    quarters = [z_order(2 * row + up, 2 * column + right) for up in (0, 1) for right in (0, 1)]
    assert quarters == [first, first + 1, first + 2, first + 3]
    assert first == 4 * z_order(row, column)
