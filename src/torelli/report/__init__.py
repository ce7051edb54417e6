"""Reports: a result as one HTML file that needs no network connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torelli._errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path


def report_page(folder: Path, *, verbose: bool = True) -> str:
    """Return the page of a result, which is a classification or an experiment of the paper.

    Parameters
    ----------
    folder
        A folder that ``torelli classify --out`` or ``torelli reproduce`` wrote.
    verbose
        Whether to show progress on standard error.
    """
    # imported here, so that one kind of result does not load what the other needs
    from torelli.report.results import KIND, load, read_about

    about = read_about(folder)
    if about.get("kind") == KIND:
        from torelli.report.classification import classification_page

        return classification_page(*load(folder), verbose=verbose)
    if "experiment" in about:
        from torelli.report.experiment import experiment_page

        return experiment_page(folder, about)
    raise FormatError(f"{folder.name}: run.json is from neither a classification nor an experiment")
