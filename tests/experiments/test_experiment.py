"""What every registered experiment has in common."""

from __future__ import annotations

import json

import pytest

from torelli.experiments import EXPERIMENTS, Settings, get_experiment
from torelli.experiments._experiment import never, no_outcome


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cells_are_distinct_and_can_be_stored(name):
    """Keys of cells are plain, survive JSON and differ; a quick run has no more cells than the full one."""
    experiment = get_experiment(name)
    assert experiment.name == name
    counts = []
    for quick in (True, False):
        cells = experiment.cells(Settings(quick=quick))
        keys = [json.dumps(dict(cell.key), sort_keys=True) for cell in cells]
        assert len(set(keys)) == len(keys) > 0
        assert [json.loads(key) for key in keys] == [dict(cell.key) for cell in cells]
        assert len({tuple(cell.key) for cell in cells}) == 1
        assert all(cell.cost > 0 for cell in cells)
        counts.append(len(cells))
    assert counts[0] <= counts[1]


def test_by_default_nothing_is_measured_again_and_nothing_summed_up():
    """An experiment that says nothing keeps its stored cells, and the list of results refers to its page."""
    assert not never([{"status": "T"}], Settings(seconds=1e9))
    assert no_outcome([{"a": 1}]) == ""
