"""Exceptions and warnings; each exception is also a subclass of the expected builtin exception."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import FrameType

Value = TypeVar("Value")

_EDGES_SHOWN = 20
_FAULTS_SHOWN = 50
_MOST_OF_EDGES, _MOST_OF_FAULTS = 1_000, 10_000  # characters
_END_SHOWN = 15


class TorelliError(Exception):
    """Base class of every error that this package raises on purpose."""


class InvalidOptionError(TorelliError, ValueError):
    """An option has an invalid value."""


class InvalidMatrixError(TorelliError, ValueError):
    """A matrix is not square, finite, symmetric and positive semi-definite."""


class MissingExtraError(TorelliError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install."""


class RequestTooLargeError(MemoryError, TorelliError):  # in this order, Dask can send it between processes
    """A result cannot fit in memory; the message gives the figure and the option that helps."""


class FormatError(TorelliError, ValueError):
    """A file does not have the format that its name says, or violates that format."""


class StoreError(TorelliError, OSError):
    """A store on disk cannot be written: it is locked, was made in another way, or the disk is full."""


class DataNotFoundError(TorelliError, FileNotFoundError):
    """A data set is not on this machine and cannot be downloaded."""


class CacheWarning(UserWarning):
    """Compiled code or distances cannot be kept on disk or read from there; results are the same."""


class NonGenericWarning(UserWarning):
    """Lengths tie, so that the metric space alone does not determine the cycle basis."""


class ScaleWarning(UserWarning):
    """A parameter is so far from the scale of the data that nothing can be learned."""


class DataWarning(UserWarning):
    """An ambiguity in the input was resolved by a rule; the message gives the count and the rule."""


@dataclass(frozen=True)
class Fault:
    """One fault of one graph.

    Parameters
    ----------
    problem
        What is wrong.
    remedy
        What the caller can do about it.
    edges
        The edges concerned, in readable form: position and end points.
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
        """Return the place, the problem and the remedy in one line."""
        place = []
        if self.graph is not None:
            place.append(f"graph {self.graph}" + (f" ({quoted(self.name)})" if self.name else ""))
        elif self.name:
            place.append(f"graph {quoted(self.name)}")
        if self.edges:
            shown = within(self.edges[:_EDGES_SHOWN], _MOST_OF_EDGES)
            hidden = len(self.edges) - len(shown)
            more = f" and {hidden:,} more" if hidden > 0 else ""
            place.append(f"edge{'s' if len(self.edges) > 1 else ''} {', '.join(shown)}{more}")
        where = ", ".join(place)
        return f"{where}: {self.problem}; {self.remedy}" if where else f"{self.problem}; {self.remedy}"


class InvalidGraphError(TorelliError, ValueError):
    """One or more graphs are not metric graphs; every fault is listed.

    Attributes
    ----------
    faults
        All faults, including those that the message omits because of its length.
    """

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        lines = within([str(fault) for fault in self.faults[:_FAULTS_SHOWN]], _MOST_OF_FAULTS)
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


def unknown_option(name: str, value: object, possible: Iterable[str | None]) -> InvalidOptionError:
    """Return the error for an option that has a fixed set of values."""
    return InvalidOptionError(f"unknown {name} {quoted(value)}: use one of {', '.join(map(repr, possible))}")


def look_up(kind: str, name: str, known: Mapping[str, Value]) -> Value:
    """Return the value of a name, or raise with the list of known names."""
    try:
        return known[name]
    except (KeyError, TypeError):
        raise unknown_option(kind, name, known) from None


def shortened(text: str, most: int = 80) -> str:
    """Return text for a message; a long text is cut to its start, its end and its length."""
    if len(text) <= most:
        return text
    return f"{text[: most - _END_SHOWN]}...{text[-_END_SHOWN:]} ({len(text):,} characters)"


def quoted(value: object, most: int = 80) -> str:
    """Return a value from a file or a caller, quoted for a message: its `repr`, shortened."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list nested too deeply
        text = f"<{type(value).__name__}>"
    return shortened(text, most)


def listed(values: Iterable[object], most: int = 10) -> str:
    """Return values as a list for a message: quoted, and only the first `most`."""
    entries = list(values)
    return ", ".join(map(quoted, entries[:most])) + (", ..." if len(entries) > most else "")


def counted(count: int, noun: str, verbs: tuple[str, str] | None = None) -> str:
    """Return a number with its noun, and with the verb that agrees: ``counted(1, "line", ("is", "are"))``."""
    words = f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
    return words if verbs is None else f"{words} {verbs[count != 1]}"


def within(lines: Sequence[str], most: int) -> list[str]:
    """Return as many of the first lines as fit into `most` characters, and at least one."""
    kept, size = list(lines[:1]), len(lines[0]) if lines else 0
    for line in lines[1:]:
        size += len(line)
        if size > most:
            break
        kept.append(line)
    return kept


def _is_inside(frame: FrameType) -> bool:
    """Return whether a frame belongs to this package, or to a library that calls it for the user."""
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in {"torelli", "sklearn", "joblib", "numba", "contextlib"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package that made the call, so that each line warns once."""
    level = 2
    frame = sys._getframe(1)  # noqa: SLF001  (what `warnings` does itself)
    while frame.f_back is not None and _is_inside(frame):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
