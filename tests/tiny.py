"""Run an experiment on a few cells and read what it writes."""

from dataclasses import replace
from importlib import import_module

from torelli.experiments import Settings, run
from torelli.experiments._measurement import Outcome


def run_tiny(experiment, folder, keep, settings=None):
    """Run the cells of a quick run whose key `keep` accepts; return rows and page."""
    tiny = replace(
        experiment,
        cells=lambda settings: [cell for cell in experiment.cells(settings) if keep(cell.key)],
    )
    rows = run(tiny, folder, settings or Settings(quick=True), verbose=False)
    page = (folder / "README.md").read_text()
    pictures = [path.name for path in folder.glob("*.png")]
    assert pictures
    assert all(f"]({name})" in page for name in pictures)
    return rows, page


def in_this_process(function, arguments, **_caps):
    """Return the outcome of a call without the seconds that a new process takes to start."""
    module, name = function.split(":")
    return Outcome("ok", getattr(import_module(module), name)(**arguments), peak_mb=1.0)
