"""Peak memory of commands that write stores, for few and many graphs and for two sizes of country."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import Row, limited
from benchmarks.scale import random_street_graph
from torelli.io.jsonlines import json_line
from torelli.scale import open_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MEMORY = "512MB"
LIMIT_MB = 512
GRAPHS = {"features": 2_000, "kernel": 1_000}
EDGES = 40
TOWNS = (6, 60)
BLOCKS = 130  # streets of a town in each direction
COUNTRY_STEP = 1500

_RUN = """
import json, sys, threading, time
from torelli.cli import main

own = [0]

def kilobytes(kind):
    return int(open("/proc/self/status").read().split(kind + ":")[1].split()[0])

def watch():
    while True:
        own[0] = max(own[0], kilobytes("RssAnon"))
        time.sleep(0.02)

threading.Thread(target=watch, daemon=True).start()
start = time.perf_counter()
code = main(sys.argv[1:])
print(json.dumps({
    "code": code,
    "seconds": time.perf_counter() - start,
    "peak_mb": kilobytes("VmHWM") / 1000,
    "own_mb": own[0] / 1000,
}))
"""


def torelli(*arguments: str | Path) -> dict[str, float]:
    """Run a command in a process of its own; return its seconds and its peak memory in megabytes.

    ``own_mb`` leaves out the pages of files, which the system drops when it needs the memory.
    """
    command = [sys.executable, "-c", _RUN, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  (our own script)
    if run.returncode:
        raise RuntimeError(run.stderr[-2000:])
    figures: dict[str, float] = json.loads(run.stdout.splitlines()[-1])
    if figures["code"]:
        raise RuntimeError(run.stderr[-2000:])
    return figures


def write_graphs(path: Path, count: int) -> Path:
    """Write grids of streets as JSON lines; only a thousand of them are different."""
    lines = [json_line(random_street_graph(EDGES, seed)) + "\n" for seed in range(min(count, 1000))]
    with path.open("w", encoding="ascii") as file:
        for number in range(count):
            file.write(lines[number % len(lines)])
    return path


def memory(graphs: dict[str, int] | None = None) -> Iterator[Row]:
    """Peak memory of `torelli features` and `torelli kernel` with `--memory 512MB`.

    Each command runs in a process of its own, for 20 graphs, for N and for 10 N graphs of about 40 edges. The
    figure is the most memory that the process had, less that of the run with 20 graphs: Python, libraries and
    compiled code.
    """
    commands: dict[str, Sequence[str]] = {
        "features": ("features", "--dtype", "float32"),
        "kernel": ("kernel", "--kernel", "tts"),
    }
    for name, command in commands.items():
        count = (graphs or GRAPHS)[name]
        for ending in (".zarr", ".npy"):
            base = 0.0
            for n in (20, count, 10 * count):
                with tempfile.TemporaryDirectory() as folder:
                    inputs = write_graphs(Path(folder, "graphs.jsonl"), n)
                    figures = torelli(
                        *command, inputs, "-o", Path(folder, f"out{ending}"), "--memory", MEMORY
                    )
                if not base:
                    base = figures["peak_mb"]
                    yield limited(f"{name} to {ending}, {n} graphs: the whole process", base, unit="MB")
                else:
                    peak = figures["peak_mb"] - base
                    yield limited(f"{name} to {ending}, {n:,} graphs: beyond that", peak, LIMIT_MB, "MB")


def write_country(path: Path, n_towns: int, blocks: int = BLOCKS) -> int:
    """Write an OpenStreetMap extract of towns whose streets form a grid; return the number of nodes.

    Towns lie in a square, 27 km apart. Junctions are about 130 m apart, with two nodes between neighbours.
    Some streets are left out. Nodes and ways are sorted by id, as in the extracts that one can download.
    """
    import osmium
    from osmium.osm.mutable import Node, Way

    rng = np.random.default_rng(0)
    side = int(np.ceil(np.sqrt(n_towns)))
    along, gaps = 3 * blocks - 2, 2 * (blocks - 1)  # nodes of a street from west to east, and between those
    n_nodes = 0
    ways: list[list[int]] = []
    with osmium.SimpleWriter(str(path), overwrite=True) as writer:
        for town in range(n_towns):
            lat, lon = 46.0 + 0.25 * (town // side), 5.0 + 0.35 * (town % side)
            first = n_nodes + 1
            rows, steps = np.divmod(np.arange(blocks * along), along)
            columns, between = np.divmod(np.arange(blocks * gaps), gaps)
            x = np.concatenate([0.0006 * steps, 0.0018 * columns])
            y = np.concatenate([0.0012 * rows, 0.0004 * (between + between // 2 + 1)])
            places = np.column_stack([lon + x, lat + y]) + rng.normal(0.0, 2e-5, (len(x), 2))
            for place in places.tolist():
                n_nodes += 1
                writer.add_node(Node(id=n_nodes, location=tuple(place)))
            west_east = [[first + row * along + step for step in range(along)] for row in range(blocks)]
            inner = first + blocks * along
            south_north = [
                [
                    node
                    for row in range(blocks)
                    for node in (
                        first + row * along + 3 * column,
                        inner + column * gaps + 2 * row,
                        inner + column * gaps + 2 * row + 1,
                    )
                ][:-2]
                for column in range(blocks)
            ]
            kept = rng.random(2 * blocks) < 0.85  # noqa: PLR2004
            ways += [way for way, is_kept in zip(west_east + south_north, kept, strict=True) if is_kept]
        for number, nodes in enumerate(ways, start=1):
            writer.add_way(Way(id=number, nodes=nodes, tags={"highway": "residential"}))
    return n_nodes


def country(towns: Sequence[int] = TOWNS, blocks: int = BLOCKS) -> Iterator[Row]:
    """Windows of 600 m, 1,500 m apart, of a synthetic country: `torelli features country.osm.pbf`.

    The larger country has ten times the towns of the smaller one (84,000 nodes each; 5 million nodes are
    about as many as in a country of five million people). Memory is the most that the process had, Python and
    libraries included: its own, and with pages of files that it has mapped, which the system drops when it
    needs the memory. Time is that of the whole command, beside other programs.
    """
    for n_towns in towns:
        with tempfile.TemporaryDirectory() as folder:
            extract = Path(folder, "country.osm.pbf")
            n_nodes = write_country(extract, n_towns, blocks)
            windows = ("--window", "300", "--step", str(COUNTRY_STEP), "--memory", MEMORY)
            figures = torelli("features", extract, *windows, "-o", Path(folder, "country.zarr"))
            n_windows = len(open_features(Path(folder, "country.zarr")))
        name = f"{n_nodes:,} nodes, {n_windows:,} windows"
        yield limited(f"{name}, time", figures["seconds"])
        yield limited(f"{name}, own memory", figures["own_mb"], unit="MB")
        yield limited(f"{name}, memory with pages of files", figures["peak_mb"], unit="MB")
