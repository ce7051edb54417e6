"""The definition of an experiment: cells to measure, the rows they give, a page and figures of them."""

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
        Whether to run a small version, in under two minutes, that shows the shape of the result.
    seed
        Seed of everything random.
    seconds, gigabytes
        Caps of time and memory for a cell that runs in its own process.
    """

    quick: bool = False
    seed: int = 0
    seconds: float = 300.0
    gigabytes: float = 8.0


@dataclass(frozen=True)
class Cell:
    """The unit of an experiment that is measured and stored as a whole.

    Attributes
    ----------
    key
        Names and plain values that identify the cell; they are the first columns of its rows.
    cost
        Expected time in any unit, for the estimate of the time left.
    """

    key: Mapping[str, str | int | float]
    cost: float = 1.0


def never(_rows: Rows, _settings: Settings) -> bool:
    """Return False: no stored cell is measured again."""
    return False


def no_outcome(_rows: Rows) -> str:
    """Return nothing: the list of results then refers to the page."""
    return ""


@dataclass(frozen=True)
class Experiment:
    """An experiment of the paper, or one of our own.

    Attributes
    ----------
    name, title, section, shows
        Name (that of the module), title, section of the paper (empty if there is none), and what it shows.
    minutes
        About how long the full run takes on two cores.
    cells
        Returns the cells for the settings, in the order of the table.
    measure
        Returns the rows of a cell, given its key and the settings. Values are plain, and the same for the
        same seed, except times.
    page
        Returns the Markdown of the page for all rows, without title. Every number in it comes from the rows.
    figures
        Returns the figures for all rows, by name; the page shows them as ``NAME.png``.
    isolated
        Whether `measure` computes in a process of its own, so that cells can run side by side.
    again
        Returns whether the stored rows of a cell should be measured again under new settings, such as a
        cell that ran out of time and now has more.
    outcome
        Returns the outcome for all rows in a sentence or two, for the list of results.
    version
        To be raised when rows measured by older code are no longer valid.
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
    outcome: Callable[[Rows], str] = field(default=no_outcome)
    version: int = 1
