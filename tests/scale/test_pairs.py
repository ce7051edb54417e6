"""Tiles of kernel matrices: their sides, tasks and memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from torelli.scale import _pairs
from torelli.scale._pairs import PairRecipe, TilesTask, is_square, padded_rows, side_of, tasks_of


@given(st.lists(st.floats(0.0, 30.0), min_size=1, max_size=40), st.integers(0, 9))
def test_tasks_cover_tiles_once_and_evenly(costs, seed):
    """Each tile is in one task, in order; a task with several tiles is no longer than the limit."""
    tiles = [(0, j) for j in range(len(costs))]
    tasks = list(tasks_of(tiles, np.array([costs])))
    assert [tile for task in tasks for tile in task.tiles] == tiles
    most = min(20.0, sum(costs) / 200)
    assert all(len(task.tiles) == 1 or task.cost <= most + 1e-9 for task in tasks)


def test_tasks_are_halved_down_to_one_tile():
    """Halves have all tiles of a task, and one tile has no halves."""
    task = TilesTask(tuple((0, j) for j in range(5)), 10.0)
    first, second = task.halves()
    assert first.tiles + second.tiles == task.tiles
    assert not TilesTask(((0, 0),), 1.0).halves()


def test_costly_graphs_have_small_tiles():
    """The side of tiles falls as matrices grow, and never below 1."""
    sides = [side_of("ttw", np.full(1000, size)) for size in (5, 30, 100, 300, 1000, 4000)]
    assert sides == sorted(sides, reverse=True)
    assert sides[0] == 256
    assert 1 <= sides[-1] <= 2
    assert side_of("tts", np.full(1000, 300)) == 256


def test_which_kernels_compare_matrices():
    """TTW and TTE need whole matrices, the others vectors."""
    assert [name for name in tt.KERNELS if is_square(name)] == ["ttw", "tte"]


def test_padding_with_zeros():
    """Shorter vectors are followed by zeros."""
    assert padded_rows([np.array([1.0]), np.array([2.0, 3.0])], 3).tolist() == [[1, 0, 0], [2, 3, 0]]


def test_a_tile_that_a_worker_has_no_memory_for_is_refused(graphs, tmp_path, monkeypatch):
    """Where a worker's limit leaves too little, the tile is not begun."""
    store = tt.write_kernel(graphs[:10], tmp_path / "k.zarr")
    (store.path / "_torelli" / "parts").mkdir()
    recipe = PairRecipe(str(store.path), "ttw", 10, 256, 1.0, "float64", 10**6)
    monkeypatch.setattr(_pairs, "worker_memory_left", lambda: 10**6)
    with pytest.raises(tt.RequestTooLargeError, match="and the worker has 1,000,000 left"):
        _pairs.make_tiles(recipe, TilesTask(((0, 0),), 1.0))
    monkeypatch.setattr(_pairs, "worker_memory_left", lambda: 10**10)
    assert len(_pairs.make_tiles(recipe, TilesTask(((0, 0),), 1.0))) == 1
