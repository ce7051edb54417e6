"""Methods that see lengths on street sets and small TU sets."""

from __future__ import annotations

import pytest

from tiny import in_this_process, run_tiny
from torelli import DataNotFoundError
from torelli.datasets.storage import shared_data
from torelli.experiments import Settings, _comparison, peers
from torelli.experiments.methods import MAJORITY, METHODS
from torelli.experiments.rivals import RIVALS


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a few methods on a part of MUTAG."""
    try:
        shared_data("tu", "MUTAG.zip")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    pytest.importorskip("netlsd")
    few = {"TTM", "NetLSD", "genus", MAJORITY}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_comparison, "call", in_this_process)
        return run_tiny(
            peers.EXPERIMENT,
            tmp_path_factory.mktemp("peers"),
            lambda key: key["dataset"] == "MUTAG" and key["method"] in few,
        )


def test_every_set_meets_every_method():
    """Ten street sets and eight TU sets; all rivals, some of ours, and lines to beat."""
    cells = peers.cells(Settings())
    assert len(cells) == len(peers.SETS) * len(peers.COMPARED)
    assert {cell.key["method"] for cell in cells} <= {*METHODS, MAJORITY}
    assert set(RIVALS) < set(peers.COMPARED)
    assert len(peers.SETS) == 18


def test_drawn_anew_ours_stays_and_netlsd_moves(measured):
    """The measure is a function of the space, and NetLSD as shipped of the drawing."""
    rows = {row["method"]: row for row in measured[0]}
    assert rows["TTM"]["drift"] < 1e-6
    assert rows["NetLSD"]["drift"] > 10.0
    assert rows["TTM"]["accuracy"] > rows[MAJORITY]["accuracy"]


def test_the_page_has_accuracy_time_and_drift(measured):
    """Each figure is that of the rows."""
    rows, page = measured
    for row in rows:
        assert f"{row['accuracy']:.1f}" in page
    assert "## Drift" in page
    assert "TTM beats every other method that could be computed on" in page
    assert "TTM on " in peers.outcome(rows)


def test_quick_sets_are_parts_and_lengths_are_those_of_the_set():
    """40 graphs with their classes; distances where a set has them, 1 elsewhere."""
    try:
        shared_data("tu", "BZR_MD.zip")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    part = peers.load("MUTAG", quick=True, seed=0)
    assert len(part.graphs) == len(part.y) == 40
    assert {length for graph in part.graphs for length in graph.length} == {1.0}
    whole = peers.load("BZR_MD", quick=False, seed=0)
    assert len({length for graph in whole.graphs for length in graph.length}) > 1000
