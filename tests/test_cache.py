"""The cache of squared distances, and the folder that processes share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt
from torelli._cache import (
    FOLDER_VARIABLE,
    LIMIT_VARIABLE,
    DistanceCache,
    SharedFolder,
    environment,
    fingerprint,
)
from torelli._errors import CacheWarning

GRAPHS = [tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0 + i]) for i in range(4)]


@pytest.fixture
def counted():
    """Return a function that computes distances through a cache, and the list of what it computed."""
    calls = []

    def squared(cache, X, Y=None, options="tte", cutoff=np.inf, exact_to=np.inf, *, shared=False):
        def compute():
            calls.append((options, len(X), None if Y is None else len(Y)))
            values = np.add.outer([g.length.sum() for g in X], [g.length.sum() for g in Y or X])
            return (values if Y else np.where(np.eye(len(X)), 0.0, values)), exact_to

        return cache.squared(options, X, Y, compute, cutoff, shared=shared)

    squared.calls = calls
    return squared


@pytest.mark.parametrize("other", [None, GRAPHS[1:3]])
@pytest.mark.parametrize("n", [1, 3])
def test_what_was_computed_is_returned_bit_for_bit(counted, other, n):
    """A second call computes nothing and returns the same matrix, of one list and of two."""
    cache = DistanceCache()
    first = counted(cache, GRAPHS[:n], other)
    again = counted(cache, GRAPHS[:n], other)
    assert len(counted.calls) == 1
    assert first.shape == again.shape == (n, n if other is None else 2)
    assert np.array_equal(first, again)


def test_results_are_the_callers_to_change(counted):
    """Writing into a result, computed or kept, does not reach the next one."""
    cache = DistanceCache()
    for other in (None, GRAPHS[:2]):
        expected = counted(cache, GRAPHS, other).copy()
        for _ in range(3):
            result = counted(cache, GRAPHS, other)
            assert np.array_equal(result, expected)
            result[:] = 7.0
    fresh = counted(cache, GRAPHS[::-1])
    fresh[:] = 7.0
    assert counted(cache, GRAPHS[::-1])[0, 0] == 0.0


def test_kernel_matrices_are_the_callers_to_change():
    """Writing into a kernel matrix does not reach the next one."""
    K = tt.TTWKernel(gamma=1.0).fit_transform(GRAPHS)
    K[:] = 7.0
    assert tt.TTWKernel(gamma=1.0).fit_transform(GRAPHS)[0, 0] == 1.0


def test_equal_graphs_hit_and_other_graphs_options_and_orders_do_not(counted):
    """Graphs count by content: copies hit, and any difference in graphs, order or options misses."""
    cache = DistanceCache()
    counted(cache, GRAPHS)
    counted(cache, [graph.replace(name="a copy") for graph in GRAPHS])
    assert len(counted.calls) == 1
    others = [
        {"X": GRAPHS[::-1]},
        {"X": GRAPHS, "Y": GRAPHS},
        {"X": GRAPHS, "options": "ttw"},
        {"X": [*GRAPHS[:3], GRAPHS[3].replace(length=GRAPHS[3].length * 2)]},
    ]
    for count, arguments in enumerate(others, 2):
        counted(cache, **arguments)
        assert len(counted.calls) == count


def test_the_limit_holds_and_the_least_recently_used_go_first(counted):
    """With room for two results, the one that was not asked for longest is dropped."""
    cache = DistanceCache(limit_bytes=2 * 6 * 8)  # the triangles of two matrices of four graphs
    for options in ("a", "b", "a", "c"):
        counted(cache, GRAPHS, options=options)
        assert cache.n_bytes <= cache.limit_bytes
    assert [call[0] for call in counted.calls] == ["a", "b", "c"]
    counted(cache, GRAPHS, options="a")
    assert len(counted.calls) == 3
    counted(cache, GRAPHS, options="b")
    assert [call[0] for call in counted.calls] == ["a", "b", "c", "b"]


def test_nothing_is_kept_without_room_or_after_clear(counted):
    """A limit of 0 turns the cache off, a result larger than the limit is not kept, and clear forgets."""
    off = DistanceCache(limit_bytes=0)
    small = DistanceCache(limit_bytes=6 * 8)
    for cache, X in ((off, GRAPHS), (small, GRAPHS + GRAPHS)):
        counted(cache, X)
        counted(cache, X)
        assert cache.n_bytes == 0
    assert len(counted.calls) == 4
    counted(small, GRAPHS)
    assert small.n_bytes == 6 * 8
    small.clear()
    assert small.n_bytes == 0
    counted(small, GRAPHS)
    assert len(counted.calls) == 6


def test_bounds_serve_calls_up_to_where_they_are_exact(counted):
    """A result with bounds above 10 serves a cutoff of 10 and not one of 11, which then replaces it."""
    cache = DistanceCache()
    counted(cache, GRAPHS, cutoff=10.0, exact_to=10.0)
    counted(cache, GRAPHS, cutoff=10.0)
    assert len(counted.calls) == 1
    counted(cache, GRAPHS, cutoff=11.0, exact_to=np.inf)
    counted(cache, GRAPHS)
    assert len(counted.calls) == 2


def test_kernels_share_one_cache_of_the_process():
    """Its limit can be set, to 0 to turn it off, and `n_bytes` says what it holds."""
    cache = tt.distance_cache
    limit = cache.limit_bytes
    try:
        tt.TTWKernel().fit(GRAPHS)
        assert cache.n_bytes == 6 * 8
        cache.clear()
        cache.limit_bytes = 0
        tt.TTWKernel().fit(GRAPHS)
        assert cache.n_bytes == 0
    finally:
        cache.limit_bytes = limit


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """Return two caches that share a folder, as those of two processes do, and the folder."""
    for variable in (FOLDER_VARIABLE, LIMIT_VARIABLE):
        monkeypatch.setenv(variable, "")
    first, second = DistanceCache(), DistanceCache()
    for cache in (first, second):
        cache.share(tmp_path / "a" / "folder", limit_bytes=10**6)
    return first, second, tmp_path / "a" / "folder"


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("other", [None, GRAPHS[1:3]])
def test_a_shared_folder_serves_other_processes(counted, shared, other, n):
    """What one cache has computed another returns bit for bit, keeps, and hands out to be changed."""
    first, second, _ = shared
    expected = counted(first, GRAPHS[:n], other, shared=True).copy()
    for _ in range(2):
        loaded = counted(second, GRAPHS[:n], other, shared=True)
        assert np.array_equal(loaded, expected)
        assert loaded.shape == expected.shape
        loaded[:] = 7.0
    assert len(counted.calls) == 1
    assert second.n_bytes == first.n_bytes


def test_a_shared_folder_knows_where_bounds_begin(counted, shared):
    """Bounds of one process are not taken for distances by another, and exact ones replace them."""
    first, second, _ = shared
    counted(first, GRAPHS, cutoff=10.0, exact_to=10.0, shared=True)
    counted(second, GRAPHS, cutoff=10.0, shared=True)
    assert len(counted.calls) == 1
    second.clear()
    counted(second, GRAPHS, shared=True)
    assert len(counted.calls) == 2
    first.clear()
    counted(first, GRAPHS, shared=True)
    assert len(counted.calls) == 2


def test_only_what_is_known_in_every_process_is_shared(counted, shared):
    """Distances by others' code, or with options that have no text of their own, stay in the process."""
    first, _, folder = shared
    counted(first, GRAPHS)
    counted(first, GRAPHS, options=("tte", object()), shared=True)
    assert list(folder.iterdir()) == []
    counted(first, GRAPHS, options=("tte", (1, 2.0, None, "a", b"b", True)), shared=True)
    counted(first, GRAPHS, options=("tts", (1, 2.0, None, "a", b"b", True)), shared=True)
    assert len(list(folder.iterdir())) == 2


def test_sharing_ends(counted, shared):
    """After ``share(None)`` nothing is written or read, and processes started later share nothing."""
    first, _, folder = shared
    assert os.environ[FOLDER_VARIABLE] == str(folder)
    first.share(None)
    assert FOLDER_VARIABLE not in os.environ
    counted(first, GRAPHS, shared=True)
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_is_an_error_at_once(tmp_path, monkeypatch):
    """The error names the folder, when it is named and not during a search."""
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    (tmp_path / "file").touch()
    with pytest.raises(tt.InvalidOptionError, match=r"cannot share the folder .*file"):
        DistanceCache().share(tmp_path / "file" / "folder")


def test_kernels_of_the_package_share_and_others_do_not(tmp_path, monkeypatch):
    """Every kernel that the package has writes its distances to the folder; a user's own does not."""
    monkeypatch.setenv(FOLDER_VARIABLE, "")

    class OwnVectors(tt.MeasureFeatures):
        """Vectors by a class that is not in the package."""

    class OwnKernel(tt.GraphKernel):
        """A kernel that is not in the package."""

        entry = tt.KernelEntry("own", "own", "own", OwnVectors, learns=True)

    try:
        tt.distance_cache.share(tmp_path)
        for count, kernel in enumerate((*tt.KERNELS.values(), OwnKernel), 1):
            kernel().fit(GRAPHS)
            assert len(list(tmp_path.iterdir())) == min(count, len(tt.KERNELS))
        computed = tt.TTWKernel().fit_transform(GRAPHS)
        tt.distance_cache.clear()
        monkeypatch.setattr("torelli.representation.squared_matrix_distances", None)
        assert np.array_equal(tt.TTWKernel().fit_transform(GRAPHS), computed)
    finally:
        tt.distance_cache.share(None)


def test_workers_find_the_folder(tmp_path, monkeypatch):
    """Processes of joblib share the folder, also those of a pool that was there before it was named."""
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))

    def folder_of_worker():
        from torelli._cache import distance_cache

        shared = distance_cache._shared
        return os.getpid(), shared and (shared.folder, shared.limit_bytes)

    def loaded():
        return dict(joblib.Parallel(n_jobs=2)(joblib.delayed(folder_of_worker)() for _ in range(4)))

    try:
        assert set(loaded().values()) == {None}
        tt.distance_cache.share(tmp_path, limit_bytes=12345)
        told = loaded()
        assert set(told.values()) == {(tmp_path, 12345)}
        assert os.getpid() not in told
    finally:
        tt.distance_cache.share(None)


@pytest.mark.slow
def test_a_search_in_processes_finds_what_another_computed(tmp_path, monkeypatch):
    """A search with two workers gives the scores of one without, and a second writes no further file."""
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    data = tt.datasets.street_patterns(6, radius=150.0)
    pipeline = make_pipeline(tt.TTWKernel(), SVC(kernel="precomputed"))
    grid = {"ttwkernel__gamma": ["median", 1e-5], "svc__C": [1.0, 10.0]}

    def scores(n_jobs):
        search = GridSearchCV(pipeline, grid, cv=3, n_jobs=n_jobs).fit(data.graphs, data.y)
        return search.cv_results_["mean_test_score"].tolist()

    expected = scores(1)
    try:
        tt.distance_cache.share(tmp_path)
        for _ in range(2):
            tt.distance_cache.clear()
            assert scores(2) == expected
            # training distances and those of the test graphs for each fold, and those of the final fit
            assert len(list(tmp_path.iterdir())) == 7
    finally:
        tt.distance_cache.share(None)


def test_a_fingerprint_is_that_of_the_content_in_order():
    """Equal lists have one fingerprint; other orders, and lists cut elsewhere, have others."""
    assert fingerprint(GRAPHS) == fingerprint([graph.replace(source="elsewhere") for graph in GRAPHS])
    assert (
        len({fingerprint(graphs) for graphs in (GRAPHS, GRAPHS[::-1], GRAPHS[:3], [], GRAPHS[:1] * 2)}) == 5
    )


KEY, OTHER = b"k" * 32, b"o" * 32
VALUES = np.array([1.0, np.pi, 0.0, np.inf, 5e-324])
LIMIT = 10**6


@pytest.fixture
def folder(tmp_path):
    """Return a shared folder with one array."""
    shared = SharedFolder(tmp_path / "shared", LIMIT)
    shared.save(KEY, VALUES, 7.0)
    return shared


def files(shared):
    """Return the files of a folder."""
    return sorted(shared.folder.iterdir())


def test_what_was_saved_is_loaded_bit_for_bit(folder):
    """Another process finds the values, and up to where they are exact; other keys find nothing."""
    values, exact_to = SharedFolder(folder.folder, LIMIT).load(KEY, len(VALUES))
    assert values.tobytes() == VALUES.tobytes()
    assert exact_to == 7.0
    values[0] = 2.0  # the caller's to change
    assert folder.load(OTHER, len(VALUES)) is None
    assert SharedFolder(folder.folder / "none", LIMIT).load(KEY, 1) is None


def test_matrices_of_any_layout_are_saved_by_rows(folder):
    """What is saved is the order of rows, also of a transposed or empty matrix."""
    folder.save(OTHER, np.arange(6.0).reshape(2, 3).T, np.inf)
    assert folder.load(OTHER, 6)[0].tolist() == [0, 3, 1, 4, 2, 5]
    folder.save(b"e" * 32, np.empty((0, 3)), np.inf)
    assert folder.load(b"e" * 32, 0)[0].shape == (0,)


def test_the_better_values_stay(folder):
    """Values with bounds from a lower square on do not replace exact ones, and exact ones replace those."""
    folder.save(KEY, 2 * VALUES, 5.0)
    assert folder.load(KEY, len(VALUES))[1] == 7.0
    folder.save(KEY, 2 * VALUES, np.inf)
    values, exact_to = folder.load(KEY, len(VALUES))
    assert (values[0], exact_to) == (2.0, np.inf)


@pytest.mark.parametrize(
    "damage", ["empty", "cut in the header", "cut", "longer", "of another key", "of another size"]
)
def test_a_damaged_file_is_not_used_and_goes(folder, damage):
    """A file that is cut, too long or misnamed is as good as none: a warning tells, and it is replaced."""
    (path,) = files(folder)
    content = path.read_bytes()
    n_values, key = len(VALUES), KEY
    if damage == "of another key":
        path.rename(path.with_name(path.name.replace(KEY.hex(), OTHER.hex())))
        key = OTHER
    elif damage == "of another size":
        n_values = len(VALUES) + 1
    else:
        end = {"empty": 0, "cut in the header": 30, "cut": len(content) - 1, "longer": len(content)}[damage]
        path.write_bytes(content[:end] + b"x" * (damage == "longer"))
    with pytest.warns(CacheWarning, match="damaged"):
        assert folder.load(key, n_values) is None
    assert files(folder) == []
    folder.save(key, VALUES, 1.0)
    assert folder.load(key, len(VALUES))[1] == 1.0


def test_every_flipped_bit_is_noticed(folder):
    """No bit of a file can change without the file being refused."""
    (path,) = files(folder)
    content = path.read_bytes()
    for place in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            assert folder.load(KEY, len(VALUES)) is None


def test_the_limit_holds_and_what_was_not_used_goes_first(tmp_path):
    """Loading counts as use; an array larger than the limit is not kept."""
    shared = SharedFolder(tmp_path, 3 * 900)  # room for three arrays of 100 numbers
    keys = [bytes([i]) * 32 for i in range(4)]
    for age, key in zip((30, 20, 10), keys, strict=False):
        shared.save(key, np.full(100, age), np.inf)
        (path,) = [path for path in files(shared) if key.hex() in path.name]
        os.utime(path, (time.time() - age, time.time() - age))
    assert shared.load(keys[0], 100) is not None
    shared.save(keys[3], np.zeros(100), np.inf)
    assert [shared.load(key, 100) is not None for key in keys] == [True, False, True, True]
    assert sum(path.stat().st_size for path in files(shared)) <= shared.limit_bytes
    shared.save(b"l" * 32, np.zeros(1000), np.inf)
    assert shared.load(b"l" * 32, 1000) is None


def test_what_a_killed_process_left_behind_goes(folder):
    """An unfinished file is removed after an hour, and not while its process may be writing it."""
    old, new = folder.folder / "a.1.part", folder.folder / "b.2.part"
    for path, age in ((old, 3700), (new, 60)):
        path.write_bytes(b"x")
        os.utime(path, (time.time() - age, time.time() - age))
    folder.save(OTHER, VALUES, 1.0)
    assert not old.exists()
    assert new.exists()


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    """A file in its place, or a link to nowhere, gives one warning for all arrays."""
    (tmp_path / "file").touch()
    shared = SharedFolder(tmp_path / "file", LIMIT)
    with pytest.warns(CacheWarning, match=r"cannot be written to the shared folder .*file"):
        shared.save(KEY, VALUES, 1.0)
    shared.save(KEY, VALUES, 1.0)  # a second warning would be an error


def test_a_full_disk_is_no_error(folder, monkeypatch):
    """A write that fails halfway leaves the other files as they are, and nothing behind."""

    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, content):
            self.file.write(bytes(content)[:10])
            raise OSError(28, "No space left on device")

    real = Path.open
    monkeypatch.setattr(
        Path, "open", lambda path, mode="r": Full(real(path, mode)) if mode == "xb" else real(path, mode)
    )
    with pytest.warns(CacheWarning, match="No space left"):
        folder.save(OTHER, VALUES, 1.0)
    assert [path.stem for path in files(folder)] == [KEY.hex()]
    assert folder.load(KEY, len(VALUES)) is not None


def test_a_file_that_cannot_be_read_is_no_error(folder, monkeypatch):
    """The distances are computed, and one warning tells why."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.warns(CacheWarning, match=r"cannot be read from .*Permission denied"):
        assert folder.load(KEY, len(VALUES)) is None
    assert folder.load(KEY, len(VALUES)) is None  # a second warning would be an error


WORKER = """
import sys, warnings
import numpy as np
from pathlib import Path
from torelli._cache import SharedFolder
warnings.simplefilter("error")
folder, seed = Path(sys.argv[1]), int(sys.argv[2])
shared = SharedFolder(folder, 30_000)  # room for about a third of the arrays
rng = np.random.default_rng(seed)
hits = 0
for _ in range(400):
    name = int(rng.integers(40))
    key, expected = bytes([name]) * 32, np.full(200, float(name))
    stored = shared.load(key, 200)
    if stored is None:
        shared.save(key, expected, np.inf)
    else:
        hits += 1
        assert np.array_equal(stored[0], expected)
print(hits)
"""


def test_many_processes_share_a_folder(tmp_path):
    """Processes that read, write and remove at once get right values, without a warning, within the limit."""
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    workers = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
        for seed in range(4)
    ]
    results = [worker.communicate() for worker in workers]
    assert [error for _, error in results] == [""] * 4
    assert all(int(hits) > 0 for hits, _ in results)
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert sum(sizes) <= 30_000 + 4 * max(sizes)
    assert not list(tmp_path.glob("*.part"))


KILLED = """
import sys
from pathlib import Path
import numpy as np
from kills import killed_at_every_step
from torelli._cache import SharedFolder
folder = Path(sys.argv[1])
shared = SharedFolder(folder, 10_000)
old, new = np.zeros(100), np.ones(100)
kills = 0
shared.save(b"k" * 32, old, 1.0)
for killed in killed_at_every_step(lambda: shared.save(b"k" * 32, new, 2.0), folder):
    kills += killed
    values, exact_to = shared.load(b"k" * 32, 100)
    assert (values.tolist(), exact_to) in ((old.tolist(), 1.0), (new.tolist(), 2.0))
assert exact_to == 2.0
print(kills)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are killed after a fork")
def test_a_killed_writer_leaves_whole_files(tmp_path):
    """Whenever a process is killed while it saves an array, the file is the old one or the new one."""
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 2


def test_the_environment_is_that_of_code_libraries_and_processor():
    """The digest is the same in every process of an installation."""
    code = "from torelli._cache import environment; print(environment().hex())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == environment().hex()
