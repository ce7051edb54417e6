"""Kernel matrices on disk, and the tiles they are made of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torelli as tt
from stores import content
from torelli.scale import kernel as kernel_module
from torelli.scale import open_kernel, write_kernel
from torelli.scale.kernel import (
    PairRecipe,
    TilesTask,
    WorkerMemory,
    is_square,
    padded_rows,
    side_of,
    tasks_of,
)

SIZE = {"n_features": 4, "depth": 1}
KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kills import _was_killed
from stores import content, small_graphs
import torelli as tt
from torelli.scale import write_features, write_kernel

home, every = Path(sys.argv[2]), int(sys.argv[3])
graphs = small_graphs(30)
tt.pairwise_distances(graphs[:3]), tt.pairwise_distances(graphs[:3], metric="tts")  # compiles
def act(name="killed"):
    write_kernel(graphs[:20], home / name / "k.zarr", tile=8)
    write_kernel(graphs[20:], home / name / "k.zarr", tile=8, append=True)
    write_features(graphs, home / name / "f.npy", features="tts")
    write_features(graphs[:9], home / name / "f.zarr", fit=graphs[:5], n_features=2, depth=1)
    write_features(graphs[9:], home / name / "f.zarr", fit=graphs[:5], n_features=2, depth=1, append=True)
def once():
    act("once")
assert not _was_killed(once, "nowhere", 0)
step = kills = 0
while _was_killed(act, str(home / "killed"), step):
    kills += 1
    step += every
assert content(home / "killed") == content(home / "once"), "differs"
print(kills)
"""


def options_of(kernel):
    """Return options that make a kernel quick."""
    return SIZE if kernel == "ttm" else {}


@pytest.mark.parametrize("kernel", tt.KERNELS)
def test_the_matrix_is_that_in_memory(graphs, tmp_path, kernel):
    """Values, gamma and names are those of the kernel class, for every kernel; the matrix is symmetric."""
    some, options = graphs[:70], options_of(kernel)
    store = write_kernel(some, tmp_path / "k.zarr", kernel, tile=16, **options)
    expected = tt.KERNELS[kernel](**options).fit(some)
    K = np.asarray(store)
    assert np.allclose(K, expected.transform(some), atol=1e-12)
    assert store.gamma == pytest.approx(expected.gamma_)
    assert np.array_equal(K, K.T)
    assert store.ids.tolist() == [graph.name for graph in some]


def test_distances_instead_of_a_kernel(graphs, tmp_path):
    """Without gamma, the store has distances, here in single precision."""
    store = write_kernel(graphs[:20], tmp_path / "d.zarr", gamma=None, dtype="float32")
    assert store.gamma is None
    assert store.dtype == np.float32
    assert np.allclose(np.asarray(store), tt.pairwise_distances(graphs[:20]), atol=1e-5)


@pytest.mark.parametrize("kernel", tt.KERNELS)
def test_appending_is_as_if_all_had_been_there(graphs, tmp_path, monkeypatch, kernel):
    """Only tiles with new graphs are computed, and the bytes are those of a store that is made at once."""
    options = {"gamma": 0.01, "tile": 16, **options_of(kernel)}
    if kernel == "ttm":
        options["fit"] = graphs[:10]
    write_kernel(graphs[:60], tmp_path / "once.zarr", kernel, **options)
    write_kernel(graphs[:40], tmp_path / "k.zarr", kernel, **options)
    tiles = []
    make = kernel_module._tile
    monkeypatch.setattr(
        kernel_module, "_tile", lambda recipe, i, j: (tiles.append((i, j)), make(recipe, i, j))[1]
    )
    write_kernel(graphs[40:60], tmp_path / "k.zarr", kernel, append=True, **options)
    assert sorted(tiles) == [(0, 2), (0, 3), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]
    assert content(tmp_path / "k.zarr", result_only=True) == content(tmp_path / "once.zarr", result_only=True)


def test_a_stopped_run_goes_on_where_it_was(graphs, tmp_path, monkeypatch):
    """Tiles that were finished are not computed again, and the bytes are those of one run."""
    write_kernel(graphs[:50], tmp_path / "once.zarr", tile=8)
    tiles = []
    make = kernel_module._tile

    def failing(recipe, i, j):
        tiles.append((i, j))
        if len(tiles) == 12:
            raise KeyboardInterrupt
        return make(recipe, i, j)

    monkeypatch.setattr(kernel_module, "_tile", failing)
    with pytest.raises(KeyboardInterrupt):
        write_kernel(graphs[:50], tmp_path / "k.zarr", tile=8)
    growing = open_kernel(tmp_path / "k.zarr")
    assert growing[0, 0] == 1.0
    with pytest.raises(tt.FormatError, match="kernel/c/6/6 is not finished"):
        growing[49, 49]
    assert not growing.is_complete
    assert write_kernel(graphs[:50], tmp_path / "k.zarr", tile=8).is_complete
    assert len(set(tiles)) == 28
    assert len(tiles) == 29
    assert content(tmp_path / "k.zarr") == content(tmp_path / "once.zarr")


@pytest.mark.parametrize("tile", [16, 64])
def test_a_reader_of_an_append_sees_finished_numbers_or_an_error(graphs, tmp_path, monkeypatch, tile):
    """A tile with room for new graphs is not read beyond the graphs that it was made from."""
    store = write_kernel(graphs[:40], tmp_path / "k.zarr", "tts", gamma=0.1, tile=tile)
    before = np.asarray(store)
    make, seen = kernel_module._tile, []

    def reading(recipe, i, j):
        values = make(recipe, i, j)
        reader = open_kernel(store.path)
        seen.append((len(reader), reader.is_complete))
        assert np.array_equal(reader[:40, :40], before)
        for key in ((slice(None), 50), (59, 41), (slice(38, 41), slice(38, 41))):
            with pytest.raises(tt.FormatError, match=r"kernel/c/.* is not finished; if a process is writing"):
                reader[key]
        if len(seen) == 2 or tile == 64:
            raise KeyboardInterrupt
        return values

    with monkeypatch.context() as patch:
        patch.setattr(kernel_module, "_tile", reading)
        patch.setattr("torelli.scale._store._ATTEMPTS", 1)
        with pytest.raises(KeyboardInterrupt):
            write_kernel(graphs[40:60], store.path, "tts", gamma=0.1, tile=tile, append=True)
    assert set(seen) == {(60, False)}
    assert np.array_equal(open_kernel(store.path)[:40, :40], before)
    with pytest.raises(tt.FormatError, match="is not finished"):
        np.asarray(open_kernel(store.path))
    again = write_kernel(graphs[40:60], store.path, "tts", gamma=0.1, tile=tile, append=True)
    assert not np.isnan(np.asarray(again)).any()
    assert not np.isnan(store[:40, :40]).any()  # opened before, and not refreshed


@pytest.mark.parametrize("every", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path, every):
    """Killed by ``kill -9`` again and again, before steps on disk, a store ends with the bytes of one run."""
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parents[1]), str(tmp_path), str(every)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 5


def test_flipped_bits_are_never_served(graphs, tmp_path):
    """A tile with a flipped bit is an error for our reader and for zarr, and is made again with verify."""
    import zarr

    store = write_kernel(graphs[:20], tmp_path / "k.zarr", tile=8)
    before = content(store.path)
    path = store.path / "kernel/c/1/2"
    text = bytearray(path.read_bytes())
    text[77] ^= 16
    path.write_bytes(text)
    with pytest.raises(tt.FormatError, match=r"kernel/c/1/2 has another content"):
        open_kernel(store.path)[9, 18]
    with pytest.raises(tt.FormatError, match="1 files are damaged"):
        open_kernel(store.path).verify()
    with pytest.raises(ValueError, match="checksum"):
        zarr.open_array(store.path / "kernel", mode="r")[9, 18]
    assert open_kernel(store.path)[0, 0] == 1.0
    with pytest.warns(tt.DataWarning, match="damaged"):
        write_kernel(graphs[:20], store.path, tile=8, verify=True)
    assert content(store.path) == before


@pytest.mark.filterwarnings("ignore:.*are missing or damaged and are made again")
@pytest.mark.parametrize("inputs", [slice(20), slice(20, 30), slice(30)])
@pytest.mark.parametrize("name", ["kernel/c/0/1", "kernel/c/3/3", "_torelli/data/0000000000-0.npy"])
def test_verify_makes_tiles_of_all_inputs_again(graphs, tmp_path, inputs, name):
    """Damage is repaired also if only some inputs of an appended store are given, or they are asked for."""
    options = {"gamma": 0.1, "tile": 8, "verify": True}
    write_kernel(graphs[:20], tmp_path / "k.zarr", **options)
    write_kernel(graphs[20:30], tmp_path / "k.zarr", append=True, **options)
    before = content(tmp_path / "k.zarr")
    path = tmp_path / "k.zarr" / name
    path.write_bytes(path.read_bytes()[:-1])
    try:
        write_kernel(graphs[inputs], tmp_path / "k.zarr", append=inputs.start == 20, **options)
    except tt.StoreError as error:
        told = str(error)
    else:
        told = ""
        assert content(tmp_path / "k.zarr") == before
    assert ("give the inputs of all 30 rows" in told) == (inputs.start == 20 and "data" in name)


@pytest.mark.filterwarnings("ignore:.*are missing or damaged and are made again")
def test_damage_that_was_found_and_not_repaired_is_still_damage(graphs, tmp_path, monkeypatch):
    """If the run that found a damaged tile is stopped, the store does not pass as sound."""
    store = write_kernel(graphs[:20], tmp_path / "k.zarr", tile=8)
    (store.path / "kernel/c/0/1").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(kernel_module, "_tile", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            write_kernel(graphs[:20], store.path, tile=8)
    with pytest.raises(tt.FormatError, match="1 files are damaged, such as kernel/c/0/1"):
        open_kernel(store.path).verify()


def test_verify_says_which_append_has_to_go_on(graphs, tmp_path):
    """If an append was stopped, a damaged tile is not reported as made again before that append is done."""
    options = {"gamma": 0.1, "tile": 8}
    write_kernel(graphs[:20], tmp_path / "k.zarr", **options)

    def broken():
        yield from graphs[20:270]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_kernel(broken(), tmp_path / "k.zarr", append=True, **options)
    (tmp_path / "k.zarr/kernel/c/0/1").unlink()
    with pytest.raises(tt.StoreError, match=r"kernel/c/0/1, and graphs of graphs were being appended; run"):
        write_kernel(graphs[:20], tmp_path / "k.zarr", verify=True, **options)


def test_trees_are_told(tmp_path):
    """Where most graphs have no cycles, a warning says that cycles alone compare nothing."""
    trees = [tt.MetricGraph([0], [1], [float(length)]) for length in range(1, 6)]
    with pytest.warns(tt.DataWarning, match="graphs have no cycles"):
        store = write_kernel(trees, tmp_path / "k.zarr")
    assert (np.asarray(store) == 1.0).all()
    doubled = write_kernel(trees, tmp_path / "doubled.zarr", bridges="double")
    assert doubled[0, 4] < 1.0


def test_options_are_checked_first(graphs, tmp_path):
    """Unknown kernels, options, tiles and gammas are errors before anything is written."""
    for options, problem in (
        ({"kernel": "ttx"}, "unknown kernel"),
        ({"depth": 3}, "unknown option of the kernel 'ttw'"),
        ({"tile": 0}, "tile is 0"),
        ({"gamma": -1.0}, "gamma is"),
        ({"dtype": "int8"}, "dtype is 'int8'"),
    ):
        with pytest.raises(tt.InvalidOptionError, match=problem):
            write_kernel(graphs, tmp_path / "k.zarr", **options)
    with pytest.raises(tt.InvalidOptionError, match=r"ends in \.zarr, \.npy or \.csv"):
        write_kernel(graphs, tmp_path / "k.parquet")
    assert not list(tmp_path.iterdir())


def test_a_matrix_that_the_disk_cannot_hold_is_refused_before_pairs_are_computed(
    graphs, tmp_path, monkeypatch
):
    """The error has the bytes that are needed and those that are free."""
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")(10**6, 10**6, 5000)  # noqa: PYI024
    monkeypatch.setattr("torelli.scale._job.shutil.disk_usage", lambda _: usage)
    monkeypatch.setattr(kernel_module, "_tile", None)
    with pytest.raises(tt.StoreError, match=r"are still to be written, and the disk has 5 kB; make room"):
        write_kernel(graphs[:40], tmp_path / "k.zarr", tile=32)


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


def rings(*lengths):
    """Return circles: TTS and TTW between them are differences of the roots of their lengths."""
    return [tt.MetricGraph([0], [0], [float(length)]) for length in lengths]


def differences(*lengths):
    """Return these distances."""
    roots = np.sqrt(lengths)
    return np.abs(roots[:, None] - roots)


@pytest.mark.parametrize("kernel", ["ttw", "tts"])
@pytest.mark.parametrize("name", ["k.zarr", "k.npy"])
def test_a_process_that_writes_a_store_again_computes_its_graphs(kernel, name, tmp_path):
    """Nothing is kept of an earlier store of the same name, whatever its size and place on disk."""
    for run in range(8):
        lengths = [1.0, (2.0 + run) ** 2, *[(5.0 + run) ** 2] * (1 + run % 3)]
        written = write_kernel(rings(*lengths), tmp_path / name, kernel, gamma=None, fresh=True)
        K = np.load(written) if name.endswith(".npy") else np.asarray(written)
        np.testing.assert_allclose(K, differences(*lengths), atol=1e-12)


def test_an_appended_store_does_not_use_the_index_of_another(tmp_path):
    """Two stores with equal sizes, one of one part and one of two."""
    lengths = [float((i + 1) ** 2) for i in range(6)]
    path = tmp_path / "k.zarr"
    write_kernel(rings(*lengths), path, "tts", gamma=None)
    os.link(path / "_torelli" / "manifest.json", tmp_path / "kept")  # the inode cannot be used again
    write_kernel(rings(*lengths[:3]), path, "tts", gamma=None, fresh=True)
    store = write_kernel(rings(*lengths[3:]), path, "tts", gamma=None, append=True)
    np.testing.assert_allclose(np.asarray(store), differences(*lengths), atol=1e-12)


def test_numbers_too_large_for_single_precision_are_an_error(tmp_path):
    """They would be infinite in the store."""
    with pytest.raises(tt.StoreError, match="too large for float32; use --dtype float64"):
        write_kernel(rings(1.0, 1e300), tmp_path / "k.zarr", "tts", gamma=None, dtype="float32")
    with pytest.raises(tt.StoreError, match="too large for float32"):
        tt.write_features(rings(1.0, 1e300), tmp_path / "f.zarr", features="tts", dtype="float32")


def test_tiles_that_a_worker_has_no_memory_for_are_split(graphs, tmp_path, monkeypatch):
    """If a worker's limit leaves too little, a task of several tiles is refused; a single one is tried."""
    store = tt.write_kernel(graphs[:10], tmp_path / "k.zarr", tile=5)
    (store.path / "_torelli" / "parts").mkdir()
    recipe = PairRecipe(str(store.path), "ttw", 10, 5, 1.0, "float64", 10**6)
    small, large = WorkerMemory(10**8, 10**6), WorkerMemory(10**11, 10**10)
    several, single = TilesTask(((0, 0), (0, 1)), 1.0), TilesTask(((0, 1),), 1.0)
    monkeypatch.setattr(kernel_module, "worker_memory", lambda: small)
    with pytest.raises(tt.RequestTooLargeError, match="and the worker has 1,000,000 left"):
        kernel_module.make_tiles(recipe, several)
    assert len(kernel_module.make_tiles(recipe, single)) == 2
    assert not kernel_module._cache.kept  # nothing is kept that would make the worker pause
    monkeypatch.setattr(kernel_module, "worker_memory", lambda: large)
    assert len(kernel_module.make_tiles(recipe, several)) == 3
    assert kernel_module._cache.kept
