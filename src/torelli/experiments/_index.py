"""The list of results in a folder: what each experiment shows, and its outcome."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from torelli.experiments._experiment import Settings
from torelli.experiments._ledger import Ledger
from torelli.experiments._run import collect

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torelli.experiments._experiment import Experiment, Rows


def stored_rows(experiment: Experiment, folder: Path) -> Rows:
    """Return the rows of an experiment that were measured in a folder, in the order of the table."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    configuration = {name: value for name, value in record.items() if name != "sittings"}
    ledger = Ledger(folder / "cells.jsonl", configuration)
    return collect(experiment.cells(Settings(quick=record["quick"], seed=record["seed"])), ledger)


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
            if not (folder / "run.json").exists():
                continue
            rows = stored_rows(experiment, folder)
            if rows:
                section = f" (section {experiment.section})" if experiment.section else ""
                outcome = " ".join(experiment.outcome(rows).split()) or "see the page"
                lines.append(
                    f"| [{folder.name}]({folder.name}/README.md) | {experiment.shows}{section} | {outcome} |"
                )
    return "\n".join([*lines, ""])


def write_index(experiments: Sequence[Experiment], root: Path) -> None:
    """Write the page of all results."""
    (root / "README.md").write_text(index(experiments, root), encoding="utf-8")
