"""Labelled collections as an experiment."""

from __future__ import annotations

import pytest

from tiny import in_this_process, run_tiny
from torelli import DataNotFoundError
from torelli.datasets.storage import shared_data
from torelli.experiments import Settings, _comparison, collections
from torelli.experiments.methods import MAJORITY, METHODS


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a few methods on the ants."""
    try:
        shared_data("ants", "edges.csv")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    few = {"TTM", "metric statistics", MAJORITY}
    folder = tmp_path_factory.mktemp("collections")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_comparison, "call", in_this_process)
        return run_tiny(collections.EXPERIMENT, folder, lambda key: key["method"] in few)


def test_every_collection_meets_every_method():
    """Water, zoo, ants and neurons, some by several labels; ours with doubled bridges, for trees."""
    cells = collections.cells(Settings())
    assert len(cells) == len(collections.SETS) * len(collections.COMPARED)
    assert {one.collection for one in collections.SETS.values()} == {"water", "zoo", "ants", "neurons"}
    assert set(collections.COMPARED) <= {*METHODS, MAJORITY}
    assert {"TTW, bridges", "TTE, bridges", "TTS, bridges"} < set(collections.COMPARED)


def test_folds_keep_colonies_whole(measured):
    """Five folds of nine colonies, and the page says what the set is."""
    rows, page = measured
    assert {row["n_folds"] for row in rows} == {5}
    described = next(row for row in rows if row["method"] == MAJORITY)
    assert (described["graphs"], described["groups"], described["classes"]) == (83, 9, 2)
    assert "| ants | control or exclusion | 83 | 2 | 9 |" in page
    assert "TTM on " in collections.outcome(rows)


def test_graphs_have_no_points_of_degree_2(measured):
    """Methods that count nodes see junctions and ends alone; circles are a node with a loop."""
    for graph in collections.load("ants").graphs:
        ends = [*graph.tail.tolist(), *graph.head.tolist()]
        loops = {u for u, v in zip(graph.tail.tolist(), graph.head.tolist(), strict=True) if u == v}
        assert all(ends.count(node) != 2 or node in loops for node in range(graph.n_nodes))
