"""The list of results in a folder: what each experiment shows, and its outcome."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from torelli.experiments._experiment import Settings
from torelli.experiments._ledger import name
from torelli.experiments._run import collect

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torelli.experiments._experiment import Experiment, Rows


def stored_rows(experiment: Experiment, folder: Path) -> Rows:
    """Return the rows of an experiment that were measured in a folder, in the order of the table."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    lines = (folder / "cells.jsonl").read_text(encoding="utf-8").splitlines()[1:]
    done = {name(line["cell"]): line["rows"] for line in map(json.loads, lines)}
    return collect(experiment.cells(Settings(quick=record["quick"], seed=record["seed"])), done)


def index(experiments: Sequence[Experiment], root: Path) -> str:
    """Return the page of all results in a folder, in the order of the experiments."""
    lines = [
        "# Results",
        "",
        "Each made by `torelli reproduce NAME`; a page, a CSV, figures and `run.json` each.",
        "",
    ]
    lines += ["| experiment | what it shows | outcome |", "| --- | --- | --- |"]
    for experiment in experiments:
        for folder in (root / experiment.name, root / f"{experiment.name}-quick"):
            # a first run that was stopped has cells, but no page yet
            if not (folder / "README.md").exists():
                continue
            outcome = " ".join(experiment.outcome(stored_rows(experiment, folder)).split()) or "see the page"
            where = f"Section {experiment.section}. " if experiment.section else ""
            lines.append(
                f"| [{folder.name}]({folder.name}/README.md) | {where}{experiment.shows} | {outcome} |"
            )
    return "\n".join([*lines, ""])


def write_index(experiments: Sequence[Experiment], root: Path) -> None:
    """Write the page of all results."""
    (root / "README.md").write_text(index(experiments, root), encoding="utf-8")
