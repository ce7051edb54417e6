"""Kill, restart and starve ``torelli features`` and ``torelli kernel`` at random, and compare the bytes.

``make soak`` runs it for ten minutes. Each round makes a store by the command line, in a process of its own.
Until the store is complete, the process is killed at a random moment, or may write no large files (a full
disk), or a bit of a finished file is flipped, or a second process writes at the same time; on a cluster,
workers are killed. At the end all files of the result must be those of a run without trouble. Then random
files of the complete store are damaged: readers must get the right numbers or an error, and the command with
--verify, or where it says so with --fresh, must make the same bytes again.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from stores import check_damaged, content, damage, served, small_graphs, write_lines

_ATTEMPTS = 60  # of one store, the last of them without trouble
_N_WORKERS = 2
_DAMAGED = 6  # times that a complete store is damaged


def commands(home, folder):
    """Return stores to make: for each the commands that make it, one after the other."""
    base = [sys.executable, "-m", "torelli"]
    features = [*base, "features", "--n-features", "8", "--fit-size", "200"]
    kernel = [*base, "kernel", "--gamma", "0.01", "--tile", "32"]
    out = lambda name: ["-o", str(folder / name)]  # noqa: E731
    all_, first, rest = (str(home / name) for name in ("all.jsonl", "first.jsonl", "rest.jsonl"))
    return {
        "features.zarr": [[*features, all_, *out("features.zarr")]],
        "spectra.npy": [[*base, "features", "--features", "tts", all_, *out("spectra.npy")]],
        "appended.zarr": [
            [*features, first, *out("appended.zarr")],
            [*features, rest, "--append", *out("appended.zarr")],
        ],
        "ttw.zarr": [[*kernel, "--kernel", "ttw", all_, *out("ttw.zarr")]],
        "tte.zarr": [
            [*kernel, "--kernel", "tte", first, *out("tte.zarr")],
            [*kernel, "--kernel", "tte", rest, "--append", *out("tte.zarr")],
        ],
    }


def fail(message):
    """End with a message."""
    sys.exit(f"FAILED: {message}")


def small_disk(n_bytes):
    """Return what a child does first: it may write no file beyond a size."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))

    return limit


def flip(store, rng):
    """Flip a bit of a random finished file; return whether there was one."""
    files = [
        path for path in store.rglob("*") if path.is_file() and "c" in path.parts and path.stat().st_size
    ]
    if not files:
        return False
    path = rng.choice(files)
    text = bytearray(path.read_bytes())
    text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    path.write_bytes(text)
    return True


class Cluster:
    """A scheduler and workers, each a process of its own, which are killed and join."""

    def __init__(self, home):
        self.home = home
        file = home / "scheduler.json"
        self.scheduler = self._start(
            "scheduler", "--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0", "--no-dashboard"
        )
        while not file.is_file() or not file.stat().st_size:
            time.sleep(0.1)
        self.address = json.loads(file.read_text())["address"]
        self.workers = []
        self.fill()

    def _start(self, *arguments):
        command = [sys.executable, "-m", "dask", *arguments]
        return subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.home
        )

    def fill(self):
        """Let workers join in place of those that died."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < _N_WORKERS:
            self.workers.append(
                self._start(
                    "worker",
                    self.address,
                    "--host",
                    "127.0.0.1",
                    "--no-nanny",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                )
            )

    def kill(self, rng):
        """Kill a worker; another one joins."""
        worker = rng.choice(self.workers)
        worker.kill()
        worker.wait()
        self.fill()

    def close(self):
        """End all processes."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


class Soak:
    """Rounds of trouble, and how often each kind came."""

    def __init__(self, home, rng, cluster, n_graphs):
        self.home, self.rng, self.cluster, self.n_graphs = home, rng, cluster, n_graphs
        self.counts = Counter()
        self.errors = ""

    def run(self, command, trouble, *, must=False):
        """Run a command with trouble; return whether it ended well."""
        rng = self.rng
        arguments = list(command)
        limit = None
        if trouble == "disk":
            limit = small_disk(rng.choice([200, 2_000, 9_000, 20_000, 100_000]))
        if trouble == "workers":
            arguments += ["--dask", self.cluster.address]
        if trouble == "flip":
            arguments += ["--verify"]
        process = subprocess.Popen(  # noqa: S603
            arguments,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit,  # noqa: PLW1509
        )
        if trouble == "kill":
            time.sleep(rng.uniform(1.0, 8.0))
            process.send_signal(signal.SIGKILL)
        elif trouble == "two":
            time.sleep(rng.uniform(0.0, 4.0))
            other = subprocess.run(arguments, capture_output=True, text=True, check=False)  # noqa: S603
            if other.returncode not in {0, 2}:
                fail(f"second writer: {other.stderr}")
        elif trouble == "workers":
            while process.poll() is None:
                time.sleep(rng.uniform(2.0, 6.0))
                if rng.random() < 0.3 and process.poll() is None:
                    self.cluster.kill(rng)
                    self.counts["workers killed"] += 1
        self.errors = errors = process.communicate()[1]
        self.counts[f"runs with {trouble}"] += 1
        if process.returncode not in {0, 2, -signal.SIGKILL} or (must and process.returncode):
            fail(f"{' '.join(arguments)}: code {process.returncode}\n{errors}")
        if "Traceback" in errors and process.returncode:
            fail(errors)
        return process.returncode == 0

    def make(self, name, stages, expected):
        """Make one store through trouble, and compare it."""
        folder = self.home / "soak"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        troubles = ["kill"] * 4 + ["disk"] * 2 + ["flip", "two"] + ["workers"] * 2
        for stage in stages:
            for attempt in range(_ATTEMPTS):
                last = attempt == _ATTEMPTS - 1
                if "without --append" in self.errors:
                    # rows of an earlier stage were damaged, which only the inputs of all rows bring back
                    whole = "all" if f"all {self.n_graphs:,} rows" in self.errors else "first"
                    again = [part.replace("first.jsonl", f"{whole}.jsonl") for part in stages[0]]
                    self.run(again, "none", must=True)
                    self.counts["repaired with all inputs"] += 1
                trouble = "none" if last else self.rng.choice(troubles)
                if trouble == "flip" and not flip(folder, self.rng):
                    continue
                if self.run(stage, trouble, must=last) and self.rng.random() < 0.7:
                    break
        found, wanted = (self.result(folder / name), expected[name])
        if found != wanted:
            different = sorted(set(found) ^ set(wanted)) or [
                key for key in found if found[key] != wanted[key]
            ]
            fail(f"{name} differs in {different[:5]}")
        self.counts["stores compared"] += 1
        if folder.joinpath(name).is_dir() and len(stages) == 1:
            for _ in range(_DAMAGED):
                self.damage(folder / name, stages[0], expected[name])

    def damage(self, store, command, expected):
        """Damage a complete store, read it, and make it again."""
        kind = "features" if "features" in command else "kernel"
        clean = served(store, kind)
        done = [damage(store, self.rng) for _ in range(self.rng.choice([1, 1, 5]))]
        try:
            self.counts["damaged and served" if check_damaged(store, kind, clean) else "damage refused"] += 1
        except AssertionError as error:
            fail(f"{done}: a wrong number or an error without remedy: {error}")
        again = subprocess.run([*command, "--verify"], capture_output=True, text=True, check=False)  # noqa: S603
        if again.returncode and "--fresh" in again.stderr:
            again = subprocess.run([*command, "--fresh"], capture_output=True, text=True, check=False)  # noqa: S603
        if again.returncode or self.result(store) != expected:
            fail(f"{done}: not made again: {again.stderr}")

    @staticmethod
    def result(path):
        """Return the files of a result."""
        return content(path, result_only=True) if path.is_dir() else {path.name: path.read_bytes()}


def main():
    """Soak for some seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--graphs", type=int, default=700)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    end = time.monotonic() + arguments.seconds
    rng = random.Random(arguments.seed)  # noqa: S311  (no secret)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        graphs = small_graphs(arguments.graphs)
        cut = arguments.graphs * 4 // 7
        for name, some in (("all", graphs), ("first", graphs[:cut]), ("rest", graphs[cut:])):
            write_lines(home / f"{name}.jsonl", some)
        (home / "clean").mkdir()
        expected = {}
        for name, stages in commands(home, home / "clean").items():
            for stage in stages:
                subprocess.run(stage, check=True, capture_output=True)  # noqa: S603
            expected[name] = Soak.result(home / "clean" / name)
        cluster = Cluster(home)
        soak = Soak(home, rng, cluster, arguments.graphs)
        try:
            while time.monotonic() < end:
                name, stages = rng.choice(list(commands(home, home / "soak").items()))
                soak.make(name, stages, expected)
                print(f"{name}: same bytes; {dict(soak.counts)}", flush=True)
        finally:
            cluster.close()
    print(f"ok: {dict(soak.counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
