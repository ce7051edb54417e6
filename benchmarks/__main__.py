"""Run benchmarks, store the figures and write docs/benchmarks: ``python -m benchmarks [CASE ...]``."""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.measure import as_json
from benchmarks.plots import draw
from torelli._provenance import describe, machine, three_digits

OUT = Path(__file__).parent.parent / "docs" / "benchmarks"
WIDTH = 100  # of a line of Markdown


def main(names: list[str]) -> int:
    """Run the named cases, or all; a case that is not run keeps its last result.

    Rows are printed and stored in ``unfinished-CASE.json`` as they are measured, so that a case that is
    killed keeps them. The pages show complete cases only.
    """
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        print(f"unknown case {', '.join(unknown)}; choose from {', '.join(CASES)}", file=sys.stderr)
        return 2
    store = OUT / "results.json"
    OUT.mkdir(parents=True, exist_ok=True)
    for name in names or list(CASES):
        print(f"{name} ...", file=sys.stderr, flush=True)
        unfinished = OUT / f"unfinished-{name}.json"
        result: dict[str, Any] = {"machine": machine(), "command": f"make bench CASES={name}", "rows": []}
        for row in CASES[name]():
            result["rows"] += as_json([row])
            print(line(result["rows"][-1]), flush=True)
            # a case that is killed leaves its finished rows here
            unfinished.write_text(json.dumps({name: result}, indent=1) + "\n", encoding="utf-8")
        # read only now: another run may have stored its case meanwhile
        results: dict[str, Any] = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
        results[name] = result
        store.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (OUT / "README.md").write_text(page(results), encoding="utf-8")
        draw(results, OUT)
        unfinished.unlink(missing_ok=True)
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
        "`make bench` runs the cases in `benchmarks/cases.py` and writes this page. For a single case, run",
        "`make bench CASES=map`. A ratio is theirs divided by ours. Both were measured in the same run, each",
        "as the best of at least three repeats. The raw figures are in `results.json`.",
        "",
        "![Speed-up or memory saving over each peer, with the target](ratios.png)",
        "",
        "![Time for one Torelli matrix by number of nodes and by genus](growth.png)",
    ]
    for name, case in CASES.items():
        if name not in results:
            continue
        parts += [
            "",
            f"## {name}",
            "",
            _wrapped(inspect.cleandoc(case.__doc__ or "")),
            "",
            "| case | compared with | ours | theirs | ratio | target | met |",
            "|---|---|---|---|---|---|---|",
            *[line(row) for row in results[name]["rows"]],
            "",
            textwrap.fill(describe(results[name]["machine"]), WIDTH, break_on_hyphens=False),
        ]
    return "\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    """Return paragraphs with lines that are not too long for Markdown."""
    return "\n\n".join(
        part if max(map(len, part.splitlines()), default=0) <= WIDTH else textwrap.fill(part, WIDTH)
        for part in text.split("\n\n")
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
