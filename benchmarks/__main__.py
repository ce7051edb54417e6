"""``python -m benchmarks [CASE ...]``: measure, store, and write the page in docs/benchmarks."""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.measure import as_json
from benchmarks.plots import draw
from torelli._provenance import describe, machine, three_digits

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"


def main(names: list[str]) -> int:
    """Run the cases named, or all; what is not run keeps its last result."""
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        print(f"unknown case {', '.join(unknown)}: there are {', '.join(CASES)}", file=sys.stderr)  # noqa: T201
        return 2
    store = OUT / "results.json"
    results: dict[str, Any] = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names or list(CASES):
        print(f"{name} ...", file=sys.stderr, flush=True)  # noqa: T201
        results[name] = {
            "machine": machine(),
            "command": f"make bench CASES={name}",
            "rows": as_json(CASES[name]()),
        }
        store.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (OUT / "README.md").write_text(page(results), encoding="utf-8")
        draw(results, OUT)
        for row in results[name]["rows"]:
            print(line(row))  # noqa: T201
    return 0


def line(row: dict[str, Any]) -> str:
    """Return a row of the Markdown table."""
    unit = row["unit"]
    theirs = "" if row["theirs"] is None else f"{three_digits(row['theirs'])} {unit}"
    met = "" if not row["target"] else "yes" if row["met"] else "**no**"
    ratio = "" if row["theirs"] is None else f"{three_digits(row['figure'])}x"
    cells = (
        row["what"],
        row["against"],
        f"{three_digits(row['ours'])} {unit}".strip(),
        theirs,
        ratio,
        row["target"],
        met,
    )
    return f"| {' | '.join(cells)} |"


def page(results: dict[str, Any]) -> str:
    """Return the page with all results."""
    parts = [
        "# Benchmarks",
        "",
        "Made by `make bench` (one case: `make bench CASES=map`) from `benchmarks/cases.py`. Both sides of a",
        "ratio (theirs over ours) were measured in one run; best of at least three repeats. Raw figures:",
        "`results.json`.",
        "",
        "![How many times faster or smaller than each peer, with the target](ratios.png)",
        "",
        "![Time of one Torelli matrix against nodes and genus](growth.png)",
    ]
    for name, case in CASES.items():
        if name not in results:
            continue
        parts += [
            "",
            f"## {name}",
            "",
            inspect.cleandoc(case.__doc__ or ""),
            "",
            "| what | against | ours | theirs | ratio | target | met |",
            "|---|---|---|---|---|---|---|",
            *[line(row) for row in results[name]["rows"]],
            "",
            describe(results[name]["machine"]),
        ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
