"""Arrays in a folder that several processes share: whatever happens to the files, results stay right."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from torelli._errors import CacheWarning
from torelli._shared_folder import SharedFolder, environment

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
from torelli._shared_folder import SharedFolder
warnings.simplefilter("error")
folder, seed = Path(sys.argv[1]), int(sys.argv[2])
shared = SharedFolder(folder, 30_000)  # room for about a third of the arrays
rng = np.random.default_rng(seed)
hits = 0
for _ in range(400):
    name = int(rng.integers(40))
    key, expected = bytes([name]) * 32, np.full(200, float(name))
    found = shared.load(key, 200)
    if found is None:
        shared.save(key, expected, np.inf)
    else:
        hits += 1
        assert np.array_equal(found[0], expected)
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
from torelli._shared_folder import SharedFolder
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
    code = "from torelli._shared_folder import environment; print(environment().hex())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert run.stdout.strip() == environment().hex()
