"""Plans of stores compared with runs of the same stores."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torelli as tt
from benchmarks.measure import Row, compared
from benchmarks.scale import random_street_graph
from torelli.io.jsonlines import json_line
from torelli.scale.plan import plan_features, plan_kernel

if TYPE_CHECKING:
    from typing import Any

RUNS: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("kernel", 1000, 25, {"kernel": "ttw"}),
    ("kernel", 400, 250, {"kernel": "ttw"}),
    ("kernel", 2000, 100, {"kernel": "tts"}),
    ("features", 2000, 100, {"features": "measure", "dtype": "float32"}),
    ("features", 200, 1000, {"features": "measure", "dtype": "float64"}),
)
"""What is written, number of graphs, about how many edges each, and options."""


def plan() -> list[Row]:
    """Processor time of some runs (ours), and what `torelli plan` says before (theirs).

    Graphs are grids of streets with random lengths (seeds from 0 on), read from JSON lines by
    ``write_kernel`` and ``write_features`` in one thread. Code is compiled before.
    """
    rows = []
    for kind, count, edges, options in RUNS:
        lines = [json_line(random_street_graph(edges, seed)) + "\n" for seed in range(count)]
        estimate: Any = plan_kernel if kind == "kernel" else plan_features
        write: Any = tt.write_kernel if kind == "kernel" else tt.write_features
        with tempfile.TemporaryDirectory() as folder:
            few, all_of_them = Path(folder, "few.jsonl"), Path(folder, "all.jsonl")
            few.write_text("".join(lines[:20]), encoding="ascii")
            all_of_them.write_text("".join(lines), encoding="ascii")
            planned = estimate(all_of_them, **options).total
            write(few, Path(folder, "few.zarr"), **options)
            start = time.process_time()
            write(all_of_them, Path(folder, "all.zarr"), **options)
            took = time.process_time() - start
        name = " ".join(map(str, options.values()))
        rows.append(compared(f"{kind} {name}, {count:,} graphs of {edges} edges", "plan", took, planned))
    return rows
