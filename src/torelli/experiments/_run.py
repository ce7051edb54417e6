"""Run an experiment: measure missing cells, then write the table, the figures and the page."""

from __future__ import annotations

import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from torelli._errors import unknown_option
from torelli._files import require_folder, settle, whole_folder
from torelli.experiments import _measurement
from torelli.experiments._experiment import Ledger, blaming, cell_name, collect, mend_record, note_sitting
from torelli.experiments._pages import write_page, write_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torelli.experiments._experiment import Cell, Experiment, Rows, Settings


def run(
    experiment: Experiment,
    folder: Path,
    settings: Settings,
    *,
    fresh: bool = False,
    only: Mapping[str, Sequence[str]] | None = None,
    workers: int = 1,
    command: str = "",
    verbose: bool = True,
) -> Rows:
    """Measure the missing cells of an experiment, write the results to a folder, and return all rows.

    Parameters
    ----------
    experiment, folder, settings
        What to run, the folder of its results, and how to run it.
    fresh
        Whether to measure stored cells again.
    only
        Values of parts of a cell's key to run, such as ``{"method": ["WL"]}``; other cells stay as they are.
    workers
        Number of cells to measure side by side, for experiments whose cells run in their own processes.
    command
        The command line, stored with the result.
    verbose
        Whether to show progress and the expected time left on standard error.

    Notes
    -----
    The rows are always written; page and figures, which summarise all cells, only once no cell is missing.
    All files appear together, so that a run that is killed does not leave a part of them.
    """
    cells = experiment.cells(settings)
    chosen = chosen_cells(cells, only or {})
    store = folder / "cells.jsonl"
    require_folder(folder)
    settle(folder)
    if fresh and not only:
        for file in ("README.md", "cells.jsonl", "run.json"):
            (folder / file).unlink(missing_ok=True)
    configuration = {
        "experiment": experiment.name,
        "quick": settings.quick,
        "seed": settings.seed,
        "version": experiment.version,
    }
    ledger = Ledger(store, configuration)
    torn = f"{store} ended in half a line, which was dropped" if ledger.was_torn else None
    notes = (torn, mend_record(folder, configuration, ledger))
    for note in filter(None, notes if verbose else ()):
        sys.stderr.write(f"{experiment.name}: {note}\n")
    with blaming(store):
        missing = [cell for cell in chosen if fresh or _is_missing(cell, ledger, experiment, settings)]
    # cheap cells first: a run that is stopped early then has the most cells
    missing.sort(key=lambda cell: cell.cost)
    if missing:
        note_sitting(folder, settings, command, len(missing))
        n_workers = workers if experiment.isolated else 1
        _measure_all(experiment, missing, settings, ledger, n_workers, verbose=verbose)
    rows = collect(cells, ledger.done)
    left = sum(cell_name(cell.key) not in ledger.done for cell in cells)
    with whole_folder(folder) as part, blaming(store):
        write_rows(experiment, rows, part)
        if left:
            (folder / "README.md").unlink(missing_ok=True)  # the page would be of other rows
        else:
            write_page(experiment, rows, folder, part)
    if left and verbose:
        sys.stderr.write(f"{experiment.name}: {left} of {len(cells)} cells left before the page\n")
    return rows


def chosen_cells(cells: list[Cell], only: Mapping[str, Sequence[str]]) -> list[Cell]:
    """Return the cells whose key has one of the values given for each part of it.

    Raises
    ------
    InvalidOptionError
        If a part or a value is unknown; the message lists the known ones.
    """
    for part, values in only.items():
        parts = list(cells[0].key)
        if part not in parts:
            raise unknown_option("part of a cell", part, parts)
        known = list(dict.fromkeys(str(cell.key[part]) for cell in cells))
        for value in values:
            if value not in known:
                raise unknown_option(part, value, known)
    return [cell for cell in cells if all(str(cell.key[part]) in values for part, values in only.items())]


def _is_missing(cell: Cell, ledger: Ledger, experiment: Experiment, settings: Settings) -> bool:
    rows = ledger.done.get(cell_name(cell.key))
    return rows is None or experiment.again(rows, settings)


def _measure_all(
    experiment: Experiment,
    cells: list[Cell],
    settings: Settings,
    ledger: Ledger,
    workers: int,
    *,
    verbose: bool,
) -> None:
    line = _StatusLine(experiment.name, sum(cell.cost for cell in cells), len(cells), verbose=verbose)
    pool = ThreadPoolExecutor(workers)
    try:
        waiting = list(reversed(cells))
        running: dict[Any, Cell] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                cell = waiting.pop()
                running[pool.submit(experiment.measure, cell.key, settings)] = cell
                line.show(cell)
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                cell = running.pop(future)
                ledger.add(cell.key, future.result())
                line.done(cell)
    except BaseException:
        _measurement.stop()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        line.end()


class _StatusLine:
    """A line on standard error: cells done, time left, and the cell under way."""

    def __init__(self, label: str, total: float, count: int, *, verbose: bool) -> None:
        self.label, self.total, self.count, self.verbose = label, total, count, verbose
        self.start = time.monotonic()
        self.cost = 0.0
        self.finished = 0
        self.is_terminal = sys.stderr.isatty()

    def done(self, cell: Cell) -> None:
        self.cost += cell.cost
        self.finished += 1

    def show(self, cell: Cell) -> None:
        if not self.verbose:
            return
        part = self.cost / self.total
        spent = time.monotonic() - self.start
        left = "" if part == 0 else f", {_duration(spent * (1 - part) / part)} left"
        current = " ".join(map(str, cell.key.values()))
        text = f"{self.label}: {self.finished}/{self.count} cells{left}, now {current}"
        sys.stderr.write(f"\r{text[:110]:<110}" if self.is_terminal else f"{text}\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self.verbose:
            spent = _duration(time.monotonic() - self.start)
            text = f"{self.label}: {self.finished}/{self.count} cells in {spent}"
            sys.stderr.write(f"\r{text:<110}\n" if self.is_terminal else f"{text}\n")


def _duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours, with two or three digits."""
    for limit, size, form in ((100, 1, "{:.0f} s"), (6000, 60, "{:.0f} min")):
        if seconds < limit:
            return form.format(seconds / size)
    return f"{seconds / 3600:.1f} h"
