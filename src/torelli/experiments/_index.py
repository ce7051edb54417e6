"""The list of results in a folder: what each experiment shows, and its outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torelli._errors import DataWarning, FormatError, warn
from torelli._files import write_whole
from torelli.experiments._experiment import Settings
from torelli.experiments._ledger import blaming, read_ledger
from torelli.experiments._run import collect

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torelli.experiments._experiment import Experiment, Rows


def stored_rows(experiment: Experiment, folder: Path) -> Rows:
    """Return the rows of an experiment that were measured in a folder, in the order of the table."""
    path = folder / "cells.jsonl"
    found = read_ledger(path)
    if found.configuration is None:
        raise FormatError(f"{path}: there are no cells; begin anew with --fresh")
    with blaming(path):
        settings = Settings(quick=found.configuration["quick"], seed=found.configuration["seed"])
        return collect(experiment.cells(settings), found.done)


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
            outcome = _outcome(experiment, folder)
            where = f"Section {experiment.section}. " if experiment.section else ""
            lines.append(
                f"| [{folder.name}]({folder.name}/README.md) | {where}{experiment.shows} | {outcome} |"
            )
    return "\n".join([*lines, ""])


def write_index(experiments: Sequence[Experiment], root: Path) -> None:
    """Write the page of all results."""
    text = index(experiments, root)
    write_whole(root / "README.md", lambda part: part.write_text(text, encoding="utf-8"))


def _outcome(experiment: Experiment, folder: Path) -> str:
    """Return the outcome of an experiment in one line; damaged cells of one do not spoil the list of all."""
    try:
        with blaming(folder / "cells.jsonl"):
            return " ".join(experiment.outcome(stored_rows(experiment, folder)).split()) or "see the page"
    except FormatError as error:
        warn(str(error), DataWarning)
        return "its cells cannot be read"
