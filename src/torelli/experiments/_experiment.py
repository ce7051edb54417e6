"""What an experiment is: cells to measure, rows they give, a page and figures made from the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure

    Row = dict[str, Any]
    Rows = list[Row]


@dataclass(frozen=True)
class Settings:
    """How an experiment is run.

    Attributes
    ----------
    quick
        Whether only the shape of the result is wanted, in under two minutes.
    seed
        Seed of everything random.
    seconds, gigabytes
        Cap of time and memory for a cell that runs in its own process.
    """

    quick: bool = False
    seed: int = 0
    seconds: float = 300.0
    gigabytes: float = 8.0


@dataclass(frozen=True)
class Cell:
    """A part of an experiment that is measured and stored as a whole.

    Attributes
    ----------
    key
        What tells it from the others: names and plain values, the first columns of its rows.
    cost
        Expected time in any unit, for an honest estimate of what is left.
    """

    key: Mapping[str, str | int | float]
    cost: float = 1.0


def never(rows: Rows, settings: Settings) -> bool:  # noqa: ARG001  (one signature for all)
    """Say that no stored cell is to be measured again."""
    return False


def nothing_said(rows: Rows) -> str:  # noqa: ARG001  (one signature for all)
    """Leave the outcome to the page."""
    return ""


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or one that it should have had.

    Attributes
    ----------
    name, title, section, shows
        Its name, a title for people, where it stands in the paper, and what it shows.
    minutes
        About how long the full run takes on two cores.
    cells
        Settings to the cells, in the order of the table.
    measure
        A cell and the settings to its rows: plain values only, the same for the same seed, times aside.
    page
        All rows to the Markdown of the page, without title; every number in it comes from the rows.
    figures
        All rows to the figures by name; the page shows them as ``NAME.png``.
    isolated
        Whether `measure` computes in a process of its own, so that cells can run side by side.
    again
        Whether the stored rows of a cell should be measured anew under these settings (a cell that
        ran out of time and now has more).
    outcome
        All rows to the outcome in a sentence or two, for the list of results.
    version
        Raised when rows measured by older code no longer hold.
    """

    name: str
    title: str
    section: str
    shows: str
    minutes: float
    cells: Callable[[Settings], list[Cell]]
    measure: Callable[[Mapping[str, Any], Settings], Rows]
    page: Callable[[Rows], str]
    figures: Callable[[Rows], dict[str, Figure]]
    isolated: bool = False
    again: Callable[[Rows, Settings], bool] = field(default=never)
    outcome: Callable[[Rows], str] = field(default=nothing_said)
    version: int = 1
