"""Reports: results as one HTML file that opens from disk and needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torelli._errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path


def report_page(folder: Path, *, verbose: bool = True) -> str:
    """Return the page of the result in a folder: a classification, or an experiment of the paper.

    Parameters
    ----------
    folder
        What ``torelli classify --out`` or ``torelli reproduce`` wrote.
    verbose
        Whether to show progress on standard error.
    """
    # each kind of result is imported where it is needed: the page itself needs none of them
    from torelli.report.results import KIND, load, read_about  # noqa: PLC0415

    about = read_about(folder)
    if about.get("kind") == KIND:
        from torelli.report.classification import classification_page  # noqa: PLC0415

        return classification_page(*load(folder), verbose=verbose)
    if "experiment" in about:
        from torelli.report.experiment import experiment_page  # noqa: PLC0415

        return experiment_page(folder, about)
    raise FormatError(f"{folder.name}: run.json names neither a classification nor an experiment")
