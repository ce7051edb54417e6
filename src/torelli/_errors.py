"""Exceptions and warnings: each exception is also the builtin a caller would expect."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import FrameType

_EDGES_SHOWN = 20
_FAULTS_SHOWN = 50


class TorelliError(Exception):
    """Base class of every error that this package raises on purpose."""


class InvalidOptionError(TorelliError, ValueError):
    """An option has a value that is not one of the possible ones."""


class InvalidMatrixError(TorelliError, ValueError):
    """A matrix is not square, finite, symmetric and positive semi-definite."""


class MissingExtraError(TorelliError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install."""


class RequestTooLargeError(TorelliError, MemoryError):
    """A result cannot fit in memory; the message gives the figure and the option that helps."""


class FormatError(TorelliError, ValueError):
    """A file is not what its name says, or breaks the rules of its format."""


class DataNotFoundError(TorelliError, FileNotFoundError):
    """A data set is neither on this machine nor to be downloaded."""


class CacheWarning(UserWarning):
    """Compiled code cannot be kept on disk, or what was kept cannot be read; results are the same."""


class NonGenericWarning(UserWarning):
    """Class totals tie, so that the metric space alone does not determine the cycle basis."""


class ScaleWarning(UserWarning):
    """A parameter is so far from the scale of the data that nothing can be learned."""


class DataWarning(UserWarning):
    """Something in the input was resolved by a stated rule; the message gives the count and the rule."""


@dataclass(frozen=True)
class Fault:
    """One thing wrong with one graph.

    Parameters
    ----------
    problem
        What is wrong.
    remedy
        What the caller can do about it.
    edges
        The edges concerned, described for a person: position and end points.
    graph
        Position of the graph in the caller's list, if there is a list.
    name
        Name of the graph, if it has one.
    """

    problem: str
    remedy: str
    edges: tuple[str, ...] = ()
    graph: int | None = None
    name: str | None = None

    def __str__(self) -> str:
        """Say where, what and how to mend it, in one line."""
        place = []
        if self.graph is not None:
            place.append(f"graph {self.graph}" + (f" ({self.name!r})" if self.name else ""))
        elif self.name:
            place.append(f"graph {self.name!r}")
        if self.edges:
            shown = ", ".join(self.edges[:_EDGES_SHOWN])
            hidden = len(self.edges) - _EDGES_SHOWN
            more = f" and {hidden:,} more" if hidden > 0 else ""
            place.append(f"edge{'s' if len(self.edges) > 1 else ''} {shown}{more}")
        where = ", ".join(place)
        return f"{where}: {self.problem}; {self.remedy}" if where else f"{self.problem}; {self.remedy}"


class InvalidGraphError(TorelliError, ValueError):
    """One or more graphs are not metric graphs; every fault is listed.

    Attributes
    ----------
    faults
        All faults, also those that the message leaves out for length.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = [str(fault) for fault in self.faults[:_FAULTS_SHOWN]]
        hidden = len(self.faults) - len(lines)
        if hidden > 0:
            lines.append(f"and {hidden:,} more (all in the exception's attribute `faults`)")
        message = lines[0] if len(lines) == 1 else "\n  ".join([f"{len(self.faults)} faults:", *lines])
        super().__init__(message)

    def __reduce__(self) -> tuple[type[InvalidGraphError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.faults,)

    def at(self, graph: int) -> tuple[Fault, ...]:
        """Return the faults with the position of their graph in the caller's list."""
        return tuple(replace(fault, graph=graph) for fault in self.faults)


def unknown_option(name: str, value: object, possible: Iterable[str]) -> InvalidOptionError:
    """Return the error for an option that has a fixed set of values."""
    return InvalidOptionError(f"unknown {name} {value!r}: use one of {', '.join(map(repr, possible))}")


def _is_inside(frame: FrameType) -> bool:
    """Whether a frame is ours, or of a library that calls us on behalf of the user."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in {"torelli", "sklearn", "joblib", "numba"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the caller outside this package, so that it is shown once for each such line."""
    level = 2
    frame = sys._getframe(1)  # noqa: SLF001  (what `warnings` does itself)
    while frame.f_back is not None and _is_inside(frame):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
