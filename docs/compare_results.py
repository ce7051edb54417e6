"""Print how the accuracies of a results table differ from those at an earlier commit.

python docs/compare_results.py COMMIT docs/results/benchmark/benchmark.csv [column=value ...]
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

KEYS = ("dataset", "set", "method", "kind", "lengths", "protocol")
ROUNDING = 1e-9


def accuracies(lines: list[str]) -> dict[tuple[str, ...], float]:
    """Return the accuracy of each cell by the columns that name it."""
    table = {}
    for row in csv.DictReader(lines):
        if row.get("accuracy"):
            table[tuple(row[key] for key in KEYS if key in row)] = float(row["accuracy"])
    return table


def main(commit: str, path: str, *conditions: str) -> int:
    """Print a line for all cells and one for each method."""
    command = ["git", "show", f"{commit}:{path}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603  (git)
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    earlier, now = accuracies(shown.stdout.splitlines()), accuracies(lines)
    names = [key for key in KEYS if key in next(csv.reader(lines))]
    for condition in conditions:
        column, _, wanted = condition.partition("=")
        position = names.index(column)
        now = {key: value for key, value in now.items() if key[position] in wanted.split(",")}
    changes = defaultdict(list)
    for key in now.keys() & earlier.keys():
        for group in ("all", key[names.index("method")]):
            changes[group].append(now[key] - earlier[key])
    for group in sorted(changes, key=lambda name: (name != "all", name)):
        values = np.array(changes[group])
        changed = np.abs(values) > ROUNDING
        if changed.any():
            print(
                f"{group}: {changed.sum()} of {len(values)} accuracies changed, "
                f"from {values.min():+.1f} to {values.max():+.1f} points, {values.mean():+.2f} on average"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
